//! The list as a whole: names, sizes, schemas, the generated page.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::{built_in_tools, tools_markdown};

#[test]
fn t1_names_are_unique_and_callable() {
    let mut names = BTreeSet::new();
    for tool in built_in_tools() {
        let name = tool.spec().name.clone();
        let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(is_plain && name.len() <= 64, "{name}");
        assert!(names.insert(name.clone()), "{name} is in the list twice");
    }
}

#[test]
fn t2_every_tool_of_the_list_is_there() {
    let names: BTreeSet<String> =
        built_in_tools().iter().map(|tool| tool.spec().name.clone()).collect();
    for name in [
        "read_file",
        "list_files",
        "glob",
        "search_files",
        "write_file",
        "edit_file",
        "apply_patch",
        "append_to_file",
        "create_folder",
        "move_file",
        "delete_file",
        "list_checkpoints",
        "read_checkpoint",
        "diff_checkpoint",
        "restore_checkpoint",
        "run_shell",
        "read_shell_output",
        "write_shell_input",
        "kill_shell",
        "web_fetch",
        "update_todo_list",
        "ask_followup_question",
        "attempt_completion",
        "inspect_self",
        "mark_for_memory",
        "recall_memory",
        "recall",
        "find_tool",
        "call_tool",
        "switch_agent",
        "read_skill",
        "invoke_skill",
        "run_skill_script",
        "manage_skill",
        "execute_command",
        "call_plugin_api",
        "enable_plugin",
        "resolve_capability_gap",
        "consult_flagship",
        "execute_recipe",
        "new_task",
        "merge_agent",
        "manage_tool",
        "evaluate_expression",
        "use_mcp_tool",
        "read_mcp_tool",
    ] {
        assert!(names.contains(name), "{name} is missing");
    }
}

#[test]
fn t4_deferred_tools_are_the_rare_ones() {
    let deferred: BTreeSet<String> = built_in_tools()
        .iter()
        .filter(|tool| tool.spec().deferred)
        .map(|tool| tool.spec().name.clone())
        .collect();
    let expected = [
        "call_plugin_api",
        "consult_flagship",
        "diff_checkpoint",
        "enable_plugin",
        "evaluate_expression",
        "execute_command",
        "execute_recipe",
        "inspect_self",
        "list_checkpoints",
        "manage_skill",
        "manage_tool",
        "merge_agent",
        "read_checkpoint",
        "read_mcp_tool",
        "resolve_capability_gap",
        "restore_checkpoint",
        "use_mcp_tool",
    ];
    assert_eq!(deferred, expected.map(String::from).into());
}

#[test]
fn l7_parallel_safe_tools_only_look() {
    let safe: Vec<String> = built_in_tools()
        .iter()
        .filter(|tool| tool.spec().parallel_safe)
        .map(|tool| tool.spec().name.clone())
        .collect();
    let expected = [
        "read_file",
        "list_files",
        "glob",
        "search_files",
        "list_checkpoints",
        "read_checkpoint",
        "diff_checkpoint",
        "recall_memory",
        "recall",
        "web_fetch",
        // Agents that change the same workspace are held apart by the session (M6).
        "new_task",
        "inspect_self",
        "read_skill",
        "read_mcp_tool",
        "read_shell_output",
        "evaluate_expression",
    ];
    assert_eq!(safe, expected);
}

#[test]
fn q7_descriptions_and_schemas_fit_their_budget() {
    // What is only named costs its name (T4).
    let shown: Vec<Value> = built_in_tools()
        .iter()
        .filter(|tool| !tool.spec().deferred)
        .map(|tool| {
            let spec = tool.spec();
            json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.input_schema,
            })
        })
        .collect();
    let bytes = shown.iter().map(|tool| tool.to_string().len()).sum::<usize>();
    // Q7 allows 24 kB with the system prompt, and P1 allows that 3,000 tokens: 11 kB are left for it.
    assert!(bytes <= 13_000, "{bytes} bytes of names, descriptions and schemas");
}

#[test]
fn t1_schemas_are_self_contained_objects() {
    for tool in built_in_tools() {
        let spec = tool.spec();
        let schema = spec.input_schema.to_string();
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
        assert!(spec.input_schema["properties"].is_object(), "{}", spec.name);
        for word in ["$ref", "$defs", "$schema", "\"null\"", "\"title\"", "\"format\""] {
            assert!(!schema.contains(word), "{} has {word}: {schema}", spec.name);
        }
    }
}

/// The table for people has every tool in a row.
#[test]
fn t1_the_page_about_tools_names_every_tool() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let rows: String = page.lines().filter(|line| line.starts_with("| ")).collect();
    let names = crate::built_in_names();
    let missing: Vec<&String> =
        names.iter().filter(|name| !rows.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/tools.md leaves out {missing:?}");
    // And none that there is no more.
    let named = rows.split('`').skip(1).step_by(2);
    let gone: Vec<&str> = named
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .filter(|word| *word != "email" && !names.iter().any(|name| name == word))
        .collect();
    assert!(gone.is_empty(), "docs/tools.md names {gone:?}");
}

#[test]
fn t1_tools_md_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/tools.md");
    let page = tools_markdown();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        std::fs::write(&path, &page).expect("the page");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/generated/tools.md is not what the list prints; run with UPDATE=1");
}
