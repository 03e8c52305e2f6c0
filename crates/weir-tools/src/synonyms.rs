//! Words by which people and models look for a tool that has another name: one line for each tool
//! that is only named until `find_tool` loads it (T4). Not here: how they are weighed.

/// Tool and further words for what it does.
const SYNONYMS: &[(&str, &str)] = &[
    (
        "anti_echo_search",
        "opposite counter other side critics criticism bias balance opinion view web",
    ),
    (
        "brain",
        "knowledge store own notes snippets pages remember save keep note down look up recall forget",
    ),
    ("call_plugin_api", "obsidian api request plugin method integration"),
    (
        "configure_model",
        "change switch choose another llm provider thinking reasoning helper propose",
    ),
    ("consult_flagship", "stronger smarter expert model opinion advice second stuck hard"),
    ("create_base", "obsidian bases database table query view dataview new"),
    ("create_docx", "word document report letter text write make docx"),
    ("create_drawio", "diagram flowchart draw boxes arrows chart"),
    ("create_excalidraw", "sketch drawing diagram whiteboard draw boxes arrows"),
    ("create_pptx", "powerpoint presentation slides deck talk make pptx"),
    ("create_xlsx", "excel workbook spreadsheet table sheet cells formulas chart make xlsx"),
    ("diff_checkpoint", "compare difference changed changes before after"),
    ("enable_plugin", "activate switch on plugin extension install"),
    ("evaluate_expression", "calculate compute javascript arithmetic math date count sort script"),
    ("execute_command", "named custom command plugin configured alias"),
    ("execute_recipe", "follow run procedure workflow known steps routine"),
    ("extract_zip", "unzip unpack archive zip extract"),
    (
        "generate_image",
        "draw paint picture photo illustration drawing logo icon render art png jpg",
    ),
    ("get_vault_stats", "count notes words tags links properties overview statistics vault"),
    (
        "ingest_deep",
        "merge sources contradictions research synthesis literature combine notes evidence",
    ),
    (
        "ingest_document",
        "import source paper book notes quotes citations passages extract pdf evidence",
    ),
    ("ingest_triage", "import new known worth reading novelty overview source paper compare notes"),
    ("inspect_self", "limits budget usage cost tokens permission mode rules model profile session"),
    ("list_checkpoints", "history snapshots versions saved states earlier"),
    ("list_memory_source_notes", "remembered marked facts notes vault memories"),
    ("manage_skill", "create write save propose remove skill procedure learn recipe"),
    ("manage_tool", "make create write new own tool function script javascript remove"),
    ("mark_note_as_memory_source", "remember note facts vault about me learn from"),
    ("merge_agent", "take over agent worktree changes apply result branch"),
    ("plan_presentation", "outline slides presentation deck powerpoint storyline draft"),
    (
        "read_agent_logs",
        "log history errors denied refused failures retries debug audit own session",
    ),
    ("read_checkpoint", "old version previous content snapshot earlier original"),
    (
        "read_document",
        "word excel powerpoint docx xlsx pptx pdf odt ods odp epub rtf html csv ipynb eml mail \
         spreadsheet slides book notebook",
    ),
    ("read_mcp_tool", "server servers resource resources prompt prompts schema foreign mcp list"),
    ("rename_heading", "rename retitle heading section title alias links follow note"),
    ("resolve_capability_gap", "missing cannot unable capability need help lacking"),
    ("restore_checkpoint", "undo rollback revert back reset restore recover earlier"),
    ("run_program", "program script javascript loop batch many calls all each several repeat"),
    (
        "semantic_search",
        "meaning similar related notes vault documents question topic about hybrid vectors",
    ),
    ("unmark_note_as_memory_source", "forget note memory stop remove mark"),
    ("update_base", "change edit base bases view column filter formula obsidian"),
    ("update_settings", "change configure setting option config limits budget propose"),
    ("use_mcp_tool", "server foreign external integration mcp call"),
    ("vault_health_check", "broken links orphans unused attachments duplicate titles tag clean up"),
];

/// Further words for a tool; empty where none were written down.
pub(crate) fn tool_synonyms(tool: &str) -> &'static str {
    SYNONYMS.iter().find(|(name, _)| *name == tool).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t4_synonyms_are_sorted_and_about_tools_that_exist() {
        let known = crate::built_in_tools();
        for (name, words) in SYNONYMS {
            assert!(known.iter().any(|tool| tool.spec().name == *name), "{name}");
            assert!(!words.is_empty());
        }
        assert!(SYNONYMS.is_sorted());
    }
}
