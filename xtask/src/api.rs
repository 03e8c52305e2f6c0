//! `cargo xtask api`: the public surface of every crate that is published, as text, so that a change of
//! it is a difference that somebody reads; and the law that what a release promised does not go away
//! unsaid. Not here: what rustc knows of types. What a macro makes is held by what it is given.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use crate::requirements::Problem;
use crate::tidy::tree::Tree;

mod lines;
mod modules;
mod names;
mod released;
mod surface;
mod text;

/// Folder of the texts.
const FOLDER: &str = "docs/generated";
/// What the newest release promised.
const RELEASED: &str = "docs/generated/api-released.txt";
const CHANGELOG: &str = "CHANGELOG.md";
const MANIFEST: &str = "Cargo.toml";
/// Most bytes of one text: a crate with more has no surface that anybody reads.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Write the public surface of each published crate to docs/generated/api-*.txt
#[derive(Debug, Args)]
pub(crate) struct ApiArgs {
    /// Also write it down as what the release of this version promises
    #[arg(long)]
    released: bool,
}

/// Writes the texts anew.
///
/// # Errors
/// The project cannot be read, or a text cannot be written.
pub(crate) fn api(root: &Path, args: &ApiArgs) -> anyhow::Result<ExitCode> {
    let tree = Tree::read(root)?;
    let texts = surface_texts(&tree);
    for (path, text) in &texts {
        fs::write(root.join(path), text).with_context(|| path.clone())?;
    }
    if args.released {
        let version = released::workspace_version(&read(root, MANIFEST)?);
        let text = released::baseline_text(version.as_deref().unwrap_or_default(), &texts);
        fs::write(root.join(RELEASED), text).context(RELEASED)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What must be changed until texts, sources and changelog agree.
///
/// # Errors
/// The changelog or the manifest cannot be read.
pub(crate) fn problems(root: &Path, tree: &Tree) -> anyhow::Result<Vec<Problem>> {
    let texts = surface_texts(tree);
    let mut found = Vec::new();
    for (path, now) in &texts {
        let kept = fs::read_to_string(root.join(path)).unwrap_or_default();
        found.extend(stale_text(path, &kept, now));
        if now.len() > TEXT_BYTES_MAX {
            let what = format!("{} bytes, at most {TEXT_BYTES_MAX}: publish less", now.len());
            found.push(Problem { path: path.clone(), line: 1, what });
        }
    }
    let facts = released::ReleaseFacts {
        baseline: &fs::read_to_string(root.join(RELEASED)).unwrap_or_default(),
        changelog: &read(root, CHANGELOG)?,
        manifest: &read(root, MANIFEST)?,
    };
    found.extend(released::broken_promises(&facts, &texts));
    Ok(found)
}

/// The text of each published crate, by its path.
fn surface_texts(tree: &Tree) -> BTreeMap<String, String> {
    let texts = published_crates(tree).into_iter().map(|krate| {
        let path = format!("{FOLDER}/api-{}.txt", krate.trim_start_matches("weir-"));
        let mut text = format!(
            "# The public surface of {krate}, a line for each promise. `cargo xtask api` writes it.\n"
        );
        for line in surface::surface_lines(tree, krate) {
            text.push_str(&line);
            text.push('\n');
        }
        (path, text)
    });
    texts.collect()
}

/// The crates that people embed, which have the readme of the library. The parts of the program are published,
/// too, for `cargo install weir`, and promise nothing to others.
fn published_crates(tree: &Tree) -> Vec<&str> {
    let published = tree.texts.iter().filter_map(|text| {
        let krate = text.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        let is_embedded = text.text.lines().any(|line| line.trim() == "readme.workspace = true");
        is_embedded.then_some(krate)
    });
    published.collect()
}

/// Where the kept text differs from what it would be now.
fn stale_text(path: &str, kept: &str, now: &str) -> Option<Problem> {
    if kept == now {
        return None;
    }
    let same = kept.lines().zip(now.lines()).take_while(|(kept, now)| kept == now).count();
    let what = "is out of date: run `cargo xtask api`, and read the difference".to_owned();
    Some(Problem { path: path.to_owned(), line: same + 1, what })
}

fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root.join(path)).context(path.to_owned())
}
