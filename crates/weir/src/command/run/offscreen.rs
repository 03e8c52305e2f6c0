//! Headless runs of a journal that is there already: what each of them prints. For tests that hold
//! all faces against each other. Not here: a model, signals, typed answers.

use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::Session;
use weir_core::view::transcript::Transcript;
use weir_engine::hub::PublishedFact;
use weir_install::context::InstallationContext;

use super::ask::{ApprovalAnswerer, TerminalAsker};
use super::face::{HeadlessOutput, OutputOptions};
use crate::options::OutputFormat;
use crate::terminal::paper;

/// One run under way.
struct HeadlessRun {
    face: HeadlessOutput,
    asking: TerminalAsker,
}

impl HeadlessRun {
    fn begin(before: &Session, asks: ApprovalAnswerer) -> HeadlessRun {
        let output = OutputFormat::Text;
        let shown = OutputOptions { output, deltas: false, quiet: false, resumable: true };
        let seen = Transcript::after(before);
        let face = HeadlessOutput::new(shown, before.id().clone(), seen);
        face.announce_session();
        HeadlessRun { face, asking: TerminalAsker::new(asks) }
    }
}

/// Everything that is printed while these facts happen: by one run, and after its end by the one
/// that takes the session up again.
pub(in crate::command) fn print_runs(
    cx: &InstallationContext,
    session: &SessionId,
    asks: ApprovalAnswerer,
    facts: &[PublishedFact],
) -> String {
    paper::printed_by(|| {
        let mut running = None;
        let mut before = Session::new(session.clone());
        for fact in facts {
            if running.is_none() && begins(fact) {
                running = Some(HeadlessRun::begin(&before, asks));
            }
            before.apply(fact.ts, &fact.event);
            let Some(HeadlessRun { face, asking }) = &mut running else { continue };
            face.show_fact(fact).expect("it is kept and not printed");
            asking.hear_fact(cx, &fact.event);
            if let Some(finished) = face.at_rest() {
                face.show_run_end(&finished).expect("it is kept and not printed");
                running = None;
            }
        }
    })
}

/// Whether somebody ran the program for this.
fn begins(fact: &PublishedFact) -> bool {
    matches!(
        fact.event.as_ref(),
        Event::SessionOpened(_)
            | Event::SessionResumed(_)
            | Event::InputAccepted(_)
            | Event::RunStarted(_)
    )
}
