//! Which tools of a profile an MCP client gets: those that act on the workspace and the world, each by its
//! name. What steers an agent of Weir's own, knows the person, or needs the session's model is none of a
//! client's. Pure. Not here: whether a call passes.

use serde_json::{Map, Value};
use weir_core::tool::built_in::{
    COMMAND_RUNNER, EXTRACT_FIELDS, FILE_EDITOR, FOREIGN_CALLER, OPEN_HANDLE, PAGE_FETCHER,
    PROGRAM_RUNNER, SKILL_READER, TEXT_FINDER,
};
use weir_core::tool::{ToolGroup, ToolSpec};
use weir_mcp_server::ServedTool;

/// Weir's own tools that are served. What is not named here is not: the session refuses it too, since it is
/// denied in its profile.
const SERVED: &[&str] = &[
    // Files, and what was saved of them.
    "read_file",
    "read_document",
    "list_files",
    "glob",
    TEXT_FINDER,
    "list_checkpoints",
    "read_checkpoint",
    "diff_checkpoint",
    "restore_checkpoint",
    "write_file",
    FILE_EDITOR,
    "apply_patch",
    "append_to_file",
    "create_folder",
    "move_file",
    "delete_file",
    "extract_zip",
    // Notes of a vault, which are files.
    "get_frontmatter",
    "search_by_tag",
    "get_linked_notes",
    "get_daily_note",
    "query_base",
    "get_vault_stats",
    "vault_health_check",
    "semantic_search",
    "update_frontmatter",
    "create_base",
    "update_base",
    "generate_canvas",
    "create_excalidraw",
    "create_drawio",
    "rename_heading",
    "ingest_triage",
    "ingest_document",
    "ingest_deep",
    // Documents and pictures that it makes.
    "create_docx",
    "plan_presentation",
    "create_pptx",
    "create_xlsx",
    "generate_image",
    // The network.
    PAGE_FETCHER,
    "web_search",
    "anti_echo_search",
    // Commands and programs.
    COMMAND_RUNNER,
    "read_shell_output",
    "write_shell_input",
    "kill_shell",
    "execute_command",
    "evaluate_expression",
    PROGRAM_RUNNER,
    OPEN_HANDLE,
    // Skills, servers and plugins that are there already.
    SKILL_READER,
    "run_skill_script",
    "call_plugin_api",
    FOREIGN_CALLER,
    "read_mcp_tool",
];

/// The tool for the person's mail, which is no built-in one: it is there where an account is named, and none
/// is for clients.
const MAIL: &str = "email";

/// Who reads what stands behind handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldReader {
    /// The client's own model.
    Client,
    /// Nobody: the session's model is the client, which says nothing.
    Nobody,
}

/// Whether a tool of this name is served: it is named, or one of the person's servers or made tools.
pub(super) fn is_served(name: &str, reader: FieldReader) -> bool {
    let is_refused = || name == MAIL || refused_tools(reader).iter().any(|refused| refused == name);
    SERVED.contains(&name) || !is_refused()
}

/// Weir's own tools that are not served.
pub(super) fn refused_tools(reader: FieldReader) -> Vec<String> {
    let is_read = |name: &str| name == EXTRACT_FIELDS && reader == FieldReader::Client;
    let own = weir_tools::built_in_names().into_iter();
    own.filter(|name| !SERVED.contains(&name.as_str()) && !is_read(name)).collect()
}

/// A tool as a client sees it.
pub(super) fn served_tool(spec: &ToolSpec) -> ServedTool {
    let schema: &Value = &spec.input_schema;
    ServedTool {
        name: spec.name.clone(),
        description: spec.description.clone(),
        input_schema: schema.as_object().cloned().unwrap_or_else(object_schema),
        // Hints, no promises: the gate looks at what a call does.
        reads_only: matches!(spec.group, ToolGroup::Read | ToolGroup::Vault),
        reaches_out: matches!(spec.group, ToolGroup::Web | ToolGroup::Mcp | ToolGroup::Skill),
    }
}

fn object_schema() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from("object"))])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weir_core::tool::built_in::{
        AGENT_STARTER, AGENT_SWITCHER, BRAIN_KEEPER, CARRIER, FINDER, MEMORY_FINDER, MEMORY_KEEPER,
        PAST_FINDER, PERSON_ASKER, RECIPE_EXECUTOR, RUN_COMPLETER, TASK_LIST_KEEPER,
    };

    use super::*;

    /// Tools that are not for another agent, and why.
    const NOT_SERVED: &[(&str, &[&str])] = &[
        (
            "they steer the loop of an agent; the client has its own",
            &[
                PERSON_ASKER,
                RUN_COMPLETER,
                TASK_LIST_KEEPER,
                AGENT_SWITCHER,
                RECIPE_EXECUTOR,
                FINDER,
                CARRIER,
                "invoke_skill",
            ],
        ),
        (
            "they ask the session's model, which is the client",
            &[AGENT_STARTER, "merge_agent", "consult_flagship", EXTRACT_FIELDS],
        ),
        (
            "what Weir knows of the person and of itself is not for another agent",
            &[
                BRAIN_KEEPER,
                MAIL,
                PAST_FINDER,
                MEMORY_FINDER,
                MEMORY_KEEPER,
                "list_memory_source_notes",
                "mark_note_as_memory_source",
                "unmark_note_as_memory_source",
                "inspect_self",
                "read_agent_logs",
            ],
        ),
        (
            "they propose how Weir itself should be",
            &[
                "update_settings",
                "configure_model",
                "manage_skill",
                "manage_tool",
                "enable_plugin",
                "resolve_capability_gap",
            ],
        ),
    ];

    #[test]
    fn r2_every_tool_is_either_served_or_refused_for_a_reason() {
        let refused: BTreeSet<&str> =
            NOT_SERVED.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let chosen: BTreeSet<&str> = SERVED.iter().copied().chain(refused.clone()).collect();
        let names = weir_tools::built_in_names();
        let all: BTreeSet<&str> = names.iter().map(String::as_str).chain([MAIL]).collect();
        assert_eq!(chosen, all, "a new tool is written down in one of both lists");
        let without = FieldReader::Nobody;
        assert!(SERVED.iter().all(|name| is_served(name, without) && !refused.contains(name)));
        assert!(refused.iter().all(|name| !is_served(name, without)));
        assert!(is_served("forge_search", without), "a tool of one of the person's servers");
    }

    #[test]
    fn r2_a_client_whose_model_may_read_handles_gets_the_tool_that_has_them_read_and_no_other() {
        let with = refused_tools(FieldReader::Client);
        let without = refused_tools(FieldReader::Nobody);
        let more: Vec<&String> = without.iter().filter(|name| !with.contains(name)).collect();
        assert_eq!(more, [EXTRACT_FIELDS]);
        assert!(with.iter().all(|name| without.contains(name)));
    }
}
