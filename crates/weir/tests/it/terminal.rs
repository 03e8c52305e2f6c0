//! What reaches a terminal (A15): the real binary at a pseudo-terminal (that of `script` of
//! util-linux), and the same into a pipe. Not here: the face that draws (`tests/tui`), and approvals
//! at a terminal.

use weir_test_kit::TestInstallation;

/// What a hostile answer does to a terminal: writes the clipboard, clears the screen (in both ways of
/// writing it), sets the title, turns the line round.
const HOSTILE: &str = "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{1b}[2Jc\u{9b}2Jd\u{9d}0;evil\u{9c}e\u{202e}fdp.\u{2066}f\u{8}\u{7f}g\th";
/// The same as a person may see it.
const SHOWN: &str = "a<U+001B>]52;c;ZXZpbA==<U+0007>b<U+001B>[2Jc<U+009B>2Jd<U+009D>0;evil<U+009C>\
                     e<U+202E>fdp.<U+2066>f<U+0008><U+007F>g\th";

/// A house whose model is hostile, in its answer and in what its tools are told to do.
fn house() -> TestInstallation {
    let house = TestInstallation::new();
    let call = "calls: run_shell {\"command\": \"printf 'x\\\\033[2Jy\\\\302\\\\2332Jz'; ls /\\u001b]0;t\\u0007\"}";
    house.write(
        &house.at("s.script"),
        &format!("think: {HOSTILE}\nsays: {HOSTILE}\n{call}\n\nsays: |\n  {HOSTILE}\n  second 👩\u{200d}🚀\n"),
    );
    house
}

/// What a terminal gets of a command: standard output and standard error as they fall.
fn at_terminal(house: &TestInstallation, args: &[&str]) -> String {
    at_terminal_with(house, &[], args)
}

/// The same with variables of its environment.
fn at_terminal_with(house: &TestInstallation, variables: &[(&str, &str)], args: &[&str]) -> String {
    let mut command = house.command_at_terminal(args);
    let output = command.envs(variables.iter().copied()).env("TERM", "xterm").output();
    let output = output.expect("`script` of util-linux is installed");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Fails where something in `screen` would steer a terminal.
fn steers_nothing(what: &str, screen: &str) {
    let steers = |c: char| {
        let layout = matches!(c, '\n' | '\r' | '\t');
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && !layout) || turns
    };
    assert!(!screen.contains(steers), "{what}: {screen:?}");
}

fn run_words<'a>(script: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "-m", script, "--permission", "full"], more, &["look"]].concat()
}

#[test]
fn a15_an_answer_never_steers_the_terminal() {
    let house = house();
    let script = house.script_model();
    for more in [&[][..], &["--output", "json"], &["--output", "jsonl", "--deltas"]] {
        let screen = at_terminal(&house, &run_words(&script, more));
        steers_nothing(&format!("run {more:?}"), &screen);
        assert!(screen.contains("]52;c;ZXZpbA=="), "it is shown, not hidden: {screen}");
    }
    let screen = at_terminal(&house, &run_words(&script, &[]));
    assert!(screen.contains(&format!("{SHOWN}\r\nsecond 👩\u{200d}🚀\r\n")), "{screen:?}");
}

#[test]
fn a15_a_pipe_gets_the_answer_as_it_is() {
    let house = house();
    let script = house.script_model();
    let answer = house.ok(&run_words(&script, &[]));
    assert_eq!(answer, format!("{HOSTILE}\nsecond 👩\u{200d}🚀\n"));
}

#[test]
fn a15_nothing_that_is_kept_steers_the_terminal_later() {
    let house = house();
    let script = house.script_model();
    let title = format!("{HOSTILE} title");
    let said = house.run(&["run", "-m", &script, "--permission", "full", &title]);
    assert_eq!(said.status, 0, "{}", said.err);
    let listed = house.json(&["sessions", "list", "--json"]);
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let mut commands = vec![
        vec!["sessions", "list"],
        vec!["sessions", "list", "--json"],
        vec!["sessions", "show", &id],
        vec!["sessions", "show", &id, "--json"],
        vec!["sessions", "search", "title"],
        vec!["audit", "tail"],
        vec!["context", &id],
        vec!["replay", &id],
        vec!["doctor"],
    ];
    for form in ["jsonl", "markdown", "html", "script"] {
        commands.push(vec!["sessions", "export", &id, "--format", form]);
    }
    for command in commands {
        steers_nothing(&command.join(" "), &at_terminal(&house, &command));
    }
    // A file keeps it as it was said.
    let script = house.ok(&["sessions", "export", &id, "--format", "script"]);
    assert!(script.contains("\u{1b}]52;c;") || script.contains("\\u001b]52;c;"), "{script}");
}

#[test]
fn a15_neither_a_wrong_flag_nor_the_log_steers_the_terminal() {
    let house = house();
    for wrong in
        [&["--x\u{1b}[2J\u{202e}"][..], &["run", "--permission", "a\u{9b}2J\u{1b}]0;t\u{7}"]]
    {
        let screen = at_terminal(&house, wrong);
        steers_nothing(&format!("{wrong:?}"), &screen);
        assert!(screen.contains("<U+"), "it is shown, not hidden: {screen:?}");
        assert!(screen.contains("--help"), "and what to do: {screen}");
    }
    let script = house.script_model();
    for form in ["text", "json"] {
        let variables = [("WEIR_LOG", "trace"), ("WEIR_LOG_FORM", form)];
        let screen = at_terminal_with(&house, &variables, &run_words(&script, &[]));
        steers_nothing(&format!("the log as {form}"), &screen);
        assert!(screen.contains("TRACE") || screen.contains("DEBUG"), "there is a log: {screen}");
    }
}
