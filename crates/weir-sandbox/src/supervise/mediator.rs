//! Does for a command what Landlock cannot allow by itself: new entries in a folder that holds
//! something guarded, Unix sockets, servers at the loopback, pseudo-terminals.
//!
//! A second filter lets such calls wait for this thread. What they name is read once and judged by
//! where it really is; what is allowed is done here, with the handle that was judged, and everything
//! else about files is left to the kernel, where Landlock denies it. So a mistake here can only be one
//! of allowing too much by its own hand: nothing that the caller changes meanwhile gets a right.
//!
//! One thread, so that two moves are never judged at the same time. It has no powers but the user's,
//! and where it ends, calls fail. Not here: which calls wait (`tier/seccomp.rs`).

mod files;
mod judge;
mod programs;
mod sockets;
mod target;
mod terminals;

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use weir_seccomp_notify::{CallAnswer, CallListener, CloseOnExec, WaitingCall, own_working_folder};

use crate::places::ConfinedPlaces;
use crate::tier;
use crate::tier::landlock::Inode;
use files::FileCall;
use judge::PathGuard;
pub(super) use programs::nameless_files;
use programs::{ProgramFiles, StartCall};
use sockets::{CommandServers, SocketCall};
use target::WaitingThread;
use terminals::PseudoTerminals;

/// What a call comes to.
#[derive(Debug)]
enum MediationOutcome {
    /// Done, with nothing to tell.
    Done,
    /// Opened.
    File(OwnedFd, CloseOnExec),
    /// Not done.
    Failed(Errno),
    /// Another thread answers.
    Later,
}

impl MediationOutcome {
    fn from_open(opened: Result<OwnedFd, Errno>, close: CloseOnExec) -> MediationOutcome {
        opened.map_or_else(MediationOutcome::Failed, |file| MediationOutcome::File(file, close))
    }
}

impl From<Result<(), Errno>> for MediationOutcome {
    fn from(done: Result<(), Errno>) -> MediationOutcome {
        done.map_or_else(MediationOutcome::Failed, |()| MediationOutcome::Done)
    }
}

/// What a command may beyond Landlock.
#[derive(Debug, Clone)]
pub(super) struct MediatorRights {
    guard: PathGuard,
    granted: GrantedServers,
}

/// Servers of others that a command may reach.
#[derive(Debug, Clone, Default)]
pub(super) struct GrantedServers {
    /// The port of its proxy.
    pub(super) proxy: Option<u16>,
    /// Ports of this machine's loopback.
    pub(super) ports: Vec<u16>,
    /// Sockets, where they really lie.
    pub(super) sockets: BTreeSet<PathBuf>,
}

impl MediatorRights {
    /// Of a command with these places and its own temporary folder.
    pub(super) fn new(
        places: &ConfinedPlaces,
        tmp: &Path,
        granted: GrantedServers,
    ) -> MediatorRights {
        MediatorRights { guard: PathGuard::new(places, tmp), granted }
    }
}

/// What a confined thread hands over.
pub(super) struct ThreadHandover {
    /// Where its calls are heard.
    pub(super) listener: CallListener,
    /// What Landlock lets it read.
    pub(super) readable: HashSet<Inode>,
    /// Files without names among that.
    pub(super) nameless: Vec<OwnedFd>,
}

/// Waits in a thread of its own for the listener, and serves it until nobody is left that could call.
///
/// # Errors
/// The thread cannot be started.
pub(super) fn start_mediator(
    rights: MediatorRights,
    handed: Receiver<ThreadHandover>,
) -> io::Result<()> {
    // Not joined: it ends with the last process of the command or with the supervisor.
    std::thread::Builder::new().name("mediator".into()).spawn(move || {
        // Without powers of its own it can do what the command's user can, and no more.
        let ready = tier::drop_capabilities().is_ok() && own_working_folder().is_ok();
        if ready && let Ok(ThreadHandover { listener, readable, nameless }) = handed.recv() {
            let MediatorRights { guard, granted } = rights;
            let (servers, terminals) = (CommandServers::default(), PseudoTerminals::default());
            let programs = ProgramFiles { nameless, readable };
            let listener = Arc::new(listener);
            Mediator { listener, guard, granted, servers, terminals, programs }.serve();
        }
    })?;
    Ok(())
}

struct Mediator {
    listener: Arc<CallListener>,
    guard: PathGuard,
    granted: GrantedServers,
    servers: CommandServers,
    terminals: PseudoTerminals,
    programs: ProgramFiles,
}

impl Mediator {
    fn serve(&mut self) {
        loop {
            let mut fds = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let ready = fds[0].revents();
            if !ready.contains(PollFlags::IN) {
                if ready.intersects(PollFlags::HUP | PollFlags::ERR) {
                    return;
                }
                continue;
            }
            // Whoever was killed before it was heard is gone.
            if let Ok(call) = self.listener.receive_call() {
                self.answer_call(call);
            }
        }
    }

    fn answer_call(&mut self, call: WaitingCall) {
        let target = WaitingThread { thread: call.thread };
        if let Some(start) = StartCall::from_call(call.number, call.arguments) {
            // Whatever came of it, the kernel starts it or not.
            let _ = self.prepare_program(call.id, target, start);
        }
        let outcome = if let Some(socket) = SocketCall::from_call(call.number, call.arguments) {
            Some(self.handle_socket_call(call.id, target, socket))
        } else {
            let file = FileCall::from_call(call.number, call.arguments);
            file.and_then(|file| self.handle_file_call(call.id, target, file))
        };
        let answer = match outcome {
            None => CallAnswer::Continue,
            Some(MediationOutcome::Done) => CallAnswer::Done(0),
            Some(MediationOutcome::Failed(error)) => CallAnswer::Failed(error.raw_os_error()),
            Some(MediationOutcome::Later) => return,
            Some(MediationOutcome::File(file, close)) => {
                match self.listener.give_file(call.id, file.as_fd(), close) {
                    Ok(()) => return,
                    Err(error) => CallAnswer::Failed(error.raw_os_error().unwrap_or(libc::EIO)),
                }
            }
        };
        // Whoever was killed meanwhile hears nothing.
        let _ = self.listener.answer_call(call.id, answer);
    }

    /// That the caller still waits: what was looked up by its number is its own then.
    fn confirm_waiting(&self, id: u64) -> Option<()> {
        self.listener.is_waiting(id).then_some(())
    }
}
