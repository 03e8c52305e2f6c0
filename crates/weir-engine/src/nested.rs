//! The steps of a call that works by other tools: each is looked at, judged within the call's own
//! permit, and run. Not here: what may be done, which the session says.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use weir_core::governance::filter::one_line;
use weir_core::governance::label::{self, Label};
use weir_core::governance::{CallFacts, Permit};
use weir_core::ids::CallId;
use weir_core::message::{CallBlock, MessageBlock};
use weir_core::session::nested::StepDenial;
use weir_core::session::{CallState, Session};
use weir_core::tool::{RawResult, ResultEffect};

use crate::own_gates::ask_own_gates;
use crate::ports::{
    CallPlan, NestedTools, NoModelPrompter, NoNested, OwnGateCall, Tool, ToolContext,
};
use crate::scene::learn_marks;
use crate::toolbox::Toolbox;
use crate::worker_context::WorkerContext;

/// What other tools would touch, for a call that is planned. It runs none.
pub(crate) struct StepPlanner {
    pub(crate) toolbox: Arc<Toolbox>,
}

#[async_trait]
impl NestedTools for StepPlanner {
    async fn call_tool(
        &self,
        outer: &Permit,
        tool: &str,
        input: Value,
        cx: &ToolContext,
    ) -> RawResult {
        NoNested.call_tool(outer, tool, input, cx).await
    }

    async fn plan_nested_call(
        &self,
        tool: &str,
        input: Value,
        cx: &ToolContext,
    ) -> Result<CallPlan, String> {
        find_step_tool(&self.toolbox, tool)?;
        let call = step_of(cx.call, tool, input).ok_or("no such call can be made")?;
        let (inspection, plan) = self.toolbox.inspect(&call, cx).await;
        match inspection.invalid {
            Some(invalid) => Err(format!("the arguments of {tool} are wrong: {invalid}")),
            None => Ok(plan),
        }
    }
}

/// The tool of this name, where it can be a step.
fn find_step_tool(toolbox: &Toolbox, tool: &str) -> Result<Arc<dyn Tool>, String> {
    let found = toolbox.get(tool).ok_or_else(|| format!("there is no tool {tool}"))?;
    match found.has_nested_calls() {
        true => Err(format!("{tool} works by other tools itself and cannot be a step")),
        false => Ok(found),
    }
}

/// A call of `tool` as a step of `outer`.
fn step_of(outer: CallId, tool: &str, input: Value) -> Option<CallState> {
    let block = CallBlock {
        call: outer,
        wire_id: String::new(),
        tool: tool.into(),
        input,
        broken: None,
        seal: None,
    };
    CallState::from_block(&MessageBlock::Call(block))
}

/// What the steps of one call are made with.
pub(crate) struct NestedCalls {
    pub(crate) context: Arc<WorkerContext>,
    /// The session as it was when the call began.
    pub(crate) session: Arc<Session>,
    pub(crate) steps: Mutex<StepResults>,
}

/// What the steps came to.
#[derive(Debug, Default)]
pub(crate) struct StepResults {
    news: Vec<ResultEffect>,
    label: Label,
    changed: Vec<String>,
}

impl StepResults {
    /// A person was missed for a step. The same step may be tried without end, and is told of once.
    fn note_unapproved(&mut self, tool: &str, reason: Option<String>) {
        let Some(reason) = reason else { return };
        let unapproved = ResultEffect::Unapproved { tool: tool.into(), reason };
        if !self.news.contains(&unapproved) {
            self.news.push(unapproved);
        }
    }
}

impl NestedCalls {
    pub(crate) fn new(context: Arc<WorkerContext>, session: Arc<Session>) -> NestedCalls {
        NestedCalls { context, session, steps: Mutex::default() }
    }

    /// Puts what the steps came to into the result of the call.
    pub(crate) fn add_to(&self, raw: &mut RawResult) {
        let steps = std::mem::take(&mut *self.steps.lock().unwrap_or_else(PoisonError::into_inner));
        raw.news.extend(steps.news);
        raw.label.join(&steps.label);
        for path in steps.changed {
            if !raw.changed.contains(&path) {
                raw.changed.push(path);
            }
        }
    }

    async fn run_step(
        &self,
        outer: &Permit,
        tool: &str,
        input: Value,
        cx: &ToolContext,
    ) -> Result<(RawResult, Label), StepDenial> {
        let WorkerContext { parts, workspace, toolbox, .. } = self.context.as_ref();
        let found = find_step_tool(toolbox, tool)?;
        let call = step_of(outer.call(), tool, input.clone()).ok_or("no such call can be made")?;
        // The call may have been at work for long: a step is judged by what is marked now.
        if let Some(config) = self.session.config() {
            learn_marks(parts.store.as_ref(), workspace, config).await;
        }
        let (mut inspection, plan) = toolbox.inspect(&call, cx).await;
        if let Some(invalid) = &inspection.invalid {
            return Err(format!("the arguments of {tool} are wrong: {invalid}").into());
        }
        inspection.own = ask_own_gates(
            &parts.gates,
            &OwnGateCall {
                session: &cx.session,
                mode: cx.mode,
                tool,
                input: &input,
                inspection: &inspection,
            },
        );
        let so_far = self.steps.lock().unwrap_or_else(PoisonError::into_inner).label.clone();
        let step = CallFacts {
            call: outer.call(),
            tool,
            input: &input,
            broken: None,
            inspection: &inspection,
        };
        let permit = self.session.nested_permit(outer, &step, &so_far)?;
        if let Some(fails) = inspection.fails {
            // The words may quote what was looked at. They are filtered with what the call gives.
            let given = label::of_failed_plan(&inspection.effects);
            return Ok((RawResult::error(fails), given));
        }
        let given = label::of_result(&inspection.effects);
        // What a person agreed to is the outer call: nothing more is asked in its name.
        let cx = ToolContext {
            contents: Arc::new(plan.contents),
            model_prompter: Arc::new(NoModelPrompter),
            ..cx.clone()
        };
        Ok((found.run(permit, &cx).await, given))
    }
}

#[async_trait]
impl NestedTools for NestedCalls {
    async fn call_tool(
        &self,
        outer: &Permit,
        tool: &str,
        input: Value,
        cx: &ToolContext,
    ) -> RawResult {
        let done = self.run_step(outer, tool, input, cx).await;
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let (raw, label) = match done {
            Ok(done) => done,
            Err(StepDenial { reason, unapproved }) => {
                steps.note_unapproved(tool, unapproved);
                (RawResult::error(reason), Label::default())
            }
        };
        steps.label.join(&label);
        steps.label.join(&raw.label);
        steps.changed.extend(raw.changed.iter().cloned());
        let summary = raw.summary.clone().unwrap_or_else(|| {
            let text = weir_core::message::plain_text(&raw.blocks);
            one_line(text.lines().next().unwrap_or_default())
        });
        steps.news.push(ResultEffect::Step { tool: tool.into(), ok: raw.ok, summary });
        raw
    }
}
