//! What all parts of this end share: the program, the news, the session that is shown.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use weir_core::ids::SessionId;
use weir_install::context::InstallationContext;
use weir_install::wiring::{self, SessionOverrides};
use weir_tui::link::{NoticeTone, UiUpdate};

use super::files::FileIndex;
use super::pause_watch::PauseWatch;
use super::shell::ShellCommands;
use super::shown_session::ShownSession;

/// Things that are looked up at once; more wait.
const LOOKUPS_MAX: usize = 8;

/// What is shared.
pub(super) struct LocalContext {
    /// The program in the folder that it was started for.
    pub(super) cx: Arc<InstallationContext>,
    /// What the flags say.
    pub(super) flags: SessionOverrides,
    /// The face goes: whatever takes long ends.
    pub(super) leaving: CancellationToken,
    /// Commands of the person's own.
    pub(super) shells: ShellCommands,
    /// Files that can be named.
    pub(super) files: FileIndex,
    /// There is a store from now on.
    pub(super) stored: Notify,
    /// The task that watches the kill switch.
    pub(super) pause_watch: PauseWatch,
    /// Places for what is looked up.
    pub(super) lookups: Arc<Semaphore>,
    news: mpsc::Sender<UiUpdate>,
    shown: Mutex<Arc<ShownSession>>,
    /// What the first new session is called.
    name: Mutex<Option<SessionId>>,
}

impl LocalContext {
    /// That of a face that is shown a new session.
    ///
    /// # Errors
    /// The folder has gone.
    pub(super) fn new(
        cx: InstallationContext,
        flags: SessionOverrides,
        news: mpsc::Sender<UiUpdate>,
    ) -> anyhow::Result<LocalContext> {
        let cx = Arc::new(cx);
        let shown = Arc::new(ShownSession::new(None, cx.clone(), 0, flags.clone()));
        Ok(LocalContext {
            files: FileIndex::default(),
            shells: ShellCommands::new(&cx)?,
            cx,
            flags,
            leaving: CancellationToken::new(),
            stored: Notify::new(),
            pause_watch: PauseWatch::default(),
            lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            news,
            shown: Mutex::new(shown),
            name: Mutex::new(None),
        })
    }

    /// The same, with a name for the first new session.
    pub(super) fn with_name(self, name: Option<SessionId>) -> LocalContext {
        LocalContext { name: Mutex::new(name), ..self }
    }

    /// The id of a session that is about to begin: the name that was given, until one has it.
    pub(super) fn next_session_id(&self) -> SessionId {
        let given = self.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        given.unwrap_or_else(wiring::new_session_id)
    }

    /// A session has the name that was given.
    pub(super) fn forget_name(&self) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The session that is shown.
    pub(super) fn shown_session(&self) -> Arc<ShownSession> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this one is shown.
    pub(super) fn set_shown_session(&self, shown: Arc<ShownSession>) {
        if shown.id.is_some() {
            self.stored.notify_one();
        }
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    }

    /// Tells news. A face that has gone hears nothing, and that is known by its wishes.
    pub(super) async fn send_update(&self, news: UiUpdate) {
        let _ = self.news.send(news).await;
    }

    /// A place for one piece of news; `None`: the face has gone.
    pub(super) async fn reserve_update(&self) -> Option<mpsc::Permit<'_, UiUpdate>> {
        self.news.reserve().await.ok()
    }

    /// Tells a line for the person.
    pub(super) async fn send_notice(&self, tone: NoticeTone, text: impl Into<String>) {
        self.send_update(UiUpdate::Notice { tone, text: text.into() }).await;
    }
}
