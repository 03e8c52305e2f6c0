//! A program that runs while a test goes on: what it prints is read as it comes, so that no pipe ever
//! fills, and it ends with the test at the latest.

use std::io::{Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::installation::CommandOutput;
use crate::wait::PATIENCE;

/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A program under way. Dropping it ends it.
pub struct RunningProgram {
    child: Child,
    input: Option<ChildStdin>,
    printed: Arc<Mutex<PrintedBytes>>,
    readers: Vec<JoinHandle<()>>,
}

/// What was printed until now.
#[derive(Default)]
struct PrintedBytes {
    /// On both, in the order in which it was read.
    both: Vec<u8>,
    out: Vec<u8>,
    err: Vec<u8>,
}

#[derive(Clone, Copy)]
enum OutputPipe {
    Out,
    Err,
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.input = None;
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningProgram {
    /// Starts it with what the command says of its standard input.
    pub fn start(mut command: Command) -> RunningProgram {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = command.get_program().to_owned();
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("{} starts: {error}", name.display()));
        let printed: Arc<Mutex<PrintedBytes>> = Arc::default();
        let out = child.stdout.take().expect("it was piped");
        let err = child.stderr.take().expect("it was piped");
        let readers = vec![
            read_pipe(out, OutputPipe::Out, printed.clone()),
            read_pipe(err, OutputPipe::Err, printed.clone()),
        ];
        let input = child.stdin.take();
        RunningProgram { child, input, printed, readers }
    }

    /// Starts it so that something can be typed.
    pub fn start_with_input(mut command: Command) -> RunningProgram {
        command.stdin(Stdio::piped());
        RunningProgram::start(command)
    }

    fn printed(&self) -> MutexGuard<'_, PrintedBytes> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it printed until now, on standard output and standard error.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed().both).into_owned()
    }

    /// What it printed on standard output until now.
    pub fn output_text(&self) -> String {
        String::from_utf8_lossy(&self.printed().out).into_owned()
    }

    /// What it printed on standard error until now.
    pub fn error_text(&self) -> String {
        String::from_utf8_lossy(&self.printed().err).into_owned()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types this as it is.
    pub fn type_text(&mut self, text: &str) {
        let input = self.input.as_mut().expect("something can be typed");
        input.write_all(text.as_bytes()).expect("it reads");
        input.flush().expect("it reads");
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        self.type_text(&format!("{line}\n"));
    }

    /// Sends it a signal as `kill` names it: `-TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.pid().to_string()]).status();
        assert!(sent.expect("the machine has kill").success(), "the signal {name} was sent");
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Its exit status, if it has ended; -1 where a signal ended it.
    pub fn exit_status(&mut self) -> Option<i32> {
        let status = self.child.try_wait().expect("it can be waited for")?;
        Some(status.code().unwrap_or(-1))
    }

    /// Waits until it has printed these words so many times.
    pub fn wait_for(&mut self, words: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        while !self.has_printed(words, times, until) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The same, while other tasks of the test go on.
    pub async fn until(&mut self, words: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        while !self.has_printed(words, times, until) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn has_printed(&mut self, words: &str, times: usize, until: Instant) -> bool {
        // Looked at first: what was printed before the end has then been read.
        let all_read = self.has_read_all();
        let there = self.text().matches(words).count() >= times;
        assert!(there || !all_read, "it ended before {words:?}: {}", self.text());
        assert!(there || Instant::now() < until, "no {words:?} in: {}", self.text());
        there
    }

    /// Whether it has ended, and everything it printed was read.
    fn has_read_all(&mut self) -> bool {
        self.exit_status().is_some() && self.readers.iter().all(JoinHandle::is_finished)
    }

    /// Waits until what it printed ends with this: a terminal shows what was typed.
    pub fn wait_for_end_of_text(&self, words: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.text().ends_with(words) {
            assert!(Instant::now() < until, "{words} is not shown:\n{}", self.text());
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The first whole line with these words on standard error; waits for it.
    pub fn wait_for_error_line(&mut self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let all_read = self.has_read_all();
            let text = self.error_text();
            let lines = text.split_inclusive('\n').filter(|line| all_read || line.ends_with('\n'));
            if let Some(line) = lines.map(str::trim_end).find(|line| line.contains(words)) {
                return line.to_owned();
            }
            let goes_on = !all_read && Instant::now() < until;
            assert!(goes_on, "no line with {words:?} on standard error: {text}");
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Waits until it ends, and tells how. What reads standard input has it open until then.
    pub fn wait_for_end(mut self) -> CommandOutput {
        let until = Instant::now() + PATIENCE;
        while !self.has_ended(until) {
            std::thread::sleep(LOOK_AGAIN);
        }
        self.output()
    }

    /// Nothing more is typed: closes standard input and waits until it ends, while other tasks of the
    /// test go on.
    pub async fn close_input_until_end(mut self) -> CommandOutput {
        self.input = None;
        let until = Instant::now() + PATIENCE;
        while !self.has_ended(until) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.output()
    }

    fn has_ended(&mut self, until: Instant) -> bool {
        let ended = self.exit_status().is_some();
        assert!(ended || Instant::now() < until, "it does not end: {}", self.text());
        ended
    }

    fn output(&mut self) -> CommandOutput {
        for reader in self.readers.drain(..) {
            reader.join().expect("it reads to the end");
        }
        let status = self.exit_status().expect("it has ended");
        let printed = self.printed();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        CommandOutput { status, out: text(&printed.out), err: text(&printed.err) }
    }
}

fn read_pipe(
    mut pipe: impl Read + Send + 'static,
    which: OutputPipe,
    printed: Arc<Mutex<PrintedBytes>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(bytes @ 1..) = pipe.read(&mut part) {
            let part = &part[..bytes];
            let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
            printed.both.extend_from_slice(part);
            match which {
                OutputPipe::Out => printed.out.extend_from_slice(part),
                OutputPipe::Err => printed.err.extend_from_slice(part),
            }
        }
    })
}
