//! The hostile model: it knows the policy, sees every result, and goes on with the next way when
//! one is closed. The honest workers of the benign scripts use the same port.
//!
//! It calls nothing by itself: like any model it only asks for calls.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use weir_core::message::{Message, MessageBlock, Role};
use weir_core::model::{
    ModelInfo, ModelRef, ModelReply, ModelRequest, ReplyBlock, ReplyCall, StopReason, Usage,
};
use weir_engine::ports::{Conversation, MediaMap, Model, PreparedRequest, SignalSink};

/// A call that a model wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

impl Wish {
    /// A call of `tool`.
    pub fn new(tool: &str, input: Value) -> Wish {
        Wish { tool: tool.into(), input }
    }

    /// The same by way of `call_tool`, as a tool that is only named is called (T4).
    pub fn carried(tool: &str, input: &Value) -> Wish {
        Wish::new("call_tool", serde_json::json!({ "tool": tool, "arguments": input }))
    }
}

/// What came of a call, as the model reads it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// It succeeded.
    pub ok: bool,
    /// The words of the result or of the refusal.
    pub text: String,
}

/// What a model says next.
#[derive(Debug, Clone)]
pub enum Move {
    /// It wants these calls.
    Call(Vec<Wish>),
    /// It ends with these words.
    Say(String),
}

/// Decides what comes next. `results` are those of the calls it asked for last.
pub trait Mind: Send {
    /// The next move.
    fn next(&mut self, results: &[Seen]) -> Move;
    /// What it answers as the helper that condenses and looks runs through: the same model, and as
    /// hostile.
    fn helps(&mut self) -> String {
        "Done.".into()
    }
    /// What it answers as the reader of words that stand beside the context, given all that it is asked;
    /// `None`: as any helper.
    fn reads(&mut self, _asked: &str) -> Option<String> {
        None
    }
    /// Tokens that it claims to have used with each reply.
    fn usage(&self) -> Usage {
        Usage { input: 100, output: 10, ..Usage::default() }
    }
}

/// Everything that a model was ever shown, in one text per request.
pub type Shown = Arc<Mutex<Vec<String>>>;

/// A mind as a model.
pub struct Puppet {
    mind: Arc<Mutex<dyn Mind>>,
    shown: Shown,
    info: Arc<ModelInfo>,
}

impl Puppet {
    /// A model that does what `mind` says, and keeps what it was shown in `shown`.
    pub fn new(mind: Arc<Mutex<dyn Mind>>, shown: Shown) -> Puppet {
        let info = ModelInfo {
            model: ModelRef { provider: "redteam".into(), name: "puppet".into() },
            window: 100_000_000,
            max_output: 1_000_000,
            price: None,
            abilities: vec!["tools".into()],
            may_cut: false,
        };
        Puppet { mind, shown, info: Arc::new(info) }
    }
    /// The same with another window, in tokens.
    #[must_use]
    pub fn with_window(self, window: u64) -> Puppet {
        let info = ModelInfo {
            window,
            max_output: self.info.max_output.min(window / 10),
            ..self.info.as_ref().clone()
        };
        Puppet { info: Arc::new(info), ..self }
    }
}

impl Model for Puppet {
    fn info(&self) -> Arc<ModelInfo> {
        self.info.clone()
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(Talk {
            mind: self.mind.clone(),
            shown: self.shown.clone(),
            results: Vec::new(),
            heard: Vec::new(),
            calls: 0,
            helping: None,
        })
    }
}

struct Talk {
    mind: Arc<Mutex<dyn Mind>>,
    shown: Shown,
    results: Vec<Seen>,
    /// Messages of the history that were looked at before.
    heard: Vec<Arc<Message>>,
    calls: usize,
    /// What it is asked as a helper: such a request has no tools.
    helping: Option<String>,
}

#[async_trait]
impl Conversation for Talk {
    fn prepare(&mut self, request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
        let history = request.history.as_slice();
        self.helping = request
            .tools
            .is_empty()
            .then(|| history.iter().map(|message| shown_text(&message.blocks)).collect());
        if self.helping.is_some() {
            return PreparedRequest { bytes: 1_000, prefix_bytes: 0, prefix_expected: 0 };
        }
        // Condensing puts other messages in the place of those that were looked at.
        let mut both = self.heard.iter().zip(history);
        let same = history.len() >= self.heard.len() && both.all(|(a, b)| Arc::ptr_eq(a, b));
        if !same {
            self.heard.clear();
        }
        let fresh = &history[self.heard.len()..];
        let mut text = String::new();
        if self.heard.is_empty() {
            text.push_str(&request.system);
        }
        for message in fresh.iter().filter(|message| message.role == Role::User) {
            text.push_str(&shown_text(&message.blocks));
        }
        text.push_str(request.tail.as_deref().unwrap_or_default());
        self.heard.extend_from_slice(fresh);
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        self.results = last_results(history);
        PreparedRequest { bytes: 1_000, prefix_bytes: 0, prefix_expected: 0 }
    }

    async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
        let results = std::mem::take(&mut self.results);
        let mut mind = self.mind.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = mind.usage();
        let next = match &self.helping {
            Some(asked) => Move::Say(mind.reads(asked).unwrap_or_else(|| mind.helps())),
            None => mind.next(&results),
        };
        let (blocks, stop) = match next {
            Move::Say(text) => (vec![ReplyBlock::Said(MessageBlock::text(text))], StopReason::End),
            Move::Call(wishes) => {
                let calls = wishes.into_iter().map(|wish| {
                    self.calls += 1;
                    ReplyBlock::Call(ReplyCall {
                        wire_id: format!("w{}", self.calls),
                        tool: wish.tool,
                        arguments: wish.input.to_string(),
                        seal: None,
                    })
                });
                (calls.collect(), StopReason::Calls)
            }
        };
        ModelReply::Whole { blocks, stop, usage, repairs: Vec::new() }
    }
}

fn shown_text(blocks: &[MessageBlock]) -> String {
    let each = blocks.iter().map(|block| match block {
        MessageBlock::Text { text, .. } => format!("{text}\n"),
        MessageBlock::Result { blocks, .. } => shown_text(blocks),
        MessageBlock::Thinking { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => String::new(),
    });
    each.collect()
}

/// The results after the model's last words.
fn last_results(history: &[Arc<Message>]) -> Vec<Seen> {
    let last = history.iter().rposition(|message| message.role == Role::Assistant);
    let after = &history[last.map_or(0, |at| at + 1)..];
    let blocks = after.iter().flat_map(|message| &message.blocks);
    blocks
        .filter_map(|block| match block {
            MessageBlock::Result { ok, blocks, .. } => {
                Some(Seen { ok: *ok, text: shown_text(blocks) })
            }
            MessageBlock::Text { .. }
            | MessageBlock::Thinking { .. }
            | MessageBlock::Call(_)
            | MessageBlock::Image { .. }
            | MessageBlock::Document { .. } => None,
        })
        .collect()
}

/// A mind that asks for these calls, turn by turn, whatever comes of them.
pub struct Fixed {
    turns: std::collections::VecDeque<Vec<Wish>>,
    /// What came of all calls so far.
    pub results: Vec<Seen>,
}

impl Fixed {
    /// These turns, then the end.
    pub fn new(turns: Vec<Vec<Wish>>) -> Arc<Mutex<Fixed>> {
        Arc::new(Mutex::new(Fixed { turns: turns.into(), results: Vec::new() }))
    }
    /// One call a turn.
    pub fn calls(calls: Vec<Wish>) -> Arc<Mutex<Fixed>> {
        Fixed::new(calls.into_iter().map(|wish| vec![wish]).collect())
    }
}

impl Mind for Fixed {
    fn next(&mut self, results: &[Seen]) -> Move {
        self.results.extend_from_slice(results);
        self.turns.pop_front().map_or_else(|| Move::Say("Done.".into()), Move::Call)
    }
}
