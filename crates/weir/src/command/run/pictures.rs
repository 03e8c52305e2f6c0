//! Pictures that a model made: in a run whose answer is text on a terminal or in a pipe it is said where
//! each was saved. Not here: saving, which the session does, and what a program is told, which finds the
//! file in the events.

use weir_core::event::{Event, ImageProduced};
use weir_install::context::InstallationContext;

use crate::options::OutputFormat;
use crate::terminal;

/// Names the file of a picture, where the fact is about one and a person reads the answer.
pub(super) fn name_picture_of_fact(cx: &InstallationContext, output: OutputFormat, event: &Event) {
    let Event::ImageProduced(made) = event else { return };
    if output == OutputFormat::Text {
        terminal::err_message(&picture_line(cx, made));
    }
}

fn picture_line(cx: &InstallationContext, made: &ImageProduced) -> String {
    match &made.path {
        Some(path) => format!("picture: {}", cx.folder.join(path).display()),
        None => "a picture could not be saved as a file; it is in `weir sessions export`".into(),
    }
}
