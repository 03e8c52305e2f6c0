//! What a person wants kept, reading what a helper answers, and what the passes leave of messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{ContextCondensing, HistoryEntry, MessageOrigin};
use crate::ids::CallId;
use crate::message::{Message, MessageBlock};

use super::passes::{drop_noise, shorten_results};
use super::{KEEP_CHARS_MAX, KeepRequest, read_summary};

#[test]
fn x2_a_summary_is_read_from_its_tags() {
    let answer = "Sure.\n<summary>\nDecisions: use tokio.\n</summary>\n<memories>\n{}\n</memories>";
    assert_eq!(read_summary(answer).as_deref(), Ok("Decisions: use tokio."));
}

#[test]
fn x2_prose_without_tags_is_a_summary_and_nothing_is_none() {
    assert_eq!(read_summary("We decided to use tokio.").as_deref(), Ok("We decided to use tokio."));
    for nothing in ["", "  \n", "<summary></summary>", "<summary>ok</summary>", "<memories>x"] {
        assert!(read_summary(nothing).is_err(), "{nothing:?}");
    }
}

#[test]
fn x2_words_of_a_person_are_bounded_and_nothing_is_none() {
    assert_eq!(KeepRequest::parse("  \n"), Ok(None));
    let words = KeepRequest::parse(" the names of the tables\n").expect("they are short");
    assert_eq!(words.as_ref().map(KeepRequest::as_str), Some("the names of the tables"));
    assert!(KeepRequest::parse(&"ä".repeat(KEEP_CHARS_MAX)).is_ok());
    let why = KeepRequest::parse(&"ä".repeat(KEEP_CHARS_MAX + 1)).expect_err("they are too long");
    assert!(why.contains("2001 characters") && why.contains("2000"), "{why}");
}

#[test]
fn x2_a_journal_from_before_there_were_such_words_is_read() {
    let old = r#"{"reason":"asked","tokens":5,"window":9}"#;
    let fact: ContextCondensing = serde_json::from_str(old).expect("it is read");
    assert_eq!(fact.keep, None);
    assert_eq!(serde_json::to_string(&fact).expect("it is written"), old);
}

fn told(blocks: Vec<MessageBlock>) -> HistoryEntry {
    HistoryEntry { origin: MessageOrigin::Told, message: Arc::new(Message::user(blocks)) }
}

fn replied(blocks: Vec<MessageBlock>) -> HistoryEntry {
    HistoryEntry { origin: MessageOrigin::Model, message: Arc::new(Message::assistant(blocks)) }
}

fn result(call: u32, text: &str) -> MessageBlock {
    MessageBlock::Result { call: CallId(call), ok: true, blocks: vec![MessageBlock::text(text)] }
}

#[test]
fn q10_messages_of_which_all_stays_are_shared_by_the_passes() {
    let said = HistoryEntry {
        origin: MessageOrigin::Person,
        message: Arc::new(Message::user(vec![MessageBlock::text("w".repeat(10_000))])),
    };
    let before = [
        said,
        replied(vec![MessageBlock::text("I look.")]),
        told(vec![result(1, "short")]),
        told(vec![result(2, "short"), result(3, &"long ".repeat(1_000))]),
    ];
    let mut after = before.clone();
    shorten_results(&mut after, false);
    let after = drop_noise(&after, &BTreeMap::new());
    let shared: Vec<bool> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| Arc::ptr_eq(&before.message, &after.message))
        .collect();
    assert_eq!(shared, [true, true, true, false]);
    let MessageBlock::Result { call, ok, blocks } = &after[3].message.blocks[1] else {
        panic!("a result stays one: {:?}", after[3])
    };
    let quote = "long ".repeat(32);
    let short =
        format!("{quote}\n[Result of c3, 5000 characters (shortened; `recall` finds the rest)]");
    assert_eq!((call, ok, blocks), (&CallId(3), &true, &vec![MessageBlock::text(short)]));
}

#[test]
fn x2_of_what_is_told_twice_the_newest_stays() {
    let (long, rule) = ("the same words ".repeat(10), "a rule that holds");
    let thought = MessageBlock::Thinking { text: "hm".into(), seal: None };
    let before = [
        told(vec![MessageBlock::text(rule), MessageBlock::text("a rule that held")]),
        replied(vec![thought.clone(), MessageBlock::text("I look.")]),
        replied(vec![thought]),
        told(vec![result(1, &long), MessageBlock::text(rule)]),
        told(vec![result(2, &long), result(3, &long)]),
    ];
    let current = BTreeMap::from([("rules".to_owned(), rule.to_owned())]);
    let same = |call: u32| result(call, &format!("[Result of c{call}: the same as a later one]"));
    let expected = [
        replied(vec![MessageBlock::text("I look.")]),
        told(vec![same(1), MessageBlock::text(rule)]),
        // Of one message the first is taken: they came together.
        told(vec![result(2, &long), same(3)]),
    ];
    assert_eq!(drop_noise(&before, &current), expected);
}
