//! What vendors send: events, replies in each dialect, errors; and the schemas of foreign tools,
//! which are sent to them.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::ids::{SessionId, TurnId};
use weir_core::message::{Message, MessageBlock};
use weir_core::model::{
    ModelInfo, ModelRef, ModelReply, ModelRequest, ModelSignal, ReplyBlock, Thinking,
    parse_arguments,
};
use weir_core::tool::ToolSpec;
use weir_engine::ports::MediaMap;
use weir_providers::DIALECTS;
use weir_providers::dialect::{Dialect, VendorQuirks};
use weir_providers::sse::SseDecoder;

use crate::input::{chunks, parts, text};
use crate::seeds;

/// Longest wait that a vendor may wish for: a day.
const RETRY_AFTER_MS_MAX: u64 = 86_400_000;

pub(super) const ERROR_WORDS: &[&str] = &[
    "\x1e",
    "429",
    "400",
    "529",
    "503",
    "{\"error\":",
    "\"message\":\"",
    "\"code\":",
    "\"type\":",
    "\"status\":",
    "\"details\":[",
    "\"retryDelay\":\"1.5s\"",
    "<html>",
    "rate_limit",
    "overloaded",
    "context_length_exceeded",
    "-1",
    "1e308",
    "NaN",
    "inf",
    "Wed, 21 Oct 2026 07:28:00 GMT",
];

pub(super) const SCHEMA_WORDS: &[&str] = &[
    "\x1e",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"type\":\"object\"",
    "\"type\":\"array\"",
    "\"properties\":{",
    "\"items\":",
    "\"$ref\":\"#\"",
    "\"$ref\":\"#/$defs/a\"",
    "\"$defs\":{",
    "\"anyOf\":[",
    "\"oneOf\":[",
    "\"allOf\":[",
    "\"not\":",
    "\"enum\":[]",
    "\"const\":",
    "\"required\":[\"a\"]",
    "\"additionalProperties\":false",
    "\"pattern\":\"^(a+)+$\"",
    "\"format\":\"date-time\"",
    "\"minimum\":1e308",
    "\"a\":",
    "true",
    "false",
    "null",
    "```json\n",
    "```",
];

// ------------------------------------------------------------ events

#[derive(Debug, PartialEq, Eq)]
struct Events {
    data: Vec<Vec<u8>>,
    count: u64,
    stray: String,
}

fn events(pieces: &[&[u8]]) -> Events {
    let mut data = Vec::new();
    let mut decoder = SseDecoder::new();
    let mut on_data = |event: &[u8]| data.push(event.to_vec());
    for piece in pieces {
        decoder.feed(piece, &mut on_data).expect("far below the bound");
    }
    decoder.finish(&mut on_data).expect("far below the bound");
    Events { data, count: decoder.event_count(), stray: decoder.stray_text() }
}

/// Any chunking gives the same events; none holds a line end that ended a line.
pub(super) fn sse(data: &[u8]) {
    let whole = events(&[data]);
    assert_eq!(events(&chunks(data, 9)), whole, "in pieces");
    if data.len() < 2_000 {
        assert_eq!(events(&data.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
    }
    assert_eq!(whole.data.len() as u64, whole.count);
    assert!(whole.data.iter().all(|event| !event.contains(&b'\r')), "a line end is left");
    let taken: usize = whole.data.iter().map(Vec::len).sum();
    assert!(taken <= data.len(), "more came out than went in");
}

pub(super) fn streams() -> Vec<Vec<u8>> {
    seeds::files("crates/weir-providers/tests/wire", ".sse")
}

// ------------------------------------------------------------ replies

#[derive(Debug, PartialEq, Default)]
struct Heard {
    text: String,
    thinking: String,
    begun: Vec<String>,
}

fn quirks_of(dialect: &dyn Dialect) -> VendorQuirks {
    let chat = dialect.name() == "openai-chat";
    VendorQuirks {
        stream_usage: chat,
        reasoning_field: chat.then(|| "reasoning_content".to_owned()),
        replay_reasoning: chat,
        vendor: "test".into(),
        ..VendorQuirks::default()
    }
}

/// What comes out, and how many pieces were needed until nothing could change it any more.
fn decode(dialect: &dyn Dialect, pieces: &[&[u8]], stops: bool) -> (ModelReply, Heard) {
    let mut heard = Heard::default();
    let mut decoder = dialect.new_decoder(&quirks_of(dialect));
    for piece in pieces {
        if stops && decoder.is_over() {
            break;
        }
        decoder.feed(piece, &mut |signal| match signal {
            ModelSignal::Text(more) => heard.text.push_str(&more),
            ModelSignal::Thinking(more) => heard.thinking.push_str(&more),
            ModelSignal::CallBegun(name) => heard.begun.push(name),
        });
    }
    (decoder.finish(), heard)
}

/// Any chunking gives the same reply and signals; a reply that is over is not changed by what
/// follows.
fn reply(name: &str, data: &[u8]) {
    let dialect = weir_providers::find_dialect(name).expect("a dialect of the list");
    let (whole, heard) = decode(dialect, &[data], false);
    let pieces = chunks(data, 60);
    let (pieced, pieced_heard) = decode(dialect, &pieces, false);
    assert_eq!(pieced, whole, "in pieces");
    assert_eq!(pieced_heard, heard, "signals in pieces");
    assert_eq!(decode(dialect, &pieces, true).0, whole, "not read to the end");
    match whole {
        ModelReply::Failed { message, retry_after_ms, .. } => {
            assert!(!message.trim().is_empty(), "a failure without a sentence");
            assert!(retry_after_ms.is_none_or(|ms| ms <= RETRY_AFTER_MS_MAX), "a wait too long");
        }
        ModelReply::Whole { blocks, .. } => {
            for block in blocks {
                if let ReplyBlock::Call(call) = block {
                    drop(parse_arguments(&call.arguments));
                }
            }
        }
    }
}

pub(super) fn anthropic(data: &[u8]) {
    reply("anthropic", data);
}
pub(super) fn openai_responses(data: &[u8]) {
    reply("openai-responses", data);
}
pub(super) fn openai_chat(data: &[u8]) {
    reply("openai-chat", data);
}
pub(super) fn gemini(data: &[u8]) {
    reply("gemini", data);
}

pub(super) fn ollama(data: &[u8]) {
    reply("ollama", data);
}

fn wire(dialect: &str) -> Vec<Vec<u8>> {
    seeds::files(&format!("crates/weir-providers/tests/wire/{dialect}"), ".sse")
}
pub(super) fn anthropic_seeds() -> Vec<Vec<u8>> {
    wire("anthropic")
}
pub(super) fn openai_responses_seeds() -> Vec<Vec<u8>> {
    wire("openai-responses")
}
pub(super) fn openai_chat_seeds() -> Vec<Vec<u8>> {
    wire("openai-chat")
}
pub(super) fn gemini_seeds() -> Vec<Vec<u8>> {
    wire("gemini")
}

pub(super) fn ollama_seeds() -> Vec<Vec<u8>> {
    seeds::files("crates/weir-providers/tests/wire/ollama", ".ndjson")
}

// ------------------------------------------------------------ errors

/// Status, `Retry-After`, body: always a failure with a sentence of bounded length and a bounded
/// wait.
pub(super) fn vendor_error(data: &[u8]) {
    let [status, retry_after, body] = parts::<3>(data);
    let status = text(status).trim().parse::<u16>().unwrap_or(500);
    let retry_after = text(retry_after);
    let retry_after = (!retry_after.is_empty()).then_some(retry_after.as_str());
    for dialect in DIALECTS {
        let ModelReply::Failed { message, retry_after_ms, .. } =
            dialect.classify_failure(status, retry_after, body)
        else {
            panic!("{}: an answer with status {status} became a reply", dialect.name());
        };
        assert!(!message.trim().is_empty(), "a failure without a sentence");
        assert!(message.chars().count() <= 4_000, "a sentence without bound");
        assert!(retry_after_ms.is_none_or(|ms| ms <= RETRY_AFTER_MS_MAX), "a wait too long");
    }
}

pub(super) fn vendor_error_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        "429\x1e1.5\x1e{\"error\":{\"message\":\"slow down\",\"type\":\"rate_limit_error\"}}",
        "400\x1e\x1e{\"error\":{\"message\":\"maximum context length\",\"code\":\"context_length_exceeded\"}}",
        "503\x1e30\x1e<html><body>no</body></html>",
        "429\x1e\x1e[{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":\
         [{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"34s\"}]}}]",
        "401\x1e\x1e",
    ])
}

// ------------------------------------------------------------ schemas

/// A tool with any schema can be sent to every vendor: the body is JSON, and the same request is
/// the same bytes.
pub(super) fn tool_schema(data: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else { return };
    let spec = json!({
        "name": "foreign", "description": "", "group": "mcp", "input_schema": schema,
    });
    let spec: ToolSpec = serde_json::from_value(spec).expect("any schema is a value");
    let request = request(vec![spec]);
    for dialect in DIALECTS {
        let name = dialect.name();
        let mut encoder = dialect.new_encoder(&quirks_of(*dialect));
        encoder.encode(&request, &MediaMap::new());
        let body = encoder.last_body();
        let value: Value =
            serde_json::from_slice(&body).unwrap_or_else(|e| panic!("{name}: no JSON: {e}"));
        assert!(value.is_object(), "{name}: {value}");
        let bound = 1_000_000 + 100 * data.len();
        assert!(body.len() <= bound, "{name}: {} bytes of {}", body.len(), data.len());
        encoder.encode(&request, &MediaMap::new());
        assert_eq!(encoder.last_body(), body, "{name}: encoded again");
    }
}

fn request(tools: Vec<ToolSpec>) -> ModelRequest {
    let model = ModelInfo {
        model: ModelRef { provider: "test".into(), name: "any".into() },
        window: 200_000,
        max_output: 32_000,
        price: None,
        abilities: vec!["tools".to_owned()],
        may_cut: false,
    };
    ModelRequest {
        session: SessionId::new("s1"),
        turn: TurnId(1),
        model: Arc::new(model),
        system: "You are careful.".into(),
        tools: Arc::new(tools),
        history: Arc::new(vec![Arc::new(Message::user(vec![MessageBlock::text("Go on.")]))]),
        tail: None,
        thinking: Thinking::Off,
    }
}

pub(super) fn tool_schema_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::files("examples", ".schema.json");
    let ours = weir_tools::built_in_tools().into_iter();
    seeds.extend(ours.map(|tool| tool.spec().input_schema.to_string().into_bytes()));
    seeds.extend(seeds::texts(&[
        "{\"type\":\"object\",\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/$defs/a\"}]}},\
         \"properties\":{\"a\":{\"$ref\":\"#/$defs/a\"},\"b\":{\"type\":[\"string\",\"null\"]}},\
         \"required\":[\"a\"],\"oneOf\":[{\"required\":[\"b\"]}]}",
    ]));
    seeds
}
