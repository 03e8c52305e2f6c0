//! Settings that are wrong: what only shows something works with the rest of them and tells the mistake once;
//! what begins something is refused (C8). Not here: which values are wrong (`config`).

use serde_json::json;
use weir_test_kit::{HttpAnswer, HttpStandIn, TestInstallation};

/// What only shows something, and needs no more than what can be read.
const LOOKING: [&[&str]; 6] = [
    &["usage"],
    &["usage", "--json"],
    &["auth", "list"],
    &["models"],
    &["profiles", "list"],
    &["workflows", "list"],
];

/// The person's file, the project's, and what must be told once: place and key.
const MISTAKES: [(&str, &str, &str); 4] = [
    ("[spending]\nday_usd = 5.0\n", "modle = 3\n", ".weir/config.toml:1: unknown field `modle`"),
    (
        "[spending]\nday_usd = \"much\"\n",
        "[limits]\nmax_iterations = 5\n",
        "config.toml:2: spending.day_usd: invalid type",
    ),
    (
        "[spending]\nday_usd = 5.0\n[limits]\nmax_iterations = 0\n",
        "[limits]\nmax_tool_calls = 5\n",
        "config.toml:4: limits.max_iterations is 0",
    ),
    ("model = \n", "", "config.toml:1: "),
];

#[test]
fn c8_what_only_shows_works_with_what_can_be_read_and_tells_the_rest_once() {
    for (user, project, told) in MISTAKES {
        let house = TestInstallation::new();
        house.write(&house.user_config(), user);
        house.write(&house.project_config(), project);
        for words in LOOKING {
            let said = house.run(words);
            assert_eq!(said.status, 0, "{words:?}: {}", said.err);
            assert_eq!(said.err.matches(told).count(), 1, "{words:?}: {}", said.err);
            assert!(said.err.contains("weir config path"), "what to do: {}", said.err);
        }
        let shown = house.run(&["config", "show"]);
        assert_eq!(shown.status, 2, "{}", shown.err);
        assert_eq!(shown.err.matches(told).count(), 1, "{}", shown.err);
        assert!(shown.out.contains("limits.parallel_calls = "), "{}", shown.out);
        let doctor = house.run(&["doctor", "--offline"]);
        assert_eq!(doctor.status, 1, "{}", doctor.out);
        let all = format!("{}{}", doctor.out, doctor.err);
        assert_eq!(all.matches(told).count(), 1, "{all}");
        assert!(all.contains("database: "), "the rest is looked at: {all}");
        // What begins something is not begun with half of the settings.
        let refused = house.usage_error(&["run", "-m", "anthropic/claude", "Go."]);
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn c8_what_the_other_files_say_is_shown() {
    let house = TestInstallation::new();
    house.write(&house.user_config(), MISTAKES[0].0);
    house.write(&house.project_config(), MISTAKES[0].1);
    let usage = house.json(&["usage", "--json"]);
    assert!(usage["caps"].to_string().contains("spending.day_usd"), "{usage}");
    let shown = house.run(&["config", "show"]).out;
    assert!(shown.contains("spending.day_usd = 5.0"), "{shown}");
    house.write(&house.user_config(), MISTAKES[1].0);
    house.write(&house.project_config(), MISTAKES[1].1);
    let shown = house.run(&["config", "show"]).out;
    assert!(shown.contains("limits.max_iterations = 5"), "{shown}");
}

#[test]
fn c8_z7_doctor_tells_nobody_a_key_while_an_address_may_be_unread() {
    let endpoint = HttpStandIn::start(|_, _| HttpAnswer::json(200, &json!({ "data": [] })));
    let house = TestInstallation::new()
        .with_variable("ANTHROPIC_API_KEY", "a-key")
        .with_variable("ANTHROPIC_BASE_URL", &format!("http://{}", endpoint.address()));
    house.run(&["doctor"]);
    assert!(!endpoint.requests().is_empty(), "it is asked where all can be read");
    let before = endpoint.requests().len();
    house.write(&house.user_config(), "modle = 3\n");
    let said = house.run(&["doctor"]);
    assert_eq!(endpoint.requests().len(), before, "{}", said.out);
    assert!(said.out.contains("endpoints: none was contacted"), "{}", said.out);
}
