//! One layer of settings: a file or the environment, as values by key with their lines.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weir_core::governance::rules::{RuleAction, RuleOrigin};
use weir_engine::regular_file::read_regular_file;

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
    /// Reads a file; `None` when there is none.
    pub(super) fn read_file(
        path: &Path,
        origin: fn(PathBuf, u32) -> SettingOrigin,
    ) -> anyhow::Result<Option<ConfigLayer>> {
        let text = match read_text(path) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(why) => return Err(usage(format!("{}: {why}", path.display()))),
        };
        ConfigLayer::parse(path, &text, origin).map(Some).map_err(usage)
    }

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
        toml::from_str::<Settings>(text).map_err(|e| wrong(&e))?;
        let json: Value = toml::from_str(text).map_err(|e| wrong(&e))?;
        let table = DeTable::parse(text).map_err(|e| wrong(&e))?;
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
            if let Ok(settings) = serde_json::from_value(table.clone()) {
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
