//! Which wishes go where: what ends or answers something goes to the session at once, what is looked
//! up is a task of its own, the rest waits its turn.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_core::input::PersonCommand;
use weir_engine::ports::{Clock as _, Store as _, StorePause};
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{CommandTicket, DecisionRequest, ListResult, NoticeTone, UiCommand, UiUpdate};

use super::context::LocalContext;
use super::{about, back, decisions, earlier, export, lists, reports};
use crate::clipboard::SystemClipboard;

/// How long is waited after the kill switch could not be looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Takes a wish; gives it back where it has to wait its turn.
pub(super) async fn dispatch_command(
    context: &Arc<LocalContext>,
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
            context.shells.run_command(context, command, ticket).await;
            None
        }
        UiCommand::Decide { request, as_shown, ticket } => {
            tokio::spawn(decided(context.clone(), request, as_shown, ticket));
            None
        }
        UiCommand::EndShell(ticket) => {
            context.shells.end_command(ticket).await;
            None
        }
        UiCommand::Sessions { .. }
        | UiCommand::Earlier { .. }
        | UiCommand::Files { .. }
        | UiCommand::Models(_)
        | UiCommand::Profiles(_)
        | UiCommand::Clipboard(_)
        | UiCommand::Preview { .. }
        | UiCommand::Report { .. }
        | UiCommand::Review { .. }
        | UiCommand::Export(_)
        | UiCommand::Pause(_)
        | UiCommand::Release => {
            tokio::spawn(looked_up(context.clone(), wish));
            None
        }
        other => Some(other),
    }
}

async fn decided(
    context: Arc<LocalContext>,
    request: DecisionRequest,
    as_shown: String,
    ticket: CommandTicket,
) {
    let update = match decisions::make_decision(&context, &request, &as_shown).await {
        Ok(outcome) => outcome.into_update(ticket),
        Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
    };
    context.send_update(update).await;
}

/// Looks something up and tells it.
async fn looked_up(context: Arc<LocalContext>, wish: UiCommand) {
    let places = context.lookups.clone();
    // The semaphore is never closed.
    let Ok(_place) = places.acquire().await else { return };
    let looked = perform_lookup(&context, wish);
    tokio::select! {
        () = context.leaving.cancelled() => (),
        () = looked => (),
    }
}

async fn perform_lookup(context: &Arc<LocalContext>, wish: UiCommand) {
    match wish {
        UiCommand::Sessions { query, ticket } => {
            let found = lists::list_sessions(context, &query).await;
            send_list(context, ticket, found.map(ListResult::Sessions)).await;
        }
        UiCommand::Earlier { last, facts, ticket } => {
            let shown = context.shown_session();
            context.send_update(earlier::earlier_update(&shown, last, facts, ticket).await).await;
        }
        UiCommand::Files { query, ticket } => {
            let found = context.files.find_files(&context.shown_session(), &query).await;
            send_list(context, ticket, found.map(ListResult::Files)).await;
        }
        UiCommand::Models(ticket) => {
            let found = lists::list_models(context).await;
            send_list(context, ticket, found.map(ListResult::Choices)).await;
        }
        UiCommand::Profiles(ticket) => {
            let found = lists::list_profiles(context);
            send_list(context, ticket, found.map(ListResult::Choices)).await;
        }
        UiCommand::Clipboard(ticket) => {
            let clipboard = SystemClipboard::from_environment(&context.cx.environment);
            context.send_update(clipboard.clipboard_update(ticket).await).await;
        }
        UiCommand::Preview { before, ticket } => {
            let text = back::preview_rewind(context, before).await;
            send_report_text(context, ticket, text).await;
        }
        UiCommand::Report { report, arguments, ticket } => {
            let text = reports::make_report(context, report, &arguments).await;
            send_report_text(context, ticket, text).await;
        }
        UiCommand::Review { request, ticket } => {
            let update = match decisions::review_decision(context, &request).await {
                Ok(review) => UiUpdate::Review { ticket, review: Box::new(review) },
                Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
            };
            context.send_update(update).await;
        }
        UiCommand::Export(name) => match export::export_session_to_file(context, &name).await {
            Ok(text) => context.send_notice(NoticeTone::Good, text).await,
            Err(error) => context.send_notice(NoticeTone::Bad, format!("{error:#}")).await,
        },
        UiCommand::Pause(reason) => switch_pause(context, Some(reason.unwrap_or_default())).await,
        UiCommand::Release => switch_pause(context, None).await,
        _ => (),
    }
}

async fn send_list(
    context: &LocalContext,
    ticket: CommandTicket,
    items: anyhow::Result<ListResult>,
) {
    context
        .send_update(match items {
            Ok(items) => UiUpdate::Listed { ticket, items },
            Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
        })
        .await;
}

async fn send_report_text(
    context: &LocalContext,
    ticket: CommandTicket,
    text: anyhow::Result<reports::ReportText>,
) {
    context
        .send_update(match text {
            Ok(reports::ReportText { title, text, kind }) => {
                UiUpdate::Text { ticket, title, text, kind }
            }
            Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
        })
        .await;
}

/// Throws or releases the kill switch. That it was is told by who watches it.
async fn switch_pause(context: &LocalContext, reason: Option<String>) {
    let switched = async {
        let store = context.cx.local_store()?;
        if reason.is_none() && store.pause_state().await?.is_none() {
            return Ok::<_, anyhow::Error>(Some("Weir was not paused."));
        }
        let by = wiring::principal_name(&context.cx);
        let since = SystemClock::default().now();
        context.stored.notify_one();
        store.set_paused(reason.map(|reason| StorePause { since, by, reason })).await?;
        Ok(None)
    };
    match switched.await {
        Ok(None) => (),
        Ok(Some(text)) => context.send_notice(NoticeTone::Quiet, text).await,
        Err(error) => context.send_notice(NoticeTone::Bad, format!("{error:#}")).await,
    }
}

/// Says when Weir is paused or released, by whomever. `known`: how it was when the face began.
pub(super) async fn watch_pause(context: Arc<LocalContext>, mut known: Option<String>) {
    loop {
        // Without a store there is nothing to watch; with the first session there is one.
        let store = match about::has_store(&context.cx) {
            true => context.cx.local_store().ok(),
            false => None,
        };
        let mut changed = pin!(async {
            match &store {
                Some(store) => store.pause_changed().await,
                None => context.stored.notified().await,
            }
        });
        // It listens before it looks: what changes in between wakes it.
        let has_changed = futures::poll!(changed.as_mut()).is_ready();
        let look = context.pause_watch.begin_look();
        let Ok(now) = about::describe_pause(&context.cx).await else {
            context.pause_watch.mark_told(look);
            // A database that is in trouble is not asked all the time.
            tokio::time::sleep(LOOK_AGAIN).await;
            continue;
        };
        match (&known, &now) {
            (None, Some(pause)) => {
                let text = format!("{pause}; `/release` lets runs start again");
                context.send_notice(NoticeTone::Bad, text).await;
            }
            (Some(_), None) => {
                context.send_notice(NoticeTone::Good, "Released: runs may start again.").await
            }
            _ => (),
        }
        known = now;
        context.pause_watch.mark_told(look);
        if !has_changed {
            tokio::select! {
                () = &mut changed => (),
                () = context.pause_watch.wait_until_wanted() => (),
            }
        }
    }
}
