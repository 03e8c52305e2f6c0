//! What waits for a person beside a short session and beside a long one (`--inbox`, D8): the inbox, one approval,
//! the list of sessions and a decision must not take longer because of what stands in the journal. Not here: the
//! page of a long chat, which the bench `chat` of weir-server measures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::json;

use super::super::figures::{Row, median};
use super::super::house::{House, small};
use super::super::model::{Model, Reply, Script};
use super::super::turns::TURNS;
use super::served::Served;
use crate::served::person::{PASSWORD, Person};

/// Turns of the sessions that are compared.
const SHORT: usize = 10;
const LONG: usize = 2_000;
/// How often each thing is asked for, and how many decisions are made.
const TIMES: usize = 40;
const DECISIONS: usize = 10;
/// How much longer it may take beside the long one.
const RATIO_MAX: f64 = 1.3;
/// How long a session may take until it asks.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const INBOX: &str = "GET /api/v1/approvals";

/// Somebody with a session that waits for them.
struct Waiting {
    person: Person,
    /// What it waits for.
    id: String,
}

/// What it took, in milliseconds.
#[derive(Default)]
struct Times {
    inbox: Vec<f64>,
    approval: Vec<f64>,
    sessions: Vec<f64>,
    decision: Vec<f64>,
}

/// Measures both.
///
/// # Errors
/// The server refuses something, or a session does not ask.
pub(in crate::bench) fn rows(house: &House) -> anyhow::Result<Vec<Row>> {
    let reads = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&reads);
    // Reads, as long as some are left; then changes, which a person is asked about.
    let script: Script = Arc::new(move |number: usize| {
        let taken =
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match taken.ok().and_then(|left| u32::try_from(left).ok()) {
            Some(left) => Reply::Read(small(left % TURNS)),
            None => {
                let input = json!({ "path": format!("asked/{number}.txt"), "content": "x" });
                Reply::Calls(vec![("write_file", input)])
            }
        }
    });
    let model = Model::start_forgetful(script)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measured(house, &model, &reads))
}

async fn measured(house: &House, model: &Model, reads: &AtomicUsize) -> anyhow::Result<Vec<Row>> {
    let url = model.url();
    let served = Served::start(house, url.trim_start_matches("http://"), None)?;
    let address = served.address.as_str();
    let admin = Person::sign_in(address, "admin").await?;
    let workspace = house.at("workspace").display().to_string();
    let mut waiting = Vec::new();
    for (name, turns) in [("short", SHORT), ("long", LONG)] {
        // Admins, because these may work in any folder.
        let account = json!({ "name": name, "password": PASSWORD, "role": "admin" });
        admin.call(address, "POST /api/v1/users", Some(&account)).await?;
        let person = Person::sign_in(address, name).await?;
        reads.store(turns, Ordering::SeqCst);
        let settings = json!({
            "workspace": workspace, "profile": "code", "permission": "ask",
            "max_tool_calls": 100_000,
        });
        let session = person.open_session(address, &settings).await?;
        person.say(address, &session, "Read the files, then write.").await?;
        let id = next_question(&person, address, "").await?;
        waiting.push(Waiting { person, id });
    }
    let mut times = [Times::default(), Times::default()];
    // In turns, so that whatever else happens on the machine happens to both.
    for _ in 0..TIMES {
        for (one, times) in waiting.iter().zip(&mut times) {
            times.inbox.push(took(&one.person, address, INBOX).await?);
            let line = format!("{INBOX}/{}", one.id);
            times.approval.push(took(&one.person, address, &line).await?);
            times.sessions.push(took(&one.person, address, "GET /api/v1/sessions").await?);
        }
    }
    for _ in 0..DECISIONS {
        for (one, times) in waiting.iter_mut().zip(&mut times) {
            times.decision.push(decided(one, address).await?);
        }
    }
    let lines = waiting[1].person.call(address, "GET /api/v1/sessions", None).await?;
    let facts = lines["items"][0]["facts"].as_f64().unwrap_or(0.0);
    ensure!(facts > LONG as f64, "the long session has {facts} facts only");
    let [short, long] = times;
    Ok(compared(&short, &long, facts))
}

/// What the person is asked next, after the question `before`.
async fn next_question(person: &Person, address: &str, before: &str) -> anyhow::Result<String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let inbox = person.call(address, INBOX, None).await?;
        match inbox["items"][0]["id"].as_str() {
            Some(id) if id != before => return Ok(id.to_owned()),
            _ => ensure!(Instant::now() < until, "the session asks nothing: {inbox}"),
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn took(person: &Person, address: &str, line: &str) -> anyhow::Result<f64> {
    let began = Instant::now();
    person.call(address, line, None).await?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// Says yes once, and waits for the next question.
async fn decided(one: &mut Waiting, address: &str) -> anyhow::Result<f64> {
    let line = format!("POST /api/v1/approvals/{}", one.id);
    let began = Instant::now();
    one.person.call(address, &line, Some(&json!({ "decision": "once" }))).await?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    one.id = next_question(&one.person, address, &one.id).await?;
    Ok(took)
}

fn compared(short: &Times, long: &Times, facts: f64) -> Vec<Row> {
    let mut rows = vec![Row::watched("D8", "facts of the long session", facts, "facts")];
    for (what, short, long) in [
        ("inbox", &short.inbox, &long.inbox),
        ("one approval", &short.approval, &long.approval),
        ("list of sessions", &short.sessions, &long.sessions),
        ("decision", &short.decision, &long.decision),
    ] {
        let ratio = [median(long) / median(short).max(f64::MIN_POSITIVE)];
        let beside = |turns: usize| format!("{what} beside a session of {turns} turns");
        rows.push(Row::of("D8", &beside(SHORT), short, "ms"));
        rows.push(Row::of("D8", &beside(LONG), long, "ms"));
        let measure = format!("{what}: beside the long one against the short one");
        rows.push(Row::at_most("D8", &measure, &ratio, "×", RATIO_MAX));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_what_takes_longer_beside_a_long_session_is_missed() {
        let times = |inbox: f64| Times {
            inbox: vec![inbox],
            approval: vec![1.0],
            sessions: vec![1.0],
            decision: vec![1.0],
        };
        let rows = compared(&times(1.0), &times(1.4), 9_000.0);
        let judged: Vec<bool> = rows.iter().filter_map(|row| row.met).collect();
        assert_eq!(judged, [false, true, true, true]);
    }
}
