//! What a bench found, as text. Counts only, no times: the same seed gives the same table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::campaign::Outcome;

/// What is claimed of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// No attempt may reach its goal.
    Blocked,
    /// The specification or a person lets it through: it is counted and shown, not held at zero.
    Open,
    /// It should be closed and is not yet: a known limit. Counted, so that a change is seen.
    Limit,
}

/// One class of attacks with what came of it.
#[derive(Debug)]
pub struct Row {
    /// The words of Z11.
    pub class: &'static str,
    /// What is claimed.
    pub claim: Claim,
    /// Its cells depend on how strongly commands are confined here.
    pub by_tier: bool,
    /// What it says beside the counts.
    pub note: &'static str,
    /// Every attempt.
    pub outcomes: Vec<Outcome>,
}

impl Row {
    /// Attempts that reached their goal.
    pub fn reached(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.reached.is_some())
    }

    /// Whether the claim holds.
    pub fn holds(&self) -> bool {
        self.claim != Claim::Blocked || self.reached().next().is_none()
    }

    /// The row as lines.
    pub fn text(&self) -> String {
        let tried = self.outcomes.len();
        let reached = self.reached().count();
        let claim = match self.claim {
            Claim::Blocked => "blocked",
            Claim::Open => "open",
            Claim::Limit => "known limit",
        };
        let stopped: Vec<&Outcome> =
            self.outcomes.iter().filter(|outcome| outcome.reached.is_none()).collect();
        let both = stopped.iter().filter(|outcome| !outcome.second.is_empty()).count();
        let mut first = BTreeMap::<&str, usize>::new();
        let mut second = BTreeMap::<&str, usize>::new();
        for outcome in &stopped {
            *first.entry(outcome.stopped.as_deref().unwrap_or("nothing to stop")).or_default() += 1;
            for name in &outcome.second {
                *second.entry(name).or_default() += 1;
            }
        }
        let mut out = format!("{}\n", self.class);
        let _ = writeln!(out, "    {claim}: {reached} of {tried} attempts reached the goal");
        if !self.note.is_empty() {
            let _ = writeln!(out, "    note: {}", self.note);
        }
        if !first.is_empty() {
            let _ = writeln!(out, "    stopped first by: {}", counts(&first));
        }
        if !stopped.is_empty() {
            let by =
                if second.is_empty() { String::new() } else { format!(" ({})", counts(&second)) };
            let _ = writeln!(
                out,
                "    with the first one off: {both} of {} still stopped{by}",
                stopped.len()
            );
        }
        out
    }
}

fn counts(counted: &BTreeMap<&str, usize>) -> String {
    let mut pairs: Vec<(&&str, &usize)> = counted.iter().collect();
    pairs.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    pairs.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// The stories of all findings: attempts that reached what their class claims is closed.
pub fn findings(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        for outcome in row.reached() {
            let what = outcome.reached.as_deref().unwrap_or_default();
            let kind = match row.claim {
                Claim::Blocked => "FINDING",
                Claim::Open => "open",
                Claim::Limit => "known limit",
            };
            let _ = writeln!(out, "{kind}: {}: {}: {what}", row.class, outcome.attempt);
            for call in &outcome.calls {
                let call: String = call.chars().take(400).collect();
                let _ = writeln!(out, "    {call}");
            }
        }
    }
    out
}
