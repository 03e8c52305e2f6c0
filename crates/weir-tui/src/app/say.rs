//! What a person says on its way out, and back.

use weir_core::input::PersonCommand;
use weir_core::slash;

use super::App;
use super::painter::AppPainter;
use crate::compose::{WrittenKind, WrittenMessage};
use crate::familiar;
use crate::link::{NoticeTone, UiCommand};

/// Messages that wait until a session is open.
const HELD_MAX: usize = 64;

impl App {
    /// What was written is sent: a command of the face, a command for the shell, or words.
    pub(crate) fn send_written(&mut self, written: WrittenMessage) {
        let text = written.text.trim();
        if text.is_empty() && written.attached.is_empty() {
            return;
        }
        // What was told before it was about what was before it.
        self.hint = None;
        if let Some(command) = written.shell_command().map(str::to_owned) {
            self.run_shell(command, &written);
            return;
        }
        let is_command = written.kind == WrittenKind::Command;
        if is_command && self.opened && !self.settings_known && familiar::shows_settings(text) {
            self.hold_message(written);
            return;
        }
        // Before a session is open nobody knows what it has under such a name.
        let waits = !self.opened && self.waits_for_session(text);
        if is_command && !waits && self.handle_slash_line(text, &written) {
            return;
        }
        self.send_message(written);
    }

    /// Words go out; before a session is open they wait.
    pub(crate) fn send_message(&mut self, mut written: WrittenMessage) {
        if !self.opened {
            self.hold_message(written);
            return;
        }
        if self.painter == AppPainter::Screen {
            // There it is one key away as long as nothing else is said; a line asks for it by name.
            self.shell.dismiss_offer();
        }
        let shown = self.shell.take_along();
        let plain = written.clone();
        written.text = shown.into_iter().fold(written.text, |text, ran| format!("{text}\n\n{ran}"));
        let ticket = self.next_ticket();
        let client_id = match &self.sender {
            Some(name) => format!("{name}-{ticket}"),
            None => format!("tui-{:x}-{ticket}", self.now.micros()),
        };
        self.sent.insert(client_id.clone(), plain);
        self.wishes.push(UiCommand::Say {
            text: written.text,
            attached: written.attached,
            client_id,
        });
        self.dirty = true;
    }

    /// It waits for what it needs to know; more than a person means to say comes back into the box.
    fn hold_message(&mut self, written: WrittenMessage) {
        if self.held.len() >= HELD_MAX {
            self.give_back(&written);
            self.show_hint(
                NoticeTone::Bad,
                "Too many messages wait already: no session is open yet",
            );
            return;
        }
        self.held.push(written);
        self.dirty = true;
    }

    /// What waits is said now, in its order; what must wait longer does.
    pub(crate) fn send_held(&mut self) {
        for held in std::mem::take(&mut self.held) {
            self.send_written(held);
        }
    }

    /// The last thing that was said here and waits comes back into the box. Whether there was one.
    pub(crate) fn take_back(&mut self) -> bool {
        if let Some(held) = self.held.pop() {
            self.taken_back(&held);
            return true;
        }
        let input = self.fold.withdraw_last();
        self.wishes.extend(input.map(|input| UiCommand::Tell(PersonCommand::Withdraw { input })));
        input.is_some()
    }

    /// What was to be taken back was not said: it goes into the box, before what stands there.
    pub(crate) fn taken_back(&mut self, written: &WrittenMessage) {
        self.give_back(written);
        self.show_hint(NoticeTone::Quiet, "Your message is back in the box");
    }

    /// A run ended before this was told, and not by this face: it goes into the box, behind what came
    /// back just before it and before what is being written there.
    pub(crate) fn given_back(&mut self, written: &WrittenMessage) {
        if self.painter == AppPainter::Screen {
            self.composer.give_back_next(written);
        }
        self.show_hint(NoticeTone::Quiet, "Your queued message is back in the box");
    }

    /// The run ends now; what was said here and not told yet comes back into the box.
    pub(crate) fn interrupt_run(&mut self) {
        while let Some(input) = self.fold.withdraw_last() {
            self.wishes.push(UiCommand::Tell(PersonCommand::Withdraw { input }));
        }
        self.wishes.push(UiCommand::Tell(PersonCommand::Cancel));
        self.dirty = true;
    }

    /// What was said once, to be written again: of commands only those of the session can be it.
    pub(crate) fn written_from_text(&self, text: String) -> WrittenMessage {
        let name = slash::parse_typed_command(&text).map(|typed| typed.name);
        let kind = match name.is_some_and(|name| self.fold.named.iter().any(|n| n.name == name)) {
            true => WrittenKind::Command,
            false => WrittenKind::Words,
        };
        WrittenMessage { text, attached: Vec::new(), kind }
    }
}
