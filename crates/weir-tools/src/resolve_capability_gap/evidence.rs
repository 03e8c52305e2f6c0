//! K6: how often the skill that is needed is among the first 1, 5 and 8 that are told (eight are told at
//! most). `cargo nextest run -p weir-tools -E 'test(k6_skills)' --no-capture` prints the table.
//!
//! Each document of the product stands for a skill: its first paragraph is the description, the headings
//! below are what somebody needs. The skills that come with the program are among them, and the phrases
//! that set them off are what is needed.

use std::path::{Path, PathBuf};

use weir_engine::relevance::RankWeights;

use super::*;

const PLACES: [usize; 3] = [1, 5, 8];
/// A description as long as the catalogue shows it.
const DESCRIPTION_CHARS_MAX: usize = 300;

/// A need, and the hint that answers it.
struct SkillNeed {
    words: String,
    answer: usize,
}

fn read_skills() -> (Vec<CapabilityHint>, Vec<SkillNeed>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut hints, mut needs) = (Vec::new(), Vec::new());
    let mut add = |path: &Path, description: &str, words: Vec<String>| {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = name.filter(|name| name != "SKILL").unwrap_or_else(|| folder_name(path));
        let about = description.chars().take(DESCRIPTION_CHARS_MAX).collect();
        let what = format!("skill {name}");
        needs.extend(words.into_iter().map(|words| SkillNeed { words, answer: hints.len() }));
        hints.push(CapabilityHint { what, about, how: String::new(), foreign: false });
    };
    for folder in ["docs", "docs/decisions"] {
        for path in files_of(&root.join(folder)) {
            let text = std::fs::read_to_string(&path).expect("a text");
            let paragraph = text.split("\n\n").find(|part| !part.starts_with(['#', '`']));
            let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
            let headings = headings.map(|words| words.replace('`', "")).collect();
            add(&path, paragraph.unwrap_or_default(), headings);
        }
    }
    for folder in files_of(&root.join("crates/weir-engine/skills")) {
        let path = folder.join("SKILL.md");
        let text = std::fs::read_to_string(&path).expect("a skill");
        let field = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name));
        let phrases = field("trigger: ").unwrap_or_default().split(", ").map(str::to_owned);
        add(&path, field("description: ").unwrap_or_default(), phrases.collect());
    }
    // Of several with one heading nobody can say which is meant.
    let all: Vec<String> = needs.iter().map(|need| need.words.to_lowercase()).collect();
    needs.retain(|need| {
        all.iter().filter(|words| **words == need.words.to_lowercase()).count() == 1
    });
    (hints, needs)
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let is_text = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|e| e == "md");
    let in_docs = folder.ends_with("docs");
    let mut paths: Vec<PathBuf> =
        entries.filter(is_text).filter(|path| !(in_docs && path.is_dir())).collect();
    paths.sort();
    paths
}

fn folder_name(path: &Path) -> String {
    let name = path.parent().and_then(Path::file_name);
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// How many needs were answered within each of the places.
fn count_found(needs: &[SkillNeed], orders: &[Vec<usize>]) -> [usize; 3] {
    let mut found = [0; PLACES.len()];
    for (need, order) in needs.iter().zip(orders) {
        let place = order.iter().position(|at| *at == need.answer);
        for (count, most) in found.iter_mut().zip(PLACES) {
            *count += usize::from(place.is_some_and(|place| place < most));
        }
    }
    found
}

#[test]
fn k6_skills_are_found_better_than_by_counting_words() {
    let (hints, needs) = read_skills();
    assert!(needs.len() > 250, "{}", needs.len());
    let weights = |words: f32, vectors: f32| RankWeights { words, vectors, links: 0.0 };
    let before: Vec<Vec<usize>> =
        needs.iter().map(|need| rank_by_words(&query_words(&need.words), &hints)).collect();
    let mut ways: Vec<(&str, Vec<Vec<usize>>)> = vec![("as it searched before", before)];
    for (name, weights) in [
        ("stemmed words", weights(1.0, 0.0)),
        ("vectors", weights(0.0, 1.0)),
        ("both", weights(1.0, 0.3)),
    ] {
        let texts: Vec<String> = hints.iter().map(hint_text).collect();
        let mut texts = TextRelevance::with_weights(texts.iter().map(String::as_str), weights);
        let alone: Vec<Vec<usize>> =
            needs.iter().map(|need| texts.rank_texts(&need.words)).collect();
        ways.push((name, alone));
    }
    let chosen = needs.iter().map(|need| rank_by_relevance(&need.words, &hints));
    ways.push(("as it searches", chosen.collect()));
    let ways: Vec<(&str, [usize; 3])> =
        ways.into_iter().map(|(name, orders)| (name, count_found(&needs, &orders))).collect();
    print(&format!("{} skills, {} needs", hints.len(), needs.len()));
    for (name, found) in &ways {
        let share = |count: usize| count as f64 * 100.0 / needs.len() as f64;
        let [one, five, eight] = found.map(share);
        print(&format!("| skills | {name} | {one:.1} | {five:.1} | {eight:.1} |"));
    }
    let found = |name: &str| ways.iter().find(|(way, _)| *way == name).map(|(_, found)| *found);
    let (before, now) = (found("as it searched before"), found("as it searches"));
    let sum = |found: Option<[usize; 3]>| found.unwrap_or_default().iter().sum::<usize>();
    assert!(sum(now) >= sum(before), "{before:?} {now:?}");
}

fn print(line: &str) {
    println!("{line}");
}
