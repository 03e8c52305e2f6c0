//! What all built-in tools have in common: parsing arguments, and the two ways to run.
//!
//! An [`Act`] looks, asks or starts something; an [`Edit`] computes its exact changes while
//! planning, and running it is applying them. Only the two wrappers here see a permit.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_core::governance::Permit;
use weir_core::tool::{EffectClass, Effects, Group, Raw, ToolSpec};
use weir_engine::ports::{Plan, Tool, ToolContext};

use crate::{blocking, schema};

/// New bytes of changed files by path, as in [`Plan::contents`].
pub(crate) type Contents = BTreeMap<String, Arc<[u8]>>;

/// A tool that changes no file by itself.
#[async_trait]
pub(crate) trait Act: Send + Sync + 'static {
    /// Its arguments: the doc comments are what the model reads.
    type Input: DeserializeOwned + JsonSchema + Send + Sync;
    /// Name, description, group and flags; asked once.
    fn spec() -> ToolSpec;
    /// As [`Tool::plan`].
    async fn plan(input: Self::Input, cx: &ToolContext) -> Plan;
    /// As [`Tool::run`], for a call that holds a permit for `effects`.
    async fn act(input: Self::Input, effects: &Effects, cx: &ToolContext) -> Raw;
}

/// A tool that changes files in a way that is known before it runs.
#[async_trait]
pub(crate) trait Edit: Send + Sync + 'static {
    /// Its arguments: the doc comments are what the model reads.
    type Input: DeserializeOwned + JsonSchema + Send + Sync;
    /// Name, description, group and flags; asked once.
    fn spec() -> ToolSpec;
    /// As [`Tool::plan`], with the exact changes and the new contents.
    async fn plan(input: Self::Input, cx: &ToolContext) -> Plan;
    /// What the model is told once the changes are made.
    fn report(input: &Self::Input, effects: &Effects, contents: &Contents) -> String;
    /// What is tidied up once the changes are made. Changes nothing that a person would miss.
    async fn after(_input: Self::Input, _cx: &ToolContext) {}
}

/// A spec with nothing set but what every tool has.
pub(crate) fn spec<Input: JsonSchema>(name: &str, group: Group, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        group,
        input_schema: schema::input_schema::<Input>().into(),
        deferred: false,
        parallel_safe: false,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

/// The arguments as the tool's own type. The schema was checked before; what it cannot say
/// (unknown fields) fails here.
pub(crate) fn parse<Input: DeserializeOwned>(input: &Value) -> Result<Input, String> {
    Input::deserialize(input).map_err(|why| format!("the arguments cannot be used: {why}"))
}

/// Tells the model what was changed. Used by [`Edit`] tools alone.
pub(crate) fn edited<E: Edit>(input: &Value, effects: &Effects, cx: &ToolContext) -> Raw {
    let input = match parse::<E::Input>(input) {
        Ok(input) => input,
        Err(message) => return Raw::error(message),
    };
    let text = E::report(&input, effects, &cx.contents);
    let summary = text.lines().next().unwrap_or_default().to_owned();
    Raw::ok(text).with_summary(summary)
}

/// Plans without a permit's help: shared by both wrappers.
async fn planned<Input, F>(input: &Value, plan: impl FnOnce(Input) -> F) -> Plan
where
    Input: DeserializeOwned,
    F: Future<Output = Plan>,
{
    match parse(input) {
        Ok(input) => plan(input).await,
        Err(message) => nothing("Arguments that cannot be used").failing(message),
    }
}

/// A plan that touches nothing.
pub(crate) fn nothing(summary: impl Into<String>) -> Plan {
    Plan::new(EffectClass::Read, Effects::default(), summary)
}

/// Runs an [`Act`]'s body; the wrapper below is its only caller outside tests.
pub(crate) async fn acted<A: Act>(input: &Value, effects: &Effects, cx: &ToolContext) -> Raw {
    match parse(input) {
        Ok(input) => A::act(input, effects, cx).await,
        Err(message) => Raw::error(message),
    }
}

struct Acts<A> {
    spec: ToolSpec,
    kind: PhantomData<A>,
}

struct Edits<E> {
    spec: ToolSpec,
    kind: PhantomData<E>,
}

/// An [`Act`] as the engine knows it.
pub(crate) fn acts<A: Act>() -> Arc<dyn Tool> {
    Arc::new(Acts::<A> { spec: A::spec(), kind: PhantomData })
}

/// An [`Edit`] as the engine knows it.
pub(crate) fn edits<E: Edit>() -> Arc<dyn Tool> {
    Arc::new(Edits::<E> { spec: E::spec(), kind: PhantomData })
}

#[async_trait]
impl<A: Act> Tool for Acts<A> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan(&self, input: &Value, cx: &ToolContext) -> Plan {
        planned(input, |input| A::plan(input, cx)).await
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> Raw {
        acted::<A>(permit.input(), permit.effects(), cx).await
    }
}

#[async_trait]
impl<E: Edit> Tool for Edits<E> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan(&self, input: &Value, cx: &ToolContext) -> Plan {
        planned(input, |input| E::plan(input, cx)).await
    }

    async fn run(&self, permit: Permit, cx: &ToolContext) -> Raw {
        let message = edited::<E>(permit.input(), permit.effects(), cx);
        let (workspace, contents) = (cx.workspace.clone(), cx.contents.clone());
        let given = permit.input().clone();
        match blocking(move || workspace.apply(&permit, &contents)).await {
            Ok(Ok(changed)) => {
                if let Ok(input) = parse::<E::Input>(&given) {
                    E::after(input, cx).await;
                }
                Raw { changed, ..message }
            }
            Ok(Err(refused)) => Raw::error(format!("Nothing was changed: {refused}")),
            Err(why) => Raw::error(format!("The change may be incomplete: {why}")),
        }
    }
}
