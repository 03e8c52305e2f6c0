//! Any history in any dialect (V3), and the law that requests extend each other (P2, Q8).

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_core::ids::{BlobId, CallId};
use weir_core::message::{CallBlock, Message, MessageBlock, Role, StoredMedia, VendorSeal};
use weir_core::model::{ModelRequest, Thinking};
use weir_engine::ports::{MediaMap, PreparedRequest};
use weir_providers::dialect::{RequestEncoder, VendorQuirks};

use crate::support::{self, IMAGE, PDF};
use crate::wire::quirks_of;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n\t\u{1f}".to_owned()),
        Just("Error: \"quoted\" \\ \u{0} \u{202e} 🦀".to_owned()),
        "[a-z ]{1,30}",
        ".{1,20}",
    ]
}

fn any_seal() -> impl Strategy<Value = Option<VendorSeal>> {
    let dialects = prop::sample::select(vec![
        "anthropic",
        "openai-chat",
        "ollama",
        "openai-responses",
        "gemini",
        "unheard-of",
    ]);
    let data = prop_oneof![
        Just(
            json!({"vendor": "test", "signature": "c2ln", "id": "rs_1", "encrypted_content": "e"})
        ),
        Just(json!({"vendor": "other", "signature": "c2ln"})),
        Just(json!({"vendor": "test", "redacted": "cmVk", "signature": "c2ln"})),
        Just(json!({"vendor": "test", "model": "claude-other", "signature": "c2ln"})),
    ];
    prop::option::of(
        (dialects, data).prop_map(|(dialect, data)| VendorSeal { dialect: dialect.into(), data }),
    )
}

fn any_media() -> impl Strategy<Value = StoredMedia> {
    prop::sample::select(vec!["image/png", "application/pdf", "image/tiff", "gone"]).prop_map(
        |kind| {
            let media_type = if kind == "gone" { "image/png" } else { kind };
            StoredMedia { blob: BlobId::new(kind), ..support::media(media_type, IMAGE) }
        },
    )
}

fn any_call() -> impl Strategy<Value = CallBlock> {
    let ids = prop::sample::select(vec![
        "", "toolu_1", "call_1", "same", "same", "weir_c1", "ein id!", "äöü",
    ]);
    let ids = prop_oneof![ids.prop_map(str::to_owned), "[a-zA-Z0-9_.:-]{1,90}"];
    let tools = prop::sample::select(vec!["read_file", "mcp.fs/list files", "", "9lives", "gone"]);
    let inputs =
        prop::sample::select(vec![json!({}), json!({"path": "a\"b"}), json!(null), json!([1])]);
    (0u32..12, ids, tools, inputs, any_seal()).prop_map(|(call, wire_id, tool, input, seal)| {
        CallBlock { call: CallId(call), wire_id, tool: tool.into(), input, broken: None, seal }
    })
}

fn any_block() -> impl Strategy<Value = MessageBlock> {
    let simple = prop_oneof![
        4 => (any_text(), any_seal()).prop_map(|(text, seal)| MessageBlock::Text {
            text, citations: vec![json!({"cited_text": "x"})], seal
        }),
        2 => (any_text(), any_seal()).prop_map(|(text, seal)| MessageBlock::Thinking { text, seal }),
        3 => any_call().prop_map(MessageBlock::Call),
        1 => any_media().prop_map(|media| MessageBlock::Image { media }),
        1 => any_media().prop_map(|media| MessageBlock::Document { media }),
    ];
    let simple = simple.boxed();
    let result = (0u32..12, any::<bool>(), prop::collection::vec(simple.clone(), 0..3))
        .prop_map(|(call, ok, blocks)| MessageBlock::Result { call: CallId(call), ok, blocks });
    prop_oneof![3 => simple, 2 => result]
}

fn any_message() -> impl Strategy<Value = Message> {
    (any::<bool>(), prop::collection::vec(any_block(), 0..5)).prop_map(|(user, blocks)| Message {
        role: if user { Role::User } else { Role::Assistant },
        blocks,
    })
}

fn any_thinking() -> impl Strategy<Value = Thinking> {
    prop::sample::select(vec![Thinking::Off, Thinking::High])
}

/// The attachments that an encoder is given: what stands encoded is not read again.
fn media_to_write(encoder: &dyn RequestEncoder, request: &ModelRequest) -> MediaMap {
    fn is_mentioned(blob: &BlobId, blocks: &[MessageBlock]) -> bool {
        blocks.iter().any(|block| match block {
            MessageBlock::Image { media } | MessageBlock::Document { media } => media.blob == *blob,
            MessageBlock::Result { blocks, .. } => is_mentioned(blob, blocks),
            MessageBlock::Text { .. } | MessageBlock::Thinking { .. } | MessageBlock::Call(_) => {
                false
            }
        })
    }
    let written = &request.history[encoder.first_to_write(request)..];
    let is_written =
        |blob: &BlobId| written.iter().any(|message| is_mentioned(blob, &message.blocks));
    support::media_map().into_iter().filter(|(blob, _)| is_written(blob)).collect()
}

fn encode(encoder: &mut dyn RequestEncoder, request: &ModelRequest) -> (PreparedRequest, Value) {
    let media = media_to_write(encoder, request);
    let prepared = encoder.encode(request, &media);
    let body = encoder.last_body();
    assert_eq!(prepared.bytes, body.len() as u64);
    (prepared, serde_json::from_slice(&body).expect("the body is JSON"))
}

fn every_quirk() -> Vec<(&'static str, VendorQuirks)> {
    let mut all: Vec<(&'static str, VendorQuirks)> = weir_providers::DIALECTS
        .iter()
        .map(|dialect| (dialect.name(), quirks_of(dialect.name())))
        .collect();
    let mistral =
        VendorQuirks { short_call_ids: true, vendor: "test".into(), ..VendorQuirks::default() };
    all.push(("openai-chat", mistral));
    all
}

/// Dialect, quirks, abilities beside `thinking`, place in the body, and what stands there by level.
type Level<'a> = (&'a str, &'a VendorQuirks, &'a [&'a str], &'a str, [Value; 4]);

/// Each level as each dialect writes it, from its vendor's documentation; a model that cannot think is
/// told nothing of it.
#[test]
fn v2_each_level_of_thinking_is_asked_for_in_the_words_of_the_dialect() {
    let object =
        VendorQuirks { reasoning_param: Some("object".into()), ..quirks_of("openai-chat") };
    let effort =
        VendorQuirks { reasoning_param: Some("effort".into()), ..quirks_of("openai-chat") };
    let budgets = [json!(null), json!(2048), json!(8192), json!(16_000)];
    let words = [json!(null), json!("low"), json!("medium"), json!("high")];
    let cases: [Level<'_>; 8] = [
        ("anthropic", &quirks_of("anthropic"), &[], "/thinking/budget_tokens", budgets),
        (
            "anthropic",
            &quirks_of("anthropic"),
            &["adaptive"],
            "/output_config/effort",
            words.clone(),
        ),
        ("openai-chat", &effort, &[], "/reasoning_effort", words.clone()),
        ("openai-chat", &object, &[], "/reasoning/effort", words.clone()),
        ("openai-responses", &quirks_of("openai-responses"), &[], "/reasoning/effort", words),
        (
            "gemini",
            &quirks_of("gemini"),
            &[],
            "/generationConfig/thinkingConfig/thinkingBudget",
            [json!(null), json!(2048), json!(8192), json!(8192)],
        ),
        (
            "gemini",
            &quirks_of("gemini"),
            &["thinking_level"],
            "/generationConfig/thinkingConfig/thinkingLevel",
            [json!(null), json!("low"), json!("high"), json!("high")],
        ),
        (
            "ollama",
            &quirks_of("ollama"),
            &[],
            "/think",
            [json!(false), json!(true), json!(true), json!(true)],
        ),
    ];
    for (name, quirks, more, place, expected) in cases {
        let dialect = weir_providers::find_dialect(name).expect("known");
        let asked = |thinking: Thinking, abilities: &[&str]| {
            let mut request =
                support::request(name, vec![Message::user(vec![MessageBlock::text("Hello.")])]);
            request.thinking = thinking;
            let mut model = request.model.as_ref().clone();
            model.abilities = abilities.iter().map(|ability| (*ability).to_owned()).collect();
            request.model = Arc::new(model);
            let (_, body) = encode(&mut *dialect.new_encoder(quirks), &request);
            support::lint(name, &body);
            body.pointer(place).cloned().unwrap_or_default()
        };
        for (thinking, expected) in Thinking::ALL.into_iter().zip(expected) {
            let abilities = [&["tools", "thinking"], more].concat();
            assert_eq!(asked(thinking, &abilities), expected, "{name} {place} {thinking:?}");
            assert_eq!(asked(thinking, &["tools"]), json!(null), "{name} {place} cannot think");
        }
    }
}

/// Ten pictures of a megabyte would be read and made text of in every turn.
#[test]
fn q3_attachments_of_what_stands_encoded_are_not_read_again() {
    for (name, quirks) in every_quirk() {
        let dialect = weir_providers::find_dialect(name).expect("known");
        let mut encoder = dialect.new_encoder(&quirks);
        let messages = ordinary_session(name, 3);
        let step = |count: usize| {
            let whole = support::request(name, Vec::new());
            ModelRequest { history: Arc::new(messages[..count].to_vec()), ..whole }
        };
        assert_eq!(encoder.first_to_write(&step(1)), 0, "{name}");
        assert!(
            !media_to_write(&*encoder, &step(1)).is_empty(),
            "{name}: the first one has a picture"
        );
        encode(&mut *encoder, &step(1));
        encode(&mut *encoder, &step(3));
        assert_eq!(
            encoder.first_to_write(&step(5)),
            2,
            "{name}: the results may get more beside them"
        );
        assert!(media_to_write(&*encoder, &step(5)).is_empty(), "{name}");
        let mut other = step(5);
        other.system = "Other words.".into();
        assert_eq!(encoder.first_to_write(&other), 0, "{name}: all is written anew");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn v3_any_history_is_valid_in_every_dialect(
        history in prop::collection::vec(any_message(), 0..9),
        thinking in any_thinking(),
        tail in prop::option::of(any_text()),
    ) {
        for (name, quirks) in every_quirk() {
            let dialect = weir_providers::find_dialect(name).expect("known");
            let mut request = support::request(name, history.clone());
            request.thinking = thinking;
            request.tail = tail.clone().map(Arc::from);
            let (_, body) = encode(&mut *dialect.new_encoder(&quirks), &request);
            support::lint(name, &body);
        }
    }

    #[test]
    fn q4_a_kept_encoder_gives_the_same_bytes_as_a_new_one(
        history in prop::collection::vec(any_message(), 1..9),
        other in any_message(),
        cut in 0usize..9,
    ) {
        for (name, quirks) in every_quirk() {
            let dialect = weir_providers::find_dialect(name).expect("known");
            let mut kept = dialect.new_encoder(&quirks);
            let whole = support::request(name, history.clone());
            let messages = whole.history.clone();
            let step = |count: usize| ModelRequest {
                history: Arc::new(messages[..count].to_vec()), ..whole.clone()
            };
            // Grown message by message, then rewound to another branch, then grown again.
            for count in 1..=messages.len() {
                support::lint(name, &encode(&mut *kept, &step(count)).1);
            }
            let cut = cut.min(messages.len());
            let mut branch = messages[..cut].to_vec();
            branch.push(Arc::new(other.clone()));
            let branch = ModelRequest { history: Arc::new(branch), ..whole.clone() };
            support::lint(name, &encode(&mut *kept, &branch).1);
            for count in [cut, messages.len()] {
                let strip = |mut body: Value| { strip_markers(&mut body); body };
                let again = strip(encode(&mut *kept, &step(count)).1);
                let fresh = strip(encode(&mut *dialect.new_encoder(&quirks), &step(count)).1);
                prop_assert_eq!(again, fresh, "{}", name);
            }
        }
    }
}

/// Where the markers stand depends on what was sent before; what they mark does not.
fn strip_markers(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(strip_markers);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_markers),
        _ => {}
    }
}

/// A session as the engine makes it: calls, results, notes, steering.
fn ordinary_session(dialect: &str, turns: u32) -> Vec<Arc<Message>> {
    let mut history = vec![Message::user(vec![
        MessageBlock::text("Please read the files."),
        MessageBlock::Image { media: support::media("image/png", IMAGE) },
    ])];
    for turn in 0..turns {
        let seal = VendorSeal {
            dialect: dialect.into(),
            data: json!({"vendor": "test", "signature": "c2ln", "id": "rs", "encrypted_content": "e"}),
        };
        let call = |call: u32| {
            MessageBlock::Call(CallBlock {
                call: CallId(call),
                wire_id: format!("toolu_{call}"),
                tool: "read_file".into(),
                input: json!({"path": format!("{call}.txt")}),
                broken: None,
                seal: None,
            })
        };
        let result = |call: u32| MessageBlock::Result {
            call: CallId(call),
            ok: !call.is_multiple_of(3),
            blocks: vec![MessageBlock::text("content")],
        };
        let (first, second) = (turn * 2 + 1, turn * 2 + 2);
        history.push(Message::assistant(vec![
            MessageBlock::Thinking { text: "Next.".into(), seal: Some(seal) },
            MessageBlock::text("I read on."),
            call(first),
            call(second),
        ]));
        history.push(Message::user(vec![result(first), result(second)]));
        if turn % 4 == 1 {
            history.push(Message::user(vec![MessageBlock::text("It is noon.")]));
        }
        if turn % 5 == 2 {
            history.push(Message::assistant(vec![MessageBlock::text("Done so far.")]));
            history.push(Message::user(vec![
                MessageBlock::Document { media: support::media("application/pdf", PDF) },
                MessageBlock::text("And now this."),
            ]));
        }
    }
    history.into_iter().map(Arc::new).collect()
}

#[test]
fn q8_each_request_of_a_session_extends_the_one_before() {
    for (name, quirks) in every_quirk() {
        let dialect = weir_providers::find_dialect(name).expect("known");
        let mut encoder = dialect.new_encoder(&quirks);
        let messages = ordinary_session(name, 12);
        let base = support::request(name, Vec::new());
        let mut before: Option<Vec<u8>> = None;
        for count in 1..=messages.len() {
            let tail = format!("[ ] {count} tasks");
            let history = Arc::new(messages[..count].to_vec());
            let request = ModelRequest { history, tail: Some(tail.into()), ..base.clone() };
            let (prepared, body) = encode(&mut *encoder, &request);
            support::lint(name, &body);
            assert_eq!(prepared.prefix_bytes, prepared.prefix_expected, "{name} at {count}");
            // The claim, checked on the bytes: all but markers, tail and brackets stands again.
            let plain = without_markers(&encoder.last_body());
            if let Some(before) = before {
                let expected = usize::try_from(prepared.prefix_expected).expect("small");
                assert!(expected * 10 > before.len() * 8, "{name}: too little is claimed");
                assert_eq!(plain[..expected], before[..expected], "{name} at {count}");
            }
            before = Some(plain);
        }
    }
}

fn without_markers(body: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(body).expect("JSON is UTF-8");
    let (head, history) = text.split_once(r#""messages":["#).unwrap_or(("", text));
    let history = history.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let between = if head.is_empty() { "" } else { r#""messages":["# };
    format!("{head}{between}{history}").into_bytes()
}

#[test]
fn p3_a_change_of_what_was_sent_is_reported() {
    for (name, quirks) in every_quirk() {
        let dialect = weir_providers::find_dialect(name).expect("known");
        let messages = ordinary_session(name, 3);
        let base = ModelRequest {
            history: Arc::new(messages.clone()),
            ..support::request(name, Vec::new())
        };
        let kept = |change: &dyn Fn(&mut ModelRequest)| {
            let mut encoder = dialect.new_encoder(&quirks);
            let (first, _) = encode(&mut *encoder, &base);
            assert_eq!((first.prefix_bytes, first.prefix_expected), (0, 0));
            let mut changed = base.clone();
            change(&mut changed);
            encode(&mut *encoder, &changed).0
        };
        let same = kept(&|request| request.tail = None);
        assert_eq!(same.prefix_bytes, same.prefix_expected);
        let system = kept(&|request| request.system = "Other.".into());
        let tools = kept(&|request| request.tools = Arc::new(vec![support::tool("other")]));
        let history = kept(&|request| {
            let mut changed = messages.clone();
            changed[1] = Arc::new(Message::assistant(vec![MessageBlock::text("Other.")]));
            request.history = Arc::new(changed);
        });
        for broken in [&system, &tools, &history] {
            assert!(broken.prefix_bytes < broken.prefix_expected, "{name}: {broken:?}");
        }
        assert!(history.prefix_bytes > tools.prefix_bytes, "{name}");
    }
}

#[test]
fn p3_anthropic_marks_system_tools_and_newest_message_never_the_tail() {
    let dialect = weir_providers::find_dialect("anthropic").expect("known");
    let mut encoder = dialect.new_encoder(&quirks_of("anthropic"));
    let messages = ordinary_session("anthropic", 2);
    for count in 1..=messages.len() {
        let history = Arc::new(messages[..count].to_vec());
        let request = ModelRequest { history, ..support::request("anthropic", Vec::new()) };
        let (_, body) = encode(&mut *encoder, &request);
        assert!(body["system"][0].get("cache_control").is_some());
        assert!(body["tools"][2].get("cache_control").is_some());
        let last = body["messages"].as_array().and_then(|list| list.last()).expect("a message");
        let blocks = last["content"].as_array().expect("blocks");
        let tail = blocks.last().expect("a tail");
        assert_eq!(
            (tail["text"].as_str(), tail.get("cache_control")),
            (Some("[ ] one task"), None)
        );
        let text = body.to_string();
        let marks = text.matches("cache_control").count();
        assert_eq!(marks, if count == 1 { 3 } else { 4 }, "{text}");
    }
}

#[test]
fn v2_what_one_vendor_sealed_never_reaches_another() {
    let thought = |dialect: &str, vendor: &str| {
        Message::assistant(vec![
            MessageBlock::Thinking {
                text: "secret plan".into(),
                seal: Some(VendorSeal {
                    dialect: dialect.into(),
                    data: json!({"vendor": vendor, "signature": "SEALED", "encrypted_content": "SEALED"}),
                }),
            },
            MessageBlock::text("Hello."),
        ])
    };
    for (name, quirks) in every_quirk() {
        let dialect = weir_providers::find_dialect(name).expect("known");
        for (from, vendor) in [("anthropic", "elsewhere"), ("gemini", "elsewhere"), ("x", "test")] {
            let history =
                vec![Message::user(vec![MessageBlock::text("Hi.")]), thought(from, vendor)];
            let request = support::request(name, history);
            let (_, body) = encode(&mut *dialect.new_encoder(&quirks), &request);
            assert!(!body.to_string().contains("SEALED"), "{name} got what {from} sealed");
        }
    }
}

/// Whoever makes the request: a vendor refuses tools for a model that takes none.
#[test]
fn k13_a_model_without_tools_is_sent_none_in_any_dialect() {
    for (name, quirks) in every_quirk() {
        let dialect = weir_providers::find_dialect(name).expect("known");
        let request =
            support::request(name, vec![Message::user(vec![MessageBlock::text("Draw a dot.")])]);
        let mut encoder = dialect.new_encoder(&quirks);
        let (_, with) = encode(&mut *encoder, &request);
        assert!(with["tools"].is_array(), "{name}");
        let mut bare = (*request.model).clone();
        bare.abilities.retain(|ability| ability != "tools");
        let request = ModelRequest { model: Arc::new(bare), ..request };
        let (_, without) = encode(&mut *encoder, &request);
        support::lint(name, &without);
        assert!(without.get("tools").is_none(), "{name}: {without}");
        // What it makes pictures with is the vendor's own, where it has such a thing.
        let (_, drawing) = encode(&mut *encoder, &support::drawing(request.clone()));
        let own = drawing["tools"].as_array().cloned().unwrap_or_default();
        assert!(own.iter().all(|tool| tool["type"] == "image_generation"), "{name}: {drawing}");
        // The next request extends the one before all the same.
        let (again, _) = encode(&mut *encoder, &support::drawing(request));
        assert!(again.prefix_bytes > 0, "{name}");
    }
}

#[test]
fn v3_media_that_cannot_be_sent_becomes_words() {
    for (name, quirks) in every_quirk() {
        let dialect = weir_providers::find_dialect(name).expect("known");
        let request = support::request(
            name,
            vec![Message::user(vec![MessageBlock::Image {
                media: support::media("image/png", IMAGE),
            }])],
        );
        let mut encoder = dialect.new_encoder(&quirks);
        encoder.encode(&request, &MediaMap::new());
        let body = String::from_utf8(encoder.last_body().to_vec()).expect("UTF-8");
        assert!(body.contains("no longer stored"), "{name}: {body}");
        let mut blind = (*request.model).clone();
        blind.abilities.retain(|ability| ability != "images");
        let request = ModelRequest { model: Arc::new(blind), ..request };
        let (_, body) = encode(&mut *encoder, &request);
        assert!(body.to_string().contains("cannot read it"), "{name}: {body}");
    }
}
