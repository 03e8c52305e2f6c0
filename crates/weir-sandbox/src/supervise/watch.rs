//! Watches one command until it is over, and ends what is left of its tree.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use weir_core::tool::Tier;
use weir_engine::ports::CommandEnd;

use super::{EventSources, WatchResult};
use crate::process_tree::{ProcessEntry, descendants_of, freeze_and_kill};
use crate::refusal::{describe_wall, host_hints, path_hints};
use crate::wire::{CANCEL, CommandEnding, CommandRequest};

/// After the shell of a foreground command ended, how long its other processes may still write:
/// a shell does not wait for the end of `> >(tee log)`.
const DRAIN_GRACE: Duration = Duration::from_millis(300);
/// How long a process that closed its output may take to be gone.
const EXIT_GRACE: Duration = Duration::from_millis(250);

/// From SIGTERM to SIGKILL. Long enough to remove a lock file, short enough that the second which is
/// promised for a cancel (L14) also holds on a machine that is busy.
const TERM_GRACE: Duration = Duration::from_millis(200);

/// Between two rounds of killing, when something is left after one.
const KILL_ROUND: Duration = Duration::from_millis(20);

/// A process that the kernel does not let go of (a dead network disk) is given up after so long.
/// Whatever else is left by then would outlive us, so this is long.
const KILL_PATIENCE: Duration = Duration::from_secs(60);

/// Why watching ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchEnd {
    /// By itself.
    Ended(CommandEnd),
    /// Wall time or silence; what to say about it.
    OutOfTime(String),
    /// The engine said so.
    Cancelled,
    /// The engine is gone.
    EngineGone,
}

/// What one wait brought.
#[derive(Debug, Clone, Copy, Default)]
struct ReadySources {
    control: bool,
    output: bool,
    children: bool,
}

/// One command being watched.
pub(super) struct CommandWatch<'a> {
    control: &'a UnixStream,
    request: &'a CommandRequest,
    began: Instant,
    last_output: Instant,
    output_open: bool,
    sources: EventSources,
}

impl<'a> CommandWatch<'a> {
    pub(super) fn new(
        control: &'a UnixStream,
        request: &'a CommandRequest,
        began: Instant,
        sources: EventSources,
    ) -> CommandWatch<'a> {
        CommandWatch { control, request, began, last_output: began, output_open: true, sources }
    }

    /// Watches to the end. When this returns, nothing of the tree is alive.
    pub(super) fn run(mut self) -> WatchResult {
        let over = self.until_over();
        let engine_gone = over == WatchEnd::EngineGone;
        let end = match over {
            WatchEnd::Ended(end) => {
                self.clear_up_after_shell();
                end
            }
            WatchEnd::OutOfTime(why) => {
                self.end_tree();
                self.sources.sink.add_note(why);
                CommandEnd::TimedOut
            }
            WatchEnd::Cancelled => {
                self.end_tree();
                CommandEnd::Cancelled
            }
            WatchEnd::EngineGone => {
                self.end_tree();
                CommandEnd::Orphaned
            }
        };
        self.drain();
        self.sources.sink.finish();
        for note in self.sources.held.carry_over() {
            self.sources.sink.add_note(note);
        }
        if let Some(note) = self.about_git() {
            self.sources.sink.add_note(note);
        }
        let sink = &self.sources.sink;
        let duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ending = CommandEnding {
            end,
            output: sink.render(),
            bytes: sink.total_bytes(),
            duration_ms,
            refused: self.describe_refusals(),
        };
        WatchResult { ending, engine_gone, held: self.sources.held }
    }

    /// What nothing that a call may name would give, with the way out that there is.
    fn about_git(&self) -> Option<String> {
        let confine = &self.request.confine;
        if confine.tier == Tier::None || confine.writable.is_empty() {
            return None;
        }
        let said = self.sources.sink.render();
        let closed = confine.protected.iter().any(|path| path.ends_with(".git"));
        describe_wall(&said, closed)
    }

    /// Only a confined command is refused anything by us.
    fn describe_refusals(&self) -> Vec<String> {
        if self.request.confine.tier == Tier::None {
            return Vec::new();
        }
        let cwd = std::env::current_dir().unwrap_or_default();
        let output = self.sources.sink.render();
        let mut refused = path_hints(&output, &cwd);
        // No name opens them.
        refused.retain(|hint| !hint.contains("/.git/") && !hint.ends_with("/.git"));
        if self.request.confine.hosts.is_empty() {
            refused.extend(host_hints(&output));
        }
        refused
    }

    fn until_over(&mut self) -> WatchEnd {
        loop {
            let (deadline, why) = self.nearest_deadline();
            let ready = self.wait_for_events(
                deadline,
                ReadySources { control: true, output: true, children: true },
            );
            // The engine first: a command that floods its output must not drown a cancel.
            if ready.control
                && let Some(over) = self.heed_engine()
            {
                return over;
            }
            if ready.children {
                let children = self.sources.reaper.current_children();
                match children.shell {
                    // A job lasts until its last process: `./server start` may detach.
                    Some(end) if !self.request.background || children.all_gone => {
                        return WatchEnd::Ended(end);
                    }
                    _ => {}
                }
            }
            if ready.output {
                self.pump_output();
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let (still, _) = self.nearest_deadline();
                if still.is_some_and(|still| Instant::now() >= still) {
                    return WatchEnd::OutOfTime(why);
                }
            }
        }
    }

    /// The nearest limit and what to say when it is reached. `None` for one beyond all clocks.
    fn nearest_deadline(&self) -> (Option<Instant>, String) {
        let wall_ms = self.request.timeout_ms;
        let wall = self.began.checked_add(Duration::from_millis(wall_ms));
        let idle_ms = self.request.limits.idle_ms;
        let idle = idle_ms.and_then(|ms| self.last_output.checked_add(Duration::from_millis(ms)));
        match (wall, idle) {
            (Some(wall), Some(idle)) if idle < wall => (Some(idle), idle_note(idle_ms)),
            (None, Some(idle)) => (Some(idle), idle_note(idle_ms)),
            (wall, _) => (wall, format!("ended after {wall_ms} ms, its limit of time")),
        }
    }

    fn heed_engine(&mut self) -> Option<WatchEnd> {
        let mut bytes = [0; 64];
        match (&mut &*self.control).read(&mut bytes) {
            Ok(0) => Some(WatchEnd::EngineGone),
            Ok(count) if bytes[..count].contains(&CANCEL) => Some(WatchEnd::Cancelled),
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(_) => Some(WatchEnd::EngineGone),
        }
    }

    /// The shell ended. Whatever else of a foreground command lives gets a moment to finish
    /// writing, and is ended then.
    fn clear_up_after_shell(&mut self) {
        let mut until = Instant::now() + DRAIN_GRACE;
        let mut closed = false;
        while !self.sources.reaper.current_children().all_gone {
            // Who closed the output is ending: a moment is enough to see it gone.
            if !self.output_open && !std::mem::replace(&mut closed, true) {
                until = until.min(Instant::now() + EXIT_GRACE);
            }
            if Instant::now() >= until {
                break;
            }
            let output = self.output_open;
            let ready = self.wait_for_events(
                Some(until),
                ReadySources { control: false, output, children: true },
            );
            if ready.output {
                self.pump_output();
            }
        }
        if self.sources.reaper.current_children().all_gone {
            return;
        }
        let left = self.end_tree();
        if left > 0 {
            self.sources.sink.add_note(format!(
                "{left} process(es) that outlived the command were ended; run what must go on in \
                 the background as a job"
            ));
        }
    }

    /// Ends every descendant: asked first, then killed. Says how many there were.
    fn end_tree(&mut self) -> usize {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let mut count = 0;
        // What only stands for the command ends with it, and must not end before it.
        let frame = self.sources.reaper.frame_pid();
        let is_frame = |process: &ProcessEntry| {
            frame.is_some_and(|frame| process.pid == frame || process.parent == frame)
        };
        let mut found = descendants_of(own);
        found.retain(|process| process.is_alive() && !is_frame(process));
        for process in &found {
            count += 1;
            process.signal(Signal::TERM);
            // What is stopped cannot hear.
            process.signal(Signal::CONT);
        }
        if self.gone_within(TERM_GRACE) {
            return count;
        }
        let until = Instant::now() + KILL_PATIENCE;
        while Instant::now() < until {
            freeze_and_kill(|| descendants_of(own));
            if self.gone_within(KILL_ROUND) {
                return count;
            }
        }
        let left = descendants_of(own).len();
        self.sources
            .sink
            .add_note(format!("{left} process(es) could not be ended: the kernel keeps them"));
        count
    }

    /// Waits for the last descendant, taking output meanwhile so that nobody waits for room.
    fn gone_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            if self.sources.reaper.current_children().all_gone {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            let ready = self.wait_for_events(
                Some(until),
                ReadySources { control: false, output: true, children: true },
            );
            if ready.output {
                self.pump_output();
            }
        }
    }

    /// Takes what is still in the pipe. Bounded: someone outside the tree may hold it and go on.
    fn drain(&mut self) {
        const ROUNDS_MAX: usize = 64;
        for _ in 0..ROUNDS_MAX {
            let now = Some(Instant::now());
            if !self
                .wait_for_events(
                    now,
                    ReadySources { control: false, output: true, children: false },
                )
                .output
            {
                return;
            }
            self.pump_output();
        }
    }

    /// Takes one piece of output; there must be some, or its end.
    fn pump_output(&mut self) {
        let mut bytes = [0; 64 << 10];
        match rustix::io::read(&self.sources.output, &mut bytes) {
            Ok(0) => self.output_open = false,
            Ok(count) => {
                self.last_output = Instant::now();
                self.sources.sink.push(&bytes[..count]);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => self.output_open = false,
        }
    }

    /// Waits for any of `wanted`, at most until `deadline`.
    fn wait_for_events(&self, deadline: Option<Instant>, wanted: ReadySources) -> ReadySources {
        // Output that ended would be ready for ever, and so would an engine that is gone: what is
        // not wanted is left out, because a mask does not hide the end of a stream.
        let mut fds = Vec::with_capacity(3);
        if wanted.children {
            fds.push(PollFd::from_borrowed_fd(
                self.sources.reaper.change_descriptor(),
                PollFlags::IN,
            ));
        }
        if wanted.control {
            fds.push(PollFd::new(self.control, PollFlags::IN));
        }
        if wanted.output && self.output_open {
            fds.push(PollFd::new(&self.sources.output, PollFlags::IN));
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        if rustix::event::poll(&mut fds, timeout.as_ref()).is_err() {
            return ReadySources::default();
        }
        let mut hits = fds.iter().map(|fd| !fd.revents().is_empty());
        let mut hit = |asked: bool| asked && hits.next().unwrap_or(false);
        ReadySources {
            children: hit(wanted.children),
            control: hit(wanted.control),
            output: hit(wanted.output && self.output_open),
        }
    }
}

fn idle_note(idle_ms: Option<u64>) -> String {
    format!("ended because it wrote nothing for {} ms", idle_ms.unwrap_or_default())
}
