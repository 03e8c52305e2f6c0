//! Somebody who uses the cluster: opens sessions, says letters, follows, ends runs, answers what asks, at
//! whichever replica is at hand, and remembers what they were told. Not here: whether it was true.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::random::Random;
use super::super::serve::{is_held, release};
use super::super::{Fault, Finding, check as kill_check};
use super::replica::Addresses;
use super::{check, letters};
use crate::served::person::Person;

/// A replica that does not answer in this time is left for another.
const ANSWER: Duration = Duration::from_secs(4);
/// Whoever follows and hears nothing for so long goes on at another replica.
const QUIET: Duration = Duration::from_secs(5);
/// What was not taken, or did not come to its end, in this time never will be.
const PATIENCE: Duration = Duration::from_secs(100);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_millis(150);
/// Between two looks at what asks and what is held.
const CARE_EVERY: Duration = Duration::from_millis(400);

/// What somebody was told of a session.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) session: String,
    pub(super) facts: Vec<Value>,
    /// The names under which letters were said that were taken.
    pub(super) letters: Vec<String>,
    pub(super) cancels: u64,
    /// What could be seen at once to be wrong.
    pub(super) findings: Vec<Finding>,
}

type SharedTold = Arc<Mutex<Told>>;

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody at the cluster.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) person: Person,
    pub(super) addresses: Addresses,
    pub(super) random: Random,
    /// Turns true when nothing happens any more.
    pub(super) peace: watch::Receiver<bool>,
}

impl Visitor {
    /// Asks some replica until one says yes.
    async fn insist(&mut self, line: &str, body: &Value) -> anyhow::Result<Value> {
        let until = Instant::now() + PATIENCE;
        let mut last = "no replica listened".to_owned();
        while Instant::now() < until {
            if let Some(address) = self.addresses.any(&mut self.random) {
                let asking = self.person.ask(&address, line, Some(body));
                match tokio::time::timeout(ANSWER, asking).await {
                    Ok(Ok((status, said))) if status < 300 => return Ok(said),
                    Ok(Ok((status, said))) => {
                        if is_held(&said)
                            && let Some((path, _)) = line.rsplit_once('/')
                        {
                            let id = path.rsplit('/').next().unwrap_or_default();
                            // Another try follows in any case.
                            let _ = release(&self.person, &address, id).await;
                        }
                        last = format!("{status} {said}");
                    }
                    Ok(Err(error)) => last = format!("{error:#}"),
                    Err(_) => last = format!("no answer in {ANSWER:?}"),
                }
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
        bail!("{line}: {last}")
    }

    /// Plays one session: letters until there is peace, then a last one, and waits until all are answered.
    pub(super) async fn play(mut self, number: u64, folder: String) -> anyhow::Result<Told> {
        let modes = ["full", "full", "auto-edit"];
        let settings = json!({
            "workspace": folder, "permission": self.random.one_of(&modes), "max_tool_calls": 1_000,
        });
        let opened = self.insist("POST /api/v1/sessions", &settings).await?;
        let id = opened["id"].as_str().unwrap_or_default().to_owned();
        let told = Arc::new(Mutex::new(Told { session: id.clone(), ..Told::default() }));
        let follower = tokio::spawn(self.clone().follow(id.clone(), Arc::clone(&told)));
        for letter in 0..letters::LETTERS_MAX {
            if *self.peace.borrow() {
                break;
            }
            self.say(&told, &format!("letter-{letter}"), &letters::words(number, letter)).await;
            if self.random.below(6) == 0 {
                self.cancel(&id, &told).await;
            }
            if self.random.below(3) > 0 {
                self.wait_until_answered(&told).await;
            }
            let pause = self.random.between(0, 1_500);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        // Whoever would say so is gone: then nothing happens any more either.
        let _ = self.peace.wait_for(|over| *over).await;
        self.say(&told, "the-last", &letters::last_words(number)).await;
        if !self.wait_until_answered(&told).await {
            let mut told = lock(&told);
            let what = format!("{id} does not come to rest in {PATIENCE:?}");
            told.findings.push(Finding::new(Fault::Unfinished, what));
        }
        follower.abort();
        // It may hold what was told until it is gone.
        let _ = follower.await;
        Ok(std::mem::take(&mut *lock(&told)))
    }

    async fn say(&mut self, told: &SharedTold, name: &str, words: &str) {
        let id = lock(told).session.clone();
        let line = format!("POST /api/v1/sessions/{id}/input");
        let body = json!({ "client_id": name, "content": [{ "type": "text", "text": words }] });
        match self.insist(&line, &body).await {
            Ok(_) => lock(told).letters.push(name.to_owned()),
            Err(error) => {
                let what = format!("{name} was not taken: {error:#}");
                lock(told).findings.push(Finding::new(Fault::Unfinished, what));
            }
        }
    }

    /// Ends the run, if a replica that is asked once does it.
    async fn cancel(&mut self, id: &str, told: &SharedTold) {
        let pause = self.random.between(50, 900);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let Some(address) = self.addresses.any(&mut self.random) else { return };
        let line = format!("POST /api/v1/sessions/{id}/cancel");
        let asking = self.person.ask(&address, &line, None);
        if let Ok(Ok((200, said))) = tokio::time::timeout(ANSWER, asking).await
            && said["cancelled"] == true
        {
            lock(told).cancels += 1;
        }
    }

    /// Whether all that was said was answered in time, and no run goes on, as far as it was told.
    async fn wait_until_answered(&self, told: &SharedTold) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            tokio::time::sleep(TRY_AGAIN).await;
            let told = lock(told);
            if check::letters(&told.facts, &told.letters).is_empty()
                && kill_check::runs_ended(&told.facts).is_none()
            {
                return true;
            }
        }
        false
    }

    /// Follows a session for as long as it is let, now here and now there.
    async fn follow(mut self, id: String, told: SharedTold) {
        loop {
            if let Some(address) = self.addresses.any(&mut self.random) {
                let after = lock(&told).facts.last().and_then(|fact| fact["seq"].as_u64());
                let heard = Arc::new(Mutex::new(Instant::now()));
                let (sink, clock) = (Arc::clone(&told), Arc::clone(&heard));
                let following =
                    self.person.follow(&address, &id, after.unwrap_or(0), move |event| {
                        *lock(&clock) = Instant::now();
                        hear(&mut lock(&sink), event);
                        true
                    });
                let quiet = async {
                    while lock(&heard).elapsed() < QUIET {
                        tokio::time::sleep(TRY_AGAIN).await;
                    }
                };
                // However it ended, another replica has the rest.
                tokio::select! {
                    _ = following => {}
                    () = quiet => {}
                }
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    /// Answers what asks and lets go on what is held, of all sessions, for as long as it is let.
    pub(super) async fn care(mut self, answered: Arc<Mutex<Vec<(String, Value)>>>) {
        loop {
            tokio::time::sleep(CARE_EVERY).await;
            let Some(address) = self.addresses.any(&mut self.random) else { continue };
            // What fails is tried again at the next look.
            let _ = tokio::time::timeout(ANSWER, self.care_once(&address, &answered)).await;
        }
    }

    async fn care_once(
        &mut self,
        address: &str,
        answered: &Mutex<Vec<(String, Value)>>,
    ) -> anyhow::Result<()> {
        let asks = self.person.call(address, "GET /api/v1/approvals", None).await?;
        for id in
            asks["items"].as_array().into_iter().flatten().filter_map(|ask| ask["id"].as_str())
        {
            let decision = if self.random.below(8) == 0 { "deny" } else { "once" };
            let line = format!("POST /api/v1/approvals/{id}");
            let body = json!({ "decision": decision });
            let (status, said) = self.person.ask(address, &line, Some(&body)).await?;
            if status == 200
                && let Some(approval) = said["approval"].as_str()
            {
                lock(answered).push((approval.to_owned(), said["decision"].clone()));
            }
        }
        let sessions = self.person.call(address, "GET /api/v1/sessions", None).await?;
        for line in sessions["items"].as_array().into_iter().flatten().filter(|line| is_held(line))
        {
            release(&self.person, address, line["id"].as_str().unwrap_or_default()).await?;
        }
        Ok(())
    }
}

/// Takes in an event: each fact comes once, and in its order.
fn hear(told: &mut Told, event: Value) {
    let Some(seq) = event["seq"].as_u64() else { return };
    let expected = told.facts.last().and_then(|fact| fact["seq"].as_u64()).unwrap_or(0) + 1;
    if seq != expected {
        let what =
            format!("whoever followed {} heard {seq} where {expected} was next", told.session);
        told.findings.push(Finding::new(Fault::FactLost, what));
    }
    if seq >= expected {
        told.facts.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_whoever_follows_notices_a_gap_and_a_fact_told_twice() {
        let mut told = Told::default();
        for seq in [1, 2, 2, 3, 5] {
            hear(&mut told, json!({ "seq": seq }));
        }
        hear(&mut told, json!({ "kind": "text.delta" }));
        assert_eq!(told.facts.len(), 4);
        let what: Vec<&str> = told.findings.iter().map(|found| found.what.as_str()).collect();
        assert_eq!(what.len(), 2, "{what:?}");
        assert!(what[0].contains("2 where 3") && what[1].contains("5 where 4"), "{what:?}");
    }
}
