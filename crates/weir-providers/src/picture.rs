//! Pictures from a model behind an HTTP endpoint: the Images API of OpenAI, which others answer to as
//! well, and models that draw in a conversation (OpenAI Responses, Gemini, OpenRouter), whose answers
//! the dialects read. Not here: pictures that a session's own model makes, and what becomes of one.
//!
//! One request for one picture, and never a second: it may have been made and charged for although it
//! did not arrive.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use weir_core::message::MessageBlock;
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ReplyBlock, StopReason, Usage};
use weir_engine::attach::FILE_BYTES_MAX;
use weir_engine::ports::{ModelUse, PictureError, PictureModel, PictureReply, PictureRequest};
use weir_engine::sniff;

use crate::dialect::{Dialect, REPLY_BYTES_MAX};
use crate::http_model::{
    EndpointError, ModelEndpoint, accepted_answer, failed_reply, json_headers, read_reply,
};
use crate::transport::{ModelTransport, StreamedResponse, TransportError};

mod answer;
mod body;

use body::PictureShape;

/// Longest silence before a picture, and within one.
const SILENCE_MS_MAX: u64 = 270_000;
/// Most of a vendor's words in a failure, in characters.
const WORDS_CHARS_MAX: usize = 1_000;

/// A model that makes pictures.
pub struct RemotePictureModel {
    endpoint: ModelEndpoint,
    info: Arc<ModelInfo>,
    dialect: &'static dyn Dialect,
    shape: PictureShape,
    transport: Arc<ModelTransport>,
}

/// Why a model cannot be asked for pictures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureModelError {
    /// Its vendor has no models for it.
    #[error("{provider} makes no pictures; name a model of another provider")]
    Unfit {
        /// Name of the provider.
        provider: String,
    },
    /// It cannot be reached as configured.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

impl RemotePictureModel {
    /// The model that `info` names, at this endpoint. Nothing is sent yet.
    ///
    /// # Errors
    /// Its vendor makes no pictures, or cannot be reached as configured.
    pub fn new(
        endpoint: ModelEndpoint,
        info: Arc<ModelInfo>,
        transport: Arc<ModelTransport>,
    ) -> Result<RemotePictureModel, PictureModelError> {
        let dialect = endpoint.find_dialect()?;
        let shape = PictureShape::of_model(dialect.name(), &endpoint.vendor.quirks, &info);
        let Some(shape) = shape else {
            return Err(PictureModelError::Unfit { provider: endpoint.vendor.name });
        };
        endpoint.url_for(&shape.request_path(dialect, &info.model.name))?;
        Ok(RemotePictureModel { endpoint, info, dialect, shape, transport })
    }

    /// What the vendor answers, read as a reply with a picture in it.
    async fn exchange_once(&self, request: &PictureRequest) -> Result<ModelReply, TransportError> {
        if let Some(failed) = self.endpoint.missing_key() {
            return Ok(failed);
        }
        let unusable = |error: EndpointError| TransportError {
            class: FailureClass::InvalidRequest,
            message: error.to_string(),
        };
        let name = &self.info.model.name;
        let path = self.shape.request_path(self.dialect, name);
        let url = self.endpoint.url_for(&path).map_err(unusable)?;
        let headers = self.endpoint.request_headers().map_err(unusable)?;
        let headers = json_headers(headers, self.shape.accepted_type());
        let quirks = &self.endpoint.vendor.quirks;
        let body = body::request_body(self.shape, &self.info, quirks, request).to_string();
        let sent = self.transport.post_patiently(&url, headers, Bytes::from(body), SILENCE_MS_MAX);
        let answer = match accepted_answer(self.dialect, sent.await?).await {
            Ok(answer) => answer,
            Err(failed) => return Ok(failed),
        };
        match self.shape {
            PictureShape::ImagesApi => Ok(answer::read_images_answer(&read_bounded(answer).await?)),
            PictureShape::Responses | PictureShape::Chat | PictureShape::Gemini => {
                read_reply(answer, self.dialect.new_decoder(quirks), |_| ()).await
            }
        }
    }

    /// The picture of a reply, or what is said instead of one.
    fn picture_of_reply(&self, reply: ModelReply) -> Result<PictureReply, PictureError> {
        let (blocks, stop, usage) = match reply {
            ModelReply::Failed { class, message, .. } => {
                return Err(self.failure_of_class(class, &message));
            }
            ModelReply::Whole { blocks, stop, usage, .. } => (blocks, stop, usage),
        };
        let used = ModelUse { usage, cost_usd: self.cost_of(&usage) };
        let (mut said, mut picture) = (String::new(), None);
        for block in blocks {
            match block {
                ReplyBlock::Image { data, .. } => picture = picture.or(Some(data)),
                ReplyBlock::Said(MessageBlock::Text { text, .. }) => said.push_str(&text),
                ReplyBlock::Said(_) | ReplyBlock::Call(_) => (),
            }
        }
        let missing = |why: &str| {
            let words = self.shown_words(&said);
            let words =
                if words.is_empty() { String::new() } else { format!(". It says: {words}") };
            self.error_with(&format!("{why}{words}"), Some(used))
        };
        let Some(bytes) = picture else {
            return Err(match stop {
                StopReason::Refusal => missing(
                    "the provider's safety rules refused it; describe something else, or tell the \
                     person",
                ),
                StopReason::MaxTokens => missing("it came to its output limit before a picture"),
                StopReason::End | StopReason::Calls | StopReason::Interrupted => {
                    missing("it answered without one; say more plainly what is to be seen")
                }
            });
        };
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let most = FILE_BYTES_MAX >> 20;
            return Err(missing(&format!("what came is larger than {most} MB")));
        }
        if let Err(why) = sniff::image_media_type(&bytes) {
            return Err(missing(&format!("what came is no picture: {why}")));
        }
        Ok(PictureReply { bytes: bytes.into(), said: self.endpoint.scrub(&said), used })
    }

    /// What `usage` cost; `None`: nobody knows.
    fn cost_of(&self, usage: &Usage) -> Option<f64> {
        // There the model that is asked counts its words, and the picture is charged for apart.
        let told = usage.total_tokens() > 0 && self.shape != PictureShape::Responses;
        if told { self.info.cost(usage) } else { None }
    }

    fn failure_of_class(&self, class: FailureClass, message: &str) -> PictureError {
        let advice = match class {
            FailureClass::Refused => ". Describe something else, or tell the person",
            FailureClass::RateLimited | FailureClass::Overloaded | FailureClass::Network => {
                ". Try it once more later, or tell the person"
            }
            FailureClass::StreamCut | FailureClass::Timeout => {
                ". It may have been made and charged for: ask the person before you try again"
            }
            FailureClass::Auth
            | FailureClass::NotFound
            | FailureClass::InvalidRequest
            | FailureClass::ContextOverflow
            | FailureClass::ToolsRefused => "",
        };
        // What broke off after it was sent may cost, and nobody knows what.
        let unknown = ModelUse { usage: Usage::default(), cost_usd: None };
        let sent = matches!(class, FailureClass::StreamCut | FailureClass::Timeout);
        let why = format!("{}{advice}", self.shown_words(message).trim_end_matches('.'));
        self.error_with(&why, sent.then_some(unknown))
    }

    /// Words of a vendor in one line, without what must not be seen.
    fn shown_words(&self, text: &str) -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Before it is cut: half a secret would not be known as one.
        let line = self.endpoint.scrub(&line);
        match line.char_indices().nth(WORDS_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }

    /// An error without what must not be seen.
    fn error_with(&self, why: &str, used: Option<ModelUse>) -> PictureError {
        let why = format!("{} made no picture: {}", self.info.model, self.endpoint.scrub(why));
        PictureError { why, used }
    }
}

#[async_trait]
impl PictureModel for RemotePictureModel {
    fn model_name(&self) -> String {
        self.info.model.to_string()
    }

    async fn make_picture(&self, request: &PictureRequest) -> Result<PictureReply, PictureError> {
        let reply = match self.exchange_once(request).await {
            Ok(reply) => reply,
            Err(error) => failed_reply(error.class, error.message),
        };
        self.picture_of_reply(reply)
    }
}

/// The whole of an answer that is no stream.
async fn read_bounded(answer: StreamedResponse) -> Result<Vec<u8>, TransportError> {
    answer.whole_body(REPLY_BYTES_MAX).await?.ok_or_else(|| {
        let most = REPLY_BYTES_MAX >> 20;
        let message = format!("The answer was not taken: it is longer than {most} MB");
        TransportError { class: FailureClass::InvalidRequest, message }
    })
}
