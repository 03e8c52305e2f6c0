//! What each wish asks of the server, in what order wishes go there, and what is told of one of which
//! nothing came. Not here: when they are done (`desk`).

use weir_core::input::PersonCommand;
use weir_engine::attach::mentions;
use weir_tui::link::{Attached, News, ShellNews, Ticket, Tone, Wish};

use super::desk::{Done, Ground, Then};
use super::http::Answer;
use super::{back, change, export, lists, opening, pause, reports, say};

/// Why no command of the person's own runs here.
const NO_SHELL: &str = "the folder is the server's, so commands of your own are not run from here; \
                        open a shell there, or ask the agent";

/// After what a wish is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
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
pub(super) fn lane(wish: &Wish) -> Lane {
    match wish {
        Wish::Open(_)
        | Wish::Say { .. }
        | Wish::Mode(_)
        | Wish::Thinking(_)
        | Wish::Model(_)
        | Wish::Profile(_)
        | Wish::Condense(_)
        | Wish::Undo
        | Wish::Rewind { .. } => Lane::Session,
        Wish::Tell(_) => Lane::Run,
        Wish::Shell { .. } | Wish::EndShell(_) | Wish::Pause(_) | Wish::Release | Wish::Leave => {
            Lane::Aside
        }
        Wish::Sessions { .. }
        | Wish::Files { .. }
        | Wish::Models(_)
        | Wish::Profiles(_)
        | Wish::Clipboard(_)
        | Wish::Preview { .. }
        | Wish::Report { .. }
        | Wish::Export(_) => Lane::Look,
    }
}

/// Does what was wished.
pub(super) async fn done(ground: Ground, wish: Wish) -> Done {
    let asked = wish.clone();
    match made(&ground, wish).await {
        Ok(done) => done,
        Err(trouble) => refused(asked, &trouble.to_string()),
    }
}

/// Tells the session at the server.
async fn tell_server(ground: &Ground, command: PersonCommand) -> Answer<Done> {
    match command {
        PersonCommand::Withdraw { input } => say::withdraw(ground, input).await,
        PersonCommand::Cancel => say::cancel(ground).await,
        PersonCommand::Decide(answer) => say::decide(ground, &answer).await,
        PersonCommand::Reply { question, answer } => say::reply(ground, &question, &answer).await,
        // For these the face has wishes of their own, or none.
        PersonCommand::Say(_)
        | PersonCommand::Revoke { .. }
        | PersonCommand::Condense { .. }
        | PersonCommand::Uncondense
        | PersonCommand::Configure { .. }
        | PersonCommand::Yield => {
            let text = "this cannot be done from here in a session at a server".to_owned();
            Ok(Done::news(News::Notice { tone: Tone::Bad, text }))
        }
    }
}

async fn made(ground: &Ground, wish: Wish) -> Answer<Done> {
    match wish {
        Wish::Open(which) => {
            let opening = opening::open(ground.clone(), which).await?;
            Ok(Done { news: Vec::new(), then: Then::Opened(Box::new(opening)) })
        }
        Wish::Say { ref text, ref attached, .. } => {
            let meant = of_this_machine(ground, text, attached).await;
            let mut done = say::say(ground, wish).await?;
            // One that begins a session comes by again.
            if matches!(done.then, Then::Nothing) {
                done.news.extend(meant);
            }
            Ok(done)
        }
        Wish::Tell(command) => tell_server(ground, command).await,
        Wish::Mode(mode) => change::mode(ground, mode).await,
        Wish::Thinking(thinking) => change::thinking(ground, thinking).await,
        Wish::Model(model) => change::model(ground, model).await,
        Wish::Profile(profile) => change::profile(ground, profile).await,
        Wish::Condense(words) => change::condense(ground, &words).await,
        Wish::Pause(reason) => pause::pause(ground, reason.unwrap_or_default()).await,
        Wish::Release => pause::release(ground).await,
        Wish::Undo => back::undo(ground).await,
        Wish::Preview { before, ticket } => back::preview(ground, before, ticket).await,
        Wish::Rewind { before, back } => back::rewind(ground, before, back).await,
        Wish::Shell { ticket, .. } => Ok(not_run(ticket, NO_SHELL)),
        Wish::EndShell(_) | Wish::Leave => Ok(Done::default()),
        Wish::Sessions { query, ticket } => lists::sessions(ground, &query, ticket).await,
        Wish::Files { query, ticket } => lists::files(ground, &query, ticket).await,
        Wish::Models(ticket) => lists::models(ground, ticket).await,
        Wish::Profiles(ticket) => lists::profiles(ground, ticket).await,
        // It is this machine's, whose ever the session is.
        Wish::Clipboard(ticket) => Ok(Done::news(ground.here.clipboard.told(ticket).await)),
        Wish::Report { report, arguments, ticket } => {
            reports::report(ground, (report, &arguments), ticket).await
        }
        Wish::Export(file) => export::export(ground, &file).await,
    }
}

/// What is told where words mention a file that this machine has: the server looks for it in its own
/// folder. Words may have been copied from anywhere, so they alone send no file of this machine.
async fn of_this_machine(ground: &Ground, text: &str, attached: &[Attached]) -> Option<News> {
    let candidates = mentions(text).into_iter().flat_map(|mention| {
        mention.candidates().into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let begins = |name: &String| name.starts_with('/') || name.starts_with("~/");
    let goes = |name: &String| attached.contains(&Attached::Path(name.clone()));
    let named: Vec<String> = candidates.filter(|name| begins(name) && !goes(name)).collect();
    if named.is_empty() {
        return None;
    }
    let here = ground.here.clone();
    let is_here = move || named.into_iter().find(|name| say::path_of(&here, name).is_file());
    let name = tokio::task::spawn_blocking(is_here).await.ok().flatten()?;
    let text = format!(
        "@ names files of the server, and {name} of this machine did not go along; a picture does \
         when its path is pasted"
    );
    Some(News::Notice { tone: Tone::Quiet, text })
}

/// What is told of a wish of which nothing came.
pub(super) fn refused(wish: Wish, why: &str) -> Done {
    let why = why.to_owned();
    match wish {
        Wish::Say { client_id, .. } => Done::news(News::Refused { client_id, why }),
        Wish::Sessions { ticket, .. }
        | Wish::Files { ticket, .. }
        | Wish::Models(ticket)
        | Wish::Profiles(ticket)
        | Wish::Clipboard(ticket)
        | Wish::Preview { ticket, .. }
        | Wish::Report { ticket, .. } => Done::news(News::Failed { ticket, why }),
        Wish::Shell { ticket, .. } => not_run(ticket, &why),
        _ => Done::notice(Tone::Bad, why),
    }
}

/// A command of the person's own that is over before it began: why stands where its output would.
fn not_run(ticket: Ticket, why: &str) -> Done {
    let (status, shown) = ("not run".to_owned(), String::new());
    let told =
        [ShellNews::Output(format!("{why}\n")), ShellNews::Ended { status, ok: false, shown }];
    let news = told.map(|news| News::Shell { ticket, news });
    Done { news: news.into(), then: Then::Nothing }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::InputId;

    use super::*;

    #[test]
    fn f1_attach_what_steers_a_run_keeps_its_order_and_waits_for_no_look() {
        for (wish, expected) in [
            (Wish::Tell(PersonCommand::Withdraw { input: InputId(1) }), Lane::Run),
            (Wish::Tell(PersonCommand::Cancel), Lane::Run),
            (Wish::Undo, Lane::Session),
            (Wish::Pause(None), Lane::Aside),
            (Wish::Release, Lane::Aside),
            (Wish::Files { query: "a".into(), ticket: 1 }, Lane::Look),
            (Wish::Export("a.md".into()), Lane::Look),
            (Wish::Clipboard(1), Lane::Look),
        ] {
            assert_eq!(lane(&wish), expected, "{wish:?}");
        }
    }
}
