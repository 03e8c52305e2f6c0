//! Where wishes come in and what comes of them goes out. Each wish is a task of its own, so that
//! ending a run never waits for an upload; those whose order counts go one after the other: what
//! makes or changes the session, and what steers its run. Not here: what a wish asks (`wishes`).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use weir_core::ids::SessionId;
use weir_core::model::Thinking;
use weir_tui::link::{NoticeTone, SessionTarget, UiCommand, UiUpdate, WISHES_MAX};

use super::follow::{self, FollowEnd, FollowedSession, FollowedState, SharedFollowedState};
use super::http::{ApiResult, RequestError, ServerClient};
use super::opening::{self, SessionDraft, SessionOpening};
use super::pause;
use super::wishes::{CommandLane, lane_of_command, perform_command, refused_outcome};
use crate::clipboard::SystemClipboard;
use crate::local::FirstTold;

/// Looks under way at once.
const LOOKS_MAX: usize = 32;
/// How long what was wished last may take after the face went.
const FINISH_WAIT: Duration = Duration::from_secs(5);
/// How long signing out may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// This machine, and who one is on the server.
#[derive(Debug, Clone)]
pub(super) struct LocalMachine {
    /// The folder in which the program was started.
    pub(super) folder: PathBuf,
    /// The person's home.
    pub(super) home: Option<PathBuf>,
    /// Their name on the server.
    pub(super) name: String,
    /// What was copied here.
    pub(super) clipboard: SystemClipboard,
}

/// What a wish is made with.
#[derive(Clone)]
pub(super) struct RequestContext {
    /// The server.
    pub(super) http: Arc<ServerClient>,
    /// This machine.
    pub(super) here: LocalMachine,
    /// The session that is open; `None`: a new one that does not exist yet.
    pub(super) session: Option<SessionId>,
    /// What a new one is to be like.
    pub(super) draft: SessionDraft,
    /// What was seen of the session.
    pub(super) seen: SharedFollowedState,
    /// Has a look at the kill switch now.
    pub(super) look: Arc<Notify>,
    /// Which fact of a session that is opened is told first.
    pub(super) told_from: FirstTold,
}

impl RequestContext {
    /// The session; without one there is nothing to do it in.
    ///
    /// # Errors
    /// There is none yet.
    pub(super) fn require_session(&self) -> ApiResult<&SessionId> {
        self.session.as_ref().ok_or_else(|| RequestError::Refused {
            status: 404,
            code: String::new(),
            why: "nothing was said yet, so there is no session".into(),
        })
    }
}

/// What came of a wish.
#[derive(Default)]
pub(super) struct UiCommandOutcome {
    /// What is told.
    pub(super) news: Vec<UiUpdate>,
    /// What follows from it.
    pub(super) then: OutcomeFollowUp,
}

/// What follows from a wish.
#[derive(Default)]
pub(super) enum OutcomeFollowUp {
    /// Nothing.
    #[default]
    Nothing,
    /// Another session is open.
    Opened(Box<SessionOpening>),
    /// The session now exists, and this is to be done in it.
    Began(Box<SessionOpening>, Box<UiCommand>),
    /// A new one is to be like this.
    Draft(SessionDraft),
}

impl UiCommandOutcome {
    /// These news and nothing else.
    pub(super) fn from_update(news: UiUpdate) -> UiCommandOutcome {
        UiCommandOutcome { news: vec![news], then: OutcomeFollowUp::Nothing }
    }

    /// Something that was said is refused.
    fn is_refused(&self) -> bool {
        self.news.iter().any(|news| matches!(news, UiUpdate::Refused { .. }))
    }

    /// A line for the person.
    pub(super) fn from_notice(tone: NoticeTone, text: impl Into<String>) -> UiCommandOutcome {
        UiCommandOutcome::from_update(UiUpdate::Notice { tone, text: text.into() })
    }
}

/// The state of it.
pub(super) struct RemoteController {
    context: RequestContext,
    news: Sender<UiUpdate>,
    /// What makes or changes the session, in order, and the one of it that is under way.
    line: VecDeque<UiCommand>,
    turn: JoinSet<UiCommandOutcome>,
    /// Whether that one says something.
    says: bool,
    /// What was said and refused, or not done in time, after the face went.
    unsaid: usize,
    /// What steers a run, in order, each with the session that it was meant for.
    steers: VecDeque<(RequestContext, UiCommand)>,
    steer: JoinSet<UiCommandOutcome>,
    asides: JoinSet<UiCommandOutcome>,
    looks: JoinSet<UiCommandOutcome>,
    /// The look for files that is under way: another makes it worthless.
    files: Option<AbortHandle>,
    /// The part of what was said before that is being read: another session makes it worthless, and so does
    /// leaving.
    earlier: Option<AbortHandle>,
    following: JoinSet<FollowEnd>,
    /// Who watches the kill switch.
    watching: JoinSet<()>,
}

enum ControllerEvent {
    Wish(Option<UiCommand>),
    Done(Result<UiCommandOutcome, JoinError>),
    End(FollowEnd),
}

impl RemoteController {
    pub(super) fn new(
        http: Arc<ServerClient>,
        here: LocalMachine,
        told_from: FirstTold,
        news: Sender<UiUpdate>,
    ) -> RemoteController {
        let context = RequestContext {
            http,
            here,
            session: None,
            draft: SessionDraft::default(),
            seen: SharedFollowedState::default(),
            look: Arc::default(),
            told_from,
        };
        RemoteController {
            context,
            news,
            line: VecDeque::new(),
            turn: JoinSet::new(),
            says: false,
            unsaid: 0,
            steers: VecDeque::new(),
            steer: JoinSet::new(),
            asides: JoinSet::new(),
            looks: JoinSet::new(),
            files: None,
            earlier: None,
            following: JoinSet::new(),
            watching: JoinSet::new(),
        }
    }

    /// Opens a session and serves the face until it goes.
    ///
    /// # Errors
    /// It cannot be opened, the session cannot be followed any more, or what was said last did not
    /// get there: a sentence.
    pub(super) async fn serve_link(
        mut self,
        which: SessionTarget,
        thinking: Option<Thinking>,
        mut wishes: Receiver<UiCommand>,
    ) -> Result<(), String> {
        let named = self.context.http.address.session.clone();
        let which = match (which, named) {
            // The address of a chat's page names what is opened first.
            (SessionTarget::New, Some(named)) => SessionTarget::Existing(named),
            (which, _) => which,
        };
        let opening = opening::open_session(self.context.clone(), which).await;
        let opening = opening.map_err(|trouble| trouble.to_string())?;
        self.show_opened_session(opening).await;
        // As if it were chosen in the session that was opened, before anything is said there.
        if let Some(level) = thinking {
            self.accept_command(UiCommand::Thinking(level)).await;
        }
        let switch = (self.context.http.clone(), self.news.clone(), self.context.look.clone());
        self.watching.spawn(pause::watch_pause_state(switch.0, switch.1, switch.2));
        loop {
            self.start_next();
            let next = tokio::select! {
                wish = wishes.recv() => ControllerEvent::Wish(wish),
                Some(done) = self.turn.join_next() => ControllerEvent::Done(done),
                Some(done) = self.steer.join_next() => ControllerEvent::Done(done),
                Some(done) = self.asides.join_next() => ControllerEvent::Done(done),
                Some(done) = self.looks.join_next() => ControllerEvent::Done(done),
                Some(end) = self.following.join_next() =>
                    ControllerEvent::End(end.unwrap_or(FollowEnd::Broken("following it failed badly".into()))),
            };
            match next {
                ControllerEvent::Wish(None | Some(UiCommand::Leave))
                | ControllerEvent::End(FollowEnd::Left) => {
                    self.stop_reading_earlier();
                    // What is not done by then stays undone: the server may be away.
                    let _ = tokio::time::timeout(FINISH_WAIT, self.finish_pending()).await;
                    return self.unsent_messages();
                }
                ControllerEvent::Wish(Some(wish)) => self.accept_command(wish).await,
                ControllerEvent::Done(done) => self.handle_ended_task(done).await,
                ControllerEvent::End(FollowEnd::Broken(why)) => return Err(why),
                ControllerEvent::End(FollowEnd::Gone) => self.replace_removed_session().await?,
            }
        }
    }

    /// Does what was wished before the face went.
    async fn finish_pending(&mut self) {
        loop {
            self.start_next();
            let (done, says) = tokio::select! {
                Some(done) = self.turn.join_next() => (done, self.says),
                Some(done) = self.steer.join_next() => (done, false),
                Some(done) = self.asides.join_next() => (done, false),
                Some(done) = self.looks.join_next() => (done, false),
                else => return,
            };
            let is_refused = done.as_ref().is_ok_and(UiCommandOutcome::is_refused);
            self.unsaid += usize::from(says && is_refused);
            self.handle_ended_task(done).await;
        }
    }

    /// What was said and did not get there, as far as is known.
    fn unsent_messages(&self) -> Result<(), String> {
        let is_say = |wish: &&UiCommand| matches!(wish, UiCommand::Say { .. });
        let under_way = usize::from(self.says && !self.turn.is_empty());
        match self.unsaid + under_way + self.line.iter().filter(is_say).count() {
            0 => Ok(()),
            1 => Err("your last message did not reach the server, as far as is known".into()),
            many => Err(format!(
                "your last {many} messages did not reach the server, as far as is known"
            )),
        }
    }

    async fn send_update(&self, news: UiUpdate) {
        // Whether the face has gone is known by its wishes.
        let _ = self.news.send(news).await;
    }

    async fn accept_command(&mut self, wish: UiCommand) {
        match lane_of_command(&wish) {
            CommandLane::Session if self.line.len() < WISHES_MAX => self.line.push_back(wish),
            CommandLane::Run if self.steers.len() < WISHES_MAX => {
                self.steers.push_back((self.context.clone(), wish));
            }
            CommandLane::Aside if self.asides.len() < WISHES_MAX => {
                self.asides.spawn(perform_command(self.context.clone(), wish));
            }
            CommandLane::Look if self.looks.len() < LOOKS_MAX => self.start_lookup(wish),
            CommandLane::Session => {
                self.apply_outcome(refused_outcome(wish, "too much waits to be said")).await
            }
            CommandLane::Run | CommandLane::Aside | CommandLane::Look => {
                self.apply_outcome(refused_outcome(wish, "too much is under way at once")).await;
            }
        }
    }

    fn start_lookup(&mut self, wish: UiCommand) {
        let (is_files, is_earlier) = match &wish {
            UiCommand::Files { .. } => (true, false),
            UiCommand::Earlier { .. } => (false, true),
            _ => (false, false),
        };
        let handle = self.looks.spawn(perform_command(self.context.clone(), wish));
        if is_earlier {
            self.earlier = Some(handle);
        } else if is_files && let Some(before) = self.files.replace(handle) {
            before.abort();
        }
    }

    fn stop_reading_earlier(&mut self) {
        if let Some(under_way) = self.earlier.take() {
            under_way.abort();
        }
    }

    fn start_next(&mut self) {
        if self.turn.is_empty()
            && let Some(wish) = self.line.pop_front()
        {
            self.says = matches!(wish, UiCommand::Say { .. });
            self.turn.spawn(perform_command(self.context.clone(), wish));
        }
        if self.steer.is_empty()
            && let Some((context, wish)) = self.steers.pop_front()
        {
            self.steer.spawn(perform_command(context, wish));
        }
    }

    /// A task that ended; one that was stopped has nothing to tell.
    async fn handle_ended_task(&mut self, done: Result<UiCommandOutcome, JoinError>) {
        match done {
            Ok(done) => self.apply_outcome(done).await,
            Err(error) if error.is_cancelled() => (),
            Err(_) => {
                self.apply_outcome(UiCommandOutcome::from_notice(
                    NoticeTone::Bad,
                    "a wish failed badly",
                ))
                .await
            }
        }
    }

    async fn apply_outcome(&mut self, done: UiCommandOutcome) {
        let UiCommandOutcome { news, then } = done;
        for one in news {
            self.send_update(one).await;
        }
        match then {
            OutcomeFollowUp::Nothing => (),
            OutcomeFollowUp::Draft(draft) => {
                self.send_update(draft.settings_update()).await;
                self.context.draft = draft;
            }
            OutcomeFollowUp::Opened(opening) => self.show_opened_session(*opening).await,
            OutcomeFollowUp::Began(opening, wish) => {
                self.show_opened_session(*opening).await;
                self.line.push_front(*wish);
            }
        }
    }

    async fn show_opened_session(&mut self, opening: SessionOpening) {
        // Nothing of the session before comes after this.
        self.following.shutdown().await;
        self.stop_reading_earlier();
        let SessionOpening { session, known, about, named, draft, start } = opening;
        self.context.session.clone_from(&session);
        self.context.draft = draft;
        let seen = start.as_deref().map(FollowedState::begun_at).unwrap_or_default();
        self.context.seen = Arc::new(Mutex::new(seen));
        let is_new = session.is_none();
        let about = Box::new(about);
        self.send_update(UiUpdate::Opened { session: session.clone(), known, about, named }).await;
        if is_new {
            self.send_update(self.context.draft.settings_update()).await;
        }
        if let Some(start) = start {
            self.send_update(UiUpdate::Settled(start)).await;
        }
        if let Some(session) = session {
            let (http, news) = (self.context.http.clone(), self.news.clone());
            let followed = FollowedSession { http, session, news };
            self.following.spawn(follow::follow_session(followed, self.context.seen.clone()));
        }
    }

    /// The session was removed: a new one is begun in its place.
    async fn replace_removed_session(&mut self) -> Result<(), String> {
        let text = "this session was removed on the server; what you say now begins another";
        self.send_update(UiUpdate::Notice { tone: NoticeTone::Bad, text: text.into() }).await;
        let opening = opening::open_session(self.context.clone(), SessionTarget::New).await;
        self.show_opened_session(opening.map_err(|trouble| trouble.to_string())?).await;
        Ok(())
    }
}

/// Ends the sign-in: nothing of it is kept.
pub(super) async fn sign_out(http: &ServerClient) {
    // One that stays ends by itself on the server.
    let _ = tokio::time::timeout(GOODBYE, http.post_json::<Value>(&["logout"], &json!({}))).await;
}
