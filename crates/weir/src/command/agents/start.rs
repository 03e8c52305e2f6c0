//! A run of a scheduled agent: a session like any other, with nobody beside it (M7).
//!
//! Implements the port [`RunStarter`]. Not here: when it begins, and what stands in the history.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::ids::SessionId;
use weir_core::schedule::{AgentRun, ScheduledAgent};
use weir_engine::ports::{AtRest, RunDesk, RunStarter, Store};
use weir_engine::schedule::{ScheduledRun, ScheduledRunProgress, follow_agent_run};
use weir_install::agents::agent_session_overrides;
use weir_install::context::InstallationContext;
use weir_install::{leftovers, wiring};

use crate::failure::engine_failure;

/// What this program is called where a session is found held.
const LABEL: &str = "weir agents daemon";

/// Opens and drives sessions of scheduled agents.
pub(super) struct ScheduledSessionRunner {
    /// The program as the daemon was started. Each run looks at files and settings anew.
    pub(super) cx: InstallationContext,
}

#[async_trait]
impl RunStarter for ScheduledSessionRunner {
    fn new_session_id(&self) -> SessionId {
        wiring::new_session_id()
    }

    async fn run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> AtRest {
        match self.drive_session(agent, run, desk, stop).await {
            Ok(rest) => rest,
            Err(error) => AtRest::Failed(format!("{error:#}")),
        }
    }
}

impl ScheduledSessionRunner {
    async fn drive_session(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> anyhow::Result<AtRest> {
        let cx = self.cx.reloaded_in_folder(Path::new(&agent.workspace))?;
        let store: Arc<dyn Store> = cx.session_store()?;
        let Some(id) = run.session.clone() else { anyhow::bail!("the run has no session") };
        let wishes = agent_session_overrides(agent);
        let there = store.session_meta(&id).await?.is_some_and(|meta| meta.facts > 0);
        let (handle, mut course) = match there {
            false => {
                let options = wiring::session_options(&cx, &wishes, None).await?;
                let engine = wiring::engine_on(&cx, LABEL, cx.session_store()?).await?;
                let handle = engine.open(id, options).await.map_err(engine_failure)?;
                (handle, ScheduledRunProgress::default())
            }
            true => {
                let course = ScheduledRunProgress::from_journal(store.as_ref(), &id)
                    .await
                    .map_err(engine_failure)?;
                if let Some(rest) = course.at_rest() {
                    return Ok(rest);
                }
                let loaded = weir_engine::engine::load(store.as_ref(), &id).await;
                let session = loaded.map_err(engine_failure)?.session;
                // It goes on as it was opened: a definition that changed since is the next run's.
                let kept = session.config().cloned();
                let options = wiring::session_options(&cx, &wishes, kept.as_deref()).await?;
                let engine = wiring::engine_on(&cx, LABEL, cx.session_store()?).await?;
                let handle = engine.resume(id, options).await.map_err(engine_failure)?;
                (handle, course)
            }
        };
        let watched =
            follow_agent_run(&handle, &mut course, ScheduledRun { agent, run }, desk, stop).await;
        let session = handle.id().clone();
        let closed = handle.close().await;
        let rest = watched.map_err(engine_failure)?;
        closed.map_err(engine_failure)?;
        if course.is_over() {
            leftovers::remove_results(cx.open_workspace()?.as_ref(), &session);
        }
        Ok(rest)
    }
}
