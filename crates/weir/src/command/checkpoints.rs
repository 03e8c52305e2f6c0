//! `weir checkpoints`: files as they were before each change (G7).

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_core::governance::filter::one_line;
use weir_core::ids::Timestamp;
use weir_core::tool::PathAccess;
use weir_engine::family;
use weir_engine::ports::{
    CheckpointFilter, CheckpointInfo, Checkpoints as _, Clock as _, StoreError,
};
use weir_engine::ports::{FileContent, SnapshotEntry};
use weir_engine::workspace::{FileError, Workspace};
use weir_install::content_difference;
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::undo::{self, UndoRequest};
use weir_install::wiring::{self, SystemClock};

use super::sessions::{meta, timestamp_text};
use super::undo::{TakeBack, take_back};
use crate::failure::usage;
use crate::options::{
    CheckpointsCommand, CheckpointsDiffArgs, CheckpointsGcArgs, CheckpointsListArgs,
    CheckpointsRestoreArgs,
};
use crate::terminal::{format_table, out_json, out_line};

/// Largest file that is compared, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Characters of a checkpoint's name in lists.
const NAME_CHARS: usize = 10;

/// Does what was asked.
pub(crate) async fn run_checkpoints_command(
    cx: &InstallationContext,
    command: CheckpointsCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        CheckpointsCommand::List(args) => list_checkpoints(cx, &args).await?,
        CheckpointsCommand::Diff(args) => show_checkpoint_diff(cx, &args).await?,
        CheckpointsCommand::Restore(args) => return restore_checkpoint(cx, &args).await,
        CheckpointsCommand::Gc(args) => collect_old_checkpoints(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The beginning of a checkpoint's name.
pub(super) fn short_checkpoint_id(info: &CheckpointInfo) -> String {
    info.id.as_str().chars().take(NAME_CHARS).collect()
}

/// An error about a checkpoint that was named by a person.
fn named_checkpoint_error(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Missing { .. } => {
            usage(format!("{error}; `weir checkpoints list` lists the checkpoints of this folder"))
        }
        other => other.into(),
    }
}

async fn list_checkpoints(
    cx: &InstallationContext,
    args: &CheckpointsListArgs,
) -> anyhow::Result<()> {
    let mut folder = cx.folder.clone();
    let mut session = None;
    if let Some(text) = &args.session {
        let store = cx.local_store()?;
        let id = session_ids::find_session_id(store.as_ref(), text).await?;
        folder = meta(store.as_ref(), &id).await?.workspace.into();
        session = Some(id);
    }
    let found = match session {
        Some(session) => {
            let (there, saved) = (cx.in_folder(&folder)?, wiring::open_checkpoints(cx));
            let mut all = undo::list_session_checkpoints(&there, saved.as_ref(), &session).await?;
            all.truncate(args.limit);
            all
        }
        None => {
            let filter = CheckpointFilter { session: None, limit: Some(args.limit) };
            wiring::open_checkpoints(cx).list(&folder, &filter).await?
        }
    };
    if args.json.json {
        return out_json(&found);
    }
    if found.is_empty() {
        return out_line(&format!("There are no checkpoints of {}.", folder.display()));
    }
    let head = ["checkpoint", "when (UTC)", "session", "run", "call", "paths", "what"];
    let row = |info: &CheckpointInfo| {
        let call = info.call.map_or_else(|| "restore".to_owned(), |call| call.to_string());
        let paths: Vec<&str> = info.changes.iter().map(|change| change.path.as_str()).collect();
        vec![
            short_checkpoint_id(info),
            timestamp_text(info.ts),
            info.session.to_string(),
            info.run.clone(),
            call,
            one_line(&paths.join(", ")),
            one_line(&info.label),
        ]
    };
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(found.iter().map(row));
    out_line(&format_table(&rows))
}

async fn show_checkpoint_diff(
    cx: &InstallationContext,
    args: &CheckpointsDiffArgs,
) -> anyhow::Result<()> {
    let loaded = wiring::open_checkpoints(cx).load(&cx.folder, &args.checkpoint).await;
    let (info, entries) = loaded.map_err(named_checkpoint_error)?;
    let workspace = cx.open_workspace()?;
    let only = resolve_named_paths(&workspace, &args.paths, &[&info])?;
    let mut shown = Vec::new();
    for SnapshotEntry { path, before, after } in entries {
        if !only.is_empty() && !only.contains(&path) {
            continue;
        }
        let other = if args.call { after } else { read_present_content(&workspace, &path)? };
        let text = content_difference::render_unified_diff(&path, &before, &other);
        let change = content_difference::compare_path_contents(&before, &other);
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
        true if args.call => out_line("The call changed nothing."),
        true => out_line("No differences: the files are as they were before."),
        false => out_line(&content_difference::make_diff_visible(&text)),
    }
}

/// What is there now; a file that may not be read is an error.
fn read_present_content(workspace: &Workspace, path: &str) -> anyhow::Result<FileContent> {
    // Deleting is the access that looks at a link itself and not at what it leads to.
    let at = workspace.resolve(path, PathAccess::Delete);
    match workspace.read(&at, FILE_BYTES_MAX) {
        Ok(content) => Ok(content),
        Err(FileError::NotFound { .. }) => Ok(FileContent::Absent),
        Err(error) => Err(error.into()),
    }
}

/// The paths that a person named, as checkpoints name them.
///
/// # Errors
/// None of `checkpoints` has such a path.
pub(super) fn resolve_named_paths(
    workspace: &Workspace,
    paths: &[String],
    checkpoints: &[&CheckpointInfo],
) -> anyhow::Result<Vec<String>> {
    let mut wanted = Vec::new();
    for path in paths {
        let found = workspace.resolve(path, PathAccess::Delete).path;
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

async fn restore_checkpoint(
    cx: &InstallationContext,
    args: &CheckpointsRestoreArgs,
) -> anyhow::Result<ExitCode> {
    let saved = wiring::open_checkpoints(cx);
    let loaded = saved.load(&cx.folder, &args.checkpoint).await;
    let (info, _) = loaded.map_err(named_checkpoint_error)?;
    let workspace = cx.open_workspace()?;
    let only = resolve_named_paths(&workspace, &args.paths, &[&info])?;
    let request = UndoRequest {
        // The agent that goes on is told, not the one that is done.
        session: family::root_session(&info.session),
        run: info.run.clone(),
        call: info.call.filter(|_| family::root_session(&info.session) == info.session),
        checkpoints: vec![info],
        only,
        merge: args.merge,
    };
    let (brings_back, dry_run, json) = (false, args.dry_run, args.json.json);
    take_back(cx, saved.as_ref(), TakeBack { request, brings_back, dry_run, json }).await
}

async fn collect_old_checkpoints(
    cx: &InstallationContext,
    args: &CheckpointsGcArgs,
) -> anyhow::Result<()> {
    let age = i64::try_from(args.older_than.ms).unwrap_or(i64::MAX).saturating_mul(1000);
    let before = Timestamp(SystemClock::default().now().micros().saturating_sub(age));
    let folder: &Path = &cx.folder;
    let removed =
        wiring::open_checkpoints(cx).collect_old_snapshots(folder, before, args.max_bytes).await?;
    if args.json.json {
        return out_json(&json!({ "removed": removed }));
    }
    out_line(&format!("Removed {removed} checkpoint(s) of {}.", folder.display()))
}
