//! Giving the one answer that a notice carries: from a paired telephone of its person, while exactly that is
//! asked, and once. Having the answer's address is not enough. Whatever does not fit is refused, and the
//! approval waits on. Not here: what an answer is bound to (`notice_acts`), and its page (`web::pages::phone`).

use weir_core::event::Decision;
use weir_core::ids::ApprovalId;
use weir_core::input::ApprovalAnswer;

use crate::api::approvals::{approval_address, decide_approval};
use crate::app::App;
use crate::caller::Caller;
use crate::inbox::{InboxEntry, list_inbox};
use crate::live::tell::SettledApproval;
use crate::notice_acts::offer::{AskOffer, approval_of};
use crate::notice_acts::{ActEntry, ActSource, FoundAct, no_act, take_act};
use crate::notify::channels;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;

/// What one asks, for the telephone that may answer it: it waits and is what it was.
///
/// # Errors
/// It is another's or another telephone's; it does not wait any more, or is not what it was.
pub(crate) async fn open_ask(owner: &CallerSpace, act: &FoundAct) -> HandlerResult<InboxEntry> {
    check_source(&owner.app, &owner.caller, act).await?;
    let kept = &act.entry.value;
    let waiting = list_inbox(owner.space.store().as_ref()).await?;
    let is_meant = |entry: &InboxEntry| {
        approval_of(entry).is_some_and(|(session, asked)| {
            *session == kept.session && asked.approval == kept.approval
        })
    };
    let found = waiting.into_iter().find(is_meant).ok_or_else(answered)?;
    // Whatever became of the rules since, what is not offered any more is not answered here either.
    let is_same = AskOffer::of_entry(&found).is_some_and(|offer| offer.digest == kept.digest);
    is_same.then_some(found).ok_or_else(changed)
}

/// Gives the answer, once.
///
/// # Errors
/// As for [`open_ask`]; it was used; the decision is none that it is for; somebody answered before.
pub(crate) async fn answer_act(
    owner: &CallerSpace,
    act: FoundAct,
    decision: Decision,
) -> HandlerResult<SettledApproval> {
    if !act.entry.value.decisions.contains(&decision) {
        return Err(ProblemDetails::bad_request("from a notice one says once or deny"));
    }
    open_ask(owner, &act).await?;
    // Of several who come at once, one takes it away. It is gone before the answer is given: after a crash
    // in between the approval waits on, on its page.
    if !take_act(&owner.app.auth.shelf, &act).await? {
        return Err(no_act());
    }
    let ActEntry { session, approval, .. } = act.entry.value;
    let approval = ApprovalId::new(approval_address(&session, approval.as_str()));
    let answer = ApprovalAnswer { approval, decision, reason: None, terms: None };
    decide_approval(owner, answer).await
}

/// That whoever calls may give this answer.
async fn check_source(app: &App, caller: &Caller, act: &FoundAct) -> HandlerResult<()> {
    if act.entry.owner != caller.person.id.as_str() {
        return Err(no_act());
    }
    let Some(login) = caller.phone_login() else { return Err(other_device()) };
    let is_meant = match &act.entry.value.source {
        ActSource::Phone(phone) => phone == login,
        ActSource::Channel(id) => {
            let now = app.current_time();
            let all = channels::list_channels(app.records.as_ref(), &caller.person.id, now).await?;
            all.iter().any(|channel| channel.id == *id)
        }
    };
    if is_meant { Ok(()) } else { Err(other_device()) }
}

fn other_device() -> ProblemDetails {
    ProblemDetails::not_permitted(
        "only the paired telephone that was asked answers here; elsewhere, open Approvals",
    )
}

fn answered() -> ProblemDetails {
    ProblemDetails::conflict("this is not asked any more: somebody answered, or its run ended")
}

fn changed() -> ProblemDetails {
    ProblemDetails::conflict("what is asked is not what the notice was about: open Approvals")
}
