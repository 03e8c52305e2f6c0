//! What became of a call that had started when the program ended (D4).

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::session::CallState;
use weir_core::tool::{
    EffectClass, Effects, FileState, Inspection, PathAccess, PlannedChange, RawResult,
};

use crate::blocking::run_blocking;
use crate::ports::{CheckpointFilter, CommandEnd, CommandOutcome, CommandTrace, FileContent};
use crate::worker_context::WorkerContext;
use crate::workspace::Workspace;

/// What the disk says about a set of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DiskState {
    /// Every path is as it will be after.
    After,
    /// Every path is as it was before.
    Before,
    /// Some are, some are not yet: these are left.
    Partly(Vec<PlannedChange>),
    /// This path is neither.
    Neither(String),
}

/// What was found out about a call.
pub(crate) enum ReconciledOutcome {
    /// It did not happen, and can be made: why that is so.
    NotRun(String),
    /// It happened: what it gives.
    Result(RawResult),
    /// Its command ended while the program was away, so many milliseconds after it had begun: what it
    /// gives once it is known what the command changed.
    Ended { raw: RawResult, after_ms: u64 },
    /// Nobody knows what its command did, or when it ended: why. What is different can be taken back.
    Unwatched(String),
    /// Nothing can be told about it: why.
    Lost(String),
}

/// Finds out, by the call's class.
pub(crate) async fn look_after_crash(
    context: &WorkerContext,
    call: &CallState,
) -> ReconciledOutcome {
    let class = call.inspection.as_ref().map_or(EffectClass::Once, |i| i.class);
    match class {
        EffectClass::Read => ReconciledOutcome::NotRun("it only reads".into()),
        // It is run again without being looked at; its steps are looked at one by one.
        EffectClass::Program => ReconciledOutcome::NotRun("its steps stand in the journal".into()),
        EffectClass::File => look_at_files(context, call).await,
        EffectClass::Process => look_at_process(context, call).await,
        EffectClass::Keyed => ReconciledOutcome::NotRun(
            "it may have happened, and repeating it does nothing twice".into(),
        ),
        // Nothing can be told about them: what was asked for may have been made, and may be charged for.
        EffectClass::Queryable | EffectClass::Once => {
            let why = "the program ended while it ran, and it cannot be asked".to_owned();
            match call.changes_unknown() {
                true => ReconciledOutcome::Unwatched(why),
                false => ReconciledOutcome::Lost(why),
            }
        }
    }
}

async fn look_at_files(context: &WorkerContext, call: &CallState) -> ReconciledOutcome {
    let Some(inspection) = call.inspection.clone() else {
        return ReconciledOutcome::Lost("what it would change was not recorded".into());
    };
    let changes = inspection.effects.changes.clone();
    let workspace = context.workspace.clone();
    let look = move || {
        workspace.sweep_leftovers(&changes);
        compare_with_disk(&workspace, &changes)
    };
    let state = match run_blocking(look).await {
        Ok(Ok(state)) => state,
        Ok(Err(why)) => return ReconciledOutcome::Lost(why),
        Err(_) => return ReconciledOutcome::Lost("the files could not be looked at".into()),
    };
    match state {
        DiskState::Before => {
            ReconciledOutcome::NotRun("the files are as they were before it".into())
        }
        DiskState::After => {
            ReconciledOutcome::Result(confirmed_result(&inspection.effects.changes))
        }
        DiskState::Neither(path) => ReconciledOutcome::Lost(format!(
            "{path} is neither as it was before nor as it would be after"
        )),
        DiskState::Partly(left) => match roll_forward(context, call, left).await {
            Ok(()) => ReconciledOutcome::Result(confirmed_result(&inspection.effects.changes)),
            Err(why) => {
                ReconciledOutcome::Lost(format!("it was done in part and not completed: {why}"))
            }
        },
    }
}

fn confirmed_result(changes: &[PlannedChange]) -> RawResult {
    let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
    let text = format!(
        "Done. The program was restarted meanwhile; that the change was made was confirmed on \
         the disk: {}.",
        paths.join(", ")
    );
    RawResult { changed: paths, ..RawResult::ok(text) }
}

/// Makes the changes that are left, from the contents that the checkpoint kept.
async fn roll_forward(
    context: &WorkerContext,
    call: &CallState,
    left: Vec<PlannedChange>,
) -> Result<(), String> {
    let root = context.workspace.root().to_path_buf();
    let filter = CheckpointFilter { session: Some(context.session.clone()), limit: None };
    let checkpoints = &context.parts.checkpoints;
    let listed = checkpoints.list(&root, &filter).await.map_err(|e| e.to_string())?;
    let info = listed.into_iter().find(|info| info.call == Some(call.id));
    let info = info.ok_or("its checkpoint is missing")?;
    let loaded = checkpoints.load(&root, info.id.as_str()).await;
    let (_, entries) = loaded.map_err(|e| e.to_string())?;
    let mut contents = BTreeMap::new();
    for entry in entries {
        if let FileContent::File { bytes, .. } = entry.after {
            contents.insert(entry.path, bytes);
        }
    }
    let workspace = context.workspace.clone();
    let apply = move || workspace.apply_changes(&left, &contents);
    let applied = run_blocking(apply).await;
    applied.map_err(|_| "writing failed".to_string())?.map_err(|e| e.to_string())?;
    Ok(())
}

async fn look_at_process(context: &WorkerContext, call: &CallState) -> ReconciledOutcome {
    match context.parts.processes.command_trace(&context.session, call.id).await {
        CommandTrace::NeverStarted => {
            ReconciledOutcome::NotRun("its supervisor never began".into())
        }
        CommandTrace::Ended(outcome) => ReconciledOutcome::Ended {
            raw: ended_command_result(&outcome),
            after_ms: outcome.duration_ms,
        },
        CommandTrace::Unknown { why } => ReconciledOutcome::Unwatched(why),
    }
}

/// What the model reads about a command that ended while the program was away.
fn ended_command_result(outcome: &CommandOutcome) -> RawResult {
    let (ok, how) = match &outcome.end {
        CommandEnd::Exited { code } => (*code == 0, format!("it exited with {code}")),
        CommandEnd::Signaled { signal } => (false, format!("signal {signal} ended it")),
        CommandEnd::TimedOut => (false, "its time was over".into()),
        CommandEnd::Cancelled => (false, "it was cancelled".into()),
        CommandEnd::Orphaned => (
            false,
            "it was ended because the program went away; it ran in part, so verify what it did"
                .into(),
        ),
        CommandEnd::NotStarted { why } => (false, format!("it could not be started: {why}")),
    };
    let text = format!(
        "The program was restarted while the command ran; {how} after {} ms.\n{}",
        outcome.duration_ms, outcome.output
    );
    let raw = if ok { RawResult::ok(text) } else { RawResult::error(text) };
    RawResult { full_bytes: Some(outcome.bytes), ..raw }
}

fn compare_with_disk(
    workspace: &Workspace,
    changes: &[PlannedChange],
) -> Result<DiskState, String> {
    let mut left = Vec::new();
    for change in changes {
        let at = workspace.resolve(&change.path, PathAccess::Delete);
        let image = workspace.path_image(&at).map_err(|error| error.to_string())?;
        if image == change.after {
            continue;
        }
        // What an editor has not saved yet may be what it was judged on: it is saved before anything is written.
        if image != change.before && !workspace.has_unsaved(&at, &change.before) {
            return Ok(DiskState::Neither(change.path.clone()));
        }
        left.push(change.clone());
    }
    Ok(match left.len() {
        0 => DiskState::After,
        n if n == changes.len() => DiskState::Before,
        _ => DiskState::Partly(left),
    })
}

/// The content a change leaves, from the new bytes of files.
pub(crate) fn content_after(
    change: &PlannedChange,
    contents: &BTreeMap<String, Arc<[u8]>>,
) -> Option<FileContent> {
    Some(match &change.after {
        FileState::Absent => FileContent::Absent,
        FileState::Folder => FileContent::Folder,
        FileState::Link { target } => FileContent::Link { target: target.clone() },
        FileState::File { mode, .. } => {
            FileContent::File { bytes: contents.get(&change.path)?.clone(), mode: *mode }
        }
    })
}

/// What is assumed of a call about which nothing could be found out.
pub(crate) fn unknown_inspection(tool: &str) -> Inspection {
    Inspection::new(
        EffectClass::Once,
        Effects { unknown: true, ..Effects::default() },
        format!("Call {tool}, whose effects are unknown"),
    )
}
