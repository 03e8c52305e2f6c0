//! What a person without the role admin gets of the installation, and how their sessions are
//! narrowed (S9, T3). Their folder is the workspace's matter (`Workspace::bounded`).

use weir_core::profile::PermissionMode;

use super::SessionOverrides;
use crate::config::{SettingOrigin, WorkspaceConfig};
use crate::cx::Cx;
use crate::failure::usage;

/// Tools that start programs. Without a sandbox that can hide everything but a person's folder they
/// are absent; a call that comes about all the same is refused by the workspace.
const PROGRAMS: [&str; 6] = [
    "run_shell",
    "read_shell_output",
    "write_shell_input",
    "kill_shell",
    "execute_command",
    "run_skill_script",
];

/// The narrower of two modes.
fn narrower_mode(a: PermissionMode, b: PermissionMode) -> PermissionMode {
    let rank = |mode: PermissionMode| PermissionMode::ALL.iter().position(|m| *m == mode);
    if rank(a) < rank(b) { a } else { b }
}

/// Leaves of the installation's settings what an admin offers.
pub fn restrict_guest_config(config: &mut WorkspaceConfig) {
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

/// What a guest wants, with no more than they may have.
///
/// # Errors
/// The settings cannot be read.
pub fn narrow_guest_overrides(
    cx: &Cx,
    wishes: &SessionOverrides,
) -> anyhow::Result<SessionOverrides> {
    let mut wishes = wishes.clone();
    if !cx.is_guest() {
        return Ok(wishes);
    }
    let config = cx.config()?;
    let people = &config.settings.server.people;
    wishes.denied.extend(people.tools_denied.iter().cloned());
    if !super::command_tier(config).has_own_view() {
        wishes.denied.extend(PROGRAMS.map(String::from));
    }
    let ceiling = config.permission_ceiling.unwrap_or(people.max_permission);
    wishes.permission = wishes.permission.map(|mode| narrower_mode(mode, ceiling));
    let limits = &config.settings.limits;
    let least = |a: Option<u32>, b: Option<u32>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, _) => a,
    };
    wishes.max_iterations = least(wishes.max_iterations, Some(limits.max_iterations));
    wishes.max_tool_calls = least(wishes.max_tool_calls, limits.max_tool_calls);
    if let (Some(wish), Some(most)) = (wishes.budget_usd, limits.budget_usd) {
        wishes.budget_usd = Some(wish.min(most));
    }
    if let (Some(wish), Some(most)) = (wishes.budget_tokens, limits.budget_tokens) {
        wishes.budget_tokens = Some(wish.min(most));
    }
    if let (Some(wish), Some(most)) = (wishes.run_timeout_ms, limits.run_timeout) {
        wishes.run_timeout_ms = Some(wish.min(most.ms));
    }
    Ok(wishes)
}

/// A scripted model is a file of this machine: a guest has the one that the installation names, and
/// no other.
///
/// # Errors
/// It is another; in words.
pub(crate) fn may_script(cx: &Cx, file: &str) -> anyhow::Result<()> {
    if !cx.is_guest() {
        return Ok(());
    }
    let config = cx.config()?;
    let named = config.settings.model.as_deref().and_then(|text| text.strip_prefix("script:"));
    let by_installation = matches!(
        config.origin_of_key("model"),
        SettingOrigin::User(..)
            | SettingOrigin::Environment(_)
            | SettingOrigin::Browser { for_all: true, .. }
    );
    match named == Some(file) && by_installation {
        true => Ok(()),
        false => Err(usage("a scripted model is a file of the server; choose another model")),
    }
}
