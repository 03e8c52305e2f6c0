//! What a present person wants, he can have, exactly and once (U1): the real program, the sandbox of
//! this machine, the real git, and a person who says yes from another terminal. Not here: attacks.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{RunningProgram, TestInstallation};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(240);

/// A house whose model makes these calls, one a turn.
pub(crate) fn house(calls: &[(&str, Value)]) -> TestInstallation {
    let house = TestInstallation::new();
    set_script(&house, calls);
    house
}

fn set_script(house: &TestInstallation, calls: &[(&str, Value)]) {
    let turns: String =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n\n")).collect();
    house.write(&house.at("s.script"), &format!("{turns}says: Done.\n"));
}

fn shell(command: &str) -> (&'static str, Value) {
    ("run_shell", json!({ "command": command }))
}

fn outside(command: &str) -> (&'static str, Value) {
    ("run_shell", json!({ "command": command, "outside_sandbox": true }))
}

fn command(house: &TestInstallation, more: &[&str], variables: &[(&str, &str)]) -> Command {
    let script = house.script_model();
    let mut all = vec!["run", "-m", &script, "--permission", "full", "--output", "jsonl"];
    all.extend(more);
    all.push("go");
    let mut command = house.command(&all);
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    command
}

/// What the run said, and each question with its summary and reason.
pub(crate) struct Played {
    pub(crate) said: String,
    pub(crate) questions: Vec<(String, String)>,
}

/// Runs it, with a person who says yes once to each question.
pub(crate) fn yes(house: &TestInstallation, variables: &[(&str, &str)]) -> Played {
    let mut run = RunningProgram::start(command(house, &["--ask-elsewhere"], variables));
    let begun = Instant::now();
    let mut questions = Vec::new();
    let mut answered: Vec<String> = Vec::new();
    while run.exit_status().is_none() {
        assert!(begun.elapsed() < PATIENCE, "it goes on and on: {questions:?}");
        let open = house.json(&["approvals", "list", "--json"]);
        for asked in open["approvals"].as_array().into_iter().flatten() {
            let text = |field: &str| asked[field].as_str().unwrap_or_default().to_owned();
            let id = text("approval");
            if !answered.contains(&id) {
                house.run(&["approvals", "answer", &id, "once"]);
                questions.push((text("summary"), text("reason")));
                answered.push(id);
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Played { said: run.wait_for_end().status_and_text().1, questions }
}

/// Runs it with nobody there.
pub(crate) fn alone(house: &TestInstallation, variables: &[(&str, &str)]) -> String {
    both(&command(house, &[], variables).output().expect("the program starts"))
}

fn both(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// What the person does, unconfined.
fn by_hand(house: &TestInstallation, line: &str) -> String {
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(house.work()).env("HOME", house.at("home"));
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "p").env(format!("GIT_{who}_EMAIL"), "p@x");
    }
    both(&command.output().expect("bash is there"))
}

fn read(house: &TestInstallation, path: &str) -> Option<String> {
    std::fs::read_to_string(house.at(path)).ok()
}

/// Files below a folder that contain these words.
fn holding(folder: &std::path::Path, words: &str) -> Vec<std::path::PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    let has = bytes.windows(words.len()).any(|part| part == words.as_bytes());
                    found.extend(has.then_some(path));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}

const SECRET: &str = "hunter-4711-sesame";

fn with_secret(command: &str) -> (&'static str, Value) {
    ("run_shell", json!({ "command": command, "secrets": ["GH_TOKEN"] }))
}

#[test]
fn u1_a_command_gets_the_secret_that_a_person_agreed_to_and_nobody_reads_it() {
    let house = house(&[with_secret(
        "echo long ${#GH_TOKEN}; test \"$GH_TOKEN\" = hunter-4711-''sesame && echo same",
    )]);
    let unnamed = yes(&house, &[("GH_TOKEN", SECRET)]);
    assert!(unnamed.said.contains("commands.secrets"), "the setting is named: {}", unnamed.said);
    assert!(!unnamed.said.contains("long 18"), "{}", unnamed.said);
    house.ok(&["config", "set", "commands.secrets", "[\"GH_TOKEN\"]"]);
    let without = alone(&house, &[("GH_TOKEN", SECRET)]);
    assert!(!without.contains("long 18"), "nobody agreed: {without}");
    let played = yes(&house, &[("GH_TOKEN", SECRET)]);
    assert!(played.said.contains("long 18") && played.said.contains("same"), "{}", played.said);
    let [(summary, reason)] = played.questions.as_slice() else {
        panic!("one question: {:?}", played.questions)
    };
    assert!(summary.contains("(secret: GH_TOKEN)"), "{summary}");
    assert!(reason.contains("with your secret GH_TOKEN and no network"), "{reason}");
    assert!(reason.contains("exactly this"), "{reason}");
    assert_eq!(holding(&house.at("state"), SECRET), Vec::<std::path::PathBuf>::new());
    // Whatever the command says of it is taken out of what anybody reads.
    set_script(&house, &[with_secret("echo \"it is $GH_TOKEN\"")]);
    let told = yes(&house, &[("GH_TOKEN", SECRET)]);
    assert!(told.said.contains("it is ") && !told.said.contains(SECRET), "{}", told.said);
}

#[test]
fn u1_a_secret_comes_from_the_store_and_goes_outside_the_sandbox_too() {
    let line = "echo long ${#GH_TOKEN}";
    let input = json!({ "command": line, "secrets": ["GH_TOKEN"], "outside_sandbox": true });
    let house = house(&[("run_shell", input)]);
    house.ok(&["config", "set", "commands.secrets", "[\"GH_TOKEN\"]"]);
    let missing = yes(&house, &[]);
    assert!(missing.said.contains("weir auth set GH_TOKEN"), "{}", missing.said);
    assert_eq!(house.run_with_input(&["auth", "set", "GH_TOKEN"], SECRET).status, 0);
    let played = yes(&house, &[]);
    assert!(played.said.contains("long 18"), "{}", played.said);
    assert_eq!(played.questions.len(), 1);
    assert!(played.questions[0].1.contains("outside the sandbox"), "{:?}", played.questions);
}

#[test]
fn u1_a_command_outside_the_sandbox_has_agents_and_no_keys() {
    let house = house(&[
        shell("printenv SSH_AUTH_SOCK; true"),
        outside("printenv SSH_AUTH_SOCK DISPLAY OTHER_TOKEN; true"),
    ]);
    let variables =
        [("SSH_AUTH_SOCK", "/run/agent-77"), ("DISPLAY", ":77"), ("OTHER_TOKEN", SECRET)];
    let played = yes(&house, &variables);
    assert_eq!(played.said.matches("/run/agent-77\\n:77").count(), 1, "{}", played.said);
    assert!(!played.said.contains(SECRET), "{}", played.said);
    let reason = &played.questions[0].1;
    assert!(reason.contains("your variables (but for those that look like keys)"), "{reason}");
}

#[test]
fn u1_keys_among_tests_ask_and_open_exactly() {
    let house = house(&[
        shell("cat tests/cert.pem; true"),
        ("read_file", json!({ "path": "tests/cert.pem" })),
        ("run_shell", json!({ "command": "cat tests/cert.pem", "reads": ["tests/cert.pem"] })),
        ("read_file", json!({ "path": "deploy/server.key" })),
    ]);
    house.write(&house.at("work/tests/cert.pem"), "test-only-4711\n");
    house.write(&house.at("work/deploy/server.key"), "real-4711\n");
    let closed = alone(&house, &[]);
    assert!(!closed.contains("test-only-4711"), "{closed}");
    let played = yes(&house, &[]);
    assert_eq!(played.questions.len(), 2, "{:?}", played.questions);
    assert!(played.said.matches("test-only-4711").count() >= 2, "{}", played.said);
    assert!(!played.said.contains("real-4711"), "{}", played.said);
    assert!(
        played.said.contains("a command that cannot do without it runs with outside_sandbox: true"),
        "{}",
        played.said
    );
}

#[test]
fn u1_what_lies_outside_is_deleted_and_moved_by_name_and_undo_brings_it_back() {
    let house = house(&[]);
    let at = |path: &str| house.at(path).display().to_string();
    house.write(&house.at("other/old.txt"), "old\n");
    house.write(&house.at("other/build/a/b.txt"), "built\n");
    house.write(&house.at("other/to-move.txt"), "moved\n");
    house.write(&house.at("other/tree/a/b.txt"), "tree\n");
    set_script(
        &house,
        &[
            ("delete_file", json!({ "path": at("other/old.txt") })),
            ("delete_file", json!({ "path": at("other/build"), "recursive": true })),
            ("move_file", json!({ "from": at("other/to-move.txt"), "to": "here.txt" })),
            ("move_file", json!({ "from": at("other/tree"), "to": "tree" })),
            ("delete_file", json!({ "path": "/etc/hostname" })),
            outside("rm -rf /srv"),
        ],
    );
    let without = alone(&house, &[]);
    assert_eq!(read(&house, "other/old.txt").as_deref(), Some("old\n"), "{without}");
    let played = yes(&house, &[]);
    assert_eq!(played.questions.len(), 4, "{:?} {}", played.questions, played.said);
    assert!(played.questions.iter().all(|(_, reason)| reason.contains("exactly this")));
    assert_eq!(read(&house, "other/old.txt"), None, "{}", played.said);
    assert!(!house.at("other/build").exists() && house.at("other").exists());
    assert_eq!(read(&house, "work/here.txt").as_deref(), Some("moved\n"));
    assert_eq!(read(&house, "work/tree/a/b.txt").as_deref(), Some("tree\n"));
    assert!(!house.at("other/tree").exists());
    house.ok(&["undo"]);
    assert_eq!(read(&house, "other/tree/a/b.txt").as_deref(), Some("tree\n"));
    assert_eq!(read(&house, "other/old.txt").as_deref(), Some("old\n"));
    assert_eq!(read(&house, "other/build/a/b.txt").as_deref(), Some("built\n"));
    assert_eq!(read(&house, "other/to-move.txt").as_deref(), Some("moved\n"));
    assert!(!house.at("work/here.txt").exists());
}

#[test]
fn u1_a_command_deletes_one_path_outside_when_a_person_agrees() {
    let house = house(&[]);
    house.write(&house.at("other/x/old.txt"), "old\n");
    let line = format!("rm -rf {}", house.at("other/x").display());
    set_script(&house, &[outside(&line)]);
    alone(&house, &[]);
    assert!(house.at("other/x/old.txt").exists());
    let played = yes(&house, &[]);
    assert!(!house.at("other/x").exists(), "{}", played.said);
    assert_eq!(played.questions.len(), 1, "one question for all of it: {:?}", played.questions);
}

#[test]
fn u1_a_sibling_is_asked_about_by_either_of_its_paths() {
    let house = house(&[
        ("read_file", json!({ "path": "../sibling/README.md" })),
        ("read_file", json!({ "path": "way/README.md" })),
    ]);
    house.write(&house.at("sibling/README.md"), "beside-4711\n");
    std::os::unix::fs::symlink("../sibling", house.at("work/way")).expect("a link");
    let script = house.script_model();
    let all = ["run", "-m", &script, "--permission", "ask", "--output", "jsonl", "go"];
    let without = both(&house.command(&all).output().expect("it starts"));
    assert!(without.contains("approval.requested"), "the plain way asks: {without}");
    assert!(without.contains("leads out of the workspace by a link"), "{without}");
    assert!(!without.contains("beside-4711"), "{without}");
    let played = yes(&house, &[]);
    assert_eq!(played.said.matches("beside-4711").count(), 1, "{}", played.said);
}

#[test]
fn u1_a_stale_lock_of_git_goes_when_a_person_agrees() {
    let house = house(&[shell("rm -f .git/config"), outside("rm .git/index.lock")]);
    by_hand(&house, "git init -q -b main . && touch .git/index.lock");
    let played = yes(&house, &[]);
    assert!(house.at("work/.git/config").exists(), "{}", played.said);
    assert!(!house.at("work/.git/index.lock").exists(), "{}", played.said);
    assert_eq!(played.questions.len(), 1, "{:?}", played.questions);
}

#[test]
fn u1_settings_of_a_repository_name_the_way_out_and_show_the_difference() {
    let house = house(&[
        shell("git config user.name inside; git remote add far ../far; true"),
        outside("git config user.name Ada && git remote add far ../far"),
    ]);
    by_hand(&house, "git init -q -b main . && git config user.name before");
    let played = yes(&house, &[]);
    let config = read(&house, "work/.git/config").unwrap_or_default();
    assert!(config.contains("name = Ada") && config.contains("url = ../far"), "{config}");
    assert!(!config.contains("inside"), "{config}");
    assert!(
        played.said.contains("run the same line again with outside_sandbox: true"),
        "{}",
        played.said
    );
    assert!(!played.said.contains("[the sandbox refused: path"), "{}", played.said);
    let shown = "- user.name = before\\n+ user.name = Ada";
    assert!(played.said.contains(shown), "the difference is shown: {}", played.said);
}

#[test]
fn u1_a_repository_can_be_begun() {
    let house = house(&[shell("git init -q"), shell("git add a && git status --short")]);
    house.write(&house.at("work/a"), "a\n");
    let played = yes(&house, &[]);
    assert!(house.at("work/.git/HEAD").exists(), "{}", played.said);
    assert!(played.said.contains("git takes it for a repository"), "{}", played.said);
    assert!(played.said.contains("A  a"), "{}", played.said);
}

#[test]
fn a1_a_line_that_git_would_break_off_is_not_begun() {
    let house = house(&[
        shell("mv a b && git add -A && git commit -qm two"),
        shell("mv a b"),
        shell("git add -A && git commit -qm two"),
    ]);
    by_hand(
        &house,
        "git init -q -b main . && git config user.name p && git config user.email p@x && \
         echo a > a && git add a && git commit -qm one",
    );
    let said = alone(&house, &[]);
    assert!(said.contains("`mv a b` is neither, so nothing of the line was run"), "{said}");
    assert!(!said.contains("cannot stat"), "the second call moves it: {said}");
    assert!(by_hand(&house, "git show --stat --oneline").contains("two"), "{said}");
    assert!(house.at("work/b").exists(), "{said}");
}

#[test]
fn c3_of_a_line_with_a_part_that_may_not_run_nothing_runs() {
    for list in ["deny", "ask"] {
        let house = house(&[shell("mv a b && git push -q")]);
        let rules = format!("[permissions]\n{list} = [\"Shell(git push:*)\"]\n");
        house.write(&house.user_config(), &rules);
        house.write(&house.at("work/a"), "a\n");
        let said = alone(&house, &[]);
        assert!(house.at("work/a").exists() && !house.at("work/b").exists(), "{list}: {said}");
        assert!(said.contains("git push"), "{list}: {said}");
    }
}

#[test]
fn a1_a_repository_above_the_workspace_is_named_where_git_needs_it() {
    let house = house(&[shell("touch made && git add -A"), shell("git status --short")]);
    by_hand(&house, "git init -q ..");
    let said = alone(&house, &[]);
    assert!(said.contains("above the workspace") && said.contains("weir -C "), "{said}");
    assert!(!house.at("work/made").exists(), "nothing of the line was run: {said}");
}

#[test]
fn u1_amending_what_a_remote_has_is_asked_with_stronger_words() {
    let house = house(&[shell("git commit -q --amend -m two")]);
    by_hand(
        &house,
        "git init -q -b main . && git config user.name p && git config user.email p@x && \
         echo a > a && git add a && git commit -qm one && git clone -q --bare . ../far.git && \
         git remote add origin ../far.git",
    );
    let first = yes(&house, &[]);
    assert_eq!(first.questions.len(), 1, "{}", first.said);
    assert!(!first.questions[0].1.contains("Careful"), "{:?}", first.questions);
    assert!(by_hand(&house, "git log --oneline").contains("two"), "{}", first.said);
    by_hand(&house, "git push -q -f -u origin main");
    let second = yes(&house, &[]);
    let reason = &second.questions[0].1;
    assert!(reason.contains("Careful: origin/main already has the commit"), "{reason}");
}

#[test]
fn u1_a_process_from_outside_names_the_way_out() {
    let mut sleeper = Command::new("sleep").arg("600").spawn().expect("sleep is there");
    let line = format!("kill {}", sleeper.id());
    let house = house(&[shell(&line), outside(&line)]);
    let played = yes(&house, &[]);
    let ended = sleeper.try_wait().expect("it can be asked").is_some();
    sleeper.kill().ok();
    sleeper.wait().expect("it ends");
    assert!(ended, "{}", played.said);
    assert!(played.said.contains("sees no process from outside it"), "{}", played.said);
}
