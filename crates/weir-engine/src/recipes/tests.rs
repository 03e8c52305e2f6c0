//! Recipes of the program, files of the person's own, learned ones.

use std::fs;

use weir_core::governance::label::Label;
use weir_core::ids::Timestamp;
use weir_core::recipe::{
    FLOOR_DEFAULT, RecipeCandidate, RecipeSource, RecipeStanding, match_recipes,
};

use super::bundled::bundled_recipes;
use super::*;

/// Sentences, and the recipe of the program that fits each best; empty: none does.
const SENTENCES: &[(&str, &str)] = &[
    ("Summarise today's daily note", "summarise-daily-note"),
    ("Give me a summary of my daily note of 2026-11-20", "summarise-daily-note"),
    ("Bitte fasse die Tagesnotiz von gestern zusammen", "summarise-daily-note"),
    ("Eine Zusammenfassung der Tagesnotiz von heute", "summarise-daily-note"),
    ("Summarize today's journal entry", "summarise-daily-note"),
    ("Do my weekly review", "weekly-review"),
    ("Help me to review my week", "weekly-review"),
    ("Mach einen Wochenrückblick", "weekly-review"),
    ("Which notes have no tags?", "untagged-notes"),
    ("Find all untagged notes in the folder projects", "untagged-notes"),
    ("Find the TODO comments in src and fix them", "find-todos"),
    ("List the todos", "find-todos"),
    ("Are there any open todos or fixmes left?", "find-todos"),
    ("Rename the function fetch_user to load_user across all files", "rename-across-files"),
    ("Rename the variable total everywhere", "rename-across-files"),
    ("Write the changelog entry for the commits since v1.2.0", "changelog-from-git"),
    ("Update the changelog from the git log", "changelog-from-git"),
    // Near, and something else.
    ("Rename the file notes.md to old.md", ""),
    ("Add a todo: water the plants", ""),
    ("Review this pull request", ""),
    ("Do a code review of the parser", ""),
    ("Explain what the summary statistics in report.py mean and plot them by quarter", ""),
    ("What is the format of the changelog?", ""),
    // A verb alone fits everything and says nothing.
    ("write", ""),
    ("write it", ""),
    ("update", ""),
    ("update it", ""),
    ("summarise it", ""),
    ("Give me a summary", ""),
    ("Fix the todo app", ""),
    ("Build a todo app with tests", ""),
    ("Why does the build fail on CI?", ""),
    ("Write a function that parses dates", ""),
    ("Update the dependencies", ""),
    ("Translate the readme into German", ""),
    ("Schedule a weekly review on Fridays", ""),
    ("Hello!", ""),
];

#[test]
fn m5_the_program_s_own_recipes_are_without_fault() {
    let mut parsed = Vec::new();
    for recipe in BUNDLED {
        let read = parse_file(recipe.text).expect("a recipe without fault");
        assert_eq!(read.id, recipe.id);
        parsed.push(Recipe { source: RecipeSource::Bundled, ..read });
    }
    if std::env::var_os("UPDATE").is_some() {
        let line =
            |recipe: &Recipe| serde_json::to_string(recipe).expect("a recipe is JSON") + "\n";
        let lines: String = parsed.iter().map(line).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/recipes/bundled.jsonl");
        fs::write(path, lines).expect("writing the recipes");
        return;
    }
    assert!(
        bundled_recipes() == parsed,
        "recipes/bundled.jsonl is not what the files say: run this test with UPDATE=1"
    );
}

/// Tools refuse it, so a recipe with one could never be followed.
#[test]
fn m5_no_step_of_the_program_s_recipes_searches_for_nothing() {
    for step in bundled_recipes().iter().flat_map(|recipe| &recipe.steps) {
        assert_ne!(step.input["pattern"], "", "{step:?}");
    }
}

#[test]
fn m5_each_fits_its_own_sentences_and_no_others() {
    let candidates = || {
        bundled_recipes()
            .iter()
            .map(|recipe| RecipeCandidate { recipe, standing: RecipeStanding::default() })
    };
    let mut wrong = Vec::new();
    for (said, expected) in SENTENCES {
        let scores: Vec<(String, f64)> = match_recipes(said, "agent", 0.0, candidates())
            .into_iter()
            .map(|found| (found.recipe.id, found.score))
            .collect();
        let found = match_recipes(said, "agent", FLOOR_DEFAULT, candidates());
        let first = found.first().map_or("", |found| found.recipe.id.as_str());
        if first != *expected || found.len() > 1 {
            wrong.push(format!("{said}: {expected:?}, not {scores:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for recipe in bundled_recipes() {
        assert!(SENTENCES.iter().any(|(_, id)| *id == recipe.id), "{} has no sentence", recipe.id);
    }
}

fn file(id: &str, tool: &str) -> String {
    format!(
        "id = \"{id}\"\nname = \"N\"\ndescription = \"D.\"\ntriggers = [\"tidy\"]\n\n[[steps]]\n\
         tool = \"{tool}\"\ninput = {{ path = \"a\" }}\n"
    )
}

fn kept(id: &str, state: &str, tool: &str) -> StoredItem {
    let recipe = parse_file(&file(id, tool)).expect("a recipe");
    StoredItem {
        what: KEPT_RECIPE.into(),
        name: id.into(),
        text: serde_json::to_string(&recipe).expect("JSON"),
        state: state.into(),
        hash: String::new(),
        version: 1,
        label: Label::external("example.org"),
        by: "person".into(),
        ts: Timestamp(1),
    }
}

fn used(survey: &RecipeSurvey) -> Vec<(String, String, String)> {
    let used = survey.recipes.iter().filter(|found| found.shadowed_by.is_none());
    let shown = |found: &FoundRecipe| {
        let place = found.place.rsplit('/').next().unwrap_or_default().to_string();
        (found.recipe.id.clone(), place, found.recipe.steps[0].tool.clone())
    };
    used.map(shown).collect()
}

#[test]
fn m5_the_person_s_recipe_goes_before_the_learned_one_and_that_before_the_program_s() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let places = RecipePlaces {
        own: Some(folder.path().to_path_buf()),
        bundled: true,
        ..Default::default()
    };
    let learned = [kept("find-todos", ACTIVE, "glob"), kept("mine", ACTIVE, "glob")];
    fs::write(folder.path().join("b.toml"), file("mine", "list_files")).expect("written");
    let survey = survey_recipes(&places, &learned);
    assert_eq!(survey.notices, [""; 0]);
    let of = |id: &str| used(&survey).into_iter().find(|found| found.0 == id).map(|found| found.1);
    assert_eq!(of("mine").as_deref(), Some("b.toml"));
    assert_eq!(of("find-todos").as_deref(), Some("learned"));
    assert_eq!(of("weekly-review").as_deref(), Some("bundled"));
    // What was learned keeps the label under which it is kept.
    let learned = survey.recipes.iter().find(|found| found.place == "learned").expect("one");
    assert!(learned.recipe.label.is_external());
    assert_eq!(learned.recipe.source, RecipeSource::Learned);
}

#[test]
fn m5_a_rejected_recipe_is_not_used_whoever_made_it() {
    let places = RecipePlaces { bundled: true, ..Default::default() };
    let survey = survey_recipes(
        &places,
        &[
            kept("find-todos", REJECTED, "glob"),
            kept("other", REJECTED, "glob"),
            kept("third", "disabled", "glob"),
        ],
    );
    let ids: Vec<String> = used(&survey).into_iter().map(|found| found.0).collect();
    assert_eq!(ids.len(), BUNDLED.len() - 1);
    assert!(!ids.iter().any(|id| ["find-todos", "other", "third"].contains(&id.as_str())));
}

#[test]
fn m5_a_broken_file_is_a_warning_with_its_line_and_the_others_count() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).expect("written");
    };
    write("a-good.toml", file("good", "glob").as_bytes());
    write("b-twice.toml", file("good", "list_files").as_bytes());
    write("c-broken.toml", b"id = \"broken\"\nname = oops\n");
    write("d-unknown.toml", file("unknown", "glob").replace("\"a\"", "\"{{x}}\"").as_bytes());
    write("e-bytes.toml", b"\xff\xfe");
    write("f-large.toml", "# ".repeat(40_000).as_bytes());
    write("g-other.txt", b"no recipe");
    fs::create_dir(folder.path().join("h-folder.toml")).expect("made");
    let places = RecipePlaces { own: Some(folder.path().to_path_buf()), ..Default::default() };
    let found = survey_recipes(&places, &[]);
    assert_eq!(used(&found), [("good".into(), "a-good.toml".into(), "glob".into())]);
    for (file, words) in [
        ("b-twice.toml:1: ", "the id good is taken by"),
        ("c-broken.toml:2: ", "left out"),
        ("d-unknown.toml:6: ", "{{x}} is no parameter"),
        ("e-bytes.toml:1: ", "not UTF-8"),
        ("f-large.toml:1: ", "80000 bytes are too many"),
        ("h-folder.toml:1: ", "it is no file"),
    ] {
        let notice = found.notices.iter().find(|notice| notice.contains(file));
        assert!(notice.is_some_and(|n| n.contains(words)), "{file}: {:?}", found.notices);
    }
    assert_eq!(found.notices.len(), 6, "{:?}", found.notices);
    // A learned one that cannot be read is named too.
    let broken = StoredItem { text: "{".into(), ..kept("lost", ACTIVE, "glob") };
    let other = StoredItem { name: "other-name".into(), ..kept("lost", ACTIVE, "glob") };
    let notices = survey_recipes(&RecipePlaces::default(), &[broken, other]).notices;
    assert_eq!(notices.len(), 2, "{notices:?}");
}

#[test]
fn m5_a_file_is_read_again_only_when_it_changed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("mine.toml");
    let places = RecipePlaces { own: Some(folder.path().to_path_buf()), ..Default::default() };
    fs::write(&path, file("mine", "glob")).expect("written");
    let first =
        |places: &RecipePlaces| used(&survey_recipes(places, &[])).into_iter().map(|f| f.2).next();
    assert_eq!(first(&places).as_deref(), Some("glob"));
    fs::write(&path, file("mine", "list_files")).expect("written");
    assert_eq!(first(&places).as_deref(), Some("list_files"));
    fs::remove_file(&path).expect("removed");
    assert_eq!(first(&places), None);
}
