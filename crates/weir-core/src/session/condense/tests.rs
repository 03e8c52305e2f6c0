//! What a person wants kept, and reading what a helper answers.

use crate::event::ContextCondensing;

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
