//! How processes learn that something in the store changed for them: whoever throws the kill switch
//! (L14) touches the file `pause` in the state folder, whoever posts a letter (G4) the file `mail`,
//! whoever changes a scheduled agent or its runs (M7) the
//! file `agents`, whoever writes facts the file `facts`, and the kernel tells the others. Nobody polls.
//!
//! The files say nothing themselves; switch, letters and agents are in the store.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use weir_engine::ports::StoreError;

use crate::filesystem::{io_error, private_file};

/// How long `changed` waits at most where the kernel offers no notifications.
const WITHOUT_NOTIFICATION: Duration = Duration::from_millis(500);

/// Watches one marker file, for all sessions of this process at once.
pub(crate) struct ChangeMarker {
    /// What a touch announces, for errors.
    what: &'static str,
    marker: PathBuf,
    /// Made by the first who waits; void when its runtime ended.
    events: Mutex<Option<Arc<MarkerEvents>>>,
}

struct MarkerEvents {
    notifications: AsyncFd<OwnedFd>,
    /// Counts changes, so that all who wait hear of what one of them read.
    changes: watch::Sender<u64>,
}

impl ChangeMarker {
    /// Of the kill switch.
    pub(crate) fn of_pause(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::new("announcing the kill switch", state_dir.join("pause"))
    }

    pub(crate) fn of_mail(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::new("announcing a letter", state_dir.join("mail"))
    }

    /// Of scheduled agents and their runs.
    pub(crate) fn of_agents(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::new("announcing a scheduled agent", state_dir.join("agents"))
    }

    /// Of what a server keeps beside sessions.
    pub(crate) fn of_records(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::new("announcing a change of the server's records", state_dir.join("records"))
    }

    /// Of new facts in any journal.
    pub(crate) fn of_facts(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::new("announcing new facts", state_dir.join("facts"))
    }

    /// The marker itself, for somebody who touches it often.
    pub(crate) fn open_marker(&self) -> Option<File> {
        private_file(&self.marker).ok()?;
        OpenOptions::new().write(true).mode(0o600).open(&self.marker).ok()
    }

    fn new(what: &'static str, marker: PathBuf) -> ChangeMarker {
        ChangeMarker { what, marker, events: Mutex::new(None) }
    }

    /// Tells everyone who watches.
    pub(crate) fn touch(&self) -> Result<(), StoreError> {
        private_file(&self.marker)?;
        let now = FileTimes::new().set_modified(SystemTime::now());
        let file = OpenOptions::new().write(true).mode(0o600).open(&self.marker);
        file.and_then(|file| file.set_times(now)).map_err(|e| io_error(self.what, &e))
    }

    /// Resolves after the next touch by any process; listens from its first poll on. May resolve
    /// without one.
    pub(crate) async fn wait_for_change(&self) {
        let Some(events) = self.marker_events() else {
            tokio::time::sleep(WITHOUT_NOTIFICATION).await;
            return;
        };
        let mut changes = events.changes.subscribe();
        tokio::select! {
            // The sender lives in `events`, so this ends only with a change.
            _ = changes.changed() => {}
            ready = events.notifications.readable() => {
                match ready {
                    Ok(mut guard) => {
                        drain_events(&events.notifications);
                        guard.clear_ready();
                        events.changes.send_modify(|count| *count += 1);
                    }
                    Err(_) => self.forget_events(&events),
                }
            }
        }
        // A marker that was deleted is not watched any more.
        if fs::symlink_metadata(&self.marker).is_err() {
            self.forget_events(&events);
        }
    }

    fn marker_events(&self) -> Option<Arc<MarkerEvents>> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.is_none() {
            *events = watch_marker(&self.marker).map(Arc::new);
        }
        events.clone()
    }

    fn forget_events(&self, events: &Arc<MarkerEvents>) {
        let mut current = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, events)) {
            *current = None;
        }
        events.changes.send_modify(|count| *count += 1);
    }
}

fn watch_marker(marker: &Path) -> Option<MarkerEvents> {
    private_file(marker).ok()?;
    let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    // Setting only the time of change counts as a modification.
    let what =
        WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
    inotify::add_watch(&descriptor, marker, what).ok()?;
    #[expect(
        deprecated,
        reason = "its successor is unsafe because a type may lie about its descriptor; an OwnedFd \
                  never does, and keeps it open as long as it is registered"
    )]
    let notifications = AsyncFd::new(descriptor).ok()?;
    Some(MarkerEvents { notifications, changes: watch::Sender::new(0) })
}

fn drain_events(descriptor: &AsyncFd<OwnedFd>) {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut reader = inotify::Reader::new(descriptor.get_ref(), &mut buffer);
    while reader.next().is_ok() {}
}
