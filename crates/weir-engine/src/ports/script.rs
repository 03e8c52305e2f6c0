//! Running JavaScript that somebody wrote for the agent (T5). Not here: what it may touch, which the
//! tool that runs it sees to.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Code, and how it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptTask {
    /// Kind of the script.
    pub kind: ScriptKind,
    /// JavaScript.
    pub code: String,
    /// The value that the script gets as its input.
    pub input: Value,
    /// Wall time that it has, with everything that it asks for.
    pub time: Duration,
}

/// How code is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptKind {
    /// Looks whether it is a module that exports `run`, with nothing to call.
    Check,
    /// Calls `run(input, host)` of a module.
    Module,
    /// Gives the value of an expression or short script, with nothing to call.
    Expression,
}

/// Something that a script wants done outside itself.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// By which tool.
    pub tool: String,
    /// With which arguments.
    pub input: Value,
    /// It wants a file as it is, not a page of it.
    pub whole: bool,
}

/// What answers a script. Called one after the other, never at once.
#[async_trait]
pub trait ScriptHost: Send + Sync {
    /// Does it; the answer is text.
    ///
    /// # Errors
    /// Why not: the script gets it as an exception.
    async fn call_host(&self, call: HostCall) -> Result<String, String>;
    /// Shows how far the script is.
    fn log(&self, text: &str);
}

/// A program: JavaScript that works by tools, each of which is a function that gives a promise (U7).
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramTask {
    /// The body of an async function.
    pub code: String,
    /// Names of the tools that are functions.
    pub tools: Vec<String>,
    /// The moment that every clock of the program shows, in milliseconds since 1970 (UTC): the same
    /// when it is run again after a crash.
    pub now_ms: u64,
    /// What its random numbers are made from: the same, too.
    pub seed: u64,
}

/// A call that a program wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramStep {
    /// Number of the step in its program, counted from 1, in the order in which it asked.
    pub number: u32,
    /// By which tool.
    pub tool: String,
    /// With which arguments.
    pub input: Value,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq)]
pub struct StepAnswer {
    /// Number of the step in its program.
    pub number: u32,
    /// What the tool gave as text, or why there is nothing: the program gets it as an exception.
    pub result: Result<String, String>,
}

/// What makes the steps of a program. A program asks for whatever it can, and then waits: so that it
/// goes the same way again, it hears of one step at a time, in an order that a journal keeps.
#[async_trait]
pub trait ProgramHost: Send + Sync {
    /// Takes a step on; its answer comes later.
    ///
    /// # Errors
    /// The program is ended: why.
    async fn propose_step(&self, step: ProgramStep) -> Result<(), String>;
    /// Waits for the next answer to any step that was taken on. Called only while one is open.
    ///
    /// # Errors
    /// The program is ended: why.
    async fn next_answer(&self) -> Result<StepAnswer, String>;
    /// Shows how far the program is.
    fn log(&self, text: &str);
}

/// What a tool that runs a program is given: who makes its steps, and what it is run with.
#[derive(Clone)]
pub struct ProgramAccess {
    /// Makes its steps.
    pub host: Arc<dyn ProgramHost>,
    /// Names of the tools that it may use.
    pub tools: Vec<String>,
    /// When its call began, in milliseconds since 1970 (UTC).
    pub now_ms: u64,
    /// What its random numbers are made from.
    pub seed: u64,
}

impl ProgramAccess {
    /// Nothing that runs here is a program.
    pub fn none() -> ProgramAccess {
        ProgramAccess { host: Arc::new(NoSteps), tools: Vec::new(), now_ms: 0, seed: 0 }
    }
}

/// No step is made.
struct NoSteps;

#[async_trait]
impl ProgramHost for NoSteps {
    async fn propose_step(&self, step: ProgramStep) -> Result<(), String> {
        Err(format!("{} cannot be used from here", step.tool))
    }
    async fn next_answer(&self) -> Result<StepAnswer, String> {
        Err("no step can be made from here".into())
    }
    fn log(&self, _: &str) {}
}

/// Runs scripts, each apart from everything: no files, network, programs, environment.
#[async_trait]
pub trait Scripts: Send + Sync {
    /// Runs one to its end; whatever the code does, this returns soon after its time is over or
    /// `cancel` fires. Gives what it returned, as text.
    ///
    /// # Errors
    /// A sentence for the model: what went wrong, and where.
    async fn run(
        &self,
        script: ScriptTask,
        host: &dyn ScriptHost,
        cancel: &CancellationToken,
    ) -> Result<String, String>;

    /// Runs a program to its end: until what it returned is there and every step that it asked for is
    /// answered. Its own computing is bounded; what it waits for is not, so the caller ends it by
    /// `cancel`. Gives what it returned, as text.
    ///
    /// # Errors
    /// A sentence for the model: what went wrong, and where.
    async fn run_program(
        &self,
        program: ProgramTask,
        host: &dyn ProgramHost,
        cancel: &CancellationToken,
    ) -> Result<String, String>;
}

/// A host that has nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

#[async_trait]
impl ScriptHost for NoHost {
    async fn call_host(&self, call: HostCall) -> Result<String, String> {
        Err(format!("{} cannot be used from here", call.tool))
    }
    fn log(&self, _: &str) {}
}

/// Nothing here runs scripts.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoScripts;

#[async_trait]
impl Scripts for NoScripts {
    async fn run(
        &self,
        _: ScriptTask,
        _: &dyn ScriptHost,
        _: &CancellationToken,
    ) -> Result<String, String> {
        Err("nothing here can run JavaScript".into())
    }

    async fn run_program(
        &self,
        _: ProgramTask,
        _: &dyn ProgramHost,
        _: &CancellationToken,
    ) -> Result<String, String> {
        Err("nothing here can run JavaScript".into())
    }
}
