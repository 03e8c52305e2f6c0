//! `weir checkpoints`: files as they were before each change (G7).

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_core::governance::filter::one_line;
use weir_core::ids::Timestamp;
use weir_core::tool::Access;
use weir_engine::family;
use weir_engine::ports::{
    CheckpointFilter, CheckpointInfo, Checkpoints as _, Clock as _, StoreError,
};
use weir_engine::ports::{Content, SnapshotEntry};
use weir_engine::workspace::{FileError, Workspace};
use weir_install::cx::Cx;
use weir_install::session_ids;
use weir_install::wiring::{self, SystemClock};

use super::sessions::{meta, moment};
use super::undo::{TakeBack, take_back, with_agents};
use crate::failure::usage;
use crate::options::{
    CheckpointsCommand, CheckpointsDiffArgs, CheckpointsGcArgs, CheckpointsListArgs,
    CheckpointsRestoreArgs,
};
use crate::terminal::{out, out_json, table};

pub(crate) mod difference;

/// Largest file that is compared, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Characters of a checkpoint's name in lists.
const NAME_CHARS: usize = 10;

/// Does what was asked.
pub(crate) async fn checkpoints(cx: &Cx, command: CheckpointsCommand) -> anyhow::Result<ExitCode> {
    match command {
        CheckpointsCommand::List(args) => list(cx, &args).await?,
        CheckpointsCommand::Diff(args) => diff(cx, &args).await?,
        CheckpointsCommand::Restore(args) => return restore(cx, &args).await,
        CheckpointsCommand::Gc(args) => collect(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The beginning of a checkpoint's name.
pub(super) fn short(info: &CheckpointInfo) -> String {
    info.id.as_str().chars().take(NAME_CHARS).collect()
}

/// An error about a checkpoint that was named by a person.
fn named(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Missing { .. } => {
            usage(format!("{error}; `weir checkpoints list` lists the checkpoints of this folder"))
        }
        other => other.into(),
    }
}

async fn list(cx: &Cx, args: &CheckpointsListArgs) -> anyhow::Result<()> {
    let mut folder = cx.folder.clone();
    let mut session = None;
    if let Some(text) = &args.session {
        let store = cx.store()?;
        let id = session_ids::find(store.as_ref(), text).await?;
        folder = meta(store.as_ref(), &id).await?.workspace.into();
        session = Some(id);
    }
    let found = match session {
        Some(session) => {
            let mut all = with_agents(&cx.at(&folder)?, &session).await?;
            all.truncate(args.limit);
            all
        }
        None => {
            let filter = CheckpointFilter { session: None, limit: Some(args.limit) };
            wiring::checkpoints(cx).list(&folder, &filter).await?
        }
    };
    if args.json.json {
        return out_json(&found);
    }
    if found.is_empty() {
        return out(&format!("There are no checkpoints of {}.", folder.display()));
    }
    let head = ["checkpoint", "when (UTC)", "session", "run", "call", "paths", "what"];
    let row = |info: &CheckpointInfo| {
        let call = info.call.map_or_else(|| "restore".to_owned(), |call| call.to_string());
        let paths: Vec<&str> = info.changes.iter().map(|change| change.path.as_str()).collect();
        vec![
            short(info),
            moment(info.ts),
            info.session.to_string(),
            info.run.clone(),
            call,
            one_line(&paths.join(", ")),
            one_line(&info.label),
        ]
    };
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(found.iter().map(row));
    out(&table(&rows))
}

async fn diff(cx: &Cx, args: &CheckpointsDiffArgs) -> anyhow::Result<()> {
    let loaded = wiring::checkpoints(cx).load(&cx.folder, &args.checkpoint).await;
    let (info, entries) = loaded.map_err(named)?;
    let workspace = cx.workspace()?;
    let only = wanted(&workspace, &args.paths, &[&info])?;
    let mut shown = Vec::new();
    for SnapshotEntry { path, before, after } in entries {
        if !only.is_empty() && !only.contains(&path) {
            continue;
        }
        let other = if args.call { after } else { now(&workspace, &path)? };
        let text = difference::unified(&path, &before, &other);
        let change = difference::change(&before, &other);
        shown.push((path, change, text));
    }
    if args.json.json {
        let rows = shown.iter().filter(|(_, _, text)| !text.is_empty());
        let rows = rows
            .map(|(path, change, text)| json!({ "path": path, "change": change, "diff": text }));
        let rows: Vec<_> = rows.collect();
        return out_json(&json!({ "checkpoint": info.id, "session": info.session, "files": rows }));
    }
    let text: String = shown.into_iter().map(|(_, _, text)| text).collect();
    match text.is_empty() {
        true if args.call => out("The call changed nothing."),
        true => out("No differences: the files are as they were before."),
        false => out(&difference::visible(&text)),
    }
}

/// What is there now; a file that may not be read is an error.
fn now(workspace: &Workspace, path: &str) -> anyhow::Result<Content> {
    // Deleting is the access that looks at a link itself and not at what it leads to.
    let at = workspace.resolve(path, Access::Delete);
    match workspace.read(&at, FILE_BYTES_MAX) {
        Ok(content) => Ok(content),
        Err(FileError::NotFound { .. }) => Ok(Content::Absent),
        Err(error) => Err(error.into()),
    }
}

/// The paths that a person named, as checkpoints name them.
///
/// # Errors
/// None of `checkpoints` has such a path.
pub(super) fn wanted(
    workspace: &Workspace,
    paths: &[String],
    checkpoints: &[&CheckpointInfo],
) -> anyhow::Result<Vec<String>> {
    let mut wanted = Vec::new();
    for path in paths {
        let found = workspace.resolve(path, Access::Delete).path;
        let changes = checkpoints.iter().flat_map(|info| &info.changes);
        if changes.clone().any(|change| change.path == found) {
            wanted.push(found);
            continue;
        }
        let there: Vec<&str> = changes.map(|change| change.path.as_str()).take(20).collect();
        return Err(usage(format!(
            "{path} is not in the checkpoint, which contains: {}",
            there.join(", ")
        )));
    }
    Ok(wanted)
}

async fn restore(cx: &Cx, args: &CheckpointsRestoreArgs) -> anyhow::Result<ExitCode> {
    let loaded = wiring::checkpoints(cx).load(&cx.folder, &args.checkpoint).await;
    let (info, _) = loaded.map_err(named)?;
    let workspace = cx.workspace()?;
    let only = wanted(&workspace, &args.paths, &[&info])?;
    let back = TakeBack {
        // The agent that goes on is told, not the one that is done.
        session: family::root(&info.session),
        run: info.run.clone(),
        call: info.call.filter(|_| family::root(&info.session) == info.session),
        checkpoints: vec![info],
        only,
        merge: args.merge,
        dry_run: args.dry_run,
        json: args.json.json,
    };
    take_back(cx, back).await
}

async fn collect(cx: &Cx, args: &CheckpointsGcArgs) -> anyhow::Result<()> {
    let age = i64::try_from(args.older_than.ms).unwrap_or(i64::MAX).saturating_mul(1000);
    let before = Timestamp(SystemClock::default().now().micros().saturating_sub(age));
    let folder: &Path = &cx.folder;
    let removed = wiring::checkpoints(cx).collect(folder, before, args.max_bytes).await?;
    if args.json.json {
        return out_json(&json!({ "removed": removed }));
    }
    out(&format!("Removed {removed} checkpoint(s) of {}.", folder.display()))
}
