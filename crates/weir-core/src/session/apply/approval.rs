//! The fold of an answer about calls: what may run now, what is granted beside it, and what is refused.
//! Not here: who is asked about what (`calls`, `together`).

use std::sync::Arc;

use crate::event::{ApprovalResolved, Decision, Denial, NOBODY};
use crate::governance::lease::{LeaseGrant, LeaseTerms};
use crate::governance::outcome;
use crate::governance::way_out::ways_text;
use crate::ids::Timestamp;
use crate::session::call::LentRights;
use crate::session::derive::RUN_OVER;
use crate::session::program::{PROGRAM_END, PROGRAM_OVER, SERVER_CALL_END, SERVER_CALL_OVER};
use crate::session::vouched::asked_texts;
use crate::session::{CallStage, CallState, Session};

use super::with_call;

/// What a yes for the session grants, as a lease.
fn grant_lease(s: &mut Session, ts: Timestamp, f: &ApprovalResolved, lent: LentRights) {
    let LentRights { rules, bound, grant } = lent;
    let terms = f.terms.unwrap_or_default();
    s.next.lease += 1;
    s.leases.push(LeaseGrant {
        lease: s.next.lease,
        // What has a name is granted by it, and by no rule that reaches further.
        rules: if grant.is_some() { Vec::new() } else { rules },
        grant,
        uses_left: terms.uses,
        until: terms.for_ms.map(|ms| ts.plus_ms(ms)),
        by: f.by.clone(),
        bound,
    });
}

pub(super) fn approval_resolved(s: &mut Session, ts: Timestamp, f: &ApprovalResolved) {
    let mut denials = Vec::new();
    let mut lent = LentRights::default();
    let mut approved = Vec::new();
    let mut links = false;
    let cancelled = f.decision == Decision::Cancelled;
    let asked = s.calls_asked_at(f.call);
    if let Some(open) = s.find_call(f.call).and_then(CallState::open_approval) {
        let asked = open.lent.clone();
        s.agreed.note_answer(&asked.rules, asked.grant.as_ref(), f.decision);
    }
    for id in &asked {
        with_call(s, *id, |call| {
            if !f.decision.allows() {
                denials.push(refuse_call(call, f));
                return;
            }
            let granted = call.allow_run();
            // Who agreed to several at once vouches for nothing beyond them (U8).
            if asked.len() > 1 {
                return;
            }
            lent = granted;
            links = matches!(&call.stage, CallStage::Ready(clearance) if clearance.follows_link);
            if let Some(inspection) = &call.inspection {
                approved = asked_texts(&call.input, &inspection.effects);
            }
        });
    }
    if f.decision.allows()
        && let Some(call) = s.find_call(f.call)
    {
        // Whoever allows a call settles what its question told them of, and nothing else (D4).
        let (form, told) = (call.canonical_form(), call.told.clone());
        outcome::settle_outcomes(&mut s.unknown, &form, &told);
    }
    s.approved.extend(approved);
    if f.decision == Decision::Session {
        if links && !lent.rules.is_empty() && f.terms.unwrap_or_default() == LeaseTerms::default() {
            s.trail.agree_to_links(s.next.lease + 1);
        }
        grant_lease(s, ts, f, lent);
    } else if f.decision == Decision::Always
        && let Some(config) = &mut s.config
    {
        for rule in lent.rules {
            Arc::make_mut(config).rules.add(rule);
        }
    }
    if let Some(run) = s.run.as_mut().filter(|_| !cancelled) {
        run.denials.extend(denials);
        run.unanswered |= f.by == NOBODY;
    }
}

/// The call may not run: what it is answered with, and what is told of it.
fn refuse_call(call: &mut CallState, f: &ApprovalResolved) -> Denial {
    let why = f.reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
    let text = match f.decision {
        Decision::Cancelled if f.by == PROGRAM_END => PROGRAM_OVER.to_string(),
        Decision::Cancelled if f.by == SERVER_CALL_END => SERVER_CALL_OVER.to_string(),
        Decision::Cancelled => RUN_OVER.to_string(),
        Decision::Expired => "Denied: nobody answered in time.".to_string(),
        _ if f.by == NOBODY => format!(
            "Denied: {} needs a person's approval, and nobody can be asked in this run. Do what can \
             be done without it, and say what is left.{}",
            call.tool,
            ways_text(call.ways())
        ),
        _ => format!("Denied by {}{why}", f.by),
    };
    let denial = Denial {
        call: call.id,
        tool: call.tool.clone(),
        summary: call.inspection.as_ref().map(|i| i.summary.clone()).unwrap_or_default(),
        by: f.by.clone(),
        reason: f.reason.clone().unwrap_or_else(|| call.ask_reason().to_owned()),
    };
    call.stage = CallStage::Refused(text);
    denial
}
