//! Profiles in words for people: which tools, instructions and limits an agent has with one. Not
//! here: reading them (`profiles`).

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use weir_core::profile::PermissionMode;
use weir_core::tool::{ToolSpec, defer};

use crate::context::InstallationContext;
use crate::profiles::LoadedProfile;
use crate::wiring;

/// Names of the tools that a session of this profile has: with their schemas, and by name only. A
/// model with a small window gets more of them by name (T4).
pub fn tools(cx: &InstallationContext, loaded: &LoadedProfile) -> anyhow::Result<[Vec<String>; 2]> {
    let mode = wiring::choose_permission_mode(
        cx.config()?,
        &wiring::SessionOverrides::default(),
        None,
        loaded,
    );
    let writes = mode != PermissionMode::Plan;
    let split =
        defer::split_loading(wiring::build_toolbox()?.visible_specs(&loaded.profile, writes), 0);
    let names = |tools: Arc<Vec<_>>| tools.iter().map(|t: &ToolSpec| t.name.clone()).collect();
    Ok([split.loaded, split.deferred].map(names))
}

pub fn described(cx: &InstallationContext, loaded: &LoadedProfile) -> anyhow::Result<String> {
    let profile = &loaded.profile;
    let mut text = format!("{} ({})\n{}\n", profile.name, loaded.source, profile.description);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "\n{name}:\n  {}", value.trim().replace('\n', "\n  "));
        }
    };
    line("Role", &profile.role);
    line("Instructions", &profile.instructions);
    let groups = profile.groups.iter().map(|group| json!(group));
    let groups: Vec<String> = groups.filter_map(|g| g.as_str().map(String::from)).collect();
    line("Groups", &groups.join(", "));
    let [tools, deferred] = tools(cx, loaded)?;
    line("Tools", &tools.join(", "));
    line("Tools listed by name only, loaded on request", &deferred.join(", "));
    line("Skills", &profile.skills.join(", "));
    line("Servers", &loaded.mcp_servers.join(", "));
    line("Permission", &profile.permission.map(|mode| mode.to_string()).unwrap_or_default());
    line("Model", profile.model.as_deref().unwrap_or_default());
    line("Conventions", profile.conventions.as_deref().unwrap_or_default());
    let limits = json!(loaded.limits);
    let set = limits.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let set: Vec<String> = set.map(|(name, value)| format!("{name} = {value}")).collect();
    line("Limits", &set.join("\n"));
    line("Notes", &loaded.notes.join("\n"));
    Ok(text)
}
