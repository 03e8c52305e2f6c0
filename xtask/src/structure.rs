//! `cargo xtask structure`: the shape of the product's sources, in figures: names, tuples as
//! parameters, circles of modules, lines, traits with one implementation.
//!
//! It measures and judges nothing. That no figure gets worse is a law of `tidy`, which reads the
//! maxima in `xtask/structure.toml`. Not here: what rustc or clippy know, such as types; a name is
//! what stands in the source, and what a macro makes is not seen.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::tidy::tree::{Source, Tree};

mod circles;
mod earlier;
mod lines;
mod maxima;
mod names;
mod order;
mod print;
mod summary;
mod traits;
mod tuples;
mod walk;
mod words;

pub(crate) use maxima::{MAXIMA, Maxima};

/// Crates that help to develop Weir and are no part of it.
const DEVELOPMENT: &[&str] = &["weir-redteam", "weir-scenario", "weir-test-kit", "fuzz", "xtask"];

/// Measure the shape of the sources: names, tuples as parameters, circles, lines, lone traits
#[derive(Debug, Args)]
pub(crate) struct StructureArgs {
    /// Print every place instead of the table
    #[arg(long, value_name = "WHAT")]
    list: Option<List>,
    /// With --list, only what was not there at this revision
    #[arg(long, value_name = "REVISION", requires = "list")]
    since: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Lower the maxima of tidy to what is measured; none is raised
    #[arg(long, conflicts_with_all = ["list", "json"])]
    lower: bool,
}

/// What can be listed place by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum List {
    /// Functions with a one-word name
    Names,
    /// Types with a one-word name
    Types,
    /// Functions that take a tuple
    Tuples,
    /// Arrows between modules of a circle
    Circles,
    /// Traits with one implementation
    Traits,
}

impl List {
    /// As it is written on the command line.
    pub(crate) fn as_word(self) -> &'static str {
        match self {
            List::Names => "names",
            List::Types => "types",
            List::Tuples => "tuples",
            List::Circles => "circles",
            List::Traits => "traits",
        }
    }
}

/// A place in a source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// One row of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Listed {
    pub(crate) place: Place,
    pub(crate) what: String,
    pub(crate) note: String,
    /// What makes it the same thing in another revision.
    #[serde(skip)]
    pub(crate) key: String,
}

/// Everything that is measured by walking the syntax.
pub(crate) struct Measured {
    functions: names::NameGroup,
    types: names::NameGroup,
    tuples: Vec<tuples::TupleTaker>,
    crates: Vec<circles::CrateModules>,
    traits: Vec<traits::LoneTrait>,
}

/// Measures, or lists.
///
/// # Errors
/// The project cannot be read, or git does not know the revision.
pub(crate) fn structure(root: &Path, args: &StructureArgs) -> anyhow::Result<ExitCode> {
    let tree = Tree::read(root)?;
    let measured = measure(&tree);
    let mut out = std::io::stdout().lock();
    if args.lower {
        let text = maxima::lowered(root, &measured)?;
        std::fs::write(root.join(MAXIMA), &text).context(MAXIMA)?;
        write!(out, "{text}")?;
    } else if let Some(list) = args.list {
        let rows = match &args.since {
            Some(revision) => {
                measured.list_new_since(&measure(&earlier::tree_at(root, revision)?), list)
            }
            None => measured.list(list),
        };
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        } else {
            print::rows(&mut out, &rows)?;
        }
    } else {
        let summary = summary::Summary::of(&tree, &measured);
        if args.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?;
        } else {
            print::table(&mut out, &summary)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures what `tidy` holds to its maxima.
pub(crate) fn measure(tree: &Tree) -> Measured {
    let sources: Vec<walk::Declared> = tree.sources.iter().map(walk::declared).collect();
    Measured {
        functions: names::functions(&sources),
        types: names::types(&sources),
        tuples: tuples::tuple_takers(&sources),
        crates: circles::crate_modules(tree),
        traits: traits::lone_traits(&sources),
    }
}

/// The same as it was when the maxima were last written, where git can tell.
pub(crate) fn measured_at_maxima(root: &Path) -> Option<Measured> {
    let revision = earlier::last_change(root, MAXIMA).ok()?;
    Some(measure(&earlier::tree_at(root, &revision).ok()?))
}

impl Measured {
    /// What is in a list here and was not in it before.
    pub(crate) fn list_new_since(&self, before: &Measured, list: List) -> Vec<Listed> {
        earlier::only_new(self.list(list), &before.list(list))
    }

    fn list(&self, list: List) -> Vec<Listed> {
        match list {
            List::Names => names::listed(&self.functions, &[]),
            List::Types => names::listed(&self.types, &self.repeated_types()),
            List::Tuples => tuples::listed(&self.tuples),
            List::Circles => circles::listed(&self.crates),
            List::Traits => traits::listed(&self.traits),
        }
    }

    /// Names that three types or more bear, the most frequent first.
    fn repeated_types(&self) -> Vec<names::Repeated> {
        names::borne_often(&self.types)
    }
}

/// Whether a source is compiled into what people run.
fn is_product(source: &Source) -> bool {
    !source.for_tests
        && source.inside().starts_with("src/")
        && !DEVELOPMENT.contains(&source.krate.as_str())
}
