//! When two facts are one, and what becomes of a fact that is said again (M4). Pure: every store
//! asks here, so that they cannot differ. Not here: what is worth remembering.

use super::{BY_PERSON, MemoryFact, MemorySource, MemoryStatus, NewMemory};
use crate::ids::{MemoryId, Timestamp};
use crate::label::{Integrity, Label, Privacy};
use crate::record::sha256_hex;

/// Hex digits of an id: 64 bits, so that a million facts of one store do not collide.
const ID_CHARS: usize = 16;
/// Most topics of one fact, however often it is said again.
const TOPICS_MAX: usize = 16;
/// What is private of a fact that a person calls so.
const MARKED: &str = "memory";

/// The name of a fact: the same words about the same workspace are the same fact, whatever their
/// case, their spacing and the full stop at the end.
pub fn id_of(text: &str, workspace: Option<&str>) -> MemoryId {
    // A workspace is a path and has no zero byte: nothing can be moved over the border.
    let named = format!("{}\0{}", workspace.unwrap_or_default(), normalise_text(text));
    let mut hex = sha256_hex(named.as_bytes());
    hex.truncate(ID_CHARS);
    MemoryId::new(hex)
}

/// The words that count: lower case, single spaces, plain quotes, no invisible characters and no
/// punctuation at the end.
fn normalise_text(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            other => other,
        })
        .collect();
    let spaced = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = |c: char| matches!(c, '.' | '!' | ',' | ';' | ':' | '…' | '。') || c == ' ';
    let bare = spaced.trim_end_matches(ends);
    // Words that are nothing but punctuation are still words.
    if bare.is_empty() { spaced } else { bare.to_string() }
}

/// Soft hyphens, zero width characters and marks of direction: nobody sees them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
}

/// The fact as it is kept when it is said for the first time.
pub fn first_said(new: &NewMemory, now: Timestamp) -> MemoryFact {
    let mut fact = new.clone();
    fact.topics = merge_topics(&[], &new.topics);
    MemoryFact {
        id: id_of(&new.text, new.workspace.as_deref()),
        fact,
        confirmed: 0,
        superseded_by: None,
        created: now,
        updated: now,
    }
}

/// What becomes of `old` when the same fact is said again. It never becomes less foreign, and a no
/// of a person stays.
pub fn said_again(old: &MemoryFact, new: &NewMemory, now: Timestamp) -> MemoryFact {
    let mut fact = old.clone();
    fact.confirmed = old.confirmed.saturating_add(1);
    fact.updated = now;
    fact.fact.label = label_again(&old.fact, new);
    // Words to find it by that were chosen beside private data would bring it in by the back door.
    if fact.fact.label.is_private() || !new.label.is_private() {
        fact.fact.topics = merge_topics(&old.fact.topics, &new.topics);
    }
    fact.fact.importance = old.fact.importance.max(new.importance);
    let returns = new.supersedes.is_some() && new.supersedes == old.superseded_by;
    match old.fact.status {
        MemoryStatus::Proposed if new.status == MemoryStatus::Kept => {
            fact.fact.status = MemoryStatus::Kept;
            fact.fact.supersedes.clone_from(&new.supersedes);
        }
        // What is only proposed now changes nothing of what is kept.
        MemoryStatus::Kept if new.status == MemoryStatus::Kept && new.supersedes.is_some() => {
            fact.fact.supersedes.clone_from(&new.supersedes);
        }
        MemoryStatus::Forgotten => begin_anew(&mut fact, new),
        // What took its place gives it back.
        MemoryStatus::Superseded if returns => begin_anew(&mut fact, new),
        MemoryStatus::Kept
        | MemoryStatus::Proposed
        | MemoryStatus::Rejected
        | MemoryStatus::Superseded => {}
    }
    fact
}

/// The label of a fact that is said again. The words that are kept are those that were there, so
/// whoever says them where private data is about makes a fact that is public no more private; and
/// what a person writes is as private as they say. Nothing of that holds with foreign words.
pub(super) fn label_again(old: &NewMemory, new: &NewMemory) -> Label {
    let is_foreign = old.label.is_external() || new.label.is_external();
    let is_public = old.status == MemoryStatus::Kept && !old.label.is_private();
    match () {
        () if !is_foreign && new.source.by == BY_PERSON => new.label.clone(),
        () if !is_foreign && is_public => old.label.clone(),
        () => old.label.clone().joined_with(&new.label),
    }
}

/// A fact that was gone is what the new one says; only its label stays.
fn begin_anew(fact: &mut MemoryFact, new: &NewMemory) {
    let label = fact.fact.label.clone();
    fact.fact = NewMemory { label, topics: merge_topics(&[], &new.topics), ..new.clone() };
    fact.superseded_by = None;
}

/// The label of a fact that a person wants told as private, whoever accepts it later.
pub fn private_by_person() -> Label {
    Label::private(Integrity::Person, MARKED)
}

/// `fact`, said again by a person who wants it told as private.
pub fn marked_private(fact: &MemoryFact) -> NewMemory {
    NewMemory {
        // Of no session: one that is looked through twice says nothing new.
        source: MemorySource { by: BY_PERSON.into(), ..MemorySource::default() },
        label: private_by_person(),
        status: MemoryStatus::Proposed,
        ..fact.fact.clone()
    }
}

/// The fact as a person settled it. What they accept is theirs and is told as such, though private
/// data stood in the context in which it was written down (K11): they read it, and it is short. With
/// words from outside it stays what it is: a yes that was given without reading must not make a
/// stranger's words theirs, nor let what stood beside them out.
pub fn settle_fact(old: &MemoryFact, status: MemoryStatus, now: Timestamp) -> MemoryFact {
    let mut fact = old.clone();
    fact.fact.status = status;
    if status == MemoryStatus::Kept && may_be_theirs(&old.fact.label) {
        fact.fact.label = Label::default();
    }
    fact.updated = now;
    if status != MemoryStatus::Superseded {
        fact.superseded_by = None;
    }
    fact
}

/// Whether a person's yes makes it theirs.
fn may_be_theirs(label: &Label) -> bool {
    !label.is_external() && label.privacy < Privacy::Secret && !label.sources.contains(MARKED)
}

/// Whether `newer`, as it is kept now, takes the place of `older` without asking. A fact that only
/// waits in the inbox replaces nothing, and foreign words never push out what is not foreign: that
/// takes a person (`settled_by_person`).
pub fn takes_place(newer: &MemoryFact, older: &MemoryFact, settled_by_person: bool) -> bool {
    newer.fact.status == MemoryStatus::Kept
        && newer.id != older.id
        && older.fact.status != MemoryStatus::Superseded
        && (settled_by_person || !newer.fact.label.is_external() || older.fact.label.is_external())
}

fn merge_topics(old: &[String], new: &[String]) -> Vec<String> {
    let mut all: Vec<String> = old.to_vec();
    for topic in new.iter().map(|topic| topic.trim()) {
        let known = all.iter().any(|one| one.to_lowercase() == topic.to_lowercase());
        if !topic.is_empty() && !known && all.len() < TOPICS_MAX {
            all.push(topic.to_string());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryKind;

    fn new(text: &str, status: MemoryStatus) -> NewMemory {
        NewMemory {
            text: text.into(),
            kind: MemoryKind::Project,
            topics: Vec::new(),
            importance: 3,
            workspace: None,
            source: MemorySource::default(),
            label: Label::default(),
            status,
            supersedes: None,
        }
    }

    #[test]
    fn m4_the_same_words_are_the_same_fact() {
        let id = id_of("The tests run with `cargo test`.", None);
        assert_eq!(id.as_str().len(), ID_CHARS);
        for same in [
            "the tests run with `cargo test`",
            "  The\ttests run\n with `Cargo Test`…  ",
            "The tests run with\u{200b} `cargo test`!",
            "The tests\u{a0}run with `cargo test`. .",
        ] {
            assert_eq!(id_of(same, None), id, "{same:?}");
        }
        for other in ["The tests run with `cargo tests`", "The test runs with `cargo test`", ""] {
            assert_ne!(id_of(other, None), id, "{other:?}");
        }
        assert_ne!(id_of("The tests run with `cargo test`.", Some("/a")), id);
        assert_ne!(id_of("x", Some("/a")), id_of("x", Some("/b")));
        assert_ne!(id_of("...", None), id_of("?", None), "nothing but punctuation is not nothing");
        assert_eq!(id_of("it’s “so”", None), id_of("It's \"so\"", None));
    }

    #[test]
    fn m4_states_when_a_fact_is_said_again() {
        use MemoryStatus::{Forgotten, Kept, Proposed, Rejected, Superseded};
        for (old, said, expected) in [
            (Proposed, Proposed, Proposed),
            (Proposed, Kept, Kept),
            (Kept, Proposed, Kept),
            (Kept, Kept, Kept),
            (Rejected, Proposed, Rejected),
            (Rejected, Kept, Rejected),
            (Forgotten, Proposed, Proposed),
            (Forgotten, Kept, Kept),
            (Superseded, Proposed, Superseded),
            (Superseded, Kept, Superseded),
        ] {
            let before = first_said(&new("x", old), Timestamp(1));
            let after = said_again(&before, &new("x", said), Timestamp(2));
            assert_eq!(after.fact.status, expected, "{old:?} said again as {said:?}");
            assert_eq!((after.confirmed, after.updated), (1, Timestamp(2)));
            assert_eq!(after.created, Timestamp(1));
        }
    }

    #[test]
    fn m4_a_fact_never_becomes_less_foreign() {
        let foreign =
            NewMemory { label: Label::external("example.org"), ..new("x", MemoryStatus::Proposed) };
        for (first, second) in [
            (foreign.clone(), new("x", MemoryStatus::Kept)),
            (new("x", MemoryStatus::Kept), foreign.clone()),
            (
                NewMemory { status: MemoryStatus::Forgotten, ..foreign.clone() },
                new("x", MemoryStatus::Kept),
            ),
        ] {
            let after = said_again(&first_said(&first, Timestamp(1)), &second, Timestamp(2));
            assert!(after.fact.label.is_external(), "{first:?} and {second:?}");
        }
    }

    #[test]
    fn k11_a_yes_makes_a_private_fact_the_persons_own_and_a_foreign_one_never() {
        let own = Label::private(Integrity::Workspace, "workspace");
        let foreign = own.clone().joined_with(&Label::external("example.org"));
        let secret = Label { privacy: Privacy::Secret, ..own.clone() };
        let marked = private_by_person();
        for (label, cleaned) in
            [(&own, true), (&foreign, false), (&secret, false), (&marked, false)]
        {
            let fact = NewMemory { label: label.clone(), ..new("x", MemoryStatus::Proposed) };
            let before = first_said(&fact, Timestamp(1));
            let after = settle_fact(&before, MemoryStatus::Kept, Timestamp(2));
            let expected = if cleaned { Label::default() } else { label.clone() };
            assert_eq!(after.fact.label, expected, "{label}");
            for other in [MemoryStatus::Rejected, MemoryStatus::Forgotten] {
                assert_eq!(settle_fact(&before, other, Timestamp(2)).fact.label, *label);
            }
        }
    }

    #[test]
    fn k11_a_fact_that_is_theirs_stays_so_however_it_is_said_again() {
        let said = |by: &str, label: Label, topics: &[&str]| NewMemory {
            label,
            source: MemorySource { by: by.into(), ..MemorySource::default() },
            topics: topics.iter().map(|topic| (*topic).to_string()).collect(),
            ..new("x", MemoryStatus::Kept)
        };
        let private = || Label::private(Integrity::Workspace, "workspace");
        let theirs = first_said(&said("mark_for_memory", Label::default(), &["x"]), Timestamp(1));
        let again = said_again(&theirs, &said("run", private(), &["4711"]), Timestamp(2));
        assert_eq!((&again.fact.label, again.fact.topics), (&Label::default(), vec!["x".into()]));
        // What nobody accepted is as private as its parts, until a person writes it.
        let kept = first_said(&said("mark_for_memory", private(), &[]), Timestamp(1));
        let again = said_again(&kept, &said("run", Label::default(), &[]), Timestamp(2));
        assert!(again.fact.label.is_private());
        let written = said_again(&kept, &said(BY_PERSON, Label::default(), &[]), Timestamp(2));
        assert_eq!(written.fact.label, Label::default());
        let foreign = first_said(&said("run", Label::external("example.org"), &[]), Timestamp(1));
        let written = said_again(&foreign, &said(BY_PERSON, Label::default(), &[]), Timestamp(2));
        assert!(written.fact.label.is_external());
        // Marked by them it stays private through their yes.
        let marked = said_again(&theirs, &marked_private(&theirs), Timestamp(2));
        let accepted = settle_fact(&marked, MemoryStatus::Kept, Timestamp(3));
        assert_eq!(accepted.fact.label, private_by_person());
    }

    #[test]
    fn m4_topics_are_gathered_and_bounded() {
        let said = |topics: &[&str]| NewMemory {
            topics: topics.iter().map(|t| (*t).to_string()).collect(),
            ..new("x", MemoryStatus::Kept)
        };
        let first = first_said(&said(&["rust", " Rust ", "", "ci"]), Timestamp(1));
        assert_eq!(first.fact.topics, ["rust", "ci"]);
        let again = said_again(&first, &said(&["CI", "tests"]), Timestamp(2));
        assert_eq!(again.fact.topics, ["rust", "ci", "tests"]);
        let many: Vec<String> = (0..99).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(said_again(&first, &said(&many), Timestamp(2)).fact.topics.len(), TOPICS_MAX);
    }

    #[test]
    fn m4_what_was_superseded_can_take_its_place_back() {
        let spaces = id_of("use spaces", None);
        let old = MemoryFact {
            superseded_by: Some(spaces.clone()),
            ..first_said(&new("use tabs", MemoryStatus::Superseded), Timestamp(1))
        };
        let back = NewMemory { supersedes: Some(spaces), ..new("use tabs", MemoryStatus::Kept) };
        let after = said_again(&old, &back, Timestamp(2));
        assert_eq!((after.fact.status, after.superseded_by), (MemoryStatus::Kept, None));
    }

    #[test]
    fn m4_foreign_words_push_nothing_out() {
        let fact = |text: &str, status, external: bool| {
            let label = if external { Label::external("example.org") } else { Label::default() };
            first_said(&NewMemory { label, ..new(text, status) }, Timestamp(1))
        };
        let own = fact("own", MemoryStatus::Kept, false);
        let foreign = fact("foreign", MemoryStatus::Kept, true);
        let waiting = fact("waiting", MemoryStatus::Proposed, false);
        assert!(takes_place(&own, &foreign, false));
        assert!(!takes_place(&foreign, &own, false));
        assert!(takes_place(&foreign, &own, true), "a person said so");
        assert!(!takes_place(&waiting, &own, false));
        assert!(!takes_place(&own, &own, true), "nothing replaces itself");
    }
}
