//! What is learned from runs, and what is not.

use serde_json::{Value, json};

use super::*;

fn run(n: u32, said: &str, calls: &[(&str, Value)]) -> SolvedRun {
    SolvedRun {
        session: SessionId::new(format!("s{n}")),
        run: RunId(1),
        workspace: "/w".into(),
        profile: "agent".into(),
        ts: Timestamp(i64::from(n)),
        said: said.into(),
        calls: calls
            .iter()
            .map(|(tool, input)| SolvedCall { tool: (*tool).into(), input: input.clone() })
            .collect(),
        label: Label::default(),
    }
}

/// “Add X to the shopping list”, three times.
fn shopping() -> Vec<SolvedRun> {
    ["milk", "brown bread", "eggs"]
        .iter()
        .zip(1..)
        .map(|(what, n)| {
            run(
                n,
                &format!("Add {what} to the shopping list, please."),
                &[
                    ("read_file", json!({"path": "lists/shopping.md"})),
                    (
                        "append_to_file",
                        json!({
                            "path": "lists/shopping.md", "content": format!("- [ ] {what}\n")
                        }),
                    ),
                ],
            )
        })
        .collect()
}

#[test]
fn m5_three_runs_of_one_kind_and_shape_are_a_recipe() {
    let learned = learn_recipes(&shopping(), &[]);
    let [LearnedRecipe { recipe, evidence }] = &learned[..] else { panic!("{learned:?}") };
    assert_eq!(recipe.triggers, ["add", "shopping list"]);
    assert_eq!(recipe.name, "Add … shopping list");
    assert_eq!(recipe.source, RecipeSource::Learned);
    assert_eq!(recipe.profiles, ["agent"]);
    assert!(recipe.id.starts_with("learned-add-shopping-list-"), "{}", recipe.id);
    let inputs: Vec<&Value> = recipe.steps.iter().map(|step| &step.input).collect();
    assert_eq!(
        inputs,
        [
            &json!({"path": "lists/shopping.md"}),
            &json!({"path": "lists/shopping.md", "content": "- [ ] {{content}}\n"}),
        ]
    );
    assert_eq!(recipe.parameters.len(), 1);
    assert_eq!(recipe.parameters[0].name, "content");
    let description = &recipe.parameters[0].description;
    assert_eq!(description, "Stands in the message; once it was “eggs”.");
    let sessions: Vec<&str> = evidence.iter().map(|run| run.session.as_str()).collect();
    assert_eq!(sessions, ["s3", "s2", "s1"]);
    assert_eq!(check_recipe(recipe, None), [""; 0]);
    // The recipe fits the next message of the kind, and not another one.
    let fits =
        |said: &str| crate::recipe::recipe_score(said, recipe).is_some_and(|score| score >= 0.5);
    assert!(fits("Add oat milk and honey to the shopping list"));
    assert!(!fits("Add a test to the list of scenarios"));
}

#[test]
fn m5_the_same_runs_give_the_same_recipe_and_what_is_known_is_not_learned_again() {
    let mut runs = shopping();
    let first = learn_recipes(&runs, &[]);
    runs.reverse();
    assert_eq!(learn_recipes(&runs, &[]), first);
    let known = [first[0].recipe.clone()];
    assert_eq!(learn_recipes(&runs, &known), []);
    // A fourth run changes the examples, not the recipe that it is.
    let mut more = shopping();
    more.push(run(
        4,
        "Add tea to the shopping list",
        &[
            ("read_file", json!({"path": "lists/shopping.md"})),
            ("append_to_file", json!({"path": "lists/shopping.md", "content": "- [ ] tea\n"})),
        ],
    ));
    assert_eq!(learn_recipes(&more, &known), []);
    assert_eq!(learn_recipes(&more, &[])[0].recipe.id, known[0].id);
}

#[test]
fn m5_two_runs_or_other_shapes_are_no_recipe() {
    let runs = shopping();
    assert_eq!(learn_recipes(&runs[..2], &[]), []);
    let changed = |change: fn(&mut SolvedRun)| {
        let mut runs = shopping();
        change(&mut runs[1]);
        learn_recipes(&runs, &[])
    };
    assert_eq!(changed(|run| run.calls.swap(0, 1)), [], "order");
    assert_eq!(changed(|run| run.calls[0].tool = "list_files".into()), [], "tool");
    assert_eq!(changed(|run| run.calls[0].input = json!({"path": "a", "pages": 1})), [], "keys");
    assert_eq!(changed(|run| run.said = "Water the plants in the hall".into()), [], "words");
    assert_eq!(changed(|run| run.profile = "code".into()), [], "profile");
    assert_eq!(changed(|run| run.said = "Add the key [redacted: secret]".into()), [], "redacted");
    assert_eq!(changed(|run| run.label.privacy = Privacy::Secret), [], "secret");
    assert_eq!(
        changed(|run| run.calls[1].input = json!({"path": "x", "content": "[redacted: secret]"})),
        [],
        "redacted argument"
    );
}

#[test]
fn m5_runs_of_one_call_or_of_seventeen_are_no_recipe() {
    let of = |calls: usize| {
        let calls = vec![("read_file", json!({"path": "a.md"})); calls];
        let runs: Vec<SolvedRun> =
            (1..4).map(|n| run(n, "Read the house rules again", &calls)).collect();
        learn_recipes(&runs, &[]).len()
    };
    assert_eq!([1, 2, 16, 17].map(of), [0, 1, 1, 0]);
}

#[test]
fn m5_values_that_look_private_are_parameters_without_example() {
    let runs: Vec<SolvedRun> = (1..4)
        .map(|n| {
            run(
                n,
                "Send the weekly report",
                &[
                    ("read_file", json!({"path": "report.md"})),
                    ("notify", json!({"to": "ada@example.org", "deep": {"n": [n, 7]}})),
                ],
            )
        })
        .collect();
    let learned = learn_recipes(&runs, &[]);
    let recipe = &learned[0].recipe;
    assert_eq!(recipe.steps[1].input, json!({"to": "{{to}}", "deep": {"n": ["{{n}}", 7]}}));
    let text = serde_json::to_string(recipe).expect("JSON");
    assert!(!text.contains("ada@"), "{text}");
}

#[test]
fn m5_one_value_in_several_places_is_one_parameter() {
    let runs: Vec<SolvedRun> = ["garden", "house", "boat"]
        .iter()
        .zip(1..)
        .map(|(what, n)| {
            run(n, &format!("Tidy up the project note {what}"), &[
                ("read_file", json!({"path": format!("projects/{what}.md")})),
                ("edit_file", json!({
                    "path": format!("projects/{what}.md"), "old": format!("x{n}"), "new": "y"
                })),
            ])
        })
        .collect();
    let learned = learn_recipes(&runs, &[]);
    let recipe = &learned[0].recipe;
    assert_eq!(recipe.steps[0].input, json!({"path": "projects/{{path}}.md"}));
    assert_eq!(
        recipe.steps[1].input,
        json!({"path": "projects/{{path}}.md", "old": "{{old}}", "new": "y"})
    );
    assert_eq!(recipe.parameters.len(), 2);
    assert!(recipe.parameters[1].description.starts_with("Not said in the message"));
    assert_eq!(recipe.triggers, ["tidy project note"]);
}

#[test]
fn m5_texts_with_braces_and_long_ones_do_not_stay() {
    let long = "x".repeat(1_200);
    let runs: Vec<SolvedRun> = (1..4)
        .map(|n| {
            run(
                n,
                "Fill in the meeting template",
                &[
                    ("write_file", json!({"path": "a.md", "content": "{{title}}"})),
                    ("write_file", json!({"path": "b.md", "content": long})),
                ],
            )
        })
        .collect();
    let learned = learn_recipes(&runs, &[]);
    let recipe = &learned[0].recipe;
    assert_eq!(recipe.steps[0].input["content"], json!("{{content}}"));
    assert_eq!(recipe.steps[1].input["content"], json!("{{content_2}}"));
}

#[test]
fn m5_foreign_words_stay_foreign() {
    let mut runs = shopping();
    runs[0].label = Label::external("shop.example.org");
    let learned = learn_recipes(&runs, &[]);
    assert!(learned[0].recipe.label.is_external());
    assert!(learned[0].recipe.label.origins.contains("shop.example.org"));
    assert!(!learn_recipes(&shopping(), &[])[0].recipe.label.is_external());
}

#[test]
fn m5_two_kinds_of_one_shape_are_two_recipes() {
    let mut runs = shopping();
    for (what, n) in ["Rust", "Go", "C"].iter().zip(11..) {
        runs.push(run(
            n,
            &format!("Write {what} into the reading diary"),
            &[
                ("read_file", json!({"path": "lists/reading.md"})),
                ("append_to_file", json!({"path": "lists/reading.md", "content": what})),
            ],
        ));
    }
    let learned = learn_recipes(&runs, &[]);
    assert_eq!(learned.len(), 2);
    assert!(!same_task(&learned[0].recipe, &learned[1].recipe));
}

#[test]
fn m5_messages_without_words_in_common_are_no_kind() {
    let calls = [("read_file", json!({"path": "a"})), ("read_file", json!({"path": "b"}))];
    for said in [["", "", ""], ["do it", "do it", "do it"], ["7 8", "7 8", "7 8"]] {
        let runs: Vec<SolvedRun> =
            said.iter().zip(1..).map(|(said, n)| run(n, said, &calls)).collect();
        assert_eq!(learn_recipes(&runs, &[]), [], "{said:?}");
    }
    let one = ["tidy", "tidy!", "Tidy."];
    let runs: Vec<SolvedRun> = one.iter().zip(1..).map(|(said, n)| run(n, said, &calls)).collect();
    assert_eq!(learn_recipes(&runs, &[])[0].recipe.triggers, ["tidy"]);
}
