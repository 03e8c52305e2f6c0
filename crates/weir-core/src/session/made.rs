//! Tools that come and go while a session runs (T5). Not here: what they do, and who agreed to them.

use std::sync::Arc;

use crate::tool::ToolSpec;

use super::Session;

impl Session {
    /// A tool was made or changed: it is one of those that are named only, and found already. What
    /// the profile leaves out stays out.
    pub(super) fn add_dynamic_tool(&mut self, tool: &ToolSpec) {
        let Some(config) = &mut self.config else { return };
        let loaded = config.tools.iter().any(|known| known.name == tool.name);
        if loaded || !config.profile.has_tool(&tool.name, tool.group) {
            return;
        }
        let config = Arc::make_mut(config);
        let deferred = Arc::make_mut(&mut config.deferred);
        deferred.retain(|known| known.name != tool.name);
        deferred.push(tool.clone());
        self.found.insert(tool.name.clone());
    }

    /// A tool was taken away.
    pub(super) fn remove_dynamic_tool(&mut self, name: &str) {
        self.found.remove(name);
        if let Some(config) = &mut self.config
            && config.deferred.iter().any(|known| known.name == name)
        {
            Arc::make_mut(&mut Arc::make_mut(config).deferred).retain(|known| known.name != name);
        }
    }
}
