//! What an editor is told of a session. Not here: what leads to it (`crate::render`).

use serde::Serialize;
use serde_json::Value;

use super::ConfigOption;
use super::content::ContentBlock;

/// Something new in a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub(crate) enum SessionUpdate {
    /// A piece of what somebody said.
    UserMessageChunk(MessageChunk),
    /// A piece of what the model says.
    AgentMessageChunk(MessageChunk),
    /// A piece of what the model thinks.
    AgentThoughtChunk(MessageChunk),
    /// A call was asked for.
    ToolCall(ToolCallStart),
    /// Something about a call is new.
    ToolCallUpdate(ToolCallChange),
    /// The task list.
    Plan {
        /// All of it.
        entries: Vec<PlanEntry>,
    },
    /// What can be typed as `/name`.
    #[serde(rename_all = "camelCase")]
    AvailableCommandsUpdate {
        /// All of it.
        available_commands: Vec<AvailableCommand>,
    },
    /// Another permission mode holds.
    #[serde(rename_all = "camelCase")]
    CurrentModeUpdate {
        /// Which.
        current_mode_id: String,
    },
    /// Other settings hold.
    #[serde(rename_all = "camelCase")]
    ConfigOptionUpdate {
        /// All of them.
        config_options: Vec<ConfigOption>,
    },
    /// How full the window is, and what the session cost.
    UsageUpdate {
        /// Tokens in the window.
        used: u64,
        /// Tokens that fit.
        size: u64,
        /// So far, where every price is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// What the session is called, and when something last happened in it; what is absent stays.
    #[serde(rename_all = "camelCase")]
    SessionInfoUpdate {
        /// Its first words.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// ISO 8601.
        updated_at: String,
    },
    /// The context is made shorter, for editors that show that.
    #[serde(rename_all = "camelCase")]
    CompactionUpdate {
        /// Its name in the session.
        compaction_id: String,
        /// How far it is.
        status: CompactionStatus,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A piece of what then stands for what was said before.
    #[serde(rename_all = "camelCase")]
    CompactionSummaryChunk {
        /// Of which.
        compaction_id: String,
        /// The piece.
        content: ContentBlock,
    },
    /// A line for the person, for editors that show such lines.
    Notice {
        /// `info`, `warning`, `error`.
        severity: &'static str,
        /// The line.
        title: String,
    },
}

/// How far making the context shorter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionStatus {
    /// It is on.
    InProgress,
    /// It is over, and the context is shorter.
    Completed,
    /// It is over, and nothing changed.
    Failed,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageChunk {
    /// It.
    pub(crate) content: ContentBlock,
    /// Pieces of one message have one name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message_id: Option<String>,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolCallStatus {
    /// It was asked for, or waits.
    Pending,
    /// It runs.
    InProgress,
    /// It is over, and it succeeded.
    Completed,
    /// It is over, and it did not.
    Failed,
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    /// Reads.
    Read,
    /// Changes files.
    Edit,
    /// Deletes.
    Delete,
    /// Moves or renames.
    Move,
    /// Searches.
    Search,
    /// Runs a command.
    Execute,
    /// Works on the agent's own thoughts: its task list, its memory.
    Think,
    /// Fetches from the network.
    Fetch,
    /// Switches the profile.
    SwitchMode,
    /// Something else.
    Other,
}

/// A call that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallStart {
    /// Its name.
    pub(crate) tool_call_id: String,
    /// For people.
    pub(crate) title: String,
    /// The tool, for programs; none: it is no call of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// What it does.
    pub(crate) kind: ToolKind,
    /// How far it is.
    pub(crate) status: ToolCallStatus,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<Value>,
}

/// What is new about a call; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallChange {
    /// Its name.
    pub(crate) tool_call_id: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ToolCallStatus>,
    /// What it shows, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<ToolCallContent>>,
    /// Files that it touches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) locations: Option<Vec<ToolCallLocation>>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<Value>,
    /// What it gave back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_output: Option<Value>,
}

/// Something that a call shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToolCallContent {
    /// Words.
    Content {
        /// Them.
        content: ContentBlock,
    },
    /// A change of a file.
    #[serde(rename_all = "camelCase")]
    Diff {
        /// The file, absolute.
        path: String,
        /// What stood there; absent: the file is new.
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        /// What stands there after.
        new_text: String,
    },
    /// A terminal of the editor.
    #[serde(rename_all = "camelCase")]
    Terminal {
        /// Its name.
        terminal_id: String,
    },
}

impl ToolCallContent {
    /// Words, Markdown.
    pub(crate) fn text_content(text: impl Into<String>) -> ToolCallContent {
        ToolCallContent::Content { content: ContentBlock::text_block(text) }
    }
}

/// A file that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ToolCallLocation {
    /// The file, absolute.
    pub(crate) path: String,
    /// Where in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// A line of the task list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PlanEntry {
    /// The task.
    pub(crate) content: String,
    /// Always `medium`: tasks have no rank here.
    pub(crate) priority: &'static str,
    /// `pending`, `in_progress`, `completed`.
    pub(crate) status: &'static str,
}

/// A command that can be typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AvailableCommand {
    /// Its name, without the slash.
    pub(crate) name: String,
    /// One sentence.
    pub(crate) description: String,
    /// What it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<CommandInput>,
}

/// What a command takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommandInput {
    /// In words.
    pub(crate) hint: String,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cost {
    /// How much.
    pub(crate) amount: f64,
    /// `USD`.
    pub(crate) currency: &'static str,
}
