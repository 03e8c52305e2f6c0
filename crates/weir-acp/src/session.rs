//! One session of the editor: what it orders becomes wishes of a link, what the link tells becomes updates
//! and answers. Opened, served and left in one task.
//!
//! Beside it: `orders` (what is ordered), `opening`, `prompts` (turns and their ends), `commands` (those that are
//! done here and not said to the model), `asks` (questions to the person), `settings` (modes and options),
//! `images` (those that the person sent once), `servers` (MCP servers that the editor brings), `terminals`
//! (commands in its terminals). Not here:
//! running anything, which the other end of the link does (`weir_terminal::local`).

use std::collections::BTreeMap;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::model::StopReason;
use weir_core::view::told::FactTone;
use weir_core::view::transcript::{PlacedFact, TranscriptChange as Change};
use weir_engine::ports::Store;
use weir_install::context::InstallationContext;
use weir_terminal::local::{self, FirstSession, FirstSessionPicker, FirstTold};
use weir_tui::link::{
    BackendChannel, CommandTicket, ListResult, NoticeTone, SessionTarget, SignalKind,
    SlashCommandInfo, UiChannel, UiCommand, UiUpdate, ui_channel_pair,
};

use crate::options::{HeldSettings, SettingChoices};
use crate::permission::PermissionReply;
use crate::render::{ElicitationModes, FactAge, SessionRender};
use crate::rpc::{EditorPeer, RequestId, RpcError};
use crate::wire::{EmptyResult, OpenResult, SessionUpdate, UpdateParams};

mod asks;
mod commands;
mod images;
mod opening;
mod orders;
mod prompts;
mod servers;
mod settings;
mod terminals;

use asks::AskedQuestion;
use commands::{ReportText, RunningCommands};
pub(crate) use orders::{
    ChangeReply, OrderSender, SessionOpening, SessionOrder, SessionStart, order_channel,
};
use prompts::PendingPrompt;
use servers::ServerReviews;
use settings::PendingChange;
use terminals::LiveTerminals;

/// How long a session may take to be given back.
const LEAVE_WAIT: Duration = Duration::from_secs(15);
/// How often what calls print is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// By which the lists are known.
const MODELS_TICKET: CommandTicket = 1;
const PROFILES_TICKET: CommandTicket = 2;

/// What a session is about.
struct EditorSession {
    id: SessionId,
    peer: EditorPeer,
    wishes: mpsc::Sender<UiCommand>,
    render: SessionRender,
    held: HeldSettings,
    choices: SettingChoices,
    commands: Vec<SlashCommandInfo>,
    running: RunningCommands,
    /// Where images are; none: it cannot be read.
    store: Option<Arc<dyn Store>>,
    /// What the person is told once it is open.
    remarks: Vec<String>,
    /// The same of what must not be missed.
    warnings: Vec<String>,
    warned: mpsc::Receiver<String>,
    /// What the editor asks a person otherwise than by a choice.
    able: ElicitationModes,
    prompts: Vec<PendingPrompt>,
    changes: Vec<PendingChange>,
    asked: BTreeMap<String, AskedQuestion>,
    answers: JoinSet<(String, PermissionReply)>,
    servers: ServerReviews,
    terminals: LiveTerminals,
    opening: SessionOpening,
    /// The request to open it was answered.
    is_open: bool,
    /// The editor wants what is on to end.
    is_cancelling: bool,
    /// Facts that were there when it was opened.
    known: Seq,
    seq: Seq,
    /// What was told of it since it was opened.
    heard: HeardParts,
    /// What the link said went wrong, last.
    trouble: Option<String>,
    last_stop: Option<StopReason>,
}

/// What was told of a session that opens.
#[derive(Debug, Clone, Copy, Default)]
struct HeardParts {
    is_opened: bool,
    has_settings: bool,
    has_models: bool,
    has_profiles: bool,
}

/// Whether the link goes on.
#[derive(Debug, PartialEq, Eq)]
enum LinkState {
    Open,
    Over(Option<String>),
}

/// Opens a session, serves it, and gives it back.
pub(crate) async fn run_session(
    start: SessionStart,
    peer: EditorPeer,
    mut orders: mpsc::Receiver<SessionOrder>,
) {
    let (UiChannel { wishes, mut news }, far) = ui_channel_pair();
    let root = start.cx.folder.display().to_string();
    let mut session = EditorSession {
        id: start.id.clone(),
        peer,
        wishes,
        render: SessionRender::new(root, start.reads),
        held: HeldSettings::default(),
        choices: SettingChoices::default(),
        commands: Vec::new(),
        running: RunningCommands::default(),
        store: start.cx.local_store().ok().map(|store| store as Arc<dyn Store>),
        remarks: Vec::new(),
        warnings: start.warnings,
        warned: start.warned,
        able: start.reads.asks,
        prompts: Vec::new(),
        changes: Vec::new(),
        asked: BTreeMap::new(),
        answers: JoinSet::new(),
        servers: ServerReviews::new(brought_by(&start.cx)),
        terminals: LiveTerminals::new(start.terminals),
        opening: start.opening,
        is_open: false,
        is_cancelling: false,
        known: 0,
        seq: 0,
        heard: HeardParts::default(),
        trouble: None,
        last_stop: None,
    };
    let (which, name) = match start.opening {
        SessionOpening::New => (SessionTarget::New, Some(start.id)),
        SessionOpening::Load | SessionOpening::Resume | SessionOpening::Fork => {
            (SessionTarget::Existing(start.id), None)
        }
    };
    let begin = FirstSession {
        which,
        flags: start.flags,
        picks: FirstSessionPicker::Nothing,
        name,
        told_from: FirstTold::FirstFact,
    };
    let mut served = spawn_far_end(start.cx, begin, far);
    let closing = match session.wait_until_open(&mut news).await {
        Ok(()) => {
            session.announce_opening(&start.request).await;
            session.review_servers().await;
            session.serve_orders(&mut news, &mut orders).await
        }
        Err(error) => {
            session.peer.send_answer::<EmptyResult>(&start.request, Err(error)).await;
            None
        }
    };
    // Nothing more is ordered of it.
    orders.close();
    session.leave_link(&mut news).await;
    if tokio::time::timeout(LEAVE_WAIT, &mut served).await.is_err() {
        served.abort();
    }
    if let Some(request) = closing {
        session.peer.send_answer(&request, Ok(EmptyResult::new())).await;
    }
}

impl EditorSession {
    /// Serves it until it is closed or over. Gives the request back that closed it.
    async fn serve_orders(
        &mut self,
        news: &mut mpsc::Receiver<UiUpdate>,
        orders: &mut mpsc::Receiver<SessionOrder>,
    ) -> Option<RequestId> {
        let mut progress = tokio::time::interval(PROGRESS_EVERY);
        progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let late = wait_until(self.first_deadline());
            let released = wait_until(self.servers.release_time());
            tokio::select! {
                order = orders.recv() => match order {
                    Some(SessionOrder::Close(request)) => return Some(request),
                    Some(order) => self.take_order(order).await,
                    None => return None,
                },
                update = news.recv() => {
                    let state = match update {
                        Some(update) => self.take_update(update).await,
                        None => LinkState::Over(None),
                    };
                    if let LinkState::Over(why) = state {
                        self.fail_prompts(why.unwrap_or_else(|| "the session is over".into())).await;
                        self.drop_commands(None).await;
                        return None;
                    }
                }
                Some(answer) = self.answers.join_next(), if !self.answers.is_empty() => {
                    // One that was stopped says nothing.
                    if let Ok((name, reply)) = answer {
                        self.take_reply(&name, reply).await;
                    }
                }
                () = late => self.settle_late_changes().await,
                Some(news) = self.servers.next_news() => self.take_review_news(news).await,
                () = released => self.release_prompts().await,
                Some(made) = self.terminals.next_made() => self.attach_terminal(made).await,
                Some(warning) = self.warned.recv() => {
                    self.tell_remark(FactTone::Warn, &warning).await;
                }
                _ = progress.tick(), if self.render.has_progress() => {
                    for update in self.render.take_progress() {
                        self.send_update(update).await;
                    }
                }
            }
        }
    }

    async fn take_order(&mut self, order: SessionOrder) {
        match order {
            SessionOrder::Prompt { request, blocks } => match self.find_command(&blocks) {
                Some(command) => self.run_command(request, command).await,
                None => self.take_prompt(request, blocks).await,
            },
            SessionOrder::Cancel => {
                self.drop_held_prompts(None).await;
                self.drop_commands(None).await;
                self.cancel_turn();
            }
            SessionOrder::CancelRequest(request) => {
                self.drop_held_prompts(Some(&request)).await;
                self.drop_commands(Some(&request)).await;
                if self.prompts.iter().any(|prompt| prompt.request == request) {
                    self.cancel_turn();
                }
            }
            SessionOrder::Change { request, wish, reply } => {
                self.wish_change(request, wish, reply).await;
            }
            SessionOrder::Describe(request) => {
                let result = OpenResult { session_id: None, ..self.describe_settings() };
                self.peer.send_answer(&request, Ok(result)).await;
            }
            // Taken before it comes here.
            SessionOrder::Close(_) => (),
        }
    }

    async fn take_update(&mut self, update: UiUpdate) -> LinkState {
        match update {
            UiUpdate::Opened { known, named, about, .. } => {
                if self.heard.is_opened {
                    self.render.begin_again();
                }
                (self.heard.is_opened, self.known, self.seq) = (true, known, 0);
                let are_new = self.commands != named;
                self.commands = named;
                self.remarks.extend(about.notes);
                if self.is_open && are_new {
                    self.tell_commands().await;
                }
            }
            UiUpdate::Fact { seq, ts, event } => {
                self.take_fact(&PlacedFact { seq, ts, event }).await;
            }
            UiUpdate::Signal { kind, subject, text } => {
                if kind == SignalKind::Output && self.is_open {
                    self.show_in_terminal(&subject, &text);
                }
                if let Some(update) = self.render.take_signal(kind, &subject, &text) {
                    self.send_update(update).await;
                }
            }
            UiUpdate::Settings { model, profile, permission, thinking } => {
                let held = HeldSettings { model, profile, permission, thinking };
                self.hear_settings(held).await;
            }
            UiUpdate::Listed { ticket, items } => self.hear_list(ticket, items).await,
            UiUpdate::Failed { ticket, why } => {
                self.hear_list(ticket, ListResult::Choices(Vec::new())).await;
                self.hear_failed_report(ticket, &why).await;
            }
            UiUpdate::Text { ticket, title, text, kind } => {
                self.hear_report(ticket, &ReportText { title, text, kind }).await;
            }
            UiUpdate::Notice { tone, text } => self.hear_notice(tone, &text).await,
            UiUpdate::EngineDown(why) => {
                self.hear_notice(NoticeTone::Bad, &why).await;
                self.fail_compacting(&why).await;
                self.fail_prompts(why).await;
            }
            UiUpdate::Refused { client_id, why } => self.refuse_prompt(&client_id, why).await,
            UiUpdate::Over(why) => return LinkState::Over(why),
            // Nothing of this was asked for, or an editor has its own.
            UiUpdate::Review { .. }
            | UiUpdate::Decided { .. }
            | UiUpdate::Clipboard { .. }
            | UiUpdate::Shell { .. }
            | UiUpdate::Branch(_)
            | UiUpdate::Lost(_)
            | UiUpdate::History(_)
            // An editor is told every fact from the first on.
            | UiUpdate::Settled(_)
            | UiUpdate::Earlier { .. } => (),
        }
        LinkState::Open
    }

    async fn take_fact(&mut self, fact: &PlacedFact) {
        let age = if fact.seq <= self.known { FactAge::Old } else { FactAge::Fresh };
        self.seq = fact.seq;
        let mut rendered = self.render.take_fact(fact, age);
        if age == FactAge::Fresh || self.opening == SessionOpening::Load {
            self.put_images(&mut rendered).await;
            for update in rendered.updates {
                self.send_update(update).await;
            }
        }
        for change in rendered.changes {
            self.follow_change(change).await;
        }
        if matches!(fact.event.as_ref(), Event::ContextCondensed(_)) && age == FactAge::Fresh {
            self.end_compacting().await;
        }
    }

    /// What a change means beside what is shown of it.
    async fn follow_change(&mut self, change: Change) {
        match change {
            Change::InputSaid(at) | Change::InputDelivered(at) => {
                self.prompt_was_told(at.fact.client_id.as_deref());
            }
            Change::InputQueued(at) => {
                self.prompt_was_queued(at.fact.client_id.as_deref(), at.fact.input);
            }
            Change::InputWithdrawn(at) | Change::InputUnsaid(at) => {
                self.prompt_was_withdrawn(at.fact.client_id.as_deref()).await;
            }
            Change::ReplyAdded(at) => self.last_stop = Some(at.fact.stop),
            Change::AskOpened(ask) if self.is_open => self.open_ask(ask).await,
            Change::AskClosed { name, .. } => self.close_ask(&name).await,
            Change::SettingsChanged => {
                let held = HeldSettings::of_visible(self.render.transcript().settings());
                self.hear_settings(held).await;
            }
            Change::RunEnded(at) => {
                self.run_ended(&at.fact).await;
                self.use_new_servers().await;
            }
            Change::CallEnded(call) if self.is_open && self.seq > self.known => {
                self.end_terminal(call);
                self.look_at_failed_call(call).await;
            }
            // Shown, and nothing else.
            Change::AskOpened(_)
            | Change::RunStarted
            | Change::RequestStarted(_)
            | Change::StreamAbandoned
            | Change::ImageAdded(_)
            | Change::CallAdded(_)
            | Change::CallChanged(_)
            | Change::CallEnded(_)
            | Change::UnknownCallsChanged
            | Change::PlanChanged => (),
        }
    }

    async fn hear_notice(&mut self, tone: NoticeTone, text: &str) {
        // Of what a command does, it is the answer to that command.
        if self.is_open && self.answer_command(text).await {
            return;
        }
        let is_model_typed = self.first_model_typed().is_some();
        let tone = match tone {
            NoticeTone::Quiet if is_model_typed => return,
            NoticeTone::Quiet => FactTone::Quiet,
            NoticeTone::Good => FactTone::Good,
            NoticeTone::Bad => {
                let before = self.trouble.replace(text.to_owned());
                // Before it is open, what went wrong is the answer; so it is of a model that was typed.
                if is_model_typed {
                    let Some(before) = before else { return };
                    return self.tell_remark(FactTone::Bad, &before).await;
                }
                FactTone::Bad
            }
        };
        if self.is_open {
            self.tell_remark(tone, text).await;
        }
    }

    async fn send_update(&self, update: SessionUpdate) {
        let params = UpdateParams { session_id: self.id.as_str(), update: &update };
        self.peer.send_notification("session/update", &params).await;
    }

    /// Tells a line for the person, as this editor is told one.
    async fn tell_remark(&self, tone: FactTone, words: &str) {
        if let Some(update) = self.render.remark_update(tone, words) {
            self.send_update(update).await;
        }
    }

    /// Wishes something of the link. Never waits: the link may wait for this task to take its news.
    fn send_wish(&self, wish: UiCommand) -> Result<(), RpcError> {
        let full =
            |_| RpcError::internal_error("the session has too much to do; try again in a moment");
        self.wishes.try_send(wish).map_err(full)
    }

    /// Gives the session back: what is on ends, and nobody waits for it any more.
    async fn leave_link(&mut self, news: &mut mpsc::Receiver<UiUpdate>) {
        self.answers.abort_all();
        self.servers.abort_all();
        self.let_terminals_go();
        // A link that is over or full goes by its other end, which is dropped below.
        let _ = self.wishes.try_send(UiCommand::Leave);
        let over = async {
            while let Some(update) = news.recv().await {
                if self.take_update(update).await != LinkState::Open {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(LEAVE_WAIT, over).await;
        news.close();
        self.wait_for_terminal_ends().await;
        self.drop_held_prompts(None).await;
        self.drop_commands(None).await;
        self.end_prompts().await;
    }
}

/// Whoever runs the session, at the other end of the link.
fn spawn_far_end(
    cx: InstallationContext,
    begin: FirstSession,
    far: BackendChannel,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        // What would be printed goes to standard error, which is nobody's screen here.
        let (_printer, mut remarks) = mpsc::channel(1);
        local::serve_link(cx, begin, &mut remarks, far).await;
    })
}

/// The program for what is asked about servers that the editor brings to it; `None`: it brings none.
fn brought_by(cx: &InstallationContext) -> Option<InstallationContext> {
    // That the folder has gone is said where the session is opened.
    (!cx.editor_servers().is_empty()).then(|| cx.in_folder(&cx.folder).ok()).flatten()
}

/// Waits until then; for ever where there is no such moment.
async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => future::pending().await,
    }
}
