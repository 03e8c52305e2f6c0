//! The policy as a table that a person can review in a diff: profile × mode × kind of effect ×
//! label → verdict and deciding gate. Made by asking the gates, never written by hand. Not here: the
//! calls that it asks about (`samples`).

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use serde_json::json;

use super::label::{Integrity, Label, Taint};
use super::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use super::shell;
use super::trail::{LinkSource, LinkTrail};
use super::{
    CallFacts, GateContext, GateName, Judgement, Provenance, Verdict, flow, gate, judge_call,
};
use crate::ids::CallId;
use crate::profile::{Limits, PermissionMode, Profile, built_in_profiles};
use crate::tool::{EffectClass, Effects, Inspection};

mod samples;

use samples::{EffectSample, effect_samples};

/// One cell of the table, with the call that meets it: so that a test can play each of them.
#[derive(Debug, Clone)]
pub struct PolicyCell {
    /// Name of the profile.
    pub profile: String,
    /// Permission mode.
    pub mode: PermissionMode,
    /// The kind of effect, as its line begins.
    pub kind: &'static str,
    /// The tool that is called.
    pub tool: &'static str,
    /// Whether the profile has that tool.
    pub has_tool: bool,
    /// The column.
    pub taint: Taint,
    /// A label of that column: what stands in the context.
    pub label: Label,
    /// What the call would touch.
    pub effects: Effects,
    /// What all gates together say of it.
    pub judgement: Judgement,
}

/// Every cell, in the order of the table.
pub fn policy_cells() -> Vec<PolicyCell> {
    let samples = effect_samples();
    let mut cells = Vec::new();
    for profile in &built_in_profiles() {
        for mode in PermissionMode::ALL {
            let block = PolicyBlock { profile, mode, rules: policy_rules() };
            let places = samples.iter().flat_map(|sample| Taint::ALL.map(|taint| (sample, taint)));
            cells.extend(places.map(|(sample, taint)| PolicyCell {
                profile: profile.name.clone(),
                mode,
                kind: sample.kind,
                tool: sample.tool,
                has_tool: profile.has_tool(sample.tool, sample.group),
                taint,
                label: sample_label(taint),
                effects: block.effects_of(sample),
                judgement: block.judge_sample(sample, taint),
            }));
        }
    }
    cells
}

/// What the person said in the table's session.
pub const SAID: &str = "Read https://said.example/ and write to named@said.example.";
/// The person's own address in the table's session.
pub const OWN: &str = "me@own.example";
/// The address to which a page that the person named led.
pub const LINKED: &str = "https://linked.example/page";
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

/// What a session is led to by a page that the person named.
fn sample_trail() -> LinkTrail {
    let mut trail = LinkTrail::default();
    let (page, links) = (CallId(1), [LINKED.to_string()]);
    trail.note_source(page, LinkSource::Plain);
    trail.take_links(page, &links);
    trail
}

/// One block of the table: a profile in a mode.
struct PolicyBlock<'a> {
    profile: &'a Profile,
    mode: PermissionMode,
    rules: RuleSet,
}

impl PolicyBlock<'_> {
    /// What a call of this kind touches in the mode of the block.
    fn effects_of(&self, sample: &EffectSample) -> Effects {
        let mut effects = sample.effects.clone();
        for command in &mut effects.commands {
            let reads = || shell::reads_only(&shell::parse_command_line(&command.command), true);
            command.read_only = match self.mode {
                PermissionMode::Plan => true,
                PermissionMode::Ask => reads(),
                PermissionMode::AutoEdit | PermissionMode::Full => false,
            };
        }
        effects
    }

    fn judge_sample(&self, sample: &EffectSample, taint: Taint) -> Judgement {
        let tool = sample.tool;
        let inspection = Inspection::new(EffectClass::Once, self.effects_of(sample), "");
        let has = self.profile.has_tool(tool, sample.group);
        let visible: Vec<String> = if has { vec![tool.into()] } else { Vec::new() };
        let facts = CallFacts {
            call: CallId(1),
            tool,
            input: &json!({}),
            broken: None,
            inspection: &inspection,
        };
        let (label, trail) = (sample_label(taint), sample_trail());
        let own = BTreeSet::from([OWN.to_string()]);
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
                own: &own,
                trail: &trail,
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

/// The rules of the table's session: one listed host.
pub fn policy_rules() -> RuleSet {
    let mut rules = RuleSet::new(RuleContext {
        workspace: "/work/ws".into(),
        home: Some("/home/person".into()),
        own_folders: vec!["/var/lib/weir-state".into()],
        ..RuleContext::default()
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
         recipient; a page led to one link. There is no other rule.\n\nThe flow table (Z2):\n\n",
    );
    let _ = writeln!(out, "{:<72} clean          private        external       both", "");
    for row in flow::FLOW {
        let cells: String = row.cells.iter().map(|c| format!(" {:<14}", c.as_str())).collect();
        let _ = writeln!(out, "{:<72}{}", row.text, cells.trim_end());
    }
    let samples = effect_samples();
    for profile in &built_in_profiles() {
        let usual = profile.permission.map_or(String::new(), |mode| format!(" (usual: {mode})"));
        let _ = write!(out, "\nprofile {}{usual}\n", profile.name);
        for mode in PermissionMode::ALL {
            let block = PolicyBlock { profile, mode, rules: policy_rules() };
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
