//! What can stand on a chat's page, and the steps by which a page changes.

use std::sync::Arc;

use maud::{Markup, html};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use weir_core::event::{
    ApprovalRequested, ImageProduced, InputAccepted, ModelReplied, QuestionAsked, RunFinished,
};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::tool::PlanItem;
use weir_core::view::transcript::{CallEntry, SeenFact};

use super::notes::ChatNote;
use super::status::{ChatBanner, ChatStatus};
use super::{ask, notes, row, said, status};

/// For whom and in which surroundings a chat is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatView {
    /// The session that is shown.
    pub(crate) session: SessionId,
    /// The token that the forms of the page carry.
    pub(crate) csrf: String,
    /// Whether anything can be done here, or only read.
    pub(crate) acts: bool,
    /// Where its forms lead back to, if not to the chat.
    pub(crate) back: Option<&'static str>,
}

impl ChatView {
    /// An address below the chat's own.
    pub(crate) fn address_below(&self, below: &str) -> String {
        format!("/chats/{}/{below}", self.session)
    }

    /// What each form of it carries.
    pub(crate) fn csrf_input(&self) -> Markup {
        html! { input type="hidden" name="csrf" value=(self.csrf); }
    }

    /// Where an answer leads back to.
    pub(crate) fn back_input(&self) -> Markup {
        html! {
            @if let Some(back) = self.back { input type="hidden" name="back" value=(back); }
        }
    }

    /// Where the bytes of a blob are.
    pub(crate) fn blob_address(&self, blob: &str) -> String {
        format!("/api/v1/sessions/{}/blobs/{blob}", self.session)
    }
}

/// Where something is put at the end of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageRegion {
    /// The conversation.
    Log,
    /// What waits to be said.
    Queue,
    /// What waits for an answer.
    Asks,
    /// A part of an entry.
    Within(String),
}

impl PageRegion {
    /// The id of its element.
    pub(crate) fn id(&self) -> &str {
        match self {
            PageRegion::Log => "log",
            PageRegion::Queue => "queue",
            PageRegion::Asks => "asks",
            PageRegion::Within(id) => id,
        }
    }
}

/// One step by which a page changes.
#[derive(Debug, Clone)]
pub(crate) struct PageOperation {
    pub(super) view: Arc<ChatView>,
    pub(super) verb: PageOperationKind,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(super) enum PageOperationKind {
    /// Puts content at the end of a region.
    Append(PageRegion, ChatContent),
    /// Puts content in the place of the element with this id; nothing, where there is none.
    Replace(String, ChatContent),
    /// Takes the element with this id away.
    Remove(String),
}

impl Serialize for PageOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Op", 3)?;
        match &self.verb {
            PageOperationKind::Append(region, content) => {
                out.serialize_field("op", "append")?;
                out.serialize_field("id", region.id())?;
                out.serialize_field("html", &content.render_html(&self.view).into_string())?;
            }
            PageOperationKind::Replace(id, content) => {
                out.serialize_field("op", "replace")?;
                out.serialize_field("id", id)?;
                out.serialize_field("html", &content.render_html(&self.view).into_string())?;
            }
            PageOperationKind::Remove(id) => {
                out.serialize_field("op", "remove")?;
                out.serialize_field("id", id)?;
            }
        }
        out.end()
    }
}

/// Something on the page. Holds what it is made of and becomes HTML when it is wanted.
#[derive(Debug, Clone)]
pub(crate) enum ChatContent {
    /// What somebody said.
    Said(SeenFact<InputAccepted>),
    /// The same, waiting for its turn.
    Queued(SeenFact<InputAccepted>),
    /// The same, when it will not be told any more.
    Returned(SeenFact<InputAccepted>),
    /// What the model said.
    Replied(SeenFact<ModelReplied>),
    /// The model is writing, in the turn of this name.
    Writing(String),
    /// A block of Markdown with its id: what is being written now.
    Block(String, String),
    /// What is being thought now, with its id.
    Thinking(String, String),
    /// A call of a tool.
    Call(Box<CallEntry>),
    /// What a call shows while it runs, with its id.
    Output(String, String),
    /// A line about the conversation.
    Note(ChatNote),
    /// Image created by the model.
    Image(SeenFact<ImageProduced>),
    /// A run came to rest.
    Ended(SeenFact<RunFinished>),
    /// A person is asked about a call.
    Approval(Box<ApprovalRequested>, Vec<String>),
    /// A person is asked something.
    Question(QuestionAsked),
    /// State, context and cost.
    Status(Box<ChatStatus>),
    /// The task list.
    Plan(Vec<PlanItem>),
    /// What must not be overlooked.
    Banner(ChatBanner),
}

impl ChatContent {
    /// The id of its element.
    pub(crate) fn id(&self) -> String {
        match self {
            ChatContent::Said(at) => entry_id(at.seq),
            ChatContent::Replied(at) => entry_id(at.seq),
            ChatContent::Image(at) => entry_id(at.seq),
            ChatContent::Ended(at) => entry_id(at.seq),
            ChatContent::Queued(at) | ChatContent::Returned(at) => format!("q{}", at.seq),
            ChatContent::Writing(turn) => writing_id(turn),
            ChatContent::Block(id, _)
            | ChatContent::Thinking(id, _)
            | ChatContent::Output(id, _) => id.clone(),
            ChatContent::Call(row) => entry_id(row.proposed.seq),
            ChatContent::Note(note) => entry_id(note.seq),
            ChatContent::Approval(asked, _) => ask_id(asked.approval.as_str()),
            ChatContent::Question(asked) => ask_id(asked.question.as_str()),
            ChatContent::Status(_) => "status".into(),
            ChatContent::Plan(_) => "plan".into(),
            ChatContent::Banner(_) => "banner".into(),
        }
    }

    /// Its HTML: one element with that id.
    pub(crate) fn render_html(&self, view: &ChatView) -> Markup {
        match self {
            ChatContent::Said(at) => said::render_input(view, at),
            ChatContent::Queued(at) => said::render_queued_input(view, at),
            ChatContent::Returned(at) => said::render_returned_input(view, at),
            ChatContent::Replied(at) => said::render_reply(view, at),
            ChatContent::Writing(turn) => said::render_writing(turn),
            ChatContent::Block(id, text) => said::render_block(id, text),
            ChatContent::Thinking(id, text) => said::render_thinking(id, text),
            ChatContent::Call(row) => row::render_call_row(view, row),
            ChatContent::Output(id, text) => row::render_output(id, text),
            ChatContent::Note(note) => notes::render_note(view, note),
            ChatContent::Image(at) => said::render_image(view, at),
            ChatContent::Ended(at) => said::render_run_end(view, at),
            ChatContent::Approval(asked, path) => ask::render_approval_dialog(view, asked, path),
            ChatContent::Question(asked) => ask::render_question_dialog(view, asked),
            ChatContent::Status(state) => status::render_status(state),
            ChatContent::Plan(plan) => status::render_plan(plan),
            ChatContent::Banner(banner) => status::render_banner(banner),
        }
    }
}

/// The id of an entry: the permalink of a fact.
pub(super) fn entry_id(seq: Seq) -> String {
    format!("e{seq}")
}

/// The id of what is being written in a turn.
pub(super) fn writing_id(turn: &str) -> String {
    format!("live-{turn}")
}

/// The id of what is asked; a name may hold anything.
pub(super) fn ask_id(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("ask-{}", name.chars().map(safe).collect::<String>())
}

/// The time of day, by the server's clock in UTC; `chat.js` makes it the reader's own.
pub(super) fn render_time(ts: Timestamp) -> Markup {
    let at = jiff::Timestamp::from_microsecond(ts.0).unwrap_or_default();
    let whole = at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    html! {
        time datetime=(at.strftime("%Y-%m-%dT%H:%M:%SZ")) title=(whole) {
            (at.strftime("%H:%M"))
        }
    }
}
