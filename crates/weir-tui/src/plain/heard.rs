//! What news do to a talk in line mode. Pure. Not here: what a typed line does ([`super::state`]).

use std::mem::take;

use weir_core::event::{Event, InputAccepted, ModelReplied};
use weir_core::ids::{InputId, Seq};
use weir_core::message::plain_text;
use weir_core::model::Thinking;
use weir_core::session::SessionConfig;
use weir_core::view::told;

use super::asks::Settled;
use super::state::{For, Holds, Open, Talk, Waits};
use super::tell::Voice;
use super::words;
use crate::link::{About, News, ShellNews, SignalKind, TextKind, Tone};
use crate::options::Start;
use crate::words::{brief, counted, decided, one_line};

/// Messages of the person that can be gone back to; older ones are forgotten here.
const SAID_MAX: usize = 1_000;
/// Longest part of an earlier answer that is said when a session is taken up, in characters.
const EARLIER_CHARACTERS_MAX: usize = 4_000;

impl Talk {
    /// Takes in what happened. An error: it is over because of it.
    pub(super) fn heard(&mut self, news: News) -> Result<(), Option<String>> {
        match news {
            // The one that was open exists from now on: nothing of it is forgotten or said again.
            News::Opened { session: Some(id), known: 0, about, named } if self.is_new() => {
                (self.open.id, self.open.about, self.open.named) = (Some(id), *about, named);
            }
            News::Opened { session, known, about, named } => {
                self.asks.forget();
                self.calls.forget();
                self.stream.restart();
                (self.pick, self.cancelled) = (None, false);
                self.sent.clear();
                self.expected.clear();
                self.is_open = true;
                self.open = Open { id: session, about: *about, named, known, ..Open::default() };
                self.opened();
            }
            News::Fact { seq, event, .. } => self.fact(seq, &event),
            News::Signal { kind, subject, text } => self.signal(kind, subject, &text),
            News::Settings { model, profile, permission, thinking } => {
                self.holds(Holds { model, profile, permission, thinking });
            }
            News::Listed { ticket, items } => {
                if self.expected.remove(&ticket).is_some() {
                    self.listed(items);
                }
            }
            News::Text { ticket, title, text, kind } => {
                if let Some(what) = self.expected.remove(&ticket) {
                    self.text(&title, &text, kind);
                    if let For::Preview(before) = what {
                        self.ask_back(before);
                    }
                }
            }
            News::Clipboard { ticket, clip } => {
                if self.expected.remove(&ticket).is_some() {
                    self.clip(clip);
                }
            }
            News::Failed { ticket, why } => {
                if self.expected.remove(&ticket).is_some() {
                    self.say(Voice::Bad, &format!("error: {why}"));
                }
            }
            News::Shell { ticket, news } if self.shell == Some(ticket) => self.shell_news(news),
            News::Notice { tone, text } => self.notice(tone, &text),
            News::Refused { client_id, why } => {
                if let Some(said) = self.sent.remove(&client_id) {
                    self.say(Voice::Bad, &format!("error: not sent: {why}"));
                    self.say(Voice::Quiet, &format!("Your message was: {}", said.text));
                    self.goes_along_again(said.attached);
                }
            }
            News::Branch(branch) if branch != self.open.about.branch => {
                if let Some(name) = &branch {
                    self.say(Voice::Quiet, &format!("branch: {name}"));
                }
                self.open.about.branch = branch;
            }
            News::Lost(Some(why)) => self.say(Voice::Warn, &format!("connection lost: {why}")),
            News::Lost(None) => self.say(Voice::Good, "connected again."),
            News::Over(why) => return Err(why),
            News::Shell { .. } | News::Branch(_) | News::History(_) => (),
        }
        self.settle();
        self.ask();
        Ok(())
    }

    fn notice(&mut self, tone: Tone, text: &str) {
        let (voice, word) = match tone {
            Tone::Quiet => (Voice::Quiet, ""),
            Tone::Good => (Voice::Good, ""),
            Tone::Bad => (Voice::Bad, "error: "),
        };
        self.say(voice, &format!("{word}{text}"));
        if tone == Tone::Bad {
            self.reopen();
        }
    }

    /// Whether what is open does not exist yet: its first message makes it.
    fn is_new(&self) -> bool {
        self.is_open && self.open.id.is_none()
    }

    /// Prints what asks, when it is its turn.
    pub(super) fn ask(&mut self) {
        if self.open.seq < self.open.known {
            return;
        }
        if let Some(lines) = self.asks.show() {
            self.pick = None;
            self.say(Voice::Warn, &lines.join("\n"));
            self.settle();
        }
    }

    fn opened(&mut self) {
        let About { folder, branch, server, notes, .. } = self.open.about.clone();
        let branch = branch.map(|name| format!(", branch {name}")).unwrap_or_default();
        let server = server.map(|url| format!(", on the server {url}")).unwrap_or_default();
        self.say(Voice::Label, &format!("weir: in {folder}{branch}{server}"));
        for note in notes {
            self.say(Voice::Warn, &format!("note: {note}"));
        }
        if let Some(text) = self.options.first.take() {
            self.message(&text);
        } else if take(&mut self.options.start) == Start::Sessions {
            self.command("resume", "", "/resume");
        } else if self.open.known == 0 {
            self.say(Voice::Quiet, "Type a message, or /help for commands. Ctrl-D leaves.");
        }
    }

    fn fact(&mut self, seq: Seq, event: &Event) {
        let old = seq <= self.open.known;
        self.open.seq = seq;
        match event {
            Event::InputAccepted(f) => self.accepted(seq, f, old),
            Event::InputWithdrawn(f) => self.withdrawn(f.input),
            Event::TurnStarted(f) => {
                self.open.queued.retain(|waits| !f.inputs.contains(&waits.input));
                self.thought = false;
            }
            Event::QuestionAnswered(f) => {
                self.open.queued.retain(|waits| Some(waits.input) != f.input);
            }
            Event::RunStarted(_) => (self.open.running, self.cancelled) = (true, false),
            Event::RunFinished(_) => self.open.running = false,
            Event::SessionOpened(f) => self.configured(&f.config, old),
            Event::SessionConfigured(f) => self.configured(&f.config, old),
            Event::ProfileSwitched(f) => self.configured(&f.config, old),
            Event::ModelReplied(f) if old => {
                let mut text = plain_text(&f.content);
                if !text.trim().is_empty() {
                    text.extend(told::cut_off(f).map(|mark| format!("\n\n({mark})")));
                    self.open.answer = Some(text);
                }
            }
            Event::ModelReplied(f) => self.replied(f),
            Event::ModelRetried(_) | Event::ModelFailed(_) if !old => self.cut_short(),
            _ => (),
        }
        let settled = self.asks.fact(event);
        if !old {
            if let Some(settled) = settled {
                self.settled(event, settled);
            }
            // What changed was announced above.
            let lines = match event {
                Event::SessionConfigured(_) => Vec::new(),
                event => self.calls.told(event),
            };
            lines.iter().for_each(|(voice, line)| self.say(*voice, line));
        } else {
            let _ = self.calls.told(event);
            if seq == self.open.known {
                self.taken_up();
            }
        }
    }

    fn accepted(&mut self, seq: Seq, fact: &InputAccepted, old: bool) {
        let text = plain_text(&fact.content);
        let own = fact.client_id.as_ref().and_then(|id| self.sent.remove(id));
        let is_own = own.is_some();
        self.open.queued.push(Waits { input: fact.input, own });
        if old {
            self.open.answer = None;
        } else if !is_own {
            self.say(Voice::Label, &format!("{}, elsewhere: {text}", one_line(&fact.by)));
        } else if self.open.running {
            let how = "Queued: it is given with the next step. /withdraw takes it back.";
            self.say(Voice::Quiet, how);
        }
        if self.open.said.len() == SAID_MAX {
            self.open.said.remove(0);
        }
        self.open.said.push((seq, text));
    }

    /// What waited is not told: it was taken back, or the run ended first. Words that were said here
    /// are printed, so that they can be said again; what was attached goes with the next message.
    fn withdrawn(&mut self, input: InputId) {
        let Some(n) = self.open.queued.iter().position(|waits| waits.input == input) else {
            return;
        };
        let Some(said) = self.open.queued.remove(n).own else { return };
        self.say(Voice::Warn, "Not given to the model, taken back. Your message was:");
        self.say(Voice::Text, &said.text);
        self.goes_along_again(said.attached);
    }

    fn configured(&mut self, config: &SessionConfig, old: bool) {
        let holds = Holds {
            model: config.model.model.to_string(),
            profile: config.profile.name.clone(),
            permission: config.permission,
            thinking: config.thinking,
        };
        if old {
            self.open.holds = Some(holds);
        } else {
            self.holds(holds);
        }
    }

    /// Announces settings: all of them the first time, then what changed.
    fn holds(&mut self, new: Holds) {
        let old = self.open.holds.take();
        let changed = |is: fn(&Holds) -> String| {
            old.as_ref().is_none_or(|old| is(old) != is(&new)).then(|| is(&new))
        };
        let lines: Vec<String> = [
            changed(|holds| format!("model: {}", holds.model)),
            changed(|holds| format!("profile: {}", holds.profile)),
            changed(|holds| format!("permission mode: {}", holds.permission)),
            changed(|holds| format!("thinking: {}", thinking(holds.thinking))),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.open.holds = Some(new);
        if !lines.is_empty() {
            self.say(Voice::Quiet, &lines.join(", "));
        }
    }

    /// The old facts of a session are all there: what one needs to go on.
    fn taken_up(&mut self) {
        if let Some(holds) = self.open.holds.take() {
            self.holds(holds);
        }
        let earlier = self.open.said.len();
        if earlier > 1 {
            let what = counted(earlier - 1, "earlier message");
            self.say(Voice::Quiet, &format!("{what} (/export writes all of it to a file)"));
        }
        if let Some((_, text)) = self.open.said.last().cloned() {
            self.say(Voice::Label, &format!("you: {}", brief(&text, EARLIER_CHARACTERS_MAX)));
        }
        if let Some(text) = self.open.answer.take() {
            self.speak(&brief(&text, EARLIER_CHARACTERS_MAX));
        }
        if self.open.running {
            self.say(Voice::Quiet, "A run is on.");
        }
    }

    fn signal(&mut self, kind: SignalKind, subject: String, text: &str) {
        match kind {
            SignalKind::Output => return,
            SignalKind::Thinking if self.thought => return,
            SignalKind::Thinking => {
                self.thought = true;
                return self.say(Voice::Quiet, "assistant: thinks");
            }
            SignalKind::Text => (),
        }
        if self.turn != subject {
            self.turn = subject;
            self.stream.restart();
        }
        for piece in self.stream.push(text) {
            self.speak(&piece);
        }
    }

    /// Says a piece of the model's text.
    fn speak(&mut self, piece: &str) {
        if !self.speaking {
            self.say(Voice::Label, "assistant:");
            self.speaking = true;
        }
        if self.options.screen_reader {
            let lines = words::said(piece);
            lines.iter().for_each(|line| self.say(Voice::Text, line));
        } else {
            self.say(Voice::Text, piece);
        }
    }

    fn replied(&mut self, fact: &ModelReplied) {
        let whole = plain_text(&fact.content);
        let rest = match self.stream.finish(&whole) {
            Some(rest) => rest,
            None => {
                self.say(Voice::Quiet, "The answer reads otherwise than it began; all of it:");
                whole
            }
        };
        self.turn.clear();
        if !rest.trim().is_empty() {
            self.speak(rest.trim_end());
        }
        self.speaking = false;
        if let Some(mark) = told::cut_off(fact) {
            self.say(Voice::Warn, mark);
        }
    }

    /// What was written of an answer is void.
    fn cut_short(&mut self) {
        let begun = self.stream.has_begun();
        let rest = self.stream.restart();
        if begun || !rest.trim().is_empty() {
            if !rest.trim().is_empty() {
                self.speak(rest.trim_end());
            }
            self.say(Voice::Warn, "The answer was cut off here; what stands above is void.");
        }
    }

    fn settled(&mut self, event: &Event, how: Settled) {
        let (what, decision, by, reason) = match event {
            Event::ApprovalResolved(f) => {
                ("approval", Some(f.decision), &f.by, f.reason.as_deref())
            }
            Event::AgentAnswered(f) => ("approval", Some(f.decision), &f.by, None),
            Event::QuestionAnswered(f) => ("question", None, &f.by, f.answer.as_deref()),
            _ => return,
        };
        match (decision, how, reason) {
            (Some(decision), ..) => {
                let text = decided(decision, by, reason);
                let good = if decision.allows() { Voice::Good } else { Voice::Warn };
                self.say(good, &format!("{what}: {}", lower(&text)));
            }
            (None, Settled::Here, Some(_)) => self.say(Voice::Good, "question: answered"),
            (None, _, Some(answer)) => {
                self.say(Voice::Quiet, &format!("question: answered by {by}: {answer}"));
            }
            (None, _, None) => self.say(Voice::Quiet, "question: not answered, the run ended"),
        }
    }

    /// A text to read.
    fn text(&mut self, title: &str, text: &str, kind: TextKind) {
        self.say(Voice::Label, &format!("{}:", one_line(title)));
        match (self.options.screen_reader, kind) {
            (true, TextKind::Markdown) => {
                let lines = words::said(text);
                lines.iter().for_each(|line| self.say(Voice::Text, line));
            }
            (true, TextKind::Diff) => {
                text.lines().for_each(|line| self.say(Voice::Text, &words::changed(line)));
            }
            (false, _) | (true, TextKind::Plain) => self.say(Voice::Text, text.trim_end()),
        }
        self.speaking = false;
    }

    fn shell_news(&mut self, news: ShellNews) {
        match news {
            ShellNews::Output(text) => {
                for line in self.printing.push(&text) {
                    self.say(Voice::Text, &line);
                }
            }
            ShellNews::Ended { status, ok, shown } => {
                let rest = self.printing.restart();
                if !rest.is_empty() {
                    self.say(Voice::Text, &rest);
                }
                self.shell = None;
                self.shown = Some(shown);
                let voice = if ok { Voice::Good } else { Voice::Bad };
                let how = "/show sends its output to the model";
                self.say(voice, &format!("command: {status} ({how})"));
            }
        }
        self.speaking = false;
    }
}

/// How much the model thinks, in a word.
pub(super) fn thinking(level: Thinking) -> &'static str {
    match level {
        Thinking::Off => "off",
        Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
    }
}

fn lower(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
