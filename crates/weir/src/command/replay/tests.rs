//! A journal in which anything was changed, at any place, is not the same (D2).

use std::sync::mpsc::sync_channel;

use serde_json::Value;
use weir_core::event::Event;
use weir_core::governance::label::Label;
use weir_core::governance::{FilterContext, filter_result};
use weir_core::ids::{CallId, InputId, Timestamp, TurnId};
use weir_core::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use weir_core::message::{MessageBlock, PromptNote};
use weir_core::model::{
    ModelInfo, ModelRef, ModelReply, Price, ReplyBlock, ReplyCall, StopReason, Usage,
};
use weir_core::profile::{Limits, PermissionMode, built_in_profiles};
use weir_core::record::GENESIS;
use weir_core::session::{Session, SessionConfig};
use weir_core::tool::{
    EffectClass, Effects, Inspection, PathAccess, PathEffect, PathPlace, RawResult, ToolGroup,
    ToolSpec,
};
use weir_core::view::wire;

use super::fold::{FoldedPart, fold_facts};
use super::input::is_same_event;
use super::*;

/// Kinds that follow from state alone: no hash is needed to find what was changed in them.
const DERIVED: [&str; 5] =
    ["run.started", "turn.started", "call.proposed", "call.started", "run.finished"];

/// A session whose facts are written down.
struct Author {
    session: Session,
    facts: Vec<(Timestamp, Event)>,
    turns: u32,
    calls: u32,
}

impl Author {
    fn new() -> Author {
        Author::open(PermissionMode::Full, &["look"])
    }

    /// These are the tools; what is called `look` changes nothing, and in the mode `full` nobody is asked.
    fn open(permission: PermissionMode, tools: &[&str]) -> Author {
        let name = ModelRef { provider: "script".into(), name: "one".into() };
        let price = Price { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 };
        let model = ModelInfo { price: Some(price), ..ModelInfo::with_name(name) };
        let schema = json!({ "type": "object" });
        let tool = |name: &&str| ToolSpec {
            parallel_safe: *name == "look",
            ..ToolSpec::new(*name, "Does it.", ToolGroup::Read, schema.clone())
        };
        let config = SessionConfig {
            permission,
            attended: permission != PermissionMode::Full,
            limits: Limits { max_iterations: u32::MAX, ..Limits::default() },
            tools: Arc::new(tools.iter().map(tool).collect()),
            ..SessionConfig::with_defaults("/w", built_in_profiles().remove(0), model)
        };
        let session = Session::new(SessionId::new("s_test"));
        let mut author = Author { session, facts: Vec::new(), turns: 0, calls: 0 };
        let (engine, config) = ("test".to_owned(), Arc::new(config));
        author.take(SessionInput::Command(SessionCommand::Open { engine, config, parent: None }));
        author
    }

    fn take(&mut self, input: SessionInput) {
        let now = Timestamp(1_700_000_000_000_000).plus_ms(self.facts.len() as u64);
        let facts = self.session.handle(now, input);
        self.facts.extend(facts.into_iter().map(|event| (now, event)));
    }

    fn answer(&mut self, answer: EffectAnswer) {
        self.take(SessionInput::Answer(answer));
    }

    /// A person says something, and the run that begins with it is looked around for.
    fn say(&mut self, number: u32) {
        let content = vec![MessageBlock::text(format!("Look, {number}."))];
        let message = PersonMessage { content, ..PersonMessage::default() };
        self.take(SessionInput::Command(PersonCommand::from(message).sent_by("ada")));
        let note = PromptNote { section: "clock".into(), text: format!("It is {number}.") };
        self.answer(EffectAnswer::Seen {
            notes: vec![note],
            skills: Vec::new(),
            label: Label::default(),
            input: InputId(number),
            recipe: None,
        });
    }

    /// The model is asked and replies with a text and calls of these tools.
    fn reply(&mut self, text: &str, tools: &[&str]) {
        self.turns += 1;
        let turn = TurnId(self.turns);
        let (bytes, prefix_bytes) = (u64::from(self.turns) * 100, 0);
        self.answer(EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected: 0 });
        let mut blocks = vec![ReplyBlock::Said(MessageBlock::text(text))];
        for tool in tools {
            self.calls += 1;
            let arguments = format!("{{\"n\":{}}}", self.calls);
            let (wire_id, tool) = (format!("call_{}", self.calls), (*tool).to_owned());
            blocks.push(ReplyBlock::Call(ReplyCall { wire_id, tool, arguments, seal: None }));
        }
        let stop = if tools.is_empty() { StopReason::End } else { StopReason::Calls };
        let usage = Usage { input: 1_000, output: 7, ..Usage::default() };
        let reply = ModelReply::Whole { blocks, stop, usage, repairs: Vec::new() };
        let (images, jitter, streamed) = (Vec::new(), 0, 0);
        self.answer(EffectAnswer::Replied { turn, reply, images, jitter, streamed });
    }

    fn inspect(&mut self, call: u32, known: bool) {
        let found = Inspection::new(EffectClass::Read, Effects::default(), "Look");
        let inspection = Arc::new(Inspection { known, ..found });
        self.answer(EffectAnswer::Inspected { call: CallId(call), inspection });
    }

    /// A program asks for a step that writes a file.
    fn ask_for_step(&mut self, of: u32, number: u32, path: &str) {
        let (of, tool, input) = (CallId(of), "write".to_owned(), json!({ "path": path }));
        self.take(SessionInput::Command(SessionCommand::Step { of, number, tool, input }));
    }

    /// It is looked at what that would write.
    fn inspect_step(&mut self, call: u32, path: &str) {
        let path = PathEffect::new(path, PathAccess::Write, PathPlace::Inside);
        let effects = Effects { paths: vec![path], ..Effects::default() };
        let inspection = Arc::new(Inspection::new(EffectClass::Once, effects, "Write it"));
        self.answer(EffectAnswer::Inspected { call: CallId(call), inspection });
    }

    fn give_back(&mut self, call: u32) {
        let call = CallId(call);
        let label = Label::default();
        let context = FilterContext::of_plain_result(call, &label);
        let clean = filter_result(RawResult::ok(format!("seen: {call}")), &context).clean;
        self.answer(EffectAnswer::Returned { call, clean, notes: Vec::new() });
    }

    /// The facts as a file has them.
    fn lines(&self) -> Vec<JournalFact> {
        let id = self.session.id();
        let mut last = GENESIS.to_owned();
        let line = |(seq, (ts, event)): (u64, &(Timestamp, Event))| {
            last = wire::fact_record(id, seq, *ts, event, &last).hash;
            let (session, event) = (id.clone(), Arc::new(event.clone()));
            JournalFact { session, seq, ts: *ts, event, hash: Some(last.clone()) }
        };
        (1..).zip(&self.facts).map(line).collect()
    }
}

/// Two runs: calls that pass and one that is refused, texts, an end.
fn author() -> Author {
    let mut author = Author::new();
    author.say(1);
    author.reply("I look.", &["look", "nothing"]);
    author.inspect(1, true);
    author.inspect(2, false);
    author.give_back(1);
    author.reply("I look again.", &["look"]);
    author.inspect(3, true);
    author.give_back(3);
    author.reply("All seen.", &[]);
    author.say(2);
    author.reply("Still there.", &[]);
    let kinds: Vec<&str> = author.facts.iter().map(|(_, event)| event.kind()).collect();
    for kind in DERIVED.iter().chain(&["call.judged", "call.finished", "model.requested"]) {
        assert!(kinds.contains(kind), "{kind} is missing: {kinds:?}");
    }
    assert!(author.session.run().is_none(), "{kinds:?}");
    author
}

async fn played(lines: Vec<JournalFact>) -> ReplayResult {
    replay_lines(lines).await.expect("it is played")
}

async fn difference(lines: Vec<JournalFact>) -> Option<JournalDifference> {
    played(lines).await.difference
}

fn without_hashes(lines: &[JournalFact]) -> Vec<JournalFact> {
    lines.iter().map(|line| JournalFact { hash: None, ..line.clone() }).collect()
}

/// Each value in `value` changed alone, with where it stands.
fn changed_values(value: &Value) -> Vec<(String, Value)> {
    let here = |changed: Value| (String::new(), changed);
    let inside = |name: &str, found: Vec<(String, Value)>, put: &dyn Fn(Value) -> Value| {
        let found = found.into_iter();
        found.map(|(at, one)| (format!("/{name}{at}"), put(one))).collect::<Vec<_>>()
    };
    match value {
        Value::Null => Vec::new(),
        Value::Bool(value) => vec![here(json!(!value))],
        Value::Number(number) => match number.as_u64() {
            Some(number) => vec![here(json!(number.wrapping_add(1)))],
            None => vec![here(json!(number.as_f64().unwrap_or_default() + 1.0))],
        },
        Value::String(text) => {
            // An id is made another id, too.
            let digits = text.trim_start_matches(|c: char| c.is_ascii_lowercase());
            let prefix = &text[..text.len() - digits.len()];
            let next =
                digits.parse::<u32>().map(|number| format!("{prefix}{}", number.wrapping_add(1)));
            [format!("{text}~")].into_iter().chain(next).map(|text| here(json!(text))).collect()
        }
        Value::Array(items) => {
            let each = |(at, item): (usize, &Value)| {
                let put = |one| {
                    let mut items = items.clone();
                    items[at] = one;
                    Value::Array(items)
                };
                inside(&at.to_string(), changed_values(item), &put)
            };
            items.iter().enumerate().flat_map(each).collect()
        }
        Value::Object(fields) => {
            let each = |(name, field): (&String, &Value)| {
                let put = |one| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), one);
                    Value::Object(fields)
                };
                inside(name, changed_values(field), &put)
            };
            fields.iter().flat_map(each).collect()
        }
    }
}

/// Every way in which one value of the fact at `at` can be another one, as far as it can still be read.
fn forgeries(lines: &[JournalFact], at: usize) -> Vec<(String, Vec<JournalFact>)> {
    let event = &lines[at].event;
    let fields: Value = serde_json::from_str(&event.payload()).expect("JSON");
    let read = |(place, fields): (String, Value)| {
        let forged = Event::from_payload(event.kind(), &fields.to_string()).ok()?;
        let mut lines = lines.to_vec();
        let what = format!("{} {place} of event {}", event.kind(), at + 1);
        (!is_same_event(&forged, event)).then(|| {
            lines[at].event = Arc::new(forged);
            (what, lines)
        })
    };
    changed_values(&fields).into_iter().filter_map(read).collect()
}

#[tokio::test]
async fn d2_what_was_recorded_is_the_same() {
    let author = author();
    for lines in [author.lines(), without_hashes(&author.lines())] {
        let count = lines.len() as u64;
        let played = played(lines).await;
        assert!(played.difference.is_none(), "{:?}", played.difference);
        assert_eq!((played.facts, played.runs, played.turns, played.calls), (count, 2, 4, 3));
    }
    let nothing = difference(Vec::new()).await.expect("there is nothing");
    assert_eq!((nothing.seq, nothing.why.as_str()), (0, "there are no events"));
}

#[tokio::test]
async fn d2_any_value_that_was_changed_anywhere_is_found() {
    let lines = author().lines();
    let mut tried = 0;
    for at in 0..lines.len() {
        for (what, forged) in forgeries(&lines, at) {
            let found = difference(forged).await;
            let found = found.unwrap_or_else(|| panic!("{what} is not found"));
            assert!(found.seq > at as u64, "{what} is found too early: {found}");
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} values were tried");
}

#[tokio::test]
async fn d2_what_follows_from_state_is_found_without_hashes_where_it_stands() {
    let lines = without_hashes(&author().lines());
    let mut tried = 0;
    for (at, line) in lines.iter().enumerate() {
        let kind = line.event.kind();
        for (what, forged) in forgeries(&lines, at) {
            let refused = matches!(&*line.event, Event::CallFinished(f) if !f.ok);
            // What was found about a call came from outside; what was made of it did not.
            let judged = kind == "call.judged" && !what.contains("/inspection");
            if !(DERIVED.contains(&kind) || refused || judged) {
                continue;
            }
            let found = difference(forged).await;
            let found = found.unwrap_or_else(|| panic!("{what} is not found"));
            assert_eq!(found.seq, at as u64 + 1, "{what}: {found}");
            tried += 1;
        }
    }
    assert!(tried > 40, "only {tried} values were tried");
}

#[tokio::test]
async fn d2_a_fact_that_was_moved_left_out_or_put_in_is_found() {
    let lines = author().lines();
    let numbered = |mut lines: Vec<JournalFact>| {
        (1..).zip(&mut lines).for_each(|(seq, line)| line.seq = seq);
        lines
    };
    for at in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(at);
        let mut twice = lines.clone();
        twice.insert(at, lines[at].clone());
        let mut later = lines.clone();
        later[at].ts = later[at].ts.plus_ms(1);
        let mut foreign = lines.clone();
        foreign[at].session = SessionId::new("s_other");
        let mut changed = vec![fewer.clone(), numbered(fewer), twice.clone(), numbered(twice)];
        changed.extend([later, foreign]);
        if at + 1 < lines.len() {
            let mut moved = lines.clone();
            moved.swap(at, at + 1);
            changed.extend([moved.clone(), numbered(moved)]);
        }
        for (number, forged) in changed.into_iter().enumerate() {
            let found = difference(forged).await;
            assert!(found.is_some(), "change {number} at event {} is not found", at + 1);
        }
    }
    let place = lines.len() / 2;
    let mut fewer = lines.clone();
    fewer.remove(place);
    let found = difference(fewer).await.expect("it is missing");
    assert_eq!(found.seq, place as u64 + 1);
    assert!(found.why.contains("is missing"), "{found}");
}

/// A program may die between any two facts, and another goes on from what was recorded.
#[tokio::test]
async fn d4_a_session_that_was_taken_up_after_any_fact_is_the_same() {
    let whole = author();
    let mut unfinished = 0;
    for count in 1..whole.facts.len() {
        let facts = whole.facts[..count].to_vec();
        let id = whole.session.id().clone();
        let session = Session::replay(id, facts.iter().map(|(ts, event)| (*ts, event)));
        unfinished += usize::from(session.owes_fact(session.last_fact_time()));
        let mut author = Author { session, facts, turns: 0, calls: 0 };
        for _ in 0..2 {
            let engine = "the next".to_owned();
            author.take(SessionInput::Command(SessionCommand::Resume { engine }));
        }
        let found = difference(author.lines()).await;
        assert!(found.is_none(), "after {count} facts: {found:?}");
    }
    assert!(unfinished > 5, "only {unfinished} of the places are within what follows");
}

/// Steps that could be changed by one before them are looked at ahead, and no fact says what was found.
#[tokio::test]
async fn d2_a_question_about_several_steps_of_a_program_is_the_same() {
    let mut author = Author::open(PermissionMode::Ask, &["look", "program", "write"]);
    author.say(1);
    author.reply("I write.", &["program"]);
    let program = Inspection::new(EffectClass::Program, Effects::default(), "Write files");
    let inspection = Arc::new(program);
    author.answer(EffectAnswer::Inspected { call: CallId(1), inspection });
    let paths = ["a.txt", "a.txt", "b.txt", "b.txt"];
    for (number, path) in (1..).zip(paths) {
        author.ask_for_step(1, number, path);
    }
    for (call, path) in (2..).zip(paths) {
        author.inspect_step(call, path);
    }
    let kinds: Vec<&str> = author.facts.iter().map(|(_, event)| event.kind()).collect();
    // The question follows from the last look, of which nothing is recorded.
    let last = ["call.judged", "call.judged", "approval.requested"];
    assert!(kinds.ends_with(&last), "{kinds:?}");
    let Some((_, Event::ApprovalRequested(asked))) = author.facts.last() else {
        panic!("{kinds:?}")
    };
    assert_eq!(asked.calls(), [CallId(2), CallId(4)]);
    let lines = without_hashes(&author.lines());
    let found = difference(lines.clone()).await;
    assert!(found.is_none(), "{found:?}");
    // What is asked follows from what was judged, whatever was looked at beside that.
    let at = lines.len() - 1;
    let mut tried = 0;
    for (what, forged) in forgeries(&lines, at) {
        let found = difference(forged).await;
        let found = found.unwrap_or_else(|| panic!("{what} is not found"));
        assert_eq!(found.seq, at as u64 + 1, "{what}: {found}");
        tried += 1;
    }
    assert!(tried > 10, "only {tried} values were tried");
}

/// A journal may say that its session was taken up again and again: a fold for each of these would be more than
/// any memory holds.
#[test]
fn q10_folds_of_sessions_that_are_taken_up_do_not_pile_up() {
    let whole = author();
    let replied = whole.facts.iter().position(|(_, event)| event.kind() == "model.replied");
    let mut facts = whole.facts[..=replied.expect("the model replied")].to_vec();
    let id = whole.session.id().clone();
    for _ in 0..5 {
        let session = Session::replay(id.clone(), facts.iter().map(|(ts, event)| (*ts, event)));
        assert!(session.owes_fact(session.last_fact_time()));
        let count = facts.len();
        let mut author = Author { session, facts, turns: 0, calls: 0 };
        let engine = "the next".to_owned();
        author.take(SessionInput::Command(SessionCommand::Resume { engine }));
        // It died again before it had recorded what followed.
        author.facts.truncate(count + 1);
        facts = author.facts;
    }
    let author = Author { session: Session::new(id.clone()), facts, turns: 0, calls: 0 };
    let (to, parts) = sync_channel(100);
    let (_back, played) = sync_channel(1);
    fold_facts(id, author.lines().into_iter().map(Ok), &to, &played).expect("it can be read");
    drop(to);
    let folds = parts.iter().filter_map(|part| match part {
        FoldedPart::Facts(facts) => Some(facts.iter().filter(|fact| fact.before.is_some()).count()),
        FoldedPart::Broken(_) | FoldedPart::End(_) => None,
    });
    let folds: Vec<usize> = folds.collect();
    assert_eq!(folds.iter().sum::<usize>(), 5, "{folds:?}");
    assert!(folds.iter().all(|count| *count <= 1), "{folds:?}");
}

/// Facts go from one thread to the other in batches; what is in a later one is found there.
#[tokio::test]
async fn q10_a_difference_is_found_in_every_batch() {
    let mut author = Author::new();
    author.say(1);
    for turn in 1..=300 {
        author.reply("I look.", &["look"]);
        author.inspect(turn, true);
        author.give_back(turn);
    }
    author.reply("All seen.", &[]);
    let lines = without_hashes(&author.lines());
    assert!(lines.len() > 3 * BATCH, "{} facts", lines.len());
    let played = played(lines.clone()).await;
    assert!(played.difference.is_none(), "{:?}", played.difference);
    assert_eq!((played.facts, played.calls), (lines.len() as u64, 300));
    let started =
        |from: usize| (from..lines.len()).find(|at| lines[*at].event.kind() == "call.started");
    for from in [0, BATCH - 20, BATCH, 2 * BATCH, 3 * BATCH] {
        let at = started(from).expect("one is started after that");
        let mut forged = lines.clone();
        forged[at].ts = forged[at].ts.plus_ms(1);
        let found = difference(forged).await.expect("the moment is another");
        assert_eq!(found.seq, at as u64 + 1, "{found}");
    }
}

/// What cannot be read is told first, wherever it stands, as if all had been read before.
#[tokio::test]
async fn d2_what_cannot_be_read_is_told_before_a_difference() {
    let mut lines = without_hashes(&author().lines());
    let id = lines[0].session.clone();
    lines[2].ts = lines[2].ts.plus_ms(1);
    let damage = |seq: u64| Err(JournalDifference::damaged_journal(seq, "cannot be read"));
    let last = lines.len() as u64 + 1;
    let facts = lines.into_iter().map(Ok).chain([damage(last), damage(last + 1)]);
    let played = replay_facts(id, facts).await.expect("it is played");
    let found = played.difference.expect("it cannot be read");
    assert_eq!((found.seq, found.why.as_str(), played.facts), (last, "cannot be read", 0));
}
