//! The journal that is folded: a run of many turns, each with one call and a result of 1 kB. The same facts
//! for the bench and for the example whose instructions are counted.

use std::sync::Arc;

use serde_json::json;
use weir_core::event::Event;
use weir_core::governance::label::Label;
use weir_core::governance::{FilterContext, filter_result};
use weir_core::ids::{CallId, InputId, SessionId, Timestamp, TurnId};
use weir_core::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use weir_core::message::MessageBlock;
use weir_core::model::{ModelInfo, ModelRef, ModelReply, ReplyBlock, ReplyCall, StopReason, Usage};
use weir_core::profile::{Limits, PermissionMode, built_in_profiles};
use weir_core::session::{Session, SessionConfig};
use weir_core::tool::{EffectClass, Effects, Inspection, RawResult, ToolGroup, ToolSpec};

fn config() -> SessionConfig {
    let name = ModelRef { provider: "script".into(), name: "bench".into() };
    let model = ModelInfo { window: 100_000, max_output: 1_000, ..ModelInfo::with_name(name) };
    let look = ToolSpec {
        name: "look".into(),
        description: String::new(),
        group: ToolGroup::Read,
        input_schema: json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe: true,
        poll: true,
        keeps_result: true,
        timeout_ms: None,
    };
    SessionConfig {
        permission: PermissionMode::Full,
        limits: Limits { max_iterations: u32::MAX, ..Limits::default() },
        tools: Arc::new(vec![look]),
        system: "You are a bench.".into(),
        externalize_over: 2_000,
        ..SessionConfig::with_defaults("/w", built_in_profiles().remove(0), model)
    }
}

/// One reply that asks for one call.
fn asks(turn: u32) -> ModelReply {
    ModelReply::Whole {
        blocks: vec![ReplyBlock::Call(ReplyCall {
            wire_id: format!("call_{turn}"),
            tool: "look".into(),
            arguments: format!("{{\"n\":{turn}}}"),
            seal: None,
        })],
        stop: StopReason::Calls,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        repairs: Vec::new(),
    }
}

/// The facts of a run of so many turns.
pub(crate) fn journal(turns: u32) -> Vec<(Timestamp, Event)> {
    let mut session = Session::new(SessionId::new("bench"));
    let mut facts = Vec::new();
    let mut now = Timestamp(1_700_000_000_000_000);
    let mut take = |session: &mut Session, input: SessionInput| {
        now = now.plus_ms(1);
        facts.extend(session.handle(now, input).into_iter().map(|event| (now, event)));
    };
    let open =
        SessionCommand::Open { engine: "bench".into(), config: Arc::new(config()), parent: None };
    take(&mut session, SessionInput::Command(open));
    let content = vec![MessageBlock::text("Look often.")];
    take(
        &mut session,
        SessionInput::Command(
            PersonCommand::from(PersonMessage { content, ..PersonMessage::default() })
                .sent_by("bench"),
        ),
    );
    take(
        &mut session,
        SessionInput::Answer(EffectAnswer::Seen {
            notes: Vec::new(),
            skills: Vec::new(),
            label: Label::default(),
            input: InputId(1),
            recipe: None,
        }),
    );
    let label = Label::default();
    let context = FilterContext::of_plain_result(CallId(1), &label);
    for number in 1..=turns {
        let (turn, call) = (TurnId(number), CallId(number));
        let prepared =
            EffectAnswer::Prepared { turn, bytes: 1_000, prefix_bytes: 900, prefix_expected: 900 };
        take(&mut session, SessionInput::Answer(prepared));
        let reply = asks(number);
        let replied =
            EffectAnswer::Replied { turn, reply, images: Vec::new(), jitter: 0, streamed: 0 };
        take(&mut session, SessionInput::Answer(replied));
        let inspection = Arc::new(Inspection::new(EffectClass::Read, Effects::default(), "Look"));
        take(&mut session, SessionInput::Answer(EffectAnswer::Inspected { call, inspection }));
        let raw = RawResult::ok(format!("{number}{}", "x".repeat(1_000)));
        let clean = filter_result(raw, &context).clean;
        take(
            &mut session,
            SessionInput::Answer(EffectAnswer::Returned { call, clean, notes: Vec::new() }),
        );
    }
    facts
}
