//! The list as a whole: names, sizes, schemas, the generated page.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::{VAULT_TOOLS, built_in_tools, tools_markdown};

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

/// The tools of the list that are built.
const REQUIRED: &[&str] = &[
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
    "web_search",
    "anti_echo_search",
    "update_todo_list",
    "ask_followup_question",
    "attempt_completion",
    "inspect_self",
    "mark_for_memory",
    "recall_memory",
    "recall",
    "brain",
    "semantic_search",
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
    "open_handle",
    "extract_fields",
    "execute_recipe",
    "new_task",
    "merge_agent",
    "manage_tool",
    "evaluate_expression",
    "run_program",
    "use_mcp_tool",
    "read_mcp_tool",
    "read_document",
    "create_docx",
    "plan_presentation",
    "create_pptx",
    "create_xlsx",
    "extract_zip",
    "get_frontmatter",
    "search_by_tag",
    "get_linked_notes",
    "get_daily_note",
    "rename_heading",
    "get_vault_stats",
    "vault_health_check",
    "query_base",
    "update_frontmatter",
    "create_base",
    "update_base",
    "generate_canvas",
    "generate_image",
    "create_excalidraw",
    "create_drawio",
    "ingest_triage",
    "ingest_document",
    "ingest_deep",
    "mark_note_as_memory_source",
    "list_memory_source_notes",
    "unmark_note_as_memory_source",
    "read_agent_logs",
    "update_settings",
    "configure_model",
];

#[test]
fn t2_every_tool_of_the_list_is_there() {
    let names: BTreeSet<String> =
        built_in_tools().iter().map(|tool| tool.spec().name.clone()).collect();
    for name in REQUIRED {
        assert!(names.contains(*name), "{name} is missing");
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
        "anti_echo_search",
        "brain",
        "call_plugin_api",
        "configure_model",
        "consult_flagship",
        "create_docx",
        "create_pptx",
        "create_xlsx",
        "create_base",
        "create_drawio",
        "create_excalidraw",
        "diff_checkpoint",
        "enable_plugin",
        "evaluate_expression",
        "execute_command",
        "execute_recipe",
        "extract_zip",
        "generate_image",
        "get_vault_stats",
        "ingest_deep",
        "ingest_document",
        "ingest_triage",
        "inspect_self",
        "list_checkpoints",
        "list_memory_source_notes",
        "manage_skill",
        "manage_tool",
        "mark_note_as_memory_source",
        "merge_agent",
        "plan_presentation",
        "read_agent_logs",
        "read_checkpoint",
        "read_document",
        "read_mcp_tool",
        "rename_heading",
        "resolve_capability_gap",
        "restore_checkpoint",
        "run_program",
        "semantic_search",
        "unmark_note_as_memory_source",
        "update_base",
        "update_settings",
        "use_mcp_tool",
        "vault_health_check",
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
        "read_document",
        "list_files",
        "glob",
        "search_files",
        "list_checkpoints",
        "read_checkpoint",
        "diff_checkpoint",
        "recall_memory",
        "recall",
        "get_frontmatter",
        "search_by_tag",
        "get_linked_notes",
        "query_base",
        "get_vault_stats",
        "vault_health_check",
        "semantic_search",
        "list_memory_source_notes",
        "ingest_triage",
        "web_fetch",
        "web_search",
        "anti_echo_search",
        // Agents that change the same workspace are held apart by the session (M6).
        "new_task",
        "open_handle",
        "extract_fields",
        "inspect_self",
        "read_agent_logs",
        "read_skill",
        "read_mcp_tool",
        "read_shell_output",
        "evaluate_expression",
    ];
    assert_eq!(safe, expected);
}

#[test]
fn q7_descriptions_and_schemas_fit_their_budget() {
    // What is only named costs its name (T4), and what no session has as Weir comes costs nothing.
    // A session has the last two where a tool of a server acts on others.
    let needs_setup = ["web_search", "open_handle", "extract_fields"];
    let size = |vault: bool| -> usize {
        let tools = built_in_tools();
        let shown = tools.iter().map(|tool| tool.spec()).filter(|spec| !spec.deferred);
        let shown = shown.filter(|spec| !needs_setup.contains(&spec.name.as_str()));
        let shown = shown.filter(|spec| vault || !VAULT_TOOLS.contains(&spec.name.as_str()));
        let described = shown.map(|spec| -> Value {
            json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.input_schema,
            })
        });
        described.map(|tool| tool.to_string().len()).sum()
    };
    // Q7 allows 24 kB with the system prompt, and P1 allows that 3,000 tokens: 11 kB are left for it.
    let bytes = size(false);
    assert!(bytes <= 13_000, "{bytes} bytes of names, descriptions and schemas");
    // In a vault its own tools come beside.
    let bytes = size(true);
    assert!(bytes <= 19_000, "{bytes} bytes of names, descriptions and schemas in a vault");
}

#[test]
fn t1_schemas_are_self_contained_objects() {
    for tool in built_in_tools() {
        let spec = tool.spec();
        let schema = spec.input_schema.to_string();
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
        assert!(spec.input_schema["properties"].is_object(), "{}", spec.name);
        // A field may be called title or format; what says one of a schema has a text there.
        for word in ["$ref", "$defs", "$schema", "\"null\"", "\"title\":\"", "\"format\":\""] {
            assert!(!schema.contains(word), "{} has {word}: {schema}", spec.name);
        }
    }
}

/// What the table says of a tool that Weir has not.
const LEFT_OUT: &str = "left out because";

/// Names that people know from elsewhere and that Weir has not.
const ABSENT: &[&str] = &["notify"];

/// The second table says of each tool whether it is there, and what it says is so.
#[test]
fn t2_the_table_of_tools_says_what_is_so() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let table = page.split("## Which tools there are").nth(1).expect("the section");
    let mut states = std::collections::BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').splitn(2, '|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_owned();
        assert!(states.insert(name, cells[1].to_owned()).is_none(), "{line} is there twice");
    }
    let names = crate::built_in_names();
    for (name, state) in &states {
        let is_there = names.contains(name) || name == "email";
        match is_there {
            true => assert!(state.starts_with("there"), "{name} is there: {state}"),
            false => assert!(state.starts_with(LEFT_OUT), "{name} is not there: {state}"),
        }
        let needs_vault = VAULT_TOOLS.contains(&name.as_str());
        assert_eq!(needs_vault, state == "there, in a vault", "{name}: {state}");
    }
    let unsaid: Vec<&&str> =
        REQUIRED.iter().chain(ABSENT).filter(|name| !states.contains_key(**name)).collect();
    // These are Weir's own and stand in the first table alone.
    let own = ["call_tool", "open_handle", "extract_fields", "merge_agent", "run_program"];
    assert!(unsaid.into_iter().eq(&own), "{own:?}");
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
    let there: String =
        page.lines().filter(|line| line.starts_with("| ") && !line.contains(LEFT_OUT)).collect();
    let named = there.split('`').skip(1).step_by(2);
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
