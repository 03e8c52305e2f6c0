//! What of the installation's settings a person without the role admin gets (S9, T3). Not here: how
//! their sessions are narrowed (`crate::wiring::guest`).

use weir_core::profile::PermissionMode;

use super::{SettingOrigin, WorkspaceConfig};

/// The key of the person's own addresses.
const ADDRESSES: &str = "person.addresses";

/// The narrower of two modes.
pub(crate) fn narrower_mode(a: PermissionMode, b: PermissionMode) -> PermissionMode {
    let rank = |mode: PermissionMode| PermissionMode::ALL.iter().position(|m| *m == mode);
    if rank(a) < rank(b) { a } else { b }
}

/// Leaves of the installation's settings what an admin offers.
pub(crate) fn restrict_guest_config(config: &mut WorkspaceConfig) {
    let offered = config.settings.server.people.clone();
    let is_their_own =
        matches!(config.origin_of_key(ADDRESSES), SettingOrigin::Browser { for_all: false, .. });
    let settings = &mut config.settings;
    settings.mcp_servers.retain(|name, _| offered.mcp_servers.contains(name));
    settings.secrets.retain(|name, _| offered.secrets.contains(name));
    settings.commands.named.retain(|name, _| offered.commands.contains(name));
    // The variables are those of the installation.
    settings.commands.secrets.retain(|name| offered.secrets.contains(name));
    settings.commands.env.clear();
    // Whoever set the installation up has other addresses.
    if !is_their_own {
        settings.person = super::settings::PersonSettings::default();
    }
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
