//! The scripted model in process, through every dialect's real encoder and decoder.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use weir_core::ids::{CallId, SessionId, TurnId};
use weir_core::message::{CallBlock, Message, MessageBlock};
use weir_core::model::{
    FailureClass, ModelReply, ModelRequest, ModelSignal, ReplyBlock, StopReason, Thinking, Usage,
};
use weir_core::tool::ToolSpec;
use weir_engine::ports::{Conversation, MediaMap, Model, SignalSink};
use weir_providers::DIALECTS;
use weir_scripted_model::{
    ModelOptions, SCRIPT_ENDED, Script, ScriptStep, ScriptedModel, SleepFunction,
};

/// A model that plays `text` through the dialect of this name.
pub(crate) fn model(text: &str, dialect: &str) -> ScriptedModel {
    let script = Script::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let options = ModelOptions { dialect: Some(dialect.to_owned()), ..ModelOptions::default() };
    ScriptedModel::new(script, options).unwrap_or_else(|error| panic!("{error}"))
}

/// One session's side of the talk.
pub(crate) struct Session {
    model: Arc<weir_core::model::ModelInfo>,
    talk: Box<dyn Conversation>,
    pub(crate) history: Vec<Arc<Message>>,
    pub(crate) signals: Arc<Mutex<Vec<ModelSignal>>>,
    system: &'static str,
    tools: Vec<ToolSpec>,
    calls: u32,
}

impl Session {
    pub(crate) fn new(model: &ScriptedModel) -> Session {
        Session {
            model: model.info(),
            talk: model.start_conversation(),
            history: Vec::new(),
            signals: Arc::default(),
            system: "You are a weir.",
            tools: Vec::new(),
            calls: 0,
        }
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.history.push(Arc::new(Message::user(vec![MessageBlock::text(text)])));
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            session: SessionId::new("s"),
            turn: TurnId(1),
            model: Arc::clone(&self.model),
            system: self.system.into(),
            tools: Arc::new(self.tools.clone()),
            history: Arc::new(self.history.clone()),
            tail: None,
            thinking: Thinking::Off,
        }
    }

    /// Sends the history and, when the reply is whole, adds it with a result for each call.
    pub(crate) async fn turn(&mut self, result: &str) -> ModelReply {
        let request = self.request();
        self.talk.prepare(&request, &MediaMap::new());
        let signals = Arc::clone(&self.signals);
        let sink = SignalSink::new(move |signal| signals.lock().expect("no panic").push(signal));
        let reply = self.talk.send(&sink).await;
        if let ModelReply::Whole { blocks, .. } = &reply {
            self.add(blocks, result);
        }
        reply
    }

    fn add(&mut self, blocks: &[ReplyBlock], result: &str) {
        let mut said = Vec::new();
        let mut results = Vec::new();
        for block in blocks {
            match block {
                ReplyBlock::Said(block) => said.push(block.clone()),
                ReplyBlock::Call(call) => {
                    self.calls += 1;
                    let id = CallId(self.calls);
                    let wire_id = if call.wire_id.is_empty() {
                        format!("call_{}", self.calls)
                    } else {
                        call.wire_id.clone()
                    };
                    said.push(MessageBlock::Call(CallBlock {
                        call: id,
                        wire_id,
                        tool: call.tool.clone(),
                        input: serde_json::from_str(&call.arguments).unwrap_or(json!({})),
                        broken: None,
                        seal: call.seal.clone(),
                    }));
                    let blocks = vec![MessageBlock::text(result)];
                    results.push(MessageBlock::Result { call: id, ok: true, blocks });
                }
                ReplyBlock::Image { .. } => {}
            }
        }
        self.history.push(Arc::new(Message::assistant(said)));
        if !results.is_empty() {
            self.history.push(Arc::new(Message::user(results)));
        }
    }
}

/// The reply without seals and made ids: what is the same in every dialect.
pub(crate) fn plain(reply: &ModelReply) -> Value {
    match reply {
        ModelReply::Whole { blocks, stop, usage, .. } => {
            let blocks: Vec<Value> = blocks
                .iter()
                .map(|block| match block {
                    ReplyBlock::Said(MessageBlock::Text { text, .. }) => json!({"text": text}),
                    ReplyBlock::Said(MessageBlock::Thinking { text, .. }) => json!({"think": text}),
                    ReplyBlock::Said(other) => json!({"other": other}),
                    ReplyBlock::Call(call) => json!({
                        "call": call.tool,
                        "arguments": serde_json::from_str::<Value>(&call.arguments)
                            .unwrap_or_else(|_| call.arguments.as_str().into()),
                    }),
                    ReplyBlock::Image { media_type, data } => {
                        json!({"image": media_type, "bytes": data.len()})
                    }
                })
                .collect();
            json!({"blocks": blocks, "stop": stop, "usage": usage})
        }
        ModelReply::Failed { class, message, retry_after_ms } => {
            json!({"failed": class, "message": message, "retry_after_ms": retry_after_ms})
        }
    }
}

pub(crate) fn text(reply: &ModelReply) -> String {
    match reply {
        ModelReply::Whole { blocks, .. } => blocks
            .iter()
            .filter_map(|block| match block {
                ReplyBlock::Said(MessageBlock::Text { text, .. }) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        ModelReply::Failed { class, message, .. } => panic!("{class:?}: {message}"),
    }
}

fn failure(reply: &ModelReply) -> (FailureClass, String, Option<u64>) {
    match reply {
        ModelReply::Failed { class, message, retry_after_ms } => {
            (*class, message.clone(), *retry_after_ms)
        }
        ModelReply::Whole { .. } => panic!("a failure was expected: {}", plain(reply)),
    }
}

const WHOLE: &str = "\
think: I should look first.
says: Grüße – \"a\".
calls: read_file {\"path\": \"a\", \"deep\": [1, {\"ü\": null}]}
calls: list_files
usage: input=1200 output=40 cache_read=1000 reasoning=12

expect: result \"the content\"
expect: system \"You are a weir\"
expect-not: text \"nothing like this\"
says: Done.
";

#[tokio::test]
async fn v6_a_reply_is_the_same_through_every_dialect() {
    for dialect in DIALECTS {
        let mut session = Session::new(&model(WHOLE, dialect.name()));
        session.user("Look.");
        let reply = session.turn("the content").await;
        let usage =
            Usage { input: 1200, output: 40, cache_read: 1000, reasoning: 12, cache_write: 0 };
        let usage = match dialect.name() {
            // It has no word for reasoning tokens.
            "anthropic" => Usage { reasoning: 0, ..usage },
            // It counts what went in and what came out, and nothing else.
            "ollama" => Usage { input: 2200, output: 40, ..Usage::default() },
            _ => usage,
        };
        let expected = json!({
            "blocks": [
                {"think": "I should look first."},
                {"text": "Grüße – \"a\"."},
                {"call": "read_file", "arguments": {"path": "a", "deep": [1, {"ü": null}]}},
                {"call": "list_files", "arguments": {}},
            ],
            "stop": StopReason::Calls,
            "usage": usage,
        });
        assert_eq!(plain(&reply), expected, "{}", dialect.name());
        assert_eq!(text(&session.turn("").await), "Done.", "{}", dialect.name());
        session.user("And now?");
        assert_eq!(text(&session.turn("").await), SCRIPT_ENDED, "{}", dialect.name());
        let signals = session.signals.lock().expect("no panic");
        let heard: String = signals
            .iter()
            .filter_map(|signal| match signal {
                ModelSignal::Text(text) => Some(text.as_str()),
                ModelSignal::Thinking(_) | ModelSignal::CallBegun(_) => None,
            })
            .collect();
        assert_eq!(heard, format!("Grüße – \"a\".Done.{SCRIPT_ENDED}"), "{}", dialect.name());
        assert!(signals.contains(&ModelSignal::CallBegun("list_files".to_owned())));
    }
}

#[tokio::test]
async fn v6_errors_come_first_and_have_their_class() {
    use FailureClass::*;
    for dialect in DIALECTS {
        for (error, class, retry_after_ms) in [
            ("529 overloaded", Overloaded, None),
            ("500", Overloaded, None),
            ("429 retry-after=3", RateLimited, Some(3000)),
            ("400", InvalidRequest, None),
            ("401", Auth, None),
            ("403", Auth, None),
            ("404", NotFound, None),
            ("overflow", ContextOverflow, None),
            ("cut", StreamCut, None),
            ("network", Network, None),
        ] {
            let script = format!("error: {error}\nsays: a reply of some length\n");
            let mut session = Session::new(&model(&script, dialect.name()));
            session.user("Go.");
            let what = format!("{} {error}", dialect.name());
            let (found, message, wait) = failure(&session.turn("").await);
            assert_eq!((found, wait), (class, retry_after_ms), "{what}: {message}");
            assert_eq!(text(&session.turn("").await), "a reply of some length", "{what}");
        }
        let mut session = Session::new(&model("error: safety\n", dialect.name()));
        session.user("Go.");
        // One vendor tells a refusal by safety rules from other bad requests only in its sentence.
        let (found, message, _) = failure(&session.turn("").await);
        assert!(matches!(found, Refused | InvalidRequest), "{}: {message}", dialect.name());
        for error in ["garbage", "midstream", "reset"] {
            let script = format!("error: {error}\nsays: a reply of some length\n");
            let mut session = Session::new(&model(&script, dialect.name()));
            session.user("Go.");
            let (found, message, _) = failure(&session.turn("").await);
            assert!(found.is_retryable(), "{} {error}: {found:?} {message}", dialect.name());
            assert_eq!(text(&session.turn("").await), "a reply of some length");
        }
    }
}

#[tokio::test]
async fn v6_an_error_without_a_reply_stays() {
    let mut session = Session::new(&model("error: 429\nerror: 401\n", "anthropic"));
    session.user("Go.");
    let mut classes = Vec::new();
    for _ in 0..4 {
        classes.push(failure(&session.turn("").await).0);
    }
    use FailureClass::{Auth, RateLimited};
    assert_eq!(classes, [RateLimited, Auth, Auth, Auth]);
}

#[tokio::test]
async fn v6_an_unmet_expectation_says_what_was_expected() {
    for dialect in DIALECTS {
        for expect in [
            "expect: text \"apples\"",
            "expect: result \"apples\"",
            "expect: pattern \"app.es\"",
            "expect: system \"apples\"",
            "expect: tool \"apples\"",
            "expect: body \"apples\"",
            "expect: image",
            "expect-not: text \"Go.\"",
        ] {
            let mut session = Session::new(&model(&format!("says: x\n{expect}\n"), dialect.name()));
            session.user("Go.");
            let (class, message, _) = failure(&session.turn("").await);
            let what = format!("{} {expect}: {message}", dialect.name());
            assert_eq!(class, FailureClass::InvalidRequest, "{what}");
            assert!(message.contains("the script (line 2) expects"), "{what}");
        }
    }
}

#[tokio::test]
async fn v6_a_resumed_session_gets_the_same_reply() {
    let model = model("says: one\n\nsays: two\n\nsays: three\n", "openai-responses");
    let mut first = Session::new(&model);
    for expected in ["one", "two"] {
        first.user("Next.");
        assert_eq!(text(&first.turn("").await), expected);
    }
    first.user("Next.");
    let mut resumed = Session::new(&model);
    resumed.history.clone_from(&first.history);
    assert_eq!(text(&resumed.turn("").await), "three");
    assert_eq!(text(&first.turn("").await), "three");
}

#[tokio::test]
async fn v6_loops_and_rules() {
    let script = "\
when: \"^count\"
loop: 3
calls: step {\"i\": {{i}}}

end
says: counted
end

says: plain
";
    for dialect in DIALECTS {
        let mut session = Session::new(&model(script, dialect.name()));
        session.user("hello");
        assert_eq!(text(&session.turn("").await), "plain");
        session.user("count please");
        for round in 1..=3 {
            let reply = session.turn("ok").await;
            let arguments = &plain(&reply)["blocks"][0]["arguments"];
            assert_eq!(*arguments, json!({"i": round}), "{}", dialect.name());
        }
        assert_eq!(text(&session.turn("").await), "counted", "{}", dialect.name());
    }
}

#[tokio::test]
async fn v6_many_calls_and_long_texts() {
    let script = "calls: step {\"n\": {{n}}}\nrepeat: 1000\n\nsays: word \nsays: {{n}} and\nrepeat: 50000\nstop: max_tokens\n";
    for dialect in DIALECTS {
        let mut session = Session::new(&model(script, dialect.name()));
        session.user("Go.");
        let ModelReply::Whole { blocks, stop, .. } = session.turn("ok").await else {
            panic!("{}", dialect.name())
        };
        assert_eq!((blocks.len(), stop), (1_000, StopReason::Calls), "{}", dialect.name());
        let reply = session.turn("").await;
        assert!(text(&reply).ends_with("49999 and50000 and"), "{}", dialect.name());
        assert_eq!(plain(&reply)["stop"], json!(StopReason::MaxTokens), "{}", dialect.name());
    }
}

#[tokio::test]
async fn v6_too_many_calls_are_a_failure_and_not_a_flood() {
    for dialect in DIALECTS {
        let script = "calls: step {\"n\": {{n}}}\nrepeat: 10000000\n";
        let mut session = Session::new(&model(script, dialect.name()));
        session.user("Go.");
        let (class, message, _) = failure(&session.turn("").await);
        assert!(!class.is_retryable(), "{}: {class:?} {message}", dialect.name());
    }
}

#[tokio::test]
async fn v6_broken_arguments_reach_the_session_as_they_are() {
    for dialect in ["anthropic", "openai-chat", "openai-responses"] {
        let script = "raw-arguments: write_file {\"path\": broken\ncall-ids: same\n";
        let mut session = Session::new(&model(script, dialect));
        session.user("Go.");
        let ModelReply::Whole { blocks, .. } = session.turn("").await else { panic!("{dialect}") };
        let [ReplyBlock::Call(call)] = blocks.as_slice() else { panic!("{dialect}: {blocks:?}") };
        assert_eq!(call.arguments, "{\"path\": broken", "{dialect}");
        assert_eq!(call.wire_id, "same", "{dialect}");
    }
}

#[tokio::test]
async fn v6_pictures_come_where_the_vendor_has_them() {
    for dialect in ["gemini", "openai-responses"] {
        let mut session = Session::new(&model("says: Here.\nimage: dot\n", dialect));
        session.user("Draw.");
        let reply = plain(&session.turn("").await);
        assert_eq!(reply["blocks"][1], json!({"image": "image/png", "bytes": 67}), "{dialect}");
    }
}

#[tokio::test]
async fn v6_delays_are_the_sleepers() {
    let slept: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let log = Arc::clone(&slept);
    let sleeper: SleepFunction = Arc::new(move |duration| {
        log.lock().expect("no panic").push(duration);
        Box::pin(std::future::ready(()))
    });
    let script = Script::parse("says: one two three\ndelay: 200ms\npace: 20ms\n").expect("valid");
    let options = ModelOptions { sleeper: Some(sleeper), ..ModelOptions::default() };
    let mut session = Session::new(&ScriptedModel::new(script, options).expect("anthropic"));
    session.user("Go.");
    assert_eq!(text(&session.turn("").await), "one two three");
    let slept = slept.lock().expect("no panic");
    assert_eq!(slept[0], Duration::from_millis(200));
    assert!(slept.len() >= 4, "{slept:?}");
    assert!(slept[1..].iter().all(|pause| *pause == Duration::from_millis(20)));
}

#[test]
fn v6_hang_and_stall_never_answer_until_dropped() {
    for error in ["hang", "stall"] {
        let script = format!("error: {error}\nsays: some words\n");
        let mut session = Session::new(&model(&script, "anthropic"));
        session.user("Go.");
        {
            let mut turn = std::pin::pin!(session.turn(""));
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..100 {
                assert!(matches!(turn.as_mut().poll(&mut cx), Poll::Pending), "{error}");
            }
        }
        let heard = session.signals.lock().expect("no panic").len();
        assert_eq!(heard > 0, error == "stall", "{error}");
    }
}

#[tokio::test]
async fn v6_scripts_can_be_built_without_text() {
    let steps = [
        ScriptStep::with_text("one"),
        ScriptStep::with_call("a", &json!({"x": 1})).and_calls("b", &json!({})),
    ];
    let script = Script::from_steps(steps);
    let mut session =
        Session::new(&ScriptedModel::new(script, ModelOptions::default()).expect("anthropic"));
    session.user("Go.");
    assert_eq!(text(&session.turn("").await), "one");
    session.user("Go on.");
    let blocks = &plain(&session.turn("").await)["blocks"];
    assert_eq!(blocks[0], json!({"call": "a", "arguments": {"x": 1}}));
    assert_eq!(blocks[1], json!({"call": "b", "arguments": {}}));
}

#[test]
fn v6_an_unknown_dialect_is_an_error() {
    let error = ScriptedModel::from_text("dialect: telex\nsays: x\n").err().expect("no telex");
    assert!(error.to_string().contains("dialect `telex` is none of anthropic"), "{error}");
}

#[test]
fn v6_of_a_file_without_an_end_only_so_much_is_read() {
    let error = Script::parse_file(std::path::Path::new("/dev/zero")).expect_err("it is no script");
    assert!(error.to_string().contains("is larger than"), "{error}");
}
