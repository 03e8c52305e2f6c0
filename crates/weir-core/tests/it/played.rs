//! A session that a test plays step by step: it says what the model replied and what was found about a
//! call, and looks at the facts that follow. Not here: whole sessions by chance (`random_sessions`).

use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::event::{ApprovalRequested, CallJudged, Decision, Event};
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, InputId, SessionId, Timestamp, TurnId};
use weir_core::input::{
    ApprovalAnswer, EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput,
};
use weir_core::message::MessageBlock;
use weir_core::model::{ModelInfo, ModelRef, ModelReply, ReplyBlock, ReplyCall, StopReason, Usage};
use weir_core::profile::{Limits, Profile, built_in_profiles};
use weir_core::session::{Session, SessionConfig};
use weir_core::tool::{EffectClass, Effects, Inspection, ToolGroup, ToolSpec};

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

/// Somebody attends, these tools are there, and two calls run at once.
pub(crate) fn config_with(profile: Profile, tools: &[&str]) -> SessionConfig {
    let model = ModelRef { provider: "script".into(), name: "one".into() };
    SessionConfig {
        limits: Limits { parallel_calls: 2, ..Limits::default() },
        tools: Arc::new(tools.iter().map(|name| tool_spec(name)).collect()),
        attended: true,
        ..SessionConfig::with_defaults("/w", profile, ModelInfo::with_name(model))
    }
}

/// The same with the first built-in profile.
pub(crate) fn config(tools: &[&str]) -> SessionConfig {
    config_with(built_in_profiles().remove(0), tools)
}

fn tool_spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        group: ToolGroup::Agent,
        input_schema: json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe: true,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

/// A call that is done once and has these effects.
pub(crate) fn inspection(effects: Effects) -> Inspection {
    Inspection::new(EffectClass::Once, effects, "Do it")
}

/// A session and all its facts.
pub(crate) struct Played {
    pub(crate) session: Session,
    pub(crate) facts: Vec<Event>,
    /// Number of calls so far.
    calls: u32,
}

impl Played {
    /// A person says these words, and what is in the context has this label.
    pub(crate) fn open(config: SessionConfig, words: &str, label: Label) -> Played {
        let session = Session::new(SessionId::new("s"));
        let mut played = Played { session, facts: Vec::new(), calls: 0 };
        let config = Arc::new(config);
        played.command(SessionCommand::Open { engine: "test".into(), config, parent: None });
        let content = vec![MessageBlock::text(words)];
        let message = PersonMessage { content, ..PersonMessage::default() };
        played.command(PersonCommand::from(message).sent_by("person"));
        let (notes, skills, input, recipe) = (Vec::new(), Vec::new(), InputId(1), None);
        played.answer(EffectAnswer::Seen { notes, skills, label, input, recipe });
        played
    }

    /// The model is asked for the turn and answers with these calls.
    pub(crate) fn turn(&mut self, number: u32, calls: &[(&str, Value)]) -> Vec<CallId> {
        let turn = TurnId(number);
        let (bytes, prefix_bytes, prefix_expected) = (9, 0, 0);
        self.answer(EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected });
        let block = |(tool, input): &(&str, Value)| {
            let (wire_id, arguments) = (String::new(), input.to_string());
            ReplyBlock::Call(ReplyCall { wire_id, tool: (*tool).into(), arguments, seal: None })
        };
        let blocks = calls.iter().map(block).collect();
        let reply = ModelReply::Whole {
            blocks,
            stop: StopReason::Calls,
            usage: Usage::default(),
            repairs: Vec::new(),
        };
        self.answer(EffectAnswer::Replied {
            turn,
            reply,
            images: Vec::new(),
            jitter: 0,
            streamed: 0,
        });
        let ids = calls.iter().map(|_| {
            self.calls += 1;
            CallId(self.calls)
        });
        ids.collect()
    }

    pub(crate) fn command(&mut self, command: SessionCommand) {
        let facts = self.session.handle(NOW, SessionInput::Command(command));
        self.facts.extend(facts);
    }

    pub(crate) fn answer(&mut self, answer: EffectAnswer) {
        let facts = self.session.handle(NOW, SessionInput::Answer(answer));
        self.facts.extend(facts);
    }

    pub(crate) fn inspect(&mut self, call: CallId, inspection: Inspection) {
        self.answer(EffectAnswer::Inspected { call, inspection: Arc::new(inspection) });
    }

    /// The person answers the newest question about the call.
    pub(crate) fn decide(&mut self, call: CallId, decision: Decision) {
        let asked = self.asked(call);
        let approval = asked.last().expect("a person is asked").approval.clone();
        let answer = ApprovalAnswer { approval, decision, reason: None, terms: None };
        self.command(PersonCommand::Decide(answer).sent_by("person"));
    }

    /// The questions about a call, the oldest first.
    pub(crate) fn asked(&self, call: CallId) -> Vec<&ApprovalRequested> {
        let asked = self.facts.iter().filter_map(|fact| match fact {
            Event::ApprovalRequested(f) if f.call == call => Some(f),
            _ => None,
        });
        asked.collect()
    }

    pub(crate) fn judged(&self, call: CallId) -> &CallJudged {
        let judged = self.facts.iter().find_map(|fact| match fact {
            Event::CallJudged(f) if f.call == call => Some(f),
            _ => None,
        });
        judged.expect("it was judged")
    }

    pub(crate) fn has_started(&self, call: CallId) -> bool {
        self.facts.iter().any(|fact| matches!(fact, Event::CallStarted(f) if f.call == call))
    }
}
