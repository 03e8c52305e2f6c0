//! Where recipes stand: with the program, in the person's own folder, in the store. Of several with
//! one id the person's counts, then the learned one. A file that cannot be used is a warning, and all
//! others count. Not here: which of them fits a message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use weir_core::recipe::{Recipe, RecipeSource, check_recipe};

use super::bundled::{BUNDLED, bundled_recipes};
use super::file::{FILE_BYTES_MAX, RecipeFault, parse_file};
use crate::ports::StoredItem;
use crate::regular_file::read_regular_file;

/// What recipes are called among what is kept and what waits.
pub const KEPT_RECIPE: &str = "recipe";
/// What recipes are called that were proposed and are kept in a person's own words: nobody follows them,
/// and they are not proposed again.
pub const REPLACED_RECIPE: &str = "replaced-recipe";
/// State of a learned recipe that counts.
pub const ACTIVE: &str = "active";
/// State of one that a person said no to: it is neither used nor proposed again. Of this name, a
/// recipe of the program is switched off.
pub const REJECTED: &str = "rejected";
/// Most files that are read.
const FILES_MAX: usize = 200;

/// Where recipes are looked for.
#[derive(Debug, Clone, Default)]
pub struct RecipePlaces {
    /// The person's own folder.
    pub own: Option<PathBuf>,
    /// Those of the program count.
    pub bundled: bool,
    /// Files as they were read last.
    pub read: ReadFiles,
}

/// Files as they were read last: what did not change is not read again.
#[derive(Debug, Clone, Default)]
pub struct ReadFiles(Arc<Mutex<BTreeMap<PathBuf, ReadFile>>>);

type ParsedRecipe = Arc<Result<Recipe, Vec<RecipeFault>>>;

#[derive(Debug, Clone)]
struct ReadFile {
    changed: Option<SystemTime>,
    bytes: u64,
    parsed: ParsedRecipe,
}

/// A recipe that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRecipe {
    /// The recipe with its steps.
    pub recipe: Recipe,
    /// Where: a path, `bundled`, `learned`.
    pub place: String,
    /// The place of another one of this id, which counts instead.
    pub shadowed_by: Option<String>,
}

/// Everything that is found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecipeSurvey {
    /// Every recipe, those that count first.
    pub recipes: Vec<FoundRecipe>,
    /// What is wrong, with file and line.
    pub notices: Vec<String>,
}

/// Looks. `kept`: what the store keeps of recipes. Blocks: call it on a blocking thread.
pub fn survey_recipes(places: &RecipePlaces, kept: &[StoredItem]) -> RecipeSurvey {
    let mut survey = RecipeSurvey::default();
    add_own_recipes(places, &mut survey);
    for kept in kept.iter().filter(|kept| kept.state == ACTIVE) {
        match recipe_of(kept) {
            Ok(recipe) => survey.add(recipe, "learned".into()),
            Err(why) => {
                survey.notices.push(format!("the learned recipe {} is left out: {why}", kept.name));
            }
        }
    }
    let off = |id: &str| kept.iter().any(|kept| kept.state == REJECTED && kept.name == id);
    if places.bundled {
        for recipe in bundled_recipes().iter().filter(|recipe| !off(&recipe.id)) {
            survey.add(recipe.clone(), "bundled".into());
        }
    }
    survey
}

/// The recipe that the store keeps.
///
/// # Errors
/// What is wrong with it.
pub fn recipe_of(kept: &StoredItem) -> Result<Recipe, String> {
    let recipe: Recipe = serde_json::from_str(&kept.text).map_err(|error| error.to_string())?;
    let label = recipe.label.clone().joined_with(&kept.label);
    let recipe = Recipe { source: RecipeSource::Learned, label, ..recipe };
    match check_recipe(&recipe, None).into_iter().next() {
        Some(wrong) => Err(wrong),
        None if recipe.id != kept.name => Err(format!("it calls itself {}", recipe.id)),
        None => Ok(recipe),
    }
}

/// The text of a recipe of the program; `None`: there is none of this id.
pub fn bundled_text(id: &str) -> Option<&'static str> {
    BUNDLED.iter().find(|recipe| recipe.id == id).map(|recipe| recipe.text)
}

impl RecipeSurvey {
    fn add(&mut self, recipe: Recipe, place: String) {
        let same = self.recipes.iter().find(|found| found.recipe.id == recipe.id);
        let shadowed_by = same.map(|found| found.place.clone());
        self.recipes.push(FoundRecipe { recipe, place, shadowed_by });
    }
}

/// The person's own files, by name.
fn add_own_recipes(places: &RecipePlaces, survey: &mut RecipeSurvey) {
    let Some(folder) = &places.own else { return };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            survey.notices.push(format!("{} cannot be read: {error}", folder.display()));
            return;
        }
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    if paths.len() > FILES_MAX {
        let more = paths.len() - FILES_MAX;
        survey.notices.push(format!(
            "{}: {more} files are left out; {FILES_MAX} recipes are the most",
            folder.display()
        ));
        paths.truncate(FILES_MAX);
    }
    for path in &paths {
        let place = path.display().to_string();
        match read_recipe_file(&places.read, path).as_ref() {
            Ok(recipe) => {
                let same = survey.recipes.iter().find(|found| found.recipe.id == recipe.id);
                if let Some(same) = same {
                    let id = &recipe.id;
                    survey
                        .notices
                        .push(format!("{place}:1: the id {id} is taken by {}", same.place));
                }
                survey.add(recipe.clone(), place);
            }
            Err(faults) => {
                let fault = |fault: &RecipeFault| {
                    format!("{place}:{}: {}; the recipe is left out", fault.line, fault.says)
                };
                survey.notices.extend(faults.iter().map(fault));
            }
        }
    }
    let mut known = places.read.0.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|path, _| paths.contains(path));
}

/// A file, read anew only where it changed.
fn read_recipe_file(files: &ReadFiles, path: &Path) -> ParsedRecipe {
    let unreadable = |why: String| Arc::new(Err(vec![RecipeFault { line: 1, says: why }]));
    let meta = match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => meta,
        Ok(_) => return unreadable("it is no file".into()),
        Err(error) => return unreadable(format!("it cannot be read ({error})")),
    };
    let (bytes, changed) = (meta.len(), meta.modified().ok());
    let mut known = files.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = known.get(path)
        && changed.is_some()
        && (file.changed, file.bytes) == (changed, bytes)
    {
        return file.parsed.clone();
    }
    let parsed = match bytes > FILE_BYTES_MAX {
        true => unreadable(format!("{bytes} bytes are too many; {FILE_BYTES_MAX} are the most")),
        false => match read_regular_file(path, FILE_BYTES_MAX).map(String::from_utf8) {
            Ok(Ok(text)) => Arc::new(parse_file(&text)),
            Ok(Err(_)) => unreadable("it is not UTF-8".into()),
            Err(error) => unreadable(format!("it cannot be read ({error})")),
        },
    };
    known.insert(path.to_path_buf(), ReadFile { changed, bytes, parsed: parsed.clone() });
    parsed
}
