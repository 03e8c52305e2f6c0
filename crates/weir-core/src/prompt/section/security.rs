//! Section 8: whose words count, what needs a person, and what is open. Not a protection: the gate
//! is, and it holds whatever the model makes of this.

use crate::prompt::PromptScene;
use crate::tool::ToolGroup;
use crate::tool::built_in::COMMAND_RUNNER;

/// Hosts that are named.
const HOSTS_MAX: usize = 30;

const BOUNDARY: &str = include_str!("security.md");

pub(in crate::prompt) fn security_section(scene: &PromptScene) -> Option<String> {
    let mut text = BOUNDARY.trim().to_string();
    if !scene.has_group(ToolGroup::Web) && !scene.has_tool(COMMAND_RUNNER) {
        return Some(text);
    }
    let hosts = &scene.allowed_hosts;
    if hosts.is_empty() {
        return Some(text);
    }
    let named: Vec<&str> = hosts.iter().take(HOSTS_MAX).map(String::as_str).collect();
    let more = match hosts.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    text.push_str(&format!("\n\nHosts that need no asking: {}{more}.", named.join(", ")));
    Some(text)
}
