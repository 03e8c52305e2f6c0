//! Everything of one person: their folders, store and engine.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use weir_core::governance::rules::Rule;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::TOOL_CALLS_DEFAULT;
use weir_core::session::SessionConfig;
use weir_engine::engine::{Engine, SessionOptions};
use weir_engine::ports::{Clock as _, Records, Store};
use weir_engine::workspace::Workspace;
use weir_install::cx::Cx;
use weir_install::wiring::{self, WallClock, Wishes};
use weir_server::people::{Person, PersonId};
use weir_server::ports::{
    AgentDesk, Home, HouseError, Library, ModelDesk, PromptFiles, SessionContext, SessionDesk,
    SessionWish, SettingsDesk,
};

use super::refused;
use crate::command::audit::Chained;
use crate::command::permissions;

/// What a session's holder is called.
pub(super) const LABEL: &str = "weir serve";

/// One person's.
pub(crate) struct PersonHome {
    /// The program with their folders.
    pub(super) cx: Cx,
    /// Who.
    pub(super) person: Person,
    /// What the server keeps beside sessions.
    pub(super) records: Arc<dyn Records>,
    /// By which secrets in the records are sealed.
    pub(super) seal_key: [u8; 32],
    /// How their audit lines are checked.
    pub(super) chained: Chained,
    store: Arc<dyn Store>,
    engine: Mutex<Option<Engine>>,
    /// Grows when settings or files changed.
    edition: AtomicU64,
}

impl PersonHome {
    /// Everything of `person`.
    pub(super) fn new(
        cx: Cx,
        person: Person,
        records: Arc<dyn Records>,
        (chained, seal_key): (Chained, [u8; 32]),
    ) -> anyhow::Result<PersonHome> {
        let cx = cx.serving(&person.name);
        Ok(PersonHome {
            store: cx.journal()?,
            engine: Mutex::default(),
            edition: AtomicU64::default(),
            records,
            seal_key,
            chained,
            cx,
            person,
        })
    }

    /// Now.
    pub(super) fn now(&self) -> Timestamp {
        WallClock::default().now()
    }

    /// The program in `folder`, as files and settings are now.
    pub(super) fn at(&self, folder: Option<&str>) -> anyhow::Result<Cx> {
        let own = self.folder();
        let folder = folder.map_or_else(|| own.clone(), |folder| own.join(Path::new(folder)));
        let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
        if !self.person.is_admin() && !folder.starts_with(&own) {
            return Err(crate::failure::usage(format!(
                "{} is not below your folder {}",
                folder.display(),
                own.display()
            )));
        }
        let cx = self.cx.anew(&folder)?;
        // Looked at again: a link may have been put in its place in between.
        match self.person.is_admin() || cx.folder.starts_with(&own) {
            true => Ok(cx),
            false => Err(crate::failure::usage("the folder changed while it was looked at")),
        }
    }

    /// Hosts that they and everybody may read without asking.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) async fn hosts(&self) -> Result<Vec<String>, HouseError> {
        weir_server::lists::hosts(self.records.as_ref(), &self.person.id, self.now()).await
    }
}

/// The tools of a session in these surroundings (T3): who sits before it has what their profile
/// gives; what runs by itself, or began outside, has what was named for it and nothing else.
fn only_tools(wish: &SessionWish) -> Option<Vec<String>> {
    match wish.context {
        SessionContext::Interactive => wish.only_tools.clone(),
        SessionContext::Scheduled | SessionContext::Injected => {
            Some(wish.only_tools.clone().unwrap_or_default())
        }
    }
}

#[async_trait]
impl Home for PersonHome {
    fn person(&self) -> &PersonId {
        &self.person.id
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn engine(&self) -> Result<Engine, HouseError> {
        self.look_up_made().await?;
        let kept = || self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = kept().clone() {
            return Ok(engine);
        }
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let engine = wiring::engine_on(&cx, LABEL, self.store());
        let engine = engine.map_err(|error| refused(&error))?;
        Ok(kept().get_or_insert(engine).clone())
    }

    async fn session_options(
        &self,
        wish: &SessionWish,
        kept: Option<&SessionConfig>,
    ) -> Result<SessionOptions, HouseError> {
        self.look_up_made().await?;
        let of_agent = wish.agent.as_ref().map(|agent| agent.workspace.as_str());
        let folder = wish.workspace.as_deref().or(kept.map(|kept| kept.workspace.as_str()));
        let cx = self.at(folder.or(of_agent)).map_err(|error| refused(&error))?;
        if let Some(agent) = &wish.agent {
            let wishes = self.of_agent(agent, wish).await?;
            let options = wiring::session_options(&cx, &wishes, kept).await;
            return options.map_err(|error| refused(&error));
        }
        if kept.is_none() {
            self.may_bound(&cx, wish).await.map_err(|error| refused(&error))?;
        }
        let wishes = Wishes {
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
            mail: self.mail_wish().await?,
            attended: true,
            ..Wishes::default()
        };
        wiring::session_options(&cx, &wishes, kept).await.map_err(|error| refused(&error))
    }

    async fn keep_rules(&self, folder: &str, rules: &[Rule]) -> Result<(), HouseError> {
        let cx = self.at(Some(folder)).map_err(|error| refused(&error))?;
        let kept = rules.iter().try_for_each(|rule| permissions::remember(&cx, rule));
        kept.map_err(|error| refused(&error))
    }

    fn new_session(&self) -> SessionId {
        wiring::new_session_id()
    }

    fn folder(&self) -> PathBuf {
        self.cx.folder.clone()
    }

    fn workspace(&self, folder: Option<&str>) -> Result<Arc<Workspace>, HouseError> {
        let cx = self.at(folder).map_err(|error| refused(&error))?;
        cx.workspace().map_err(|error| refused(&error))
    }

    fn renew(&self) {
        self.edition.fetch_add(1, Ordering::Relaxed);
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn edition(&self) -> Result<u64, HouseError> {
        self.look_up_made().await?;
        Ok(self.edition.load(Ordering::Relaxed))
    }

    fn library(&self) -> &dyn Library {
        self
    }

    fn settings(&self) -> &dyn SettingsDesk {
        self
    }

    fn prompts(&self) -> &dyn PromptFiles {
        self
    }

    fn models(&self) -> &dyn ModelDesk {
        self
    }

    fn agents(&self) -> &dyn AgentDesk {
        self
    }

    fn sessions(&self) -> &dyn SessionDesk {
        self
    }
}
