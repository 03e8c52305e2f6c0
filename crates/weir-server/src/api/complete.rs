//! What a composer offers while somebody types: files of a folder, commands; and both for programs.
//! Not here: how the chat page shows them (`web::pages::chat::complete`).

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};
use weir_core::ids::SessionId;
use weir_core::tool::PathAccess;
use weir_engine::blocking::run_blocking;
use weir_engine::slash::{self, SlashCommand};
use weir_engine::workspace::{EntryKind, WalkOptions};
use weir_install::user_space::SessionPreferences;

use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;

/// Files that are offered at most.
const FILES_MAX: usize = 100;
/// Files that are offered where nobody says how many.
const FILES_DEFAULT: usize = 20;
/// Entries of a folder that are looked at.
const ENTRIES_MAX: usize = 200_000;
/// Commands that are listed at most.
const COMMANDS_MAX: usize = 1_000;

/// The routes of this file.
pub(crate) fn completion_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/files/find", find_workspace_files)
            .summary("Files whose path has these letters in their order, the best first")
            .query::<FindQuery>()
            .gives_json::<Vec<String>>(200),
        Route::get("/api/v1/commands", list_commands)
            .summary("What can be said as `/name`")
            .query::<OfSession>()
            .gives_json::<Vec<CommandLine>>(200),
    ]
}

/// The letters that are typed of a path, and the folder that is searched.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct FindQuery {
    /// Letters of the path, in their order.
    q: String,
    /// In the folder of this session; without it: in your own.
    session: Option<SessionId>,
    /// At most so many (1 to 100, default 20).
    limit: Option<usize>,
}

/// In which folder.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
struct OfSession {
    /// That of this session; without it: your own.
    session: Option<SessionId>,
}

/// A command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CommandLine {
    /// What is typed after the `/`.
    name: String,
    /// A description of the command.
    about: String,
    /// The arguments that it takes: `[file]`.
    hint: String,
    /// Where it stands.
    source: String,
    /// `workflow`, or `plugin` where one brings it.
    kind: String,
}

async fn folder_of(owner: &CallerSpace, id: Option<SessionId>) -> HandlerResult<Option<String>> {
    let CallerSpace { space, .. } = owner;
    let Some(id) = id else { return Ok(None) };
    let meta = space.store().session_meta(&id).await?.filter(|meta| meta.facts > 0);
    let meta = meta.ok_or_else(|| ProblemDetails::not_found(format!("session {id}")))?;
    Ok(Some(meta.workspace))
}

async fn find_workspace_files(
    owner: CallerSpace,
    Query(query): Query<FindQuery>,
) -> HandlerResult<Json<Vec<String>>> {
    let folder = folder_of(&owner, query.session).await?;
    let limit = query.limit.unwrap_or(FILES_DEFAULT).clamp(1, FILES_MAX);
    complete_file_paths(&owner, folder, &query.q, limit).await.map(Json)
}

/// Files of a folder (`None`: the caller's own) whose path has the letters of `typed` in their order,
/// the best first.
///
/// # Errors
/// The folder is none of the caller's.
pub(crate) async fn complete_file_paths(
    owner: &CallerSpace,
    folder: Option<String>,
    typed: &str,
    limit: usize,
) -> HandlerResult<Vec<String>> {
    let CallerSpace { space, .. } = owner;
    let workspace = space.workspace(folder.as_deref())?;
    let typed = typed.to_lowercase();
    let found = run_blocking(move || {
        let at = workspace.resolve(".", PathAccess::List);
        let options = WalkOptions {
            recursive: true,
            respect_gitignore: true,
            hidden: false,
            max_entries: ENTRIES_MAX,
        };
        let Ok(walk) = workspace.walk(&at, options) else { return Vec::new() };
        let files = walk.entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
        best_matching_paths(files.map(|entry| entry.path), &typed, limit)
    });
    found.await.map_err(ProblemDetails::internal_failure)
}

/// The paths that fit best, the shortest name that begins so before all others.
fn best_matching_paths(
    paths: impl Iterator<Item = String>,
    typed: &str,
    limit: usize,
) -> Vec<String> {
    let rank = |path: &String| {
        let small = path.to_lowercase();
        let name = small.rsplit('/').next().unwrap_or(&small);
        let begins = small.starts_with(typed) || name.starts_with(typed);
        (!begins, !small.contains(typed), path.len(), path.clone())
    };
    let mut found: Vec<String> = paths.filter(|path| has_letters_in_order(path, typed)).collect();
    found.sort_by_cached_key(rank);
    found.truncate(limit);
    found
}

/// Whether the letters of `typed` (small ones) all stand in a name, in their order.
pub(crate) fn has_letters_in_order(name: &str, typed: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

async fn list_commands(
    owner: CallerSpace,
    Query(query): Query<OfSession>,
) -> HandlerResult<Json<Vec<CommandLine>>> {
    let folder = folder_of(&owner, query.session).await?;
    let lines = usable_commands(&owner, folder).await?.map(|command| CommandLine {
        // Those of plugins alone have its name before theirs.
        kind: if command.name.contains(':') { "plugin" } else { "workflow" }.into(),
        name: command.name,
        about: command.head.description,
        hint: command.head.argument_hint,
        source: command.source,
    });
    Ok(Json(lines.take(COMMANDS_MAX).collect()))
}

/// The commands that can be said in a folder; `None`: the caller's own.
///
/// # Errors
/// The folder is none of the caller's.
pub(crate) async fn usable_commands(
    owner: &CallerSpace,
    workspace: Option<String>,
) -> HandlerResult<impl Iterator<Item = SlashCommand>> {
    let CallerSpace { space, .. } = owner;
    let preferences = SessionPreferences { workspace, ..SessionPreferences::default() };
    let options = space.session_options(&preferences, None).await?;
    let listed =
        run_blocking(move || slash::list_slash_commands(&options.scene, &options.workspace));
    let listed = listed.await.map_err(ProblemDetails::internal_failure)?;
    let usable = listed.into_iter().filter(|one| !one.shadowed);
    Ok(usable.filter_map(|one| one.command.ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_letters_are_found_in_their_order_whatever_their_size() {
        for (name, typed, is_fit) in [
            ("src/main.rs", "", true),
            ("src/main.rs", "smr", true),
            ("src/Main.rs", "main", true),
            ("src/main.rs", "xs", false),
            ("src/main.rs", "rsm", false),
        ] {
            assert_eq!(has_letters_in_order(name, typed), is_fit, "{name} {typed}");
        }
    }

    #[test]
    fn f1_the_file_that_is_most_likely_meant_comes_first() {
        let paths = ["docs/domain.md", "src/main.rs", "src/remains.txt", "xyz/mxaxixn.rs", "a.rs"];
        let found = |typed: &str, limit| {
            best_matching_paths(paths.iter().map(ToString::to_string), typed, limit)
        };
        assert_eq!(
            found("main", 9),
            ["src/main.rs", "docs/domain.md", "src/remains.txt", "xyz/mxaxixn.rs"]
        );
        assert_eq!(found("main", 1), ["src/main.rs"]);
        assert_eq!(found("nomatch", 9), Vec::<String>::new());
        assert_eq!(found("", 9).len(), 5);
    }
}
