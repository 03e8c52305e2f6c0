//! Gates as tables: a call, what the session says of itself, and the verdict.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

mod acts;
mod enable;
mod flow;
mod quiet;
mod repetition;
mod taint;

use super::floor_table::FLOOR;
use super::*;
use crate::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use crate::governance::trail::LinkTrail;
use crate::governance::{
    Provenance, RecentCall, call_form, canonical_json, outcome::UnknownOutcome,
};
use crate::profile::{Limits, PermissionMode};
use crate::tool::{
    AgentControl, CommandEffect, EffectClass, Effects, FileState, HostEffect, Inspection,
    PathAccess, PathEffect, PathPlace, PlannedChange, Tier,
};
use crate::{ids::CallId, label::Label, message::Message};

fn context_of_rules() -> RuleContext {
    RuleContext {
        workspace: "/work/ws".into(),
        home: Some("/home/me".into()),
        own_folders: vec!["/var/lib/weir-state".into()],
        added_folders: vec!["/work/lib".into()],
    }
}

/// A set from lines such as `deny Read(a)`.
fn rules(lines: &[&str]) -> RuleSet {
    let mut set = RuleSet::new(context_of_rules());
    for (number, line) in (1..).zip(lines) {
        let (action, text) = line.split_once(' ').expect("action and rule");
        let action = RuleAction::ALL.into_iter().find(|a| a.as_str() == action).expect("action");
        let origin = RuleOrigin::new("test.toml").at_line(number);
        set.add(set.parse_rule(action, text, origin).expect("a rule"));
    }
    set
}

pub(super) fn inspection(effects: Effects) -> Inspection {
    Inspection::new(EffectClass::Once, effects, "something")
}

/// What surrounds a call in a test.
pub(super) struct World {
    mode: PermissionMode,
    pub(super) rules: RuleSet,
    limits: Limits,
    tool_calls: u32,
    consulted: u32,
    changes: u64,
    recent: VecDeque<RecentCall>,
    unknown: Vec<UnknownOutcome>,
    pub(super) visible: Vec<String>,
    found: BTreeSet<String>,
    label: Label,
    /// What leaves with the call, where that is another.
    carries: Option<Label>,
    said: Vec<String>,
    history: Vec<Arc<Message>>,
    trail: LinkTrail,
    own: BTreeSet<String>,
}

impl World {
    pub(super) fn new(mode: PermissionMode, lines: &[&str]) -> World {
        World {
            mode,
            rules: rules(lines),
            limits: Limits::default(),
            tool_calls: 0,
            consulted: 0,
            changes: 0,
            recent: VecDeque::new(),
            unknown: Vec::new(),
            visible: vec!["tool".into(), "poll".into(), "mcp__git__push".into()],
            found: BTreeSet::new(),
            label: Label::default(),
            carries: None,
            said: Vec::new(),
            history: Vec::new(),
            trail: LinkTrail::default(),
            own: BTreeSet::from(["me@a.example".to_owned()]),
        }
    }
    pub(super) fn judge(&self, tool: &str, input: &Value, inspection: &Inspection) -> Judgement {
        self.with_call(tool, input, inspection, judge_call)
    }
    /// What `ask` finds of a call in this world.
    fn with_call<T>(
        &self,
        tool: &str,
        input: &Value,
        inspection: &Inspection,
        ask: impl FnOnce(&CallFacts<'_>, &GateContext<'_>) -> T,
    ) -> T {
        ask(
            &CallFacts { call: CallId(1), tool, input, broken: None, inspection },
            &GateContext {
                visible: &self.visible,
                found: &self.found,
                mode: self.mode,
                rules: &self.rules,
                limits: &self.limits,
                tool_calls: self.tool_calls,
                consulted: self.consulted,
                changes: self.changes,
                recent: &self.recent,
                unknown: &self.unknown,
                provenance: Provenance {
                    label: &self.label,
                    carries: self.carries.as_ref(),
                    said: &self.said,
                    history: &self.history,
                    trail: &self.trail,
                    own: &self.own,
                    ..Provenance::for_empty_session()
                },
            },
        )
    }
    fn effects(&self, effects: Effects) -> Judgement {
        self.judge("tool", &json!({}), &inspection(effects))
    }
}

fn path(access: PathAccess, path: &str) -> PathEffect {
    let place = if path.starts_with('/') { PathPlace::Outside } else { PathPlace::Inside };
    PathEffect::new(path, access, place)
}

fn on(paths: impl IntoIterator<Item = PathEffect>) -> Effects {
    Effects { paths: paths.into_iter().collect(), ..Effects::default() }
}

fn shell(command: &str) -> Effects {
    let command = CommandEffect {
        command: command.into(),
        cwd: ".".into(),
        tier: Tier::Landlock,
        ..CommandEffect::default()
    };
    Effects { commands: vec![command], ..Effects::default() }
}

/// The same with nothing that it could write.
fn closed(command: &str) -> Effects {
    let mut effects = shell(command);
    effects.commands[0].read_only = true;
    effects
}

fn web(method: &str, host: &str) -> Effects {
    let url = format!("https://{host}/");
    let host = HostEffect { method: method.into(), host: host.into(), url, secret: None };
    Effects { hosts: vec![host], ..Effects::default() }
}

fn said(judgement: &Judgement) -> (Verdict, &str) {
    (judgement.verdict, judgement.gate.as_ref().map_or("", GateName::as_str))
}

const PLAN: PermissionMode = PermissionMode::Plan;
const FULL: PermissionMode = PermissionMode::Full;
const ASK: PermissionMode = PermissionMode::Ask;

#[test]
fn g3_unknown_tools_are_refused_and_the_nearest_is_named() {
    let mut facts = inspection(Effects::default());
    facts.known = false;
    facts.nearest = Some("read_file".into());
    let judgement = World::new(FULL, &["allow *"]).judge("raed_file", &json!({}), &facts);
    assert_eq!(said(&judgement), (Verdict::Deny, "known"));
    assert!(judgement.reason.is_some_and(|r| r.contains("read_file")));
    assert_eq!(judgement.gates.len(), 1);
}

#[test]
fn t4_a_tool_that_was_found_passes_and_no_other() {
    let mut world = World::new(FULL, &[]);
    world.found.insert("restore_checkpoint".into());
    let none = inspection(Effects::default());
    for (tool, verdict) in [
        ("restore_checkpoint", Verdict::Allow),
        ("tool", Verdict::Allow),
        ("diff_checkpoint", Verdict::Deny),
    ] {
        assert_eq!(world.judge(tool, &json!({}), &none).verdict, verdict, "{tool}");
    }
}

/// `(rules, does it widen, verdict)`: the same in every mode.
#[test]
fn p7_a_switch_that_widens_asks_in_every_mode() {
    let cases: [(&[&str], bool, Verdict); 13] = [
        (&[], false, Verdict::Allow),
        (&[], true, Verdict::Ask),
        (&["allow Agent(code)"], true, Verdict::Allow),
        (&["allow Agent(other)"], true, Verdict::Ask),
        (&["allow Agent"], true, Verdict::Ask),
        (&["allow Agent(*)"], true, Verdict::Ask),
        (&["allow *", "allow tool"], true, Verdict::Ask),
        (&["ask Agent(code)"], false, Verdict::Ask),
        (&["ask Agent(code)", "allow Agent(code)"], true, Verdict::Ask),
        (&["deny Agent(code)"], false, Verdict::Deny),
        (&["deny Agent", "allow Agent(code)"], true, Verdict::Deny),
        (&["deny Agent(code)", "allow Agent(code)"], true, Verdict::Deny),
        (&["deny Agent(other)"], false, Verdict::Allow),
    ];
    for mode in PermissionMode::ALL {
        for (rules, widens, verdict) in cases {
            let widens: Vec<String> =
                widens.then(|| "the tools write_file".into()).into_iter().collect();
            let (profile, reason) = ("code".to_string(), "to write".to_string());
            let control = Some(AgentControl::Switch { profile, reason, widens });
            let effects = Effects { control, ..Effects::default() };
            let judgement = World::new(mode, rules).effects(effects);
            assert_eq!(judgement.verdict, verdict, "{mode} {rules:?}: {judgement:?}");
            assert!(
                judgement.gates.iter().all(|opinion| opinion.gate == GateName::Switch),
                "{judgement:?}"
            );
        }
    }
}

#[test]
fn g3_hidden_tools_are_refused() {
    let world = World::new(FULL, &["allow *", "allow hidden"]);
    let judgement = world.judge("hidden", &json!({}), &inspection(Effects::default()));
    assert_eq!(said(&judgement), (Verdict::Deny, "visible"));
}

#[test]
fn g3_wrong_arguments_are_refused_with_the_message() {
    let world = World::new(FULL, &[]);
    let mut facts = inspection(Effects::default());
    facts.invalid = Some("path: expected a string, got 3".into());
    let judgement = world.judge("tool", &json!({ "path": 3 }), &facts);
    assert_eq!(said(&judgement), (Verdict::Deny, "arguments"));
    assert!(judgement.reason.is_some_and(|r| r.contains("expected a string, got 3")));
}

#[test]
fn g3_paths_that_no_mode_touches() {
    let ignored =
        PathEffect { ignored: Some(".weirignore:3".into()), ..path(PathAccess::Read, "a") };
    let protected =
        PathEffect { protected: Some(".weirprotected:1".into()), ..path(PathAccess::Write, "a") };
    let protected_read =
        PathEffect { protected: Some(".weirprotected:1".into()), ..path(PathAccess::Read, "a") };
    let escapes = PathEffect { place: PathPlace::Escapes, ..path(PathAccess::Read, "a/b") };
    let root = PathEffect { recursive: true, ..path(PathAccess::Delete, ".") };
    let world = World::new(FULL, &["allow *", "allow Edit(**)", "allow Read(**)"]);
    let table = [
        (ignored, Verdict::Deny, "paths"),
        (protected, Verdict::Deny, "paths"),
        (protected_read, Verdict::Allow, ""),
        (escapes, Verdict::Deny, "paths"),
        (root, Verdict::Deny, "paths"),
        (path(PathAccess::Delete, "/etc/x"), Verdict::Deny, "paths"),
        (path(PathAccess::MoveFrom, "/etc/x"), Verdict::Deny, "paths"),
        (path(PathAccess::Delete, "/srv/a/x"), Verdict::Ask, "paths"),
        (path(PathAccess::MoveFrom, "/tmp/x"), Verdict::Ask, "paths"),
        (path(PathAccess::Write, "/etc/x"), Verdict::Allow, ""),
        (path(PathAccess::Read, "/home/me/.ssh/id_rsa"), Verdict::Deny, "floor"),
        (path(PathAccess::Read, "/home/me/.ssh/id_rsa.pub"), Verdict::Allow, ""),
        (path(PathAccess::Write, "/var/lib/weir-state/weir.db"), Verdict::Deny, "floor"),
        (path(PathAccess::Write, "/home/me/.config/weir/config.toml"), Verdict::Deny, "floor"),
        (path(PathAccess::Delete, "a"), Verdict::Allow, ""),
    ];
    for (effect, verdict, gate) in table {
        let judgement = world.effects(on([effect.clone()]));
        assert_eq!(said(&judgement), (verdict, gate), "{effect:?}");
    }
}

#[test]
fn g6_sensitive_files_ask_unless_a_rule_names_them() {
    let env =
        || PathEffect { sensitive: Some("key files".into()), ..path(PathAccess::Read, ".env") };
    let table: &[(&[&str], Verdict)] = &[
        (&[], Verdict::Ask),
        (&["allow *"], Verdict::Ask),
        (&["allow tool"], Verdict::Ask),
        (&["allow Read(other)"], Verdict::Ask),
        (&["allow Read(.env)"], Verdict::Allow),
        (&["allow Read(.env)", "deny Read(**/.env)"], Verdict::Deny),
    ];
    for (lines, verdict) in table {
        for mode in [ASK, FULL] {
            let judgement = World::new(mode, lines).effects(on([env()]));
            assert_eq!(judgement.verdict, *verdict, "{lines:?} {mode}");
        }
    }
    let cat = World::new(FULL, &[]).effects(shell("cat .env"));
    assert_eq!(said(&cat), (Verdict::Ask, "paths"));
    let example = World::new(FULL, &[]).effects(shell("cat .env.example"));
    assert_eq!(example.verdict, Verdict::Allow);
}

fn unconfined(command: &str) -> Effects {
    let mut effects = shell(command);
    effects.commands[0].tier = Tier::None;
    effects
}

#[test]
fn c3_modes_decide_where_rules_are_silent() {
    use Verdict::{Allow, Ask, Deny};
    let unknown = Effects { unknown: true, ..Effects::default() };
    let job = Effects { jobs: vec!["j".into()], ..Effects::default() };
    let plan =
        Effects { control: Some(AgentControl::Plan { items: vec![] }), ..Effects::default() };
    let change =
        PlannedChange { path: "a".into(), before: FileState::Absent, after: FileState::Folder };
    let only_change = Effects { changes: vec![change], ..Effects::default() };
    // Plan, ask, auto-edit, full.
    let table = [
        (on([path(PathAccess::Read, "a")]), [Allow, Allow, Allow, Allow]),
        (on([path(PathAccess::List, "")]), [Allow, Allow, Allow, Allow]),
        (on([path(PathAccess::Write, "a")]), [Deny, Ask, Allow, Allow]),
        (on([path(PathAccess::Create, "a")]), [Deny, Ask, Allow, Allow]),
        (on([path(PathAccess::Delete, "a")]), [Deny, Ask, Allow, Allow]),
        (
            on([path(PathAccess::MoveFrom, "a"), path(PathAccess::MoveTo, "b")]),
            [Deny, Ask, Allow, Allow],
        ),
        (only_change, [Deny, Ask, Allow, Allow]),
        (on([path(PathAccess::Read, "/etc/x")]), [Ask, Ask, Ask, Allow]),
        (on([path(PathAccess::Write, "/etc/x")]), [Deny, Ask, Ask, Allow]),
        // In a sandbox without network (U13); without one, everything asks.
        (shell("make"), [Deny, Ask, Allow, Allow]),
        (shell("git status && cat a | head"), [Deny, Ask, Allow, Allow]),
        (closed("git status && cat a | head"), [Allow; 4]),
        (closed("make"), [Allow, Ask, Allow, Allow]),
        (closed("echo ${_@P}"), [Allow, Ask, Allow, Allow]),
        (unconfined("make"), [Deny, Ask, Ask, Ask]),
        (unconfined("git status"), [Deny, Ask, Ask, Ask]),
        (web("GET", "a.org"), [Ask, Ask, Ask, Allow]),
        (web("HEAD", "a.org"), [Ask, Ask, Ask, Allow]),
        // What sends, or may do anything, wants a person in every mode: the flow table (Z2).
        (web("POST", "a.org"), [Deny, Ask, Ask, Ask]),
        (unknown, [Deny, Ask, Ask, Ask]),
        (job, [Allow; 4]),
        (plan, [Allow; 4]),
        (Effects::default(), [Allow; 4]),
    ];
    for (effects, expected) in table {
        for (mode, verdict) in PermissionMode::ALL.into_iter().zip(expected) {
            let judgement = World::new(mode, &[]).effects(effects.clone());
            assert_eq!(judgement.verdict, verdict, "{mode}: {effects:?}");
            // Where the flow table asks exactly, its words come before the mode's.
            let exact = judgement.gates.iter().any(|opinion| opinion.exact);
            if verdict != Allow && mode != FULL && !(exact && verdict == Ask) {
                assert_eq!(judgement.gate, Some(GateName::Rules));
                assert_eq!(judgement.rule, Some(format!("mode {mode}")));
            }
        }
    }
}

#[test]
fn c3_deny_beats_ask_beats_allow_and_names_its_line() {
    let world = World::new(FULL, &["allow Edit(**)", "ask Edit(src/**)", "deny Edit(src/x/**)"]);
    let judged = |name: &str| world.effects(on([path(PathAccess::Write, name)]));
    assert_eq!(judged("a").verdict, Verdict::Allow);
    let asked = judged("src/a");
    assert_eq!(asked.rule.as_deref(), Some("ask Edit(src/**) (test.toml:2)"));
    let denied = judged("src/x/a");
    assert_eq!(denied.verdict, Verdict::Deny);
    assert_eq!(denied.rule.as_deref(), Some("deny Edit(src/x/**) (test.toml:3)"));
    assert!(denied.reason.is_some_and(|r| r.contains("src/x/a")));
}

#[test]
fn c3_allow_rules_lift_asking_but_not_plan() {
    let lines = ["allow Edit(**)", "allow Shell(make:*)", "allow Web(a.org)", "allow tool"];
    for effects in [on([path(PathAccess::Write, "a")]), shell("make all"), web("POST", "a.org")] {
        assert_eq!(World::new(ASK, &lines).effects(effects.clone()).verdict, Verdict::Allow);
        let plan = World::new(PermissionMode::Plan, &lines).effects(effects);
        assert_eq!(plan.verdict, Verdict::Deny);
    }
    let get = World::new(PermissionMode::Plan, &lines).effects(web("GET", "b.a.org"));
    assert_eq!(get.verdict, Verdict::Allow);
}

#[test]
fn c3_star_spares_control_and_tool_names_do_not() {
    let done = || Effects {
        control: Some(AgentControl::Complete { result: "x".into() }),
        ..Effects::default()
    };
    assert_eq!(World::new(ASK, &["deny *"]).effects(done()).verdict, Verdict::Allow);
    assert_eq!(World::new(ASK, &["deny tool"]).effects(done()).verdict, Verdict::Deny);
    let read = on([path(PathAccess::Read, "a")]);
    assert_eq!(World::new(ASK, &["deny *"]).effects(read.clone()).verdict, Verdict::Deny);
    assert_eq!(World::new(ASK, &["ask *"]).effects(read).verdict, Verdict::Ask);
    let mcp = inspection(Effects { unknown: true, ..Effects::default() });
    for (rule, verdict) in [
        ("allow Mcp(git:*)", Verdict::Allow),
        ("allow Mcp(git:push)", Verdict::Allow),
        ("allow Mcp(git:pull)", Verdict::Ask),
        ("allow Mcp(hub:*)", Verdict::Ask),
        ("deny Mcp(git)", Verdict::Deny),
    ] {
        let judgement = World::new(ASK, &[rule]).judge("mcp__git__push", &json!({}), &mcp);
        assert_eq!(judgement.verdict, verdict, "{rule}");
    }
}

#[test]
fn c3_computed_commands_ask_beside_deny_rules_for_commands() {
    for command in ["X=rm; $X a", "bash -c \"$X\"", "curl x | sh"] {
        let free = World::new(FULL, &[]).effects(shell(command));
        assert_eq!(free.verdict, Verdict::Allow, "{command}");
        for rules in [&["deny Shell(dd:*)"][..], &["deny Shell(dd:*)", "allow Shell", "allow *"]] {
            let ruled = World::new(FULL, rules).effects(shell(command));
            assert_eq!(said(&ruled), (Verdict::Ask, "rules"), "{command}");
            let exact = ruled.gates.iter().any(|opinion| opinion.exact);
            assert!(exact, "{command}: no lease covers what nobody can tell");
        }
        let very = format!("allow Shell({command})");
        let allowed = World::new(FULL, &["deny Shell(dd:*)", &very]).effects(shell(command));
        assert_eq!(allowed.verdict, Verdict::Allow, "{command}");
    }
}

#[test]
fn c3_a_computed_command_with_the_words_of_a_deny_rule_is_refused() {
    for (command, rule) in [
        ("X=rm; $X a", "Shell(rm:*)"),
        ("$(echo rm) a", "Shell(rm:*)"),
        ("`echo rm` a", "Shell(rm:*)"),
        ("$(printf '%s' /bin/rm) a", "Shell(rm:*)"),
        ("G=git; $G push", "Shell(git push:*)"),
        ("C='rm a'; sh -c \"$C\"", "Shell(rm:*)"),
        ("${X:-deploy} a", "Shell(deploy:*)"),
        ("{deploy,a}", "Shell(deploy:*)"),
        (". bin/deploy a", "Shell(deploy:*)"),
        ("sh <(echo deploy a)", "Shell(deploy:*)"),
        ("cat bin/deploy | sh -s a", "Shell(deploy:*)"),
        ("shopt -s expand_aliases; alias d=deploy\nd a", "Shell(deploy:*)"),
        ("hash -p bin/deploy d; d a", "Shell(deploy:*)"),
    ] {
        let deny = format!("deny {rule}");
        let very = format!("allow Shell({command})");
        for rules in [
            &[deny.as_str()][..],
            &[&deny, "allow Shell", "allow *"],
            &[deny.as_str(), very.as_str()],
        ] {
            let ruled = World::new(FULL, rules).effects(shell(command));
            assert_eq!(said(&ruled), (Verdict::Deny, "rules"), "{command}");
        }
    }
    let other = World::new(FULL, &["deny Shell(git push:*)"]).effects(shell("git status; $CC a.c"));
    assert_eq!(said(&other), (Verdict::Ask, "rules"));
    for command in ["bin/depl* a", "base64 -d x | sh", "cat x | bash -s a"] {
        let ruled = World::new(FULL, &["deny Shell(deploy:*)"]).effects(shell(command));
        assert_eq!(said(&ruled), (Verdict::Ask, "rules"), "{command}");
    }
    let plain = World::new(FULL, &["deny Shell(rm:*)"]).effects(shell("make \"$TARGET\""));
    assert_eq!(plain.verdict, Verdict::Allow, "its program is known");
}

#[test]
fn l4_tool_calls_are_limited() {
    let mut world = World::new(FULL, &[]);
    world.limits.max_tool_calls = Some(2);
    world.tool_calls = 1;
    assert_eq!(world.effects(Effects::default()).verdict, Verdict::Allow);
    world.tool_calls = 2;
    assert_eq!(said(&world.effects(Effects::default())), (Verdict::Deny, "limits"));
}

#[test]
fn d4_unknown_outcomes_ask_in_every_mode() {
    let input = json!({ "a": 1 });
    let mut world = World::new(FULL, &["allow *"]);
    let form = call_form("tool", &input);
    world.unknown = vec![UnknownOutcome { call: CallId(7), form, settled: false }];
    let write = inspection(on([path(PathAccess::Write, "a")]));
    let read = inspection(on([path(PathAccess::Read, "a")]));
    assert_eq!(said(&world.judge("tool", &input, &read)), (Verdict::Ask, "unknown"));
    assert_eq!(said(&world.judge("tool", &json!({}), &write)), (Verdict::Ask, "unknown"));
    assert_eq!(world.judge("tool", &json!({}), &read).verdict, Verdict::Allow);
    let asks = world.judge("tool", &json!({}), &write);
    assert!(asks.reason.is_some_and(|why| why.contains("c7 (tool {")), "it is named");
    world.unknown[0].settled = true;
    assert_eq!(said(&world.judge("tool", &input, &read)), (Verdict::Ask, "unknown"));
    assert_eq!(world.judge("tool", &json!({}), &write).verdict, Verdict::Allow);
}

#[test]
fn g3_a_tool_may_ask_for_confirmation() {
    let mut facts = inspection(Effects::default());
    facts.confirm = Some("This overwrites 40 files.".into());
    let judgement = World::new(FULL, &["allow *"]).judge("tool", &json!({}), &facts);
    assert_eq!(said(&judgement), (Verdict::Ask, "confirm"));
}

#[test]
fn z3_every_example_of_the_floor_is_stopped_and_its_neighbours_are_not() {
    let world = World::new(FULL, &["allow *", "allow Shell"]);
    let unheld = |command: &str| {
        let mut effects = shell(command);
        effects.commands[0].tier = Tier::None;
        effects
    };
    for row in FLOOR {
        let shell: fn(&str) -> Effects = if row.unheld { unheld } else { shell };
        for example in row.examples {
            let judgement = world.effects(shell(example));
            let stopped = judgement.verdict >= row.verdict;
            assert!(stopped, "{}: {example:?} passed: {judgement:?}", row.name);
            let rule = format!("hard floor: {}", row.name);
            let scene_effect = &shell(example).commands[0];
            let read = ReadCommand::from_text(&scene_effect.command);
            let scene = super::floor::FloorCommand::from_read(scene_effect, &world.rules, &read);
            assert!(row.matches_command(&scene), "{rule} does not match {example:?}");
        }
        for example in row.harmless {
            let judgement = world.effects(shell(example));
            assert_eq!(judgement.verdict, Verdict::Allow, "{example:?}: {judgement:?}");
        }
    }
}

/// Neither a rule nor a lease lets it pass, and where it reaches no bus nobody is asked.
#[test]
fn r9_what_can_ask_the_keyring_needs_a_person_unless_a_sandbox_holds_it() {
    let world = World::new(FULL, &["allow *", "allow Shell", "allow Shell(gdbus:*)"]);
    let judge = |command: &str, change: &dyn Fn(&mut CommandEffect)| {
        let mut effects = shell(command);
        change(&mut effects.commands[0]);
        world.effects(effects)
    };
    let call = "gdbus call --session --dest org.example --object-path /x --method y";
    assert_eq!(judge(call, &|_| ()).verdict, Verdict::Allow, "a bus of its own at most");
    let changes: [&dyn Fn(&mut CommandEffect); 3] =
        [&|c| c.tier = Tier::None, &|c| c.outside_sandbox = true, &|c| {
            c.sockets = vec!["/run/user/1000/bus".into()]
        }];
    for change in changes {
        let judgement = judge(call, change);
        assert_eq!(judgement.verdict, Verdict::Ask, "{judgement:?}");
        let by_floor = judgement.gates.iter().find(|opinion| opinion.gate == GateName::Floor);
        let opinion = by_floor.expect("the floor speaks");
        assert!(opinion.exact && opinion.reason.contains("keyring"), "{opinion:?}");
    }
    let socket = judge("make", &|c| c.sockets = vec!["/run/user/1000/bus".into()]);
    let by_floor = |opinion: &GateOpinion| opinion.gate == GateName::Floor && opinion.exact;
    assert!(socket.gates.iter().any(by_floor), "whatever the program is: {socket:?}");
    // What asks for a secret by name is refused everywhere.
    let lookup = judge("secret-tool lookup a b", &|_| ());
    assert_eq!(lookup.verdict, Verdict::Deny);
}

#[test]
fn z3_a_command_built_to_be_unreadable_needs_a_person() {
    let world = World::new(FULL, &["allow *", "allow Shell"]);
    let mut nested = "rm -rf /".to_string();
    for _ in 0..7 {
        nested = format!("bash -c {}", format!("{nested:?}").replace('$', "\\$"));
    }
    let judgement = world.effects(shell(&nested));
    assert!(judgement.verdict >= Verdict::Ask, "{judgement:?}");
    assert_eq!(judgement.gate, Some(GateName::Floor));
    assert_eq!(world.effects(shell("bash -c 'bash -c ls'")).verdict, Verdict::Allow);
}

fn any_access() -> impl Strategy<Value = PathAccess> {
    use PathAccess::{Create, Delete, List, MoveFrom, MoveTo, Read, Write};
    proptest::sample::select(vec![Read, List, Write, Create, MoveFrom, MoveTo, Delete])
}

fn any_effects() -> impl Strategy<Value = Effects> {
    let paths = proptest::collection::vec(
        (any_access(), "(/?[a-c.]{1,3}/)?[a-c.~]{1,6}", any::<bool>())
            .prop_map(|(access, name, recursive)| PathEffect { recursive, ..path(access, &name) }),
        0..3,
    );
    let commands = proptest::collection::vec(
        prop_oneof![
            "[a-z ;|&$()'\"/.~-]{0,30}",
            proptest::sample::select(vec!["rm -rf x", "cargo test && ls", "git push -f", "make"])
                .prop_map(String::from),
        ],
        0..2,
    );
    let hosts = proptest::collection::vec("[a-c]{1,2}(\\.[a-c]{1,2}){0,2}", 0..2);
    (paths, commands, hosts, proptest::bool::weighted(0.1)).prop_map(
        |(paths, commands, hosts, unknown)| Effects {
            paths,
            commands: commands.iter().flat_map(|c| shell(c).commands).collect(),
            hosts: hosts.iter().flat_map(|h| web("GET", h).hosts).collect(),
            unknown,
            ..Effects::default()
        },
    )
}

fn any_rule() -> impl Strategy<Value = String> {
    let action = proptest::sample::select(vec!["deny", "ask", "allow"]);
    let text = proptest::sample::select(vec![
        "Read(**)",
        "Edit(a/**)",
        "Edit(*.b)",
        "Read(/etc/**)",
        "Edit(~/a)",
        "Shell(rm:*)",
        "Shell(cargo test:*)",
        "Shell(make)",
        "Shell",
        "Web(a.b)",
        "Web(*)",
        "*",
        "tool",
        "Mcp(git:*)",
        "Mcp(git:*, to=bob@a.example)",
        "Mcp(git:push, to=4711)",
        "Edit",
        "Read(b)",
    ]);
    (action, text).prop_map(|(action, text)| format!("{action} {text}"))
}

proptest! {
    #[test]
    fn g3_judging_is_total_and_deterministic(
        effects in any_effects(),
        lines in proptest::collection::vec(any_rule(), 0..6),
        mode in proptest::sample::select(PermissionMode::ALL.to_vec()),
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let world = World::new(mode, &lines);
        let judgement = world.effects(effects.clone());
        prop_assert_eq!(&judgement, &world.effects(effects.clone()));
        // Equal effects meet an equal verdict, whatever the arguments that led to them.
        let other = world.judge("tool", &json!({ "any": "thing" }), &inspection(effects));
        prop_assert_eq!(judgement.verdict, other.verdict);
        let strictest = judgement.gates.iter().map(|o| o.verdict).max();
        prop_assert_eq!(judgement.verdict, strictest.unwrap_or(Verdict::Allow));
        prop_assert!(judgement.gates.iter().all(|o| !o.reason.is_empty()));
    }

    #[test]
    fn c3_a_deny_rule_never_widens(
        effects in any_effects(),
        lines in proptest::collection::vec(any_rule(), 0..6),
        more in any_rule().prop_map(|r| format!("deny {}", r.split_once(' ').expect("two").1)),
        mode in proptest::sample::select(PermissionMode::ALL.to_vec()),
    ) {
        let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let before = World::new(mode, &lines).effects(effects.clone()).verdict;
        lines.push(&more);
        let after = World::new(mode, &lines).effects(effects).verdict;
        prop_assert!(after >= before);
    }

    #[test]
    fn c3_an_allow_rule_never_narrows(
        effects in any_effects(),
        lines in proptest::collection::vec(any_rule(), 0..6),
        more in any_rule().prop_map(|r| format!("allow {}", r.split_once(' ').expect("two").1)),
    ) {
        let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let before = World::new(ASK, &lines).effects(effects.clone()).verdict;
        lines.push(&more);
        prop_assert!(World::new(ASK, &lines).effects(effects).verdict <= before);
    }

    #[test]
    fn c3_the_order_of_rules_is_irrelevant(
        effects in any_effects(),
        lines in proptest::collection::vec(any_rule(), 0..6),
        mode in proptest::sample::select(PermissionMode::ALL.to_vec()),
    ) {
        let one_origin = |lines: Vec<&String>| {
            let mut set = RuleSet::new(context_of_rules());
            for line in lines {
                for rule in rules(&[line]).iter() {
                    set.add(rule.clone());
                }
            }
            set
        };
        let mut world = World::new(mode, &[]);
        world.rules = one_origin(lines.iter().collect());
        let forwards = world.effects(effects.clone());
        let backwards = one_origin(lines.iter().rev().collect());
        prop_assert_eq!(&world.rules, &backwards);
        world.rules = backwards;
        prop_assert_eq!(forwards, world.effects(effects));
    }

    #[test]
    fn g3_wider_modes_never_narrow(
        effects in any_effects(),
        lines in proptest::collection::vec(any_rule().prop_filter("no deny", |r| !r.starts_with("deny")), 0..4),
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let verdicts: Vec<Verdict> = PermissionMode::ALL
            .into_iter()
            .map(|mode| World::new(mode, &lines).effects(effects.clone()).verdict)
            .collect();
        prop_assert!(verdicts.is_sorted_by(|a, b| a >= b), "{:?}", verdicts);
    }
}

#[test]
fn r7_commands_in_an_added_folder_are_judged_like_those_in_the_workspace() {
    let world = World::new(PermissionMode::Full, &[]);
    for (inside, added) in [
        ("rm -rf .", "rm -rf /work/lib"),
        ("rm -rf build", "rm -rf /work/lib/build"),
        ("rm a.txt", "rm /work/lib/a.txt"),
        ("mv a.txt b.txt", "mv ../lib/a.txt ../lib/b.txt"),
        ("echo x > .git/config", "echo x > /work/lib/.git/config"),
        ("echo x > .weir/config.toml", "echo x > /work/lib/.weir/config.toml"),
        ("tee .weirignore", "tee ../lib/.weirignore"),
        ("echo x > src/a.txt", "echo x > /work/lib/src/a.txt"),
        ("rm -rf sub", "cd /work/lib && rm -rf sub"),
    ] {
        let (here, there) = (world.effects(shell(inside)), world.effects(shell(added)));
        assert_eq!(said(&here).0, said(&there).0, "{inside} and {added}: {here:?} {there:?}");
    }
    // What lies beside it is outside as ever.
    let beside = world.effects(shell("rm -rf /work/libs"));
    assert!(beside.verdict >= Verdict::Ask, "{beside:?}");
    let above = world.effects(shell("rm -rf /work"));
    assert_eq!(above.verdict, Verdict::Deny, "{above:?}");
}

/// What is quoted at once is quoted as letter by letter.
#[test]
fn q12_a_text_that_stands_as_it_is_is_quoted_like_every_other() {
    for letter in (0..0x300).chain(0x2000..0x2100).filter_map(char::from_u32) {
        for text in [letter.to_string(), format!("a {letter} b")] {
            let escaped: String = text.chars().flat_map(char::escape_debug).collect();
            assert_eq!(quote_model_text(&text), escaped);
        }
    }
    for count in [0, 199, 200, 201] {
        let cut = if count > 200 { "…" } else { "" };
        let shown = format!("{}{cut}", "x".repeat(count.min(200)));
        assert_eq!(quote_model_text(&"x".repeat(count)), shown);
    }
}

/// What gates share is for each of several commands what a gate would find itself.
#[test]
fn q12_a_gate_says_the_same_of_commands_alone_as_among_others() {
    let rules = ["allow *", "deny Shell(git push:*)", "ask Edit(src/**)"];
    let commands =
        ["", "ls", "rm -rf /", "cat .env", "sh -c 'git push'", "eval \"$X\"", "> AGENTS.md"];
    for mode in PermissionMode::ALL {
        let world = World::new(mode, &rules);
        for (first, second) in commands.iter().flat_map(|a| commands.iter().map(move |b| (a, b))) {
            let mut both = shell(first);
            both.commands.extend(shell(second).commands);
            world.with_call("tool", &json!({}), &inspection(both.clone()), |call, context| {
                for (gate, (name, among)) in GATES.iter().zip(judge_each(call, context)) {
                    let alone = gate.judge(&JudgedCall::of_facts(*call), context);
                    assert_eq!(alone, among, "{name:?}: {first:?}, {second:?}");
                }
            });
            let alone = [first, second].map(|one| world.effects(shell(one)).verdict);
            assert_eq!(Some(world.effects(both).verdict), alone.into_iter().max(), "{alone:?}");
        }
    }
}
