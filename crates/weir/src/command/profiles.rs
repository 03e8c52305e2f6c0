//! `weir profiles`: which tools, instructions and limits an agent can have.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_install::catalogue::profiles::{described, tools};
use weir_install::context::InstallationContext;
use weir_install::profiles::{LoadedProfile, choose_profile, read_usable_profiles};

use crate::command::context_for_looking;
use crate::options::ProfilesCommand;
use crate::terminal::{err_message, format_table, out_json, out_line};

/// Lists or shows.
pub(crate) fn run_profiles_command(
    cx: &InstallationContext,
    command: ProfilesCommand,
) -> anyhow::Result<ExitCode> {
    let cx = &context_for_looking(cx)?;
    let (profiles, problems) = read_usable_profiles(cx)?;
    for problem in &problems {
        err_message(&format!("warning: {}; this profile is left out", visible_text(problem)));
    }
    match command {
        ProfilesCommand::List(flag) => {
            if flag.json {
                let rows = profiles.iter().map(|loaded| profile_as_json(cx, loaded));
                out_json(&rows.collect::<anyhow::Result<Vec<_>>>()?)?;
            } else {
                let row = |loaded: &LoadedProfile| {
                    let profile = &loaded.profile;
                    let source = loaded.source.to_string();
                    vec![profile.name.clone(), source, profile.description.clone()]
                };
                out_line(&format_table(&profiles.iter().map(row).collect::<Vec<_>>()))?;
            }
        }
        ProfilesCommand::Show { name, json: flag } => {
            let loaded = choose_profile(&profiles, &name)?;
            if flag.json {
                out_json(&profile_as_json(cx, &loaded)?)?;
            } else {
                out_line(&described(cx, &loaded)?)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn profile_as_json(cx: &InstallationContext, loaded: &LoadedProfile) -> anyhow::Result<Value> {
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
