//! What people of this server tell their sessions, and what they are answered. How it reaches a
//! session, here, at another replica or in another process, is the engine's host's to know.
//! Whichever it was, the answer is what the session's facts say, so that the same holds at every
//! replica and after every crash.

use std::sync::Arc;

use http::StatusCode;
use serde::Serialize;
use weir_core::event::{CheckpointRestored, Decision, Event, InputAccepted};
use weir_core::ids::{ApprovalId, InputId, QuestionId, RunId, Seq, SessionId, Timestamp};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::message::plain_text;
use weir_core::session::condense::KeepRequest;
use weir_core::session::{SentInput, child};
use weir_engine::attach::{self, Attachment};
use weir_engine::engine::EngineError;
use weir_engine::host::{
    LiveSession, Released, Resolution, SentCommand, SessionAccess, SessionHost, SessionPlace,
    SessionState, SessionView, TAKE_UP_ATTEMPTS, TellOutcome,
};
use weir_engine::ledger::fact_of;
use weir_install::user_space::{SessionPreferences, UserSpace};

use super::{SessionLocation, SessionRequest, pause, uploads};
use crate::app::App;
use crate::auth::secret;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::session_registry::ServerSessions;

mod mode;

/// Longest name of an input, in characters.
const CLIENT_ID_CHARS_MAX: usize = 128;
/// Longest text of an input, in characters.
pub(crate) const TEXT_CHARS_MAX: usize = 1 << 20;
/// Most files that go with one input.
const ATTACHMENTS_MAX: usize = 50;

/// Something to be said.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewInput {
    /// Its name: said once however often it is sent. `None`: it gets one.
    pub(crate) client_id: Option<String>,
    /// The words.
    pub(crate) text: String,
    /// Uploaded files, by their names (`uploads`).
    pub(crate) attachments: Vec<String>,
    /// Files that are there already as bytes: name and content.
    pub(crate) files: Vec<(String, Arc<[u8]>)>,
    /// The name of the person who says it, as journals have it.
    pub(crate) by: String,
    /// Whoever sends it keeps what was not said: it is told whether the journal has other words.
    pub(crate) keeps_unsaid: bool,
}

/// An input that stands in the journal.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AcceptedInput {
    /// Its number.
    pub(crate) input: InputId,
    /// The run that it belongs to; `null`: none began yet.
    pub(crate) run: Option<RunId>,
    /// The fact that accepted it.
    pub(crate) seq: Seq,
    /// Its name.
    pub(crate) client_id: String,
    /// Another try stands there under its name: what was sent now was not said.
    #[serde(skip)]
    #[cfg_attr(test, schemars(skip))]
    pub(crate) is_repeat: bool,
}

/// An approval that is settled.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SettledApproval {
    /// The name of the approval.
    pub(crate) approval: ApprovalId,
    /// The decision that counts.
    pub(crate) decision: Decision,
    /// Whose it was.
    pub(crate) by: String,
    /// When it was answered.
    pub(crate) at: Timestamp,
    /// Why the rules of an `always` could not be kept for the project, so that they hold for this
    /// session alone; absent: they were kept, or there was nothing to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unkept: Option<String>,
}

fn accepted_input(client_id: &str, sent: SentInput) -> AcceptedInput {
    let SentInput { input, run, seq } = sent;
    AcceptedInput { input, run, seq, client_id: client_id.into(), is_repeat: false }
}

/// A hook, or a command that cannot be used, refused an input.
fn refused_input(why: impl Into<String>) -> ProblemDetails {
    ProblemDetails::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", why)
}

fn session_held(holder: &str) -> ProblemDetails {
    ProblemDetails::new(
        StatusCode::CONFLICT,
        "held",
        format!("{holder} has the session and has not acted on this yet; it waits there"),
    )
}

fn run_is_on() -> ProblemDetails {
    ProblemDetails::conflict("a run is on: this changes only between runs")
}

/// A moment in which the session changed hands again and again.
pub(super) fn session_unstable(id: &SessionId) -> ProblemDetails {
    ProblemDetails::internal_failure(format!(
        "session {id} went down each time that it was taken up"
    ))
}

impl ServerSessions {
    /// Says something. Durable when it returns; the same name a second time says nothing and gives
    /// the first answer.
    ///
    /// # Errors
    /// No such session, paused, refused by a hook, or it cannot be opened.
    pub(crate) async fn submit_input(
        &self,
        request: SessionRequest<'_>,
        saying: NewInput,
    ) -> HandlerResult<AcceptedInput> {
        let SessionRequest { app, space, session: id } = request;
        let name = match &saying.client_id {
            Some(name) => name.clone(),
            None => secret::random_name()?,
        };
        check_name(&name)?;
        if child::parent_of(id).is_some() {
            return Err(ProblemDetails::bad_request(
                "a sub-agent takes no input; say it in the session above it",
            ));
        }
        let host = session_host(app, space).await?;
        let mut view = found_view(host.view_session(id).await?, id)?;
        let sent = |state: &SessionState| state.sent.find_input(&name);
        // What was taken before is answered, even while Weir is paused, and whatever is sent now under its name.
        if let Some(sent) = view.read_state(sent) {
            return Ok(AcceptedInput { is_repeat: true, ..accepted_input(&name, sent) });
        }
        check_input(&saying)?;
        pause::may_run(app, space.as_ref()).await?;
        let command = gather_attachments(app, space, id, &saying).await?.command(name.clone());
        let told = SentCommand { session: id.clone(), by: saying.by.clone(), command };
        let in_run = |state: &SessionState| sent(state).filter(|sent| sent.run.is_some());
        let said = match host.tell_session(&told, &mut view, in_run).await? {
            TellOutcome::Found { found, .. } => found,
            TellOutcome::Refused(why) => return Err(refused_input(why)),
            TellOutcome::Waits(holder) => return Err(session_held(&holder)),
            TellOutcome::TakenIn | TellOutcome::InUse | TellOutcome::Restless => {
                view.read_state(sent).ok_or_else(|| session_unstable(id))?
            }
        };
        let is_repeat = saying.keeps_unsaid && was_said_otherwise(space, &told, said.seq).await?;
        Ok(AcceptedInput { is_repeat, ..accepted_input(&name, said) })
    }

    /// Answers an approval; the first answer wins, and it is what is given back.
    ///
    /// # Errors
    /// No such approval; [`ProblemDetails`] `answered` where somebody was quicker, with who and how.
    pub(crate) async fn decide_approval(
        &self,
        request: SessionRequest<'_>,
        answer: ApprovalAnswer,
        by: String,
    ) -> HandlerResult<SettledApproval> {
        let (approval, wanted) = (answer.approval.clone(), answer.decision);
        let command = PersonCommand::Decide(answer);
        let mut opened = OpenedCommand::open(request, by.clone(), command).await?;
        let asked = |state: &SessionState| state.approvals.get(&approval).cloned();
        let Some(known) = opened.view.read_state(asked) else {
            return Err(ProblemDetails::not_found(format!("approval {approval}")));
        };
        let is_late = known.resolution.is_some();
        let settled = |state: &SessionState| state.resolution(&approval).cloned();
        let found = opened.tell_until(settled).await?;
        let Some(Resolution { at, by: who, decision }) = found else {
            return Err(ProblemDetails::conflict(format!("{approval} is not open any more")));
        };
        let decision = decision.unwrap_or(wanted);
        // Two faces of one person may answer in one moment: a no that did not count is no success.
        if is_late || who != by || decision.allows() != wanted.allows() {
            let how = if decision.allows() { "approved" } else { "not approved" };
            let what = serde_json::to_value(decision).map_err(ProblemDetails::internal_failure)?;
            return Err(ProblemDetails::new(
                StatusCode::CONFLICT,
                "answered",
                format!("{approval} was answered already, {at} by {who}: {how} ({what})"),
            ));
        }
        let unkept = match decision {
            Decision::Always => keep_rules(request.space, &opened.view, &approval).await,
            _ => None,
        };
        Ok(SettledApproval { approval, decision, by, at, unkept })
    }

    /// Answers a question of the agent. One that outlived its run is answered by an input, which
    /// begins the next.
    ///
    /// # Errors
    /// No such question, or it was answered.
    pub(crate) async fn answer_question(
        &self,
        request: SessionRequest<'_>,
        question: QuestionId,
        answer: String,
        by: String,
    ) -> HandlerResult<()> {
        let command = PersonCommand::Reply { question: question.clone(), answer: answer.clone() };
        let mut opened = OpenedCommand::open(request, by.clone(), command).await?;
        let asked = |state: &SessionState| state.questions.get(&question).cloned();
        let Some(known) = opened.view.read_state(asked) else {
            return Err(ProblemDetails::not_found(format!("question {question}")));
        };
        let answered = |how: String| {
            let why = format!("{question} was answered already, {how}");
            ProblemDetails::new(StatusCode::CONFLICT, "answered", why)
        };
        if let Some(known) = known {
            return Err(answered(format!("by {}", known.by)));
        }
        if opened.view.read_state(|state| state.run.is_none()) {
            // Its name keeps two answers of one moment apart: the first is the input, and the other is told.
            let client_id = Some(format!("answer {question}"));
            let (text, who) = (answer.clone(), by.clone());
            let saying = NewInput { client_id, text, by: who, ..NewInput::default() };
            let said = self.submit_input(request, saying).await?;
            let first = input_at(request.space, request.session, said.seq).await?;
            return match first {
                Some(first) if first.by != by || plain_text(&first.content) != answer => {
                    Err(answered(format!("by {}", first.by)))
                }
                Some(_) | None => Ok(()),
            };
        }
        let settled = |state: &SessionState| state.answer(&question).cloned();
        match opened.tell_until(settled).await? {
            Some(found) if found.by == by => Ok(()),
            Some(found) => Err(answered(format!("{} by {}", found.at, found.by))),
            None => Err(ProblemDetails::conflict(format!("{question} is not open any more"))),
        }
    }

    /// Ends the run that is on. `false`: there is none.
    ///
    /// # Errors
    /// No such session, or it cannot be reached.
    pub(crate) async fn cancel_run(
        &self,
        request: SessionRequest<'_>,
        by: String,
    ) -> HandlerResult<bool> {
        let mut opened = OpenedCommand::open(request, by, PersonCommand::Cancel).await?;
        let Some(run) = opened.view.read_state(|state| state.run) else { return Ok(false) };
        let is_over = |state: &SessionState| state.run != Some(run) || state.cancelled;
        let settled = |state: &SessionState| is_over(state).then_some(());
        Ok(opened.tell_until(settled).await?.is_some())
    }

    /// Pauses the run that is on: what is under way is finished, nothing new begins (R5). Who paused it:
    /// this person, or whoever was quicker.
    ///
    /// # Errors
    /// No such session, none of its runs is on, it is a sub-agent's, or it cannot be reached.
    pub(crate) async fn pause_run(
        &self,
        request: SessionRequest<'_>,
        by: String,
    ) -> HandlerResult<String> {
        refuse_sub_agent(request.session)?;
        let no_run = || ProblemDetails::conflict("no run is on that could be paused");
        let mut opened = OpenedCommand::open(request, by, PersonCommand::Pause).await?;
        let Some(run) = opened.view.read_state(|state| state.run) else { return Err(no_run()) };
        let settled = |state: &SessionState| match state.run == Some(run) {
            true => state.paused.clone().map(Some),
            // It ended first.
            false => Some(None),
        };
        opened.tell_until(settled).await?.flatten().ok_or_else(no_run)
    }

    /// Lets the run go on that was paused. `false`: it was not paused.
    ///
    /// # Errors
    /// No such session, it is a sub-agent's, or it cannot be reached.
    pub(crate) async fn resume_run(
        &self,
        request: SessionRequest<'_>,
        by: String,
    ) -> HandlerResult<bool> {
        refuse_sub_agent(request.session)?;
        let mut opened = OpenedCommand::open(request, by, PersonCommand::Resume).await?;
        if opened.view.read_state(|state| state.paused.is_none()) {
            return Ok(false);
        }
        let settled = |state: &SessionState| state.paused.is_none().then_some(());
        Ok(opened.tell_until(settled).await?.is_some())
    }

    /// Takes back an input that waits.
    ///
    /// # Errors
    /// It was delivered already, or there is none.
    pub(crate) async fn withdraw_input(
        &self,
        request: SessionRequest<'_>,
        input: InputId,
        by: String,
    ) -> HandlerResult<()> {
        let mut opened =
            OpenedCommand::open(request, by, PersonCommand::Withdraw { input }).await?;
        let late = || ProblemDetails::conflict(format!("input {input} was delivered already"));
        if !opened.view.read_state(|state| state.queued.contains(&input)) {
            return Err(late());
        }
        let settled = |state: &SessionState| (!state.queued.contains(&input)).then_some(());
        opened.tell_until(settled).await?.ok_or_else(late)
    }

    /// Goes on with other settings: between runs, and with another permission mode at once where
    /// the run that is on is this server's.
    ///
    /// # Errors
    /// A run is on, what is wanted cannot be met, or another process keeps the session.
    pub(crate) async fn configure_session(
        &self,
        request: SessionRequest<'_>,
        preferences: SessionPreferences,
        by: String,
    ) -> HandlerResult<()> {
        if self.mode_changed(request, &preferences).await? {
            return Ok(());
        }
        for _ in 0..TAKE_UP_ATTEMPTS {
            self.free_idle_session(request, by.clone()).await?;
            match self.reopen_session(request, &preferences).await? {
                Some(SessionLocation::Here(_)) => return Ok(()),
                Some(SessionLocation::Elsewhere(holder)) => return Err(session_held(&holder)),
                // Another opened it in between, with what it had: it is at rest again, or a run is on.
                None => (),
            }
        }
        Err(session_unstable(request.session))
    }

    /// Has a chat that an earlier try of its first message began go on with what is chosen now, unless that is
    /// said: whoever took the message back and chose otherwise means the later choice. Its folder stays.
    ///
    /// # Errors
    /// As [`ServerSessions::configure_session`].
    pub(crate) async fn choose_before_input(
        &self,
        request: SessionRequest<'_>,
        preferences: SessionPreferences,
        saying: &NewInput,
    ) -> HandlerResult<()> {
        let SessionRequest { app, space, session: id } = request;
        let view = found_view(session_host(app, space).await?.view_session(id).await?, id)?;
        let name = saying.client_id.as_deref().unwrap_or_default();
        if view.read_state(|state| state.sent.find_input(name).is_some()) {
            return Ok(());
        }
        let preferences = SessionPreferences { workspace: None, ..preferences };
        self.configure_session(request, preferences, saying.by.clone()).await
    }

    /// Gets a session that is at rest out of everybody's hands.
    ///
    /// # Errors
    /// A run is on, or another process keeps it.
    pub(crate) async fn free_idle_session(
        &self,
        request: SessionRequest<'_>,
        by: String,
    ) -> HandlerResult<()> {
        let SessionRequest { app, space, session: id } = request;
        let host = session_host(app, space).await?;
        found_view(host.view_session(id).await?, id)?;
        match host.release_session(id, &by).await? {
            Released::Free => Ok(()),
            Released::InUse => Err(run_is_on()),
            Released::Kept(holder) => Err(session_held(&holder)),
        }
    }

    /// Makes the context shorter now. `words`: what the summary must keep.
    ///
    /// # Errors
    /// A run is on, there is nothing to shorten, or there are too many words.
    pub(crate) async fn condense_context(
        &self,
        request: SessionRequest<'_>,
        words: &str,
        by: String,
    ) -> HandlerResult<()> {
        let keep = KeepRequest::parse(words).map_err(ProblemDetails::bad_request)?;
        let command = PersonCommand::Condense { keep };
        OpenedCommand::open(request, by, command).await?.tell_between_runs().await
    }

    /// Takes the last condensing back.
    ///
    /// # Errors
    /// A run is on, or there is nothing to take back.
    pub(crate) async fn uncondense_context(
        &self,
        request: SessionRequest<'_>,
        by: String,
    ) -> HandlerResult<()> {
        let command = PersonCommand::Uncondense;
        OpenedCommand::open(request, by, command).await?.tell_between_runs().await
    }

    /// Notes in the journal that a person took changes of files back.
    ///
    /// # Errors
    /// The session cannot be reached; the files are changed all the same.
    pub(crate) async fn record_restore(
        &self,
        request: SessionRequest<'_>,
        fact: CheckpointRestored,
    ) -> HandlerResult<()> {
        let id = request.session;
        for _ in 0..TAKE_UP_ATTEMPTS {
            let server_session = match self.take_session(request).await? {
                SessionLocation::Here(server_session) => server_session,
                SessionLocation::Elsewhere(_) => {
                    self.free_idle_session(request, fact.by.clone()).await?;
                    continue;
                }
            };
            match server_session.handle().record_restore(fact.clone()).await {
                Err(EngineError::Stopped) => (),
                done => return Ok(done?),
            }
        }
        Err(session_unstable(id))
    }

    /// Takes back a right that an answer for the session granted.
    ///
    /// # Errors
    /// The session holds no such right.
    pub(crate) async fn revoke_lease(
        &self,
        request: SessionRequest<'_>,
        lease: u32,
        by: String,
    ) -> HandlerResult<()> {
        let id = request.session;
        let mut opened = OpenedCommand::open(request, by, PersonCommand::Revoke { lease }).await?;
        let missing = || ProblemDetails::not_found(format!("lease {lease} of session {id}"));
        if !opened.view.read_state(|state| state.leases.contains(&lease)) {
            return Err(missing());
        }
        let settled = |state: &SessionState| (!state.leases.contains(&lease)).then_some(());
        opened.tell_until(settled).await?.ok_or_else(missing)
    }

    /// A new session with the history of another, up to its last rest or to `until`.
    ///
    /// # Errors
    /// It was not at rest there.
    pub(crate) async fn fork_session(
        &self,
        request: SessionRequest<'_>,
        until: Option<Seq>,
    ) -> HandlerResult<SessionId> {
        let SessionRequest { app, space, session: source } = request;
        let fork = space.new_session();
        let (from, to) = (
            super::SessionKey::for_session(space.as_ref(), source),
            super::SessionKey::for_session(space.as_ref(), &fork),
        );
        // What bound the one binds the other.
        let own = super::bound_options::load_bound_options(app, &from).await?;
        super::bound_options::store_bound_options(app, space.as_ref(), &to, &own).await?;
        let copied = space.engine().await?.fork(source, fork.clone(), until).await;
        copied.map_err(|error| match error {
            EngineError::Session(why) => ProblemDetails::conflict(why),
            error => error.into(),
        })?;
        Ok(fork)
    }

    /// The last moment before the input at `before` at which a session was at rest.
    ///
    /// # Errors
    /// There is no such input.
    pub(crate) async fn rest_before(
        &self,
        space: &Arc<UserSpace>,
        id: &SessionId,
        before: Seq,
    ) -> HandlerResult<Seq> {
        let found = space.engine().await?.rest_before(id, before).await;
        found.map_err(|error| match error {
            EngineError::Session(why) => ProblemDetails::conflict(why),
            error => error.into(),
        })
    }
}

/// How commands find and open the sessions of one person here.
struct ServerSessionAccess<'a> {
    app: &'a App,
    space: &'a Arc<UserSpace>,
}

impl SessionAccess for ServerSessionAccess<'_> {
    type Error = ProblemDetails;

    fn find_live(&self, session: &SessionId) -> Option<Arc<LiveSession>> {
        let server_session = self.app.sessions.find_session_here(self.space.as_ref(), session)?;
        Some(server_session.live.clone())
    }

    async fn take_up(&self, session: &SessionId) -> HandlerResult<SessionPlace> {
        let request = SessionRequest::new(self.app, self.space, session);
        Ok(match self.app.sessions.take_session(request).await? {
            SessionLocation::Here(server_session) => {
                SessionPlace::Here(server_session.live.clone())
            }
            SessionLocation::Elsewhere(holder) => SessionPlace::Elsewhere(holder),
        })
    }
}

async fn session_host<'a>(
    app: &'a App,
    space: &'a Arc<UserSpace>,
) -> HandlerResult<SessionHost<ServerSessionAccess<'a>>> {
    let parts = space.host_parts().await?;
    Ok(SessionHost::new(ServerSessionAccess { app, space }, parts))
}

fn found_view(view: Option<SessionView>, id: &SessionId) -> HandlerResult<SessionView> {
    view.ok_or_else(|| ProblemDetails::not_found(format!("session {id}")))
}

/// A person's command on its way: the host that brings it, and the session in which it is seen what
/// comes of it.
struct OpenedCommand<'a> {
    host: SessionHost<ServerSessionAccess<'a>>,
    sent: SentCommand,
    view: SessionView,
}

impl<'a> OpenedCommand<'a> {
    /// # Errors
    /// No such session, or its journal cannot be read.
    async fn open(
        request: SessionRequest<'a>,
        by: String,
        command: PersonCommand,
    ) -> HandlerResult<OpenedCommand<'a>> {
        let SessionRequest { app, space, session } = request;
        let sent = SentCommand { session: session.clone(), by, command };
        let host = session_host(app, space).await?;
        let view = found_view(host.view_target(&sent).await?, session)?;
        Ok(OpenedCommand { host, sent, view })
    }

    /// Tells the session, until `settled` finds what came of it. `None`: it wants nothing of this any
    /// more.
    async fn tell_until<T: Send>(
        &mut self,
        settled: impl Fn(&SessionState) -> Option<T> + Send + Sync,
    ) -> HandlerResult<Option<T>> {
        match self.host.tell_session(&self.sent, &mut self.view, settled).await? {
            TellOutcome::Found { found, .. } => Ok(Some(found)),
            TellOutcome::TakenIn | TellOutcome::Refused(_) | TellOutcome::InUse => Ok(None),
            TellOutcome::Waits(holder) => Err(session_held(&holder)),
            TellOutcome::Restless => Err(session_unstable(&self.sent.session)),
        }
    }

    /// Tells the session what counts between runs only, and shows later in what it does.
    async fn tell_between_runs(mut self) -> HandlerResult<()> {
        match self.host.tell_session(&self.sent, &mut self.view, |_| None::<()>).await? {
            TellOutcome::Found { .. } | TellOutcome::TakenIn => Ok(()),
            TellOutcome::Refused(why) => Err(EngineError::Refused(why).into()),
            TellOutcome::InUse => Err(run_is_on()),
            TellOutcome::Waits(holder) => Err(session_held(&holder)),
            TellOutcome::Restless => Err(session_unstable(&self.sent.session)),
        }
    }
}

/// A sub-agent is paused with the session above it, and goes on with that alone.
fn refuse_sub_agent(session: &SessionId) -> HandlerResult<()> {
    match child::parent_of(session) {
        Some((parent, _)) => Err(ProblemDetails::bad_request(format!(
            "a sub-agent pauses and goes on with the session above it, {parent}"
        ))),
        None => Ok(()),
    }
}

/// What was said with the fact at `seq`.
async fn input_at(
    space: &UserSpace,
    session: &SessionId,
    seq: Seq,
) -> HandlerResult<Option<InputAccepted>> {
    let records = space.store().read_records(session, seq, 1).await?;
    let fact = records.first().map(fact_of).transpose()?;
    Ok(fact.and_then(|fact| match fact.event.as_ref() {
        Event::InputAccepted(said) => Some(said.clone()),
        _ => None,
    }))
}

/// Whether the fact at `seq` has other words or files than those that were sent now under its name: another
/// try of the message was on its way when this one came, and only one of them is said (C7).
async fn was_said_otherwise(
    space: &UserSpace,
    sent: &SentCommand,
    seq: Seq,
) -> HandlerResult<bool> {
    let PersonCommand::Say(message) = &sent.command else { return Ok(false) };
    let Some(said) = input_at(space, &sent.session, seq).await? else { return Ok(false) };
    // Hooks may have added more behind what came with it.
    Ok(said.content != message.content || !said.added.starts_with(&message.added))
}

fn check_name(name: &str) -> HandlerResult<()> {
    if name.is_empty() || name.chars().count() > CLIENT_ID_CHARS_MAX {
        let why = format!("client_id has 1 to {CLIENT_ID_CHARS_MAX} characters");
        return Err(ProblemDetails::bad_request(why));
    }
    Ok(())
}

fn check_input(saying: &NewInput) -> HandlerResult<()> {
    if saying.text.chars().count() > TEXT_CHARS_MAX {
        return Err(ProblemDetails::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("an input has at most {TEXT_CHARS_MAX} characters; attach it as a file"),
        ));
    }
    if saying.attachments.len() + saying.files.len() > ATTACHMENTS_MAX {
        return Err(ProblemDetails::bad_request(format!(
            "at most {ATTACHMENTS_MAX} files go with one input"
        )));
    }
    let empty = saying.text.trim().is_empty();
    if empty && saying.attachments.is_empty() && saying.files.is_empty() {
        return Err(ProblemDetails::bad_request("there is nothing to say: no text and no file"));
    }
    Ok(())
}

/// What is said with its files: those that were sent, and those that its words name with `@`.
async fn gather_attachments(
    app: &App,
    space: &Arc<UserSpace>,
    id: &SessionId,
    saying: &NewInput,
) -> HandlerResult<attach::PromptInput> {
    let names_files = saying.text.contains('@');
    if saying.attachments.is_empty() && saying.files.is_empty() && !names_files {
        let text = saying.text.clone();
        return Ok(attach::PromptInput { text, attachments: Vec::new() });
    }
    let engine = space.engine().await?;
    let documents = engine.parts().documents.as_ref();
    let wrong = |error: attach::AttachError| ProblemDetails::bad_request(error.to_string());
    let mut attachments: Vec<Attachment> = Vec::new();
    for name in &saying.attachments {
        let upload = uploads::get(app, space.as_ref(), name).await?;
        let found = Attachment::of_bytes(documents, &upload.name, upload.bytes).await;
        attachments.push(found.map_err(wrong)?);
    }
    for (name, bytes) in &saying.files {
        let found = Attachment::of_bytes(documents, name, bytes.clone()).await;
        attachments.push(found.map_err(wrong)?);
    }
    if names_files {
        let folder = space.store().session_meta(id).await?.map(|meta| meta.workspace);
        let workspace = space.workspace(folder.as_deref())?;
        let named = attach::gather_attachments(documents, &workspace, &[], &saying.text).await;
        attachments.extend(named.map_err(wrong)?);
    }
    Ok(attach::PromptInput { text: saying.text.clone(), attachments })
}

/// Keeps what was allowed for always in the session's project. That it cannot be kept ends nothing: the
/// answer holds for the session, and why is said in a sentence.
async fn keep_rules(
    space: &Arc<UserSpace>,
    view: &SessionView,
    approval: &ApprovalId,
) -> Option<String> {
    let asked = |state: &SessionState| {
        Some((state.config.clone()?, state.approvals.get(approval)?.rules.clone()))
    };
    let (config, rules) = view.read_state(asked)?;
    let error = space.keep_rules(&config.workspace, &rules).await.err()?;
    tracing::warn!(%approval, %error, "what was always allowed holds for the session alone");
    Some(format!(
        "It is allowed for this session alone: the rule could not be kept for the project ({error})"
    ))
}

#[cfg(test)]
mod tests {
    use weir_core::ids::CallId;

    use super::*;

    #[test]
    fn r5_a_sub_agent_is_paused_and_goes_on_with_the_session_above_it_alone() {
        let top = SessionId::new("s");
        assert!(refuse_sub_agent(&top).is_ok());
        let agent = child::child_session_id(&top, CallId(1));
        let refused = refuse_sub_agent(&agent).expect_err("it is a sub-agent's");
        assert_eq!(refused.status, 400);
        assert!(refused.detail.ends_with("the session above it, s"), "{}", refused.detail);
    }
}
