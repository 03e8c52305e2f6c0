//! Two hundred rules of every kind, and calls that are judged by them. The same for the bench and for the
//! example whose instructions are counted.

use std::collections::VecDeque;

use serde_json::{Value, json};
use weir_core::governance::gate::CanaryText;
use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::governance::{
    CallFacts, GateContext, Judgement, Provenance, RecentCall, canonical_json, judge_call,
};
use weir_core::ids::CallId;
use weir_core::profile::{Limits, PermissionMode};
use weir_core::tool::{
    CommandEffect, EffectClass, Effects, HostEffect, Inspection, PathAccess, PathEffect, PathPlace,
};

/// What a call may do here.
pub(crate) const KINDS: [&str; 5] = ["read", "write", "command", "compound", "fetch"];

/// Two hundred rules of every kind.
pub(crate) fn rules() -> RuleSet {
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

/// One call, with everything that it is judged by.
pub(crate) struct JudgedCall {
    rules: RuleSet,
    inspection: Inspection,
    input: Value,
    recent: VecDeque<RecentCall>,
    visible: Vec<String>,
    limits: Limits,
}

impl JudgedCall {
    /// A call of this kind. It was judged once: patterns are compiled at the first judgement of a session.
    pub(crate) fn new(kind: &str) -> JudgedCall {
        let effects = match kind {
            "read" => on(PathAccess::Read, "src/module7/deep/down/file.rs"),
            "write" => on(PathAccess::Write, "src/module7/deep/down/file.rs"),
            "command" => running("cargo task7 --lib"),
            "compound" => running("cd src && cargo task7 --lib 2>&1 | tail -n 20 > out.txt"),
            _ => fetching("docs.host7.example.org"),
        };
        let recent = (0..15).map(|number| RecentCall {
            tool: "tool".into(),
            input: canonical_json(&json!({ "path": number })),
            words: Vec::new(),
            changes_before: 0,
            result: None,
            changed: false,
            poll: false,
            canary: CanaryText::default(),
        });
        let call = JudgedCall {
            rules: rules(),
            inspection: inspection(effects),
            input: json!({ "path": "src/module7/deep/down/file.rs", "limit": 20 }),
            recent: recent.collect(),
            visible: vec!["tool".to_string()],
            limits: Limits::default(),
        };
        assert_eq!(call.rules.len(), 200);
        let _compiled = call.judge();
        call
    }

    /// Judges it.
    pub(crate) fn judge(&self) -> Judgement {
        judge_call(
            &CallFacts {
                call: CallId(1),
                tool: "tool",
                input: &self.input,
                broken: None,
                inspection: &self.inspection,
            },
            &GateContext {
                visible: &self.visible,
                found: &weir_core::governance::NOTHING_FOUND,
                mode: PermissionMode::Ask,
                rules: &self.rules,
                limits: &self.limits,
                tool_calls: 3,
                consulted: 0,
                changes: 0,
                recent: &self.recent,
                unknown: &[],
                provenance: Provenance::for_empty_session(),
            },
        )
    }
}
