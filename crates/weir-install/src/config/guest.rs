//! What of the installation's settings a person without the role admin gets (S9, T3). Not here: how
//! their sessions are narrowed (`crate::wiring::guest`).

use weir_core::profile::PermissionMode;

use super::WorkspaceConfig;

/// The narrower of two modes.
pub(crate) fn narrower_mode(a: PermissionMode, b: PermissionMode) -> PermissionMode {
    let rank = |mode: PermissionMode| PermissionMode::ALL.iter().position(|m| *m == mode);
    if rank(a) < rank(b) { a } else { b }
}

/// Leaves of the installation's settings what an admin offers.
pub(crate) fn restrict_guest_config(config: &mut WorkspaceConfig) {
    let offered = config.settings.server.people.clone();
    let settings = &mut config.settings;
    settings.mcp_servers.retain(|name, _| offered.mcp_servers.contains(name));
    settings.secrets.retain(|name, _| offered.secrets.contains(name));
    settings.commands.named.retain(|name, _| offered.commands.contains(name));
    // The variables are those of the installation.
    settings.commands.secrets.retain(|name| offered.secrets.contains(name));
    settings.commands.env.clear();
    // Addresses and certificates of the installation's own plugins.
    settings.plugins.clear();
    if !offered.hooks {
        settings.hooks.clear();
        config.hooks.clear();
    }
    let ceiling = config.permission_ceiling.unwrap_or(offered.max_permission);
    let ceiling = narrower_mode(ceiling, offered.max_permission);
    config.permission_ceiling = Some(ceiling);
    settings.permission = narrower_mode(settings.permission, ceiling);
}
