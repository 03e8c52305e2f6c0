//! What can be done in a chat, by form.

use std::sync::Arc;

use axum::extract::Multipart;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use weir_core::event::Decision;
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, SessionId};
use weir_core::input::ApprovalAnswer;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_engine::family;
use weir_install::duration::parse_time_span;
use weir_install::user_space::SessionPreferences;

use super::load_chat;
use crate::api::approvals;
use crate::api::sessions::{ChangeSessionBody, apply_session_changes, composer_address};
use crate::auth::secret;
use crate::caller::Caller;
use crate::live::tell::{AcceptedInput, NewInput};
use crate::live::{SessionRequest, begun};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::{ReplyTo, SentBody};
use crate::request::{CallerSession, CallerSpace};

/// What a composer sends.
#[derive(Debug, Default)]
pub(super) struct ComposedInput {
    pub(super) saying: NewInput,
    pub(super) preferences: SessionPreferences,
}

fn bad_form(error: impl std::fmt::Display) -> ProblemDetails {
    ProblemDetails::bad_request(format!("the form cannot be read: {error}"))
}

/// The name of what a browser sent by itself, without our script: it sends the name of the page with
/// whatever else is written when somebody goes back to it, and that is another message.
fn name_of_content(name: &str, saying: &NewInput) -> String {
    let mut content = format!("{name}\n{}", saying.text);
    for (file, bytes) in &saying.files {
        content += &format!("\n{file} {}", secret::encode_hex(&secret::sha256_digest(bytes)));
    }
    secret::secret_digest(&content)
}

/// Reads what a composer sends: words, files, and for a new chat its settings.
pub(super) async fn read_composer_form(
    caller: &Caller,
    reply: ReplyTo,
    mut form: Multipart,
) -> HandlerResult<ComposedInput> {
    let mut composed = ComposedInput::default();
    composed.saying.by = caller.journal_name();
    composed.saying.keeps_unsaid = matches!(reply, ReplyTo::Script);
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
            "model" => composed.preferences.model = chosen(),
            "other_model" if chosen().is_some() => other_model = chosen(),
            "profile" => composed.preferences.profile = chosen(),
            "thinking" => {
                composed.preferences.thinking =
                    chosen().map(|word| parse_thinking(&word)).transpose()?
            }
            "permission" => {
                composed.preferences.permission =
                    chosen().map(|word| parse_permission_mode(&word)).transpose()?
            }
            "workspace" => composed.preferences.workspace = chosen(),
            _ => (),
        }
    }
    // What is typed says more than what a list happened to show.
    composed.preferences.model = other_model.or(composed.preferences.model);
    if composed.saying.text.trim().is_empty() && composed.saying.files.is_empty() {
        return Err(ProblemDetails::bad_request("write a message, or attach a file"));
    }
    if let (ReplyTo::Browser, Some(name)) = (reply, &composed.saying.client_id) {
        composed.saying.client_id = Some(name_of_content(name, &composed.saying));
    }
    Ok(composed)
}

/// A choice of a list, by its word as programs send it. `list`: what the list has, in words.
fn parse_choice<T: DeserializeOwned>(word: &str, list: &str) -> HandlerResult<T> {
    let known: StrDeserializer<'_, serde::de::value::Error> = word.into_deserializer();
    T::deserialize(known)
        .map_err(|_| ProblemDetails::bad_request(format!("there is no {list} {word:?}")))
}

fn parse_thinking(word: &str) -> HandlerResult<Thinking> {
    parse_choice(word, "level of thinking")
}

fn parse_permission_mode(word: &str) -> HandlerResult<PermissionMode> {
    parse_choice(word, "permission mode")
}

pub(super) async fn begin_chat(
    owner: CallerSpace,
    reply: ReplyTo,
    form: Multipart,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, space } = &owner;
    let ComposedInput { saying, preferences } = read_composer_form(caller, reply, form).await?;
    let name = saying.client_id.clone();
    let (id, _turn) = match &name {
        Some(name) => {
            let turn = begun::take_turn(app, space, name).await;
            (begun::reserve_session(app, space, name).await?, Some(turn))
        }
        None => (space.new_session(), None),
    };
    let done = begin_with(owner.session_request(&id), preferences, saying).await;
    let page = format!("/chats/{id}");
    match (done, name) {
        (Ok(said), _) if said.is_repeat => Ok(reply.answer_repeated(&page)),
        (Ok(_), _) => Ok(reply.answer_created(&page)),
        // With another model or without a file it begins a chat of its own.
        (Err(problem), Some(name)) if is_final_refusal(&problem) => {
            begun::forget_session(app, space, &name).await?;
            Err(problem)
        }
        (Err(problem), _) => Err(problem),
    }
}

async fn begin_with(
    request: SessionRequest<'_>,
    preferences: SessionPreferences,
    saying: NewInput,
) -> HandlerResult<AcceptedInput> {
    let sessions = &request.app.sessions;
    if !sessions.begin_once(request, preferences.clone()).await? {
        sessions.choose_before_input(request, preferences, &saying).await?;
    }
    sessions.submit_input(request, saying).await
}

/// Whether nothing was said and nothing will be: what was sent is refused for what it is.
fn is_final_refusal(problem: &ProblemDetails) -> bool {
    matches!(problem.status, 400 | 413 | 422)
}

pub(super) async fn post_message(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    form: Multipart,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    let ComposedInput { saying, .. } = read_composer_form(caller, reply, form).await?;
    let (request, page) = (owner.session_request(&id), composer_address(&id));
    if let Some(words) = parse_compact_command(&saying)? {
        app.sessions.condense_context(request, words, caller.journal_name()).await?;
        return Ok(reply.answer_done(&page, ()));
    }
    match app.sessions.submit_input(request, saying).await?.is_repeat {
        true => Ok(reply.answer_repeated(&page)),
        false => Ok(reply.answer_done(&page, ())),
    }
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

/// How an approval is answered, and where the browser goes then: the inbox sends its own address.
#[derive(Debug, Deserialize)]
pub(super) struct DecideForm {
    approval: String,
    decision: Decision,
    #[serde(default)]
    reason: Option<String>,
    /// With `session`: for so many further calls.
    #[serde(default)]
    uses: Option<u32>,
    /// With `session`: for so long, as `10m`.
    #[serde(default, rename = "for")]
    span: Option<String>,
    #[serde(default)]
    back: String,
}

impl DecideForm {
    /// How far an answer for the session reaches; `None`: to its end.
    fn lease_terms(&self) -> HandlerResult<Option<LeaseTerms>> {
        let span = self.span.as_deref().map(parse_time_span).transpose();
        let for_ms = span.map_err(ProblemDetails::bad_request)?.map(|span| span.ms);
        if self.uses == Some(0) || for_ms == Some(0) {
            return Err(ProblemDetails::bad_request("a bound of 0 allows nothing"));
        }
        let is_bounded = self.uses.is_some() || for_ms.is_some();
        Ok(is_bounded.then_some(LeaseTerms { uses: self.uses, for_ms }))
    }
}

/// That somebody in this chat asked, itself or a sub-agent: what a sub-agent asks is answered under
/// its own name, which begins with its session.
fn check_asked_in(id: &SessionId, name: &str) -> HandlerResult<()> {
    let asker = name.rsplit_once('-').map(|(session, _)| SessionId::new(session));
    match asker.is_some_and(|asker| family::root_session(&asker) == *id) {
        true => Ok(()),
        false => Err(ProblemDetails::not_found("what was asked")),
    }
}

pub(super) async fn decide_approval(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<DecideForm>,
) -> HandlerResult<Response> {
    check_asked_in(&id, &form.approval)?;
    let (decision, terms) = (form.decision, form.lease_terms()?);
    let answer = ApprovalAnswer {
        approval: ApprovalId::new(&form.approval),
        decision,
        // Only whoever is told no is told why.
        reason: form.reason.filter(|_| decision == Decision::Deny),
        terms,
    };
    let decided = approvals::decide_approval(&owner, answer).await?;
    // The answer counts, and its person is told that it does not last as they wanted.
    if let Some(why) = decided.unkept {
        return Err(ProblemDetails::new(StatusCode::CONFLICT, "unkept", why));
    }
    Ok(reply.answer_done(&back_address(&form.back, &id), ()))
}

/// Back to the inbox, if the form came from there; else to the chat.
fn back_address(wanted: &str, id: &SessionId) -> String {
    if wanted == "/approvals" { wanted.into() } else { composer_address(id) }
}

/// An answer to a question: what was chosen, what was written, or both.
#[derive(Debug, Deserialize)]
pub(super) struct AnswerForm {
    question: String,
    #[serde(default)]
    choice: Vec<String>,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    back: String,
}

pub(super) async fn answer_question(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<AnswerForm>,
) -> HandlerResult<Response> {
    check_asked_in(&id, &form.question)?;
    let said = form.choice.iter().chain(&form.answer);
    let parts: Vec<&str> = said.map(|part| part.trim()).collect();
    if parts.is_empty() {
        return Err(ProblemDetails::bad_request("choose an answer, or write one"));
    }
    approvals::answer_question(&owner, &form.question, parts.join(", ")).await?;
    Ok(reply.answer_done(&back_address(&form.back, &id), ()))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConfigureForm {
    model: String,
    /// One that is in no list.
    other_model: String,
    profile: String,
    thinking: String,
    permission: String,
}

pub(super) async fn configure_chat(
    session: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<ConfigureForm>,
) -> HandlerResult<Response> {
    let chat = load_chat(&session).await?;
    let now = chat.folded.fold.status();
    // The form sends every field; what it does not change is not wished for.
    let chosen = |text: &str, now: &str| {
        Some(text.trim().to_owned()).filter(|text| !text.is_empty() && text != now)
    };
    let permission = chosen(&form.permission, &now.permission);
    let level = chosen(&form.thinking, &now.thinking);
    let changes = ChangeSessionBody {
        model: chosen(&form.other_model, "").or_else(|| chosen(&form.model, &now.model)),
        profile: chosen(&form.profile, &now.profile),
        thinking: level.map(|word| parse_thinking(&word)).transpose()?,
        permission: permission.map(|word| parse_permission_mode(&word)).transpose()?,
        ..ChangeSessionBody::default()
    };
    apply_session_changes(&session, changes).await?;
    Ok(reply.answer_done(&composer_address(&session.id), ()))
}
