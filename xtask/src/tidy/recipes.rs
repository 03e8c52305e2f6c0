//! What CONTRIBUTING and ARCHITECTURE name is there: paths, symbols of the code, packages and tests of
//! commands. Whoever follows a recipe must find each place of it. Not here: links (`links`), commands of
//! the program itself (tests of `weir`), and whether a recipe is complete: that takes somebody who
//! follows it.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{Source, Tree};
use super::{Finding, line_of};

/// The pages that are held.
const PAGES: &[&str] = &["CONTRIBUTING.md", "ARCHITECTURE.md"];
/// Words that stand for a name of one's own.
const PLACEHOLDERS: &[&str] = &["NAME", "CASE", "AREA"];
/// Ends of names of files.
const ENDS: &[&str] = &[".rs", ".md", ".toml", ".sh", ".txt", ".json", ".mjs", ".sse"];

/// What is named and not there.
pub(super) fn findings(root: &Path, tree: &Tree) -> Vec<Finding> {
    let known = KnownNames::of_tree(root, tree);
    let mut found = Vec::new();
    for page in tree.texts.iter().filter(|text| PAGES.contains(&text.path.as_str())) {
        for span in code_spans(&page.text) {
            let Some(why) = known.fault(&span) else { continue };
            // A span may go on in the next line.
            let begin = span.split_whitespace().next().unwrap_or(&span);
            let place = (page.path.as_str(), line_of(&page.text, &format!("`{begin}")));
            found.push(Finding::new("recipe", place, format!("`{span}`: {why}")));
        }
    }
    found
}

/// What stands between backquotes, blocks aside.
fn code_spans(text: &str) -> Vec<String> {
    let mut in_block = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            prose.push_str(line.trim());
            prose.push(' ');
        }
    }
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Everything that can be named.
struct KnownNames<'a> {
    root: &'a Path,
    tree: &'a Tree,
    /// Files and folders, from the root of the project.
    paths: BTreeSet<&'a str>,
    /// Words of the sources, comments aside, and those of fuzz targets and scripts.
    words: BTreeSet<&'a str>,
    fuzz: Vec<Source>,
}

impl<'a> KnownNames<'a> {
    fn of_tree(root: &'a Path, tree: &'a Tree) -> KnownNames<'a> {
        let mut paths = BTreeSet::new();
        for text in &tree.texts {
            paths.insert(text.path.as_str());
            paths.extend(text.path.match_indices('/').map(|(at, _)| &text.path[..at]));
        }
        let code = tree.texts.iter().filter(|text| !text.path.ends_with(".md"));
        let lines = code.flat_map(|text| text.text.lines());
        let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
        let words = lines.flat_map(|line| line.split(|c: char| !is_of_name(c))).collect();
        KnownNames { root, tree, paths, words, fuzz: tree.fuzz_sources() }
    }

    /// Why it cannot be found; `None`: it can, or it is nothing that could be looked for.
    fn fault(&self, span: &str) -> Option<String> {
        if span.contains("cargo ") {
            return self.command_fault(span);
        }
        if span.contains(char::is_whitespace) {
            return None;
        }
        let is_file = ENDS.iter().any(|end| span.ends_with(end));
        if is_file || span.contains('/') {
            return self.path_fault(span);
        }
        self.symbol_fault(span)
    }

    /// A path from the root, from `crates/`, or the end of one. From the first part on that is a name
    /// of one's own nothing is looked for.
    fn path_fault(&self, span: &str) -> Option<String> {
        if span.starts_with('/') || span.contains("://") {
            return None;
        }
        let span = span.strip_prefix("./").unwrap_or(span);
        let parts = span.split('/').filter(|part| !part.is_empty());
        let fixed: Vec<&str> = parts.take_while(|part| !is_open(part)).collect();
        let fixed = fixed.join("/");
        let missing = alternatives(&fixed).into_iter().find(|path| !self.has_path(path))?;
        Some(format!("there is no {missing}: name the place as it is called now"))
    }

    fn has_path(&self, path: &str) -> bool {
        let is_it = |known: &&str| {
            *known == path || known.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'))
        };
        path.is_empty()
            || self.paths.iter().any(is_it)
            || self.paths.contains(format!("{path}.rs").as_str())
            || self.paths.iter().any(|known| known.ends_with(&format!("/{path}.rs")))
            // Not every file is a text of the tree.
            || ["", "crates"].iter().any(|from| self.root.join(from).join(path).exists())
    }

    /// A symbol: each part of it is a word of the code; a call is a function.
    fn symbol_fault(&self, span: &str) -> Option<String> {
        if let Some(beginning) = span.strip_suffix('…') {
            let begins = |word: &&str| word.starts_with(beginning);
            let known = self.words.iter().any(begins)
                || self.paths.iter().any(|path| path.contains(&format!("/{beginning}")));
            return (!known).then(|| "nothing begins so".to_owned());
        }
        if let Some(name) = span.strip_suffix("()") {
            let name = name.rsplit("::").next().unwrap_or(name);
            let forms = [format!("fn {name}("), format!("fn {name}<")];
            let is_defined = self.code().any(|line| forms.iter().any(|form| line.contains(form)));
            return (!is_defined).then(|| format!("there is no function {name}"));
        }
        if let Some(name) = span.strip_suffix('!') {
            let macros = format!("macro_rules! {name} ");
            let is_defined = self.code().any(|line| line.contains(&macros));
            return (!is_defined).then(|| format!("there is no macro {name}"));
        }
        let parts: Vec<&str> = span.split("::").collect();
        let is_symbol = |part: &&str| !part.is_empty() && part.chars().all(is_of_name);
        if !parts.iter().all(is_symbol) || PLACEHOLDERS.contains(&span) {
            return None;
        }
        let missing = parts.into_iter().find(|part| !self.words.contains(part))?;
        Some(format!("no source has {missing}: name it as it is called now"))
    }

    /// A command of cargo: its package and its tests are there, and with `UPDATE` one of those writes.
    fn command_fault(&self, span: &str) -> Option<String> {
        let mut words = span.split_whitespace().skip_while(|word| *word != "cargo").skip(1);
        match words.next()? {
            "test" | "nextest" => {}
            "xtask" => {
                let (name, main) = (words.next()?, "xtask/src/main.rs");
                let text = self.tree.texts.iter().find(|text| text.path == main)?;
                // A module of the program, or of one of its modules, which the program calls.
                let ways = [format!("mod {name};"), format!("::{name}(&root")];
                let known = ways.iter().any(|way| text.text.contains(way));
                return (!known).then(|| format!("cargo xtask has no {name}"));
            }
            _ => return None,
        }
        let package = words.skip_while(|word| *word != "-p").nth(1)?;
        let filter = span.split(&format!("-p {package}")).nth(1).unwrap_or_default();
        let filter = filter.split_whitespace().next().filter(|word| !word.starts_with('-'));
        let folder = match package {
            "weir-fuzz" => "fuzz/".to_owned(),
            "xtask" => "xtask/".to_owned(),
            _ => format!("crates/{package}/"),
        };
        let of_package = || {
            let all = self.tree.texts.iter().filter(|text| text.path.ends_with(".rs"));
            all.filter(|text| text.path.starts_with(&folder))
        };
        if of_package().next().is_none() {
            return Some(format!("there is no package {package}"));
        }
        let writes = span.contains("UPDATE=1");
        let fits = of_package().any(|text| {
            let has_test = filter.is_none_or(|filter| {
                let named = |line: &str| line.contains("fn ") && line.contains(filter);
                text.path.contains(filter) || text.text.lines().any(named)
            });
            has_test && (!writes || text.text.contains("\"UPDATE\"") || filter.is_some())
        });
        let what = if writes { "test that writes anything" } else { "test of this name" };
        (!fits).then(|| format!("{package} has no {what}"))
    }

    /// Lines of code.
    fn code(&self) -> impl Iterator<Item = &str> {
        let sources = self.tree.sources.iter().chain(&self.fuzz);
        sources.flat_map(|source| source.text.lines())
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a part of a path is, or has, a name of one's own.
fn is_open(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part);
    PLACEHOLDERS.contains(&stem) || part.contains(['*', '…'])
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn alternatives(path: &str) -> Vec<String> {
    let split = path.split_once('{').and_then(|(before, rest)| {
        let (among, after) = rest.split_once('}')?;
        Some(among.split(',').map(|one| format!("{before}{one}{after}")).collect())
    });
    split.unwrap_or_else(|| vec![path.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    /// What is found of a page that says this.
    fn of(page: &str) -> Vec<String> {
        let files = [
            ("CONTRIBUTING.md", page),
            (
                "crates/weir-core/src/gate/floor.rs",
                "//! `Gone`.\npub const GATES: u8 = 1;\nfn judge_call() {}\n",
            ),
            ("crates/weir-core/tests/it/policy.rs", "fn g3_the_policy() { var(\"UPDATE\"); }\n"),
            (
                "crates/weir-web/src/lib.rs",
                "mod floor;\nfn fetch() {}\nmacro_rules! every { () => {} }\n",
            ),
            ("xtask/src/main.rs", "mod tidy;\nfn main() { kill::cluster::cluster(&root, args) }\n"),
            ("scenarios/gate/z02_x.md", "# X\n"),
        ];
        let root = Path::new("no/such/folder");
        findings(root, &tree::of(&files)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn paths_are_found_by_their_ends_and_what_has_moved_is_said() {
        for there in [
            "`crates/weir-core/src/gate/floor.rs`",
            "`gate/floor.rs`",
            "`weir-core/src/gate/`",
            "`gate/NAME.rs`",
            "`weir-core/src/{gate,gate/floor.rs}`",
            "`tests/it/policy`",
            "`/permissions`",
            "```\n`gone/x.rs`\n```",
        ] {
            assert_eq!(of(there), Vec::<String>::new(), "{there}");
        }
        for gone in ["`gate/ceiling.rs`", "`loor.rs`", "`core/src/gate/`", "`{gate,cellar}/NAME`"] {
            assert_eq!(of(gone).len(), 1, "{gone}");
        }
    }

    #[test]
    fn a_symbol_is_a_word_of_the_code_and_no_comment() {
        for there in [
            "`GATES`",
            "`floor::GATES`",
            "`judge_call()`",
            "`every!`",
            "`z02_…`",
            "`NAME`",
            "`--json`",
        ] {
            assert_eq!(of(there), Vec::<String>::new(), "{there}");
        }
        for gone in ["`Gone`", "`floor::FILTERS`", "`judge()`", "`each!`", "`z03_…`"] {
            assert_eq!(of(gone).len(), 1, "{gone}");
        }
    }

    #[test]
    fn a_command_names_a_package_a_test_and_one_that_writes() {
        for there in [
            "`UPDATE=1 cargo test -p weir-core`",
            "`UPDATE=1 cargo test -p\nweir-core g3_`",
            "`cargo test -p weir-core policy`",
            "`cargo xtask tidy`",
            "`cargo xtask cluster`",
            "`cargo build -p weir`",
        ] {
            assert_eq!(of(there), Vec::<String>::new(), "{there}");
        }
        for gone in [
            "`UPDATE=1 cargo test -p weir-web`",
            "`cargo test -p weir-core g4_`",
            "`cargo test -p weir-cellar`",
            "`cargo xtask dance`",
        ] {
            assert_eq!(of(gone).len(), 1, "{gone}");
        }
    }
}
