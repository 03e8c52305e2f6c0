//! `manage_tool`: makes, changes, takes away, lists and shows tools that run code of their own (T5). A
//! person is shown all of it and asked, in every mode (Z9). Not here: running one (`dynamic`).

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_core::dynamic::{DeclaredEffects, ToolDefinition};
use weir_core::governance::label::Label;
use weir_core::profile::PermissionMode;
use weir_core::tool::{EffectClass, Effects, Group, Raw, ResultEffect, ToolSpec};
use weir_engine::made::{ACTIVE, MadeTool};
use weir_engine::ports::{Kept, NoHost, Plan, Script, ScriptKind, ToolContext};

use crate::built::{Act, nothing, spec};
use crate::{diff, dynamic, text};

/// Tools that can be kept.
const KEPT_MAX: usize = 100;
/// Time in which the code must have said whether it is a module.
const CHECK_TIME: Duration = Duration::from_secs(15);

pub(crate) struct ManageTool;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Create,
    Update,
    Remove,
    List,
    Show,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    action: Action,
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
impl Act for ManageTool {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..spec::<Input>(
                "manage_tool",
                Group::Agent,
                "Makes a tool of your own from JavaScript, changes or removes one, lists or shows \
                 them. The person sees all of it and has to agree; then call it with call_tool.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let summary = match input.action {
            Action::Create => format!("Make the tool {}", input.name),
            Action::Update => format!("Change the tool {}", input.name),
            Action::Remove => format!("Remove the tool {}", input.name),
            Action::List => "List made tools".into(),
            Action::Show => format!("Show the tool {}", input.name),
        };
        let summary = text::one_line(&summary, 200);
        match planned(&input, cx).await {
            Ok(Planned::Reads(label)) => {
                let effects = Effects { gives: label, ..Effects::default() };
                Plan::new(EffectClass::Read, effects, summary)
            }
            Ok(Planned::Makes { old, new }) => {
                let (old, new) = (old.map(|old| old.shown()), (new.shown(), new.text()));
                Plan {
                    diff: Some(diff::whole(&input.name, old.as_deref(), &new.0)),
                    confirm: Some(
                        "it is code that runs when the tool is called, now and in later sessions"
                            .into(),
                    ),
                    ..Plan::new(EffectClass::Keyed, keeps(new.1), summary)
                }
            }
            Ok(Planned::Removes(kept)) => Plan {
                confirm: Some("later sessions have it no more".into()),
                ..Plan::new(EffectClass::Keyed, keeps(kept.name), summary)
            },
            Err(why) => nothing(summary).failing(why),
        }
    }

    async fn act(input: Input, effects: &Effects, cx: &ToolContext) -> Raw {
        let done = match input.action {
            Action::Create | Action::Update => make(&input, effects, cx).await,
            Action::Remove => remove(&input.name, cx).await,
            Action::List => list(cx).await,
            Action::Show => show(&input.name, cx).await,
        };
        done.unwrap_or_else(Raw::error)
    }
}

/// What a call is about.
enum Planned {
    Reads(Label),
    Makes { old: Option<Box<ToolDefinition>>, new: Box<ToolDefinition> },
    Removes(Box<Kept>),
}

fn keeps(text: String) -> Effects {
    Effects { remembers: vec![text], ..Effects::default() }
}

async fn planned(input: &Input, cx: &ToolContext) -> Result<Planned, String> {
    let kept = cx.knows.made_tools().await?;
    let known = || kept.iter().find(|kept| kept.name == input.name);
    let missing = || {
        let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
        format!("nobody made a tool {:?}; there are: [{}]", input.name, names.join(", "))
    };
    let changes = !matches!(input.action, Action::List | Action::Show);
    if changes && cx.mode == PermissionMode::Plan {
        return Err("in plan mode no tool is made or removed; describe it in the plan".into());
    }
    match input.action {
        Action::List => {
            let labels = kept.iter().map(|kept| kept.label.clone());
            Ok(Planned::Reads(labels.fold(Label::default(), |all, label| all.joined(&label))))
        }
        Action::Show => Ok(Planned::Reads(known().ok_or_else(missing)?.label.clone())),
        Action::Remove => Ok(Planned::Removes(Box::new(known().ok_or_else(missing)?.clone()))),
        Action::Create if known().is_some() => {
            Err(format!("there is a tool {} already: use action update", input.name))
        }
        Action::Create if kept.len() >= KEPT_MAX => {
            Err(format!("there are {KEPT_MAX} made tools already: remove one first"))
        }
        Action::Create | Action::Update => {
            let old = match input.action {
                Action::Update => Some(known().ok_or_else(missing)?),
                _ => None,
            };
            let old = old.map(|kept| ToolDefinition::parse(&kept.text)).transpose()?;
            let new = definition(input, old.as_ref());
            checked(&new, old.is_some(), cx).await?;
            Ok(Planned::Makes { old: old.map(Box::new), new: Box::new(new) })
        }
    }
}

/// The definition that the arguments make, over what there was.
fn definition(input: &Input, old: Option<&ToolDefinition>) -> ToolDefinition {
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

async fn checked(new: &ToolDefinition, exists: bool, cx: &ToolContext) -> Result<(), String> {
    let built_in = crate::names();
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
    let script = Script {
        kind: ScriptKind::Check,
        code: new.code.clone(),
        input: Value::Null,
        time: CHECK_TIME,
    };
    let run = cx.knows.scripts();
    let ran = run.run(script, &NoHost, &cx.cancel).await;
    ran.map(|_| ()).map_err(|why| format!("the code cannot be used: {why}"))
}

async fn make(input: &Input, effects: &Effects, cx: &ToolContext) -> Result<Raw, String> {
    let kept = cx.knows.made_tools().await?;
    let old = kept.iter().find(|kept| kept.name == input.name);
    let old = old.and_then(|kept| ToolDefinition::parse(&kept.text).ok());
    let before = old.as_ref().filter(|_| input.action == Action::Update);
    let new = definition(input, before);
    // What is kept is what the person was shown.
    if effects.remembers != [new.text()] {
        return Err(format!("{} changed since the person was asked; try again", new.name));
    }
    let kept = cx.knows.keep_tool(&new).await?;
    let tools = cx.knows.toolbox().ok_or("there is no session here")?;
    let made = MadeTool { definition: new.clone(), label: kept.label.clone() };
    tools.add(dynamic::dynamic(made, cx.knows.scripts())).map_err(|why| why.to_string())?;
    let word = if before.is_some() { "changed" } else { "made" };
    let raw = Raw::ok(format!(
        "{word}: {} (version {}). Call it with call_tool from now on; later sessions have it too \
         until the person removes it (`weir tools`).",
        new.name, kept.version
    ));
    let news = vec![ResultEffect::Made { tool: Box::new(new.spec()) }];
    Ok(Raw { news, ..raw.with_summary(format!("{word} {}", new.name)) })
}

async fn remove(name: &str, cx: &ToolContext) -> Result<Raw, String> {
    cx.knows.unkeep_tool(name).await?;
    if let Some(tools) = cx.knows.toolbox() {
        tools.remove(name);
    }
    let news = vec![ResultEffect::Unmade { name: name.to_owned() }];
    let raw = Raw::ok(format!("The tool {name} is gone.")).with_summary(format!("removed {name}"));
    Ok(Raw { news, ..raw })
}

async fn list(cx: &ToolContext) -> Result<Raw, String> {
    let kept = cx.knows.made_tools().await?;
    if kept.is_empty() {
        return Ok(Raw::ok("Nobody has made a tool yet.").with_summary("none"));
    }
    let line = |kept: &Kept| {
        let said = ToolDefinition::parse(&kept.text)
            .map_or_else(|why| why, |definition| text::one_line(&definition.description, 200));
        let off = if kept.state == ACTIVE { "" } else { " (switched off)" };
        format!("{}{off}, version {}, by {}: {said}", kept.name, kept.version, kept.by)
    };
    let lines: Vec<String> = kept.iter().map(line).collect();
    Ok(Raw::ok(lines.join("\n")).with_summary(text::count(lines.len(), "made tool")))
}

async fn show(name: &str, cx: &ToolContext) -> Result<Raw, String> {
    let kept = cx.knows.made_tools().await?;
    let kept = kept.into_iter().find(|kept| kept.name == name);
    let kept = kept.ok_or_else(|| format!("nobody made a tool {name:?}"))?;
    Ok(Raw::ok(kept.text).with_summary(format!("{name}, version {}", kept.version)))
}
