//! K13: `generate_image` in a real session: one request to the model that the settings name, a file that
//! can be taken back, and no second request after a crash.

use serde_json::{Value, json};
use weir_test_kit::{HttpAnswer, HttpRequest, HttpStandIn, TestInstallation, wait_until};

/// A PNG of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The agent finds the tool, asks for a fox and ends.
const SCRIPT: &str = "calls: find_tool {\"query\": \"generate_image\"}\n\ncalls: call_tool {\"tool\": \
                      \"generate_image\", \"arguments\": {\"prompt\": \"A red fox\", \"aspect\": \
                      \"3:2\"}}\n\nsays: Done.\n";

fn painted(_: &HttpRequest, _: usize) -> HttpAnswer {
    let usage = json!({ "input_tokens": 10, "output_tokens": 1_000 });
    HttpAnswer::json(200, &json!({ "data": [{ "b64_json": DOT }], "usage": usage }))
}

fn installation_with(painter: &HttpStandIn) -> TestInstallation {
    let house = TestInstallation::new();
    let config = format!(
        "[helpers]\nimage = \"near/painter\"\n[providers.near]\ndialect = \"openai-chat\"\n\
         base_url = \"http://{}/v1\"\n[models.\"near/painter\"]\nabilities = [\"image_output\"]\n\
         price = {{ input = 1.0, output = 10.0 }}\n",
        painter.address()
    );
    house.write(&house.user_config(), &config);
    house.write(&house.at("s.script"), SCRIPT);
    house
}

fn fact<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().rev().find(|event| event["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn k13_a_picture_is_asked_for_once_saved_counted_and_taken_back() {
    let painter = HttpStandIn::start(painted);
    let house = installation_with(&painter);
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "auto-edit", "--output", "jsonl", "A fox."];
    let said = house.run(&args);
    assert_eq!(said.status, 0, "{}{}", said.out, said.err);
    let asked = painter.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path(), "/v1/images/generations");
    let body: Value = serde_json::from_str(&asked[0].body).expect("JSON");
    let expected = json!({
        "model": "painter", "prompt": "A red fox", "n": 1, "size": "1536x1024",
        "response_format": "b64_json",
    });
    assert_eq!(body, expected);
    let events = said.json_lines();
    let path = "pictures/a-red-fox.png";
    let changed = fact(&events, "run.finished")["changed_files"].to_string();
    assert!(changed.contains(path), "headless output names it: {changed}");
    let finished = fact(&events, "call.finished");
    let news = json!([{
        "news": "used",
        "usage": {
            "input": 10, "output": 1_000, "cache_read": 0, "cache_write": 0, "reasoning": 0,
        },
        "cost_usd": 0.01001,
    }]);
    assert_eq!(finished["news"], news, "{finished}");
    let file = house.work().join(path);
    assert!(std::fs::read(&file).expect("the file").starts_with(b"\x89PNG"));
    house.ok(&["undo"]);
    assert!(!file.exists(), "it is taken back");
    house.ok(&["undo"]);
    assert!(file.exists(), "and brought again, without another request");
    assert_eq!(painter.requests().len(), 1);
}

#[test]
fn k13_killed_while_it_is_made_the_outcome_is_unknown_and_it_is_not_asked_for_again() {
    // It answers nobody.
    let painter = HttpStandIn::start(|_, _| {
        loop {
            std::thread::park();
        }
    });
    let house = installation_with(&painter);
    let model = house.script_model();
    let run = house.start(&["run", "-m", &model, "--permission", "auto-edit", "A fox."]);
    wait_until("it is asked", || match painter.requests().len() {
        1 => Ok(()),
        count => Err(count),
    });
    run.kill();
    let again = ["run", "-m", &model, "--permission", "auto-edit", "--output", "jsonl"];
    let said = house.run(&[&again[..], &["--resume", "last"]].concat());
    let unknown = said.json_lines();
    let unknown = fact(&unknown, "call.unknown");
    let reason = unknown["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cannot be asked"), "{unknown}");
    assert_eq!(painter.requests().len(), 1, "a picture is never paid for twice unnoticed");
    assert!(!house.work().join("pictures").exists());
}

/// The vendor makes a picture and does not say what it used.
#[test]
fn r11_a_picture_whose_price_nobody_says_counts_under_a_cap_and_is_told_without_one() {
    let painter =
        HttpStandIn::start(|_, _| HttpAnswer::json(200, &json!({ "data": [{ "b64_json": DOT }] })));
    let draw = |number: u32| {
        format!(
            "calls: call_tool {{\"tool\": \"generate_image\", \"arguments\": {{\"prompt\": \"Fox \
             {number}\"}}}}\n\n"
        )
    };
    let draws: String = (1..=4).map(draw).collect();
    for (cap, pictures, unpriced) in [("", 4, 4), ("[spending]\nday_usd = 1.5\n", 2, 0)] {
        let house = installation_with(&painter);
        let settings = std::fs::read_to_string(house.user_config()).expect("written");
        house.write(&house.user_config(), &format!("{cap}{settings}"));
        let script = format!(
            "price: input=0 output=0\n\ncalls: find_tool {{\"query\": \"generate_image\"}}\n\n{}says: \
             Done.\n",
            draws
        );
        house.write(&house.at("s.script"), &script);
        let before = painter.requests().len();
        let model = house.script_model();
        house.run(&["run", "-m", &model, "--permission", "auto-edit", "Four foxes."]);
        assert_eq!(painter.requests().len() - before, pictures, "{cap}");
        let total = house.json(&["usage", "--json"])["total"].clone();
        assert_eq!(total["unpriced"], unpriced, "{total}");
        if unpriced == 0 {
            assert!(total["cost_usd"].as_f64() >= Some(2.0), "{total}");
        }
    }
}

#[test]
fn k13_where_no_model_is_named_no_session_has_the_tool_and_nothing_is_asked() {
    let house = TestInstallation::new();
    house.write(&house.at("s.script"), "expect-not: system \"generate_image\"\nsays: Done.\n");
    let model = house.script_model();
    let said = house.run(&["run", "-m", &model, "Draw a fox."]);
    assert_eq!(said.out, "Done.\n", "{}", said.err);
}
