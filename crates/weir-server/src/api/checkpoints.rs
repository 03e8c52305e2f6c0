//! Files as they were before calls (G7): list, look, take back with preview.

use std::collections::BTreeSet;
use std::path::Path as FsPath;
use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use weir_core::event::CheckpointRestored;
use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};
use weir_core::sorting::sort_stably_by_key;
use weir_engine::family;
use weir_engine::ports::{CheckpointInfo, FileContent, SessionMeta};
use weir_engine::rewind;
use weir_engine::text_diff::{render_named_diff, render_unified_diff};
use weir_engine::undo::{self, Merge, RestorePlan, UndoConflict};
use weir_install::content_difference::{content_as_text, describe_stored_form};
use weir_install::user_space::UserSpace;

use super::approvals::parse_approval_address;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::{CallerSession, CallerSpace};
use crate::route::Route;

/// Most bytes of a difference that is shown.
const DIFF_BYTES_MAX: usize = 1 << 20;
/// Most lines of both sides for which a difference is made.
const DIFF_LINES_MAX: usize = 50_000;
/// Lines around a change.
const CONTEXT_LINES: usize = 3;

/// The routes of this file.
pub(crate) fn checkpoint_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/sessions/{id}/checkpoints", list_checkpoints)
            .summary("What was saved before this session and its sub-agents changed files")
            .gives_json::<Vec<CheckpointSummary>>(200),
        Route::get("/api/v1/checkpoints/{id}", show_checkpoint)
            .summary("One checkpoint, with what its call changed")
            .gives_json::<CheckpointChanges>(200),
        Route::post("/api/v1/checkpoints/{id}/restore", restore_checkpoint)
            .summary("Take changes back; with `preview` only say what that would do")
            .body::<RestoreBody>()
            .gives_json::<RestoreReport>(200),
    ]
}

/// A checkpoint in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CheckpointSummary {
    /// By which it is addressed: `SESSION.CHECKPOINT`.
    pub(crate) id: String,
    /// Whose call it was.
    pub(crate) session: SessionId,
    /// In which run.
    pub(crate) run: String,
    /// Before which call; `null`: before changes were taken back.
    pub(crate) call: Option<CallId>,
    /// When it was saved.
    pub(crate) at: Timestamp,
    /// What the call did.
    pub(crate) label: String,
    /// The paths that were changed.
    pub(crate) paths: Vec<String>,
}

/// What became of one path.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PathChange {
    /// The path.
    pub(crate) path: String,
    /// `created`, `deleted`, `changed` or `same`.
    pub(crate) what: String,
    /// Unified diff, where both sides are text and not too large.
    pub(crate) diff: Option<String>,
}

/// A checkpoint with what its call changed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CheckpointChanges {
    /// As in lists.
    #[serde(flatten)]
    pub(crate) checkpoint: CheckpointSummary,
    /// What the call changed.
    pub(crate) changes: Vec<PathChange>,
}

/// What is to be taken back.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RestoreBody {
    /// Change nothing, say what would be done.
    pub(crate) preview: bool,
    /// All changes of the checkpoint's run.
    pub(crate) whole_run: bool,
    /// All changes from this checkpoint on, of later runs too.
    pub(crate) onwards: bool,
    /// Only these paths; empty: all.
    pub(crate) paths: Vec<String>,
    /// Where somebody changed a file since and both changes fit together, write both.
    pub(crate) merge: bool,
}

/// A path that somebody changed since, and that is left alone.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RestoreConflict {
    /// The path.
    pub(crate) path: String,
    /// `clean` (with `merge` both changes are written), `overlaps`, or `impossible`.
    pub(crate) merge: String,
}

/// What was, or would be, taken back.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RestoreReport {
    /// Nothing was changed.
    pub(crate) preview: bool,
    /// Paths that are put back, with the change.
    pub(crate) changes: Vec<PathChange>,
    /// Paths that are left alone.
    pub(crate) conflicts: Vec<RestoreConflict>,
    /// Paths that are as they were already.
    pub(crate) already: Vec<String>,
    /// The checkpoint that takes this back.
    pub(crate) checkpoint: Option<String>,
}

fn checkpoint_summary(info: &CheckpointInfo) -> CheckpointSummary {
    CheckpointSummary {
        id: format!("{}.{}", info.session, info.id),
        session: info.session.clone(),
        run: info.run.clone(),
        call: info.call,
        at: info.ts,
        label: info.label.clone(),
        paths: info.changes.iter().map(|change| change.path.clone()).collect(),
    }
}

/// Checkpoints of a session and its sub-agents, newest first, each with the run of the topmost
/// session that it was made for.
///
/// # Errors
/// They cannot be read.
pub(crate) async fn of_session(
    space: &Arc<UserSpace>,
    meta: &SessionMeta,
) -> HandlerResult<Vec<CheckpointInfo>> {
    let (store, id) = (space.store(), &meta.id);
    let checkpoints = space.engine().await?.parts().checkpoints.clone();
    let folder = FsPath::new(&meta.workspace);
    Ok(rewind::session_checkpoints(store.as_ref(), checkpoints.as_ref(), folder, id).await?)
}

async fn list_checkpoints(
    CallerSession { owner, meta, .. }: CallerSession,
) -> HandlerResult<Json<Vec<CheckpointSummary>>> {
    let CallerSpace { space, .. } = &owner;
    Ok(Json(of_session(space, &meta).await?.iter().map(checkpoint_summary).collect()))
}

/// A checkpoint of this person's, its topmost session, and all of that session's.
async fn find_checkpoint(
    owner: &CallerSpace,
    id: &str,
) -> HandlerResult<(CheckpointInfo, SessionMeta, Vec<CheckpointInfo>)> {
    let CallerSpace { space, .. } = owner;
    let missing = || ProblemDetails::not_found(format!("checkpoint {id}"));
    let (session, _) = parse_approval_address(id)?;
    let name = id.strip_prefix(session.as_str()).and_then(|rest| rest.get(1..));
    let name = CheckpointId::new(name.ok_or_else(missing)?);
    let top = owner.find_session(&family::root_session(&session)).await?;
    let all = of_session(space, &top).await?;
    let is_it = |info: &&CheckpointInfo| info.id == name && info.session == session;
    let info = all.iter().find(is_it).cloned().ok_or_else(missing)?;
    Ok((info, top, all))
}

async fn show_checkpoint(
    owner: CallerSpace,
    Path(id): Path<String>,
) -> HandlerResult<Json<CheckpointChanges>> {
    let CallerSpace { space, .. } = &owner;
    let (info, top, _) = find_checkpoint(&owner, &id).await?;
    let checkpoints = space.engine().await?.parts().checkpoints.clone();
    let loaded = checkpoints.load(FsPath::new(&top.workspace), info.id.as_str()).await?;
    let entries = loaded.1.into_iter();
    let changes = entries
        .map(|entry| describe_path_change(&entry.path, &entry.before, &entry.after))
        .collect();
    Ok(Json(CheckpointChanges { checkpoint: checkpoint_summary(&info), changes }))
}

/// What becomes of a path that held `old` when it holds `new`.
pub(crate) fn describe_path_change(path: &str, old: &FileContent, new: &FileContent) -> PathChange {
    let what = match (old, new) {
        _ if old == new => "same",
        (FileContent::Absent, _) => "created",
        (_, FileContent::Absent) => "deleted",
        _ => "changed",
    };
    PathChange { path: path.to_owned(), what: what.into(), diff: diff_contents(path, old, new) }
}

fn diff_contents(path: &str, old: &FileContent, new: &FileContent) -> Option<String> {
    let (old_text, new_text) = (content_as_text(old)?, content_as_text(new)?);
    if old_text.lines().count() + new_text.lines().count() > DIFF_LINES_MAX {
        return None;
    }
    let unified = match describe_stored_form(old, new) {
        Some(form) if old != new => {
            let hunks = render_unified_diff(&old_text, &new_text, CONTEXT_LINES);
            format!("--- {path}\n+++ {path}\n{form}\n{hunks}")
        }
        Some(_) | None => render_named_diff([path, path], &old_text, &new_text),
    };
    (unified.len() <= DIFF_BYTES_MAX).then_some(unified)
}

async fn restore_checkpoint(
    owner: CallerSpace,
    Path(id): Path<String>,
    Json(body): Json<RestoreBody>,
) -> HandlerResult<Json<RestoreReport>> {
    Ok(Json(taken_back(&owner, &id, body).await?))
}

/// Takes changes back, or says what that would do.
///
/// # Errors
/// No such checkpoint of this person's; a run is on; files cannot be read or written.
pub(crate) async fn taken_back(
    owner: &CallerSpace,
    id: &str,
    body: RestoreBody,
) -> HandlerResult<RestoreReport> {
    let (info, top, all) = find_checkpoint(owner, id).await?;
    let chosen: Vec<CheckpointInfo> = match (body.onwards, body.whole_run) {
        // What was taken back since is a change like any other.
        (true, _) => all.into_iter().filter(|i| i.ts >= info.ts).collect(),
        (false, true) => {
            all.into_iter().filter(|i| i.call.is_some() && i.run == info.run).collect()
        }
        (false, false) => vec![info.clone()],
    };
    let one = !body.whole_run && !body.onwards;
    let call = info.call.filter(|_| one && info.session == top.id);
    put_back(owner, &top, TakeBack { chosen, run: info.run, call, body }).await
}

/// What is taken back.
pub(crate) struct TakeBack {
    /// These changes.
    pub(crate) chosen: Vec<CheckpointInfo>,
    /// In the name of this run.
    pub(crate) run: String,
    /// Where they are those of one call: of which.
    pub(crate) call: Option<CallId>,
    /// The choices of the request.
    pub(crate) body: RestoreBody,
}

/// Takes changes of files back in the name of a session, or says what that would do.
///
/// # Errors
/// A run is on; files cannot be read or written.
pub(crate) async fn put_back(
    owner: &CallerSpace,
    top: &SessionMeta,
    TakeBack { mut chosen, run, call, body }: TakeBack,
) -> HandlerResult<RestoreReport> {
    let CallerSpace { app, caller, space } = owner;
    // Oldest first: what was there before the first of several changes comes back.
    sort_stably_by_key(&mut chosen, |info| info.ts);
    let touched: BTreeSet<&str> =
        chosen.iter().flat_map(|i| &i.changes).map(|change| change.path.as_str()).collect();
    if let Some(path) = body.paths.iter().find(|path| !touched.contains(path.as_str())) {
        return Err(ProblemDetails::bad_request(format!(
            "{path} is none of the paths that were changed"
        )));
    }
    let workspace = space.workspace(Some(&top.workspace))?;
    let parts = space.engine().await?.parts().clone();
    let checkpoints = parts.checkpoints.as_ref();
    if !body.preview {
        // Nobody works on the files meanwhile.
        app.sessions
            .free_idle_session(owner.session_request(&top.id), caller.journal_name())
            .await?;
    }
    let plan = undo::compute_restore_plan(checkpoints, &workspace, &chosen, &body.paths);
    let mut plan = plan.await.map_err(problem_from_undo_error)?;
    if body.merge {
        plan.accept_merges();
    }
    let mut done = restore_report(&plan, body.preview);
    if body.preview {
        return Ok(done);
    }
    let conflicts = plan.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let origin = undo::RestoreOrigin { session: top.id.clone(), run, ts: app.current_time() };
    let applied = undo::perform_restore(checkpoints, &workspace, plan, origin)
        .await
        .map_err(problem_from_undo_error)?;
    let Some((checkpoint, paths)) = applied else { return Ok(done) };
    done.checkpoint = Some(format!("{}.{checkpoint}", top.id));
    let fact = CheckpointRestored { checkpoint, call, paths, conflicts, by: caller.journal_name() };
    app.sessions.record_restore(owner.session_request(&top.id), fact).await?;
    Ok(done)
}

/// Why files could not be compared or put back, for people.
pub(crate) fn problem_from_undo_error(error: undo::UndoError) -> ProblemDetails {
    match error {
        undo::UndoError::Store(error) => error.into(),
        undo::UndoError::File(error) => ProblemDetails::conflict(error.to_string()),
    }
}

fn restore_report(plan: &RestorePlan, preview: bool) -> RestoreReport {
    let entries = plan.entries.iter();
    let conflicting = |conflict: &UndoConflict| RestoreConflict {
        path: conflict.path.clone(),
        merge: match &conflict.merged {
            Some(Merge::Clean(_)) => "clean",
            Some(Merge::Marked(_)) => "overlaps",
            None => "impossible",
        }
        .into(),
    };
    RestoreReport {
        preview,
        changes: entries.map(|e| describe_path_change(&e.path, &e.before, &e.after)).collect(),
        conflicts: plan.conflicts.iter().map(conflicting).collect(),
        already: plan.already.clone(),
        checkpoint: None,
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::utf16::ByteOrder;

    use super::*;

    #[test]
    fn g7_what_would_be_put_back_is_shown_in_utf_16_too_and_with_a_form_that_changes() {
        let file = |bytes: &[u8]| FileContent::File { bytes: bytes.into(), mode: 0o644 };
        let shown = |old: &FileContent, new: &FileContent| describe_path_change("x", old, new).diff;
        let [old, new] = ["a\n", "b\n"].map(|text| file(&ByteOrder::Big.encode(text)));
        let head = "--- x\n+++ x\n";
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(shown(&old, &new), Some(format!("{head}Stored as UTF-16BE, LF\n{hunk}")));
        assert_eq!(shown(&old, &old), Some(String::new()));
        let (plain, marked) = (file(b"a\n"), file(b"\xef\xbb\xbfa\n"));
        let mark = "Stored as UTF-8, LF (before: UTF-8 with BOM, LF)\n";
        assert_eq!(shown(&marked, &plain), Some(format!("{head}{mark}")));
        assert_eq!(shown(&plain, &file(b"b\n")), Some(format!("{head}{hunk}")));
        assert_eq!(shown(&plain, &file(b"\0")), None);
    }
}
