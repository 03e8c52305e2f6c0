//! What a session did is found again by its words (X4), in the real program.

use weir_test_kit::TestInstallation;

/// Makes 40,000 characters with one sentence in the middle, then looks for the sentence.
const SCRIPT: &str = r#"
calls: run_shell {"command": "seq 10000 13200; echo The needle lies deep in the hay.; seq 20000 23400"}

expect-not: result "The needle lies deep"
calls: recall {"words": "needle lies deep"}

expect: result "The needle lies deep in the hay."
expect: result "result · run_shell"
calls: recall {"words": "needle", "kind": "call"}

expect: result "echo The needle lies deep in the hay."
says: Found.
"#;

#[test]
fn x4_a_sentence_deep_in_a_long_result_is_found() {
    let house = TestInstallation::new();
    house.write(&house.at("t.script"), SCRIPT);
    let run = ["run", "-m", "script:../t.script", "--permission", "full", "look for it"];
    assert_eq!(house.ok(&run).trim(), "Found.");
    let hits = house.json(&["sessions", "search", "needle lies deep hay", "--json"]);
    let hits = hits.to_string();
    assert!(hits.contains("The needle lies deep in the hay."), "{hits}");
    // Words that stand far apart in one result are in no one passage of it.
    let far = house.json(&["sessions", "search", "10001 23399", "--json"]);
    assert_eq!(far.as_array().map(Vec::len), Some(0), "{far}");
}
