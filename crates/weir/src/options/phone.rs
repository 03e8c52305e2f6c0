//! The words of `weir phone` (R5).

use std::net::IpAddr;

use clap::{Args, Subcommand};

use super::JsonFlag;

/// Pair a telephone: follow and answer your sessions from its browser
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    long_about = "Pair a telephone with the server of this installation: shows a code as a picture \
                  (QR code) and an address, both good for one telephone and five minutes. The \
                  telephone's browser then follows and answers every session of this machine. If no \
                  server runs, this command is the server until you end it. Later `weir serve` is, if \
                  server.public_url has the same address; after --lan, `weir phone --lan` again.\n\n\
                  Without --lan and --address, the address is server.public_url, or else one \
                  that only this machine reaches, for which no picture is shown. On a local \
                  network nothing is served without TLS: --lan makes a certificate of its own. \
                  The telephone's browser warns of it once; compare the fingerprint. Browsers \
                  give no notifications behind such a certificate: keep the page open, or be \
                  told by ntfy or a webhook. With --address, a name of yours with a certificate \
                  that browsers know, notifications work.",
    after_help = "Examples:\n  \
        weir phone --lan                                 on the local network\n  \
        weir phone --address https://weir.example.org    by a proxy or tunnel of yours\n  \
        weir phone --name \"Pixel 9\"\n  \
        weir phone list\n  \
        weir phone revoke \"Pixel 9\""
)]
pub(crate) struct PhoneArgs {
    /// What to do; nothing: pair one
    #[command(subcommand)]
    pub(crate) command: Option<PhoneCommand>,
    #[command(flatten)]
    pub(crate) pair: PhonePairArgs,
}

/// How a telephone is paired.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PhonePairArgs {
    /// Serve on the local network, with a certificate of its own; the address of this machine in it
    /// is found by itself, or is ADDRESS
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, conflicts_with = "address")]
    pub(crate) lan: Option<Option<IpAddr>>,
    /// Address by which the telephone reaches the server: of a proxy or tunnel that speaks TLS
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// Name of the telephone, shown wherever it answers [default: its page asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Name of your account, if there is none yet [default: your user name]
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Show the QR code also where only this machine reaches the address
    #[arg(long)]
    pub(crate) picture: bool,
    /// Show the code and return at once; a server must run already
    #[arg(long, conflicts_with_all = ["lan", "account"])]
    pub(crate) show: bool,
    #[command(flatten)]
    pub(crate) database: PhoneDatabase,
}

/// Where the server keeps its data.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PhoneDatabase {
    /// Database of the server: sqlite:PATH or postgres://… [default: setting server.database]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

/// What to do with telephones.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum PhoneCommand {
    /// List paired telephones
    #[command(after_help = "Example:\n  weir phone list")]
    List(PhoneListArgs),
    Revoke(PhoneRevokeArgs),
}

/// List paired telephones.
#[derive(Debug, Clone, Args)]
pub(crate) struct PhoneListArgs {
    #[command(flatten)]
    pub(crate) database: PhoneDatabase,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Revoke a telephone: it is signed out, told nothing more, and its answers no longer count
#[derive(Debug, Clone, Args)]
#[command(
    long_about = "Revoke a telephone. It is signed out at once, no notice goes to it any more, and \
                  the answers that notices offered it no longer count.",
    after_help = "Examples:\n  weir phone revoke \"Pixel 9\"\n  weir phone revoke 3f2a9c01"
)]
pub(crate) struct PhoneRevokeArgs {
    /// Name or id of the telephone (`weir phone list`); the beginning of the id will do
    #[arg(value_name = "TELEPHONE")]
    pub(crate) phone: String,
    #[command(flatten)]
    pub(crate) database: PhoneDatabase,
}
