//! Long sessions stay small, whatever happens in them (X2, X3, X4, L11, Q8, Q15).
//!
//! `WEIR_LONG=full` plays the longest of them in their full length; otherwise a share of it.
//! `UPDATE=1` rewrites docs/generated/context.txt. With `WEIR_SCENARIO`, which is about one scenario,
//! none is played.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use weir_core::event::{CondenseReason, Event, RunStatus};
use weir_core::ids::SessionId;
use weir_core::message::{Message, MessageBlock};
use weir_core::model::{FailureClass, ModelRequest};
use weir_core::session::Session;
use weir_engine::hub::PublishedFact;
use weir_engine::ports::MediaMap;
use weir_scenario::laws;
use weir_scenario::long::table;
use weir_scenario::long::view::view;
use weir_scenario::long::{
    CONSTRAINT, GOAL, Long, OPEN_TASK, Scales, Shared, Watch, large, seen, small,
};
use weir_scenario::parse::{self, Deed, Scenario};
use weir_scenario::play::Depth;

/// More tokens than any text has in so many bytes: what a request may have at most.
const TOKENS_PER_BYTE_MAX: f64 = 0.3;
/// Bytes of brackets and markers that may follow the last word of a request.
const CLOSING_BYTES_MAX: usize = 64;

fn full() -> bool {
    std::env::var("WEIR_LONG").is_ok_and(|long| long == "full")
}

/// Whether one scenario is worked on, and nothing long is wanted.
fn busy() -> bool {
    std::env::var("WEIR_SCENARIO").is_ok_and(|only| !only.is_empty())
}

fn said() -> String {
    format!("{GOAL} {CONSTRAINT}")
}

/// Remembers everything, and holds each request against what must always be so.
#[derive(Default)]
struct Strict {
    scales: Scales,
    window: u64,
    facts: Vec<PublishedFact>,
    requests: Vec<Vec<Arc<Message>>>,
    /// Turns whose request did not begin with the whole one before, by dialect.
    lost: BTreeMap<&'static str, Vec<u32>>,
    /// Requests in which files are told by the session itself.
    told: usize,
    problems: Vec<String>,
    /// Files that were read, in the order of their last reading.
    read: Vec<String>,
}

impl Strict {
    fn watch(window: u64) -> Shared<Strict> {
        Arc::new(Mutex::new(Strict { window, ..Strict::default() }))
    }

    fn problem(&mut self, request: &ModelRequest, what: impl std::fmt::Display) {
        let messages = request.history.len();
        self.problems.push(format!("{} ({messages} messages): {what}", request.turn));
    }

    /// X2: the files that were read before this request are named in it.
    fn files_are_named(&mut self, request: &ModelRequest, body: &str) {
        self.told += usize::from(body.contains("## Files touched"));
        let cut = body.contains("more: `recall` finds them");
        let missing: Vec<_> = self.read.iter().filter(|path| !body.contains(*path)).collect();
        // Where there is no room for all of them, the newest are named.
        let newest = self.read.iter().rev().take(20).find(|path| missing.contains(path));
        if newest.is_some() || !(missing.is_empty() || cut) {
            let problem = format!("the files {missing:?} are not named");
            self.problem(request, problem);
        }
    }

    /// Remembers the paths in new calls, the newest last.
    fn note_reads(&mut self, request: &ModelRequest) {
        for message in request.history.iter().rev().take(2) {
            for block in &message.blocks {
                let MessageBlock::Call(call) = block else { continue };
                let Some(path) = call.input["path"].as_str() else { continue };
                self.read.retain(|known| known != path);
                self.read.push(path.into());
            }
        }
    }
}

impl Watch for Strict {
    fn request(&mut self, request: &ModelRequest, media: &MediaMap) {
        let weighed = self.scales.weigh(request, media);
        let bodies: Vec<_> = self
            .scales
            .bodies()
            .map(|(name, body)| (name, String::from_utf8(body.as_ref().to_vec())))
            .collect();
        self.note_reads(request);
        let shorter = self.requests.last().is_some_and(|last| last.len() > request.history.len());
        for (prepared, (name, body)) in weighed.iter().zip(bodies) {
            let body = body.expect("a request is UTF-8");
            if prepared.prefix_bytes < prepared.prefix_expected {
                self.lost.entry(name).or_default().push(request.turn.0);
            }
            if prepared.bytes as f64 * TOKENS_PER_BYTE_MAX >= self.window as f64 {
                self.problem(request, format!("{} bytes in {name}", prepared.bytes));
            }
            if !body.contains(&said()) {
                self.problem(request, format!("goal or constraint are lost in {name}"));
            }
            if let Some(tail) = &request.tail {
                let quoted = serde_json::to_string(tail.as_ref()).expect("text is JSON");
                let from = body.rfind(quoted.trim_matches('"'));
                let after = from.map(|from| body.len() - from - (quoted.len() - 2));
                if after.is_none_or(|after| after > CLOSING_BYTES_MAX) || !tail.contains(OPEN_TASK)
                {
                    self.problem(request, format!("L11: the open task is not last in {name}"));
                }
            } else if self.requests.len() > 1 {
                self.problem(request, "L11: there is no tail");
            }
            if shorter && name == "anthropic" {
                self.files_are_named(request, &body);
            }
        }
        self.requests.push(request.history.to_vec());
    }
    fn fact(&mut self, fact: &PublishedFact) {
        self.facts.push(fact.clone());
    }
}

/// Plays a large session and holds it against everything that must be so. Gives how often it was
/// condensed.
fn stays_small(turns: usize, window: u64) -> usize {
    let mut scenario = large(turns);
    scenario.setup.window = Some(window);
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch = Strict::watch(window);
    long.live(&scenario.setup, &[said()], &watch).expect("it comes to rest");
    let strict = seen(&watch);
    assert!(strict.problems.is_empty(), "{}", strict.problems.join("\n"));
    assert_eq!(finished(&strict.facts), vec![RunStatus::Completed]);
    assert_eq!(strict.requests.len(), turns + 2, "no request is made twice");
    let (mut condensed, mut summarised) = (0, 0);
    let mut breaks = Vec::new();
    for fact in &strict.facts {
        match fact.event.as_ref() {
            Event::ModelRequested(f) => {
                assert!(f.tokens_estimated < window, "{}: {} tokens", f.turn, f.tokens_estimated);
                let known = f.prefix_lost.as_deref().is_none_or(|why| why.contains("condensed"));
                assert!(known, "{}: {:?}", f.turn, f.prefix_lost);
                breaks.extend(f.prefix_lost.is_some().then_some(f.turn.0));
            }
            Event::ModelReplied(f) => {
                assert!(f.usage.input < window, "{}: the vendor counts {:?}", f.turn, f.usage);
            }
            Event::ContextCondensed(f) => {
                condensed += 1;
                summarised += usize::from(f.pass == 3);
                assert!(f.tokens_after < f.tokens_before, "it gains something");
            }
            _ => (),
        }
    }
    // Q8: but for the journaled breaks each request begins with the one before, in each dialect.
    for (dialect, lost) in &strict.lost {
        assert!(lost.iter().all(|turn| breaks.contains(turn)), "{dialect}: {lost:?} {breaks:?}");
    }
    assert_eq!(breaks.len(), condensed, "each condensing breaks once, and nothing else does");
    assert_eq!(strict.told, summarised, "files are told by the session itself");
    laws::check(&strict.facts, &strict.requests).expect("the laws hold");
    condensed
}

fn finished(facts: &[PublishedFact]) -> Vec<RunStatus> {
    let ended = facts.iter().filter_map(|fact| match fact.event.as_ref() {
        Event::RunFinished(f) => Some(f.status),
        _ => None,
    });
    ended.collect()
}

#[test]
fn x02_l11_q8_large_results_stay_in_a_window_of_200_000() {
    if busy() {
        return;
    }
    let turns = if full() { 200 } else { 80 };
    let condensed = stays_small(turns, 200_000);
    assert!((1..=turns / 8).contains(&condensed), "{condensed} condensings");
}

#[test]
fn x02_l11_q8_large_results_stay_in_a_window_of_32_000() {
    if busy() {
        return;
    }
    let turns = if full() { 200 } else { 80 };
    let condensed = stays_small(turns, 32_000);
    assert!((3..=turns / 2).contains(&condensed), "{condensed} condensings");
}

/// A model with a small window is of use: the tools that it is told of and the prompt leave room.
#[test]
fn x02_a_window_of_8_000_is_enough() {
    if busy() {
        return;
    }
    let mut scenario = small(60);
    let note = "a line of words that takes some room in the window\n".repeat(30);
    scenario.setup.files.iter_mut().for_each(|(_, text)| text.push_str(&note));
    scenario.setup.window = Some(8_000);
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch = Strict::watch(8_000);
    long.live(&scenario.setup, &[said()], &watch).expect("it comes to rest");
    let strict = seen(&watch);
    assert_eq!(finished(&strict.facts), vec![RunStatus::Completed]);
    let problems = strict.problems.iter().filter(|problem| !problem.contains("tail"));
    assert_eq!(problems.collect::<Vec<_>>(), Vec::<&String>::new());
    let condensed = |fact: &&PublishedFact| matches!(*fact.event, Event::ContextCondensed(_));
    assert!(strict.facts.iter().filter(condensed).count() >= 3);
    let first = strict.facts.iter().find_map(|fact| match fact.event.as_ref() {
        Event::ModelRequested(f) => Some(f.tokens_estimated),
        _ => None,
    });
    assert!(first.is_some_and(|tokens| tokens < 4_000), "half is left: {first:?}");
}

/// X3: a request that the vendor refuses as too long is condensed and sent again as the same turn;
/// no counter starts anew.
#[test]
fn x03_an_overflow_in_the_middle_resets_no_counter() {
    if busy() {
        return;
    }
    let reads: Vec<String> = (1..=6)
        .map(|part| format!("calls: read_file {{\"path\": \"parts/{part}.txt\"}}\n"))
        .collect();
    let script = format!(
        "order: requests\n\n{}\ncalls: read_file {{\"path\": \"missing.txt\"}}\n\n\
         error: 529 overloaded\n\nerror: overflow\n\n\
         error: 529 overloaded\ncalls: read_file {{\"path\": \"missing too.txt\"}}\n\n\
         says: One is missing.\n",
        reads.join("\n")
    );
    let mut scenario = Scenario { script, ..large(20) };
    let limit = |name: &str, value: &str| (name.to_string(), value.to_string());
    scenario.setup.limits =
        vec![limit("max_tool_calls", "8"), limit("consecutive_mistake_limit", "3")];
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch = Strict::watch(200_000);
    long.live(&scenario.setup, &[said()], &watch).expect("it comes to rest");
    let facts = &seen(&watch).facts;
    let (mut attempts, mut iterations, mut around) = (Vec::new(), Vec::new(), Vec::new());
    let mut session = Session::new(SessionId::new("folded"));
    for fact in facts {
        let before = (session.iterations(), session.mistakes(), session.meter().calls);
        session.apply(fact.ts, &fact.event);
        let after = (session.iterations(), session.mistakes(), session.meter().calls);
        match fact.event.as_ref() {
            Event::ModelRetried(f) => {
                assert_eq!(f.class, FailureClass::Overloaded);
                attempts.push((f.turn.0, f.attempt));
            }
            Event::TurnStarted(f) => iterations.push(f.iteration),
            Event::ContextCondensing(f) => {
                assert_eq!(f.reason, CondenseReason::Overflow);
                assert_eq!(before, after);
                around.push(before);
            }
            Event::ContextCondensed(f) => {
                assert_eq!(before, after);
                around.push(after);
                assert!(f.tokens_after < f.tokens_before / 2, "{f:?}");
            }
            _ => (),
        }
    }
    // The turn that did not fit is the eighth: two failures of the vendor, counted on.
    assert_eq!(attempts, vec![(8, 1), (8, 2)]);
    assert_eq!(iterations, (1..=9).collect::<Vec<u32>>());
    assert_eq!(around, vec![(8, 1, 7); 2]);
    assert_eq!(
        session.condensing_limit(),
        Some(session.window_tokens() * 80 / 100),
        "X3: 80 from now on"
    );
    assert_eq!(finished(facts), vec![RunStatus::Completed]);
}

/// A session that filled a large window is resumed with a model of a smaller one: it is condensed
/// before anything is sent.
#[test]
fn x02_a_session_resumed_with_a_smaller_window_is_condensed_first() {
    if busy() {
        return;
    }
    let mut scenario = large(40);
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch = Strict::watch(u64::MAX);
    scenario.setup.window = Some(1_000_000);
    long.live(&scenario.setup, &[said()], &watch).expect("it comes to rest");
    let first = std::mem::take(&mut seen(&watch).facts);
    assert!(!first.iter().any(|fact| matches!(*fact.event, Event::ContextCondensed(_))));
    let used = largest(&first);
    assert!(used > 100_000, "{used} tokens");
    scenario.setup.window = Some(32_000);
    seen(&watch).window = 32_000;
    long.script("says: None of them.").expect("a script");
    long.live(&scenario.setup, &["Which is the slowest?".into()], &watch).expect("it rests");
    let strict = seen(&watch);
    let kinds: Vec<&str> = strict.facts.iter().map(|fact| fact.event.kind()).collect();
    let place = |kind: &str| kinds.iter().position(|k| *k == kind);
    let (condensed, asked) = (place("context.condensed"), place("model.requested"));
    assert!(condensed.is_some() && condensed < asked, "{kinds:?}");
    assert!(largest(&strict.facts) < 32_000);
    assert!(strict.problems.is_empty(), "{}", strict.problems.join("\n"));
    assert_eq!(finished(&strict.facts), vec![RunStatus::Completed]);
}

fn largest(facts: &[PublishedFact]) -> u64 {
    let tokens = facts.iter().filter_map(|fact| match fact.event.as_ref() {
        Event::ModelReplied(f) => Some(f.usage.input),
        _ => None,
    });
    tokens.max().unwrap_or(0)
}

/// What a session has in memory, looked at whenever it was condensed.
struct Growth {
    session: Session,
    messages: usize,
    /// Turn, facts, and characters of the whole state as text.
    states: Vec<(u32, u64, usize)>,
    turn: u32,
    ended: usize,
}

impl Watch for Growth {
    fn request(&mut self, request: &ModelRequest, _: &MediaMap) {
        self.messages = self.messages.max(request.history.len());
        self.turn = request.turn.0;
    }
    fn fact(&mut self, fact: &PublishedFact) {
        self.session.apply(fact.ts, &fact.event);
        match fact.event.as_ref() {
            Event::ContextCondensed(_) => {
                let state = format!("{:?}", self.session).len();
                self.states.push((self.turn, self.session.fact_count(), state));
            }
            Event::RunFinished(f) => {
                self.ended += usize::from(f.status == RunStatus::Completed);
            }
            _ => (),
        }
    }
}

/// Q4, X4: however long a session becomes, what it has in memory does not grow; facts do, in the
/// store.
#[test]
fn x02_x04_the_state_of_an_endless_session_is_bounded() {
    if busy() {
        return;
    }
    let (runs, turns) = if full() { (20, 500) } else { (4, 250) };
    let mut scenario = small(turns);
    scenario.setup.window = Some(16_000);
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch = Arc::new(Mutex::new(Growth {
        session: Session::new(SessionId::new("folded")),
        messages: 0,
        states: Vec::new(),
        turn: 0,
        ended: 0,
    }));
    let says: Vec<String> = (1..=runs).map(|run| format!("{} Run {run}.", said())).collect();
    long.live(&scenario.setup, &says, &watch).expect("it comes to rest");
    let growth = seen(&watch);
    assert_eq!(growth.ended, runs);
    assert!(growth.turn as usize >= runs * turns, "{} turns", growth.turn);
    assert!(growth.messages < 500, "{} messages in one request", growth.messages);
    let (early, late) = (growth.states[1], growth.states[growth.states.len() - 1]);
    assert!(late.1 > early.1 * 4, "there are many more facts: {early:?} {late:?}");
    let grown = late.2 as f64 / early.2 as f64;
    assert!(grown < 1.3, "the state grew {grown} times: {:?}", growth.states);
}

/// Keeps the first request after each condensing, as a person can read it.
#[derive(Default)]
struct Views {
    workspace: String,
    messages: usize,
    after: Vec<String>,
}

impl Watch for Views {
    fn request(&mut self, request: &ModelRequest, _: &MediaMap) {
        if request.history.len() < self.messages {
            self.after.push(view(request, &self.workspace));
        }
        self.messages = request.history.len();
    }
}

/// docs/condensing.md shows what the model sees after a third condensing: the constraint and the
/// open task stand in it, though the summary says nothing of them.
#[test]
fn x02_the_view_after_three_condensings_is_in_the_docs() {
    if busy() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let name = "scenarios/context/x02_a_constraint_survives_three_condensings.md";
    let text = std::fs::read_to_string(root.join(name)).expect("the scenario is there");
    let scenario = parse::parse(&text).expect("it can be read");
    let mut long = Long::new(&scenario, Depth::Memory).expect("it can be set up");
    let watch = Arc::new(Mutex::new(Views { workspace: long.workspace(), ..Views::default() }));
    let says = scenario.acts.iter().map(|act| match &act.deed {
        Deed::Says(text) => text.clone(),
        other => panic!("nobody does {other:?} in it"),
    });
    long.live(&scenario.setup, &says.collect::<Vec<_>>(), &watch).expect("it comes to rest");
    let third = seen(&watch).after.get(2).expect("it is condensed three times").clone();
    for words in ["Never touch legacy/", "read fourteen files", "f1.txt: read"] {
        assert!(third.contains(words), "{words}:\n{third}");
    }
    let path = root.join("docs/condensing.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let updated = parse::with_block(&page, "view", &third);
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(&path, &updated).expect("the folder is writable");
        return;
    }
    let diff = similar::TextDiff::from_lines(&page, &updated);
    assert!(page == updated, "UPDATE=1 rewrites it:\n{}", diff.unified_diff());
}

/// Q15, Q8: what each of the means is worth, as a table. In full it is compared whole.
#[test]
fn q15_what_keeping_long_work_small_saves_is_a_golden_file() {
    if busy() {
        return;
    }
    let twelve = table::twelve().expect("both sessions can be played");
    assert!(twelve <= 0.15, "Q15: {twelve:.3}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/context.txt");
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let update = std::env::var("UPDATE").is_ok();
    if !full() && !update {
        let line = table::share().expect("the session can be played");
        let hint = "UPDATE=1 rewrites docs/generated/context.txt";
        assert!(golden.contains(&line), "{hint}; it does not have\n{line}");
        return;
    }
    let page = table::page(twelve).expect("the sessions can be played");
    if update {
        return std::fs::write(&path, &page).expect("the folder is writable");
    }
    let diff = similar::TextDiff::from_lines(&golden, &page);
    assert!(golden == page, "UPDATE=1 rewrites it:\n{}", diff.unified_diff());
}
