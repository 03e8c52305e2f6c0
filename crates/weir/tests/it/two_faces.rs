//! One session in two programs of one state folder: one has it, the other follows and speaks by
//! letter (F1, G4). And files that a copy winds back (G7), as one program does.

use std::path::Path;

use serde_json::Value;
use weir_test_kit::{TestInstallation, wait_until_async};

fn house(script: &str, config: &str) -> TestInstallation {
    TestInstallation::with_scripted_model(&format!("name: test\n\n{script}"), config)
}

/// The only session that is no copy.
fn session(house: &TestInstallation) -> String {
    let list = house.json(&["sessions", "list", "--json"]);
    let all = list.as_array().expect("a list").iter();
    let mut first = all.filter(|one| one["parent"].is_null());
    first.next().expect("a session")["id"].as_str().expect("an id").to_owned()
}

fn facts(house: &TestInstallation, session: &str) -> Vec<Value> {
    let text = house.ok(&["sessions", "export", session, "--format", "jsonl"]);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["seq"].is_u64()).collect()
}

fn count(facts: &[Value], kind: &str) -> usize {
    facts.iter().filter(|fact| fact["kind"] == kind).count()
}

/// Inputs with these words.
fn said(facts: &[Value], words: &str) -> usize {
    let inputs = facts.iter().filter(|fact| fact["kind"] == "input.accepted");
    inputs.filter(|fact| fact["content"].to_string().contains(words)).count()
}

async fn until(what: &str, mut look: impl FnMut() -> bool) {
    wait_until_async(what, async || look().then_some(()).ok_or("it is not so")).await;
}

#[tokio::test]
async fn f1_what_a_second_program_says_is_answered_by_the_one_that_has_the_session() {
    let house = house("says: First answer.\n\nsays: Second answer.\n\nsays: Third answer.\n", "");
    let mut first = house.start_face(&[], &[]);
    first.type_line("One.");
    first.until("First answer.", 1).await;
    let id = session(&house);
    let mut second = house.start_face_at_terminal(&[], &["--resume", &id]);
    second.until("has this session now", 1).await;
    second.until("First answer.", 1).await;
    second.type_line("Two.");
    second.until("Second answer.", 1).await;
    first.until("Second answer.", 1).await;
    let written = facts(&house, &id);
    assert_eq!((said(&written, "One."), said(&written, "Two.")), (1, 1), "{written:?}");
    assert_eq!(count(&written, "session.resumed"), 0, "the first had it all the time");
    // The first is left in good order: who speaks next has it.
    first.type_line("/quit");
    assert_eq!(first.close_input_until_end().await.status, 0);
    second.type_line("Three.");
    second.until("Third answer.", 1).await;
    second.type_line("/quit");
    let (status, shown) = second.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{shown}");
    let written = facts(&house, &id);
    assert_eq!(said(&written, "Three."), 1);
    assert_eq!(count(&written, "session.resumed"), 1);
    assert_eq!(count(&written, "run.finished"), 3);
}

#[tokio::test]
async fn d9_a_letter_that_nobody_read_is_said_once_by_its_writer_when_the_reader_dies() {
    let house = house("says: First answer.\n\nsays: Second answer.\n\nsays: Third answer.\n", "");
    let mut first = house.start_face(&[], &[]);
    first.type_line("One.");
    first.until("First answer.", 1).await;
    let id = session(&house);
    until("the first run is over", || count(&facts(&house, &id), "run.finished") == 1).await;
    let mut second = house.start_face_at_terminal(&[], &["--resume", &id]);
    second.until("First answer.", 1).await;
    // It stands still: it has the session, and reads nothing.
    first.signal("-STOP");
    second.type_line("Two.");
    second.until("it is handed to", 1).await;
    assert_eq!(said(&facts(&house, &id), "Two."), 0, "it lies in the box");
    first.kill();
    second.until("the process that ran this session has gone; it goes on here", 1).await;
    second.until("Second answer.", 1).await;
    second.type_line("Three.");
    second.until("Third answer.", 1).await;
    second.type_line("/quit");
    let (status, shown) = second.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{shown}");
    let written = facts(&house, &id);
    let times = ["One.", "Two.", "Three."].map(|words| said(&written, words));
    assert_eq!(times, [1, 1, 1], "each once: {written:?}");
    assert_eq!(shown.matches("Second answer.").count(), 1, "{shown}");
    // Nothing of it is left to be heard: whoever takes the session up finds it at rest.
    let mut third = house.start_face(&[], &["--resume", &id]);
    third.until("Third answer.", 1).await;
    third.type_line("/quit");
    assert_eq!(third.close_input_until_end().await.status, 0);
    assert_eq!(count(&facts(&house, &id), "input.accepted"), 3);
}

#[tokio::test]
async fn d9_a_letter_that_was_taken_back_is_not_said_by_who_read_it() {
    let house = house("says: First answer.\n\nsays: Second answer.\n", "");
    let at = |name: &str| house.at(name).display().to_string();
    // Whoever has the session takes its time over what is said second.
    let (go, done) = (at("go"), at("done"));
    let hook = format!(
        "#!/bin/sh\ncase \"$(cat)\" in *Two.*) while [ ! -e '{go}' ]; do sleep 0.1; done; \
         touch '{done}';; esac\n"
    );
    house.write(&house.at("hook.sh"), &hook);
    let config = std::fs::read_to_string(house.user_config()).expect("there");
    let hooks = format!(
        "[[hooks.UserPromptSubmit]]\ncommand = \"sh '{}'\"\ntimeout = 600\n",
        at("hook.sh")
    );
    house.write(&house.user_config(), &(config + &hooks));
    let mut first = house.start_face(&[], &[]);
    first.type_line("One.");
    first.until("First answer.", 1).await;
    let id = session(&house);
    let mut second = house.start_face_at_terminal(&[], &["--resume", &id]);
    second.until("First answer.", 1).await;
    second.type_line("Two.");
    second.until("it was taken back", 1).await;
    house.write(&house.at("go"), "");
    until("the hook is done", || house.at("done").exists()).await;
    second.type_line("Three.");
    second.until("Second answer.", 1).await;
    let written = facts(&house, &id);
    assert_eq!((said(&written, "Two."), said(&written, "Three.")), (0, 1), "{written:?}");
}

#[tokio::test]
async fn d9_what_was_read_and_not_answered_goes_on_at_its_writer_when_the_reader_dies() {
    let script = "says: First answer.\n\n\
        says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
        says: It is written.\n";
    let house = house(script, "");
    let mut first = house.start_face(&[], &[]);
    first.type_line("One.");
    first.until("First answer.", 1).await;
    let id = session(&house);
    until("the first run is over", || count(&facts(&house, &id), "run.finished") == 1).await;
    let mut second = house.start_face_at_terminal(&[], &["--resume", &id]);
    second.until("First answer.", 1).await;
    second.type_line("Write.");
    first.until("a.txt", 1).await;
    until("it asks", || count(&facts(&house, &id), "approval.requested") == 1).await;
    first.kill();
    second.until("the process that ran this session has gone; it goes on here", 1).await;
    until("the second has it", || count(&facts(&house, &id), "session.resumed") == 1).await;
    second.type_line("yes");
    second.until("It is written.", 1).await;
    second.type_line("/quit");
    let (status, shown) = second.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{shown}");
    assert_eq!(text(&house.work().join("a.txt")), "a\n", "once");
    assert_eq!(said(&facts(&house, &id), "Write."), 1);
}

#[tokio::test]
async fn d5_a_run_that_stopped_goes_on_whatever_ended_before_it() {
    let answers: String = (1..=12).map(|n| format!("says: Answer {n}.\n\n")).collect();
    let script = format!(
        "{answers}says: I write.\ncalls: append_to_file {{\"path\": \"a.txt\", \"content\": \"a\\n\"}}\n\n\
         says: It is written.\n"
    );
    let house = house(&script, "");
    let mut first = house.start_face(&[], &[]);
    for n in 1..=12 {
        first.type_line("Next.");
        first.until(&format!("Answer {n}."), 1).await;
    }
    first.type_line("Write.");
    first.until("a.txt", 1).await;
    let id = session(&house);
    until("it asks", || count(&facts(&house, &id), "approval.requested") == 1).await;
    first.kill();
    // The runs that ended are told first, and none of them is the one that stopped.
    let mut second = house.start_face_at_terminal(&[], &["--resume", &id]);
    until("it goes on", || count(&facts(&house, &id), "session.resumed") == 1).await;
    second.until("a.txt", 1).await;
    second.type_line("yes");
    second.until("It is written.", 1).await;
    assert_eq!(text(&house.work().join("a.txt")), "a\n", "once");
}

#[tokio::test]
async fn d9_what_others_had_under_way_is_not_gone_on_with_unasked() {
    let script = "says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
        says: It is written.\n";
    let house = house(script, "");
    let mut first = house.start_face(&[], &[]);
    first.type_line("Write.");
    first.until("a.txt", 1).await;
    let id = session(&house);
    let mut second = house.start_face_at_terminal(&[], &["--resume", &id]);
    second.until("a.txt", 1).await;
    first.kill();
    second.until("your next message takes it up here", 1).await;
    assert_eq!(count(&facts(&house, &id), "session.resumed"), 0);
    second.type_line("yes");
    second.until("It is written.", 1).await;
    assert_eq!(text(&house.work().join("a.txt")), "a\n");
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).expect("readable")
}

#[tokio::test]
async fn g7_a_copy_winds_back_what_its_original_changed() {
    let script = "says: I write.\n\
        calls: append_to_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\n\
        says: One is written.\n\n\
        says: Again.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"two\\n\"}\n\n\
        says: Two is written.\n\n";
    let house = house(script, "permission = \"auto-edit\"\n");
    let file = house.work().join("a.txt");
    house.write(&file, "zero\n");
    let mut face = house.start_face(&[], &[]);
    face.type_line("First.");
    face.until("One is written.", 1).await;
    let first = session(&house);
    face.type_line("/fork");
    face.type_line("Second.");
    face.until("Two is written.", 1).await;
    for (number, told) in [("1", 1), ("2", 2)] {
        face.type_line("/rewind");
        face.until("Type a number to go back", told).await;
        face.type_line(number);
        face.until("What should go back?", told).await;
        let is_of_both = face.text().contains(&format!("goes back too ({first})"));
        assert_eq!((is_of_both, face.text().contains("-one")), (told == 2, told == 2));
        face.type_line(if told == 2 { "files" } else { "no" });
    }
    face.until("put back: a.txt", 1).await;
    assert_eq!(text(&file), "zero\n");
}
