//! What one session needs beside the parts that all sessions share. Not here: opening one (`engine`).

use std::sync::Arc;

use weir_core::session::SessionConfig;

use crate::ports::{McpServers, Model, Profiles, Scripts, Worktrees};
use crate::scene::SceneOptions;
use crate::toolbox::Toolbox;
use crate::workspace::Workspace;

/// What one session needs beside the shared parts.
pub struct SessionOptions {
    /// Its folder.
    pub workspace: Arc<Workspace>,
    /// Its model: the one that its configuration names.
    pub model: Arc<dyn Model>,
    /// What is looked at when a run starts.
    pub scene: SceneOptions,
    /// The profiles that the agent may propose to go on with.
    pub profiles: Arc<dyn Profiles>,
    /// What it can reach beyond the parts that all sessions share.
    pub hands: SessionResources,
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
}
