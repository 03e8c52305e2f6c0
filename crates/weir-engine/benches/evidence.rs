//! K6: how often what answers a question is among the first 1, 5 and 10 that a search of the memory or of
//! a session's past finds: as words find it, as vectors do, and both.
//! `cargo bench --profile dev -p weir-engine --bench evidence [-- FOLDER]`; without a folder of Markdown
//! the product's own documents are what was said.
//!
//! *Made facts*: 360 facts with a question each, in other words (`questions/facts.rs`). *Sections*: each
//! heading of the folder is the question, the text below it the answer (for the memory: its first
//! sentence), and the heading itself stands nowhere; *paraphrases*: the same with other words.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use weir_core::ids::{MemoryId, SessionId, Timestamp};
use weir_core::memory::{
    FactQuery, MemoryFact, MemoryKind, MemorySource, MemoryStatus, NewMemory, search_facts,
};
use weir_core::record::{GENESIS, Record};
use weir_engine::memory::search::rank_facts;
use weir_engine::past::recall_passages;
use weir_engine::ports::{Append, IndexedText, RecallQuery, SessionMeta, Store};
use weir_engine::relevance::{RankWeights, TextRelevance};
use weir_meaning::{TextPassage, split_passages};
use weir_store::{SqliteStore, this_process};

#[path = "questions/facts.rs"]
mod facts;
#[path = "../../weir-meaning/benches/questions/wording.rs"]
mod wording;

use wording::{paraphrase, plain_heading};

const PLACES: [usize; 3] = [1, 5, 10];
/// Shortest answer, in characters: less says nothing by itself.
const ANSWER_CHARS_MIN: usize = 80;
const FACT_CHARS_MAX: usize = 400;
/// Longest text that is one passage of a session.
const PASSAGE_CHARS_MAX: usize = 2_000;
const NOW: Timestamp = Timestamp(1_800_000_000_000_000);
const WORKSPACE: &str = "/home/ada/loom";

/// A question, and which of the texts answers it.
struct Question {
    words: String,
    answer: usize,
}

fn main() {
    let folder = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folder = folder.map_or(documents, PathBuf::from);
    let (texts, questions) = read_sections(&folder);
    say(&format!(
        "{} sections of {}, {} questions",
        texts.len(),
        folder.display(),
        questions.len()
    ));
    say("| search of | questions | ways | evidence@1 | @5 | @10 |\n|---|---|---|---|---|---|");
    let made = facts::made_facts();
    let asked = made.iter().enumerate();
    let asked: Vec<Question> =
        asked.map(|(answer, fact)| Question { words: fact.question.clone(), answer }).collect();
    let of_made: Vec<MemoryFact> =
        made.iter().map(|fact| memory_fact(&fact.text, &fact.topics)).collect();
    measure_memory("made facts", &of_made, &asked);
    let first: Vec<MemoryFact> =
        texts.iter().map(|text| memory_fact(&first_sentence(text), &[])).collect();
    let other = paraphrased(&questions);
    measure_memory("sections", &first, &questions);
    measure_memory("paraphrases", &first, &other);
    measure_past("sections", &texts, &questions);
    measure_past("paraphrases", &texts, &other);
}

fn measure_memory(set: &str, facts: &[MemoryFact], questions: &[Question]) {
    let numbers: HashMap<&MemoryId, usize> = facts.iter().map(|f| &f.id).zip(0..).collect();
    let by_words = |words: &str| {
        let query = FactQuery { said: words, workspace: WORKSPACE, now: NOW };
        let found = search_facts(facts.to_vec(), &query);
        found.iter().filter_map(|fact| numbers.get(&fact.id).copied()).collect::<Vec<_>>()
    };
    let texts: Vec<String> = facts
        .iter()
        .map(|fact| format!("{} {}", fact.fact.text, fact.fact.topics.join(" ")))
        .collect();
    measure_ways("memory", set, &texts, questions, Box::new(by_words));
    let now: Vec<Vec<usize>> = questions
        .iter()
        .map(|question| {
            let query = FactQuery { said: &question.words, workspace: WORKSPACE, now: NOW };
            let found = rank_facts(facts.to_vec(), &query);
            found.iter().filter_map(|fact| numbers.get(&fact.id).copied()).collect()
        })
        .collect();
    report("memory", set, "as it searches", questions, &now);
}

fn measure_past(set: &str, texts: &[String], questions: &[Question]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let session = SessionId::new("past");
    runtime.block_on(write_session(&store, &session, texts));
    let by_words = |words: &str| {
        let query = RecallQuery {
            session: Some(session.clone()),
            words: words.into(),
            limit: 100,
            ..RecallQuery::default()
        };
        let found = runtime.block_on(store.recall(&query)).expect("readable");
        let places = found.iter().map(|passage| usize::try_from(passage.seq).unwrap_or(0) - 1);
        places.collect::<Vec<usize>>()
    };
    measure_ways("past", set, texts, questions, Box::new(by_words));
    let now: Vec<Vec<usize>> = questions
        .iter()
        .map(|question| {
            let query = RecallQuery {
                session: Some(session.clone()),
                words: question.words.clone(),
                limit: 20,
                ..RecallQuery::default()
            };
            let found = runtime.block_on(recall_passages(&store, query)).expect("readable");
            found.iter().map(|passage| usize::try_from(passage.seq).unwrap_or(0) - 1).collect()
        })
        .collect();
    report("past", set, "as it searches", questions, &now);
}

/// The numbers of the texts that answer a question, best first.
type TextRanking<'a> = Box<dyn FnMut(&str) -> Vec<usize> + 'a>;

fn measure_ways(
    what: &str,
    set: &str,
    texts: &[String],
    questions: &[Question],
    mut by_words: TextRanking<'_>,
) {
    let weights = |words: f32, vectors: f32| RankWeights { words, vectors, links: 0.0 };
    let before: Vec<Vec<usize>> = questions.iter().map(|q| by_words(&q.words)).collect();
    let report = |name: &str, orders: &[Vec<usize>]| report(what, set, name, questions, orders);
    report("as it searched before", &before);
    for (name, weights) in [
        ("stemmed words", weights(1.0, 0.0)),
        ("vectors", weights(0.0, 1.0)),
        ("both", weights(1.0, 0.3)),
    ] {
        let mut texts = TextRelevance::with_weights(texts.iter().map(String::as_str), weights);
        let orders: Vec<Vec<usize>> =
            questions.iter().map(|q| texts.rank_texts(&q.words)).collect();
        report(name, &orders);
    }
}

fn report(what: &str, set: &str, name: &str, questions: &[Question], orders: &[Vec<usize>]) {
    let mut found = [0_usize; PLACES.len()];
    for (question, order) in questions.iter().zip(orders) {
        let place = order.iter().position(|at| *at == question.answer);
        for (count, most) in found.iter_mut().zip(PLACES) {
            *count += usize::from(place.is_some_and(|place| place < most));
        }
    }
    let share = |count: usize| count as f64 * 100.0 / questions.len().max(1) as f64;
    let [one, five, ten] = found.map(share);
    say(&format!("| {what} | {set} | {name} | {one:.1} | {five:.1} | {ten:.1} |"));
}

fn memory_fact(text: &str, topics: &[String]) -> MemoryFact {
    MemoryFact {
        id: MemoryId::new(format!("id of {text}")),
        fact: NewMemory {
            text: text.into(),
            kind: MemoryKind::Project,
            topics: topics.to_vec(),
            importance: 3,
            workspace: Some(WORKSPACE.into()),
            source: MemorySource::default(),
            label: weir_core::governance::label::Label::default(),
            status: MemoryStatus::Kept,
            supersedes: None,
        },
        confirmed: 0,
        superseded_by: None,
        created: NOW,
        updated: NOW,
    }
}

/// Puts each text into a session as the text of a fact.
async fn write_session(store: &dyn Store, session: &SessionId, texts: &[String]) {
    let lease = store.acquire_lease(session, &this_process("bench")).await.expect("free");
    let mut last = GENESIS.to_string();
    let (mut records, mut passages) = (Vec::new(), Vec::new());
    for (seq, text) in (1..).zip(texts) {
        let mut record = Record {
            session: session.clone(),
            seq,
            ts: Timestamp(NOW.0 + seq.cast_signed()),
            kind: "call.finished".into(),
            v: 1,
            payload: "{}".into(),
            hash: String::new(),
        };
        record.hash = record.hash_after(&last);
        last.clone_from(&record.hash);
        records.push(record);
        let (call, subject) = (None, "read_file".into());
        passages.push(IndexedText { seq, call, subject, text: text.clone() });
    }
    let facts = records.len() as u64;
    let meta = SessionMeta {
        id: session.clone(),
        workspace: WORKSPACE.into(),
        title: "Weave".into(),
        model: "m".into(),
        profile: "code".into(),
        status: "running".into(),
        created: NOW,
        updated: NOW,
        facts,
        parent: None,
    };
    let append = Append { texts: passages, ..Append::of_records(lease, 0, records, meta) };
    store.append(append).await.expect("it fits");
}

/// The texts below the headings of a folder of Markdown, and the headings as questions.
fn read_sections(folder: &Path) -> (Vec<String>, Vec<Question>) {
    let mut paths = Vec::new();
    collect_notes(folder, &mut paths);
    paths.sort();
    let (mut texts, mut questions) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut before: Option<Vec<String>> = None;
        for TextPassage { headings, text, .. } in split_passages(&text) {
            let text: String = text.chars().take(PASSAGE_CHARS_MAX).collect();
            if text.chars().count() < ANSWER_CHARS_MIN {
                continue;
            }
            let is_first = before.as_ref() != Some(&headings);
            if let Some(heading) = headings.last().filter(|_| is_first) {
                questions.push(Question { words: plain_heading(heading), answer: texts.len() });
            }
            before = Some(headings);
            texts.push(text);
        }
    }
    // Of several sections with one heading nobody can say which is meant.
    let mut count: HashMap<String, usize> = HashMap::new();
    questions.iter().for_each(|q| *count.entry(q.words.to_lowercase()).or_insert(0) += 1);
    questions.retain(|q| count[&q.words.to_lowercase()] == 1 && q.words.chars().count() > 3);
    (texts, questions)
}

fn paraphrased(questions: &[Question]) -> Vec<Question> {
    let other = |question: &Question| {
        let words = paraphrase(&question.words);
        (words != question.words).then_some(Question { words, answer: question.answer })
    };
    questions.iter().filter_map(other).collect()
}

fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    text[..end].chars().take(FACT_CHARS_MAX).collect()
}

fn collect_notes(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_notes(&path, paths);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            paths.push(path);
        }
    }
}

#[expect(clippy::print_stdout, reason = "a bench prints its table")]
fn say(line: &str) {
    println!("{line}");
}
