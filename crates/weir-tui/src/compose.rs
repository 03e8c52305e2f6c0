//! The box in which a person writes: text, cursor, history, completion, pasted things. Pure but for
//! three looks at files: the history ([`history`]), what an editor is given ([`editor`]), whether a
//! pasted path leads to one. Not here: what becomes of what was written.
//!
//! Reading order: this file, `acts` (what keys do), `clipboard`, `view`; then `buffer`, `layout`,
//! `undo`, `token`, `written`, which they stand on.

mod acts;
mod buffer;
mod clipboard;
mod complete;
pub mod editor;
pub mod history;
mod keys;
mod layout;
mod offers;
mod paste;
mod recall;
#[cfg(test)]
mod tests;
mod token;
mod undo;
mod view;
mod written;

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use crossterm::event::KeyEvent;

use crate::link::{CommandTicket, MessageAttachment, SlashCommandInfo};
use buffer::{Buffer, TextPos};
pub(crate) use clipboard::pasted_name;
use complete::{CompletionList, CompletionWord};
use paste::PASTED_BYTES_MAX;
use recall::{ComposerDraft, HistoryRecall, HistorySearch};
pub(crate) use token::size_text;
use token::{ComposerToken, TokenTable};
use undo::{BufferChange, EditKind, KillRing, UndoHistory};
pub use written::{WrittenKind, WrittenMessage};

/// Keys of the box and what they do, for the help.
pub const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; take what is chosen in a list"),
    ("Shift-Enter, Alt-Enter, Ctrl-J, \\ Enter", "new line"),
    ("@", "name a file: Tab or Enter takes it, Esc closes the list"),
    ("/ at the start", "a command"),
    ("! at the start", "a command of the shell"),
    ("Up, Down, Ctrl-P, Ctrl-N", "a row up or down; past the first or last: earlier messages"),
    ("Ctrl-R", "search earlier messages: Ctrl-R on, Ctrl-S back, Enter takes, Esc ends"),
    ("Left, Right, Ctrl-B, Ctrl-F", "a character back or on"),
    ("Ctrl-Left, Ctrl-Right, Alt-B, Alt-F", "a word back or on"),
    ("Home, End, Ctrl-A, Ctrl-E", "start and end of the line"),
    ("Ctrl-Home, Ctrl-End, Alt-<, Alt->", "start and end of the text"),
    ("Backspace, Ctrl-H; Delete, Ctrl-D", "delete the character before or after"),
    ("Ctrl-W", "cut the word before, up to a blank"),
    ("Alt-Backspace, Alt-D", "cut the word before or after"),
    ("Ctrl-U, Ctrl-K", "cut to the start or the end of the line"),
    ("Ctrl-Y, Alt-Y", "put in what was cut; what was cut before that"),
    ("Ctrl-_, Alt-_", "undo, redo"),
    ("Ctrl-V", "attach the picture in the clipboard; put in its text where it holds none"),
    ("Alt-U", "unfold the pasted text at the cursor"),
    ("Ctrl-G, Ctrl-X Ctrl-E", "write in $VISUAL or $EDITOR"),
    ("Ctrl-C", "clear; Up brings it back"),
];

/// Tickets of the box begin here: those of others are smaller.
pub const FIRST_TICKET: CommandTicket = 1 << 48;
/// Cells of a row until the box has been shown.
const CELLS: usize = 77;

/// What a key meant.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyOutcome {
    /// The box took it.
    Took,
    /// Nothing in the box: it is somebody else's.
    Passed,
    /// What is in the box is to be sent.
    Send(WrittenMessage),
    /// Files like this are looked for: the answer goes to [`Composer::receive_files`], none if it failed.
    Files {
        /// Part of a path.
        query: String,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// What the clipboard holds is to be put in: the answer goes to [`Composer::receive_clipboard`].
    Clipboard(CommandTicket),
    /// The person's own editor is to be opened (`editor::edit`) on [`Composer::current_message`]; what
    /// comes of it goes to [`Composer::apply_edited_text`].
    Editor,
}

/// What the key before did, where that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastAction {
    Other,
    Cut,
    /// What was put in begins here.
    Yanked(TextPos),
    Recalled,
}

/// The box.
#[derive(Debug)]
pub struct Composer {
    buffer: Buffer,
    cursor: TextPos,
    tokens: TokenTable,
    undo: UndoHistory,
    kills: KillRing,
    recall: HistoryRecall,
    search: Option<HistorySearch>,
    history: Option<PathBuf>,
    trouble: Option<String>,
    named: Vec<SlashCommandInfo>,
    offer: Option<CompletionList>,
    waiting: Option<(CommandTicket, CompletionWord)>,
    /// What was given back last, as it was put at the start of the box.
    returned: String,
    /// Pictures of the clipboard that were put in, ever: no two have one name.
    pictures: usize,
    /// The word for which the person wanted no list.
    dismissed: Option<TextPos>,
    ticket: CommandTicket,
    last: LastAction,
    /// The cell that rows are gone up and down in.
    goal: Option<usize>,
    prefix: bool,
    hint: String,
    is_file: fn(&str) -> bool,
    shown: Cell<view::ShownArea>,
    laid: RefCell<view::LayoutCache>,
}

impl Default for Composer {
    fn default() -> Composer {
        Composer::new(Vec::new())
    }
}

impl Composer {
    /// An empty one. `history`: earlier messages, the oldest first.
    pub fn new(history: Vec<String>) -> Composer {
        Composer {
            buffer: Buffer::new(),
            cursor: TextPos::default(),
            tokens: TokenTable::default(),
            undo: UndoHistory::default(),
            kills: KillRing::default(),
            recall: HistoryRecall::new(history),
            search: None,
            history: None,
            trouble: None,
            named: Vec::new(),
            offer: None,
            waiting: None,
            returned: String::new(),
            pictures: 0,
            dismissed: None,
            ticket: FIRST_TICKET,
            last: LastAction::Other,
            goal: None,
            prefix: false,
            hint: String::new(),
            is_file,
            shown: Cell::new(view::ShownArea { cells: CELLS, top: (0, 0) }),
            laid: RefCell::default(),
        }
    }

    /// Reads earlier messages from a file and adds those to come. In place of the ones that are
    /// known; what is in the box stays.
    pub fn set_history(&mut self, path: PathBuf) {
        match history::read_history_file(&path) {
            Ok(entries) => {
                self.recall = HistoryRecall::new(entries);
                self.search = None;
                self.history = Some(path);
            }
            Err(error) => self.report_history_lost(&path, &error),
        }
    }

    /// A sentence on what went wrong since this was asked last: a text that was too long, a history
    /// that cannot be kept (nothing more is written to it then). To be asked after each key and
    /// paste; it is told once.
    pub fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// What can be typed as `/name`: those of the face and those of the session, in the order in
    /// which they are offered. Of two with one name the first counts.
    pub fn set_named(&mut self, named: Vec<SlashCommandInfo>) {
        self.named = named;
    }

    /// What is shown, faintly, while nothing is in the box.
    pub fn set_hint(&mut self, hint: &str) {
        hint.clone_into(&mut self.hint);
    }

    /// A key.
    pub fn handle_key(&mut self, key: KeyEvent) -> KeyOutcome {
        let did = self.act_on(key);
        self.settle_cursor();
        did
    }

    /// Text that was pasted at once. Terminals that were told to paste a picture paste nothing at
    /// all: then the clipboard itself is looked at.
    pub fn handle_paste(&mut self, text: &str) -> KeyOutcome {
        if text.is_empty() && self.search.is_none() {
            return self.ask_clipboard();
        }
        if text.len() > PASTED_BYTES_MAX {
            let (has, most) = (text.len() >> 20, PASTED_BYTES_MAX >> 20);
            self.trouble = Some(format!(
                "the pasted text has {has} MB, at most {most} MB fit; put it in a file and name \
                 that with @"
            ));
            return KeyOutcome::Took;
        }
        let text = paste::clean_pasted_text(text);
        if let Some(search) = &mut self.search {
            search.add_text(&text, self.recall.entries());
            return KeyOutcome::Took;
        }
        self.close_offer();
        self.undo.close_step();
        self.reset_last_action();
        match self.token_for_paste(&text) {
            Some(ComposerToken::File(file)) => self.attach_file(file),
            Some(token) => match self.tokens.add(token) {
                Some(sign) => self.insert_text(sign.encode_utf8(&mut [0; 4]), EditKind::Whole),
                None => self.insert_text(&text, EditKind::Whole),
            },
            None => self.insert_text(&text, EditKind::Whole),
        }
        self.settle_cursor();
        KeyOutcome::Took
    }

    /// What a pasted text is shown as; `None`: as itself.
    fn token_for_paste(&self, text: &str) -> Option<ComposerToken> {
        // A command of the shell is given the path and nothing that goes along.
        let dropped = paste::pasted_path(text)
            .filter(|path| !self.is_shell() && token::is_picture(path) && (self.is_file)(path));
        match dropped {
            Some(path) => Some(ComposerToken::File(MessageAttachment::Path(path))),
            None if paste::is_long(text) => Some(ComposerToken::Pasted(text.into())),
            None => None,
        }
    }

    /// A file or picture that goes along: it stands at the cursor as one thing.
    pub fn attach_file(&mut self, file: MessageAttachment) {
        self.close_offer();
        self.reset_last_action();
        if let Some(sign) = self.tokens.add(ComposerToken::File(file)) {
            self.insert_text(&format!("{sign} "), EditKind::Whole);
            self.settle_cursor();
        }
    }

    /// The answer to `Did::Files`.
    pub fn receive_files(&mut self, ticket: CommandTicket, found: Vec<String>) {
        self.take_files(ticket, found);
    }

    /// What is in it, as it would be sent.
    pub fn current_message(&self) -> WrittenMessage {
        let text = self.buffer.text();
        let (expanded, attached) = self.tokens.expand_tokens(&text);
        let kind = WrittenKind::of_text(&text);
        WrittenMessage { text: expanded.into_owned(), attached, kind }
    }

    /// Puts a text in it, in place of what is there; the cursor at its end.
    pub fn set_text(&mut self, text: &str) {
        self.close_offer();
        self.search = None;
        self.replace_all(&paste::clean_pasted_text(text));
        self.settle_cursor();
    }

    /// What the editor made of it: files whose label is still there go along as before.
    pub fn apply_edited_text(&mut self, text: &str) {
        let before = self.current_message();
        let mut text =
            self.tokens.restore_labelled_files(&paste::clean_pasted_text(text), &before.attached);
        // A pasted text that was one thing in the box is no command once it is unfolded.
        if before.box_text() != before.text {
            text = written::as_words(&text).into_owned();
        }
        self.close_offer();
        self.replace_all(&text);
        self.settle_cursor();
    }

    /// Puts something back that was sent and not taken, before what has been written since.
    pub fn give_back(&mut self, written: &WrittenMessage) {
        self.returned.clear();
        self.give_back_next(written);
    }

    /// The same for one of several that are given back in the order in which they were said: behind
    /// those that came before it, as long as they stand there as they were put.
    pub fn give_back_next(&mut self, written: &WrittenMessage) {
        let text = self.tokens.restore_labelled_files(
            &paste::clean_pasted_text(&written.box_text()),
            &written.attached,
        );
        let stands = self.buffer.text();
        let untouched = |rest: &&str| rest.is_empty() || rest.starts_with('\n');
        let before = Some(self.returned.as_str()).filter(|before| !before.is_empty());
        let behind = before.and_then(|before| stands.strip_prefix(before)).filter(untouched);
        let (mut whole, since) = match behind {
            Some(rest) => (format!("{}\n{text}", self.returned), rest.strip_prefix('\n')),
            None => (text, Some(stands.as_str()).filter(|stands| !stands.is_empty())),
        };
        self.returned.clone_from(&whole);
        if let Some(since) = since {
            whole.push('\n');
            whole.push_str(since);
        }
        self.close_offer();
        self.search = None;
        self.replace_all(&whole);
        self.settle_cursor();
    }

    /// Whether nothing is in it and nothing is searched.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.search.is_none()
    }

    /// Whether Tab is for the box: a list is open, or one could be.
    pub fn can_complete(&self) -> bool {
        let wanted = |word: CompletionWord| self.dismissed != Some(word.start);
        self.search.is_some()
            || self.offer.is_some()
            || complete::completable_word(&self.buffer, self.cursor).is_some_and(wanted)
    }

    /// Empties it, as Ctrl-C does: what was in it is kept among the earlier messages.
    pub fn clear(&mut self) {
        let written = self.current_message();
        self.remember_message(&written);
        self.set_text("");
    }

    /// Whether what is in it is a command for the shell.
    pub fn is_shell(&self) -> bool {
        self.buffer.line(0).starts_with('!') && self.buffer.next(TextPos::default()).byte == 1
    }

    fn current_draft(&self) -> ComposerDraft {
        ComposerDraft { text: self.buffer.text(), cursor: self.cursor }
    }

    /// Keeps a message among the earlier ones.
    fn remember_message(&mut self, written: &WrittenMessage) {
        let text = written.box_text();
        if self.recall.push(&text)
            && let Some(path) = self.history.take()
        {
            match history::append_to_history(&path, &text) {
                Ok(()) => self.history = Some(path),
                Err(error) => self.report_history_lost(&path, &error),
            }
        }
    }

    fn report_history_lost(&mut self, path: &Path, error: &std::io::Error) {
        let path = path.display();
        self.trouble = Some(format!("earlier messages cannot be kept in {path}: {error}"));
    }

    /// Puts a text at the cursor.
    fn insert_text(&mut self, text: &str, kind: EditKind) {
        let change = BufferChange { kind, from: self.cursor, to: self.cursor, before: self.cursor };
        self.cursor = self.undo.apply_change(&mut self.buffer, &change, text);
    }

    fn replace_range(&mut self, from: TextPos, to: TextPos, text: &str) {
        let change = BufferChange { kind: EditKind::Whole, from, to, before: self.cursor };
        self.cursor = self.undo.apply_change(&mut self.buffer, &change, text);
    }

    fn replace_all(&mut self, text: &str) {
        self.replace_range(TextPos::default(), self.buffer.end(), text);
        self.reset_last_action();
    }

    /// The text was changed by something else than the key before: what that key did is over.
    fn reset_last_action(&mut self) {
        (self.last, self.goal) = (LastAction::Other, None);
    }

    /// The cursor where it may stand: between clusters, behind the `!` of a shell command.
    fn settle_cursor(&mut self) {
        self.cursor = self.buffer.snap_to_boundary(self.cursor);
        if self.cursor == TextPos::default() && self.is_shell() {
            self.cursor.byte = 1;
        }
    }
}

/// Whether a path that was pasted leads to a file of this machine.
fn is_file(path: &str) -> bool {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest).is_file(),
        _ => Path::new(path).is_file(),
    }
}
