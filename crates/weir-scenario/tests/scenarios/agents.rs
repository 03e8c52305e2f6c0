//! Sub-agents beside each other (M6): who runs at once and who waits, by the moments that stand in
//! the journals; and eight at once, measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use weir_core::event::Event;
use weir_core::ids::{SessionId, Timestamp};
use weir_scenario::parse;
use weir_scenario::play::{Depth, Played, play};

/// What a model takes to answer in these scenarios.
const REPLY: Duration = Duration::from_secs(10);

/// A scenario in which one reply starts `count` agents, each of which reads a file.
fn scenario(setup: &str, profile: &str, count: usize) -> String {
    let mut text = format!("# agents at once\n\n```setup\nfile a.md: one\n{setup}```\n```script\n");
    for number in 1..=count {
        let step = format!(
            "when: \"part {number}\\\\.\"\ncalls: read_file {{\"path\": \"a.md\"}}\ndelay: 10s\n\n\
             says: Part {number} is done.\ndelay: 10s\nend\n\n"
        );
        text.push_str(&step);
    }
    for number in 1..=count {
        let _ = writeln!(
            text,
            "calls: new_task {{\"task\": \"part {number}.\", \"profile\": \"{profile}\"}}"
        );
    }
    text.push_str("\nsays: All parts are done.\n```\n```people\nsays Do it.\n```\n");
    text
}

fn played(text: &str) -> Played {
    let scenario = parse::parse(text).expect("a scenario");
    let played = play(&scenario, Depth::Memory, 0).expect("it comes to rest");
    weir_scenario::laws::check_all(&played).expect("the laws hold");
    played
}

/// First and last moment of each agent.
fn spans(played: &Played) -> BTreeMap<SessionId, (Timestamp, Timestamp)> {
    let span = |(id, left): (&SessionId, &weir_scenario::play::PlayedAgent)| {
        let first = left.facts.first().map(|fact| fact.ts)?;
        Some((id.clone(), (first, left.facts.last()?.ts)))
    };
    played.agents.iter().filter_map(span).collect()
}

/// The most agents that ran at one moment.
fn at_once(played: &Played) -> usize {
    let spans = spans(played);
    let during =
        |at: Timestamp| spans.values().filter(|(first, last)| *first <= at && at < *last).count();
    spans.values().map(|(first, _)| during(*first)).max().unwrap_or(0)
}

fn lasted(played: &Played) -> Duration {
    let first = played.facts.first().expect("facts").ts;
    Duration::from_millis(played.facts.last().expect("facts").ts.ms_since(first))
}

#[test]
fn m6_agents_that_only_read_run_at_once_up_to_the_limit() {
    for (setup, count, expected) in [
        ("", 3, 3),
        ("", 8, 8),
        ("", 10, 8),
        ("limit parallel_calls: 2\n", 4, 2),
        ("limit parallel_calls: 1\n", 3, 1),
    ] {
        let played = played(&scenario(setup, "ask", count));
        assert_eq!(played.agents.len(), count);
        assert_eq!(at_once(&played), expected, "{count} with {setup:?}");
        let rounds = u32::try_from(count.div_ceil(expected)).expect("small");
        assert!(lasted(&played) < REPLY * 2 * rounds + REPLY, "{:?}", lasted(&played));
    }
}

#[test]
fn m6_agents_that_may_write_here_run_one_after_the_other() {
    let played = played(&scenario("permission auto-edit\n", "code", 3));
    assert_eq!(at_once(&played), 1);
    assert!(lasted(&played) >= REPLY * 6);
}

#[test]
fn m6_readers_go_on_beside_one_that_may_write() {
    let mut text = scenario("permission auto-edit\n", "ask", 3);
    text = text.replacen("part 1.\", \"profile\": \"ask\"", "part 1.\", \"profile\": \"code\"", 1);
    let played = played(&text);
    assert_eq!(at_once(&played), 3);
}

/// 8 at once, 10 s a reply: 20 s if nothing waits for anything. What the engine itself takes is the
/// time of the machine, since the scenario's own time stands still while it works.
#[test]
fn m6_eight_agents_at_once_are_measured() {
    let one = Instant::now();
    played(&scenario("", "ask", 1));
    let one = one.elapsed();
    let eight = Instant::now();
    let played = played(&scenario("", "ask", 8));
    let eight = eight.elapsed();
    let replies = played.agents.values().flat_map(|left| &left.facts);
    let replies = replies.filter(|fact| matches!(*fact.event, Event::ModelReplied(_))).count();
    assert_eq!(replies, 16);
    let waits = lasted(&played).saturating_sub(REPLY * 2);
    println!(
        "8 sub-agents at once: {:?} in the scenario's time, {waits:?} beyond two replies of {REPLY:?}; \
         {eight:?} of work with laws and setup, {:?} for each agent more",
        lasted(&played),
        eight.saturating_sub(one) / 7
    );
    assert!(waits < Duration::from_secs(1), "they waited for each other: {waits:?}");
}
