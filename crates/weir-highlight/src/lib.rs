//! Reads code for colours: what each word of it is, by its language.
//!
//! Terminal and browser ask the same and only paint. The languages are unpacked when the first block
//! asks for them, never at start, and can be given back. Not here: making code safe to look at (callers do it before,
//! so that what belongs together is judged together), the colours themselves, bounds of a whole page.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

/// Longest line that gets colours, in bytes: the patterns go back and forth over a line, and somebody
/// may have made it for that.
pub const LINE_BYTES_MAX: usize = 2000;
/// Longest name of a language that is looked for or shown, in characters.
const LANGUAGE_CHARS_MAX: usize = 32;

/// The languages, once a block asked for them. With the patterns of one of them they take five megabytes.
static LANGUAGES: Mutex<Option<Arc<SyntaxSet>>> = Mutex::new(None);

fn shared_languages() -> Arc<SyntaxSet> {
    let mut kept = LANGUAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let languages = kept.get_or_insert_with(|| {
        // What stays for good is made before what is given back: a heap shrinks from its end only (Q21).
        LazyLock::force(&PREFIXES);
        Arc::new(SyntaxSet::load_defaults_newlines())
    });
    languages.clone()
}

/// Gives back what the languages take (Q21), for whoever shows no code for a while: the next block unpacks
/// them again, which takes some milliseconds. A block that is being read keeps them until it ends.
pub fn forget_languages() {
    let forgotten = LANGUAGES.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(forgotten);
}

/// What a word of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeWord {
    /// What people say about the code.
    Comment,
    /// Text in quotes.
    Text,
    /// A number.
    Number,
    /// A sign within a text that stands for another one.
    Escape,
    /// Another constant.
    Constant,
    /// A sign that combines values.
    Operator,
    /// What the language itself has.
    Keyword,
    /// The name of a function.
    Function,
    /// The name of an element of markup.
    Tag,
    /// The name of an attribute of markup.
    Attribute,
    /// The name of a type, or another name that is defined.
    Type,
    /// The name of a parameter.
    Parameter,
    /// A line that a patch adds.
    Added,
    /// A line that a patch takes away.
    Removed,
    /// A heading of a text.
    Heading,
    /// What the language does not know.
    Invalid,
}

impl CodeWord {
    /// All of them.
    pub const ALL: [CodeWord; 16] = [
        CodeWord::Comment,
        CodeWord::Text,
        CodeWord::Number,
        CodeWord::Escape,
        CodeWord::Constant,
        CodeWord::Operator,
        CodeWord::Keyword,
        CodeWord::Function,
        CodeWord::Tag,
        CodeWord::Attribute,
        CodeWord::Type,
        CodeWord::Parameter,
        CodeWord::Added,
        CodeWord::Removed,
        CodeWord::Heading,
        CodeWord::Invalid,
    ];
}

/// What a word is, by the beginning of what its language calls it: the first that fits counts.
const WORDS: &[(&str, CodeWord)] = &[
    ("comment", CodeWord::Comment),
    ("string", CodeWord::Text),
    ("constant.numeric", CodeWord::Number),
    ("constant.character.escape", CodeWord::Escape),
    ("constant", CodeWord::Constant),
    ("keyword.operator", CodeWord::Operator),
    ("keyword", CodeWord::Keyword),
    ("storage", CodeWord::Keyword),
    ("entity.name.function", CodeWord::Function),
    ("support.function", CodeWord::Function),
    ("variable.function", CodeWord::Function),
    ("entity.name.tag", CodeWord::Tag),
    ("entity.other.attribute-name", CodeWord::Attribute),
    ("entity.name", CodeWord::Type),
    ("support.type", CodeWord::Type),
    ("support.class", CodeWord::Type),
    ("variable.parameter", CodeWord::Parameter),
    ("variable.language", CodeWord::Keyword),
    ("markup.inserted", CodeWord::Added),
    ("markup.deleted", CodeWord::Removed),
    ("markup.heading", CodeWord::Heading),
    ("meta.diff.range", CodeWord::Comment),
    ("meta.diff.header", CodeWord::Comment),
    ("invalid", CodeWord::Invalid),
];

/// Those beginnings as scopes.
static PREFIXES: LazyLock<Vec<(Scope, CodeWord)>> = LazyLock::new(|| {
    WORDS.iter().filter_map(|(name, word)| Some((Scope::new(name).ok()?, *word))).collect()
});

/// A part of a line of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSpan {
    /// Where it stands in its line, in bytes.
    pub at: Range<usize>,
    /// What it is; `None`: nothing that has a colour.
    pub word: Option<CodeWord>,
}

/// Reads a block of code line by line: what was read is not looked at again.
#[derive(Debug, Clone)]
pub struct CodeHighlighter {
    languages: Arc<SyntaxSet>,
    parse: ParseState,
    scopes: ScopeStack,
}

impl CodeHighlighter {
    /// For a block of code in `language` (the word after a fence, or a file's ending), before its
    /// first line. `None`: the language is not known.
    pub fn for_language(language: &str) -> Option<CodeHighlighter> {
        let name = listed_name(language)?;
        let languages = shared_languages();
        let parse = ParseState::new(languages.find_syntax_by_token(&name)?);
        Some(CodeHighlighter { languages, parse, scopes: ScopeStack::new() })
    }

    /// The parts of the next line, which comes without its end; together they are the line. `None`: it
    /// cannot be read, and neither can what follows: the rest of the block has one colour.
    pub fn next_line(&mut self, line: &str) -> Option<Vec<CodeSpan>> {
        if line.len() > LINE_BYTES_MAX {
            return None;
        }
        let ended = format!("{line}\n");
        let steps = self.parse.parse_line(&ended, &self.languages).ok()?;
        let (mut spans, mut at) = (Vec::new(), 0);
        for (end, step) in steps {
            self.push_span(line, at..end.min(line.len()), &mut spans);
            at = end.min(line.len());
            self.scopes.apply(&step).ok()?;
        }
        self.push_span(line, at..line.len(), &mut spans);
        Some(spans)
    }

    fn push_span(&self, line: &str, at: Range<usize>, spans: &mut Vec<CodeSpan>) {
        let text = line.get(at.clone()).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        let word = word_of_scopes(&self.scopes).filter(|_| !text.trim().is_empty());
        spans.push(CodeSpan { at, word });
    }
}

/// What the innermost scope says that says something.
fn word_of_scopes(scopes: &ScopeStack) -> Option<CodeWord> {
    scopes.scopes.iter().rev().find_map(|scope| {
        PREFIXES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, word)| *word)
    })
}

/// The first word behind a fence, without braces and dots of other dialects.
pub fn language_of_fence(info: &str) -> String {
    let first = info.split([' ', ',', '\t', '{', '}']).find(|word| !word.is_empty());
    let name = first.unwrap_or_default().trim_start_matches('.');
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    name.chars().take(LANGUAGE_CHARS_MAX).take_while(plain).collect()
}

/// The language of a file by its name; empty: none that has colours.
pub fn language_of_path(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    let listed = listed_name(ending);
    let is_known =
        listed.is_some_and(|name| shared_languages().find_syntax_by_token(&name).is_some());
    if is_known { ending } else { "" }
}

/// The name under which the list of languages may have one; `None`: it has no colours, and no language needs to
/// be unpacked to know that.
fn listed_name(language: &str) -> Option<Cow<'static, str>> {
    if language.len() > LANGUAGE_CHARS_MAX * 4 {
        return None;
    }
    // Names that models write and the list of languages does not have.
    let lower = language.to_ascii_lowercase();
    let known = match lower.as_str() {
        "" | "text" | "plain" | "txt" => return None,
        "typescript" | "ts" | "tsx" | "jsx" | "mjs" | "cjs" | "javascript" => "js",
        "shell" | "console" | "zsh" | "sh-session" => "sh",
        "jsonc" | "json5" | "jsonl" | "ndjson" => "json",
        "c++" | "cxx" => "cpp",
        "golang" => "go",
        _ => return Some(Cow::Owned(lower)),
    };
    Some(Cow::Borrowed(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(language: &str, lines: &[&'a str]) -> Vec<(&'a str, Option<CodeWord>)> {
        let mut highlighter = CodeHighlighter::for_language(language).expect("it is known");
        let spans = lines.iter().flat_map(|line| {
            let spans = highlighter.next_line(line).expect("it can be read");
            spans.into_iter().map(|span| (&line[span.at], span.word)).collect::<Vec<_>>()
        });
        spans.collect()
    }

    #[test]
    fn f1_words_of_code_are_known_by_their_language() {
        let found = words("rust", &["/* a", " b */", "fn main() {", "    let x = 1; // c", "}"]);
        for (text, word) in
            [(" b ", CodeWord::Comment), ("fn", CodeWord::Keyword), ("1", CodeWord::Number)]
        {
            assert!(found.contains(&(text, Some(word))), "{text} in {found:?}");
        }
        assert!(found.iter().all(|(text, word)| !text.trim().is_empty() || word.is_none()));
    }

    #[test]
    fn f1_parts_of_a_line_are_the_line() {
        for line in ["let a = \"\u{e9}\\n\";", "", "  ", "\u{202e}x", "fn a() {}"] {
            let parts: String = words("rust", &[line]).into_iter().map(|(text, _)| text).collect();
            assert_eq!(parts, line);
        }
    }

    #[test]
    fn q21_languages_are_shared_until_they_are_forgotten_and_a_block_keeps_its_own() {
        let read = |language: &str| CodeHighlighter::for_language(language).expect("it is known");
        let (mut one, other) = (read("rust"), read("js"));
        assert!(Arc::ptr_eq(&one.languages, &other.languages));
        let first = one.next_line("/* a");
        forget_languages();
        let mut anew = read("rust");
        assert!(!Arc::ptr_eq(&one.languages, &anew.languages));
        assert_eq!(anew.next_line("/* a"), first);
        let last = one.next_line("b */ fn main() {}");
        assert!(last.is_some());
        assert_eq!(anew.next_line("b */ fn main() {}"), last);
    }

    #[test]
    fn q21_names_without_colours_are_known_before_languages_are_unpacked() {
        for (language, listed) in [
            ("", None),
            ("TXT", None),
            ("rust", Some("rust")),
            ("Rust", Some("rust")),
            ("TypeScript", Some("js")),
            ("no such", Some("no such")),
        ] {
            assert_eq!(listed_name(language).as_deref(), listed, "{language:?}");
        }
        let long = "r".repeat(LANGUAGE_CHARS_MAX * 4 + 1);
        assert_eq!(listed_name(&long), None);
        assert!(CodeHighlighter::for_language("no such").is_none());
    }

    #[test]
    fn z10_a_line_that_is_too_long_is_not_read() {
        let mut highlighter = CodeHighlighter::for_language("rust").expect("it is known");
        assert!(highlighter.next_line(&"x".repeat(LINE_BYTES_MAX)).is_some());
        assert!(highlighter.next_line(&"x".repeat(LINE_BYTES_MAX + 1)).is_none());
        assert!(CodeHighlighter::for_language(&"rust".repeat(100)).is_none());
    }

    #[test]
    fn f1_the_language_is_the_first_word_behind_the_fence() {
        for (info, language) in [
            ("rust,ignore", "rust"),
            ("{.python .numberLines}", "python"),
            ("c++ title=x", "c++"),
            ("\"><script>", ""),
            ("\u{1b}[31mx", ""),
            ("", ""),
        ] {
            assert_eq!(language_of_fence(info), language, "{info:?}");
        }
    }

    #[test]
    fn f1_the_language_of_a_file_is_its_ending() {
        for (path, language) in [
            ("a/b/main.rs", "rs"),
            ("Makefile", "Makefile"),
            ("app.ts", "ts"),
            ("x.unknown", ""),
            ("notes.txt", ""),
        ] {
            assert_eq!(language_of_path(path), language, "{path}");
        }
    }
}
