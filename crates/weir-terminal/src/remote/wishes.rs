//! What each wish asks of the server, in what order wishes go there, and what is told of one of which
//! nothing came. Not here: when they are done (`controller`).

use weir_core::input::PersonCommand;
use weir_engine::attach::parse_mentions;
use weir_engine::blocking::run_blocking;
use weir_tui::link::{
    CommandTicket, MessageAttachment, NoticeTone, ShellNews, UiCommand, UiUpdate,
};

use super::controller::{OutcomeFollowUp, RequestContext, UiCommandOutcome};
use super::http::ApiResult;
use super::{back, change, decisions, earlier, export, lists, opening, pause, reports, say};

/// Why no command of the person's own runs here.
const NO_SHELL: &str = "the folder is the server's, so commands of your own are not run from here; \
                        open a shell there, or ask the agent";

/// After what a wish is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandLane {
    /// After all that makes or changes the session.
    Session,
    /// After all that steers its run: what is taken back before the run is ended must not begin
    /// another.
    Run,
    /// After nothing, and never kept waiting.
    Aside,
    /// After nothing: only looks, so that too much of it at once is refused.
    Look,
}

/// In which lane a wish goes.
pub(super) fn lane_of_command(wish: &UiCommand) -> CommandLane {
    match wish {
        UiCommand::Open(_)
        | UiCommand::Say { .. }
        | UiCommand::Mode(_)
        | UiCommand::Thinking(_)
        | UiCommand::Model(_)
        | UiCommand::Profile(_)
        | UiCommand::Reload
        | UiCommand::Unattended
        | UiCommand::Condense(_)
        | UiCommand::Undo
        | UiCommand::Rewind { .. } => CommandLane::Session,
        UiCommand::Tell(_) => CommandLane::Run,
        UiCommand::Shell { .. }
        | UiCommand::EndShell(_)
        | UiCommand::Decide { .. }
        | UiCommand::Pause(_)
        | UiCommand::Release
        | UiCommand::Leave => CommandLane::Aside,
        UiCommand::Sessions { .. }
        | UiCommand::Earlier { .. }
        | UiCommand::Files { .. }
        | UiCommand::Models(_)
        | UiCommand::Profiles(_)
        | UiCommand::Clipboard(_)
        | UiCommand::Preview { .. }
        | UiCommand::Report { .. }
        | UiCommand::Review { .. }
        | UiCommand::Export(_) => CommandLane::Look,
    }
}

/// Does what was wished.
pub(super) async fn perform_command(context: RequestContext, wish: UiCommand) -> UiCommandOutcome {
    let asked = wish.clone();
    match try_command(&context, wish).await {
        Ok(done) => done,
        Err(trouble) => refused_outcome(asked, &trouble.to_string()),
    }
}

/// Tells the session at the server.
async fn tell_server(
    context: &RequestContext,
    command: PersonCommand,
) -> ApiResult<UiCommandOutcome> {
    match command {
        PersonCommand::Withdraw { input } => say::withdraw_input(context, input).await,
        PersonCommand::Cancel => say::cancel_run(context).await,
        PersonCommand::Resume => say::resume_run(context).await,
        PersonCommand::Decide(answer) => say::answer_approval(context, &answer).await,
        PersonCommand::Reply { question, answer } => {
            say::answer_question(context, &question, &answer).await
        }
        // For every other the face has wishes of their own, or none: what has no route here is refused.
        _ => {
            let text = "this cannot be done from here in a session at a server".to_owned();
            Ok(UiCommandOutcome::from_update(UiUpdate::Notice { tone: NoticeTone::Bad, text }))
        }
    }
}

async fn try_command(context: &RequestContext, wish: UiCommand) -> ApiResult<UiCommandOutcome> {
    match wish {
        UiCommand::Open(which) => {
            let opening = opening::open_session(context.clone(), which).await?;
            Ok(UiCommandOutcome {
                news: Vec::new(),
                then: OutcomeFollowUp::Opened(Box::new(opening)),
            })
        }
        UiCommand::Say { ref text, ref attached, .. } => {
            let meant = of_this_machine(context, text, attached).await;
            let mut done = say::send_message(context, wish).await?;
            // One that begins a session comes by again.
            if matches!(done.then, OutcomeFollowUp::Nothing) {
                done.news.extend(meant);
            }
            Ok(done)
        }
        UiCommand::Tell(command) => tell_server(context, command).await,
        UiCommand::Mode(mode) => change::change_permission_mode(context, mode).await,
        UiCommand::Thinking(thinking) => change::change_thinking(context, thinking).await,
        UiCommand::Model(model) => change::change_model(context, model).await,
        UiCommand::Profile(profile) => change::change_profile(context, profile).await,
        UiCommand::Condense(words) => change::condense_context(context, &words).await,
        UiCommand::Pause(reason) => {
            pause::pause_sessions(context, reason.unwrap_or_default()).await
        }
        UiCommand::Release => pause::release_sessions(context).await,
        UiCommand::Undo => back::undo_last_run(context).await,
        UiCommand::Preview { before, ticket } => {
            back::preview_rewind(context, before, ticket).await
        }
        UiCommand::Rewind { before, back } => back::rewind_session(context, before, back).await,
        UiCommand::Shell { ticket, .. } => Ok(not_run(ticket, NO_SHELL)),
        // The server looks at what a session is made of by itself, and others may answer what it asks.
        UiCommand::Reload | UiCommand::Unattended | UiCommand::EndShell(_) | UiCommand::Leave => {
            Ok(UiCommandOutcome::default())
        }
        UiCommand::Sessions { query, ticket } => {
            lists::list_sessions(context, &query, ticket).await
        }
        UiCommand::Earlier { last, facts, ticket } => {
            earlier::tell_part(context, last, facts, ticket).await
        }
        UiCommand::Files { query, ticket } => lists::list_files(context, &query, ticket).await,
        UiCommand::Models(ticket) => lists::list_models(context, ticket).await,
        UiCommand::Profiles(ticket) => lists::list_profiles(context, ticket).await,
        // It is this machine's, whose ever the session is.
        UiCommand::Clipboard(ticket) => {
            Ok(UiCommandOutcome::from_update(context.here.clipboard.clipboard_update(ticket).await))
        }
        UiCommand::Report { report, arguments, ticket } => {
            reports::make_report(context, report, &arguments, ticket).await
        }
        UiCommand::Review { request, ticket } => {
            let review = decisions::review_decision(context, &request).await?;
            let review = Box::new(review);
            Ok(UiCommandOutcome::from_update(UiUpdate::Review { ticket, review }))
        }
        UiCommand::Decide { request, as_shown, ticket } => {
            let update = decisions::make_decision(context, &request, &as_shown, ticket).await?;
            Ok(UiCommandOutcome::from_update(update))
        }
        UiCommand::Export(file) => export::export_session(context, &file).await,
    }
}

/// What is told where words mention a file that this machine has: the server looks for it in its own
/// folder. Words may have been copied from anywhere, so they alone send no file of this machine.
async fn of_this_machine(
    context: &RequestContext,
    text: &str,
    attached: &[MessageAttachment],
) -> Option<UiUpdate> {
    let candidates = parse_mentions(text).into_iter().flat_map(|mention| {
        mention.candidate_names().into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let begins = |name: &String| name.starts_with('/') || name.starts_with("~/");
    let goes = |name: &String| attached.contains(&MessageAttachment::Path(name.clone()));
    let named: Vec<String> = candidates.filter(|name| begins(name) && !goes(name)).collect();
    if named.is_empty() {
        return None;
    }
    let here = context.here.clone();
    let is_here = move || named.into_iter().find(|name| say::path_of(&here, name).is_file());
    let name = run_blocking(is_here).await.ok().flatten()?;
    let text = format!(
        "@ names files of the server, and {name} of this machine did not go along; a picture does \
         when its path is pasted"
    );
    Some(UiUpdate::Notice { tone: NoticeTone::Quiet, text })
}

/// What is told of a wish of which nothing came.
pub(super) fn refused_outcome(wish: UiCommand, why: &str) -> UiCommandOutcome {
    let why = why.to_owned();
    match wish {
        UiCommand::Say { client_id, .. } => {
            UiCommandOutcome::from_update(UiUpdate::Refused { client_id, why })
        }
        UiCommand::Sessions { ticket, .. }
        | UiCommand::Earlier { ticket, .. }
        | UiCommand::Files { ticket, .. }
        | UiCommand::Models(ticket)
        | UiCommand::Profiles(ticket)
        | UiCommand::Clipboard(ticket)
        | UiCommand::Preview { ticket, .. }
        | UiCommand::Report { ticket, .. }
        | UiCommand::Review { ticket, .. }
        | UiCommand::Decide { ticket, .. } => {
            UiCommandOutcome::from_update(UiUpdate::Failed { ticket, why })
        }
        UiCommand::Shell { ticket, .. } => not_run(ticket, &why),
        _ => UiCommandOutcome::from_notice(NoticeTone::Bad, why),
    }
}

/// A command of the person's own that is over before it began: why stands where its output would.
fn not_run(ticket: CommandTicket, why: &str) -> UiCommandOutcome {
    let (status, shown) = ("not run".to_owned(), String::new());
    let told =
        [ShellNews::Output(format!("{why}\n")), ShellNews::Ended { status, ok: false, shown }];
    let news = told.map(|news| UiUpdate::Shell { ticket, news });
    UiCommandOutcome { news: news.into(), then: OutcomeFollowUp::Nothing }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::InputId;

    use super::*;

    #[test]
    fn f1_attach_what_steers_a_run_keeps_its_order_and_waits_for_no_look() {
        for (wish, expected) in [
            (UiCommand::Tell(PersonCommand::Withdraw { input: InputId(1) }), CommandLane::Run),
            (UiCommand::Tell(PersonCommand::Cancel), CommandLane::Run),
            (UiCommand::Undo, CommandLane::Session),
            (UiCommand::Pause(None), CommandLane::Aside),
            (UiCommand::Release, CommandLane::Aside),
            (UiCommand::Files { query: "a".into(), ticket: 1 }, CommandLane::Look),
            (UiCommand::Export("a.md".into()), CommandLane::Look),
            (UiCommand::Clipboard(1), CommandLane::Look),
            (UiCommand::Earlier { last: 9, facts: 5, ticket: 1 }, CommandLane::Look),
        ] {
            assert_eq!(lane_of_command(&wish), expected, "{wish:?}");
        }
    }
}
