//! Words of `weir serve`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

/// Start the server: web interface, API, scheduled agents, user accounts
#[derive(Debug, Default, Args)]
#[command(
    long_about = "Start the server: web interface, API, WebSocket and scheduled agents in one \
                  process. The first start prints a setup code, which you need to create the first \
                  account in the browser. It accepts connections from this machine only, unless it \
                  or a proxy in front of it uses TLS.",
    after_help = "Examples:\n  weir serve\n  weir serve --bind 127.0.0.1:8080\n  weir serve \
                  --database postgres://localhost/weir\n  weir serve --lan"
)]
pub(crate) struct ServeArgs {
    /// Address to listen on [default: setting server.bind, 127.0.0.1:7717]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) bind: Option<SocketAddr>,
    /// Serve on the local network, with a certificate of its own, as `weir phone --lan` does; the
    /// address of this machine in it is found by itself, or is ADDRESS
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, conflicts_with = "bind")]
    pub(crate) lan: Option<Option<IpAddr>>,
    /// Database: sqlite:PATH or postgres://… [default: setting server.database]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Create this admin account if there is no account yet, for machines without a browser
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub(crate) first_admin: Option<String>,
    /// File with the password for --first-admin
    #[arg(long, value_name = "FILE", requires = "first_admin")]
    pub(crate) password_file: Option<PathBuf>,
    /// Print only errors and the setup code on standard error
    #[arg(long)]
    pub(crate) quiet: bool,
}
