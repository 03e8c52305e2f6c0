//! Code, coloured by its language.
//!
//! The languages are unpacked when the first block asks for them, never at start. What is too long
//! has one colour: the patterns go back and forth over a line, and somebody may have made it for that.
//! Not here: where code stands and how it is broken (`markdown`, `diff`).

use std::sync::LazyLock;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::clean::clean_text;
use super::theme::{CodeWord, Theme};

/// Most of one block that gets colours, in bytes.
const COLOURED_BYTES_MAX: usize = 256 << 10;
/// Longest line that gets colours, in bytes.
const LINE_BYTES_MAX: usize = 2000;
/// Longest name of a language that is looked for or shown.
const LANGUAGE_CHARS_MAX: usize = 32;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// What a word is, by the beginning of what its language calls it: the first that fits counts.
const WORDS: &[(&str, CodeWord)] = &[
    ("comment", CodeWord::Comment),
    ("string", CodeWord::Text),
    ("constant", CodeWord::Constant),
    ("keyword.operator", CodeWord::Keyword),
    ("keyword", CodeWord::Keyword),
    ("storage", CodeWord::Keyword),
    ("entity.name.function", CodeWord::Function),
    ("support.function", CodeWord::Function),
    ("variable.function", CodeWord::Function),
    ("entity.other.attribute-name", CodeWord::Function),
    ("entity.name", CodeWord::Type),
    ("support.type", CodeWord::Type),
    ("support.class", CodeWord::Type),
    ("variable.language", CodeWord::Keyword),
    ("markup.inserted", CodeWord::Added),
    ("markup.deleted", CodeWord::Removed),
    ("markup.heading", CodeWord::Type),
    ("meta.diff.range", CodeWord::Comment),
    ("meta.diff.header", CodeWord::Comment),
];

/// `code` in the colours of `language` (the word after a fence, or a file's ending); one line for
/// each of its lines, not broken. Unknown languages, and what is too long, have one colour.
pub fn highlight_code(language: &str, code: &str, theme: &Theme) -> Vec<Line<'static>> {
    let mut highlighter = CodeHighlighter::new(language, theme);
    if code.len() > COLOURED_BYTES_MAX {
        highlighter.state = None;
    }
    clean_text(code).lines().map(|line| highlighter.highlight_line(line, theme)).collect()
}

/// Colours code line by line: what was coloured is not looked at again.
#[derive(Debug, Clone, Default)]
pub struct CodeHighlighter {
    /// None: it has one colour, from here on.
    state: Option<HighlightState>,
}

#[derive(Debug, Clone)]
struct HighlightState {
    parse: ParseState,
    scopes: ScopeStack,
    /// Bytes that may still be coloured.
    left: usize,
}

impl CodeHighlighter {
    /// For a block of code in `language`, before its first line.
    pub fn new(language: &str, theme: &Theme) -> CodeHighlighter {
        let syntax = theme.syntax.and_then(|_| find_syntax(language));
        let state = syntax.map(|syntax| HighlightState {
            parse: ParseState::new(syntax),
            scopes: ScopeStack::new(),
            left: COLOURED_BYTES_MAX,
        });
        CodeHighlighter { state }
    }

    /// The next line, without its end.
    pub fn highlight_line(&mut self, line: &str, theme: &Theme) -> Line<'static> {
        let line = clean_text(line).replace('\n', " ");
        if let Some(state) = &mut self.state {
            if line.len() <= LINE_BYTES_MAX.min(state.left) {
                match state.highlight_line(&line, theme) {
                    Some(done) => return done,
                    None => self.state = None,
                }
            } else {
                self.state = None;
            }
        }
        Line::from(Span::styled(line, theme.code))
    }
}

impl HighlightState {
    fn highlight_line(&mut self, line: &str, theme: &Theme) -> Option<Line<'static>> {
        self.left -= line.len();
        let ended = format!("{line}\n");
        let steps = self.parse.parse_line(&ended, &SYNTAXES).ok()?;
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut at = 0;
        let mut word = |from: usize, to: usize, scopes: &ScopeStack| {
            let text = line.get(from..to.min(line.len())).unwrap_or_default();
            let style = scope_style(text, scopes, theme);
            match spans.last_mut() {
                _ if text.is_empty() => (),
                Some(last) if last.style == style => last.content.to_mut().push_str(text),
                _ => spans.push(Span::styled(text.to_owned(), style)),
            }
        };
        for (end, step) in steps {
            word(at, end, &self.scopes);
            at = end;
            self.scopes.apply(&step).ok()?;
        }
        word(at, line.len(), &self.scopes);
        Some(Line::from(spans))
    }
}

/// The style of the innermost scope that has one.
fn scope_style(text: &str, scopes: &ScopeStack, theme: &Theme) -> Style {
    static PREFIXES: LazyLock<Vec<(Scope, CodeWord)>> = LazyLock::new(|| {
        let scope = |name: &str| Scope::new(name).ok();
        WORDS.iter().filter_map(|(name, word)| Some((scope(name)?, *word))).collect()
    });
    if text.trim().is_empty() {
        return theme.text;
    }
    let found = scopes.scopes.iter().rev().find_map(|scope| {
        PREFIXES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, word)| *word)
    });
    found.map_or(theme.text, |word| theme.word_style(word))
}

/// The first word behind a fence, without braces and dots of other dialects.
pub fn language_of_fence(info: &str) -> String {
    let first = info.split([' ', ',', '\t', '{', '}']).find(|word| !word.is_empty());
    let name = first.unwrap_or_default().trim_start_matches('.');
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    name.chars().take(LANGUAGE_CHARS_MAX).take_while(plain).collect()
}

/// The language of a file by its name, for [`highlight_code`].
pub fn language_of_path(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(_, ending)| ending)
}

fn find_syntax(language: &str) -> Option<&'static SyntaxReference> {
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
        other => other,
    };
    SYNTAXES.find_syntax_by_token(known)
}

#[cfg(test)]
mod tests {
    use super::{CodeHighlighter, highlight_code, language_of_fence, language_of_path};
    use crate::text::theme::{CodeWord, ColourDepth, Theme};

    const CODE: &str = "/* a\n b */\nfn main() {\n\tlet x = \"s\"; // c\n}\n";

    fn theme() -> Theme {
        Theme::by_name("dark", ColourDepth::True).expect("it is on the list")
    }

    #[test]
    fn f1_code_has_the_colours_of_its_language() {
        let theme = theme();
        let lines = highlight_code("rust", CODE, &theme);
        let texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["/* a", " b */", "fn main() {", "    let x = \"s\"; // c", "}"]);
        assert_eq!(lines[1].spans[0].style, theme.word_style(CodeWord::Comment));
        assert_eq!(lines[2].spans[0].style, theme.word_style(CodeWord::Keyword));
        for language in ["", "text", "no such", "\u{1b}[31m"] {
            let lines = highlight_code(language, CODE, &theme);
            assert!(lines.iter().all(|line| line.spans.len() <= 1), "{language:?}");
            assert_eq!(lines[0].spans[0].style, theme.code);
        }
        assert!(highlight_code("rust", CODE, &Theme::plain_theme())[2].spans.len() == 1);
    }

    #[test]
    fn f1_code_line_by_line_is_the_same_code() {
        let theme = theme();
        let mut stream = CodeHighlighter::new("rust", &theme);
        let lines: Vec<_> = CODE.lines().map(|line| stream.highlight_line(line, &theme)).collect();
        assert_eq!(lines, highlight_code("rust", CODE, &theme));
    }

    #[test]
    fn z10_f1_what_is_too_long_has_one_colour() {
        let theme = theme();
        let long = format!("let a = \"{}\";\nlet b = 1;", "x".repeat(10_000));
        assert!(highlight_code("rust", &long, &theme).iter().all(|line| line.spans.len() == 1));
        let big = "let a = 1;\n".repeat(60_000);
        assert!(highlight_code("rust", &big, &theme).iter().all(|line| line.spans.len() == 1));
        let mut stream = CodeHighlighter::new("rust", &theme);
        // What is left of the bound is counted down by every line.
        stream.state.as_mut().expect("the language is known").left = 30;
        let spans: Vec<usize> =
            (0..4).map(|_| stream.highlight_line("let a = 1;", &theme).spans.len()).collect();
        assert!(spans[0] > 1 && spans[2] > 1);
        let last = spans[3];
        assert_eq!(last, 1);
    }

    #[test]
    fn z10_f1_nothing_in_code_reaches_the_terminal() {
        let theme = theme();
        for language in ["rust", "sh", "nothing"] {
            let lines =
                highlight_code(language, "let a = \"\u{1b}[2J\u{202e}\";\r\n\tb\u{7}\r", &theme);
            let text: String = lines.iter().map(ToString::to_string).collect();
            assert_eq!(text, "let a = \"<U+001B>[2J<U+202E>\";    b<U+0007>");
        }
    }

    #[test]
    fn f1_the_language_is_the_first_word() {
        for (info, language) in [
            ("rust,ignore", "rust"),
            ("{.python .numberLines}", "python"),
            ("c++ title=x", "c++"),
            ("\u{1b}[31mx", ""),
            ("", ""),
        ] {
            assert_eq!(language_of_fence(info), language, "{info:?}");
        }
        assert_eq!(language_of_path("a/b/main.rs"), "rs");
        assert_eq!(language_of_path("Makefile"), "Makefile");
    }
}
