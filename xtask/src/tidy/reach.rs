//! Lists that must be complete: every gate and filter is in its list, every limit is checked, and
//! a scenario or test reaches each of them and each command. A guard that nobody calls guards
//! nothing, and so does a law whose list has moved away: that is a finding too.

use syn::visit::{self, Visit};
use syn::{Expr, Fields, Item, ItemConst, ItemStatic};

use super::permits::implementors;
use super::text::has_word;
use super::tree::{Source, Tree};
use super::{Finding, line_of};

const GATES: &str = "crates/weir-core/src/governance/gate.rs";
const FILTERS: &str = "crates/weir-core/src/governance/filter.rs";
const LIMITS: &str = "crates/weir-core/src/profile.rs";
const COMMANDS: &str = "crates/weir/src/options.rs";

/// Everything that is missing from its list, or that nothing reaches.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = guards(tree, (GATES, "GATES", "Gate"));
    found.extend(guards(tree, (FILTERS, "FILTERS", "Filter")));
    found.extend(limits(tree));
    found.extend(commands(tree));
    found
}

fn source<'a>(tree: &'a Tree, path: &str) -> Option<&'a Source> {
    tree.sources.iter().find(|source| source.path == path)
}

/// A list that this law reads and does not find.
fn missing(path: &str, what: &str) -> Finding {
    let what = format!("there is no {what} any more that this law reads: say here where it is now");
    Finding::new("reach", (path, 1), what)
}

/// Types that implement a guard's trait, against the list of the guards.
fn guards(tree: &Tree, (path, list, kind): (&str, &str, &str)) -> Vec<Finding> {
    let listed = source(tree, path).map(|parent| listed(parent, list)).unwrap_or_default();
    if listed.is_empty() {
        return vec![missing(path, list)];
    }
    let folder = path.trim_end_matches(".rs");
    let below = |source: &&Source| {
        !source.for_tests && (source.path == path || source.path.starts_with(&format!("{folder}/")))
    };
    let mut found = Vec::new();
    for source in tree.sources.iter().filter(below) {
        for (name, line) in implementors(source, kind) {
            if !listed.contains(&name) {
                let what = format!("{name} is not in {list}: add its line, or remove it");
                found.push(Finding::new("reach", (&source.path, line), what));
            }
            let word = word_of(source).unwrap_or_else(|| name.to_lowercase());
            // What a filter did stands in the text, as a form of its name: `[redacted: …]`.
            let shown = kind == "Filter"
                && scenario_lines(tree).chain(test_lines(tree)).any(|line| line.contains(&word));
            if !shown && !reached(tree, &word) {
                let what =
                    format!("no scenario and no test reaches the {kind} {word:?}: write one");
                found.push(Finding::new("reach", (&source.path, line), what));
            }
        }
    }
    found
}

/// Last names in the array of a constant.
fn listed(source: &Source, list: &str) -> Vec<String> {
    struct Paths(Vec<String>);
    impl<'ast> Visit<'ast> for Paths {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            self.0.extend(path.segments.last().map(|last| last.ident.to_string()));
            visit::visit_path(self, path);
        }
    }
    let array = source.syntax.items.iter().find_map(|item| match item {
        Item::Const(ItemConst { ident, expr, .. })
        | Item::Static(ItemStatic { ident, expr, .. })
            if ident == list =>
        {
            Some(&**expr)
        }
        _ => None,
    });
    let mut paths = Paths(Vec::new());
    if let Some(array) = array {
        paths.visit_expr(array);
    }
    paths.0
}

/// What `fn name` of a source returns: the word by which journals know it.
fn word_of(source: &Source) -> Option<String> {
    struct Word(Option<String>);
    impl<'ast> Visit<'ast> for Word {
        fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
            if item.sig.ident == "name"
                && let [syn::Stmt::Expr(expr, None)] = item.block.stmts.as_slice()
            {
                self.0 = match expr {
                    Expr::Lit(literal) => match &literal.lit {
                        syn::Lit::Str(text) => Some(text.value()),
                        _ => None,
                    },
                    // A variant is called as its word, with capitals.
                    Expr::Path(path) => {
                        path.path.segments.last().map(|last| snake(&last.ident.to_string()))
                    }
                    _ => None,
                };
            }
        }
    }
    let mut word = Word(None);
    word.visit_file(&source.syntax);
    word.0
}

/// Whether a scenario shows the word, or a test names it.
fn reached(tree: &Tree, word: &str) -> bool {
    if scenario_lines(tree).any(|line| has_word(line, word)) {
        return true;
    }
    // In tests a name may be part of a function's name: `g3_known_…`.
    let forms = [format!("\"{word}\""), format!("_{word}_")];
    test_lines(tree).any(|line| forms.iter().any(|form| line.contains(form)))
}

fn scenario_lines(tree: &Tree) -> impl Iterator<Item = &str> {
    let scenarios = tree.texts.iter().filter(|text| text.path.starts_with("scenarios/"));
    scenarios.flat_map(|text| text.text.lines())
}

fn test_lines(tree: &Tree) -> impl Iterator<Item = &str> {
    let sources = tree.sources.iter().filter(|source| source.krate != "xtask");
    sources.flat_map(|source| {
        let text = if source.for_tests { source.text.as_str() } else { own_tests(&source.text) };
        text.lines()
    })
}

/// A source's tests of its own.
fn own_tests(text: &str) -> &str {
    text.find("#[cfg(test)]").map_or("", |at| &text[at..])
}

/// Every bound is a field that somebody reads, and that somebody tests.
fn limits(tree: &Tree) -> Vec<Finding> {
    let items = source(tree, LIMITS).map_or(&[][..], |source| source.syntax.items.as_slice());
    let fields = items.iter().find_map(|item| match item {
        Item::Struct(item) if item.ident == "Limits" => Some(&item.fields),
        _ => None,
    });
    let Some(Fields::Named(fields)) = fields else { return vec![missing(LIMITS, "struct Limits")] };
    let mut found = Vec::new();
    for field in &fields.named {
        let Some(ident) = &field.ident else { continue };
        let (name, line) = (ident.to_string(), ident.span().start().line);
        let read = tree.sources.iter().any(|source| {
            let acts = matches!(source.krate.as_str(), "weir-core" | "weir-engine");
            acts && !source.for_tests
                && without_space(&source.text).contains(&format!("limits.{name}"))
        });
        if !read {
            let what = format!("nobody holds a run to {name}: check it, or remove it");
            found.push(Finding::new("reach", (LIMITS, line), what));
        } else if !reached(tree, &name) && !tested_as_field(tree, &name) {
            let what = format!("no scenario and no test reaches the limit {name}: write one");
            found.push(Finding::new("reach", (LIMITS, line), what));
        }
    }
    found
}

/// A chain of fields and calls may stand on several lines.
fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn tested_as_field(tree: &Tree, name: &str) -> bool {
    tree.sources
        .iter()
        .filter(|source| source.for_tests)
        .any(|source| source.text.lines().any(|line| has_word(line, name)))
}

/// Every command is started by a test.
fn commands(tree: &Tree) -> Vec<Finding> {
    let Some(source) = source(tree, COMMANDS) else {
        return vec![missing(COMMANDS, "enum CliCommand")];
    };
    let variants = source.syntax.items.iter().find_map(|item| match item {
        Item::Enum(item) if item.ident == "CliCommand" => Some(&item.variants),
        _ => None,
    });
    let Some(variants) = variants else { return vec![missing(COMMANDS, "enum CliCommand")] };
    let mut found = Vec::new();
    for variant in variants {
        let word = kebab(&variant.ident.to_string());
        if !started(tree, &word) {
            let line = line_of(&source.text, &format!("    {}", variant.ident));
            let what = format!("no test starts `weir {word}`: write one in crates/weir/tests");
            found.push(Finding::new("reach", (COMMANDS, line), what));
        }
    }
    found
}

/// A command is the first word of a list of arguments, or of a line for a shell.
fn started(tree: &Tree, word: &str) -> bool {
    let forms = [
        format!("[\"{word}\""),
        format!("arg(\"{word}\")"),
        format!("weir {word}"),
        format!("(\"{word} "),
    ];
    tree.texts.iter().any(|text| {
        let is_test = text.path.starts_with("tests/")
            || text.path.starts_with("crates/weir/tests/")
            || text.path.starts_with("crates/weir-server/tests/")
            || text.path.starts_with("crates/weir-test-kit/src/")
            || text.path.starts_with("xtask/src/kill");
        is_test && forms.iter().any(|form| text.text.contains(form))
    })
}

fn kebab(name: &str) -> String {
    snake(name).replace('_', "-")
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    const LIST: &str = "//! X.\npub const GATES: &[&dyn Gate] = &[&known::KnownGate];";
    const GATE: &str = "//! X.\nimpl Gate for KnownGate {\n    fn name(&self) -> GateName {\n        \
                        GateName::Known\n    }\n}";

    #[test]
    fn a_gate_that_is_not_listed_or_not_reached_is_found() {
        let files = |list, scenario| {
            [
                (GATES, list),
                ("crates/weir-core/src/governance/gate/known.rs", GATE),
                ("scenarios/gate/x.md", scenario),
            ]
        };
        let found =
            |list, scenario| guards(&tree::of(&files(list, scenario)), (GATES, "GATES", "Gate"));
        let reached = "# T\ncall.judged c1 · deny · known\n";
        assert_eq!(found(LIST, reached), []);
        assert_eq!(found(LIST, "# T\n").len(), 1);
        let other = "//! X.\npub const GATES: &[&dyn Gate] = &[&floor::FloorGate];";
        assert_eq!(found(other, reached).len(), 1);
    }

    #[test]
    fn a_limit_that_nobody_checks_is_found() {
        let limits = (LIMITS, "//! X.\npub struct Limits { pub max_x: u32 }");
        let reader = ("crates/weir-core/src/session.rs", "//! X.\nfn f() { limits.max_x; }");
        let scenario = ("scenarios/loop/x.md", "limit max_x: 1\n");
        let found = |files: &[(&str, &str)]| super::limits(&tree::of(files));
        assert_eq!(found(&[limits, reader, scenario]), []);
        assert_eq!(found(&[limits, scenario]).len(), 1);
        assert_eq!(found(&[limits, reader]).len(), 1);
    }

    #[test]
    fn a_command_that_no_test_starts_is_found() {
        let options = (COMMANDS, "//! X.\nenum CliCommand { McpServers }");
        let test = ("crates/weir/tests/it/x.rs", "house.ok(&[\"mcp-servers\", \"list\"]);");
        assert_eq!(commands(&tree::of(&[options, test])), []);
        assert_eq!(commands(&tree::of(&[options])).len(), 1);
    }

    #[test]
    fn a_list_that_is_gone_is_found() {
        let moved = (COMMANDS, "//! X.\nenum Command { McpServers }");
        let empty = (GATES, "//! X.\npub const GATES: &[&dyn Gate] = &[];");
        let of = |path: &str, found: &[Finding]| found.iter().any(|one| one.path == path);
        let found = findings(&tree::of(&[moved, empty]));
        for path in [GATES, FILTERS, LIMITS, COMMANDS] {
            assert!(of(path, &found), "{path}: {found:?}");
        }
    }
}
