//! `cargo xtask order`: in which order the linker lays the functions of the program, so that what a run needs
//! lies together. The kernel maps 64 kB around each page that is touched: functions that are strewn over the
//! whole text bring all of it into memory (Q5). What runs is seen by callgrind.
//!
//! With `--link` the program is linked once more with that list, and with the constants that runs read laid
//! together, too (`constants`): that is what is handed out.
//!
//! Not here: giving the list to the linker (`crates/weir/build.rs`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};

use super::house::{self, House};
use super::model::{Reply, Script};
use super::valgrind::ensure_valgrind;
use constants::{ConstantMap, ReadConstants, ReadTrace};
use kept_link::KeptLink;

mod constants;
mod face;
mod kept_link;

pub(crate) use kept_link::{is_linker, link};

/// Turns of the work that stands for longer runs.
const TURNS: u32 = 12;

/// Write the order of the program's functions, by what runs execute (needs valgrind; builds the program)
#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    /// The build whose names are ordered: a function has another name in each
    #[arg(long, value_enum)]
    profile: Profile,
    /// A program of that profile that was linked with its names; without it one is built
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Also link the program with that order, and with the constants that runs read laid together, to this
    /// file: it is stripped, and what is handed out
    #[arg(long, value_name = "PATH", conflicts_with = "binary")]
    link: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Profile {
    Release,
    Dist,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Dist => "dist",
        }
    }
}

/// Builds with names, runs what people run, and writes what was executed.
///
/// # Errors
/// The program cannot be built, valgrind is missing, or a run fails.
pub(crate) fn order(root: &Path, args: &OrderArgs) -> anyhow::Result<ExitCode> {
    let name = args.profile.name();
    ensure_valgrind()?;
    let kept = tempfile::tempdir()?;
    let (fixed, map) = (kept.path().join("weir-fixed"), kept.path().join("map"));
    let (binary, link) = match (&args.binary, &args.link) {
        (Some(binary), _) => (binary.clone(), None),
        (None, None) => (build(root, name, None)?, None),
        // What packed addresses ask of the loader the machine that builds need not have: this one has none.
        (None, Some(goal)) => {
            build(root, name, Some(kept.path()))?;
            let link = KeptLink::read(kept.path())?;
            link.at_fixed_address(&fixed, &map)?;
            (fixed, Some((link, goal)))
        }
    };
    let seen = tempfile::tempdir()?;
    let traced = traced_program(&binary, seen.path())?;
    let house = House::build(&traced, &std::env::temp_dir(), TURNS)?;
    let mut order = Order::default();
    // What all runs need comes first, then what only longer ones do.
    let mut session = String::new();
    for (what, script) in works() {
        house.run(&script, false).context(what)?.session().clone_into(&mut session);
        order.add(what, &executed(seen.path(), &binary)?)?;
    }
    // Then what only looks at one that ran (Q10), and last the terminal face (Q21).
    for (what, words) in looks(&session) {
        let status = house.weir(&words).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "{what} fails: {status}");
        order.add(what, &executed(seen.path(), &binary)?)?;
    }
    face::use_face(&house, &session)?;
    order.add("the terminal face", &executed(seen.path(), &binary)?)?;
    let file = root.join(format!("crates/weir/order/{name}.txt"));
    fs::create_dir_all(root.join("crates/weir/order"))?;
    fs::write(&file, order.text).with_context(|| file.display().to_string())?;
    writeln!(std::io::stdout(), "{} functions in {}", order.known.len(), file.display())?;
    if let Some((link, goal)) = link {
        let constants = Arc::new(ConstantMap::of_text(&fs::read_to_string(&map)?));
        let script = kept.path().join("constants.ld");
        fs::write(&script, constants.script(&constants_read(&binary, kept.path(), &constants)?)?)?;
        // The words of the link name the list that was just written.
        let with = [format!("-Wl,-T,{}", script.display())];
        link.again(&std::path::absolute(goal)?, &[], &with)?;
        writeln!(std::io::stdout(), "linked with it: {}", goal.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The addresses of constants that runs of a program at a fixed address read, and its terminal face.
fn constants_read(
    binary: &Path,
    folder: &Path,
    constants: &Arc<ConstantMap>,
) -> anyhow::Result<ReadConstants> {
    let trace = ReadTrace::new(binary, folder)?;
    let house = House::build(trace.program(), &std::env::temp_dir(), TURNS)?;
    let (mut by_runs, mut session) = (BTreeSet::new(), String::new());
    for (what, script) in works() {
        let run = || house.run(&script, false).map(|ran| ran.session().clone_into(&mut session));
        by_runs.extend(trace.during(constants, run).context(what)?);
    }
    let by_face = match trace.during(constants, || face::use_face(&house, &session)) {
        Ok(read) => read,
        // Runs are what counts (Q5): without this the face takes some more memory, and nothing else is missing.
        Err(error) => {
            let why = format!("what the terminal face reads is not laid together: {error:#}");
            writeln!(std::io::stderr(), "{why}")?;
            BTreeSet::new()
        }
    };
    Ok(ReadConstants { by_runs, by_face })
}

fn works() -> [(&'static str, Script); 2] {
    let reads: Script = Arc::new(|number| match u32::try_from(number) {
        Ok(number) if number < TURNS => Reply::Read(match number % 2 {
            0 => house::small(number),
            _ => house::large(number % house::LARGE_FILES),
        }),
        _ => Reply::Text(face::LAST_WORDS.into()),
    });
    [
        ("one answer", Arc::new(|_| Reply::Text("It is done.".into()))),
        ("turns that read small and large files", reads),
    ]
}

/// What people look at a session with.
fn looks(session: &str) -> [(&'static str, Vec<&str>); 2] {
    [
        ("the end of a session", vec!["sessions", "show", session, "--last", "20"]),
        ("a session from its beginning", vec!["sessions", "show", session]),
    ]
}

/// Builds the program as it is handed out, but with the names of its functions; what it was linked of is kept
/// in `kept`.
fn build(root: &Path, profile: &str, kept: Option<&Path>) -> anyhow::Result<PathBuf> {
    let mut cargo = super::cargo();
    cargo.args(["build", "--locked", "-p", "weir", "--profile", profile]).current_dir(root);
    kept_link::by_this_program(&mut cargo, kept)?;
    let status = cargo.status().context("starting cargo to build weir")?;
    ensure!(status.success(), "weir does not build");
    Ok(crate::target_folder(root)?.join(profile).join("weir"))
}

/// A path as a word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// A program that runs `binary` under callgrind.
fn traced_program(binary: &Path, seen: &Path) -> anyhow::Result<PathBuf> {
    let path = seen.join("traced");
    let text = format!(
        "#!/bin/sh\nexec valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file={} {} \"$@\"\n",
        quoted(&seen.join("calls")),
        quoted(binary),
    );
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// The functions of `binary` that callgrind saw last.
fn executed(seen: &Path, binary: &Path) -> anyhow::Result<BTreeSet<String>> {
    let binary = fs::canonicalize(binary)?;
    let file = seen.join("calls");
    let text = fs::read_to_string(&file).context("what callgrind saw")?;
    fs::remove_file(&file)?;
    let names = executed_in(&text, &binary.display().to_string());
    // Without names there are only the few that any program has.
    ensure!(names.len() > 100, "callgrind saw {} functions of the program", names.len());
    Ok(names)
}

/// The same, of the text of a profile. A name stands once, with a number, and then the number alone.
fn executed_in(text: &str, object: &str) -> BTreeSet<String> {
    let (mut objects, mut functions) = (HashMap::new(), HashMap::new());
    let mut executed = BTreeSet::new();
    let mut is_own = false;
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "ob" => is_own = named(&mut objects, value) == Some(object),
            "cob" => drop(named(&mut objects, value)),
            "fn" => {
                let name = named(&mut functions, value);
                // `(below main)` is callgrind's word for what has no name.
                let name = name.filter(|name| is_own && !name.starts_with('('));
                executed.extend(name.map(without_depth));
            }
            "cfn" => drop(named(&mut functions, value)),
            _ => (),
        }
    }
    executed
}

/// The name of `(7) name` or, once that was told, of `(7)`.
fn named<'a>(names: &mut HashMap<&'a str, &'a str>, value: &'a str) -> Option<&'a str> {
    let (number, name) = value.split_once(')')?;
    match name.trim() {
        "" => names.get(number).copied(),
        name => {
            names.insert(number, name);
            Some(name)
        }
    }
}

/// A function that calls itself is told as `name'2`.
fn without_depth(name: &str) -> String {
    name.split_once('\'').map_or(name, |(name, _)| name).to_owned()
}

/// The list as the linker reads it.
#[derive(Default)]
struct Order {
    text: String,
    known: HashSet<String>,
}

impl Order {
    fn add(&mut self, what: &str, names: &BTreeSet<String>) -> anyhow::Result<()> {
        if let Some(name) = names.iter().find(|name| name.contains(char::is_whitespace)) {
            bail!("a function cannot be called {name:?}");
        }
        if self.text.is_empty() {
            self.text
                .push_str("# Functions in the order of the text. Written by: cargo xtask order\n");
        }
        self.text.push_str(&format!("# {what}\n"));
        for name in names {
            if self.known.insert(name.clone()) {
                self.text.push_str(name);
                self.text.push('\n');
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q5_only_what_the_program_itself_executed_is_ordered() {
        let text = "\
events: Ir
ob=(1) /usr/lib/libc.so.6
fl=(1) ???
fn=(1) malloc
0 12
ob=(2) /p/weir
fn=(5) (below main)
0 1
fn=(2) first
0 1
cob=(1)
cfn=(3) free
calls=1 0
0 9
cfn=(4) second'2
calls=1 0
0 9

fn=(4)
0 3
ob=(1)
fn=(3)
0 1
";
        let names = executed_in(text, "/p/weir");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["first", "second"]);
    }

    #[test]
    fn q5_a_function_is_laid_where_it_is_needed_first() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut order = Order::default();
        order.add("one", &names(&["b", "a"])).expect("names");
        order.add("two", &names(&["c", "a"])).expect("names");
        let lines: Vec<&str> = order.text.lines().skip(1).collect();
        assert_eq!(lines, ["# one", "a", "b", "# two", "c"]);
        order.add("three", &names(&["no name"])).expect_err("the linker reads one name a line");
    }
}
