//! The fast path against the normal loop, on one recorded task of eight model calls (L16): model
//! calls, tokens, bytes and time. `cargo test -p weir-scenario --test scenarios l16_table --
//! --nocapture` prints the table of docs/fast-path.md.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weir_core::event::Event;
use weir_core::recipe::{Recipe, plan as planning};
use weir_engine::hub::PublishedFact;
use weir_scenario::laws;
use weir_scenario::parse::parse;
use weir_scenario::play::{Depth, Played, play};

/// What one model call takes in this comparison.
const CALL_MS: u64 = 2_000;
const SAID: &str = "Archive the inbox as week 47.";
/// What stands in the inbox, but for its last line break, which reading does not show.
fn inbox() -> String {
    let line = |n: usize| format!("- item {n}: something that came in and was dealt with");
    (1..=60).map(line).collect::<Vec<_>>().join("\n")
}

/// What is compared.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Sum {
    model_calls: u64,
    tool_calls: u64,
    tokens_in: u64,
    tokens_new: u64,
    tokens_out: u64,
    bytes: u64,
    ms: u64,
}

/// The calls of the task, as the model made them one after the other when it was recorded; `text` is
/// what it wrote into the archive.
fn calls(week: &str, text: &str) -> Vec<Value> {
    let archive = format!("archive/week-{week}.md");
    [
        ("read_file", json!({ "path": "inbox.md" })),
        ("read_file", json!({ "path": "index.md" })),
        ("write_file", json!({ "path": archive, "content": text })),
        ("write_file", json!({ "path": "inbox.md", "content": "Nothing yet.\n" })),
        ("append_to_file", json!({ "path": "index.md", "content": format!("- week {week}\n") })),
        ("append_to_file", json!({ "path": "log.md", "content": format!("Archived {week}.\n") })),
        ("list_files", json!({ "path": "archive" })),
    ]
    .map(|(tool, input)| json!({ "tool": tool, "input": input }))
    .to_vec()
}

fn setup() -> String {
    let mut text = String::from("permission auto-edit\nfile log.md: Log.\\n\n");
    let _ = writeln!(text, "file inbox.md: {}\\n", inbox().replace('\n', "\\n"));
    text.push_str("file index.md: 40 times - an earlier week\\n\n");
    text
}

/// Plays the task in a new session, or in one in which something was said before.
fn scenario(setup: &str, script: &str, before: bool) -> Played {
    let (hello, answer) = match before {
        true => ("says Hello.\n", "says: Hello.\n\n"),
        false => ("", ""),
    };
    let text = format!(
        "# T\n\n```setup\n{setup}```\n```script\n{answer}{script}```\n```people\n{hello}says \
         {SAID}\n```\n"
    );
    let played = play(&parse(&text).expect("a scenario"), Depth::Memory, 0).expect("it is played");
    laws::check(&played.facts, &played.requests).expect("the laws hold");
    played
}

/// Call by call, each of which the model is asked for.
fn normal(before: bool) -> Played {
    let mut script = String::new();
    for call in calls("47", &inbox()) {
        let (tool, input) = (call["tool"].as_str().unwrap_or_default(), &call["input"]);
        let _ = write!(script, "delay: {CALL_MS}ms\ncalls: {tool} {input}\n\n");
    }
    let _ = write!(script, "delay: {CALL_MS}ms\nsays: The inbox is archived as week 47.\n");
    scenario(&(setup() + "recipes off\n"), &script, before)
}

fn recipe() -> Value {
    json!({
        "id": "archive-inbox", "name": "Archive the inbox", "triggers": ["archive the inbox"],
        "description": "Moves what stands in the inbox into the archive of a week, and logs it.",
        "parameters": [{ "name": "week", "description": "its number" }],
        "steps": calls("{{week}}", "{{step1.result}}"),
    })
}

/// What the planner answers.
fn plan() -> Value {
    Value::Array(calls("47", "{{step1.result}}"))
}

/// The same calls by way of a recipe.
fn fast(before: bool) -> Played {
    let plan = plan();
    let setup = setup()
        + &format!(
            "recipe 3 0 {}\nplan-delay {CALL_MS}\nplan Archive the inbox => {plan}\n",
            recipe()
        );
    let script = format!(
        "expect: \"All 7 steps are done\"\ndelay: {CALL_MS}ms\nsays: The inbox is \
         archived as week 47.\n"
    );
    scenario(&setup, &script, before)
}

/// Sums up what was asked; `planned` is what the planner was asked and said, in bytes.
fn sum(played: &Played, planned: Option<(u64, u64)>) -> Sum {
    let mut sum = Sum::default();
    let finished = |fact: &PublishedFact| matches!(fact.event.as_ref(), Event::RunFinished(_));
    // What was said before the task is not part of it.
    let first = played.facts.iter().rev().skip(1).position(finished);
    let from = first.map_or(0, |back| played.facts.len() - 1 - back);
    let facts = &played.facts[from..];
    for fact in facts {
        match fact.event.as_ref() {
            Event::ModelRequested(f) => {
                sum.model_calls += 1;
                sum.tokens_in += f.tokens_estimated;
                sum.bytes += f.bytes;
                sum.tokens_new += f.tokens_estimated * (f.bytes - f.prefix_bytes) / f.bytes;
            }
            Event::ModelReplied(f) => sum.tokens_out += f.usage.output,
            Event::CallStarted(_) => sum.tool_calls += 1,
            _ => (),
        }
    }
    if let Some((asked, said)) = planned {
        // The planner's question by the same measure as the requests beside it.
        let tokens = |bytes: u64| bytes * sum.tokens_in / sum.bytes;
        let (asked_tokens, said_tokens) = (tokens(asked), tokens(said));
        sum.model_calls += 1;
        sum.bytes += asked;
        sum.tokens_in += asked_tokens;
        sum.tokens_new += asked_tokens;
        sum.tokens_out += said_tokens;
    }
    let ends = (facts.first(), facts.last());
    if let (Some(first), Some(last)) = ends {
        sum.ms = last.ts.ms_since(first.ts);
    }
    sum
}

/// Bytes of the planner's question and of its answer.
fn planner_bytes() -> (u64, u64) {
    let recipe: Recipe = serde_json::from_value(recipe()).expect("a recipe");
    let specs: Vec<_> = weir_tools::built_in_tools()
        .iter()
        .map(|tool| tool.spec().clone())
        .filter(|spec| recipe.steps.iter().any(|step| step.tool == spec.name))
        .collect();
    let asked = planning::PLANNER.len() + planning::planner_question(SAID, &recipe, &specs).len();
    (asked as u64, plan().to_string().len() as u64)
}

#[test]
fn l16_table_of_the_fast_path_against_the_normal_loop() {
    let mut table = String::new();
    for (before, name) in [(false, "a new session"), (true, "a session under way")] {
        let (slow, quick) = (normal(before), fast(before));
        assert_eq!(slow.files, quick.files, "the same work was done");
        let (slow, quick) = (sum(&slow, None), sum(&quick, Some(planner_bytes())));
        let _ = writeln!(table, "| {name} | normal loop | fast path | share |\n|---|---|---|---|");
        for (name, of) in [
            ("model calls, planner included", (|s: &Sum| s.model_calls) as fn(&Sum) -> u64),
            ("calls of tools", |s| s.tool_calls),
            ("tokens in", |s| s.tokens_in),
            ("of these not sent before", |s| s.tokens_new),
            ("tokens out", |s| s.tokens_out),
            ("bytes of requests", |s| s.bytes),
            ("time at 2 s a model call, in ms", |s| s.ms),
        ] {
            let (a, b) = (of(&slow), of(&quick));
            let share = 100.0 * b as f64 / a.max(1) as f64;
            let _ = writeln!(table, "| {name} | {a} | {b} | {share:.0} % |");
        }
        table.push('\n');
        assert_eq!((slow.model_calls, slow.tool_calls, quick.tool_calls), (8, 7, 7));
        assert!(quick.model_calls <= 3, "{quick:?}");
        assert!(quick.tokens_in * 6 < slow.tokens_in, "{slow:?} {quick:?}");
        assert!(quick.ms * 2 < slow.ms, "{slow:?} {quick:?}");
    }
    println!("{table}");
}
