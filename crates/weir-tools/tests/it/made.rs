//! What a call of a made tool declares (T5): effects from templates and arguments, and when a person
//! is asked whatever the mode. What it does then is in the scenarios.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::dynamic::{DeclaredEffects, DeclaredHost, ToolDefinition};
use weir_core::governance::label::{Label, of_failed_plan};
use weir_core::tool::{EffectClass, PathAccess, PathPlace};
use weir_engine::made::MadeTool;
use weir_engine::ports::{CallPlan, NoScripts};

use crate::dynamic_tool;
use crate::it::world::World;

async fn plan(world: &World, effects: DeclaredEffects, label: Label, input: Value) -> CallPlan {
    let definition = ToolDefinition {
        name: "made_one".into(),
        description: "Made.".into(),
        input_schema: json!({ "type": "object" }),
        code: "export const run = () => 1".into(),
        effects,
    };
    let tool = dynamic_tool(MadeTool { definition, label }, Arc::new(NoScripts));
    assert!(tool.has_nested_calls() && tool.spec().deferred);
    tool.plan_call(&input, &world.cx).await
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn t5_effects_follow_from_declaration_and_arguments() {
    let world = World::new();
    world.write("notes/a.txt", b"a");
    let declared = DeclaredEffects {
        reads: texts(&["{{input.path}}", "notes/**"]),
        writes: texts(&["{{input.path}}", "{{input.out}}"]),
        deletes: texts(&["{{input.gone}}"]),
        ..DeclaredEffects::default()
    };
    let input = json!({ "path": "notes/a.txt", "out": "notes/new.txt", "gone": "../x" });
    let plan = plan(&world, declared, Label::default(), input).await;
    let found: Vec<(String, PathAccess, bool)> =
        plan.effects.paths.iter().map(|p| (p.path.clone(), p.access, p.recursive)).collect();
    assert_eq!(
        found[..4],
        [
            ("notes/a.txt".to_string(), PathAccess::Read, false),
            ("notes".to_string(), PathAccess::Read, true),
            ("notes/a.txt".to_string(), PathAccess::Write, false),
            ("notes/new.txt".to_string(), PathAccess::Create, false),
        ]
    );
    // What leads out is said to lead out: the gates refuse it.
    assert_eq!(found[4].1, PathAccess::Delete);
    assert_ne!(plan.effects.paths[4].place, PathPlace::Inside);
    assert_eq!((plan.class, plan.confirm, plan.fails), (EffectClass::Once, None, None));
    assert!(plan.effects.changes.is_empty(), "nobody knows its changes: the workspace is watched");
}

/// `(declared, foreign, asks whatever the mode, class)`
#[tokio::test]
async fn z2_what_reads_and_reaches_out_asks() {
    let host = |method: &str| DeclaredHost { method: method.into(), host: "a.example".into() };
    let reads = DeclaredEffects { reads: texts(&["a.txt"]), ..DeclaredEffects::default() };
    let fetches = DeclaredEffects { hosts: vec![host("GET")], ..DeclaredEffects::default() };
    let both = DeclaredEffects { hosts: vec![host("GET")], ..reads.clone() };
    let sends = DeclaredEffects { hosts: vec![host("POST")], ..DeclaredEffects::default() };
    for (declared, foreign, asks, class) in [
        (DeclaredEffects::default(), false, false, EffectClass::Read),
        (reads, true, false, EffectClass::Read),
        (fetches.clone(), false, false, EffectClass::Read),
        (fetches, true, true, EffectClass::Read),
        (both, false, true, EffectClass::Read),
        (sends, false, false, EffectClass::Once),
    ] {
        let label = if foreign { Label::external("a page") } else { Label::default() };
        let what = format!("{declared:?}");
        let plan = plan(&World::new(), declared, label, json!({})).await;
        assert_eq!((plan.confirm.is_some(), plan.class), (asks, class), "{what}");
        assert_eq!(plan.effects.gives.is_external(), foreign, "{what}");
    }
}

/// `(declared, input, what is said)`
#[tokio::test]
async fn t5_what_cannot_be_declared_is_not_run() {
    let foreign = Label::external("a page");
    let field = DeclaredEffects { reads: texts(&["{{input.p}}"]), ..DeclaredEffects::default() };
    let host = DeclaredHost { method: "GET".into(), host: "{{input.p}}".into() };
    let hosts = DeclaredEffects { hosts: vec![host], ..DeclaredEffects::default() };
    let tools = DeclaredEffects { tools: texts(&["mcp__a__b"]), ..DeclaredEffects::default() };
    for (declared, input, said) in [
        (field, json!({ "p": ["a"] }), "must be text"),
        (hosts, json!({ "p": "a b" }), ""),
        (tools, json!({}), "there is no such tool here"),
    ] {
        let plan = plan(&World::new(), declared, foreign.clone(), input).await;
        let why = plan.fails.expect("it cannot be run");
        assert!(why.contains(said), "{why}");
        assert!(plan.effects.paths.is_empty() && plan.effects.hosts.is_empty());
        // What it says of itself has its label, also where that is said of a failure (Z1).
        assert!(of_failed_plan(&plan.effects).is_external(), "{why}");
    }
}
