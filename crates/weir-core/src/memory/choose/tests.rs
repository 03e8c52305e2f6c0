//! Tests of what is told and found.

use super::*;
use crate::ids::MemoryId;
use crate::label::Label;
use crate::memory::{MemorySource, NewMemory};

const HERE: &str = "/home/a/project";
const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn days_ago(days: u64) -> Timestamp {
    Timestamp(NOW.0 - i64::try_from(days * DAY_MS * 1000).expect("a time"))
}

fn fact(kind: MemoryKind, importance: u8, text: &str) -> MemoryFact {
    let workspace = matches!(kind, MemoryKind::Project | MemoryKind::Lesson | MemoryKind::Event);
    MemoryFact {
        id: MemoryId::new(format!("id of {text}")),
        fact: NewMemory {
            text: text.into(),
            kind,
            topics: Vec::new(),
            importance,
            workspace: workspace.then(|| HERE.to_string()),
            source: MemorySource::default(),
            label: Label::default(),
            status: MemoryStatus::Kept,
            supersedes: None,
        },
        confirmed: 0,
        superseded_by: None,
        created: NOW,
        updated: NOW,
    }
}

fn occasion(said: &str) -> FactQuery<'_> {
    FactQuery { said, workspace: HERE, now: NOW }
}

fn texts(facts: Vec<MemoryFact>) -> Vec<String> {
    facts.into_iter().map(|fact| fact.fact.text).collect()
}

fn told_texts(facts: &[MemoryFact], said: &str) -> Vec<String> {
    texts(choose_told_facts(facts.to_vec(), &occasion(said)))
}

#[test]
fn m4_what_the_message_calls_for_is_told() {
    use MemoryKind::{Event, Lesson, Project};
    let facts = [
        fact(Project, 3, "The tests run with cargo nextest."),
        fact(Lesson, 3, "Releases fail without a changelog line."),
        fact(Event, 3, "The database moved to Postgres in May."),
        MemoryFact {
            fact: NewMemory {
                topics: vec!["deployment".into()],
                ..fact(Project, 3, "Goes out on Fridays.").fact
            },
            ..fact(Project, 3, "Goes out on Fridays.")
        },
    ];
    for (said, expected) in [
        ("Please run the test", &["The tests run with cargo nextest."][..]),
        ("How do deployments work?", &["Goes out on Fridays."]),
        ("Is the changelog there?", &["Releases fail without a changelog line."]),
        ("What is it that you do with this?", &[]),
        ("", &[]),
        (
            "Wann ist die Datenbank umgezogen, im Mai oder auf Postgres?",
            &["The database moved to Postgres in May."],
        ),
    ] {
        assert_eq!(told_texts(&facts, said), expected, "{said}");
    }
}

#[test]
fn m4_some_facts_are_told_without_a_word_in_common() {
    use MemoryKind::{Event, Identity, Lesson, Preference, Project};
    for (kind, importance, expected) in [
        (Identity, 1, true),
        (Preference, 1, true),
        (Project, 3, false),
        (Project, 4, true),
        (Lesson, 4, true),
        (Event, 4, false),
        (Event, 5, true),
    ] {
        let told = told_texts(&[fact(kind, importance, "Something else.")], "Hello there");
        assert_eq!(!told.is_empty(), expected, "{kind:?} {importance}");
    }
}

#[test]
fn m4_words_from_outside_are_told_only_when_they_are_asked_for() {
    let mut foreign = fact(MemoryKind::Preference, 5, "The person likes the Acme editor.");
    foreign.fact.label = Label::external("acme.example");
    assert_eq!(told_texts(&[foreign.clone()], "Fix the tests"), Vec::<String>::new());
    assert_eq!(told_texts(&[foreign], "Which editor?"), ["The person likes the Acme editor."]);
}

#[test]
fn m4_only_kept_facts_of_this_workspace_are_told() {
    use MemoryStatus::{Forgotten, Kept, Proposed, Rejected, Superseded};
    for status in [Proposed, Rejected, Forgotten, Superseded, Kept] {
        let mut one = fact(MemoryKind::Identity, 5, "Is called Ada.");
        one.fact.status = status;
        assert_eq!(told_texts(&[one], "Ada").len(), usize::from(status == Kept), "{status:?}");
    }
    for (workspace, expected) in [(None, 1), (Some(HERE), 1), (Some("/home/a/other"), 0)] {
        let mut one = fact(MemoryKind::Project, 5, "Uses tabs.");
        one.fact.workspace = workspace.map(String::from);
        assert_eq!(told_texts(&[one.clone()], "tabs").len(), expected, "{workspace:?}");
        assert_eq!(search_facts(vec![one], &occasion("tabs")).len(), expected, "{workspace:?}");
    }
}

#[test]
fn m4_unconfirmed_facts_fade() {
    use MemoryKind::{Event, Identity, Lesson, Preference, Project};
    for (kind, importance, days, confirmed, faded) in [
        (Project, 2, 179, 0, false),
        (Project, 2, 181, 0, true),
        (Project, 2, 181, 1, false),
        (Project, 3, 4_000, 0, false),
        (Preference, 1, 181, 0, true),
        (Identity, 1, 181, 0, true),
        (Lesson, 1, 181, 0, true),
        (Event, 1, 59, 0, false),
        (Event, 1, 61, 0, true),
        (Event, 1, 61, 1, false),
        (Event, 4, 179, 0, false),
        (Event, 4, 181, 0, true),
        (Event, 5, 4_000, 0, false),
    ] {
        let mut one = fact(kind, importance, "Uses tabs.");
        (one.confirmed, one.updated) = (confirmed, days_ago(days));
        let case = format!("{kind:?} {importance}, {days} days, said again {confirmed} times");
        assert_eq!(has_faded(&one, NOW), faded, "{case}");
        assert_eq!(told_texts(&[one.clone()], "tabs").is_empty(), faded, "{case}");
        assert_eq!(
            search_facts(vec![one], &occasion("tabs")).len(),
            1,
            "{case}: it is still found"
        );
    }
    // A clock that went back makes nothing old.
    let mut early = fact(Project, 1, "Uses tabs.");
    early.updated = NOW.plus_ms(400 * DAY_MS);
    assert!(!has_faded(&early, NOW));
}

#[test]
fn m4_the_best_comes_first() {
    use MemoryKind::Project;
    let plain = fact(Project, 3, "Tests are slow.");
    let weighty = fact(Project, 4, "Tests need a database.");
    let mut again = fact(Project, 3, "Tests print a lot.");
    again.confirmed = 1;
    let mut old = fact(Project, 3, "Tests ran in Docker.");
    old.updated = days_ago(150);
    let fitting = fact(Project, 1, "Slow tests stand in tests/slow.");
    let facts = vec![old, plain, again, weighty, fitting];
    assert_eq!(
        texts(choose_told_facts(facts, &occasion("Why are the tests so slow?"))),
        [
            "Tests are slow.",
            "Slow tests stand in tests/slow.",
            "Tests need a database.",
            "Tests print a lot.",
            "Tests ran in Docker.",
        ]
    );
}

#[test]
fn m4_what_is_told_fits_its_budget() {
    let many: Vec<MemoryFact> = (0..500)
        .map(|n| fact(MemoryKind::Preference, 3, &format!("Preference {n} of the person.")))
        .collect();
    assert_eq!(choose_told_facts(many, &occasion("hello")).len(), TOLD_MAX);
    let long: Vec<MemoryFact> = (0..30)
        .map(|n| fact(MemoryKind::Preference, 3, &format!("{n} {}", "x".repeat(390))))
        .collect();
    let short = fact(MemoryKind::Preference, 1, "Short.");
    let told = choose_told_facts(long.into_iter().chain([short]).collect(), &occasion("hello"));
    let characters: usize = told.iter().map(|fact| fact.fact.text.chars().count()).sum();
    assert!(characters <= TOLD_CHARS_MAX, "{characters}");
    assert_eq!(texts(told).last().map(String::as_str), Some("Short."), "what fits is told");
}

#[test]
fn m4_a_search_finds_by_words_and_without_them() {
    let facts = vec![
        fact(MemoryKind::Project, 3, "The tests run with cargo nextest."),
        fact(MemoryKind::Identity, 2, "Is called Ada."),
    ];
    let found = |said: &str| texts(search_facts(facts.clone(), &occasion(said)));
    assert_eq!(found("nextest"), ["The tests run with cargo nextest."]);
    assert_eq!(found("ada"), ["Is called Ada."]);
    assert_eq!(found("nothing like that").len(), 0);
    assert_eq!(found("").len(), 2);
    assert_eq!(found("with").len(), 1, "somebody who looks for a stop word looks for it");
}
