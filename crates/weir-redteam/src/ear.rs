//! What a model reads about foreign tools, request by request. Not here: the messages, which the
//! puppet keeps itself.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use weir_core::model::{ModelInfo, ModelReply, ModelRequest};
use weir_core::tool::foreign as names;
use weir_engine::ports::{
    AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink,
};

/// A model that also keeps the tools of each request, as it would read them.
pub(crate) struct Ear {
    /// The model.
    pub(crate) inner: Arc<dyn Model>,
    /// What it read of tools.
    pub(crate) heard: Arc<Mutex<String>>,
}

struct Listening {
    inner: Box<dyn Conversation>,
    heard: Arc<Mutex<String>>,
}

impl Model for Ear {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(Listening { inner: self.inner.start_conversation(), heard: self.heard.clone() })
    }
}

#[async_trait]
impl Conversation for Listening {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in request.tools.iter().filter(|tool| tool.name.starts_with(names::PREFIX)) {
            heard.push_str(&format!("{} {} ", tool.name, tool.description));
            words(&tool.input_schema, &mut heard);
        }
        drop(heard);
        self.inner.prepare(request, media)
    }
    fn attachment_support(&self) -> AttachmentSupport {
        self.inner.attachment_support()
    }
    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        self.inner.send(signals).await
    }
}

/// Every word of a schema, as it is and not as JSON writes it.
fn words(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(&format!("{text} ")),
        Value::Array(items) => items.iter().for_each(|item| words(item, out)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            out.push_str(&format!("{name} "));
            words(field, out);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}
