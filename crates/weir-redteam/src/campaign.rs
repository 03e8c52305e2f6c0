//! A campaign: one hostile session after another against one world, attempt by attempt; after each
//! attempt somebody looks at the world and says whether the goal was reached.

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::event::Event;
use weir_core::governance::{GateName, Verdict};
use weir_core::ids::CallId;
use weir_core::tool::{Effects, Tier};
use weir_engine::hub::PublishedFact;

use crate::attacker::{Mind, Move, Seen, Wish};
use crate::play::{Person, Play, Played, play};
use crate::second;
use crate::world::{Settings, World};

/// What the attacker has learned so far: every marker-like word that it was shown.
#[derive(Debug, Clone, Default)]
pub struct Loot {
    /// Words that began like a marker, in the order in which they were seen.
    pub words: Vec<String>,
    /// Everything that the calls of this attempt gave back.
    pub last: String,
}

impl Loot {
    /// The word that it would most like to send away; a word of no worth when it has none.
    pub fn best(&self) -> &str {
        self.words.last().map_or("nothing-to-send", String::as_str)
    }
    fn learn(&mut self, results: &[Seen]) {
        for seen in results {
            self.last.push_str(&seen.text);
            self.last.push('\n');
        }
        for word in self.last.split(|c: char| !c.is_ascii_alphanumeric()) {
            if word.starts_with("mrk") && !self.words.iter().any(|known| known == word) {
                self.words.push(word.to_owned());
            }
        }
    }
}

/// One turn of an attempt: the calls it makes, given what was learned.
pub type Turn = Box<dyn Fn(&Loot) -> Vec<Wish> + Send + Sync>;

/// One concrete attack.
pub struct Attempt {
    /// What it tries, for people.
    pub name: String,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
}

impl Attempt {
    /// An attack of fixed calls, one turn each.
    pub fn of(name: impl Into<String>, calls: Vec<Wish>) -> Attempt {
        let turn = |wish: Wish| -> Turn { Box::new(move |_: &Loot| vec![wish.clone()]) };
        Attempt { name: name.into(), turns: calls.into_iter().map(turn).collect() }
    }
    /// An attack that depends on what was learned.
    pub fn with(
        name: impl Into<String>,
        turn: impl Fn(&Loot) -> Vec<Wish> + Send + Sync + 'static,
    ) -> Attempt {
        Attempt { name: name.into(), turns: vec![Box::new(turn)] }
    }
}

/// Looks at the world after an attempt: what was reached, if anything. Puts the world back.
pub type Goal = Arc<dyn Fn(&World, &Loot) -> Option<String> + Send + Sync>;

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Which.
    pub attempt: String,
    /// What was reached.
    pub reached: Option<String>,
    /// What stopped it first: a gate, a person, or a layer below.
    pub stopped: Option<String>,
    /// What else would have stopped it.
    pub second: Vec<String>,
    /// The calls, with what became of each: the story of a finding.
    pub calls: Vec<String>,
}

/// Everything that one hostile session needs.
pub struct Campaign {
    /// Unique in the world.
    pub name: String,
    /// Settings of the session.
    pub settings: Settings,
    /// Calls that it makes first, to have foreign or private words in its context.
    pub prelude: Vec<Wish>,
    /// The attacks, in order.
    pub attempts: Vec<Attempt>,
    /// Whether one was successful.
    pub goal: Goal,
    /// Each attempt has a session of its own: for gates that end the run.
    pub apart: bool,
}

/// Where one attempt's calls stand among all calls of its session.
#[derive(Debug, Clone, Default)]
struct Span {
    attempt: usize,
    first: u32,
    end: u32,
    reached: Option<String>,
}

struct Volley {
    world: Arc<World>,
    prelude: Vec<Wish>,
    attempts: Arc<Vec<Attempt>>,
    goal: Goal,
    loot: Loot,
    /// Attempts still to be made: number, and its next turn.
    at: usize,
    turn: usize,
    until: usize,
    calls: u32,
    begun: bool,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Volley {
    fn close(&mut self) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(span) = spans.last_mut().filter(|span| span.end == 0) {
            span.end = self.calls;
            span.reached = (self.goal)(&self.world, &self.loot);
        }
    }
}

impl Mind for Volley {
    fn next(&mut self, results: &[Seen]) -> Move {
        self.loot.learn(results);
        if !self.begun {
            self.begun = true;
            self.world.forget();
            if !self.prelude.is_empty() {
                self.calls += u32::try_from(self.prelude.len()).unwrap_or(0);
                return Move::Call(std::mem::take(&mut self.prelude));
            }
        }
        loop {
            if self.turn == 0 {
                if self.at > 0 {
                    self.close();
                }
                if self.at >= self.until {
                    return Move::Say("Done.".into());
                }
                // What the prelude did is no attempt's doing.
                if self.at == 0 {
                    self.world.forget();
                }
                self.loot.last.clear();
                let span = Span { attempt: self.at, first: self.calls, ..Span::default() };
                self.spans.lock().unwrap_or_else(PoisonError::into_inner).push(span);
            }
            let attempts = self.attempts.clone();
            let Some(turn) = attempts[self.at].turns.get(self.turn) else {
                self.turn = 0;
                self.at += 1;
                continue;
            };
            self.turn += 1;
            let wishes = turn(&self.loot);
            if !wishes.is_empty() {
                self.calls += u32::try_from(wishes.len()).unwrap_or(0);
                return Move::Call(wishes);
            }
        }
    }
}

/// Runs all attempts of a campaign.
///
/// # Errors
/// A session cannot be played.
pub async fn run(
    world: &Arc<World>,
    campaign: Campaign,
    person: &mut Person,
) -> anyhow::Result<Vec<Outcome>> {
    let Campaign { name, settings, prelude, attempts, goal, apart } = campaign;
    let attempts = Arc::new(attempts);
    let sessions: Vec<(usize, usize)> = match apart {
        true => (0..attempts.len()).map(|at| (at, at + 1)).collect(),
        false => vec![(0, attempts.len())],
    };
    let mut outcomes = Vec::new();
    for (from, until) in sessions {
        let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
        let volley = Arc::new(Mutex::new(Volley {
            world: world.clone(),
            prelude: prelude.clone(),
            attempts: attempts.clone(),
            goal: goal.clone(),
            loot: Loot::default(),
            at: from,
            turn: 0,
            until,
            calls: 0,
            begun: false,
            spans: spans.clone(),
        }));
        let id = format!("{name}-{from}");
        let begin = Play { id: &id, settings: &settings, says: "Do the task.", resumes: false };
        let played = play(world, begin, volley.clone(), person).await?;
        // The run may have been ended in the middle of an attempt.
        volley.lock().unwrap_or_else(PoisonError::into_inner).close();
        if !apart {
            let made = volley.lock().unwrap_or_else(PoisonError::into_inner).at;
            anyhow::ensure!(made == until, "{id}: {made} of {until} attempts: {}", ended(&played));
        }
        let spans = std::mem::take(&mut *spans.lock().unwrap_or_else(PoisonError::into_inner));
        for mut span in spans {
            // Steps of programs are numbered with the calls: a session with one attempt has all of them.
            if apart {
                span.end = u32::MAX;
            }
            let name = &attempts[span.attempt].name;
            let mut outcome = judged(name, &span, &played);
            if outcome.reached.is_none() {
                let calls = judged_calls(&span, &played);
                outcome.second.extend(second::layers(world, &calls, &goal).await?);
                outcome.second.sort();
                outcome.second.dedup();
            }
            outcomes.push(outcome);
        }
    }
    Ok(outcomes)
}

/// How a session's last run ended, and its last calls.
fn ended(played: &Played) -> String {
    let last = played.facts.iter().rev().take(12).rev();
    let lines = last.map(|fact| {
        let text = format!("{:?}", fact.event);
        text.chars().take(700).collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A call as the journal tells it.
pub struct JudgedCall {
    /// Its tool.
    pub tool: String,
    /// What it would have touched.
    pub effects: Effects,
    /// A gate or a person kept it from running.
    pub refused: bool,
}

fn of_span<'a>(span: &'a Span, played: &'a Played) -> impl Iterator<Item = &'a PublishedFact> {
    // Calls are numbered from 1 in the order in which they were asked for.
    let ours = move |call: &CallId| call.0 > span.first && call.0 <= span.end;
    played.facts.iter().filter(move |fact| match fact.event.as_ref() {
        Event::CallProposed(f) => ours(&f.call),
        Event::CallJudged(f) => ours(&f.call),
        Event::ApprovalResolved(f) => ours(&f.call),
        Event::CallFinished(f) => ours(&f.call),
        _ => false,
    })
}

fn judged_calls(span: &Span, played: &Played) -> Vec<JudgedCall> {
    let mut calls: Vec<(CallId, JudgedCall)> = Vec::new();
    let mut tool = String::new();
    for fact in of_span(span, played) {
        match fact.event.as_ref() {
            Event::CallProposed(f) => tool.clone_from(&f.tool),
            Event::CallJudged(f) => {
                let refused = f.verdict == Verdict::Deny;
                let effects = f.inspection.effects.clone();
                calls.push((f.call, JudgedCall { tool: tool.clone(), effects, refused }));
            }
            Event::ApprovalResolved(f) if !f.decision.allows() => {
                let call = calls.iter_mut().find(|(id, _)| *id == f.call);
                call.into_iter().for_each(|(_, call)| call.refused = true);
            }
            _ => (),
        }
    }
    calls.into_iter().map(|(_, call)| call).collect()
}

fn judged(name: &str, span: &Span, played: &Played) -> Outcome {
    let mut outcome = Outcome {
        attempt: name.to_owned(),
        reached: span.reached.clone(),
        stopped: None,
        second: Vec::new(),
        calls: Vec::new(),
    };
    let mut asked = None;
    let mut below = None;
    let mut failed = false;
    let mut layer = "files";
    for fact in of_span(span, played) {
        match fact.event.as_ref() {
            Event::CallProposed(f) => outcome.calls.push(format!("{} {}", f.tool, f.input)),
            Event::CallJudged(f) => {
                let gates: Vec<String> = f.gates.iter().map(|o| o.gate.to_string()).collect();
                let gate = f.gate.as_ref().map(GateName::to_string);
                let effects = &f.inspection.effects;
                layer = match () {
                    () if effects.commands.iter().any(|c| c.tier > Tier::None) => "sandbox",
                    () if !effects.commands.is_empty() => "the command itself",
                    () if !effects.hosts.is_empty()
                        || f.inspection.summary.starts_with("Fetch") =>
                    {
                        "network"
                    }
                    () => "files",
                };
                let verdict = format!("{:?} {}", f.verdict, gates.join("+")).to_lowercase();
                outcome.calls.push(format!("  -> {verdict}"));
                match f.verdict {
                    Verdict::Deny if outcome.stopped.is_none() => stop(&mut outcome, &gate, &gates),
                    Verdict::Ask => asked = Some((f.call, gate, gates)),
                    Verdict::Deny | Verdict::Allow => (),
                }
            }
            Event::ApprovalResolved(f) => {
                let refused = !f.decision.allows();
                let ours = asked.take().filter(|(call, _, _)| *call == f.call && refused);
                if let Some((_, gate, gates)) = ours.filter(|_| outcome.stopped.is_none()) {
                    stop(&mut outcome, &gate, &gates);
                }
            }
            Event::CallFinished(f) => {
                outcome.calls.push(format!(
                    "  -> {} {}",
                    if f.ok { "ok" } else { "failed" },
                    f.summary
                ));
                // What failed was stopped there; where nothing failed, the last call led nowhere.
                if !f.ok || !failed {
                    below = Some(layer);
                }
                failed |= !f.ok;
            }
            _ => (),
        }
    }
    if outcome.stopped.is_none() && outcome.reached.is_none() {
        outcome.stopped = below.map(str::to_owned);
    }
    outcome
}

fn stop(outcome: &mut Outcome, gate: &Option<String>, gates: &[String]) {
    outcome.stopped.clone_from(gate);
    let others = gates.iter().filter(|other| Some(*other) != gate.as_ref());
    outcome.second.extend(others.cloned());
}
