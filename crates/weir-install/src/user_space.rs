//! Everything of one person on a server: their folders, store and engine, their settings and what
//! their agents can use. Nothing in it reaches anything of another's. Not here: who may ask for it
//! (`weir-server`).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use weir_core::governance::lease::AnswerRight;
use weir_core::governance::rules::Rule;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{ScheduledAgent, TOOL_CALLS_DEFAULT};
use weir_core::session::SessionConfig;
use weir_engine::blocking::run_blocking;
use weir_engine::engine::{Engine, SessionOptions};
use weir_engine::host::HostParts;
use weir_engine::ports::{Clock as _, Records, Store};
use weir_engine::workspace::Workspace;

use crate::audit::AuditChainSource;
use crate::config::{ApprovalWay, ClientRoots};
use crate::context::InstallationContext;
use crate::failure::{InstallationError, refused, usage};
use crate::mcp_serving::{ClientAgent, ServeOptions};
use crate::people::{Person, PersonId, Role};
use crate::wiring::{self, SessionOverrides, WallClock};

use self::settings::FileStamp;

mod agents;
mod library;
mod mail;
mod models;
mod prompts;
mod rules;
mod sessions;
mod settings;
mod spending;

pub use agents::{AgentChoices, AgentWish, DefinedAgent, OfferedTool};
pub use library::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, LibraryShelf,
    NewServer, PendingLibraryChange, TextKind,
};
pub use models::{
    DialectChoice, ModelLine, ModelsTold, NewEndpoint, ProviderLine, dialect_choices,
};
pub use prompts::{PromptFile, PromptSection, PromptText, PromptVersion};
pub use rules::{RuleChange, RuleLine, ShownDecision, TrustLine};
pub use settings::{Setting, SettingShape, SettingsChange, SettingsChangeOutcome, SettingsSheet};

/// That the settings of a person were looked at a moment ago ([`UserSpace::look_at_settings`]): all parts with which
/// one session is opened are made of one look.
#[derive(Debug)]
pub struct SettingsLook {
    revision: u64,
}

impl SettingsLook {
    /// Which settings were seen ([`UserSpace::revision`]).
    pub fn revision(&self) -> u64 {
        self.revision
    }
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
pub struct SessionPreferences {
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
    /// Folder and other surroundings of the session.
    pub context: SessionContext,
    /// These tools and no others; `None`: those of the profile.
    pub only_tools: Option<Vec<String>>,
    /// Most US dollars that a run may cost.
    pub budget_usd: Option<f64>,
    /// Most calls of tools in a run.
    pub max_tool_calls: Option<u32>,
    /// It is a run of this scheduled agent: what the wish does not say follows from it.
    pub agent: Option<Box<ScheduledAgent>>,
    /// Whom it may answer once: a mail of theirs started it.
    pub answer: Option<AnswerRight>,
}

/// What a session's holder is called.
pub(super) const LABEL: &str = "weir serve";

/// How long a session of programs that call tools over MCP is kept when nothing is called: after that their
/// person can go on with it.
const MCP_SESSION_REST: Duration = Duration::from_secs(10 * 60);

/// Everything of one person.
pub struct UserSpace {
    /// The program with their folders.
    pub(super) cx: InstallationContext,
    /// Who.
    pub(super) person: Person,
    /// What the server keeps beside sessions.
    pub(super) records: Arc<dyn Records>,
    /// By which secrets in the records are sealed.
    pub(super) seal_key: [u8; 32],
    /// How their audit lines are checked.
    pub(super) chained: AuditChainSource,
    store: Arc<dyn Store>,
    engine: Mutex<Option<Engine>>,
    /// Grows when settings or files changed.
    revision: AtomicU64,
    /// How the files were at the last look.
    files: Mutex<Option<[FileStamp; 2]>>,
}

impl UserSpace {
    /// Everything of `person`.
    pub(super) fn new(
        cx: InstallationContext,
        person: Person,
        records: Arc<dyn Records>,
        chained: AuditChainSource,
        seal_key: [u8; 32],
    ) -> anyhow::Result<UserSpace> {
        let cx = cx.serving_person(&person.name);
        Ok(UserSpace {
            store: cx.session_store()?,
            engine: Mutex::default(),
            revision: AtomicU64::default(),
            files: Mutex::default(),
            records,
            seal_key,
            chained,
            cx,
            person,
        })
    }

    /// The current time, in microseconds since 1970 (UTC).
    pub(super) fn now(&self) -> Timestamp {
        WallClock::default().now()
    }

    /// The program in `folder`, as files and settings are now.
    pub(super) fn at(&self, folder: Option<&str>) -> anyhow::Result<InstallationContext> {
        let own = self.folder();
        let folder = folder.map_or_else(|| own.clone(), |folder| own.join(Path::new(folder)));
        let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
        if !self.person.is_admin() && !folder.starts_with(&own) {
            return Err(usage(format!(
                "{} is not below your folder {}",
                folder.display(),
                own.display()
            )));
        }
        let cx = self.cx.reloaded_in_folder(&folder)?;
        // Looked at again: a link may have been put in its place in between.
        match self.person.is_admin() || cx.folder.starts_with(&own) {
            true => Ok(cx),
            false => Err(usage("the folder changed while it was looked at")),
        }
    }

    /// Hosts that they and everybody may read without asking.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) async fn hosts(&self) -> Result<Vec<String>, InstallationError> {
        crate::lists::allowed_hosts(self.records.as_ref(), &self.person.id, self.now()).await
    }
}

/// The tools of a session in these surroundings (T3): who sits before it has what their profile
/// gives; what runs by itself, or began outside, has what was named for it and nothing else.
fn only_tools(wish: &SessionPreferences) -> Option<Vec<String>> {
    match wish.context {
        SessionContext::Interactive => wish.only_tools.clone(),
        SessionContext::Scheduled | SessionContext::Injected => {
            Some(wish.only_tools.clone().unwrap_or_default())
        }
    }
}

impl UserSpace {
    /// Id of the person whose space it is.
    pub fn person(&self) -> &PersonId {
        &self.person.id
    }

    /// The rights that everything in it was made for.
    pub fn role(&self) -> Role {
        self.person.role
    }

    /// Their journal and what is kept beside it.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Looks at the settings as they are now: what is made of one look is not looked up again on the way.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn look_at_settings(&self) -> Result<SettingsLook, InstallationError> {
        self.look_up_made().await?;
        Ok(SettingsLook { revision: self.revision.load(Ordering::Relaxed) })
    }

    /// The engine of their sessions, with the settings as they are now.
    ///
    /// # Errors
    /// The settings cannot be used: a sentence.
    pub async fn engine(&self) -> Result<Engine, InstallationError> {
        let look = self.look_at_settings().await?;
        self.engine_at(&look).await
    }

    /// The same, once the settings were looked at.
    ///
    /// # Errors
    /// As [`UserSpace::engine`].
    pub async fn engine_at(&self, _look: &SettingsLook) -> Result<Engine, InstallationError> {
        let kept = || self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = kept().clone() {
            return Ok(engine);
        }
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let engine = wiring::engine_on(&cx, LABEL, self.store()).await;
        let engine = engine.map_err(|error| refused(&error))?;
        Ok(kept().get_or_insert(engine).clone())
    }

    /// What brings commands to their sessions. Nothing of it depends on settings: where there is an engine
    /// they are not looked at, and whoever opens a session for a command looks (Q19).
    ///
    /// # Errors
    /// As [`UserSpace::engine`], where none was made yet.
    pub async fn host_parts(&self) -> Result<HostParts, InstallationError> {
        let kept = self.engine.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let engine = match kept {
            Some(engine) => engine,
            None => self.engine().await?,
        };
        Ok(HostParts::of_engine(engine.parts()))
    }

    /// The settings of a session. `kept`: those that it has, where it exists.
    ///
    /// # Errors
    /// As `weir run` would say it: no model, no such profile, …
    pub async fn session_options(
        &self,
        wish: &SessionPreferences,
        kept: Option<&SessionConfig>,
    ) -> Result<SessionOptions, InstallationError> {
        let look = self.look_at_settings().await?;
        self.session_options_at(&look, wish, kept).await
    }

    /// The same, once the settings were looked at. Files of settings are read now.
    ///
    /// # Errors
    /// As [`UserSpace::session_options`].
    pub fn session_options_at<'a>(
        &'a self,
        _look: &'a SettingsLook,
        wish: &'a SessionPreferences,
        kept: Option<&'a SessionConfig>,
    ) -> BoxFuture<'a, Result<SessionOptions, InstallationError>> {
        Box::pin(self.gather_options(wish, kept))
    }

    async fn gather_options(
        &self,
        wish: &SessionPreferences,
        kept: Option<&SessionConfig>,
    ) -> Result<SessionOptions, InstallationError> {
        let of_agent = wish.agent.as_ref().map(|agent| agent.workspace.as_str());
        let folder = wish.workspace.as_deref().or(kept.map(|kept| kept.workspace.as_str()));
        let cx = self.at(folder.or(of_agent)).map_err(|error| refused(&error))?;
        if let Some(agent) = &wish.agent {
            let answer = wish.answer.clone().or_else(|| kept.and_then(|kept| kept.answer.clone()));
            let wishes = self.of_agent(agent, wish, answer).await?;
            let options = wiring::session_options(&cx, &wishes, kept).await;
            return options.map_err(|error| refused(&error));
        }
        if kept.is_none() {
            self.may_bound(&cx, wish).await.map_err(|error| refused(&error))?;
        }
        let wishes = SessionOverrides {
            model: wish.model.clone(),
            profile: wish.profile.clone(),
            permission: wish.permission,
            thinking: wish.thinking,
            max_tool_calls: wish.max_tool_calls,
            tool_calls_default: Some(TOOL_CALLS_DEFAULT),
            budget_usd: wish.budget_usd,
            // One that exists keeps the tools that it was opened with.
            only_tools: if kept.is_some() { wish.only_tools.clone() } else { only_tools(wish) },
            hosts: self.hosts().await?,
            mail: self.mail_wish(None).await?,
            attended: true,
            ..SessionOverrides::default()
        };
        let options = wiring::session_options(&cx, &wishes, kept).await;
        options.map_err(|error| refused(&error))
    }

    /// What a program of theirs calls tools by over MCP: in their own folder, with their settings as they were
    /// looked at.
    ///
    /// # Errors
    /// The settings cannot be used: a sentence.
    pub async fn mcp_agent(&self, _look: &SettingsLook) -> Result<ClientAgent, InstallationError> {
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let config = cx.config().map_err(|error| refused(&error))?;
        let settings = config.settings.mcp_server.clone();
        // Whoever has the token has the program, and is not believed to show a form to anybody.
        let approvals = match config.is_set("mcp_server.approvals") {
            true => settings.approvals,
            false => ApprovalWay::Elsewhere,
        };
        let serving = ServeOptions {
            flags: SessionOverrides { hosts: self.hosts().await?, ..SessionOverrides::default() },
            approvals,
            trust: settings.trust,
            // Which folders are open on another machine says nothing of the folder here.
            roots: ClientRoots::Ignore,
            sampling: settings.sampling,
            label: "weir serve (MCP)",
            rest: Some(MCP_SESSION_REST),
        };
        Box::pin(ClientAgent::start_agent(cx, serving)).await.map_err(|error| refused(&error))
    }

    /// Keeps rules that they allowed for always in the project in this folder.
    ///
    /// # Errors
    /// They cannot be kept: a sentence.
    pub async fn keep_rules(&self, folder: &str, rules: &[Rule]) -> Result<(), InstallationError> {
        let cx = self.at(Some(folder)).map_err(|error| refused(&error))?;
        let rules = rules.to_vec();
        // Another program that changes the file may have to be waited for.
        let keep = move || rules.iter().try_for_each(|rule| cx.keep_allow_rule(rule));
        let kept = run_blocking(keep).await;
        kept.map_err(|error| refused(&error.into()))?.map_err(|error| refused(&error))
    }

    /// The name of a new session.
    pub fn new_session(&self) -> SessionId {
        wiring::new_session_id()
    }

    /// Values that must never reach a model, whoever writes them down.
    ///
    /// # Errors
    /// Settings or keys cannot be read.
    pub fn secret_texts(&self) -> Result<Vec<String>, InstallationError> {
        let known = self.at(None).and_then(|cx| wiring::secret_texts(&cx));
        known.map_err(|error| refused(&error))
    }

    /// Their own folder: where sessions work unless another is named.
    pub fn folder(&self) -> PathBuf {
        self.cx.folder.clone()
    }

    /// A guarded folder that they may work in.
    ///
    /// # Errors
    /// It does not exist, or is not theirs.
    pub fn workspace(&self, folder: Option<&str>) -> Result<Arc<Workspace>, InstallationError> {
        let cx = self.at(folder).map_err(|error| refused(&error))?;
        cx.open_workspace().map_err(|error| refused(&error))
    }

    /// Settings or files changed: the next session and engine are made of them as they are now.
    pub fn renew(&self) {
        self.revision.fetch_add(1, Ordering::Relaxed);
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Grows whenever settings or files changed, also at another replica: a session that was opened
    /// at an earlier revision is opened anew before its next run.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn revision(&self) -> Result<u64, InstallationError> {
        Ok(self.look_at_settings().await?.revision)
    }
}
