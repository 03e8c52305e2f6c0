//! `weir pause` and `weir release`: the kill switch of this machine's store (L14).

use std::process::ExitCode;

use weir_engine::ports::{Clock, Pause, Store};
use weir_install::cx::Cx;
use weir_install::wiring::{self, SystemClock};

use crate::terminal::out;

/// Throws it. Thrown twice, the newer reason stands.
pub(crate) async fn pause(cx: &Cx, reason: Option<String>) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    let reason = reason.unwrap_or_default();
    let pause = Pause {
        since: SystemClock::default().now(),
        by: wiring::principal(cx),
        reason: reason.clone(),
    };
    store.set_paused(Some(pause)).await?;
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let place = cx.dirs.state.display();
    out(&format!("Paused{because}. Nothing runs in {place} until `weir release`."))?;
    Ok(ExitCode::SUCCESS)
}

/// Lets sessions run again.
pub(crate) async fn release(cx: &Cx) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    match store.paused().await? {
        Some(pause) => {
            store.set_paused(None).await?;
            let (since, by) = (pause.since, pause.by);
            out(&format!("Released. Weir had been paused since {since} by {by}."))?;
        }
        None => out("Weir was not paused.")?,
    }
    Ok(ExitCode::SUCCESS)
}
