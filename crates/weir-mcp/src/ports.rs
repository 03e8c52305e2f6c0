//! What the client needs from outside: a way to start a server's process, a place for tokens,
//! somebody to ask. Not here: any implementation.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use weir_core::model::Usage;
use weir_engine::ports::{CallBounds, Clock, PersonPrompter};

use crate::spec::ServerSpec;

/// What the servers of a session share.
#[derive(Clone)]
pub struct McpOptions {
    /// The time, and randomness for back-off.
    pub clock: Arc<dyn Clock>,
    /// Starts processes of servers.
    pub launcher: Arc<dyn ServerLauncher>,
    /// Keeps what was signed in with.
    pub tokens: Arc<dyn TokenStore>,
    /// What servers are told to work on: the folders of the workspace, nothing else.
    pub roots: Vec<PathBuf>,
    /// Brings a person to the page where they sign in; none: a server that wants that is told about
    /// and not used.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// Asks the person what a server wants to know; none: every such question is declined.
    pub elicit: Option<Arc<dyn ElicitationHandler>>,
    /// Answers questions of servers that may ask the model; none: every one is declined.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Version of this program.
    pub version: String,
}

/// Starts the process of a server, confined as its declaration says.
#[async_trait]
pub trait ServerLauncher: Send + Sync {
    /// Starts it. It gets the variables of its declaration, a search path, a language and a home of
    /// its own, and nothing else.
    ///
    /// # Errors
    /// Why it was not started, for people and the model.
    async fn launch(&self, spec: &ServerSpec) -> Result<LaunchedProcess, String>;
}

/// A process that was started.
pub struct LaunchedProcess {
    /// Standard input of the server.
    pub input: Box<dyn AsyncWrite + Send + Sync + Unpin>,
    /// Standard output of the server.
    pub output: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// The process. It and all that it started end when this is dropped.
    pub child: Box<dyn ServerProcess>,
}

/// A server's process.
#[async_trait]
pub trait ServerProcess: Send + Sync {
    /// The end of what it wrote to standard error.
    async fn stderr_tail(&self) -> String;
    /// Ends it and waits until nothing of it is left.
    async fn end_process(self: Box<Self>);
}

/// Keeps what was signed in with, by server. Nothing else may be able to read it.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// What is kept for this server.
    ///
    /// # Errors
    /// It cannot be read.
    async fn load(&self, server: &str) -> Result<Option<String>, String>;
    /// Keeps it, or forgets it.
    ///
    /// # Errors
    /// It cannot be written.
    async fn save(&self, server: &str, text: Option<&str>) -> Result<(), String>;
}

/// Brings a person to a page.
#[async_trait]
pub trait Authorizer: Send + Sync {
    /// Shows or opens `url`, where a person signs in at `server`. Returns at once; the answer comes
    /// by another way.
    ///
    /// # Errors
    /// Nobody can be brought there.
    async fn open_page(&self, server: &str, url: &str) -> Result<(), String>;
}

/// A question of a server to the person.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Which server. Its name here, not what it calls itself.
    pub server: String,
    /// Its words: foreign.
    pub message: String,
    /// The form: a schema of an object of plain values. None: it wants a page to be opened.
    pub form: Option<Value>,
    /// The page that it wants to be opened.
    pub url: Option<String>,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationOutcome {
    /// The person filled it in.
    Accepted(Value),
    /// The person does not want to, or nobody can be asked.
    Declined,
    /// The person closed it without an answer.
    Cancelled,
}

/// Asks the person what a server wants to know.
#[async_trait]
pub trait ElicitationHandler: Send + Sync {
    /// Puts the question to `person`, marked as the server's; none: it belongs to no call of a
    /// session. Must end: nobody there is [`ElicitationOutcome::Declined`].
    async fn ask_person(
        &self,
        question: Elicitation,
        person: Option<Arc<dyn PersonPrompter>>,
    ) -> ElicitationOutcome;
}

/// A question of a server to the model: the input of the call that it becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingRequest {
    /// What it wants the model to be told first: foreign.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The conversation, foreign.
    pub messages: Vec<SamplingTurn>,
    /// Most tokens of the answer.
    pub tokens_max: u32,
}

impl SamplingRequest {
    /// As arguments of a call.
    pub(crate) fn to_input(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A message of such a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingTurn {
    /// Whose words it is meant to be.
    pub role: SamplingRole,
    /// The words.
    pub text: String,
}

/// A side of such a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplingRole {
    /// Who asks.
    User,
    /// The model.
    Assistant,
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingResult {
    /// The reply as text.
    pub text: String,
    /// Tokens that the answer used.
    pub usage: Usage,
    /// What that cost, where the price is known.
    pub cost_usd: Option<f64>,
}

/// Why there is no answer of the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SamplingFailure {
    /// The reason, for people.
    pub why: String,
    /// Tokens that were used all the same, and what they cost where the price is known; none: nothing that is
    /// charged for.
    pub used: Option<(Usage, Option<f64>)>,
}

/// Answers questions of servers with a model: without tools, without history, bounded. Called for a call that
/// the gate of its session let pass, and for nothing else.
#[async_trait]
pub trait Sampler: Send + Sync {
    /// Name of the model that answers, as `provider/name`.
    fn model_name(&self) -> String;

    /// Asks for `server` under these bounds, which are those of the call.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn sample(
        &self,
        server: &str,
        question: SamplingRequest,
        bounds: Arc<dyn CallBounds>,
    ) -> Result<SamplingResult, SamplingFailure>;
}
