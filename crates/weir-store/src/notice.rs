//! How processes learn that something in the store changed for them: whoever changes a scheduled agent or
//! its runs (M7) touches the file `agents` in the state folder, whoever writes facts the file `facts`, and
//! the kernel tells the others. Of the kill switch (L14) and of letters (G4) every run hears, by a socket of
//! its own in `listeners`. Nobody polls.
//!
//! Files and sockets say nothing themselves; switch, letters and agents are in the store.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io;
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

mod sockets;

use sockets::{NoticeSocket, NoticeSockets};

/// How long `changed` waits at most where the kernel offers no notifications.
const WITHOUT_NOTIFICATION: Duration = Duration::from_millis(500);

/// Hears of changes of one kind, for all sessions of this process at once.
pub(crate) struct ChangeMarker {
    /// What is announced, for errors.
    what: &'static str,
    place: MarkerPlace,
    /// Made by the first who waits; void when its runtime ended.
    events: Mutex<Option<Arc<MarkerEvents>>>,
}

/// By what a change is announced.
enum MarkerPlace {
    /// A file that is touched and watched: touching is cheap, ending a watch is not.
    File(PathBuf),
    /// Sockets of those who listen: the other way round.
    Sockets(NoticeSockets),
}

struct MarkerEvents {
    source: EventSource,
    /// Counts changes, so that all who wait hear of what one of them read.
    changes: watch::Sender<u64>,
}

enum EventSource {
    Watch(AsyncFd<OwnedFd>, PathBuf),
    Socket(NoticeSocket),
}

impl EventSource {
    /// Resolves at the next change.
    async fn hear(&self) -> io::Result<()> {
        match self {
            EventSource::Watch(notifications, _) => {
                let mut guard = notifications.readable().await?;
                drain_events(notifications);
                guard.clear_ready();
                Ok(())
            }
            EventSource::Socket(socket) => socket.hear().await,
        }
    }

    /// A marker that was deleted is not watched any more, nor is a socket reached.
    fn is_gone(&self) -> bool {
        match self {
            EventSource::Watch(_, marker) => fs::symlink_metadata(marker).is_err(),
            EventSource::Socket(socket) => socket.is_gone(),
        }
    }
}

impl ChangeMarker {
    /// Of the kill switch.
    pub(crate) fn of_pause(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::by_sockets("announcing the kill switch", state_dir, "pause")
    }

    pub(crate) fn of_mail(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::by_sockets("announcing a letter", state_dir, "mail")
    }

    /// Of scheduled agents and their runs.
    pub(crate) fn of_agents(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::by_file("announcing a scheduled agent", state_dir.join("agents"))
    }

    /// Of what a server keeps beside sessions.
    pub(crate) fn of_records(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::by_file(
            "announcing a change of the server's records",
            state_dir.join("records"),
        )
    }

    /// Of new facts in any journal.
    pub(crate) fn of_facts(state_dir: &Path) -> ChangeMarker {
        ChangeMarker::by_file("announcing new facts", state_dir.join("facts"))
    }

    /// The marker itself, for somebody who touches it often; none where there is no file.
    pub(crate) fn open_marker(&self) -> Option<File> {
        match &self.place {
            MarkerPlace::File(marker) => open_private(marker).ok(),
            MarkerPlace::Sockets(_) => None,
        }
    }

    fn by_file(what: &'static str, marker: PathBuf) -> ChangeMarker {
        ChangeMarker { what, place: MarkerPlace::File(marker), events: Mutex::new(None) }
    }

    fn by_sockets(what: &'static str, state_dir: &Path, name: &'static str) -> ChangeMarker {
        let sockets = NoticeSockets::new(state_dir.join("listeners"), name);
        ChangeMarker { what, place: MarkerPlace::Sockets(sockets), events: Mutex::new(None) }
    }

    /// Tells everyone who waits.
    pub(crate) fn touch(&self) -> Result<(), StoreError> {
        match &self.place {
            MarkerPlace::File(marker) => {
                let now = FileTimes::new().set_modified(SystemTime::now());
                let touched = open_private(marker)?.set_times(now);
                touched.map_err(|e| io_error(self.what, &e))
            }
            MarkerPlace::Sockets(sockets) => {
                sockets.announce().map_err(|e| io_error(self.what, &e))
            }
        }
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
            heard = events.source.hear() => match heard {
                Ok(()) => events.changes.send_modify(|count| *count += 1),
                Err(_) => self.forget_events(&events),
            }
        }
        if events.source.is_gone() {
            self.forget_events(&events);
        }
    }

    fn marker_events(&self) -> Option<Arc<MarkerEvents>> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.is_none() {
            let source = match &self.place {
                MarkerPlace::File(marker) => watch_marker(marker),
                MarkerPlace::Sockets(sockets) => sockets.listen().map(EventSource::Socket),
            };
            let changes = watch::Sender::new(0);
            *events = source.map(|source| Arc::new(MarkerEvents { source, changes }));
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

/// The file, made for its owner alone where it is missing.
fn open_private(path: &Path) -> Result<File, StoreError> {
    private_file(path)?;
    let opened = OpenOptions::new().write(true).mode(0o600).open(path);
    opened.map_err(|e| io_error(format!("opening {}", path.display()), &e))
}

fn watch_marker(marker: &Path) -> Option<EventSource> {
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
    Some(EventSource::Watch(notifications, marker.to_owned()))
}

fn drain_events(descriptor: &AsyncFd<OwnedFd>) {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut reader = inotify::Reader::new(descriptor.get_ref(), &mut buffer);
    while reader.next().is_ok() {}
}
