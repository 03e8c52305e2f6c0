//! The parent: starts a child for each script, answers what it asks for, ends it in time. Nothing of
//! what comes back is trusted. Not here: what the child does.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use async_trait::async_trait;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{
    HostCall, ProgramHost, ProgramStep, ProgramTask, ScriptHost, ScriptTask, Scripts,
};

use crate::child::{LIMITS, NOT_CONFINED, SCRIPT};
use crate::wire::{FromChild, HostAnswer, LINE_BYTES_MAX, RESULT_BYTES_MAX, ScriptRequest};

/// Children at once.
const CHILDREN_MAX: usize = 4;
/// Programs at once. They have places of their own: a program waits for persons, and its steps may be
/// scripts.
const PROGRAMS_MAX: usize = 32;
/// Most wishes of one script.
const CALLS_MAX: u32 = 500;
/// Most bytes of progress that one script shows; the rest is left out.
const LOG_BYTES_MAX: usize = 64 << 10;
/// Longest answer to a wish.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Longest arguments of a step: they are journaled.
const STEP_BYTES_MAX: usize = 1 << 20;

const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGXCPU: i32 = 24;

/// Runs each script in a child process.
#[derive(Debug)]
pub struct ChildScripts {
    program: PathBuf,
    arguments: Vec<OsString>,
    places: Semaphore,
    program_places: Semaphore,
}

impl ChildScripts {
    /// Children that are `program`, started as [`SCRIPT`].
    pub fn new(program: PathBuf) -> ChildScripts {
        ChildScripts::with_arguments(program, vec![SCRIPT.into()])
    }

    /// Children that are `program` with these arguments.
    pub fn with_arguments(program: PathBuf, arguments: Vec<OsString>) -> ChildScripts {
        let (places, program_places) = (Semaphore::new(CHILDREN_MAX), Semaphore::new(PROGRAMS_MAX));
        ChildScripts { program, arguments, places, program_places }
    }

    fn start_child(&self) -> std::io::Result<Child> {
        Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
    }
}

impl ChildScripts {
    /// Starts a child for `ask` and answers it until it says how it ended.
    async fn run_child(&self, ask: ScriptRequest, host: ChildHost<'_>) -> Result<String, String> {
        let mut child =
            self.start_child().map_err(|why| format!("its process cannot be started: {why}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("its process has no pipes".to_string());
        };
        let output = BufReader::new(output);
        let mut talk = ChildConnection { input, output, host, calls: 0, log_left: LOG_BYTES_MAX };
        let said = talk.until_end(&ask).await;
        drop(talk);
        match said? {
            Some(end) => end,
            None => match child.wait().await {
                Ok(status) => Err(describe_exit(status)),
                Err(error) => Err(format!("its process was lost: {error}")),
            },
        }
    }
}

#[async_trait]
impl Scripts for ChildScripts {
    async fn run(
        &self,
        script: ScriptTask,
        host: &dyn ScriptHost,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let time = script.time;
        let work = async {
            let gone = "the program is ending";
            let _place = self.places.acquire().await.map_err(|_| gone.to_string())?;
            let script = ScriptRequest::from(script);
            self.run_child(script, ChildHost::Script(host)).await
        };
        // Leaving drops the child, which kills it.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("it was ended because the call was cancelled".into()),
            done = tokio::time::timeout(time, work) => done.unwrap_or_else(|_| {
                Err(format!("it took longer than {} s and was ended", time.as_secs()))
            }),
        }
    }

    async fn run_program(
        &self,
        program: ProgramTask,
        host: &dyn ProgramHost,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let work = async {
            let gone = |_| "the program is ending".to_string();
            let _place = self.program_places.acquire().await.map_err(gone)?;
            let program = ScriptRequest::from(program);
            self.run_child(program, ChildHost::Program(host)).await
        };
        // Leaving drops the child, which kills it.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err("it was ended because the call was cancelled".into()),
            done = work => done,
        }
    }
}

/// What answers a child.
#[derive(Clone, Copy)]
enum ChildHost<'a> {
    Script(&'a dyn ScriptHost),
    Program(&'a dyn ProgramHost),
}

impl ChildHost<'_> {
    fn log(&self, text: &str) {
        match self {
            ChildHost::Script(host) => host.log(text),
            ChildHost::Program(host) => host.log(text),
        }
    }
}

/// The conversation with one child.
struct ChildConnection<'a> {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    host: ChildHost<'a>,
    calls: u32,
    log_left: usize,
}

impl ChildConnection<'_> {
    /// Goes on until the child says how it ended; `None`: it ended without a word.
    async fn until_end(
        &mut self,
        ask: &ScriptRequest,
    ) -> Result<Option<Result<String, String>>, String> {
        // A child that ended already says by its status why.
        if self.send_line(ask).await.is_err() {
            return Ok(None);
        }
        loop {
            let Some(line) = self.next_message().await? else { return Ok(None) };
            match line {
                FromChild::Log(text) => {
                    let fits = text.len() <= self.log_left;
                    self.log_left = self.log_left.saturating_sub(text.len());
                    if fits {
                        self.host.log(&text);
                    }
                }
                FromChild::Call { id, tool, input, whole } => {
                    let call = HostCall { tool, input, whole };
                    let result = self.host_result(call).await?;
                    if self.send_line(&HostAnswer { id, result }).await.is_err() {
                        return Ok(None);
                    }
                }
                FromChild::Step { number, tool, input } => {
                    self.propose_step(ProgramStep { number, tool, input }).await?;
                }
                FromChild::Stalled => {
                    let ChildHost::Program(host) = self.host else { return Err(NO_ANSWER.into()) };
                    let answer = host.next_answer().await?;
                    let (id, result) = (answer.number.into(), bounded_answer(answer.result));
                    if self.send_line(&HostAnswer { id, result }).await.is_err() {
                        return Ok(None);
                    }
                }
                FromChild::Ok(text) if text.len() > RESULT_BYTES_MAX => {
                    return Err(format!("it returned more than {RESULT_BYTES_MAX} bytes"));
                }
                FromChild::Ok(text) => return Ok(Some(Ok(text))),
                FromChild::Error(why) => return Ok(Some(Err(why))),
            }
        }
    }

    async fn host_result(&mut self, call: HostCall) -> Result<Result<String, String>, String> {
        let ChildHost::Script(host) = self.host else { return Err(NO_ANSWER.into()) };
        self.calls += 1;
        if self.calls > CALLS_MAX {
            return Err(format!("it asked for more than {CALLS_MAX} things; make it ask for less"));
        }
        Ok(bounded_answer(host.call_host(call).await))
    }

    async fn propose_step(&self, step: ProgramStep) -> Result<(), String> {
        let ChildHost::Program(host) = self.host else { return Err(NO_ANSWER.into()) };
        let bytes = step.input.to_string().len();
        if bytes > STEP_BYTES_MAX {
            return Err(format!(
                "the arguments of step {} ({}) have {bytes} bytes, at most {STEP_BYTES_MAX}",
                step.number, step.tool
            ));
        }
        host.propose_step(step).await
    }

    async fn send_line(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.input.write_all(&line).await?;
        self.input.flush().await
    }

    /// The next line; `None`: there is none.
    async fn next_message(&mut self) -> Result<Option<FromChild>, String> {
        let mut line = Vec::new();
        let bound = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let mut bounded = (&mut self.output).take(bound);
        let read = bounded.read_until(b'\n', &mut line).await;
        read.map_err(|why| format!("its process was lost: {why}"))?;
        if line.pop() != Some(b'\n') {
            let whole = line.len() + 1 < LINE_BYTES_MAX;
            return if whole {
                Ok(None)
            } else {
                Err(format!("it sent a line of more than {LINE_BYTES_MAX} bytes"))
            };
        }
        let said = serde_json::from_slice(&line);
        said.map(Some).map_err(|_| NO_ANSWER.into())
    }
}

const NO_ANSWER: &str = "its process said something that is no answer";

/// An answer that fits the pipe, or the sentence that it does not.
fn bounded_answer(result: Result<String, String>) -> Result<String, String> {
    result.and_then(|text| match text.len() {
        n if n > ANSWER_BYTES_MAX => {
            Err(format!("the answer has {n} bytes, at most {ANSWER_BYTES_MAX}; ask for less"))
        }
        _ => Ok(text),
    })
}

/// Why a child ended without a word.
fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) if code == i32::from(NOT_CONFINED) => {
            "this system cannot confine its process (seccomp is needed), and unconfined it is not \
             run"
            .into()
        }
        (_, Some(SIGXCPU | SIGKILL)) => format!(
            "it computed for more than {} s and was ended; make it do less",
            LIMITS.cpu_seconds
        ),
        (_, Some(SIGABRT | SIGSEGV)) => "it used up its memory or stack and was ended".into(),
        _ => "its process ended without an answer".into(),
    }
}
