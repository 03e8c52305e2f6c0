//! A talk in line mode: the one app, painted as lines. Typed lines in, wishes and lines out. Pure;
//! whoever drives it reads, writes and waits. What is kept here is only how it is painted: what was
//! printed, what was typed and is not whole, which list a number chooses from. Not here: what news do
//! to it ([`super::heard`]), what commands show ([`super::views`]), lists to choose from
//! ([`super::picks`]).

use std::collections::BTreeMap;
use std::mem::take;

use ratatui::backend::IntoCrossterm;
use ratatui::crossterm::style::ContentStyle;
use ratatui::style::Style;
use weir_core::ids::{InputId, Seq};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::slash;

use super::PlainOptions;
use super::asks::{AskQueue, TypedAnswer, WordingStyle};
use super::picks::{ChoiceKind, PickList};
use super::stream::{PieceSize, PieceStream};
use super::tell::LineVoice;
use super::typed::TypingStart;
use crate::app::App;
use crate::compose::{WrittenKind, WrittenMessage};
use crate::link::{CommandTicket, MessageAttachment, NoticeTone, UiCommand};
use crate::text::clean::clean_text;
use crate::text::theme::ColourDepth;
use crate::words::one_line;

/// Longest message that is gathered from lines that end with `\`, in bytes.
const DRAFT_BYTES_MAX: usize = 1024 * 1024;

/// The settings that hold, as they were last announced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AnnouncedSettings {
    pub(super) model: String,
    pub(super) profile: String,
    pub(super) permission: PermissionMode,
    pub(super) thinking: Thinking,
}

/// What an answer with a ticket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketPurpose {
    /// A text to read, or a list to choose from.
    Reading,
    /// What winding back to before this place would change.
    Preview(Seq),
}

/// A talk.
pub(super) struct PlainTalk {
    pub(super) options: PlainOptions,
    /// What is known and wanted.
    pub(super) app: App,
    out: String,
    /// The prompt stands at the end of what was printed.
    prompted: bool,
    /// Lines that ended with `\`.
    draft: String,
    /// When the first of them was begun.
    begun: TypingStart,
    /// The settings that were announced.
    pub(super) holds: Option<AnnouncedSettings>,
    /// What was said here and no turn has taken yet, as it was typed.
    pub(super) own: BTreeMap<InputId, WrittenMessage>,
    pub(super) asks: AskQueue,
    pub(super) stream: PieceStream,
    /// The turn that `stream` belongs to.
    pub(super) turn: String,
    /// The last line was the model's: no label is needed before its next one.
    pub(super) speaking: bool,
    /// The turn of which it was said that the model thinks.
    pub(super) thought: String,
    pub(super) expected: BTreeMap<CommandTicket, TicketPurpose>,
    pub(super) pick: Option<PickList>,
    /// How many decisions were shown to be agreed to.
    pub(super) decisions: usize,
    /// Of what the list of choices is that was asked for last.
    pub(super) kind: ChoiceKind,
    /// Pictures that go with the next message.
    pub(super) along: Vec<MessageAttachment>,
    /// Pictures of the clipboard, ever: no two have one name.
    pub(super) pictures: usize,
    /// What a command of the person's own prints, in whole lines.
    pub(super) printing: PieceStream,
    /// The run was asked to end.
    pub(super) cancelled: bool,
    warned: bool,
    /// Standard input has ended: it is left when nothing more is to come.
    ended: bool,
    /// The other end was told that nobody can be asked any more.
    unattended: bool,
}

impl PlainTalk {
    pub(super) fn new(options: PlainOptions) -> PlainTalk {
        let pieces = if options.screen_reader { PieceSize::Paragraphs } else { PieceSize::Lines };
        let manner = if options.screen_reader { WordingStyle::Words } else { WordingStyle::Signs };
        let app = App::for_lines(&options.name, options.first.clone(), (options.now)());
        PlainTalk {
            options,
            app,
            out: String::new(),
            prompted: false,
            draft: String::new(),
            begun: TypingStart::Since,
            holds: None,
            own: BTreeMap::new(),
            asks: AskQueue::new(manner),
            stream: PieceStream::new(pieces),
            turn: String::new(),
            speaking: false,
            thought: String::new(),
            expected: BTreeMap::new(),
            pick: None,
            decisions: 0,
            kind: ChoiceKind::default(),
            along: Vec::new(),
            pictures: 0,
            printing: PieceStream::new(PieceSize::Lines),
            cancelled: false,
            warned: false,
            ended: false,
            unattended: false,
        }
    }

    /// What is to be printed now; the prompt at its end when it is the person's turn.
    pub(super) fn take_output(&mut self) -> String {
        let turn = self.app.opened && !self.app.leaving && (self.asks.is_open() || !self.is_busy());
        if turn && self.options.prompt && !self.prompted {
            self.prompted = true;
            self.out.push_str(match (self.draft.is_empty(), self.options.screen_reader) {
                (true, false) => "> ",
                (false, false) => "more> ",
                (true, true) => "you: ",
                (false, true) => "you, more: ",
            });
        }
        take(&mut self.out)
    }

    /// The next wish.
    pub(super) fn next_command(&mut self) -> Option<UiCommand> {
        (!self.app.wishes.is_empty()).then(|| self.app.wishes.remove(0))
    }

    pub(super) fn has_wishes(&self) -> bool {
        !self.app.wishes.is_empty()
    }

    pub(super) fn push_command(&mut self, wish: UiCommand) {
        self.app.wishes.push(wish);
    }

    /// A number that no wish had.
    pub(super) fn new_ticket(&mut self, what: TicketPurpose) -> CommandTicket {
        let ticket = self.app.next_ticket();
        self.expected.insert(ticket, what);
        ticket
    }

    /// Something goes on, or is about to: it is not the person's turn.
    fn is_busy(&self) -> bool {
        let seen = &self.app.fold.view;
        let is_moving = !self.app.fold.is_engine_down;
        is_moving && (seen.is_running() || seen.has_untold_input())
            || self.app.shell.is_running()
            || !self.app.sent.is_empty()
            || !self.expected.is_empty()
            || self.asks.is_sent()
    }

    /// Whether the next line is taken now. At a terminal somebody may speak into a run; what comes
    /// from a file or a pipe is worked off line by line, each when the one before it is done or when
    /// something asks, so that the same lines always do the same.
    pub(super) fn takes_lines(&self) -> bool {
        self.app.opened
            && (self.options.terminal
                || self.asks.is_open()
                || !(self.is_busy() || self.has_wishes()))
    }

    /// Whether lines come from a terminal.
    pub(super) fn is_at_terminal(&self) -> bool {
        self.options.terminal
    }

    /// Prints lines, made safe and in the colour of the voice.
    pub(super) fn print_lines(&mut self, voice: LineVoice, text: &str) {
        if take(&mut self.prompted) {
            self.out.push('\n');
        }
        if voice != LineVoice::Text {
            self.speaking = false;
        }
        let style = self.voice_style(voice);
        for line in clean_text(text).split('\n') {
            match style {
                Some(style) if !line.is_empty() => {
                    let style: ContentStyle = style.into_crossterm();
                    self.out.push_str(&style.apply(line).to_string());
                }
                Some(_) | None => self.out.push_str(line),
            }
            self.out.push('\n');
        }
    }

    fn voice_style(&self, voice: LineVoice) -> Option<Style> {
        let theme = self.options.theme.as_ref();
        let theme =
            theme.filter(|theme| theme.depth > ColourDepth::None && !self.options.screen_reader)?;
        Some(match voice {
            LineVoice::Text => return None,
            LineVoice::Label => theme.heading,
            LineVoice::Tool => theme.tool,
            LineVoice::Quiet => theme.quiet,
            LineVoice::Good => theme.good,
            LineVoice::Warn => theme.warn,
            LineVoice::Bad => theme.bad,
        })
    }

    /// How often something that asks was printed.
    pub(super) fn ask_print_count(&self) -> usize {
        self.asks.print_count() + self.decisions
    }

    /// A line was typed.
    pub(super) fn handle_line(&mut self, line: &str, begun: TypingStart) {
        // The terminal has ended the prompt's line itself.
        self.prompted = false;
        self.warned = false;
        // After `/quit` nothing is heard any more.
        if self.ended || self.app.leaving {
            return;
        }
        self.app.now = (self.options.now)();
        if self.draft.is_empty() || begun == TypingStart::Before {
            self.begun = begun;
        }
        if let Some(some) = line.strip_suffix('\\') {
            self.draft.push_str(some);
            self.draft.push('\n');
            if self.draft.len() > DRAFT_BYTES_MAX {
                self.draft.clear();
                self.print_lines(
                    LineVoice::Bad,
                    "error: the message is too long; it was thrown away.",
                );
            }
            return;
        }
        let mut text = take(&mut self.draft);
        text.push_str(line);
        if let Some(typed) = slash::parse_typed_command(&text) {
            // Pictures go with what is said, not with what is done here.
            let is_said = self.app.is_said_command(typed.name);
            let attached = if is_said { take(&mut self.along) } else { Vec::new() };
            let text = text.trim().to_owned();
            self.app.send_written(WrittenMessage { text, attached, kind: WrittenKind::Command });
            return self.tell_act();
        }
        if self.begun == TypingStart::Before && self.is_deciding() {
            let how = "That line was begun before this could be read: it decides nothing.";
            return self.print_lines(LineVoice::Warn, &format!("{how} Type: yes / no"));
        }
        if self.begun == TypingStart::Before && self.asks.is_open() {
            return self.begun_before(text.trim());
        }
        // It was printed after whatever else asks: a yes to it is none to that.
        if let Some(pick) = self.pick.take() {
            match self.apply_pick(pick, text.trim()) {
                Ok(()) => return,
                // It was not about the list: it answers what asks, or is a message.
                Err(None) => (),
                Err(Some(pick)) => {
                    self.pick = Some(pick);
                    return;
                }
            }
        }
        if let Some(answer) = self.asks.interpret_line(&text, self.app.fold.view.asks().first()) {
            return self.send_answer(answer);
        }
        let text = text.trim();
        match text.strip_prefix('!').map(str::trim) {
            Some(command) if !command.is_empty() => {
                let kind = WrittenKind::Shell;
                let text = text.to_owned();
                self.app.send_written(WrittenMessage { text, attached: Vec::new(), kind });
                self.tell_act();
            }
            _ if text.is_empty() => (),
            _ => self.send_message(text),
        }
    }

    /// Says what the app made of something that was typed, and shows what it is to show.
    pub(super) fn tell_act(&mut self) {
        if let Some(hint) = self.app.hint.take() {
            match hint.tone {
                NoticeTone::Bad => {
                    let text = format!("error: {}", one_line(&hint.text));
                    self.print_lines(LineVoice::Bad, &text);
                }
                NoticeTone::Good => self.print_lines(LineVoice::Good, &one_line(&hint.text)),
                // What comes of it is told when it holds.
                NoticeTone::Quiet => (),
            }
        }
        self.show_views();
        self.app.drop_screen_output();
    }

    /// A line that was begun before what is asked could be read decides nothing. It is a message, as
    /// it was meant; where a question of the agent would take that for its answer, it is given back.
    fn begun_before(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let ask = self.app.fold.view.asks().first();
        if ask.is_some_and(|ask| ask.question().is_some()) {
            self.print_lines(
                LineVoice::Warn,
                "Not sent: that line was begun before the question was asked. It was:",
            );
            self.print_lines(LineVoice::Text, text);
        } else {
            let how = "That line was begun before this was asked: it answers nothing, and is sent as a \
                       message.";
            self.print_lines(LineVoice::Warn, how);
            self.send_message(text);
        }
        if let Some(lines) = self.asks.show_again(self.app.fold.view.asks().first()) {
            self.print_lines(LineVoice::Warn, &lines.join("\n"));
        }
    }

    fn send_answer(&mut self, answer: TypedAnswer) {
        match answer {
            TypedAnswer::Decide(decision, reason) => self.app.decide_approval(decision, reason),
            TypedAnswer::Reply(answer) => self.app.reply_to_question(answer),
            TypedAnswer::Again(why) => {
                self.print_lines(LineVoice::Warn, &why);
                self.print_next_ask();
            }
        }
    }

    /// Something could not be done, and that may be the answer that is on its way: it is asked
    /// again. When nobody is left to be asked, the run ends, and if that fails too, so does the talk.
    pub(super) fn reopen_ask(&mut self) {
        let is_owed = self.asks.is_sent() || self.unattended && self.asks.is_open();
        match (is_owed, self.ended) {
            (false, _) => (),
            (true, false) => self.asks.reopen_sent(),
            (true, true) if self.cancelled => self.leave(),
            (true, true) => self.cancel_run(),
        }
    }

    /// Sends a message; while a run is on it waits for the next step.
    pub(super) fn send_message(&mut self, text: &str) {
        // Files that are named as `@path` stay in the words: the other end reads them.
        let (text, attached) = (text.to_owned(), take(&mut self.along));
        self.app.send_message(WrittenMessage { text, attached, kind: WrittenKind::Words });
    }

    /// Ctrl-C. `true`: it is left at once, without waiting for the other end.
    pub(super) fn handle_interrupt(&mut self) -> bool {
        if self.app.leaving {
            return true;
        }
        let twice = take(&mut self.warned);
        if !take(&mut self.draft).is_empty() {
            self.print_lines(LineVoice::Quiet, "What was typed was thrown away.");
        } else if self.app.end_shell() {
        } else if self.is_running() && !self.cancelled {
            self.cancel_run();
            self.print_lines(LineVoice::Quiet, "Press Ctrl-C again to leave.");
        } else if self.is_running() || twice {
            self.leave();
        } else {
            self.warned = true;
            let how = "Nothing runs. Press Ctrl-C again, or Ctrl-D, or type /quit to leave.";
            self.print_lines(LineVoice::Quiet, how);
        }
        false
    }

    /// Whether the next line says whether what was shown is done.
    fn is_deciding(&self) -> bool {
        matches!(self.pick, Some(PickList::Decision(_)))
    }

    pub(super) fn is_running(&self) -> bool {
        self.app.fold.view.is_running() && !self.app.fold.is_engine_down
    }

    /// Ends the run.
    pub(super) fn cancel_run(&mut self) {
        self.cancelled = true;
        self.app.interrupt_run();
        self.print_lines(LineVoice::Quiet, "Stopping.");
    }

    /// Standard input has ended, or `/quit` was typed. At a terminal that means to leave; what came
    /// from a file or a pipe is worked off first.
    pub(super) fn handle_end_of_input(&mut self) {
        if !take(&mut self.draft).is_empty() {
            self.print_lines(
                LineVoice::Warn,
                "The last message was not finished; it was thrown away.",
            );
        }
        if self.options.terminal {
            return self.leave();
        }
        self.ended = true;
        self.settle_after_end();
    }

    /// After standard input has ended: nobody can be asked any more, and when nothing is to come it
    /// is left, with what is still asked.
    pub(super) fn settle_after_end(&mut self) {
        if !self.ended || self.app.leaving || !self.app.opened {
            return;
        }
        if self.asks.is_open() && self.is_running() {
            self.give_up_asking();
        } else if !self.is_busy() && !self.has_wishes() {
            self.leave();
        }
    }

    /// Nobody is left to answer. No answer is given in a person's name: the session is told that nobody
    /// can be asked, which denies what asks and leaves a question of the agent open. At a server somebody
    /// else may answer: there it all stays as it is.
    fn give_up_asking(&mut self) {
        if self.app.about.server.is_some() {
            let how = "Standard input has ended: what is asked stays open at the server.";
            self.print_lines(LineVoice::Warn, how);
            return self.leave();
        }
        if !std::mem::replace(&mut self.unattended, true) {
            let how = "Standard input has ended: nobody can be asked from now on.";
            self.print_lines(LineVoice::Warn, how);
            self.push_command(UiCommand::Unattended);
        }
    }

    /// Whether something was asked that nobody was left to answer.
    pub(super) fn is_unanswered(&self) -> bool {
        self.ended && (self.unattended || self.asks.has_waiting())
    }

    /// It is to be left: the other end gives the session back.
    pub(super) fn leave(&mut self) {
        self.app.leave();
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.app.leaving
    }

    /// The last words: how the session is taken up again, where there is one.
    pub(super) fn print_farewell(&mut self) -> Option<String> {
        let exists = self.app.fold.settings.session.is_some() || self.app.fold.seq > 0;
        let resume = clean_text(&self.app.about.resume).into_owned();
        if exists && !resume.is_empty() {
            self.print_lines(LineVoice::Label, &format!("To go on with this session: {resume}"));
            return Some(resume);
        }
        if take(&mut self.prompted) {
            self.out.push('\n');
        }
        None
    }
}
