//! Approvals at a terminal, answered there or elsewhere (G4). The terminal is the one that
//! `script` of util-linux makes.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{APPENDS, ASKS, PATIENCE, Running, answer, asked, facts, house, read, text, write_of};
use crate::house::House;

/// A program with a terminal in front of it.
pub(super) struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Mutex<String>>,
    reads: Option<std::thread::JoinHandle<()>>,
}

impl Terminal {
    pub(super) fn run(house: &House, args: &str) -> Terminal {
        let weir = env!("CARGO_BIN_EXE_weir");
        let script = house.at("s.script").display().to_string();
        let line = format!("'{weir}' run -m 'script:{script}' {args}");
        let mut command = house.command(&[]);
        let mut terminal = std::process::Command::new("script");
        terminal.args(["-qefc", &line, "/dev/null"]).env_clear();
        for (name, value) in command.get_envs() {
            terminal.env(name, value.unwrap_or_default());
        }
        terminal.current_dir(command.get_current_dir().expect("it has one"));
        command = terminal;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("`script` of util-linux is installed");
        let keys = child.stdin.take();
        let mut output = child.stdout.take().expect("it was piped");
        let screen = Arc::new(Mutex::new(String::new()));
        let seen = screen.clone();
        let reads = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                seen.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Terminal { child, keys, screen, reads: Some(reads) }
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `words` stand on the screen so many times.
    pub(super) fn sees(&self, words: &str, times: usize) {
        let begun = Instant::now();
        while self.screen().matches(words).count() < times {
            assert!(begun.elapsed() < PATIENCE, "{words} is missing:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the terminal has shown what was typed last: from then on it is the program's.
    fn echoes(&self, keys: &str) {
        let begun = Instant::now();
        while !self.screen().ends_with(keys) {
            assert!(begun.elapsed() < PATIENCE, "{keys} is not shown:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn types(&mut self, keys: &str) {
        let stdin = self.keys.as_mut().expect("the terminal is open");
        stdin.write_all(keys.as_bytes()).expect("the terminal is open");
        stdin.flush().expect("the terminal is open");
    }

    pub(super) fn end(mut self) -> (i32, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status.code().unwrap_or(-1);
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        };
        // What was printed last is read by the other thread, which ends with the program.
        self.reads.take().expect("it reads").join().expect("it only reads");
        (status, self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.keys = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) const PROMPT: &str = "[y] once";

#[test]
fn g4_what_is_typed_answers() {
    let house = house(&format!("{}{}says: Done.\n", write_of("a.txt", 1), write_of("b.txt", 2)));
    let mut terminal = Terminal::run(&house, "count");
    terminal.sees(PROMPT, 1);
    terminal.types("y\n");
    terminal.sees(PROMPT, 2);
    terminal.types("n not that one\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("answered elsewhere"), "{screen}");
    assert_eq!((read(&house, "work/a.txt"), read(&house, "work/b.txt")), ("1".into(), "".into()));
}

#[test]
fn z2_so_many_calls_are_allowed_at_the_terminal() {
    let script: String = (1..=3).map(|n| write_of("a.txt", n)).collect();
    let house = house(&format!("{script}says: Done.\n"));
    let mut terminal = Terminal::run(&house, "count");
    terminal.sees(PROMPT, 1);
    terminal.types("s 1\n");
    terminal.sees(PROMPT, 2);
    assert_eq!(read(&house, "work/a.txt"), "2");
    terminal.types("s five\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, read(&house, "work/a.txt").as_str()), (0, "2"), "{screen}");
}

#[test]
fn g4_what_was_typed_for_an_answered_one_does_not_answer_the_next() {
    let house = house(&format!("{}{}says: Done.\n", write_of("a.txt", 1), write_of("b.txt", 2)));
    let mut terminal = Terminal::run(&house, "count");
    terminal.sees(PROMPT, 1);
    // Half a line: the person hesitates, and somebody else answers.
    terminal.types("y");
    terminal.echoes("y");
    let first = text(&asked(&house, &[])["approval"]);
    assert_eq!(answer(&house, &first, &["deny", "--reason", "mine"]).status, 0);
    terminal.sees("answered elsewhere: denied", 1);
    terminal.sees(PROMPT, 2);
    terminal.types("n\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(
        (read(&house, "work/a.txt"), read(&house, "work/b.txt")),
        ("old\n".into(), "".into())
    );

    // And the next line typed is for the next one: nothing is eaten.
    let house =
        self::house(&format!("{}{}says: Done.\n", write_of("a.txt", 1), write_of("b.txt", 2)));
    let mut terminal = Terminal::run(&house, "count");
    terminal.sees(PROMPT, 1);
    let first = text(&asked(&house, &[])["approval"]);
    assert_eq!(answer(&house, &first, &["once"]).status, 0);
    terminal.sees(PROMPT, 2);
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!((read(&house, "work/a.txt"), read(&house, "work/b.txt")), ("1".into(), "2".into()));
}

#[test]
fn c2_when_the_input_ends_nobody_is_left_to_ask() {
    let house = house(APPENDS);
    let mut terminal = Terminal::run(&house, "append");
    terminal.sees(PROMPT, 1);
    terminal.types("\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("nobody can be asked from now on"), "{screen}");
    assert_eq!(read(&house, "work/log.txt"), "");

    let house = self::house(ASKS);
    let mut terminal = Terminal::run(&house, "--output json paint");
    terminal.sees("Which colour?", 1);
    terminal.types("\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("\"status\":\"needs_input\""), "{screen}");
    let open = house.json(&["approvals", "list", "--json"]);
    assert_eq!(open["questions"].as_array().map(Vec::len), Some(1), "the question stays open");
}

#[test]
fn g4_a_resumed_run_asks_again_what_was_not_answered() {
    let house = house(APPENDS);
    let run = Running::start(&house, &["append"]);
    let session = text(&asked(&house, &[])["session"]);
    run.kill();
    let mut terminal = Terminal::run(&house, &format!("--resume {session}"));
    terminal.sees(PROMPT, 1);
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!((code, read(&house, "work/log.txt").as_str()), (0, "once\n"), "{screen}");
    let resolved: Vec<Value> = facts(&house, &session, "approval.resolved");
    assert_eq!((resolved.len(), &resolved[0]["by"]), (1, &Value::from("person")));
}
