//! Q27: how often the passage that answers a question is among the first 1, 5 and 10 hits, by words, by
//! vectors, by both, and with links. `cargo bench -p weir-meaning --bench evidence -- FOLDER`, over a
//! folder of Markdown notes (docs/meaning.md says which figures came of Obsidian's help vault).
//!
//! Two sets of questions. *Headings*: each heading is the question, its section the answer, and the
//! heading is taken out of what is indexed. *Paraphrases*: the same, with every word for which a table has
//! one replaced by another word for it, so that fewer words are shared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_meaning::{
    MeaningIndex, MeaningQuery, RankWeights, SourceParts, SourceStamp, TrainingSettings,
};

/// Shortest answer, in characters: less says nothing by itself.
const ANSWER_CHARS_MIN: usize = 80;
const PLACES: [usize; 3] = [1, 5, 10];

#[path = "questions/wording.rs"]
mod wording;

use wording::{paraphrase, plain_heading};

struct Question {
    words: String,
    /// Note and lines that hold the answer.
    note: String,
    first: usize,
    last: usize,
}

/// A note, its passages without the headings that are asked for, and the questions.
struct Note {
    name: String,
    parts: SourceParts,
}

fn main() {
    let Some(folder) = std::env::args().skip(1).find(|arg| !arg.starts_with("--")) else {
        say("No folder of notes was given: nothing is measured.");
        return;
    };
    let (notes, questions) = read_vault(Path::new(&folder));
    let mut index = MeaningIndex::new();
    for note in &notes {
        index.put_source(&note.name, SourceStamp::default(), &note.parts);
    }
    say(&format!(
        "{} notes, {} passages, {} questions",
        notes.len(),
        index.passage_count(),
        questions.len()
    ));
    let replaced = |question: &Question| paraphrase(&question.words) != question.words;
    let changed = questions.iter().filter(|question| replaced(question)).count();
    say(&format!("{changed} of the questions have another wording in the second set"));
    say("| questions | ways | evidence@1 | @5 | @10 |\n|---|---|---|---|---|");
    let chosen = TrainingSettings::default();
    let start = std::time::Instant::now();
    index.train_vectors(&chosen);
    say(&format!(
        "vectors of {} dimensions learned in {} ms",
        chosen.dims,
        start.elapsed().as_millis()
    ));
    measure(&mut index, &questions);
}

fn measure(index: &mut MeaningIndex, questions: &[Question]) {
    let measured = RankWeights::MEASURED;
    let ways = [
        ("words", RankWeights { words: 1.0, vectors: 0.0, links: 0.0 }),
        ("vectors", RankWeights { words: 0.0, vectors: 1.0, links: 0.0 }),
        ("both", RankWeights { links: 0.0, ..measured }),
        ("both and links", measured),
        ("words and links", RankWeights { vectors: 0.0, ..measured }),
    ];
    for set in ["headings", "paraphrases"] {
        for (way, weights) in ways {
            let mut found = [0_usize; PLACES.len()];
            let mut asked = 0;
            for question in questions {
                let words = match set {
                    "headings" => question.words.clone(),
                    _ => paraphrase(&question.words),
                };
                if set == "paraphrases" && words == question.words {
                    continue;
                }
                asked += 1;
                let all = |_: &str| true;
                let hits = index.find_passages(&MeaningQuery {
                    words: &words,
                    limit: 10,
                    weights,
                    vector: None,
                    keep: &all,
                });
                let place = hits.iter().position(|hit| {
                    hit.source == question.note
                        && (question.first..=question.last).contains(&hit.line)
                });
                for (count, most) in found.iter_mut().zip(PLACES) {
                    *count += usize::from(place.is_some_and(|place| place < most));
                }
            }
            let share = |count: usize| count as f64 * 100.0 / asked.max(1) as f64;
            let [one, five, ten] = found.map(share);
            say(&format!("| {set} | {way} | {one:.1} | {five:.1} | {ten:.1} |"));
        }
    }
}

fn read_vault(folder: &Path) -> (Vec<Note>, Vec<Question>) {
    let mut paths = Vec::new();
    collect_notes(folder, &mut paths);
    paths.sort();
    let (mut notes, mut questions) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let mut parts = SourceParts::of_text(&text);
        let passages = &mut parts.passages;
        let mut asked = BTreeSet::new();
        for at in 0..passages.len() {
            let Some(heading) = passages[at].headings.last().cloned() else { continue };
            let before = at.checked_sub(1).map(|before| &passages[before].headings);
            let is_first = before != Some(&passages[at].headings);
            if !is_first || passages[at].text.chars().count() < ANSWER_CHARS_MIN {
                continue;
            }
            let path = passages[at].headings.clone();
            let same = passages[at..].iter().take_while(|passage| passage.headings == path);
            let last = same.last().map_or(passages[at].line, |passage| passage.line);
            let (note, first) = (name.clone(), passages[at].line);
            questions.push(Question { words: plain_heading(&heading), note, first, last });
            asked.insert(heading);
        }
        for passage in passages {
            passage.headings.retain(|heading| !asked.contains(heading));
        }
        notes.push(Note { name, parts });
    }
    // Of several sections with one heading nobody can say which is meant.
    let mut count = std::collections::HashMap::new();
    questions.iter().for_each(|q| *count.entry(q.words.to_lowercase()).or_insert(0) += 1);
    questions.retain(|q| count[&q.words.to_lowercase()] == 1 && q.words.chars().count() > 3);
    (notes, questions)
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
