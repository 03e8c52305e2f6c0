//! What the Images API answers: one JSON document with the picture in base64. Not here: answers of
//! models that draw in a conversation, which the dialects read.

use serde::Deserialize;
use serde_json::Value;
use weir_core::message::MessageBlock;
use weir_core::model::{FailureClass, ModelReply, ReplyBlock, StopReason, Usage};

use crate::dialect::{decode_base64, failure_in_answer};
use crate::http_model::failed_reply;

#[derive(Deserialize)]
struct ImagesAnswer {
    #[serde(default)]
    data: Vec<ImagesPicture>,
    #[serde(default)]
    usage: Option<ImagesUsage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct ImagesPicture {
    #[serde(default)]
    b64_json: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    revised_prompt: Option<String>,
}

#[derive(Default, Deserialize)]
struct ImagesUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// The answer as a reply: the picture, and what the vendor made of the words.
pub(super) fn read_images_answer(bytes: &[u8]) -> ModelReply {
    let answer: ImagesAnswer = match serde_json::from_slice(bytes) {
        Ok(answer) => answer,
        // A document that stops in the middle is one that broke off.
        Err(error) if error.is_eof() => {
            return failed_reply(
                FailureClass::StreamCut,
                "The connection ended before the answer was whole".into(),
            );
        }
        Err(error) => {
            let why = format!("The answer cannot be read: {error}");
            return failed_reply(FailureClass::InvalidRequest, why);
        }
    };
    // Some gateways answer with status 200 and an error.
    if let Some(error) = answer.error.filter(|error| !error.is_null()) {
        return failure_in_answer(&error);
    }
    let used = answer.usage.unwrap_or_default();
    let usage = Usage { input: used.input_tokens, output: used.output_tokens, ..Usage::default() };
    let mut blocks = Vec::new();
    // Only one was asked for.
    if let Some(picture) = answer.data.into_iter().next() {
        let words = picture.revised_prompt.filter(|words| !words.trim().is_empty());
        let mut said = words.map(|words| format!("Drawn after: {words} ")).unwrap_or_default();
        match picture.b64_json {
            // What is no base64 is an empty picture: it is told, not lost.
            Some(data) => blocks.push(ReplyBlock::Image {
                media_type: "image/png".into(),
                data: decode_base64(&data).unwrap_or_default(),
            }),
            None if picture.url.is_some() => {
                said.push_str("The picture lies at an address, which is not fetched.");
            }
            None => (),
        }
        if !said.is_empty() {
            blocks.push(ReplyBlock::Said(MessageBlock::text(said.trim_end())));
        }
    }
    ModelReply::Whole { blocks, stop: StopReason::End, usage, repairs: Vec::new() }
}
