//! Tests of which steps one question is about.

use super::*;
use crate::governance::flow::{FLOW, FlowCell};
use crate::label::Taint;
use crate::tool::{CommandEffect, PathAccess, PathPlace, PlannedChange};

fn written(path: &str) -> Effects {
    let path = PathEffect::new(path, PathAccess::Write, PathPlace::Inside);
    Effects { paths: vec![path], ..Effects::default() }
}

fn command() -> Effects {
    let run = CommandEffect { command: "make".into(), cwd: ".".into(), ..Default::default() };
    Effects { commands: vec![run], ..Effects::default() }
}

#[test]
fn u8_what_a_step_before_could_change_is_looked_at_again() {
    let nothing = Effects::default();
    for (later, earlier, depends) in [
        (written("a/b"), written("a/c"), false),
        (written("a/b"), written("a/b"), true),
        (written("A/b"), written("a/B"), true),
        (written("a/b"), written("a"), true),
        (written("a"), written("a/b"), true),
        (written("ab"), written("a"), false),
        (written("a"), written("."), true),
        (written("a"), command(), true),
        (command(), written("a"), true),
        (command(), command(), true),
        (nothing.clone(), written("a"), false),
        (nothing.clone(), command(), false),
        (written("a"), nothing, false),
    ] {
        assert_eq!(is_changed_by(&later, &earlier), depends, "{later:?} after {earlier:?}");
    }
}

#[test]
fn u8_a_change_that_is_known_exactly_counts_as_its_path() {
    let change = PlannedChange {
        path: "a".into(),
        before: crate::tool::FileState::Absent,
        after: crate::tool::FileState::Absent,
    };
    let effects = Effects { changes: vec![change], ..Effects::default() };
    assert!(is_changed_by(&written("a"), &effects));
    assert!(!is_changed_by(&written("b"), &effects));
}

#[test]
fn u8_a_rule_of_the_table_names_its_cell_and_no_other_text_does() {
    for row in FLOW {
        for (taint, cell) in Taint::ALL.iter().zip(row.cells) {
            let rule = format!("flow table: {} × {}", row.text, taint.as_str());
            let same = |other: &crate::governance::flow::FlowRow| other.text == row.text;
            assert_eq!(FLOW.iter().filter(|other| same(other)).count(), 1, "{}", row.text);
            assert_eq!(cell_of_rule(&rule), Some((row.sink, cell)), "{rule}");
        }
    }
    assert_eq!(cell_of_rule(""), None);
    assert_eq!(cell_of_rule("flow table: something else × clean"), None);
}

#[test]
fn u8_of_what_is_warned_of_only_sending_is_a_line() {
    let opinion = |rule: String, gate: GateName| GateOpinion {
        gate,
        verdict: Verdict::Ask,
        rule: Some(rule),
        reason: String::new(),
        exact: true,
        bound: false,
    };
    let send = crate::tool::ActEffect {
        kind: ActKind::Send,
        server: "mcp:board".into(),
        to: vec!["general".into()],
        control: Vec::new(),
        choices: Vec::new(),
        content: Vec::new(),
    };
    let sends = Effects { acts: vec![send.clone()], ..Effects::default() };
    let destroy = crate::tool::ActEffect { kind: ActKind::Destroy, ..send.clone() };
    let both = Effects { acts: vec![send, destroy], ..Effects::default() };
    for row in FLOW {
        for (taint, cell) in Taint::ALL.iter().zip(row.cells) {
            let rule = format!("flow table: {} × {}", row.text, taint.as_str());
            let warned = cell == FlowCell::AskWarned;
            let expected = !warned || row.sink == Sink::SendOther;
            if warned || cell == FlowCell::AskExactly {
                let fits = |effects: &Effects| {
                    fits_a_line(&opinion(rule.clone(), GateName::Labels), effects)
                };
                assert_eq!(fits(&sends), expected, "{rule}");
                assert_eq!(fits(&both), !warned, "{rule}");
                assert_eq!(fits(&Effects::default()), !warned, "{rule}");
            }
            assert!(!fits_a_line(&opinion(rule, GateName::Paths), &sends));
        }
    }
}

#[test]
fn u8_money_rights_and_what_nobody_can_read_are_asked_alone() {
    let with = |kind| {
        let act = crate::tool::ActEffect {
            kind,
            server: "mcp:bank".into(),
            to: Vec::new(),
            control: Vec::new(),
            choices: Vec::new(),
            content: Vec::new(),
        };
        has_plain_effects(&Effects { acts: vec![act], ..Effects::default() })
    };
    assert!(with(ActKind::Send) && with(ActKind::Own) && with(ActKind::Destroy));
    assert!(!with(ActKind::Commit) && !with(ActKind::Identity));
    assert!(has_plain_effects(&written("a")));
    assert!(!has_plain_effects(&Effects { unknown: true, ..written("a") }));
    assert!(!has_plain_effects(&command()), "nothing confines it");
}
