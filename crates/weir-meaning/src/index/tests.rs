//! The index as a whole: what is found, what is not, and what is kept.

use super::*;

fn index(sources: &[(&str, &str)]) -> MeaningIndex {
    let mut index = MeaningIndex::new();
    for (name, text) in sources {
        index.put_source(name, SourceStamp::default(), &SourceParts::of_text(text));
    }
    index.train_vectors(&TrainingSettings::default());
    index
}

fn query<'a>(words: &'a str, keep: &'a dyn Fn(&str) -> bool) -> MeaningQuery<'a> {
    MeaningQuery { words, limit: 5, weights: RankWeights::MEASURED, vector: None, keep }
}

fn found(index: &mut MeaningIndex, words: &str) -> Vec<String> {
    let hits = index.find_passages(&query(words, &|_| true));
    hits.into_iter().map(|hit| hit.source).collect()
}

const GARDEN: &str =
    "# Growing\nThe tomatoes need a lot of water and the sun.\n# Harvest\nPick tomatoes in August.";
const BOILER: &str = "Die Heizung wird im Herbst mit Wasser gefüllt und entlüftet.";

#[test]
fn k6_a_hit_has_its_headings_place_and_scores() {
    let mut index = index(&[("notes/garden.md", GARDEN), ("house.md", BOILER)]);
    let hits = index.find_passages(&query("when is harvested", &|_| true));
    let first = hits.first().expect("a hit");
    assert_eq!((first.source.as_str(), first.line, first.last_line), ("notes/garden.md", 4, 4));
    assert_eq!(first.headings, ["Harvest"]);
    assert!(first.scores.words.is_some_and(|score| score > 0.0), "{first:?}");
    assert!(first.scores.holds_word, "{first:?}");
    // What only the words of the best hit lead to holds none of the question's.
    let others: Vec<bool> = hits.iter().skip(1).map(|hit| hit.scores.holds_word).collect();
    assert!(others.iter().all(|holds| !holds), "{hits:?}");
    // In another language, in another form of the word.
    assert_eq!(found(&mut index, "Heizungen entlüften"), ["house.md"]);
    assert_eq!(found(&mut index, "quantum"), [""; 0]);
}

#[test]
fn k6_what_is_taken_out_or_hidden_is_not_found() {
    let mut index = index(&[("a.md", GARDEN), ("b.md", GARDEN), ("c.md", BOILER)]);
    let hidden = |name: &str| name != "a.md";
    let hits = index.find_passages(&query("tomatoes", &hidden));
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit.source == "b.md"), "{hits:?}");
    assert!(index.remove_source("b.md") && !index.remove_source("b.md"));
    assert!(found(&mut index, "tomatoes").iter().all(|source| source == "a.md"));
    index.put_source("a.md", SourceStamp::default(), &SourceParts::of_text("Only potatoes."));
    assert_eq!(found(&mut index, "tomatoes"), [""; 0]);
    assert_eq!(found(&mut index, "potato"), ["a.md"]);
    // What is gone leaves room in the end, and nothing else changes.
    index.refresh_vectors(&TrainingSettings::default());
    assert_eq!((index.passages.len(), index.passage_count()), (2, 2));
    assert_eq!(found(&mut index, "potato"), ["a.md"]);
    let names: Vec<&str> = index.source_stamps().map(|(name, _)| name).collect();
    assert_eq!(names, ["c.md", "a.md"]);
}

#[test]
fn k6_links_bring_what_stands_near_forward() {
    let text = |of: &str| format!("The meeting about {of} was long.");
    let (a, b) = (text("budgets"), text("plans"));
    let hub = ("hub.md", "Numbers, numbers and tables: [[A]].");
    let mut index = index(&[("b.md", &b), ("a.md", &a), hub]);
    let hits = index.find_passages(&query("meeting numbers", &|_| true));
    let near = |name: &str| {
        let hit = hits.iter().find(|hit| hit.source == name).expect("it is found");
        hit.scores.links.expect("somebody links")
    };
    // The best is as near as its place makes it; the second would be half as near without the link.
    assert!((near("b.md") - 1.0).abs() < f32::EPSILON, "{hits:?}");
    assert!(near("a.md") > 0.6, "{hits:?}");
}

#[test]
fn k6_vectors_of_a_model_take_the_place_of_our_own() {
    let mut index = index(&[("a.md", "Alpha."), ("b.md", "Beta.")]);
    let made: Vec<(u64, Vec<f32>)> = index
        .passage_keys()
        .map(|key| {
            let vector = if key.source == "a.md" { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
            (key.digest, vector)
        })
        .collect();
    assert_eq!(made.len(), 2);
    let of = |digest: u64| made.iter().find(|(of, _)| *of == digest).map(|(_, v)| v.as_slice());
    index.set_outside_vectors(2, &of);
    let all = |_: &str| true;
    let asked = MeaningQuery { vector: Some(&[0.1, 1.0]), ..query("gamma", &all) };
    let hits = index.find_passages(&asked);
    assert_eq!(hits.first().map(|hit| hit.source.as_str()), Some("b.md"));
}

#[test]
fn k6_a_kept_index_is_the_same_and_a_damaged_one_is_none() {
    let stamp = SourceStamp { bytes: 3, modified: -2, changed_ns: -4, digest: 5 };
    let mut index = index(&[("a.md", GARDEN), ("ü.md", BOILER), ("b.md", GARDEN)]);
    index.put_source("c.md", stamp, &SourceParts::of_text(BOILER));
    index.remove_source("b.md");
    index.put_source("gone.md", stamp, &SourceParts::of_text("Zebras graze [[there]]."));
    index.remove_source("gone.md");
    let bytes = index.to_bytes();
    for gone in ["gone.md", "zebra", "there"] {
        let stands = bytes.windows(gone.len()).any(|part| part == gone.as_bytes());
        assert!(!stands, "{gone} is gone from what is kept");
    }
    let mut back = MeaningIndex::from_bytes(&bytes).expect("an index");
    assert_eq!(back.to_bytes(), bytes);
    assert_eq!(back.source_stamp("c.md"), Some(stamp));
    assert_eq!(back.source_stamp("b.md"), None);
    for words in ["tomatoes", "Heizung", "water"] {
        assert_eq!(found(&mut back, words), found(&mut index, words));
    }
    for end in 0..bytes.len() {
        assert!(MeaningIndex::from_bytes(&bytes[..end]).is_none(), "{end}");
    }
}

proptest::proptest! {
    #[test]
    fn k6_no_bytes_make_it_panic(at in 8_usize..700, byte in 0_u8..=255) {
        let mut bytes = index(&[("a.md", GARDEN), ("c.md", BOILER)]).to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Some(mut index) = MeaningIndex::from_bytes(&bytes) {
            index.find_passages(&query("tomatoes", &|_| true));
            index.refresh_vectors(&TrainingSettings::default());
        }
    }
}
