//! The built-in tools: one file each, one line each in [`tools`].
//!
//! A tool plans (looks, computes, changes nothing) and runs (does what was judged). Files are
//! reached through the guarded workspace, commands through supervised processes, pages through the
//! guarded network: nothing here opens a file by its name, starts a process or a connection.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use weir_engine::ports::Tool;

use crate::built::{acts, edits};

mod append_to_file;
mod apply_patch;
mod ask_followup_question;
mod attempt_completion;
mod built;
mod call_plugin_api;
mod call_tool;
mod checkpoint;
mod consult_flagship;
mod create_folder;
mod delete_file;
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
mod find_tool;
mod glob;
mod html;
mod inspect_self;
mod invoke_skill;
mod job;
mod kill_shell;
mod list_checkpoints;
mod list_files;
mod manage_skill;
mod manage_tool;
mod mark_for_memory;
mod merge_agent;
mod move_file;
mod named_command;
mod nearest;
mod new_task;
pub mod outside;
mod pager;
mod patch;
mod reach;
mod read_checkpoint;
mod read_file;
mod read_mcp_tool;
mod read_shell_output;
mod read_skill;
mod recall;
mod recall_memory;
mod resolve_capability_gap;
mod restore_checkpoint;
mod result_file;
mod run_shell;
mod run_skill_script;
mod schema;
mod search_files;
mod skill;
mod switch_agent;
mod synonyms;
mod text;
mod update_todo_list;
mod use_mcp_tool;
mod web_fetch;
mod write_file;
mod write_shell_input;

pub use dynamic::{ToolFiles, dynamic, shelve};
pub use email::email;

#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

/// Every built-in tool, in the order in which the model sees them. The values are made once and
/// shared.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    static TOOLS: LazyLock<Vec<Arc<dyn Tool>>> = LazyLock::new(|| {
        vec![
            acts::<read_file::ReadFile>(),
            acts::<list_files::ListFiles>(),
            acts::<glob::Glob>(),
            acts::<search_files::SearchFiles>(),
            acts::<list_checkpoints::ListCheckpoints>(),
            acts::<read_checkpoint::ReadCheckpoint>(),
            acts::<diff_checkpoint::DiffCheckpoint>(),
            acts::<recall_memory::RecallMemory>(),
            acts::<recall::Recall>(),
            edits::<write_file::WriteFile>(),
            edits::<edit_file::EditFile>(),
            edits::<apply_patch::ApplyPatch>(),
            edits::<append_to_file::AppendToFile>(),
            edits::<create_folder::CreateFolder>(),
            edits::<move_file::MoveFile>(),
            edits::<delete_file::DeleteFile>(),
            edits::<restore_checkpoint::RestoreCheckpoint>(),
            acts::<web_fetch::WebFetch>(),
            acts::<update_todo_list::UpdateTodoList>(),
            acts::<ask_followup_question::AskFollowupQuestion>(),
            acts::<attempt_completion::AttemptCompletion>(),
            acts::<find_tool::FindTool>(),
            acts::<call_tool::CallTool>(),
            acts::<switch_agent::SwitchAgent>(),
            acts::<new_task::NewTask>(),
            edits::<merge_agent::MergeAgent>(),
            acts::<mark_for_memory::MarkForMemory>(),
            acts::<consult_flagship::ConsultFlagship>(),
            acts::<inspect_self::InspectSelf>(),
            acts::<read_skill::ReadSkill>(),
            acts::<invoke_skill::InvokeSkill>(),
            acts::<execute_recipe::ExecuteRecipe>(),
            acts::<manage_skill::ManageSkill>(),
            acts::<manage_tool::ManageTool>(),
            acts::<use_mcp_tool::UseMcpTool>(),
            acts::<read_mcp_tool::ReadMcpTool>(),
            acts::<run_shell::RunShell>(),
            acts::<read_shell_output::ReadShellOutput>(),
            acts::<write_shell_input::WriteShellInput>(),
            acts::<kill_shell::KillShell>(),
            acts::<run_skill_script::RunSkillScript>(),
            acts::<execute_command::ExecuteCommand>(),
            call_plugin_api::tool(),
            acts::<enable_plugin::EnablePlugin>(),
            acts::<resolve_capability_gap::ResolveCapabilityGap>(),
            acts::<evaluate_expression::EvaluateExpression>(),
        ]
    });
    TOOLS.clone()
}

/// The names of the built-in tools, which no other tool may have.
pub fn names() -> Vec<String> {
    tools().iter().map(|tool| tool.spec().name.clone()).collect()
}

/// The list as a page for people: `docs/generated/tools.md`.
pub fn tools_markdown() -> String {
    let mut page = String::from(
        "# Tools\n\nPrinted from the list in `weir-tools`. Descriptions are what the model reads; \
         *deferred* tools are listed by name only until they are asked for.\n",
    );
    for tool in tools() {
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

/// Runs blocking or long work away from the loop's thread. A panic of the work (a parser on
/// hostile input) becomes the error.
///
/// # Errors
/// A sentence for the model, when the work panicked or the runtime is going down.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|failure| {
        if failure.is_panic() {
            "an internal error stopped this tool on this input; try another way or other arguments"
                .to_owned()
        } else {
            "the engine is shutting down; the call was not made".to_owned()
        }
    })
}
