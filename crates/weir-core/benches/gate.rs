//! Q12: judging one call with 200 rules takes at most 20 µs. Also: what reading a command costs,
//! and what loading the rules costs once.

use std::collections::VecDeque;

use serde_json::json;
use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::governance::{
    CallFacts, GateContext, Judgement, RecentCall, canonical_json, judge_call,
};
use weir_core::ids::CallId;
use weir_core::profile::{Limits, PermissionMode};
use weir_core::tool::{
    CommandEffect, EffectClass, Effects, HostEffect, Inspection, PathAccess, PathEffect, PathPlace,
};

fn main() {
    divan::main();
}

/// Two hundred rules of every kind.
fn rules() -> RuleSet {
    let mut set = RuleSet::new(RuleContext {
        workspace: "/work/ws".into(),
        home: Some("/home/me".into()),
        own_folders: vec!["/var/lib/weir".into()],
        ..RuleContext::default()
    });
    let mut rules = Vec::new();
    for number in 0..25 {
        let texts = [
            (RuleAction::Deny, format!("Read(**/.env{number})")),
            (RuleAction::Deny, format!("Edit(vendor{number}/**)")),
            (RuleAction::Deny, format!("Shell(danger{number} now:*)")),
            (RuleAction::Ask, format!("Edit(docs/{number}/*.md)")),
            (RuleAction::Allow, format!("Edit(src/module{number}/**/*.rs)")),
            (RuleAction::Allow, format!("Shell(cargo task{number}:*)")),
            (RuleAction::Allow, format!("Web(host{number}.example.org)")),
            (RuleAction::Allow, format!("Read(~/notes{number}/**)")),
        ];
        for (action, text) in texts {
            let origin = RuleOrigin::new("bench").at_line(number);
            rules.push(set.parse_rule(action, &text, origin).expect("a rule"));
        }
    }
    set.extend(rules);
    set
}

fn inspection(effects: Effects) -> Inspection {
    Inspection::new(EffectClass::File, effects, "bench")
}

fn on(access: PathAccess, path: &str) -> Effects {
    let path = PathEffect::new(path, access, PathPlace::Inside);
    Effects { paths: vec![path], ..Effects::default() }
}

fn running(command: &str) -> Effects {
    let command =
        CommandEffect { command: command.into(), cwd: ".".into(), ..CommandEffect::default() };
    Effects { commands: vec![command], ..Effects::default() }
}

fn fetching(host: &str) -> Effects {
    let host = HostEffect {
        method: "GET".into(),
        host: host.into(),
        url: format!("https://{host}/"),
        secret: None,
    };
    Effects { hosts: vec![host], ..Effects::default() }
}

#[divan::bench(args = ["read", "write", "command", "compound", "fetch"])]
fn q12_judge_with_200_rules(bencher: divan::Bencher<'_, '_>, kind: &str) {
    let rules = rules();
    assert_eq!(rules.len(), 200);
    let effects = match kind {
        "read" => on(PathAccess::Read, "src/module7/deep/down/file.rs"),
        "write" => on(PathAccess::Write, "src/module7/deep/down/file.rs"),
        "command" => running("cargo task7 --lib"),
        "compound" => running("cd src && cargo task7 --lib 2>&1 | tail -n 20 > out.txt"),
        _ => fetching("docs.host7.example.org"),
    };
    let inspection = inspection(effects);
    let input = json!({ "path": "src/module7/deep/down/file.rs", "limit": 20 });
    let recent: VecDeque<RecentCall> = (0..15)
        .map(|number| RecentCall {
            tool: "tool".into(),
            input: canonical_json(&json!({ "path": number })),
            words: Vec::new(),
            changes_before: 0,
            result: None,
            changed: false,
            poll: false,
        })
        .collect();
    let visible = vec!["tool".to_string()];
    let limits = Limits::default();
    let judge_once = || -> Judgement {
        judge_call(
            &CallFacts {
                call: CallId(1),
                tool: "tool",
                input: &input,
                broken: None,
                inspection: &inspection,
            },
            &GateContext {
                visible: &visible,
                found: &weir_core::governance::NOTHING_FOUND,
                mode: PermissionMode::Ask,
                rules: &rules,
                limits: &limits,
                tool_calls: 3,
                consulted: 0,
                changes: 0,
                recent: &recent,
                unknown: &[],
                provenance: weir_core::governance::Provenance::for_empty_session(),
            },
        )
    };
    // The patterns are compiled at the first judgement of a session.
    divan::black_box(judge_once());
    bencher.bench_local(judge_once);
}

#[divan::bench]
fn load_200_rules() -> RuleSet {
    let rules = rules();
    let _ = rules.rule_path_use("a", weir_core::governance::rules::PathUse::Read);
    rules
}
