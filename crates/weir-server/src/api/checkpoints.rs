//! Files as they were before calls (G7): list, look, take back with preview.

use std::collections::BTreeSet;
use std::path::Path as FsPath;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::event::CheckpointRestored;
use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};
use weir_engine::family;
use weir_engine::ports::{CheckpointInfo, Content};
use weir_engine::rewind;
use weir_engine::undo::{self, Conflict, Merge, Restore};
use weir_install::user_space::UserSpace;

use super::approvals::addressed;
use super::sessions::own;
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;

/// Most bytes of a difference that is shown.
const DIFF_BYTES_MAX: usize = 1 << 20;
/// Most lines of both sides for which a difference is made.
const DIFF_LINES_MAX: usize = 50_000;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/sessions/{id}/checkpoints", list)
            .summary("What was saved before this session and its sub-agents changed files")
            .gives::<Vec<Checkpoint>>(200),
        Route::get("/api/v1/checkpoints/{id}", show)
            .summary("One checkpoint, with what its call changed")
            .gives::<CheckpointChanges>(200),
        Route::post("/api/v1/checkpoints/{id}/restore", restore)
            .summary("Take changes back; with `preview` only say what that would do")
            .body::<RestoreBody>()
            .gives::<Restored>(200),
    ]
}

/// A checkpoint in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Checkpoint {
    /// By which it is addressed: `SESSION.CHECKPOINT`.
    pub(crate) id: String,
    /// Whose call it was.
    pub(crate) session: SessionId,
    /// In which run.
    pub(crate) run: String,
    /// Before which call; `null`: before changes were taken back.
    pub(crate) call: Option<CallId>,
    /// When.
    pub(crate) at: Timestamp,
    /// What the call did.
    pub(crate) label: String,
    /// Which paths.
    pub(crate) paths: Vec<String>,
}

/// What became of one path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct PathChange {
    /// The path.
    pub(crate) path: String,
    /// `created`, `deleted`, `changed` or `same`.
    pub(crate) what: String,
    /// Unified diff, where both sides are text and not too large.
    pub(crate) diff: Option<String>,
}

/// A checkpoint with what its call changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct CheckpointChanges {
    /// As in lists.
    #[serde(flatten)]
    pub(crate) checkpoint: Checkpoint,
    /// What the call changed.
    pub(crate) changes: Vec<PathChange>,
}

/// What is to be taken back.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Conflicting {
    /// The path.
    pub(crate) path: String,
    /// `clean` (with `merge` both changes are written), `overlaps`, or `impossible`.
    pub(crate) merge: String,
}

/// What was, or would be, taken back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Restored {
    /// Nothing was changed.
    pub(crate) preview: bool,
    /// Paths that are put back, with the change.
    pub(crate) changes: Vec<PathChange>,
    /// Paths that are left alone.
    pub(crate) conflicts: Vec<Conflicting>,
    /// Paths that are as they were already.
    pub(crate) already: Vec<String>,
    /// The checkpoint that takes this back.
    pub(crate) checkpoint: Option<String>,
}

fn shown(info: &CheckpointInfo) -> Checkpoint {
    Checkpoint {
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
    home: &Arc<UserSpace>,
    id: &SessionId,
) -> Answer<Vec<CheckpointInfo>> {
    let store = home.store();
    let meta = store.meta(id).await?.ok_or_else(|| Problem::missing(format!("session {id}")))?;
    let checkpoints = home.engine().await?.parts().checkpoints.clone();
    let folder = FsPath::new(&meta.workspace);
    Ok(rewind::saved(store.as_ref(), checkpoints.as_ref(), folder, id).await?)
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Json<Vec<Checkpoint>>> {
    let id = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    Ok(Json(of_session(&home, &id).await?.iter().map(shown).collect()))
}

/// A checkpoint of this person's, its topmost session, and all of that session's.
async fn found(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Answer<(CheckpointInfo, SessionId, Vec<CheckpointInfo>)> {
    let missing = || Problem::missing(format!("checkpoint {id}"));
    let (session, _) = addressed(id)?;
    let name = id.strip_prefix(session.as_str()).and_then(|rest| rest.get(1..));
    let name = CheckpointId::new(name.ok_or_else(missing)?);
    let top = own(app, caller, family::root(&session).as_str()).await?;
    let home = app.home(&caller.person).await?;
    let all = of_session(&home, &top).await?;
    let is_it = |info: &&CheckpointInfo| info.id == name && info.session == session;
    let info = all.iter().find(is_it).cloned().ok_or_else(missing)?;
    Ok((info, top, all))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Json<CheckpointChanges>> {
    let (info, top, _) = found(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let meta = home.store().meta(&top).await?.ok_or_else(|| Problem::missing("its session"))?;
    let checkpoints = home.engine().await?.parts().checkpoints.clone();
    let loaded = checkpoints.load(FsPath::new(&meta.workspace), info.id.as_str()).await?;
    let entries = loaded.1.into_iter();
    let changes = entries.map(|entry| change(&entry.path, &entry.before, &entry.after)).collect();
    Ok(Json(CheckpointChanges { checkpoint: shown(&info), changes }))
}

/// What becomes of a path that held `old` when it holds `new`.
pub(crate) fn change(path: &str, old: &Content, new: &Content) -> PathChange {
    let what = match (old, new) {
        _ if old == new => "same",
        (Content::Absent, _) => "created",
        (_, Content::Absent) => "deleted",
        _ => "changed",
    };
    PathChange { path: path.to_owned(), what: what.into(), diff: diff(path, old, new) }
}

fn text(content: &Content) -> Option<&str> {
    match content {
        Content::Absent => Some(""),
        Content::File { bytes, .. } => {
            std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
        }
        Content::Folder | Content::Link { .. } => None,
    }
}

fn diff(path: &str, old: &Content, new: &Content) -> Option<String> {
    let (old, new) = (text(old)?, text(new)?);
    if old.lines().count() + new.lines().count() > DIFF_LINES_MAX {
        return None;
    }
    let diff = similar::TextDiff::from_lines(old, new);
    let unified = diff.unified_diff().header(path, path).to_string();
    (unified.len() <= DIFF_BYTES_MAX).then_some(unified)
}

async fn restore(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<RestoreBody>,
) -> Answer<Json<Restored>> {
    Ok(Json(taken_back(&app, &caller, (&id, body)).await?))
}

/// Takes changes back, or says what that would do.
///
/// # Errors
/// No such checkpoint of this person's; a run is on; files cannot be read or written.
pub(crate) async fn taken_back(
    app: &App,
    caller: &Caller,
    (id, body): (&str, RestoreBody),
) -> Answer<Restored> {
    let (info, top, all) = found(app, caller, id).await?;
    let chosen: Vec<CheckpointInfo> = match (body.onwards, body.whole_run) {
        // What was taken back since is a change like any other.
        (true, _) => all.into_iter().filter(|i| i.ts >= info.ts).collect(),
        (false, true) => {
            all.into_iter().filter(|i| i.call.is_some() && i.run == info.run).collect()
        }
        (false, false) => vec![info.clone()],
    };
    let one = !body.whole_run && !body.onwards;
    let call = info.call.filter(|_| one && info.session == top);
    put_back(app, caller, &top, TakeBack { chosen, run: info.run, call, body }).await
}

/// What is taken back.
pub(crate) struct TakeBack {
    /// These changes.
    pub(crate) chosen: Vec<CheckpointInfo>,
    /// In the name of this run.
    pub(crate) run: String,
    /// Where they are those of one call: of which.
    pub(crate) call: Option<CallId>,
    /// How.
    pub(crate) body: RestoreBody,
}

/// Takes changes of files back in the name of a session, or says what that would do.
///
/// # Errors
/// A run is on; files cannot be read or written.
pub(crate) async fn put_back(
    app: &App,
    caller: &Caller,
    top: &SessionId,
    TakeBack { mut chosen, run, call, body }: TakeBack,
) -> Answer<Restored> {
    let home = app.home(&caller.person).await?;
    // Oldest first: what was there before the first of several changes comes back.
    chosen.sort_by_key(|info| info.ts);
    let touched: BTreeSet<&str> =
        chosen.iter().flat_map(|i| &i.changes).map(|change| change.path.as_str()).collect();
    if let Some(path) = body.paths.iter().find(|path| !touched.contains(path.as_str())) {
        return Err(Problem::bad(format!("{path} is none of the paths that were changed")));
    }
    let meta = home.store().meta(top).await?.ok_or_else(|| Problem::missing("its session"))?;
    let workspace = home.workspace(Some(&meta.workspace))?;
    let parts = home.engine().await?.parts().clone();
    let checkpoints = parts.checkpoints.as_ref();
    if !body.preview {
        // Nobody works on the files meanwhile.
        app.rooms.freed(app, &home, top, caller.by()).await?;
    }
    let plan = undo::plan(checkpoints, &workspace, &chosen, &body.paths);
    let mut plan = plan.await.map_err(failed)?;
    if body.merge {
        plan.accept_merges();
    }
    let mut done = told(&plan, body.preview);
    if body.preview {
        return Ok(done);
    }
    let conflicts = plan.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let origin = undo::RestoreOrigin { session: top.clone(), run, ts: app.now() };
    let applied = undo::apply(checkpoints, &workspace, plan, origin).await.map_err(failed)?;
    let Some((checkpoint, paths)) = applied else { return Ok(done) };
    done.checkpoint = Some(format!("{top}.{checkpoint}"));
    let fact = CheckpointRestored { checkpoint, call, paths, conflicts, by: caller.by() };
    app.rooms.restored(app, &home, top, fact).await?;
    Ok(done)
}

fn failed(error: undo::UndoError) -> Problem {
    match error {
        undo::UndoError::Store(error) => error.into(),
        undo::UndoError::File(error) => Problem::conflict(error.to_string()),
    }
}

fn told(plan: &Restore, preview: bool) -> Restored {
    let entries = plan.entries.iter();
    let conflicting = |conflict: &Conflict| Conflicting {
        path: conflict.path.clone(),
        merge: match &conflict.merged {
            Some(Merge::Clean(_)) => "clean",
            Some(Merge::Marked(_)) => "overlaps",
            None => "impossible",
        }
        .into(),
    };
    Restored {
        preview,
        changes: entries.map(|e| change(&e.path, &e.before, &e.after)).collect(),
        conflicts: plan.conflicts.iter().map(conflicting).collect(),
        already: plan.already.clone(),
        checkpoint: None,
    }
}
