//! Checkpoints of commands, whose effects are not known in advance (G7): before one starts, the
//! workspace as it stands is kept; after it ended, however it did, what is different becomes the
//! checkpoint that was announced. Not here: looking, keeping and comparing.
//!
//! A background job has no end that a call could wait for. What changes while one runs counts as
//! the job's, and is compared before every call that changes files or runs a command, after every
//! call that reads or ends a job, and when the session is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::ids::{CheckpointId, Timestamp};
use weir_core::message::MessageBlock;
use weir_core::record::sha256_hex;
use weir_core::session::CallState;
use weir_core::tool::{CommandEffect, PlannedChange, RawResult, Tier};

use self::baseline::{BOUNDS, CommandOpening, WorkspaceBaseline};
use self::compare::{TimeWindow, WorkspaceDelta};
use self::made::{ChangeSource, CommandComparison};
use crate::blocking::run_blocking;
use crate::ports::{FileContent, Snapshot, SnapshotEntry};
use crate::worker_context::WorkerContext;
use crate::workspace::Workspace;
use crate::workspace::survey::file_time;

mod baseline;
mod branches;
mod compare;
mod history;
mod made;
pub mod measure;
mod rights;
#[cfg(test)]
mod tests;

/// Paths that are named where something could not be saved.
const PATHS_NAMED: usize = 10;
/// Time that a command which ended without us may have begun after it was announced.
const BEGIN_SLACK_NS: i64 = 5_000_000_000;

/// Watches what the commands of one session change: at most one runs at a time, jobs aside.
#[derive(Clone)]
pub(crate) struct CommandWatch {
    context: Arc<WorkerContext>,
    state: Arc<Mutex<CommandCheckpointState>>,
}

#[derive(Default)]
struct CommandCheckpointState {
    base: Option<WorkspaceBaseline>,
    /// The newest background job, while any runs.
    job: Option<CommandOpening>,
    /// What jobs changed and no call has told yet.
    carried: Vec<String>,
    /// What is to be said about them.
    said: Vec<String>,
    /// Jobs that were started while foreign words stood in the context. They end with the program.
    foreign_jobs: BTreeSet<String>,
}

/// How a call ended, as far as comparing needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEndMoment {
    /// A moment ago.
    Now,
    /// While the program was away, so many milliseconds after it had begun.
    After(u64),
}

impl CommandWatch {
    /// Nothing runs and nothing is kept yet.
    pub(crate) fn new(context: Arc<WorkerContext>) -> CommandWatch {
        CommandWatch { context, state: Arc::default() }
    }

    /// Keeps the workspace as it stands and announces the checkpoint of `call`.
    pub(crate) async fn begin_command_checkpoint(
        &self,
        call: &CallState,
        run: String,
    ) -> Result<CheckpointId, String> {
        self.settle_jobs().await?;
        let ts = self.context.parts.clock.now();
        let id = self.new_checkpoint_id(&run, call, ts);
        let label = call.inspection.as_ref().map(|i| i.summary.clone()).unwrap_or_default();
        let moves = moves_names(call);
        let mut opening = CommandOpening {
            label,
            foreign: call.is_foreign(),
            carries: reads_marked(call),
            approved: left_the_sandbox(call),
            stores: stores_history(call),
            ..CommandOpening::new(id.clone(), run, call.id, ts)
        };
        self.with_state(move |state, context| {
            opening.names = moves.then(|| branches::read_repository_refs(&context.workspace));
            state.open_command(context, opening)
        })
        .await?;
        self.context.workspace.rest_editor(&self.context.session);
        Ok(id)
    }

    /// Keeps the workspace as it stands before a call writes a list of git's, if that was not done yet:
    /// what the list will name is then held when a command comes.
    pub(crate) async fn hold_before_lists(&self, call: &CallState) -> Result<(), String> {
        let changes = call.inspection.as_ref().map(|inspection| &inspection.effects.changes);
        let is_list = |change: &PlannedChange| Workspace::is_git_list(&change.path);
        if !changes.is_some_and(|changes| changes.iter().any(is_list)) {
            return Ok(());
        }
        self.with_state(|state, context| {
            let base = state.open_baseline(context)?;
            let kept = base.catch_up(&context.workspace);
            if kept.is_err() && base.opening.is_none() {
                state.let_go()?;
            }
            kept
        })
        .await
    }

    /// A name for changes that are not known yet. Unique as long as one call is not announced
    /// twice in one moment.
    fn new_checkpoint_id(&self, run: &str, call: &CallState, ts: Timestamp) -> CheckpointId {
        let root = self.context.workspace.root().display();
        let text = format!("{root}\0{}\0{run}\0{}\0{}", self.context.session, call.id, ts.micros());
        CheckpointId::new(&sha256_hex(text.as_bytes())[..40])
    }

    /// Makes sure that what is kept is what stands there before `call`: another process may have
    /// kept it, some time ago.
    pub(crate) async fn still_watched(&self, call: &CallState) -> Result<(), String> {
        let id = call.id;
        self.context.workspace.rest_editor(&self.context.session);
        self.with_state(move |state, context| {
            let base = state.open_baseline(context)?;
            let opening = base.opening.clone().filter(|opening| opening.call == id);
            match opening {
                Some(_) if base.opened_here => Ok(()),
                Some(opening) => state.open_command(context, opening),
                None => {
                    Err("the files that were kept before it are gone; make the call again".into())
                }
            }
        })
        .await
    }

    /// Saves what a call changed that had not been known in advance, and adds its paths to `raw`;
    /// what could not be saved is told the model.
    pub(crate) async fn settle_call_changes(
        &self,
        call: &CallState,
        mut raw: RawResult,
        ended: CallEndMoment,
    ) -> RawResult {
        let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
        let Some(effects) = effects else { return raw };
        let told = if call.changes_unknown() {
            let goes_on = raw.ok && effects.commands.iter().any(|command| command.background);
            self.settle_command(call, ended, goes_on).await
        } else if !effects.jobs.is_empty() {
            self.settle_jobs().await.map(|()| ComparisonReport::default())
        } else if !effects.changes.is_empty() {
            self.pass_over().await.map(|()| ComparisonReport::default())
        } else {
            return raw;
        };
        let carried = self.with_state(|state, _| {
            Ok((std::mem::take(&mut state.carried), std::mem::take(&mut state.said)))
        });
        let (carried, said) = carried.await.unwrap_or_default();
        let known = raw.changed.len();
        raw.changed.extend(carried);
        raw.blocks.extend(said.into_iter().map(MessageBlock::text));
        match told {
            Ok(told) => {
                let count = told.changed.len();
                if let Some(summary) = raw.summary.as_mut().filter(|_| count > 0) {
                    let paths = if count == 1 { "path" } else { "paths" };
                    summary.push_str(&format!("; {count} {paths} changed"));
                }
                raw.changed.extend(told.changed);
                raw.blocks.extend(told.unsaved.map(MessageBlock::text));
            }
            Err(why) => raw.blocks.push(MessageBlock::text(format!(
                "[What it changed could not be saved, so it cannot be undone: {why}]"
            ))),
        }
        if raw.changed.len() > known {
            raw.changed.sort_unstable();
            raw.changed.dedup();
        }
        raw
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one command from its end to its result, in the order of time"
    )]
    async fn settle_command(
        &self,
        call: &CallState,
        ended: CallEndMoment,
        goes_on: bool,
    ) -> Result<ComparisonReport, String> {
        let id = call.id;
        let compared = self
            .with_state(move |state, context| {
                // It has ended, whatever comes of the comparison: its editor is asked again.
                if !goes_on && state.job.is_none() {
                    context.workspace.wake_editor(&context.session);
                }
                let base = state.open_baseline(context)?;
                let opening = base.opening.clone().filter(|opening| opening.call == id);
                let opening = opening.ok_or("what was kept before it is gone")?;
                let until = match ended {
                    CallEndMoment::Now => None,
                    CallEndMoment::After(ms) => {
                        let ns = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
                        Some(opening.at.saturating_add(ns).saturating_add(BEGIN_SLACK_NS))
                    }
                };
                let window = TimeWindow { from: opening.at, until };
                let compared = made::compare_command(
                    base,
                    &context.workspace,
                    &opening,
                    window,
                    ChangeSource::Command,
                )?;
                if goes_on {
                    state.job = Some(opening.clone());
                }
                // What this one made is not the job's.
                if let Some(job) = state.job.as_mut() {
                    job.governed.clone_from(&compared.governed);
                    job.history.clone_from(&compared.history);
                }
                let names = opening.names.as_deref();
                let moved = names
                    .and_then(|names| branches::describe_moved_refs(&context.workspace, names));
                Ok((opening, compared, moved))
            })
            .await;
        let (opening, compared, moved) = compared?;
        let CommandComparison { delta, said, aside, written, followed, .. } = compared;
        if goes_on && opening.foreign {
            self.note_foreign_jobs().await?;
        }
        // A line that only lets the work tree follow the repository wrote nothing of its own.
        let looks = opening.foreign || !follows_repository(call);
        let mut instructing =
            if looks { instructing_entries(&delta, &self.context.workspace) } else { Vec::new() };
        instructing.retain(|entry| {
            !CommandComparison::is_aside(&aside, &entry.path) && !followed.contains(&entry.path)
        });
        let (takes_back, foreign) = (opening.takes_back(), opening.foreign);
        let mut told = self.record_changes(opening, delta).await?;
        told.changed.retain(|path| !CommandComparison::is_aside(&aside, path));
        told.changed.extend(written);
        told.add_notice(moved);
        if !instructing.is_empty() && takes_back {
            self.take_back(instructing, &mut told).await?;
        } else if !instructing.is_empty() {
            let paths: Vec<String> = instructing.into_iter().map(|entry| entry.path).collect();
            let named = list_paths_text(&paths);
            told.add_notice(Some(match foreign {
                true => {
                    format!("[Changed outside the sandbox: {named}: it later runs or instructs.]")
                }
                false => format!(
                    "[Changed: {named}: it later runs or instructs. Tell the person what changed.]"
                ),
            }));
        }
        if said.is_some() {
            told.add_notice(said);
            self.with_state(|state, context| {
                state.open_baseline(context)?.refresh(&context.workspace)
            })
            .await?;
        }
        Ok(told)
    }

    /// What later runs or instructs does not come from foreign words (Z2): what a command wrote of
    /// it is undone. It is in the checkpoint, so a person can look at it and bring it back.
    async fn take_back(
        &self,
        entries: Vec<SnapshotEntry>,
        told: &mut ComparisonReport,
    ) -> Result<(), String> {
        let paths: Vec<String> = entries.iter().map(|entry| entry.path.clone()).collect();
        let workspace = self.context.workspace.clone();
        let undo = move || {
            let mut contents = BTreeMap::new();
            let mut changes = Vec::new();
            // What lies in a folder goes before the folder.
            for entry in entries.into_iter().rev() {
                let (before, after) = (entry.after.image(), entry.before.image());
                if let FileContent::File { bytes, .. } = entry.before {
                    contents.insert(entry.path.clone(), bytes);
                }
                changes.push(PlannedChange { path: entry.path, before, after });
            }
            workspace.apply_changes(&changes, &contents)
        };
        let undone = run_blocking(undo).await.map_err(|e| e.to_string())?;
        let named = list_paths_text(&paths);
        let why = "it would later run or instruct, and foreign words stand in the context";
        let text = match undone {
            Ok(_) => {
                told.changed.retain(|path| !paths.contains(path));
                format!("[Taken back: {named}: {why}. Show the person what you propose.]")
            }
            Err(error) => format!("[{named} should not have been written: {why}. {error}]"),
        };
        told.add_notice(Some(text));
        self.with_state(|state, context| state.open_baseline(context)?.refresh(&context.workspace))
            .await
    }

    /// Saves what changed while jobs ran, and looks whether any still does.
    pub(crate) async fn settle_jobs(&self) -> Result<(), String> {
        let job = self.with_state(|state, _| Ok(state.job.clone())).await?;
        let Some(mut job) = job else {
            self.context.workspace.wake_editor(&self.context.session);
            return Ok(());
        };
        let jobs = self.context.parts.processes.jobs(&self.context.session).await;
        let running = jobs.iter().any(|job| job.end.is_none());
        let (from, opening) = (job.at, job.clone());
        let compared = self.with_state(move |state, context| {
            let base = state.open_baseline(context)?;
            let window = TimeWindow { from, until: None };
            made::compare_command(base, &context.workspace, &opening, window, ChangeSource::Job)
        });
        let CommandComparison { delta, said, governed, history, written, .. } = compared.await?;
        (job.governed, job.history) = (governed, history);
        let told = if delta.changed_paths().is_empty() {
            ComparisonReport::default()
        } else {
            job.ts = self.context.parts.clock.now();
            let text = format!("{}\0{}", job.id, job.ts.micros());
            job.id = CheckpointId::new(&sha256_hex(text.as_bytes())[..40]);
            let label = format!("While it ran: {}", job.label);
            self.record_changes(CommandOpening { label, ..job.clone() }, delta).await?
        };
        self.with_state(move |state, context| {
            job.at = file_time();
            state.job = running.then_some(job);
            if !running {
                context.workspace.wake_editor(&context.session);
            }
            state.carried.extend(told.changed.into_iter().chain(written));
            if said.is_some() {
                state.said.extend(said);
                state.open_baseline(context)?.refresh(&context.workspace)?;
            }
            Ok(())
        })
        .await
    }

    /// What a call just did that is saved already is no change of a job's.
    async fn pass_over(&self) -> Result<(), String> {
        self.with_state(|state, context| match state.job {
            Some(_) => state.open_baseline(context)?.refresh(&context.workspace),
            None => Ok(()),
        })
        .await
    }

    async fn record_changes(
        &self,
        opening: CommandOpening,
        mut delta: WorkspaceDelta,
    ) -> Result<ComparisonReport, String> {
        let changed = delta.changed_paths();
        let unsaved = unsaved_changes_text(&delta);
        let entries = std::mem::take(&mut delta.entries);
        let recorded = if entries.is_empty() {
            Ok(())
        } else {
            let CommandOpening { id, run, call, ts, label, .. } = opening;
            let snapshot = Snapshot {
                workspace: self.context.workspace.root().to_path_buf(),
                session: self.context.session.clone(),
                run,
                call: Some(call),
                ts,
                label,
                entries,
            };
            self.context.parts.checkpoints.record_snapshot(&id, snapshot).await
        };
        // Also when it could not be saved: later it would be taken for somebody else's change.
        let settled = self
            .with_state(move |state, context| state.open_baseline(context)?.accept_changes(delta))
            .await;
        if let Err(why) = settled {
            tracing::warn!(%why, "files are kept anew before the next command");
            self.with_state(|state, _| state.let_go()).await?;
        }
        let mut report = ComparisonReport { changed, unsaved };
        // It is marked, and what instructs taken back, whatever became of the copy.
        if let Err(why) = recorded {
            let named = list_paths_text(&report.changed);
            report.add_notice(Some(format!(
                "[What it changed could not be saved, so it cannot be undone: {named}: {why}]"
            )));
        }
        Ok(report)
    }

    /// Lets go of all that is kept, but for a command that has not been compared: that is done when
    /// the session is taken up again.
    pub(crate) async fn stop_watching(&self) {
        let stopped = self.with_state(|state, _| {
            let pending = state.base.as_ref().is_some_and(|base| base.opening.is_some());
            if pending { Ok(()) } else { state.let_go() }
        });
        if let Err(why) = stopped.await {
            tracing::warn!(%why, "what was kept for commands could not be removed");
        }
    }

    async fn with_state<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut CommandCheckpointState, &WorkerContext) -> Result<T, String>
        + Send
        + 'static,
    ) -> Result<T, String> {
        let watch = self.clone();
        let job = move || {
            let mut state = watch.state.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut state, &watch.context)
        };
        run_blocking(job).await.map_err(|_| "looking at the files failed")?
    }
}

/// Whether this call can store something in the history of git.
fn stores_history(call: &CallState) -> bool {
    let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
    let stores = |command: &CommandEffect| {
        command.tier == Tier::None || Workspace::stores_history(&command.command)
    };
    effects.is_some_and(|effects| effects.commands.iter().any(stores))
}

/// Whether its command does nothing but let the work tree follow what the repository holds.
fn follows_repository(call: &CallState) -> bool {
    let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
    let follows = |command: &CommandEffect| Workspace::follows_repository(&command.command);
    effects.is_some_and(|effects| effects.commands.iter().all(follows))
}

/// Whether its command could move a branch away from its commits.
fn moves_names(call: &CallState) -> bool {
    let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
    let moves = |command: &CommandEffect| branches::may_move(&command.command);
    effects.is_some_and(|effects| effects.commands.iter().any(moves))
}

/// Whether this call can read what is marked.
fn reads_marked(call: &CallState) -> bool {
    let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
    effects.is_some_and(|effects| effects.paths.iter().any(|path| path.marked.is_some()))
}

/// Whether a person let exactly this call leave the sandbox.
fn left_the_sandbox(call: &CallState) -> bool {
    let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
    effects.is_some_and(|effects| effects.commands.iter().any(|command| command.outside_sandbox))
}

/// What a comparison came to.
#[derive(Default)]
struct ComparisonReport {
    changed: Vec<String>,
    /// For the model.
    unsaved: Option<String>,
}

impl ComparisonReport {
    fn add_notice(&mut self, text: Option<String>) {
        if let Some(text) = text {
            let before = self.unsaved.take().map(|before| format!("{before}\n"));
            self.unsaved = Some(format!("{}{text}", before.unwrap_or_default()));
        }
    }
}

impl CommandCheckpointState {
    fn open_baseline(&mut self, context: &WorkerContext) -> Result<&mut WorkspaceBaseline, String> {
        if self.base.is_none() {
            let store =
                context.parts.checkpoints.open_baseline(context.workspace.root(), &context.session);
            self.base = Some(WorkspaceBaseline::load(store.map_err(|e| e.to_string())?, BOUNDS)?);
        }
        self.base.as_mut().ok_or_else(|| "nothing is kept".into())
    }

    fn open_command(
        &mut self,
        context: &WorkerContext,
        mut opening: CommandOpening,
    ) -> Result<(), String> {
        let job = self.job.clone();
        let base = self.open_baseline(context)?;
        // A job is believed as little as a command.
        let looked = match &job {
            Some(_) => base.refresh(&context.workspace),
            None => base.catch_up(&context.workspace),
        };
        let opened = looked.and_then(|()| {
            // One that a killed process announced says so already.
            if opening.at == 0
                && let Some(left_out) = base.left_out()
            {
                opening.label = format!("{} (not saved: {left_out})", opening.label);
            }
            let keeps_history = opening.foreign && opening.stores;
            let governed =
                (job.is_none() || keeps_history).then(|| context.workspace.find_governed());
            if let Some(governed) = governed.as_ref().filter(|_| keeps_history) {
                base.history = base.history.take().filter(|_| job.is_none());
                opening.history = Some(base.look_at_history(&context.workspace, governed));
            }
            // What a job makes at this very moment is new to the command too.
            opening.governed = match &job {
                Some(job) => job.governed.clone(),
                None => governed.map(|governed| governed.paths()),
            };
            opening.at = file_time();
            base.open(opening)
        });
        // What is half kept would only fill the disk further.
        if opened.is_err()
            && let Err(why) = self.let_go()
        {
            tracing::warn!(%why, "what was kept for a command could not be removed");
        }
        opened
    }

    fn let_go(&mut self) -> Result<(), String> {
        self.base.take().map_or(Ok(()), WorkspaceBaseline::remove)
    }
}

/// The changes of what later runs or instructs, by path; and what became of the folders that held it,
/// where those are none any more.
fn instructing_entries(delta: &WorkspaceDelta, workspace: &Workspace) -> Vec<SnapshotEntry> {
    let (mut entries, others): (Vec<&SnapshotEntry>, Vec<&SnapshotEntry>) =
        delta.entries.iter().partition(|entry| workspace.instructing_reason(&entry.path).is_some());
    let held: BTreeSet<&Path> =
        entries.iter().flat_map(|entry| Path::new(&entry.path).ancestors().skip(1)).collect();
    entries.extend(others.into_iter().filter(|entry| {
        entry.before == FileContent::Folder
            && !matches!(entry.after, FileContent::Absent | FileContent::Folder)
            && held.contains(Path::new(&entry.path))
    }));
    let mut entries: Vec<SnapshotEntry> = entries.into_iter().cloned().collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    entries
}

/// What could not be saved, for the model.
fn unsaved_changes_text(delta: &WorkspaceDelta) -> Option<String> {
    let mut lines = Vec::new();
    if !delta.unsaved.is_empty() {
        let named = delta.unsaved.iter().map(|(path, why)| format!("{path} ({why})"));
        let named = list_paths_text(&named.collect::<Vec<_>>());
        lines.push(format!("[Changed, but not saved, so it cannot be undone: {named}]"));
    }
    if !delta.later.is_empty() {
        let named = list_paths_text(&delta.later);
        lines.push(format!("[Changed after the command had ended, so not counted: {named}]"));
    }
    if !delta.left_view.is_empty() {
        lines.push(format!(
            "[Out of view from now on, mostly because git ignores it: {}: what was saved of it can still \
             be undone, what is new there cannot.]",
            list_paths_text(&delta.left_view)
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn list_paths_text(paths: &[String]) -> String {
    let named = paths[..paths.len().min(PATHS_NAMED)].join(", ");
    match paths.len().saturating_sub(PATHS_NAMED) {
        0 => named,
        n => format!("{named} and {n} more"),
    }
}
