//! What a server needs of the program around it. Implemented where concrete parts meet (`weir`).

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use weir_core::governance::rules::Rule;
use weir_core::ids::SessionId;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::ScheduledAgent;
use weir_core::session::SessionConfig;
use weir_engine::engine::{Engine, SessionOptions};
use weir_engine::ports::{Clock, Observer, Records, Store};
use weir_engine::workspace::Workspace;

use crate::people::{Person, PersonId};

mod agents;
mod care;
mod library;
mod mail;
mod models;
mod prompts;
mod sessions;
mod settings;

pub use agents::*;
pub use care::*;
pub use library::*;
pub use mail::*;
pub use models::*;
pub use prompts::*;
pub use sessions::*;
pub use settings::*;

/// Something could not be done for a person.
#[derive(Debug, thiserror::Error)]
pub enum HouseError {
    /// What was asked for cannot be: a sentence that says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0} does not exist")]
    Missing(String),
    /// It failed here: a program, a file.
    #[error("{0}")]
    Failed(String),
    /// The store refused: disk or database.
    #[error(transparent)]
    Store(#[from] weir_engine::ports::StoreError),
}

/// The program around a server.
#[async_trait]
pub trait House: Send + Sync {
    /// Everything of one person. The same one each time, as long as it is in use; made when it is
    /// first asked for.
    ///
    /// # Errors
    /// Their store or folder cannot be opened.
    async fn home(&self, person: &Person) -> Result<Arc<dyn Home>, HouseError>;
    /// What is kept of a person is removed: sessions, files of Weir's own, folder (D9). Their
    /// entries in [`Records`] are the caller's.
    ///
    /// # Errors
    /// Something could not be removed; the rest is gone.
    async fn remove_home(&self, person: &Person) -> Result<(), HouseError>;
    /// What the server keeps beside sessions.
    fn records(&self) -> Arc<dyn Records>;
    /// The time.
    fn clock(&self) -> Arc<dyn Clock>;
    /// Version of the program.
    fn version(&self) -> &str;
    /// `observer` is told of every fact that becomes durable here from now on.
    fn observe(&self, observer: Arc<dyn Observer>);
    /// Health of the installation, backups.
    fn care(&self) -> &dyn Care;
    /// Mail servers.
    fn mail(&self) -> &dyn MailDesk;
    /// The key by which secrets in the database are sealed. It lies outside the database (Z7).
    ///
    /// # Errors
    /// Its file cannot be read or made.
    fn seal_key(&self) -> Result<[u8; 32], HouseError>;
}

/// In which surroundings a session runs (T3, S9): they narrow its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionContext {
    /// A person sits before it.
    #[default]
    Interactive,
    /// A schedule began it.
    Scheduled,
    /// Something from outside began it (a mail): only tools that were named for it.
    Injected,
}

/// What a person wants of one session; what is `None` follows from their settings.
#[derive(Debug, Clone, Default)]
pub struct SessionWish {
    /// Its folder: absolute, or relative to the person's own.
    pub workspace: Option<String>,
    /// `provider/name`.
    pub model: Option<String>,
    /// Name of a profile.
    pub profile: Option<String>,
    /// Permission mode.
    pub permission: Option<PermissionMode>,
    /// How much the model thinks.
    pub thinking: Option<Thinking>,
    /// Its surroundings.
    pub context: SessionContext,
    /// These tools and no others; `None`: those of the profile.
    pub only_tools: Option<Vec<String>>,
    /// Most US dollars that a run may cost.
    pub budget_usd: Option<f64>,
    /// Most calls of tools in a run.
    pub max_tool_calls: Option<u32>,
    /// It is a run of this scheduled agent: what the wish does not say follows from it.
    pub agent: Option<Box<ScheduledAgent>>,
}

/// Everything of one person: nothing in it reaches anything of another's.
#[async_trait]
pub trait Home: Send + Sync {
    /// Whose.
    fn person(&self) -> &PersonId;
    /// Their journal and what is kept beside it.
    fn store(&self) -> Arc<dyn Store>;
    /// The engine of their sessions, with the settings as they are now.
    ///
    /// # Errors
    /// The settings cannot be used: a sentence.
    async fn engine(&self) -> Result<Engine, HouseError>;
    /// The settings of a session. `kept`: those that it has, where it exists.
    ///
    /// # Errors
    /// As `weir run` would say it: no model, no such profile, …
    async fn session_options(
        &self,
        wish: &SessionWish,
        kept: Option<&SessionConfig>,
    ) -> Result<SessionOptions, HouseError>;
    /// Keeps rules that they allowed for always in the project in this folder.
    ///
    /// # Errors
    /// They cannot be kept: a sentence.
    async fn keep_rules(&self, folder: &str, rules: &[Rule]) -> Result<(), HouseError>;
    /// The name of a new session.
    fn new_session(&self) -> SessionId;
    /// Their own folder: where sessions work unless another is named.
    fn folder(&self) -> PathBuf;
    /// A guarded folder that they may work in.
    ///
    /// # Errors
    /// It does not exist, or is not theirs.
    fn workspace(&self, folder: Option<&str>) -> Result<Arc<Workspace>, HouseError>;
    /// Settings or files changed: the next session and engine are made of them as they are now.
    fn renew(&self);
    /// Grows whenever settings or files changed, also at another replica: a session that was opened
    /// at an earlier edition is opened anew before its next run.
    ///
    /// # Errors
    /// The database does not answer.
    async fn edition(&self) -> Result<u64, HouseError>;
    /// Skills, recipes, tools, profiles, plugins, foreign servers.
    fn library(&self) -> &dyn Library;
    /// Settings with their origin.
    fn settings(&self) -> &dyn SettingsDesk;
    /// `SOUL.md`, `USER.md` and the like.
    fn prompts(&self) -> &dyn PromptFiles;
    /// Models, providers and their keys.
    fn models(&self) -> &dyn ModelDesk;
    /// Scheduled agents.
    fn agents(&self) -> &dyn AgentDesk;
    /// Sessions beside their engine: taken along, removed, named.
    fn sessions(&self) -> &dyn SessionDesk;
}
