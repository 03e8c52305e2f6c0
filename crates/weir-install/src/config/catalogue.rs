//! Every key with description, default and value, as the settings' own types say it: nothing is written
//! down twice by hand. What they say is kept as text, which a test makes and compares.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::file::key_text;
use super::{Settings, WorkspaceConfig};

/// One setting as `weir config show` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingEntry {
    /// Its key.
    pub key: String,
    /// Its value; null: none.
    pub value: Value,
    /// Where that came from.
    pub origin: String,
    /// What holds when nobody says anything.
    pub default: Value,
    /// What it means.
    pub description: String,
}

/// The schema of the settings, as text.
const SETTINGS_SCHEMA: &str = include_str!("catalogue/settings_schema.json");
/// The same with everything inlined.
const INLINED_SCHEMA: &str = include_str!("catalogue/inlined_schema.json");

/// The JSON Schema of `config.toml`.
pub fn settings_schema() -> Value {
    serde_json::from_str(SETTINGS_SCHEMA).unwrap_or_default()
}

/// A table or value of the schema, in the order in which the struct has it.
pub(super) struct SettingDescription {
    pub(super) key: Vec<String>,
    pub(super) description: String,
    pub(super) default: Value,
    pub(super) is_table: bool,
    /// Its schema, with everything inlined.
    schema: Value,
}

/// Choices of a value that are told.
const CHOICES_TOLD_MAX: usize = 12;

/// The schema with everything inlined.
fn inlined_schema() -> Value {
    serde_json::from_str(INLINED_SCHEMA).unwrap_or_default()
}

/// What is to be written for a key, in words; `None`: nothing is known of it.
pub(super) fn expected_value(key: &[String]) -> Option<String> {
    let schema = inlined_schema();
    let of_key = key.iter().try_fold(&schema, |schema, part| schema_below(schema, part))?;
    let mut words = Vec::new();
    push_expected_words(of_key, &mut words);
    words.dedup();
    words.truncate(CHOICES_TOLD_MAX);
    (!words.is_empty()).then(|| words.join(" or "))
}

/// What a table of this schema has under a name.
fn schema_below<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let branches = ["anyOf", "oneOf"].iter().filter_map(|many| schema.get(*many)?.as_array());
    schema
        .get("properties")
        .and_then(|properties| properties.get(name))
        .or_else(|| schema.get("additionalProperties").filter(|of| of.is_object()))
        .or_else(|| branches.flatten().find_map(|branch| schema_below(branch, name)))
}

fn push_expected_words(schema: &Value, words: &mut Vec<String>) {
    if let Some(value) = schema.get("const") {
        words.push(value.to_string());
        return;
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        words.extend(values.iter().filter(|value| !value.is_null()).map(Value::to_string));
        return;
    }
    let branches = ["anyOf", "oneOf"].iter().filter_map(|many| schema.get(*many)?.as_array());
    for branch in branches.flatten() {
        push_expected_words(branch, words);
    }
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let word = |one: &Value| match one.as_str()? {
        "boolean" => Some("true or false"),
        "integer" => Some("a whole number"),
        "number" => Some("a number"),
        "string" => Some("text in quotes"),
        "array" => Some("a list"),
        "object" => Some("a table"),
        _ => None,
    };
    words.extend(types.iter().filter_map(word).map(String::from));
}

/// Walks the schema with everything inlined.
pub(super) fn describe_all_settings() -> Vec<SettingDescription> {
    let schema = inlined_schema();
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut found = Vec::new();
    walk_schema(&schema, &defaults, &mut Vec::new(), &mut found);
    found
}

/// The schema of every setting that is no table, by key: what values it takes.
pub fn setting_value_schemas() -> BTreeMap<String, Value> {
    let values = describe_all_settings().into_iter().filter(|described| !described.is_table);
    values.map(|described| (key_text(&described.key), described.schema)).collect()
}

fn walk_schema(
    schema: &Value,
    defaults: &Value,
    at: &mut Vec<String>,
    found: &mut Vec<SettingDescription>,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        at.push(name.clone());
        let default = defaults.get(name).cloned().unwrap_or_default();
        let is_table = default.is_object();
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        found.push(SettingDescription {
            key: at.clone(),
            description: description.split_whitespace().collect::<Vec<_>>().join(" "),
            default: default.clone(),
            is_table,
            schema: property.clone(),
        });
        walk_schema(property, &default, at, found);
        at.pop();
    }
}

/// Every setting of `config`, those of named tables (`[providers.NAME]`) too.
pub fn setting_entries(config: &WorkspaceConfig) -> Vec<SettingEntry> {
    let values = serde_json::to_value(&config.settings).unwrap_or_default();
    let mut entries = Vec::new();
    for described in describe_all_settings() {
        let key = key_text(&described.key);
        let value = described.key.iter().try_fold(&values, |value, part| value.get(part));
        let value = value.cloned().unwrap_or_default();
        if described.is_table {
            push_named_table_entries(config, &key, &described, &mut entries);
            continue;
        }
        let rules = described.key.first().is_some_and(|first| first == "permissions");
        let (value, origin) =
            if rules { rules_of(config, &described.key[1]) } else { (value, None) };
        entries.push(SettingEntry {
            origin: origin.unwrap_or_else(|| config.origin_of_key(&key).to_string()),
            value: redact_setting_value(&key, value),
            key,
            default: described.default,
            description: described.description,
        });
    }
    entries
}

/// Values that a person set in a table whose names are theirs to choose.
fn push_named_table_entries(
    config: &WorkspaceConfig,
    table: &str,
    described: &SettingDescription,
    entries: &mut Vec<SettingEntry>,
) {
    let has_members = described.schema.get("additionalProperties").is_some_and(Value::is_object);
    let is_open = described.default.as_object().is_some_and(serde_json::Map::is_empty);
    if !is_open && !has_members {
        return;
    }
    let values = serde_json::to_value(&config.settings).unwrap_or_default();
    for (key, origin) in config.set_keys() {
        let below = key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
        let is_described = entries.iter().any(|entry| entry.key == *key)
            || described
                .schema
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|own| own.keys().any(|name| *key == format!("{table}.{name}")));
        if below && !is_described {
            let parts = toml_edit::Key::parse(key).unwrap_or_default();
            let value = parts.iter().try_fold(&values, |value, part| value.get(part.get()));
            entries.push(SettingEntry {
                key: key.to_owned(),
                value: redact_setting_value(key, value.cloned().unwrap_or_default()),
                origin: origin.to_string(),
                default: Value::Null,
                description: described.description.clone(),
            });
        }
    }
}

/// The value without what may be a secret: headers and variables of others, passwords in addresses.
fn redact_setting_value(key: &str, value: Value) -> Value {
    let is_private =
        key != "commands.env" && key.split('.').any(|part| part == "headers" || part == "env");
    match value {
        Value::Null => Value::Null,
        _ if is_private => Value::from("***"),
        Value::String(text) => match text.split_once("://") {
            Some((scheme, rest))
                if rest.split('/').next().is_some_and(|host| host.contains('@')) =>
            {
                let after = rest.split_once('@').map(|(_, after)| after).unwrap_or_default();
                Value::from(format!("{scheme}://***@{after}"))
            }
            _ => Value::String(text),
        },
        value => value,
    }
}

/// The rules of one set, and the places where they stand.
fn rules_of(config: &WorkspaceConfig, set: &str) -> (Value, Option<String>) {
    let rules = config.rules.iter().filter(|rule| rule.action.as_str() == set);
    let texts: Vec<Value> = rules.clone().map(|rule| Value::from(rule.text.clone())).collect();
    let places: Vec<String> = rules.map(|rule| rule.origin.to_string()).collect();
    let origin = (!places.is_empty()).then(|| places.join(", "));
    (Value::Array(texts), origin)
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    use super::*;

    #[test]
    fn c8_the_kept_schemas_are_what_the_settings_say() {
        for (name, kept, is_inlined) in
            [("settings_schema", SETTINGS_SCHEMA, false), ("inlined_schema", INLINED_SCHEMA, true)]
        {
            let settings = SchemaSettings::draft2020_12()
                .with(|settings| settings.inline_subschemas = is_inlined);
            let derived = settings.into_generator().into_root_schema_for::<Settings>().to_value();
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/config/catalogue");
            weir_test_kit::check_kept_json(&format!("{folder}/{name}.json"), kept, &derived);
        }
    }
}
