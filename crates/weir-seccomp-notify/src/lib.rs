//! System calls that wait for an answer from another process: the kernel's user notification of
//! seccomp, as a safe interface.
//!
//! This is the one crate with unsafe code, because no crate that others keep has these calls. It
//! knows numbers and file handles only. Not here: which calls wait, what they mean and what is
//! answered.
#![warn(missing_docs)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// One instruction of a filter, as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterInstruction {
    /// What it does.
    pub code: u16,
    /// So many instructions are left out when it holds.
    pub jump_true: u8,
    /// And so many when not.
    pub jump_false: u8,
    /// What it does it with.
    pub value: u32,
}

/// A call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingCall {
    /// Names the waiting call, and no other one ever.
    pub id: u64,
    /// The thread that waits, as this process sees it.
    pub thread: i32,
    /// The number of the call.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// What the caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAnswer {
    /// It was done, with this result.
    Done(i64),
    /// It was not done, with this error number.
    Failed(i32),
    /// The kernel does it, with what the arguments point to by then: no permission follows.
    Continue,
}

/// Where waiting calls are heard. When it is dropped, calls fail as if the kernel had none of them.
#[derive(Debug)]
pub struct CallListener(OwnedFd);

impl CallListener {
    /// Installs a filter on the calling thread and what it starts from now on. Never undone. The
    /// thread must have given up new privileges. Once a call was heard, only a deadly signal keeps
    /// it from its answer.
    ///
    /// # Errors
    /// When the kernel refuses, or when another filter of the thread has a listener already.
    #[expect(unsafe_code, reason = "the kernel reads the program through a pointer")]
    pub fn install(program: &[FilterInstruction]) -> io::Result<CallListener> {
        let mut lines: Vec<libc::sock_filter> = program
            .iter()
            .map(|line| libc::sock_filter {
                code: line.code,
                jt: line.jump_true,
                jf: line.jump_false,
                k: line.value,
            })
            .collect();
        let length =
            u16::try_from(lines.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let program = libc::sock_fprog { len: length, filter: lines.as_mut_ptr() };
        let flags =
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        // SAFETY: `program` points to as many lines as it says; both live until the call is over,
        // and the kernel keeps a copy.
        let got = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        let number = i32::try_from(got).ok().filter(|number| *number >= 0);
        let number = number.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the kernel just opened it for this call, so nobody else owns it.
        let listener = CallListener(unsafe { OwnedFd::from_raw_fd(number) });
        listener.wake_beside_caller();
        Ok(listener)
    }

    /// Has whoever hears a call woken on the processor of the caller, which sleeps from then on, and the caller
    /// on that of whoever answers: another one may have to be woken itself, which takes many times as long as
    /// what is done (Q13). Kernels before 6.6 have nothing like it, and go on as they did.
    #[expect(unsafe_code, reason = "the request is a number")]
    fn wake_beside_caller(&self) {
        const SYNC_WAKE_UP: libc::c_ulong = 1;
        // SAFETY: the request takes the flags themselves; nothing is pointed to.
        let _ = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
        };
    }

    /// Takes the next call that waits; sleeps until there is one.
    ///
    /// # Errors
    /// `NotFound` when the caller was killed meanwhile or nobody is left that could call.
    #[expect(unsafe_code, reason = "the kernel writes the call through a pointer")]
    pub fn receive_call(&self) -> io::Result<WaitingCall> {
        // SAFETY: all fields are numbers, for which zero is a value; the kernel wants zeros.
        let mut heard: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request takes a pointer to exactly this structure.
        let done = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard)
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(WaitingCall {
            id: heard.id,
            thread: heard.pid.cast_signed(),
            number: i64::from(heard.data.nr),
            arguments: heard.data.args,
        })
    }

    /// Whether the caller still waits. What was looked up by its number before a `true` was its.
    #[expect(unsafe_code, reason = "the kernel reads the id through a pointer")]
    pub fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the request takes a pointer to exactly such a number.
        let done = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
        };
        done == 0
    }

    /// Answers a call.
    ///
    /// # Errors
    /// `NotFound` when the caller does not wait any more.
    #[expect(unsafe_code, reason = "the kernel reads the answer through a pointer")]
    pub fn answer_call(&self, id: u64, answer: CallAnswer) -> io::Result<()> {
        let (val, error, flags) = match answer {
            CallAnswer::Done(value) => (value, 0, 0),
            CallAnswer::Failed(number) => (0, -number.abs(), 0),
            // The constant has the width of another call's flags.
            CallAnswer::Continue => (0, 0, 1),
        };
        let told = libc::seccomp_notif_resp { id, val, error, flags };
        // SAFETY: the request takes a pointer to exactly this structure.
        let done = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const told)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Answers a call with an open file, which the caller gets under a number of its own.
    ///
    /// # Errors
    /// `NotFound` when the caller does not wait any more; what else kept it from getting the file is
    /// the answer still to be given.
    #[expect(unsafe_code, reason = "the kernel reads the request through a pointer")]
    pub fn give_file(
        &self,
        id: u64,
        file: BorrowedFd<'_>,
        close_on_exec: CloseOnExec,
    ) -> io::Result<()> {
        let newfd_flags = match close_on_exec {
            CloseOnExec::Yes => libc::O_CLOEXEC.unsigned_abs(),
            CloseOnExec::No => 0,
        };
        let given = libc::seccomp_notif_addfd {
            id,
            // Adds and answers in one step. The constant has the width of another call's flags.
            flags: 2,
            srcfd: file.as_raw_fd().unsigned_abs(),
            newfd: 0,
            newfd_flags,
        };
        // SAFETY: the request takes a pointer to exactly this structure.
        let done = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const given)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for CallListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether an open file is closed when its owner starts a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseOnExec {
    /// It is.
    Yes,
    /// It stays open.
    No,
}

/// From now on the calling thread has a working folder and a mask of modes that no other thread
/// shares: it can take those of whom it works for.
///
/// # Errors
/// When the kernel refuses.
#[expect(unsafe_code, reason = "the call is unsafe where it could take away memory or files")]
pub fn own_working_folder() -> io::Result<()> {
    // SAFETY: with this flag alone nothing changes but whose the folder and the mask are.
    let done = unsafe { libc::unshare(libc::CLONE_FS) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::sync::mpsc;

    use super::*;

    /// Lets `number` wait, and nothing else.
    fn waiting_for(number: i64) -> Vec<FilterInstruction> {
        let line = |code, jump_true, jump_false, value| FilterInstruction {
            code,
            jump_true,
            jump_false,
            value,
        };
        vec![
            line(0x20, 0, 0, 0),
            line(0x15, 0, 1, u32::try_from(number).expect("a small number")),
            line(0x06, 0, 0, 0x7fc0_0000),
            line(0x06, 0, 0, 0x7fff_0000),
        ]
    }

    /// A thread that may not gain privileges, which a filter asks for.
    #[expect(unsafe_code, reason = "a test has no other way to this switch")]
    fn no_new_privileges() {
        // SAFETY: it takes numbers only.
        assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    }

    #[test]
    fn z4_a_call_waits_for_its_answer() {
        let (send, listeners) = mpsc::channel();
        let caller = std::thread::spawn(move || {
            no_new_privileges();
            let listener =
                CallListener::install(&waiting_for(libc::SYS_mkdirat)).expect("installed");
            send.send(listener).expect("the test hears");
            let made = |name: &str| rustix_free_mkdir(name);
            [made("/weir-none/a"), made("/weir-none/b"), made("/weir-none/c")]
        });
        let listener = listeners.recv().expect("it was installed");
        let answers = [CallAnswer::Done(0), CallAnswer::Failed(libc::EXDEV), CallAnswer::Continue];
        for answer in answers {
            let call = listener.receive_call().expect("a call");
            assert_eq!(call.number, libc::SYS_mkdirat);
            assert!(call.thread > 0 && listener.is_waiting(call.id));
            listener.answer_call(call.id, answer).expect("it waits");
            assert!(!listener.is_waiting(call.id));
            assert!(listener.answer_call(call.id, answer).is_err(), "one answer only");
        }
        let results = caller.join().expect("it ends");
        assert_eq!(results, [Ok(()), Err(libc::EXDEV), Err(libc::ENOENT)]);
    }

    #[expect(unsafe_code, reason = "the standard library may take another call")]
    fn rustix_free_mkdir(name: &str) -> Result<(), i32> {
        let name = std::ffi::CString::new(name).expect("no zero in it");
        // SAFETY: the name ends with a zero and lives until the call is over.
        let done = unsafe { libc::mkdirat(libc::AT_FDCWD, name.as_ptr(), 0o700) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
    }

    #[test]
    fn z4_an_open_file_is_given_and_without_a_listener_calls_fail() {
        let (send, listeners) = mpsc::channel();
        let caller = std::thread::spawn(move || {
            no_new_privileges();
            let listener =
                CallListener::install(&waiting_for(libc::SYS_openat)).expect("installed");
            send.send(listener).expect("the test hears");
            let mut text = String::new();
            let read = File::open("/weir-none").and_then(|mut file| file.read_to_string(&mut text));
            let after = File::open("/dev/null").map(drop).map_err(|error| error.raw_os_error());
            (read.is_ok(), text, after)
        });
        let listener = listeners.recv().expect("it was installed");
        let call = listener.receive_call().expect("a call");
        let given = File::open("/proc/self/comm").expect("always there");
        listener.give_file(call.id, given.as_fd(), CloseOnExec::Yes).expect("it waits");
        drop(listener);
        let (read, text, after) = caller.join().expect("it ends");
        assert!(read && !text.is_empty());
        assert_eq!(after, Err(Some(libc::ENOSYS)));
    }

    #[test]
    fn z4_a_thread_gets_a_mask_of_its_own() {
        own_working_folder().expect("it needs no privilege");
        std::env::set_current_dir("/proc").expect("a folder");
        let other = std::thread::spawn(|| std::env::current_dir().expect("a folder"));
        // A thread that is started takes the folder of its starter, and this one is its own.
        assert_eq!(other.join().expect("it ends"), std::path::Path::new("/proc"));
    }
}
