//! `weir sessions`: what was said and done, taken along, taken up elsewhere, or removed.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::governance::filter::one_line;
use weir_core::session::child;
use weir_engine::engine::EngineError;
use weir_engine::ports::{SessionMeta, Store};
use weir_install::context::InstallationContext;
use weir_install::session_ids::{self, SubAgentListing};
use weir_install::sessions::last::read_last_entries;
pub(super) use weir_install::sessions::meta;
use weir_install::sessions::{SessionEnd, WholeSession, line, visit_session_facts};
use weir_install::wiring;
pub(super) use weir_install::wording::{single_visible_line, timestamp_text};
use weir_store::SqliteStore;

use crate::failure::{engine_failure, usage};
use crate::options::{
    SessionsCommand, SessionsForkArgs, SessionsListArgs, SessionsSearchArgs, SessionsShowArgs,
};
use crate::terminal::{format_table, out_json, out_line};

mod delete;
mod export;
mod imported;
#[cfg(test)]
pub(super) mod offscreen;

pub(super) use export::write_new_output;

/// Does what was asked.
pub(crate) async fn run_sessions_command(
    cx: &InstallationContext,
    command: SessionsCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        SessionsCommand::List(args) if args.imported => imported::list_imported(cx, &args)?,
        SessionsCommand::Show(args) if args.imported => imported::show_imported(cx, &args)?,
        SessionsCommand::Search(args) if args.imported => imported::search_imported(cx, &args)?,
        SessionsCommand::List(args) => list_sessions(cx, &args).await?,
        SessionsCommand::Show(args) => show_session(cx, &args).await?,
        SessionsCommand::Export(args) => export::write_session_export(cx, &args).await?,
        SessionsCommand::Delete(args) => return delete::delete_sessions(cx, &args).await,
        SessionsCommand::Fork(args) => fork_session(cx, &args).await?,
        SessionsCommand::Search(args) => search_sessions(cx, &args).await?,
        SessionsCommand::Attach(_) => {
            return Err(usage("a session is attached to in the terminal interface only"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How a session is: one that was at work when its program went away is interrupted.
async fn session_status(store: &SqliteStore, meta: &SessionMeta) -> anyhow::Result<String> {
    let active = matches!(meta.status.as_str(), "running" | "waiting");
    if active && store.holder_text(&meta.id).await?.is_none() {
        return Ok("interrupted".into());
    }
    Ok(meta.status.clone())
}

async fn list_sessions(cx: &InstallationContext, args: &SessionsListArgs) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let workspace = args.here.then(|| cx.folder.display().to_string());
    let agents = if args.all { SubAgentListing::Shown } else { SubAgentListing::Hidden };
    let mut sessions =
        session_ids::list_newest_sessions(store.as_ref(), workspace, args.limit, agents).await?;
    for meta in &mut sessions {
        meta.status = session_status(&store, meta).await?;
    }
    if args.json.json {
        return out_json(&sessions);
    }
    if sessions.is_empty() {
        return out_line("No sessions yet; `weir run \"your task\"` starts one.");
    }
    let head = ["id", "when (UTC)", "status", "model", "workspace", "title"].map(String::from);
    let row = |meta: &SessionMeta| {
        vec![
            meta.id.to_string(),
            timestamp_text(meta.updated),
            meta.status.clone(),
            one_line(&meta.model),
            one_line(&meta.workspace),
            match child::parent_of(&meta.id) {
                Some((_, call)) => {
                    format!("({} of {call}) {}", meta.profile, one_line(&meta.title))
                }
                None => one_line(&meta.title),
            },
        ]
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(sessions.iter().map(row));
    out_line(&format_table(&rows))
}

async fn show_session(cx: &InstallationContext, args: &SessionsShowArgs) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), &args.session).await?;
    let meta = meta(store.as_ref(), &id).await?;
    let status = session_status(&store, &meta).await?;
    if let Some(most) = args.last {
        let look = EndOfSession { meta, status, most };
        return show_end(store.as_ref(), &look, args.json.json).await;
    }
    let mut whole = WholeSession::default();
    let (mut lines, mut texts) = (Vec::new(), Vec::new());
    let visited = visit_session_facts(store.as_ref(), &id, |fact| {
        whole.apply_fact(fact);
        match (args.json.json, args.all) {
            (true, true) => lines.push(line(&id, fact)),
            (true, false) => (),
            (false, true) => texts.push(whole.line_text(fact)),
            (false, false) => texts.extend(whole.brief_text(fact)),
        }
    });
    visited.await?;
    let summary = whole.into_summary(&meta, status);
    if args.json.json {
        let mut value = json!(summary);
        if args.all {
            value["events"] = Value::Array(lines);
        }
        return out_json(&value);
    }
    out_line(&summary.summary_text())?;
    out_line(&texts.join("\n"))
}

/// The end of a session that is to be shown.
struct EndOfSession {
    meta: SessionMeta,
    status: String,
    /// Entries of its conversation.
    most: usize,
}

/// Shows how a session stands and the end of its conversation. Neither reads the whole journal.
async fn show_end(store: &dyn Store, look: &EndOfSession, as_json: bool) -> anyhow::Result<()> {
    let EndOfSession { meta, status, most } = look;
    let end = SessionEnd::read(store, &meta.id).await?;
    let end =
        end.ok_or_else(|| usage(format!("session {} is no longer in this store", meta.id)))?;
    let summary = end.to_summary(meta, status.clone());
    let entries = read_last_entries(store, &meta.id, &end, *most).await?;
    if as_json {
        let mut value = json!(summary);
        let lines = entries.iter().map(|entry| line(&meta.id, &entry.fact));
        value["events"] = Value::Array(lines.collect());
        return out_json(&value);
    }
    out_line(&summary.summary_text())?;
    out_line(&entries.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>().join("\n"))
}

async fn fork_session(cx: &InstallationContext, args: &SessionsForkArgs) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let source = session_ids::find_session_id(store.as_ref(), &args.session).await?;
    let fork = wiring::new_session_id();
    let engine = wiring::open_engine(cx, "weir sessions fork").await?;
    let copied = engine.fork(&source, fork.clone(), args.at).await;
    let facts = copied.map_err(|error| match error {
        EngineError::Session(why) => usage(format!(
            "{why}; `weir sessions show {source} --all` shows the events, and you can fork after \
             each run.finished"
        )),
        other => engine_failure(other),
    })?;
    if args.json.json {
        return out_json(&json!({ "session": fork, "parent": source, "facts": facts }));
    }
    out_line(&format!("{fork}\nIt has the first {facts} events of {source}. To continue it:"))?;
    out_line(&format!("  weir run --resume {fork} \"…\""))
}

async fn search_sessions(
    cx: &InstallationContext,
    args: &SessionsSearchArgs,
) -> anyhow::Result<()> {
    let store = cx.local_store()?;
    let words = args.words.join(" ");
    let hits = store.search_passages(&words, args.limit).await?;
    if args.json.json {
        return out_json(&hits);
    }
    if hits.is_empty() {
        return out_line(&format!("Nothing contains all of these words: {}", one_line(&words)));
    }
    let rows: Vec<Vec<String>> = hits
        .iter()
        .map(|hit| {
            vec![hit.session.to_string(), format!("event {}", hit.seq), one_line(&hit.snippet)]
        })
        .collect();
    out_line(&format_table(&rows))
}
