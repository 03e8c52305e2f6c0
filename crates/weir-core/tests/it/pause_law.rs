//! The law of paused runs (R5), held against any journal: between the pause and the moment at which somebody
//! lets the run go on, or it ends, nothing begins. Not here: that what had begun is finished, which is a law
//! of all calls.

use weir_core::event::Event;

/// How often a run was paused in it.
pub(crate) fn check<'a>(events: impl Iterator<Item = &'a Event>) -> usize {
    let (mut is_paused, mut pauses) = (false, 0);
    for event in events {
        match event {
            Event::RunPaused(_) => {
                assert!(!is_paused, "it was paused already");
                (is_paused, pauses) = (true, pauses + 1);
            }
            Event::RunResumed(_) => {
                assert!(is_paused, "it was not paused");
                is_paused = false;
            }
            Event::RunStarted(_) | Event::RunFinished(_) => is_paused = false,
            Event::TurnStarted(_)
            | Event::ModelRequested(_)
            | Event::CallStarted(_)
            | Event::CheckpointTaken(_)
            | Event::SceneSeen(_) => {
                assert!(!is_paused, "{} while the run was paused", event.kind());
            }
            _ => (),
        }
    }
    pauses
}
