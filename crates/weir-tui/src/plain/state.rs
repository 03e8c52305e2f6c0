//! A talk in line mode: typed lines in, wishes and lines out. Pure; whoever drives it reads, writes
//! and waits. Not here: what news do to it ([`super::heard`]), slash commands
//! ([`super::commands`]), lists to choose from ([`super::picks`]).

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;

use ratatui::backend::IntoCrossterm;
use ratatui::crossterm::style::ContentStyle;
use ratatui::style::Style;
use weir_core::ids::{InputId, Seq, SessionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::slash;

use super::PlainOptions;
use super::asks::{Answer, Asks, Manner};
use super::picks::{Kind, Pick};
use super::stream::{Pieces, Stream};
use super::tell::{Calls, Voice};
use super::typed::Begun;
use crate::link::{About, Attached, Named, Ticket, Wish};
use crate::text::clean::clean;
use crate::text::theme::Depth;

/// Longest message that is gathered from lines that end with `\`, in bytes.
const DRAFT_BYTES_MAX: usize = 1024 * 1024;

/// The settings that hold, as they were last announced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Holds {
    pub(super) model: String,
    pub(super) profile: String,
    pub(super) permission: PermissionMode,
    pub(super) thinking: Thinking,
}

/// What an answer with a ticket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// A text to read, or a list to choose from.
    Reading,
    /// What winding back to before this place would change.
    Preview(Seq),
}

/// The session that is open.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) id: Option<SessionId>,
    pub(super) about: About,
    pub(super) named: Vec<Named>,
    /// So many facts are from before it was opened.
    pub(super) known: Seq,
    /// The last fact that was taken in.
    pub(super) seq: Seq,
    pub(super) holds: Option<Holds>,
    pub(super) running: bool,
    /// Inputs that wait to be told to the model.
    pub(super) queued: Vec<Waits>,
    /// What the person said, with its place.
    pub(super) said: Vec<(Seq, String)>,
    /// The last answer from before it was opened.
    pub(super) answer: Option<String>,
}

/// A message that was sent from here.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) attached: Vec<Attached>,
}

/// An input that waits to be told to the model.
#[derive(Debug)]
pub(super) struct Waits {
    pub(super) input: InputId,
    /// As it was said here; `None`: it was said elsewhere, or before this session was opened here.
    pub(super) own: Option<Said>,
}

/// A talk.
pub(super) struct Talk {
    pub(super) options: PlainOptions,
    out: String,
    wishes: VecDeque<Wish>,
    /// The prompt stands at the end of what was printed.
    prompted: bool,
    /// Lines that ended with `\`.
    draft: String,
    /// When the first of them was begun.
    begun: Begun,
    pub(super) open: Open,
    pub(super) asks: Asks,
    pub(super) calls: Calls,
    pub(super) stream: Stream,
    /// The turn that `stream` belongs to.
    pub(super) turn: String,
    /// The last line was the model's: no label is needed before its next one.
    pub(super) speaking: bool,
    /// It was said that the model thinks.
    pub(super) thought: bool,
    pub(super) expected: BTreeMap<Ticket, For>,
    pub(super) pick: Option<Pick>,
    /// Of what the list of choices is that was asked for last.
    pub(super) kind: Kind,
    /// Messages that were sent and not accepted yet, by the name they went under.
    pub(super) sent: BTreeMap<String, Said>,
    /// Pictures that go with the next message.
    pub(super) along: Vec<Attached>,
    /// Pictures of the clipboard, ever: no two have one name.
    pub(super) pictures: usize,
    pub(super) shell: Option<Ticket>,
    /// What it prints, in whole lines.
    pub(super) printing: Stream,
    /// What the model would be told of the last shell command.
    pub(super) shown: Option<String>,
    counter: u64,
    /// The run was asked to end.
    pub(super) cancelled: bool,
    warned: bool,
    /// Standard input has ended: it is left when nothing more is to come.
    ended: bool,
    leaving: bool,
    /// A session is open.
    pub(super) is_open: bool,
}

impl Talk {
    pub(super) fn new(options: PlainOptions) -> Talk {
        let pieces = if options.screen_reader { Pieces::Paragraphs } else { Pieces::Lines };
        let manner = if options.screen_reader { Manner::Words } else { Manner::Signs };
        Talk {
            options,
            out: String::new(),
            wishes: VecDeque::new(),
            prompted: false,
            draft: String::new(),
            begun: Begun::Since,
            open: Open::default(),
            asks: Asks::new(manner),
            calls: Calls::default(),
            stream: Stream::new(pieces),
            turn: String::new(),
            speaking: false,
            thought: false,
            expected: BTreeMap::new(),
            pick: None,
            kind: Kind::default(),
            sent: BTreeMap::new(),
            along: Vec::new(),
            pictures: 0,
            shell: None,
            printing: Stream::new(Pieces::Lines),
            shown: None,
            counter: 0,
            cancelled: false,
            warned: false,
            ended: false,
            leaving: false,
            is_open: false,
        }
    }

    /// What is to be printed now; the prompt at its end when it is the person's turn.
    pub(super) fn printed(&mut self) -> String {
        let turn = self.is_open && !self.leaving && (self.asks.is_open() || !self.is_busy());
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
    pub(super) fn wished(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    pub(super) fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    pub(super) fn wish(&mut self, wish: Wish) {
        self.wishes.push_back(wish);
    }

    /// A number that no wish had.
    pub(super) fn ticket(&mut self, what: For) -> Ticket {
        self.counter += 1;
        self.expected.insert(self.counter, what);
        self.counter
    }

    /// Something goes on, or is about to: it is not the person's turn.
    fn is_busy(&self) -> bool {
        self.open.running
            || self.shell.is_some()
            || !self.sent.is_empty()
            || !self.expected.is_empty()
            || self.asks.is_sent()
            || !self.open.queued.is_empty()
    }

    /// Whether the next line is taken now. At a terminal somebody may speak into a run; what comes
    /// from a file or a pipe is worked off line by line, each when the one before it is done or when
    /// something asks, so that the same lines always do the same.
    pub(super) fn takes_lines(&self) -> bool {
        self.is_open
            && (self.options.terminal
                || self.asks.is_open()
                || !(self.is_busy() || self.has_wishes()))
    }

    /// Prints lines, made safe and in the colour of the voice.
    pub(super) fn say(&mut self, voice: Voice, text: &str) {
        if take(&mut self.prompted) {
            self.out.push('\n');
        }
        if voice != Voice::Text {
            self.speaking = false;
        }
        let style = self.style(voice);
        for line in clean(text).split('\n') {
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

    fn style(&self, voice: Voice) -> Option<Style> {
        let theme = self.options.theme.as_ref();
        let theme =
            theme.filter(|theme| theme.depth > Depth::None && !self.options.screen_reader)?;
        Some(match voice {
            Voice::Text => return None,
            Voice::Label => theme.heading,
            Voice::Tool => theme.tool,
            Voice::Quiet => theme.quiet,
            Voice::Good => theme.good,
            Voice::Warn => theme.warn,
            Voice::Bad => theme.bad,
        })
    }

    /// How often something that asks was printed.
    pub(super) fn asked(&self) -> usize {
        self.asks.printed()
    }

    /// A line was typed.
    pub(super) fn line(&mut self, line: &str, begun: Begun) {
        // The terminal has ended the prompt's line itself.
        self.prompted = false;
        self.warned = false;
        // After `/quit` nothing is heard any more.
        if self.ended || self.leaving {
            return;
        }
        if self.draft.is_empty() || begun == Begun::Before {
            self.begun = begun;
        }
        if let Some(some) = line.strip_suffix('\\') {
            self.draft.push_str(some);
            self.draft.push('\n');
            if self.draft.len() > DRAFT_BYTES_MAX {
                self.draft.clear();
                self.say(Voice::Bad, "error: the message is too long; it was thrown away.");
            }
            return;
        }
        let mut text = take(&mut self.draft);
        text.push_str(line);
        if let Some(typed) = slash::typed(&text) {
            let (name, arguments) = (typed.name.to_owned(), typed.arguments.to_owned());
            return self.command(&name, &arguments, &text);
        }
        if self.begun == Begun::Before && self.asks.is_open() {
            return self.begun_before(text.trim());
        }
        if let Some(answer) = self.asks.answer(&text) {
            return self.answered(answer);
        }
        let text = text.trim();
        if let Some(pick) = self.pick.take() {
            match self.picked(pick, text) {
                Ok(()) => return,
                // It was not about the list: it is a message.
                Err(None) => (),
                Err(Some(pick)) => {
                    self.pick = Some(pick);
                    return;
                }
            }
        }
        match text.strip_prefix('!').map(str::trim) {
            Some(command) if !command.is_empty() => self.run_shell(command),
            _ if text.is_empty() => (),
            _ => self.message(text),
        }
    }

    /// A line that was begun before what is asked could be read decides nothing. It is a message, as
    /// it was meant; where a question of the agent would take that for its answer, it is given back.
    fn begun_before(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.asks.is_question() {
            self.say(
                Voice::Warn,
                "Not sent: that line was begun before the question was asked. It was:",
            );
            self.say(Voice::Text, text);
        } else {
            let how = "That line was begun before this was asked: it answers nothing, and is sent as a \
                       message.";
            self.say(Voice::Warn, how);
            self.message(text);
        }
        if let Some(lines) = self.asks.again() {
            self.say(Voice::Warn, &lines.join("\n"));
        }
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Decide(approval, decision, reason) => {
                self.wish(Wish::Tell(PersonCommand::Decide(ApprovalAnswer {
                    approval,
                    decision,
                    reason,
                    terms: None,
                })));
            }
            Answer::Reply(question, answer) => {
                self.wish(Wish::Tell(PersonCommand::Reply { question, answer }))
            }
            Answer::Again(why) => {
                self.say(Voice::Warn, &why);
                self.ask();
            }
        }
    }

    /// Something could not be done, and that may be the answer that is on its way: it is asked
    /// again. When nobody is left to be asked, the run ends, and if that fails too, so does the talk.
    pub(super) fn reopen(&mut self) {
        match (self.asks.is_sent(), self.ended) {
            (false, _) => (),
            (true, false) => self.asks.reopen(),
            (true, true) if self.cancelled => self.leave(),
            (true, true) => self.cancel(),
        }
    }

    /// Sends a message; while a run is on it waits for the next step.
    pub(super) fn message(&mut self, text: &str) {
        self.counter += 1;
        let client_id = format!("{}-{}", self.options.name, self.counter);
        let attached = take(&mut self.along);
        let said = Said { text: text.to_owned(), attached: attached.clone() };
        self.sent.insert(client_id.clone(), said);
        // Files that are named as `@path` stay in the words: the other end reads them.
        self.wish(Wish::Say { text: text.to_owned(), attached, client_id });
    }

    fn run_shell(&mut self, command: &str) {
        if self.shell.is_some() {
            return self.say(Voice::Bad, "error: a command runs already; Ctrl-C ends it.");
        }
        self.counter += 1;
        self.shell = Some(self.counter);
        self.shown = None;
        self.wish(Wish::Shell { command: command.to_owned(), ticket: self.counter });
    }

    /// Ctrl-C. `true`: it is left at once, without waiting for the other end.
    pub(super) fn interrupted(&mut self) -> bool {
        if self.leaving {
            return true;
        }
        let twice = take(&mut self.warned);
        if !take(&mut self.draft).is_empty() {
            self.say(Voice::Quiet, "What was typed was thrown away.");
        } else if let Some(ticket) = self.shell {
            self.wish(Wish::EndShell(ticket));
        } else if self.open.running && !self.cancelled {
            self.cancel();
            self.say(Voice::Quiet, "Press Ctrl-C again to leave.");
        } else if self.open.running || twice {
            self.leave();
        } else {
            self.warned = true;
            let how = "Nothing runs. Press Ctrl-C again, or Ctrl-D, or type /quit to leave.";
            self.say(Voice::Quiet, how);
        }
        false
    }

    /// Ends the run.
    pub(super) fn cancel(&mut self) {
        self.cancelled = true;
        self.wish(Wish::Tell(PersonCommand::Cancel));
        self.say(Voice::Quiet, "Stopping.");
    }

    /// Standard input has ended, or `/quit` was typed. At a terminal that means to leave; what came
    /// from a file or a pipe is worked off first.
    pub(super) fn ended(&mut self) {
        if !take(&mut self.draft).is_empty() {
            self.say(Voice::Warn, "The last message was not finished; it was thrown away.");
        }
        if self.options.terminal {
            return self.leave();
        }
        self.ended = true;
        self.settle();
    }

    /// After standard input has ended: nobody can be asked any more, and when nothing is to come it
    /// is left.
    pub(super) fn settle(&mut self) {
        if !self.ended || self.leaving || !self.is_open {
            return;
        }
        if self.asks.is_open() {
            match self.asks.unattended(NOBODY_LEFT) {
                Some(decided @ Answer::Decide(..)) => self.answered(decided),
                // A question has no safe answer: the run ends with it.
                Some(_) | None => self.cancel(),
            }
        } else if !self.is_busy() && !self.has_wishes() {
            self.leave();
        }
    }

    /// It is to be left: the other end gives the session back.
    pub(super) fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.wish(Wish::Leave);
        }
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// The last words: how the session is taken up again, where there is one.
    pub(super) fn farewell(&mut self) -> Option<String> {
        let exists = self.open.id.is_some() || self.open.seq > 0;
        let resume = clean(&self.open.about.resume).into_owned();
        if exists && !resume.is_empty() {
            self.say(Voice::Label, &format!("To go on with this session: {resume}"));
            return Some(resume);
        }
        if take(&mut self.prompted) {
            self.out.push('\n');
        }
        None
    }
}

const NOBODY_LEFT: &str = "no standard input has ended, so nobody can be asked";
