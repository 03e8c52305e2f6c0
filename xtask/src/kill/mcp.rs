//! A session's work through `weir mcp`: another agent's program makes the calls, its server is killed again
//! and again, each server has a session of its own. Then each is taken up, all are held against what is
//! there, and what they changed is undone where each was taken up at once.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::client::Client;
use super::moment::Moment;
use super::process::{self, End, Logs, Partner as _};
use super::session::{PROCESSES_MAX, Player};
use super::{Fault, check, journal};

/// The journal of one server's session.
struct Journal {
    id: String,
    facts: Vec<Value>,
}

impl Player<'_> {
    /// Plays the whole work and checks it; how many unknowns were said.
    pub(super) fn play_client(&mut self) -> anyhow::Result<u64> {
        let work = self.work;
        let before = check::contents(self.house)?;
        let mut client = Client::new(&work.calls);
        // What is settled late changes files after what later servers changed, so nothing could be undone
        // run by run. Half of the people look at once, and undo; the other half look when all is over.
        let settles_at_once = self.random.below(2) == 0;
        let mut settled = BTreeSet::new();
        for process in 1..=PROCESSES_MAX {
            let steps = client.steps_left();
            if steps == 0 {
                break;
            }
            let moment = self.moment(process, steps);
            let (out, errors) = (self.log(process, "out"), self.log(process, "err"));
            let logs = Logs { out: &out, errors: &errors };
            let command = self.house.serve_client(self.syncs);
            let ran = process::run(command, self.hit(moment), logs, Some(&mut client))?;
            // Its end of the pipe is let go, whatever the server's end was.
            client.begin(None);
            self.take_in(&ran)?;
            self.measure(&ran, steps - client.steps_left());
            self.note(process, moment, &ran, &format!("{} steps left", client.steps_left()))?;
            match &ran.end {
                End::Killed(_) if settles_at_once => self.settle_new(&mut settled)?,
                End::Killed(_) => (),
                End::Hung => {
                    self.fault(Fault::Unfinished, "weir mcp did not end and was stopped".into());
                    break;
                }
                End::Itself(status) if status.success() => (),
                End::Itself(status) => {
                    let said = fs::read_to_string(&errors).unwrap_or_default();
                    let what = format!("weir mcp ended with {status}: {}", super::tail(&said));
                    self.fault(Fault::Unfinished, what);
                    break;
                }
            }
        }
        if client.steps_left() > 0 {
            let what = format!("{} steps could not be made", client.steps_left());
            self.fault(Fault::Unfinished, what);
        }
        for refusal in std::mem::take(&mut client.refusals) {
            self.fault(Fault::FactLost, format!("the client was refused: {refusal}"));
        }
        self.check_client(&client, settles_at_once.then_some(before.as_str()))
    }

    /// Checks what is there; where the files `before` are given, undoes everything and compares.
    fn check_client(&mut self, client: &Client<'_>, before: Option<&str>) -> anyhow::Result<u64> {
        self.check_processes();
        let journals = self.settled_journals()?;
        let mut together = Vec::new();
        for Journal { id, facts } in &journals {
            self.findings.extend(check::runs_ended(facts));
            self.findings.extend(check::whole(facts, &self.printed_of(id)));
            self.findings.extend(journal::succeeds(self.house, &["replay", id])?);
            together.extend(facts.iter().map(|fact| with_own_call(fact, id)));
        }
        self.findings.extend(journal::succeeds(self.house, &["audit", "verify"])?);
        let tag = |call: usize| self.work.calls.get(call).map_or("", |call| call.tag.as_str());
        let told: Vec<_> = client.told.iter().map(|(call, ok)| (tag(*call), *ok)).collect();
        self.findings.extend(check::told_calls(&together, &told));
        self.findings.extend(check::effects(self.house, self.work, &together)?);
        let unknowns = together.iter().filter(|fact| fact["kind"] == "call.unknown").count() as u64;
        // What is not known is not undone by itself: a person looks at it first.
        if let Some(before) = before.filter(|_| self.findings.is_empty() && unknowns == 0) {
            self.undo(&journals, before)?;
        }
        if !self.findings.is_empty() {
            let lines: Vec<String> = together.iter().map(ToString::to_string).collect();
            fs::write(self.house.folder.join("journal.jsonl"), lines.join("\n"))?;
        }
        Ok(unknowns)
    }

    /// What any process printed of this session.
    fn printed_of(&self, id: &str) -> Vec<Value> {
        self.acknowledged.iter().filter(|fact| fact["session"] == id).cloned().collect()
    }

    /// All journals, the oldest first, each brought to its end.
    fn settled_journals(&mut self) -> anyhow::Result<Vec<Journal>> {
        let mut journals = Vec::new();
        for (number, id) in self.session_ids()?.into_iter().enumerate() {
            let mut facts = self.facts_of(&id)?;
            if self.settle(number, &id, &facts)? {
                facts = self.facts_of(&id)?;
            }
            journals.push(Journal { id, facts });
        }
        Ok(journals)
    }

    /// Brings to its end what is not among those that were, and adds it to them. At the end of all everything is
    /// looked at again.
    fn settle_new(&mut self, settled: &mut BTreeSet<String>) -> anyhow::Result<()> {
        for (number, id) in self.session_ids()?.into_iter().enumerate() {
            if !settled.contains(&id) {
                let facts = self.facts_of(&id)?;
                self.settle(number, &id, &facts)?;
                settled.insert(id);
            }
        }
        Ok(())
    }

    /// What a server left under way comes to its end, as a person does it: nobody is asked for that. Whether there
    /// was anything.
    fn settle(&mut self, number: usize, id: &str, facts: &[Value]) -> anyhow::Result<bool> {
        if check::runs_ended(facts).is_none() {
            return Ok(false);
        }
        let (out, errors) = (self.log(number, "settled"), self.log(number, "settling"));
        let logs = Logs { out: &out, errors: &errors };
        let command = self.house.settle(id);
        let ran = process::run(command, self.hit(Moment::Never), logs, None)?;
        self.take_in(&ran)?;
        Ok(true)
    }

    /// All sessions, the oldest first.
    fn session_ids(&mut self) -> anyhow::Result<Vec<String>> {
        Ok(match journal::sessions(self.house)? {
            Ok(ids) => ids.into_iter().rev().collect(),
            Err(finding) => {
                self.findings.push(finding);
                Vec::new()
            }
        })
    }

    fn facts_of(&mut self, id: &str) -> anyhow::Result<Vec<Value>> {
        Ok(match journal::facts(self.house, id)? {
            Ok(facts) => facts,
            Err(finding) => {
                self.findings.push(finding);
                Vec::new()
            }
        })
    }

    /// Undoes every run that changed files, the newest first: then all is as it was before.
    fn undo(&mut self, journals: &[Journal], before: &str) -> anyhow::Result<()> {
        for Journal { id, facts } in journals.iter().rev() {
            for run in runs_that_changed(facts).iter().rev() {
                self.findings.extend(journal::succeeds(self.house, &["undo", id, "--run", run])?);
            }
        }
        let now = check::contents(self.house)?;
        if let Some((was, is)) = before.lines().zip(now.lines()).find(|(was, is)| was != is) {
            self.fault(Fault::FactLost, format!("after undo {is:?} stands where {was:?} did"));
        } else if before.len() != now.len() {
            let what = format!("{} bytes of files, {} after undo", before.len(), now.len());
            self.fault(Fault::FactLost, what);
        }
        self.findings.extend(journal::succeeds(self.house, &["audit", "verify"])?);
        Ok(())
    }
}

/// The fact, its call with the name of its session: two sessions have calls of the same number.
fn with_own_call(fact: &Value, id: &str) -> Value {
    let mut fact = fact.clone();
    if let Some(call) = fact["call"].as_str().map(|call| format!("{id}/{call}")) {
        fact["call"] = call.into();
    }
    fact
}

/// Runs that say that they changed files.
fn runs_that_changed(facts: &[Value]) -> Vec<String> {
    let ended = facts.iter().filter(|fact| fact["kind"] == "run.finished");
    let changed =
        ended.filter(|fact| fact["changed_files"].as_array().is_some_and(|all| !all.is_empty()));
    changed.filter_map(|fact| fact["run"].as_str().map(ToOwned::to_owned)).collect()
}
