//! Every setting is held against what a workspace that is not trusted may set (C5): a setting that is
//! new takes trust until somebody writes here that it does not.

use serde_json::json;

use super::super::SettingOrigin;
use super::super::catalogue::describe_all_settings;
use super::super::file::insert;
use super::*;

/// What may be set: `(key, a value that passes, one that does not)`.
fn settable_values() -> Vec<(&'static str, Value, Option<Value>)> {
    vec![
        ("permission", json!("plan"), Some(json!("full"))),
        ("thinking", json!("off"), Some(json!("high"))),
        ("limits.max_iterations", json!(10), Some(json!(1_001))),
        ("limits.max_tool_calls", json!(10), Some(json!(51))),
        ("limits.consecutive_mistake_limit", json!(2), Some(json!(0))),
        ("limits.rate_limit_ms", json!(200), Some(json!(0))),
        ("limits.max_subtask_depth", json!(1), Some(json!(3))),
        ("limits.parallel_calls", json!(4), Some(json!(9))),
        ("limits.program_steps", json!(10), Some(json!(201))),
        ("limits.budget_usd", json!(0.5), Some(json!(5.5))),
        ("limits.budget_tokens", json!(10), Some(json!(1_001))),
        ("limits.run_timeout", json!("1m"), Some(json!("11m"))),
        ("limits.tool_timeout", json!("1m"), Some(json!("10m"))),
        ("limits.approval_timeout", json!("1h"), Some(json!("48h"))),
        ("spending.session_usd", json!(1.0), Some(json!(6.0))),
        ("spending.day_usd", json!(1.0), Some(json!(6.0))),
        ("spending.person_usd", json!(1.0), Some(json!(6.0))),
        ("spending.server_usd", json!(1.0), Some(json!(6.0))),
        ("spending.schedule_usd", json!(1.0), Some(json!(0.0))),
        ("spending.schedule_run_usd", json!(0.5), Some(json!(0.0))),
        ("spending.schedule_run_tokens", json!(10), Some(json!(0))),
        ("memory.enabled", json!(false), Some(json!(true))),
        ("memory.accept", json!(false), Some(json!(true))),
        ("memory.after_run", json!(false), Some(json!(true))),
        ("brain.agent_may_keep", json!(false), Some(json!(true))),
        ("recipes.enabled", json!(false), Some(json!(true))),
        ("recipes.fast_path", json!(false), Some(json!(true))),
        ("recipes.learn", json!(false), Some(json!(true))),
        ("recipes.accept_learned", json!(false), Some(json!(true))),
        ("recipes.floor", json!(0.9), Some(json!(0.1))),
        ("security.confirmation", json!(true), Some(json!(false))),
        ("security.canary", json!(true), Some(json!(false))),
        ("security.validate_output", json!(true), Some(json!(false))),
        ("security.screen_results", json!(true), Some(json!(false))),
        ("prompt.timezone", json!("Europe/Zurich"), None),
    ]
}

/// A person who has little allowed: whatever can be bounded or off is.
fn careful_person() -> Settings {
    let mut json = Value::Object(serde_json::Map::new());
    for (key, value) in [
        ("limits.max_tool_calls", json!(50)),
        ("limits.rate_limit_ms", json!(100)),
        ("limits.budget_usd", json!(5.0)),
        ("limits.budget_tokens", json!(1_000)),
        ("limits.run_timeout", json!("10m")),
        ("spending.session_usd", json!(5.0)),
        ("spending.day_usd", json!(5.0)),
        ("spending.person_usd", json!(5.0)),
        ("spending.server_usd", json!(5.0)),
        ("memory.enabled", json!(false)),
        ("recipes.enabled", json!(false)),
        ("recipes.fast_path", json!(false)),
        ("recipes.learn", json!(false)),
    ] {
        insert(&mut json, &parts_of(key), value);
    }
    serde_json::from_value(json).expect("they fit")
}

fn parts_of(key: &str) -> SettingPath {
    key.split('.').map(str::to_owned).collect()
}

fn is_refused(key: &[String], value: &Value) -> bool {
    let placed = PlacedValue { json: value.clone(), origin: SettingOrigin::BuiltIn };
    refusal_reason(&key.to_vec(), &placed, &careful_person()).is_some()
}

/// Values of every kind.
fn samples() -> Vec<Value> {
    vec![
        Value::Null,
        json!(false),
        json!(true),
        json!(0),
        json!(1),
        json!(0.99),
        json!(""),
        json!("plan"),
        json!("off"),
        json!("agent"),
        json!("auto"),
        json!("1s"),
        json!("UTC"),
        json!([]),
        json!(["x"]),
        json!({}),
    ]
}

#[test]
fn c5_every_setting_that_is_not_known_to_narrow_takes_trust() {
    let passing = settable_values();
    let all = describe_all_settings();
    let mut seen = 0;
    for described in all.iter().filter(|one| !one.is_table) {
        let key = key_text(&described.key);
        match passing.iter().find(|(known, _, _)| *known == key) {
            Some((_, less, more)) => {
                seen += 1;
                assert!(!is_refused(&described.key, less), "{key} = {less} narrows");
                if let Some(more) = more {
                    assert!(is_refused(&described.key, more), "{key} = {more} widens");
                }
            }
            None => {
                for value in samples() {
                    assert!(is_refused(&described.key, &value), "{key} = {value} passes");
                }
            }
        }
    }
    assert_eq!(seen, passing.len(), "each of the list is a setting");
    // What is set by name, and what nobody has thought of yet.
    for table in all.iter().filter(|one| one.is_table) {
        let mut key = table.key.clone();
        key.push("x-new".to_owned());
        for value in samples() {
            assert!(is_refused(&key, &value), "{} = {value} passes", key_text(&key));
        }
    }
    assert!(is_refused(&parts_of("new"), &json!(true)));
}

#[test]
fn c5_what_is_no_level_and_no_mode_passes_for_none() {
    for key in ["permission", "thinking", "limits.budget_usd", "spending.day_usd"] {
        for value in [json!({}), json!(["x"]), json!("nonsense")] {
            assert!(is_refused(&parts_of(key), &value), "{key} = {value}");
        }
    }
}

#[test]
fn c5_a_workspace_that_is_not_trusted_chooses_no_profile_and_it_is_said() {
    let text = "profile = \"reviewer\"\n";
    let path = std::path::Path::new("config.toml");
    let layer = ConfigLayer::parse(path, text, SettingOrigin::Project).expect("settings");
    let narrowed = narrow_project_layer(layer, None).expect("narrowed");
    assert!(narrowed.layer.values.is_empty());
    let told: Vec<String> = narrowed.withheld.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["config.toml:1: profile is ignored: a workspace that is not trusted cannot choose the \
          profile; choose it yourself with --profile"]
    );
}
