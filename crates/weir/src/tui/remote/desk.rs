//! Where wishes come in and what comes of them goes out. Each wish is a task of its own, so that
//! ending a run never waits for an upload; those whose order counts go one after the other: what
//! makes or changes the session, and what steers its run. Not here: what a wish asks (`wishes`).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use weir_core::ids::SessionId;
use weir_core::model::Thinking;
use weir_tui::link::{News, Tone, WISHES_MAX, Which, Wish};

use super::super::clipboard::Clipboard;
use super::follow::{self, End, Shared};
use super::http::{Answer, Http, Trouble};
use super::opening::{self, Draft, Opening};
use super::pause;
use super::wishes::{Lane, done, lane, refused};

/// Looks under way at once.
const LOOKS_MAX: usize = 32;
/// How long what was wished last may take after the face went.
const FINISH_WAIT: Duration = Duration::from_secs(5);
/// How long signing out may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// This machine, and who one is on the server.
#[derive(Debug, Clone)]
pub(super) struct Here {
    /// The folder in which the program was started.
    pub(super) folder: PathBuf,
    /// The person's home.
    pub(super) home: Option<PathBuf>,
    /// Their name on the server.
    pub(super) name: String,
    /// What was copied here.
    pub(super) clipboard: Clipboard,
}

/// What a wish is made with.
#[derive(Clone)]
pub(super) struct Ground {
    /// The server.
    pub(super) http: Arc<Http>,
    /// This machine.
    pub(super) here: Here,
    /// The session that is open; `None`: a new one that does not exist yet.
    pub(super) session: Option<SessionId>,
    /// What a new one is to be like.
    pub(super) draft: Draft,
    /// What was seen of the session.
    pub(super) seen: Shared,
    /// Has a look at the kill switch now.
    pub(super) look: Arc<Notify>,
}

impl Ground {
    /// The session; without one there is nothing to do it in.
    ///
    /// # Errors
    /// There is none yet.
    pub(super) fn session(&self) -> Answer<&SessionId> {
        self.session.as_ref().ok_or_else(|| Trouble::Refused {
            status: 404,
            code: String::new(),
            why: "nothing was said yet, so there is no session".into(),
        })
    }
}

/// What came of a wish.
#[derive(Default)]
pub(super) struct Done {
    /// What is told.
    pub(super) news: Vec<News>,
    /// What follows from it.
    pub(super) then: Then,
}

/// What follows from a wish.
#[derive(Default)]
pub(super) enum Then {
    /// Nothing.
    #[default]
    Nothing,
    /// Another session is open.
    Opened(Box<Opening>),
    /// The session now exists, and this is to be done in it.
    Began(Box<Opening>, Box<Wish>),
    /// A new one is to be like this.
    Draft(Draft),
}

impl Done {
    /// These news and nothing else.
    pub(super) fn news(news: News) -> Done {
        Done { news: vec![news], then: Then::Nothing }
    }

    /// Something that was said is refused.
    fn is_refused(&self) -> bool {
        self.news.iter().any(|news| matches!(news, News::Refused { .. }))
    }

    /// A line for the person.
    pub(super) fn notice(tone: Tone, text: impl Into<String>) -> Done {
        Done::news(News::Notice { tone, text: text.into() })
    }
}

/// The state of it.
pub(super) struct Desk {
    ground: Ground,
    news: Sender<News>,
    /// What makes or changes the session, in order, and the one of it that is under way.
    line: VecDeque<Wish>,
    turn: JoinSet<Done>,
    /// Whether that one says something.
    says: bool,
    /// What was said and refused, or not done in time, after the face went.
    unsaid: usize,
    /// What steers a run, in order, each with the session that it was meant for.
    steers: VecDeque<(Ground, Wish)>,
    steer: JoinSet<Done>,
    asides: JoinSet<Done>,
    looks: JoinSet<Done>,
    /// The look for files that is under way: another makes it worthless.
    files: Option<AbortHandle>,
    following: JoinSet<End>,
    /// Who watches the kill switch.
    watching: JoinSet<()>,
}

enum Next {
    Wish(Option<Wish>),
    Done(Result<Done, JoinError>),
    End(End),
}

impl Desk {
    pub(super) fn new(http: Arc<Http>, here: Here, news: Sender<News>) -> Desk {
        let ground = Ground {
            http,
            here,
            session: None,
            draft: Draft::default(),
            seen: Shared::default(),
            look: Arc::default(),
        };
        Desk {
            ground,
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
            following: JoinSet::new(),
            watching: JoinSet::new(),
        }
    }

    /// Opens a session and serves the face until it goes.
    ///
    /// # Errors
    /// It cannot be opened, the session cannot be followed any more, or what was said last did not
    /// get there: a sentence.
    pub(super) async fn serve(
        mut self,
        (which, thinking): (Which, Option<Thinking>),
        mut wishes: Receiver<Wish>,
    ) -> Result<(), String> {
        let named = self.ground.http.place.session.clone();
        let which = match (which, named) {
            // The address of a chat's page names what is opened first.
            (Which::New, Some(named)) => Which::Existing(named),
            (which, _) => which,
        };
        let opening = opening::open(self.ground.clone(), which).await;
        let opening = opening.map_err(|trouble| trouble.to_string())?;
        self.opened(opening).await;
        // As if it were chosen in the session that was opened, before anything is said there.
        if let Some(level) = thinking {
            self.take(Wish::Thinking(level)).await;
        }
        let switch = (self.ground.http.clone(), self.news.clone(), self.ground.look.clone());
        self.watching.spawn(pause::watch(switch.0, switch.1, switch.2));
        loop {
            self.start_next();
            let next = tokio::select! {
                wish = wishes.recv() => Next::Wish(wish),
                Some(done) = self.turn.join_next() => Next::Done(done),
                Some(done) = self.steer.join_next() => Next::Done(done),
                Some(done) = self.asides.join_next() => Next::Done(done),
                Some(done) = self.looks.join_next() => Next::Done(done),
                Some(end) = self.following.join_next() =>
                    Next::End(end.unwrap_or(End::Broken("following it failed badly".into()))),
            };
            match next {
                Next::Wish(None | Some(Wish::Leave)) | Next::End(End::Left) => {
                    // What is not done by then stays undone: the server may be away.
                    let _ = tokio::time::timeout(FINISH_WAIT, self.finish()).await;
                    return self.unsaid();
                }
                Next::Wish(Some(wish)) => self.take(wish).await,
                Next::Done(done) => self.joined(done).await,
                Next::End(End::Broken(why)) => return Err(why),
                Next::End(End::Gone) => self.gone().await?,
            }
        }
    }

    /// Does what was wished before the face went.
    async fn finish(&mut self) {
        loop {
            self.start_next();
            let (done, says) = tokio::select! {
                Some(done) = self.turn.join_next() => (done, self.says),
                Some(done) = self.steer.join_next() => (done, false),
                Some(done) = self.asides.join_next() => (done, false),
                Some(done) = self.looks.join_next() => (done, false),
                else => return,
            };
            let is_refused = done.as_ref().is_ok_and(Done::is_refused);
            self.unsaid += usize::from(says && is_refused);
            self.joined(done).await;
        }
    }

    /// What was said and did not get there, as far as is known.
    fn unsaid(&self) -> Result<(), String> {
        let is_say = |wish: &&Wish| matches!(wish, Wish::Say { .. });
        let under_way = usize::from(self.says && !self.turn.is_empty());
        match self.unsaid + under_way + self.line.iter().filter(is_say).count() {
            0 => Ok(()),
            1 => Err("your last message did not reach the server, as far as is known".into()),
            many => Err(format!(
                "your last {many} messages did not reach the server, as far as is known"
            )),
        }
    }

    async fn tell(&self, news: News) {
        // Whether the face has gone is known by its wishes.
        let _ = self.news.send(news).await;
    }

    async fn take(&mut self, wish: Wish) {
        match lane(&wish) {
            Lane::Session if self.line.len() < WISHES_MAX => self.line.push_back(wish),
            Lane::Run if self.steers.len() < WISHES_MAX => {
                self.steers.push_back((self.ground.clone(), wish));
            }
            Lane::Aside if self.asides.len() < WISHES_MAX => {
                self.asides.spawn(done(self.ground.clone(), wish));
            }
            Lane::Look if self.looks.len() < LOOKS_MAX => self.look(wish),
            Lane::Session => self.settle(refused(wish, "too much waits to be said")).await,
            Lane::Run | Lane::Aside | Lane::Look => {
                self.settle(refused(wish, "too much is under way at once")).await;
            }
        }
    }

    fn look(&mut self, wish: Wish) {
        let is_files = matches!(wish, Wish::Files { .. });
        let handle = self.looks.spawn(done(self.ground.clone(), wish));
        if is_files && let Some(before) = self.files.replace(handle) {
            before.abort();
        }
    }

    fn start_next(&mut self) {
        if self.turn.is_empty()
            && let Some(wish) = self.line.pop_front()
        {
            self.says = matches!(wish, Wish::Say { .. });
            self.turn.spawn(done(self.ground.clone(), wish));
        }
        if self.steer.is_empty()
            && let Some((ground, wish)) = self.steers.pop_front()
        {
            self.steer.spawn(done(ground, wish));
        }
    }

    /// A task that ended; one that was stopped has nothing to tell.
    async fn joined(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(done) => self.settle(done).await,
            Err(error) if error.is_cancelled() => (),
            Err(_) => self.settle(Done::notice(Tone::Bad, "a wish failed badly")).await,
        }
    }

    async fn settle(&mut self, done: Done) {
        let Done { news, then } = done;
        for one in news {
            self.tell(one).await;
        }
        match then {
            Then::Nothing => (),
            Then::Draft(draft) => {
                self.tell(draft.told()).await;
                self.ground.draft = draft;
            }
            Then::Opened(opening) => self.opened(*opening).await,
            Then::Began(opening, wish) => {
                self.opened(*opening).await;
                self.line.push_front(*wish);
            }
        }
    }

    async fn opened(&mut self, opening: Opening) {
        // Nothing of the session before comes after this.
        self.following.shutdown().await;
        let Opening { session, known, about, named, draft } = opening;
        self.ground.session.clone_from(&session);
        self.ground.draft = draft;
        self.ground.seen = Shared::default();
        let is_new = session.is_none();
        let about = Box::new(about);
        self.tell(News::Opened { session: session.clone(), known, about, named }).await;
        if is_new {
            self.tell(self.ground.draft.told()).await;
        }
        if let Some(session) = session {
            let told = (self.news.clone(), self.ground.seen.clone());
            self.following.spawn(follow::follow(self.ground.http.clone(), session, told));
        }
    }

    /// The session was removed: a new one is begun in its place.
    async fn gone(&mut self) -> Result<(), String> {
        let text = "this session was removed on the server; what you say now begins another";
        self.tell(News::Notice { tone: Tone::Bad, text: text.into() }).await;
        let opening = opening::open(self.ground.clone(), Which::New).await;
        self.opened(opening.map_err(|trouble| trouble.to_string())?).await;
        Ok(())
    }
}

/// Ends the sign-in: nothing of it is kept.
pub(super) async fn sign_out(http: &Http) {
    // One that stays ends by itself on the server.
    let _ = tokio::time::timeout(GOODBYE, http.post::<Value>(&["logout"], &json!({}))).await;
}
