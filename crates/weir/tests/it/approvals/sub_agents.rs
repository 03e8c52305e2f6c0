//! What sub-agents ask, answered by the person of the root from any terminal (G4, M6): real
//! processes that wait, are answered, die and go on.

use serde_json::Value;

use super::terminal::{PROMPT, Terminal};
use super::{Running, answer, asked, err, facts, house, out, read, resume, text};

/// An agent of an agent that appends to a file by a command.
const DEEP: &str = "when: \"append a line\"\n\
    calls: run_shell {\"command\": \"echo once >> log.txt\"}\n\n\
    says: It is appended.\nend\n\n\
    when: \"have it appended\"\n\
    calls: new_task {\"task\": \"append a line\", \"profile\": \"agent\"}\n\
    calls: new_task {\"task\": \"append a line\", \"profile\": \"code\"}\n\n\
    says: Both did what they could.\nend\n\n\
    calls: new_task {\"task\": \"have it appended\", \"profile\": \"code\"}\n\n\
    says: Done.\n";
/// One agent that writes a file.
const ONE: &str = "when: \"write it\"\n\
    calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\n\
    says: It is written.\nend\n\n\
    calls: new_task {\"task\": \"write it\", \"profile\": \"code\"}\n\n\
    says: Done.\n";

#[test]
fn m6_what_an_agent_asks_is_answered_from_another_process() {
    let house = house(ONE);
    let run = Running::start(&house, &["have it done"]);
    let open = asked(&house, &[]);
    let session = text(&open["session"]);
    assert!(session.ends_with("_c1"), "{open}");
    let root = session.trim_end_matches("_c1").to_owned();
    assert_eq!(text(&open["tool"]), "write_file");
    let said = answer(&house, &text(&open["approval"]), &["once"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let output = run.end();
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(0), "Done.\n"));
    let shown = err(&output);
    assert!(shown.contains("asked by the agent code:"), "{shown}");
    assert!(shown.contains("was answered elsewhere: allowed once"), "{shown}");
    assert!(shown.contains("changed: a.txt"), "{shown}");
    assert_eq!(read(&house, "work/a.txt"), "new");
    let asked = facts(&house, &root, "agent.asked");
    assert_eq!((asked.len(), &asked[0]["path"]), (1, &serde_json::json!(["code"])));
    let answered = facts(&house, &root, "agent.answered");
    assert_eq!((answered.len(), &answered[0]["decision"]), (1, &Value::from("once")));
}

#[test]
fn m6_what_agents_ask_is_answered_at_the_terminal_with_the_path_to_them() {
    let house = house(DEEP);
    let mut terminal = Terminal::run(&house, "go");
    terminal.sees("asked by the agent code > ", 1);
    terminal.sees(PROMPT, 1);
    terminal.types("y\n");
    terminal.sees(PROMPT, 2);
    terminal.types("n once is enough\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("answered elsewhere"), "{screen}");
    assert_eq!(read(&house, "work/log.txt"), "once\n", "{screen}");
}

#[test]
fn m6_when_the_person_leaves_agents_wait_for_nobody() {
    let house = house(ONE);
    let mut terminal = Terminal::run(&house, "go");
    terminal.sees(PROMPT, 1);
    terminal.types("\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!(code, 4, "{screen}");
    assert_eq!(read(&house, "work/a.txt"), "old\n");
}

#[test]
fn m6_killed_while_an_agent_asks_it_asks_again_and_does_it_once() {
    let house = house(DEEP);
    let run = Running::start(&house, &["go"]);
    let open = asked(&house, &[]);
    let session = text(&open["session"]);
    let root = session.split('_').next().unwrap_or_default().to_owned();
    run.kill();
    // Nobody runs it: the answer is written into the journal of the agent itself.
    let said = answer(&house, &text(&open["approval"]), &["once"]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.out.contains(&format!("weir run --resume {root}`")), "{}", said.out);
    let refused = resume(&house, &session, &["go on"]);
    assert_eq!(refused.status, 2, "{}", refused.err);
    assert!(refused.err.contains(&format!("weir run --resume {root}")), "{}", refused.err);
    // Nobody is there for the other one.
    let resumed = resume(&house, &root, &[]);
    assert_eq!((resumed.status, resumed.out.as_str()), (4, "Done.\n"), "{}", resumed.err);
    assert_eq!(read(&house, "work/log.txt"), "once\n", "{}", resumed.err);
    assert_eq!(facts(&house, &root, "agent.spawned").len(), 1);
    assert_eq!(facts(&house, &root, "agent.finished").len(), 1);
    let below = facts(&house, &format!("{root}_c1"), "agent.finished");
    assert_eq!(below.len(), 2, "{below:?}");
}
