//! Tools that come and go while a session runs (T5). Not here: what they do, and who agreed to them.

use std::sync::Arc;

use crate::tool::ToolSpec;

use super::{Session, SessionConfig};

impl SessionConfig {
    /// Takes in a tool that was made or changed while the session runs: it is one of those that are named
    /// only. What the profile leaves out stays out. Whether it was taken in.
    pub fn add_dynamic_tool(config: &mut Arc<SessionConfig>, tool: &ToolSpec) -> bool {
        let loaded = config.tools.iter().any(|known| known.name == tool.name);
        if loaded || !config.profile.has_tool(&tool.name, tool.group) {
            return false;
        }
        let deferred = Arc::make_mut(&mut Arc::make_mut(config).deferred);
        deferred.retain(|known| known.name != tool.name);
        deferred.push(tool.clone());
        true
    }

    /// A tool was taken away while the session runs.
    pub fn remove_dynamic_tool(config: &mut Arc<SessionConfig>, name: &str) {
        if config.deferred.iter().any(|known| known.name == name) {
            Arc::make_mut(&mut Arc::make_mut(config).deferred).retain(|known| known.name != name);
        }
    }
}

impl Session {
    /// A tool was made or changed: where the session takes it in, it is found already.
    pub(super) fn add_dynamic_tool(&mut self, tool: &ToolSpec) {
        let Some(config) = &mut self.config else { return };
        if SessionConfig::add_dynamic_tool(config, tool) {
            self.found.insert(tool.name.clone());
        }
    }

    /// A tool was taken away.
    pub(super) fn remove_dynamic_tool(&mut self, name: &str) {
        self.found.remove(name);
        if let Some(config) = &mut self.config {
            SessionConfig::remove_dynamic_tool(config, name);
        }
    }
}
