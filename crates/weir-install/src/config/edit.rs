//! Changing one value or rule in a file: comments and order stay, the result is checked before it
//! is written, and the file is replaced whole. Not here: how it is written (`config_file`).

use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};
use weir_core::governance::rules::RuleAction;

use super::config_file::ConfigFile;
use super::file::{ConfigLayer, SettingPath, key_text, read_text};
use super::{RawRule, SettingOrigin, WorkspaceConfig};
use crate::failure::usage;

/// A table whose own heading is left out.
pub(super) fn implicit_table() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

/// A file of settings as it is to be written: it can be read back, and nothing is written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDraft {
    /// Where the file lies.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

/// Sets `key` to `value` (TOML, or text that is no TOML).
///
/// # Errors
/// The key does not exist, the value is not of its type, or the file cannot be written.
pub fn set_value(file: &ConfigFile, key: &str, value: &str) -> anyhow::Result<()> {
    set_values(file, &[(key, value)])
}

/// The same with several keys: all of them or none.
///
/// # Errors
/// As [`set_value`].
pub fn set_values(file: &ConfigFile, values: &[(&str, &str)]) -> anyhow::Result<()> {
    let held = file.hold_file()?;
    let mut document = held.open_document()?;
    for (key, value) in values {
        put_value(&mut document, file.path(), key, value)?;
    }
    held.replace_text(&document.to_string())
}

/// The file with `key` set to `value` (TOML, or text that is no TOML).
///
/// # Errors
/// The key does not exist, the value is not of its type, or the file cannot be read.
pub fn draft_with_value(path: &Path, key: &str, value: &str) -> anyhow::Result<ConfigDraft> {
    let mut document = open_config_document(path)?;
    put_value(&mut document, path, key, value)?;
    checked_draft(path, &document)
}

fn put_value(
    document: &mut DocumentMut,
    path: &Path,
    key: &str,
    value: &str,
) -> anyhow::Result<()> {
    let parts = key_parts(key)?;
    let value = parse_setting_value(value);
    let Some((last, tables)) = parts.split_last() else {
        return Err(usage("name a key: limits.max_iterations"));
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in tables {
        let item = table.entry(part).or_insert_with(|| Item::Table(implicit_table()));
        table = item
            .as_table_like_mut()
            .ok_or_else(|| usage(format!("{key}: {part} is not a table in {}", path.display())))?;
    }
    match table.get_mut(last).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(last, Item::Value(value));
        }
    }
    Ok(())
}

/// Takes a value out of the file; whether it was there. Tables that are empty then go too.
///
/// # Errors
/// The file cannot be read, changed or written.
pub fn unset_value(file: &ConfigFile, key: &str) -> anyhow::Result<bool> {
    unset_values(file, &[key])
}

/// The same with several keys; whether one of them was there.
///
/// # Errors
/// As [`unset_value`].
pub fn unset_values(file: &ConfigFile, keys: &[&str]) -> anyhow::Result<bool> {
    let held = file.hold_file()?;
    let mut document = held.open_document()?;
    let mut was_set = false;
    for key in keys {
        was_set |= remove_below(document.as_table_mut(), &key_parts(key)?);
    }
    if was_set {
        held.replace_text(&document.to_string())?;
    }
    Ok(was_set)
}

/// The file without `key`, a value or a whole table; `None`: it is not there. Tables that are empty then
/// go too.
///
/// # Errors
/// The file cannot be read, or nothing can be read from what is left of it.
pub fn draft_without_value(path: &Path, key: &str) -> anyhow::Result<Option<ConfigDraft>> {
    let parts = key_parts(key)?;
    let mut document = open_config_document(path)?;
    match remove_below(document.as_table_mut(), &parts) {
        true => checked_draft(path, &document).map(Some),
        false => Ok(None),
    }
}

/// Checked as it will be read, so that no file is ever left that cannot be.
fn checked_draft(path: &Path, document: &DocumentMut) -> anyhow::Result<ConfigDraft> {
    let text = document.to_string();
    check_config_text(path, &text)?;
    Ok(ConfigDraft { path: path.to_path_buf(), text })
}

fn remove_below(table: &mut dyn TableLike, parts: &[String]) -> bool {
    match parts {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(below) = table.get_mut(first).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let was = remove_below(below, rest);
            if was && below.is_empty() {
                table.remove(first);
            }
            was
        }
    }
}

/// Adds a rule to a set. Returns whether it was new.
pub fn add_rule(file: &ConfigFile, action: RuleAction, rule: &str) -> anyhow::Result<bool> {
    let held = file.hold_file()?;
    let mut document = held.open_document()?;
    if !push_rule(&mut document, file.path(), action, rule)? {
        return Ok(false);
    }
    held.replace_text(&document.to_string())?;
    Ok(true)
}

/// Adds an allow rule to the person's own rules for the project in `folder`, which stands at the top of
/// the file.
pub fn allow_here(file: &ConfigFile, folder: &Path, rule: &str) -> anyhow::Result<()> {
    let held = file.hold_file()?;
    let mut document = held.open_document()?;
    let about = match file.path().exists() {
        true => String::new(),
        false => format!("# What was always allowed in {folder:?}. It holds there alone.\n\n"),
    };
    if push_rule(&mut document, file.path(), RuleAction::Allow, rule)? {
        held.replace_text(&format!("{about}{document}"))?;
    }
    Ok(())
}

/// The same in a file that is open. Returns whether it was new.
pub(super) fn push_rule(
    document: &mut DocumentMut,
    path: &Path,
    action: RuleAction,
    rule: &str,
) -> anyhow::Result<bool> {
    let permissions =
        document.as_table_mut().entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let list = permissions
        .as_table_like_mut()
        .map(|table| table.entry(action.as_str()).or_insert(Item::Value(Array::new().into())))
        .and_then(Item::as_array_mut)
        .ok_or_else(|| {
            usage(format!("{}: permissions.{action} is not a list of rules", path.display()))
        })?;
    if list.iter().any(|item| item.as_str() == Some(rule)) {
        return Ok(false);
    }
    // In a list with one rule a line, the new one gets its own line too.
    let prefix = list.iter().last().and_then(|item| item.decor().prefix()?.as_str());
    let prefix = prefix
        .filter(|prefix| prefix.contains('\n'))
        .map(|prefix| format!("\n{}", prefix.rsplit('\n').next().unwrap_or_default()));
    let mut value = Value::from(rule);
    if let Some(prefix) = prefix {
        value.decor_mut().set_prefix(prefix);
        list.push_formatted(value);
    } else {
        list.push(value);
    }
    Ok(true)
}

/// The rules of a file that say just this, in whichever set.
///
/// # Errors
/// The file cannot be read.
pub fn find_rules(path: &Path, rule: &str) -> anyhow::Result<Vec<RawRule>> {
    let Some(text) = read_text(path).map_err(|why| usage(format!("{}: {why}", path.display())))?
    else {
        return Ok(Vec::new());
    };
    let layer = ConfigLayer::parse(path, &text, SettingOrigin::User).map_err(usage)?;
    Ok(layer.rules.into_iter().filter(|r| r.text == rule).collect())
}

/// Removes a rule from every set of a file. Returns what was removed.
pub fn remove_rule(file: &ConfigFile, rule: &str) -> anyhow::Result<Vec<RawRule>> {
    // Where there is none, nothing is made for a lock.
    if find_rules(file.path(), rule)?.is_empty() {
        return Ok(Vec::new());
    }
    let held = file.hold_file()?;
    let found = find_rules(file.path(), rule)?;
    let mut document = held.open_document()?;
    for action in RuleAction::ALL {
        let list = document
            .get_mut("permissions")
            .and_then(Item::as_table_like_mut)
            .and_then(|table| table.get_mut(action.as_str()))
            .and_then(Item::as_array_mut);
        if let Some(list) = list {
            list.retain(|item| item.as_str().map(str::trim) != Some(rule));
        }
    }
    held.replace_unchecked(&document.to_string())?;
    Ok(found)
}

/// Whether the text can be read back as settings.
pub(super) fn check_config_text(path: &Path, text: &str) -> anyhow::Result<()> {
    let layer = ConfigLayer::parse(path, text, SettingOrigin::User);
    let layer = layer.map_err(|why| usage(format!("not changed: {why}")))?;
    WorkspaceConfig::check_part(layer).map_err(|why| usage(format!("not changed: {why}")))
}

pub(super) fn open_config_document(path: &Path) -> anyhow::Result<DocumentMut> {
    let text = read_text(path).map_err(|why| usage(format!("{}: {why}", path.display())))?;
    parse_config_document(path, &text.unwrap_or_default())
}

/// The text of the file at `path`, to be changed.
pub(super) fn parse_config_document(path: &Path, text: &str) -> anyhow::Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| super::file::line_of(text, &span));
        let message = error.message().replace('\n', "; ");
        usage(format!("{}:{line}: {message}", path.display()))
    })
}

/// The parts of a dotted key, quotes understood: `models."acme/large".window`.
fn key_parts(key: &str) -> anyhow::Result<Vec<String>> {
    let parts = toml_edit::Key::parse(key)
        .map_err(|_| usage(format!("{key:?} is not a key; write limits.max_iterations")))?;
    Ok(parts.iter().map(|part| part.get().to_owned()).collect())
}

/// The key as settings are listed by it: parts in quotes only where they need them.
///
/// # Errors
/// It is no key.
pub fn listed_key(key: &str) -> anyhow::Result<String> {
    Ok(key_text(&key_parts(key)?))
}

/// The keys that a value sets, as somebody types it: of a table, those in it.
///
/// # Errors
/// It is no key.
pub fn keys_set_by(key: &str, value: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    push_value_keys(&mut key_parts(key)?, &setting_value_as_json(value), &mut found);
    Ok(found)
}

fn push_value_keys(at: &mut SettingPath, value: &serde_json::Value, found: &mut Vec<String>) {
    let serde_json::Value::Object(table) = value else {
        found.push(key_text(at));
        return;
    };
    for (name, value) in table {
        at.push(name.clone());
        push_value_keys(at, value, found);
        at.pop();
    }
}

/// A value as TOML; what is no TOML is text, so that nobody has to quote for the shell twice.
fn parse_setting_value(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| Value::from(text))
}

/// A value as somebody types it, as the routes of a server take it: TOML, and what is none is text.
pub fn setting_value_as_json(text: &str) -> serde_json::Value {
    let read = toml::from_str::<toml::Table>(&format!("value = {}", parse_setting_value(text)));
    let value = read.ok().and_then(|mut table| table.remove("value"));
    // Every TOML value is one of JSON; a date is its text.
    match value {
        Some(toml::Value::Datetime(date)) => serde_json::Value::from(date.to_string()),
        // JSON has no infinity: such a number is text, and no absence of a value.
        Some(value) if !matches!(value, toml::Value::Float(n) if !n.is_finite()) => {
            serde_json::to_value(value).unwrap_or_default()
        }
        _ => serde_json::Value::from(text),
    }
}
