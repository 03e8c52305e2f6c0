//! What people of this server tell their sessions, and what they are answered. How it reaches a
//! session, here, at another replica or in another process, is the engine's host's to know.
//! Whichever it was, the answer is what the session's facts say, so that the same holds at every
//! replica and after every crash.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use weir_core::event::{CheckpointRestored, Decision};
use weir_core::ids::{ApprovalId, InputId, QuestionId, RunId, Seq, SessionId, Timestamp};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::session::condense::Keep;
use weir_core::session::{Sent, child};
use weir_engine::attach::{self, Attachment};
use weir_engine::engine::EngineError;
use weir_engine::host::{
    HostParts, LiveSession, Released, Resolution, SentCommand, SessionAccess, SessionHost,
    SessionPlace, SessionState, SessionView, TAKE_UP_ATTEMPTS, TellOutcome,
};
use weir_install::user_space::{SessionWish, UserSpace};

use super::{Hold, Rooms, pause, uploads};
use crate::app::App;
use crate::auth::secret;
use crate::problem::{Answer, Problem};

mod mode;

/// Longest name of an input, in characters.
const CLIENT_ID_CHARS_MAX: usize = 128;
/// Longest text of an input, in characters.
pub(crate) const TEXT_CHARS_MAX: usize = 1 << 20;
/// Most files that go with one input.
const ATTACHMENTS_MAX: usize = 50;

/// Something to be said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Saying {
    /// Its name: said once however often it is sent. `None`: it gets one.
    pub(crate) client_id: Option<String>,
    /// The words.
    pub(crate) text: String,
    /// Uploaded files, by their names (`uploads`).
    pub(crate) attachments: Vec<String>,
    /// Files that are there already as bytes: name and content.
    pub(crate) files: Vec<(String, Arc<[u8]>)>,
    /// Who says it, as journals name them.
    pub(crate) by: String,
}

/// An input that stands in the journal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Said {
    /// Its number.
    pub(crate) input: InputId,
    /// The run that it belongs to; `null`: none began yet.
    pub(crate) run: Option<RunId>,
    /// The fact that accepted it.
    pub(crate) seq: Seq,
    /// Its name.
    pub(crate) client_id: String,
}

/// An approval that is settled.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Decided {
    /// Which.
    pub(crate) approval: ApprovalId,
    /// The decision that counts.
    pub(crate) decision: Decision,
    /// Whose it was.
    pub(crate) by: String,
    /// When.
    pub(crate) at: Timestamp,
    /// Why the rules of an `always` could not be kept for the project, so that they hold for this
    /// session alone; absent: they were kept, or there was nothing to keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unkept: Option<String>,
}

fn said(client_id: &str, sent: Sent) -> Said {
    let Sent { input, run, seq } = sent;
    Said { input, run, seq, client_id: client_id.into() }
}

/// A hook, or a command that cannot be used, refused an input.
fn refused(why: impl Into<String>) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", why)
}

fn busy(holder: &str) -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "held",
        format!("{holder} has the session and has not acted on this yet; it waits there"),
    )
}

fn run_is_on() -> Problem {
    Problem::conflict("a run is on: this changes only between runs")
}

/// A moment in which the session changed hands again and again.
fn restless(id: &SessionId) -> Problem {
    Problem::failed(format!("session {id} went down each time that it was taken up"))
}

impl Rooms {
    /// Says something. Durable when it returns; the same name a second time says nothing and gives
    /// the first answer.
    ///
    /// # Errors
    /// No such session, paused, refused by a hook, or it cannot be opened.
    pub(crate) async fn say(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        saying: Saying,
    ) -> Answer<Said> {
        let name = match &saying.client_id {
            Some(name) => name.clone(),
            None => secret::name()?,
        };
        checked(&name, &saying)?;
        if child::parent_of(id).is_some() {
            return Err(Problem::bad("a sub-agent takes no input; say it in the session above it"));
        }
        let host = session_host(app, home).await?;
        let mut view = found_view(host.view_session(id).await?, id)?;
        let sent = |state: &SessionState| state.sent.get(&name).copied();
        // What was taken before is answered, even while Weir is paused.
        if let Some(sent) = view.read_state(sent) {
            return Ok(said(&name, sent));
        }
        pause::may_run(app, home.as_ref()).await?;
        let command = files(app, home, id, &saying).await?.command(name.clone());
        let told = SentCommand { session: id.clone(), by: saying.by.clone(), command };
        let in_run = |state: &SessionState| sent(state).filter(|sent| sent.run.is_some());
        match host.tell_session(&told, &mut view, in_run).await? {
            TellOutcome::Found { found, .. } => Ok(said(&name, found)),
            TellOutcome::Refused(why) => Err(refused(why)),
            TellOutcome::Waits(holder) => Err(busy(&holder)),
            TellOutcome::TakenIn | TellOutcome::InUse | TellOutcome::Restless => {
                let sent = view.read_state(sent).ok_or_else(|| restless(id))?;
                Ok(said(&name, sent))
            }
        }
    }

    /// Answers an approval; the first answer wins, and it is what is given back.
    ///
    /// # Errors
    /// No such approval; [`Problem`] `answered` where somebody was quicker, with who and how.
    pub(crate) async fn decide(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (answer, by): (ApprovalAnswer, String),
    ) -> Answer<Decided> {
        let (approval, wanted) = (answer.approval.clone(), answer.decision);
        let told = PersonCommand::Decide(answer);
        let told = SentCommand { session: id.clone(), by: by.clone(), command: told };
        let host = session_host(app, home).await?;
        let mut view = found_view(host.view_target(&told).await?, id)?;
        let asked = |state: &SessionState| state.approvals.get(&approval).cloned();
        let Some(known) = view.read_state(asked) else {
            return Err(Problem::missing(format!("approval {approval}")));
        };
        let is_late = known.resolution.is_some();
        let settled = |state: &SessionState| state.resolution(&approval).cloned();
        let found = tell_session(&host, &told, &mut view, settled).await?;
        let Some(Resolution { at, by: who, decision }) = found else {
            return Err(Problem::conflict(format!("{approval} is not open any more")));
        };
        let decision = decision.unwrap_or(wanted);
        if is_late || who != by {
            let how = if decision.allows() { "approved" } else { "not approved" };
            let what = serde_json::to_value(decision).map_err(Problem::failed)?;
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "answered",
                format!("{approval} was answered already, {at} by {who}: {how} ({what})"),
            ));
        }
        let unkept = match decision {
            Decision::Always => keep_rules(home, &view, &approval).await,
            _ => None,
        };
        Ok(Decided { approval, decision, by, at, unkept })
    }

    /// Answers a question of the agent. One that outlived its run is answered by an input, which
    /// begins the next.
    ///
    /// # Errors
    /// No such question, or it was answered.
    pub(crate) async fn answer(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (question, answer, by): (QuestionId, String, String),
    ) -> Answer<()> {
        let command = PersonCommand::Reply { question: question.clone(), answer: answer.clone() };
        let told = SentCommand { session: id.clone(), by: by.clone(), command };
        let host = session_host(app, home).await?;
        let mut view = found_view(host.view_target(&told).await?, id)?;
        let asked = |state: &SessionState| state.questions.get(&question).cloned();
        let Some(known) = view.read_state(asked) else {
            return Err(Problem::missing(format!("question {question}")));
        };
        let answered = |how: String| {
            let why = format!("{question} was answered already, {how}");
            Problem::new(StatusCode::CONFLICT, "answered", why)
        };
        if let Some(known) = known {
            return Err(answered(format!("by {}", known.by)));
        }
        if view.read_state(|state| state.run.is_none()) {
            // Its name keeps two answers of one moment apart: the first is the input.
            let client_id = Some(format!("answer {question}"));
            let saying = Saying { client_id, text: answer, by, ..Saying::default() };
            self.say(app, home, id, saying).await?;
            return Ok(());
        }
        let settled = |state: &SessionState| state.answer(&question).cloned();
        match tell_session(&host, &told, &mut view, settled).await? {
            Some(found) if found.by == by => Ok(()),
            Some(found) => Err(answered(format!("{} by {}", found.at, found.by))),
            None => Err(Problem::conflict(format!("{question} is not open any more"))),
        }
    }

    /// Ends the run that is on. `false`: there is none.
    ///
    /// # Errors
    /// No such session, or it cannot be reached.
    pub(crate) async fn cancel(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        by: String,
    ) -> Answer<bool> {
        let told = SentCommand { session: id.clone(), by, command: PersonCommand::Cancel };
        let host = session_host(app, home).await?;
        let mut view = found_view(host.view_target(&told).await?, id)?;
        let Some(run) = view.read_state(|state| state.run) else { return Ok(false) };
        let is_over = |state: &SessionState| state.run != Some(run) || state.cancelled;
        let settled = |state: &SessionState| is_over(state).then_some(());
        Ok(tell_session(&host, &told, &mut view, settled).await?.is_some())
    }

    /// Takes back an input that waits.
    ///
    /// # Errors
    /// It was delivered already, or there is none.
    pub(crate) async fn withdraw(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (input, by): (InputId, String),
    ) -> Answer<()> {
        let command = PersonCommand::Withdraw { input };
        let told = SentCommand { session: id.clone(), by, command };
        let host = session_host(app, home).await?;
        let mut view = found_view(host.view_target(&told).await?, id)?;
        let late = || Problem::conflict(format!("input {input} was delivered already"));
        if !view.read_state(|state| state.queued.contains(&input)) {
            return Err(late());
        }
        let settled = |state: &SessionState| (!state.queued.contains(&input)).then_some(());
        tell_session(&host, &told, &mut view, settled).await?.ok_or_else(late)
    }

    /// Goes on with other settings: between runs, and with another permission mode at once where
    /// the run that is on is this server's.
    ///
    /// # Errors
    /// A run is on, the wish cannot be met, or another process keeps the session.
    pub(crate) async fn configure(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (wish, by): (SessionWish, String),
    ) -> Answer<()> {
        if self.mode_changed(app, home, (id, &wish)).await? {
            return Ok(());
        }
        self.freed(app, home, id, by).await?;
        match self.take(app, home, id, Some(&wish)).await? {
            Hold::Here(_) => Ok(()),
            Hold::Elsewhere(holder) => Err(busy(&holder)),
        }
    }

    /// Gets a session that is at rest out of everybody's hands.
    ///
    /// # Errors
    /// A run is on, or another process keeps it.
    pub(crate) async fn freed(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        by: String,
    ) -> Answer<()> {
        let host = session_host(app, home).await?;
        found_view(host.view_session(id).await?, id)?;
        match host.release_session(id, &by).await? {
            Released::Free => Ok(()),
            Released::InUse => Err(run_is_on()),
            Released::Kept(holder) => Err(busy(&holder)),
        }
    }

    /// Makes the context shorter now. `words`: what the summary must keep.
    ///
    /// # Errors
    /// A run is on, there is nothing to shorten, or there are too many words.
    pub(crate) async fn condense(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (words, by): (&str, String),
    ) -> Answer<()> {
        let keep = Keep::parse(words).map_err(Problem::bad)?;
        let command = PersonCommand::Condense { keep };
        tell_between_runs(app, home, SentCommand { session: id.clone(), by, command }).await
    }

    /// Takes the last condensing back.
    ///
    /// # Errors
    /// A run is on, or there is nothing to take back.
    pub(crate) async fn uncondense(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        by: String,
    ) -> Answer<()> {
        let command = PersonCommand::Uncondense;
        tell_between_runs(app, home, SentCommand { session: id.clone(), by, command }).await
    }

    /// Notes in the journal that a person took changes of files back.
    ///
    /// # Errors
    /// The session cannot be reached; the files are changed all the same.
    pub(crate) async fn restored(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        fact: CheckpointRestored,
    ) -> Answer<()> {
        for _ in 0..TAKE_UP_ATTEMPTS {
            let room = match self.take(app, home, id, None).await? {
                Hold::Here(room) => room,
                Hold::Elsewhere(_) => {
                    self.freed(app, home, id, fact.by.clone()).await?;
                    continue;
                }
            };
            match room.handle().restored(fact.clone()).await {
                Err(EngineError::Stopped) => (),
                done => return Ok(done?),
            }
        }
        Err(restless(id))
    }

    /// Takes back a right that an answer for the session granted.
    ///
    /// # Errors
    /// The session holds no such right.
    pub(crate) async fn revoke(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (lease, by): (u32, String),
    ) -> Answer<()> {
        let command = PersonCommand::Revoke { lease };
        let told = SentCommand { session: id.clone(), by, command };
        let host = session_host(app, home).await?;
        let mut view = found_view(host.view_target(&told).await?, id)?;
        let missing = || Problem::missing(format!("lease {lease} of session {id}"));
        if !view.read_state(|state| state.leases.contains(&lease)) {
            return Err(missing());
        }
        let settled = |state: &SessionState| (!state.leases.contains(&lease)).then_some(());
        tell_session(&host, &told, &mut view, settled).await?.ok_or_else(missing)
    }

    /// A new session with the history of another, up to its last rest or to `until`.
    ///
    /// # Errors
    /// It was not at rest there.
    pub(crate) async fn fork(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        (source, until): (&SessionId, Option<Seq>),
    ) -> Answer<SessionId> {
        let fork = home.new_session();
        let (from, to) =
            (super::Key::of(home.as_ref(), source), super::Key::of(home.as_ref(), &fork));
        // What bound the one binds the other.
        let own = super::wishes::kept(app, &from).await?;
        super::wishes::keep(app, home.as_ref(), &to, &own).await?;
        let copied = home.engine().await?.fork(source, fork.clone(), until).await;
        copied.map_err(|error| match error {
            EngineError::Session(why) => Problem::conflict(why),
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
        home: &Arc<UserSpace>,
        id: &SessionId,
        before: Seq,
    ) -> Answer<Seq> {
        let found = home.engine().await?.rest_before(id, before).await;
        found.map_err(|error| match error {
            EngineError::Session(why) => Problem::conflict(why),
            error => error.into(),
        })
    }
}

/// How commands find and open the sessions of one person here.
struct RoomAccess<'a> {
    app: &'a App,
    home: &'a Arc<UserSpace>,
}

impl SessionAccess for RoomAccess<'_> {
    type Error = Problem;

    fn find_live(&self, session: &SessionId) -> Option<Arc<LiveSession>> {
        let room = self.app.rooms.here(self.home.as_ref(), session)?;
        Some(room.live.clone())
    }

    async fn take_up(&self, session: &SessionId) -> Answer<SessionPlace> {
        Ok(match self.app.rooms.take(self.app, self.home, session, None).await? {
            Hold::Here(room) => SessionPlace::Here(room.live.clone()),
            Hold::Elsewhere(holder) => SessionPlace::Elsewhere(holder),
        })
    }
}

async fn session_host<'a>(
    app: &'a App,
    home: &'a Arc<UserSpace>,
) -> Answer<SessionHost<RoomAccess<'a>>> {
    let parts = HostParts::of_engine(home.engine().await?.parts());
    Ok(SessionHost::new(RoomAccess { app, home }, parts))
}

fn found_view(view: Option<SessionView>, id: &SessionId) -> Answer<SessionView> {
    view.ok_or_else(|| Problem::missing(format!("session {id}")))
}

/// Tells a session something, until `settled` finds what came of it. `None`: it wants nothing of this
/// any more.
async fn tell_session<T: Send>(
    host: &SessionHost<RoomAccess<'_>>,
    told: &SentCommand,
    view: &mut SessionView,
    settled: impl Fn(&SessionState) -> Option<T> + Send + Sync,
) -> Answer<Option<T>> {
    match host.tell_session(told, view, settled).await? {
        TellOutcome::Found { found, .. } => Ok(Some(found)),
        TellOutcome::TakenIn | TellOutcome::Refused(_) | TellOutcome::InUse => Ok(None),
        TellOutcome::Waits(holder) => Err(busy(&holder)),
        TellOutcome::Restless => Err(restless(&told.session)),
    }
}

/// Tells a session something that counts between runs only, and shows later in what it does.
async fn tell_between_runs(app: &App, home: &Arc<UserSpace>, told: SentCommand) -> Answer<()> {
    let host = session_host(app, home).await?;
    let mut view = found_view(host.view_session(&told.session).await?, &told.session)?;
    match host.tell_session(&told, &mut view, |_| None::<()>).await? {
        TellOutcome::Found { .. } | TellOutcome::TakenIn => Ok(()),
        TellOutcome::Refused(why) => Err(EngineError::Refused(why).into()),
        TellOutcome::InUse => Err(run_is_on()),
        TellOutcome::Waits(holder) => Err(busy(&holder)),
        TellOutcome::Restless => Err(restless(&told.session)),
    }
}

fn checked(name: &str, saying: &Saying) -> Answer<()> {
    if name.is_empty() || name.chars().count() > CLIENT_ID_CHARS_MAX {
        let why = format!("client_id has 1 to {CLIENT_ID_CHARS_MAX} characters");
        return Err(Problem::bad(why));
    }
    if saying.text.chars().count() > TEXT_CHARS_MAX {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("an input has at most {TEXT_CHARS_MAX} characters; attach it as a file"),
        ));
    }
    if saying.attachments.len() + saying.files.len() > ATTACHMENTS_MAX {
        return Err(Problem::bad(format!("at most {ATTACHMENTS_MAX} files go with one input")));
    }
    let empty = saying.text.trim().is_empty();
    if empty && saying.attachments.is_empty() && saying.files.is_empty() {
        return Err(Problem::bad("there is nothing to say: no text and no file"));
    }
    Ok(())
}

/// What is said with its files: those that were sent, and those that its words name with `@`.
async fn files(
    app: &App,
    home: &Arc<UserSpace>,
    id: &SessionId,
    saying: &Saying,
) -> Answer<attach::Saying> {
    let engine = home.engine().await?;
    let documents = engine.parts().documents.as_ref();
    let wrong = |error: attach::AttachError| Problem::bad(error.to_string());
    let mut attachments: Vec<Attachment> = Vec::new();
    for name in &saying.attachments {
        let upload = uploads::get(app, home.as_ref(), name).await?;
        let found = Attachment::of_bytes(documents, &upload.name, upload.bytes).await;
        attachments.push(found.map_err(wrong)?);
    }
    for (name, bytes) in &saying.files {
        let found = Attachment::of_bytes(documents, name, bytes.clone()).await;
        attachments.push(found.map_err(wrong)?);
    }
    if saying.text.contains('@') {
        let folder = home.store().meta(id).await?.map(|meta| meta.workspace);
        let workspace = home.workspace(folder.as_deref())?;
        let named = attach::gather(documents, &workspace, &[], &saying.text).await;
        attachments.extend(named.map_err(wrong)?);
    }
    Ok(attach::Saying { text: saying.text.clone(), attachments })
}

/// Keeps what was allowed for always in the session's project. That it cannot be kept ends nothing: the
/// answer holds for the session, and why is said in a sentence.
async fn keep_rules(
    home: &Arc<UserSpace>,
    view: &SessionView,
    approval: &ApprovalId,
) -> Option<String> {
    let asked = |state: &SessionState| {
        Some((state.config.clone()?, state.approvals.get(approval)?.rules.clone()))
    };
    let (config, rules) = view.read_state(asked)?;
    let error = home.keep_rules(&config.workspace, &rules).await.err()?;
    tracing::warn!(%approval, %error, "what was always allowed holds for the session alone");
    Some(format!(
        "It is allowed for this session alone: the rule could not be kept for the project ({error})"
    ))
}
