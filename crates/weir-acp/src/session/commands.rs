//! Commands of the person that are done here and not said to the model: what is ordered of the link for each, and
//! when its turn is over. Not here: which there are (`crate::face_commands`), and doing them, which the other end
//! of the link does as for a terminal.

use weir_core::view::told::one_line;
use weir_install::file_view::escape_words;
use weir_install::wiring;
use weir_install::wording::code_fence;
use weir_tui::link::{CommandTicket, ReportKind, TextKind, UiCommand};

use super::{ChangeReply, EditorSession};
use crate::face_commands::{FaceCommand, help_text, models_text, parse_command};
use crate::options::SettingWish;
use crate::rpc::{RequestId, RpcError};
use crate::wire::{ContentBlock, MessageChunk, PromptResult, SessionUpdate, TurnEnd};

/// Commands that may be under way at once.
const COMMANDS_MAX: usize = 16;
/// Bytes of a report that are shown.
const REPORT_BYTES_MAX: usize = 256 << 10;
/// The first ticket of a report: those before are of lists.
const REPORT_TICKETS: CommandTicket = 16;

/// A text that was asked for.
pub(super) struct ReportText {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) kind: TextKind,
}

/// Those that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct RunningCommands {
    all: Vec<RunningCommand>,
    /// Reports that were asked for until now.
    reports: CommandTicket,
    /// Commands that were ordered until now.
    ordered: u64,
}

impl RunningCommands {
    /// Commands that were ordered until now.
    pub(super) fn ordered_count(&self) -> u64 {
        self.ordered
    }
}

#[derive(Debug)]
struct RunningCommand {
    request: RequestId,
    /// The first one that was ordered has 1.
    number: u64,
    waits: CommandWait,
}

impl RunningCommand {
    fn waits_for_context(&self) -> bool {
        self.waits == CommandWait::Condensed
    }
}

/// What ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandWait {
    /// This text.
    Report(CommandTicket),
    /// A line for the person.
    Notice,
    /// That the context is shorter; or a line for the person, why not.
    Condensed,
}

impl EditorSession {
    /// The command that a prompt is; `None`: it is something to say.
    pub(super) fn find_command(&self, blocks: &[ContentBlock]) -> Option<FaceCommand> {
        parse_command(blocks, &self.commands)
    }

    /// Does it. The turn is over when it is done.
    pub(super) async fn run_command(&mut self, request: RequestId, command: FaceCommand) {
        match command {
            FaceCommand::Help => {
                let text = help_text(&self.commands);
                self.end_command(&request, Some(text)).await;
            }
            FaceCommand::Undo => {
                self.order_command(request, UiCommand::Undo, CommandWait::Notice).await
            }
            FaceCommand::Compact(words) => {
                let wish = UiCommand::Condense(words);
                self.order_command(request, wish, CommandWait::Condensed).await;
            }
            FaceCommand::Model(name) if name.is_empty() => {
                let text = models_text(&self.held.model, &self.choices.models);
                self.end_command(&request, Some(text)).await;
            }
            FaceCommand::Model(name) => {
                self.wish_change(request, SettingWish::Model(name), ChangeReply::Turn).await;
            }
            FaceCommand::Report(report) => self.order_report(request, report).await,
        }
    }

    async fn order_report(&mut self, request: RequestId, report: ReportKind) {
        self.running.reports += 1;
        let ticket = REPORT_TICKETS + self.running.reports;
        let wish = UiCommand::Report { report, arguments: String::new(), ticket };
        self.order_command(request, wish, CommandWait::Report(ticket)).await;
    }

    async fn order_command(&mut self, request: RequestId, wish: UiCommand, waits: CommandWait) {
        let sent = match self.running.all.len() < COMMANDS_MAX {
            true => self.send_wish(wish),
            false => Err(RpcError::internal_error("too many commands are under way")),
        };
        match sent {
            Ok(()) => {
                self.running.ordered += 1;
                let number = self.running.ordered;
                self.running.all.push(RunningCommand { request, number, waits });
            }
            Err(error) => self.peer.send_answer::<PromptResult>(&request, Err(error)).await,
        }
    }

    fn take_command(&mut self, is_it: impl Fn(&RunningCommand) -> bool) -> Option<RequestId> {
        let all = &mut self.running.all;
        let at = all.iter().position(is_it)?;
        Some(all.remove(at).request)
    }

    /// A text that was asked for.
    pub(super) async fn hear_report(&mut self, ticket: CommandTicket, report: &ReportText) {
        let is_it = |command: &RunningCommand| command.waits == CommandWait::Report(ticket);
        if let Some(request) = self.take_command(is_it) {
            self.end_command(&request, Some(report_words(report))).await;
        }
    }

    /// A text that was asked for cannot be had: why.
    pub(super) async fn hear_failed_report(&mut self, ticket: CommandTicket, why: &str) {
        let is_it = |command: &RunningCommand| command.waits == CommandWait::Report(ticket);
        if let Some(request) = self.take_command(is_it) {
            self.end_command(&request, Some(line_words(why))).await;
        }
    }

    /// A line for the person: whether it is the answer to a command. One that was ordered after a model that is
    /// not settled yet has its own line still to come.
    pub(super) async fn answer_command(&mut self, text: &str) -> bool {
        let model = self.first_model_typed();
        let is_it = |command: &RunningCommand| {
            matches!(command.waits, CommandWait::Notice | CommandWait::Condensed)
                && model.is_none_or(|after| command.number <= after)
        };
        let Some(request) = self.take_command(is_it) else { return false };
        self.end_command(&request, Some(line_words(text))).await;
        true
    }

    /// The context is shorter. What is to be said of it is told with the fact.
    pub(super) async fn end_compacting(&mut self) {
        if let Some(request) = self.take_command(RunningCommand::waits_for_context) {
            self.end_command(&request, None).await;
        }
    }

    /// The engine went down: no context becomes shorter any more.
    pub(super) async fn fail_compacting(&mut self, why: &str) {
        while let Some(request) = self.take_command(RunningCommand::waits_for_context) {
            self.end_command(&request, Some(line_words(why))).await;
        }
    }

    /// Nobody waits for what commands do any more: of all, or of this one. What they do they do.
    pub(super) async fn drop_commands(&mut self, one: Option<&RequestId>) {
        let is_dropped =
            |command: &mut RunningCommand| one.is_none_or(|request| command.request == *request);
        let dropped = self.running.all.extract_if(.., is_dropped).map(|command| command.request);
        let mut requests: Vec<RequestId> = dropped.collect();
        requests.extend(self.take_typed_models(one));
        for request in requests {
            let result = PromptResult { stop_reason: TurnEnd::Cancelled };
            self.peer.send_answer(&request, Ok(result)).await;
        }
    }

    /// Says what came of a command, and ends its turn.
    pub(super) async fn end_command(&self, request: &RequestId, text: Option<String>) {
        if let Some(text) = text {
            let content = ContentBlock::text_block(text);
            // A message of its own: it is no part of what the agent said before.
            let message_id = Some(wiring::new_session_id().to_string());
            let message = MessageChunk { content, message_id };
            self.send_update(SessionUpdate::AgentMessageChunk(message)).await;
        }
        let result = PromptResult { stop_reason: TurnEnd::EndTurn };
        self.peer.send_answer(request, Ok(result)).await;
    }
}

/// A line for the person as a message: a path in it is no Markdown.
pub(super) fn line_words(line: &str) -> String {
    code_fence("", &one_line(line))
}

/// A text as a message: what is no Markdown is shown as it is.
fn report_words(report: &ReportText) -> String {
    let cut = report.text.floor_char_boundary(REPORT_BYTES_MAX.min(report.text.len()));
    let shown = &report.text[..cut];
    let shown = match report.kind {
        TextKind::Markdown => shown.to_owned(),
        TextKind::Plain => code_fence("", shown),
        TextKind::Diff => code_fence("diff", shown),
    };
    let left = match report.text.len() - cut {
        0 => String::new(),
        left => format!("\n\n*({left} more bytes)*"),
    };
    format!("**{}**\n\n{shown}{left}\n", escape_words(&one_line(&report.title)))
}
