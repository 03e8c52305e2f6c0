//! The terminal lent to somebody else: an editor, the shell after Ctrl-Z; and other colours.

use super::{FaceLoop, choose_theme};
use crate::compose::editor;
use crate::link::NoticeTone;
use crate::terminal::StopOutcome;
use crate::text::theme::Theme;

impl FaceLoop {
    /// What is in the box goes through the person's editor.
    pub(super) fn edit_in_editor(&mut self) {
        let written = self.app.composer.current_message();
        let command = editor::configured_editor();
        if command.is_some()
            && let Err(error) = self.terminal.suspend()
        {
            self.app.show_hint(NoticeTone::Bad, format!("The terminal cannot be lent: {error}"));
            return;
        }
        let edited = editor::edit_text(command.as_deref(), &written.text);
        if command.is_some()
            && let Err(error) = self.terminal.resume()
        {
            // Without it nothing can be shown or typed any more.
            self.app
                .show_hint(NoticeTone::Bad, format!("The terminal cannot be taken back: {error}"));
            self.leave_with(1);
            return;
        }
        match edited {
            Ok(text) => self.app.composer.apply_edited_text(&text),
            Err(error) => self.app.show_hint(NoticeTone::Bad, error.to_string()),
        }
    }

    /// The program stops until the shell lets it go on.
    pub(super) fn suspend_to_shell(&mut self) {
        match self.terminal.stop_job() {
            Ok(StopOutcome::Continued) => (),
            Ok(StopOutcome::NoShell) => {
                self.app.show_hint(NoticeTone::Bad, "There is no shell to go back to");
            }
            Err(error) => {
                self.app.show_hint(NoticeTone::Bad, format!("It cannot be stopped: {error}"))
            }
        }
    }

    /// Other colours.
    pub(super) fn set_theme(&mut self, name: &str) {
        let caps = self.terminal.caps();
        if Theme::by_name(name, caps.depth).is_none() {
            self.app
                .show_hint(NoticeTone::Bad, "There is no theme of this name; /theme lists them");
            return;
        }
        self.app.theme = choose_theme(Some(name), caps);
        self.app.fold.settings.theme = name.to_owned();
        self.terminal.redraw();
    }
}
