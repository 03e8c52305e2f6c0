//! `manage_tool`: makes, changes, takes away, lists and shows tools that run code of their own (T5). A
//! person is shown all of it and asked, in every mode (Z9). Not here: running one (`dynamic`).

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_core::dynamic::{DeclaredEffects, ToolDefinition};
use weir_core::governance::label::Label;
use weir_core::profile::PermissionMode;
use weir_core::tool::{EffectClass, Effects, RawResult, ResultEffect, ToolGroup, ToolSpec};
use weir_engine::made::{ACTIVE, MadeTool};
use weir_engine::ports::{CallPlan, NoHost, ScriptKind, ScriptTask, StoredItem, ToolContext};

use crate::built::{ActionTool, quoting_failure, tool_spec};
use crate::{diff, dynamic, text};

/// Tools that can be kept.
const KEPT_MAX: usize = 100;
/// Time in which the code must have said whether it is a module.
const CHECK_TIME: Duration = Duration::from_secs(15);

pub(crate) struct ManageTool;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ToolAction {
    Create,
    Update,
    Remove,
    List,
    Show,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    action: ToolAction,
    /// Lower-case letters, digits, underscores.
    #[serde(default)]
    name: String,
    /// What the tool does and when to use it.
    #[serde(default)]
    description: Option<String>,
    /// JSON Schema of its input: an object.
    #[serde(default)]
    input_schema: Option<Map<String, Value>>,
    /// A JavaScript module that exports `run(input, host)`, which returns text or JSON. `host` has
    /// readFile(path), writeFile(path, content), deleteFile(path), listFiles(path), search(pattern),
    /// fetch(url), call(tool, input), log(text); nothing else is there.
    #[serde(default)]
    code: Option<String>,
    /// Everything that the code may touch.
    #[serde(default)]
    effects: Option<DeclaredEffects>,
}

#[async_trait]
impl ActionTool for ManageTool {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..tool_spec(
                "manage_tool",
                ToolGroup::Agent,
                "Makes a tool of your own from JavaScript, changes or removes one, lists or shows \
                 them. The person sees all of it and has to agree; then call it with call_tool.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = match input.action {
            ToolAction::Create => format!("Make the tool {}", input.name),
            ToolAction::Update => format!("Change the tool {}", input.name),
            ToolAction::Remove => format!("Remove the tool {}", input.name),
            ToolAction::List => "List made tools".into(),
            ToolAction::Show => format!("Show the tool {}", input.name),
        };
        let summary = text::one_line(&summary, 200);
        match plan_action(&input, cx).await {
            Ok(ManagePlan::Reads(label)) => {
                let effects = Effects { gives: label, ..Effects::default() };
                CallPlan::new(EffectClass::Read, effects, summary)
            }
            Ok(ManagePlan::Makes { old, new }) => {
                let (old, new) = (
                    old.map(|old| old.describe_definition()),
                    (new.describe_definition(), new.to_json_text()),
                );
                CallPlan {
                    diff: Some(diff::whole_text_diff(&input.name, old.as_deref(), &new.0)),
                    confirm: Some(
                        "it is code that runs when the tool is called, now and in later sessions"
                            .into(),
                    ),
                    ..CallPlan::new(EffectClass::Keyed, remember_effects(new.1), summary)
                }
            }
            Ok(ManagePlan::Removes(kept)) => CallPlan {
                confirm: Some("later sessions have it no more".into()),
                ..CallPlan::new(EffectClass::Keyed, remember_effects(kept.name), summary)
            },
            // Why not is said with names of the tools that are kept, and with what stands in one.
            Err(why) => {
                let kept = cx.knows.made_tools().await.unwrap_or_default();
                quoting_failure(summary, joined_label(&kept), why)
            }
        }
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let done = match input.action {
            ToolAction::Create | ToolAction::Update => make_tool(&input, effects, cx).await,
            ToolAction::Remove => remove(&input.name, cx).await,
            ToolAction::List => list_tools(cx).await,
            ToolAction::Show => show_tool(&input.name, cx).await,
        };
        done.unwrap_or_else(RawResult::error)
    }
}

/// What a call is about.
enum ManagePlan {
    Reads(Label),
    Makes { old: Option<Box<ToolDefinition>>, new: Box<ToolDefinition> },
    Removes(Box<StoredItem>),
}

fn remember_effects(text: String) -> Effects {
    Effects { remembers: vec![text], ..Effects::default() }
}

/// The label of the words of all these together.
fn joined_label(kept: &[StoredItem]) -> Label {
    let labels = kept.iter().map(|kept| &kept.label);
    labels.fold(Label::default(), |all, label| all.joined_with(label))
}

async fn plan_action(input: &Input, cx: &ToolContext) -> Result<ManagePlan, String> {
    let kept = cx.knows.made_tools().await?;
    let known = || kept.iter().find(|kept| kept.name == input.name);
    let missing = || {
        let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
        format!("nobody made a tool {:?}; there are: [{}]", input.name, names.join(", "))
    };
    let changes = !matches!(input.action, ToolAction::List | ToolAction::Show);
    if changes && cx.mode == PermissionMode::Plan {
        return Err("in plan mode no tool is made or removed; describe it in the plan".into());
    }
    match input.action {
        ToolAction::List => Ok(ManagePlan::Reads(joined_label(&kept))),
        ToolAction::Show => Ok(ManagePlan::Reads(known().ok_or_else(missing)?.label.clone())),
        ToolAction::Remove => {
            Ok(ManagePlan::Removes(Box::new(known().ok_or_else(missing)?.clone())))
        }
        ToolAction::Create if known().is_some() => {
            Err(format!("there is a tool {} already: use action update", input.name))
        }
        ToolAction::Create if kept.len() >= KEPT_MAX => {
            Err(format!("there are {KEPT_MAX} made tools already: remove one first"))
        }
        ToolAction::Create | ToolAction::Update => {
            let old = match input.action {
                ToolAction::Update => Some(known().ok_or_else(missing)?),
                _ => None,
            };
            let old = old.map(|kept| ToolDefinition::parse(&kept.text)).transpose()?;
            let new = build_definition(input, old.as_ref());
            check_definition(&new, old.is_some(), cx).await?;
            Ok(ManagePlan::Makes { old: old.map(Box::new), new: Box::new(new) })
        }
    }
}

/// The definition that the arguments make, over what there was.
fn build_definition(input: &Input, old: Option<&ToolDefinition>) -> ToolDefinition {
    let before = |of: fn(&ToolDefinition) -> &String| old.map(of).cloned().unwrap_or_default();
    let schema = input.input_schema.clone().map(Value::Object);
    ToolDefinition {
        name: input.name.clone(),
        description: input.description.clone().unwrap_or_else(|| before(|old| &old.description)),
        input_schema: schema
            .or_else(|| old.map(|old| old.input_schema.clone()))
            .unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        code: input.code.clone().unwrap_or_else(|| before(|old| &old.code)),
        effects: input
            .effects
            .clone()
            .or_else(|| old.map(|old| old.effects.clone()))
            .unwrap_or_default(),
    }
}

async fn check_definition(
    new: &ToolDefinition,
    exists: bool,
    cx: &ToolContext,
) -> Result<(), String> {
    let built_in = crate::built_in_names();
    let built_in: Vec<&str> = built_in.iter().map(String::as_str).collect();
    let findings = new.findings(&built_in);
    if !findings.is_empty() {
        return Err(findings.join("; "));
    }
    let taken = cx.knows.toolbox().is_some_and(|tools| tools.get(&new.name).is_some());
    if taken && !exists {
        return Err(format!("there is a tool {} already: choose another name", new.name));
    }
    weir_engine::toolbox::check_schema(&new.input_schema)?;
    let script = ScriptTask {
        kind: ScriptKind::Check,
        code: new.code.clone(),
        input: Value::Null,
        time: CHECK_TIME,
    };
    let run = cx.knows.scripts();
    let ran = run.run(script, &NoHost, &cx.cancel).await;
    ran.map(|_| ()).map_err(|why| format!("the code cannot be used: {why}"))
}

async fn make_tool(
    input: &Input,
    effects: &Effects,
    cx: &ToolContext,
) -> Result<RawResult, String> {
    let kept = cx.knows.made_tools().await?;
    let old = kept.iter().find(|kept| kept.name == input.name);
    let old = old.and_then(|kept| ToolDefinition::parse(&kept.text).ok());
    let before = old.as_ref().filter(|_| input.action == ToolAction::Update);
    let new = build_definition(input, before);
    // What is kept is what the person was shown.
    if effects.remembers != [new.to_json_text()] {
        return Err(format!("{} changed since the person was asked; try again", new.name));
    }
    let kept = cx.knows.keep_tool(&new).await?;
    let tools = cx.knows.toolbox().ok_or("there is no session here")?;
    let made = MadeTool { definition: new.clone(), label: kept.label.clone() };
    tools.add(dynamic::dynamic_tool(made, cx.knows.scripts())).map_err(|why| why.to_string())?;
    let word = if before.is_some() { "changed" } else { "made" };
    let raw = RawResult::ok(format!(
        "{word}: {} (version {}). Call it with call_tool from now on; later sessions have it too \
         until the person removes it (`weir tools`).",
        new.name, kept.version
    ));
    let news = vec![ResultEffect::Made { tool: Box::new(new.spec()) }];
    Ok(RawResult { news, ..raw.with_summary(format!("{word} {}", new.name)) })
}

async fn remove(name: &str, cx: &ToolContext) -> Result<RawResult, String> {
    cx.knows.unkeep_tool(name).await?;
    if let Some(tools) = cx.knows.toolbox() {
        tools.remove(name);
    }
    let news = vec![ResultEffect::Unmade { name: name.to_owned() }];
    let raw =
        RawResult::ok(format!("The tool {name} is gone.")).with_summary(format!("removed {name}"));
    Ok(RawResult { news, ..raw })
}

async fn list_tools(cx: &ToolContext) -> Result<RawResult, String> {
    let kept = cx.knows.made_tools().await?;
    if kept.is_empty() {
        return Ok(RawResult::ok("Nobody has made a tool yet.").with_summary("none"));
    }
    let line = |kept: &StoredItem| {
        let said = ToolDefinition::parse(&kept.text)
            .map_or_else(|why| why, |definition| text::one_line(&definition.description, 200));
        let off = if kept.state == ACTIVE { "" } else { " (switched off)" };
        format!("{}{off}, version {}, by {}: {said}", kept.name, kept.version, kept.by)
    };
    let lines: Vec<String> = kept.iter().map(line).collect();
    Ok(RawResult::ok(lines.join("\n")).with_summary(text::count_noun(lines.len(), "made tool")))
}

async fn show_tool(name: &str, cx: &ToolContext) -> Result<RawResult, String> {
    let kept = cx.knows.made_tools().await?;
    let kept = kept.into_iter().find(|kept| kept.name == name);
    let kept = kept.ok_or_else(|| format!("nobody made a tool {name:?}"))?;
    Ok(RawResult::ok(kept.text).with_summary(format!("{name}, version {}", kept.version)))
}
