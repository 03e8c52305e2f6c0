//! `weir profiles`: which tools, instructions and limits an agent can have.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::profile::PermissionMode;
use weir_core::tool::{ToolSpec, defer};
use weir_install::cx::Cx;
use weir_install::profiles::{LoadedProfile, all, find};
use weir_install::wiring;

use crate::options::ProfilesCommand;
use crate::terminal::{out, out_json, table};

/// Lists or shows.
pub(crate) fn profiles(cx: &Cx, command: ProfilesCommand) -> anyhow::Result<ExitCode> {
    match command {
        ProfilesCommand::List(flag) => {
            let profiles = all(cx)?;
            if flag.json {
                let rows = profiles.iter().map(|loaded| json(cx, loaded));
                out_json(&rows.collect::<anyhow::Result<Vec<_>>>()?)?;
            } else {
                let row = |loaded: &LoadedProfile| {
                    let profile = &loaded.profile;
                    let source = loaded.source.to_string();
                    vec![profile.name.clone(), source, profile.description.clone()]
                };
                out(&table(&profiles.iter().map(row).collect::<Vec<_>>()))?;
            }
        }
        ProfilesCommand::Show { name, json: flag } => {
            let loaded = find(cx, &name)?;
            if flag.json {
                out_json(&json(cx, &loaded)?)?;
            } else {
                out(&described(cx, &loaded)?)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn json(cx: &Cx, loaded: &LoadedProfile) -> anyhow::Result<Value> {
    let mut value = json!(loaded.profile);
    value["source"] = json!(loaded.source.to_string());
    let [tools, deferred] = tools(cx, loaded)?;
    value["tools"] = json!(tools);
    value["deferred"] = json!(deferred);
    value["limits"] = json!(loaded.limits);
    value["notes"] = json!(loaded.notes);
    value["mcp_servers"] = json!(loaded.mcp_servers);
    Ok(value)
}

/// Names of the tools that a session of this profile has: with their schemas, and by name only. A
/// model with a small window gets more of them by name (T4).
fn tools(cx: &Cx, loaded: &LoadedProfile) -> anyhow::Result<[Vec<String>; 2]> {
    let mode = wiring::permission(cx.config()?, &wiring::Wishes::default(), None, loaded);
    let writes = mode != PermissionMode::Plan;
    let split = defer::split(wiring::toolbox()?.visible(&loaded.profile, writes), 0);
    let names = |tools: Arc<Vec<_>>| tools.iter().map(|t: &ToolSpec| t.name.clone()).collect();
    Ok([split.loaded, split.deferred].map(names))
}

pub(crate) fn described(cx: &Cx, loaded: &LoadedProfile) -> anyhow::Result<String> {
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
