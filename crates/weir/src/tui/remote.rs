//! The other end of the link at a running `weir serve`: what a person wants goes there over HTTP,
//! what happens comes back from there. The session is the server's: a browser can have it open at
//! the same time, and leaving stops nothing.
//!
//! Reading order: `place`, `door`, `http`, `wire`, `follow`, `wishes`, `desk`; then what wishes do: `say`,
//! `change`, `pause`, `back`, `lists`, `reports`, `export`. Not here: an engine in this process (`tui`).

use std::path::PathBuf;
use std::sync::Arc;

use weir_core::model::Thinking;
use weir_install::cx::Cx;
use weir_tui::link::{BackendChannel, SessionTarget, UiUpdate};

use crate::failure::{exit, failure_with_status, usage};

mod back;
mod change;
mod client;
mod desk;
mod door;
mod export;
mod follow;
mod form;
mod http;
mod lists;
mod opening;
mod pause;
mod place;
mod reports;
mod say;
mod wire;
mod wishes;

pub(crate) use door::{SERVER, kept_as};
pub(crate) use place::ServerAddress;

/// A server that lets one in.
pub(crate) struct RemoteConnection {
    http: Arc<http::ServerClient>,
    /// The folder and home on this machine: files of a message, exports.
    here: desk::LocalMachine,
    history: PathBuf,
}

/// Finds the server at an address and signs in. Asks at the terminal where it must: before the
/// face has it.
///
/// # Errors
/// The address cannot be used, the server cannot be reached, or lets nobody in.
pub(crate) async fn connect_to_server(cx: &Cx, url: &str) -> anyhow::Result<RemoteConnection> {
    let place = ServerAddress::parse_address(url).map_err(usage)?;
    let (http, name) = door::sign_in(cx, &place).await?;
    let clipboard = super::clipboard::SystemClipboard::from_environment(&cx.environment);
    let (folder, home) = (cx.folder.clone(), cx.dirs.home.clone());
    let here = desk::LocalMachine { folder, home, name, clipboard };
    Ok(RemoteConnection { http: Arc::new(http), here, history: super::message_history_file(cx) })
}

impl RemoteConnection {
    /// Serves the face until it goes. `thinking`: how much the model of what is opened is to think.
    ///
    /// # Errors
    /// The session that was asked for cannot be opened.
    pub(crate) async fn serve_link(
        self,
        which: SessionTarget,
        thinking: Option<Thinking>,
        far: BackendChannel,
    ) -> anyhow::Result<()> {
        let BackendChannel { wishes, news } = far;
        // A face that has gone needs no history.
        let _ = news.send(UiUpdate::History(self.history.clone())).await;
        let desk = desk::RemoteController::new(self.http.clone(), self.here, news.clone());
        let served = desk.serve_link((which, thinking), wishes).await;
        if self.http.is_signed_in() {
            desk::sign_out(&self.http).await;
        }
        let why = served.as_ref().err().cloned();
        let _ = news.send(UiUpdate::Over(why)).await;
        served.map_err(|why| failure_with_status(exit::FAILED, why))
    }
}
