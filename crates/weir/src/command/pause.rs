//! `weir pause` and `weir release`: the kill switch of this machine's store (L14).

use std::process::ExitCode;

use weir_engine::ports::{Clock, Store, StorePause};
use weir_install::context::InstallationContext;
use weir_install::wiring::{self, SystemClock};

use crate::terminal::out_line;

/// Throws it. Thrown twice, the newer reason stands.
pub(crate) async fn pause_store(
    cx: &InstallationContext,
    reason: Option<String>,
) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    let reason = reason.unwrap_or_default();
    let pause = StorePause {
        since: SystemClock::default().now(),
        by: wiring::principal_name(cx),
        reason: reason.clone(),
    };
    store.set_paused(Some(pause)).await?;
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let place = cx.dirs.state.display();
    out_line(&format!("Paused{because}. Nothing runs in {place} until `weir release`."))?;
    Ok(ExitCode::SUCCESS)
}

/// Lets sessions run again.
pub(crate) async fn release_pause(cx: &InstallationContext) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    match store.pause_state().await? {
        Some(pause) => {
            store.set_paused(None).await?;
            let (since, by) = (pause.since, pause.by);
            out_line(&format!("Released. Weir had been paused since {since} by {by}."))?;
        }
        None => out_line("Weir was not paused.")?,
    }
    Ok(ExitCode::SUCCESS)
}
