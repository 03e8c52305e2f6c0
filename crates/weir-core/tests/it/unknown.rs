//! What an unknown outcome holds back, and what settles it, where calls run beside each other (D4).
//! Not here: calls one after the other (`scenarios/recovery`).

use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::event::{ApprovalRequested, Decision, Event};
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, InputId, SessionId, Timestamp, TurnId};
use weir_core::input::{
    ApprovalAnswer, EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput,
};
use weir_core::message::MessageBlock;
use weir_core::model::{ModelInfo, ModelRef, ModelReply, ReplyBlock, ReplyCall, StopReason, Usage};
use weir_core::profile::{Limits, PermissionMode, built_in_profiles};
use weir_core::session::{Session, SessionConfig};
use weir_core::tool::{EffectClass, Effects, Inspection, ToolGroup, ToolSpec};

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

fn config() -> SessionConfig {
    let spec = |name: &str| ToolSpec {
        name: name.into(),
        description: String::new(),
        group: ToolGroup::Agent,
        input_schema: json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe: true,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    };
    let model = ModelRef { provider: "script".into(), name: "one".into() };
    let model = ModelInfo::with_name(model);
    SessionConfig {
        permission: PermissionMode::Full,
        limits: Limits { parallel_calls: 2, ..Limits::default() },
        tools: Arc::new(vec![spec("send"), spec("read")]),
        attended: true,
        ..SessionConfig::with_defaults("/w", built_in_profiles().remove(0), model)
    }
}

/// What is found about a call: `send` changes the world, `read` reads a file that asks.
fn inspection(tool: &str) -> Inspection {
    let mut effects = Effects::default();
    let class = if tool == "send" {
        effects.remembers.push("a word".into());
        EffectClass::Once
    } else {
        EffectClass::Read
    };
    let confirm = (tool == "read").then(|| "It asks in any case.".to_string());
    Inspection {
        known: true,
        nearest: None,
        invalid: None,
        fails: None,
        effects,
        class,
        summary: format!("Use {tool}"),
        diff: None,
        confirm,
        hooks: Vec::new(),
        judged: None,
    }
}

struct Played {
    session: Session,
    facts: Vec<Event>,
}

impl Played {
    /// A session whose model has asked for these calls, all inspected.
    fn after(calls: &[(&str, Value)]) -> Played {
        let mut played = Played { session: Session::new(SessionId::new("s")), facts: Vec::new() };
        let config = Arc::new(config());
        played.command(SessionCommand::Open { engine: "test".into(), config, parent: None });
        let content = vec![MessageBlock::text("Do it.")];
        let message = PersonMessage { content, ..PersonMessage::default() };
        played.command(PersonCommand::from(message).sent_by("person"));
        played.answer(EffectAnswer::Seen {
            notes: Vec::new(),
            skills: Vec::new(),
            label: Label::default(),
            input: InputId(1),
            recipe: None,
        });
        let turn = TurnId(1);
        let (bytes, prefix_bytes, prefix_expected) = (9, 0, 0);
        played.answer(EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected });
        let call = |(tool, input): &(&str, Value)| {
            let (wire_id, arguments) = (String::new(), input.to_string());
            ReplyBlock::Call(ReplyCall { wire_id, tool: (*tool).into(), arguments, seal: None })
        };
        let blocks = calls.iter().map(call).collect();
        let reply = ModelReply::Whole { blocks, stop: StopReason::Calls, usage: Usage::default() };
        played.answer(EffectAnswer::Replied { turn, reply, images: Vec::new(), jitter: 0 });
        for (at, (tool, _)) in calls.iter().enumerate() {
            let call = CallId(u32::try_from(at).expect("few calls") + 1);
            let inspection = Box::new(inspection(tool));
            played.answer(EffectAnswer::Inspected { call, inspection });
        }
        played
    }

    fn command(&mut self, command: SessionCommand) {
        let facts = self.session.handle(NOW, SessionInput::Command(command));
        self.facts.extend(facts);
    }

    fn answer(&mut self, answer: EffectAnswer) {
        let facts = self.session.handle(NOW, SessionInput::Answer(answer));
        self.facts.extend(facts);
    }

    /// The program dies, and what had started is not to be found out.
    fn crash(&mut self, lost: CallId) {
        self.command(SessionCommand::Resume { engine: "test".into() });
        self.answer(EffectAnswer::Lost { call: lost, reason: "it cannot be asked".into() });
    }

    fn started(&self, call: CallId) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Event::CallStarted(f) if f.call == call))
    }

    fn asked(&self, call: CallId) -> Vec<&ApprovalRequested> {
        let asked = self.facts.iter().filter_map(|fact| match fact {
            Event::ApprovalRequested(f) if f.call == call => Some(f),
            _ => None,
        });
        asked.collect()
    }

    fn allow(&mut self, call: CallId) {
        let asked = self.asked(call);
        let approval = asked.last().expect("it asks").approval.clone();
        let decision = Decision::Once;
        let answer = ApprovalAnswer { approval, decision, reason: None, terms: None };
        self.command(PersonCommand::Decide(answer).sent_by("person"));
    }
}

#[test]
fn d4_a_call_that_was_allowed_before_an_outcome_became_unknown_is_asked_about() {
    let sends = [("send", json!({"n": 1})), ("send", json!({"n": 2})), ("send", json!({"n": 3}))];
    let mut played = Played::after(&sends);
    let [first, second, third] = [CallId(1), CallId(2), CallId(3)];
    assert!(played.started(first) && played.started(second), "two run beside each other");
    assert!(!played.started(third), "the third waits for room");
    played.crash(first);
    assert!(!played.started(third), "nobody knows of the first: the third does not just start");
    let asked = played.asked(third);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].unknown, [first], "the question tells of it: {}", asked[0].reason);
    assert!(asked[0].reason.contains("c1 (send {\"n\":1})"), "{}", asked[0].reason);
    played.answer(EffectAnswer::Lost { call: second, reason: "it cannot be asked either".into() });
    played.allow(third);
    assert!(!played.started(third), "of the second it was not told");
    assert_eq!(played.asked(third)[1].unknown, [second]);
    played.allow(third);
    assert!(played.started(third), "now it was told of both");
}

#[test]
fn d4_an_answer_to_a_question_from_before_settles_nothing() {
    let calls = [("send", json!({"n": 1})), ("read", json!({})), ("send", json!({"n": 3}))];
    let mut played = Played::after(&calls);
    let [first, read, third] = [CallId(1), CallId(2), CallId(3)];
    assert!(played.started(first) && played.started(third));
    assert_eq!(played.asked(read).len(), 1);
    played.crash(first);
    played.answer(EffectAnswer::Lost { call: third, reason: "it cannot be asked either".into() });
    played.allow(read);
    assert!(played.started(read), "what only reads needs no word about the others");
    let rules = &config().rules;
    let context = played.session.gate_context(rules).expect("it was opened");
    let open: Vec<CallId> =
        context.unknown.iter().filter(|one| !one.settled).map(|one| one.call).collect();
    assert_eq!(open, [first, third], "and says nothing of them");
}

#[test]
fn d4_a_journal_from_before_questions_told_of_outcomes_is_read_and_settles_nothing() {
    let old = json!({
        "approval": "s-a1", "call": "c3", "tool": "send", "input": {}, "summary": "Use send",
        "reason": "An earlier call was started and nobody knows whether it took effect.",
        "binds": "x",
    });
    let read: ApprovalRequested = serde_json::from_value(old).expect("it is read");
    assert_eq!(read.unknown, [] as [CallId; 0]);
}
