//! One layer of settings: a file or the environment, as values by key with their lines.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_core::governance::rules::{RuleAction, RuleOrigin};
use weir_engine::regular_file::read_regular_file;

use super::mismatch::describe_file_mismatch;
use super::{RawHook, RawRule, SettingOrigin, Settings};
use crate::environment::ProcessEnvironment;
use crate::failure::usage;

/// Largest file of settings, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A key as its parts: `limits`, `max_iterations`.
pub(super) type SettingPath = Vec<String>;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct PlacedValue {
    pub(super) json: Value,
    pub(super) origin: SettingOrigin,
}

/// What one source sets.
#[derive(Debug, Clone, Default)]
pub(super) struct ConfigLayer {
    /// Values of leaves: whatever is not a table. Rules stand in `rules` alone.
    pub(super) values: BTreeMap<SettingPath, PlacedValue>,
    /// Rules.
    pub(super) rules: Vec<RawRule>,
    /// Hooks, each with its own line. Their tables stand in `values` too.
    pub(super) hooks: Vec<RawHook>,
}

impl ConfigLayer {
    /// Understands the text of a file. The error names file and line.
    pub(super) fn parse(
        path: &Path,
        text: &str,
        origin: fn(PathBuf, u32) -> SettingOrigin,
    ) -> Result<ConfigLayer, String> {
        let wrong = |error: &toml::de::Error| {
            let line = error.span().map_or(1, |span| line_of(text, &span));
            format!("{}:{line}: {}", path.display(), first_line(error.message()))
        };
        // Types and unknown keys first: the typed struct knows them all.
        toml::from_str::<Settings>(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, &span));
            format!("{}:{line}: {}", path.display(), describe_file_mismatch(text, &error))
        })?;
        let json: Value = toml::from_str(text).map_err(|e| wrong(&e))?;
        let table = DeTable::parse(text).map_err(|e| wrong(&e))?;
        refuse_endless_numbers(path, text, table.get_ref())?;
        let mut walk = LayerWalker { path, text, origin, layer: ConfigLayer::default() };
        walk.walk_table(table.get_ref(), &json, &mut Vec::new());
        Ok(walk.layer)
    }

    /// What the environment sets.
    pub(super) fn of_environment(
        environment: &ProcessEnvironment,
    ) -> anyhow::Result<Option<ConfigLayer>> {
        let mut layer = ConfigLayer::default();
        let mut set = |key: &[&str], json: Value, name: &'static str| {
            let key = key.iter().map(ToString::to_string).collect();
            layer
                .values
                .insert(key, PlacedValue { json, origin: SettingOrigin::Environment(name) });
        };
        if let Some(model) = environment.text_variable("WEIR_MODEL") {
            set(&["model"], Value::String(model.to_owned()), "WEIR_MODEL");
        }
        if let Some(text) = environment.text_variable("WEIR_MAX_TOOL_CALLS") {
            let number: u32 = text.parse().map_err(|_| {
                usage(format!("WEIR_MAX_TOOL_CALLS is {text:?}; it must be a whole number"))
            })?;
            set(&["limits", "max_tool_calls"], Value::from(number), "WEIR_MAX_TOOL_CALLS");
        }
        Ok((!layer.values.is_empty()).then_some(layer))
    }

    /// Its rules, and nothing else that it sets.
    pub(super) fn into_rules_alone(self) -> ConfigLayer {
        ConfigLayer { rules: self.rules, ..ConfigLayer::default() }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &[&str]) -> Option<&PlacedValue> {
        self.values.get(&key.iter().map(ToString::to_string).collect::<SettingPath>())
    }
}

/// The file's text; `None` when there is none.
pub fn read_text(path: &Path) -> Result<Option<String>, String> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}; check its permissions")),
    };
    if !found.is_file() {
        return Err("is not a file; remove it or put a file there".into());
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(format!("has {} bytes; at most {FILE_BYTES_MAX} are read", found.len()));
    }
    let bytes = read_regular_file(path, FILE_BYTES_MAX)
        .map_err(|error| format!("cannot be read: {error}; check its permissions"))?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        format!("line {}: is not valid UTF-8; save it as UTF-8", line + 1)
    })
}

/// JSON has neither infinity nor what is no number: such a value would count as one that was left out,
/// and a bound that is left out bounds nothing.
fn refuse_endless_numbers(path: &Path, text: &str, table: &DeTable<'_>) -> Result<(), String> {
    let mut key = SettingPath::new();
    let Some(span) = endless_number_in_table(table, &mut key) else { return Ok(()) };
    let line = line_of(text, &span);
    let written = text.get(span).unwrap_or_default();
    Err(format!(
        "{}:{line}: {} is {written}, which is no amount; write a number, or leave it out",
        path.display(),
        key_text(&key)
    ))
}

/// Where the first float of a table stands that is not finite; `key` is its key then.
fn endless_number_in_table(table: &DeTable<'_>, key: &mut SettingPath) -> Option<Range<usize>> {
    for (name, value) in table {
        key.push(name.get_ref().to_string());
        let found = find_endless_number(value, key);
        if found.is_some() {
            return found;
        }
        key.pop();
    }
    None
}

/// The same in a value, which stands at `key`.
fn find_endless_number(
    value: &Spanned<DeValue<'_>>,
    key: &mut SettingPath,
) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Float(number) => {
            let is_finite = number.as_str().parse::<f64>().is_ok_and(f64::is_finite);
            (!is_finite).then(|| value.span())
        }
        DeValue::Array(items) => items.iter().find_map(|item| find_endless_number(item, key)),
        DeValue::Table(table) => endless_number_in_table(table, key),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            None
        }
    }
}

/// Walks the spanned table and the same values as JSON side by side.
struct LayerWalker<'a> {
    path: &'a Path,
    text: &'a str,
    origin: fn(PathBuf, u32) -> SettingOrigin,
    layer: ConfigLayer,
}

impl LayerWalker<'_> {
    fn walk_table(&mut self, table: &DeTable<'_>, json: &Value, at: &mut SettingPath) {
        for (name, value) in table {
            let Some(json) = json.get(name.get_ref().as_ref()) else { continue };
            at.push(name.get_ref().to_string());
            match value.get_ref() {
                DeValue::Table(inner) => self.walk_table(inner, json, at),
                DeValue::Array(items) if at.len() == 2 && at[0] == "permissions" => {
                    self.push_rules(&at[1].clone(), items.iter(), json);
                }
                _ => {
                    if let (DeValue::Array(items), [first, event]) =
                        (value.get_ref(), at.as_slice())
                        && first == "hooks"
                    {
                        self.push_hooks(event, items.iter(), json);
                    }
                    let line = line_of(self.text, &name.span());
                    let origin = (self.origin)(self.path.to_path_buf(), line);
                    let placed = PlacedValue { json: json.clone(), origin };
                    self.layer.values.insert(at.clone(), placed);
                }
            }
            at.pop();
        }
    }

    fn push_hooks<'t>(
        &mut self,
        event: &str,
        items: impl Iterator<Item = &'t Spanned<DeValue<'t>>>,
        json: &Value,
    ) {
        let tables = json.as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, (item, table)) in items.zip(tables).enumerate() {
            let line = line_of(self.text, &item.span());
            let origin = (self.origin)(self.path.to_path_buf(), line);
            // It was read as settings before, so it can be read again.
            if let Ok(settings) = Deserialize::deserialize(table) {
                self.layer.hooks.push(RawHook { event: event.to_owned(), index, settings, origin });
            }
        }
    }

    fn push_rules<'t>(
        &mut self,
        set: &str,
        items: impl Iterator<Item = &'t Spanned<DeValue<'t>>>,
        json: &Value,
    ) {
        let Some(action) = RuleAction::ALL.into_iter().find(|a| a.as_str() == set) else { return };
        let texts = json.as_array().map(Vec::as_slice).unwrap_or_default();
        for (item, text) in items.zip(texts) {
            let line = line_of(self.text, &item.span());
            let origin = RuleOrigin::new(self.path.display().to_string()).at_line(line);
            let text = text.as_str().unwrap_or_default().to_owned();
            self.layer.rules.push(RawRule { action, text, origin });
        }
    }
}

/// Puts `value` at `key`, making tables on the way.
pub fn insert(into: &mut Value, key: &[String], value: Value) {
    let Some((first, rest)) = key.split_first() else {
        *into = value;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(map) = into {
        insert(map.entry(first.clone()).or_insert(Value::Null), rest, value);
    }
}

/// The key as people write it: parts that are no bare words in quotes.
pub fn key_text<S: AsRef<str>>(key: &[S]) -> String {
    let bare = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    let parts = key.iter().map(|part| match part.as_ref() {
        part if bare(part) => part.to_owned(),
        part => format!("{part:?}"),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// The line of a place in a text, from 1.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> u32 {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count() + 1).unwrap_or(u32::MAX)
}

fn first_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let path = Path::new("config.toml");
        ConfigLayer::parse(path, text, SettingOrigin::User).expect_err("no amount")
    }

    #[test]
    fn c8_l3_a_number_without_end_is_refused_and_never_a_bound_that_is_left_out() {
        for number in ["nan", "+nan", "-nan", "inf", "+inf", "-inf"] {
            let told = refusal(&format!("[limits]\n\nbudget_usd = {number}\n"));
            assert!(told.starts_with("config.toml:3: limits.budget_usd is "), "{told}");
            assert!(told.contains(number) && told.contains("is no amount"), "{told}");
        }
        let told = refusal("spending = { day_usd = nan }\n");
        assert!(told.starts_with("config.toml:1: spending.day_usd is nan"), "{told}");
        let fine = "[limits]\nbudget_usd = 1.5\n[spending]\nday_usd = 2e1\n";
        assert!(ConfigLayer::parse(Path::new("c"), fine, SettingOrigin::User).is_ok());
    }

    #[test]
    fn c8_a_number_without_end_is_found_in_lists_and_in_tables_of_lists() {
        let told = |text: &str| {
            let table = DeTable::parse(text).expect("TOML");
            refuse_endless_numbers(Path::new("c"), text, table.get_ref()).expect_err("no amount")
        };
        assert!(told("a.b = [1.0,\n inf]\n").starts_with("c:2: a.b is inf"));
        assert!(told("[[a]]\nx = 1\n[[a]]\n\"y z\" = nan\n").starts_with("c:4: a.\"y z\" is nan"));
    }

    #[test]
    fn c8_l3_config_set_writes_no_number_without_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let file = crate::config::ConfigFile::with_lock_in(folder.path(), &path);
        for number in ["nan", "inf"] {
            let refused = crate::config::set_value(&file, "limits.budget_usd", number);
            let told = format!("{:#}", refused.expect_err("no amount"));
            assert!(told.contains("limits.budget_usd") && told.contains("is no amount"), "{told}");
        }
        assert!(!path.exists(), "nothing was written");
    }
}
