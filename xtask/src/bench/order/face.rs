//! The terminal face while its functions are seen (Q21): a session is taken up again, something is said, an
//! answer with code in it comes, and the face is left. Not here: how quick that is (`tui`).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::super::house::House;
use super::super::model::{Model, Reply};
use crate::pty::Pty;

/// How long anything may take: a program is fifty times slower whose functions are watched, and some hundred
/// times where each read is.
const PATIENCE: Duration = Duration::from_secs(600);
/// Nothing was written for so long: the run is over, since what runs moves on the screen.
const REST: Duration = Duration::from_secs(5);
/// The last words of the session that is taken up again.
pub(super) const LAST_WORDS: &str = "All read.";
/// What is answered: a little of everything that answers have.
const ANSWER: &str = "## A part\n\nWords, **strong** ones and `code`.\n\n- a point\n- another\n\n\
                      ```rust\nlet value = read(&path, 1)?; // what was read\n```\n\nIt is shown.";

/// Uses the face with a session that ends with [`LAST_WORDS`].
///
/// # Errors
/// It does not start, show or end.
pub(super) fn use_face(house: &House, session: &str) -> anyhow::Result<()> {
    let model = Model::start(Arc::new(|_| Reply::Text(ANSWER.into())))?;
    let mut command = house.weir(&["--resume", session]);
    command.env("ANTHROPIC_BASE_URL", model.url()).env("WEIR_MODEL", "anthropic/bench");
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut pty = Pty::start(&command)?;
    pty.shown(0, LAST_WORDS, PATIENCE).context("the session is not shown")?;
    let from = pty.written();
    pty.send("go\r")?;
    pty.shown(from, "It is shown.", PATIENCE).context("the answer is not shown")?;
    pty.rest(REST, PATIENCE)?;
    // What was seen is written when it ends by itself.
    ensure!(pty.end_and_wait(PATIENCE)?.is_some(), "the face does not end");
    Ok(())
}
