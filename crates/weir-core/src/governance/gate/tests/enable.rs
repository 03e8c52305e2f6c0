//! Switching on what is others', and asking the stronger model.

use super::*;
use crate::tool::EnableEffect;

fn enabling() -> Effects {
    let one = EnableEffect {
        what: "plugin".into(),
        name: "demo".into(),
        hash: "0123456789abcdef".into(),
    };
    Effects { enables: vec![one], ..Effects::default() }
}

#[test]
fn z9_a_person_is_asked_exactly_in_every_mode_whatever_rules_say() {
    for mode in PermissionMode::ALL {
        let world = World::new(mode, &["allow tool", "allow Shell(*)"]);
        let judged = world.effects(enabling());
        if mode == PermissionMode::Plan {
            assert_eq!((judged.verdict, judged.gate), (Verdict::Deny, Some(GateName::Enable)));
            continue;
        }
        assert_eq!((judged.verdict, judged.gate), (Verdict::Ask, Some(GateName::Enable)));
        assert!(judged.gates.iter().any(|opinion| opinion.exact), "{mode}");
        assert!(judged.reason.is_some_and(|why| why.contains("the plugin demo")));
    }
}

/// That nobody there is a refusal is the session's: `scenarios/plugins`.
#[test]
fn z9_after_foreign_words_a_person_is_asked_exactly_and_warned() {
    for mode in PermissionMode::ALL {
        let mut world = World::new(mode, &["allow tool", "allow Shell(*)"]);
        world.label = Label::external("page.example");
        let judged = world.effects(enabling());
        assert_eq!(judged.gate, Some(GateName::Enable), "{mode}");
        if mode == PermissionMode::Plan {
            assert_eq!(judged.verdict, Verdict::Deny);
            continue;
        }
        assert_eq!(judged.verdict, Verdict::Ask, "{mode}");
        assert!(judged.gates.iter().any(|opinion| opinion.exact), "{mode}");
        let reason = judged.reason.unwrap_or_default();
        for part in ["Careful: ", "the plugin demo", "page.example"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }
}

#[test]
fn t2_a_run_gets_three_answers_of_the_stronger_model() {
    let consults = || Effects { consults: true, ..Effects::default() };
    let mut world = World::new(PermissionMode::Full, &[]);
    for (asked, verdict) in
        [(0, Verdict::Allow), (2, Verdict::Allow), (3, Verdict::Deny), (9, Verdict::Deny)]
    {
        world.consulted = asked;
        let judged = world.effects(consults());
        assert_eq!(judged.verdict, verdict, "{asked}");
        if verdict == Verdict::Deny {
            assert_eq!(judged.rule.as_deref(), Some("consult_flagship: 3 a run"));
        }
        assert_eq!(world.effects(Effects::default()).verdict, Verdict::Allow, "only these");
    }
}

#[test]
fn z9_no_step_of_another_call_switches_on_or_consults() {
    let outer = Effects { unknown: true, ..Effects::default() };
    assert!(outer.covers(&enabling()).is_err());
    assert!(enabling().covers(&enabling()).is_err());
    let consults = Effects { consults: true, ..Effects::default() };
    assert!(outer.covers(&consults).is_err());
    assert!(enabling().changes_world() && !consults.changes_world());
}
