//! What can stand on a chat's page, and the steps by which a page changes.

use std::sync::Arc;

use maud::{Markup, html};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::tool::PlanItem;
use weir_core::view::transcript::{CallEntry, PlacedFact};

use super::notes::Note;
use super::status::{Banner, Status};
use super::{ask, notes, row, said, status};

/// For whom and in which surroundings a chat is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    /// Which chat.
    pub(crate) session: SessionId,
    /// What its forms carry.
    pub(crate) csrf: String,
    /// Whether anything can be done here, or only read.
    pub(crate) acts: bool,
    /// Where its forms lead back to, if not to the chat.
    pub(crate) back: Option<&'static str>,
}

impl View {
    /// An address below the chat's own.
    pub(crate) fn at(&self, below: &str) -> String {
        format!("/chats/{}/{below}", self.session)
    }

    /// What each form of it carries.
    pub(crate) fn csrf(&self) -> Markup {
        html! { input type="hidden" name="csrf" value=(self.csrf); }
    }

    /// Where an answer leads back to.
    pub(crate) fn back(&self) -> Markup {
        html! {
            @if let Some(back) = self.back { input type="hidden" name="back" value=(back); }
        }
    }

    /// Where the bytes of a blob are.
    pub(crate) fn blob(&self, blob: &str) -> String {
        format!("/api/v1/sessions/{}/blobs/{blob}", self.session)
    }
}

/// Where something is put at the end of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Region {
    /// The conversation.
    Log,
    /// What waits to be said.
    Queue,
    /// What waits for an answer.
    Asks,
    /// A part of an entry.
    Within(String),
}

impl Region {
    /// The id of its element.
    pub(crate) fn id(&self) -> &str {
        match self {
            Region::Log => "log",
            Region::Queue => "queue",
            Region::Asks => "asks",
            Region::Within(id) => id,
        }
    }
}

/// One step by which a page changes.
#[derive(Debug, Clone)]
pub(crate) struct Op {
    pub(super) view: Arc<View>,
    pub(super) verb: Verb,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(super) enum Verb {
    /// Puts content at the end of a region.
    Append(Region, Content),
    /// Puts content in the place of the element with this id; nothing, where there is none.
    Replace(String, Content),
    /// Takes the element with this id away.
    Remove(String),
}

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Op", 3)?;
        match &self.verb {
            Verb::Append(region, content) => {
                out.serialize_field("op", "append")?;
                out.serialize_field("id", region.id())?;
                out.serialize_field("html", &content.html(&self.view).into_string())?;
            }
            Verb::Replace(id, content) => {
                out.serialize_field("op", "replace")?;
                out.serialize_field("id", id)?;
                out.serialize_field("html", &content.html(&self.view).into_string())?;
            }
            Verb::Remove(id) => {
                out.serialize_field("op", "remove")?;
                out.serialize_field("id", id)?;
            }
        }
        out.end()
    }
}

/// Something on the page. Holds what it is made of and becomes HTML when it is wanted.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// What somebody said.
    Said(PlacedFact),
    /// The same, waiting for its turn.
    Queued(PlacedFact),
    /// The same, when it will not be told any more.
    Returned(PlacedFact),
    /// What the model said.
    Replied(PlacedFact),
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
    Note(Note),
    /// Image created by the model.
    Image(PlacedFact),
    /// A run came to rest.
    Ended(PlacedFact),
    /// A person is asked about a call.
    Approval(Box<ApprovalRequested>, Vec<String>),
    /// A person is asked something.
    Question(QuestionAsked),
    /// State, context and cost.
    Status(Box<Status>),
    /// The task list.
    Plan(Vec<PlanItem>),
    /// What must not be overlooked.
    Banner(Banner),
}

impl Content {
    /// The id of its element.
    pub(crate) fn id(&self) -> String {
        match self {
            Content::Said(at) | Content::Replied(at) | Content::Image(at) | Content::Ended(at) => {
                entry_id(at.seq)
            }
            Content::Queued(at) | Content::Returned(at) => format!("q{}", at.seq),
            Content::Writing(turn) => writing_id(turn),
            Content::Block(id, _) | Content::Thinking(id, _) | Content::Output(id, _) => id.clone(),
            Content::Call(row) => entry_id(row.proposed.seq),
            Content::Note(note) => entry_id(note.seq),
            Content::Approval(asked, _) => ask_id(asked.approval.as_str()),
            Content::Question(asked) => ask_id(asked.question.as_str()),
            Content::Status(_) => "status".into(),
            Content::Plan(_) => "plan".into(),
            Content::Banner(_) => "banner".into(),
        }
    }

    /// Its HTML: one element with that id.
    pub(crate) fn html(&self, view: &View) -> Markup {
        match self {
            Content::Said(at) => said::said(view, at),
            Content::Queued(at) => said::queued(view, at),
            Content::Returned(at) => said::returned(view, at),
            Content::Replied(at) => said::replied(view, at),
            Content::Writing(turn) => said::writing(turn),
            Content::Block(id, text) => said::block(id, text),
            Content::Thinking(id, text) => said::thinking(id, text),
            Content::Call(row) => row::row(view, row),
            Content::Output(id, text) => row::output(id, text),
            Content::Note(note) => notes::note(view, note),
            Content::Image(at) => said::image(view, at),
            Content::Ended(at) => said::ended(view, at),
            Content::Approval(asked, path) => ask::approval(view, asked, path),
            Content::Question(asked) => ask::question(view, asked),
            Content::Status(state) => status::status(state),
            Content::Plan(plan) => status::plan(plan),
            Content::Banner(banner) => status::banner(banner),
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
pub(super) fn time(ts: Timestamp) -> Markup {
    let at = jiff::Timestamp::from_microsecond(ts.0).unwrap_or_default();
    let whole = at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    html! {
        time datetime=(at.strftime("%Y-%m-%dT%H:%M:%SZ")) title=(whole) {
            (at.strftime("%H:%M"))
        }
    }
}
