//! Servers that are broken, or mean harm: an error in words, bounded time and memory, and the next
//! call works.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weir_mcp::{McpHub, ServerState};

use crate::world::*;

async fn one(fake: &Arc<Fake>) -> McpHub {
    approved(&[("a", fake)]).await
}

#[tokio::test(start_paused = true)]
async fn f4_a_server_that_hangs_at_its_start_is_given_up() {
    let fake = Fake::new(Era::Mute);
    let stage = Stage([("a".to_owned(), fake.clone())].into());
    let hub = McpHub::new(vec![spec("a")], Default::default(), options(stage));
    let began = tokio::time::Instant::now();
    let why = hub.fetch_listing("a").await.expect_err("it says nothing");
    assert!(why.contains("said nothing for 10000 ms") && why.contains("last words"), "{why}");
    assert_eq!(began.elapsed().as_secs(), 20, "once in each life of the protocol");
}

#[tokio::test(start_paused = true)]
async fn f4_a_call_that_hangs_is_ended_and_the_server_told() {
    for era in [Era::Old, Era::Modern] {
        let fake = Fake::new(era);
        let hub = one(&fake).await;
        fake.does(Do::Hang);
        let began = tokio::time::Instant::now();
        let why = hub.call_tool("a", "echo", Map::new(), 30_000).await.expect_err("no answer");
        assert!(why.contains("did not answer within 30000 ms"), "{why}");
        assert_eq!(began.elapsed().as_secs(), 30);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(fake.methods().contains(&"notifications/cancelled".to_owned()), "{era:?}");
        assert!(call(&hub, "a", "echo").await.is_ok(), "the server is used again");
        assert_eq!(fake.starts(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn f4_rubbish_on_its_output_is_passed_over() {
    let fake = Fake::new(Era::Old);
    let hub = one(&fake).await;
    let rubbish = b"Listening on stdio\n\xff\xfe\n\n{\"level\":30,\"msg\":\"up\"}\n{oops\n[]\n42\n";
    fake.does(Do::Write(rubbish.to_vec(), Some(said("fine"))));
    assert_eq!(text_of(&call(&hub, "a", "echo").await.expect("rubbish harms nothing")), "fine");
    // A broken message that may have been the answer is not waited for.
    let broken = b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\n".to_vec();
    fake.does(Do::Write(broken, None));
    let began = tokio::time::Instant::now();
    let why = call(&hub, "a", "echo").await.expect_err("it is broken");
    assert!(why.contains("cannot be understood") && began.elapsed().as_secs() < 1, "{why}");
}

#[tokio::test]
async fn f4_an_answer_of_a_gigabyte_fails_and_is_not_held() {
    let fake = Fake::new(Era::Old);
    let hub = one(&fake).await;
    // As much as a test can wait for; the unit test of the wire sends the gigabyte.
    let mut bytes = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\
                      \"text\":\""
        .to_vec();
    bytes.resize(20 << 20, b'x');
    bytes.extend(b"\"}]}}\n");
    fake.does(Do::Write(bytes, None));
    let why = call(&hub, "a", "echo").await.expect_err("it is too long");
    assert!(why.contains("more than 16 MiB"), "{why}");
    assert!(call(&hub, "a", "echo").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn f4_an_answer_that_is_nested_too_deeply_fails_at_once() {
    let fake = Fake::new(Era::Old);
    let hub = one(&fake).await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}{}}}\n",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    fake.does(Do::Write(deep.into_bytes(), None));
    let began = tokio::time::Instant::now();
    let why = call(&hub, "a", "echo").await.expect_err("too deep");
    assert!(why.contains("nested too deeply"), "{why}");
    assert!(began.elapsed().as_secs() < 1);
}

#[tokio::test(start_paused = true)]
async fn f4_invalid_utf8_in_an_answer_is_replaced() {
    let fake = Fake::new(Era::Old);
    let hub = one(&fake).await;
    // The id of the answer is that of the request: the first after greeting and list.
    let mut bytes = Vec::new();
    for id in 0..8 {
        bytes.extend(
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\
             \"text\":\"a"
            )
            .into_bytes(),
        );
        bytes.extend([0xc3, 0x28, 0xff]);
        bytes.extend(b"b\"}]}}\n");
    }
    fake.does(Do::Write(bytes, None));
    let text = text_of(&call(&hub, "a", "echo").await.expect("it is an answer"));
    assert!(text.starts_with('a') && text.ends_with('b') && text.contains('\u{fffd}'), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn f4_a_list_without_end_ends() {
    let fake = Arc::new(Fake { endless: true, ..Fake::of(Era::Old) });
    let hub = one(&fake).await;
    let pages = {
        call(&hub, "a", "echo").await.expect("it answers");
        fake.methods().iter().filter(|method| *method == "tools/list").count()
    };
    assert_eq!(pages, 100);
    assert!(matches!(state(&hub, "a"), ServerState::Ready { tools: 2, .. }));
}

#[tokio::test(start_paused = true)]
async fn f4_ten_thousand_tools_are_cut() {
    let fake = Fake::new(Era::Old);
    let many: Vec<Value> = (0..10_000).map(|n| tool(&format!("t{n}"), "x")).collect();
    *fake.tools.lock().expect("no test panics with it") = many;
    let hub = one(&fake).await;
    assert_eq!(hub.tools().len(), weir_mcp::TOOLS_MAX);
    let notes = report(&hub, "a").listing.expect("it is approved").notes;
    assert!(notes.iter().any(|note| note.contains("9000 tools were left out")), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn z8_schemas_with_cycles_and_references_outside_are_made_harmless() {
    let fake = Fake::new(Era::Old);
    let with = |name: &str, schema: Value| json!({ "name": name, "inputSchema": schema });
    *fake.tools.lock().expect("no test panics with it") = vec![
        with("cycle", json!({ "type": "object", "properties": { "a": { "$ref": "#" } } })),
        with("far", json!({ "$ref": "http://127.0.0.1:9/schema.json" })),
        with(
            "mutual",
            json!({ "$ref": "#/$defs/a", "$defs": {
            "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        ),
    ];
    let hub = one(&fake).await;
    for tool in hub.tools() {
        let spec = tool.spec();
        let schema = spec.input_schema.to_string();
        assert!(!schema.contains("$ref"), "{}: {schema}", spec.name);
        assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
    }
    let notes = report(&hub, "a").listing.expect("it is approved").notes.join("; ");
    assert!(notes.contains("contains itself") && notes.contains("not fetched"), "{notes}");
}

#[tokio::test(start_paused = true)]
async fn f4_a_listing_that_is_none_is_an_error_and_a_broken_tool_is_left_out() {
    let fake = Fake::new(Era::Old);
    *fake.tools.lock().expect("no test panics with it") =
        vec![json!({ "name": 7 }), json!("x"), tool("good", "Good.")];
    let hub = one(&fake).await;
    let names: Vec<String> = hub.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(names, ["mcp__a__good"]);
}
