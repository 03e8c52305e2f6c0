//! Both lives of the protocol, and how servers start, end and come back.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use weir_mcp::{McpHub, ServerState};

use crate::world::*;

#[tokio::test(start_paused = true)]
async fn f4_each_life_of_the_protocol_is_spoken() {
    for (era, protocol) in
        [(Era::Modern, "2026-07-28"), (Era::Old, "2025-11-25"), (Era::OldAndSilent, "2025-11-25")]
    {
        let fake = Fake::new(era);
        let hub = approved(&[("a", &fake)]).await;
        let result = call(&hub, "a", "echo").await.expect("it answers");
        assert_eq!(text_of(&result), "{\"text\":\"hello\"}", "{era:?}");
        match state(&hub, "a") {
            ServerState::Ready { tools: 2, protocol: spoken, .. } => {
                assert_eq!(spoken, protocol, "{era:?}");
            }
            other => panic!("{era:?}: {other:?}"),
        }
        // What it spoke when it was approved is how it is greeted.
        let greeting = fake.methods().remove(0);
        let expected = if era == Era::Modern { "server/discover" } else { "initialize" };
        assert_eq!(greeting, expected, "{era:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn f4_no_server_starts_before_it_is_needed() {
    let (one, other) = (Fake::new(Era::Old), Fake::new(Era::Old));
    let hub = approved(&[("one", &one), ("other", &other)]).await;
    let names: Vec<String> = hub.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(
        names,
        ["mcp__one__echo", "mcp__one__list_all", "mcp__other__echo", "mcp__other__list_all"]
    );
    assert_eq!(state(&hub, "one"), ServerState::NotStarted);
    assert_eq!((one.starts(), other.starts()), (0, 0));
    call(&hub, "one", "echo").await.expect("it answers");
    assert_eq!((one.starts(), other.starts()), (1, 0));
    call(&hub, "one", "echo").await.expect("it answers");
    assert_eq!(one.starts(), 1, "it stays");
}

#[tokio::test(start_paused = true)]
async fn f4_servers_start_in_parallel_and_one_that_fails_harms_no_other() {
    let (good, mute) = (Fake::new(Era::Old), Fake::new(Era::Old));
    let bad = Fake::new(Era::Old);
    let hub = approved(&[("bad", &bad), ("good", &good), ("mute", &mute)]).await;
    bad.refusals.store(100, std::sync::atomic::Ordering::SeqCst);
    // The last one stops listing: its first page never comes.
    let began = tokio::time::Instant::now();
    let reports = hub.connect_all().await;
    assert!(began.elapsed().as_secs() < 15, "{:?}", began.elapsed());
    let of = |name: &str| reports.iter().find(|r| r.name == name).map(|r| r.state.clone());
    assert!(matches!(of("good"), Some(ServerState::Ready { .. })));
    assert!(matches!(of("mute"), Some(ServerState::Ready { .. })));
    match of("bad") {
        Some(ServerState::Failed { why }) => assert!(why.contains("today"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(call(&hub, "good", "echo").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn f4_calls_at_once_start_a_server_once() {
    let fake = Fake::new(Era::Modern);
    let hub = approved(&[("a", &fake)]).await;
    let calls = (0..8).map(|_| call(&hub, "a", "echo"));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(fake.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn f4_a_server_that_dies_in_a_call_is_not_asked_twice_and_comes_back() {
    let fake = Fake::new(Era::Old);
    let hub = approved(&[("a", &fake)]).await;
    fake.does(Do::Die);
    let why = call(&hub, "a", "echo").await.expect_err("it died");
    assert!(why.contains("ended in the middle") && why.contains("not tried again"), "{why}");
    assert!(why.contains("last words"), "what it wrote is told: {why}");
    let calls = fake.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!(calls, 1);
    assert!(matches!(state(&hub, "a"), ServerState::Failed { .. }));
    assert!(call(&hub, "a", "echo").await.is_ok(), "the next call starts it again");
    assert_eq!(fake.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn f4_a_server_that_keeps_failing_is_tried_later_and_later() {
    let fake = Fake::new(Era::Old);
    let hub = approved(&[("a", &fake)]).await;
    fake.refusals.store(1_000, std::sync::atomic::Ordering::SeqCst);
    let mut refused_at_once = false;
    for _ in 0..12 {
        let why = call(&hub, "a", "echo").await.expect_err("it cannot start");
        refused_at_once |= why.contains("it is tried again in");
    }
    assert!(refused_at_once);
    assert!(fake.starts() < 8, "{} starts", fake.starts());
    fake.refusals.store(0, std::sync::atomic::Ordering::SeqCst);
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    assert!(call(&hub, "a", "echo").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn f4_a_restart_and_an_end_are_what_they_say() {
    let fake = Fake::new(Era::Old);
    let hub = approved(&[("a", &fake)]).await;
    call(&hub, "a", "echo").await.expect("it answers");
    hub.restart_server("a").await.expect("it starts again");
    assert_eq!(fake.starts(), 2);
    hub.close().await;
    assert_eq!(state(&hub, "a"), ServerState::NotStarted);
    assert!(hub.restart_server("none").await.is_err_and(|why| why.contains("there are: a")));
}

#[tokio::test(start_paused = true)]
async fn f4_progress_extends_a_call_up_to_its_limit() {
    let fake = Fake::new(Era::Modern);
    let hub = approved_with(&[("a", &fake)], |_, spec| spec.timeouts.call_ms = Some(1_000)).await;
    let call = || hub.call_tool("a", "echo", Map::new(), 10_000);
    fake.does(Do::Progress(8, 900, said("done")));
    assert_eq!(text_of(&call().await.expect("it went on all the time")), "done");
    fake.does(Do::Hang);
    let why = call().await.expect_err("it said nothing");
    assert!(why.contains("within 1000 ms"), "{why}");
    fake.does(Do::Progress(20, 900, said("done")));
    let why = call().await.expect_err("it went on for too long");
    assert!(why.contains("within 10000 ms"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn f4_what_is_listed_can_be_looked_at() {
    let fake = Fake::new(Era::Old);
    let hub = approved(&[("a", &fake)]).await;
    let resources = hub.list_resources("a").await.expect("it has one");
    assert_eq!(resources[0]["uri"], json!("x://1"));
    assert_eq!(hub.list_prompts("a").await.expect("it has one")[0]["name"], json!("p"));
}

#[tokio::test(start_paused = true)]
async fn f4_a_revision_can_be_wished_for() {
    let fake = Fake::new(Era::Old);
    let wish = |_: &mut _, spec: &mut weir_mcp::ServerSpec| {
        spec.protocol = Some("2025-06-18".to_owned());
    };
    let hub = approved_with(&[("a", &fake)], wish).await;
    call(&hub, "a", "echo").await.expect("it answers");
    let heard = fake.heard.lock().expect("no test panics with it").clone();
    assert_eq!(heard[0]["params"]["protocolVersion"], json!("2025-06-18"));
}

#[tokio::test(start_paused = true)]
async fn f4_what_the_server_says_is_an_error_is_one() {
    let fake = Fake::new(Era::Modern);
    let hub = approved(&[("a", &fake)]).await;
    fake.does(Do::Refuse("no such file".into()));
    let why = call(&hub, "a", "echo").await.expect_err("it refused");
    assert!(why.contains("refused it: no such file"), "{why}");
    let failed: Value = json!({ "content": [], "isError": true });
    fake.does(Do::Answer(failed));
    let result = call(&hub, "a", "echo").await.expect("it answered");
    assert_eq!(result["isError"], json!(true));
}

#[tokio::test(start_paused = true)]
async fn f4_an_unknown_server_is_told_with_those_that_are_there() {
    let hub = McpHub::new(Vec::new(), BTreeMap::new(), options(Stage::default()));
    let why = call(&hub, "a", "echo").await.expect_err("there is none");
    assert!(why.contains("none is declared"), "{why}");
}
