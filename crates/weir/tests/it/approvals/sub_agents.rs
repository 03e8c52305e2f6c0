//! What sub-agents ask, answered by the person of the root from any terminal (G4, M6): real
//! processes that wait, are answered, die and go on.

use serde_json::Value;

use super::terminal::{PROMPT, run_at_terminal};
use super::{answer, asked, house, read, resume, start, text};

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
    let run = start(&house, &["have it done"]);
    let open = asked(&house, &[]);
    let session = text(&open["session"]);
    assert!(session.ends_with("_c1"), "{open}");
    let root = session.trim_end_matches("_c1").to_owned();
    assert_eq!(text(&open["tool"]), "write_file");
    let said = answer(&house, &text(&open["approval"]), &["once"]);
    assert_eq!(said.status, 0, "{}", said.err);
    let output = run.wait_for_end();
    assert_eq!((output.status, output.out.as_str()), (0, "Done.\n"));
    let shown = output.err;
    assert!(shown.contains("asked by the agent code:"), "{shown}");
    assert!(shown.contains("was answered elsewhere: allowed once"), "{shown}");
    assert!(shown.contains("changed: a.txt"), "{shown}");
    assert_eq!(read(&house, "work/a.txt"), "new");
    let asked = house.facts_of_kind(&root, "agent.asked");
    assert_eq!((asked.len(), &asked[0]["path"]), (1, &serde_json::json!(["code"])));
    let answered = house.facts_of_kind(&root, "agent.answered");
    assert_eq!((answered.len(), &answered[0]["decision"]), (1, &Value::from("once")));
}

#[test]
fn m6_what_agents_ask_is_answered_at_the_terminal_with_the_path_to_them() {
    let house = house(DEEP);
    let mut terminal = run_at_terminal(&house, &["go"]);
    terminal.wait_for("asked by the agent code > ", 1);
    terminal.wait_for(PROMPT, 1);
    terminal.type_text("y\n");
    terminal.wait_for(PROMPT, 2);
    terminal.type_text("n once is enough\n");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("answered elsewhere"), "{screen}");
    assert_eq!(read(&house, "work/log.txt"), "once\n", "{screen}");
}

#[test]
fn m6_when_the_person_leaves_agents_wait_for_nobody() {
    let house = house(ONE);
    let mut terminal = run_at_terminal(&house, &["go"]);
    terminal.wait_for(PROMPT, 1);
    terminal.type_text("\u{4}");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 4, "{screen}");
    assert_eq!(read(&house, "work/a.txt"), "old\n");
}

#[test]
fn m6_killed_while_an_agent_asks_it_asks_again_and_does_it_once() {
    let house = house(DEEP);
    let run = start(&house, &["go"]);
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
    assert_eq!(house.facts_of_kind(&root, "agent.spawned").len(), 1);
    assert_eq!(house.facts_of_kind(&root, "agent.finished").len(), 1);
    let below = house.facts_of_kind(&format!("{root}_c1"), "agent.finished");
    assert_eq!(below.len(), 2, "{below:?}");
}
