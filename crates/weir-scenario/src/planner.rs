//! The planner of a scenario: it answers as the setup says, after a while, and dies with the program
//! like any other model. Not here: which recipes there are.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use weir_core::model::{ModelInfo, ModelReply, ModelRequest};
use weir_engine::ports::{Conversation, MediaMap, Model, PreparedRequest, SignalSink};

use crate::crash::{CrashModel, CrashPoint};
use crate::guards::FakeJudge;
use crate::parse::Setup;

/// The planner; its requests are no part of the conversation.
pub fn planner(setup: &Setup, point: &Arc<CrashPoint>) -> Arc<dyn Model> {
    let inner = Arc::new(Slow {
        inner: FakeJudge::planning(setup.plans.clone()),
        delay: Duration::from_millis(setup.plan_delay_ms),
    });
    Arc::new(CrashModel { inner, point: point.clone(), heard: Arc::new(|_, _| ()) })
}

/// A model that takes its time.
struct Slow {
    inner: FakeJudge,
    delay: Duration,
}

impl Model for Slow {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(SlowConversation { inner: self.inner.start_conversation(), delay: self.delay })
    }
}

struct SlowConversation {
    inner: Box<dyn Conversation>,
    delay: Duration,
}

#[async_trait]
impl Conversation for SlowConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        self.inner.prepare(request, media)
    }
    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        tokio::time::sleep(self.delay).await;
        self.inner.send(signals).await
    }
}
