//! Code with colours: what each word is says `weir_highlight`; here it gets a class, and the colours
//! are the style sheet's.

use std::time::{Duration, Instant};

use maud::PreEscaped;
use weir_highlight::{CodeHighlighter, CodeWord, language_of_fence};

use super::diagram;
use super::markdown::escape_html;
use super::plain::visible_text;

/// Most code of one text that gets colours, in bytes.
const COLOURED_MAX: usize = 128 << 10;
/// How long colours of one text may take. Only what is made to be slow comes near it: for everything
/// else the same text is the same page.
const TIME_MAX: Duration = Duration::from_secs(1);
/// Most of a file that is shown by itself, and how long that may take.
const FILE_MAX: usize = 512 << 10;
const FILE_TIME_MAX: Duration = Duration::from_secs(3);

/// The class of a word.
fn class_of_word(word: CodeWord) -> &'static str {
    match word {
        CodeWord::Comment => "c-comment",
        CodeWord::Text => "c-string",
        CodeWord::Number => "c-number",
        CodeWord::Escape => "c-escape",
        CodeWord::Constant => "c-constant",
        CodeWord::Operator => "c-operator",
        CodeWord::Keyword | CodeWord::Heading => "c-keyword",
        CodeWord::Function => "c-function",
        CodeWord::Tag => "c-tag",
        CodeWord::Attribute => "c-attribute",
        CodeWord::Type => "c-type",
        CodeWord::Parameter => "c-parameter",
        CodeWord::Added => "c-added",
        CodeWord::Removed => "c-removed",
        CodeWord::Invalid => "c-invalid",
    }
}

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
    let language = language_of_fence(block.info);
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

fn write_coloured(out: &mut String, text: &str, language: &str, budget: &mut ColourBudget) {
    // Before it is cut into words: what belongs together is judged together.
    let text = &*visible_text(text);
    let highlighter = match text.len() <= budget.bytes && !budget.time.is_zero() {
        true => CodeHighlighter::for_language(language),
        false => None,
    };
    let Some(mut highlighter) = highlighter else { return escape_html(out, text) };
    budget.bytes -= text.len();
    let began = Instant::now();
    let mut done = 0;
    for ended in text.split_inclusive('\n') {
        if began.elapsed() > budget.time {
            break;
        }
        let line = ended.strip_suffix('\n').unwrap_or(ended);
        let Some(spans) = highlighter.next_line(line) else { break };
        for span in spans {
            write_token(out, line.get(span.at).unwrap_or_default(), span.word);
        }
        out.push_str(&ended[line.len()..]);
        done += ended.len();
    }
    budget.time = budget.time.saturating_sub(began.elapsed());
    // Whatever could not be coloured is there all the same.
    escape_html(out, &text[done..]);
}

fn write_token(out: &mut String, text: &str, word: Option<CodeWord>) {
    match word.map(class_of_word) {
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

/// Whether a class is one of those that colours have.
pub(super) fn is_class(class: &str) -> bool {
    CodeWord::ALL.iter().any(|word| class_of_word(*word) == class)
}

#[cfg(test)]
mod tests {
    use super::render_code;

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
}
