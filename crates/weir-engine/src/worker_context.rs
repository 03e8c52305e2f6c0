//! What the workers of one session have in common: the ports, the session's own parts, and the way to
//! its loop. It is below all of them and knows none. Not here: what one worker alone keeps.

use std::sync::Arc;

use weir_core::ids::{CallId, SessionId};

use crate::blobs::StagedBlobs;
use crate::command_channel::CommandSender;
use crate::hub::UpdateHub;
use crate::parts::EngineParts;
use crate::ports::{McpServers, Profiles, Scripts};
use crate::scene::SceneOptions;
use crate::session_options::SessionResources;
use crate::session_time::SessionTime;
use crate::spending::{HelperBounds, SharedSpending, ToolSpending};
use crate::toolbox::Toolbox;
use crate::workspace::Workspace;

/// What the workers of one session have in common.
pub(crate) struct WorkerContext {
    pub(crate) parts: Arc<EngineParts>,
    pub(crate) session: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    /// Bytes that wait for their facts.
    pub(crate) blobs: Arc<StagedBlobs>,
    /// The broadcast to those who listen.
    pub(crate) hub: Arc<UpdateHub>,
    /// The session's time.
    pub(crate) time: SessionTime,
    /// The way to its own loop.
    pub(crate) sender: CommandSender,
    /// The tools of the session.
    pub(crate) toolbox: Arc<Toolbox>,
    /// What runs the code of tools that were made at run time.
    pub(crate) scripts: Arc<dyn Scripts>,
    /// Its foreign servers.
    pub(crate) servers: Arc<dyn McpServers>,
    pub(crate) profiles: Arc<dyn Profiles>,
    /// The resources of the session beside the shared parts: its children have the same.
    pub(crate) resources: SessionResources,
    /// What is looked at when a run starts.
    pub(crate) scene: Arc<SceneOptions>,
}

impl WorkerContext {
    /// What it may spend beside its own budget; none: nothing bounds it.
    pub(crate) fn spending(&self) -> Option<SharedSpending> {
        let EngineParts { store, clock, .. } = self.parts.as_ref();
        SharedSpending::new(store.clone(), clock.clone(), self.resources.spending.clone())
    }

    /// Under what helper models are asked for the session, and for one of its calls where they are for one.
    pub(crate) fn helper_bounds(&self, call: Option<CallId>) -> HelperBounds {
        HelperBounds {
            session: self.session.clone(),
            call,
            family: self.resources.family.clone(),
            spending: self.spending(),
            time: self.time.clone(),
        }
    }

    /// Sets aside what a vendor may charge for something whose price is known only afterwards, before the tool
    /// of `call` asks for it.
    ///
    /// # Errors
    /// A sentence: what is used up, which cap is reached, or that nobody knows.
    pub(crate) async fn reserve_for_tool(
        &self,
        call: CallId,
        at_most_usd: f64,
    ) -> Result<ToolSpending, String> {
        let bounds = self.helper_bounds(Some(call));
        let reserved = ToolSpending::reserve_cost(&bounds, at_most_usd).await;
        reserved.map_err(|why| format!("Nothing was asked: {why}."))
    }

    /// Folder for the externalised results of the session, relative to the workspace.
    pub(crate) fn results_folder(&self) -> String {
        format!(".weir/tmp/{}", self.session)
    }
}
