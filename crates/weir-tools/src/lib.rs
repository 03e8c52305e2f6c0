//! The built-in tools: one file each, one line each in [`built_in_tools`].
//!
//! A tool plans (looks, computes, changes nothing) and runs (does what was judged). Files are
//! reached through the guarded workspace, commands through supervised processes, pages through the
//! guarded network: nothing here opens a file by its name, starts a process or a connection.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use weir_engine::ports::Tool;

use crate::built::{action_tool, edit_tool};

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

pub use dynamic::{ToolFiles, add_dynamic_tools, dynamic_tool};
pub use email::email_tool;

#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

/// Every built-in tool, in the order in which the model sees them. The values are made once and
/// shared.
pub fn built_in_tools() -> Vec<Arc<dyn Tool>> {
    static TOOLS: LazyLock<Vec<Arc<dyn Tool>>> = LazyLock::new(|| {
        vec![
            action_tool::<read_file::ReadFile>(),
            action_tool::<list_files::ListFiles>(),
            action_tool::<glob::Glob>(),
            action_tool::<search_files::SearchFiles>(),
            action_tool::<list_checkpoints::ListCheckpoints>(),
            action_tool::<read_checkpoint::ReadCheckpoint>(),
            action_tool::<diff_checkpoint::DiffCheckpoint>(),
            action_tool::<recall_memory::RecallMemory>(),
            action_tool::<recall::Recall>(),
            edit_tool::<write_file::WriteFile>(),
            edit_tool::<edit_file::EditFile>(),
            edit_tool::<apply_patch::ApplyPatch>(),
            edit_tool::<append_to_file::AppendToFile>(),
            edit_tool::<create_folder::CreateFolder>(),
            edit_tool::<move_file::MoveFile>(),
            edit_tool::<delete_file::DeleteFile>(),
            edit_tool::<restore_checkpoint::RestoreCheckpoint>(),
            action_tool::<web_fetch::WebFetch>(),
            action_tool::<update_todo_list::UpdateTodoList>(),
            action_tool::<ask_followup_question::AskFollowupQuestion>(),
            action_tool::<attempt_completion::AttemptCompletion>(),
            action_tool::<find_tool::FindTool>(),
            action_tool::<call_tool::CallTool>(),
            action_tool::<switch_agent::SwitchAgent>(),
            action_tool::<new_task::NewTask>(),
            edit_tool::<merge_agent::MergeAgent>(),
            action_tool::<mark_for_memory::MarkForMemory>(),
            action_tool::<consult_flagship::ConsultFlagship>(),
            action_tool::<inspect_self::InspectSelf>(),
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
        ]
    });
    TOOLS.clone()
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

/// Runs blocking or long work away from the loop's thread. A panic of the work (a parser on
/// hostile input) becomes the error.
///
/// # Errors
/// A sentence for the model, when the work panicked or the runtime is going down.
pub async fn run_blocking<T: Send + 'static>(
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
