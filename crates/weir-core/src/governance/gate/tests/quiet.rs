//! What asks nothing in the modes in which changes pass, since nothing of it gets away (U13): each beside
//! what looks like it and does. Not here: what a grant covers (`grants`), and what commands only read.

use super::flow::labelled;
use super::*;
use crate::label::Taint;

const AUTO: PermissionMode = PermissionMode::AutoEdit;

/// Verdicts with each label, in the order of the table's columns.
fn verdicts(world: &mut World, tool: &str, effects: &Effects) -> Vec<Verdict> {
    let judge = |taint: Taint| {
        world.label = labelled(taint);
        world.judge(tool, &json!({}), &inspection(effects.clone())).verdict
    };
    Taint::ALL.into_iter().map(judge).collect()
}

/// A command in a sandbox with a network of its own that reaches port 8080, where a job of the session
/// serves.
fn asks_own_job() -> CommandEffect {
    CommandEffect {
        tier: Tier::Namespaces,
        ports: vec![8080],
        own_ports: vec![8080],
        ..shell("curl localhost:8080").commands[0].clone()
    }
}

fn effects_of(command: CommandEffect) -> Effects {
    Effects { commands: vec![command], ..Effects::default() }
}

#[test]
fn u13_a_job_of_the_session_is_asked_without_a_question() {
    use Verdict::{Allow, Ask, Deny};
    let judged = |mode| verdicts(&mut World::new(mode, &[]), "tool", &effects_of(asks_own_job()));
    // With both it is judged as what is written to a job that is reached from outside.
    assert_eq!(judged(AUTO), [Allow, Allow, Allow, Ask]);
    assert_eq!(judged(FULL), [Allow, Allow, Allow, Ask]);
    assert_eq!(judged(ASK), [Ask; 4]);
    assert_eq!(judged(PLAN), [Deny; 4]);
}

#[test]
fn u13_what_is_more_than_a_job_of_the_session_asks() {
    type Change<'a> = &'a dyn Fn(&mut CommandEffect);
    let cases: [(&str, Change<'_>); 10] = [
        ("another program listens there", &|c| c.own_ports.clear()),
        ("one port of two", &|c| c.ports.push(5432)),
        ("a host besides", &|c| c.hosts.push("a.example".into())),
        ("a socket besides", &|c| c.sockets.push("/run/x.sock".into())),
        ("it serves as well", &|c| c.serves.push(9090)),
        ("a secret is lent", &|c| c.secrets.push("deploy".into())),
        ("it outlives the job", &|c| c.background = true),
        ("it leaves the sandbox", &|c| (c.outside_sandbox, c.tier) = (true, Tier::None)),
        ("a network that all share", &|c| c.tier = Tier::Landlock),
        ("nothing confines it", &|c| c.tier = Tier::None),
    ];
    for (name, change) in cases {
        let mut command = asks_own_job();
        change(&mut command);
        let judged = verdicts(&mut World::new(AUTO, &[]), "tool", &effects_of(command));
        assert_eq!(judged, [Verdict::Ask; 4], "{name}");
    }
}

#[test]
fn u13_ones_own_newest_commit_is_made_anew_without_a_question() {
    use Verdict::{Allow, Ask};
    let amend = |change: &dyn Fn(&mut CommandEffect)| {
        let mut command = shell("git commit -q --amend -m x").commands[0].clone();
        command.renews_own_commit = true;
        change(&mut command);
        [AUTO, FULL, ASK]
            .map(|mode| World::new(mode, &[]).effects(effects_of(command.clone())).verdict)
    };
    assert_eq!(amend(&|_| ()), [Allow, Allow, Ask]);
    assert_eq!(amend(&|c| c.renews_own_commit = false), [Ask; 3]);
    assert_eq!(amend(&|c| c.published = vec!["origin/main".into()]), [Ask; 3]);
    assert_eq!(amend(&|c| (c.outside_sandbox, c.tier) = (true, Tier::None)), [Ask; 3]);
    for beside in [
        "git commit --amend --no-edit && git rebase main",
        "git commit --amend --no-edit && git reset --hard HEAD~1",
        "git commit --amend --no-edit \"$MORE\"",
        "git commit --amend --no-edit && git branch -D other",
    ] {
        assert_eq!(amend(&|c| c.command = beside.into()), [Ask; 3], "{beside}");
    }
}

#[test]
fn u13_a_move_of_a_computed_name_asks_nothing_where_it_stays_inside() {
    use Verdict::{Allow, Ask, Deny};
    for (command, verdict) in [
        ("for f in *.txt; do mv \"$f\" \"$n-$f\"; n=$((n+1)); done", Allow),
        ("cd photos && for f in *; do mv \"$f\" old/; done", Allow),
        ("mv \"$A\" b", Allow),
        ("mv -t old \"$A\"", Allow),
        ("cd \"$X\" && mv a b", Allow),
        ("mv \"$A\" /tmp/x", Ask),
        ("mv -t /tmp/x \"$A\"", Ask),
        ("mv --target-directory=/tmp/x \"$A\"", Ask),
        ("mv -t/tmp/x \"$A\"", Ask),
        ("mv \"$A\" ../other", Ask),
        ("mv \"$A\" ..", Ask),
        ("mv \"$A\" ~", Ask),
        ("rm -rf \"$A\"", Ask),
        ("for f in *; do rm -r \"$f\"; done", Ask),
        ("cd \"$X\" && rm -rf a", Ask),
        ("mv \"$HOME\" x", Deny),
        ("mv /etc/hosts x", Deny),
        ("mv -t . /etc/hosts", Deny),
        ("mv --target-directory=. /etc/hosts", Deny),
        ("mv -t. ../beside", Ask),
    ] {
        let judged = World::new(AUTO, &[]).effects(shell(command));
        assert_eq!(judged.verdict, verdict, "{command}: {judged:?}");
    }
    // What may write elsewhere, or is not confined at all, could move anything.
    let mut open = shell("mv \"$A\" b");
    open.paths.push(path(PathAccess::Write, "/srv/x"));
    assert_eq!(World::new(FULL, &[]).effects(open).verdict, Ask);
    let mut loose = shell("mv \"$A\" b");
    loose.commands[0].tier = Tier::None;
    assert_eq!(World::new(FULL, &["allow Shell"]).effects(loose).verdict, Ask);
}

#[test]
fn u13_an_address_that_the_person_wrote_out_is_fetched_without_a_question() {
    use Verdict::{Allow, Ask};
    let fetch = |mode, said: &str, url: &str| {
        let mut world = World::new(mode, &[]);
        world.visible.push("web_fetch".into());
        world.said = vec![said.into()];
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        let host = HostEffect { method: "GET".into(), host, url: url.into(), secret: None };
        let effects = Effects { hosts: vec![host], ..Effects::default() };
        verdicts(&mut world, "web_fetch", &effects)
    };
    let said = "Read https://a.example/book/ and README.md, then see b.example/x";
    // Once others have spoken it is asked about as before.
    assert_eq!(fetch(AUTO, said, "https://a.example/book"), [Allow, Allow, Ask, Ask]);
    assert_eq!(fetch(FULL, said, "https://a.example/book/"), [Allow, Allow, Ask, Ask]);
    assert_eq!(fetch(ASK, said, "https://a.example/book"), [Ask; 4]);
    for url in [
        "https://a.example/book/two",
        "https://a.example/book?q=1",
        "https://a.example/",
        "http://a.example/book",
        // Without its scheme a word may be the name of a file, and somebody's host.
        "https://README.md/",
        "https://README.md",
        "https://b.example/x",
    ] {
        assert_eq!(fetch(AUTO, said, url), [Ask; 4], "{url}");
    }
}

#[test]
fn u13_which_of_the_persons_addresses_is_fetched_is_counted_beside_private_data() {
    let said: Vec<String> = (0..200).map(|n| format!("https://a.example/{n}")).collect();
    let said = vec![said.join(" ")];
    let mut trail = LinkTrail::default();
    let label = labelled(Taint::Private);
    let own = BTreeSet::new();
    let mut fetched = 0_u32;
    while fetched < 1_000 {
        let provenance = Provenance {
            label: &label,
            said: &said,
            trail: &trail,
            own: &own,
            ..Provenance::for_empty_session()
        };
        let url = format!("https://a.example/{}", fetched % 200);
        let host = HostEffect {
            method: "GET".into(),
            host: "a.example".into(),
            url: url.clone(),
            secret: None,
        };
        let effects = Effects { hosts: vec![host], ..Effects::default() };
        let Some(bits) = provenance.followed_bits("web_fetch", &effects) else { break };
        assert_eq!(bits, 8, "one of 200 is 8 bits");
        trail.count_bits(bits);
        fetched += 1;
    }
    assert_eq!(fetched, crate::governance::trail::LINK_BITS_MAX / 8);
}
