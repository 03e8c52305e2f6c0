//! The loop (L1): make what is in flight equal to what is owed, wait for one input, let the
//! session handle it, make the facts durable, publish them, repeat.
//!
//! It decides nothing. What is owed is said by the pure session; how it is done stands in the
//! workers; when facts reach the disk, in the ledger.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use weir_core::effect::Effect;
use weir_core::event::{CallFinished, CancelCause, Event};
use weir_core::governance::filter::mask_text;
use weir_core::ids::{CallId, InputId, RunId};
use weir_core::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use weir_core::message::plain_text;
use weir_core::session::{CallState, Session, SessionConfig};

use crate::attach;
use crate::children::SpawnParameters;
use crate::command_channel::LoopMessage;
use crate::condensing::RunReview;
use crate::error::EngineError;
use crate::hub::PublishedFact;
use crate::ledger::JournalWriter;
use crate::listening::start_listening;
use crate::ports::{Conversation, HookMoment, Model, ProgramStep, RemoteCommand, StoreError};
use crate::programs::ProgramLine;
use crate::recipes;
use crate::scene::SceneRequest;
use crate::snapshots::SnapshotKeeper;
use crate::spending::FamilySeat;
use crate::submit::InputSubmission;
use crate::worker_context::WorkerContext;
use crate::workers::{self, EncodingWork, PlannedContents, RunningCall, WorkerOutcome, Workers};

mod below;
mod foreign;
mod letters;
mod waiting;

use letters::{discard_remote_command, next_mail};
use waiting::{await_write, on_own_task, wait_until_due};

/// Everything the loop owns. Dropping it ends whatever is in flight.
pub(crate) struct SessionLoop {
    pub(crate) context: Arc<WorkerContext>,
    pub(crate) workers: Workers,
    pub(crate) session: Session,
    pub(crate) ledger: JournalWriter,
    pub(crate) snapshots: SnapshotKeeper,
    /// Its place among those with whom it shares bounds.
    pub(crate) family: FamilySeat,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) conversation: Option<Box<dyn Conversation>>,
    pub(crate) messages: mpsc::Receiver<LoopMessage>,
    pub(crate) flying: FuturesUnordered<BoxFuture<'static, (Effect, WorkerOutcome)>>,
    pub(crate) in_flight: HashMap<Effect, CancellationToken>,
    /// Calls that were inspected before one that was asked for earlier: they are judged after it (L5, L6).
    pub(crate) early: Vec<(Effect, WorkerOutcome)>,
    pub(crate) contents: HashMap<CallId, PlannedContents>,
    /// The way to each program that runs.
    pub(crate) programs: HashMap<CallId, ProgramLine>,
    pub(crate) writing: Option<BoxFuture<'static, WriteOutcome>>,
    /// Letters that were acted on and may not be taken away yet.
    pub(crate) read: HashSet<u64>,
    pub(crate) closing: bool,
    /// Somebody wants it who waits for what is under way between runs.
    pub(crate) resting: bool,
    /// What is looked at before something that a letter says is accepted.
    pub(crate) submit: InputSubmission,
    /// What nothing waits for but the end of the session: looking for recipes in runs that are over, giving
    /// back what was set aside for requests, keeping the fold.
    pub(crate) behind: JoinSet<()>,
}

/// What a write came to, and the facts that it made durable.
pub(crate) type WriteOutcome = (Result<(), StoreError>, Vec<PublishedFact>);

#[expect(clippy::large_enum_variant, reason = "there is one at a time, for one turn of the loop")]
enum SessionWake {
    Worker(Effect, WorkerOutcome),
    Message(Option<LoopMessage>),
    Written(Result<(), StoreError>, Vec<PublishedFact>),
    Due,
    PauseChanged,
    ServersChanged,
    Letters(Result<Vec<RemoteCommand>, StoreError>),
}

impl SessionLoop {
    /// Runs until it is closed and at rest, or the store refuses.
    pub(crate) async fn run(mut self: Box<Self>) -> Result<(), EngineError> {
        if self.session.run().is_none() && self.session.last_solved_run().is_some() {
            // The program may have ended before it looked at what the last run was good for.
            self.start_learning();
        }
        if self.session.paused_by().is_some() {
            // The program may have ended before its sub-agents heard of it.
            self.tell_children();
        }
        let result = self.go_on().await;
        // Before anybody who waits finds that nothing answers.
        if let Err(EngineError::Store(error)) = &result {
            self.context.hub.note_refusal(error);
        }
        while self.behind.join_next().await.is_some() {}
        // Children stop where they are, as this session does: nothing of theirs is cancelled.
        self.workers.children.stop();
        self.in_flight.values().for_each(CancellationToken::cancel);
        if let Err(EngineError::Store(error)) = &result {
            self.ledger.fail_waiting(error);
        }
        self.context.hub.close();
        result
    }

    async fn go_on(&mut self) -> Result<(), EngineError> {
        let store = self.context.parts.store.clone();
        let mut pause_changed = store.pause_changed();
        let mut mail = next_mail(store.clone(), self.context.session.clone(), HashSet::new());
        let mut servers_changed = self.follow_servers();
        loop {
            self.start_what_is_owed();
            self.write_what_is_due();
            if self.closing && self.ledger.is_durable() {
                return Ok(());
            }
            let next_write = self.ledger.write_due_at().filter(|_| self.writing.is_none());
            let woken = tokio::select! {
                biased;
                Some((result, facts)) = await_write(&mut self.writing) => SessionWake::Written(result, facts),
                Some((effect, outcome)) = self.flying.next() => SessionWake::Worker(effect, outcome),
                message = self.messages.recv(), if !self.closing => SessionWake::Message(message),
                () = wait_until_due(&self.context, next_write) => SessionWake::Due,
                () = &mut pause_changed => SessionWake::PauseChanged,
                () = &mut servers_changed, if !self.closing => SessionWake::ServersChanged,
                letters = &mut mail, if !self.closing => SessionWake::Letters(letters),
            };
            match woken {
                SessionWake::Worker(effect, outcome) => self.handle_outcome(effect, outcome),
                SessionWake::Message(Some(LoopMessage::Command(command, done))) => {
                    self.handle_command(*command, done);
                }
                SessionWake::Message(Some(LoopMessage::Steps(of, steps, done))) => {
                    // A program that is gone waits for nothing.
                    let _ = done.send(self.handle_steps(of, steps));
                }
                SessionWake::Message(Some(LoopMessage::Rest)) => self.close_if_idle(),
                SessionWake::Message(Some(LoopMessage::Close) | None) => self.begin_closing(),
                SessionWake::Written(result, facts) => {
                    self.writing = None;
                    result?;
                    self.ledger.confirm_batch();
                    if self.has_solved(&facts) {
                        self.start_learning();
                    }
                    if let Some(release) = self.workers.release_after(&facts) {
                        self.do_behind(release);
                    }
                    let (session, ledger) = (&self.session, &self.ledger);
                    if let Some(keep) = self.snapshots.keep_if_due(session, ledger, &store) {
                        self.do_behind(keep);
                    }
                    self.context.parts.observers.notify_facts(&self.context.session, &facts);
                    self.context.hub.publish(facts);
                }
                SessionWake::Due => (),
                SessionWake::ServersChanged => {
                    self.note_tool_changes();
                    servers_changed = self.follow_servers();
                }
                SessionWake::Letters(letters) => {
                    letters?.into_iter().for_each(|letter| self.handle_remote_command(letter));
                    let read = self.read.clone();
                    mail = next_mail(store.clone(), self.context.session.clone(), read);
                }
                SessionWake::PauseChanged => {
                    // Listening before it looks: others of this process hear with it, and a switch that is
                    // thrown in between is not thrown again.
                    pause_changed = start_listening(|| store.pause_changed()).await;
                    if let Some(pause) = store.pause_state().await? {
                        let cause = CancelCause::Paused;
                        let by = pause.by;
                        self.handle(SessionInput::Command(SessionCommand::Cancel { cause, by }));
                    }
                }
            }
        }
    }

    /// Does something that nothing waits for but the end of the session.
    fn do_behind(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.behind.try_join_next().is_some() {}
        self.behind.spawn(work);
    }

    fn begin_closing(&mut self) {
        self.closing = true;
        self.ledger.request_write();
    }

    /// Closes what is at rest: others may want the session. A context that is being made shorter comes to its
    /// end first; whoever says something meanwhile keeps the session here.
    fn close_if_idle(&mut self) {
        self.resting = self.session.run().is_none() && self.session.queued_inputs().is_empty();
        if self.resting && self.session.todo().is_empty() {
            self.begin_closing();
        }
    }

    /// Whether a run ended with these facts that something may be learned from.
    fn has_solved(&self, facts: &[PublishedFact]) -> bool {
        let solved = self.session.last_solved_run().map(|run| run.run);
        let ended = |fact: &PublishedFact| match fact.event.as_ref() {
            Event::RunFinished(finished) => Some(finished.run) == solved,
            _ => false,
        };
        solved.is_some() && facts.iter().any(ended)
    }

    /// Looks for recipes in what was solved so far (M5). The run is durable and over: nothing waits
    /// for this but the end of the session.
    fn start_learning(&mut self) {
        let Some(config) = self.session.config().cloned() else { return };
        let context = self.context.clone();
        self.behind.spawn(async move {
            let places = &context.scene.recipes;
            if let Err(error) = recipes::learn_recipes(&context.parts, places, &config).await {
                tracing::warn!(%error, "recipes could not be proposed; the next run tries again");
            }
        });
    }

    fn handle(&mut self, input: SessionInput) -> bool {
        let now = self.context.time.now().max(self.session.last_fact_time());
        let facts = self.session.handle(now, input);
        let any = !facts.is_empty();
        for fact in &facts {
            if let Event::CallFinished(CallFinished { changed, marks: Some(origin), .. }) = fact {
                self.context.workspace.mark(changed, origin);
            }
            self.tell_program(fact);
            if matches!(
                fact,
                Event::SessionConfigured(_)
                    | Event::ProfileSwitched(_)
                    | Event::RunPaused(_)
                    | Event::RunResumed(_)
            ) {
                self.tell_children();
            }
        }
        for (call, program) in &self.programs {
            program.set_waiting(self.session.waits_by_steps(*call));
        }
        if any {
            self.family.follow_session(&self.session, &facts);
        }
        self.ledger.push(&self.session, now, facts);
        any
    }

    /// A program asks for steps.
    fn handle_steps(&mut self, of: CallId, steps: Vec<ProgramStep>) -> Result<(), String> {
        for ProgramStep { number, tool, input } in steps {
            self.session.may_step(of, number, &tool, &input)?;
            let command = SessionCommand::Step { of, number, tool, input };
            self.handle(SessionInput::Command(command));
        }
        Ok(())
    }

    fn handle_command(
        &mut self,
        command: SessionCommand,
        done: oneshot::Sender<Result<(), EngineError>>,
    ) {
        if let Some(letter) = self.letter_to_agent(&command) {
            return self.passed_on(letter, done);
        }
        if let SessionCommand::From { command: PersonCommand::Yield, .. } = &command {
            self.close_if_idle();
            let _ = done.send(Ok(()));
            return;
        }
        let command = self.mask_secrets(command);
        // What was said under its name before is said: the answer waits for the same disk.
        let is_repeated = match &command {
            SessionCommand::From { command: PersonCommand::Say(message), .. } => {
                let name = message.client_id.as_deref();
                name.is_some_and(|name| self.session.sent_input(name).is_some())
            }
            _ => false,
        };
        if self.handle(SessionInput::Command(command)) || is_repeated {
            self.ledger.acknowledge_when_durable(done);
        } else {
            let why = "there is nothing open that this could answer";
            let _ = done.send(Err(EngineError::Refused(why.into())));
        }
    }

    /// The command without secrets in what goes to a foreign server: such an answer is not passed on.
    fn mask_secrets(&self, mut command: SessionCommand) -> SessionCommand {
        if let SessionCommand::From { command: PersonCommand::Reply { question, answer }, .. } =
            &mut command
            && self.session.call_asking(question).is_some()
        {
            mask_text(answer, &self.context.parts.secrets);
        }
        command
    }

    /// An answer to what a sub-agent asks, as a letter to it (G4).
    fn letter_to_agent(&self, command: &SessionCommand) -> Option<RemoteCommand> {
        let SessionCommand::From { by, command: PersonCommand::Decide(answer) } = command else {
            return None;
        };
        let session = self.session.agent_asking(&answer.approval)?.clone();
        let (by, ts) = (by.clone(), self.context.parts.clock.now());
        Some(RemoteCommand {
            id: 0,
            session,
            by,
            ts,
            command: PersonCommand::Decide(answer.clone()),
        })
    }

    fn passed_on(&self, letter: RemoteCommand, done: oneshot::Sender<Result<(), EngineError>>) {
        let store = self.context.parts.store.clone();
        tokio::spawn(async move {
            let posted = store.post_remote_command(letter).await;
            let _ = done.send(posted.map(|_| ()).map_err(EngineError::Store));
        });
    }

    /// A letter from another process. It is taken away once what it wanted is durable; one that
    /// came too late wants nothing any more.
    fn handle_remote_command(&mut self, letter: RemoteCommand) {
        let RemoteCommand { id, by, command, .. } = letter;
        if !self.read.insert(id) {
            return;
        }
        let command = match command {
            PersonCommand::Say(message) => return self.submit_remote_input(id, *message, by),
            command => command.sent_by(by),
        };
        let (done, durable) = oneshot::channel();
        self.handle_command(command, done);
        let store = self.context.parts.store.clone();
        tokio::spawn(async move {
            match durable.await {
                // What it wants is not durable: whoever takes the session up next reads it.
                Ok(Err(EngineError::Store(_))) => return,
                Ok(Ok(())) => (),
                Ok(Err(_)) | Err(_) => {
                    tracing::debug!(id, "a letter wanted what is no longer open");
                }
            }
            discard_remote_command(store.as_ref(), id).await;
        });
    }

    /// What somebody says by letter goes the way of what is said here: commands and hooks first.
    /// The letter stays until the input is durable; when the program ends in between, whoever has
    /// the session next reads it, and its name keeps it from being said twice.
    fn submit_remote_input(&self, id: u64, message: PersonMessage, by: String) {
        let (context, submit) = (self.context.clone(), self.submit.clone());
        tokio::spawn(async move {
            let heard = attach::hear_letter(&context, &submit, id, message, by).await;
            if matches!(heard, Err(EngineError::Stopped | EngineError::Store(_))) {
                return;
            }
            if let Err(error) = heard {
                tracing::info!(id, %error, "what a letter said was not accepted");
            }
            discard_remote_command(context.parts.store.as_ref(), id).await;
        });
    }

    /// What a worker came to; one that inspected a call out of its turn stays in flight until then.
    fn handle_outcome(&mut self, effect: Effect, outcome: WorkerOutcome) {
        match self.is_early(&effect) {
            true => self.early.push((effect, outcome)),
            false => self.apply_outcome(&effect, outcome),
        }
    }

    /// Whether a call that was asked for before this one is not judged yet.
    fn is_early(&self, effect: &Effect) -> bool {
        if !matches!(effect, Effect::Inspect { .. }) {
            return false;
        }
        let owed = self.session.todo();
        let first = owed.iter().find(|owed| matches!(owed, Effect::Inspect { .. }));
        first.is_some_and(|first| first != effect) && owed.contains(effect)
    }

    fn take_whose_turn_it_is(&mut self) {
        while let Some(at) = self.early.iter().position(|(effect, _)| !self.is_early(effect)) {
            let (effect, outcome) = self.early.remove(at);
            self.apply_outcome(&effect, outcome);
        }
    }

    fn apply_outcome(&mut self, effect: &Effect, outcome: WorkerOutcome) {
        self.in_flight.remove(effect);
        if let Effect::Run { call } = effect {
            self.programs.remove(call);
        }
        match outcome {
            WorkerOutcome::Answer(answer) => {
                self.handle(SessionInput::Answer(answer));
            }
            WorkerOutcome::Planned(answer, call, contents) => {
                self.contents.insert(call, contents);
                self.handle(SessionInput::Answer(answer));
            }
            WorkerOutcome::Conversation(conversation, answer) => {
                self.conversation = Some(conversation);
                if let Some(answer) = answer {
                    self.handle(SessionInput::Answer(answer));
                }
            }
            WorkerOutcome::Switched(answer, model) => {
                let took = self.handle(SessionInput::Answer(answer));
                let now = self.session.config().map(|config| &config.model);
                if let Some(model) = model.filter(|model| now == Some(model.info().as_ref()))
                    && took
                {
                    self.speak_with(model);
                }
            }
            WorkerOutcome::Tick => {
                self.handle(SessionInput::Tick);
            }
            WorkerOutcome::Nothing => (),
        }
    }

    /// Cancels what is no longer owed and starts what is not yet in flight.
    fn start_what_is_owed(&mut self) {
        if self.resting && !self.closing {
            self.close_if_idle();
        }
        if self.closing {
            return;
        }
        self.take_whose_turn_it_is();
        let owed = self.session.todo();
        for (effect, cancel) in &self.in_flight {
            if !owed.contains(effect) {
                cancel.cancel();
            }
        }
        if self.session.run().is_none() {
            self.contents.clear();
            // What a run ended with has no company to wait for. The first facts of a session have: the
            // input that it was opened for, and nothing that must be kept came before (Q2).
            if self.session.last_run_finished().is_some() {
                self.ledger.request_write();
            }
        }
        for effect in owed {
            if self.in_flight.contains_key(&effect) || self.session.holds_back(&effect) {
                continue;
            }
            if self.must_wait_for_disk(&effect) && !self.ledger.is_durable() {
                self.ledger.request_write();
                continue;
            }
            let cancel = CancellationToken::new();
            if let Some(mut work) = self.effect_future(&effect, cancel.clone()) {
                if matches!(effect, Effect::Ask { .. }) {
                    work = Box::pin(on_own_task(work));
                }
                self.in_flight.insert(effect.clone(), cancel);
                self.flying.push(Box::pin(async move { (effect, work.await) }));
            }
        }
    }

    /// What is durable before what (D3).
    fn must_wait_for_disk(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Ask { .. }
            | Effect::AskPerson { .. }
            | Effect::AskQuestion { .. }
            | Effect::Condense
            | Effect::PlanRecipe
            | Effect::Remember => true,
            Effect::Run { call } => self.session.waits_for_disk(*call),
            // What was used so far must be among the sums before anything else is spent.
            Effect::Prepare { .. } => self.workers.has_caps(),
            Effect::Look
            | Effect::Wait { .. }
            | Effect::Inspect { .. }
            | Effect::Checkpoint { .. }
            | Effect::Salvage { .. }
            | Effect::Stop { .. }
            | Effect::Reconcile { .. }
            | Effect::Switch
            | Effect::SwitchModel
            | Effect::Verify => false,
        }
    }

    /// The future that does `effect`; none where nothing is to be done now.
    fn effect_future(
        &mut self,
        effect: &Effect,
        cancel: CancellationToken,
    ) -> Option<BoxFuture<'static, WorkerOutcome>> {
        let workers = self.workers.clone();
        let config = self.config_of_work()?;
        match effect {
            Effect::AskPerson { .. } | Effect::AskQuestion { .. } => {
                self.about_person(effect, cancel)
            }
            Effect::Look | Effect::Condense | Effect::Remember | Effect::Switch => {
                self.about_context(effect, config)
            }
            Effect::SwitchModel => {
                let wish = self.session.model_wish()?;
                Some(Box::pin(workers.ready_model(config, wish.model, cancel)))
            }
            Effect::PlanRecipe => {
                let work = self.session.plan_work()?;
                Some(Box::pin(workers.plan_recipe(work, cancel)))
            }
            Effect::Wait { until } => Some(Box::pin(workers.wait_until(*until, cancel))),
            Effect::Prepare { turn, not_before } => {
                let request = self.session.request(*turn)?;
                let media = self.session.media().iter().cloned().collect();
                let conversation = self.take_conversation()?;
                let (label, not_before) = (self.session.label().clone(), *not_before);
                let tokens = self.session.next_tokens();
                let work = EncodingWork { conversation, request, media, not_before, label, tokens };
                Some(Box::pin(workers.prepare(work, cancel)))
            }
            Effect::Ask { turn } => {
                let conversation = self.take_conversation()?;
                Some(Box::pin(workers.ask(conversation, *turn, cancel)))
            }
            Effect::Salvage { turn } => Some(Box::pin(std::future::ready(workers.salvage(*turn)))),
            Effect::Inspect { call } => {
                let call = self.session.find_call(*call)?.clone();
                let said = self.session.requested_tasks().to_vec();
                Some(Box::pin(workers.inspect(call, config, said, cancel)))
            }
            Effect::Checkpoint { call } => {
                let contents = self.contents.get(call).cloned();
                let call = self.session.find_call(*call)?.clone();
                let run = self.session.run().map(|run| run.to_string()).unwrap_or_default();
                Some(Box::pin(workers.checkpoint(call, config, contents, run)))
            }
            Effect::Run { call } => self.run_call(*call, config, cancel),
            Effect::Stop { call } => self.stop_call(*call, config),
            Effect::Reconcile { call } => {
                let call = self.session.find_call(*call)?.clone();
                Some(Box::pin(workers.reconcile(call, config)))
            }
            Effect::Verify => {
                let text = self.session.answer_text().unwrap_or_default().to_string();
                Some(Box::pin(workers.verify(config, text)))
            }
        }
    }

    /// A call that may run is run: once in this life of the program.
    fn run_call(
        &mut self,
        id: CallId,
        config: Arc<SessionConfig>,
        cancel: CancellationToken,
    ) -> Option<BoxFuture<'static, WorkerOutcome>> {
        let workers = self.workers.clone();
        let permit = self.session.issue_permit(id)?;
        let contents = self.contents.remove(&id);
        let about = workers::about_session(&self.session);
        let call = self.session.find_call(id)?.clone();
        let label = self.session.label_of_call(&call).clone();
        let tool = workers.context.toolbox.get(&call.tool);
        let nests = tool.as_ref().is_some_and(|tool| tool.has_nested_calls());
        let asks = tool.is_some_and(|tool| tool.asks_model());
        let program = call.is_program().then(|| self.open_program(&call));
        let session = nests.then(|| Arc::new(self.session.clone()));
        let spawn = call.spawn_effect().is_some().then(|| self.spawn_parameters(&call));
        let prompter = asks.then(|| self.open_prompter(&call)).flatten();
        let work = RunningCall {
            permit,
            call,
            config,
            contents,
            about,
            label,
            session,
            program,
            prompter,
            spawn,
        };
        Some(Box::pin(workers.run(work, cancel)))
    }

    /// The future that ends a call which is marked as started; none where it runs and is cancelled.
    fn stop_call(
        &self,
        call: CallId,
        config: Arc<SessionConfig>,
    ) -> Option<BoxFuture<'static, WorkerOutcome>> {
        if self.in_flight.contains_key(&Effect::Run { call }) {
            return None;
        }
        let workers = self.workers.clone();
        let call = self.session.find_call(call)?.clone();
        if call.spawn_effect().is_some() {
            let spawn = self.spawn_parameters(&call);
            return Some(Box::pin(workers.agent_never_began(call, config, spawn)));
        }
        Some(Box::pin(workers.call_never_began(call, config)))
    }

    /// The settings that workers go by. What a recipe's calls give is told whole: nobody asked for it
    /// piece by piece (L16).
    fn config_of_work(&self) -> Option<Arc<SessionConfig>> {
        let mut config = self.session.config()?.clone();
        if self.session.follows_recipe() {
            Arc::make_mut(&mut config).externalize_over = 0;
        }
        // What results and looks may have follows the window that its server turned out to have (R6).
        let window = self.session.window_tokens();
        if window != config.model.window {
            Arc::make_mut(&mut config).model.window = window;
        }
        Some(config)
    }

    /// The future of an effect that waits for a person: faces fold the request from the facts and
    /// answer by command; hooks may call a person.
    fn about_person(
        &self,
        effect: &Effect,
        cancel: CancellationToken,
    ) -> Option<BoxFuture<'static, WorkerOutcome>> {
        let fields = match effect {
            Effect::AskPerson { approval } => {
                let call = self.session.approval_call(approval)?;
                json!({
                    "message": match self.session.calls_asked_at(call.id).len() {
                        0 | 1 => format!("{} needs an answer: {}", call.tool, call.ask_reason()),
                        steps => format!("{steps} steps of a program need one answer: {}", call.ask_reason()),
                    },
                    "approval": approval,
                })
            }
            Effect::AskQuestion { question } => {
                json!({ "message": "a question is open", "question": question })
            }
            _ => return None,
        };
        self.notification_future(fields, cancel)
    }

    /// What starting the agent of a call needs.
    fn spawn_parameters(&self, call: &CallState) -> SpawnParameters {
        let now = self.context.time.now().max(self.session.last_fact_time());
        SpawnParameters {
            run: self.session.run().unwrap_or(RunId(0)),
            share: self.session.agent_share(call.id, now),
            spawned: self.session.running_agent(call.id).cloned(),
            model: self.model.clone(),
            // With the words of handles that its task names.
            label: self.session.label_of_call(call).clone(),
        }
    }

    /// The future of an effect that is about what the model is told.
    fn about_context(
        &self,
        effect: &Effect,
        config: Arc<SessionConfig>,
    ) -> Option<BoxFuture<'static, WorkerOutcome>> {
        let workers = self.workers.clone();
        match effect {
            Effect::Look => {
                let said = self.session.unexamined_inputs();
                let said: Vec<String> = said.iter().map(|q| plain_text(&q.content)).collect();
                let glance = SceneRequest::for_session(&self.session, &said.join("\n"));
                let newest = self.session.queued_inputs().back().map_or(InputId(0), |q| q.input);
                Some(Box::pin(workers.gather_notes(config, glance, newest)))
            }
            Effect::Condense => {
                let memories = !config.memory.off;
                let work = self.session.condense_work(self.condenser_window(), memories)?;
                let label = self.session.label().clone();
                Some(Box::pin(workers.condense(work, config, label)))
            }
            Effect::Remember => {
                let work = self.session.remember_work(self.condenser_window());
                let (system, question) = work;
                let label = self.session.label().clone();
                let review = RunReview { system, question, label };
                Some(Box::pin(workers.remember_run(review, config)))
            }
            Effect::Switch => {
                let (name, _) = self.session.pending_switch()?;
                let (config, model, notes) =
                    match workers.context.profiles.profile_settings(&config, name) {
                        Ok(to) => (Ok(Arc::new(to.config)), to.model, to.notes),
                        Err(why) => (Err(why), None, Vec::new()),
                    };
                let answer = EffectAnswer::Switched { config, notes };
                Some(Box::pin(async move { WorkerOutcome::Switched(answer, model) }))
            }
            _ => None,
        }
    }

    /// Window of the model that summarises: where that is the session's own, what is believed of it.
    fn condenser_window(&self) -> u64 {
        let info = self.workers.condenser_model();
        let own = self.session.config().is_some_and(|config| config.model.model == info.model);
        let believed = self.session.window_tokens();
        if own && believed > 0 { info.window.min(believed) } else { info.window }
    }

    /// Tells hooks that a person is needed. It stays in flight as long as the person is needed.
    fn notification_future(
        &self,
        fields: serde_json::Value,
        cancel: CancellationToken,
    ) -> Option<BoxFuture<'static, WorkerOutcome>> {
        if !self.context.parts.hooks.has_listener(HookMoment::Notification) {
            return None;
        }
        let (guards, config) = (self.workers.guards.clone(), self.session.config()?.clone());
        Some(Box::pin(async move {
            let told = guards.notify_hooks(HookMoment::Notification, &config, fields);
            tokio::select! {
                () = told => cancel.cancelled().await,
                () = cancel.cancelled() => (),
            }
            WorkerOutcome::Nothing
        }))
    }

    /// Goes on with another model; whoever else asked the session's own asks it too.
    fn speak_with(&mut self, model: Arc<dyn Model>) {
        self.workers.use_model(&model);
        self.model = model;
        self.conversation = None;
    }

    /// The conversation, unless another worker still has it: then its return wakes the loop.
    fn take_conversation(&mut self) -> Option<Box<dyn Conversation>> {
        let busy = self
            .in_flight
            .keys()
            .any(|effect| matches!(effect, Effect::Prepare { .. } | Effect::Ask { .. }));
        match self.conversation.take() {
            Some(conversation) => Some(conversation),
            None if busy => None,
            None => Some(self.model.start_conversation()),
        }
    }

    fn write_what_is_due(&mut self) {
        let now = self.context.time.now();
        if self.writing.is_some() || self.ledger.write_due_at().is_none_or(|due| due > now) {
            return;
        }
        let blobs = self.context.blobs.take_staged(&self.context.session);
        let batch = self.ledger.take_batch(&self.session, blobs);
        let store = self.context.parts.store.clone();
        self.writing = Some(Box::pin(async move { batch.write_to_store(store.as_ref()).await }));
    }
}
