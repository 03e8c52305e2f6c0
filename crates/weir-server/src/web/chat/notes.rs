//! Lines about the conversation: what every face tells alike (`weir_core::view::told`), with the links
//! that only a page has.

use maud::{Markup, html};
use weir_core::event::{CancelCause, Event};
use weir_core::ids::{Seq, Timestamp};
use weir_core::view::plain::visible;
use weir_core::view::told;
pub(super) use weir_core::view::told::{Told, Tone, sentence};

use super::content::{View, entry_id, time};
/// A line about the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// Place of the fact that it tells.
    pub(crate) seq: Seq,
    /// When.
    pub(crate) ts: Timestamp,
    /// How loud.
    pub(crate) tone: Tone,
    /// The line.
    pub(crate) text: String,
    /// Where one can do something about it: address and words.
    pub(crate) link: Option<(String, &'static str)>,
}

pub(super) fn note(view: &View, note: &Note) -> Markup {
    let class = match note.tone {
        Tone::Quiet | Tone::Good => "quiet",
        Tone::Mark => "mark",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
    };
    html! {
        li class={ "entry note " (class) } id=(entry_id(note.seq)) {
            p role=[(note.tone == Tone::Bad).then_some("alert")] {
                span { (note.text) }
                @if view.acts {
                    @if let Some((address, words)) = &note.link { " " a href=(address) { (words) } }
                }
            }
            (time(note.ts))
        }
    }
}

/// What a fact tells in passing, and where one can do something about it; `None`: nothing, or it is
/// shown in another way.
pub(super) fn told(event: &Event) -> Option<(Told, Option<(String, &'static str)>)> {
    let memory = || Some(("/memory".to_string(), "Memory"));
    Some(match event {
        Event::SessionOpened(f) => match &f.parent {
            Some(parent) => {
                let link = (format!("/chats/{parent}"), "The chat it came from");
                ((Tone::Mark, "The copy starts here.".into()), Some(link))
            }
            None => {
                let text = format!("{} · {}", visible(&f.model), visible(&f.workspace));
                ((Tone::Quiet, text), None)
            }
        },
        // The end of the run says who stopped it.
        Event::CancelRequested(f) if f.cause == CancelCause::Cancelled => return None,
        Event::ModelRetried(f) => {
            let seconds = f.wait_ms.div_ceil(1_000);
            let text = format!("{} Trying again in {seconds} s.", sentence(&f.message));
            ((Tone::Quiet, text), None)
        }
        Event::MemoryProposed(f) => {
            let text = format!("Waiting in your memory inbox: {}", visible(&f.note.text));
            ((Tone::Quiet, text), memory())
        }
        Event::MemoryWritten(_) => (told::told(event)?, memory()),
        event => (told::told(event)?, None),
    })
}
