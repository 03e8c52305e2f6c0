//! Code, in colours: what each word is says `weir_highlight`, on a thread of its own (`thread`).
//!
//! What is too long has one colour. Not here: where code stands and how it is broken (`markdown`).

use ratatui::text::{Line, Span};
use weir_highlight::CodeSpan;

use super::clean::clean_text;
use super::theme::Theme;

mod thread;

use thread::CodeBlock;
pub(crate) use thread::end_code_thread;

/// Most of one block that gets colours, in bytes.
const COLOURED_BYTES_MAX: usize = 256 << 10;

/// Paints code line by line: what was painted is not looked at again.
#[derive(Debug, Clone, Default)]
pub struct CodePainter {
    /// None: it has one colour, from here on.
    block: Option<CodeBlock>,
    /// Bytes that may still be coloured.
    left: usize,
}

impl CodePainter {
    /// For a block of code in `language` (the word after a fence), before its first line. Unknown
    /// languages have one colour.
    pub fn new(language: &str, theme: &Theme) -> CodePainter {
        let block = theme.syntax.and_then(|_| CodeBlock::begin_block(language));
        CodePainter { block, left: COLOURED_BYTES_MAX }
    }

    /// The next line, without its end.
    pub fn paint_line(&mut self, line: &str, theme: &Theme) -> Line<'static> {
        let line = clean_text(line).replace('\n', " ");
        let block = self.block.as_mut().filter(|_| line.len() <= self.left);
        let Some(spans) = block.and_then(|block| block.next_line(&line)) else {
            self.block = None;
            return Line::from(Span::styled(line, theme.code));
        };
        self.left -= line.len();
        styled_line(&line, &spans, theme)
    }
}

fn styled_line(line: &str, parts: &[CodeSpan], theme: &Theme) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for part in parts {
        let text = line.get(part.at.clone()).unwrap_or_default();
        let style = part.word.map_or(theme.text, |word| theme.word_style(word));
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => spans.push(Span::styled(text.to_owned(), style)),
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use ratatui::text::Line;
    use weir_highlight::CodeWord;

    use super::CodePainter;
    use crate::text::theme::{ColourDepth, Theme};

    const CODE: &str = "/* a\n b */\nfn main() {\n\tlet x = \"s\"; // c\n}\n";

    fn theme() -> Theme {
        Theme::by_name("dark", ColourDepth::True).expect("it is on the list")
    }

    fn painted(language: &str, code: &str, theme: &Theme) -> Vec<Line<'static>> {
        let mut painter = CodePainter::new(language, theme);
        code.lines().map(|line| painter.paint_line(line, theme)).collect()
    }

    #[test]
    fn f1_code_has_the_colours_of_its_language() {
        let theme = theme();
        let lines = painted("rust", CODE, &theme);
        let texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["/* a", " b */", "fn main() {", "    let x = \"s\"; // c", "}"]);
        assert_eq!(lines[1].spans[0].style, theme.word_style(CodeWord::Comment));
        assert_eq!(lines[2].spans[0].style, theme.word_style(CodeWord::Keyword));
        for language in ["", "text", "no such", "\u{1b}[31m"] {
            let lines = painted(language, CODE, &theme);
            assert!(lines.iter().all(|line| line.spans.len() <= 1), "{language:?}");
            assert_eq!(lines[0].spans[0].style, theme.code);
        }
        assert!(painted("rust", CODE, &Theme::plain_theme())[2].spans.len() == 1);
    }

    #[test]
    fn q21_a_copy_of_a_painter_paints_on_and_the_painter_stands_where_it_was() {
        let theme = theme();
        let mut painter = CodePainter::new("rust", &theme);
        painter.paint_line("/* a", &theme);
        let mut copy = painter.clone();
        copy.paint_line("*/", &theme);
        let after = copy.paint_line("fn main() {", &theme);
        assert_eq!(after.spans[0].style, theme.word_style(CodeWord::Keyword));
        let within = painter.paint_line("fn main() {", &theme);
        assert_eq!(within.spans[0].style, theme.word_style(CodeWord::Comment));
    }

    #[test]
    fn z10_f1_what_is_too_long_has_one_colour() {
        let theme = theme();
        let long = format!("let a = \"{}\";\nlet b = 1;", "x".repeat(10_000));
        assert!(painted("rust", &long, &theme).iter().all(|line| line.spans.len() == 1));
        let mut painter = CodePainter::new("rust", &theme);
        // What is left of the bound is counted down by every line.
        painter.left = 30;
        let spans: Vec<usize> =
            (0..4).map(|_| painter.paint_line("let a = 1;", &theme).spans.len()).collect();
        assert!(spans[0] > 1 && spans[2] > 1);
        let last = spans[3];
        assert_eq!(last, 1);
    }

    #[test]
    fn z10_f1_nothing_in_code_reaches_the_terminal() {
        let theme = theme();
        for language in ["rust", "sh", "nothing"] {
            let lines = painted(language, "let a = \"\u{1b}[2J\u{202e}\";\r\n\tb\u{7}\r", &theme);
            let text: String = lines.iter().map(ToString::to_string).collect();
            assert_eq!(text.trim_end(), "let a = \"<U+001B>[2J<U+202E>\";    b<U+0007>");
        }
    }
}
