//! Lines about the conversation: what every face tells alike (`weir_core::view::fact_note`), and what a
//! terminal tells in its own way. Pure.

use weir_core::event::{CancelCause, Event};
use weir_core::view::told;
pub(crate) use weir_core::view::told::{FactLine, FactTone as Loud};

use crate::words::{duration_text, one_line};

/// What a fact tells in passing; `None`: nothing, or it is shown in another way.
pub(crate) fn fact_note(event: &Event) -> Option<FactLine> {
    Some(match event {
        Event::SessionOpened(f) => {
            let parent = one_line(f.parent.as_ref()?.as_str());
            (Loud::Mark, format!("A copy of session {parent} begins here."))
        }
        // The end of the run says who stopped it.
        Event::CancelRequested(f) if f.cause == CancelCause::Cancelled => return None,
        Event::ModelRetried(f) => (
            Loud::Quiet,
            format!(
                "Attempt {} failed, the next one begins in {}: {}",
                f.attempt,
                duration_text(f.wait_ms),
                one_line(&f.message)
            ),
        ),
        Event::MemoryProposed(f) => (
            Loud::Quiet,
            format!("Waits in your memory's inbox (/memory): {}", one_line(&f.note.text)),
        ),
        Event::RunRemembered(f) => {
            let why = one_line(f.failed.as_deref()?);
            (Loud::Quiet, format!("Nothing was remembered: {why}"))
        }
        event => return told::describe_fact(event),
    })
}
