//! Lines by crate: code, comment, blank; tests inside of `src`, tests beside it. What tests read or
//! change is data and no line of Rust.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde::Serialize;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item};

use super::DEVELOPMENT;
use crate::tidy::tree::{Source, Tree, is_for_tests, item_attrs};

/// Lines of a crate, or of several.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct LineCount {
    pub(super) code: usize,
    pub(super) comment: usize,
    pub(super) blank: usize,
    /// Tests in `src`, whatever their lines hold.
    pub(super) unit_tests: usize,
    /// `tests/`.
    pub(super) integration_tests: usize,
    /// `benches/`, `examples/`, build scripts.
    pub(super) beside: usize,
}

/// Lines of one crate.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CrateLines {
    pub(super) krate: String,
    pub(super) development: bool,
    #[serde(flatten)]
    pub(super) count: LineCount,
}

impl LineCount {
    /// Everything in `src` that is no test.
    pub(super) fn src(&self) -> usize {
        self.code + self.comment + self.blank
    }

    pub(super) fn all(&self) -> usize {
        self.src() + self.unit_tests + self.integration_tests + self.beside
    }
}

impl AddAssign for LineCount {
    fn add_assign(&mut self, other: LineCount) {
        self.code += other.code;
        self.comment += other.comment;
        self.blank += other.blank;
        self.unit_tests += other.unit_tests;
        self.integration_tests += other.integration_tests;
        self.beside += other.beside;
    }
}

/// What a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Code,
    Comment,
    Blank,
}

/// All crates, the product first, the largest first.
pub(super) fn crate_lines(tree: &Tree) -> Vec<CrateLines> {
    let mut by_crate = BTreeMap::<String, LineCount>::new();
    let fuzz = tree.fuzz_sources();
    for source in tree.sources.iter().chain(&fuzz) {
        *by_crate.entry(source.krate.clone()).or_default() += count_of(source);
    }
    let mut crates: Vec<CrateLines> = by_crate
        .into_iter()
        .map(|(krate, count)| {
            let development = DEVELOPMENT.contains(&krate.as_str());
            CrateLines { krate, development, count }
        })
        .collect();
    crates.sort_by_key(|lines| (lines.development, std::cmp::Reverse(lines.count.src())));
    crates
}

fn count_of(source: &Source) -> LineCount {
    let lines = source.text.lines().count();
    match source.inside().split('/').next() {
        Some("src") if source.for_tests => LineCount { unit_tests: lines, ..LineCount::default() },
        Some("src") => count_in_src(source),
        Some("tests") => LineCount { integration_tests: lines, ..LineCount::default() },
        _ => LineCount { beside: lines, ..LineCount::default() },
    }
}

fn count_in_src(source: &Source) -> LineCount {
    let mut tests = TestLines { is_test: vec![false; source.text.lines().count()] };
    tests.visit_file(&source.syntax);
    let mut count = LineCount::default();
    for (kind, is_test) in line_kinds(&source.text).into_iter().zip(tests.is_test) {
        match kind {
            _ if is_test => count.unit_tests += 1,
            LineKind::Code => count.code += 1,
            LineKind::Comment => count.comment += 1,
            LineKind::Blank => count.blank += 1,
        }
    }
    count
}

/// Which lines belong to items that only tests have.
struct TestLines {
    is_test: Vec<bool>,
}

impl TestLines {
    fn mark(&mut self, span: proc_macro2::Span) {
        for line in span.start().line..=span.end().line {
            if let Some(is_test) = self.is_test.get_mut(line.saturating_sub(1)) {
                *is_test = true;
            }
        }
    }
}

impl<'ast> Visit<'ast> for TestLines {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(item_attrs(item)) {
            self.mark(item.span());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if is_for_tests(&item.attrs) {
            self.mark(item.span());
        }
    }
}

/// What each line holds: code where a token stands that is no comment.
fn line_kinds(text: &str) -> Vec<LineKind> {
    let lines: Vec<&str> = text.lines().collect();
    let blank = |line: &&str| line.trim().is_empty();
    let mut kinds: Vec<LineKind> = lines
        .iter()
        .map(|line| if blank(line) { LineKind::Blank } else { LineKind::Comment })
        .collect();
    // What cannot be read has no tokens; `tidy` says so.
    if let Ok(tokens) = text.parse::<TokenStream>() {
        mark_code(tokens, &lines, &mut kinds);
    }
    kinds
}

fn mark_code(tokens: TokenStream, lines: &[&str], kinds: &mut [LineKind]) {
    let mut mark = |span: proc_macro2::Span| {
        for line in span.start().line..=span.end().line {
            if let Some(kind) = kinds.get_mut(line.saturating_sub(1))
                && *kind == LineKind::Comment
            {
                *kind = LineKind::Code;
            }
        }
    };
    let mut groups = Vec::new();
    // The compiler reads `/// x` as `#[doc = "x"]`: the same tokens, all at the place of the comment.
    let mut in_comment = false;
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                in_comment = is_comment_at(lines, punct.span());
                if !in_comment {
                    mark(punct.span());
                }
            }
            TokenTree::Punct(punct) if !in_comment => mark(punct.span()),
            TokenTree::Group(group) if in_comment => {
                in_comment = group.delimiter() != Delimiter::Bracket;
            }
            TokenTree::Group(group) => {
                mark(group.span_open());
                mark(group.span_close());
                groups.push(group.stream());
            }
            TokenTree::Ident(ident) => mark(ident.span()),
            TokenTree::Literal(literal) => mark(literal.span()),
            TokenTree::Punct(_) => {}
        }
    }
    for group in groups {
        mark_code(group, lines, kinds);
    }
}

fn is_comment_at(lines: &[&str], span: proc_macro2::Span) -> bool {
    let start = span.start();
    let line = lines.get(start.line.saturating_sub(1)).copied().unwrap_or_default();
    let rest: String = line.chars().skip(start.column).take(2).collect();
    rest == "//" || rest == "/*"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree;

    const TEXT: &str = "//! What it is.\n\
        \n\
        /// A function.\n\
        #[must_use]\n\
        fn f() -> &'static str {\n    \
            // Why.\n    \
            /* and\n    \
            why */\n    \
            \"one // no comment\n\
        two\" // a comment behind\n\
        }\n\
        \n\
        /// Tests.\n\
        #[cfg(test)]\n\
        mod tests {\n\
        \n\
        }\n";

    #[test]
    fn lines_are_code_comment_blank_or_test() {
        let tree = tree::of(&[("crates/weir-core/src/x.rs", TEXT)]);
        let count = count_of(&tree.sources[0]);
        let expected =
            LineCount { code: 5, comment: 5, blank: 2, unit_tests: 5, ..LineCount::default() };
        assert_eq!(count, expected);
        assert_eq!(count.src(), 12);
        assert_eq!(count.all(), 17);
    }

    #[test]
    fn folders_beside_src_are_counted_by_themselves() {
        let tree = tree::of(&[
            ("crates/weir-core/src/x.rs", "#[cfg(test)]\nmod tests;\n"),
            ("crates/weir-core/src/x/tests.rs", "//! X.\n\n"),
            ("crates/weir-core/tests/it/main.rs", "//! X.\n\n\n"),
            ("crates/weir-core/benches/x.rs", "//! X.\n"),
            ("crates/weir-core/examples/x.rs", "//! X.\n"),
            ("fuzz/src/x.rs", "//! X.\nfn f() {}\n"),
        ]);
        let crates = crate_lines(&tree);
        let core =
            LineCount { unit_tests: 4, integration_tests: 3, beside: 2, ..LineCount::default() };
        let fuzz = LineCount { code: 1, comment: 1, ..LineCount::default() };
        assert_eq!((crates[0].krate.as_str(), crates[0].count), ("weir-core", core));
        assert_eq!((crates[1].krate.as_str(), crates[1].count), ("fuzz", fuzz));
        assert!(crates[1].development);
    }
}
