//! `weir approvals show`: one approval or question, whole.

use serde_json::json;
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::ids::{ApprovalId, QuestionId};
use weir_core::view::plain::visible_text;
use weir_core::view::told;

use super::{
    DIFF_LINES_MAX, FoldedSession, PendingItem, describe_duration, find_pending_item, fold,
    no_such_item, tell,
};
use crate::command::current_timestamp;
use crate::command::sessions::timestamp_text;
use crate::options::ApprovalsShowArgs;
use crate::terminal::{out_json, out_line};
use weir_engine::folded::WithTimestamp;
use weir_install::context::InstallationContext;

/// Lines of one text that are shown without --full.
const LINES_MAX: usize = 4 * DIFF_LINES_MAX;

pub(super) async fn show_pending_item(
    cx: &InstallationContext,
    args: &ApprovalsShowArgs,
) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let (session, asked) = find_pending_item(store.as_ref(), &args.id).await?;
    let folded = fold::load_folded_session(store.as_ref(), &session).await?;
    let missing = || no_such_item(&session, &args.id);
    match asked {
        PendingItem::Approval(id) => {
            let asked = folded.requested.get(&id).ok_or_else(missing)?;
            if args.json.json {
                let resolved = folded.resolved.get(&id).map(|resolved| &resolved.fact);
                return out_json(
                    &json!({ "asked": asked.ts, "approval": asked.fact, "resolved": resolved }),
                );
            }
            show_approval(&folded, &id, asked, args.full)
        }
        PendingItem::Question(id) => {
            let asked = folded.asked.get(&id).ok_or_else(missing)?;
            if args.json.json {
                let answered = folded.answered.get(&id).map(|answered| &answered.fact);
                return out_json(
                    &json!({ "asked": asked.ts, "question": asked.fact, "answered": answered }),
                );
            }
            show_question(&folded, &id, asked)
        }
    }
}

fn show_approval(
    folded: &FoldedSession,
    id: &ApprovalId,
    requested: &WithTimestamp<ApprovalRequested>,
    full: bool,
) -> anyhow::Result<()> {
    let WithTimestamp { ts, fact: asked } = requested;
    let lines_max = if full { usize::MAX } else { LINES_MAX };
    let more = "--full shows them";
    let workspace = folded.session.config().map(|config| config.workspace.as_str());
    let mut lines = vec![
        format!("{id}, asked {} UTC", timestamp_text(*ts)),
        format!(
            "in session {}, {}",
            folded.session.id(),
            visible_text(workspace.unwrap_or_default())
        ),
        String::new(),
    ];
    lines.extend(tell::describe_approval_request(asked, lines_max, more));
    if asked.diff.is_some() && asked.lines.is_empty() {
        // The difference says what happens; the arguments are what the answer is bound to.
        lines.push("  the call:".into());
        lines.extend(tell::render_arguments(asked, lines_max, more));
    }
    if !asked.lines.is_empty() {
        lines.push("  an answer is for all of these steps, this once, and for nothing else".into());
    } else if asked.rules.is_empty() {
        lines.push("  it can only be allowed once; no rule can express it".into());
    } else {
        lines.extend(tell::describe_lasting_answers(asked));
        let lasting = asked.rules.iter().filter(|_| told::offers_always(asked));
        let everywhere = lasting.map(|rule| told::permission_command(rule.text()));
        lines.extend(everywhere.map(|command| format!("  in every project: {command}")));
    }
    lines.push(String::new());
    let answers = tell::describe_answer_words(asked);
    lines.push(match folded.resolved.get(id) {
        Some(WithTimestamp { ts, fact: f }) => {
            let said = tell::describe_decision(f.decision, f.terms, &f.by, f.reason.as_deref());
            format!("answered {} UTC: {said}", timestamp_text(*ts))
        }
        None => match asked.expires.map(|expires| (expires, current_timestamp())) {
            Some((expires, now)) if expires <= now => "it expired: nobody answered in time".into(),
            Some((expires, now)) => format!(
                "open, expires in {}: weir approvals answer {id} {answers}",
                describe_duration(expires.ms_since(now))
            ),
            None => format!("open: weir approvals answer {id} {answers}"),
        },
    });
    out_line(&lines.join("\n"))
}

fn show_question(
    folded: &FoldedSession,
    id: &QuestionId,
    question: &WithTimestamp<QuestionAsked>,
) -> anyhow::Result<()> {
    let WithTimestamp { ts, fact: asked } = question;
    let mut lines = vec![format!("{id}, asked {} UTC", timestamp_text(*ts)), String::new()];
    lines.extend(asked.text.lines().map(visible_text));
    for (number, option) in asked.options.iter().enumerate() {
        lines.push(format!("  {}. {}", number + 1, visible_text(option)));
    }
    lines.push(String::new());
    lines.push(match folded.answered.get(id) {
        Some(WithTimestamp { ts, fact: f }) => {
            let answer = f.answer.as_deref().map_or("the run was ended".into(), visible_text);
            format!("answered {} UTC by {}: {answer}", timestamp_text(*ts), visible_text(&f.by))
        }
        None => format!("open: weir approvals answer {id} --text \"…\""),
    });
    out_line(&lines.join("\n"))
}
