//! Holds what the database saw being written against what it keeps: one writer for each epoch, each fact once
//! and in its place, letters answered, and how long sessions stood still. Pure: what is judged comes in. What a
//! journal must be by itself, the check of the kills knows (`kill::check`).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::super::{Fault, Finding};
use super::clock::NOTICED_S;
use super::fault::Disturbance;

/// A process that the database has not heard of for so long has lost its sessions.
pub(super) const LEASE: Duration = Duration::from_secs(10);
/// What was under way when a process was hit is still written within this time.
const UNDER_WAY: f64 = 0.5;

/// A fact as the database saw it being written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Written {
    pub(super) session: String,
    pub(super) seq: u64,
    pub(super) hash: String,
    /// Of the session, when it was written.
    pub(super) epoch: u64,
    /// The process whose connection wrote it.
    pub(super) writer: String,
    /// Seconds since 1970, by the clock of the database.
    pub(super) at: f64,
    /// The same by the clock of whoever wrote it, as the fact itself says.
    pub(super) own_time: f64,
}

/// What there is against the writers of one session, in the order of its facts.
pub(super) fn writers(rows: &[Written]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut owners: BTreeMap<u64, &str> = BTreeMap::new();
    for (number, row) in (1_u64..).zip(rows) {
        if row.writer.is_empty() {
            findings.push(broken(row, "nobody knows which process wrote it"));
            return findings;
        }
        let owner = *owners.entry(row.epoch).or_insert(&row.writer);
        if owner != row.writer {
            findings.push(broken(row, &format!("{owner} wrote in epoch {} too", row.epoch)));
        }
        if row.seq != number {
            findings.push(broken(row, &format!("it was written as number {number}")));
            return findings;
        }
    }
    for pair in rows.windows(2) {
        if pair[1].epoch < pair[0].epoch {
            findings.push(broken(&pair[1], &format!("after a fact of epoch {}", pair[0].epoch)));
        }
        if pair[1].at < pair[0].at {
            findings.push(broken(&pair[1], "it was written before the fact in front of it"));
        }
    }
    findings
}

fn broken(row: &Written, why: &str) -> Finding {
    let Written { session, seq, epoch, writer, .. } = row;
    let what = format!("fact {seq} of {session}, by {writer} in epoch {epoch}: {why}");
    Finding::new(Fault::BrokenJournal, what)
}

/// What was written is what is kept: as many facts, each with the hash that it had.
pub(super) fn kept(rows: &[Written], hashes: &[(u64, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if rows.len() != hashes.len() {
        let what = format!("{} facts were written and {} are kept", rows.len(), hashes.len());
        findings.push(Finding::new(Fault::FactLost, what));
    }
    for (row, (seq, hash)) in rows.iter().zip(hashes) {
        if (row.seq, &row.hash) != (*seq, hash) {
            findings.push(broken(row, "another fact is kept in its place"));
            break;
        }
    }
    findings
}

/// How many facts have another time than that at which the database saw them: clocks differ.
pub(super) fn wrong_times(rows: &[Written]) -> usize {
    rows.iter().filter(|row| (row.own_time - row.at).abs() > NOTICED_S).count()
}

/// Runs that came to nothing: a disturbed cluster is no reason for one.
pub(super) fn failed(journal: &[Value]) -> Vec<Finding> {
    let has_failed = |fact: &&Value| {
        fact["kind"] == "run.finished"
            && (fact["status"] == "failed" || fact["status"] == "interrupted")
    };
    let told = |fact: &Value| {
        let what = format!("a run ended as {}: {}", fact["status"], fact["error"]);
        Finding::new(Fault::Unfinished, what)
    };
    journal.iter().filter(has_failed).map(told).collect()
}

/// Every letter that somebody was told is taken stands in the journal, once, and a run that was told it has
/// ended, or the journal says that it was taken back.
pub(super) fn letters(journal: &[Value], told: &[String]) -> Vec<Finding> {
    told.iter().filter_map(|letter| unanswered(journal, letter)).collect()
}

fn unanswered(journal: &[Value], letter: &str) -> Option<Finding> {
    let taken: Vec<&Value> = journal
        .iter()
        .filter(|fact| fact["kind"] == "input.accepted" && fact["client_id"] == letter)
        .collect();
    let input = match taken.as_slice() {
        [one] => &one["input"],
        [] => {
            let what = format!("{letter} was acknowledged and is not in the journal");
            return Some(Finding::new(Fault::FactLost, what));
        }
        more => {
            let what = format!("{letter} was said once and taken {} times", more.len());
            return Some(Finding::new(Fault::EffectDoubled, what));
        }
    };
    // Ending a run takes back what waits, and says so.
    let is_back = |fact: &Value| fact["kind"] == "input.withdrawn" && fact["input"] == *input;
    if journal.iter().any(is_back) {
        return None;
    }
    let has = |fact: &Value| fact["inputs"].as_array().is_some_and(|all| all.contains(input));
    let delivered = journal.iter().position(|fact| fact["kind"] == "turn.started" && has(fact));
    let is_answered =
        delivered.is_some_and(|at| journal[at..].iter().any(|fact| fact["kind"] == "run.finished"));
    (!is_answered).then(|| {
        let how = if delivered.is_some() { "no run ended after it" } else { "no turn had it" };
        Finding::new(Fault::Unfinished, format!("{letter} was not answered: {how}"))
    })
}

/// An answer to an approval that was acknowledged stands in the journal as it was acknowledged.
pub(super) fn approvals(journal: &[Value], told: &[(String, Value)]) -> Vec<Finding> {
    let is_kept = |approval: &str, decision: &Value| {
        journal.iter().any(|fact| {
            fact["kind"] == "approval.resolved"
                && fact["approval"] == approval
                && fact["decision"] == *decision
        })
    };
    told.iter()
        .filter(|(approval, decision)| !is_kept(approval, decision))
        .map(|(approval, decision)| {
            let what = format!("{approval} was acknowledged as {decision}; the journal differs");
            Finding::new(Fault::FactLost, what)
        })
        .collect()
}

/// How long a session stood still after its process was hit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TakeOver {
    pub(super) took: f64,
    /// How long it may have taken: two leases, and as long as others were hit meanwhile.
    pub(super) allowed: f64,
}

/// After which hits this session, which was at work, was gone on with, and how soon.
pub(super) fn take_overs(
    rows: &[Written],
    journal: &[Value],
    hits: &[Disturbance],
) -> Vec<TakeOver> {
    let took = |hit: &Disturbance| {
        if !hit.kind.costs_lease() {
            return None;
        }
        let next = rows.iter().position(|row| row.at > hit.began + UNDER_WAY)?;
        let last = rows.get(next.checked_sub(1)?)?;
        if Some(&last.writer) != hit.writer.as_ref() || !is_at_work(journal, last.seq) {
            return None;
        }
        let took = rows[next].at - hit.began;
        let until = rows[next].at;
        let others = hits.iter().filter(|other| *other != hit);
        let meanwhile: f64 = others
            .map(|other| (other.ended.min(until) - other.began.max(hit.began)).max(0.0))
            .sum();
        Some(TakeOver { took, allowed: 2.0 * LEASE.as_secs_f64() + meanwhile })
    };
    hits.iter().filter_map(took).collect()
}

/// Whether a run was under way after this fact, and waited for nobody.
fn is_at_work(journal: &[Value], seq: u64) -> bool {
    let before = journal.iter().take_while(|fact| fact["seq"].as_u64().is_some_and(|n| n <= seq));
    let (mut runs, mut asks) = (0_i64, 0_i64);
    for fact in before {
        match fact["kind"].as_str().unwrap_or_default() {
            "run.started" => runs += 1,
            "run.finished" => (runs, asks) = (runs - 1, 0),
            "approval.requested" => asks += 1,
            "approval.resolved" => asks -= 1,
            _ => {}
        }
    }
    runs > 0 && asks <= 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fault::FaultKind;
    use super::*;

    fn row(seq: u64, epoch: u64, writer: &str) -> Written {
        let (session, writer) = ("s".to_owned(), writer.to_owned());
        let (hash, at) = (format!("h{seq}"), seq as f64);
        Written { session, seq, hash, epoch, writer, at, own_time: at }
    }

    fn faults(findings: &[Finding]) -> Vec<Fault> {
        findings.iter().map(|finding| finding.fault).collect()
    }

    #[test]
    fn d7_two_writers_of_one_epoch_are_found() {
        let good = [row(1, 1, "r1.1"), row(2, 1, "r1.1"), row(3, 2, "r2.1"), row(4, 5, "r1.1")];
        assert!(writers(&good).is_empty());
        let two = [row(1, 1, "r1.1"), row(2, 2, "r2.1"), row(3, 2, "r1.1")];
        assert_eq!(faults(&writers(&two)), [Fault::BrokenJournal], "an old writer in a new epoch");
        let back = [row(1, 2, "r2.1"), row(2, 1, "r1.1")];
        assert_eq!(faults(&writers(&back)), [Fault::BrokenJournal], "an old epoch");
        let fork = [row(1, 1, "r1.1"), row(2, 1, "r1.1"), row(2, 2, "r2.1")];
        assert_eq!(faults(&writers(&fork)), [Fault::BrokenJournal], "a fact twice");
        let gap = [row(1, 1, "r1.1"), row(3, 1, "r1.1")];
        assert_eq!(faults(&writers(&gap)), [Fault::BrokenJournal], "a fact too few");
        let late = [row(1, 1, "r1.1"), Written { at: 0.5, ..row(2, 1, "r1.1") }];
        assert_eq!(faults(&writers(&late)), [Fault::BrokenJournal], "out of order");
        let nobody = [row(1, 1, ""), row(2, 2, "")];
        assert_eq!(faults(&writers(&nobody)), [Fault::BrokenJournal], "nobody knows by whom");
    }

    #[test]
    fn d7_facts_by_a_clock_that_was_set_are_counted() {
        let late = Written { own_time: 3_602.0, ..row(2, 1, "r1.1") };
        let early = Written { own_time: -87.0, ..row(3, 1, "r1.1") };
        let near = Written { own_time: 5.0, ..row(4, 1, "r1.1") };
        assert_eq!(wrong_times(&[row(1, 1, "r1.1"), late, early, near]), 2);
    }

    #[test]
    fn d7_a_run_that_failed_is_no_answer() {
        let run =
            |status: &str| json!({ "kind": "run.finished", "status": status, "error": "why" });
        assert!(failed(&[run("completed"), run("cancelled"), run("limit")]).is_empty());
        assert_eq!(faults(&failed(&[run("failed"), run("interrupted")])), [Fault::Unfinished; 2]);
    }

    #[test]
    fn d7_what_was_written_and_is_not_kept_is_found() {
        let rows = [row(1, 1, "r1.1"), row(2, 1, "r1.1")];
        let hashes = |all: &[(u64, &str)]| -> Vec<(u64, String)> {
            all.iter().map(|(seq, hash)| (*seq, (*hash).to_owned())).collect()
        };
        assert!(kept(&rows, &hashes(&[(1, "h1"), (2, "h2")])).is_empty());
        assert_eq!(faults(&kept(&rows, &hashes(&[(1, "h1")]))), [Fault::FactLost]);
        let other = hashes(&[(1, "h1"), (2, "other")]);
        assert_eq!(faults(&kept(&rows, &other)), [Fault::BrokenJournal]);
    }

    #[test]
    fn d7_a_letter_that_was_acknowledged_is_answered_once() {
        let accepted =
            |input: &str| json!({"kind": "input.accepted", "input": input, "client_id": "one"});
        let withdrawn = |input: &str| json!({"kind": "input.withdrawn", "input": input});
        let turn = json!({"kind": "turn.started", "inputs": ["i1"]});
        let finished = json!({"kind": "run.finished"});
        let told = ["one".to_owned()];
        let cases = [
            (vec![accepted("i1"), turn.clone(), finished.clone()], vec![]),
            (vec![turn.clone(), finished.clone()], vec![Fault::FactLost]),
            (
                vec![accepted("i1"), accepted("i2"), turn.clone(), finished.clone()],
                vec![Fault::EffectDoubled],
            ),
            (vec![accepted("i1"), turn.clone()], vec![Fault::Unfinished]),
            (vec![accepted("i1"), withdrawn("i1")], vec![]),
            (vec![accepted("i1"), withdrawn("i2")], vec![Fault::Unfinished]),
            (vec![finished.clone(), accepted("i1"), turn], vec![Fault::Unfinished]),
            (vec![accepted("i1"), finished], vec![Fault::Unfinished]),
        ];
        for (journal, expected) in cases {
            assert_eq!(faults(&letters(&journal, &told)), expected, "{journal:?}");
        }
        let said = [json!({"kind": "approval.resolved", "approval": "s-a1", "decision": "once"})];
        let told = |decision: &str| [("s-a1".to_owned(), json!(decision))];
        assert!(approvals(&said, &told("once")).is_empty());
        assert_eq!(faults(&approvals(&said, &told("deny"))), [Fault::FactLost]);
        assert_eq!(faults(&approvals(&[], &told("once"))), [Fault::FactLost]);
    }

    #[test]
    fn d8_how_long_a_session_stands_still_is_measured() {
        let mut rows = vec![row(1, 1, "r1.1"), row(2, 1, "r1.1"), row(3, 2, "r2.1")];
        rows[2].at = 30.0;
        let run = [json!({"kind": "run.started", "seq": 1}), json!({"kind": "x", "seq": 2})];
        let hit = |kind, writer: &str, began, ended| Disturbance {
            kind,
            writer: Some(writer.to_owned()),
            began,
            ended,
        };
        let killed = hit(FaultKind::Kill, "r1.1", 2.0, 2.0);
        let found = take_overs(&rows, &run, std::slice::from_ref(&killed));
        assert_eq!(found, [TakeOver { took: 28.0, allowed: 20.0 }]);
        let other = hit(FaultKind::Pause, "r2.1", 0.0, 12.0);
        let found = take_overs(&rows, &run, &[killed.clone(), other]);
        assert_eq!(found, [TakeOver { took: 28.0, allowed: 30.0 }], "the other was hit meanwhile");
        let elsewhere = hit(FaultKind::Kill, "r3.1", 2.0, 2.0);
        assert!(take_overs(&rows, &run, &[elsewhere]).is_empty(), "it was not its process");
        let cut = Disturbance { kind: FaultKind::Drop, ..killed.clone() };
        assert!(take_overs(&rows, &run, &[cut]).is_empty(), "no lease is lost by that");
        assert!(take_overs(&rows, &[], &[killed]).is_empty(), "it was at rest");
    }
}
