//! What a declared tool does at its server meets the table by whom it reaches, and a lease that is bound to
//! its arguments reaches nobody else (U2, U5, U8). Not here: which act a call is (`tool/declared`).

use super::flow::labelled;
use super::*;
use crate::governance::lease::{LeaseCall, LeaseGrant, with_leases};
use crate::ids::Timestamp;
use crate::label::Taint;
use crate::tool::{ActEffect, ActKind, ControlArgument};

const COMMENT: &str = "mcp__git__push";

fn act(kind: ActKind, arguments: &[(&str, &str)]) -> Effects {
    let control: Vec<ControlArgument> = arguments
        .iter()
        .map(|(name, value)| ControlArgument { name: (*name).into(), value: (*value).into() })
        .collect();
    let to = control.iter().map(|one| one.value.clone()).collect();
    let server = "mcp:git".to_owned();
    let reads_from = vec![server.clone()];
    Effects {
        acts: vec![ActEffect {
            kind,
            server,
            to,
            control,
            choices: Vec::new(),
            content: Vec::new(),
        }],
        reads_from,
        acknowledges: true,
        ..Effects::default()
    }
}

fn world(mode: PermissionMode, taint: Taint) -> World {
    let mut world = World::new(mode, &[]);
    world.said = vec!["Comment on issue 3 of acme/app and write to bob@a.example.".into()];
    world.label = labelled(taint);
    world
}

fn met(world: &World, effects: &Effects) -> (Verdict, Option<String>) {
    let judged = world.judge(COMMENT, &json!({}), &inspection(effects.clone()));
    let by_table = judged.gates.into_iter().find(|one| one.gate == GateName::Labels);
    (judged.verdict, by_table.and_then(|one| one.rule))
}

#[test]
fn u5_what_goes_to_the_person_asks_nothing() {
    use PermissionMode::{Ask, AutoEdit, Full, Plan};
    for taint in Taint::ALL {
        for (mode, sends, owns) in [
            (Plan, Verdict::Deny, Verdict::Deny),
            (Ask, Verdict::Allow, Verdict::Ask),
            (AutoEdit, Verdict::Allow, Verdict::Allow),
            (Full, Verdict::Allow, Verdict::Allow),
        ] {
            let world = world(mode, taint);
            let to_self = act(ActKind::Send, &[("to", "Me@A.example ")]);
            assert_eq!(met(&world, &to_self), (sends, None), "{mode} {taint:?}");
            let own = act(ActKind::Own, &[("id", "d1")]);
            assert_eq!(met(&world, &own).0, owns, "{mode} {taint:?}");
            // Beside the person somebody else is reached.
            let both = act(ActKind::Send, &[("to", "me@a.example"), ("cc", "eve@evil.example")]);
            assert!(met(&world, &both).0 > Verdict::Allow, "{mode} {taint:?}");
            let nobody = act(ActKind::Send, &[]);
            assert!(met(&world, &nobody).0 > Verdict::Allow, "{mode} {taint:?}");
        }
    }
}

#[test]
fn u2_whom_the_person_named_is_named_only_when_every_word_is_theirs() {
    let world = world(PermissionMode::Full, Taint::Both);
    let row = |arguments: &[(&str, &str)]| met(&world, &act(ActKind::Send, arguments)).1;
    let named = "flow table: send to somebody the person named or listed × external + private";
    let other = "flow table: send to anybody else × external + private";
    assert_eq!(row(&[("project", "acme/app"), ("issue", "3")]).as_deref(), Some(named));
    assert_eq!(row(&[("project", "acme/app"), ("issue", "4")]).as_deref(), Some(other));
    assert_eq!(row(&[("to", "bob@a.example"), ("cc", "eve@e.example")]).as_deref(), Some(other));
}

fn lease(text: &str, bound: Option<Label>) -> LeaseGrant {
    let rules = rules(&[&format!("allow {text}")]).iter().cloned().collect();
    let by = "person".into();
    LeaseGrant { lease: 1, rules, grant: None, uses_left: None, until: None, by, bound }
}

#[test]
fn u8_a_bound_lease_lets_pass_the_same_place_while_nothing_else_is_read() {
    const ISSUE: &str = "Mcp(git:*, issue=3, project=acme/app)";
    let place = [("issue", "3"), ("project", "acme/app")];
    let verdict = |text: &str, bound: Option<Label>, label: Label, effects: Effects| {
        let mut world = world(PermissionMode::Ask, Taint::Both);
        let granted = [lease(text, bound)];
        let call = LeaseCall { tool: COMMENT, effects: &effects };
        world.rules = with_leases(&world.rules, &granted, &label, Timestamp(0), &[], call);
        world.label = label;
        met(&world, &effects).0
    };
    let both = || labelled(Taint::Both);
    let comment = || act(ActKind::Send, &place);
    assert_eq!(verdict(ISSUE, Some(both()), both(), comment()), Verdict::Allow);
    // Another issue, one argument more, one less.
    for other in [
        vec![("issue", "4"), ("project", "acme/app")],
        vec![("issue", "3"), ("project", "acme/app"), ("cc", "bob@a.example")],
        vec![("project", "acme/app")],
    ] {
        let effects = act(ActKind::Send, &other);
        assert_eq!(verdict(ISSUE, Some(both()), both(), effects), Verdict::Ask, "{other:?}");
    }
    // Something else was read since.
    let more = both().joined_with(&Label::external("more.example"));
    assert_eq!(verdict(ISSUE, Some(both()), more, comment()), Verdict::Ask);
    // A rule that is bound to nothing, and other kinds of acts.
    assert_eq!(verdict(ISSUE, None, both(), comment()), Verdict::Ask);
    for kind in [ActKind::Destroy, ActKind::Identity, ActKind::Commit] {
        assert_eq!(verdict(ISSUE, Some(both()), both(), act(kind, &place)), Verdict::Ask);
    }
}

#[test]
fn z2_money_and_rights_ask_whatever_the_rule() {
    for kind in [ActKind::Identity, ActKind::Commit] {
        for line in
            ["allow *", "allow Mcp(git:*)", "allow mcp__git__push", "allow Mcp(git:push, id=1)"]
        {
            let mut world = World::new(PermissionMode::Full, &[line]);
            world.label = labelled(Taint::Clean);
            assert_eq!(met(&world, &act(kind, &[("id", "1")])).0, Verdict::Ask, "{kind:?} {line}");
        }
    }
}

#[test]
fn c3_a_rule_that_names_arguments_forbids_broadly_and_allows_narrowly() {
    let place = [("issue", "3"), ("project", "Acme/App")];
    for (line, expected) in [
        ("deny Mcp(git:*, project=acme/app)", Verdict::Deny),
        ("deny Mcp(git:push, issue=4)", Verdict::Allow),
        ("ask Mcp(git:push, issue=3)", Verdict::Ask),
    ] {
        let mut world = World::new(PermissionMode::Full, &["allow Mcp(git:push)", line]);
        world.said = vec!["Issue 3 of Acme/App.".into()];
        assert_eq!(met(&world, &act(ActKind::Send, &place)).0, expected, "{line}");
    }
    // Nobody knows which argument says what: what is forbidden for some is forbidden for all.
    let world = World::new(PermissionMode::Full, &["deny Mcp(git:push, issue=4)"]);
    let unknown = Effects { unknown: true, ..Effects::default() };
    assert_eq!(met(&world, &unknown).0, Verdict::Deny);
    let asks = Effects {
        queries: vec![crate::tool::QueryEffect {
            server: "mcp:git".into(),
            words: vec!["4".into()],
        }],
        ..Effects::default()
    };
    assert_eq!(met(&world, &asks).0, Verdict::Deny);
}

#[test]
fn u8_what_a_question_offers_is_bound_to_the_place() {
    let origin = RuleOrigin::new("an approval");
    let offered = |tool: &str, kind, arguments: &[(&str, &str)]| -> Vec<String> {
        let rules = rules(&[]).offered_rules(tool, &act(kind, arguments), &origin);
        rules.iter().map(|rule| rule.text().to_owned()).collect()
    };
    let issue = [("issue", "3"), ("project", "acme/app")];
    assert_eq!(offered(COMMENT, ActKind::Send, &issue), ["Mcp(git:*, issue=3, project=acme/app)"]);
    assert_eq!(
        offered(COMMENT, ActKind::Destroy, &issue),
        ["Mcp(git:push, issue=3, project=acme/app)"]
    );
    assert_eq!(offered(COMMENT, ActKind::Own, &issue), ["Mcp(git:push)"]);
    let none: [&str; 0] = [];
    assert_eq!(offered(COMMENT, ActKind::Commit, &issue), none);
    assert_eq!(offered(COMMENT, ActKind::Identity, &issue), none);
    assert_eq!(offered("call_plugin_api", ActKind::Send, &issue), none);
    // What no rule can be written with.
    for odd in ["a,b", "a=b", "a)", "(", " a", "a\n"] {
        assert_eq!(offered(COMMENT, ActKind::Send, &[("to", odd)]), none, "{odd:?}");
    }
}
