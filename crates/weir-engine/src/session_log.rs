//! The log of a session as its own agent may read it (K14): what was decided and done, and what failed
//! of requests to the model; one JSON object each. Not here: what was said and what results held, which
//! `recall` finds, and what was withheld from the agent, which nothing shows it.

use std::collections::VecDeque;

use serde_json::{Value, json};
use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::{CallState, Session};
use weir_core::view::audit::{audit_line, shorten_texts};

use crate::ports::{Store, StoreError, fact_of};

/// Records read at once.
const READ_BATCH: usize = 1_024;
/// The newest lines are kept.
const LINES_MAX: usize = 2_000;
/// Fields that say who a session works for, or what was kept from the agent; and the names of checkpoints,
/// which `list_checkpoints` tells.
const LEFT_OUT: &[&str] = &[
    "by",
    "checkpoint",
    "profile",
    "approver",
    "detail",
    "cancelled_by",
    "revoked_by",
    "restored_by",
    "uncondensed_by",
    "written_by",
];

/// Fields that may quote the words of handles that a call carried. Names of files may be such words.
const QUOTING: &[&str] =
    &["reason", "binds", "terms", "task", "summary", "text", "paths", "changed"];

/// The newest lines of a session's log, oldest first: up to the request that the agent answers now. What
/// came since may not be durable yet, and the answer must not depend on that.
///
/// # Errors
/// The journal cannot be read.
pub(crate) async fn read_session_log(
    store: &dyn Store,
    id: &SessionId,
) -> Result<Vec<Value>, StoreError> {
    let mut session = Session::new(id.clone());
    let mut lines = VecDeque::new();
    let mut before_request = 0;
    loop {
        let records = store.read_records(id, session.fact_count() + 1, READ_BATCH).await?;
        for record in &records {
            let fact = fact_of(record)?;
            session.apply(fact.ts, &fact.event);
            if let Event::ModelRequested(_) = &*fact.event {
                before_request = lines.len();
            }
            let Some(mut line) = log_line(&session, &fact.event) else { continue };
            if let Some(fields) = line.as_object_mut() {
                fields.insert("fact".into(), json!(session.fact_count()));
                fields.insert("at".into(), json!(fact.ts.to_string()));
            }
            if lines.len() == LINES_MAX {
                lines.pop_front();
                before_request = before_request.saturating_sub(1);
            }
            lines.push_back(line);
        }
        if records.len() < READ_BATCH {
            lines.truncate(before_request);
            return Ok(lines.into());
        }
    }
}

fn log_line(session: &Session, event: &Event) -> Option<Value> {
    if let Event::ModelRetried(f) = event {
        return Some(json!({
            "kind": event.kind(), "attempt": f.attempt, "class": f.class, "wait_ms": f.wait_ms,
            "message": f.message,
        }));
    }
    if let Event::ModelFailed(f) = event {
        let line = json!({ "kind": event.kind(), "class": f.class, "message": f.message,
            "next": f.next });
        return Some(line);
    }
    let mut line = audit_line(session, event, "")?;
    let fields = line.as_object_mut()?;
    // A summary may tell what was withheld, and so may the reason.
    if fields.get("withheld").is_some_and(|withheld| !withheld.is_null()) {
        fields.remove("summary");
        fields.insert("withheld".into(), json!(true));
    }
    let carries = |call: &CallState| call.written_input() != &call.input;
    let about = fields.get("call").and_then(|call| serde_json::from_value(call.clone()).ok());
    if let Some(call) = about.and_then(|id| session.find_call(id)).filter(|call| carries(call)) {
        // Foreign words that it carried stand outside the context, here too (U6).
        for name in QUOTING {
            fields.remove(*name);
        }
        if fields.contains_key("input") {
            fields.insert("input".into(), shorten_texts(call.written_input()));
        }
    }
    // What an agent called its files may be words of a page that only that one has read; and what was put back
    // or taken over has the names that such calls gave.
    let is_aside = matches!(event, Event::CallFinished(f) if f.handle.is_some());
    let names_may_be_foreign = is_aside
        || matches!(
            event,
            Event::AgentFinished(_) | Event::CheckpointRestored(_) | Event::WorkspaceMerged(_)
        );
    if names_may_be_foreign {
        fields.remove("changed");
        fields.remove("paths");
    }
    for name in LEFT_OUT {
        fields.remove(*name);
    }
    fields.retain(|_, value| !value.is_null());
    Some(line)
}
