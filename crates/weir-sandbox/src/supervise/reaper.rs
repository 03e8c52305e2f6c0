//! Waits for children, adopted ones included, on a thread of its own, and makes their end
//! something that `poll` can wait for. Not here: what follows from it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, WaitOptions};
use weir_engine::ports::CommandEnd;

use super::spawn::InsideMessages;
use crate::inside_orders::InsideMessage;
use crate::process::end_of;

/// What is known of the children.
#[derive(Debug, Clone, Default)]
pub(super) struct ChildrenState {
    /// How the shell ended, once it did.
    pub(super) shell: Option<CommandEnd>,
    /// No descendant is left, not even a detached one: the kernel says so.
    pub(super) all_gone: bool,
}

/// The waiting thread's notes.
pub(super) struct ChildReaper {
    children: Arc<Mutex<ChildrenState>>,
    wake: Arc<OwnedFd>,
    frame: Option<i32>,
}

impl ChildReaper {
    /// Waits for all children from now on. `shell` must have been started; with `words` it only
    /// stands for the command, and they say how that ended.
    pub(super) fn watch_children(
        shell: Pid,
        words: Option<InsideMessages>,
    ) -> io::Result<ChildReaper> {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let children = Arc::new(Mutex::new(ChildrenState::default()));
        let frame = words.is_some().then(|| shell.as_raw_nonzero().get());
        let reaper =
            ChildReaper { children: Arc::clone(&children), wake: Arc::clone(&wake), frame };
        let note = move |change: &dyn Fn(&mut ChildrenState)| {
            change(&mut children.lock().unwrap_or_else(PoisonError::into_inner));
            let _ = rustix::io::write(&wake, &1_u64.to_ne_bytes());
        };
        let note = Arc::new(note);
        let listener = words.map(|words| listen_for_end(words, Arc::clone(&note))).transpose()?;
        // Not joined: it ends with the last child, and what cannot be ended must not hold up the
        // end of the supervisor.
        std::thread::Builder::new().name("reaper".into()).spawn(move || {
            let mut instead = None;
            loop {
                match rustix::process::wait(WaitOptions::empty()) {
                    Ok(Some((pid, status))) if pid == shell && listener.is_some() => {
                        instead = Some(end_of(status));
                    }
                    Ok(Some((pid, status))) if pid == shell => {
                        note(&|children| children.shell = Some(end_of(status)));
                    }
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(_) => break,
                }
            }
            // Everybody who could say something is gone: what was said is heard first.
            let _ = listener.map(JoinHandle::join);
            note(&|children| {
                children.shell = children.shell.take().or_else(|| instead.clone());
                children.all_gone = true;
            });
        })?;
        Ok(reaper)
    }

    /// The process that stands for the command, if one does; its one child is the first inside.
    pub(super) fn frame_pid(&self) -> Option<i32> {
        self.frame
    }

    /// Becomes readable when something changed since the last [`ChildReaper::current_children`].
    pub(super) fn change_descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// What is known now.
    pub(super) fn current_children(&self) -> ChildrenState {
        let mut count = [0; 8];
        // Emptied first: what changes after this line makes it readable again.
        let _ = rustix::io::read(&self.wake, &mut count);
        self.children.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Notes how the shell ended when it is said.
fn listen_for_end(
    mut words: InsideMessages,
    note: Arc<impl Fn(&dyn Fn(&mut ChildrenState)) + Send + Sync + 'static>,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("words".into()).spawn(move || {
        while let Some(word) = words.next() {
            if let InsideMessage::Ended { end } = word {
                note(&|children| children.shell = Some(end.clone()));
            }
        }
    })
}
