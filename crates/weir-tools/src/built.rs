//! What all built-in tools have in common: parsing arguments, and the two ways to run.
//!
//! An [`ActionTool`] looks, asks or starts something; an [`EditTool`] computes its exact changes while
//! planning, and running it is applying them. Only the two wrappers here see a permit.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::label::Label;
use weir_core::tool::{EffectClass, Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, Tool, ToolContext};

use crate::run_blocking;
use crate::schema::{self, HasSchema};

/// New bytes of changed files by path, as in `CallPlan::contents`.
pub(crate) type NewContents = BTreeMap<String, Arc<[u8]>>;

/// A tool that changes no file by itself.
#[async_trait]
pub(crate) trait ActionTool: Send + Sync + 'static {
    /// Its arguments: the doc comments are what the model reads.
    type Input: DeserializeOwned + HasSchema + Send + Sync;
    /// Name, description, group and flags; asked once.
    fn spec() -> ToolSpec;
    /// As [`Tool::plan_call`].
    async fn plan_call(input: Self::Input, cx: &ToolContext) -> CallPlan;
    /// As [`Tool::run`], for a call that holds a permit for `effects`.
    async fn run_call(input: Self::Input, effects: &Effects, cx: &ToolContext) -> RawResult;
}

/// A tool that changes files in a way that is known before it runs.
#[async_trait]
pub(crate) trait EditTool: Send + Sync + 'static {
    /// Its arguments: the doc comments are what the model reads.
    type Input: DeserializeOwned + HasSchema + Send + Sync;
    /// Name, description, group and flags; asked once.
    fn spec() -> ToolSpec;
    /// As [`Tool::plan_call`], with the exact changes and the new contents.
    async fn plan_call(input: Self::Input, cx: &ToolContext) -> CallPlan;
    /// What the model is told once the changes are made.
    fn report_result(input: &Self::Input, effects: &Effects, contents: &NewContents) -> String;
    /// What must be said of the folder as it is once the changes are made, behind the result.
    async fn describe_aftermath(
        _input: Self::Input,
        _effects: &Effects,
        _cx: &ToolContext,
    ) -> String {
        String::new()
    }
    /// What is tidied up once the changes are made. Changes nothing that a person would miss.
    async fn clean_up(_input: Self::Input, _cx: &ToolContext) {}
}

/// A tool of the list: as the engine knows it, and in tests without an engine.
#[async_trait]
pub(crate) trait BuiltInTool: Tool {
    /// The schema of its arguments, made from their struct: what the kept text is held against.
    #[cfg(test)]
    fn derived_schema(&self) -> Value;
    /// Does what a plan says, without a permit: how golden cases play a call.
    #[cfg(test)]
    async fn play_call(&self, _input: &Value, _plan: CallPlan, _cx: &ToolContext) -> RawResult {
        RawResult::error("no cases can be played for it")
    }
}

/// A spec with nothing set but what every tool has. The schema is the kept one of this name.
pub(crate) fn tool_spec(name: &str, group: ToolGroup, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        group,
        input_schema: schema::kept_schema(name),
        deferred: false,
        parallel_safe: false,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

/// The arguments as the tool's own type. The schema was checked before; what it cannot say
/// (unknown fields) fails here.
pub(crate) fn parse_input<Input: DeserializeOwned>(input: &Value) -> Result<Input, String> {
    Input::deserialize(input).map_err(|why| format!("the arguments cannot be used: {why}"))
}

/// Tells the model what was changed. Used by [`EditTool`] tools alone.
fn finish_edit<E: EditTool>(input: &Value, effects: &Effects, cx: &ToolContext) -> RawResult {
    let input = match parse_input::<E::Input>(input) {
        Ok(input) => input,
        Err(message) => return RawResult::error(message),
    };
    let text = E::report_result(&input, effects, &cx.contents);
    let summary = text.lines().next().unwrap_or_default().to_owned();
    RawResult::ok(text).with_summary(summary)
}

/// The result with what must be said of the folder as it is now.
async fn tell_aftermath<E: EditTool>(
    input: &Value,
    effects: &Effects,
    told: RawResult,
    cx: &ToolContext,
) -> RawResult {
    let Ok(input) = parse_input::<E::Input>(input) else { return told };
    match E::describe_aftermath(input, effects, cx).await {
        more if more.is_empty() => told,
        more => {
            let text = weir_core::message::plain_text(&told.blocks) + &more;
            let summary = text.lines().next().unwrap_or_default().to_owned();
            RawResult::ok(text).with_summary(summary)
        }
    }
}

/// Plans without a permit's help: shared by both wrappers.
async fn plan_parsed<Input, F>(input: &Value, plan: impl FnOnce(Input) -> F) -> CallPlan
where
    Input: DeserializeOwned,
    F: Future<Output = CallPlan>,
{
    match parse_input(input) {
        Ok(input) => plan(input).await,
        Err(message) => empty_plan("Arguments that cannot be used").with_failure(message),
    }
}

/// A plan that touches nothing.
pub(crate) fn empty_plan(summary: impl Into<String>) -> CallPlan {
    CallPlan::new(EffectClass::Read, Effects::default(), summary)
}

/// A plan that touches nothing and fails in words that may quote what has this label (Z1).
pub(crate) fn quoting_failure(
    summary: impl Into<String>,
    quoted: Label,
    why: impl Into<String>,
) -> CallPlan {
    let effects = Effects { gives: quoted, ..Effects::default() };
    CallPlan::new(EffectClass::Read, effects, summary).with_failure(why)
}

/// Runs an [`ActionTool`]'s body; the wrapper below is its only caller outside tests.
pub(crate) async fn run_action<A: ActionTool>(
    input: &Value,
    effects: &Effects,
    cx: &ToolContext,
) -> RawResult {
    match parse_input(input) {
        Ok(input) => A::run_call(input, effects, cx).await,
        Err(message) => RawResult::error(message),
    }
}

struct ActionToolAdapter<A> {
    spec: ToolSpec,
    kind: PhantomData<A>,
}

struct EditToolAdapter<E> {
    spec: ToolSpec,
    kind: PhantomData<E>,
}

/// An [`ActionTool`] for the list.
pub(crate) fn action_tool<A: ActionTool>() -> Arc<dyn BuiltInTool> {
    Arc::new(ActionToolAdapter::<A> { spec: A::spec(), kind: PhantomData })
}

/// An [`EditTool`] for the list.
pub(crate) fn edit_tool<E: EditTool>() -> Arc<dyn BuiltInTool> {
    Arc::new(EditToolAdapter::<E> { spec: E::spec(), kind: PhantomData })
}

#[async_trait]
impl<A: ActionTool> Tool for ActionToolAdapter<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        plan_parsed(input, |input| A::plan_call(input, cx)).await
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        run_action::<A>(permit.input(), permit.effects(), cx).await
    }
}

#[async_trait]
impl<A: ActionTool> BuiltInTool for ActionToolAdapter<A> {
    #[cfg(test)]
    fn derived_schema(&self) -> Value {
        schema::input_schema::<A::Input>()
    }

    #[cfg(test)]
    async fn play_call(&self, input: &Value, plan: CallPlan, cx: &ToolContext) -> RawResult {
        run_action::<A>(input, &plan.effects, cx).await
    }
}

#[async_trait]
impl<E: EditTool> Tool for EditToolAdapter<E> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan_call(&self, input: &Value, cx: &ToolContext) -> CallPlan {
        plan_parsed(input, |input| E::plan_call(input, cx)).await
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        let message = finish_edit::<E>(permit.input(), permit.effects(), cx);
        let (workspace, contents) = (cx.workspace.clone(), cx.contents.clone());
        let (given, effects) = (permit.input().clone(), permit.effects().clone());
        match run_blocking(move || workspace.apply_permitted_changes(&permit, &contents)).await {
            Ok(Ok(changed)) => {
                if let Ok(input) = parse_input::<E::Input>(&given) {
                    E::clean_up(input, cx).await;
                }
                RawResult { changed, ..tell_aftermath::<E>(&given, &effects, message, cx).await }
            }
            Ok(Err(refused)) => RawResult::error(format!("Nothing was changed: {refused}")),
            Err(why) => RawResult::error(format!("The change may be incomplete: {why}")),
        }
    }
}

#[async_trait]
impl<E: EditTool> BuiltInTool for EditToolAdapter<E> {
    #[cfg(test)]
    fn derived_schema(&self) -> Value {
        schema::input_schema::<E::Input>()
    }

    #[cfg(test)]
    async fn play_call(&self, input: &Value, plan: CallPlan, cx: &ToolContext) -> RawResult {
        let made = cx.workspace.apply_changes(&plan.effects.changes, &plan.contents);
        if let Err(why) = made {
            return RawResult::error(why.to_string());
        }
        let cx = ToolContext { contents: Arc::new(plan.contents), ..cx.clone() };
        let told = finish_edit::<E>(input, &plan.effects, &cx);
        tell_aftermath::<E>(input, &plan.effects, told, &cx).await
    }
}
