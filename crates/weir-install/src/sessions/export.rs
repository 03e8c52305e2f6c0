//! A session in a form that others can read, complete (D9, V7). Not here: where it is written to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_core::ids::SessionId;
use weir_core::record::GENESIS;
use weir_core::view::wire;
use weir_engine::blobs::mentioned_blobs;
use weir_engine::hub::PublishedFact;
use weir_engine::ports::{Store, StoreError};
use weir_scripted_model::from_journal;

use super::markdown::SessionBlobs;
use super::summary::SessionSummary;
use super::{html, line, load_session_facts, markdown, meta, transcript};

/// In which form a session is taken along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Every fact a line, and the bytes that they mention (C6).
    Jsonl,
    /// A script for the scripted model.
    Script,
    /// For reading.
    Markdown,
    /// For reading, in one file.
    Html,
}

/// A session that is taken along.
#[derive(Debug)]
pub struct ExportedSession {
    /// The file.
    pub text: String,
    /// What was left out of the export, one sentence each.
    pub notes: Vec<String>,
}

/// The session as text. `status`: how it is, where that is known better than its summary says.
///
/// # Errors
/// There is none, or its journal does not hold together.
pub async fn export_session(
    store: &dyn Store,
    id: &SessionId,
    format: ExportFormat,
    status: Option<String>,
) -> anyhow::Result<ExportedSession> {
    let facts = load_session_facts(store, id).await?;
    let mut notes = Vec::new();
    let text = match format {
        ExportFormat::Jsonl => {
            let kept = kept(store, &facts, &mut notes).await?;
            facts_as_jsonl(id, &facts, &kept)
        }
        ExportFormat::Script => {
            let lines: Vec<Value> = facts.iter().map(|fact| line(id, fact)).collect();
            from_journal(&lines)
        }
        ExportFormat::Markdown | ExportFormat::Html => {
            let meta = meta(store, id).await?;
            let status = status.unwrap_or_else(|| meta.status.clone());
            let about = SessionSummary::from_facts(&meta, status, &facts).summary_text();
            let kept = kept(store, &facts, &mut notes).await?;
            let mut reader = transcript::ConversationReader::default();
            let entries: Vec<_> = facts.iter().map(|fact| reader.read_item(fact)).collect();
            let title = if meta.title.is_empty() { id.as_str() } else { &meta.title };
            match format {
                ExportFormat::Html => html::render_html_page(title, &about, &entries, &kept),
                _ => markdown::render_markdown_page(title, &about, &entries, &kept),
            }
        }
    };
    Ok(ExportedSession { text, notes })
}

/// Every blob that the facts mention; `notes` gets those that are missing.
async fn kept(
    store: &dyn Store,
    facts: &[PublishedFact],
    notes: &mut Vec<String>,
) -> anyhow::Result<SessionBlobs> {
    let mut kept = SessionBlobs::new();
    for id in facts.iter().flat_map(|fact| mentioned_blobs(&fact.event)) {
        if kept.contains_key(&id) {
            continue;
        }
        match store.read_blob(&id).await {
            Ok(bytes) => drop(kept.insert(id, bytes)),
            Err(StoreError::Missing { .. }) => {
                notes.push(format!("the data of {id} is not in this store and was omitted"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(kept)
}

/// Every fact, one a line (C6), with the hash by which it follows from the one before: `weir replay`
/// proves by it that no word was exchanged. The chain is made anew, as an older journal's text may
/// differ from how the same fact is written today; then the bytes that they mention, in lines without a place in the
/// journal, which readers of events may pass over.
fn facts_as_jsonl(id: &SessionId, facts: &[PublishedFact], kept: &SessionBlobs) -> String {
    let mut text = String::new();
    let mut hash = GENESIS.to_owned();
    for fact in facts {
        let mut line = line(id, fact);
        hash = wire::fact_record(id, fact.seq, fact.ts, &fact.event, &hash).hash;
        line["hash"] = json!(hash);
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let last = facts.last().map(|fact| fact.ts).unwrap_or_default();
    for (blob, bytes) in kept {
        let fields = json!({ "blob": blob, "bytes": bytes.len(), "data": STANDARD.encode(bytes) });
        text.push_str(&wire::signal_json(id, last, wire::BLOB_EXPORTED, fields).to_string());
        text.push('\n');
    }
    text
}
