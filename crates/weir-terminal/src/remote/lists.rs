//! Lists that somebody chooses from: sessions, files, models, profiles.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_core::ids::{SessionId, Timestamp};
use weir_tui::link::{ChoiceOption, CommandTicket, ListResult, SessionLine, UiUpdate};

use super::controller::{RequestContext, UiCommandOutcome};
use super::follow;
use super::http::{ApiResult, ServerClient};

/// Sessions, models and profiles that are listed at most.
const LISTED_MAX: usize = 1_000;
/// Files that are offered.
const FILES_MAX: &str = "50";
/// Things of one part of a list.
const PART: &str = "200";

/// A part of a list.
#[derive(Debug, Deserialize)]
pub(super) struct RemoteListPage<T> {
    /// The things.
    pub(super) items: Vec<T>,
    /// Where the next part begins.
    #[serde(default)]
    pub(super) next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SessionEntry {
    id: SessionId,
    #[serde(default)]
    title: String,
    #[serde(default)]
    workspace: String,
    #[serde(default)]
    status: String,
    updated: Timestamp,
}

#[derive(Debug, Deserialize)]
struct ModelEntry {
    model: String,
    #[serde(default)]
    window: u64,
    price_input: Option<f64>,
    price_output: Option<f64>,
    #[serde(default)]
    usable: bool,
}

/// A list as a whole, up to `most`.
pub(super) async fn fetch_whole_list<T: DeserializeOwned>(
    http: &ServerClient,
    parts: &[&str],
    query: &[(&str, &str)],
    most: usize,
) -> ApiResult<Vec<T>> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut query = query.to_vec();
        query.push(("limit", PART));
        query.extend(after.iter().map(|after| ("after", after.as_str())));
        let page: RemoteListPage<T> = http.get(parts, &query).await?;
        let is_empty = page.items.is_empty();
        found.extend(page.items);
        if found.len() >= most || is_empty || page.next.is_none() {
            found.truncate(most);
            return Ok(found);
        }
        after = page.next;
    }
}

fn listed_outcome(ticket: CommandTicket, items: ListResult) -> UiCommandOutcome {
    UiCommandOutcome::from_update(UiUpdate::Listed { ticket, items })
}

/// How a session stands, in words.
fn describe_session_state(status: &str) -> String {
    match status {
        "waiting" => "waits for you",
        "quarantined" => "crashed too often",
        "needs_input" => "asked you something",
        other => other,
    }
    .to_owned()
}

/// Sessions, the newest first.
pub(super) async fn list_sessions(
    context: &RequestContext,
    query: &str,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let words = query.trim();
    let query: &[(&str, &str)] = if words.is_empty() { &[] } else { &[("q", words)] };
    let mut lines: Vec<SessionEntry> =
        fetch_whole_list(&context.http, &["sessions"], query, LISTED_MAX).await?;
    lines.sort_by_key(|line| std::cmp::Reverse(line.updated));
    let lines = lines.into_iter().map(|line| SessionLine {
        id: line.id,
        title: line.title,
        folder: line.workspace,
        last: line.updated,
        state: describe_session_state(&line.status),
        found: None,
    });
    Ok(listed_outcome(ticket, ListResult::Sessions(lines.collect())))
}

/// Files of the session's folder on the server.
pub(super) async fn list_files(
    context: &RequestContext,
    query: &str,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let mut asked = vec![("q", query), ("limit", FILES_MAX)];
    asked.extend(context.session.iter().map(|id| ("session", id.as_str())));
    let found: Vec<String> = context.http.get(&["files", "find"], &asked).await?;
    Ok(listed_outcome(ticket, ListResult::Files(found)))
}

/// Models that the server knows; those that can be used come first.
pub(super) async fn list_models(
    context: &RequestContext,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let mut found: Vec<ModelEntry> =
        fetch_whole_list(&context.http, &["models"], &[], LISTED_MAX).await?;
    found.sort_by_key(|model| !model.usable);
    let now = current_setting(context, |seen| seen.model.clone(), context.draft.model.as_ref());
    let choices = found.into_iter().map(|model| ChoiceOption {
        about: describe_model(&model),
        current: model.model == now,
        value: model.model,
    });
    Ok(listed_outcome(ticket, ListResult::Choices(choices.collect())))
}

/// What of the session or, before there is one, of the draft holds now.
fn current_setting(
    context: &RequestContext,
    of_session: impl Fn(&follow::FollowedState) -> String,
    draft: Option<&String>,
) -> String {
    match &context.session {
        Some(_) => of_session(&follow::lock_followed_state(&context.seen)),
        None => draft.cloned().unwrap_or_default(),
    }
}

fn describe_model(model: &ModelEntry) -> String {
    let mut words = Vec::new();
    if model.window > 0 {
        words.push(format!("{}k window", model.window / 1_000));
    }
    if let (Some(input), Some(output)) = (model.price_input, model.price_output) {
        words.push(format!("${input} in, ${output} out a million"));
    }
    if !model.usable {
        words.push("no key on the server".to_owned());
    }
    words.join(" · ")
}

/// Profiles of the library.
pub(super) async fn list_profiles(
    context: &RequestContext,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let found: Vec<Value> =
        fetch_whole_list(&context.http, &["library", "profiles"], &[], LISTED_MAX).await?;
    let now = current_setting(context, |seen| seen.profile.clone(), context.draft.profile.as_ref());
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let choices = found.iter().map(|line| ChoiceOption {
        value: text(line, "name"),
        about: text(line, "about"),
        current: line["name"] == now.as_str(),
    });
    Ok(listed_outcome(ticket, ListResult::Choices(choices.collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_a_model_is_told_by_what_is_known_of_it() {
        let model = |window, price: Option<f64>, usable| ModelEntry {
            model: "a/b".into(),
            window,
            price_input: price,
            price_output: price.map(|price| price * 5.0),
            usable,
        };
        for (given, expected) in [
            (model(0, None, true), ""),
            (model(200_000, Some(3.0), true), "200k window · $3 in, $15 out a million"),
            (model(8_192, None, false), "8k window · no key on the server"),
        ] {
            assert_eq!(describe_model(&given), expected);
        }
        assert_eq!(
            (
                describe_session_state("waiting").as_str(),
                describe_session_state("completed").as_str()
            ),
            ("waits for you", "completed")
        );
    }
}
