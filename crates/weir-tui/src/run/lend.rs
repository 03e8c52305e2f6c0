//! The terminal lent to somebody else: an editor, the shell after Ctrl-Z; and other colours.

use super::{Face, theme};
use crate::compose::editor;
use crate::link::Tone;
use crate::terminal::Stopped;
use crate::text::theme::Theme;

impl Face {
    /// What is in the box goes through the person's editor.
    pub(super) fn edit(&mut self) {
        let written = self.app.composer.written();
        let command = editor::chosen();
        if command.is_some()
            && let Err(error) = self.terminal.suspend()
        {
            self.app.hint(Tone::Bad, format!("The terminal cannot be lent: {error}"));
            return;
        }
        let edited = editor::edit(command.as_deref(), &written.text);
        if command.is_some()
            && let Err(error) = self.terminal.resume()
        {
            // Without it nothing can be shown or typed any more.
            self.app.hint(Tone::Bad, format!("The terminal cannot be taken back: {error}"));
            self.leave_with(1);
            return;
        }
        match edited {
            Ok(text) => self.app.composer.edited(&text),
            Err(error) => self.app.hint(Tone::Bad, error.to_string()),
        }
    }

    /// The program stops until the shell lets it go on.
    pub(super) fn stop(&mut self) {
        match self.terminal.stop() {
            Ok(Stopped::Continued) => (),
            Ok(Stopped::NoShell) => {
                self.app.hint(Tone::Bad, "There is no shell to go back to");
            }
            Err(error) => self.app.hint(Tone::Bad, format!("It cannot be stopped: {error}")),
        }
    }

    /// Other colours.
    pub(super) fn restyle(&mut self, name: &str) {
        let caps = self.terminal.caps();
        if Theme::named(name, caps.depth).is_none() {
            self.app.hint(Tone::Bad, "There is no theme of this name; /theme lists them");
            return;
        }
        self.app.theme = theme(Some(name), caps);
        self.app.fold.settings.theme = name.to_owned();
        self.terminal.redraw();
    }
}
