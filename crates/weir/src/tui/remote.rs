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
use weir_tui::link::{Far, News, Which};

use crate::failure::{exit, failure, usage};

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
pub(crate) use place::Place;

/// A server that lets one in.
pub(crate) struct Reached {
    http: Arc<http::Http>,
    /// The folder and home on this machine: files of a message, exports.
    here: desk::Here,
    history: PathBuf,
}

/// Finds the server at an address and signs in. Asks at the terminal where it must: before the
/// face has it.
///
/// # Errors
/// The address cannot be used, the server cannot be reached, or lets nobody in.
pub(crate) async fn reach(cx: &Cx, url: &str) -> anyhow::Result<Reached> {
    let place = Place::of(url).map_err(usage)?;
    let (http, name) = door::enter(cx, &place).await?;
    let clipboard = super::clipboard::Clipboard::of(&cx.environment);
    let (folder, home) = (cx.folder.clone(), cx.dirs.home.clone());
    let here = desk::Here { folder, home, name, clipboard };
    Ok(Reached { http: Arc::new(http), here, history: super::history(cx) })
}

impl Reached {
    /// Serves the face until it goes. `thinking`: how much the model of what is opened is to think.
    ///
    /// # Errors
    /// The session that was asked for cannot be opened.
    pub(crate) async fn serve(
        self,
        which: Which,
        thinking: Option<Thinking>,
        far: Far,
    ) -> anyhow::Result<()> {
        let Far { wishes, news } = far;
        // A face that has gone needs no history.
        let _ = news.send(News::History(self.history.clone())).await;
        let desk = desk::Desk::new(self.http.clone(), self.here, news.clone());
        let served = desk.serve((which, thinking), wishes).await;
        if self.http.is_signed_in() {
            desk::sign_out(&self.http).await;
        }
        let why = served.as_ref().err().cloned();
        let _ = news.send(News::Over(why)).await;
        served.map_err(|why| failure(exit::FAILED, why))
    }
}
