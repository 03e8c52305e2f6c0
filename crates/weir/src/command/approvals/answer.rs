//! `weir approvals answer` and `revoke`: one answer, and whether it was the first.

use std::process::ExitCode;

use weir_core::event::{ApprovalRequested, ApprovalResolved, Decision};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, QuestionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::plain::visible_text;
use weir_engine::family;
use weir_engine::folded::WithTimestamp;
use weir_engine::host::SessionState;
use weir_install::context::InstallationContext;
use weir_install::session_ids;

use super::deliver::{AnswerDelivery, AnswerDeliveryOutcome};
use super::{FoldedSession, PendingItem, find_pending_item, fold, no_such_item, tell};
use crate::command::sessions::timestamp_text;
use crate::failure::{exit, usage};
use crate::options::{ApprovalsAnswerArgs, ApprovalsRevokeArgs};
use crate::terminal::{err_message, out_line};

pub(super) async fn answer_pending_item(
    cx: &InstallationContext,
    args: &ApprovalsAnswerArgs,
) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    let (session, asked) = find_pending_item(store.as_ref(), &args.id).await?;
    let folded = fold::load_folded_session(store.as_ref(), &session).await?;
    let never = || no_such_item(&session, &args.id);
    match asked {
        PendingItem::Approval(id) => {
            let asked = folded.requested.get(&id).ok_or_else(never)?.fact.clone();
            answer_approval(cx, args, &asked, folded).await
        }
        PendingItem::Question(id) => {
            let asked = &folded.asked.get(&id).ok_or_else(never)?.fact;
            let text = args.text.clone().ok_or_else(|| {
                usage(format!("{id} is a question; answer it in words: --text \"…\""))
            })?;
            let text = tell::resolve_typed_choice(&text, &asked.options);
            answer_question(cx, &id, text, folded).await
        }
    }
}

/// The decision and how far it reaches.
///
/// # Errors
/// A usage error: words that do not go together, or a lasting answer that no rule can say.
fn decision_from_args(
    args: &ApprovalsAnswerArgs,
    asked: &ApprovalRequested,
) -> anyhow::Result<(Decision, Option<LeaseTerms>)> {
    let Some(word) = args.answer else {
        return Err(usage(format!(
            "{} is an approval; answer it with once, session, always or deny",
            asked.approval
        )));
    };
    let decision = Decision::from(word);
    let bounded = args.uses.is_some() || args.span.is_some();
    if bounded && decision != Decision::Session {
        return Err(usage("--uses and --for limit an approval for the session; answer `session`"));
    }
    if args.span.is_some_and(|span| span.ms == 0) {
        return Err(usage("--for 0 allows nothing; give a duration, such as 10m"));
    }
    if args.reason.is_some() && decision != Decision::Deny {
        return Err(usage("--reason is only for deny: it tells the model why"));
    }
    let lasting = matches!(decision, Decision::Session | Decision::Always);
    if lasting && asked.rules.is_empty() {
        return Err(usage(format!(
            "no rule can express what {} asks, so it can only be allowed once; answer `once` or \
             `deny`",
            asked.approval
        )));
    }
    let terms =
        bounded.then(|| LeaseTerms { uses: args.uses, for_ms: args.span.map(|span| span.ms) });
    Ok((decision, terms))
}

async fn answer_approval(
    cx: &InstallationContext,
    args: &ApprovalsAnswerArgs,
    asked: &ApprovalRequested,
    mut folded: FoldedSession,
) -> anyhow::Result<ExitCode> {
    let id = &asked.approval;
    let (decision, terms) = decision_from_args(args, asked)?;
    let reason = args.reason.clone().filter(|text| !text.trim().is_empty());
    let answer = ApprovalAnswer { approval: id.clone(), decision, reason, terms };
    let delivery = AnswerDelivery::new(cx, PersonCommand::Decide(answer))?;
    let delivered = delivery.deliver(&mut folded, |state| state.resolution(id).is_some()).await?;
    let at_rest = match delivered {
        AnswerDeliveryOutcome::Settled { at_rest } => at_rest,
        AnswerDeliveryOutcome::Waits(holder) => return report_waiting_answer(&holder, id.as_str()),
    };
    let Some(WithTimestamp { ts, fact: resolved }) = folded.resolved.get(id) else {
        return report_closed_approval(id);
    };
    let said = tell::describe_decision(
        resolved.decision,
        resolved.terms,
        &resolved.by,
        resolved.reason.as_deref(),
    );
    if resolved.by != delivery.answering_person() {
        err_message(&format!("{id} was already answered at {} UTC: {said}", timestamp_text(*ts)));
        return Ok(ExitCode::from(exit::FAILED));
    }
    out_line(&format!("{id} is answered: {said}"))?;
    if resolved.decision == Decision::Always {
        cx.keep_allow_rules_and_notify(&asked.rules);
    }
    describe_granted_lease(&folded, resolved)?;
    goes_on(&folded, at_rest)
}

/// Says which lease an answer for the session became.
fn describe_granted_lease(
    folded: &FoldedSession,
    resolved: &ApprovalResolved,
) -> anyhow::Result<()> {
    if resolved.decision != Decision::Session {
        return Ok(());
    }
    let Some(lease) = folded.session.leases().iter().rev().find(|l| l.by == resolved.by) else {
        return Ok(());
    };
    let (id, number) = (folded.session.id(), lease.lease);
    out_line(&format!(
        "lease {number}: {}, {}",
        tell::describe_covered(lease),
        tell::describe_lease_remainder(lease)
    ))?;
    out_line(&format!("  to revoke it: weir approvals revoke {id} {number}"))
}

fn goes_on(folded: &FoldedSession, at_rest: bool) -> anyhow::Result<ExitCode> {
    if at_rest {
        // A sub-agent goes on with the session that started it.
        let id = family::root_session(folded.session.id());
        out_line(&format!("Session {id} is not running; `weir run --resume {id}` continues it."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report_waiting_answer(holder: &str, id: &str) -> anyhow::Result<ExitCode> {
    err_message(&format!(
        "{holder} is running the session and has not read the answer to {id} yet; the answer \
         counts once it is read (check with `weir approvals show {id}`)"
    ));
    Ok(ExitCode::from(exit::FAILED))
}

/// The run ended without an answer.
fn report_closed_approval(id: &ApprovalId) -> anyhow::Result<ExitCode> {
    err_message(&format!("{id} is no longer open; nothing was changed"));
    Ok(ExitCode::from(exit::FAILED))
}

async fn answer_question(
    cx: &InstallationContext,
    id: &QuestionId,
    text: String,
    mut folded: FoldedSession,
) -> anyhow::Result<ExitCode> {
    let command = PersonCommand::Reply { question: id.clone(), answer: text };
    let delivery = AnswerDelivery::new(cx, command)?;
    let queued = folded.session.queued_inputs().len();
    let settled = |state: &SessionState| state.answer(id).is_some() || state.queued.len() > queued;
    let delivered = delivery.deliver(&mut folded, settled).await?;
    let at_rest = match delivered {
        AnswerDeliveryOutcome::Settled { at_rest } => at_rest,
        AnswerDeliveryOutcome::Waits(holder) => return report_waiting_answer(&holder, id.as_str()),
    };
    match folded.answered.get(id) {
        Some(WithTimestamp { ts, fact: f }) if f.by != delivery.answering_person() => {
            let answer = f.answer.as_deref().map_or("the run was ended".into(), visible_text);
            let by = visible_text(&f.by);
            err_message(&format!(
                "{id} was already answered at {} UTC by {by}: {answer}",
                timestamp_text(*ts)
            ));
            Ok(ExitCode::from(exit::FAILED))
        }
        None if folded.session.queued_inputs().len() <= queued => {
            err_message(&format!("{id} is no longer open; nothing was changed"));
            Ok(ExitCode::from(exit::FAILED))
        }
        Some(_) | None => {
            out_line(&format!("{id} is answered, by {}", delivery.answering_person()))?;
            goes_on(&folded, at_rest)
        }
    }
}

pub(super) async fn revoke_lease(
    cx: &InstallationContext,
    args: &ApprovalsRevokeArgs,
) -> anyhow::Result<ExitCode> {
    let store = cx.local_store()?;
    let session = session_ids::find_session_id(store.as_ref(), &args.session).await?;
    let mut folded = fold::load_folded_session(store.as_ref(), &session).await?;
    if !folded.state.leases.contains(&args.lease) {
        return Err(usage(format!(
            "session {session} has no lease {}; `weir approvals list --all` lists leases",
            args.lease
        )));
    }
    let delivery = AnswerDelivery::new(cx, PersonCommand::Revoke { lease: args.lease })?;
    let settled = |state: &SessionState| !state.leases.contains(&args.lease);
    match delivery.deliver(&mut folded, settled).await? {
        AnswerDeliveryOutcome::Settled { .. } => {
            out_line(&format!("lease {} of session {session} is revoked", args.lease))?;
            Ok(ExitCode::SUCCESS)
        }
        AnswerDeliveryOutcome::Waits(holder) => {
            report_waiting_answer(&holder, &format!("lease {}", args.lease))
        }
    }
}
