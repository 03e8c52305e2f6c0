//! `weir agents daemon`: a real process, real seconds. Each test waits for what it looks for.

use serde_json::{Value, json};
use weir_test_kit::{RunningProgram, TestInstallation, wait_until};

use super::{SAYS, WRITES, add, first_approval, history, house, read, text};

const EACH_SECOND: &str = "* * * * * *";

fn daemon(house: &TestInstallation) -> RunningProgram {
    house.start(&["agents", "daemon"])
}

/// Ends a daemon; what it said.
fn ended(daemon: RunningProgram, house: &TestInstallation) -> String {
    daemon.signal("-TERM");
    let output = daemon.wait_for_end();
    assert_eq!(output.status, 0, "{}", output.err);
    assert!(output.out.is_empty(), "nothing on standard output");
    assert!(house.run(&["audit", "verify"]).status == 0, "the journals are whole");
    output.err
}

/// The runs of an agent that are in this state.
fn in_state(house: &TestInstallation, name: &str, state: &str) -> Vec<Value> {
    history(house, name).into_iter().filter(|run| run["state"] == state).collect()
}

/// Waits until no run of the agent is under way or waits for its turn.
fn comes_to_rest(house: &TestInstallation, name: &str) {
    let is_open =
        |run: &Value| ["waiting", "running", "asking"].contains(&text(&run["state"]).as_str());
    wait_until("it comes to rest", || {
        let runs = history(house, name);
        if runs.iter().any(is_open) { Err(json!(runs)) } else { Ok(()) }
    });
}

/// The time as histories have it.
fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}

fn waits_for_run(house: &TestInstallation, name: &str, state: &str) -> Value {
    wait_until(&format!("a run is {state}"), || {
        let runs = history(house, name);
        runs.iter().find(|run| run["state"] == state).cloned().ok_or_else(|| json!(runs))
    })
}

#[test]
fn m7_the_daemon_starts_what_is_due_until_it_is_ended() {
    let house = house(SAYS);
    let running = daemon(&house);
    // Added while it waits.
    add(&house, "tick", &["--cron", EACH_SECOND]);
    add(&house, "tock", &["--after", "tick"]);
    let first = waits_for_run(&house, "tick", "completed");
    assert_eq!(text(&first["cause"]), "cron");
    let next = waits_for_run(&house, "tock", "completed");
    assert!(text(&next["tick"]).starts_with("after tick 20"), "{next}");
    let session = text(&first["session"]);
    assert_eq!(house.facts_of_kind(&session, "run.started")[0]["trigger"], "schedule");
    let input = house.facts_of_kind(&session, "input.accepted")[0]["content"].to_string();
    assert!(input.contains("Scheduled run of the agent tick, due 20"), "{input}");
    // Paused: nothing of it is claimed any more.
    house.ok(&["agents", "pause", "tick"]);
    house.ok(&["agents", "remove", "tock"]);
    let err = ended(running, &house);
    assert!(err.contains("tick started: session ") && err.contains("tick completed"), "{err}");
    let runs = history(&house, "tick");
    let mut ticks: Vec<String> = runs.iter().map(|run| text(&run["tick"])).collect();
    let all = ticks.len();
    ticks.sort();
    ticks.dedup();
    assert_eq!(ticks.len(), all, "no tick stands there twice");
}

#[test]
fn m7_two_daemons_run_each_tick_once() {
    let house = house(SAYS);
    let (one, two) = (daemon(&house), daemon(&house));
    add(&house, "tick", &["--cron", EACH_SECOND]);
    wait_until("there are three runs", || {
        let completed = in_state(&house, "tick", "completed");
        if completed.len() >= 3 { Ok(()) } else { Err(json!(completed)) }
    });
    house.ok(&["agents", "pause", "tick"]);
    comes_to_rest(&house, "tick");
    let said = [ended(one, &house), ended(two, &house)].concat();
    let runs = history(&house, "tick");
    let of = |wanted: &str| runs.iter().filter(|run| run["state"] == wanted).count();
    let begun = said.lines().filter(|line| line.starts_with("tick started: ")).count();
    assert_eq!(begun, of("completed") + of("waiting") + of("interrupted"), "{said}\n{runs:?}");
    let mut ticks: Vec<String> = runs.iter().map(|run| text(&run["tick"])).collect();
    ticks.sort();
    ticks.dedup();
    assert_eq!(ticks.len(), runs.len());
}

#[test]
fn m7_a_call_that_asks_is_denied_by_the_daemon_and_nothing_waits() {
    let house = house(WRITES);
    let running = daemon(&house);
    add(&house, "writer", &["--cron", EACH_SECOND, "--tools", "write_file"]);
    let run = waits_for_run(&house, "writer", "needs_input");
    assert!(text(&run["note"]).contains("nobody could be asked"), "{run}");
    ended(running, &house);
    assert_eq!(read(&house, "work/a.txt"), "old\n");
}

#[test]
fn m7_a_call_that_waits_is_answered_from_another_terminal() {
    let house = house(WRITES);
    let running = daemon(&house);
    let args = ["--cron", EACH_SECOND, "--tools", "write_file", "--on-ask", "queue"];
    add(&house, "writer", &args);
    let run = waits_for_run(&house, "writer", "asking");
    // It waits, and the next ticks are skipped.
    waits_for_run(&house, "writer", "skipped");
    house.ok(&["agents", "pause", "writer"]);
    let open = wait_until("there is an approval", || first_approval(&house));
    assert_eq!(open["session"], run["session"]);
    let answered = house.run(&["approvals", "answer", &text(&open["approval"]), "once"]);
    assert_eq!(answered.status, 0, "{}", answered.err);
    let done = waits_for_run(&house, "writer", "completed");
    assert_eq!(done["session"], run["session"]);
    ended(running, &house);
    assert_eq!(read(&house, "work/a.txt"), "new");
}

/// An agent that appends once and has asked for it; the run and its approval.
fn asked_to_append(house: &TestInstallation) -> (Value, String) {
    let args = ["--cron", EACH_SECOND, "--tools", "run_shell", "--on-ask", "queue"];
    add(house, "appends", &args);
    let run = waits_for_run(house, "appends", "asking");
    // Later ticks are none of its own.
    let open = wait_until("there is an approval", || first_approval(house));
    (run, text(&open["approval"]))
}

const APPENDS: &str = "calls: run_shell {\"command\": \"echo once >> log.txt\"}\n\nsays: Done.\n";

#[test]
fn m7_a_daemon_that_is_ended_leaves_its_run_to_the_next() {
    let house = house(APPENDS);
    let running = daemon(&house);
    let (run, approval) = asked_to_append(&house);
    let err = ended(running, &house);
    assert!(err.contains("appends interrupted, to be continued"), "{err}");
    let waiting = waits_for_run(&house, "appends", "waiting");
    assert_eq!(waiting["session"], run["session"]);
    // Answered while nobody runs it.
    assert_eq!(house.run(&["approvals", "answer", &approval, "once"]).status, 0);
    assert_eq!(read(&house, "work/log.txt"), "");
    let running = daemon(&house);
    let done = waits_for_run(&house, "appends", "completed");
    assert_eq!(done["session"], run["session"]);
    house.ok(&["agents", "pause", "appends"]);
    ended(running, &house);
    assert_eq!(house.facts_of_kind(&text(&done["session"]), "call.started").len(), 1);
}

#[test]
fn m7_a_daemon_that_is_killed_leaves_its_run_to_the_next() {
    let house = house(APPENDS);
    let running = daemon(&house);
    let (run, approval) = asked_to_append(&house);
    running.signal("-KILL");
    running.wait_for_end();
    assert_eq!(house.run(&["approvals", "answer", &approval, "once"]).status, 0);
    let running = daemon(&house);
    let done = waits_for_run(&house, "appends", "completed");
    assert_eq!(done["session"], run["session"]);
    house.ok(&["agents", "pause", "appends"]);
    ended(running, &house);
    assert_eq!(house.facts_of_kind(&text(&done["session"]), "call.started").len(), 1);
    let appended = read(&house, "work/log.txt");
    assert!(appended.starts_with("once\n"), "{appended:?}");
}

#[test]
fn m7_the_kill_switch_holds_scheduled_agents_back() {
    let house = house(SAYS);
    house.ok(&["pause"]);
    let mut running = daemon(&house);
    add(&house, "tick", &["--cron", EACH_SECOND]);
    running.wait_for("paused: nothing starts", 1);
    assert_eq!(history(&house, "tick"), Vec::<Value>::new());
    // A run shows that the daemon looks at all: it hears of the release.
    house.ok(&["release"]);
    running.wait_for("released", 1);
    waits_for_run(&house, "tick", "completed");
    house.ok(&["pause"]);
    running.wait_for("paused: nothing starts", 2);
    // At least one tick comes due while it is paused.
    let from = now();
    let tick = jiff::Timestamp::now() + std::time::Duration::from_secs(2);
    wait_until("a tick is due", || {
        let now = jiff::Timestamp::now();
        if now > tick { Ok(()) } else { Err(now) }
    });
    let to = now();
    house.ok(&["release"]);
    wait_until("there is a run after the release", || {
        let runs = in_state(&house, "tick", "completed");
        if runs.iter().any(|run| text(&run["started"]) > to) { Ok(()) } else { Err(json!(runs)) }
    });
    ended(running, &house);
    let begun: Vec<String> =
        history(&house, "tick").iter().map(|run| text(&run["started"])).collect();
    let meanwhile = begun.iter().filter(|at| **at >= from && **at <= to).count();
    assert_eq!(meanwhile, 0, "none began from {from} to {to}: {begun:?}");
}

#[test]
fn m7_what_follows_a_run_by_hand_waits_for_the_daemon() {
    let house = house(SAYS);
    add(&house, "first", &[]);
    add(&house, "second", &["--after", "first"]);
    let said = super::run(&house, "first");
    assert_eq!(said.status, 0, "{}", said.err);
    assert!(said.err.contains("second is due now"), "{}", said.err);
    assert_eq!(in_state(&house, "second", "waiting").len(), 1);
    let running = daemon(&house);
    waits_for_run(&house, "second", "completed");
    ended(running, &house);
    assert_eq!(history(&house, "second").len(), 1);
}
