//! Code with colours: a few classes that say what a word is, the colours are the style sheet's. The
//! languages are unpacked when the first block asks for them.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use maud::PreEscaped;
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};
use syntect::util::LinesWithEndings;

use super::diagram;
use super::markdown::escape_html;
use super::plain::visible_text;

/// Most code of one text that gets colours, in bytes.
const COLOURED_MAX: usize = 128 << 10;
/// Longest line that gets colours, in bytes: patterns go back and forth over it.
const LINE_MAX: usize = 2000;
/// How long colours of one text may take. Only what is made to be slow comes near it: for everything
/// else the same text is the same page.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Most of a file that is shown by itself, and how long that may take.
const FILE_MAX: usize = 512 << 10;
const FILE_TIME_MAX: Duration = Duration::from_secs(3);
/// Longest name of a language.
const LANGUAGE_MAX: usize = 32;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// What a word is, by the beginning of what its language calls it: the first that fits counts.
const CLASSES: &[(&str, &str)] = &[
    ("comment", "c-comment"),
    ("string", "c-string"),
    ("constant.numeric", "c-number"),
    ("constant.character.escape", "c-escape"),
    ("constant", "c-constant"),
    ("keyword.operator", "c-operator"),
    ("keyword", "c-keyword"),
    ("storage", "c-keyword"),
    ("entity.name.function", "c-function"),
    ("support.function", "c-function"),
    ("variable.function", "c-function"),
    ("entity.name.tag", "c-tag"),
    ("entity.other.attribute-name", "c-attribute"),
    ("entity.name", "c-type"),
    ("support.type", "c-type"),
    ("support.class", "c-type"),
    ("variable.parameter", "c-parameter"),
    ("variable.language", "c-keyword"),
    ("markup.inserted", "c-added"),
    ("markup.deleted", "c-removed"),
    ("markup.heading", "c-keyword"),
    ("meta.diff.range", "c-comment"),
    ("meta.diff.header", "c-comment"),
    ("invalid", "c-invalid"),
];

/// What is left for colours.
pub(super) struct ColourBudget {
    bytes: usize,
    time: Duration,
    diagrams: diagram::DiagramBudget,
}

impl Default for ColourBudget {
    fn default() -> ColourBudget {
        ColourBudget {
            bytes: COLOURED_MAX,
            time: TIME_MAX,
            diagrams: diagram::DiagramBudget::default(),
        }
    }
}

/// A block of code as a text has it.
pub(super) struct FencedCode<'a> {
    /// What stands behind the fence: `rust`, `python title="x"`.
    pub(super) info: &'a str,
    /// The code.
    pub(super) text: &'a str,
    /// Its end has been written.
    pub(super) closed: bool,
}

/// A block of a text.
pub(super) fn write_fenced_code(
    out: &mut String,
    block: &FencedCode<'_>,
    budget: &mut ColourBudget,
) {
    let language = fence_language(block.info);
    let ready = block.closed && diagram::is_diagram(&language);
    if ready && diagram::write_diagram(out, block.text, &mut budget.diagrams) {
        return;
    }
    out.push_str("<figure class=\"code-block\">");
    if !language.is_empty() {
        out.push_str("<figcaption>");
        escape_html(out, &language);
        out.push_str("</figcaption>");
    }
    out.push_str("<pre tabindex=\"0\"><code>");
    write_coloured(out, block.text, &language, budget);
    out.push_str("</code></pre></figure>\n");
}

/// Code with colours, in a `<pre>`. `language`: a name (`rust`) or an ending (`rs`); what is not
/// known has none.
pub fn render_code(text: &str, language: &str) -> PreEscaped<String> {
    let mut out = String::from("<pre class=\"code\" tabindex=\"0\"><code>");
    let mut budget =
        ColourBudget { bytes: FILE_MAX, time: FILE_TIME_MAX, ..ColourBudget::default() };
    write_coloured(&mut out, text, language, &mut budget);
    out.push_str("</code></pre>\n");
    PreEscaped(out)
}

/// The language of a file, by its name; empty: none that has colours.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    match SYNTAXES.find_syntax_by_extension(ending) {
        Some(_) => ending,
        None => "",
    }
}

/// The first word behind the fence, without braces and dots of other dialects.
fn fence_language(info: &str) -> String {
    let first = info.split([' ', ',', '\t', '{', '}']).find(|word| !word.is_empty());
    let name = first.unwrap_or_default().trim_start_matches('.');
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    name.chars().take(LANGUAGE_MAX).take_while(plain).collect()
}

fn find_syntax(language: &str) -> Option<&'static SyntaxReference> {
    // Names that models write and the list of languages does not have.
    let known = match language.to_ascii_lowercase().as_str() {
        "" | "text" | "plain" | "txt" => return None,
        "typescript" | "ts" | "tsx" | "jsx" | "mjs" | "cjs" | "javascript" => "js".to_string(),
        "shell" | "console" | "zsh" | "sh-session" => "sh".to_string(),
        "jsonc" | "json5" | "jsonl" | "ndjson" => "json".to_string(),
        "c++" | "cxx" => "cpp".to_string(),
        "golang" => "go".to_string(),
        other => other.to_string(),
    };
    SYNTAXES.find_syntax_by_token(&known)
}

fn write_coloured(out: &mut String, text: &str, language: &str, budget: &mut ColourBudget) {
    // Before it is cut into words: what belongs together is judged together.
    let text = &*visible_text(text);
    let syntax = match text.len() <= budget.bytes && !budget.time.is_zero() {
        true => find_syntax(language),
        false => None,
    };
    let Some(syntax) = syntax else { return escape_html(out, text) };
    budget.bytes -= text.len();
    let began = Instant::now();
    let mut state = ParseState::new(syntax);
    let mut scopes = ScopeStack::new();
    let mut done = 0;
    for line in LinesWithEndings::from(text) {
        if line.len() > LINE_MAX || began.elapsed() > budget.time {
            break;
        }
        let Ok(steps) = state.parse_line(line, &SYNTAXES) else { break };
        let mut at = 0;
        for (end, step) in steps {
            write_token(out, &line[at..end], &scopes);
            at = end;
            if scopes.apply(&step).is_err() {
                break;
            }
        }
        write_token(out, &line[at..], &scopes);
        done += line.len();
    }
    budget.time = budget.time.saturating_sub(began.elapsed());
    // Whatever could not be coloured is there all the same.
    escape_html(out, &text[done..]);
}

fn write_token(out: &mut String, text: &str, scopes: &ScopeStack) {
    if text.is_empty() {
        return;
    }
    match class_of(scopes).filter(|_| !text.trim().is_empty()) {
        Some(class) => {
            out.push_str("<span class=\"");
            out.push_str(class);
            out.push_str("\">");
            escape_html(out, text);
            out.push_str("</span>");
        }
        None => escape_html(out, text),
    }
}

/// The class of the innermost scope that has one.
fn class_of(scopes: &ScopeStack) -> Option<&'static str> {
    static PREFIXES: LazyLock<Vec<(syntect::parsing::Scope, &'static str)>> = LazyLock::new(|| {
        let scope = |name: &str| syntect::parsing::Scope::new(name);
        CLASSES.iter().filter_map(|(name, class)| Some((scope(name).ok()?, *class))).collect()
    });
    scopes.scopes.iter().rev().find_map(|scope| {
        let found = PREFIXES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
        found.map(|(_, class)| *class)
    })
}

/// Whether a class is one of those that colours have.
pub(super) fn is_class(class: &str) -> bool {
    CLASSES.iter().any(|(_, known)| *known == class)
}

#[cfg(test)]
mod tests {
    use super::{fence_language, language_of, render_code};

    #[test]
    fn s12_code_has_colours_and_keeps_its_words() {
        let html = render_code("fn main() { // <b>\n    let a = \"x\";\n}\n", "rust").0;
        assert!(html.contains("<span class=\"c-keyword\">fn</span>"), "{html}");
        assert!(
            html.contains("<span class=\"c-comment\"> &lt;b&gt;") || html.contains("&lt;b&gt;")
        );
        assert!(html.contains("c-string"), "{html}");
        assert!(!html.contains("<b>"));
        assert_eq!(render_code("a < b", "no such language").0.matches("<span").count(), 0);
    }

    #[test]
    fn s12_a_joined_emoji_is_whole_in_coloured_code() {
        let html =
            render_code("let a = \"👩\u{200D}👩\"; // 👩\u{200D}👩\nlet b\u{200D}c = 1;\n", "rust")
                .0;
        assert_eq!(html.matches("👩\u{200D}👩").count(), 2, "{html}");
        assert!(!html.contains("b\u{200D}c") && html.contains("200D&gt;c"), "{html}");
    }

    #[test]
    fn s12_long_lines_stay_without_colours() {
        let line = format!("let a = \"{}\";", "x".repeat(10_000));
        let html = render_code(&line, "rust").0;
        assert!(html.contains(&"x".repeat(10_000)) && !html.contains("<span"));
    }

    #[test]
    fn the_language_is_the_first_word_behind_the_fence() {
        assert_eq!(fence_language("rust,ignore"), "rust");
        assert_eq!(fence_language("{.python .numberLines}"), "python");
        assert_eq!(fence_language("c++ title=x"), "c++");
        assert_eq!(fence_language("\"><script>"), "");
        assert_eq!(language_of("a/b/main.rs"), "rs");
        assert_eq!(language_of("Makefile"), "Makefile");
        assert_eq!(language_of("x.unknown"), "");
    }
}
