//! Passages found again, in every store (X4).

use weir_core::ids::{CallId, SessionId, Timestamp};
use weir_engine::past::recall_passages;
use weir_engine::ports::{IndexedText, RecallQuery, Store};

use crate::contract::every_store;
use crate::support::{NOON, Scribe};

every_store! {
    x4_words_find_passages_with_their_place
    x4_all_words_first_then_any
    x4_passages_are_filtered_by_kind_subject_call_and_time
    x4_without_words_the_newest_come_first
    x4_a_long_passage_is_cut_around_the_hit
    x4_a_passage_may_be_of_an_earlier_fact
    x4_words_are_never_a_syntax_error
    x4_a_long_session_is_searched_and_others_are_not
    d9_what_was_deleted_is_not_recalled
    k6_words_in_another_form_are_recalled_and_what_fits_better_comes_first
}

/// A passage of the next fact.
fn passage(call: Option<u32>, subject: &str, text: &str) -> IndexedText {
    IndexedText { seq: 0, call: call.map(CallId), subject: subject.into(), text: text.into() }
}

/// Writes facts of these kinds, each with its passage.
async fn write(store: &dyn Store, scribe: &mut Scribe, facts: Vec<(&str, IndexedText)>) {
    let mut append = scribe.next(facts.len() as u64);
    let mut last = scribe.last.clone();
    for (record, (kind, text)) in append.records.iter_mut().zip(facts) {
        record.kind = kind.to_string();
        record.hash = record.hash_after(&last);
        last.clone_from(&record.hash);
        append.texts.push(IndexedText { seq: record.seq, ..text });
    }
    store.append(append.clone()).await.expect("fits");
    scribe.wrote(&append);
}

fn query(session: &str, words: &str) -> RecallQuery {
    let session = Some(SessionId::new(session));
    RecallQuery { session, words: words.into(), limit: 9, ..RecallQuery::default() }
}

async fn seqs(store: &dyn Store, query: RecallQuery) -> Vec<u64> {
    let found = store.recall(&query).await.expect("no error");
    found.into_iter().map(|passage| passage.seq).collect()
}

async fn weaving(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let facts = vec![
        ("input.accepted", passage(None, "", "Please weave a blue cloth, ÜBER all")),
        ("call.finished", passage(Some(1), "read_file src/Loom.rs", "fn warp() { weave(blue) }")),
        ("call.finished", passage(Some(2), "shell", "blue blue blue: test result ok")),
        ("model.replied", passage(None, "", "The cloth is woven.")),
    ];
    write(store, &mut scribe, facts).await;
}

async fn x4_words_find_passages_with_their_place(store: &dyn Store) {
    weaving(store).await;
    let found = store.recall(&query("one", "WARP")).await.expect("readable");
    assert_eq!(found.len(), 1);
    let passage = &found[0];
    assert_eq!((passage.session.as_str(), passage.seq), ("one", 2));
    assert_eq!((passage.ts, passage.kind.as_str()), (Timestamp(NOON + 2), "call.finished"));
    assert_eq!(passage.subject, "read_file src/Loom.rs");
    assert_eq!(passage.text, "fn warp() { weave(blue) }");
    assert_eq!(seqs(store, query("one", "über")).await, [1]);
    assert_eq!(seqs(store, query("one", "nothing")).await, [0; 0]);
    assert_eq!(seqs(store, query("two", "warp")).await, [0; 0], "another session");
    let none = RecallQuery { limit: 0, ..query("one", "warp") };
    assert_eq!(seqs(store, none).await, [0; 0]);
}

async fn x4_all_words_first_then_any(store: &dyn Store) {
    weaving(store).await;
    let mut both = seqs(store, query("one", "weave blue")).await;
    both.sort_unstable();
    assert_eq!(both, [1, 2], "the third holds only one of the words");
    let any = seqs(store, query("one", "weave purple")).await;
    assert_eq!(any.len(), 2, "none holds both");
    assert!(!any.contains(&3), "{any:?}");
    let blue = seqs(store, query("one", "blue")).await;
    assert_eq!((blue[0], blue.len()), (3, 3), "three times blue is best");
}

async fn x4_passages_are_filtered_by_kind_subject_call_and_time(store: &dyn Store) {
    weaving(store).await;
    let ts = |n: i64| Some(Timestamp(NOON + n));
    for words in ["", "blue"] {
        let base = query("one", words);
        let kinds = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_string()).collect();
        let subject = |text: &str| Some(text.to_string());
        let finished = || kinds(&["call.finished"]);
        let cases = [
            (RecallQuery { kinds: finished(), ..base.clone() }, vec![2, 3]),
            (RecallQuery { kinds: kinds(&["input.accepted", "x"]), ..base.clone() }, vec![1]),
            (RecallQuery { subject: subject("loom"), ..base.clone() }, vec![2]),
            (RecallQuery { subject: subject("src/"), ..base.clone() }, vec![2]),
            (RecallQuery { subject: subject("SHELL"), ..base.clone() }, vec![3]),
            (RecallQuery { subject: subject("%"), ..base.clone() }, vec![]),
            (RecallQuery { call: Some(CallId(2)), ..base.clone() }, vec![3]),
            (RecallQuery { call: Some(CallId(22)), ..base.clone() }, vec![]),
            (RecallQuery { to: ts(1), ..base.clone() }, vec![1]),
            (RecallQuery { from: ts(2), to: ts(3), ..base.clone() }, vec![2, 3]),
            (RecallQuery { from: ts(2), call: Some(CallId(1)), ..base.clone() }, vec![2]),
            (RecallQuery { from: ts(9), ..base.clone() }, vec![]),
        ];
        for (query, expected) in cases {
            let mut found = seqs(store, query.clone()).await;
            found.sort_unstable();
            assert_eq!(found, expected, "{query:?}");
        }
    }
}

async fn k6_words_in_another_form_are_recalled_and_what_fits_better_comes_first(store: &dyn Store) {
    weaving(store).await;
    let found = |words: &'static str| async move {
        let found = recall_passages(store, query("one", words)).await.expect("readable");
        found.into_iter().map(|passage| passage.seq).collect::<Vec<u64>>()
    };
    // Neither stands in any text as it is asked for.
    assert_eq!(found("weaving").await.len(), 2);
    assert_eq!(found("testing results").await, [3]);
    let first = found("weave blue cloth").await;
    assert_eq!((first.first(), first.len()), (Some(&1), 4), "one word is enough, all are better");
    assert_eq!(found("warp").await, [2], "what has nothing of the question is left out");
    assert_eq!(found("zebra").await, [0; 0]);
    assert_eq!(found("?!").await, [0; 0]);
    assert_eq!(found("").await, [4, 3, 2, 1]);
    let two = RecallQuery { limit: 2, ..query("one", "blue") };
    assert_eq!(recall_passages(store, two).await.expect("readable").len(), 2);
}

async fn x4_without_words_the_newest_come_first(store: &dyn Store) {
    weaving(store).await;
    assert_eq!(seqs(store, query("one", "")).await, [4, 3, 2, 1]);
    let two = RecallQuery { limit: 2, ..query("one", " ") };
    assert_eq!(seqs(store, two).await, [4, 3]);
    assert_eq!(seqs(store, query("one", "?!")).await, [0; 0], "something was looked for");
    let mut other = Scribe::new(store, "two").await;
    write(store, &mut other, vec![("input.accepted", passage(None, "", "blue"))]).await;
    let everywhere = RecallQuery { session: None, ..query("", "blue") };
    assert_eq!(store.recall(&everywhere).await.expect("readable").len(), 4);
    let newest = RecallQuery { session: None, ..query("", "") };
    assert_eq!(store.recall(&newest).await.expect("readable").len(), 5);
}

async fn x4_a_long_passage_is_cut_around_the_hit(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let filler = "nothing to be found in this line\n".repeat(60);
    let text = format!("{filler}the needle lies here\n{filler}");
    write(store, &mut scribe, vec![("call.finished", passage(Some(1), "shell", &text))]).await;
    let found = store.recall(&query("one", "needle")).await.expect("readable");
    let text = &found[0].text;
    assert!(text.contains("the needle lies here"), "{text}");
    assert!((300..=602).contains(&text.chars().count()), "{} characters", text.chars().count());
}

async fn x4_a_passage_may_be_of_an_earlier_fact(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    write(store, &mut scribe, vec![("call.proposed", passage(Some(1), "shell", "one"))]).await;
    let mut append = scribe.next(1);
    append.texts = vec![IndexedText { seq: 1, ..passage(Some(1), "shell", "cargo build") }];
    store.append(append).await.expect("fits");
    let found = store.recall(&query("one", "cargo")).await.expect("readable");
    let place = (found[0].seq, found[0].kind.as_str(), found[0].ts);
    assert_eq!(place, (1, "call.proposed", Timestamp(NOON + 1)));
}

async fn x4_words_are_never_a_syntax_error(store: &dyn Store) {
    weaving(store).await;
    let long = "word ".repeat(20_000);
    for words in [
        "\"",
        "warp\"",
        "(warp",
        "warp*",
        "^warp",
        "text:warp",
        "NEAR(warp)",
        "warp AND",
        "- warp",
        "{warp",
        "warp \u{0}",
        "'",
        "warp;--",
        "🎉",
        "²",
        &long,
    ] {
        let found = seqs(store, query("one", words)).await;
        let expected: &[u64] = if words.contains("warp") { &[2] } else { &[] };
        assert_eq!(found, expected, "{words:?}");
    }
}

/// A few thousand facts, two sessions that take turns.
async fn x4_a_long_session_is_searched_and_others_are_not(store: &dyn Store) {
    let (mut one, mut two) = (Scribe::new(store, "one").await, Scribe::new(store, "two").await);
    for n in 0..30 {
        for scribe in [&mut one, &mut two] {
            let name = scribe.lease.session.to_string();
            let text = |m: usize| format!("{name} common words, number{} of many", n * 100 + m);
            let call = |m: usize| Some(u32::try_from(n * 100 + m).expect("small"));
            let facts = (0..100).map(|m| ("call.finished", passage(call(m), "shell", &text(m))));
            let facts = facts.collect();
            write(store, scribe, facts).await;
        }
    }
    for (words, session, expected) in
        [("number17", "one", 18), ("number2999", "two", 3000), ("number1500 two", "two", 1501)]
    {
        assert_eq!(seqs(store, query(session, words)).await, [expected], "{words}");
    }
    let mut took = std::time::Duration::MAX;
    for _ in 0..5 {
        let started = std::time::Instant::now();
        let common = store.recall(&query("one", "common words")).await.expect("readable");
        // Other work on the machine makes it slower and never faster.
        took = took.min(started.elapsed());
        assert_eq!(common.len(), 9);
        assert!(common.iter().all(|passage| passage.session.as_str() == "one"));
    }
    // Of the database 50 ms are wanted, measured by the bench; this only catches a full scan gone
    // wrong, on any machine and unoptimised.
    assert!(took < std::time::Duration::from_secs(2), "{took:?}");
}

async fn d9_what_was_deleted_is_not_recalled(store: &dyn Store) {
    weaving(store).await;
    assert_eq!(seqs(store, query("one", "warp")).await, [2]);
    store.delete_session(&SessionId::new("one")).await.expect("it exists");
    for words in ["warp", ""] {
        let everywhere = RecallQuery { session: None, ..query("", words) };
        assert_eq!(store.recall(&everywhere).await.expect("readable"), [], "{words:?}");
    }
}
