//! Who opens sessions, takes them up, and gives them back: one wish after the other, so that what
//! was said first is heard first.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weir_core::event::{CancelCause, RunStatus};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_engine::engine::EngineError;
use weir_engine::host::SessionState;
use weir_engine::ports::{Store as _, StoreError};
use weir_install::cx::Cx;
use weir_install::leftovers;
use weir_install::wiring::{self, Wishes};
use weir_tui::link::{News, Tone, Which, Wish};

use super::desk::Desk;
use super::room::{Live, Room, follow};
use super::{LABEL, PERSON, Picks, about, back};
use crate::failure::{engine_failure, usage};

/// How long a run may take to end when it was cancelled.
const CANCEL_WAIT: Duration = Duration::from_secs(3);
/// How long a session may take to go down, so that it can be taken up anew.
const DOWN_WAIT: Duration = Duration::from_secs(30);
/// The same when the face goes: with this process everything of it ends anyway.
const LEAVE_WAIT: Duration = Duration::from_secs(3);
/// How long what was said may still take when the face goes.
const SAY_WAIT: Duration = Duration::from_secs(2);

/// What is said of a session that takes too long over that.
pub(super) const GOES_DOWN: &str =
    "the session is still going down; until it has, it cannot be taken up again";

/// Why a session cannot be taken up.
pub(super) enum Away {
    /// Another process has it.
    Held(String),
    /// Something else: a sentence.
    Failed(String),
}

/// The keeper.
pub(super) struct Keeper {
    pub(super) desk: Arc<Desk>,
    follower: Option<JoinHandle<()>>,
    /// What is changed as soon as no run is on.
    pub(super) pending: Vec<Wish>,
    /// The flags count for the next session that is opened.
    picks: Picks,
    /// The session was begun by another program that went away: it goes on as soon as it is known.
    goes_on: bool,
}

impl Keeper {
    /// One who has a desk.
    pub(super) fn new(desk: Arc<Desk>, picks: Picks) -> Keeper {
        Keeper { desk, follower: None, pending: Vec::new(), picks, goes_on: false }
    }

    /// Opens `first`, then does what comes, until the face goes.
    pub(super) async fn run(mut self, first: Which, mut line: mpsc::Receiver<Wish>) {
        let leaving = self.desk.leaving.clone();
        let opened = tokio::select! {
            biased;
            () = leaving.cancelled() => Ok(()),
            opened = self.open(first, true) => opened,
        };
        if let Err(error) = opened {
            let text = format!("the session cannot be opened: {error:#}");
            self.desk.notice(Tone::Bad, text).await;
            self.show(Room::new(None, self.desk.cx.clone(), 0, self.desk.flags.clone())).await;
        }
        loop {
            let room = self.desk.room();
            let wish = tokio::select! {
                biased;
                () = leaving.cancelled() => break,
                wish = line.recv() => wish,
                () = room.stirred.notified() => {
                    tokio::select! {
                        biased;
                        () = leaving.cancelled() => break,
                        () = self.stirred(&room) => continue,
                    }
                }
            };
            let Some(wish) = wish else { break };
            self.act_until_left(wish).await;
        }
        // What was said before the face went is said still.
        line.close();
        let rest = async {
            while let Some(wish) = line.recv().await {
                if matches!(wish, Wish::Say { .. }) {
                    self.act(wish).await;
                }
            }
        };
        let _ = tokio::time::timeout(SAY_WAIT, rest).await;
        self.give_back().await;
    }

    /// Does it. When the face goes, all but what was said is left at once.
    async fn act_until_left(&mut self, wish: Wish) {
        let leaving = self.desk.leaving.clone();
        let is_said = matches!(wish, Wish::Say { .. });
        let left = async {
            leaving.cancelled().await;
            if is_said {
                tokio::time::sleep(SAY_WAIT).await;
            }
        };
        tokio::select! {
            biased;
            () = left => (),
            () = self.act(wish) => (),
        }
    }

    async fn act(&mut self, wish: Wish) {
        match wish {
            Wish::Open(which) => {
                if let Err(error) = self.open(which, false).await {
                    let text = format!("it cannot be opened: {error:#}");
                    self.desk.notice(Tone::Bad, text).await;
                }
            }
            Wish::Say { text, attached, client_id } => {
                if let Err(why) = self.say(text, attached, &client_id).await {
                    self.desk.tell(News::Refused { client_id, why }).await;
                }
            }
            Wish::Mode(_) | Wish::Thinking(_) | Wish::Model(_) | Wish::Profile(_) => {
                self.change(wish).await;
            }
            Wish::Condense(words) => self.condense(&words).await,
            Wish::Undo => back::undo(self).await,
            Wish::Rewind { before, back: what } => back::rewind(self, before, what).await,
            // What would have gone straight to the session, did it run here.
            Wish::Tell(command) => {
                self.pass_on(command).await;
                self.desk.behind.fetch_sub(1, Ordering::AcqRel);
            }
            // Everything else was taken before it came here.
            _ => (),
        }
    }

    /// A run ended, or the old facts are all told.
    async fn stirred(&mut self, room: &Arc<Room>) {
        if std::mem::take(&mut self.goes_on)
            && !room.read_state(SessionState::is_at_rest)
            && room.live().is_none()
        {
            // An approval that was open is asked again, a run that stopped goes on (D5).
            if let Err(Away::Failed(why)) = self.take_up(None).await {
                let text = format!("what was under way cannot go on now: {why}");
                self.desk.notice(Tone::Bad, text).await;
            }
        }
        if room.is_owed()
            && room.live().is_none()
            && let Err(Away::Failed(why)) = self.take_up(None).await
        {
            let text =
                format!("what you said waits in this session, which cannot go on now: {why}");
            self.desk.notice(Tone::Bad, text).await;
        }
        self.desk.tell(News::Branch(about::branch(room.folder()))).await;
        self.change_pending().await;
    }

    /// Opens another session in place of the one that is shown.
    ///
    /// # Errors
    /// It cannot be: then the one before stays.
    pub(super) async fn open(&mut self, which: Which, is_first: bool) -> anyhow::Result<()> {
        let room = match which {
            Which::Existing(id) if self.shows(&id) => {
                self.desk.notice(Tone::Quiet, "this session is open already").await;
                return Ok(());
            }
            Which::New => Room::new(None, self.desk.cx.clone(), 0, self.desk.flags.clone()),
            Which::Existing(id) => self.existing(id, is_first).await?,
            Which::Fork { of, before } => {
                let fork = back::forked(&self.desk, &of, before).await?;
                self.existing(fork, is_first).await?
            }
        };
        self.give_back().await;
        self.pending.clear();
        self.show(room).await;
        Ok(())
    }

    /// Whether it is open, and what happens in it is told.
    fn shows(&self, id: &SessionId) -> bool {
        let room = self.desk.room();
        room.id.as_ref() == Some(id) && room.broken().is_none()
    }

    async fn existing(&mut self, id: SessionId, is_first: bool) -> anyhow::Result<Room> {
        let store = self.desk.cx.store()?;
        if let Some((parent, _)) = child::parent_of(&id) {
            return Err(usage(format!(
                "{id} is a sub-agent and goes on with the session that started it: {parent}"
            )));
        }
        let meta = store.meta(&id).await?.filter(|meta| meta.facts > 0);
        let meta = meta.ok_or_else(|| usage(format!("there is no session {id} in this store")))?;
        let cx = Arc::new(self.desk.cx.at(Path::new(&meta.workspace))?);
        let flags = is_first || self.picks == Picks::Session;
        self.picks = Picks::Nothing;
        let wishes = match flags {
            true => self.desk.flags.clone(),
            // A journal does not say where the script of a scripted model stood.
            false => {
                Wishes { attended: true, model: scripted(&self.desk.flags), ..Wishes::default() }
            }
        };
        self.goes_on = store.holder(&id).await?.is_none();
        Ok(Room::new(Some(id), cx, meta.facts, wishes).begun_elsewhere(!self.goes_on))
    }

    /// Shows a room and follows its session.
    async fn show(&mut self, room: Room) {
        self.unfollow().await;
        let room = Arc::new(room);
        self.desk.show(room.clone());
        let news = about::opened(&self.desk, &room).await;
        for one in news {
            self.desk.tell(one).await;
        }
        self.follower = Some(follow(room, self.desk.clone()));
    }

    /// Nothing of the session that is shown is told any more.
    async fn unfollow(&mut self) {
        if let Some(follower) = self.follower.take() {
            follower.abort();
            // That it was stopped is no error.
            let _ = follower.await;
        }
    }

    /// Follows it again, from where it was left.
    fn refollow(&mut self) {
        self.follower = Some(follow(self.desk.room(), self.desk.clone()));
    }

    /// The session, running here: begun where it does not exist, taken up where nobody runs it.
    /// `wishes`: with these settings from now on.
    ///
    /// # Errors
    /// Another process has it, or it cannot be.
    pub(super) async fn take_up(&mut self, wishes: Option<Wishes>) -> Result<Arc<Live>, Away> {
        let room = self.desk.room();
        if let Some(live) = room.live().filter(|_| wishes.is_none()) {
            return Ok(live);
        }
        if let Some(old) = room.held() {
            // It goes down: before that has ended, this very process holds it.
            let ended = tokio::time::timeout(DOWN_WAIT, old.handle.ended()).await;
            ended.map_err(|_| Away::Failed(GOES_DOWN.into()))?;
            room.gone(&old);
        }
        if room.broken().is_some() {
            // Whatever was in the way may be over.
            self.unfollow().await;
            self.refollow();
        }
        let wishes = wishes.unwrap_or_else(|| room.wishes());
        let live = match &room.id {
            None => return self.begin(&room, &wishes).await,
            Some(id) => self.resume(&room, id, &wishes).await,
        };
        match live {
            Ok(live) => {
                // A profile is asked for once; from then on it is the session's own.
                room.set_wishes(Wishes { profile: None, ..wishes });
                let live = Arc::new(live);
                room.set_live(live.clone());
                self.unfollow().await;
                self.refollow();
                Ok(live)
            }
            Err(error) => Err(away(error)),
        }
    }

    async fn begin(&mut self, room: &Arc<Room>, wishes: &Wishes) -> Result<Arc<Live>, Away> {
        let options = wiring::session_options(&room.cx, wishes, None).await.map_err(away)?;
        let engine = wiring::engine(&room.cx, LABEL).map_err(away)?;
        leftovers::remove_orphans(&room.cx);
        let id = wiring::new_session_id();
        let opened = engine.open(id.clone(), options).await;
        let handle = opened.map_err(|error| away(error.into()))?;
        let live = Arc::new(Live { handle });
        let wishes = Wishes { profile: None, ..wishes.clone() };
        let begun = Room::new(Some(id), room.cx.clone(), 0, wishes);
        begun.set_live(live.clone());
        self.show(begun).await;
        Ok(live)
    }

    async fn resume(
        &self,
        room: &Arc<Room>,
        id: &SessionId,
        wishes: &Wishes,
    ) -> anyhow::Result<Live> {
        room.until_known().await.map_err(usage)?;
        let kept = room.read_state(|state| state.config.clone());
        let kept = kept.ok_or_else(|| usage(format!("{id} was never opened")))?;
        // Files that the person changed since count.
        let cx: Cx = room.cx.anew(room.folder())?;
        let options = wiring::session_options(&cx, wishes, Some(&kept)).await?;
        let engine = wiring::engine(&cx, LABEL)?;
        leftovers::remove_orphans(&cx);
        let handle = engine.resume(id.clone(), options).await?;
        Ok(Live { handle })
    }

    /// Lets the session that is shown come to rest, and others have it.
    pub(super) async fn give_back(&mut self) {
        let room = self.desk.room();
        if let Some(live) = room.held() {
            if room.read_state(|state| state.run.is_some()) {
                let ended = async {
                    let cancelled = live.handle.cancel(CancelCause::Cancelled, PERSON).await;
                    if cancelled.is_ok() {
                        room.until(|state| state.run.is_none()).await;
                    }
                };
                // What does not end in time ends with the session, and is owed.
                let _ = tokio::time::timeout(CANCEL_WAIT, ended).await;
            }
            if !self.down(&room, &live).await {
                self.desk.notice(Tone::Bad, GOES_DOWN).await;
            }
            if let (Some(id), Some(true)) =
                (&room.id, room.read_state(|state| state.ended).map(RunStatus::is_over))
                && let Ok(workspace) = room.cx.workspace()
            {
                leftovers::remove_results(&workspace, id);
            }
            wiring::tidy(&room.cx);
        }
        self.unfollow().await;
    }

    /// Takes the session out of this process's hands. `false`: it takes too long over that, and
    /// stays in them until it has.
    async fn down(&mut self, room: &Arc<Room>, live: &Arc<Live>) -> bool {
        self.unfollow().await;
        live.handle.stop().await;
        let leaving = &self.desk.leaving;
        let too_long = async {
            let left = async {
                leaving.cancelled().await;
                tokio::time::sleep(LEAVE_WAIT).await;
            };
            let _ = tokio::time::timeout(DOWN_WAIT, left).await;
        };
        let is_down = tokio::select! {
            biased;
            _ = live.handle.ended() => true,
            () = too_long => false,
        };
        if is_down {
            room.gone(live);
        }
        is_down
    }

    /// The same where it is only to be opened anew: what was written meanwhile is told.
    pub(super) async fn down_for_now(&mut self, room: &Arc<Room>, live: &Arc<Live>) -> bool {
        let is_down = self.down(room, live).await;
        self.refollow();
        is_down
    }
}

/// The scripted model of the flags.
fn scripted(flags: &Wishes) -> Option<String> {
    flags.model.clone().filter(|text| text.starts_with("script:"))
}

fn away(error: anyhow::Error) -> Away {
    let error = match error.downcast::<EngineError>() {
        Ok(EngineError::Store(StoreError::Held { holder, .. })) => return Away::Held(holder),
        Ok(error) => engine_failure(error),
        Err(error) => error,
    };
    Away::Failed(format!("{error:#}"))
}
