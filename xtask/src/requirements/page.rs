//! The page of the requirements, as text. Pure, and the same for the same names, in whatever order
//! they were found. Not here: where they were found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::cited::{Cited, Proof};
use super::table::{Id, Table};

/// Proofs of one requirement that are named; of the others the page has the number.
const PROOFS_MAX: usize = 6;
/// Files that are named where nothing proves a requirement by its name.
const CODE_MAX: usize = 3;

/// The whole page.
pub(super) fn render(table: &Table, cited: &Cited) -> String {
    let mut page = format!(
        "# Requirements\n\n\
         Comments, tests and scenarios cite requirements by ids such as `L14`. Here is what each of \
         them says, and what\nproves it: a scenario or test that is named after it, or a file of \
         tests, benchmarks or laws that cites it. At most\n{PROOFS_MAX} of each are named, of as \
         many files as possible.\n\n\
         The sentences stand in [requirements.toml](requirements.toml). `cargo xtask requirements` \
         writes this page, and\n`cargo xtask tidy` fails if it is out of date, if an id that is \
         cited has no sentence, and if nothing cites an id.\n"
    );
    for group in &table.groups {
        let _ = write!(page, "\n## {}: {}\n\n", group.letter, group.heading);
        page.push_str("| Id | What must be true | Proven by |\n|---|---|---|\n");
        for (id, sentence) in &group.sentences {
            let _ = writeln!(page, "| {id} | {sentence} | {} |", proven_by(*id, cited));
        }
    }
    page
}

/// The last cell of a row.
fn proven_by(id: Id, cited: &Cited) -> String {
    let Some(proofs) = cited.proofs.get(&id) else {
        let files = cited.code.get(&id).into_iter().flatten().take(CODE_MAX);
        let files: Vec<String> = files.map(|path| format!("`{path}`")).collect();
        return format!("no name; cited in {}", files.join(", "));
    };
    let named = few(proofs);
    let mut lines: Vec<String> = Vec::new();
    let mut last = "";
    for proof in &named {
        match (proof, lines.last_mut()) {
            (Proof::Test { path, name }, Some(line)) if last == path => {
                let _ = write!(line, ", `{name}`");
            }
            (Proof::Test { path, name }, _) => lines.push(format!("`{path}`: `{name}`")),
            (Proof::Scenario { path } | Proof::File { path }, _) => lines.push(format!("`{path}`")),
        }
        last = proof.path();
    }
    match proofs.len() - named.len() {
        0 => {}
        more => lines.push(format!("and {more} more")),
    }
    lines.join("<br>")
}

/// At most [`PROOFS_MAX`], in turn of each file, or of each folder of scenarios.
fn few(proofs: &BTreeSet<Proof>) -> Vec<&Proof> {
    let mut taken = BTreeMap::<&str, usize>::new();
    let mut turns: Vec<(usize, &Proof)> = Vec::new();
    for proof in proofs {
        let of = match proof {
            Proof::Scenario { path } => path.rsplit_once('/').map_or("", |(folder, _)| folder),
            Proof::Test { path, .. } | Proof::File { path } => path,
        };
        let turn = taken.entry(of).or_default();
        turns.push((*turn, proof));
        *turn += 1;
    }
    turns.sort();
    turns.truncate(PROOFS_MAX);
    let mut chosen: Vec<&Proof> = turns.into_iter().map(|(_, proof)| proof).collect();
    chosen.sort();
    chosen
}

#[cfg(test)]
mod tests {
    use super::super::cited::TrackedFile;
    use super::*;

    fn file(path: &str, text: &str) -> TrackedFile {
        TrackedFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_page_names_what_proves_each_sentence() {
        let table = Table::parse(
            "[[group]]\nletter = \"L\"\nheading = \"The loop\"\n[group.ids]\n\
             L1 = \"One.\"\nL2 = \"Two.\"\nL10 = \"Ten.\"\n",
        );
        let mut files = [
            file("crates/a/src/x.rs", "fn l1_b() {}\nfn l1_a() {}\n// Kept (L10).\n"),
            file("crates/a/tests/it/y.rs", "//! Kept (L2).\n"),
            file("scenarios/loop/l01_z.md", "# L1: it holds\n"),
        ];
        let table = table.expect("a table");
        let page = render(&table, &Cited::of(&files));
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| L")).collect();
        assert_eq!(
            rows,
            [
                "| L1 | One. | `scenarios/loop/l01_z.md`<br>`crates/a/src/x.rs`: `l1_a`, `l1_b` |",
                "| L2 | Two. | `crates/a/tests/it/y.rs` |",
                "| L10 | Ten. | no name; cited in `crates/a/src/x.rs` |",
            ]
        );
        assert!(page.contains("\n## L: The loop\n\n| Id |"), "{page}");
        files.reverse();
        assert_eq!(render(&table, &Cited::of(&files)), page, "the order of files is nothing");
    }

    #[test]
    fn many_proofs_are_counted_and_each_file_has_its_turn() {
        let many: String = (0..20).map(|n| format!("fn l1_a{n:02}() {{}}\n")).collect();
        let files = [file("crates/a/src/x.rs", &many), file("crates/b/src/x.rs", "fn l1_z() {}\n")];
        let cited = Cited::of(&files);
        let cell = proven_by(Id { letter: 'L', number: 1 }, &cited);
        assert!(cell.contains("`l1_z`") && cell.contains("`l1_a04`"), "{cell}");
        assert!(!cell.contains("`l1_a05`") && cell.ends_with("<br>and 15 more"), "{cell}");
    }
}
