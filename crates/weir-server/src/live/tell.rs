//! How what somebody wants reaches a session: by its handle where it runs here, by opening it where
//! nobody has it, as a letter where another process does. Whichever it was, the answer is what stands
//! in the journal, so that the same holds at every replica and after every crash.

use std::sync::Arc;

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use weir_core::event::{CancelCause, CheckpointRestored, Decision};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, InputId, QuestionId, RunId, Seq, SessionId, Timestamp};
use weir_core::input::Command;
use weir_core::session::condense::Keep;
use weir_core::session::{Sent, child};
use weir_engine::attach::{self, Attachment};
use weir_engine::engine::EngineError;
use weir_engine::family;
use weir_engine::ports::{Letter, StoreError};
use weir_install::user_space::{SessionWish, UserSpace};

use super::fold::{self, Folded};
use super::letters::{self, Delivered, LETTER_WAIT, until};
use super::{Hold, Room, Rooms, pause, uploads};
use crate::app::App;
use crate::auth::secret;
use crate::problem::{Answer, Problem};

mod mode;

/// How often a session that goes down in the same moment is taken up again.
const ATTEMPTS_MAX: u32 = 8;
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

/// Somebody's answer to an approval.
#[derive(Debug, Clone)]
pub(crate) struct Deciding {
    /// Which approval.
    pub(crate) approval: ApprovalId,
    /// How.
    pub(crate) decision: Decision,
    /// Their words.
    pub(crate) reason: Option<String>,
    /// How far an approval for the session reaches.
    pub(crate) terms: Option<LeaseTerms>,
    /// Who.
    pub(crate) by: String,
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
        for _ in 0..ATTEMPTS_MAX {
            if let Err(paused) = pause::may_run(app, home.as_ref()).await {
                // What was taken before is answered even then.
                let folded = fold::load(home.store().as_ref(), id).await?;
                return folded.session.sent(&name).map(|sent| said(&name, sent)).ok_or(paused);
            }
            match self.take(app, home, id, None).await? {
                Hold::Here(room) => match say_here(app, &room, &name, &saying).await {
                    Err(EngineErrorOr::Engine(EngineError::Stopped)) => continue,
                    Err(EngineErrorOr::Engine(EngineError::Refused(why))) => {
                        return Err(refused(why));
                    }
                    Err(EngineErrorOr::Engine(error)) => return Err(error.into()),
                    Err(EngineErrorOr::Problem(problem)) => return Err(problem),
                    Ok(done) => return Ok(done),
                },
                Hold::Elsewhere(holder) => {
                    let letter = files(app, home, id, &saying).await?.letter(name.clone());
                    let by = saying.by.clone();
                    let is_said = |f: &Folded| f.session.sent(&name).filter(|s| s.run.is_some());
                    match letters::post(app, home, id, (letter, by), is_said).await? {
                        Delivered::Settled(sent) => return Ok(said(&name, sent)),
                        Delivered::Refused => {
                            return Err(refused(format!("{holder} did not take it")));
                        }
                        Delivered::Free => (),
                        Delivered::Late => return Err(busy(&holder)),
                    }
                }
            }
        }
        Err(restless(id))
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
        deciding: Deciding,
    ) -> Answer<Decided> {
        let approval = deciding.approval.clone();
        let mut folded = fold::load(home.store().as_ref(), id).await?;
        if !folded.requested.contains_key(&approval) {
            return Err(Problem::missing(format!("approval {approval}")));
        }
        let Deciding { decision, reason, terms, by, .. } = deciding;
        let letter = Letter::Decide { approval: approval.clone(), decision, reason, terms };
        let settled = |f: &Folded| f.resolved.get(&approval).cloned();
        let before = settled(&folded);
        let is_late = before.is_some();
        let found = match before {
            Some(found) => Some(found),
            None => self.tell(app, home, (&mut folded, letter, by.clone()), settled).await?,
        };
        let Some((at, f)) = found else {
            return Err(Problem::conflict(format!("{approval} is not open any more")));
        };
        if is_late || f.by != by {
            let how = if f.decision.allows() { "approved" } else { "not approved" };
            let (who, what) = (&f.by, f.decision);
            let what = serde_json::to_value(what).map_err(Problem::failed)?;
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "answered",
                format!("{approval} was answered already, {at} by {who}: {how} ({what})"),
            ));
        }
        let unkept = match f.decision {
            Decision::Always => keep_rules(home, &folded, &approval).await,
            _ => None,
        };
        Ok(Decided { approval: f.approval, decision: f.decision, by: f.by, at, unkept })
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
        let mut folded = fold::load(home.store().as_ref(), id).await?;
        if !folded.asked.contains_key(&question) {
            return Err(Problem::missing(format!("question {question}")));
        }
        let open = folded.open_question().is_some_and(|(_, asked)| asked.question == question);
        if !open {
            let by = folded.answered.get(&question).map_or("nobody", |(_, f)| f.by.as_str());
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "answered",
                format!("{question} was answered already, by {by}"),
            ));
        }
        if folded.session.run().is_none() {
            // Its name keeps two answers of one moment apart: the first is the input.
            let client_id = Some(format!("answer {question}"));
            let saying = Saying { client_id, text: answer, by, ..Saying::default() };
            self.say(app, home, id, saying).await?;
            return Ok(());
        }
        let letter = Letter::Reply { question: question.clone(), answer };
        let settled = |f: &Folded| f.answered.get(&question).cloned();
        match self.tell(app, home, (&mut folded, letter, by.clone()), settled).await? {
            Some((_, f)) if f.by == by => Ok(()),
            Some((at, f)) => Err(Problem::new(
                StatusCode::CONFLICT,
                "answered",
                format!("{question} was answered already, {at} by {}", f.by),
            )),
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
        let mut folded = fold::load(home.store().as_ref(), id).await?;
        let Some(run) = folded.session.run() else { return Ok(false) };
        let settled = |f: &Folded| (f.session.run() != Some(run) || f.cancelled).then_some(());
        let told = self.tell(app, home, (&mut folded, Letter::Cancel, by), settled).await?;
        Ok(told.is_some())
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
        let mut folded = fold::load(home.store().as_ref(), id).await?;
        let waits = |f: &Folded| f.session.queued().iter().any(|queued| queued.input == input);
        let settled = |f: &Folded| (!waits(f)).then_some(());
        let late = || Problem::conflict(format!("input {input} was delivered already"));
        if !waits(&folded) {
            return Err(late());
        }
        let letter = Letter::Withdraw { input };
        self.tell(app, home, (&mut folded, letter, by), settled).await?.ok_or_else(late)
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
        let folded = fold::load(home.store().as_ref(), id).await?;
        let in_use = || Problem::conflict("a run is on: this changes only between runs");
        if folded.session.run().is_some() {
            return Err(in_use());
        }
        if let Some(room) = self.here(home.as_ref(), id) {
            room.handle.rest().await;
            let ended = tokio::time::timeout(LETTER_WAIT, room.handle.ended()).await;
            return ended.map(drop).map_err(|_| in_use());
        }
        let store = home.store();
        let engine = home.engine().await?;
        let never = |_: &Folded| None::<()>;
        match store.acquire(id, &engine.parts().owner).await {
            Ok(lease) => Ok(store.release(&lease).await?),
            Err(StoreError::Held { holder, .. }) => {
                match letters::post(app, home, id, (Letter::Yield, by), never).await? {
                    Delivered::Free | Delivered::Settled(()) => Ok(()),
                    Delivered::Refused | Delivered::Late => Err(busy(&holder)),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A command of a session at rest that is no letter: condensing, and what was taken back.
    async fn command(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        (command, by): (impl Fn() -> Command, String),
    ) -> Answer<()> {
        for _ in 0..ATTEMPTS_MAX {
            let room = match self.take(app, home, id, None).await? {
                Hold::Here(room) => room,
                Hold::Elsewhere(_) => {
                    self.freed(app, home, id, by.clone()).await?;
                    continue;
                }
            };
            match room.handle.command(command()).await {
                Err(EngineError::Stopped) => (),
                done => return Ok(done?),
            }
        }
        Err(restless(id))
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
        self.command(app, home, id, (move || Command::Condense { keep: keep.clone() }, by)).await
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
        let who = by.clone();
        self.command(app, home, id, (move || Command::Uncondense { by: who.clone() }, by)).await
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
        let by = fact.by.clone();
        self.command(app, home, id, (move || Command::Restored(fact.clone()), by)).await
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
        let has = |f: &Folded| f.session.leases().iter().any(|grant| grant.lease == lease);
        let missing = || Problem::missing(format!("lease {lease} of session {id}"));
        let mut folded = fold::load(home.store().as_ref(), id).await?;
        if !has(&folded) {
            return Err(missing());
        }
        let settled = |f: &Folded| (!has(f)).then_some(());
        let told =
            self.tell(app, home, (&mut folded, Letter::Revoke { lease }, by), settled).await?;
        told.ok_or_else(missing)
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

    /// Tells a session something, until `settled` finds in its journal what came of it. `None`: it
    /// wants nothing of this any more. `folded`: the session as its journal was a moment ago; it is
    /// caught up, never read from the start again.
    async fn tell<T>(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        (folded, letter, by): (&mut Folded, Letter, String),
        settled: impl Fn(&Folded) -> Option<T>,
    ) -> Answer<Option<T>> {
        let store = home.store();
        let id = &folded.session.id().clone();
        for _ in 0..ATTEMPTS_MAX {
            if let Some(found) = settled(folded) {
                return Ok(Some(found));
            }
            let top = family::root(id);
            let hold = match (self.take(app, home, &top, None).await?, top == *id) {
                // A sub-agent runs with the session above it and reads its own letters.
                (Hold::Here(room), false) => Hold::Elsewhere(format!("session {}", room.id())),
                (hold, _) => hold,
            };
            match hold {
                Hold::Here(room) => {
                    let done = room.handle.command(command(letter.clone(), by.clone())).await;
                    match done {
                        Err(EngineError::Stopped) => (),
                        Ok(()) | Err(EngineError::Refused(_)) => {
                            return until(folded, store.as_ref(), &settled).await;
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Hold::Elsewhere(holder) => {
                    let asked = (letter.clone(), by.clone());
                    match letters::post(app, home, id, asked, &settled).await? {
                        Delivered::Settled(found) => return Ok(Some(found)),
                        Delivered::Refused => {
                            folded.catch_up(store.as_ref()).await?;
                            return Ok(settled(folded));
                        }
                        Delivered::Free => (),
                        Delivered::Late => return Err(busy(&holder)),
                    }
                }
            }
            folded.catch_up(store.as_ref()).await?;
        }
        Err(restless(id))
    }
}

fn command(letter: Letter, by: String) -> Command {
    match letter {
        Letter::Decide { approval, decision, reason, terms } => {
            Command::Decide { approval, decision, by, reason, terms }
        }
        Letter::Reply { question, answer } => Command::Reply { question, answer, by },
        Letter::Revoke { lease } => Command::Revoke { lease, by },
        Letter::Cancel => Command::Cancel { cause: CancelCause::Cancelled, by },
        Letter::Withdraw { input } => Command::Withdraw { input },
        Letter::Say(_) | Letter::Yield => {
            unreachable!(
                "what is said goes through `say`, and a session here is asked by its handle"
            )
        }
    }
}

enum EngineErrorOr {
    Engine(EngineError),
    Problem(Problem),
}

async fn say_here(
    app: &App,
    room: &Arc<Room>,
    name: &str,
    saying: &Saying,
) -> Result<Said, EngineErrorOr> {
    if let Some(sent) = room.sent(name) {
        return Ok(said(name, sent));
    }
    let files = files(app, &room.home, room.id(), saying).await;
    let files = files.map_err(EngineErrorOr::Problem)?;
    let done = room.handle.say_as(files, &saying.by, Some(name.to_owned())).await;
    match done {
        Ok(()) => match room.settled(name).await {
            Some(sent) => Ok(said(name, sent)),
            None => Err(EngineErrorOr::Engine(EngineError::Stopped)),
        },
        Err(error) => Err(EngineErrorOr::Engine(error)),
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
    folded: &Folded,
    approval: &ApprovalId,
) -> Option<String> {
    let (_, asked) = folded.requested.get(approval)?;
    let config = folded.session.config()?;
    let error = home.keep_rules(&config.workspace, &asked.rules).await.err()?;
    tracing::warn!(%approval, %error, "what was always allowed holds for the session alone");
    Some(format!(
        "It is allowed for this session alone: the rule could not be kept for the project ({error})"
    ))
}
