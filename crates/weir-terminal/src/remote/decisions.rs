//! Decisions of the face about what a server keeps, by the routes that its pages decide with too. What
//! was shown is named by its text and by what the server names it with, so that nothing else is
//! decided. Not here: which routes (`crate::decisions`), the dialog (`weir-tui`).

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_install::catalogue::skills::sha256_hex;
use weir_install::duration::parse_time_span;
use weir_tui::link::{CommandTicket, DecisionKind, DecisionRequest, DecisionReview, UiUpdate};

use super::controller::RequestContext;
use super::http::{ApiResult, RequestError};
use super::lists;
use super::rules;
use super::settings::{self, WantedSetting};
use crate::decisions::{
    REVOKE_QUESTION, RemoteDecision, answer_question, answer_text, lease_text, remote_decision,
};

/// Facts among which one is looked for.
const FACTS_MAX: usize = 1_000;
/// The shelf whose things are started to be looked at.
const SERVERS: &str = "servers";
/// The shelf of the tools that somebody made, and the one of those that are built in.
const MADE: &str = "made";
const BUILT_IN: &str = "tools";

/// What was found of what is to be decided.
struct FoundThing {
    /// All of it, for the person.
    text: String,
    /// The whole name, as its address takes it.
    name: String,
    /// By which the server names exactly this; empty: by nothing.
    hash: String,
    /// The words that may be changed before it is accepted.
    editable: Option<String>,
    /// The setting that it is.
    setting: Option<WantedSetting>,
}

impl FoundThing {
    fn plain_thing(text: String, name: String, hash: String) -> FoundThing {
        FoundThing { text, name, hash, editable: None, setting: None }
    }
}

/// What would count, whole.
pub(super) async fn review_decision(
    context: &RequestContext,
    request: &DecisionRequest,
) -> ApiResult<DecisionReview> {
    find_thing(context, request).await.map(|found| review_of(request, &found))
}

fn review_of(request: &DecisionRequest, found: &FoundThing) -> DecisionReview {
    let question = match remote_decision(request.kind) {
        RemoteDecision::Library { question, .. }
        | RemoteDecision::Memory { question, .. }
        | RemoteDecision::Rule { question } => question,
        RemoteDecision::Lease => REVOKE_QUESTION,
        RemoteDecision::Approval => &answer_question(request),
        RemoteDecision::Setting => found.setting.as_ref().map_or("", WantedSetting::question),
    };
    let named = json!([request.typed_line(), found.name, found.hash, found.text]).to_string();
    let (text, editable) = match &request.own_words {
        // The answer to a question takes nothing's place.
        Some(words) if request.kind == DecisionKind::ApprovalAnswer => {
            (answer_text(words, &found.text), None)
        }
        Some(words) => (shown_with_own_words(words, &found.text), Some(words.clone())),
        None => (found.text.clone(), found.editable.clone()),
    };
    DecisionReview {
        request: request.clone(),
        text,
        question: question.into(),
        as_shown: sha256_hex(named.as_bytes()),
        editable,
        changed: false,
    }
}

/// What the person wrote, before what it is to take the place of.
fn shown_with_own_words(words: &str, proposed: &str) -> String {
    let words = words.lines().map(visible_text).collect::<Vec<_>>().join("\n");
    format!("In your words:\n\n{words}\n\nIn place of what was proposed:\n\n{proposed}")
}

/// Makes it, if it is still what was shown.
pub(super) async fn make_decision(
    context: &RequestContext,
    request: &DecisionRequest,
    as_shown: &str,
    ticket: CommandTicket,
) -> ApiResult<UiUpdate> {
    let found = find_thing(context, request).await?;
    let now = review_of(request, &found);
    if now.as_shown != as_shown {
        let review = Box::new(DecisionReview { changed: true, ..now });
        return Ok(UiUpdate::Review { ticket, review });
    }
    let http = &context.http;
    let text = match remote_decision(request.kind) {
        RemoteDecision::Library { shelf, deed, .. } => {
            let untrusted = request.has_flag("--untrusted");
            let mut body = json!({ "hash": found.hash, "untrusted": untrusted });
            add_own_words(&mut body, request);
            let done: Value = http.post_json(&["library", shelf, &found.name, deed], &body).await?;
            done["done"].as_str().unwrap_or("Done.").to_owned()
        }
        RemoteDecision::Memory { status, .. } => {
            let private = request.has_flag("--private");
            let mut body = json!({ "status": status, "private": private, "hash": found.hash });
            add_own_words(&mut body, request);
            let done: Value = http.patch_json(&["memory", &found.name], &body).await?;
            // Edited it is another fact, with a name of its own.
            let name = done["id"].as_str().unwrap_or(&found.name);
            format!("{name} is {status}: {}", done["text"].as_str().unwrap_or_default())
        }
        RemoteDecision::Rule { .. } => {
            let wanted = rules::wanted_deed(request, found.name.clone());
            rules::make_change(context, &wanted, &found.hash).await?
        }
        RemoteDecision::Approval => give_answer(context, request, &found).await?,
        RemoteDecision::Lease => {
            let number = request.arguments.get(1).and_then(|number| number.parse::<u32>().ok());
            let body = json!({ "lease": number });
            http.post_json::<()>(&["sessions", &found.name, "revoke"], &body).await?;
            format!("lease {} of session {} is revoked", body["lease"], found.name)
        }
        RemoteDecision::Setting => match &found.setting {
            Some(wanted) => settings::make_setting(context, wanted).await?,
            None => return Err(refused("there is no such setting")),
        },
    };
    Ok(UiUpdate::Decided { ticket, text })
}

/// Answers an approval, or a question in the person's words.
async fn give_answer(
    context: &RequestContext,
    request: &DecisionRequest,
    found: &FoundThing,
) -> ApiResult<String> {
    let http = &context.http;
    if let Some(words) = &request.own_words {
        let body = json!({ "answer": words });
        http.post_json::<()>(&["questions", &found.name], &body).await?;
        return Ok(format!("{} is answered", found.name));
    }
    let decision = request.arguments.get(1).map_or("deny", String::as_str);
    let mut body = json!({ "decision": decision, "reason": request.arguments.get(2) });
    if !request.flags.is_empty() {
        let uses = request.flag_value("--uses").map(str::parse::<u32>).transpose();
        let uses = uses.map_err(|_| refused("--uses takes a number of calls"))?;
        let span = request.flag_value("--for").map(parse_time_span).transpose();
        let span = span.map_err(refused)?;
        body["terms"] = json!({ "uses": uses, "for_ms": span.map(|span| span.ms) });
    }
    let told: Value = http.post_json(&["approvals", &found.name], &body).await?;
    // The rule of an answer for the project could not be kept: the answer counts, and this is said.
    let unkept = told["unkept"].as_str().map(|why| format!("; {why}")).unwrap_or_default();
    Ok(format!("{} is answered: {decision}{unkept}", found.name))
}

/// Only where there are some: a server of before knows nothing of them.
fn add_own_words(body: &mut Value, request: &DecisionRequest) {
    if let Some(text) = &request.own_words {
        body["text"] = json!(text);
    }
}

pub(super) fn refused(why: impl Into<String>) -> RequestError {
    RequestError::Refused { status: 400, code: String::new(), why: why.into() }
}

async fn find_thing(context: &RequestContext, request: &DecisionRequest) -> ApiResult<FoundThing> {
    match remote_decision(request.kind) {
        RemoteDecision::Library { shelf, deed, .. } => {
            find_item(context, request, shelf, deed).await
        }
        RemoteDecision::Memory { status, .. } => find_fact(context, request, status).await,
        RemoteDecision::Rule { .. } => {
            let wanted = rules::wanted_change(context, request).await?;
            let (text, hash) = rules::look_at_change(context, &wanted).await?;
            Ok(FoundThing::plain_thing(text, wanted.what, hash))
        }
        RemoteDecision::Approval => {
            let waiting: Value = context.http.get(&["approvals", request.name()], &[]).await?;
            match (waiting["kind"] == "approval", &request.own_words) {
                (false, None) => {
                    let name = request.name();
                    return Err(refused(format!(
                        "this is a question: answer it in words, /approvals answer {name} --text …"
                    )));
                }
                (true, Some(_)) => {
                    return Err(refused(
                        "this is an approval: answer it with once, session, always or deny",
                    ));
                }
                (true, None) | (false, Some(_)) => {}
            }
            let name = waiting["id"].as_str().unwrap_or(request.name()).to_owned();
            let (text, hash) = (approval_text(&waiting), String::new());
            Ok(FoundThing::plain_thing(text, name, hash))
        }
        RemoteDecision::Lease => {
            let (session, number) = (request.name(), request.arguments.get(1));
            let number = number.and_then(|number| number.parse::<u64>().ok());
            let info: Value = context.http.get(&["sessions", session], &[]).await?;
            let mut leases = info["leases"].as_array().into_iter().flatten();
            let lease = leases.find(|lease| lease["lease"].as_u64() == number);
            let lease = lease.ok_or_else(|| {
                refused(format!(
                    "session {session} has no such lease; /approvals lists this session's"
                ))
            })?;
            let hash = lease["rules"].to_string();
            Ok(FoundThing::plain_thing(lease_text(session, lease), session.to_owned(), hash))
        }
        RemoteDecision::Setting => {
            let wanted = settings::look_at_setting(context, request).await?;
            let (text, name) = (wanted.text.clone(), request.name().to_owned());
            let found = FoundThing::plain_thing(text, name, wanted.identity());
            Ok(FoundThing { setting: Some(wanted), ..found })
        }
    }
}

async fn find_item(
    context: &RequestContext,
    request: &DecisionRequest,
    shelf: &str,
    deed: &str,
) -> ApiResult<FoundThing> {
    let name = request.name();
    let item: Value = match (shelf, deed) {
        // What it is and offers is known only once it runs.
        (SERVERS, "approve") => {
            context.http.post_json(&["library", shelf, name, "look"], &json!({})).await?
        }
        _ => context.http.get(&["library", shelf, name], &[]).await?,
    };
    let deeds = item["deeds"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !deeds.iter().any(|one| one == deed) {
        return Err(refused(format!("there is nothing to {deed} about {name} now")));
    }
    let waiting = &item["waiting"];
    if deed == "accept" && waiting["untrusted"] == true && !request.has_flag("--untrusted") {
        return Err(refused(format!(
            "words from outside went into it ({}). Read it with /{shelf} show {name}; if it says what \
             you want, {} --untrusted accepts it",
            waiting["whose"].as_str().unwrap_or_default(),
            request.typed_words()
        )));
    }
    let of_waiting = waiting["hash"].as_str();
    let hash = of_waiting.or(item["hash"].as_str()).unwrap_or_default().to_owned();
    let editable = waiting["editable"].as_str().filter(|_| deed == "accept").map(str::to_owned);
    Ok(FoundThing { editable, ..FoundThing::plain_thing(item_text(&item), name.to_owned(), hash) })
}

/// A thing of a shelf; a tool is looked for among those that were made and those that are built in.
pub(super) async fn fetch_shelf_item(
    context: &RequestContext,
    shelf: &str,
    name: &str,
) -> ApiResult<Value> {
    let found = context.http.get(&["library", shelf, name], &[]).await;
    match found {
        Err(error) if shelf == BUILT_IN && error.is_missing() => {
            context.http.get(&["library", MADE, name], &[]).await
        }
        found => found,
    }
}

async fn find_fact(
    context: &RequestContext,
    request: &DecisionRequest,
    status: &str,
) -> ApiResult<FoundThing> {
    let wanted = request.name().to_lowercase();
    let mut found = Vec::new();
    let states: &[&str] = match status {
        "forgotten" => &["kept"],
        "kept" => &["proposed", "rejected", "forgotten"],
        _ => &["proposed", "kept"],
    };
    for state in states {
        let query = [("status", *state)];
        let some: Vec<Value> =
            lists::fetch_whole_list(&context.http, &["memory"], &query, FACTS_MAX).await?;
        found.extend(some);
    }
    found.retain(|fact| fact["id"].as_str().is_some_and(|id| id.starts_with(&wanted)));
    match &found[..] {
        [fact] => {
            let name = fact["id"].as_str().unwrap_or_default().to_owned();
            let hash = fact["hash"].as_str().unwrap_or_default().to_owned();
            let editable = fact["text"].as_str().filter(|_| status == "kept").map(str::to_owned);
            Ok(FoundThing { editable, ..FoundThing::plain_thing(fact_text(fact), name, hash) })
        }
        [] => Err(refused(format!(
            "no fact has the id {wanted:?}; /memory lists them, /memory inbox what waits"
        ))),
        _ => {
            Err(refused(format!("the ids of several facts begin with {wanted}: write more of it")))
        }
    }
}

/// Writes a line, where there is something to say.
fn push_named(text: &mut String, name: &str, value: &str) {
    if !value.trim().is_empty() {
        text.push_str(&format!("{name}: {}\n", visible_text(value)));
    }
}

fn push_block(text: &mut String, name: &str, block: &str) {
    if !block.trim().is_empty() {
        text.push_str(&format!("\n{name}:\n"));
        block.lines().for_each(|line| text.push_str(&format!("{}\n", visible_text(line))));
    }
}

/// A thing of the library and what waits of it, as text.
pub(super) fn item_text(item: &Value) -> String {
    let of = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let line = &item["line"];
    let mut text = format!("{}\n", visible_text(&of(line, "name")));
    push_named(&mut text, "About", &of(line, "about"));
    push_named(&mut text, "From", &of(line, "origin"));
    push_named(&mut text, "State", &of(line, "state"));
    if line["untrusted"] == true {
        text.push_str("Words from outside went into it.\n");
    }
    for fact in item["facts"].as_array().into_iter().flatten() {
        let (name, value) = (fact[0].as_str(), fact[1].as_str());
        push_named(&mut text, name.unwrap_or_default(), value.unwrap_or_default());
    }
    push_block(&mut text, "As it is", &of(item, "text"));
    let waiting = &item["waiting"];
    if waiting.is_object() {
        text.push_str("\nWaits for your decision:\n");
        push_named(&mut text, "What", &of(waiting, "what"));
        push_named(&mut text, "The agent had read", &of(waiting, "whose"));
        push_block(&mut text, "All of it", &of(waiting, "text"));
        push_block(&mut text, "What differs", &of(waiting, "diff"));
    }
    text
}

/// A fact of the memory, as text.
pub(super) fn fact_text(fact: &Value) -> String {
    let mut text = String::new();
    for (name, field) in [
        ("id", "id"),
        ("fact", "text"),
        ("kind", "kind"),
        ("state", "status"),
        ("from", "by"),
        ("in words of", "edited_by"),
        ("applies in", "workspace"),
        ("takes the place of", "supersedes"),
        ("made from", "label"),
    ] {
        push_named(&mut text, name, fact[field].as_str().unwrap_or_default());
    }
    let topics = fact["topics"].as_array().into_iter().flatten().filter_map(Value::as_str);
    push_named(&mut text, "topics", &topics.collect::<Vec<_>>().join(", "));
    if let Some(importance) = fact["importance"].as_u64() {
        push_named(&mut text, "importance", &format!("{importance} of 5"));
    }
    if fact["untrusted"] == true {
        text.push_str("Words from outside went into it: a model gets it as data only.\n");
    }
    if fact["private"] == true {
        text.push_str("It was written while private data was in the context.\n");
    }
    text
}

/// What a session asks, as text.
pub(super) fn approval_text(waiting: &Value) -> String {
    let of = |name: &str| waiting[name].as_str().unwrap_or_default().to_owned();
    let mut text = String::new();
    for (name, field) in [
        ("id", "id"),
        ("session", "title"),
        ("what", "summary"),
        ("tool", "tool"),
        ("why it is asked", "reason"),
        ("what the model had read", "label"),
        ("asked", "asked"),
        ("expires", "expires"),
    ] {
        push_named(&mut text, name, &of(field));
    }
    if !waiting["input"].is_null() {
        let input = serde_json::to_string_pretty(&waiting["input"]).unwrap_or_default();
        push_block(&mut text, "The call", &input);
    }
    for line in waiting["lines"].as_array().into_iter().flatten() {
        let step = serde_json::to_string_pretty(line).unwrap_or_default();
        push_block(&mut text, "A step", &step);
    }
    push_block(&mut text, "What would change", &of("diff"));
    text
}
