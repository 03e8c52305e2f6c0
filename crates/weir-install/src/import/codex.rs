//! Codex: `~/.codex/config.toml`.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_core::profile::PermissionMode;

use super::files::{ImportPlaces, ImportedFile};
use super::server::{ImportedServer, map_server};
use super::{ImportFindings, ImportItem, ImportMapping, ImportTarget, texts};
use crate::duration::TimeSpan;

pub(super) fn read_codex_files(places: &ImportPlaces<'_>) -> Result<ImportFindings, String> {
    let mut found = ImportFindings::default();
    let folder = places.home.join(".codex");
    if let Some(text) = ImportedFile::read_noted(&folder.join("config.toml"), &mut found)? {
        let config: Value = toml::from_str(&text.text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                text.text.get(..span.start).unwrap_or_default().matches('\n').count() + 1
            });
            format!("{}:{line}: {}", text.name, error.message().replace('\n', "; "))
        })?;
        push_permission_mode(&text, &config, &mut found);
        for (name, value) in
            config.get("mcp_servers").and_then(Value::as_object).into_iter().flatten()
        {
            found.items.push(of_server(&text, name, value, places));
        }
        if config.get("model").is_some() {
            let why = "its names are others here: `weir models`, then `weir config set model`";
            push_left_item(&text, "model", "model", why, &mut found);
        }
        if config.get("projects").is_some() {
            let why = "trust is given here with `weir trust`, for the files as they are";
            push_left_item(&text, "[projects", "trusted folders", why, &mut found);
        }
        if config.get("sandbox_workspace_write").is_some() {
            let why = "the sandbox follows from the rules here: Edit(…) and Web(…)";
            push_left_item(
                &text,
                "sandbox_workspace_write",
                "sandbox_workspace_write",
                why,
                &mut found,
            );
        }
    }
    texts::collect_instructions(&folder.join("AGENTS.md"), "codex", &mut found)?;
    texts::collect_slash_commands(&folder.join("prompts"), &mut found)?;
    let rules = folder.join("rules");
    if rules.is_dir() {
        found.items.push(ImportItem {
            place: rules.display().to_string(),
            says: "rules of commands".into(),
            becomes: ImportMapping::Nothing(
                "are programs of their own language; write them as Shell(…) with `weir permissions \
                 add`"
                    .into(),
            ),
            target: ImportTarget::User,
            notes: Vec::new(),
        });
    }
    Ok(found)
}

fn push_left_item(
    text: &ImportedFile,
    word: &str,
    says: &str,
    why: &str,
    found: &mut ImportFindings,
) {
    found.items.push(ImportItem {
        place: text.place_of(word),
        says: says.to_owned(),
        becomes: ImportMapping::Nothing(why.to_owned()),
        target: ImportTarget::User,
        notes: Vec::new(),
    });
}

/// `approval_policy` and `sandbox_mode` together are a permission mode.
fn push_permission_mode(text: &ImportedFile, config: &Value, found: &mut ImportFindings) {
    let word = |key: &str| config.get(key).and_then(Value::as_str);
    let (approval, sandbox) = (word("approval_policy"), word("sandbox_mode"));
    if approval.is_none() && sandbox.is_none() {
        return;
    }
    let (becomes, notes) = mode_here(approval, sandbox);
    let said = [("approval_policy", approval), ("sandbox_mode", sandbox)];
    let says = said.iter().filter_map(|(key, value)| Some(format!("{key} = {}", (*value)?)));
    let key = if approval.is_some() { "approval_policy" } else { "sandbox_mode" };
    let (place, says) = (text.place_of(key), says.collect::<Vec<_>>().join(", "));
    found.items.push(ImportItem { place, says, becomes, target: ImportTarget::User, notes });
}

fn mode_here(approval: Option<&str>, sandbox: Option<&str>) -> (ImportMapping, Vec<String>) {
    use PermissionMode::{Ask, AutoEdit, Full, Plan};
    let asks_nobody = "what would ask there fails there; here a person is asked";
    let (mode, note) = match (approval, sandbox) {
        (Some("never"), Some("danger-full-access")) => (Full, None),
        (Some("never"), Some("read-only")) => (Plan, None),
        (Some("never"), Some("workspace-write")) => (AutoEdit, Some(asks_nobody)),
        (Some("untrusted"), _) => (Ask, None),
        (Some("on-request" | "on-failure") | None, Some("workspace-write")) => (AutoEdit, None),
        (Some("on-request" | "on-failure") | None, Some("read-only")) => (Ask, None),
        (Some("on-request" | "on-failure") | None, Some("danger-full-access")) => {
            (AutoEdit, Some("commands keep asking here"))
        }
        (Some("on-request" | "on-failure" | "never"), None) => {
            let why = "says nothing of what may be changed; the mode stays as it is";
            return (ImportMapping::Nothing(why.into()), Vec::new());
        }
        _ => return (ImportMapping::Nothing("is no value that is known here".into()), Vec::new()),
    };
    (ImportMapping::Mode(mode), note.map(str::to_owned).into_iter().collect())
}

fn of_server(
    text: &ImportedFile,
    name: &str,
    value: &Value,
    places: &ImportPlaces<'_>,
) -> ImportItem {
    let mut notes = Vec::new();
    let mut foreign = ImportedServer::default();
    let table = |value: &Value| -> BTreeMap<String, String> {
        let fields = value.as_object().into_iter().flatten();
        fields.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
    };
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(String::from).collect()
    };
    let span = |value: &Value| {
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds < 86_400.0)?;
        Some(TimeSpan { ms: (seconds * 1_000.0) as u64 })
    };
    for (field, value) in value.as_object().into_iter().flatten() {
        match (field.as_str(), value) {
            ("command", Value::String(command)) => foreign.command.insert(0, command.clone()),
            ("args", value) => foreign.command.extend(texts(value)),
            ("env", value) => foreign.env = table(value),
            ("env_vars", value) => {
                let variables = texts(value).into_iter();
                foreign.env.extend(variables.map(|name| (name.clone(), format!("${{{name}}}"))));
            }
            ("cwd", Value::String(cwd)) => foreign.rest.cwd = cwd.clone(),
            ("url", Value::String(url)) => foreign.url = url.clone(),
            ("http_headers", value) => foreign.headers.extend(table(value)),
            ("env_http_headers", value) => {
                let headers = table(value).into_iter();
                foreign.headers.extend(headers.map(|(h, name)| (h, format!("${{{name}}}"))));
            }
            ("bearer_token_env_var", Value::String(name)) => {
                foreign.headers.insert("Authorization".into(), format!("Bearer ${{{name}}}"));
            }
            ("enabled", Value::Bool(enabled)) => foreign.rest.enabled = *enabled,
            ("tool_timeout_sec", value) => foreign.rest.timeout = span(value),
            ("startup_timeout_sec", value) => foreign.rest.start_timeout = span(value),
            _ => notes.push(format!("{field} is not taken over")),
        }
    }
    let (becomes, more) = map_server(name, foreign, places.environment);
    notes.extend(more);
    let (place, says) = (text.place_of(&format!("[mcp_servers.{name}")), format!("server {name}"));
    ImportItem { place, says, becomes, target: ImportTarget::User, notes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_codexs_two_settings_are_one_mode() {
        use PermissionMode::{Ask, AutoEdit, Full, Plan};
        for (approval, sandbox, mode) in [
            (Some("never"), Some("danger-full-access"), Some(Full)),
            (Some("never"), Some("workspace-write"), Some(AutoEdit)),
            (Some("never"), Some("read-only"), Some(Plan)),
            (Some("on-request"), Some("workspace-write"), Some(AutoEdit)),
            (Some("on-request"), Some("read-only"), Some(Ask)),
            (Some("untrusted"), Some("danger-full-access"), Some(Ask)),
            (Some("untrusted"), None, Some(Ask)),
            (None, Some("danger-full-access"), Some(AutoEdit)),
            (Some("never"), None, None),
            (Some("sometimes"), Some("read-only"), None),
        ] {
            let here = match mode_here(approval, sandbox).0 {
                ImportMapping::Mode(mode) => Some(mode),
                _ => None,
            };
            assert_eq!(here, mode, "{approval:?} {sandbox:?}");
        }
    }
}
