//! Which wishes go where: what ends or answers something goes to the session at once, what is looked
//! up is a task of its own, the rest waits its turn.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_core::input::PersonCommand;
use weir_engine::ports::{Clock as _, Pause, Store as _};
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{Items, News, Ticket, Tone, Wish};

use super::super::clipboard::Clipboard;
use super::desk::Desk;
use super::{about, back, export, letters, lists, reports};

/// How long is waited after the kill switch could not be looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Does what ends or answers something, one after the other: what is taken back before a run is
/// ended must not be in the next one. What no session here hears goes to the keeper.
pub(super) async fn steer(
    desk: Arc<Desk>,
    mut commands: mpsc::Receiver<PersonCommand>,
    line: mpsc::Sender<Wish>,
) {
    while let Some(command) = commands.recv().await {
        let live = desk.room().live().filter(|_| desk.behind.load(Ordering::Acquire) == 0);
        let heard = match live {
            Some(live) => letters::pass(&desk, &live, command.clone()).await,
            None => false,
        };
        if heard {
            continue;
        }
        // It does not run here, or went down in this moment: the keeper finds out what is open.
        desk.behind.fetch_add(1, Ordering::AcqRel);
        if line.send(Wish::Tell(command)).await.is_err() {
            break;
        }
    }
}

/// Takes a wish; gives it back where it has to wait its turn.
pub(super) async fn take(
    desk: &Arc<Desk>,
    wish: Wish,
    steer: &mpsc::Sender<PersonCommand>,
) -> Option<Wish> {
    match wish {
        Wish::Tell(command) => {
            // Whoever hears them stays as long as the wishes come.
            let _ = steer.send(command).await;
            None
        }
        Wish::Shell { command, ticket } => {
            desk.shells.begin(desk, command, ticket).await;
            None
        }
        Wish::EndShell(ticket) => {
            desk.shells.end(ticket).await;
            None
        }
        Wish::Sessions { .. }
        | Wish::Files { .. }
        | Wish::Models(_)
        | Wish::Profiles(_)
        | Wish::Clipboard(_)
        | Wish::Preview { .. }
        | Wish::Report { .. }
        | Wish::Export(_)
        | Wish::Pause(_)
        | Wish::Release => {
            tokio::spawn(looked_up(desk.clone(), wish));
            None
        }
        other => Some(other),
    }
}

/// Looks something up and tells it.
async fn looked_up(desk: Arc<Desk>, wish: Wish) {
    let places = desk.lookups.clone();
    // The semaphore is never closed.
    let Ok(_place) = places.acquire().await else { return };
    let looked = look(&desk, wish);
    tokio::select! {
        () = desk.leaving.cancelled() => (),
        () = looked => (),
    }
}

async fn look(desk: &Arc<Desk>, wish: Wish) {
    match wish {
        Wish::Sessions { query, ticket } => {
            let found = lists::sessions(desk, &query).await;
            listed(desk, ticket, found.map(Items::Sessions)).await;
        }
        Wish::Files { query, ticket } => {
            let found = desk.files.find(&desk.room(), &query).await;
            listed(desk, ticket, found.map(Items::Files)).await;
        }
        Wish::Models(ticket) => {
            let found = lists::models(desk).await;
            listed(desk, ticket, found.map(Items::Choices)).await;
        }
        Wish::Profiles(ticket) => {
            let found = lists::profiles(desk);
            listed(desk, ticket, found.map(Items::Choices)).await;
        }
        Wish::Clipboard(ticket) => {
            let clipboard = Clipboard::of(&desk.cx.environment);
            desk.tell(clipboard.told(ticket).await).await;
        }
        Wish::Preview { before, ticket } => {
            let text = back::preview(desk, before).await;
            texted(desk, ticket, text).await;
        }
        Wish::Report { report, arguments, ticket } => {
            let text = reports::report(desk, report, &arguments).await;
            texted(desk, ticket, text).await;
        }
        Wish::Export(name) => match export::export(desk, &name).await {
            Ok(text) => desk.notice(Tone::Good, text).await,
            Err(error) => desk.notice(Tone::Bad, format!("{error:#}")).await,
        },
        Wish::Pause(reason) => switch(desk, Some(reason.unwrap_or_default())).await,
        Wish::Release => switch(desk, None).await,
        _ => (),
    }
}

async fn listed(desk: &Desk, ticket: Ticket, items: anyhow::Result<Items>) {
    desk.tell(match items {
        Ok(items) => News::Listed { ticket, items },
        Err(error) => News::Failed { ticket, why: format!("{error:#}") },
    })
    .await;
}

async fn texted(desk: &Desk, ticket: Ticket, text: anyhow::Result<reports::Text>) {
    desk.tell(match text {
        Ok(reports::Text { title, text, kind }) => News::Text { ticket, title, text, kind },
        Err(error) => News::Failed { ticket, why: format!("{error:#}") },
    })
    .await;
}

/// Throws or releases the kill switch. That it was is told by who watches it.
async fn switch(desk: &Desk, reason: Option<String>) {
    let switched = async {
        let store = desk.cx.store()?;
        if reason.is_none() && store.paused().await?.is_none() {
            return Ok::<_, anyhow::Error>(Some("Weir was not paused."));
        }
        let by = wiring::principal(&desk.cx);
        let since = SystemClock::default().now();
        desk.stored.notify_one();
        store.set_paused(reason.map(|reason| Pause { since, by, reason })).await?;
        Ok(None)
    };
    match switched.await {
        Ok(None) => (),
        Ok(Some(text)) => desk.notice(Tone::Quiet, text).await,
        Err(error) => desk.notice(Tone::Bad, format!("{error:#}")).await,
    }
}

/// Says when Weir is paused or released, by whomever.
pub(super) async fn watch_pause(desk: Arc<Desk>) {
    let mut known = about::paused(&desk.cx).await.ok().flatten();
    loop {
        // Without a store there is nothing to watch; with the first session there is one.
        let store = match about::has_store(&desk.cx) {
            true => desk.cx.store().ok(),
            false => None,
        };
        match store {
            Some(store) => store.pause_changed().await,
            None => desk.stored.notified().await,
        }
        let Ok(now) = about::paused(&desk.cx).await else {
            // A database that is in trouble is not asked all the time.
            tokio::time::sleep(LOOK_AGAIN).await;
            continue;
        };
        match (&known, &now) {
            (None, Some(pause)) => {
                let text = format!("{pause}; `/release` lets runs start again");
                desk.notice(Tone::Bad, text).await;
            }
            (Some(_), None) => desk.notice(Tone::Good, "Released: runs may start again.").await,
            _ => (),
        }
        known = now;
    }
}
