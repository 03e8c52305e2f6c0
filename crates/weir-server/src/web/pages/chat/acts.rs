//! What can be done in a chat, by form.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Multipart, Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, InputId, QuestionId, SessionId};
use weir_core::input::ApprovalAnswer;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_engine::family;
use weir_install::user_space::SessionWish;

use super::{load_chat, respond_created, respond_done};
use crate::api::approvals;
use crate::app::App;
use crate::caller::Caller;
use crate::live::SessionRequest;
use crate::live::tell::NewInput;
use crate::problem::{HandlerResult, ProblemDetails};

/// What a composer sends.
#[derive(Debug, Default)]
pub(super) struct ComposedInput {
    pub(super) saying: NewInput,
    pub(super) wish: SessionWish,
}

fn bad_form(error: impl std::fmt::Display) -> ProblemDetails {
    ProblemDetails::bad_request(format!("the form cannot be read: {error}"))
}

/// Reads what a composer sends: words, files, and for a new chat its settings.
pub(super) async fn read_composer_form(
    caller: &Caller,
    mut form: Multipart,
) -> HandlerResult<ComposedInput> {
    let mut composed = ComposedInput::default();
    composed.saying.by = caller.journal_name();
    let mut other_model = None;
    while let Some(field) = form.next_field().await.map_err(bad_form)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "files" {
            let file = field.file_name().unwrap_or_default().to_owned();
            let bytes = field.bytes().await.map_err(bad_form)?;
            // A form without a chosen file sends an empty one.
            if !file.is_empty() {
                composed.saying.files.push((file, Arc::from(bytes.as_ref())));
            }
            continue;
        }
        let text = field.text().await.map_err(bad_form)?;
        let chosen = || Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match name.as_str() {
            "text" => composed.saying.text = text.replace("\r\n", "\n"),
            "client_id" => composed.saying.client_id = chosen(),
            "model" => composed.wish.model = chosen(),
            "other_model" if chosen().is_some() => other_model = chosen(),
            "profile" => composed.wish.profile = chosen(),
            "thinking" => {
                composed.wish.thinking = chosen().map(|p| parse_thinking(&p)).transpose()?
            }
            "permission" => {
                composed.wish.permission =
                    chosen().map(|p| parse_permission_mode(&p)).transpose()?
            }
            "workspace" => composed.wish.workspace = chosen(),
            _ => (),
        }
    }
    // What is typed says more than what a list happened to show.
    composed.wish.model = other_model.or(composed.wish.model);
    if composed.saying.text.trim().is_empty() && composed.saying.files.is_empty() {
        return Err(ProblemDetails::bad_request("write a message, or attach a file"));
    }
    Ok(composed)
}

fn parse_permission_mode(word: &str) -> HandlerResult<PermissionMode> {
    let known = PermissionMode::ALL.into_iter().find(|mode| mode.as_str() == word);
    known
        .ok_or_else(|| ProblemDetails::bad_request(format!("there is no permission mode {word:?}")))
}

fn parse_thinking(word: &str) -> HandlerResult<Thinking> {
    let known = Thinking::ALL.into_iter().find(|level| level.as_str() == word);
    known.ok_or_else(|| {
        ProblemDetails::bad_request(format!("there is no level of thinking {word:?}"))
    })
}

pub(super) async fn begin_chat(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    form: Multipart,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let ComposedInput { saying, wish } = read_composer_form(&caller, form).await?;
    let id = app.rooms.create_session(&app, &home, wish).await?;
    app.rooms.submit_input(SessionRequest::new(&app, &home, &id), saying).await?;
    Ok(respond_created(&headers, &format!("/chats/{id}")))
}

pub(super) async fn post_message(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    form: Multipart,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let ComposedInput { saying, .. } = read_composer_form(&caller, form).await?;
    let id = SessionId::new(&id);
    match parse_compact_command(&saying)? {
        Some(words) => {
            app.rooms
                .condense_context(
                    SessionRequest::new(&app, &home, &id),
                    words,
                    caller.journal_name(),
                )
                .await?
        }
        None => drop(app.rooms.submit_input(SessionRequest::new(&app, &home, &id), saying).await?),
    }
    Ok(respond_done(&headers, &format!("/chats/{id}#composer")))
}

/// What follows `/compact`, where that was written: the command of the page itself, as the terminal
/// has it. More that begins with a slash is the engine's to read.
fn parse_compact_command(saying: &NewInput) -> HandlerResult<Option<&str>> {
    let Some(words) = saying.text.trim().strip_prefix("/compact") else { return Ok(None) };
    if !(words.is_empty() || words.starts_with(char::is_whitespace)) {
        return Ok(None);
    }
    if !saying.files.is_empty() {
        return Err(ProblemDetails::bad_request(
            "/compact takes words and no files: say those by themselves",
        ));
    }
    Ok(Some(words))
}

pub(super) async fn cancel_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    app.rooms
        .cancel_run(SessionRequest::new(&app, &home, &SessionId::new(&id)), caller.journal_name())
        .await?;
    Ok(respond_done(&headers, &format!("/chats/{id}#composer")))
}

#[derive(Debug, Deserialize)]
pub(super) struct WithdrawForm {
    input: String,
}

pub(super) async fn withdraw_input(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<WithdrawForm>,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let input: InputId = form.input.parse().map_err(bad_form)?;
    app.rooms
        .withdraw_input(
            SessionRequest::new(&app, &home, &SessionId::new(&id)),
            input,
            caller.journal_name(),
        )
        .await?;
    Ok(respond_done(&headers, &format!("/chats/{id}#composer")))
}

#[derive(Debug, Deserialize)]
pub(super) struct DecideForm {
    approval: String,
    decision: String,
    #[serde(default)]
    reason: String,
    /// Where to go afterwards: the inbox sends its own address.
    #[serde(default)]
    back: String,
}

pub(super) async fn decide_approval(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<DecideForm>,
) -> HandlerResult<Response> {
    let word = form.decision.as_str();
    let decision: Decision = serde_json::from_value(word.into())
        .map_err(|_| ProblemDetails::bad_request(format!("there is no decision {word:?}")))?;
    // What a sub-agent asks is answered under its own name, which begins with its session.
    let asker = form.approval.rsplit_once('-').map(|(session, _)| SessionId::new(session));
    let asker = asker.filter(|asker| family::root_session(asker) == SessionId::new(&id));
    asker.ok_or_else(|| ProblemDetails::not_found("this approval"))?;
    let reason = Some(form.reason.trim().to_owned());
    let answer = ApprovalAnswer {
        approval: ApprovalId::new(&form.approval),
        decision,
        // Only whoever is told no is told why.
        reason: reason.filter(|text| !text.is_empty() && decision == Decision::Deny),
        terms: None,
    };
    let decided = approvals::decide_approval(&app, &caller, answer).await?;
    // The answer counts, and its person is told that it does not last as they wanted.
    if let Some(why) = decided.unkept {
        return Err(ProblemDetails::new(StatusCode::CONFLICT, "unkept", why));
    }
    Ok(respond_done(&headers, &back_address(&form.back, &id)))
}

/// Back to the inbox, if the form came from there; else to the chat.
fn back_address(wanted: &str, id: &str) -> String {
    if wanted == "/approvals" { wanted.into() } else { format!("/chats/{id}#composer") }
}

/// The values of the fields of this name that are not empty.
fn field_values<'a>(pairs: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> {
    let named = pairs.iter().filter(move |(key, _)| key == name);
    named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

pub(super) async fn answer_question(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(pairs): Form<Vec<(String, String)>>,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let question = field_values(&pairs, "question").next().unwrap_or_default();
    let parts: Vec<&str> =
        field_values(&pairs, "choice").chain(field_values(&pairs, "answer")).collect();
    if parts.is_empty() {
        return Err(ProblemDetails::bad_request("choose an answer, or write one"));
    }
    let question = QuestionId::new(question);
    app.rooms
        .answer_question(
            SessionRequest::new(&app, &home, &SessionId::new(&id)),
            question,
            parts.join(", "),
            caller.journal_name(),
        )
        .await?;
    Ok(respond_done(
        &headers,
        &back_address(field_values(&pairs, "back").next().unwrap_or_default(), &id),
    ))
}

#[derive(Debug, Deserialize)]
pub(super) struct ConfigureForm {
    #[serde(default)]
    model: String,
    /// One that is in no list.
    #[serde(default)]
    other_model: String,
    #[serde(default)]
    profile: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    permission: String,
}

pub(super) async fn configure_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<ConfigureForm>,
) -> HandlerResult<Response> {
    let chat = load_chat(&app, &caller, &id).await?;
    let (home, now) = (chat.home.clone(), chat.folded.fold.status());
    // The form sends every field; what it does not change is not wished for.
    let chosen = |text: &str, now: &str| {
        Some(text.trim().to_owned()).filter(|text| !text.is_empty() && text != now)
    };
    let permission = chosen(&form.permission, &now.permission);
    let level = chosen(&form.thinking, &now.thinking);
    let wish = SessionWish {
        model: chosen(&form.other_model, "").or_else(|| chosen(&form.model, &now.model)),
        profile: chosen(&form.profile, &now.profile),
        thinking: level.map(|word| parse_thinking(&word)).transpose()?,
        permission: permission.map(|word| parse_permission_mode(&word)).transpose()?,
        ..SessionWish::default()
    };
    app.rooms
        .configure_session(
            SessionRequest::new(&app, &home, &SessionId::new(&id)),
            wish,
            caller.journal_name(),
        )
        .await?;
    Ok(respond_done(&headers, &format!("/chats/{id}#composer")))
}

#[derive(Debug, Deserialize)]
pub(super) struct CondenseForm {
    /// What the summary must keep.
    #[serde(default)]
    keep: String,
}

pub(super) async fn condense_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<CondenseForm>,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    app.rooms
        .condense_context(
            SessionRequest::new(&app, &home, &SessionId::new(&id)),
            &form.keep,
            caller.journal_name(),
        )
        .await?;
    Ok(respond_done(&headers, &format!("/chats/{id}#composer")))
}
