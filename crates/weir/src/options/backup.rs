//! Words of `weir backup` and `weir restore`.

use std::path::PathBuf;

use clap::Args;

/// Back up this installation to one file, also while it is running
#[derive(Debug, Args)]
#[command(
    long_about = "Back up this installation to one compressed file: journals, audit logs, \
                  checkpoints, accounts, settings. Weir may be running meanwhile. Workspace \
                  folders are not included; provider keys are included only with --keys.",
    after_help = "Examples:\n  weir backup weir.tar.gz\n  weir backup --keys /safe/weir.tar.gz"
)]
pub(crate) struct BackupArgs {
    /// File to write; it must not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Include keys of providers, also those in the system keyring, and tokens of servers
    #[arg(long)]
    pub(crate) keys: bool,
    /// Database of the server: sqlite:PATH or postgres://… [default: setting server.database]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

/// Restore a backup
#[derive(Debug, Args)]
#[command(
    long_about = "Restore a backup into the folders of this installation. Stop every Weir process \
                  that uses them first. If they already contain data, nothing is restored, unless \
                  --replace moves that data aside.",
    after_help = "Examples:\n  weir restore weir.tar.gz\n  weir restore --replace weir.tar.gz\n  \
                  weir restore --state-dir /tmp/look weir.tar.gz"
)]
pub(crate) struct RestoreArgs {
    /// File written by `weir backup`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Move existing data aside, to a folder next to it
    #[arg(long)]
    pub(crate) replace: bool,
    /// Empty database to restore a PostgreSQL backup into: postgres://…
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}
