//! The calls of a recipe, case by case. Not here: a session that makes them.

use serde_json::{Value, json};

use super::*;

fn recipe() -> Recipe {
    serde_json::from_value(json!({
        "id": "note-to-list", "name": "Note to list", "description": "Copies.",
        "triggers": ["note"],
        "parameters": [{ "name": "from" }, { "name": "to" }, { "name": "end", "optional": true }],
        "steps": [
            { "tool": "read_file", "input": { "path": "{{from}}" }, "expect": { "some": true } },
            { "tool": "read_file", "input": { "path": "notes/{{to}}.md" },
              "expect": { "contains": "# {{to}}" } },
            { "tool": "append_to_file",
              "input": { "path": "notes/{{to}}.md", "text": "{{step1.result}}{{end}}" } },
        ],
    }))
    .expect("a recipe")
}

fn read_text(answer: &str) -> Result<Vec<PlannedCall>, String> {
    parse_plan(answer, &recipe())
}

#[test]
fn l16_a_plan_is_a_json_array_in_a_fence_or_not() {
    let plan = r#"[{"tool":"read_file","input":{"path":"a"}},
        {"tool":"read_file","input":{"path":"notes/b.md"}},
        {"tool":"append_to_file","input":{"path":"notes/b.md","text":"{{step1.result}}"}}]"#;
    for answer in [
        plan.to_string(),
        format!("\n {plan} \n"),
        format!("```json\n{plan}\n```"),
        format!("```\n{plan}\n```\n"),
    ] {
        let calls = read_text(&answer).expect("a plan");
        let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
        assert_eq!(tools, ["read_file", "read_file", "append_to_file"], "{answer}");
        assert_eq!(
            calls[0].expect,
            Some(StepExpectation { some: true, ..StepExpectation::default() })
        );
        // What the parameter is was read off the arguments.
        let contains = Some("# b".to_string());
        assert_eq!(
            calls[1].expect,
            Some(StepExpectation { contains, ..StepExpectation::default() })
        );
        assert_eq!(calls[2].expect, None);
    }
}

#[test]
fn l16_anything_else_is_no_plan() {
    let call = r#"{"tool":"read_file","input":{"path":"a"}}"#;
    let many = format!("[{}]", vec![call; 17].join(","));
    let deep = format!(
        "[{{\"tool\":\"read_file\",\"input\":{{\"a\":{}1{}}}}}]",
        "[".repeat(60),
        "]".repeat(60)
    );
    let long = format!("[{}]", " ".repeat(300 * 1024));
    for (answer, why) in [
        ("", "said nothing"),
        ("```json\n```", "said nothing"),
        ("Sure! First I will read the file.", "in words"),
        ("Here is the plan:\n```json\n[]\n```", "in words"),
        ("I would call [read_file]", "in words"),
        (r#"[{"tool":"read_file","input":{"path":"#, "cut off"),
        (r#"[{"tool":"read_file","input":{"path":"a"}}"#, "cut off"),
        (r#"[{"tool":"read_file","input":{"path":"a"}}] and done"#, "not JSON"),
        ("[}", "not JSON"),
        (call, "not a JSON array"),
        (r#"{"calls":[]}"#, "not a JSON array"),
        (r#""[]""#, "not a JSON array"),
        ("[]", "does not fit"),
        ("[1]", "call 1 of the plan is not an object"),
        ("[null]", "not an object"),
        (r#"[{"input":{}}]"#, "does not name its tool"),
        (r#"[{"tool":7,"input":{}}]"#, "does not name its tool"),
        (r#"[{"tool":"read_file"}]"#, "no object as its input"),
        (r#"[{"tool":"read_file","input":["a"]}]"#, "no object as its input"),
        (r#"[{"tool":"read_file","input":"{\"path\":\"a\"}"}]"#, "no object as its input"),
        (r#"[{"tool":"read_file","input":{"path":"a"},"why":"x"}]"#, "unknown field \"why\""),
        (r#"[{"tool":"run_shell","input":{}}]"#, "\"run_shell\", which is no tool of it"),
        (r#"[{"tool":"READ_FILE","input":{}}]"#, "no tool of it"),
        (r#"[{"tool":"read_file","input":{"path":"{{from}}"}}]"#, "leaves \"from\" open"),
        (r#"[{"tool":"read_file","input":{"path":"{{step1.result}}"}}]"#, "result of call 1"),
        (r#"[{"tool":"read_file","input":{"path":"{{step0.result}}"}}]"#, "result of call 0"),
        (r#"[{"tool":"read_file","input":{"path":"{{step9.result}}"}}]"#, "result of call 9"),
        (many.as_str(), "17 calls"),
        (deep.as_str(), "nested too deeply"),
        (long.as_str(), "too long"),
    ] {
        let found = read_text(answer).expect_err(answer);
        assert!(found.contains(why), "{answer}: {found}");
    }
}

#[test]
fn l16_what_no_parameter_is_called_stays_as_it_is() {
    let plan = r#"[{"tool":"append_to_file","input":{"path":"a","text":"{{name}} {{ }} {{x"}}]"#;
    let calls = read_text(plan).expect("a plan");
    assert_eq!(calls[0].input["text"], "{{name}} {{ }} {{x");
    let same = with_results(&calls[0].input, &[]).expect("nothing to put in");
    assert_eq!(same, calls[0].input);
}

#[test]
fn l16_an_expectation_that_nobody_can_tell_is_no_plan() {
    let plan = r#"[{"tool":"read_file","input":{"path":"a"}},
        {"tool":"read_file","input":{"path":"elsewhere/b.md"}}]"#;
    let why = read_text(plan).expect_err("the second path does not show what `to` is");
    assert!(why.contains("\"to\""), "{why}");
}

fn given(texts: &[&str]) -> Vec<StepOutput> {
    texts.iter().map(|text| StepOutput { text: (*text).into(), whole: true }).collect()
}

#[test]
fn l16_earlier_results_are_put_in_once() {
    let input = json!({ "a": "{{step1.result}}", "b": ["x {{ step2.result }} y", 7, null],
        "c": { "{{step1.result}}": true } });
    let made = with_results(&input, &given(&["one", "{{step1.result}}"])).expect("made");
    assert_eq!(
        made,
        json!({ "a": "one", "b": ["x {{step1.result}} y", 7, null], "c": { "one": true } })
    );
    let why = with_results(&input, &given(&["one"])).expect_err("there is no second");
    assert!(why.contains("no result of step 2"), "{why}");
    let cut = [StepOutput { text: "half".into(), whole: false }];
    let why = with_results(&json!("{{step1.result}}"), &cut).expect_err("it was cut");
    assert!(why.contains("was cut"), "{why}");
    let long = [StepOutput { text: "x".repeat(RESULT_CHARS_MAX + 1), whole: true }];
    let why = with_results(&json!("{{step1.result}}"), &long).expect_err("it is too long");
    assert!(why.contains("too long"), "{why}");
}

#[test]
fn l16_a_file_is_passed_on_without_the_numbers_of_its_lines() {
    for (tool, shown, text, whole) in [
        ("read_file", "1\ta\n2\t\tb\n3\t", "a\n\tb\n", true),
        ("read_file", "[note.md is empty]", "", true),
        ("read_file", "1\ta\n[lines 1-1 of 9; go on with offset: 2]", "a", false),
        ("read_file", "1\ta\n[lines end with CRLF]", "a", false),
        (
            "read_file",
            "1\tx… this line goes on for 9 bytes",
            "x… this line goes on for 9 bytes",
            false,
        ),
        ("read_file", "2\tb\n3\tc\n[lines 2-3 of 3; the end]", "b\nc", true),
        ("read_file", "2\tb\n[lines 2-2 of 3; go on with offset: 3]", "b", false),
        ("read_file", "1\ta\n3\tc", "1\ta\n3\tc", true),
        ("read_file", "no file but words", "no file but words", true),
        ("read_file", "", "", true),
        ("run_shell", "1\ta\n2\tb", "1\ta\n2\tb", true),
    ] {
        let given = StepOutput::from_result(tool, shown.into(), true);
        assert_eq!(given, StepOutput { text: text.into(), whole }, "{tool} {shown:?}");
        assert!(!StepOutput::from_result(tool, shown.into(), false).whole);
    }
}

#[test]
fn l16_parameters_are_put_in_without_a_planner() {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    let calls =
        fill_recipe(&recipe(), &object(json!({ "from": "a.md", "to": "b" }))).expect("filled");
    assert_eq!(calls[0].input, json!({ "path": "a.md" }));
    assert_eq!(calls[2].input, json!({ "path": "notes/b.md", "text": "{{step1.result}}" }));
    assert_eq!(calls[1].expect.as_ref().and_then(|e| e.contains.as_deref()), Some("# b"));
    for (parameters, why) in [
        (json!({ "from": "a.md" }), "needs the parameter \"to\""),
        (json!({ "from": "a.md", "to": null }), "needs the parameter \"to\""),
        (json!({ "from": "a", "to": "b", "x": 1 }), "no parameter \"x\""),
        (json!({ "from": "a", "to": ["b"] }), "cannot stand within a text"),
    ] {
        let found = fill_recipe(&recipe(), &object(parameters)).expect_err(why);
        assert!(found.contains(why), "{found}");
    }
    // A value keeps its kind where it stands alone; what is left out leaves its field out.
    let mut kinds = recipe();
    kinds.steps = vec![RecipeStep {
        tool: "x".into(),
        input: json!({ "n": "{{from}}", "gone": "{{end}}", "s": "n={{from}}{{end}}" }),
        expect: None,
    }];
    let calls = fill_recipe(&kinds, &object(json!({ "from": 3, "to": "b" }))).expect("filled");
    assert_eq!(calls[0].input, json!({ "n": 3, "s": "n=3" }));
}

#[test]
fn l16_a_step_never_refers_forward() {
    let mut forward = recipe();
    forward.parameters.clear();
    forward.steps = vec![RecipeStep {
        tool: "read_file".into(),
        input: json!({ "path": "{{step2.result}}" }),
        expect: None,
    }];
    let why = fill_recipe(&forward, &Map::new()).expect_err("it refers forward");
    assert!(why.contains("needs the result of step 2"), "{why}");
}

#[test]
fn l16_reads_run_together_and_everything_else_alone() {
    let call = |tool: &str, text: &str| PlannedCall {
        tool: tool.into(),
        input: json!({ "x": text }),
        expect: None,
    };
    let calls = [
        call("read", "a"),
        call("read", "b"),
        call("write", "c"),
        call("read", "{{step1.result}}"),
        call("read", "{{step4.result}}"),
        call("read", "d"),
    ];
    let beside = |tool: &str| tool == "read";
    for (from, expected) in [(0, 2), (1, 1), (2, 1), (3, 1), (4, 2), (5, 1), (6, 0)] {
        assert_eq!(wave_length(&calls, from, beside), expected, "from {from}");
    }
}

#[test]
fn l16_results_are_held_against_what_was_expected() {
    let expect =
        |value: Value| serde_json::from_value::<StepExpectation>(value).expect("an expectation");
    for (wanted, result, ok) in [
        (json!({}), "", true),
        (json!({ "some": true }), " \n", false),
        (json!({ "some": true }), "x", true),
        (json!({ "contains": "ok" }), "all ok", true),
        (json!({ "contains": "ok" }), "no", false),
        (json!({ "lacks": "error" }), "an error", false),
        (json!({ "lacks": "error", "contains": "an" }), "an x", true),
    ] {
        assert_eq!(
            check_expectation(Some(&expect(wanted.clone())), result).is_ok(),
            ok,
            "{wanted} {result}"
        );
    }
    assert!(check_expectation(None, "").is_ok());
}
