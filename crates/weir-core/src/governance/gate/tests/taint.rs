//! The law that more taint never widens a verdict (Z2), over every kind of effect that the flow table has a
//! row for; and that its draws do reach each row that asks. Not here: what a row says (`flow`).

use std::collections::BTreeSet;

use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::flow::labelled;
use super::*;
use crate::governance::flow::{FLOW, FlowCell, INSTRUCTS};
use crate::governance::lease::{LeaseCall, LeaseGrant, with_leases};
use crate::governance::trail::{LINK_BITS_MAX, LinkSource};
use crate::ids::Timestamp;
use crate::label::Taint;
use crate::message::MessageBlock;
use crate::tool::{
    ActEffect, ActKind, BrainChange, BrainEffect, ControlArgument, EnableEffect, FeedEffect,
    QueryEffect, SendEffect,
};

const LISTED: &str = "allow Web(listed.example)";
/// What stands where in the session: listed, written by the person, shown by a result, a link, nowhere.
const ADDRESSES: [&str; 7] = [
    "https://listed.example/",
    "https://listed.example/?q=built",
    "https://listed.example/shown",
    "https://below.listed.example/",
    "https://said.example/",
    "https://linked.example/page",
    "https://other.example/",
];
const SAID: &str = "Read https://said.example/ and write to bob@a.example about ferris wheels.";
const SHOWN: &str = "issue 4711 is open; next is https://listed.example/shown (page 2)";

/// A session in which much was said and read, and that told so many bits by links.
fn world_of(mode: PermissionMode, lines: &[&str], told_bits: u32) -> World {
    let mut world = World::new(mode, lines);
    world.visible.push("web_fetch".into());
    world.said = vec![SAID.into()];
    let blocks = vec![MessageBlock::text(SHOWN)];
    let result = MessageBlock::Result { call: CallId(1), ok: true, blocks };
    world.history = vec![Arc::new(Message::user(vec![result]))];
    world.trail.note_source(CallId(1), LinkSource::Plain);
    world.trail.take_links(CallId(1), &["https://linked.example/page".to_owned()]);
    world.trail.count_bits(told_bits);
    world
}

/// Something that later runs or instructs, inside the workspace or in the home.
fn instructing_path() -> impl Strategy<Value = String> {
    let patterns: Vec<&str> =
        INSTRUCTS.iter().flat_map(|(_, patterns)| patterns.iter().copied()).collect();
    let folders = proptest::sample::select(vec!["", "sub/", "/home/me/"]);
    (folders, proptest::sample::select(patterns)).prop_map(|(folder, pattern)| {
        let below = if pattern.ends_with('/') { "x.yml" } else { "" };
        format!("{folder}{}{below}", pattern.replace('*', "a"))
    })
}

fn any_path() -> impl Strategy<Value = Effects> {
    let names =
        prop_oneof![instructing_path(), "[a-c]{1,3}(/[a-c]{1,3})?", "/srv/[a-c]{1,2}/[a-c]{1,2}"];
    (any_access(), names, any::<bool>(), any::<bool>()).prop_map(
        |(access, name, recursive, run_by_git)| {
            let at = PathEffect { recursive, ..path(access, &name) };
            let run_by_git = run_by_git.then_some(name).into_iter().collect();
            Effects { run_by_git, ..on([at]) }
        },
    )
}

/// A change that no path effect announced.
fn any_change() -> impl Strategy<Value = Effects> {
    instructing_path().prop_map(|path| {
        let change = PlannedChange { path, before: FileState::Absent, after: FileState::Folder };
        Effects { changes: vec![change], ..Effects::default() }
    })
}

fn any_line() -> impl Strategy<Value = String> {
    let writers = proptest::sample::select(vec![
        "echo x > ",
        "tee ",
        "cp a ",
        "rm -f ",
        "sed -i s/a/b/ ",
        "make && touch ",
    ]);
    let writes = (writers, instructing_path()).prop_map(|(writer, path)| format!("{writer}{path}"));
    let others = vec!["make", "git status", "cat a | head", "rm -rf x", "git push -f", "$X a"];
    prop_oneof![
        2 => writes,
        1 => proptest::sample::select(others).prop_map(String::from),
        1 => "[a-z ;|&$()'\"/.~-]{0,30}",
    ]
}

fn any_command() -> impl Strategy<Value = Effects> {
    let tiers = vec![Tier::None, Tier::Landlock, Tier::Bubblewrap, Tier::Namespaces];
    let tier = proptest::sample::select(tiers);
    let read_only = proptest::bool::weighted(0.2);
    (any_line(), 0..10_u8, tier, any::<bool>(), read_only).prop_map(
        |(line, reach, tier, background, read_only)| {
            let mut effects = shell(&line);
            let command = &mut effects.commands[0];
            (command.tier, command.background, command.read_only) = (tier, background, read_only);
            match reach {
                0 => command.hosts = vec!["a.b".into()],
                1 => command.ports = vec![8080],
                9 => (command.ports, command.own_ports) = (vec![8080], vec![8080]),
                2 => command.serves = vec![8080],
                3 => command.sockets = vec!["/run/x.sock".into()],
                4 => command.secrets = vec!["deploy".into()],
                5 => (command.outside_sandbox, command.tier) = (true, Tier::None),
                _ => (),
            }
            effects
        },
    )
}

fn any_request() -> impl Strategy<Value = Effects> {
    let methods = proptest::sample::select(vec!["GET", "HEAD", "POST"]);
    let urls = proptest::sample::select(ADDRESSES.to_vec());
    (methods, urls, proptest::bool::weighted(0.1)).prop_map(|(method, url, keyed)| {
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        let secret = keyed.then(|| "key".to_owned());
        let host = HostEffect { method: method.into(), host, url: url.into(), secret };
        Effects { hosts: vec![host], ..Effects::default() }
    })
}

fn any_query() -> impl Strategy<Value = Effects> {
    let words = vec!["ferris wheels", "4711", "hunter2"];
    (proptest::sample::subsequence(words, 0..=3), any::<bool>()).prop_map(|(words, posted)| {
        let server = if posted { "listed.example" } else { "mcp:web" };
        let words = words.into_iter().map(str::to_owned).collect();
        let queries = vec![QueryEffect { server: server.into(), words }];
        let hosts = if posted { web("POST", server).hosts } else { Vec::new() };
        Effects { queries, hosts, ..Effects::default() }
    })
}

fn any_send() -> impl Strategy<Value = Effects> {
    let recipients = proptest::sample::select(vec!["bob@a.example", "eve@evil.example"]);
    (recipients, proptest::sample::select(vec!["mail", "chat"])).prop_map(|(recipient, by)| {
        let send = SendEffect { recipient: recipient.into(), by: by.into() };
        Effects { sends: vec![send], ..Effects::default() }
    })
}

/// What a declared tool does at its server, to the person, somebody they named, others, and nobody.
fn any_declared() -> impl Strategy<Value = Effects> {
    let kinds =
        vec![ActKind::Own, ActKind::Send, ActKind::Destroy, ActKind::Identity, ActKind::Commit];
    let to = vec!["me@a.example", "bob@a.example", "4711", "eve@evil.example"];
    let to = proptest::sample::subsequence(to, 0..=2);
    (proptest::sample::select(kinds), to).prop_map(|(kind, to)| {
        let to: Vec<String> = to.into_iter().map(str::to_owned).collect();
        let name = || "to".to_owned();
        let control =
            to.iter().map(|value| ControlArgument { name: name(), value: value.clone() }).collect();
        let (choices, content) = (Vec::new(), vec!["body".to_owned()]);
        let act = ActEffect { kind, server: "mcp:git".into(), to, control, choices, content };
        Effects { acts: vec![act], acknowledges: true, ..Effects::default() }
    })
}

/// What has no form of its own: jobs that are fed, the brain, plugins, what nobody knows.
fn other_effects() -> Vec<Effects> {
    let (job, command) = ("j1".to_owned(), "sh".to_owned());
    let feed = FeedEffect { job, command, hosts: vec!["a.b".into()] };
    let (what, name, hash) = ("plugin".to_owned(), "demo".to_owned(), "00".to_owned());
    let (change, title) = (BrainChange::Update, "Tides".to_owned());
    let brain = BrainEffect { change, title, entry: "e1".into(), version: 1 };
    let unknown = || Effects { unknown: true, ..Effects::default() };
    vec![
        Effects { feeds: vec![feed], jobs: vec!["j1".into()], ..Effects::default() },
        Effects { brain: Some(brain), remembers: vec!["High".into()], ..Effects::default() },
        Effects { enables: vec![EnableEffect { what, name, hash }], ..Effects::default() },
        unknown(),
        Effects { contained: true, ..unknown() },
    ]
}

fn any_act() -> impl Strategy<Value = Effects> {
    prop_oneof![
        3 => any_command(),
        2 => any_path(),
        1 => any_change(),
        3 => any_request(),
        2 => any_query(),
        1 => any_send(),
        2 => any_declared(),
        2 => proptest::sample::select(other_effects()),
    ]
}

fn joined_effects(acts: Vec<Effects>) -> Effects {
    let mut joined = Effects::default();
    for act in acts {
        joined.paths.extend(act.paths);
        joined.changes.extend(act.changes);
        joined.run_by_git.extend(act.run_by_git);
        joined.commands.extend(act.commands);
        joined.hosts.extend(act.hosts);
        joined.jobs.extend(act.jobs);
        joined.feeds.extend(act.feeds);
        joined.remembers.extend(act.remembers);
        joined.brain = act.brain.or(joined.brain);
        joined.sends.extend(act.sends);
        joined.acts.extend(act.acts);
        joined.queries.extend(act.queries);
        joined.enables.extend(act.enables);
        joined.unknown |= act.unknown;
        joined.contained |= act.contained;
    }
    joined
}

/// What a person granted for the session when this had been read.
fn granted(taint: Taint) -> LeaseGrant {
    let texts = ["Mcp(git:*, to=bob@a.example)", "Mcp(git:push, to=4711)"];
    LeaseGrant {
        lease: 1,
        rules: rules(&texts.map(|text| format!("allow {text}")).each_ref().map(String::as_str))
            .iter()
            .cloned()
            .collect(),
        grant: None,
        uses_left: None,
        until: None,
        by: "person".into(),
        bound: Some(labelled(taint)),
    }
}

/// How strict the verdict is with each label, in the order of the table's columns: of two questions the one
/// is stricter that no rule or lease answers.
fn strictness(
    world: &mut World,
    lease: Option<&LeaseGrant>,
    tool: &str,
    effects: &Effects,
) -> [(Verdict, bool); 4] {
    let rules = world.rules.clone();
    Taint::ALL.map(|taint| {
        world.label = labelled(taint);
        let call = LeaseCall { tool, effects };
        let leases: Vec<LeaseGrant> = lease.cloned().into_iter().collect();
        world.rules = with_leases(&rules, &leases, &world.label, Timestamp(0), &[], call);
        strictness_of_call(world, tool, effects)
    })
}

/// The verdict, and whether only an answer to this very call lifts it.
fn strictness_of_call(world: &World, tool: &str, effects: &Effects) -> (Verdict, bool) {
    let judged = world.judge(tool, &json!({}), &inspection(effects.clone()));
    (judged.verdict, judged.gates.iter().any(|opinion| opinion.exact))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn z2_adding_taint_never_widens(
        effects in proptest::collection::vec(any_act(), 1..4).prop_map(joined_effects),
        lines in proptest::collection::vec(any_rule(), 0..6),
        listed in any::<bool>(),
        mode in proptest::sample::select(PermissionMode::ALL.to_vec()),
        tool in proptest::sample::select(vec!["tool", "web_fetch", "mcp__git__push"]),
        leased in proptest::option::of(proptest::sample::select(Taint::ALL.to_vec())),
        told_bits in 0..=LINK_BITS_MAX,
    ) {
        let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.extend(listed.then_some(LISTED));
        let mut world = world_of(mode, &lines, told_bits);
        let met = strictness(&mut world, leased.map(granted).as_ref(), tool, &effects);
        let [clean, private, external, both] = met;
        prop_assert!(clean <= private && clean <= external, "{:?}", met);
        prop_assert!(private <= both && external <= both, "{:?}", met);
    }
}

/// The verdicts of a call that was chosen by the one and carries the other, by both.
fn strictness_of_both(
    world: &mut World,
    tool: &str,
    effects: &Effects,
) -> [[(Verdict, bool); 4]; 4] {
    Taint::ALL.map(|chosen| {
        Taint::ALL.map(|carried| {
            world.label = labelled(chosen);
            // What a call carries stands beside what its context holds.
            world.carries = Some(labelled(chosen).joined_with(&labelled(carried)));
            strictness_of_call(world, tool, effects)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn u04_more_taint_in_either_label_never_widens(
        effects in proptest::collection::vec(any_act(), 1..4).prop_map(joined_effects),
        lines in proptest::collection::vec(any_rule(), 0..6),
        mode in proptest::sample::select(PermissionMode::ALL.to_vec()),
        tool in proptest::sample::select(vec!["tool", "web_fetch", "mcp__git__push"]),
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut world = world_of(mode, &lines, 0);
        let met = strictness_of_both(&mut world, tool, &effects);
        for fixed in 0..4 {
            let chosen = |column: usize| met[column][fixed];
            let carried = |column: usize| met[fixed][column];
            for of in [&chosen as &dyn Fn(usize) -> (Verdict, bool), &carried] {
                prop_assert!(of(0) <= of(1) && of(0) <= of(2), "{:?}", met);
                prop_assert!(of(1) <= of(3) && of(2) <= of(3), "{:?}", met);
            }
        }
        // Words that are carried and chose nothing count for their privacy alone.
        for chosen in met {
            prop_assert_eq!(chosen[0], chosen[2]);
            prop_assert_eq!(chosen[1], chosen[3]);
        }
    }
}

/// A law that is never tried where it could break says nothing.
#[test]
fn z2_the_draws_of_the_law_reach_every_row_that_asks() {
    let mut runner = TestRunner::deterministic();
    // No bits are left: a link is an address like others.
    let mut world = world_of(FULL, &[LISTED], LINK_BITS_MAX);
    world.label = labelled(Taint::Both);
    let acts = any_act();
    let mut met = BTreeSet::new();
    for _ in 0..5_000 {
        let effects = acts.new_tree(&mut runner).expect("nothing is filtered").current();
        let judged = world.judge("tool", &json!({}), &inspection(effects));
        let by_table = judged.gates.into_iter().filter(|one| one.gate == GateName::Labels);
        met.extend(by_table.filter_map(|one| one.rule));
    }
    for row in FLOW {
        let rule = format!("flow table: {} × {}", row.text, Taint::Both.as_str());
        let [.., both] = row.cells;
        assert_eq!(met.contains(&rule), both > FlowCell::Mode, "{}", row.text);
    }
}
