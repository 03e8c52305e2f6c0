//! How the sessions of a person without the role admin are narrowed (S9, T3). Their folder is the workspace's matter (`Workspace::bounded`).

use super::SessionOverrides;
use crate::config::narrower_mode;
use crate::context::InstallationContext;

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

/// What a guest wants, with no more than they may have.
///
/// # Errors
/// The settings cannot be read.
pub fn narrow_guest_overrides(
    cx: &InstallationContext,
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
