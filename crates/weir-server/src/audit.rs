//! Audit lines of a person's store, newest first, by what they are about (G10). Not here: what is
//! audited, and whether the chain is whole.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::ids::Timestamp;
use weir_engine::ports::{AuditLine, Store, StoreError};
use weir_install::audit::last_line_number;

/// Lines read at once.
const BATCH: u64 = 500;
/// Lines that one look goes through at most: a filter that fits nothing must not read for ever.
const LOOKED_MAX: u64 = 50_000;

/// A filter of audit lines.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditFilter {
    /// Only of this session.
    #[serde(default)]
    pub(crate) session: String,
    /// Only about this tool.
    #[serde(default)]
    pub(crate) tool: String,
    /// Only with this verdict: allow, ask or deny.
    #[serde(default)]
    pub(crate) verdict: String,
    /// Only of this kind: `call.judged`, `approval.resolved`, …
    #[serde(default)]
    pub(crate) kind: String,
    /// Only from this day on, UTC: `2026-01-02`.
    #[serde(default)]
    pub(crate) from: String,
    /// Only to this day, UTC.
    #[serde(default)]
    pub(crate) to: String,
    /// Only lines with a smaller number: the `next` of the part before.
    pub(crate) before: Option<u64>,
}

impl AuditFilter {
    /// Whether a line is meant.
    fn is_line_wanted(&self, line: &AuditLine) -> bool {
        let fields = &line.entry.fields;
        let fits = |wanted: &str, name: &str| {
            wanted.is_empty() || fields[name].as_str().is_some_and(|word| word == wanted)
        };
        let day: String = line.entry.ts.to_string().chars().take(10).collect();
        (self.session.is_empty() || line.entry.session.as_str() == self.session)
            && fits(&self.tool, "tool")
            && fits(&self.verdict, "verdict")
            && fits(&self.kind, "kind")
            && (self.from.is_empty() || self.from <= day)
            && (self.to.is_empty() || day <= self.to)
    }
}

/// A line as it is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditRow {
    /// Its place in the chain: 1, 2, 3, …
    pub(crate) n: u64,
    /// When the fact was recorded.
    pub(crate) ts: Timestamp,
    /// In which session.
    pub(crate) session: String,
    /// The fact of that session that it shows.
    pub(crate) seq: u64,
    /// The content of the line.
    pub(crate) fields: Value,
    /// Its hash over the line before.
    pub(crate) hash: String,
}

impl AuditRow {
    fn from_line(line: AuditLine) -> AuditRow {
        AuditRow {
            n: line.n,
            ts: line.entry.ts,
            session: line.entry.session.to_string(),
            seq: line.entry.seq,
            fields: line.entry.fields,
            hash: line.hash,
        }
    }

    /// The same without what was said, read or written: who decided what, under which rule.
    pub(crate) fn without_content(mut self) -> AuditRow {
        const KEPT: &[&str] = &[
            "kind",
            "tool",
            "verdict",
            "gate",
            "decision",
            "class",
            "ok",
            "duration_ms",
            "status",
            "limit",
            "level",
            "alert",
            "cause",
            "permission",
            "profile",
            "model",
            "by",
            "approver",
            "cost_usd",
            "usage",
            "run",
        ];
        if let Some(map) = self.fields.as_object_mut() {
            map.retain(|name, _| KEPT.contains(&name.as_str()));
        }
        self
    }
}

/// A part of the lines, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditPart {
    /// The lines.
    pub(crate) items: Vec<AuditRow>,
    /// What to send as `before` for the next part; `null`: this was the last.
    pub(crate) next: Option<u64>,
}

/// At most `limit` lines that `filter` holds, the newest first.
///
/// # Errors
/// The store does not answer.
pub(crate) async fn read_part(
    store: &dyn Store,
    filter: &AuditFilter,
    limit: usize,
) -> Result<AuditPart, StoreError> {
    let mut end = match filter.before {
        Some(before) => before.saturating_sub(1).min(last_line_number(store).await?),
        None => last_line_number(store).await?,
    };
    let floor = end.saturating_sub(LOOKED_MAX);
    let mut items = Vec::new();
    while end > floor {
        let from = end.saturating_sub(BATCH).max(floor) + 1;
        let count = usize::try_from(end - from + 1).unwrap_or(usize::MAX);
        let lines = store.audit_lines(from, count).await?;
        for line in lines.into_iter().rev().filter(|line| filter.is_line_wanted(line)) {
            items.push(AuditRow::from_line(line));
            if items.len() == limit {
                let next = items.last().map(|row: &AuditRow| row.n).filter(|n| *n > 1);
                return Ok(AuditPart { items, next });
            }
        }
        end = from - 1;
    }
    // What lies deeper than one look is the next part's, also where this one found nothing.
    let next = (floor > 0).then_some(floor + 1);
    Ok(AuditPart { items, next })
}
