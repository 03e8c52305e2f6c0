//! The policy as a table that a person can review in a diff: profile × mode × kind of effect →
//! verdict and deciding gate. Made by asking the gates, never written by hand.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::json;

use super::rules::{RuleContext, RuleSet};
use super::{CallFacts, GateContext, Judgement, Verdict, gate, judge};
use crate::ids::CallId;
use crate::profile::{Limits, PermissionMode, Profile, built_in_profiles};
use crate::tool::{
    Access, CommandEffect, Control, EffectClass, Effects, Group, HostEffect, Inspection,
    PathEffect, Place,
};

/// One kind of effect: its name and a call that has it.
struct Sample {
    kind: &'static str,
    group: Group,
    effects: Effects,
}

fn path(path: &str, access: Access, place: Place) -> PathEffect {
    PathEffect {
        path: path.into(),
        access,
        place,
        recursive: false,
        ignored: None,
        protected: None,
        sensitive: None,
    }
}

fn touching(path: PathEffect) -> Effects {
    Effects { paths: vec![path], ..Effects::default() }
}

fn running(command: &str) -> Effects {
    let command = CommandEffect { command: command.into(), cwd: String::new(), background: false };
    Effects { commands: vec![command], ..Effects::default() }
}

fn reaching(method: &str) -> Effects {
    let host = HostEffect {
        method: method.into(),
        host: "example.org".into(),
        url: "https://example.org/".into(),
    };
    Effects { hosts: vec![host], ..Effects::default() }
}

fn path_samples() -> Vec<Sample> {
    use Access::{Create, Delete, List, MoveFrom, Read, Write};
    use Place::{Escapes, Inside, Outside};
    let marked = |kind, at: PathEffect| {
        let group = if at.access.is_write() { Group::Edit } else { Group::Read };
        Sample { kind, group, effects: touching(at) }
    };
    let sample = |kind, access, place| {
        let name = if place == Inside { "notes/a.md" } else { "/srv/other/a.md" };
        marked(kind, path(name, access, place))
    };
    vec![
        sample("read a file", Read, Inside),
        sample("list a folder", List, Inside),
        marked(
            "read a sensitive file",
            PathEffect { sensitive: Some("key files ask".into()), ..path(".env", Read, Inside) },
        ),
        marked(
            "read an ignored file",
            PathEffect { ignored: Some(".weirignore:1".into()), ..path("x", Read, Inside) },
        ),
        sample("read outside", Read, Outside),
        sample("read through a link that leads out", Read, Escapes),
        marked("read a key", path("/home/person/.ssh/id_rsa", Read, Outside)),
        sample("create a file", Create, Inside),
        sample("change a file", Write, Inside),
        sample("delete a file", Delete, Inside),
        marked(
            "change a protected file",
            PathEffect { protected: Some(".weirprotected:1".into()), ..path("x", Write, Inside) },
        ),
        sample("write outside", Write, Outside),
        sample("delete outside", Delete, Outside),
        sample("move away from outside", MoveFrom, Outside),
        marked("delete the workspace", PathEffect { recursive: true, ..path(".", Delete, Inside) }),
    ]
}

fn other_samples() -> Vec<Sample> {
    let sample = |kind, group, effects| Sample { kind, group, effects };
    vec![
        sample("run a command", Group::Skill, running("make")),
        sample("run a command of the hard floor", Group::Skill, running("git push --force")),
        sample("end a process", Group::Skill, running("kill 1234")),
        sample("fetch (GET)", Group::Web, reaching("GET")),
        sample("send (POST)", Group::Web, reaching("POST")),
        sample(
            "foreign tool, effects unknown",
            Group::Mcp,
            Effects { unknown: true, ..Effects::default() },
        ),
        sample(
            "feed or end a job of this session",
            Group::Skill,
            Effects { jobs: vec!["job1".into()], ..Effects::default() },
        ),
        sample(
            "control of the agent itself",
            Group::Agent,
            Effects {
                control: Some(Control::Complete { result: "done".into() }),
                ..Effects::default()
            },
        ),
    ]
}

fn verdict(sample: &Sample, profile: &Profile, mode: PermissionMode) -> Judgement {
    let tool = "sample";
    let inspection = Inspection {
        known: true,
        nearest: None,
        invalid: None,
        fails: None,
        effects: sample.effects.clone(),
        class: EffectClass::Once,
        summary: String::new(),
        diff: None,
        confirm: None,
    };
    let visible: Vec<String> =
        if profile.has(tool, sample.group) { vec![tool.into()] } else { Vec::new() };
    let rules = RuleSet::new(RuleContext {
        workspace: "/work/ws".into(),
        home: Some("/home/person".into()),
        own_folders: vec!["/var/lib/weir-state".into()],
    });
    judge(
        &CallFacts {
            call: CallId(1),
            tool,
            input: &json!({}),
            broken: None,
            inspection: &inspection,
        },
        &GateContext {
            visible: &visible,
            mode,
            rules: &rules,
            limits: &Limits::default(),
            tool_calls: 0,
            changes: 0,
            recent: &VecDeque::new(),
            unknown: &[],
        },
    )
}

/// The table, without any rule of a person, and the hard floor below it.
pub fn policy_table() -> String {
    let mut out = String::from(
        "The policy without any rule of a person: what each kind of effect meets in each mode.\n\
         Generated by asking the gates. `deny visible` means that the profile has no such tool.\n",
    );
    let mut samples = path_samples();
    samples.extend(other_samples());
    for profile in built_in_profiles() {
        let usual = profile.permission.map_or(String::new(), |mode| format!(" (mode {mode})"));
        let _ = write!(out, "\nprofile {}{usual}\n{:<36}", profile.name, "");
        for mode in PermissionMode::ALL {
            let _ = write!(out, " {:<18}", mode.as_str());
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        for sample in &samples {
            let _ = write!(out, "{:<36}", sample.kind);
            for mode in PermissionMode::ALL {
                let Judgement { verdict, gate, .. } = verdict(sample, &profile, mode);
                let word = match verdict {
                    Verdict::Allow => "allow",
                    Verdict::Ask => "ask",
                    Verdict::Deny => "deny",
                };
                let cell = format!("{word} {}", gate.unwrap_or_default());
                let _ = write!(out, " {:<18}", cell.trim_end());
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
    }
    out.push_str("\nThe hard floor for commands, in every mode:\n\n");
    out.push_str(&gate::floor_text());
    out
}
