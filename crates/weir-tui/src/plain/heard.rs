//! What news do to a talk in line mode. Pure. Not here: what a typed line does ([`super::state`]).

use std::mem::take;

use weir_core::event::{Event, InputAccepted, ModelReplied};
use weir_core::ids::{InputId, Seq};
use weir_core::message::plain_text;
use weir_core::model::Thinking;
use weir_core::session::SessionConfig;
use weir_core::view::told;

use super::asks::AskSettlement;
use super::state::{AnnouncedSettings, OpenSession, PlainTalk, QueuedMessage, TicketPurpose};
use super::tell::LineVoice;
use super::words;
use crate::link::{NoticeTone, OpenSessionInfo, ShellNews, SignalKind, TextKind, UiUpdate};
use crate::options::StartScreen;
use crate::words::{count_text, decision_text, one_line, shorten_text};

/// Messages of the person that can be gone back to; older ones are forgotten here.
const SAID_MAX: usize = 1_000;
/// Longest part of an earlier answer that is said when a session is taken up, in characters.
const EARLIER_CHARACTERS_MAX: usize = 4_000;

impl PlainTalk {
    /// Takes in what happened. An error: it is over because of it.
    #[expect(
        clippy::too_many_lines,
        reason = "one exhaustive match, a line or two for each update"
    )]
    pub(super) fn handle_update(&mut self, news: UiUpdate) -> Result<(), Option<String>> {
        match news {
            // The one that was open exists from now on: nothing of it is forgotten or said again.
            UiUpdate::Opened { session: Some(id), known: 0, about, named } if self.is_new() => {
                (self.open.id, self.open.about, self.open.named) = (Some(id), *about, named);
            }
            UiUpdate::Opened { session, known, about, named } => {
                self.asks.forget_all();
                self.calls.forget_calls();
                self.stream.restart();
                (self.pick, self.cancelled) = (None, false);
                self.sent.clear();
                self.expected.clear();
                self.is_open = true;
                self.open = OpenSession {
                    id: session,
                    about: *about,
                    named,
                    known,
                    ..OpenSession::default()
                };
                self.announce_session();
            }
            UiUpdate::Fact { seq, event, .. } => self.handle_fact(seq, &event),
            UiUpdate::Signal { kind, subject, text } => self.handle_signal(kind, subject, &text),
            UiUpdate::Settings { model, profile, permission, thinking } => {
                self.announce_settings(AnnouncedSettings { model, profile, permission, thinking });
            }
            UiUpdate::Listed { ticket, items } => {
                if self.expected.remove(&ticket).is_some() {
                    self.print_list(items);
                }
            }
            UiUpdate::Text { ticket, title, text, kind } => {
                if let Some(what) = self.expected.remove(&ticket) {
                    self.print_text(&title, &text, kind);
                    if let TicketPurpose::Preview(before) = what {
                        self.ask_back(before);
                    }
                }
            }
            UiUpdate::Clipboard { ticket, clip } => {
                if self.expected.remove(&ticket).is_some() {
                    self.receive_clipboard(clip);
                }
            }
            UiUpdate::Failed { ticket, why } => {
                if self.expected.remove(&ticket).is_some() {
                    self.print_lines(LineVoice::Bad, &format!("error: {why}"));
                }
            }
            UiUpdate::Shell { ticket, news } if self.shell == Some(ticket) => self.shell_news(news),
            UiUpdate::Notice { tone, text } => self.print_notice(tone, &text),
            UiUpdate::Refused { client_id, why } => {
                if let Some(said) = self.sent.remove(&client_id) {
                    self.print_lines(LineVoice::Bad, &format!("error: not sent: {why}"));
                    self.print_lines(LineVoice::Quiet, &format!("Your message was: {}", said.text));
                    self.goes_along_again(said.attached);
                }
            }
            UiUpdate::Branch(branch) if branch != self.open.about.branch => {
                if let Some(name) = &branch {
                    self.print_lines(LineVoice::Quiet, &format!("branch: {name}"));
                }
                self.open.about.branch = branch;
            }
            UiUpdate::Lost(Some(why)) => {
                self.print_lines(LineVoice::Warn, &format!("connection lost: {why}"))
            }
            UiUpdate::Lost(None) => self.print_lines(LineVoice::Good, "connected again."),
            UiUpdate::Over(why) => return Err(why),
            UiUpdate::Shell { .. } | UiUpdate::Branch(_) | UiUpdate::History(_) => (),
        }
        self.settle_after_end();
        self.print_next_ask();
        Ok(())
    }

    fn print_notice(&mut self, tone: NoticeTone, text: &str) {
        let (voice, word) = match tone {
            NoticeTone::Quiet => (LineVoice::Quiet, ""),
            NoticeTone::Good => (LineVoice::Good, ""),
            NoticeTone::Bad => (LineVoice::Bad, "error: "),
        };
        self.print_lines(voice, &format!("{word}{text}"));
        if tone == NoticeTone::Bad {
            self.reopen_ask();
        }
    }

    /// Whether what is open does not exist yet: its first message makes it.
    fn is_new(&self) -> bool {
        self.is_open && self.open.id.is_none()
    }

    /// Prints what asks, when it is its turn.
    pub(super) fn print_next_ask(&mut self) {
        if self.open.seq < self.open.known {
            return;
        }
        if let Some(lines) = self.asks.show_next() {
            self.pick = None;
            self.print_lines(LineVoice::Warn, &lines.join("\n"));
            self.settle_after_end();
        }
    }

    fn announce_session(&mut self) {
        let OpenSessionInfo { folder, branch, server, notes, .. } = self.open.about.clone();
        let branch = branch.map(|name| format!(", branch {name}")).unwrap_or_default();
        let server = server.map(|url| format!(", on the server {url}")).unwrap_or_default();
        self.print_lines(LineVoice::Label, &format!("weir: in {folder}{branch}{server}"));
        for note in notes {
            self.print_lines(LineVoice::Warn, &format!("note: {note}"));
        }
        if let Some(text) = self.options.first.take() {
            self.send_message(&text);
        } else if take(&mut self.options.start) == StartScreen::Sessions {
            self.run_command("resume", "", "/resume");
        } else if self.open.known == 0 {
            self.print_lines(
                LineVoice::Quiet,
                "Type a message, or /help for commands. Ctrl-D leaves.",
            );
        }
    }

    fn handle_fact(&mut self, seq: Seq, event: &Event) {
        let old = seq <= self.open.known;
        self.open.seq = seq;
        match event {
            Event::InputAccepted(f) => self.handle_input_accepted(seq, f, old),
            Event::InputWithdrawn(f) => self.handle_input_withdrawn(f.input),
            Event::TurnStarted(f) => {
                self.open.queued.retain(|waits| !f.inputs.contains(&waits.input));
                self.thought = false;
            }
            Event::QuestionAnswered(f) => {
                self.open.queued.retain(|waits| Some(waits.input) != f.input);
            }
            Event::RunStarted(_) => (self.open.running, self.cancelled) = (true, false),
            Event::RunFinished(_) => self.open.running = false,
            Event::SessionOpened(f) => self.apply_config(&f.config, old),
            Event::SessionConfigured(f) => self.apply_config(&f.config, old),
            Event::ProfileSwitched(f) => self.apply_config(&f.config, old),
            Event::ModelReplied(f) if old => {
                let mut text = plain_text(&f.content);
                if !text.trim().is_empty() {
                    text.extend(told::cut_off(f).map(|mark| format!("\n\n({mark})")));
                    self.open.answer = Some(text);
                }
            }
            Event::ModelReplied(f) => self.handle_reply(f),
            Event::ModelRetried(_) | Event::ModelFailed(_) if !old => self.cut_short(),
            _ => (),
        }
        let settled = self.asks.apply_fact(event);
        if !old {
            if let Some(settled) = settled {
                self.announce_settlement(event, settled);
            }
            // What changed was announced above.
            let lines = match event {
                Event::SessionConfigured(_) => Vec::new(),
                event => self.calls.describe_event(event),
            };
            lines.iter().for_each(|(voice, line)| self.print_lines(*voice, line));
        } else {
            let _ = self.calls.describe_event(event);
            if seq == self.open.known {
                self.taken_up();
            }
        }
    }

    fn handle_input_accepted(&mut self, seq: Seq, fact: &InputAccepted, old: bool) {
        let text = plain_text(&fact.content);
        let own = fact.client_id.as_ref().and_then(|id| self.sent.remove(id));
        let is_own = own.is_some();
        self.open.queued.push(QueuedMessage { input: fact.input, own });
        if old {
            self.open.answer = None;
        } else if !is_own {
            self.print_lines(
                LineVoice::Label,
                &format!("{}, elsewhere: {text}", one_line(&fact.by)),
            );
        } else if self.open.running {
            let how = "Queued: it is given with the next step. /withdraw takes it back.";
            self.print_lines(LineVoice::Quiet, how);
        }
        if self.open.said.len() == SAID_MAX {
            self.open.said.remove(0);
        }
        self.open.said.push((seq, text));
    }

    /// What waited is not told: it was taken back, or the run ended first. Words that were said here
    /// are printed, so that they can be said again; what was attached goes with the next message.
    fn handle_input_withdrawn(&mut self, input: InputId) {
        let Some(n) = self.open.queued.iter().position(|waits| waits.input == input) else {
            return;
        };
        let Some(said) = self.open.queued.remove(n).own else { return };
        self.print_lines(LineVoice::Warn, "Not given to the model, taken back. Your message was:");
        self.print_lines(LineVoice::Text, &said.text);
        self.goes_along_again(said.attached);
    }

    fn apply_config(&mut self, config: &SessionConfig, old: bool) {
        let holds = AnnouncedSettings {
            model: config.model.model.to_string(),
            profile: config.profile.name.clone(),
            permission: config.permission,
            thinking: config.thinking,
        };
        if old {
            self.open.holds = Some(holds);
        } else {
            self.announce_settings(holds);
        }
    }

    /// Announces settings: all of them the first time, then what changed.
    fn announce_settings(&mut self, new: AnnouncedSettings) {
        let old = self.open.holds.take();
        let changed = |is: fn(&AnnouncedSettings) -> String| {
            old.as_ref().is_none_or(|old| is(old) != is(&new)).then(|| is(&new))
        };
        let lines: Vec<String> = [
            changed(|holds| format!("model: {}", holds.model)),
            changed(|holds| format!("profile: {}", holds.profile)),
            changed(|holds| format!("permission mode: {}", holds.permission)),
            changed(|holds| format!("thinking: {}", thinking_level_name(holds.thinking))),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.open.holds = Some(new);
        if !lines.is_empty() {
            self.print_lines(LineVoice::Quiet, &lines.join(", "));
        }
    }

    /// The old facts of a session are all there: what one needs to go on.
    fn taken_up(&mut self) {
        if let Some(holds) = self.open.holds.take() {
            self.announce_settings(holds);
        }
        let earlier = self.open.said.len();
        if earlier > 1 {
            let what = count_text(earlier - 1, "earlier message");
            self.print_lines(
                LineVoice::Quiet,
                &format!("{what} (/export writes all of it to a file)"),
            );
        }
        if let Some((_, text)) = self.open.said.last().cloned() {
            self.print_lines(
                LineVoice::Label,
                &format!("you: {}", shorten_text(&text, EARLIER_CHARACTERS_MAX)),
            );
        }
        if let Some(text) = self.open.answer.take() {
            self.print_reply_piece(&shorten_text(&text, EARLIER_CHARACTERS_MAX));
        }
        if self.open.running {
            self.print_lines(LineVoice::Quiet, "A run is on.");
        }
    }

    fn handle_signal(&mut self, kind: SignalKind, subject: String, text: &str) {
        match kind {
            SignalKind::Output => return,
            SignalKind::Thinking if self.thought => return,
            SignalKind::Thinking => {
                self.thought = true;
                return self.print_lines(LineVoice::Quiet, "assistant: thinks");
            }
            SignalKind::Text => (),
        }
        if self.turn != subject {
            self.turn = subject;
            self.stream.restart();
        }
        for piece in self.stream.push(text) {
            self.print_reply_piece(&piece);
        }
    }

    /// Says a piece of the model's text.
    fn print_reply_piece(&mut self, piece: &str) {
        if !self.speaking {
            self.print_lines(LineVoice::Label, "assistant:");
            self.speaking = true;
        }
        if self.options.screen_reader {
            let lines = words::spoken_lines(piece);
            lines.iter().for_each(|line| self.print_lines(LineVoice::Text, line));
        } else {
            self.print_lines(LineVoice::Text, piece);
        }
    }

    fn handle_reply(&mut self, fact: &ModelReplied) {
        let whole = plain_text(&fact.content);
        let rest = match self.stream.finish(&whole) {
            Some(rest) => rest,
            None => {
                self.print_lines(
                    LineVoice::Quiet,
                    "The answer reads otherwise than it began; all of it:",
                );
                whole
            }
        };
        self.turn.clear();
        if !rest.trim().is_empty() {
            self.print_reply_piece(rest.trim_end());
        }
        self.speaking = false;
        if let Some(mark) = told::cut_off(fact) {
            self.print_lines(LineVoice::Warn, mark);
        }
    }

    /// What was written of an answer is void.
    fn cut_short(&mut self) {
        let begun = self.stream.has_begun();
        let rest = self.stream.restart();
        if begun || !rest.trim().is_empty() {
            if !rest.trim().is_empty() {
                self.print_reply_piece(rest.trim_end());
            }
            self.print_lines(
                LineVoice::Warn,
                "The answer was cut off here; what stands above is void.",
            );
        }
    }

    fn announce_settlement(&mut self, event: &Event, how: AskSettlement) {
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
                let text = decision_text(decision, by, reason);
                let good = if decision.allows() { LineVoice::Good } else { LineVoice::Warn };
                self.print_lines(good, &format!("{what}: {}", lowercase_first(&text)));
            }
            (None, AskSettlement::Here, Some(_)) => {
                self.print_lines(LineVoice::Good, "question: answered")
            }
            (None, _, Some(answer)) => {
                self.print_lines(
                    LineVoice::Quiet,
                    &format!("question: answered by {by}: {answer}"),
                );
            }
            (None, _, None) => {
                self.print_lines(LineVoice::Quiet, "question: not answered, the run ended")
            }
        }
    }

    /// A text to read.
    fn print_text(&mut self, title: &str, text: &str, kind: TextKind) {
        self.print_lines(LineVoice::Label, &format!("{}:", one_line(title)));
        match (self.options.screen_reader, kind) {
            (true, TextKind::Markdown) => {
                let lines = words::spoken_lines(text);
                lines.iter().for_each(|line| self.print_lines(LineVoice::Text, line));
            }
            (true, TextKind::Diff) => {
                text.lines().for_each(|line| {
                    self.print_lines(LineVoice::Text, &words::diff_line_words(line))
                });
            }
            (false, _) | (true, TextKind::Plain) => {
                self.print_lines(LineVoice::Text, text.trim_end())
            }
        }
        self.speaking = false;
    }

    fn shell_news(&mut self, news: ShellNews) {
        match news {
            ShellNews::Output(text) => {
                for line in self.printing.push(&text) {
                    self.print_lines(LineVoice::Text, &line);
                }
            }
            ShellNews::Ended { status, ok, shown } => {
                let rest = self.printing.restart();
                if !rest.is_empty() {
                    self.print_lines(LineVoice::Text, &rest);
                }
                self.shell = None;
                self.shown = Some(shown);
                let voice = if ok { LineVoice::Good } else { LineVoice::Bad };
                let how = "/show sends its output to the model";
                self.print_lines(voice, &format!("command: {status} ({how})"));
            }
        }
        self.speaking = false;
    }
}

/// How much the model thinks, in a word.
pub(super) fn thinking_level_name(level: Thinking) -> &'static str {
    match level {
        Thinking::Off => "off",
        Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
    }
}

fn lowercase_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
