//! The built-in tools: one file each, one line each in the lists below [`built_in_tools`].
//!
//! A tool plans (looks, computes, changes nothing) and runs (does what was judged). Files are
//! reached through the guarded workspace, commands through supervised processes, pages through the
//! guarded network: nothing here opens a file by its name, starts a process or a connection.
//!
//! # A tool of one's own beside the built-in ones
//!
//! A tool says what it is, what a call would touch, and does it once a permit is there. The gates judge
//! what `plan_call` says; `run` may do no more than that.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use serde_json::{Value, json};
//! use weir_core::governance::Permit;
//! use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
//! use weir_engine::ports::{CallPlan, Tool, ToolContext};
//! use weir_engine::toolbox::{Toolbox, check_schema};
//!
//! struct CountLetters(ToolSpec);
//!
//! #[async_trait]
//! impl Tool for CountLetters {
//!     fn spec(&self) -> &ToolSpec {
//!         &self.0
//!     }
//!     async fn plan_call(&self, _: &Value, _: &ToolContext) -> CallPlan {
//!         // It looks at nothing but its arguments.
//!         CallPlan::new(EffectClass::Read, Effects::default(), "Count the letters of a word")
//!     }
//!     async fn run(&self, permit: Permit, _: &ToolContext) -> RawResult {
//!         let word = permit.input()["word"].as_str().unwrap_or_default();
//!         RawResult::ok(word.chars().count().to_string())
//!     }
//! }
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": { "word": { "type": "string" } },
//!     "required": ["word"],
//! });
//! check_schema(&schema).expect("arguments can be checked against it");
//! let about = "Counts the letters of a word.";
//! let spec = ToolSpec::new("count_letters", about, ToolGroup::Read, schema);
//! let mut tools = weir_tools::built_in_tools();
//! tools.push(Arc::new(CountLetters(spec)));
//! let toolbox = Toolbox::new(tools).expect("no two have one name");
//! assert!(toolbox.get("count_letters").is_some());
//! assert_eq!(toolbox.nearest_name("count_leters").as_deref(), Some("count_letters"));
//! ```
#![warn(missing_docs)]

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use weir_engine::ports::Tool;

use crate::built::{BuiltInTool, action_tool, edit_tool};

mod anti_echo_search;
mod append_to_file;
mod apply_patch;
mod ask_followup_question;
mod attempt_completion;
pub mod backlinks;
mod blocking;
mod brain;
mod built;
mod call_plugin_api;
mod call_tool;
pub mod canvas_preview;
mod checkpoint;
mod configure_model;
mod consult_flagship;
mod create_base;
mod create_docx;
mod create_drawio;
mod create_excalidraw;
mod create_folder;
mod create_pptx;
mod create_xlsx;
mod delete_file;
mod diagram;
mod diff;
mod diff_checkpoint;
mod draft;
mod dynamic;
mod edit_file;
mod email;
mod enable_plugin;
mod evaluate_expression;
mod execute_command;
mod execute_recipe;
mod extract_fields;
mod extract_zip;
mod fetched_document;
mod find_tool;
mod found_pages;
mod generate_canvas;
mod generate_image;
mod get_daily_note;
mod get_frontmatter;
mod get_linked_notes;
mod get_vault_stats;
mod glob;
mod html;
mod ingest;
mod ingest_deep;
mod ingest_document;
mod ingest_triage;
mod inspect_self;
mod invoke_skill;
mod job;
mod kill_shell;
mod links;
mod list_checkpoints;
mod list_files;
mod list_memory_source_notes;
mod manage_skill;
mod manage_tool;
mod mark_for_memory;
mod mark_note_as_memory_source;
mod memory_note;
mod merge_agent;
mod merge_note;
mod move_file;
mod named_command;
mod nearest;
mod new_task;
pub mod note_links;
mod novelty;
mod office;
mod open_handle;
pub mod outside;
mod pager;
mod patch;
mod plan_presentation;
mod query_base;
mod reach;
mod read_agent_logs;
mod read_checkpoint;
mod read_document;
mod read_file;
mod read_mcp_tool;
mod read_shell_output;
mod read_skill;
mod recall;
mod recall_memory;
mod rename_heading;
mod resolve_capability_gap;
mod restore_checkpoint;
mod result_file;
mod run_program;
mod run_shell;
mod run_skill_script;
mod schema;
mod search_by_tag;
mod search_engine;
mod search_files;
mod semantic_search;
mod skill;
mod sources;
mod stored_text;
mod switch_agent;
mod synonyms;
mod tag_counts;
mod text;
mod unmark_note_as_memory_source;
mod update_base;
mod update_frontmatter;
mod update_settings;
mod update_todo_list;
mod use_mcp_tool;
mod utf16_reader;
mod vault;
mod vault_health_check;
mod vault_links;
mod vault_names;
mod vendor_search;
mod web_fetch;
mod web_search;
mod write_file;
mod write_shell_input;

pub use blocking::run_blocking;
pub use dynamic::{ToolFiles, add_dynamic_tools, dynamic_tool};
pub use email::email_tool;
pub use vault::VAULT_TOOLS;

#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

/// Every built-in tool, in the order in which the model sees them. The values are made once and
/// shared.
pub fn built_in_tools() -> Vec<Arc<dyn Tool>> {
    static TOOLS: LazyLock<Vec<Arc<dyn Tool>>> = LazyLock::new(|| {
        let all = file_tools().into_iter().chain(acting_tools());
        all.map(|tool| tool as Arc<dyn Tool>).collect()
    });
    TOOLS.clone()
}

/// What finds, reads, makes and changes files, notes and memory.
fn file_tools() -> Vec<Arc<dyn BuiltInTool>> {
    vec![
        action_tool::<read_file::ReadFile>(),
        action_tool::<read_document::ReadDocument>(),
        action_tool::<list_files::ListFiles>(),
        action_tool::<glob::Glob>(),
        action_tool::<search_files::SearchFiles>(),
        action_tool::<list_checkpoints::ListCheckpoints>(),
        action_tool::<read_checkpoint::ReadCheckpoint>(),
        action_tool::<diff_checkpoint::DiffCheckpoint>(),
        action_tool::<recall_memory::RecallMemory>(),
        action_tool::<recall::Recall>(),
        action_tool::<get_frontmatter::GetFrontmatter>(),
        action_tool::<search_by_tag::SearchByTag>(),
        action_tool::<get_linked_notes::GetLinkedNotes>(),
        edit_tool::<get_daily_note::GetDailyNote>(),
        action_tool::<query_base::QueryBase>(),
        action_tool::<get_vault_stats::GetVaultStats>(),
        action_tool::<vault_health_check::VaultHealthCheck>(),
        action_tool::<semantic_search::SemanticSearch>(),
        edit_tool::<write_file::WriteFile>(),
        edit_tool::<edit_file::EditFile>(),
        edit_tool::<apply_patch::ApplyPatch>(),
        edit_tool::<append_to_file::AppendToFile>(),
        edit_tool::<update_frontmatter::UpdateFrontmatter>(),
        edit_tool::<create_base::CreateBase>(),
        edit_tool::<update_base::UpdateBase>(),
        edit_tool::<generate_canvas::GenerateCanvas>(),
        edit_tool::<create_excalidraw::CreateExcalidraw>(),
        edit_tool::<create_drawio::CreateDrawio>(),
        edit_tool::<create_folder::CreateFolder>(),
        edit_tool::<move_file::MoveFile>(),
        edit_tool::<rename_heading::RenameHeading>(),
        edit_tool::<delete_file::DeleteFile>(),
        edit_tool::<restore_checkpoint::RestoreCheckpoint>(),
        edit_tool::<create_docx::CreateDocx>(),
        action_tool::<plan_presentation::PlanPresentation>(),
        edit_tool::<create_pptx::CreatePptx>(),
        edit_tool::<create_xlsx::CreateXlsx>(),
        edit_tool::<extract_zip::ExtractZip>(),
        action_tool::<list_memory_source_notes::ListMemorySourceNotes>(),
        mark_note_as_memory_source::mark_note_tool(),
        edit_tool::<unmark_note_as_memory_source::UnmarkNoteAsMemorySource>(),
        action_tool::<ingest_triage::IngestTriage>(),
        edit_tool::<ingest_document::IngestDocument>(),
        edit_tool::<ingest_deep::IngestDeep>(),
        generate_image::generate_image_tool(),
    ]
}

/// What reaches the network, other agents, servers and programs, and what steers the agent itself.
fn acting_tools() -> Vec<Arc<dyn BuiltInTool>> {
    vec![
        action_tool::<web_fetch::WebFetch>(),
        action_tool::<web_search::WebSearch>(),
        action_tool::<anti_echo_search::AntiEchoSearch>(),
        action_tool::<update_todo_list::UpdateTodoList>(),
        action_tool::<ask_followup_question::AskFollowupQuestion>(),
        action_tool::<attempt_completion::AttemptCompletion>(),
        action_tool::<find_tool::FindTool>(),
        action_tool::<call_tool::CallTool>(),
        action_tool::<switch_agent::SwitchAgent>(),
        action_tool::<new_task::NewTask>(),
        edit_tool::<merge_agent::MergeAgent>(),
        action_tool::<mark_for_memory::MarkForMemory>(),
        action_tool::<brain::BrainKeeper>(),
        action_tool::<consult_flagship::ConsultFlagship>(),
        action_tool::<open_handle::OpenHandle>(),
        action_tool::<extract_fields::ExtractFields>(),
        action_tool::<inspect_self::InspectSelf>(),
        action_tool::<read_agent_logs::ReadAgentLogs>(),
        action_tool::<update_settings::UpdateSettings>(),
        action_tool::<configure_model::ConfigureModel>(),
        action_tool::<read_skill::ReadSkill>(),
        action_tool::<invoke_skill::InvokeSkill>(),
        action_tool::<execute_recipe::ExecuteRecipe>(),
        action_tool::<manage_skill::ManageSkill>(),
        action_tool::<manage_tool::ManageTool>(),
        action_tool::<use_mcp_tool::UseMcpTool>(),
        action_tool::<read_mcp_tool::ReadMcpTool>(),
        action_tool::<run_shell::RunShell>(),
        action_tool::<read_shell_output::ReadShellOutput>(),
        action_tool::<write_shell_input::WriteShellInput>(),
        action_tool::<kill_shell::KillShell>(),
        action_tool::<run_skill_script::RunSkillScript>(),
        action_tool::<execute_command::ExecuteCommand>(),
        call_plugin_api::plugin_api_tool(),
        action_tool::<enable_plugin::EnablePlugin>(),
        action_tool::<resolve_capability_gap::ResolveCapabilityGap>(),
        action_tool::<evaluate_expression::EvaluateExpression>(),
        action_tool::<run_program::RunProgram>(),
    ]
}

/// The names of the built-in tools, which no other tool may have.
pub fn built_in_names() -> Vec<String> {
    built_in_tools().iter().map(|tool| tool.spec().name.clone()).collect()
}

/// The list as a page for people: `docs/generated/tools.md`.
pub fn tools_markdown() -> String {
    let mut page = String::from(
        "# Tools\n\nPrinted from the list in `weir-tools`. Descriptions are what the model reads; \
         *deferred* tools are listed by name only until they are asked for.\n",
    );
    for tool in built_in_tools() {
        let spec = tool.spec();
        let group = serde_json::to_value(spec.group).unwrap_or_default();
        let group = group.as_str().unwrap_or_default();
        let _ = write!(page, "\n## `{}`\n\nGroup `{group}`", spec.name);
        for (set, word) in [
            (spec.deferred, "deferred"),
            (spec.parallel_safe, "parallel-safe"),
            (spec.poll, "poll"),
            (spec.keeps_result, "result kept whole"),
        ] {
            if set {
                let _ = write!(page, ", {word}");
            }
        }
        let _ = write!(page, ".\n\n{}\n", spec.description);
        page.push_str(&schema::fields_markdown(&spec.input_schema));
    }
    page
}
