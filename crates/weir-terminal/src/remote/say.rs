//! Saying something with what goes along, and answering what is asked.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weir_core::ids::{InputId, QuestionId};
use weir_core::input::ApprovalAnswer;
use weir_engine::attach::{FILE_BYTES_MAX, parse_mentions};
use weir_engine::blocking::run_blocking;
use weir_engine::regular_file::open_regular_file;
use weir_tui::link::{MessageAttachment, NoticeTone, UiCommand, UiUpdate};

use super::controller::{LocalMachine, OutcomeFollowUp, RequestContext, UiCommandOutcome};
use super::follow::until_reached;
use super::http::{ApiResult, RequestError};
use super::opening;

/// How long what was said waits for a server that cannot be reached. Its name makes sure that it is
/// said once, however often it is sent.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long an answer waits.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// Says it; a session that does not exist yet is begun first.
pub(super) async fn send_message(
    context: &RequestContext,
    wish: UiCommand,
) -> ApiResult<UiCommandOutcome> {
    let UiCommand::Say { text, attached, client_id } = &wish else {
        return Ok(UiCommandOutcome::default());
    };
    let text = replace_local_mentions(text, attached)?;
    let attached: Vec<&MessageAttachment> =
        attached.iter().filter(|file| is_from_here(file)).collect();
    let Some(session) = &context.session else {
        // What cannot be attached begins no session.
        for file in &attached {
            bytes_of(&context.here, file).await?;
        }
        let opening = opening::create_session(context).await?;
        return Ok(UiCommandOutcome {
            news: Vec::new(),
            then: OutcomeFollowUp::Began(Box::new(opening), Box::new(wish)),
        });
    };
    let mut ids = Vec::new();
    for file in &attached {
        ids.push(upload_attachment(context, file).await?);
    }
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": text }));
    }
    content.extend(ids.iter().map(|id| json!({ "type": "attachment", "attachment": id })));
    let body = json!({ "client_id": client_id, "content": content });
    let parts = ["sessions", session.as_str(), "input"];
    until_reached(PATIENCE, || context.http.post_json::<Value>(&parts, &body)).await?;
    Ok(UiCommandOutcome::default())
}

/// Uploads a file: its name on the server.
async fn upload_attachment(
    context: &RequestContext,
    file: &MessageAttachment,
) -> ApiResult<String> {
    let (name, bytes) = bytes_of(&context.here, file).await?;
    let upload = || context.http.upload_file::<Value>(&["attachments"], &name, &bytes);
    let told = until_reached(PATIENCE, upload).await?;
    let id = told[0]["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| RequestError::Strange("it keeps an uploaded file under no name".into()))
}

/// Whether a file is one of this machine: by bytes, or by a path that says where it begins. A
/// relative one is below the session's folder, which is the server's.
fn is_from_here(file: &MessageAttachment) -> bool {
    match file {
        MessageAttachment::Bytes { .. } => true,
        MessageAttachment::Path(path) => path.starts_with('/') || path.starts_with("~/"),
    }
}

/// The words that are sent: files of this machine are named in them and not mentioned, since the
/// server has none of these paths; files of the server are mentioned, and it attaches them by itself.
///
/// # Errors
/// A file of the server has a name that cannot be mentioned.
fn replace_local_mentions(text: &str, attached: &[MessageAttachment]) -> ApiResult<String> {
    let mut text = text.to_owned();
    for file in attached {
        let MessageAttachment::Path(path) = file else { continue };
        if is_from_here(file) {
            text = remove_mentions(&text, path);
            continue;
        }
        let mention = format_mention(path).ok_or_else(|| {
            refused_message(format!(
                "{path:?} is a file of the server, and no mention can have this name"
            ))
        })?;
        let is_there =
            parse_mentions(&text).iter().any(|one| one.candidate_names().contains(&path.as_str()));
        if !is_there {
            let gap = if text.is_empty() || text.ends_with(char::is_whitespace) { "" } else { " " };
            text.push_str(&format!("{gap}{mention}"));
        }
    }
    Ok(text)
}

/// A path as words mention it; `None`: none can.
fn format_mention(path: &str) -> Option<String> {
    let has = |c: char| path.contains(c);
    match () {
        () if path.is_empty() || has('\n') => None,
        () if !path.contains(char::is_whitespace) && !path.starts_with(['"', '\'']) => {
            Some(format!("@{path}"))
        }
        () if !has('"') => Some(format!("@\"{path}\"")),
        () if !has('\'') => Some(format!("@'{path}'")),
        () => None,
    }
}

/// `text` with `path` in place of whole mentions of it; that of a longer path stays.
fn remove_mentions(text: &str, path: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        out.push_str(before);
        let quote = after.chars().next().filter(|c| ['"', '\''].contains(c));
        let name = match quote {
            Some(quote) => after[1..].split(quote).next(),
            None => after.split(char::is_whitespace).next(),
        };
        let begins =
            out.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{<\"'".contains(c));
        let closing = [',', '.', ';', ':', '?', '!', ')', ']', '}', '>', '"', '\''];
        let is_it = name.is_some_and(|name| {
            name == path || (quote.is_none() && name.trim_end_matches(closing) == path)
        });
        let is_it = begins && is_it;
        if !is_it {
            out.push('@');
        }
        rest = after;
    }
    out + rest
}

async fn bytes_of(here: &LocalMachine, file: &MessageAttachment) -> ApiResult<(String, Arc<[u8]>)> {
    match file {
        MessageAttachment::Bytes { name, bytes } => Ok((name.clone(), bytes.clone())),
        MessageAttachment::Path(path) => read_local_file(here, path).await,
    }
}

/// A file of this machine by the path that a person wrote.
pub(super) fn path_of(here: &LocalMachine, written: &str) -> PathBuf {
    match (written.strip_prefix("~/"), &here.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => here.folder.join(written),
    }
}

async fn read_local_file(here: &LocalMachine, written: &str) -> ApiResult<(String, Arc<[u8]>)> {
    let path = path_of(here, written);
    let shown = written.to_owned();
    let read = run_blocking(move || {
        use std::io::Read as _;
        let file = open_regular_file(&path).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("a file may have at most {} MB", FILE_BYTES_MAX >> 20));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, bytes.into()))
    });
    let read = read.await.unwrap_or_else(|error| Err(error.to_string()));
    read.map_err(|why| {
        refused_message(format!("{shown} on this machine cannot be attached: {why}"))
    })
}

fn refused_message(why: String) -> RequestError {
    RequestError::Refused { status: 400, code: String::new(), why }
}

/// Takes back an input that waits.
pub(super) async fn withdraw_input(
    context: &RequestContext,
    input: InputId,
) -> ApiResult<UiCommandOutcome> {
    let parts = ["sessions", context.require_session()?.as_str(), "withdraw"];
    let () = context.http.post_json(&parts, &json!({ "input": input })).await?;
    Ok(UiCommandOutcome::default())
}

/// Ends the run.
pub(super) async fn cancel_run(context: &RequestContext) -> ApiResult<UiCommandOutcome> {
    let parts = ["sessions", context.require_session()?.as_str(), "cancel"];
    let _told: Value = context.http.post_json(&parts, &json!({})).await?;
    Ok(UiCommandOutcome::default())
}

/// Lets the run go on that somebody paused.
pub(super) async fn resume_run(context: &RequestContext) -> ApiResult<UiCommandOutcome> {
    let parts = ["sessions", context.require_session()?.as_str(), "resume"];
    let _told: Value = context.http.post_json(&parts, &json!({})).await?;
    Ok(UiCommandOutcome::default())
}

/// Answers an approval, also one of a sub-agent: its name says whose it is.
pub(super) async fn answer_approval(
    context: &RequestContext,
    answer: &ApprovalAnswer,
) -> ApiResult<UiCommandOutcome> {
    let body = json!({ "decision": answer.decision, "reason": answer.reason });
    let parts = ["approvals", answer.approval.as_str()];
    let decided =
        until_reached(ANSWER_PATIENCE, || context.http.post_json::<Value>(&parts, &body)).await;
    match decided.as_ref().ok().and_then(|told| told["unkept"].as_str()) {
        Some(why) => Ok(UiCommandOutcome::from_update(UiUpdate::Notice {
            tone: NoticeTone::Bad,
            text: why.to_owned(),
        })),
        None => tolerate_answered(decided.map(drop)),
    }
}

/// Answers a question.
pub(super) async fn answer_question(
    context: &RequestContext,
    question: &QuestionId,
    answer: &str,
) -> ApiResult<UiCommandOutcome> {
    let body = json!({ "answer": answer });
    let parts = ["questions", question.as_str()];
    tolerate_answered(
        until_reached(ANSWER_PATIENCE, || context.http.post_json::<()>(&parts, &body)).await,
    )
}

/// That somebody was quicker is no failure.
fn tolerate_answered(answer: ApiResult<()>) -> ApiResult<UiCommandOutcome> {
    match answer {
        Ok(()) => Ok(UiCommandOutcome::default()),
        Err(RequestError::Refused { code, why, .. }) if code == "answered" => {
            Ok(UiCommandOutcome::from_update(UiUpdate::Notice {
                tone: NoticeTone::Quiet,
                text: why,
            }))
        }
        Err(trouble) => Err(trouble),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clipboard::SystemClipboard;
    use weir_install::environment::ProcessEnvironment;

    fn here() -> LocalMachine {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let clipboard = SystemClipboard::from_environment(&ProcessEnvironment::default());
        LocalMachine { home: Some(folder.join("home")), folder, name: "ann".into(), clipboard }
    }

    #[test]
    fn f1_attach_a_relative_path_is_the_servers_and_others_are_of_this_machine() {
        let path = |path: &str| MessageAttachment::Path(path.into());
        for (file, text, is_here, words) in [
            (path("src/a.rs"), "see @src/a.rs.", false, Some("see @src/a.rs.")),
            (path("src/a.rs"), "see it", false, Some("see it @src/a.rs")),
            (path("src/a.rs"), "see @src/a.rs.bak", false, Some("see @src/a.rs.bak @src/a.rs")),
            (path("a b.rs"), "", false, Some("@\"a b.rs\"")),
            (path("a \"b.rs"), "x ", false, Some("x @'a \"b.rs'")),
            (path("a \"b'.rs"), "x", false, None),
            (path("/tmp/a.png"), "see @/tmp/a.png now", true, Some("see /tmp/a.png now")),
            (
                path("/tmp/a"),
                "@/tmp/a.png x@/tmp/a (@/tmp/a).",
                true,
                Some("@/tmp/a.png x@/tmp/a (/tmp/a)."),
            ),
            (path("/tmp/a b"), "@\"/tmp/a b\"!", true, Some("\"/tmp/a b\"!")),
            (path("~/a.png"), "@~/a.png", true, Some("~/a.png")),
            (
                MessageAttachment::Bytes { name: "p".into(), bytes: Arc::from(*b"x") },
                "@p",
                true,
                Some("@p"),
            ),
        ] {
            assert_eq!(is_from_here(&file), is_here, "{text}");
            assert_eq!(replace_local_mentions(text, &[file]).ok().as_deref(), words, "{text}");
        }
    }

    #[tokio::test]
    async fn f1_attach_files_of_this_machine_go_along_within_a_bound() {
        let here = here();
        std::fs::create_dir_all(here.folder.join("home")).expect("writable");
        std::fs::write(here.folder.join("a.txt"), "words").expect("writable");
        std::fs::write(here.folder.join("home/b.txt"), "home").expect("writable");
        let whole = here.folder.join("a.txt").display().to_string();
        for (written, name, bytes) in
            [("a.txt", "a.txt", "words"), ("~/b.txt", "b.txt", "home"), (&whole, "a.txt", "words")]
        {
            let (found, content) = read_local_file(&here, written).await.expect(written);
            assert_eq!((found.as_str(), &content[..]), (name, bytes.as_bytes()), "{written}");
        }
        for (written, words) in
            [("none.txt", "No such file"), ("home", "not a file"), ("/dev/zero", "not a file")]
        {
            let why = read_local_file(&here, written).await.expect_err(written).to_string();
            assert!(why.contains(words) && why.contains(written), "{why}");
        }
        let large = std::fs::File::create(here.folder.join("large")).expect("writable");
        large.set_len(FILE_BYTES_MAX + 1).expect("sparse");
        assert!(
            read_local_file(&here, "large")
                .await
                .expect_err("too large")
                .to_string()
                .contains("at most")
        );
        std::fs::remove_dir_all(&here.folder).expect("its own folder");
    }
}
