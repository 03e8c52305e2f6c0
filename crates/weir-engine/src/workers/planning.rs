//! A call before it runs: it is inspected, and what it will touch is saved. Not here: what is judged of
//! it, and running it (`running`). The words of a plan that fails are a result like any other.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use weir_core::governance::label::{self, Label};
use weir_core::input::EffectAnswer;
use weir_core::message::plain_text;
use weir_core::session::{CallState, SessionConfig};
use weir_core::tool::{
    Effects, Inspection, JudgeUse, PathAccess, PlannedChange, RawResult, ResultEffect,
};

use super::running::BroughtWords;
use super::{PlannedContents, WorkerOutcome, Workers};
use crate::blocking::run_blocking;
use crate::ports::{FileContent, Snapshot, SnapshotEntry};
use crate::recover;
use crate::scene::learn_marks;
use crate::workspace::Workspace;

/// Largest file whose content a checkpoint keeps, in bytes.
const CHECKPOINT_FILE_MAX: u64 = 256 << 20;

impl Workers {
    /// Finds out about a call.
    pub(crate) async fn inspect(
        self,
        call: CallState,
        config: Arc<SessionConfig>,
        said: Vec<String>,
        cancel: CancellationToken,
    ) -> WorkerOutcome {
        let store = self.context.parts.store.as_ref();
        learn_marks(store, &self.context.workspace, &config).await;
        let cx = self.tool_context(&call, &config, cancel, Label::default());
        let inspect = AssertUnwindSafe(self.context.toolbox.inspect(&call, &cx)).catch_unwind();
        let id = call.id;
        match inspect.await {
            Ok((mut inspection, plan)) => {
                self.clean_failure(&call, &config, &mut inspection).await;
                self.guards.consult_guards(&call, &config, &said, &mut inspection).await;
                let inspection = Arc::new(inspection);
                let contents = Arc::new(plan.contents);
                WorkerOutcome::Planned(
                    EffectAnswer::Inspected { call: id, inspection },
                    id,
                    contents,
                )
            }
            Err(_) => {
                // A tool that panics while it plans has unknown effects; the gate decides on that.
                let mut inspection = recover::unknown_inspection(&call.tool);
                inspection.fails = Some(format!("{} failed while it was planned.", call.tool));
                let inspection = Arc::new(inspection);
                WorkerOutcome::Answer(EffectAnswer::Inspected { call: id, inspection })
            }
        }
    }

    /// Whose words are in the files that a call which waited for a person comes to, as they are marked now:
    /// another session may have written them since the call was judged (Z1).
    pub(super) async fn label_after_waiting(
        &self,
        call: &CallState,
        config: &Arc<SessionConfig>,
    ) -> Label {
        let store = self.context.parts.store.as_ref();
        learn_marks(store, &self.context.workspace, config).await;
        let cx = self.tool_context(call, config, CancellationToken::new(), Label::default());
        let inspect = AssertUnwindSafe(self.context.toolbox.inspect(call, &cx)).catch_unwind();
        let Ok((again, _)) = inspect.await else {
            return Label::external("a call that failed while it was planned");
        };
        let mut label = Label::default();
        for origin in again.effects.paths.iter().filter_map(|path| path.marked.as_deref()) {
            label.join(&Label::external(origin));
        }
        label
    }

    /// Sends the words of a plan that fails through the filters of results: they may quote what the
    /// plan looked at (G8, Z1).
    async fn clean_failure(
        &self,
        call: &CallState,
        config: &SessionConfig,
        inspection: &mut Inspection,
    ) {
        let Some(words) = inspection.fails.take() else { return };
        let raw = RawResult::error(words);
        let label = label::of_failed_plan(&inspection.effects);
        // A call that is only looked at writes no file.
        let cleaned = self.filter(call, config, raw, BroughtWords::with_label(&label)).await;
        inspection.fails = Some(plain_text(cleaned.clean.blocks()));
        inspection.withheld = cleaned.clean.withheld_reason().map(str::to_owned);
        for news in cleaned.clean.result_effects() {
            // A plan has no news of its own: this is what the judge model used.
            if let ResultEffect::Used { usage, cost_usd } = news {
                let used = JudgeUse { usage: *usage, cost_usd: *cost_usd };
                used.add_to(&mut inspection.judge_use);
            }
        }
    }

    /// Saves what a call will touch (G7).
    pub(crate) async fn checkpoint(
        self,
        call: CallState,
        config: Arc<SessionConfig>,
        contents: Option<PlannedContents>,
        run: String,
    ) -> WorkerOutcome {
        let id = call.id;
        match self.try_checkpoint(&call, &config, contents, run).await {
            Ok((answer, contents)) => WorkerOutcome::Planned(answer, id, contents),
            Err(reason) => WorkerOutcome::Answer(EffectAnswer::NotSaved { call: id, reason }),
        }
    }

    async fn try_checkpoint(
        &self,
        call: &CallState,
        config: &Arc<SessionConfig>,
        contents: Option<PlannedContents>,
        run: String,
    ) -> Result<(EffectAnswer, PlannedContents), String> {
        let inspection = call.inspection.clone().ok_or("it was never looked at")?;
        if call.changes_unknown() {
            let checkpoint = self.commands.begin_command_checkpoint(call, run).await?;
            let answer = EffectAnswer::Saved { call: call.id, checkpoint, paths: Vec::new() };
            return Ok((answer, contents.unwrap_or_default()));
        }
        self.commands.settle_jobs().await?;
        self.commands.hold_before_lists(call).await?;
        let contents = match contents {
            Some(contents) => contents,
            None => self.plan_again(call, config).await?,
        };
        let (workspace, at) = (self.context.workspace.clone(), inspection.clone());
        let made = contents.clone();
        let entries = run_blocking(move || snapshot_entries(&workspace, &at.effects, &made))
            .await
            .map_err(|_| "reading them failed".to_string())??;
        let paths: Vec<String> = entries.iter().map(|entry| entry.path.clone()).collect();
        let snapshot = Snapshot {
            workspace: self.context.workspace.root().to_path_buf(),
            session: self.context.session.clone(),
            run,
            call: Some(call.id),
            ts: self.context.parts.clock.now(),
            label: inspection.summary.clone(),
            entries,
        };
        let taken = self.context.parts.checkpoints.take_snapshot(snapshot).await;
        let checkpoint = taken.map_err(|error| error.to_string())?;
        Ok((EffectAnswer::Saved { call: call.id, checkpoint, paths }, contents))
    }

    /// The contents of a plan that was made by a program that is gone: planned again, and good
    /// only if it comes to the very same changes.
    pub(super) async fn plan_again(
        &self,
        call: &CallState,
        config: &Arc<SessionConfig>,
    ) -> Result<PlannedContents, String> {
        let cx = self.tool_context(call, config, CancellationToken::new(), Label::default());
        let (again, plan) = self.context.toolbox.inspect(call, &cx).await;
        let judged = call.inspection.as_ref().ok_or("it was never looked at")?;
        if again.effects != judged.effects {
            return Err("the files changed since this call was judged; look again".into());
        }
        Ok(Arc::new(plan.contents))
    }
}

/// What a checkpoint keeps of the paths that a call will touch.
fn snapshot_entries(
    workspace: &Workspace,
    effects: &Effects,
    contents: &BTreeMap<String, Arc<[u8]>>,
) -> Result<Vec<SnapshotEntry>, String> {
    let mut before = Vec::new();
    for change in &effects.changes {
        // Deleting is the access that looks at a link itself and not at what it leads to.
        let at = workspace.resolve(&change.path, PathAccess::Delete);
        let mut content = workspace.read(&at, CHECKPOINT_FILE_MAX).map_err(|e| e.to_string())?;
        if content.image() != change.before {
            // An editor may have what the call was judged on, and nobody has saved it yet.
            content =
                workspace.read_current(&at, CHECKPOINT_FILE_MAX).map_err(|e| e.to_string())?;
        }
        if content.image() != change.before {
            return Err(format!("{} changed since this call was judged; look again", change.path));
        }
        before.push(content);
    }
    // What only moves has no new content of its own: it is found where it was.
    let moved = |change: &PlannedChange| before.iter().find(|c| c.image() == change.after).cloned();
    let entry = |(change, before): (&PlannedChange, &FileContent)| {
        let after = recover::content_after(change, contents)
            .or_else(|| moved(change))
            .ok_or_else(|| format!("the new content of {} is missing", change.path))?;
        Ok(SnapshotEntry { path: change.path.clone(), before: before.clone(), after })
    };
    effects.changes.iter().zip(&before).map(entry).collect()
}
