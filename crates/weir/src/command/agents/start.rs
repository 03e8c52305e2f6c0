//! A run of a scheduled agent: a session like any other, with nobody beside it (M7).
//!
//! Implements the port [`Starter`]. Not here: when it begins, and what stands in the history.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::ids::SessionId;
use weir_core::schedule::{AgentRun, ScheduledAgent};
use weir_engine::ports::{AtRest, RunDesk, Starter, Store};
use weir_engine::schedule::{Course, ScheduledRun, follow};
use weir_install::agents::wishes;
use weir_install::cx::Cx;
use weir_install::{leftovers, wiring};

use crate::failure::engine_failure;

/// What this program is called where a session is found held.
const LABEL: &str = "weir agents daemon";

/// Opens and drives sessions of scheduled agents.
pub(super) struct Sessions {
    /// The program as the daemon was started. Each run looks at files and settings anew.
    pub(super) cx: Cx,
}

#[async_trait]
impl Starter for Sessions {
    fn session(&self) -> SessionId {
        wiring::new_session_id()
    }

    async fn run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> AtRest {
        match self.drive(agent, run, desk, stop).await {
            Ok(rest) => rest,
            Err(error) => AtRest::Failed(format!("{error:#}")),
        }
    }
}

impl Sessions {
    async fn drive(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> anyhow::Result<AtRest> {
        let cx = self.cx.anew(Path::new(&agent.workspace))?;
        let store: Arc<dyn Store> = cx.journal()?;
        let Some(id) = run.session.clone() else { anyhow::bail!("the run has no session") };
        let wishes = wishes(agent);
        let there = store.meta(&id).await?.is_some_and(|meta| meta.facts > 0);
        let (handle, mut course) = match there {
            false => {
                let options = wiring::session_options(&cx, &wishes, None).await?;
                let engine = wiring::engine_on(&cx, LABEL, cx.journal()?)?;
                let handle = engine.open(id, options).await.map_err(engine_failure)?;
                (handle, Course::default())
            }
            true => {
                let course = Course::of(store.as_ref(), &id).await.map_err(engine_failure)?;
                if let Some(rest) = course.at_rest() {
                    return Ok(rest);
                }
                let loaded = weir_engine::engine::load(store.as_ref(), &id).await;
                let session = loaded.map_err(engine_failure)?.session;
                // It goes on as it was opened: a definition that changed since is the next run's.
                let kept = session.config().cloned();
                let options = wiring::session_options(&cx, &wishes, kept.as_deref()).await?;
                let engine = wiring::engine_on(&cx, LABEL, cx.journal()?)?;
                let handle = engine.resume(id, options).await.map_err(engine_failure)?;
                (handle, course)
            }
        };
        let watched = follow(&handle, &mut course, ScheduledRun { agent, run }, desk, stop).await;
        let session = handle.id().clone();
        let closed = handle.close().await;
        let rest = watched.map_err(engine_failure)?;
        closed.map_err(engine_failure)?;
        if course.is_over() {
            leftovers::remove_results(cx.workspace()?.as_ref(), &session);
        }
        Ok(rest)
    }
}
