//! What the chat page's composer offers while somebody types: commands after `/`, files after `@`.
//! Not here: how they are found (`api::complete_in_chat`), which is the same for programs.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use weir_core::ids::SessionId;
use weir_core::view::plain::visible_text;

use crate::api::complete;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};

/// Suggestions that are given.
const OFFERED_MAX: usize = 12;
/// The command of the chat page itself (`acts::say`), and what it does.
const COMPACT: (&str, &str) = ("compact", "Compacts the context; add what the summary must keep");

/// What is being typed.
#[derive(Debug, Deserialize)]
pub(super) struct TypingQuery {
    /// `/` or `@` and what follows it.
    word: String,
}

/// A suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct CompletionOffer {
    /// What is put in the place of the word.
    insert: String,
    /// What it is called.
    name: String,
    /// What it does.
    about: String,
}

pub(super) async fn complete_in_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(typing): Query<TypingQuery>,
) -> HandlerResult<Json<Vec<CompletionOffer>>> {
    let home = app.home(&caller.person).await?;
    let meta = home.store().session_meta(&SessionId::new(&id)).await?;
    let meta = meta.ok_or_else(|| ProblemDetails::not_found("this chat"))?;
    find_offers(&app, &caller, Some(meta.workspace), &typing.word).await.map(Json)
}

pub(super) async fn complete_new(
    State(app): State<App>,
    caller: Caller,
    Query(typing): Query<TypingQuery>,
) -> HandlerResult<Json<Vec<CompletionOffer>>> {
    find_offers(&app, &caller, None, &typing.word).await.map(Json)
}

async fn find_offers(
    app: &App,
    caller: &Caller,
    folder: Option<String>,
    word: &str,
) -> HandlerResult<Vec<CompletionOffer>> {
    match word.chars().next() {
        Some('/') => command_offers(app, caller, folder, &word[1..]).await,
        Some('@') => file_offers(app, caller, folder, &word[1..]).await,
        _ => Ok(Vec::new()),
    }
}

async fn command_offers(
    app: &App,
    caller: &Caller,
    folder: Option<String>,
    typed: &str,
) -> HandlerResult<Vec<CompletionOffer>> {
    let typed = typed.to_lowercase();
    // The page's own command, where there is a chat to make shorter.
    let own = folder.is_some() && complete::has_letters_in_order(COMPACT.0, &typed);
    let own = own.then(|| CompletionOffer {
        insert: format!("/{} ", COMPACT.0),
        name: format!("/{}", COMPACT.0),
        about: COMPACT.1.into(),
    });
    let usable = complete::usable_commands(app, caller, folder).await?;
    let found = usable.filter(|command| complete::has_letters_in_order(&command.name, &typed));
    let offers = found.map(|command| CompletionOffer {
        insert: format!("/{} ", command.name),
        name: format!("/{}", visible_text(&command.name)),
        about: visible_text(&command.head.description),
    });
    Ok(own.into_iter().chain(offers).take(OFFERED_MAX).collect())
}

async fn file_offers(
    app: &App,
    caller: &Caller,
    folder: Option<String>,
    typed: &str,
) -> HandlerResult<Vec<CompletionOffer>> {
    let found = complete::complete_file_paths(app, caller, folder, typed, OFFERED_MAX).await?;
    Ok(found.iter().map(|path| file_offer(path)).collect())
}

fn file_offer(path: &str) -> CompletionOffer {
    let insert = match path.contains(char::is_whitespace) {
        true => format!("@\"{path}\" "),
        false => format!("@{path} "),
    };
    let (about, name) = path.rsplit_once('/').unwrap_or(("", path));
    CompletionOffer { insert, name: visible_text(name), about: visible_text(about) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_what_is_offered_is_put_in_so_that_it_is_one_mention() {
        assert_eq!(file_offer("a b/c d.txt").insert, "@\"a b/c d.txt\" ");
        assert_eq!(file_offer("src/main.rs").insert, "@src/main.rs ");
        assert_eq!(file_offer("src/main.rs").about, "src");
    }
}
