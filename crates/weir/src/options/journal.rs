//! The words of the commands that look back: sessions, checkpoints, undo, replay, audit.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{JsonFlag, Span, span};

/// `weir sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    List(SessionsListArgs),
    Show(SessionsShowArgs),
    Export(SessionsExportArgs),
    Delete(SessionsDeleteArgs),
    Fork(SessionsForkArgs),
    Search(SessionsSearchArgs),
}

/// Sessions, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  weir sessions list\n  weir sessions list --here --json")]
pub(crate) struct SessionsListArgs {
    /// Only those of the workspace (the current folder, or -C)
    #[arg(long)]
    pub(crate) here: bool,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Sub-agents too; each names the session that started it
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What was said and done in a session
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir sessions show 0198c5e0\n  weir sessions show 0198c5e0 --json"
)]
pub(crate) struct SessionsShowArgs {
    /// The session; the beginning of its id will do
    pub(crate) session: String,
    /// Every fact, with approvals, checkpoints and model requests
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Write a session as JSON lines, Markdown, HTML, or a script that replays it offline
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir sessions export 0198c5e0 > session.jsonl\n  \
        weir sessions export 0198c5e0 --format html -o session.html\n  \
        weir sessions export 0198c5e0 --format script -o bug.script\n  \
        weir run -m script:bug.script \"the same task\"")]
pub(crate) struct SessionsExportArgs {
    /// The session; the beginning of its id will do
    pub(crate) session: String,
    /// In which form
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: SessionFormat,
    /// To this file instead of standard output; it must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Forms in which a session leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum SessionFormat {
    /// Every fact, one JSON object a line: what `weir replay FILE` reads
    #[default]
    Jsonl,
    /// For people, as Markdown
    Markdown,
    /// For people, as one HTML page without scripts
    Html,
    /// A script for the scripted model: the same replies again
    Script,
}

/// Remove a session, its blobs and its checkpoints; audit lines stay
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir sessions delete 0198c5e0\n  weir sessions delete 0198c5e0 --yes"
)]
pub(crate) struct SessionsDeleteArgs {
    /// The sessions; the beginning of an id will do
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Begin a new session with the history of another
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir sessions fork 0198c5e0\n  weir sessions fork 0198c5e0 --at 12"
)]
pub(crate) struct SessionsForkArgs {
    /// The session; the beginning of its id will do
    pub(crate) session: String,
    /// Only its facts up to this sequence number (`weir sessions show --all` prints them)
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Passages that contain all the words, in any session
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir sessions search harbour plan\n  \
        weir sessions search --json TODO")]
pub(crate) struct SessionsSearchArgs {
    /// The words
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// At most so many passages
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

/// Checkpoints of the workspace, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weir checkpoints list\n  weir checkpoints list --session 0198c5e0"
)]
pub(crate) struct CheckpointsListArgs {
    /// Only of this session; the beginning of its id will do
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// What a checkpoint saved against what is on the disk now
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir checkpoints diff 3fa9c1\n  \
        weir checkpoints diff 3fa9c1 src/main.rs")]
pub(crate) struct CheckpointsDiffArgs {
    /// The checkpoint; the beginning of its name will do
    pub(crate) checkpoint: String,
    /// Only these files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// What the call changed, instead of the difference to the disk
    #[arg(long)]
    pub(crate) call: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Put files back as they were at a checkpoint; the restore is itself a checkpoint
#[derive(Debug, Args)]
#[command(
    long_about = "Put files back as they were before the call of a checkpoint. Only files that \
                  still hold what the agent left are changed back; others are shown as conflicts, \
                  and --merge writes a three-way merge where it has no overlap. The restore is \
                  itself a checkpoint.",
    after_help = "Examples:\n  \
        weir checkpoints restore 3fa9c1 --dry-run\n  \
        weir checkpoints restore 3fa9c1 src/main.rs"
)]
pub(crate) struct CheckpointsRestoreArgs {
    /// The checkpoint; the beginning of its name will do
    pub(crate) checkpoint: String,
    /// Only these files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Say what would be done and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Merge files that were changed since, where that is possible without overlap
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
    /// Remove those older than this
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "30d")]
    pub(crate) older_than: Span,
    /// Remove the oldest while the store of this workspace is larger
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub(crate) max_bytes: u64,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Take the file changes of a session's last run back
#[derive(Debug, Args)]
#[command(
    long_about = "Take the file changes of a session's last run back: by default of the newest \
                  session of this folder that changed any file. Only files that still hold what \
                  the agent left are changed back; the others are shown as conflicts. Undo is \
                  itself a checkpoint, so a second `weir undo` brings the changes back.",
    after_help = "Examples:\n  weir undo\n  weir undo --dry-run\n  weir undo 0198c5e0 --run r1"
)]
pub(crate) struct UndoArgs {
    /// The session; the beginning of its id will do
    pub(crate) session: Option<String>,
    /// This run instead of the last one: r1, r2, …
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only this file; may be repeated
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Bring back what the last undo took away
    #[arg(long, conflicts_with = "run")]
    pub(crate) redo: bool,
    /// Say what would be done and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Merge files that were changed since, where that is possible without overlap
    #[arg(long)]
    pub(crate) merge: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Play a journal again offline and report the first difference
#[derive(Debug, Args)]
#[command(
    long_about = "Play a journal again, offline: the same inputs and answers go through the same \
                  decisions, and the first fact that comes out differently is reported. Nothing is \
                  run, nothing is sent.",
    after_help = "Examples:\n  \
        weir replay 0198c5e0\n  \
        weir replay session.jsonl\n\n\
        Exit status: 0 the same, 1 a difference or a damaged journal, 2 no such session or file."
)]
pub(crate) struct ReplayArgs {
    /// A session, or a file written by `weir sessions export`
    #[arg(value_name = "SESSION|FILE")]
    pub(crate) journal: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// `weir audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    Tail(AuditTailArgs),
    /// Check the hash chain of store and files; the first changed, missing or moved line is named
    #[command(
        after_help = "Example:\n  weir audit verify\n\nExit status: 0 whole, 1 a fault was found."
    )]
    Verify(JsonFlag),
    Export(AuditExportArgs),
}

/// The last lines: who, what, verdict, rule, outcome
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir audit tail\n  \
        weir audit tail -n 100 --session 0198c5e0 --json\n  \
        weir audit tail --follow")]
pub(crate) struct AuditTailArgs {
    /// So many lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) lines: usize,
    /// Only of this session; the beginning of its id will do
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Go on printing lines as they are written
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// All lines as JSON, one a line, with their hashes
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        weir audit export > audit.jsonl\n  \
        weir audit export --session 0198c5e0 -o audit.jsonl")]
pub(crate) struct AuditExportArgs {
    /// From this line number on
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) from: u64,
    /// Up to this line number
    #[arg(long, value_name = "N")]
    pub(crate) to: Option<u64>,
    /// Only of this session; the beginning of its id will do
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// To this file instead of standard output; it must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
