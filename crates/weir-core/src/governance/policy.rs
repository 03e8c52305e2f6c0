//! The policy as a table that a person can review in a diff: profile × mode × kind of effect ×
//! label → verdict and deciding gate. Made by asking the gates, never written by hand.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::json;

use super::label::{Integrity, Label, Taint};
use super::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use super::{
    CallFacts, GateContext, GateName, Judgement, Provenance, Verdict, flow, gate, judge_call,
};
use crate::ids::CallId;
use crate::profile::{Limits, PermissionMode, Profile, built_in_profiles};
use crate::tool::{
    AgentControl, BrainChange, BrainEffect, CommandEffect, EffectClass, Effects, EnableEffect,
    HostEffect, Inspection, PathAccess, PathEffect, PathPlace, QueryEffect, SendEffect,
    SpawnEffect, Tier, ToolGroup,
};

/// One kind of effect: its name and a call that has it.
#[derive(Clone)]
struct EffectSample {
    kind: &'static str,
    group: ToolGroup,
    effects: Effects,
}

fn sample_path(path: &str, access: PathAccess, place: PathPlace) -> PathEffect {
    PathEffect {
        path: path.into(),
        access,
        place,
        recursive: false,
        ignored: None,
        protected: None,
        sensitive: None,
        marked: None,
    }
}

fn path_effects(path: PathEffect) -> Effects {
    Effects { paths: vec![path], ..Effects::default() }
}

fn command_effects(command: &str, tier: Tier, hosts: &[&str]) -> Effects {
    let command = CommandEffect {
        command: command.into(),
        tier,
        hosts: hosts.iter().map(ToString::to_string).collect(),
        ..CommandEffect::default()
    };
    Effects { commands: vec![command], ..Effects::default() }
}

fn send_effects(recipient: &str) -> Effects {
    let send = SendEffect { recipient: recipient.into(), by: "mail".into() };
    Effects { sends: vec![send], ..Effects::default() }
}

fn spawn_effects(profile: &str) -> Effects {
    let spawns =
        Some(SpawnEffect { profile: profile.into(), writes: true, ..SpawnEffect::default() });
    Effects { spawns, ..Effects::default() }
}

fn brain_effects() -> Effects {
    let (change, title) = (BrainChange::Add, "Tides".to_owned());
    let brain = BrainEffect { change, title, entry: String::new(), version: 0 };
    Effects { remembers: vec!["High at six.".into()], brain: Some(brain), ..Effects::default() }
}

fn host_effects(method: &str, url: &str) -> Effects {
    let host = url.split('/').nth(2).unwrap_or_default();
    let host =
        HostEffect { method: method.into(), host: host.into(), url: url.into(), secret: None };
    Effects { hosts: vec![host], ..Effects::default() }
}

fn path_samples() -> Vec<EffectSample> {
    use PathAccess::{Create, Delete, List, MoveFrom, Read, Write};
    use PathPlace::{Escapes, Inside, Outside};
    let marked = |kind, at: PathEffect| {
        let group = if at.access.is_write() { ToolGroup::Edit } else { ToolGroup::Read };
        EffectSample { kind, group, effects: path_effects(at) }
    };
    let sample = |kind, access, place| {
        let name = if place == Inside { "notes/a.md" } else { "/srv/other/a.md" };
        marked(kind, sample_path(name, access, place))
    };
    vec![
        sample("read a file", Read, Inside),
        sample("list a folder", List, Inside),
        marked(
            "read a sensitive file",
            PathEffect {
                sensitive: Some("key files ask".into()),
                ..sample_path(".env", Read, Inside)
            },
        ),
        marked(
            "read an ignored file",
            PathEffect { ignored: Some(".weirignore:1".into()), ..sample_path("x", Read, Inside) },
        ),
        sample("read outside", Read, Outside),
        sample("read through a link that leads out", Read, Escapes),
        marked("read a key", sample_path("/home/person/.ssh/id_rsa", Read, Outside)),
        sample("create a file", Create, Inside),
        sample("change a file", Write, Inside),
        marked("change what later runs or instructs", sample_path("AGENTS.md", Write, Inside)),
        sample("delete a file", Delete, Inside),
        marked(
            "change a protected file",
            PathEffect {
                protected: Some(".weirprotected:1".into()),
                ..sample_path("x", Write, Inside)
            },
        ),
        sample("write outside", Write, Outside),
        sample("delete outside", Delete, Outside),
        sample("move away from outside", MoveFrom, Outside),
        marked(
            "delete the workspace",
            PathEffect { recursive: true, ..sample_path(".", Delete, Inside) },
        ),
    ]
}

fn other_samples() -> Vec<EffectSample> {
    [command_samples(), network_samples(), control_samples()].concat()
}

fn effect_sample(kind: &'static str, group: ToolGroup, effects: Effects) -> EffectSample {
    EffectSample { kind, group, effects }
}

fn command_samples() -> Vec<EffectSample> {
    let sample = effect_sample;
    vec![
        sample(
            "run a confined command",
            ToolGroup::Skill,
            command_effects("make", Tier::Landlock, &[]),
        ),
        sample(
            "run a confined command, one host",
            ToolGroup::Skill,
            command_effects("make", Tier::Landlock, &["example.org"]),
        ),
        sample(
            "run an unconfined command",
            ToolGroup::Skill,
            command_effects("make", Tier::None, &[]),
        ),
        sample(
            "run a command of the hard floor",
            ToolGroup::Skill,
            command_effects("git push --force", Tier::Landlock, &[]),
        ),
        sample(
            "end a process",
            ToolGroup::Skill,
            command_effects("kill 1234", Tier::Landlock, &[]),
        ),
    ]
}

fn network_samples() -> Vec<EffectSample> {
    let sample = effect_sample;
    vec![
        sample(
            "fetch a listed host",
            ToolGroup::Web,
            host_effects("GET", "https://listed.example/"),
        ),
        sample(
            "fetch a listed host, address built here",
            ToolGroup::Web,
            host_effects("GET", "https://listed.example/?q=built"),
        ),
        sample(
            "fetch what the person wrote",
            ToolGroup::Web,
            host_effects("GET", "https://said.example/"),
        ),
        sample(
            "fetch any other host",
            ToolGroup::Web,
            host_effects("GET", "https://other.example/"),
        ),
        sample(
            "ask a listed search engine (POST), words built here",
            ToolGroup::Web,
            Effects {
                queries: vec![QueryEffect {
                    server: "listed.example".into(),
                    words: vec!["built".into()],
                }],
                ..host_effects("POST", "https://listed.example/")
            },
        ),
        sample(
            "send (POST) to a listed host",
            ToolGroup::Web,
            host_effects("POST", "https://listed.example/"),
        ),
        sample(
            "send (POST) to any other host",
            ToolGroup::Web,
            host_effects("POST", "https://other.example/"),
        ),
        sample("send to whom the person named", ToolGroup::Web, send_effects("named@said.example")),
        sample("send to anybody else", ToolGroup::Web, send_effects("other@other.example")),
    ]
}

fn control_samples() -> Vec<EffectSample> {
    let sample = effect_sample;
    vec![
        sample(
            "foreign tool, effects unknown",
            ToolGroup::Mcp,
            Effects { unknown: true, ..Effects::default() },
        ),
        sample(
            "switch on a plugin",
            ToolGroup::Skill,
            Effects {
                enables: vec![EnableEffect {
                    what: "plugin".into(),
                    name: "obsidian".into(),
                    hash: "00".into(),
                }],
                ..Effects::default()
            },
        ),
        sample(
            "feed or end a job of this session",
            ToolGroup::Skill,
            Effects { jobs: vec!["job1".into()], ..Effects::default() },
        ),
        sample("keep something in the brain", ToolGroup::Agent, brain_effects()),
        sample("start a sub-agent", ToolGroup::Agent, spawn_effects("code")),
        sample(
            "control of the agent itself",
            ToolGroup::Agent,
            Effects {
                control: Some(AgentControl::Complete { result: "done".into() }),
                ..Effects::default()
            },
        ),
    ]
}

/// What the person said and listed in the table's session.
const SAID: &str = "Read https://said.example/ and write to named@said.example.";
const LISTED: &str = "Web(listed.example)";

fn sample_label(taint: Taint) -> Label {
    let private = Label::private(Integrity::Workspace, "workspace");
    match taint {
        Taint::Clean => Label::default(),
        Taint::Private => private,
        Taint::External => Label::external("elsewhere.example"),
        Taint::Both => Label::external("elsewhere.example").joined_with(&private),
    }
}

/// One block of the table: a profile in a mode.
struct PolicyBlock<'a> {
    profile: &'a Profile,
    mode: PermissionMode,
    rules: RuleSet,
}

impl PolicyBlock<'_> {
    fn judge_sample(&self, sample: &EffectSample, taint: Taint) -> Judgement {
        let tool = "sample";
        let mut effects = sample.effects.clone();
        for command in &mut effects.commands {
            command.read_only = self.mode == PermissionMode::Plan;
        }
        let inspection = Inspection {
            known: true,
            nearest: None,
            invalid: None,
            fails: None,
            effects,
            class: EffectClass::Once,
            summary: String::new(),
            diff: None,
            confirm: None,
            hooks: Vec::new(),
            judged: None,
        };
        let has = self.profile.has_tool(tool, sample.group);
        let visible: Vec<String> = if has { vec![tool.into()] } else { Vec::new() };
        let facts = CallFacts {
            call: CallId(1),
            tool,
            input: &json!({}),
            broken: None,
            inspection: &inspection,
        };
        let label = sample_label(taint);
        let context = GateContext {
            visible: &visible,
            found: &crate::governance::NOTHING_FOUND,
            mode: self.mode,
            rules: &self.rules,
            limits: &Limits::default(),
            tool_calls: 0,
            consulted: 0,
            changes: 0,
            recent: &VecDeque::new(),
            unknown: &[],
            provenance: Provenance {
                label: &label,
                said: &[SAID.to_string()],
                ..Provenance::for_empty_session()
            },
        };
        judge_call(&facts, &context)
    }

    /// A line of cells; one cell where all four labels meet the same.
    fn render_cells(&self, sample: &EffectSample) -> String {
        let cell = |taint: &Taint| {
            let Judgement { verdict, gate, .. } = self.judge_sample(sample, *taint);
            let word = match verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny => "deny",
            };
            format!("{word} {}", gate.as_ref().map_or("", GateName::as_str)).trim_end().to_string()
        };
        let cells: Vec<String> = Taint::ALL.iter().map(cell).collect();
        if cells.iter().all(|cell| *cell == cells[0]) {
            return format!("{:<42} {} (all)", sample.kind, cells[0]);
        }
        let cells: String = cells.iter().map(|cell| format!(" {cell:<14}")).collect();
        format!("{:<42}{}", sample.kind, cells.trim_end())
    }
}

fn listing_rules() -> RuleSet {
    let mut rules = RuleSet::new(RuleContext {
        workspace: "/work/ws".into(),
        home: Some("/home/person".into()),
        own_folders: vec!["/var/lib/weir-state".into()],
    });
    let origin = RuleOrigin::new("web.allow_hosts");
    if let Ok(rule) = rules.parse_rule(RuleAction::Allow, LISTED, origin) {
        rules.add(rule);
    }
    rules
}

/// The table, with one listed host as the only rule, the flow table it rests on, and the hard floor
/// below it.
pub fn policy_table() -> String {
    let mut out = String::from(
        "The policy: what each kind of effect meets, for each profile, permission mode and label \
         of the context.\n\
         Generated by asking the gates. A cell is a verdict and the gate that decides; `(all)` \
         means that the four\nlabels meet the same; `deny visible` that the profile has no such \
         tool. The person has listed one host\n(listed.example) and named one address and one \
         recipient; there is no other rule.\n\nThe flow table (Z2):\n\n",
    );
    let _ = writeln!(out, "{:<72} clean          private        external       both", "");
    for row in flow::FLOW {
        let cells: String = row.cells.iter().map(|c| format!(" {:<14}", c.as_str())).collect();
        let _ = writeln!(out, "{:<72}{}", row.text, cells.trim_end());
    }
    let mut samples = path_samples();
    samples.extend(other_samples());
    for profile in &built_in_profiles() {
        let usual = profile.permission.map_or(String::new(), |mode| format!(" (usual: {mode})"));
        let _ = write!(out, "\nprofile {}{usual}\n", profile.name);
        for mode in PermissionMode::ALL {
            let block = PolicyBlock { profile, mode, rules: listing_rules() };
            let head = format!("mode {mode}");
            let _ = writeln!(out, "\n{head:<42} clean          private        external       both");
            for sample in &samples {
                let _ = writeln!(out, "{}", block.render_cells(sample));
            }
        }
    }
    out.push_str("\nWhat later runs or instructs:\n\n");
    for (why, patterns) in flow::INSTRUCTS {
        let _ = writeln!(out, "{why}: {}", patterns.join(" "));
    }
    out.push_str("\nThe hard floor for commands, in every mode:\n\n");
    out.push_str(&gate::floor_text());
    out
}
