//! Which news of a journal are whose, and what becomes of calls that are given up or never taken.

use serde_json::{Value, json};
use weir_core::event::{ApprovalResolved, CallFinished, CallJudged, CallProposed, Decision};
use weir_core::ids::{RunId, TurnId};
use weir_core::message::CallBlock;
use weir_core::model::{StopReason, Usage};

use super::*;

fn replied(calls: &[(CallNumber, u32)]) -> Arc<Event> {
    let block = |(number, id): &(CallNumber, u32)| {
        MessageBlock::Call(CallBlock {
            call: CallId(*id),
            wire_id: wire_id(*number),
            tool: "read_file".into(),
            input: json!({}),
            broken: None,
            seal: None,
        })
    };
    let content = calls.iter().map(block).collect();
    Arc::new(Event::from(ModelReplied {
        turn: TurnId(1),
        content,
        stop: StopReason::Calls,
        usage: Usage::default(),
        cost_usd: None,
        repaired: Vec::new(),
        estimated: false,
    }))
}

fn finished(id: u32, text: &str) -> Arc<Event> {
    let fields = json!({
        "call": format!("c{id}"), "tool": "read_file", "ok": true, "summary": "",
        "result": [{"type": "text", "text": text}], "confirmed": false, "bytes": 1, "duration_ms": 1
    });
    let fact: CallFinished = serde_json::from_value(fields).expect("the fields of a fact");
    Arc::new(Event::from(fact))
}

fn asked(id: u32, approval: &str) -> Arc<Event> {
    let fields = json!({
        "approval": approval, "call": format!("c{id}"), "tool": "run_shell", "input": {},
        "summary": "Run it", "reason": "mode ask", "binds": "x"
    });
    let fact: ApprovalRequested = serde_json::from_value(fields).expect("the fields of a fact");
    Arc::new(Event::from(fact))
}

/// A step of the program that is call 1.
fn step(call: u32) -> Arc<Event> {
    let fact = CallProposed {
        call: CallId(call),
        turn: TurnId(1),
        tool: "run_shell".into(),
        input: json!({}),
        of: Some(CallId(1)),
        step: Some(1),
    };
    Arc::new(fact.into())
}

fn ended(status: RunStatus) -> RunFinished {
    RunFinished {
        run: RunId(1),
        status,
        text: String::new(),
        output: None,
        usage: Usage::default(),
        cost_usd: Some(0.0),
        iterations: 1,
        tool_calls: 1,
        denials: Vec::new(),
        changed_files: Vec::new(),
        marked_files: Vec::new(),
        pictures: Vec::new(),
        recipe: None,
        error: None,
    }
}

fn board_with(calls: &[CallNumber]) -> CallBoard {
    let mut board = CallBoard::default();
    calls.iter().for_each(|call| board.add_call(*call));
    board.note_said();
    board
}

fn whose(news: &[NewsOfCall]) -> Vec<CallNumber> {
    news.iter().map(|one| one.call).collect()
}

#[test]
fn r2_each_result_goes_to_the_call_that_it_is_of_and_once() {
    let mut board = board_with(&[7, 8]);
    board.take_fact(&replied(&[(8, 1), (7, 2)]));
    assert_eq!(whose(&board.take_fact(&finished(1, "eight"))), [8]);
    assert_eq!(whose(&board.take_fact(&finished(1, "again"))), [0; 0]);
    let told = board.take_fact(&finished(2, "seven"));
    let blocks = vec![MessageBlock::text("seven")];
    assert_eq!(told, [NewsOfCall { call: 7, news: BoardNews::Finished { blocks, ok: true } }]);
    assert!(board.calls.is_empty());
}

#[test]
fn r2_a_question_about_a_step_goes_to_the_call_of_its_program() {
    let mut board = board_with(&[1]);
    board.take_fact(&replied(&[(1, 1)]));
    board.take_fact(&step(2));
    assert_eq!(whose(&board.take_fact(&asked(2, "s-a1"))), [1]);
    // The step's own result is the program's, not the client's.
    assert_eq!(board.take_fact(&finished(2, "step")), []);
    // A no would be for the program's next steps too: the run ends instead.
    assert_eq!(board.give_up(1), GivenUp::EndRun);
}

#[test]
fn r2_a_call_that_is_given_up_is_unqueued_denied_or_ends_the_run_and_nothing_else() {
    let mut board = board_with(&[1, 2]);
    assert_eq!(board.give_up(9), GivenUp::LeftAlone);
    assert_eq!(board.give_up(1), GivenUp::Unqueue);
    board.remove_call(1);
    board.add_call(3);
    board.take_fact(&replied(&[(2, 1), (3, 2)]));
    assert_eq!(whose(&board.take_fact(&asked(1, "s-a1"))), [2]);
    assert_eq!(board.give_up(2), GivenUp::Deny(ApprovalId::new("s-a1".to_owned())));
    let answer = ApprovalResolved {
        approval: ApprovalId::new("s-a1".to_owned()),
        call: CallId(1),
        decision: Decision::Deny,
        by: "x".into(),
        reason: None,
        terms: None,
    };
    assert_eq!(whose(&board.take_fact(&Arc::new(answer.into()))), [2]);
    assert!(!board.is_all_given_up(), "another one goes on");
    assert_eq!(board.give_up(2), GivenUp::LeftAlone);
    assert_eq!(board.give_up(3), GivenUp::EndRun);
}

#[test]
fn r2_a_call_that_was_given_up_before_its_question_is_answered_with_no() {
    let mut board = board_with(&[1, 2]);
    board.take_fact(&replied(&[(1, 1), (2, 2)]));
    assert_eq!(board.give_up(1), GivenUp::LeftAlone, "another one goes on");
    let no = BoardNews::Unwanted(ApprovalId::new("s-a1".to_owned()));
    assert_eq!(board.take_fact(&asked(1, "s-a1")), [NewsOfCall { call: 1, news: no }]);
    // The other one is asked about as ever.
    let told = board.take_fact(&asked(2, "s-a2"));
    assert!(matches!(told[0].news, BoardNews::Asked { .. }), "{told:?}");
}

#[test]
fn r2_what_was_given_up_ends_when_nobody_waits_for_anything_beside_it() {
    let mut board = board_with(&[1, 2]);
    board.take_fact(&replied(&[(1, 1), (2, 2)]));
    assert_eq!(board.give_up(1), GivenUp::LeftAlone);
    assert!(!board.is_all_given_up());
    assert_eq!(whose(&board.take_fact(&finished(2, "done"))), [2]);
    assert!(board.is_all_given_up(), "only the one that was given up is on");
}

#[test]
fn r2_steps_of_a_program_that_was_given_up_beside_others_are_answered_with_no() {
    let mut board = board_with(&[1, 2]);
    board.take_fact(&replied(&[(1, 1), (2, 2)]));
    board.take_fact(&step(3));
    assert_eq!(whose(&board.take_fact(&asked(3, "s-a1"))), [1]);
    assert_eq!(board.give_up(1), GivenUp::Deny(ApprovalId::new("s-a1".to_owned())));
    board.take_fact(&step(4));
    let told = board.take_fact(&asked(4, "s-a2"));
    assert!(matches!(told[0].news, BoardNews::Unwanted(_)), "{told:?}");
}

#[test]
fn r2_a_question_is_for_a_form_only_where_all_of_it_was_judged_ordinary() {
    let mut board = board_with(&[1]);
    board.take_fact(&replied(&[(1, 1)]));
    let judged = |effects: Value, gates: Value| {
        let fields = json!({
            "call": "c1", "verdict": "ask", "gates": gates,
            "inspection": {
                "known": true, "class": "once", "summary": "x", "effects": effects
            }
        });
        let fact: CallJudged = serde_json::from_value(fields).expect("the fields of a fact");
        Arc::new(Event::from(fact))
    };
    let mut is_ordinary = |fact: Option<Arc<Event>>| {
        fact.iter().for_each(|fact| drop(board.take_fact(fact)));
        match board.take_fact(&asked(1, "s-a1")).remove(0).news {
            BoardNews::Asked { is_ordinary, .. } => is_ordinary,
            other => panic!("{other:?}"),
        }
    };
    assert!(!is_ordinary(None), "what was not judged is not known");
    let write = |path: &str, place: &str| json!({"paths": [{"path": path, "access": "write", "place": place}]});
    let asks =
        |exact: bool| json!([{"gate": "rules", "verdict": "ask", "reason": "x", "exact": exact}]);
    assert!(is_ordinary(Some(judged(write("a.txt", "inside"), asks(false)))));
    for (effects, gates) in [
        (write("a.txt", "inside"), asks(true)),
        (write("a.txt", "outside"), asks(false)),
        (write("docs/AGENTS.md", "inside"), asks(false)),
        (
            json!({"hosts": [{"method": "GET", "host": "a.example", "url": "https://a.example/"}]}),
            asks(false),
        ),
        (json!({"unknown": true}), asks(false)),
        (json!({"remembers": ["x"]}), asks(false)),
        (json!({"commands": [{"command": "ls", "cwd": "."}]}), asks(false)),
    ] {
        assert!(!is_ordinary(Some(judged(effects.clone(), gates))), "{effects}");
    }
    let confined = json!({"commands": [{"command": "ls", "cwd": ".", "tier": "namespaces"}]});
    assert!(is_ordinary(Some(judged(confined, asks(false)))));
}

#[test]
fn r2_what_a_run_never_took_waits_for_the_next_and_not_for_ever() {
    let mut board = board_with(&[1]);
    board.add_call(2);
    // Both wait still: the one that came later had no run yet.
    assert_eq!(whose(&board.end_run(&ended(RunStatus::Paused), |_| true)), [1]);
    assert!(board.has_queued());
    board.note_said();
    assert_eq!(whose(&board.end_run(&ended(RunStatus::Completed), |_| true)), [0; 0]);
    board.note_said();
    assert_eq!(whose(&board.end_run(&ended(RunStatus::Completed), |_| true)), [2]);
    // One that was taken and not answered is over with its run.
    let mut board = board_with(&[3]);
    assert_eq!(whose(&board.end_run(&ended(RunStatus::Cancelled), |_| false)), [3]);
}
