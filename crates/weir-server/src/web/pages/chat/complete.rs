//! What the chat page's composer offers while somebody types: commands after `/`, files after `@`.
//! Not here: how they are found (`api::complete_in_chat`), which is the same for programs.

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};
use weir_core::view::plain::visible_text;

use crate::api::complete;
use crate::problem::HandlerResult;
use crate::request::{CallerSession, CallerSpace};

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
    /// The name of the suggestion.
    name: String,
    /// A description of the suggestion.
    about: String,
}

pub(super) async fn complete_in_chat(
    CallerSession { owner, meta, .. }: CallerSession,
    Query(typing): Query<TypingQuery>,
) -> HandlerResult<Json<Vec<CompletionOffer>>> {
    find_offers(&owner, Some(meta.workspace), &typing.word).await.map(Json)
}

pub(super) async fn complete_new(
    owner: CallerSpace,
    Query(typing): Query<TypingQuery>,
) -> HandlerResult<Json<Vec<CompletionOffer>>> {
    find_offers(&owner, None, &typing.word).await.map(Json)
}

async fn find_offers(
    owner: &CallerSpace,
    folder: Option<String>,
    word: &str,
) -> HandlerResult<Vec<CompletionOffer>> {
    match word.chars().next() {
        Some('/') => command_offers(owner, folder, &word[1..]).await,
        Some('@') => file_offers(owner, folder, &word[1..]).await,
        _ => Ok(Vec::new()),
    }
}

async fn command_offers(
    owner: &CallerSpace,
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
    let usable = complete::usable_commands(owner, folder).await?;
    let found = usable.filter(|command| complete::has_letters_in_order(&command.name, &typed));
    let offers = found.map(|command| CompletionOffer {
        insert: format!("/{} ", command.name),
        name: format!("/{}", visible_text(&command.name)),
        about: visible_text(&command.head.description),
    });
    Ok(own.into_iter().chain(offers).take(OFFERED_MAX).collect())
}

async fn file_offers(
    owner: &CallerSpace,
    folder: Option<String>,
    typed: &str,
) -> HandlerResult<Vec<CompletionOffer>> {
    let found = complete::complete_file_paths(owner, folder, typed, OFFERED_MAX).await?;
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
