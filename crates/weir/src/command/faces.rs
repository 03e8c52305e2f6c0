//! What every face shows of every scenario, side by side in one golden file each: the terminal, line
//! mode, the browser, a shared link, `weir run` and `weir sessions show`. Each of them folds the
//! journal for itself; here it is seen where they say different things of the same facts.
//!
//! `UPDATE=1` rewrites the files, `WEIR_SCENARIO` picks some by a part of their names. How a face is
//! drawn in all its states is held elsewhere (`weir-tui/tests/frames`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use weir_core::ids::SessionId;
use weir_install::context::InstallationContext;
use weir_install::environment::ProcessEnvironment;
use weir_scenario::parse;
use weir_scenario::play::{Depth, play};

use crate::options::GlobalOptions;

mod facts;
mod html;
mod moments;
mod sections;
mod starts;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faces")
}

/// The names of the files in a folder that end so.
fn file_names(folder: &Path, end: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(end)?.to_owned()));
    names.filter(|name| name != "README").collect()
}

/// The surroundings of `weir run`, of which it needs none as long as nothing is answered at its own
/// keyboard.
fn surroundings() -> anyhow::Result<InstallationContext> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().display().to_string();
    let global = GlobalOptions {
        workspace: Some(folder.path().to_owned()),
        state_dir: Some(folder.path().join("state")),
        log_file: None,
    };
    global.open_context(ProcessEnvironment::of(&[("HOME", home.as_str())]))
}

/// What all faces show of one scenario.
fn faces_of(path: &Path, cx: &InstallationContext) -> anyhow::Result<String> {
    let scenario = parse::parse(&std::fs::read_to_string(path)?)?;
    let facts = facts::stable_facts(&play(&scenario, Depth::Memory, 0)?)?;
    let looks = moments::looks(&facts);
    let session = SessionId::new("scenario");
    super::sessions::offscreen::check_ends(&session, &facts)?;
    super::sessions::offscreen::check_summary(&session, &facts)?;
    super::sessions::offscreen::check_kept_usage(&session, &facts)?;
    starts::check_settled_starts(&session, &facts)?;
    let text = sections::all_sections(
        &sections::SeenJournal { session, facts: &facts, looks: &looks },
        cx,
    );
    ensure!(!text.contains("/.tmp"), "the folder of the play stands in it:\n{text}");
    Ok(text)
}

fn compare_golden(path: &Path, found: &str) -> anyhow::Result<()> {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().context("it has a folder")?)?;
        return Ok(std::fs::write(path, found)?);
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        let diff = similar::TextDiff::from_lines(&expected, found);
        bail!("{}\n(UPDATE=1 rewrites it)", diff.unified_diff());
    }
    Ok(())
}

/// Every scenario of one folder.
fn check_area(area: &str) {
    let only = std::env::var("WEIR_SCENARIO").unwrap_or_default();
    let cx = surroundings().expect("a folder");
    let mut failures = Vec::new();
    for name in file_names(&scenarios().join(area), ".md") {
        if !name.contains(&only) {
            continue;
        }
        let golden = goldens().join(area).join(format!("{name}.txt"));
        let source = scenarios().join(area).join(format!("{name}.md"));
        if let Err(error) = faces_of(&source, &cx).and_then(|found| compare_golden(&golden, &found))
        {
            failures.push(format!("{area}/{name}: {error:#}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

macro_rules! areas {
    ($($test:ident $area:literal,)*) => {
        /// The folders of the scenarios.
        const AREAS: &[&str] = &[$($area,)*];

        $(
            #[test]
            fn $test() {
                check_area($area);
            }
        )*
    };
}

areas! {
    l2_each_face_shows_agents "agents",
    l2_each_face_shows_the_brain "brain",
    l2_each_face_shows_context "context",
    l2_each_face_shows_documents "documents",
    l2_each_face_shows_the_gate "gate",
    l2_each_face_shows_handles "handles",
    l2_each_face_shows_the_loop "loop",
    l2_each_face_shows_memory "memory",
    l2_each_face_shows_models "models",
    l2_each_face_shows_notes "notes",
    l2_each_face_shows_plugins "plugins",
    l2_each_face_shows_programs "programs",
    l2_each_face_shows_the_prompt "prompt",
    l2_each_face_shows_providers "providers",
    l2_each_face_shows_recipes "recipes",
    l2_each_face_shows_recovery "recovery",
    l2_each_face_shows_skills "skills",
    l2_each_face_shows_tools "tools",
    l2_each_face_shows_the_web "web",
}

#[test]
fn l2_every_scenario_is_held_in_every_face() {
    let folders = std::fs::read_dir(scenarios()).expect("the scenarios are there");
    let folders = folders.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    let named = folders.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let areas: BTreeSet<String> = AREAS.iter().map(ToString::to_string).collect();
    assert_eq!(named.collect::<BTreeSet<_>>(), areas, "each folder has a test here");
    for area in AREAS {
        let (played, held) = (scenarios().join(area), goldens().join(area));
        let wanted = file_names(&played, ".md");
        if std::env::var_os("UPDATE").is_some() {
            for gone in file_names(&held, ".txt").difference(&wanted) {
                std::fs::remove_file(held.join(format!("{gone}.txt"))).expect("it can be removed");
            }
        } else {
            assert_eq!(
                file_names(&held, ".txt"),
                wanted,
                "{area}: UPDATE=1 writes and removes them"
            );
        }
    }
}
