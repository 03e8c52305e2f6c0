//! What every store knows beyond one session: remembered facts and proposals (M4).

use weir_core::governance::label::Label;
use weir_core::ids::{CallId, MemoryId, SessionId, Timestamp};
use weir_core::memory::{
    MemoryAction, MemoryDecision, MemoryEdit, MemoryFact, MemoryKeep, MemoryKind, MemoryOutcome,
    MemorySource, MemoryStatus, NewMemory, fact_hash, id_of,
};
use weir_engine::ports::{MemoryFilter, Proposal, Store, StoredItem};

use crate::contract::every_store;
use crate::support::{NOON, Scribe};

every_store! {
    m4_a_fact_comes_back_as_it_was_said
    m4_the_same_words_are_confirmed_and_never_less_foreign
    m4_a_call_that_is_repeated_confirms_nothing
    m4_a_no_stays_a_no
    m4_one_fact_takes_the_place_of_another
    m4_facts_are_found_by_any_word_best_first
    m4_facts_are_filtered_by_state_and_workspace
    m4_words_are_never_a_syntax_error
    m4_the_inbox_is_bounded
    m4_memory_outlives_the_session_that_it_is_from
    r10_a_decision_is_about_the_fact_that_was_seen
    r10_a_decision_and_a_change_at_once_never_mix
    r10_a_fact_is_kept_in_other_words
    m1_proposals_wait_until_they_are_taken_away
    m1_proposals_are_bounded
    t5_what_is_kept_has_one_version_for_each_text
    k12_of_two_who_change_one_version_one_is_told_so
}

const HERE: &str = "/home/ada/loom";

fn at(n: i64) -> Timestamp {
    Timestamp(NOON + n)
}

fn said(text: &str, status: MemoryStatus) -> NewMemory {
    NewMemory {
        text: text.into(),
        kind: MemoryKind::Preference,
        topics: vec!["style".into()],
        importance: 3,
        workspace: Some(HERE.into()),
        source: MemorySource { by: "person".into(), ..MemorySource::default() },
        label: Label::default(),
        status,
        supersedes: None,
    }
}

fn by_call(new: NewMemory, session: &str, call: u32) -> NewMemory {
    let source = MemorySource {
        by: "mark_for_memory".into(),
        session: Some(SessionId::new(session)),
        call: Some(CallId(call)),
        file: Some("notes.md".into()),
        ..MemorySource::default()
    };
    NewMemory { source, ..new }
}

async fn texts(store: &dyn Store, filter: MemoryFilter) -> Vec<String> {
    let found = store.find_memories(&filter).await.expect("readable");
    found.into_iter().map(|fact| fact.fact.text).collect()
}

async fn fact(store: &dyn Store, id: &MemoryId) -> MemoryFact {
    let all = store.find_memories(&MemoryFilter::default()).await.expect("readable");
    all.into_iter().find(|fact| fact.id == *id).expect("it is remembered")
}

async fn m4_a_fact_comes_back_as_it_was_said(store: &dyn Store) {
    assert_eq!(store.find_memories(&MemoryFilter::default()).await.expect("readable"), []);
    let mut new =
        by_call(said("Indent with \"tabs\" \u{0} ü 🎉", MemoryStatus::Proposed), "one", 7);
    new.label = Label::external("example.org");
    new.supersedes = Some(MemoryId::new("nothing"));
    let kept = store.remember_fact(&new, at(1)).await.expect("writable");
    let expected = MemoryFact {
        id: id_of(&new.text, Some(HERE)),
        fact: new,
        confirmed: 0,
        superseded_by: None,
        created: at(1),
        updated: at(1),
    };
    assert_eq!(kept, expected);
    assert_eq!(store.find_memories(&MemoryFilter::default()).await.expect("readable"), [expected]);
}

async fn m4_the_same_words_are_confirmed_and_never_less_foreign(store: &dyn Store) {
    let first = store.remember_fact(&said("Use tabs.", MemoryStatus::Proposed), at(1)).await;
    let first = first.expect("writable");
    let mut again = said("use  TABS", MemoryStatus::Kept);
    again.label = Label::external("example.org");
    again.topics = vec!["whitespace".into()];
    let again = store.remember_fact(&again, at(2)).await.expect("writable");
    assert_eq!((&again.id, again.confirmed), (&first.id, 1));
    assert_eq!((again.created, again.updated), (at(1), at(2)));
    assert_eq!(again.fact.text, "Use tabs.", "the words of the first time");
    assert_eq!(again.fact.status, MemoryStatus::Kept, "kept is more than proposed");
    assert_eq!(again.fact.topics, ["style", "whitespace"]);
    let clean = store.remember_fact(&said("use tabs", MemoryStatus::Proposed), at(3)).await;
    let clean = clean.expect("writable");
    assert!(clean.fact.label.is_external(), "once foreign, always foreign");
    assert_eq!((clean.fact.status, clean.confirmed), (MemoryStatus::Kept, 2));
    let found = MemoryFilter { words: "whitespace".into(), ..MemoryFilter::default() };
    assert_eq!(texts(store, found).await, ["Use tabs."], "later topics are found");

    let elsewhere = NewMemory { workspace: None, ..said("use tabs", MemoryStatus::Kept) };
    let elsewhere = store.remember_fact(&elsewhere, at(4)).await.expect("writable");
    assert_eq!(elsewhere.confirmed, 0, "another workspace, another fact");
    assert_eq!(fact(store, &first.id).await, clean);
}

async fn m4_a_call_that_is_repeated_confirms_nothing(store: &dyn Store) {
    let one = by_call(said("Use tabs", MemoryStatus::Kept), "one", 7);
    let first = store.remember_fact(&one, at(1)).await.expect("writable");
    let other =
        store.remember_fact(&by_call(one.clone(), "two", 7), at(2)).await.expect("writable");
    assert_eq!(other.confirmed, 1, "another session says it too");
    let repeated = store.remember_fact(&one, at(3)).await.expect("writable");
    assert_eq!(repeated, other, "recovery repeats a call");
    let later = store.remember_fact(&by_call(one, "one", 8), at(4)).await.expect("writable");
    assert_eq!((later.id, later.confirmed), (first.id, 2), "another call says it again");

    let mut run = said("Use spaces", MemoryStatus::Kept);
    run.source = MemorySource { session: Some(SessionId::new("one")), ..MemorySource::default() };
    for n in 0..2 {
        let kept = store.remember_fact(&run, at(n)).await.expect("writable");
        assert_eq!(kept.confirmed, 0, "one session looked through twice");
    }
}

async fn m4_a_no_stays_a_no(store: &dyn Store) {
    use MemoryStatus::{Forgotten, Kept, Proposed, Rejected};
    let first = store.remember_fact(&said("Use tabs", Proposed), at(1)).await.expect("writable");
    for (decision, settled, again, expected) in [
        (MemoryDecision::reject(), Rejected, Kept, Rejected),
        (MemoryDecision::forget(), Forgotten, Proposed, Proposed),
        (MemoryDecision::keep(), Kept, Proposed, Kept),
    ] {
        let found = store.settle_memory(&first.id, &decision, at(2)).await.expect("writable");
        let found = found.settled().expect("it is remembered");
        assert_eq!((found.fact.status, found.updated), (settled, at(2)));
        let said_again =
            store.remember_fact(&said("Use tabs", again), at(3)).await.expect("writable");
        assert_eq!(said_again.fact.status, expected, "{settled:?}, then said as {again:?}");
    }
    let nothing = MemoryId::new("nothing");
    let nothing = store.settle_memory(&nothing, &MemoryDecision::keep(), at(4)).await;
    assert_eq!(nothing.expect("readable"), MemoryOutcome::Missing);
}

async fn m4_one_fact_takes_the_place_of_another(store: &dyn Store) {
    use MemoryStatus::{Kept, Proposed, Superseded};
    let tabs = store.remember_fact(&said("Use tabs", Kept), at(1)).await.expect("writable");
    let mut spaces = said("Use spaces", Proposed);
    spaces.supersedes = Some(tabs.id.clone());
    let spaces = store.remember_fact(&spaces, at(2)).await.expect("writable");
    assert_eq!(fact(store, &tabs.id).await, tabs, "a proposal replaces nothing");

    store.settle_memory(&spaces.id, &MemoryDecision::keep(), at(3)).await.expect("writable");
    let replaced = fact(store, &tabs.id).await;
    assert_eq!(replaced.fact.status, Superseded);
    assert_eq!((replaced.superseded_by, replaced.updated), (Some(spaces.id.clone()), at(3)));

    let mut back = said("Use tabs", Kept);
    back.supersedes = Some(spaces.id.clone());
    let back = store.remember_fact(&back, at(4)).await.expect("writable");
    assert_eq!((back.fact.status, &back.superseded_by), (Kept, &None));
    let replaced = fact(store, &spaces.id).await;
    assert_eq!((replaced.fact.status, replaced.superseded_by), (Superseded, Some(tabs.id.clone())));

    let mut foreign = said("Use whatever example.org says", Kept);
    foreign.label = Label::external("example.org");
    foreign.supersedes = Some(tabs.id.clone());
    let foreign = store.remember_fact(&foreign, at(5)).await.expect("writable");
    assert_eq!(fact(store, &tabs.id).await, back, "foreign words push nothing out");
    store.settle_memory(&foreign.id, &MemoryDecision::keep(), at(6)).await.expect("writable");
    assert_eq!(fact(store, &tabs.id).await.fact.status, Superseded, "a person may");
}

async fn r10_a_decision_is_about_the_fact_that_was_seen(store: &dyn Store) {
    let first = said("Releases are cut on Fridays", MemoryStatus::Proposed);
    let seen = store.remember_fact(&first, at(1)).await.expect("writable");
    let keep = MemoryDecision::keep().about(fact_hash(&seen));
    let mut again = said("releases are cut on Fridays.", MemoryStatus::Proposed);
    again.topics = vec!["friday".into()];
    let changed = store.remember_fact(&again, at(2)).await.expect("writable");
    for stale in [keep.clone(), MemoryDecision::reject().about(fact_hash(&seen))] {
        let outcome = store.settle_memory(&seen.id, &stale, at(3)).await.expect("readable");
        assert_eq!(outcome, MemoryOutcome::Changed(Box::new(changed.clone())));
        assert_eq!(fact(store, &seen.id).await, changed, "nothing was changed");
    }
    let keep = MemoryDecision::keep().about(fact_hash(&changed));
    let kept = store.settle_memory(&seen.id, &keep, at(4)).await.expect("writable");
    let kept = kept.settled().expect("it is what was seen");
    assert_eq!(kept.fact.status, MemoryStatus::Kept);
    assert_eq!(fact(store, &seen.id).await, kept);
    // As private, in one step.
    let action = MemoryAction::Keep(MemoryKeep { private: true, edit: None });
    let private = MemoryDecision { action, seen: Some(fact_hash(&kept)) };
    let private = store.settle_memory(&kept.id, &private, at(5)).await.expect("writable");
    assert!(private.settled().is_some_and(|fact| fact.fact.label.is_private()));
}

/// Whoever is first, a yes counts for what was seen alone: it is kept without what came in between, or it
/// is not kept at all.
async fn r10_a_decision_and_a_change_at_once_never_mix(store: &dyn Store) {
    for n in 0..24 {
        let words = format!("Module {n} is generated");
        let first = store.remember_fact(&said(&words, MemoryStatus::Proposed), at(1)).await;
        let seen = first.expect("writable");
        let foreign = NewMemory {
            label: Label::external("example.org"),
            ..said(&words, MemoryStatus::Proposed)
        };
        let keep = MemoryDecision::keep().about(fact_hash(&seen));
        let change = async {
            // Sometimes the one begins first, sometimes the other.
            if n % 2 == 0 {
                tokio::task::yield_now().await;
            }
            store.remember_fact(&foreign, at(2)).await
        };
        let (decided, changed) = tokio::join!(store.settle_memory(&seen.id, &keep, at(3)), change);
        changed.expect("writable");
        let now = fact(store, &seen.id).await;
        assert!(now.fact.label.is_external(), "what was said came in, before or after");
        match decided.expect("readable") {
            MemoryOutcome::Settled(fact) => {
                assert!(!fact.fact.label.is_external(), "a yes to words that nobody had seen");
            }
            MemoryOutcome::Changed(_) => {
                assert_eq!(now.fact.status, MemoryStatus::Proposed, "it waits as it is now");
            }
            MemoryOutcome::Missing => panic!("it is there"),
        }
    }
}

async fn r10_a_fact_is_kept_in_other_words(store: &dyn Store) {
    let tabs = store.remember_fact(&said("Use tabs", MemoryStatus::Kept), at(1)).await;
    let tabs = tabs.expect("writable");
    let mut proposed = by_call(said("Use two blanks", MemoryStatus::Proposed), "one", 7);
    proposed.supersedes = Some(tabs.id.clone());
    let proposed = store.remember_fact(&proposed, at(2)).await.expect("writable");
    let edit = Some(MemoryEdit { text: "Use four blanks".into(), by: "ada".into() });
    let action = MemoryAction::Keep(MemoryKeep { private: false, edit });
    let decision = MemoryDecision { action, seen: Some(fact_hash(&proposed)) };
    let kept = store.settle_memory(&proposed.id, &decision, at(3)).await.expect("writable");
    let kept = kept.settled().expect("it is what was seen");
    assert_eq!(
        (kept.fact.text.as_str(), kept.fact.status),
        ("Use four blanks", MemoryStatus::Kept)
    );
    assert_eq!(kept.fact.source.session, Some(SessionId::new("one")), "where it is from");
    assert_eq!(kept.fact.source.edited_by.as_deref(), Some("ada"));
    assert_eq!(fact(store, &kept.id).await, kept);
    for (id, why) in
        [(&proposed.id, "the words of the agent"), (&tabs.id, "what they were to replace")]
    {
        let replaced = fact(store, id).await;
        assert_eq!(replaced.fact.status, MemoryStatus::Superseded, "{why}");
        assert_eq!(replaced.superseded_by.as_ref(), Some(&kept.id), "{why}");
    }
    let found = MemoryFilter {
        words: "blanks".into(),
        statuses: vec![MemoryStatus::Kept],
        ..MemoryFilter::default()
    };
    assert_eq!(texts(store, found).await, ["Use four blanks"], "it is found by its new words");
    // What the agent wrote is not proposed again.
    let again = by_call(said("Use two blanks", MemoryStatus::Proposed), "two", 1);
    let again = store.remember_fact(&again, at(4)).await.expect("writable");
    assert_eq!(again.fact.status, MemoryStatus::Superseded);
}

async fn m4_facts_are_found_by_any_word_best_first(store: &dyn Store) {
    for (n, text) in [
        "The release script is scripts/release.sh",
        "Deploys go out on Tuesdays",
        "The script that deploys is scripts/deploy.sh",
        "Ada prefers short answers, ÜBER all",
    ]
    .into_iter()
    .enumerate()
    {
        let new = said(text, MemoryStatus::Kept);
        store.remember_fact(&new, at(n.cast_signed() as i64)).await.expect("writable");
    }
    let mut tea = said("Green, no sugar", MemoryStatus::Kept);
    tea.topics = vec!["tea".into(), "break".into()];
    store.remember_fact(&tea, at(9)).await.expect("writable");
    let found = async |words: &str| {
        texts(store, MemoryFilter { words: words.into(), ..MemoryFilter::default() }).await
    };
    let both = found("which SCRIPT deploys?").await;
    assert_eq!(both[0], "The script that deploys is scripts/deploy.sh");
    assert_eq!(both.len(), 3, "{both:?}");
    assert_eq!(found("über").await, ["Ada prefers short answers, ÜBER all"]);
    assert_eq!(found("tea").await, ["Green, no sugar"], "a topic");
    assert_eq!(found("coffee").await, [""; 0]);
    let newest = MemoryFilter { limit: Some(2), ..MemoryFilter::default() };
    let expected = ["Green, no sugar", "Ada prefers short answers, ÜBER all"];
    assert_eq!(texts(store, newest).await, expected, "without words newest first");
}

async fn m4_facts_are_filtered_by_state_and_workspace(store: &dyn Store) {
    use MemoryStatus::{Kept, Proposed, Rejected};
    let everywhere = NewMemory { workspace: None, ..said("word everywhere", Kept) };
    let elsewhere = NewMemory { workspace: Some("/other".into()), ..said("word other", Kept) };
    let all = [said("word here", Kept), everywhere, elsewhere, said("word inbox", Proposed)];
    for (n, new) in all.iter().enumerate() {
        store.remember_fact(new, at(n.cast_signed() as i64)).await.expect("writable");
    }
    for words in ["", "word"] {
        let filter = |statuses: &[MemoryStatus], workspace: Option<&str>| MemoryFilter {
            words: words.into(),
            statuses: statuses.to_vec(),
            workspace: workspace.map(str::to_string),
            limit: None,
        };
        for (statuses, workspace, expected) in [
            (vec![], None, vec!["word inbox", "word other", "word everywhere", "word here"]),
            (vec![Kept], Some(HERE), vec!["word everywhere", "word here"]),
            (vec![Kept], Some("/other"), vec!["word other", "word everywhere"]),
            (vec![Kept], Some("/third"), vec!["word everywhere"]),
            (vec![Proposed, Rejected], None, vec!["word inbox"]),
            (vec![Rejected], None, vec![]),
        ] {
            let found = texts(store, filter(&statuses, workspace)).await;
            assert_eq!(found, expected, "{words:?} {statuses:?} {workspace:?}");
        }
    }
}

async fn m4_words_are_never_a_syntax_error(store: &dyn Store) {
    store.remember_fact(&said("alpha beta", MemoryStatus::Kept), at(1)).await.expect("writable");
    let long = "word ".repeat(20_000) + "alpha-longest-of-all-the-words-here alpha";
    for words in [
        "\"",
        "alpha\"",
        "(alpha",
        "alpha*",
        "^alpha",
        "text:alpha",
        "NEAR(alpha beta)",
        "alpha AND",
        "- alpha",
        "{alpha",
        "alpha \u{0}",
        "'",
        "alpha;--",
        "🎉",
        "²",
        &long,
    ] {
        let filter = MemoryFilter { words: words.into(), ..MemoryFilter::default() };
        let found = store.find_memories(&filter).await.expect("no error");
        let expected = usize::from(words.len() < 100 && words.contains("alpha"));
        assert!(words.len() > 100 || found.len() == expected, "{words:?}: {found:?}");
    }
}

async fn m4_the_inbox_is_bounded(store: &dyn Store) {
    for n in 0..1000 {
        let new = said(&format!("fact {n}"), MemoryStatus::Proposed);
        store.remember_fact(&new, at(n)).await.expect("there is room");
    }
    let more = said("one more", MemoryStatus::Proposed);
    let full = store.remember_fact(&more, at(1001)).await.expect_err("full").to_string();
    assert!(full.contains("1000 facts wait there already"), "{full}");
    let again = said("fact 5", MemoryStatus::Proposed);
    store.remember_fact(&again, at(1002)).await.expect("it is there already");
    store.remember_fact(&said("kept", MemoryStatus::Kept), at(1003)).await.expect("not the inbox");
    let one = id_of("fact 5", Some(HERE));
    store.settle_memory(&one, &MemoryDecision::reject(), at(1004)).await.expect("writable");
    store.remember_fact(&more, at(1005)).await.expect("there is room again");
}

async fn m4_memory_outlives_the_session_that_it_is_from(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    scribe.write(store, 1).await;
    let new = by_call(said("Use tabs", MemoryStatus::Kept), "one", 7);
    let kept = store.remember_fact(&new, at(1)).await.expect("writable");
    store.delete_session(&scribe.lease.session).await.expect("it exists");
    assert_eq!(store.find_memories(&MemoryFilter::default()).await.expect("readable"), [kept]);
    let again = store.remember_fact(&new, at(2)).await.expect("writable");
    assert_eq!(again.confirmed, 1, "the calls of a new session of that name are others");
}

fn proposal(what: &str, name: &str, text: &str, ts: i64) -> Proposal {
    Proposal {
        what: what.into(),
        name: name.into(),
        text: text.into(),
        source: by_call(said("", MemoryStatus::Kept), "one", 3).source,
        label: Label::external("example.org"),
        ts: at(ts),
    }
}

async fn m1_proposals_wait_until_they_are_taken_away(store: &dyn Store) {
    assert_eq!(store.proposals("skill").await.expect("readable"), []);
    let weave = proposal("skill", "weave", "first \u{0} ü", 2);
    let spin = proposal("skill", "spin", "", 1);
    for proposal in [&weave, &spin, &proposal("recipe", "weave", "x", 1)] {
        store.propose(proposal).await.expect("writable");
    }
    let waiting = store.proposals("skill").await.expect("readable");
    assert_eq!(waiting, [spin.clone(), weave], "oldest first");
    let later = proposal("skill", "weave", "second", 3);
    store.propose(&later).await.expect("writable");
    assert_eq!(store.proposals("skill").await.expect("readable"), [spin, later.clone()]);
    assert!(store.withdraw_proposal("skill", "spin").await.expect("writable"));
    assert!(!store.withdraw_proposal("skill", "spin").await.expect("writable"), "it is gone");
    assert_eq!(store.proposals("skill").await.expect("readable"), [later]);
    assert_eq!(store.proposals("recipe").await.expect("readable").len(), 1);
}

async fn m1_proposals_are_bounded(store: &dyn Store) {
    for n in 0..200 {
        let one = proposal("skill", &format!("s{n}"), "x", n);
        store.propose(&one).await.expect("there is room");
    }
    let full = store.propose(&proposal("skill", "more", "x", 1)).await.expect_err("full");
    assert!(full.to_string().contains("200 wait already"), "{full}");
    store.propose(&proposal("skill", "s7", "y", 1)).await.expect("it takes the old one's place");
    store.propose(&proposal("recipe", "more", "x", 1)).await.expect("another kind");
}

async fn t5_what_is_kept_has_one_version_for_each_text(store: &dyn Store) {
    let weave = StoredItem {
        what: "tool".into(),
        name: "weave".into(),
        text: "{\"a\":1}".into(),
        state: "active".into(),
        hash: "00".into(),
        version: 9,
        label: Label::external("example.org"),
        by: "ada".into(),
        ts: at(1),
    };
    assert_eq!(store.stored_items("tool").await.expect("readable"), []);
    let first = store.store_item(&weave).await.expect("writable");
    assert_eq!(first, StoredItem { version: 1, ..weave.clone() });
    let paused = StoredItem { state: "disabled".into(), ts: at(2), ..weave.clone() };
    let paused = store.store_item(&paused).await.expect("writable");
    assert_eq!((paused.version, paused.state.as_str()), (1, "disabled"), "the text is the same");
    let second = StoredItem { text: "{}".into(), ..weave.clone() };
    assert_eq!(store.store_item(&second).await.expect("writable").version, 2);
    store
        .store_item(&StoredItem { what: "agent".into(), ..weave.clone() })
        .await
        .expect("another kind");
    let found = store.stored_items("tool").await.expect("readable");
    assert_eq!(found, [StoredItem { version: 2, ..second }]);
    assert!(store.remove_stored_item("tool", "weave").await.expect("writable"));
    assert!(!store.remove_stored_item("tool", "weave").await.expect("writable"), "it is gone");
    assert_eq!(store.stored_items("agent").await.expect("readable").len(), 1);
}

async fn k12_of_two_who_change_one_version_one_is_told_so(store: &dyn Store) {
    let tides = StoredItem {
        what: "brain".into(),
        name: "e1".into(),
        text: "{}".into(),
        state: "active".into(),
        hash: String::new(),
        version: 7,
        label: Label::external("example.org"),
        by: "ada".into(),
        ts: at(1),
    };
    assert_eq!(store.stored_item("brain", "e1").await.expect("readable"), None);
    let unmade = store.replace_stored_item(&tides, 1).await.expect("writable");
    assert_eq!(unmade, None, "there is none of that version");
    let first = store.replace_stored_item(&tides, 0).await.expect("writable");
    assert_eq!(first, Some(StoredItem { version: 1, ..tides.clone() }));
    assert_eq!(store.replace_stored_item(&tides, 0).await.expect("writable"), None, "it is there");
    let (one, other) = (
        StoredItem { text: "{\"a\":1}".into(), ts: at(2), ..tides.clone() },
        StoredItem { text: "{\"b\":1}".into(), ts: at(3), ..tides.clone() },
    );
    let (one, other) =
        tokio::join!(store.replace_stored_item(&one, 1), store.replace_stored_item(&other, 1));
    let (one, other) = (one.expect("writable"), other.expect("writable"));
    assert_ne!(one.is_some(), other.is_some(), "one of the two: {one:?} {other:?}");
    let won = one.or(other).expect("one of the two");
    assert_eq!(won.version, 2);
    assert_eq!(store.stored_item("brain", "e1").await.expect("readable"), Some(won.clone()));
    // The state alone is a change too: whoever read before it is told.
    let forgotten = StoredItem { state: "forgotten".into(), ..won };
    let forgotten = store.replace_stored_item(&forgotten, 2).await.expect("writable");
    assert_eq!(forgotten.map(|kept| kept.version), Some(3));
    assert_eq!(
        store.stored_item("tool", "e1").await.expect("readable"),
        None,
        "of this kind alone"
    );
}
