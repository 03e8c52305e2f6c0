//! How each vendor is asked for a picture, as it documents it. Not here: sending, and reading answers.

use serde_json::{Map, Value, json};
use weir_core::model::ModelInfo;
use weir_engine::ports::{PictureAspect, PictureFormat, PictureRequest};

use crate::dialect::{Dialect, VendorQuirks, output_modalities};

/// The ways in which a picture is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureShape {
    /// `POST /images/generations`: for models that do nothing else.
    ImagesApi,
    /// OpenAI Responses: a conversation in which the vendor's own tool `image_generation` must be
    /// called.
    Responses,
    /// Chat Completions with `modalities`.
    Chat,
    /// Gemini's `generateContent` with `responseModalities`, streamed.
    Gemini,
}

impl PictureShape {
    /// How this model is asked; `None`: its vendor makes no pictures.
    pub(super) fn of_model(
        dialect: &str,
        quirks: &VendorQuirks,
        info: &ModelInfo,
    ) -> Option<PictureShape> {
        let name = &info.model.name;
        match dialect {
            "gemini" => Some(PictureShape::Gemini),
            "openai-chat" if quirks.modalities => Some(PictureShape::Chat),
            "openai-chat" | "ollama" => Some(PictureShape::ImagesApi),
            // A model that takes tools draws by one; the others are the tool.
            "openai-responses" => {
                let draws_itself = is_gpt_image(name) || is_dall_e(name);
                match draws_itself || !info.has_ability("tools") {
                    true => Some(PictureShape::ImagesApi),
                    false => Some(PictureShape::Responses),
                }
            }
            _ => None,
        }
    }

    /// Path below the base URL.
    pub(super) fn request_path(self, dialect: &dyn Dialect, model: &str) -> String {
        match self {
            PictureShape::ImagesApi => "/images/generations".into(),
            PictureShape::Responses | PictureShape::Chat | PictureShape::Gemini => {
                dialect.request_path(model)
            }
        }
    }

    /// The type of its answers.
    pub(super) fn accepted_type(self) -> &'static str {
        match self {
            PictureShape::ImagesApi => "application/json",
            PictureShape::Responses | PictureShape::Chat | PictureShape::Gemini => {
                "text/event-stream"
            }
        }
    }
}

/// The whole body of a request.
pub(super) fn request_body(
    shape: PictureShape,
    info: &ModelInfo,
    quirks: &VendorQuirks,
    request: &PictureRequest,
) -> Value {
    let name = info.model.name.as_str();
    match shape {
        PictureShape::ImagesApi => images_body(name, request),
        PictureShape::Responses => responses_body(name, request),
        PictureShape::Chat => chat_body(info, quirks, request),
        PictureShape::Gemini => gemini_body(request),
    }
}

fn images_body(name: &str, request: &PictureRequest) -> Value {
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(name)),
        ("prompt".to_owned(), json!(request.prompt)),
        ("n".to_owned(), json!(1)),
    ]);
    if let Some(aspect) = request.aspect {
        body.insert("size".into(), openai_size(aspect, name).into());
    }
    // These always answer in base64 and refuse to be told so; all others send an address otherwise.
    if is_gpt_image(name) {
        body.insert("output_format".into(), request.format.as_str().into());
    } else {
        body.insert("response_format".into(), "b64_json".into());
    }
    Value::Object(body)
}

fn responses_body(name: &str, request: &PictureRequest) -> Value {
    let mut tool = Map::from_iter([("type".to_owned(), json!("image_generation"))]);
    if let Some(aspect) = request.aspect {
        tool.insert("size".into(), openai_size(aspect, "").into());
    }
    if request.format != PictureFormat::Png {
        tool.insert("output_format".into(), request.format.as_str().into());
    }
    json!({
        "model": name,
        "stream": true,
        "store": false,
        "tools": [tool],
        "tool_choice": { "type": "image_generation" },
        "input": [{
            "type": "message",
            "role": "user",
            "content": [{ "type": "input_text", "text": request.prompt }],
        }],
    })
}

fn chat_body(info: &ModelInfo, quirks: &VendorQuirks, request: &PictureRequest) -> Value {
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(info.model.name)),
        ("stream".to_owned(), json!(true)),
        ("modalities".to_owned(), output_modalities(info)),
        ("messages".to_owned(), json!([{ "role": "user", "content": request.prompt }])),
    ]);
    if quirks.stream_usage {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    if let Some(aspect) = request.aspect {
        body.insert("image_config".into(), json!({ "aspect_ratio": aspect.to_string() }));
    }
    Value::Object(body)
}

fn gemini_body(request: &PictureRequest) -> Value {
    let mut config = Map::from_iter([("responseModalities".to_owned(), json!(["TEXT", "IMAGE"]))]);
    if let Some(aspect) = request.aspect {
        config.insert("imageConfig".into(), json!({ "aspectRatio": aspect.to_string() }));
    }
    json!({
        "contents": [{ "role": "user", "parts": [{ "text": request.prompt }] }],
        "generationConfig": config,
    })
}

/// The nearest of the sizes that every model of the vendor has.
fn openai_size(aspect: PictureAspect, name: &str) -> &'static str {
    let PictureAspect { width, height } = aspect;
    match width.cmp(&height) {
        std::cmp::Ordering::Equal => "1024x1024",
        std::cmp::Ordering::Greater if name.starts_with("dall-e-3") => "1792x1024",
        std::cmp::Ordering::Greater => "1536x1024",
        std::cmp::Ordering::Less if name.starts_with("dall-e-3") => "1024x1792",
        std::cmp::Ordering::Less => "1024x1536",
    }
}

fn is_gpt_image(name: &str) -> bool {
    name.starts_with("gpt-image") || name.starts_with("chatgpt-image")
}

fn is_dall_e(name: &str) -> bool {
    name.starts_with("dall-e")
}

#[cfg(test)]
mod tests {
    use weir_core::model::ModelRef;

    use super::*;

    fn shape_of(dialect: &str, name: &str, abilities: &[&str]) -> Option<PictureShape> {
        let model = ModelRef { provider: "x".into(), name: name.into() };
        let abilities = abilities.iter().map(|ability| (*ability).to_owned()).collect();
        let info = ModelInfo { abilities, ..ModelInfo::with_name(model) };
        PictureShape::of_model(dialect, &VendorQuirks::default(), &info)
    }

    #[test]
    fn k13_each_model_is_asked_in_the_way_that_its_vendor_documents() {
        use PictureShape::{Chat, Gemini, ImagesApi, Responses};
        let responses = "openai-responses";
        assert_eq!(shape_of(responses, "gpt-5", &["tools"]), Some(Responses));
        assert_eq!(shape_of(responses, "gpt-image-9", &["tools"]), Some(ImagesApi), "no row");
        assert_eq!(shape_of(responses, "painter", &["image_output"]), Some(ImagesApi));
        assert_eq!(shape_of("openai-chat", "grok-2-image", &["tools"]), Some(ImagesApi));
        assert_eq!(shape_of("gemini", "gemini-2.5-flash-image", &[]), Some(Gemini));
        assert_eq!(shape_of("anthropic", "claude", &["tools"]), None);
        let quirks = VendorQuirks { modalities: true, ..VendorQuirks::default() };
        let model = ModelRef { provider: "openrouter".into(), name: "x/y".into() };
        let shape = PictureShape::of_model("openai-chat", &quirks, &ModelInfo::with_name(model));
        assert_eq!(shape, Some(Chat));
    }

    #[test]
    fn k13_a_shape_becomes_the_nearest_size_of_the_vendor() {
        let size = |width, height, name| openai_size(PictureAspect { width, height }, name);
        assert_eq!(size(1, 1, "gpt-image-1"), "1024x1024");
        assert_eq!(size(16, 9, "gpt-image-1"), "1536x1024");
        assert_eq!(size(3, 4, ""), "1024x1536");
        assert_eq!(size(16, 9, "dall-e-3"), "1792x1024");
    }
}
