//! What the chat page's composer offers while somebody types: commands after `/`, files after `@`.
//! Not here: how they are found (`api::complete`), which is the same for programs.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use weir_core::ids::SessionId;
use weir_core::view::plain::visible;

use crate::api::complete;
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};

/// Suggestions that are given.
const OFFERED_MAX: usize = 12;
/// The command of the chat page itself (`acts::say`), and what it does.
const COMPACT: (&str, &str) = ("compact", "Compacts the context; add what the summary must keep");

/// What is being typed.
#[derive(Debug, Deserialize)]
pub(super) struct Typing {
    /// `/` or `@` and what follows it.
    word: String,
}

/// A suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Offer {
    /// What is put in the place of the word.
    insert: String,
    /// What it is called.
    name: String,
    /// What it does.
    about: String,
}

pub(super) async fn complete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(typing): Query<Typing>,
) -> Answer<Json<Vec<Offer>>> {
    let home = app.home(&caller.person).await?;
    let meta = home.store().meta(&SessionId::new(&id)).await?;
    let meta = meta.ok_or_else(|| Problem::missing("this chat"))?;
    offers(&app, &caller, Some(meta.workspace), &typing.word).await.map(Json)
}

pub(super) async fn complete_new(
    State(app): State<App>,
    caller: Caller,
    Query(typing): Query<Typing>,
) -> Answer<Json<Vec<Offer>>> {
    offers(&app, &caller, None, &typing.word).await.map(Json)
}

async fn offers(
    app: &App,
    caller: &Caller,
    folder: Option<String>,
    word: &str,
) -> Answer<Vec<Offer>> {
    match word.chars().next() {
        Some('/') => commands(app, caller, folder, &word[1..]).await,
        Some('@') => files(app, caller, folder, &word[1..]).await,
        _ => Ok(Vec::new()),
    }
}

async fn commands(
    app: &App,
    caller: &Caller,
    folder: Option<String>,
    typed: &str,
) -> Answer<Vec<Offer>> {
    let typed = typed.to_lowercase();
    // The page's own command, where there is a chat to make shorter.
    let own = folder.is_some() && complete::fits(COMPACT.0, &typed);
    let own = own.then(|| Offer {
        insert: format!("/{} ", COMPACT.0),
        name: format!("/{}", COMPACT.0),
        about: COMPACT.1.into(),
    });
    let usable = complete::usable(app, caller, folder).await?;
    let found = usable.filter(|command| complete::fits(&command.name, &typed));
    let offers = found.map(|command| Offer {
        insert: format!("/{} ", command.name),
        name: format!("/{}", visible(&command.name)),
        about: visible(&command.head.description),
    });
    Ok(own.into_iter().chain(offers).take(OFFERED_MAX).collect())
}

async fn files(
    app: &App,
    caller: &Caller,
    folder: Option<String>,
    typed: &str,
) -> Answer<Vec<Offer>> {
    let found = complete::files(app, caller, folder, (typed, OFFERED_MAX)).await?;
    Ok(found.iter().map(|path| offer(path)).collect())
}

fn offer(path: &str) -> Offer {
    let insert = match path.contains(char::is_whitespace) {
        true => format!("@\"{path}\" "),
        false => format!("@{path} "),
    };
    let (about, name) = path.rsplit_once('/').unwrap_or(("", path));
    Offer { insert, name: visible(name), about: visible(about) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_what_is_offered_is_put_in_so_that_it_is_one_mention() {
        assert_eq!(offer("a b/c d.txt").insert, "@\"a b/c d.txt\" ");
        assert_eq!(offer("src/main.rs").insert, "@src/main.rs ");
        assert_eq!(offer("src/main.rs").about, "src");
    }
}
