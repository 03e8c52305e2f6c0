//! `weir approvals answer` and `revoke`: one answer, and whether it was the first.

use std::process::ExitCode;

use weir_core::event::{ApprovalRequested, ApprovalResolved, Decision};
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, QuestionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::plain::visible;
use weir_engine::family;
use weir_engine::host::SessionState;
use weir_install::cx::Cx;
use weir_install::session_ids;

use super::deliver::{Delivered, Delivery};
use super::{Asked, Folded, find, fold, tell};
use crate::command::sessions::moment;
use crate::failure::{exit, usage};
use crate::options::{ApprovalsAnswerArgs, ApprovalsRevokeArgs};
use crate::terminal::{err, out};

pub(super) async fn answer(cx: &Cx, args: &ApprovalsAnswerArgs) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    let (session, asked) = find(store.as_ref(), &args.id).await?;
    let folded = fold::load(store.as_ref(), &session).await?;
    let never = || {
        usage(format!(
            "session {session} has no approval or question {}; `weir approvals list` shows the \
             open ones",
            args.id
        ))
    };
    match asked {
        Asked::Approval(id) => {
            let (_, asked) = folded.requested.get(&id).cloned().ok_or_else(never)?;
            decide(cx, args, &asked, folded).await
        }
        Asked::Question(id) => {
            let (_, asked) = folded.asked.get(&id).ok_or_else(never)?;
            let text = args.text.clone().ok_or_else(|| {
                usage(format!("{id} is a question; answer it in words: --text \"…\""))
            })?;
            let text = tell::choice(&text, &asked.options);
            reply(cx, &id, text, folded).await
        }
    }
}

/// The decision and how far it reaches.
///
/// # Errors
/// A usage error: words that do not go together, or a lasting answer that no rule can say.
fn wanted(
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

async fn decide(
    cx: &Cx,
    args: &ApprovalsAnswerArgs,
    asked: &ApprovalRequested,
    mut folded: Folded,
) -> anyhow::Result<ExitCode> {
    let id = &asked.approval;
    let (decision, terms) = wanted(args, asked)?;
    let reason = args.reason.clone().filter(|text| !text.trim().is_empty());
    let answer = ApprovalAnswer { approval: id.clone(), decision, reason, terms };
    let delivery = Delivery::new(cx, PersonCommand::Decide(answer))?;
    let delivered = delivery.deliver(&mut folded, |state| state.resolution(id).is_some()).await?;
    let at_rest = match delivered {
        Delivered::Settled { at_rest } => at_rest,
        Delivered::Waits(holder) => return waits(&holder, id.as_str()),
    };
    let Some((ts, resolved)) = folded.resolved.get(id) else { return gone(id) };
    let said =
        tell::said(resolved.decision, resolved.terms, &resolved.by, resolved.reason.as_deref());
    if resolved.by != delivery.by() {
        err(&format!("{id} was already answered at {} UTC: {said}", moment(*ts)));
        return Ok(ExitCode::from(exit::FAILED));
    }
    out(&format!("{id} is answered: {said}"))?;
    if resolved.decision == Decision::Always {
        tell::remember(cx, &asked.rules);
    }
    granted(&folded, resolved)?;
    goes_on(&folded, at_rest)
}

/// Says which lease an answer for the session became.
fn granted(folded: &Folded, resolved: &ApprovalResolved) -> anyhow::Result<()> {
    if resolved.decision != Decision::Session {
        return Ok(());
    }
    let Some(lease) = folded.session.leases().iter().rev().find(|l| l.by == resolved.by) else {
        return Ok(());
    };
    let (id, number) = (folded.session.id(), lease.lease);
    out(&format!("lease {number}: {}, {}", tell::rules(&lease.rules), tell::left(lease)))?;
    out(&format!("  to revoke it: weir approvals revoke {id} {number}"))
}

fn goes_on(folded: &Folded, at_rest: bool) -> anyhow::Result<ExitCode> {
    if at_rest {
        // A sub-agent goes on with the session that started it.
        let id = family::root(folded.session.id());
        out(&format!("Session {id} is not running; `weir run --resume {id}` continues it."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn waits(holder: &str, id: &str) -> anyhow::Result<ExitCode> {
    err(&format!(
        "{holder} is running the session and has not read the answer to {id} yet; the answer \
         counts once it is read (check with `weir approvals show {id}`)"
    ));
    Ok(ExitCode::from(exit::FAILED))
}

/// The run ended without an answer.
fn gone(id: &ApprovalId) -> anyhow::Result<ExitCode> {
    err(&format!("{id} is no longer open; nothing was changed"));
    Ok(ExitCode::from(exit::FAILED))
}

async fn reply(
    cx: &Cx,
    id: &QuestionId,
    text: String,
    mut folded: Folded,
) -> anyhow::Result<ExitCode> {
    let command = PersonCommand::Reply { question: id.clone(), answer: text };
    let delivery = Delivery::new(cx, command)?;
    let queued = folded.session.queued().len();
    let settled = |state: &SessionState| state.answer(id).is_some() || state.queued.len() > queued;
    let delivered = delivery.deliver(&mut folded, settled).await?;
    let at_rest = match delivered {
        Delivered::Settled { at_rest } => at_rest,
        Delivered::Waits(holder) => return waits(&holder, id.as_str()),
    };
    match folded.answered.get(id) {
        Some((ts, f)) if f.by != delivery.by() => {
            let answer = f.answer.as_deref().map_or("the run was ended".into(), visible);
            let by = visible(&f.by);
            err(&format!("{id} was already answered at {} UTC by {by}: {answer}", moment(*ts)));
            Ok(ExitCode::from(exit::FAILED))
        }
        None if folded.session.queued().len() <= queued => {
            err(&format!("{id} is no longer open; nothing was changed"));
            Ok(ExitCode::from(exit::FAILED))
        }
        Some(_) | None => {
            out(&format!("{id} is answered, by {}", delivery.by()))?;
            goes_on(&folded, at_rest)
        }
    }
}

pub(super) async fn revoke(cx: &Cx, args: &ApprovalsRevokeArgs) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    let session = session_ids::find(store.as_ref(), &args.session).await?;
    let mut folded = fold::load(store.as_ref(), &session).await?;
    if !folded.state.leases.contains(&args.lease) {
        return Err(usage(format!(
            "session {session} has no lease {}; `weir approvals list --all` lists leases",
            args.lease
        )));
    }
    let delivery = Delivery::new(cx, PersonCommand::Revoke { lease: args.lease })?;
    let settled = |state: &SessionState| !state.leases.contains(&args.lease);
    match delivery.deliver(&mut folded, settled).await? {
        Delivered::Settled { .. } => {
            out(&format!("lease {} of session {session} is revoked", args.lease))?;
            Ok(ExitCode::SUCCESS)
        }
        Delivered::Waits(holder) => waits(&holder, &format!("lease {}", args.lease)),
    }
}
