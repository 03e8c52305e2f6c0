//! A session that is taken up again reads as it did while somebody looked on.

use serde_json::json;

use super::made::Face;

/// Two calls of one reply: the second ends first, a note stands between, and one is answered only
/// after the run. `looks`: whether what is new is painted after every fact.
fn told(face: &mut Face, looks: bool) {
    let step = |face: &mut Face, fact: &dyn Fn(&mut Face)| {
        fact(face);
        if looks {
            face.shot();
        }
    };
    let facts: [&dyn Fn(&mut Face); 10] = [
        &|face| face.fact("session.opened", &super::made::opened()),
        &|face| face.begin("do both"),
        &|face| face.replied("I do."),
        &|face| face.proposed("c1", "read_file", &json!({"path": "first.rs"})),
        &|face| face.proposed("c2", "read_file", &json!({"path": "second.rs"})),
        &|face| face.started("c1"),
        &|face| face.started("c2"),
        &|face| face.finished("c2", "read_file", "b"),
        &|face| {
            let fields = json!({"turn": "t1", "attempt": 1, "class": "overloaded", "wait_ms": 500,
                "message": "busy"});
            face.fact("model.retried", &fields);
        },
        &|face| face.finished("c1", "read_file", "a"),
    ];
    facts.iter().for_each(|fact| step(face, fact));
    let question = json!({"question": "q1", "call": "c3", "text": "Which?", "options": [],
        "multiple": false});
    step(face, &|face| face.proposed("c3", "ask_followup_question", &json!({})));
    step(face, &|face| face.fact("question.asked", &question));
    step(face, &|face| face.ended("needs_input", None));
    let answer = json!({"question": "q1", "answer": "blue", "by": "ada"});
    step(face, &|face| face.fact("question.answered", &answer));
    step(face, &|face| face.finished("c3", "ask_followup_question", "blue"));
}

/// What was printed below the greeting, without empty lines.
fn printed(face: &mut Face) -> Vec<String> {
    face.shot();
    let lines = face.printed.iter().filter(|line| !line.is_empty());
    lines.skip_while(|line| !line.contains("do both")).cloned().collect()
}

#[test]
fn l2_taken_up_again_calls_stand_in_the_order_in_which_they_ended() {
    let mut live = Face::shut(80, 40);
    live.opened(0);
    told(&mut live, true);
    let mut again = Face::shut(80, 40);
    // The facts that `told` tells, `begin` and all.
    again.opened(18);
    told(&mut again, false);
    assert!(!again.app.fold.is_old(), "all of it is from before: {}", again.app.fold.seq);
    let (live, again) = (printed(&mut live), printed(&mut again));
    assert_eq!(again, live);
    let place = |words: &str| live.iter().position(|line| line.contains(words)).expect("a line");
    assert!(place("second.rs") < place("busy") && place("busy") < place("first.rs"), "{live:?}");
}

#[test]
fn l2_of_a_long_session_the_last_that_was_printed_is_printed() {
    let mut face = Face::shut(80, 40);
    let count = 300;
    face.opened(1 + 4 + count);
    face.fact("session.opened", &super::made::opened());
    face.begin("do both");
    for n in 0..count {
        let text = format!("note {n}");
        let fields = json!({"turn": "t1", "attempt": 1, "class": "overloaded", "wait_ms": 500,
            "message": text});
        face.fact("model.retried", &fields);
    }
    face.shot();
    let notes = face.printed.iter().filter(|line| line.contains("note ")).count();
    assert_eq!(notes, crate::app::fold::OLD_ENTRIES_MAX);
    let left = face.printed.iter().find(|line| line.contains("earlier entr"));
    assert_eq!(left.map(String::as_str), Some("… 101 earlier entries: Ctrl-O shows them"));
    assert!(face.printed.last().is_some_and(|line| line.contains("note 299")));
}
