//! Adding whole tables to a file of settings and taking servers out of it: all of a change or none,
//! comments and order stay, and the result is read back before it is written.

use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};
use weir_core::governance::rules::RuleAction;
use weir_core::profile::PermissionMode;

use super::config_file::ConfigFile;
use super::edit::{check_config_text, implicit_table, parse_config_document, push_rule};
use super::file::read_text;
use super::{HookSettings, McpServerSettings, SecretSettings};
use crate::failure::usage;

/// What is to be added to a file.
#[derive(Debug, Clone, Default)]
pub struct ConfigAdditions {
    /// The permission mode.
    pub permission: Option<PermissionMode>,
    /// The model, as provider/name.
    pub model: Option<String>,
    /// Rules.
    pub rules: Vec<(RuleAction, String)>,
    /// Servers by name.
    pub servers: Vec<(String, McpServerSettings)>,
    /// Secrets by name.
    pub secrets: Vec<(String, SecretSettings)>,
    /// Hooks with their event.
    pub hooks: Vec<(String, HookSettings)>,
}

impl ConfigAdditions {
    /// Whether there is nothing to add.
    pub fn is_empty(&self) -> bool {
        self.permission.is_none()
            && self.model.is_none()
            && self.rules.is_empty()
            && self.servers.is_empty()
            && self.secrets.is_empty()
            && self.hooks.is_empty()
    }
}

/// Adds everything, or nothing. A server or secret of a name that is there takes its place.
///
/// # Errors
/// The file cannot be read, or what would stand in it is not right.
pub fn add_to_config_file(file: &ConfigFile, additions: &ConfigAdditions) -> anyhow::Result<()> {
    let held = file.hold_file()?;
    let (_, text) = config_text_with(file.path(), additions)?;
    held.replace_text(&text)
}

/// What the file says (`None`: there is none), and what it would say with everything added; nothing
/// is written.
///
/// # Errors
/// As [`add_to_config_file`].
pub fn config_text_with(
    path: &Path,
    additions: &ConfigAdditions,
) -> anyhow::Result<(Option<String>, String)> {
    let before = read_text(path).map_err(|why| usage(format!("{}: {why}", path.display())))?;
    // Parsed from the text that is handed back, so that both are of one reading.
    let mut document = parse_config_document(path, before.as_deref().unwrap_or_default())?;
    if let Some(mode) = additions.permission {
        put_word(&mut document, "permission", &mode.to_string());
    }
    if let Some(model) = &additions.model {
        put_word(&mut document, "model", model);
    }
    for (action, rule) in &additions.rules {
        push_rule(&mut document, path, *action, rule)?;
    }
    for (name, secret) in &additions.secrets {
        put_named_table(&mut document, path, "secrets", name, non_default_fields(secret)?)?;
    }
    for (name, server) in &additions.servers {
        put_named_table(&mut document, path, "mcp_servers", name, non_default_fields(server)?)?;
    }
    for (event, hook) in &additions.hooks {
        push_hook(&mut document, path, event, hook)?;
    }
    let text = document.to_string();
    check_config_text(path, &text)?;
    Ok((before, text))
}

/// A setting of one word; the comment beside an old one stays.
fn put_word(document: &mut DocumentMut, key: &str, word: &str) {
    match document.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = Value::from(word);
            *old.decor_mut() = decor;
        }
        None => {
            document.insert(key, toml_edit::value(word));
        }
    }
}

/// Takes the MCP server of this name out of a file; whether it was there.
///
/// # Errors
/// The file cannot be read or written, or would not be valid any more.
pub fn remove_server(file: &ConfigFile, name: &str) -> anyhow::Result<bool> {
    remove_entry(file, "mcp_servers", name)
}

/// Takes the endpoint of models of this name out of a file; whether it was there.
///
/// # Errors
/// The file cannot be read or written, or would not be valid any more.
pub fn remove_endpoint(file: &ConfigFile, name: &str) -> anyhow::Result<bool> {
    remove_entry(file, "providers", name)
}

fn remove_entry(file: &ConfigFile, table: &str, name: &str) -> anyhow::Result<bool> {
    let held = file.hold_file()?;
    let mut document = held.open_document()?;
    let entries = document.get_mut(table).and_then(Item::as_table_like_mut);
    if entries.and_then(|entries| entries.remove(name)).is_none() {
        return Ok(false);
    }
    held.replace_text(&document.to_string())?;
    Ok(true)
}

/// Puts `[table.NAME]` with these fields.
fn put_named_table(
    document: &mut DocumentMut,
    path: &Path,
    table: &str,
    name: &str,
    fields: Table,
) -> anyhow::Result<()> {
    let parent = document.entry(table).or_insert_with(|| Item::Table(implicit_table()));
    as_table(parent, path, table)?.insert(name, Item::Table(fields));
    Ok(())
}

/// Every field that is not as it is by default.
fn non_default_fields<T: Serialize + Default>(value: &T) -> anyhow::Result<Table> {
    let mut fields = Table::new();
    let (value, default) = (serde_json::to_value(value)?, serde_json::to_value(T::default())?);
    for (field, value) in value.as_object().into_iter().flatten() {
        if default.get(field) != Some(value) {
            fields.insert(field, Item::Value(toml_value(value, default.get(field))));
        }
    }
    Ok(fields)
}

fn push_hook(
    document: &mut DocumentMut,
    path: &Path,
    event: &str,
    hook: &HookSettings,
) -> anyhow::Result<()> {
    let parent = document.entry("hooks").or_insert_with(|| Item::Table(implicit_table()));
    let parent = as_table(parent, path, "hooks")?;
    let list = parent.entry(event).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(list) = list.as_array_of_tables_mut() else {
        let path = path.display();
        return Err(usage(format!("{path}: hooks.{event} is not written as [[hooks.{event}]]")));
    };
    let mut fields = Table::new();
    for (field, value) in serde_json::to_value(hook)?.as_object().into_iter().flatten() {
        let is_default = field == "timeout" && *value == 30 || field == "matcher" && *value == "";
        if !value.is_null() && !is_default {
            fields.insert(field, Item::Value(toml_value(value, None)));
        }
    }
    list.push(fields);
    Ok(())
}

fn as_table<'a>(
    item: &'a mut Item,
    path: &Path,
    name: &str,
) -> anyhow::Result<&'a mut dyn TableLike> {
    let path = path.display();
    item.as_table_like_mut().ok_or_else(|| usage(format!("{path}: {name} is not a table")))
}

/// A value as TOML. Of a table, fields that are as they are by default are left out.
fn toml_value(value: &Json, default: Option<&Json>) -> Value {
    match value {
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            Value::Array(items.iter().map(|item| toml_value(item, None)).collect::<Array>())
        }
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (name, value) in fields {
                let usual = default.and_then(|default| default.get(name));
                if usual != Some(value) && !value.is_null() {
                    table.insert(name, toml_value(value, None));
                }
            }
            Value::InlineTable(table)
        }
        // A field without a value is as it is by default, and never gets here.
        Json::Null => Value::from(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration::TimeSpan;

    #[test]
    fn f4_a_server_is_added_beside_comments_and_taken_out_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("config.toml");
        let before =
            "# mine\nmodel = \"a/b\" # this one\n\n[permissions]\nallow = [\"Shell(ls)\"]\n";
        std::fs::write(&path, before).expect("writable");
        let server = McpServerSettings {
            command: "srv".into(),
            args: vec!["--x".into(), "a \"b\"".into()],
            env: [("A.B".to_owned(), "c".to_owned())].into(),
            timeout: Some(TimeSpan { ms: 5000 }),
            enabled: false,
            ..McpServerSettings::default()
        };
        let remote = McpServerSettings {
            url: "https://h/mcp".into(),
            oauth: super::super::McpOauthSettings { client_id: "me".into(), ..Default::default() },
            ..McpServerSettings::default()
        };
        let servers = vec![("one".to_owned(), server), ("two".to_owned(), remote)];
        let rules = vec![(RuleAction::Deny, "Read(**/.env)".to_owned())];
        let file = ConfigFile::with_lock_in(folder.path(), &path);
        add_to_config_file(
            &file,
            &ConfigAdditions { servers: servers.clone(), rules, ..ConfigAdditions::default() },
        )
        .expect("it is right");
        let text = std::fs::read_to_string(&path).expect("written");
        assert!(text.starts_with("# mine\nmodel = \"a/b\" # this one\n"), "{text}");
        let read: super::super::Settings = toml::from_str(&text).expect("it is read back");
        assert_eq!(read.mcp_servers["one"], servers[0].1, "{text}");
        assert_eq!(read.mcp_servers["two"], servers[1].1, "{text}");
        assert_eq!(read.permissions.deny, ["Read(**/.env)"]);
        assert!(!text.contains("sampling"), "what is as usual is not written: {text}");
        assert!(remove_server(&file, "one").expect("written"));
        assert!(!remove_server(&file, "one").expect("nothing to do"));
        let text = std::fs::read_to_string(&path).expect("written");
        assert!(!text.contains("mcp_servers.one") && text.contains("mcp_servers.two"), "{text}");
    }

    #[test]
    fn f4_what_would_not_be_read_back_is_not_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("config.toml");
        let server = McpServerSettings { command: "x".into(), ..McpServerSettings::default() };
        let servers = vec![("a b".to_owned(), server)];
        let file = ConfigFile::with_lock_in(folder.path(), &path);
        let error =
            add_to_config_file(&file, &ConfigAdditions { servers, ..ConfigAdditions::default() });
        assert!(error.is_err_and(|why| why.to_string().contains("not changed")));
        assert!(!path.exists());
    }
}
