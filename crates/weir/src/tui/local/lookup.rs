//! Which wishes go where: what ends or answers something goes to the session at once, what is looked
//! up is a task of its own, the rest waits its turn.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_core::input::PersonCommand;
use weir_engine::ports::{Clock as _, Store as _, StorePause};
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{CommandTicket, ListResult, NoticeTone, UiCommand, UiUpdate};

use super::super::clipboard::SystemClipboard;
use super::desk::LocalContext;
use super::{about, back, export, letters, lists, reports};

/// How long is waited after the kill switch could not be looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Does what ends or answers something, one after the other: what is taken back before a run is
/// ended must not be in the next one. What no session here hears goes to the keeper.
pub(super) async fn steer_sessions(
    desk: Arc<LocalContext>,
    mut commands: mpsc::Receiver<PersonCommand>,
    line: mpsc::Sender<UiCommand>,
) {
    while let Some(command) = commands.recv().await {
        let live = desk
            .shown_session()
            .running_session()
            .filter(|_| desk.behind.load(Ordering::Acquire) == 0);
        let heard = match live {
            Some(live) => letters::steer_live_session(&desk, &live, command.clone()).await,
            None => false,
        };
        if heard {
            continue;
        }
        // It does not run here, or went down in this moment: the keeper finds out what is open.
        desk.behind.fetch_add(1, Ordering::AcqRel);
        if line.send(UiCommand::Tell(command)).await.is_err() {
            break;
        }
    }
}

/// Takes a wish; gives it back where it has to wait its turn.
pub(super) async fn dispatch_command(
    desk: &Arc<LocalContext>,
    wish: UiCommand,
    steer: &mpsc::Sender<PersonCommand>,
) -> Option<UiCommand> {
    match wish {
        UiCommand::Tell(command) => {
            // Whoever hears them stays as long as the wishes come.
            let _ = steer.send(command).await;
            None
        }
        UiCommand::Shell { command, ticket } => {
            desk.shells.run_command(desk, command, ticket).await;
            None
        }
        UiCommand::EndShell(ticket) => {
            desk.shells.end_command(ticket).await;
            None
        }
        UiCommand::Sessions { .. }
        | UiCommand::Files { .. }
        | UiCommand::Models(_)
        | UiCommand::Profiles(_)
        | UiCommand::Clipboard(_)
        | UiCommand::Preview { .. }
        | UiCommand::Report { .. }
        | UiCommand::Export(_)
        | UiCommand::Pause(_)
        | UiCommand::Release => {
            tokio::spawn(looked_up(desk.clone(), wish));
            None
        }
        other => Some(other),
    }
}

/// Looks something up and tells it.
async fn looked_up(desk: Arc<LocalContext>, wish: UiCommand) {
    let places = desk.lookups.clone();
    // The semaphore is never closed.
    let Ok(_place) = places.acquire().await else { return };
    let looked = perform_lookup(&desk, wish);
    tokio::select! {
        () = desk.leaving.cancelled() => (),
        () = looked => (),
    }
}

async fn perform_lookup(desk: &Arc<LocalContext>, wish: UiCommand) {
    match wish {
        UiCommand::Sessions { query, ticket } => {
            let found = lists::list_sessions(desk, &query).await;
            send_list(desk, ticket, found.map(ListResult::Sessions)).await;
        }
        UiCommand::Files { query, ticket } => {
            let found = desk.files.find_files(&desk.shown_session(), &query).await;
            send_list(desk, ticket, found.map(ListResult::Files)).await;
        }
        UiCommand::Models(ticket) => {
            let found = lists::list_models(desk).await;
            send_list(desk, ticket, found.map(ListResult::Choices)).await;
        }
        UiCommand::Profiles(ticket) => {
            let found = lists::list_profiles(desk);
            send_list(desk, ticket, found.map(ListResult::Choices)).await;
        }
        UiCommand::Clipboard(ticket) => {
            let clipboard = SystemClipboard::from_environment(&desk.cx.environment);
            desk.send_update(clipboard.clipboard_update(ticket).await).await;
        }
        UiCommand::Preview { before, ticket } => {
            let text = back::preview_rewind(desk, before).await;
            send_report_text(desk, ticket, text).await;
        }
        UiCommand::Report { report, arguments, ticket } => {
            let text = reports::make_report(desk, report, &arguments).await;
            send_report_text(desk, ticket, text).await;
        }
        UiCommand::Export(name) => match export::export_session_to_file(desk, &name).await {
            Ok(text) => desk.send_notice(NoticeTone::Good, text).await,
            Err(error) => desk.send_notice(NoticeTone::Bad, format!("{error:#}")).await,
        },
        UiCommand::Pause(reason) => switch_pause(desk, Some(reason.unwrap_or_default())).await,
        UiCommand::Release => switch_pause(desk, None).await,
        _ => (),
    }
}

async fn send_list(desk: &LocalContext, ticket: CommandTicket, items: anyhow::Result<ListResult>) {
    desk.send_update(match items {
        Ok(items) => UiUpdate::Listed { ticket, items },
        Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
    })
    .await;
}

async fn send_report_text(
    desk: &LocalContext,
    ticket: CommandTicket,
    text: anyhow::Result<reports::ReportText>,
) {
    desk.send_update(match text {
        Ok(reports::ReportText { title, text, kind }) => {
            UiUpdate::Text { ticket, title, text, kind }
        }
        Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
    })
    .await;
}

/// Throws or releases the kill switch. That it was is told by who watches it.
async fn switch_pause(desk: &LocalContext, reason: Option<String>) {
    let switched = async {
        let store = desk.cx.local_store()?;
        if reason.is_none() && store.pause_state().await?.is_none() {
            return Ok::<_, anyhow::Error>(Some("Weir was not paused."));
        }
        let by = wiring::principal_name(&desk.cx);
        let since = SystemClock::default().now();
        desk.stored.notify_one();
        store.set_paused(reason.map(|reason| StorePause { since, by, reason })).await?;
        Ok(None)
    };
    match switched.await {
        Ok(None) => (),
        Ok(Some(text)) => desk.send_notice(NoticeTone::Quiet, text).await,
        Err(error) => desk.send_notice(NoticeTone::Bad, format!("{error:#}")).await,
    }
}

/// Says when Weir is paused or released, by whomever.
pub(super) async fn watch_pause(desk: Arc<LocalContext>) {
    let mut known = about::describe_pause(&desk.cx).await.ok().flatten();
    loop {
        // Without a store there is nothing to watch; with the first session there is one.
        let store = match about::has_store(&desk.cx) {
            true => desk.cx.local_store().ok(),
            false => None,
        };
        match store {
            Some(store) => store.pause_changed().await,
            None => desk.stored.notified().await,
        }
        let Ok(now) = about::describe_pause(&desk.cx).await else {
            // A database that is in trouble is not asked all the time.
            tokio::time::sleep(LOOK_AGAIN).await;
            continue;
        };
        match (&known, &now) {
            (None, Some(pause)) => {
                let text = format!("{pause}; `/release` lets runs start again");
                desk.send_notice(NoticeTone::Bad, text).await;
            }
            (Some(_), None) => {
                desk.send_notice(NoticeTone::Good, "Released: runs may start again.").await
            }
            _ => (),
        }
        known = now;
    }
}
