//! A text as passages: one for each heading, long ones cut where a paragraph ends. Knows as much of
//! Markdown as that takes: headings, fences, properties at the beginning. Not here: links, tags, blocks.

/// Most characters of a passage.
const PASSAGE_CHARS_MAX: usize = 1_500;
/// A piece shorter than this is put to the one before it.
const PASSAGE_CHARS_MIN: usize = 200;
/// Most passages of one text: a longer one is a database, not something that people read.
const PASSAGES_MAX: usize = 5_000;

/// A part of a text that answers a question by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPassage {
    /// The headings above it, from the outermost on; empty before the first.
    pub headings: Vec<String>,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Where it begins in that line, in characters from 1 on: a long line is several passages.
    pub column: usize,
    /// Its last line.
    pub last_line: usize,
    /// Its text without the heading.
    pub text: String,
}

impl TextPassage {
    /// A digest of what it says, its headings included (FNV-1a). The same everywhere and always.
    pub fn text_digest(&self) -> u64 {
        let texts = self.headings.iter().chain(std::iter::once(&self.text));
        let bytes = texts.flat_map(|text| text.bytes().chain(std::iter::once(0)));
        bytes.fold(0xCBF2_9CE4_8422_2325, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }
}

/// The passage that was indexed as the one of this `number` and `digest`, among the passages of its text
/// as they are now; `None`: it does not stand there any more.
pub fn find_passage(passages: &[TextPassage], number: usize, digest: u64) -> Option<&TextPassage> {
    let says_it = |passage: &&TextPassage| passage.text_digest() == digest;
    passages.get(number).filter(says_it).or_else(|| passages.iter().find(says_it))
}

/// The passages of `text`. A heading without a word of its own below it gives none.
pub fn split_passages(text: &str) -> Vec<TextPassage> {
    let mut sections = PassageBuilder::default();
    let mut fence: Option<&str> = None;
    for (at, line) in text.lines().enumerate().skip(properties_end(text)) {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        fence = match (fence, mark) {
            (None, Some(mark)) => Some(mark),
            (Some(open), Some(mark)) if open == mark => None,
            (open, _) => open,
        };
        match parse_heading(line).filter(|_| fence.is_none()) {
            Some((level, title)) => sections.open_section(level, title),
            None => sections.add_line(at + 1, line),
        }
    }
    sections.close_passage();
    sections.done
}

/// How many lines the properties at the beginning take.
fn properties_end(text: &str) -> usize {
    let mut lines = text.lines();
    if lines.next().is_none_or(|first| first.trim_end() != "---") {
        return 0;
    }
    lines.position(|line| line.trim_end() == "---").map_or(0, |at| at + 2)
}

/// Level and words of a heading.
fn parse_heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    let title = rest.trim().trim_end_matches('#').trim_end();
    (is_heading && !title.is_empty()).then_some((level, title))
}

/// What was read so far.
#[derive(Default)]
struct PassageBuilder {
    done: Vec<TextPassage>,
    /// Level and words of the headings above.
    path: Vec<(usize, String)>,
    line: usize,
    column: usize,
    last_line: usize,
    text: String,
    /// Characters of `text`.
    chars: usize,
    /// Passages before this one are of another section.
    from: usize,
}

impl PassageBuilder {
    fn open_section(&mut self, level: usize, title: &str) {
        self.close_passage();
        self.path.retain(|(above, _)| *above < level);
        self.path.push((level, title.to_owned()));
        self.from = self.done.len();
    }

    fn add_line(&mut self, number: usize, line: &str) {
        let chars = line.chars().count();
        if self.chars + chars > PASSAGE_CHARS_MAX || (line.trim().is_empty() && self.is_full()) {
            self.close_passage();
        }
        let mut rest = line;
        let mut column = 1;
        // A line can be longer than any passage.
        while rest.chars().count() > PASSAGE_CHARS_MAX {
            let at = rest.char_indices().nth(PASSAGE_CHARS_MAX).map_or(rest.len(), |(at, _)| at);
            let cut = rest[..at].rfind(' ').filter(|cut| *cut > 0).unwrap_or(at);
            self.push_text(number, column, &rest[..cut]);
            self.close_passage();
            let next = rest[cut..].trim_start();
            column += rest.chars().count() - next.chars().count();
            rest = next;
        }
        self.push_text(number, column, rest);
    }

    fn is_full(&self) -> bool {
        self.chars > PASSAGE_CHARS_MAX * 2 / 3
    }

    fn push_text(&mut self, number: usize, column: usize, line: &str) {
        if self.text.is_empty() {
            if line.trim().is_empty() {
                return;
            }
            (self.line, self.column) = (number, column);
        } else {
            self.text.push('\n');
        }
        if !line.trim().is_empty() {
            self.last_line = number;
        }
        self.text.push_str(line);
        self.chars += line.chars().count() + 1;
    }

    fn close_passage(&mut self) {
        let text = std::mem::take(&mut self.text);
        let chars = std::mem::take(&mut self.chars);
        let text = text.trim_end();
        if text.is_empty() || self.done.len() >= PASSAGES_MAX {
            return;
        }
        // A last short piece belongs to what it follows.
        if self.done.len() > self.from && chars < PASSAGE_CHARS_MIN {
            if let Some(last) = self.done.last_mut() {
                last.text.push('\n');
                last.text.push_str(text);
                last.last_line = self.last_line;
            }
            return;
        }
        let headings = self.path.iter().map(|(_, title)| title.clone()).collect();
        let (line, column, last_line) = (self.line, self.column, self.last_line);
        self.done.push(TextPassage { headings, line, column, last_line, text: text.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_a_heading_begins_a_passage() {
        let text = "---\ntags: [a]\n---\nBefore.\n\n# One\nFirst.\n```sh\n# no heading\n```\n\
                    ## Two ##\n\n### Three\nDeep.\n# Four\n#tag is no heading\n";
        let got: Vec<(String, usize, String)> = split_passages(text)
            .into_iter()
            .map(|passage| (passage.headings.join(" > "), passage.line, passage.text))
            .collect();
        let row = |path: &str, line, text: &str| (path.to_owned(), line, text.to_owned());
        assert_eq!(
            got,
            [
                row("", 4, "Before."),
                row("One", 7, "First.\n```sh\n# no heading\n```"),
                row("One > Two > Three", 14, "Deep."),
                row("Four", 16, "#tag is no heading"),
            ]
        );
    }

    #[test]
    fn k6_long_sections_are_cut_where_a_paragraph_ends() {
        let paragraph = format!("{}\n\n", "word ".repeat(120));
        let text = format!("# Long\n{}", paragraph.repeat(10));
        let got = split_passages(&text);
        assert!(got.len() > 3, "{}", got.len());
        for passage in &got {
            assert!(passage.text.chars().count() <= PASSAGE_CHARS_MAX + PASSAGE_CHARS_MIN);
            assert!(passage.text.starts_with("word") && passage.text.ends_with("word"));
            assert_eq!(passage.headings, ["Long"]);
        }
        let line = split_passages(&"ü".repeat(PASSAGE_CHARS_MAX * 3));
        assert!(line.iter().all(|passage| passage.text.chars().count() <= PASSAGE_CHARS_MAX));
        assert_eq!(
            line.iter().map(|p| p.text.chars().count()).sum::<usize>(),
            PASSAGE_CHARS_MAX * 3
        );
    }

    #[test]
    fn k6_each_piece_of_a_long_line_is_found_again() {
        let line: String = (0..900).map(|number| format!("word{number} ")).collect();
        let text = format!("# Log\nIntro.\n{line}\n");
        let passages = split_passages(&text);
        assert!(passages.len() > 3);
        let long = text.lines().nth(2).expect("the long line");
        let mut columns = Vec::new();
        for (number, passage) in passages.iter().enumerate().skip(1) {
            let found = find_passage(&passages, number, passage.text_digest()).expect("there");
            assert_eq!(found, passage);
            let rest: String = long.chars().skip(passage.column - 1).collect();
            let first = passage.text.lines().next().expect("a line");
            assert!(passage.line == 3 && rest.starts_with(first), "{passage:?}");
            columns.push(passage.column);
        }
        assert!(columns.is_sorted_by(|a, b| a < b), "{columns:?}");
        // Moved, it is found by what it says; changed, not at all.
        let last = passages.last().expect("a passage");
        assert_eq!(find_passage(&passages, 0, last.text_digest()), Some(last));
        assert_eq!(find_passage(&passages, 0, 7), None);
    }

    proptest::proptest! {
        #[test]
        fn k6_no_text_makes_it_panic(text in "(#{0,7} ?[a-zé\n`~ -]{0,40}\n?){0,20}") {
            for passage in split_passages(&text) {
                proptest::prop_assert!(!passage.text.trim().is_empty());
                proptest::prop_assert!((1..=passage.last_line).contains(&passage.line));
            }
        }
    }
}
