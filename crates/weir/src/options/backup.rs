//! Words of `weir backup` and `weir restore`.

use std::path::PathBuf;

use clap::Args;

/// Everything of this installation as one file, while it runs
#[derive(Debug, Args)]
#[command(
    long_about = "Everything of this installation as one compressed file, while it runs: journals, \
                  audit logs, checkpoints, accounts, settings. Folders that people work in are not \
                  in it, and keys of providers only if asked for.",
    after_help = "Examples:\n  weir backup weir.tar.gz\n  weir backup --keys /safe/weir.tar.gz"
)]
pub(crate) struct BackupArgs {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Keys of providers and tokens of servers go along
    #[arg(long)]
    pub(crate) keys: bool,
    /// The server's database: sqlite:PATH or postgres://… (default: server.database)
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

/// Put a backup back
#[derive(Debug, Args)]
#[command(
    long_about = "Put a backup back into the folders of this installation. End every Weir that uses \
                  them first. Data that is there is a reason to stop, or is moved aside.",
    after_help = "Examples:\n  weir restore weir.tar.gz\n  weir restore --replace weir.tar.gz\n  \
                  weir restore --state-dir /tmp/look weir.tar.gz"
)]
pub(crate) struct RestoreArgs {
    /// A file that `weir backup` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Move data that is there aside, to a folder beside it
    #[arg(long)]
    pub(crate) replace: bool,
    /// The database that a backup of PostgreSQL goes to; it must be empty: postgres://…
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}
