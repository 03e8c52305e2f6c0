//! One inbox over all sessions of a person: approvals, questions, those of sub-agents too (S10). Any
//! answer counts, the first one wins.

use axum::Json;
use axum::extract::{Path, Query};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::event::{ApprovalLine, ApprovalRequested, Decision, QuestionAsked};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, QuestionId, SessionId, Timestamp};
use weir_core::input::ApprovalAnswer;
use weir_core::tool::NamedGrant;
use weir_core::view::transcript::PendingAsk;
use weir_engine::family;
use weir_engine::folded::WithTimestamp;
use weir_engine::open_asks::find_open_ask;

use super::page::{ListPage, PageQuery};
use crate::inbox::{InboxEntry, list_inbox};
use crate::live::fold::FoldedSession;
use crate::live::tell::SettledApproval;
use crate::live::title;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;

/// Longest words of a person about a decision, or answer to a question, in characters.
const WORDS_CHARS_MAX: usize = 100_000;

/// The routes of this file.
pub(crate) fn approval_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/approvals", list_approvals)
            .summary("Everything of yours that waits for a person, longest first")
            .query::<PageQuery>()
            .gives_json::<ListPage<ApprovalInboxItem>>(200),
        Route::get("/api/v1/approvals/{id}", get)
            .summary("One approval or question that waits, with its difference")
            .gives_json::<ApprovalInboxItem>(200),
        Route::post("/api/v1/approvals/{id}", post_decision)
            .summary("Answer an approval; the first answer wins")
            .body::<DecideBody>()
            .gives_json::<SettledApproval>(200),
        Route::post("/api/v1/questions/{id}", post_answer)
            .summary("Answer a question of the agent")
            .body::<AnswerBody>()
            .gives_nothing(204),
    ]
}

/// Something that waits for a person.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ApprovalInboxItem {
    /// By which it is answered: `SESSION.a3`, `SESSION.q1`.
    pub(crate) id: String,
    /// `approval` or `question`.
    pub(crate) kind: String,
    /// The session that asks.
    pub(crate) session: SessionId,
    /// The session of the person in which it is shown: another one where a sub-agent asks.
    pub(crate) top: SessionId,
    /// What that session is called.
    pub(crate) title: String,
    /// Since when.
    pub(crate) asked: Timestamp,
    /// When no answer is a denial.
    pub(crate) expires: Option<Timestamp>,
    /// One sentence: what is to be done, or the question.
    pub(crate) summary: String,
    /// Tool; empty for questions.
    pub(crate) tool: String,
    /// The exact arguments; `null` for questions.
    pub(crate) input: Value,
    /// Unified diff of file changes.
    pub(crate) diff: Option<String>,
    /// Why it is asked.
    pub(crate) reason: String,
    /// What the model had read; empty: nothing foreign or private.
    pub(crate) label: String,
    /// Rules that `session` and `always` would add; empty: only `once` and `deny` can be said.
    pub(crate) rules: Vec<String>,
    /// What `session` grants by its name instead of the rules.
    pub(crate) grant: Option<NamedGrant>,
    /// The person said yes to questions of this kind often: offer `session` first.
    pub(crate) often: bool,
    /// Answers to choose from.
    pub(crate) options: Vec<String>,
    /// Several may be chosen.
    pub(crate) multiple: bool,
    /// Steps of one program that an answer is for together; empty: the question is about one call.
    pub(crate) lines: Vec<ApprovalLine>,
}

/// An answer to an approval.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideBody {
    /// `once`, `session`, `always` or `deny`.
    pub(crate) decision: Decision,
    /// Your words; with `deny` the model reads them.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// How far `session` reaches.
    #[serde(default)]
    pub(crate) terms: Option<LeaseTerms>,
}

/// An answer to a question.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// The words, or the option.
    pub(crate) answer: String,
}

/// By which something that waits is answered.
pub(crate) fn approval_address(session: &SessionId, whole: &str) -> String {
    let own = whole.strip_prefix(session.as_str()).and_then(|rest| rest.strip_prefix('-'));
    format!("{session}.{}", own.unwrap_or(whole))
}

/// The session and the whole name of what `id` addresses: `SESSION.a3`, or `SESSION-a3` as it stands
/// in events.
///
/// # Errors
/// It is neither.
pub(crate) fn parse_approval_address(id: &str) -> HandlerResult<(SessionId, String)> {
    let missing = || ProblemDetails::not_found(format!("{id:?}"));
    let (session, own) = id.rsplit_once('.').or_else(|| id.rsplit_once('-')).ok_or_else(missing)?;
    if session.is_empty() || own.is_empty() {
        return Err(missing());
    }
    Ok((SessionId::new(session), format!("{session}-{own}")))
}

impl ApprovalInboxItem {
    /// What a session waits for, itself or by way of it a sub-agent. `title`: what the session is
    /// called in which it is shown.
    fn of_ask(session: &SessionId, asked: &WithTimestamp<PendingAsk>, title: &str) -> Self {
        let asker = asked.fact.asking_session(session);
        let item = ApprovalInboxItem {
            id: approval_address(asker, asked.fact.name()),
            session: asker.clone(),
            top: family::root_session(asker),
            title: title.to_owned(),
            asked: asked.ts,
            kind: String::new(),
            expires: None,
            summary: String::new(),
            tool: String::new(),
            input: Value::Null,
            diff: None,
            reason: String::new(),
            label: String::new(),
            rules: Vec::new(),
            grant: None,
            often: false,
            options: Vec::new(),
            multiple: false,
            lines: Vec::new(),
        };
        match &asked.fact {
            PendingAsk::Approval(fact) => item.with_approval(fact),
            PendingAsk::AgentApproval(fact) => item.with_approval(&fact.request),
            PendingAsk::Question(fact) => item.with_question(fact),
        }
    }

    fn with_approval(self, f: &ApprovalRequested) -> ApprovalInboxItem {
        ApprovalInboxItem {
            kind: "approval".into(),
            expires: f.expires,
            summary: f.summary.clone(),
            tool: f.tool.clone(),
            input: f.input.clone(),
            diff: f.diff.clone(),
            reason: f.reason.clone(),
            label: if f.label.is_clean() { String::new() } else { f.label.to_string() },
            rules: f.rules.iter().map(|rule| rule.text().to_owned()).collect(),
            grant: f.grant.clone(),
            often: f.often,
            lines: f.lines.clone(),
            ..self
        }
    }

    fn with_question(self, f: &QuestionAsked) -> ApprovalInboxItem {
        ApprovalInboxItem {
            kind: "question".into(),
            summary: f.text.clone(),
            options: f.options.clone(),
            multiple: f.multiple,
            ..self
        }
    }
}

/// What waits in a session, with what its sub-agents ask.
pub(crate) fn waiting_of(folded: &FoldedSession, title: &str) -> Vec<ApprovalInboxItem> {
    let asks = folded.open_asks();
    let id = folded.session.id();
    asks.iter().map(|asked| ApprovalInboxItem::of_ask(id, asked, title)).collect()
}

/// Everything of a person that waits, longest first.
///
/// # Errors
/// Their store cannot be read.
pub(crate) async fn list_inbox_items(owner: &CallerSpace) -> HandlerResult<Vec<ApprovalInboxItem>> {
    let CallerSpace { app, space, .. } = owner;
    let chats = title::load_all_chats(app, space.as_ref()).await?;
    let item = |entry: InboxEntry| {
        let InboxEntry { top, since, ask } = entry;
        let named = chats.get(top.id.as_str()).and_then(|chat| chat.title.as_deref());
        let asked = WithTimestamp { ts: since, fact: ask };
        ApprovalInboxItem::of_ask(&top.id, &asked, named.unwrap_or(&top.title))
    };
    Ok(list_inbox(space.store().as_ref()).await?.into_iter().map(item).collect())
}

async fn list_approvals(
    owner: CallerSpace,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<ApprovalInboxItem>>> {
    let all = list_inbox_items(&owner).await?;
    Ok(Json(ListPage::from_list(all, &query, |waiting| waiting.id.clone())))
}

async fn get(
    CallerSpace { space, .. }: CallerSpace,
    Path(id): Path<String>,
) -> HandlerResult<Json<ApprovalInboxItem>> {
    let (session, whole) = parse_approval_address(&id)?;
    let store = space.store();
    let open = find_open_ask(store.as_ref(), &session, &whole).await?;
    let open = open.ok_or_else(|| ProblemDetails::not_found(format!("an open approval {id}")))?;
    let title = store.session_meta(&open.session).await?.map(|meta| meta.title).unwrap_or_default();
    Ok(Json(ApprovalInboxItem::of_ask(&open.session, &open.asked, &title)))
}

/// Answers an approval. It is named by its address, or as it stands in events.
///
/// # Errors
/// No such approval of this person's, it was answered already, or the answer cannot be given.
pub(crate) async fn decide_approval(
    owner: &CallerSpace,
    answer: ApprovalAnswer,
) -> HandlerResult<SettledApproval> {
    let CallerSpace { app, caller, .. } = owner;
    let (session, whole) = parse_approval_address(answer.approval.as_str())?;
    let ApprovalAnswer { decision, reason, terms, .. } = answer;
    if !matches!(decision, Decision::Once | Decision::Session | Decision::Always | Decision::Deny) {
        return Err(ProblemDetails::bad_request("decision is once, session, always or deny"));
    }
    if terms.is_some() && decision != Decision::Session {
        return Err(ProblemDetails::bad_request(
            "terms bound an approval for the session; say `session`",
        ));
    }
    let reason = reason.filter(|text| !text.trim().is_empty());
    check_words_length(reason.as_deref().unwrap_or_default())?;
    let answer = ApprovalAnswer { approval: ApprovalId::new(whole), decision, reason, terms };
    app.sessions
        .decide_approval(owner.session_request(&session), answer, caller.journal_name())
        .await
}

fn check_words_length(words: &str) -> HandlerResult<()> {
    if words.chars().count() > WORDS_CHARS_MAX {
        return Err(ProblemDetails::bad_request(format!(
            "at most {WORDS_CHARS_MAX} characters can be said here"
        )));
    }
    Ok(())
}

async fn post_decision(
    owner: CallerSpace,
    Path(id): Path<String>,
    Json(body): Json<DecideBody>,
) -> HandlerResult<Json<SettledApproval>> {
    let DecideBody { decision, reason, terms } = body;
    let answer = ApprovalAnswer { approval: ApprovalId::new(id), decision, reason, terms };
    Ok(Json(decide_approval(&owner, answer).await?))
}

/// Answers a question.
///
/// # Errors
/// No such question of this person's, or it was answered already.
pub(crate) async fn answer_question(
    owner: &CallerSpace,
    id: &str,
    answer: String,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, .. } = owner;
    let (session, whole) = parse_approval_address(id)?;
    check_words_length(&answer)?;
    if answer.trim().is_empty() {
        return Err(ProblemDetails::bad_request("an answer has words"));
    }
    let question = QuestionId::new(whole);
    let by = caller.journal_name();
    app.sessions.answer_question(owner.session_request(&session), question, answer, by).await
}

async fn post_answer(
    owner: CallerSpace,
    Path(id): Path<String>,
    Json(body): Json<AnswerBody>,
) -> HandlerResult<StatusCode> {
    answer_question(&owner, &id, body.answer).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_an_approval_is_addressed_by_its_session_and_its_own_part() {
        let session = SessionId::new("0190_c3");
        let named = approval_address(&session, "0190_c3-a7");
        assert_eq!(named, "0190_c3.a7");
        for text in ["0190_c3.a7", "0190_c3-a7"] {
            let (found, whole) = parse_approval_address(text).expect("an address");
            assert_eq!((found, whole.as_str()), (session.clone(), "0190_c3-a7"));
        }
        for text in ["", "a7", ".a7", "0190.", "-"] {
            assert_eq!(parse_approval_address(text).expect_err(text).code, "not_found");
        }
    }
}
