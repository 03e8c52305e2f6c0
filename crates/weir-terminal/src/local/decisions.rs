//! Decisions of the face, made by the command of the same words: this very program is asked what would
//! count, and after a yes it does just that. So face and command line never decide differently. Not
//! here: which words (`crate::decisions`), the dialog (`weir-tui`).

use weir_install::catalogue::skills::sha256_hex;
use weir_install::failure::usage;
use weir_tui::link::{DecisionRequest, DecisionReview, UiUpdate};

use super::context::LocalContext;
use super::reports::{CommandPurpose, OwnOutput, run_own_command};
use super::shown_session::ShownSession;
use crate::decisions::{
    LocalDecision, LocalReview, REVOKE_QUESTION, answer_question, answer_text, lease_text,
    local_decision,
};

/// What came of a decision.
pub(super) enum DecisionOutcome {
    /// It was made: what the command says.
    Done(String),
    /// It is another one meanwhile: this one.
    Changed(DecisionReview),
}

impl DecisionOutcome {
    /// As the face hears it.
    pub(super) fn into_update(self, ticket: u64) -> UiUpdate {
        match self {
            DecisionOutcome::Done(text) => UiUpdate::Decided { ticket, text },
            DecisionOutcome::Changed(review) => {
                UiUpdate::Review { ticket, review: Box::new(review) }
            }
        }
    }
}

/// What would count, whole.
///
/// # Errors
/// There is nothing of that name, or it cannot be decided: a sentence.
pub(super) async fn review_decision(
    context: &LocalContext,
    request: &DecisionRequest,
) -> anyhow::Result<DecisionReview> {
    let shown = context.shown_session();
    let decision = local_decision(request.kind);
    match decision.review {
        LocalReview::Preview => preview(&shown, decision, request).await,
        LocalReview::Printed { words, question } => {
            let text = printed(&shown, words, request).await?;
            let as_shown = sha256_hex(text.as_bytes());
            Ok(plain_review(request, text, question, as_shown))
        }
        LocalReview::Approval => approval(&shown, request).await,
        LocalReview::Lease => lease(&shown, request).await,
    }
}

/// What is shown of something of which no word can be changed.
fn plain_review(
    request: &DecisionRequest,
    text: String,
    question: &str,
    as_shown: String,
) -> DecisionReview {
    let (request, question) = (request.clone(), question.to_owned());
    DecisionReview { request, text, question, as_shown, editable: None, changed: false }
}

/// Makes it, if it is still what was shown.
///
/// # Errors
/// It cannot be made: what the command says.
pub(super) async fn make_decision(
    context: &LocalContext,
    request: &DecisionRequest,
    as_shown: &str,
) -> anyhow::Result<DecisionOutcome> {
    let decision = local_decision(request.kind);
    let is_held_by_command = decision.review == LocalReview::Preview;
    if !is_held_by_command {
        let now = review_decision(context, request).await?;
        if now.as_shown != as_shown {
            return Ok(DecisionOutcome::Changed(DecisionReview { changed: true, ..now }));
        }
    }
    let bound: &[&str] = if is_held_by_command { &["--as-shown", as_shown] } else { &[] };
    let words = decision_words(decision, request, bound);
    let output = run_own_command(&context.shown_session(), &words, CommandPurpose::Decide).await?;
    if output.is_ok {
        return Ok(DecisionOutcome::Done(output.all_said()));
    }
    if is_held_by_command {
        let now = review_decision(context, request).await?;
        if now.as_shown != as_shown {
            return Ok(DecisionOutcome::Changed(DecisionReview { changed: true, ..now }));
        }
    }
    Err(usage(output.all_said()))
}

/// The command line: what it is called, flags, and what was named behind `--`, where nothing is a flag.
fn decision_words(
    decision: LocalDecision,
    request: &DecisionRequest,
    more: &[&str],
) -> Vec<String> {
    let mut words: Vec<String> = decision.words.iter().map(ToString::to_string).collect();
    words.extend(more.iter().map(ToString::to_string));
    words.extend(request.flags.iter().cloned());
    words.extend(request.own_words.iter().map(|text| format!("--text={text}")));
    let mut named = request.arguments.clone();
    if decision.review == LocalReview::Approval && named.len() > 2 {
        let reason = named.split_off(2);
        words.push(format!("--reason={}", reason.join(" ")));
    }
    if !named.is_empty() {
        words.push("--".into());
        words.extend(named);
    }
    words
}

async fn preview(
    shown: &ShownSession,
    decision: LocalDecision,
    request: &DecisionRequest,
) -> anyhow::Result<DecisionReview> {
    let words = decision_words(decision, request, &["--preview", "--json"]);
    let output = run_own_command(shown, &words, CommandPurpose::Look).await?;
    let told = read_json(output)?;
    let field = |name: &str| told[name].as_str().map(str::to_owned);
    match (field("shown"), field("question"), field("as_shown")) {
        (Some(text), Some(question), Some(as_shown)) => {
            let review = plain_review(request, text, &question, as_shown);
            Ok(DecisionReview { editable: field("editable"), ..review })
        }
        _ => Err(usage("this program does not say what would be decided; update it")),
    }
}

/// What a command prints of the thing that was named.
async fn printed(
    shown: &ShownSession,
    words: &[&str],
    request: &DecisionRequest,
) -> anyhow::Result<String> {
    let mut words: Vec<String> = words.iter().map(ToString::to_string).collect();
    if !request.arguments.is_empty() {
        words.extend(["--".into(), request.name().to_owned()]);
    }
    run_own_command(shown, &words, CommandPurpose::Look).await?.into_text()
}

/// An approval or a question, whole, as long as it is open. Its age is no part of it.
async fn approval(
    shown: &ShownSession,
    request: &DecisionRequest,
) -> anyhow::Result<DecisionReview> {
    let show = |flag: &str| {
        let words = ["approvals", "show", flag, "--", request.name()];
        words.map(String::from)
    };
    let told = read_json(run_own_command(shown, &show("--json"), CommandPurpose::Look).await?)?;
    match (told["approval"].is_object(), &request.own_words) {
        (false, None) => {
            let name = request.name();
            return Err(usage(format!(
                "this is a question: answer it in words, /approvals answer {name} --text …"
            )));
        }
        (true, Some(_)) => {
            return Err(usage("this is an approval: answer it with once, session, always or deny"));
        }
        (true, None) | (false, Some(_)) => {}
    }
    if !told["resolved"].is_null() || !told["answered"].is_null() {
        return Err(usage("it is answered already: /approvals lists what waits"));
    }
    let asked = run_own_command(shown, &show("--full"), CommandPurpose::Look).await?.into_text()?;
    let text = match &request.own_words {
        Some(words) => answer_text(words, &asked),
        None => asked,
    };
    let bound = format!("{} {told}", request.typed_line());
    Ok(plain_review(request, text, &answer_question(request), sha256_hex(bound.as_bytes())))
}

/// A lease that is not revoked. What is left of it is no part of it.
async fn lease(shown: &ShownSession, request: &DecisionRequest) -> anyhow::Result<DecisionReview> {
    let words = ["approvals", "list", "--all", "--json"].map(String::from);
    let told = read_json(run_own_command(shown, &words, CommandPurpose::Look).await?)?;
    let (session, number) = (request.name(), request.arguments.get(1));
    let number = number.and_then(|number| number.parse::<u64>().ok());
    let is_named = |lease: &&serde_json::Value| {
        let of_session = lease["session"].as_str().is_some_and(|id| id.starts_with(session));
        of_session && lease["lease"].as_u64() == number
    };
    let found: Vec<&serde_json::Value> =
        told["leases"].as_array().into_iter().flatten().filter(is_named).collect();
    let [lease] = found[..] else {
        return Err(usage(format!(
            "no lease, or more than one, is named so: {}; /approvals lists them",
            request.arguments.join(" ")
        )));
    };
    let text = lease_text(lease["session"].as_str().unwrap_or_default(), lease);
    let bound = format!("{} {}", lease["session"], lease["rules"]);
    Ok(plain_review(request, text, REVOKE_QUESTION, sha256_hex(bound.as_bytes())))
}

fn read_json(output: OwnOutput) -> anyhow::Result<serde_json::Value> {
    let text = output.into_text()?;
    serde_json::from_str(&text).map_err(|error| usage(format!("what this program says: {error}")))
}
