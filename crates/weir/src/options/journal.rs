//! The words of the commands that look back: sessions, checkpoints, undo, replay, audit.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weir_install::sessions::ExportFormat;

use super::{JsonFlag, TimeSpan, parse_time_span};

/// `weir sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    List(SessionsListArgs),
    Show(SessionsShowArgs),
    Export(SessionsExportArgs),
    Delete(SessionsDeleteArgs),
    Fork(SessionsForkArgs),
    Search(SessionsSearchArgs),
    Attach(SessionsAttachArgs),
}

/// Open a session in the terminal interface, also while it runs elsewhere
#[derive(Debug, Args)]
#[command(
    long_about = "Open a session in the terminal interface, also while it runs elsewhere, such as one \
                  of `weir run --detach`: follow it, answer what it asks, stop it, tell it something. \
                  Leaving does not stop what runs elsewhere.",
    after_help = "Examples:\n  weir sessions attach 0198c5e0\n  weir sessions attach"
)]
pub(crate) struct SessionsAttachArgs {
    /// Session id; its first characters are enough [default: choose from a list]
    pub(crate) session: Option<String>,
    /// Plain text mode, line by line, for pipes and terminals without cursor control
    #[arg(long)]
    pub(crate) plain: bool,
}

/// List sessions, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weir sessions list\n  weir sessions list --here --json")]
pub(crate) struct SessionsListArgs {
    /// List only sessions of this workspace (the current folder, or -C)
    #[arg(long)]
    pub(crate) here: bool,
    /// Maximum number of sessions to list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Include sub-agents, each with the session that started it
    #[arg(long)]
    pub(crate) all: bool,
    /// List sessions of other agents instead, which `weir import` took
    #[arg(long, conflicts_with = "all")]
    pub(crate) imported: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Show what was said and done in a session
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir sessions show 0198c5e0\n  weir sessions show 0198c5e0 --last 20\n  \
        weir sessions show 0198c5e0 --json"
)]
pub(crate) struct SessionsShowArgs {
    /// Session id; its first characters are enough
    pub(crate) session: String,
    /// Show every event, including approvals, checkpoints and model requests
    #[arg(long)]
    pub(crate) all: bool,
    /// Show only the last N entries of the conversation, and not what was done in all runs: quick for a long
    /// session too
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) last: Option<usize>,
    /// Show a session of another agent, which `weir import` took
    #[arg(long, conflicts_with_all = ["all", "last"])]
    pub(crate) imported: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Export a session as JSON lines, Markdown, HTML, or a script that replays it offline
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir sessions export 0198c5e0 > session.jsonl\n  \
        weir sessions export 0198c5e0 --format html -o session.html\n  \
        weir sessions export 0198c5e0 --format script -o bug.script\n  \
        weir run -m script:bug.script \"the same task\"")]
pub(crate) struct SessionsExportArgs {
    /// Session id; its first characters are enough
    pub(crate) session: String,
    /// Format of the export
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: SessionFormat,
    /// Write to this file instead of standard output; it must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Forms in which a session leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum SessionFormat {
    /// Every event, one JSON object per line; `weir replay FILE` reads it
    #[default]
    Jsonl,
    /// Readable text, as Markdown
    Markdown,
    /// Readable text, as one HTML page without scripts
    Html,
    /// Script for the scripted model, which repeats the same replies
    Script,
}

impl From<SessionFormat> for ExportFormat {
    fn from(format: SessionFormat) -> ExportFormat {
        match format {
            SessionFormat::Jsonl => ExportFormat::Jsonl,
            SessionFormat::Script => ExportFormat::Script,
            SessionFormat::Markdown => ExportFormat::Markdown,
            SessionFormat::Html => ExportFormat::Html,
        }
    }
}

/// Delete sessions with their stored data and checkpoints; audit lines are kept
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir sessions delete 0198c5e0\n  weir sessions delete 0198c5e0 --yes"
)]
pub(crate) struct SessionsDeleteArgs {
    /// Session ids; their first characters are enough
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Start a new session with the history of another
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir sessions fork 0198c5e0\n  weir sessions fork 0198c5e0 --at 12"
)]
pub(crate) struct SessionsForkArgs {
    /// Session id; its first characters are enough
    pub(crate) session: String,
    /// Copy the history up to this sequence number only (`weir sessions show --all` prints them)
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Find passages that contain all the given words, in any session
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir sessions search harbour plan\n  \
        weir sessions search --json TODO")]
pub(crate) struct SessionsSearchArgs {
    /// Words to search for
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Search sessions of other agents instead, which `weir import` took
    #[arg(long)]
    pub(crate) imported: bool,
    /// Maximum number of passages to list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// `weir checkpoints`.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointsCommand {
    List(CheckpointsListArgs),
    Diff(CheckpointsDiffArgs),
    Restore(CheckpointsRestoreArgs),
    Gc(CheckpointsGcArgs),
}

/// List checkpoints of the workspace, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir checkpoints list\n  weir checkpoints list --session 0198c5e0"
)]
pub(crate) struct CheckpointsListArgs {
    /// List only checkpoints of this session; the first characters of its id are enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Maximum number of checkpoints to list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Compare the files saved in a checkpoint with those on disk
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir checkpoints diff 3fa9c1\n  \
        weir checkpoints diff 3fa9c1 src/main.rs")]
pub(crate) struct CheckpointsDiffArgs {
    /// Name of the checkpoint; its first characters are enough
    pub(crate) checkpoint: String,
    /// Compare only these files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Show what the call changed, instead of the difference from the files on disk
    #[arg(long)]
    pub(crate) call: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Restore files to their state at a checkpoint
#[derive(Debug, Args)]
#[command(
    long_about = "Restore files to their state before the call that the checkpoint belongs to. \
                  Only files that are still as the agent left them are restored; others are \
                  reported as conflicts, and --merge writes a three-way merge if the changes do \
                  not overlap. The restore is itself a checkpoint, so it can be undone.",
    after_help = "Examples:\n  \
        weir checkpoints restore 3fa9c1 --dry-run\n  \
        weir checkpoints restore 3fa9c1 src/main.rs"
)]
pub(crate) struct CheckpointsRestoreArgs {
    /// Name of the checkpoint; its first characters are enough
    pub(crate) checkpoint: String,
    /// Restore only these files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Merge files that were changed since, if the changes do not overlap
    #[arg(long)]
    pub(crate) merge: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Remove old checkpoints of the workspace
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir checkpoints gc\n  \
        weir checkpoints gc --older-than 7d --max-bytes 100000000")]
pub(crate) struct CheckpointsGcArgs {
    /// Remove checkpoints older than this, such as 12h or 7d
    #[arg(long, value_name = "DURATION", value_parser = parse_time_span, default_value = "30d")]
    pub(crate) older_than: TimeSpan,
    /// Remove the oldest until this workspace's checkpoints take at most this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub(crate) max_bytes: u64,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Undo the file changes of a session's last run
#[derive(Debug, Args)]
#[command(
    long_about = "Undo the file changes of a session's last run, by default of the newest session \
                  of this folder that changed a file. Only files that are still as the agent left \
                  them are changed back; the others are reported as conflicts. Undo is itself a \
                  checkpoint, so a second `weir undo` brings the changes back.",
    after_help = "Examples:\n  weir undo\n  weir undo --dry-run\n  weir undo 0198c5e0 --run r1"
)]
pub(crate) struct UndoArgs {
    /// Session id; its first characters are enough
    pub(crate) session: Option<String>,
    /// Undo this run instead of the last one: r1, r2, …
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Undo changes of this file only; may be repeated
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Bring back the changes that the last undo removed
    #[arg(long, conflicts_with = "run")]
    pub(crate) redo: bool,
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Merge files that were changed since, if the changes do not overlap
    #[arg(long)]
    pub(crate) merge: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Replay a session's journal offline and report the first difference
#[derive(Debug, Args)]
#[command(
    long_about = "Replay a session's journal offline: the same inputs and answers go through the \
                  same decisions, and the first event that differs is reported. No command is run, \
                  and nothing is sent.",
    after_help = "Examples:\n  \
        weir replay 0198c5e0\n  \
        weir replay session.jsonl\n\n\
        Exit status: 0 no difference, 1 difference or damaged journal, 2 no such session or file."
)]
pub(crate) struct ReplayArgs {
    /// Session id, or a file written by `weir sessions export`
    #[arg(value_name = "SESSION|FILE")]
    pub(crate) journal: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// `weir audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    Tail(AuditTailArgs),
    /// Verify the hash chain of the audit log in store and files; report the first changed,
    /// missing or moved line
    #[command(
        after_help = "Example:\n  weir audit verify\n\nExit status: 0 intact, 1 a fault was found."
    )]
    Verify(JsonFlag),
    Export(AuditExportArgs),
}

/// Show the last audit lines: who, what, verdict, rule, outcome
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir audit tail\n  \
        weir audit tail -n 100 --session 0198c5e0 --json\n  \
        weir audit tail --follow")]
pub(crate) struct AuditTailArgs {
    /// Number of lines to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) lines: usize,
    /// Show only lines of this session; the first characters of its id are enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Keep printing new lines as they are written
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Export audit lines as JSON, one object per line, with their hashes
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir audit export > audit.jsonl\n  \
        weir audit export --session 0198c5e0 -o audit.jsonl")]
pub(crate) struct AuditExportArgs {
    /// First line number to export
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) from: u64,
    /// Last line number to export
    #[arg(long, value_name = "N")]
    pub(crate) to: Option<u64>,
    /// Export only lines of this session; the first characters of its id are enough
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Write to this file instead of standard output; it must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
