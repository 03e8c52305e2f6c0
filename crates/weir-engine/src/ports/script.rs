//! Running JavaScript that somebody wrote for the agent (T5). Not here: what it may touch, which the
//! tool that runs it sees to.

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
}
