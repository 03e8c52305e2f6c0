//! K6: `semantic_search` in a real session: the index in the state folder, made when it is needed.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use weir_test_kit::TestInstallation;

#[test]
fn k6_a_session_finds_notes_by_meaning_and_keeps_its_index() {
    let house = TestInstallation::new();
    house.write(
        &house.work().join("garden.md"),
        "# Tomatoes\n## Watering\nThey drink a lot every evening.\n",
    );
    house.write(&house.work().join("hidden/plan.md"), "Watering of the hidden garden.\n");
    house.write(&house.work().join(".weirignore"), "hidden/\n");
    house.write(
        &house.at("s.script"),
        "calls: find_tool {\"query\": \"semantic_search\"}\n\ncalls: call_tool {\"tool\": \
         \"semantic_search\", \"arguments\": {\"query\": \"how to water in the evenings\"}}\n\n\
         says: Done.\n",
    );
    let state = house.at("state/weir/derived");
    assert!(!state.exists(), "nothing is made before it is needed");
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "ask", "--output", "jsonl", "Go."];
    let said = house.run(&args);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("garden.md:3-3 > Tomatoes > Watering"), "{}", said.out);
    assert!(said.out.contains("They drink a lot every evening."), "{}", said.out);
    assert!(!said.out.contains("hidden garden"), "{}", said.out);
    assert!(state.is_dir(), "the index is kept");
}

/// A server that gives every text the vector of its first word: `alpha` one way, anything else the other.
fn start_embedder() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let all = Arc::clone(&heard);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
            let mut request = Vec::new();
            let mut piece = [0_u8; 4096];
            let body = loop {
                let text = String::from_utf8_lossy(&request).into_owned();
                if let Some((_, body)) = text.split_once("\r\n\r\n")
                    && serde_json::from_str::<Value>(body).is_ok()
                {
                    break body.to_owned();
                }
                match stream.read(&mut piece) {
                    Ok(count) if count > 0 => request.extend_from_slice(&piece[..count]),
                    _ => break String::new(),
                }
            };
            all.lock().expect("no panic").push(body.clone());
            let asked: Value = serde_json::from_str(&body).unwrap_or_default();
            let rows = asked["input"].as_array().into_iter().flatten().enumerate();
            let vector = |text: &Value| match text.as_str().is_some_and(|t| t.contains("alpha")) {
                true => json!([1.0, 0.0]),
                false => json!([0.0, 1.0]),
            };
            let data: Vec<Value> =
                rows.map(|(at, text)| json!({ "index": at, "embedding": vector(text) })).collect();
            let answer = json!({ "data": data, "usage": { "prompt_tokens": 5 } }).to_string();
            let _ = stream.write_all(
                format!(
                    "HTTP/1.1 200 x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                     connection: close\r\n\r\n{answer}",
                    answer.len()
                )
                .as_bytes(),
            );
        }
    });
    (port, heard)
}

#[test]
fn k6_vectors_of_a_named_model_are_asked_for_once() {
    let (port, heard) = start_embedder();
    let house = TestInstallation::new();
    house.write(&house.work().join("a.md"), "The alpha note, about boats.\n");
    house.write(&house.work().join("b.md"), "Another one, about trains.\n");
    house.write(
        &house.user_config(),
        &format!(
            "[helpers]\nembed = \"near/vectors\"\n[providers.near]\ndialect = \"openai-chat\"\n\
             base_url = \"http://127.0.0.1:{port}/v1\"\n"
        ),
    );
    house.write(
        &house.at("s.script"),
        "calls: find_tool {\"query\": \"semantic_search\"}\n\ncalls: call_tool {\"tool\": \
         \"semantic_search\", \"arguments\": {\"query\": \"alpha ships\"}}\n\nsays: Done.\n",
    );
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "ask", "--output", "jsonl", "Go."];
    let said = house.run(&args);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("vectors of near/vectors"), "{}", said.out);
    assert!(said.out.contains("vectors 1.00"), "{}", said.out);
    let first = heard.lock().expect("no panic").clone();
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(first[0].contains("about boats") && first[0].contains("about trains"), "{first:?}");
    // Again, in another process: only the question is new.
    let said = house.run(&args);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let heard = heard.lock().expect("no panic").clone();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(!heard[1].contains("about boats"), "{heard:?}");
}
