//! Which texts become passages, and where they are cut.

use serde_json::json;
use weir_core::event::{
    CallProposed, ContextSummarised, MemoryWritten, PlanUpdated, QuestionAnswered, QuestionAsked,
};
use weir_core::governance::Verdict;
use weir_core::governance::label::Label;
use weir_core::ids::{QuestionId, TurnId};
use weir_core::memory::{MemoryKind, MemoryNote, MemoryStatus};
use weir_core::message::MessageBlock;
use weir_core::model::Usage;
use weir_core::tool::{PlanItem, PlanStatus};

use super::*;

fn proposed(tool: &str, input: Value) -> Event {
    let tool = tool.into();
    Event::CallProposed(CallProposed {
        call: CallId(7),
        turn: TurnId(1),
        tool,
        input,
        of: None,
        step: None,
    })
}

fn judged(effects: &Value) -> Event {
    let inspection = json!({
        "known": true, "effects": effects, "class": "read", "summary": "does it",
    });
    Event::CallJudged(CallJudged {
        call: CallId(7),
        verdict: Verdict::Allow,
        gate: None,
        rule: None,
        reason: None,
        gates: Vec::new(),
        carries: None,
        inspection: Arc::new(serde_json::from_value(inspection).expect("an inspection")),
        link_bits: None,
        leases: Vec::new(),
        taken_out: weir_core::governance::plain_content::TakenOut::new(),
        ways: Vec::new(),
    })
}

fn finished(tool: &str, text: &str, more: &Value) -> Event {
    let mut fact = json!({
        "call": "c7", "tool": tool, "ok": true, "summary": "done", "confirmed": false,
        "result": [MessageBlock::text(text)], "bytes": 1, "duration_ms": 1,
    });
    for (name, value) in more.as_object().expect("fields") {
        fact[name] = value.clone();
    }
    Event::CallFinished(serde_json::from_value(fact).expect("a finished call"))
}

fn path(path: &str) -> Value {
    json!({ "path": path, "access": "read", "place": "inside" })
}

/// Fact, call, subject and text.
type Plain = (u64, Option<u32>, String, String);

/// Passages of facts 1, 2, 3, …
fn passages(events: &[Event]) -> (Vec<Plain>, Vec<FullResult>) {
    let mut passages = PassageBuilder::default();
    for (seq, event) in (1..).zip(events) {
        passages.push(seq, event);
    }
    let (texts, fulls) = passages.take_pending();
    assert!(passages.calls.len() <= 1 && passages.texts.is_empty());
    let plain = texts.into_iter();
    let plain = plain.map(|t| (t.seq, t.call.map(|call| call.0), t.subject, t.text)).collect();
    (plain, fulls)
}

#[test]
fn x4_a_call_is_found_by_what_it_was_asked_and_what_it_gave() {
    let (texts, fulls) = passages(&[
        proposed("edit_file", json!({ "new": ["fn a()", "fn b()"], "n": 3 })),
        judged(&json!({ "paths": [path("src/a.rs"), path("src/a.rs")], "hosts": [] })),
        finished("edit_file", "Replaced 1 line.", &json!({ "changed": ["src/a.rs", "src/b.rs"] })),
    ]);
    let subject = "edit_file src/a.rs src/b.rs".to_string();
    assert_eq!(
        texts,
        [
            (1, Some(7), subject.clone(), "fn a()\nfn b()".to_string()),
            (3, Some(7), subject, "Replaced 1 line.".to_string()),
        ]
    );
    assert!(fulls.is_empty());
}

#[test]
fn x4_an_externalised_result_is_found_by_its_full_text() {
    let (texts, fulls) = passages(&[
        proposed("shell", json!({ "command": "cargo test" })),
        judged(&json!({})),
        finished("shell", "reference", &json!({ "full": "abc", "externalized": ".weir/tmp/x" })),
    ]);
    assert_eq!(texts.len(), 1, "the arguments; {texts:?}");
    assert_eq!((fulls.len(), fulls[0].blob.as_str(), fulls[0].seq), (1, "abc", 3));
    assert_eq!(fulls[0].given, "reference");
}

#[test]
fn x4_what_was_recalled_is_not_found_twice() {
    let Event::CallFinished(mut fact) = finished("recall", "blue cloth", &json!({})) else {
        unreachable!("it is made so")
    };
    fact.news = vec![ResultEffect::Recalled { words: "blue".into(), passages: vec![1] }];
    let event = Event::CallFinished(fact);
    let (texts, fulls) = passages(&[proposed("recall", json!({ "words": "blue" })), event]);
    assert!(texts.is_empty() && fulls.is_empty(), "{texts:?}");
}

#[test]
fn x4_questions_plans_summaries_and_memories_are_found() {
    let note = MemoryNote {
        memory: weir_core::ids::MemoryId::new("m"),
        text: "Use tabs".into(),
        kind: MemoryKind::Preference,
        status: MemoryStatus::Kept,
        by: "person".into(),
        label: Label::default(),
    };
    let question = QuestionId::new("q");
    let (texts, _) = passages(&[
        Event::QuestionAsked(QuestionAsked {
            question: question.clone(),
            call: CallId(7),
            text: "Which colour?".into(),
            options: vec!["red".into(), "blue".into()],
            multiple: false,
            server: None,
            field: None,
        }),
        Event::QuestionAnswered(QuestionAnswered {
            question,
            answer: Some("blue".into()),
            by: "ada".into(),
            input: None,
        }),
        Event::PlanUpdated(PlanUpdated {
            items: vec![PlanItem { text: "weave".into(), status: PlanStatus::Pending }],
            call: CallId(7),
            told: None,
        }),
        Event::ContextSummarised(ContextSummarised {
            summary: Some("Goal: weave".into()),
            failed: None,
            memories: Vec::new(),
            usage: Usage::default(),
            cost_usd: None,
        }),
        Event::MemoryWritten(MemoryWritten { note }),
    ]);
    let found: Vec<&str> = texts.iter().map(|(_, _, _, text)| text.as_str()).collect();
    let expected = ["Which colour?\nred\nblue", "blue", "weave", "Goal: weave", "Use tabs"];
    assert_eq!(found, expected);
}

#[test]
fn x4_what_is_a_fact_of_its_own_is_not_found_in_the_arguments_too() {
    let (texts, _) = passages(&[
        proposed("attempt_completion", json!({ "result": "All done" })),
        judged(&json!({ "control": { "do": "complete", "result": "All done" } })),
        finished("attempt_completion", "", &json!({})),
    ]);
    assert_eq!(texts, [(2, Some(7), String::new(), "All done".to_string())]);
}

#[test]
fn x4_a_subject_is_bounded() {
    let many: Vec<Value> = (0..500).map(|n| path(&format!("src/some/file-{n}.rs"))).collect();
    let (texts, _) = passages(&[
        proposed("read_file", json!({})),
        judged(&json!({ "paths": many })),
        finished("read_file", "text", &json!({})),
    ]);
    let subject = &texts[0].2;
    assert!(subject.starts_with("read_file src/some/file-0.rs src/some/file-1.rs"), "{subject}");
    assert!(subject.len() <= SUBJECT_CHARS_MAX, "{}", subject.len());
}

#[test]
fn x4_texts_are_cut_at_good_places_and_nothing_is_lost() {
    let line = |n: usize| format!("line {n} of a text that is long enough to be cut\n");
    let lines: String = (0..1000).map(line).collect();
    let prose: String = (0..1000).map(|n| format!("Sentence {n} says a thing. ")).collect();
    let paragraphs: String = (0..200).map(|n| format!("{}\n\n", line(n).repeat(6))).collect();
    for (text, ends) in [(&lines, "cut\n"), (&prose, ". "), (&paragraphs, "\n\n")] {
        let parts = split_passages(text);
        assert_eq!(parts.concat(), **text);
        for part in &parts[..parts.len() - 1] {
            let chars = part.chars().count();
            assert!((PASSAGE_CHARS - EARLY_CHARS..=PASSAGE_CHARS).contains(&chars), "{chars}");
            assert!(part.ends_with(ends), "{part:?}");
        }
    }
    for text in ["ü".repeat(5000), "🎉".repeat(2001), "\0".repeat(7000), "\n".repeat(4500)] {
        assert_eq!(split_passages(&text).concat(), text);
    }
    let short_then_long = format!("short\n{}", "x".repeat(3000));
    assert_eq!(split_passages(&short_then_long)[0], "short\n");
    assert_eq!(split_passages(""), [""; 0]);
    let much = "é".repeat(TEXT_CHARS_MAX + 77);
    assert_eq!(split_passages(&much).concat().chars().count(), TEXT_CHARS_MAX);
}
