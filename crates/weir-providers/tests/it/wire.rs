//! Wire cases: three files each, see `tests/wire/README.md`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_core::ids::CallId;
use weir_core::message::{CallBlock, Message, MessageBlock};
use weir_core::model::{FailureClass, ModelReply, ModelSignal, ReplyBlock, parse_arguments};
use weir_providers::dialect::{Dialect, VendorQuirks};

use crate::support::{self, IMAGE, PDF};

fn wire_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire")
}

/// Quirks of the vendor that the streams of a dialect stand for.
pub(crate) fn quirks_of(dialect: &str) -> VendorQuirks {
    let chat = dialect == "openai-chat";
    VendorQuirks {
        stream_usage: chat,
        prompt_cache_key: dialect.starts_with("openai"),
        reasoning_field: chat.then(|| "reasoning_content".to_owned()),
        replay_reasoning: chat,
        file_parts: chat,
        modalities: chat,
        vendor: "test".into(),
        ..VendorQuirks::default()
    }
}

fn cases() -> Vec<(&'static dyn Dialect, PathBuf)> {
    let mut cases = Vec::new();
    for dialect in weir_providers::DIALECTS {
        let folder = wire_folder().join(dialect.name());
        let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
            .expect("a folder per dialect")
            .map(|entry| entry.expect("readable").path())
            .collect();
        found.sort();
        assert!(found.len() >= 6, "{} has too few cases", dialect.name());
        cases.extend(found.into_iter().map(|case| (*dialect, case)));
    }
    cases
}

/// The bytes of a case, and what stands between two of its events.
fn stream_of(dialect: &dyn Dialect, case: &Path) -> (String, &'static str) {
    let (name, between) = match dialect.name() {
        "ollama" => ("stream.ndjson", "\n"),
        _ => ("stream.sse", "\n\n"),
    };
    let stream = std::fs::read_to_string(case.join(name)).expect("a stream");
    (stream.replace("\r\n", "\n"), between)
}

fn decode(dialect: &dyn Dialect, chunks: &[&[u8]]) -> (ModelReply, Vec<ModelSignal>) {
    let mut signals = Vec::new();
    let mut decoder = dialect.new_decoder(&quirks_of(dialect.name()));
    for chunk in chunks {
        decoder.feed(chunk, &mut |signal| signals.push(signal));
    }
    (decoder.finish(), signals)
}

fn reply_json(reply: &ModelReply, signals: &[ModelSignal]) -> Value {
    let mut text = String::new();
    let mut thinking = String::new();
    let mut begun = Vec::new();
    for signal in signals {
        match signal {
            ModelSignal::Text(more) => text.push_str(more),
            ModelSignal::Thinking(more) => thinking.push_str(more),
            ModelSignal::CallBegun(name) => begun.push(name.clone()),
        }
    }
    let reply = match reply {
        ModelReply::Whole { blocks, stop, usage, .. } => {
            let mut blocks = json!(blocks);
            for block in blocks.as_array_mut().expect("a list") {
                if let Some(data) = block.pointer_mut("/Image/data") {
                    *data = json!(format!("{} bytes", data.as_array().map_or(0, Vec::len)));
                }
            }
            json!({"whole": {"blocks": blocks, "stop": stop, "usage": usage}})
        }
        ModelReply::Failed { class, message, retry_after_ms } => {
            json!({"failed": {"class": class, "message": message, "retry_after_ms": retry_after_ms}})
        }
    };
    json!({"reply": reply, "signals": {"text": text, "thinking": thinking, "calls": begun}})
}

/// The history in which `reply` goes back to its vendor.
fn history_after(reply: &ModelReply) -> Vec<Message> {
    let mut history = vec![Message::user(vec![
        MessageBlock::text("Look at this."),
        MessageBlock::Image { media: support::media("image/png", IMAGE) },
        MessageBlock::Document { media: support::media("application/pdf", PDF) },
    ])];
    let ModelReply::Whole { blocks, .. } = reply else { return history };
    let mut said = Vec::new();
    let mut results = Vec::new();
    for block in blocks {
        match block {
            ReplyBlock::Said(block) => said.push(block.clone()),
            ReplyBlock::Image { .. } => {
                said.push(MessageBlock::Image { media: support::media("image/png", IMAGE) });
            }
            ReplyBlock::Call(call) => {
                let number = CallId(u32::try_from(results.len()).expect("few") + 1);
                said.push(MessageBlock::Call(CallBlock {
                    call: number,
                    wire_id: call.wire_id.clone(),
                    tool: call.tool.clone(),
                    input: parse_arguments(&call.arguments).expect("JSON"),
                    broken: None,
                    seal: call.seal.clone(),
                }));
                let ok = results.is_empty();
                let mut blocks = vec![MessageBlock::text("what it says")];
                if ok {
                    blocks.push(MessageBlock::Image { media: support::media("image/png", IMAGE) });
                }
                results.push(MessageBlock::Result { call: number, ok, blocks });
            }
        }
    }
    results.push(MessageBlock::text("Go on."));
    history.push(Message::assistant(said));
    history.push(Message::user(results));
    history
}

fn compare(path: &Path, found: &Value) {
    let found = serde_json::to_string_pretty(found).expect("JSON") + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).expect("writable");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, expected, "{} differs; UPDATE=1 writes it anew", path.display());
}

#[test]
fn v3_wire_cases_decode_and_go_back_as_recorded() {
    for (dialect, case) in cases() {
        let (stream, _) = stream_of(dialect, &case);
        let (reply, signals) = decode(dialect, &[stream.as_bytes()]);
        compare(&case.join("reply.json"), &reply_json(&reply, &signals));

        let request = support::request(dialect.name(), history_after(&reply));
        let request = match case.ends_with("image_output") {
            true => support::drawing(request),
            false => request,
        };
        let mut encoder = dialect.new_encoder(&quirks_of(dialect.name()));
        encoder.encode(&request, &support::media_map());
        let body: Value = serde_json::from_slice(&encoder.last_body()).expect("a JSON body");
        support::lint(dialect.name(), &body);
        compare(&case.join("request.json"), &body);
    }
}

#[test]
fn v3_any_chunking_and_noise_gives_the_same_reply() {
    let mut random = support::Random(7);
    for (dialect, case) in cases() {
        let (stream, between) = stream_of(dialect, &case);
        let bytes = stream.as_bytes();
        let expected = decode(dialect, &[bytes]);
        let check = |what: &str, chunks: &[&[u8]]| {
            assert_eq!(decode(dialect, chunks), expected, "{} {what}", case.display());
        };
        check("byte by byte", &bytes.chunks(1).collect::<Vec<_>>());
        for _ in 0..20 {
            let mut rest = bytes;
            let mut chunks = Vec::new();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(random.below(rest.len().min(200)) + 1);
                chunks.push(chunk);
                rest = after;
            }
            check("in random pieces", &chunks);
        }
        check("with CRLF", &[stream.replace('\n', "\r\n").as_bytes()]);
        check("with CR", &[stream.replace('\n', "\r").as_bytes()]);
        let commented = format!("\n{stream}").replace("\ndata:", "\n: keep-alive\ndata:");
        check("with comments", &[commented.as_bytes()]);
        let noise = format!("{between}nonsense\n\u{0}\u{1}: x\nretry: 7{between}");
        let noisy = stream.replace(between, &noise);
        check("with lines that are no events", &[noisy.as_bytes()]);
        // What only the end of the stream completes is no longer shown, but it counts.
        let (reply, _) = decode(dialect, &[stream.trim_end().as_bytes()]);
        assert_eq!(reply, expected.0, "{} without the last blank line", case.display());
    }
}

#[test]
fn v3_a_cut_stream_is_never_a_whole_reply_with_other_calls() {
    for (dialect, case) in cases() {
        let (stream, between) = stream_of(dialect, &case);
        let (whole, _) = decode(dialect, &[stream.as_bytes()]);
        let ends: Vec<usize> =
            stream.match_indices(between).map(|(at, _)| at + between.len()).collect();
        let mut cut_seen = false;
        for end in ends {
            let (reply, _) = decode(dialect, &[&stream.as_bytes()[..end]]);
            match (&reply, &whole) {
                (ModelReply::Failed { class: FailureClass::StreamCut, .. }, _) => cut_seen = true,
                (ModelReply::Whole { blocks, .. }, ModelReply::Whole { blocks: all, .. }) => {
                    assert_eq!(blocks, all, "{} cut at {end}", case.display());
                }
                (failed @ ModelReply::Failed { .. }, all) => assert_eq!(failed, all),
                (ModelReply::Whole { .. }, ModelReply::Failed { .. }) => {
                    panic!("{} cut at {end} is whole", case.display());
                }
            }
        }
        let events = match between {
            "\n" => stream.lines().count(),
            _ => stream.matches("data:").count(),
        };
        assert!(cut_seen || events == 1 || matches!(whole, ModelReply::Failed { .. }), "{case:?}");
        // In the middle of an event too, and nothing at all.
        for end in (0..stream.len() / 2).filter(|end| stream.is_char_boundary(*end)) {
            let (reply, _) = decode(dialect, &[&stream.as_bytes()[..end]]);
            assert!(matches!(reply, ModelReply::Failed { .. }) || events <= 3, "{case:?} at {end}");
        }
    }
}

#[test]
fn z10_what_follows_the_last_word_changes_nothing() {
    let mut seen = 0;
    for (dialect, case) in cases() {
        let stream = stream_of(dialect, &case).0.into_bytes();
        let mut decoder = dialect.new_decoder(&quirks_of(dialect.name()));
        decoder.feed(&stream, &mut |_| ());
        if !decoder.is_over() {
            continue;
        }
        seen += 1;
        let (whole, heard) = decode(dialect, &[&stream]);
        let more: &[u8] = b"data: {\"type\": oops}\n\ndata: \xff\n\ndata: {\"ty";
        let together = [&stream, more].concat();
        assert_eq!(decode(dialect, &[&together]), (whole.clone(), heard.clone()), "{case:?}");
        assert_eq!(decode(dialect, &[&stream, more]), (whole, heard), "{case:?}");
    }
    assert!(seen > 5, "only {seen} streams say that they are over");
}

#[test]
fn z10_numbers_of_tokens_beyond_all_reason_do_not_overflow() {
    let most = u64::MAX;
    let chat = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"stop\"}}],\"usage\":\
         {{\"prompt_tokens\":{most},\"completion_tokens\":{most},\"total_tokens\":{most},\
         \"completion_tokens_details\":{{\"reasoning_tokens\":{most}}}}}}}\n\ndata: [DONE]\n\n"
    );
    let gemini = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"x\"}}]}},\"finishReason\":\
         \"STOP\"}}],\"usageMetadata\":{{\"promptTokenCount\":{most},\"toolUsePromptTokenCount\":{most},\
         \"candidatesTokenCount\":{most},\"thoughtsTokenCount\":{most}}}}}\n\n"
    );
    let ollama = format!(
        "{{\"message\":{{\"content\":\"x\"}},\"done\":true,\"prompt_eval_count\":{most},\"eval_count\":{most}}}\n"
    );
    for (name, stream) in [("openai-chat", chat), ("gemini", gemini), ("ollama", ollama)] {
        let dialect = weir_providers::find_dialect(name).expect("a dialect");
        let (reply, _) = decode(dialect, &[stream.as_bytes()]);
        let ModelReply::Whole { mut usage, .. } = reply else { panic!("{name}: {reply:?}") };
        let again = usage;
        usage.add(&again);
        assert_eq!((usage.output, usage.total_tokens()), (most, most), "{name}");
    }
}

#[test]
fn v3_garbage_fails_with_a_class_and_a_sentence() {
    for dialect in weir_providers::DIALECTS {
        let fails = |bytes: &[u8]| match decode(*dialect, &[bytes]).0 {
            ModelReply::Failed { class, message, .. } => (class, message),
            ModelReply::Whole { .. } => panic!("{} took garbage", dialect.name()),
        };
        assert_eq!(fails(b"data: {\"type\": oops}\n\n").0, FailureClass::StreamCut);
        assert_eq!(fails(b"").0, FailureClass::StreamCut);
        let (class, message) = fails(b"<html><body>Please log in</body></html>\n");
        assert_eq!(class, FailureClass::NotFound);
        assert!(message.contains("Please log in"), "{message}");
        let (class, message) = fails(br#"{"error":{"type":"overloaded_error","message":"busy"}}"#);
        assert_eq!(class, FailureClass::Overloaded, "{message}");
        let deep = format!("data: {}\n\n", "[".repeat(100_000));
        assert_eq!(fails(deep.as_bytes()).0, FailureClass::StreamCut);
        let huge = format!("data: {}", "x".repeat(17 << 20));
        let (class, message) = fails(huge.as_bytes());
        assert_eq!(class, FailureClass::InvalidRequest);
        assert!(message.contains("longer than"), "{message}");
    }
}

/// T4: what a request does not declare is called by way of what it declares, in every dialect.
#[test]
fn t4_a_call_of_an_undeclared_tool_goes_by_way_of_call_tool() {
    let input = json!({ "checkpoint": "c1" });
    let call = CallBlock {
        call: CallId(1),
        wire_id: "call_1".into(),
        tool: "restore_checkpoint".into(),
        input: input.clone(),
        broken: None,
        seal: None,
    };
    let result = MessageBlock::Result {
        call: CallId(1),
        ok: true,
        blocks: vec![MessageBlock::text("restored")],
    };
    let history = vec![
        Message::user(vec![MessageBlock::text("undo it")]),
        Message::assistant(vec![MessageBlock::Call(call)]),
        Message::user(vec![result]),
    ];
    for dialect in weir_providers::DIALECTS {
        for (carrier, restored) in [(true, false), (false, false), (true, true)] {
            let mut request = support::request(dialect.name(), history.clone());
            let tools = std::sync::Arc::make_mut(&mut request.tools);
            tools.extend(carrier.then(|| support::tool("call_tool")));
            tools.extend(restored.then(|| support::tool("restore_checkpoint")));
            let mut encoder = dialect.new_encoder(&quirks_of(dialect.name()));
            encoder.encode(&request, &support::media_map());
            let body: Value = serde_json::from_slice(&encoder.last_body()).expect("JSON");
            support::lint(dialect.name(), &body);
            let mut names = Vec::new();
            calls_in(&body, &mut names);
            let own = ("restore_checkpoint".to_owned(), input.clone());
            let carried = json!({ "tool": "restore_checkpoint", "arguments": input });
            let expected =
                if carrier && !restored { ("call_tool".to_owned(), carried) } else { own };
            assert_eq!(names, [expected], "{} {carrier} {restored}", dialect.name());
        }
    }
}

/// Calls of the history of a body, whatever its dialect.
fn calls_in(value: &Value, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            let input = ["input", "args", "arguments"].iter().find_map(|name| map.get(*name));
            if let (Some(Value::String(name)), Some(input)) = (map.get("name"), input) {
                let parsed = input.as_str().and_then(|text| serde_json::from_str(text).ok());
                out.push((name.clone(), parsed.unwrap_or_else(|| input.clone())));
                return;
            }
            map.values().for_each(|inner| calls_in(inner, out));
        }
        Value::Array(items) => items.iter().for_each(|inner| calls_in(inner, out)),
        _ => {}
    }
}
