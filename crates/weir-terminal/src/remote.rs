//! The other end of the link at a running `weir serve`: what a person wants goes there over HTTP,
//! what happens comes back from there. The session is the server's: a browser can have it open at
//! the same time, and leaving stops nothing.
//!
//! Reading order: `address`, `sign_in`, `http`, `wire`, `follow`, `wishes`, `controller`; then what
//! wishes do: `say`, `change`, `pause`, `back`, `earlier`, `lists`, `reports`, `export`. Not here: an
//! engine in this process (`local`).

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use weir_core::model::Thinking;
use weir_install::context::InstallationContext;
use weir_install::failure::usage;
use weir_tui::link::{BackendChannel, SessionTarget, UiUpdate};

use crate::local::FirstTold;

mod address;
mod back;
mod change;
mod client;
mod controller;
mod decisions;
mod earlier;
mod export;
mod follow;
mod form;
mod http;
mod lists;
mod opening;
mod pause;
mod reports;
mod rules;
mod say;
mod settings;
mod sign_in;
mod wire;
mod wishes;

pub use address::ServerAddress;
pub use sign_in::{SERVER_KEY_PREFIX, SignInPrompts, server_key_name};

/// A server that lets one in.
pub struct RemoteConnection {
    http: Arc<http::ServerClient>,
    /// The folder and home on this machine: files of a message, exports.
    here: controller::LocalMachine,
    history: PathBuf,
}

/// Finds the server at an address and signs in. Asks by `prompts` where it must: before the face has
/// the terminal.
///
/// # Errors
/// The address cannot be used, the server cannot be reached, or lets nobody in.
pub async fn connect_to_server(
    cx: &InstallationContext,
    url: &str,
    prompts: &SignInPrompts,
) -> anyhow::Result<RemoteConnection> {
    let address = ServerAddress::parse_address(url).map_err(usage)?;
    let (http, name) = sign_in::sign_in(cx, &address, prompts).await?;
    let clipboard = super::clipboard::SystemClipboard::from_environment(&cx.environment);
    let (folder, home) = (cx.folder.clone(), cx.dirs.home.clone());
    let here = controller::LocalMachine { folder, home, name, clipboard };
    Ok(RemoteConnection { http: Arc::new(http), here, history: super::message_history_file(cx) })
}

impl RemoteConnection {
    /// Serves the face until it goes. `thinking`: how much the model of what is opened is to think;
    /// `told_from`: which fact of a session that is opened is told first.
    ///
    /// # Errors
    /// The session that was asked for cannot be opened.
    pub async fn serve_link(
        self,
        which: SessionTarget,
        thinking: Option<Thinking>,
        told_from: FirstTold,
        far: BackendChannel,
    ) -> anyhow::Result<()> {
        let BackendChannel { wishes, news } = far;
        // A face that has gone needs no history.
        let _ = news.send(UiUpdate::History(self.history.clone())).await;
        let http = self.http.clone();
        let controller =
            controller::RemoteController::new(http, self.here, told_from, news.clone());
        let served = controller.serve_link(which, thinking, wishes).await;
        if self.http.is_signed_in() {
            controller::sign_out(&self.http).await;
        }
        let why = served.as_ref().err().cloned();
        let _ = news.send(UiUpdate::Over(why)).await;
        served.map_err(|why| anyhow!(why))
    }
}
