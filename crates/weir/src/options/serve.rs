//! Words of `weir serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// The server with the browser's pages: sessions, schedules, people
#[derive(Debug, Args)]
#[command(
    long_about = "The server with the browser's pages, in one process: API, WebSocket, pages, \
                  scheduled agents. The first start prints a setup code; whoever first opens the \
                  page needs it. It listens on this machine only, unless it speaks TLS itself or a \
                  proxy does.",
    after_help = "Examples:\n  weir serve\n  weir serve --bind 127.0.0.1:8080\n  weir serve \
                  --database postgres://localhost/weir"
)]
pub(crate) struct ServeArgs {
    /// Where it listens (default: server.bind, 127.0.0.1:7717)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) bind: Option<SocketAddr>,
    /// Where it keeps its data: sqlite:PATH or postgres://… (default: server.database)
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Make this account with the role admin, if there is none yet: for machines without a browser
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub(crate) first_admin: Option<String>,
    /// The file with the password of --first-admin
    #[arg(long, value_name = "FILE", requires = "first_admin")]
    pub(crate) password_file: Option<PathBuf>,
    /// Say nothing on standard error but errors and the setup code
    #[arg(long)]
    pub(crate) quiet: bool,
}
