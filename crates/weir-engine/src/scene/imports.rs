//! `@file` in an instruction file (M2): which words name a file to be read with it. Pure. Not here:
//! where such a path leads, and whether it may be read.

/// Longest path that is looked at, in bytes.
const PATH_BYTES_MAX: usize = 512;
/// Files that hold text for people and models: such a word is an import also without a folder.
const TEXT_KINDS: [&str; 8] = ["md", "mdc", "markdown", "txt", "rst", "adoc", "org", "mdx"];

/// A file that a text names with `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// As it is written, without the `@`.
    pub(super) path: String,
    /// It can be nothing else: when there is no such file, that is said. `@someone` can.
    pub(super) is_sure: bool,
}

/// The imports of `text` in the order in which they stand, each once; none from code.
pub(super) fn parse_imports(text: &str) -> Vec<Import> {
    let mut found: Vec<Import> = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    for line in text.lines() {
        if let Some((mark, length, rest)) = fence_of(line) {
            match fence {
                None => fence = Some((mark, length)),
                Some((open, least)) if open == mark && length >= least && rest.is_empty() => {
                    fence = None;
                }
                Some(_) => (),
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        for import in without_code(line).split_whitespace().filter_map(parse_import) {
            if found.iter().all(|known| known.path != import.path) {
                found.push(import);
            }
        }
    }
    found
}

/// The sign of a line that opens or closes a block of code, how often it stands there, and what
/// follows it.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    let is_fence =
        line.len() - text.len() <= 3 && length >= 3 && !(mark == '`' && rest.contains('`'));
    is_fence.then_some((mark, length, rest.trim()))
}

/// The line with blanks for what stands between backticks.
fn without_code(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let after = rest[start..].trim_start_matches('`');
        let ticks = rest.len() - start - after.len();
        out.push_str(&rest[..start]);
        match find_closing_ticks(after, ticks) {
            Some(end) => {
                out.push(' ');
                rest = &after[end..];
            }
            // Never closed: the signs are signs.
            None => {
                out.push_str(&rest[start..start + ticks]);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Where the code that `ticks` backticks opened ends, behind those that close it.
fn find_closing_ticks(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`') {
        let from = at + start;
        let length = text[from..].len() - text[from..].trim_start_matches('`').len();
        at = from + length;
        if length == ticks {
            return Some(at);
        }
    }
    None
}

fn parse_import(word: &str) -> Option<Import> {
    let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_']);
    let path = word.strip_prefix('@')?;
    let path =
        path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '*']);
    let is_plain =
        |c: char| !c.is_control() && !matches!(c, '@' | ':' | '<' | '>' | '|' | '*' | '"');
    if path.is_empty() || path.len() > PATH_BYTES_MAX || !path.chars().all(is_plain) {
        return None;
    }
    let rooted = ["./", "../", "/", "~/"].iter().any(|start| path.starts_with(start));
    let name = path.rsplit('/').next().unwrap_or_default();
    let kind = name.rsplit_once('.').map(|(_, kind)| kind.to_ascii_lowercase());
    let is_text = kind.is_some_and(|kind| TEXT_KINDS.contains(&kind.as_str()));
    Some(Import { path: path.to_string(), is_sure: is_text || (rooted && !name.is_empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let written = |import: Import| match import.is_sure {
            true => import.path,
            false => format!("{}?", import.path),
        };
        let found: Vec<String> = parse_imports(text).into_iter().map(written).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn m2_a_line_or_a_word_imports() {
        check("@docs/style.md", &["docs/style.md"]);
        check("See @docs/style.md for style, and @../b.MD.", &["docs/style.md", "../b.MD"]);
        check("(@a.md) **@b.txt** \"@c.rst\",", &["a.md", "b.txt", "c.rst"]);
        check("@a.md\n@b.md\n@a.md", &["a.md", "b.md"]);
        check("- @./rules", &["./rules"]);
        check("@/etc/passwd @~/x.md", &["/etc/passwd", "~/x.md"]);
        check("@ä/ü.md", &["ä/ü.md"]);
    }

    #[test]
    fn m2_what_may_be_something_else_is_only_perhaps_an_import() {
        check("Ask @alice about @types/node and @README.", &["alice?", "types/node?", "README?"]);
    }

    #[test]
    fn m2_code_and_addresses_import_nothing() {
        for text in [
            "mail me@example.org",
            "`@a.md`",
            "``@a.md ` @b.md``",
            "```\n@a.md\n```",
            "~~~ text\n@a.md\n```\n@b.md\n~~~",
            "````\n```\n@a.md\n```\n````",
            "```sh\n@never/closed.md",
            "@https://example.org/a.md",
            "@a@b.md",
            "@",
            "@ a.md",
            "@../",
        ] {
            let sure: Vec<Import> =
                parse_imports(text).into_iter().filter(|found| found.is_sure).collect();
            assert_eq!(sure, [], "{text:?}");
        }
        check("```\n@a.md\n```\n@b.md", &["b.md"]);
        check("a ` alone @a.md", &["a.md"]);
        check("`code` @a.md `more`", &["a.md"]);
        check("    ```\n@a.md", &["a.md"]);
    }

    #[test]
    fn m2_a_path_that_is_too_long_is_none() {
        check(&format!("@{}.md", "x".repeat(600)), &[]);
    }
}
