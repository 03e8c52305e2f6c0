//! `weir approvals list`: everything that waits for a person, and the rights that were granted.

use serde_json::{Value, json};
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::governance::lease::LeaseGrant;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::view::plain::visible_text;
use weir_core::view::told::question_lines;
use weir_engine::ports::{SessionFilter, SessionMeta};
use weir_store::SqliteStore;

use super::{FoldedSession, describe_duration, fold, tell};
use crate::command::current_timestamp;
use crate::command::sessions::single_visible_line;
use crate::options::ApprovalsListArgs;
use crate::terminal::{out_json, out_line};
use weir_engine::folded::WithTimestamp;
use weir_install::context::InstallationContext;

/// A session with something to show.
struct SessionApprovals {
    id: SessionId,
    workspace: String,
    /// Who has it now, in words.
    holder: Option<String>,
    folded: FoldedSession,
}

pub(super) async fn list_approvals(
    cx: &InstallationContext,
    args: &ApprovalsListArgs,
) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let sessions = find_session_approvals(&store, args.all).await?;
    let now = current_timestamp();
    if args.json.json {
        return out_json(&json!({
            "approvals": sessions.iter().flat_map(SessionApprovals::approvals_json).collect::<Vec<_>>(),
            "questions": sessions.iter().filter_map(SessionApprovals::question_json).collect::<Vec<_>>(),
            "leases": sessions.iter().flat_map(|s| s.leases_json(now, args.all)).collect::<Vec<_>>(),
        }));
    }
    let mut blocks = Vec::new();
    for session in &sessions {
        let open = session.folded.open_approvals();
        blocks.extend(open.into_iter().map(|asked| session.approval_text(asked, now)));
        blocks
            .extend(session.folded.open_question().map(|asked| session.question_text(asked, now)));
    }
    for session in &sessions {
        blocks.extend(
            session.visible_leases(now, args.all).map(|lease| session.lease_text(lease, now)),
        );
    }
    if blocks.is_empty() {
        let more = if args.all { "" } else { " (--all includes inactive sessions)" };
        return out_line(&format!(
            "No approval or question is waiting, and no lease is active{more}."
        ));
    }
    out_line(&blocks.join("\n"))
}

/// Sessions in which somebody may be asked something; with `all`, every one.
async fn find_session_approvals(
    store: &SqliteStore,
    all: bool,
) -> anyhow::Result<Vec<SessionApprovals>> {
    let mut found = Vec::new();
    for meta in weir_engine::ports::Store::list_sessions(store, &SessionFilter::default()).await? {
        // A question outlives its run where nobody could answer it.
        let may_wait = matches!(meta.status.as_str(), "waiting" | "running" | "needs_input");
        if !all && !may_wait {
            continue;
        }
        let SessionMeta { id, workspace, .. } = meta;
        let folded = fold::load_folded_session(store, &id).await?;
        let holder = store.holder_text(&id).await?;
        found.push(SessionApprovals { id, workspace, holder, folded });
    }
    // Who waits longest comes first.
    found.reverse();
    Ok(found)
}

impl SessionApprovals {
    fn location_line(&self) -> String {
        let holder = match &self.holder {
            Some(holder) => format!("held by {holder}"),
            None => "not running".into(),
        };
        format!("  session {} ({holder}) in {}", self.id, visible_text(&self.workspace))
    }

    fn approval_text(
        &self,
        requested: &WithTimestamp<ApprovalRequested>,
        now: Timestamp,
    ) -> String {
        let WithTimestamp { ts, fact: asked } = requested;
        let end = match asked.expires {
            Some(expires) if expires <= now => ", expired".to_string(),
            Some(expires) => format!(", expires in {}", describe_duration(expires.ms_since(now))),
            None => String::new(),
        };
        let age = describe_duration(now.ms_since(*ts));
        let mut lines = vec![
            format!("{}  {}  waiting for {age}{end}", asked.approval, visible_text(&asked.tool)),
            self.location_line(),
            format!("  {}", single_visible_line(&asked.summary)),
            format!("  why it is asked: {}", single_visible_line(&asked.reason)),
        ];
        if !asked.label.is_plain() {
            let label = single_visible_line(&asked.label.to_string());
            lines.push(format!("  what the model had read: {label}"));
        }
        lines.extend(question_lines(asked).iter().map(|line| format!("    {line}")));
        lines.extend(tell::suspicion_lines(asked));
        lines.extend(tell::describe_lasting_answers(asked));
        lines.join("\n") + "\n"
    }

    fn question_text(&self, question: &WithTimestamp<QuestionAsked>, now: Timestamp) -> String {
        let WithTimestamp { ts, fact: asked } = question;
        let age = describe_duration(now.ms_since(*ts));
        let mut lines = vec![
            format!("{}  question  waiting for {age}", asked.question),
            self.location_line(),
            format!("  {}", single_visible_line(&asked.text)),
        ];
        for (number, option) in asked.options.iter().enumerate() {
            lines.push(format!("  {}. {}", number + 1, single_visible_line(option)));
        }
        lines.join("\n") + "\n"
    }

    fn visible_leases(&self, now: Timestamp, all: bool) -> impl Iterator<Item = &LeaseGrant> {
        let leases = self.folded.session.leases().iter();
        leases.filter(move |lease| all || lease.is_live(now))
    }

    fn lease_text(&self, lease: &LeaseGrant, now: Timestamp) -> String {
        let over = if lease.is_live(now) { "" } else { " (over)" };
        let lines = [
            format!(
                "lease {} of session {}{over}: {}",
                lease.lease,
                self.id,
                tell::describe_covered(lease)
            ),
            format!(
                "  {}, granted by {}",
                tell::describe_lease_remainder(lease),
                visible_text(&lease.by)
            ),
        ];
        lines.join("\n") + "\n"
    }

    fn approvals_json(&self) -> Vec<Value> {
        let open = self.folded.open_approvals().into_iter();
        open.map(|WithTimestamp { ts, fact: asked }| {
            json!({
                "approval": asked.approval,
                "session": self.id,
                "workspace": self.workspace,
                "held_by": self.holder,
                "asked": ts,
                "expires": asked.expires,
                "tool": asked.tool,
                "summary": asked.summary,
                "reason": asked.reason,
                "label": asked.label,
                "rules": asked.rules.iter().map(|rule| rule.text()).collect::<Vec<_>>(),
                "grant": asked.grant,
                "often": asked.often,
                "lines": asked.lines,
            })
        })
        .collect()
    }

    fn question_json(&self) -> Option<Value> {
        let WithTimestamp { ts, fact: asked } = self.folded.open_question()?;
        Some(json!({
            "question": asked.question,
            "session": self.id,
            "workspace": self.workspace,
            "held_by": self.holder,
            "asked": ts,
            "text": asked.text,
            "options": asked.options,
            "multiple": asked.multiple,
        }))
    }

    fn leases_json(&self, now: Timestamp, all: bool) -> Vec<Value> {
        let leases = self.visible_leases(now, all);
        leases
            .map(|lease| {
                json!({
                    "session": self.id,
                    "lease": lease.lease,
                    "rules": lease.rules.iter().map(|rule| rule.text()).collect::<Vec<_>>(),
                    "grant": lease.grant,
                    "uses_left": lease.uses_left,
                    "until": lease.until,
                    "by": lease.by,
                    "live": lease.is_live(now),
                })
            })
            .collect()
    }
}
