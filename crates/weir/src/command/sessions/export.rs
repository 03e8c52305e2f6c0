//! `weir sessions export` (D9, V7): a session in a form that others can read, complete.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_core::ids::SessionId;
use weir_core::record::GENESIS;
use weir_core::view::wire;
use weir_engine::blobs::mentioned;
use weir_engine::hub::Fact;
use weir_engine::ports::{Store, StoreError};
use weir_install::cx::Cx;
use weir_install::session_ids;
use weir_scripted_model::from_journal;

use super::markdown::Kept;
use super::summary::Summary;
use super::{facts, html, line, markdown, meta, status, transcript};
use crate::failure::usage;
use crate::options::{SessionFormat, SessionsExportArgs};
use crate::terminal::{err, out_bytes};

/// Writes it.
pub(super) async fn export(cx: &Cx, args: &SessionsExportArgs) -> anyhow::Result<()> {
    let store = cx.store()?;
    let id = session_ids::find(store.as_ref(), &args.session).await?;
    let meta = meta(store.as_ref(), &id).await?;
    let status = status(&store, &meta).await?;
    let text = exported(store.as_ref(), &id, (args.format, Some(status))).await?;
    put(args.output.as_deref(), text.as_bytes())
}

/// The session as text. `status`: how it is, where that is known better than its summary says.
pub(crate) async fn exported(
    store: &dyn Store,
    id: &SessionId,
    (format, status): (SessionFormat, Option<String>),
) -> anyhow::Result<String> {
    let facts = facts(store, id).await?;
    Ok(match format {
        SessionFormat::Jsonl => {
            let kept = kept(store, &facts).await?;
            jsonl(id, &facts, &kept)
        }
        SessionFormat::Script => {
            let lines: Vec<Value> = facts.iter().map(|fact| line(id, fact)).collect();
            from_journal(&lines)
        }
        SessionFormat::Markdown | SessionFormat::Html => {
            let meta = meta(store, id).await?;
            let status = status.unwrap_or_else(|| meta.status.clone());
            let about = Summary::of(&meta, status, &facts).told();
            let kept = kept(store, &facts).await?;
            let entries: Vec<_> = facts.iter().map(transcript::entry).collect();
            let title = if meta.title.is_empty() { id.as_str() } else { &meta.title };
            match format {
                SessionFormat::Html => html::html(title, &about, &entries, &kept),
                _ => markdown::markdown(title, &about, &entries, &kept),
            }
        }
    })
}

/// Every blob that the facts mention.
async fn kept(store: &dyn Store, facts: &[Fact]) -> anyhow::Result<Kept> {
    let mut kept = Kept::new();
    for id in facts.iter().flat_map(|fact| mentioned(&fact.event)) {
        if kept.contains_key(&id) {
            continue;
        }
        match store.blob(&id).await {
            Ok(bytes) => drop(kept.insert(id, bytes)),
            Err(StoreError::Missing { .. }) => {
                err(&format!("warning: the data of {id} is not in this store and was omitted"));
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
fn jsonl(id: &SessionId, facts: &[Fact], kept: &Kept) -> String {
    let mut text = String::new();
    let mut hash = GENESIS.to_owned();
    for fact in facts {
        let mut line = line(id, fact);
        hash = wire::record(id, fact.seq, fact.ts, &fact.event, &hash).hash;
        line["hash"] = json!(hash);
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let last = facts.last().map(|fact| fact.ts).unwrap_or_default();
    for (blob, bytes) in kept {
        let fields = json!({ "blob": blob, "bytes": bytes.len(), "data": STANDARD.encode(bytes) });
        text.push_str(&wire::signal(id, last, wire::BLOB_EXPORTED, fields).to_string());
        text.push('\n');
    }
    text
}

/// On standard output, or into a new file that only its owner can read.
pub(in crate::command) fn put(path: Option<&Path>, bytes: &[u8]) -> anyhow::Result<()> {
    let Some(path) = path else { return out_bytes(bytes) };
    let refused = |error: &std::io::Error| {
        let what_to_do = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "; choose another name or remove it first",
            _ => "",
        };
        usage(format!("--output {}: {error}{what_to_do}", path.display()))
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).map_err(|error| refused(&error))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half of it is worse than nothing.
        let _ = std::fs::remove_file(path);
        return Err(refused(&error));
    }
    Ok(())
}
