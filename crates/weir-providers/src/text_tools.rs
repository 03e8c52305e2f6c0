//! A conversation with a model that has no calls of its own, or that writes calls as text (V5).
//!
//! Around any other conversation: with the ability `text_tools` the tools go into the prompt and what was
//! called into the text of the history; with it or with `text_calls` the text of a reply is looked through
//! for calls. Each request says what its model can: a server may turn out to take no tools. Not here: the formats (see `text_calls`), and whether a call may run, which the gate decides.

mod render;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use weir_core::message::{Message, MessageBlock, MessageHistory, Role};
use weir_core::model::{
    ModelInfo, ModelReply, ModelRequest, ModelSignal, ReplyBlock, ReplyCall, StopReason,
};
use weir_core::tool::ToolSpec;
use weir_engine::ports::{AttachmentSupport, Conversation, MediaMap, PreparedRequest, SignalSink};

use crate::text_calls::{
    CallHabit, FoundPiece, HeldText, OfferedTool, OfferedTools, ToldWords, find_calls,
};
use render::RenderedTools;

/// Ability of a model whose tools stand in its prompt.
pub const TEXT_TOOLS: &str = "text_tools";
/// Ability of a model that takes tools and may write a call as text all the same.
pub const TEXT_CALLS: &str = "text_calls";

/// Around `own` what the abilities of the model that is asked call for.
pub fn conversation_for(own: Box<dyn Conversation>) -> Box<dyn Conversation> {
    Box::new(TextConversation {
        own,
        way: ToolWay::Native,
        rendered: RenderedTools::default(),
        tools: Arc::default(),
        offered: Arc::default(),
        history: Arc::default(),
    })
}

/// How a model is told its tools, and where its calls are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolWay {
    /// By its vendor's own way alone.
    Native,
    /// By that, and its text is looked through too.
    AlsoText,
    /// In prompt and text.
    OnlyText,
}

impl ToolWay {
    fn of_model(info: &ModelInfo) -> ToolWay {
        // A model with calls of its own is never given its tools twice.
        if info.has_ability(TEXT_TOOLS) && !info.has_ability("tools") {
            return ToolWay::OnlyText;
        }
        if info.has_ability(TEXT_CALLS) { ToolWay::AlsoText } else { ToolWay::Native }
    }

    /// How calls are read from the text; `None`: they are not.
    fn call_habit(self) -> Option<CallHabit> {
        match self {
            ToolWay::Native => None,
            ToolWay::AlsoText => Some(CallHabit::AlsoText),
            ToolWay::OnlyText => Some(CallHabit::OnlyText),
        }
    }
}

struct TextConversation {
    own: Box<dyn Conversation>,
    /// Of the request that was prepared last.
    way: ToolWay,
    /// What was put into prompt and history.
    rendered: RenderedTools,
    /// What the request that was prepared last offered, where its text is looked through.
    tools: Arc<Vec<ToolSpec>>,
    /// The same by name.
    offered: Arc<OfferedTools>,
    /// What its model was told.
    history: MessageHistory,
}

#[async_trait]
impl Conversation for TextConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        let way = ToolWay::of_model(&request.model);
        if way != self.way {
            self.way = way;
            self.rendered = RenderedTools::default();
            (self.tools, self.offered) = (Arc::default(), Arc::default());
            self.history = Arc::default();
        }
        let Some(habit) = way.call_habit() else { return self.own.prepare(request, media) };
        if !Arc::ptr_eq(&self.tools, &request.tools) {
            self.tools = request.tools.clone();
            self.offered = Arc::new(offered_tools(&self.tools, habit));
        }
        self.history = request.history.clone();
        match way {
            ToolWay::OnlyText => self.own.prepare(&self.rendered.render_request(request), media),
            ToolWay::Native | ToolWay::AlsoText => self.own.prepare(request, media),
        }
    }

    fn first_to_write(&self, request: &ModelRequest) -> usize {
        match ToolWay::of_model(&request.model) {
            ToolWay::Native | ToolWay::AlsoText => self.own.first_to_write(request),
            // Another request is written than this one, and not made before it is.
            ToolWay::OnlyText => 0,
        }
    }

    fn attachment_support(&self) -> AttachmentSupport {
        self.own.attachment_support()
    }

    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        if self.offered.is_empty() {
            return self.own.send(signals).await;
        }
        let held = Arc::new(Mutex::new(HeldText::default()));
        let sink = holding_sink(signals.clone(), held.clone(), self.offered.clone());
        let reply = self.own.send(&sink).await;
        let reply = read_reply(reply, &self.offered, &self.history);
        show_rest(&reply, &lock_held(&held), signals);
        reply
    }
}

fn lock_held(held: &Mutex<HeldText>) -> MutexGuard<'_, HeldText> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on what is surely no call, and keeps the rest until the reply is whole.
fn holding_sink(
    signals: SignalSink,
    held: Arc<Mutex<HeldText>>,
    tools: Arc<OfferedTools>,
) -> SignalSink {
    SignalSink::new(move |signal| match signal {
        ModelSignal::Text(more) => {
            let shown = lock_held(&held).feed_text(&more, &tools).map(str::to_owned);
            if let Some(shown) = shown {
                signals.send(ModelSignal::Text(shown));
            }
        }
        other => signals.send(other),
    })
}

fn offered_tools(tools: &[ToolSpec], habit: CallHabit) -> OfferedTools {
    let offered =
        tools.iter().map(|tool| OfferedTool { name: &tool.name, schema: &tool.input_schema });
    OfferedTools::new(&offered.collect::<Vec<_>>(), habit)
}

/// Shows what is recorded of a reply and was not shown yet.
fn show_rest(reply: &ModelReply, held: &HeldText, signals: &SignalSink) {
    let ModelReply::Whole { blocks, .. } = reply else { return };
    let rest = held.unshown_rest(&said_text(blocks)).to_owned();
    if !rest.is_empty() {
        signals.send(ModelSignal::Text(rest));
    }
}

fn said_text(blocks: &[ReplyBlock]) -> String {
    let said = blocks.iter().filter_map(|block| match block {
        ReplyBlock::Said(MessageBlock::Text { text, .. }) => Some(text.as_str()),
        ReplyBlock::Said(_) | ReplyBlock::Call(_) | ReplyBlock::Image { .. } => None,
    });
    said.collect()
}

/// The reply with the calls in its text as calls. A reply that has calls of its own, that was cut off or
/// refused stays as it is: what a model says beside a call is no second one.
fn read_reply(reply: ModelReply, tools: &OfferedTools, history: &[Arc<Message>]) -> ModelReply {
    let ModelReply::Whole { mut blocks, stop: StopReason::End, usage, mut repairs } = reply else {
        return reply;
    };
    let mut stop = StopReason::End;
    if let Some(run) = plain_run(&blocks) {
        let told = OnceCell::new();
        let found = find_calls(&said_text(&blocks), tools, &|call| {
            told.get_or_init(|| told_words(history)).holds_call(call)
        });
        if found.calls().next().is_some() {
            blocks.splice(run, found.pieces.into_iter().map(piece_block));
            stop = StopReason::Calls;
        }
        repairs.extend(found.repairs);
    }
    ModelReply::Whole { blocks, stop, usage, repairs }
}

/// Where the text of a reply stands. `None`: it has calls, or its text is more than words in a row. What a
/// vendor sealed or gave sources for, and what stands between, must go back as it came.
fn plain_run(blocks: &[ReplyBlock]) -> Option<Range<usize>> {
    let is_text = |block: &ReplyBlock| matches!(block, ReplyBlock::Said(MessageBlock::Text { .. }));
    let is_plain = |block: &ReplyBlock| {
        let ReplyBlock::Said(MessageBlock::Text { citations, seal, .. }) = block else {
            return false;
        };
        citations.is_empty() && seal.is_none()
    };
    let has_calls = blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
    let run = blocks.iter().position(is_text)?..blocks.iter().rposition(is_text)? + 1;
    (!has_calls && blocks[run.clone()].iter().all(is_plain)).then_some(run)
}

fn piece_block(piece: FoundPiece) -> ReplyBlock {
    match piece {
        FoundPiece::Said(text) => ReplyBlock::Said(MessageBlock::text(text)),
        FoundPiece::Call(call) => ReplyBlock::Call(ReplyCall {
            wire_id: String::new(),
            tool: call.tool,
            arguments: Value::Object(call.arguments).to_string(),
            seal: None,
        }),
    }
}

/// What the model was told, by people and by tools: what stands there it repeats and does not call.
fn told_words(history: &[Arc<Message>]) -> ToldWords {
    let told = history.iter().filter(|message| message.role == Role::User);
    ToldWords::of_texts(told.flat_map(|message| &message.blocks).map(block_words))
}

/// The texts of a result are one: a call may begin in one and end in the next.
fn block_words(block: &MessageBlock) -> Cow<'_, str> {
    match block {
        MessageBlock::Text { text, .. } => Cow::Borrowed(text),
        MessageBlock::Result { blocks, .. } => Cow::Owned(blocks.iter().map(block_words).collect()),
        MessageBlock::Thinking { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests;
