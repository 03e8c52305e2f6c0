//! HTML of a page as text: a line for each block, badges with their colour, no signs without words.
//! Knows the pages of this server and no others. Not here: what stands on which page; the lines of a
//! difference, of which only the size is told.

/// Characters of a line.
const LINE_CHARACTERS_MAX: usize = 200;
/// Elements that no reader sees as words.
const UNREAD: [&str; 4] = ["svg", "time", "meter", "script"];
/// Classes of elements that a reader does not see, sees as a sign, or writes into.
const UNTOLD: [&str; 4] = ["unseen", "act", "permalink", "field"];
/// Elements that begin and end a line.
const BLOCKS: &str = "article blockquote details dialog div dl fieldset figcaption figure footer \
                      form h1 h2 h3 h4 h5 h6 header hr label legend li ol p pre section summary \
                      table tbody td th thead tr ul";
/// Elements without an end.
const EMPTY: [&str; 6] = ["br", "hr", "img", "input", "link", "meta"];

/// `html` as lines: the first one of an outermost element begins with its classes, the others are
/// indented.
pub(super) fn text_lines(html: &str) -> Vec<String> {
    let mut reader = HtmlReader::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        reader.text(&rest[..at]);
        let Some(end) = rest[at..].find('>') else { break };
        reader.tag(&rest[at + 1..at + end]);
        rest = &rest[at + end + 1..];
    }
    reader.text(rest);
    reader.end_line();
    reader.lines
}

/// The value of an attribute of the first element of `html`.
pub(super) fn first_attribute(html: &str, name: &str) -> String {
    let tag = html.split('>').next().unwrap_or_default();
    attribute_value(tag, name).unwrap_or_default()
}

fn attribute_value(tag: &str, name: &str) -> Option<String> {
    let begin = format!(" {name}=\"");
    let (_, rest) = tag.split_once(&begin)?;
    Some(without_entities(rest.split('"').next().unwrap_or_default()))
}

fn without_entities(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, sign) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ] {
        text = text.replace(name, sign);
    }
    text
}

fn is_block(name: &str) -> bool {
    BLOCKS.split_whitespace().any(|block| block == name)
}

/// An element that is open.
struct OpenElement {
    name: String,
    /// Nothing in it is read.
    unread: bool,
    /// Its text stands as it is.
    exact: bool,
    /// How many lines there were when it began, where all of it becomes one line.
    folds_from: Option<usize>,
    is_badge: bool,
}

#[derive(Default)]
struct HtmlReader {
    open: Vec<OpenElement>,
    lines: Vec<String>,
    line: String,
    /// What stands above the next line.
    heading: String,
    /// The classes of an outermost element of which no line is there yet.
    first: Option<String>,
}

impl HtmlReader {
    fn tag(&mut self, tag: &str) {
        match tag.strip_prefix('/') {
            Some(name) => self.close(name.trim()),
            None => self.begin(tag),
        }
    }

    fn begin(&mut self, tag: &str) {
        let name = tag.split([' ', '/', '\n']).next().unwrap_or_default().to_owned();
        let classes = attribute_value(tag, "class").unwrap_or_default();
        let is = |class: &str| classes.split_whitespace().any(|one| one == class);
        let in_figure = self.open.iter().any(|element| element.name == "figure");
        let unread = self.is_unread()
            || UNREAD.contains(&name.as_str())
            || UNTOLD.iter().any(|class| is(class))
            || (name == "pre" && in_figure);
        if !unread {
            self.began(&name, tag, &classes);
        }
        if EMPTY.contains(&name.as_str()) {
            return;
        }
        let exact = name == "pre" || self.open.last().is_some_and(|element| element.exact);
        let folds = !unread && (name == "dl" || name == "pre" && is("plain"));
        let folds_from = folds.then_some(self.lines.len());
        let is_badge = name == "span" && is("badge") && !unread;
        self.open.push(OpenElement { name, unread, exact, folds_from, is_badge });
    }

    /// What stands for the beginning of an element.
    fn began(&mut self, name: &str, tag: &str, classes: &str) {
        if is_block(name) {
            self.end_line();
        }
        if self.open.is_empty() {
            let words = classes.split_whitespace().filter(|class| *class != "entry");
            self.first = Some(words.collect::<Vec<_>>().join(" "));
        }
        match name {
            "br" => self.end_line(),
            "img" => {
                let alt = attribute_value(tag, "alt").unwrap_or_default();
                self.apart(&format!("[picture: {alt}]"));
            }
            "button" => self.apart("["),
            "dt" => self.apart("· "),
            "span" if classes.split_whitespace().any(|class| class == "badge") => {
                let kind = classes.split_whitespace().find(|class| *class != "badge");
                self.apart(&format!(
                    "[{}",
                    kind.map(|kind| format!("{kind}: ")).unwrap_or_default()
                ));
            }
            "span" | "strong" | "dd" | "a" if !self.is_exact() => self.apart(""),
            _ => (),
        }
    }

    /// Puts `text` behind what stands in the line, not against it.
    fn apart(&mut self, text: &str) {
        let close = self.line.is_empty() || self.line.ends_with([' ', '[', '(', '“']);
        if !close {
            self.line.push(' ');
        }
        self.line.push_str(text);
    }

    fn close(&mut self, name: &str) {
        let Some(at) = self.open.iter().rposition(|element| element.name == name) else { return };
        let element = self.open.remove(at);
        self.open.truncate(at);
        if element.unread {
            return;
        }
        if element.is_badge || element.name == "button" {
            self.line.truncate(self.line.trim_end().len());
            self.line.push(']');
        }
        if element.name == "h4" {
            self.heading = std::mem::take(&mut self.line);
        }
        if is_block(&element.name) {
            self.end_line();
        }
        if let Some(from) = element.folds_from {
            self.fold(from);
        }
    }

    /// The lines from `from` on become one.
    fn fold(&mut self, from: usize) {
        let mut parts = self.lines.split_off(from.min(self.lines.len())).into_iter();
        let Some(mut line) = parts.next() else { return };
        for part in parts {
            line.push(' ');
            line.push_str(part.trim_start());
        }
        self.lines.push(cut_at(&line, LINE_CHARACTERS_MAX));
    }

    fn text(&mut self, text: &str) {
        if self.is_unread() {
            return;
        }
        let text = without_entities(text);
        if self.is_exact() {
            let mut parts = text.split('\n');
            self.line.push_str(parts.next().unwrap_or_default());
            for part in parts {
                self.end_line();
                self.line.push_str(part);
            }
            return;
        }
        let begins_apart = text.starts_with(char::is_whitespace);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if begins_apart && !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        self.line.push_str(&words);
        if !words.is_empty() && text.ends_with(char::is_whitespace) {
            self.line.push(' ');
        }
    }

    fn is_unread(&self) -> bool {
        self.open.last().is_some_and(|element| element.unread)
    }

    fn is_exact(&self) -> bool {
        self.open.last().is_some_and(|element| element.exact)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() {
            return;
        }
        let heading = std::mem::take(&mut self.heading);
        let heading = if heading.is_empty() { heading } else { format!("{heading}: ") };
        let line = cut_at(&format!("{heading}{}", line.trim_end()), LINE_CHARACTERS_MAX);
        self.lines.push(match self.first.take() {
            Some(classes) if classes.is_empty() => line,
            Some(classes) => format!("{classes}: {line}"),
            None => format!("  {line}"),
        });
    }
}

/// The beginning of `text`.
pub(super) fn cut_at(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[test]
fn html_is_read_as_a_person_reads_it() {
    let html = "<li class=\"entry call\" id=\"e1\"><details class=\"tool\"><summary>\
        <svg><path d=\"m1\"/></svg><span class=\"tool-name\">run</span>\
        <span class=\"tool-about\">a &lt;b&gt;</span><span class=\"badge bad\">failed</span>\
        </summary><dl><dt>Rule</dt> <dd>no &amp; never</dd></dl>\
        <h4>Given</h4><pre class=\"plain\">{\n  \"a\": 1\n}</pre></details>\
        <a class=\"icon-button act\">Copy</a></li>";
    assert_eq!(
        text_lines(html),
        ["call: run a <b> [bad: failed]", "  · Rule no & never", "  Given: { \"a\": 1 }"]
    );
    assert_eq!(first_attribute(html, "id"), "e1");
}
