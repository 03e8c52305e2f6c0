//! Lines about the conversation: what every face tells alike (`weir_core::view::describe_event`),
//! with the links that only a page has.

use maud::{Markup, html};
use weir_core::event::{CancelCause, Event};
use weir_core::ids::{Seq, Timestamp};
use weir_core::view::plain::visible_text;
use weir_core::view::told;
pub(super) use weir_core::view::told::{FactLine, FactTone, to_sentence};

use super::content::{ChatView, entry_id, render_time};
/// A line about the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatNote {
    /// Place of the fact that it tells.
    pub(crate) seq: Seq,
    /// When it happened.
    pub(crate) ts: Timestamp,
    /// How loud.
    pub(crate) tone: FactTone,
    /// The line.
    pub(crate) text: String,
    /// Where one can do something about it: address and words.
    pub(crate) link: Option<(String, &'static str)>,
}

pub(super) fn render_note(view: &ChatView, note: &ChatNote) -> Markup {
    let class = match note.tone {
        FactTone::Quiet | FactTone::Good => "quiet",
        FactTone::Mark => "mark",
        FactTone::Warn => "warn",
        FactTone::Bad => "bad",
    };
    html! {
        li class={ "entry note " (class) } id=(entry_id(note.seq)) {
            p role=[(note.tone == FactTone::Bad).then_some("alert")] {
                span { (note.text) }
                @if view.acts {
                    @if let Some((address, words)) = &note.link { " " a href=(address) { (words) } }
                }
            }
            (render_time(note.ts))
        }
    }
}

/// What a fact tells in passing, and where one can do something about it; `None`: nothing, or it is
/// shown in another way.
pub(super) fn describe_event(event: &Event) -> Option<(FactLine, Option<(String, &'static str)>)> {
    let memory = || Some(("/memory".to_string(), "Memory"));
    Some(match event {
        Event::SessionOpened(f) => match &f.parent {
            Some(parent) => {
                let link = (format!("/chats/{parent}"), "The chat it came from");
                ((FactTone::Mark, "The copy starts here.".into()), Some(link))
            }
            None => {
                let text = format!("{} · {}", visible_text(&f.model), visible_text(&f.workspace));
                ((FactTone::Quiet, text), None)
            }
        },
        // The end of the run says who stopped it.
        Event::CancelRequested(f) if f.cause == CancelCause::Cancelled => return None,
        Event::ModelRetried(f) => {
            let seconds = f.wait_ms.div_ceil(1_000);
            let text = format!("{} Trying again in {seconds} s.", to_sentence(&f.message));
            ((FactTone::Quiet, text), None)
        }
        Event::MemoryProposed(f) => {
            let text = format!("Waiting in your memory inbox: {}", visible_text(&f.note.text));
            ((FactTone::Quiet, text), memory())
        }
        Event::MemoryWritten(_) => (told::describe_fact(event)?, memory()),
        event => (told::describe_fact(event)?, None),
    })
}
