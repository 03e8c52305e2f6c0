//! A call that runs, and its result: within its time, through hooks and filters. Not here: what a
//! tool does, and what a call may do.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::event::PromptNote;
use weir_core::governance::filter::FilterOutput;
use weir_core::governance::label::Label;
use weir_core::governance::{FilterContext, Permit, filter_result, label};
use weir_core::input::{EffectAnswer, SessionCommand, journaled_result};
use weir_core::message::MessageBlock;
use weir_core::session::handles::keeps_answer;
use weir_core::session::{CallState, Session, SessionConfig};
use weir_core::tool::{CleanResult, PathPlace, RawResult, ResultEffect, ToolGroup};

use super::{PlannedContents, WorkerOutcome, Workers};
use crate::asking::CallPrompter;
use crate::blocking::run_blocking;
use crate::children::SpawnParameters;
use crate::commands::CallEndMoment;
use crate::guards::ScreenedResult;
use crate::nested::NestedCalls;
use crate::ports::{Blobs, Tool, ToolContext};
use crate::programs::ProgramRun;
use crate::sampling::CallModelPrompter;

/// Time a cancelled call has to end by itself before it is given up (L14: within a second).
const STOP_GRACE: Duration = Duration::from_millis(950);

/// A call that is to be run.
pub(crate) struct RunningCall {
    pub(crate) permit: Permit,
    pub(crate) call: CallState,
    pub(crate) config: Arc<SessionConfig>,
    /// The contents that the call's plan computed, unless the program that planned it is gone.
    pub(crate) contents: Option<PlannedContents>,
    /// The session, for tools that tell about it.
    pub(crate) about: Value,
    /// What the model had read when it asked for the call.
    pub(crate) label: Label,
    /// The session, for a tool that works by other tools.
    pub(crate) session: Option<Arc<Session>>,
    /// For a program: its steps.
    pub(crate) program: Option<ProgramRun>,
    /// For a call whose server may ask the model: the way to ask it.
    pub(crate) prompter: Option<CallModelPrompter>,
    /// For a call that starts an agent: what it is started with.
    pub(crate) spawn: Option<SpawnParameters>,
}

impl Workers {
    /// Runs a call.
    pub(crate) async fn run(self, work: RunningCall, cancel: CancellationToken) -> WorkerOutcome {
        let RunningCall { permit, call, config, contents, about, label, session, .. } = work;
        let (spawn, program) = (work.spawn, work.program.map(Arc::new));
        let prompter = work.prompter.map(Arc::new);
        let mut cx = self.tool_context(&call, &config, cancel.clone(), label);
        cx.about = Arc::new(about);
        if spawn.is_some() {
            cx.agents = Arc::new(self.sub_agents_of_call(call.id, &config, spawn));
        }
        if let Some(program) = &program {
            cx.program = program.access(cx.progress.clone());
        }
        if let Some(prompter) = &prompter {
            cx.model_prompter = prompter.clone();
        }
        let nest = session.map(|session| Arc::new(NestedCalls::new(self.context.clone(), session)));
        if let Some(nest) = &nest {
            cx.nested = nest.clone();
        }
        cx.contents = match contents {
            Some(contents) => contents,
            None if permit.effects().changes.is_empty() => PlannedContents::default(),
            None => match self.plan_again(&call, &config).await {
                Ok(contents) => contents,
                Err(why) => {
                    let raw = RawResult::error(format!("Not run: {why}."));
                    return self.returned(&call, &config, raw).await;
                }
            },
        };
        if call.changes_unknown()
            && let Err(why) = self.commands.still_watched(&call).await
        {
            let raw = RawResult::error(format!("Not run: {why}."));
            return self.returned(&call, &config, raw).await;
        }
        let Some(tool) = self.context.toolbox.get(&call.tool) else {
            let raw = RawResult::error(format!("There is no tool {}.", call.tool));
            return self.returned(&call, &config, raw).await;
        };
        let waited_label = match permit.is_confirmed() {
            true => self.label_after_waiting(&call, &config).await,
            false => Label::default(),
        };
        let person = Arc::new(CallPrompter::during_call(&self.context, call.id));
        cx.person = person.clone();
        let waited = || {
            let steps = program.as_ref().map(|program| program.clock.waited());
            let asked = prompter.as_ref().map(|prompter| prompter.clock.waited());
            person.person_wait_time() + steps.or(asked).unwrap_or_default()
        };
        let mut raw = run_in_time(tool.as_ref(), permit, &cx, waited).await;
        raw.label.join(&waited_label);
        person.withdraw_questions().await;
        // A sub-agent leaves it to the agent that has the servers with it: what is told once is told there.
        if tool.spec().group == ToolGroup::Mcp && config.depth == 0 {
            self.tell_tool_changes().await;
        }
        if let Some(nest) = nest {
            nest.add_to(&mut raw);
        }
        if let Some(program) = &program {
            program.add_table_to(&mut raw);
        }
        let raw = self.commands.settle_call_changes(&call, raw, CallEndMoment::Now).await;
        self.returned(&call, &config, raw).await
    }

    /// What was found out about servers while a tool of theirs was used stands in the journal before the call
    /// ends (R3).
    async fn tell_tool_changes(&self) {
        for detail in self.context.servers.take_tool_changes() {
            // What was told before is not recorded again.
            let told = SessionCommand::ToolsChanged(detail);
            let _ = self.context.sender.send_command(told).await;
        }
    }

    /// Sends a result through the filters and writes its file, where it needs one (X1).
    pub(crate) async fn returned(
        &self,
        call: &CallState,
        config: &SessionConfig,
        mut raw: RawResult,
    ) -> WorkerOutcome {
        let label = given_label(call, &raw).joined_with(&raw.label);
        raw.blocks.extend(self.commands.stop_older_jobs(&label).await.map(MessageBlock::text));
        self.guards.after_tool(call, config, &mut raw).await;
        let clean = self.clean(call, config, raw).await;
        let notes = self.instructions_beneath(call, &clean, config.model.window).await;
        WorkerOutcome::Answer(EffectAnswer::Returned { call: call.id, clean, notes })
    }

    /// Instruction files of the folders that the call touched (M2).
    async fn instructions_beneath(
        &self,
        call: &CallState,
        clean: &CleanResult,
        window: u64,
    ) -> Vec<PromptNote> {
        let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
        let paths: Vec<String> = effects
            .iter()
            .flat_map(|effects| &effects.paths)
            .filter(|path| path.place == PathPlace::Inside && path.path != ".")
            .map(|path| path.path.clone())
            .collect();
        if paths.is_empty() || !clean.is_ok() {
            return Vec::new();
        }
        let (workspace, deeper) = (self.context.workspace.clone(), self.deeper.clone());
        let look = move || deeper.notes_for_paths(&workspace, &paths, window);
        run_blocking(look).await.unwrap_or_default()
    }

    async fn clean(&self, call: &CallState, config: &SessionConfig, raw: RawResult) -> CleanResult {
        let folder = self.context.results_folder();
        let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
        let mut label = given_label(call, &raw);
        if let Some(effects) = effects.filter(|_| raw.is_public && raw.ok) {
            label = label.without_sources(&effects.reads_from);
        }
        // What a fact of the memory or a skill came from is known only now.
        label.join(&raw.label);
        let carries = call.carried_label().is_external();
        let as_handle =
            config.keeps_handles() && effects.is_some_and(|effects| keeps_answer(effects, carries));
        let about = BroughtWords {
            as_handle,
            // What a program's step gives goes to the program, whole (U7).
            externalize_over: if call.step.is_some() { 0 } else { config.externalize_over },
            externalize_to: &folder,
            ..BroughtWords::with_label(&label)
        };
        let cleaned = self.filter(call, config, raw, about).await;
        let mut written = true;
        if let Some((path, text)) = cleaned.file.clone() {
            self.context.blobs.put(&self.context.session, Arc::from(text.as_bytes()));
            let workspace = self.context.workspace.clone();
            let write = move || workspace.write_own(&path, &text).is_ok();
            written = run_blocking(write).await.unwrap_or(false);
        }
        journaled_result(cleaned, written)
    }

    /// Sends words that a call brought through the filters of results.
    pub(super) async fn filter(
        &self,
        call: &CallState,
        config: &SessionConfig,
        mut raw: RawResult,
        about: BroughtWords<'_>,
    ) -> FilterOutput {
        let screened = self.guards.screen_result(call.id, config, about.label, &raw).await;
        let ScreenedResult { withhold, judge_use } = screened;
        raw.news.extend(judge_use.map(ResultEffect::from));
        let tool = self.context.toolbox.get(&call.tool);
        let context = FilterContext {
            call: call.id,
            tool: tool.as_ref().map(|tool| tool.spec()),
            label: about.label,
            as_handle: about.as_handle,
            withhold: withhold.as_deref(),
            secrets: &self.context.parts.secrets,
            externalize_over: about.externalize_over,
            window: config.model.window,
            externalize_to: about.externalize_to,
        };
        filter_result(raw, &context)
    }
}

/// Words that a call brought: whose they are, and what of them may stand beside the context.
#[derive(Debug, Clone, Copy)]
pub(super) struct BroughtWords<'a> {
    label: &'a Label,
    /// They stand behind a handle, where they are foreign.
    as_handle: bool,
    /// Longer results than this, in characters, become a file; 0: none.
    externalize_over: usize,
    /// The folder of such files.
    externalize_to: &'a str,
}

impl<'a> BroughtWords<'a> {
    /// All of them come into the context.
    pub(super) fn with_label(label: &'a Label) -> BroughtWords<'a> {
        BroughtWords { label, as_handle: false, externalize_over: 0, externalize_to: "" }
    }
}

/// The label of what a call gave by what it did and by the foreign words that it was given.
fn given_label(call: &CallState, raw: &RawResult) -> Label {
    let effects = call.inspection.as_ref().map(|inspection| &inspection.effects);
    let carried = call.carried_label();
    let given = effects.map(|effects| label::of_answer(effects, &carried, raw.ok, &raw.blocks));
    given.unwrap_or(carried)
}

/// What `tool` gives, within the time that its call has, and as long as that is wanted. The time in
/// which persons were waited for, `waited`, is not the call's.
async fn run_in_time(
    tool: &dyn Tool,
    permit: Permit,
    cx: &ToolContext,
    waited: impl Fn() -> Duration,
) -> RawResult {
    let name = &tool.spec().name;
    let cancel = &cx.cancel;
    let timeout = Duration::from_millis(cx.timeout_ms);
    let mut work = Box::pin(AssertUnwindSafe(tool.run(permit, cx)).catch_unwind());
    let crashed = |_| RawResult::error(format!("{name} crashed. Try another way."));
    tokio::select! {
        raw = &mut work => return raw.unwrap_or_else(crashed),
        () = cancel.cancelled() => (),
        () = time_used_up(timeout, waited) => (),
    }
    let cancelled = cancel.is_cancelled();
    cancel.cancel();
    let late = tokio::time::timeout(STOP_GRACE, &mut work).await;
    let why = match cancelled {
        true => "The call was cancelled".to_string(),
        false => {
            format!("The call took longer than its {} ms and was ended", timeout.as_millis())
        }
    };
    match late {
        Ok(raw) => {
            let raw = raw.unwrap_or_else(crashed);
            if !cancelled && raw.ok { RawResult::error(why) } else { raw }
        }
        Err(_) => RawResult::error(format!("{why}; it did not stop by itself.")),
    }
}

/// Waits until a call has used up its time.
async fn time_used_up(timeout: Duration, waited: impl Fn() -> Duration) {
    /// How long at least until it is looked at again, while the person is waited for.
    const PAUSE: Duration = Duration::from_millis(100);
    let begun = tokio::time::Instant::now();
    tokio::time::sleep(timeout).await;
    loop {
        let left = (timeout + waited()).saturating_sub(begun.elapsed());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.max(PAUSE)).await;
    }
}
