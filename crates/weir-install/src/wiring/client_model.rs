//! The model of a session whose calls come from an MCP client: its replies are those calls, and it says
//! nothing of its own. So the session machine, its gates and its journal are the only way to a tool for a
//! client too. Not here: who calls, and what comes back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use weir_core::message::MessageBlock;
use weir_core::model::{
    FailureClass, ModelInfo, ModelRef, ModelReply, ModelRequest, Price, ReplyBlock, ReplyCall,
    StopReason, Usage,
};
use weir_engine::ports::{Conversation, MediaMap, Model, PreparedRequest, SignalSink};

/// The provider that stands in journals for programs that call tools over MCP.
pub(crate) const CLIENT_PROVIDER: &str = "mcp-client";
/// Most calls of one reply: they are worked on together.
const CALLS_PER_REPLY: usize = 32;
/// Nothing of the history is sent anywhere, so no window can be too small for it.
const WINDOW: u64 = 1 << 40;
/// What stands in the journal when nothing is left to call. For people; no client is told it.
const ALL_ANSWERED: &str =
    "Every call of the MCP client is answered. To go on yourself, choose a model (-m).";
/// Said to whoever asks this model something.
const NOBODY_TO_ASK: &str = "this session has no model: its calls come from an MCP client. Name a model \
                             for side work in the settings ([helpers])";

/// The calls of a client that the session has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct CallQueue {
    waiting: Mutex<VecDeque<ReplyCall>>,
}

impl CallQueue {
    fn lock_queue(&self) -> MutexGuard<'_, VecDeque<ReplyCall>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push_call(&self, call: ReplyCall) {
        self.lock_queue().push_back(call);
    }

    /// Takes a call back; `false`: the session has it already.
    pub(crate) fn remove_call(&self, wire_id: &str) -> bool {
        let mut waiting = self.lock_queue();
        let before = waiting.len();
        waiting.retain(|call| call.wire_id != wire_id);
        waiting.len() < before
    }

    pub(crate) fn has_call(&self, wire_id: &str) -> bool {
        self.lock_queue().iter().any(|call| call.wire_id == wire_id)
    }

    fn take_reply(&self) -> Vec<ReplyCall> {
        let mut waiting = self.lock_queue();
        let many = waiting.len().min(CALLS_PER_REPLY);
        waiting.drain(..many).collect()
    }
}

/// The client as a model.
pub(crate) struct ClientModel {
    info: Arc<ModelInfo>,
    queue: Arc<CallQueue>,
}

impl ClientModel {
    /// A client that has gone, of whose session this is the model: nothing is called any more. So what it
    /// left under way comes to its end, and no model of the person's goes on by itself.
    pub(crate) fn of_session(info: &ModelInfo) -> ClientModel {
        ClientModel { info: Arc::new(info.clone()), queue: Arc::default() }
    }

    /// The client of this name, as it calls itself.
    pub(crate) fn new(client: &str, queue: Arc<CallQueue>) -> ClientModel {
        let free = Price { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
        let abilities = ["tools", "images", "pdf"].map(String::from).to_vec();
        let model = ModelRef { provider: CLIENT_PROVIDER.into(), name: name_of_client(client) };
        let info = ModelInfo {
            window: WINDOW,
            max_output: WINDOW,
            // What its own model costs is the client's.
            price: Some(free),
            abilities,
            ..ModelInfo::with_name(model)
        };
        ClientModel { info: Arc::new(info), queue }
    }
}

/// A client's name as names of models are written.
fn name_of_client(client: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = client.trim().to_lowercase().chars().map(plain).take(48).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "unnamed".into() } else { name.to_owned() }
}

impl Model for ClientModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.info.clone()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(ClientConversation { queue: self.queue.clone(), takes_calls: false })
    }
}

struct ClientConversation {
    queue: Arc<CallQueue>,
    /// The request is the session's own. Side work (judging, summarising, extracting) offers no tools, and
    /// must never get a client's calls.
    takes_calls: bool,
}

#[async_trait]
impl Conversation for ClientConversation {
    fn prepare(&mut self, request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
        self.takes_calls = !request.tools.is_empty();
        PreparedRequest::default()
    }

    async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
        if !self.takes_calls {
            return ModelReply::Failed {
                class: FailureClass::InvalidRequest,
                message: NOBODY_TO_ASK.into(),
                retry_after_ms: None,
            };
        }
        let calls = self.queue.take_reply();
        let (blocks, stop) = match calls.is_empty() {
            true => {
                let said = MessageBlock::text(ALL_ANSWERED);
                (vec![ReplyBlock::Said(said)], StopReason::End)
            }
            false => (calls.into_iter().map(ReplyBlock::Call).collect(), StopReason::Calls),
        };
        ModelReply::Whole { blocks, stop, usage: Usage::default(), repairs: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::{SessionId, TurnId};
    use weir_core::model::Thinking;
    use weir_core::tool::{ToolGroup, ToolSpec};

    use super::*;

    fn request_with(tools: Vec<ToolSpec>, model: &ClientModel) -> ModelRequest {
        ModelRequest {
            session: SessionId::new("s"),
            turn: TurnId(1),
            model: model.info(),
            system: "".into(),
            tools: Arc::new(tools),
            history: Arc::default(),
            tail: None,
            thinking: Thinking::Off,
        }
    }

    fn call(wire_id: &str) -> ReplyCall {
        ReplyCall {
            wire_id: wire_id.into(),
            tool: "read_file".into(),
            arguments: "{}".into(),
            seal: None,
        }
    }

    #[tokio::test]
    async fn r2_side_work_never_gets_a_clients_calls() {
        let queue = Arc::new(CallQueue::default());
        let model = ClientModel::new("a", queue.clone());
        queue.push_call(call("mcp-1"));
        let mut side = model.start_conversation();
        side.prepare(&request_with(Vec::new(), &model), &MediaMap::new());
        let reply = side.send(&SignalSink::none()).await;
        assert!(matches!(reply, ModelReply::Failed { .. }), "{reply:?}");
        assert!(queue.has_call("mcp-1"));

        let spec = ToolSpec::new("x", "x", ToolGroup::Read, serde_json::json!({"type": "object"}));
        let mut own = model.start_conversation();
        own.prepare(&request_with(vec![spec], &model), &MediaMap::new());
        let ModelReply::Whole { blocks, stop, .. } = own.send(&SignalSink::none()).await else {
            panic!("calls")
        };
        assert_eq!((blocks, stop), (vec![ReplyBlock::Call(call("mcp-1"))], StopReason::Calls));
        let ModelReply::Whole { stop, .. } = own.send(&SignalSink::none()).await else {
            panic!("an end")
        };
        assert_eq!(stop, StopReason::End);
    }

    #[test]
    fn r2_a_clients_name_is_no_more_than_a_name() {
        for (said, expected) in [
            ("Claude Code", "claude-code"),
            ("../../etc\u{202e}", "etc"),
            ("  ", "unnamed"),
            ("codex-mcp-client", "codex-mcp-client"),
        ] {
            let name = name_of_client(said);
            assert_eq!(name.trim_start_matches(['.', '-']), expected.trim_start_matches('.'));
        }
    }
}
