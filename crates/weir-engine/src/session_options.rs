//! What one session needs beside the parts that all sessions share. Not here: opening one (`engine`).

use std::sync::Arc;

use weir_core::session::SessionConfig;

use crate::ports::{
    CallReaders, McpServers, MeaningSearch, Model, PictureModel, Profiles, Scripts, SpendingCaps,
    VendorSearch, Worktrees,
};
use crate::scene::SceneOptions;
use crate::spending::FamilySpending;
use crate::toolbox::Toolbox;
use crate::workspace::Workspace;

/// What one session needs beside the shared parts.
pub struct SessionOptions {
    /// The guarded handle to the workspace.
    pub workspace: Arc<Workspace>,
    /// Its model: the one that its configuration names.
    pub model: Arc<dyn Model>,
    /// Sources of the prompt that are read when a run starts.
    pub scene: SceneOptions,
    /// The profiles that the agent may propose to go on with.
    pub profiles: Arc<dyn Profiles>,
    /// Tools, servers and scripts that this session alone can reach.
    pub resources: SessionResources,
    /// Its settings. For a session that exists and is at rest they replace those of the journal
    /// where they differ.
    pub config: SessionConfig,
}

/// What one session can reach beyond the parts that all sessions share.
#[derive(Clone, Default)]
pub struct SessionResources {
    /// Its tools, with those of its foreign servers and plugins; none: the engine's.
    pub toolbox: Option<Arc<Toolbox>>,
    /// What runs the code of tools that were made at run time; none: nothing does.
    pub scripts: Option<Arc<dyn Scripts>>,
    /// Its foreign servers; none: there are none.
    pub servers: Option<Arc<dyn McpServers>>,
    /// Copies of its folder for sub-agents; none: there can be none.
    pub worktrees: Option<Arc<dyn Worktrees>>,
    /// Search by meaning in the texts of its folder; none: there is none.
    pub meaning: Option<Arc<dyn MeaningSearch>>,
    /// The vendor that searches the web for it; none: no vendor does.
    pub vendor_search: Option<Arc<dyn VendorSearch>>,
    /// The model that makes pictures; none: there is none.
    pub pictures: Option<Arc<dyn PictureModel>>,
    /// Who reads words beside the context for its calls; none: the model that judges, or its own.
    pub readers: Option<Arc<dyn CallReaders>>,
    /// Caps that it has in common with other sessions (R11). Its sub-agents are under the same.
    pub spending: SpendingCaps,
    /// What it and its sub-agents use of the bounds that they share (R11).
    pub family: FamilySpending,
}
