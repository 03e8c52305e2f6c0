//! HTML to Markdown for models: the main text of a page where one is found, else all of it.
//!
//! Pages are hostile: parsers of HTML can be driven into quadratic time, memory or recursion by
//! their own rules of repair. So a page is measured before it is parsed and its tree before it is
//! walked; what is out of measure becomes plain text by a scan that only goes forward.

use std::collections::HashSet;
use std::rc::Rc;

use dom_smoothie::{Config, Readability};
use htmd::{HtmlToMarkdown, Node};

/// Most bytes that are parsed; the rest of a longer page is left out.
pub(crate) const HTML_BYTES_MAX: usize = 2_000_000;
/// Deepest tree that is walked.
const DEPTH_MAX: usize = 200;
/// Most nodes that the parser's rules of repair could make of a page.
const NODES_MAX: usize = 2_000_000;
/// Up to here a page cannot be deep enough to be slow, whatever its tags.
const SMALL_TAGS_MAX: usize = 2_000;
/// A main text shorter than this may be a mistake: then the whole page is shown.
const ARTICLE_BYTES_MIN: usize = 400;

/// Elements that are never closed.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that end where the next of their kind begins.
const SELF_CLOSING: [&str; 4] = ["p", "li", "dt", "dd"];
/// Elements that the parser opens again in every block until they are closed.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// Elements whose text is no text.
const HIDDEN: [&str; 6] = ["script", "style", "noscript", "template", "svg", "head"];
const SKIPPED: [&str; 7] = ["script", "style", "noscript", "template", "svg", "iframe", "head"];

/// What became of a page.
pub(crate) struct ConvertedPage {
    /// Its title, where it has one.
    pub(crate) title: Option<String>,
    /// Markdown, or plain text where the page was out of measure.
    pub(crate) text: String,
    /// In which way it was made, for the reader.
    pub(crate) how: &'static str,
}

/// Converts a page. May panic where a parser does: call it where a panic is caught.
pub(crate) fn convert_page(html: &str, url: &str) -> ConvertedPage {
    let html = cut_text(html, HTML_BYTES_MAX);
    let plain =
        || ConvertedPage { title: None, text: plain_text(html), how: "text of the HTML page" };
    if !PageMeasure::measure_page(html).is_harmless() {
        return plain();
    }
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    let Ok(tree) = converter.html_to_tree(html) else { return plain() };
    if is_deep(&tree) {
        return plain();
    }
    let whole = converter.tree_to_markdown(&tree);
    drop(tree);
    match extract_article(html, url, &converter) {
        Some((title, text)) if text.trim().len() >= ARTICLE_BYTES_MIN => {
            ConvertedPage { title, text, how: "main text of the HTML page as Markdown" }
        }
        Some((title, _)) => ConvertedPage { title, text: whole, how: "HTML page as Markdown" },
        None => ConvertedPage { title: None, text: whole, how: "HTML page as Markdown" },
    }
}

fn extract_article(
    html: &str,
    url: &str,
    converter: &HtmlToMarkdown,
) -> Option<(Option<String>, String)> {
    let config = Config { disable_json_ld: true, ..Config::default() };
    let mut page = Readability::new(html, Some(url), Some(config)).ok()?;
    let found = page.parse().ok()?;
    let tree = converter.html_to_tree(&found.content).ok()?;
    let title = found.title.trim();
    let title = (!title.is_empty()).then(|| crate::text::one_line(title, 300));
    (!is_deep(&tree)).then(|| (title, converter.tree_to_markdown(&tree)))
}

/// Whether walking the tree by recursion could exhaust the stack.
fn is_deep(tree: &Rc<Node>) -> bool {
    let mut level = vec![tree.clone()];
    for _ in 0..DEPTH_MAX {
        level = level.iter().flat_map(|node| node.children.borrow().clone()).collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

/// The longest start of `text` with at most `max` bytes.
fn cut_text(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

// ------------------------------------------------------------ scanning

/// One tag of a page.
struct HtmlTag<'a> {
    name: &'a str,
    attributes: &'a str,
    closes: bool,
    /// Where it begins and where what follows it begins.
    at: (usize, usize),
}

/// The tag that begins at or after `from`.
fn next_tag(html: &str, mut from: usize) -> Option<HtmlTag<'_>> {
    loop {
        let start = from + html[from..].find('<')?;
        let rest = &html[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            from = comment.find("-->").map_or(html.len(), |end| start + 4 + end + 3);
            continue;
        }
        let closes = rest.starts_with('/');
        let name_start = start + 1 + usize::from(closes);
        let tail = &html[name_start..];
        let name_length = tail.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tail.len());
        if name_length == 0 {
            from = start + 1;
            continue;
        }
        let end = tail.find('>').unwrap_or(tail.len());
        let name_end = name_length.min(end);
        return Some(HtmlTag {
            name: &tail[..name_end],
            attributes: &tail[name_end..end],
            closes,
            at: (start, (name_start + end + 1).min(html.len())),
        });
    }
}

/// What is counted before a page is parsed.
#[derive(Default)]
struct PageMeasure {
    tags: usize,
    depth: usize,
    formatting: usize,
}

impl PageMeasure {
    fn measure_page(html: &str) -> PageMeasure {
        let mut measure = PageMeasure::default();
        let mut open: Vec<&str> = Vec::new();
        let mut formatting = HashSet::new();
        let mut from = 0;
        while let Some(tag) = next_tag(html, from) {
            from = tag.at.1;
            measure.tags += 1;
            let among = |list: &[&str]| list.iter().any(|name| tag.name.eq_ignore_ascii_case(name));
            if tag.closes {
                let matching = open.iter().rposition(|name| name.eq_ignore_ascii_case(tag.name));
                open.truncate(matching.unwrap_or(open.len()));
            } else if !among(&VOID) && !among(&SELF_CLOSING) {
                if among(&FORMATTING) {
                    formatting.insert((tag.name, tag.attributes));
                }
                open.push(tag.name);
                measure.depth = measure.depth.max(open.len());
            }
        }
        measure.formatting = formatting.len();
        measure
    }

    /// At most three equal formatting elements are opened again per block, so this bounds the tree.
    /// Depth is an estimate: generous, and only for pages large enough for it to matter.
    fn is_harmless(&self) -> bool {
        let nodes = self.tags.saturating_mul(1 + 3 * self.formatting);
        nodes <= NODES_MAX && (self.tags <= SMALL_TAGS_MAX || self.depth <= 10 * DEPTH_MAX)
    }
}

/// All text of a page without its tags, in one pass.
fn plain_text(html: &str) -> String {
    let mut text = String::new();
    let mut from = 0;
    while let Some(tag) = next_tag(html, from) {
        push_text(&mut text, &html[from..tag.at.0]);
        from = tag.at.1;
        let hidden = HIDDEN.iter().find(|name| tag.name.eq_ignore_ascii_case(name));
        if let (Some(name), false) = (hidden, tag.closes) {
            from = end_of(html, from, name);
        } else if !FORMATTING.iter().any(|name| tag.name.eq_ignore_ascii_case(name)) {
            text.push('\n');
        }
    }
    push_text(&mut text, &html[from..]);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Where the element called `name` ends.
fn end_of(html: &str, mut from: usize, name: &str) -> usize {
    while let Some(tag) = next_tag(html, from) {
        from = tag.at.1;
        if tag.closes && tag.name.eq_ignore_ascii_case(name) {
            return from;
        }
    }
    html.len()
}

fn push_text(text: &mut String, raw: &str) {
    // Comments were passed over as parts of what lies between tags.
    let mut rest = raw;
    while let Some(start) = rest.find("<!--") {
        push_entities(text, &rest[..start]);
        rest = rest[start..].find("-->").map_or("", |end| &rest[start + end + 3..]);
    }
    push_entities(text, rest);
}

fn push_entities(text: &mut String, raw: &str) {
    const ENTITIES: [(&str, &str); 6] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    let mut decoded = raw.to_owned();
    if raw.contains('&') {
        for (entity, character) in ENTITIES {
            decoded = decoded.replace(entity, character);
        }
    }
    text.push_str(&decoded);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_markdown() {
        let page = "<html><head><title>T</title><script>var x = 1;</script></head><body>\
                    <h1>Head</h1><p>One <b>two</b> <a href=\"https://e.org/\">three</a></p>\
                    <ul><li>a</li><li>b</li></ul></body></html>";
        let text = convert_page(page, "https://e.org/x").text;
        assert!(text.contains("One **two** [three](https://e.org/)"), "{text}");
        assert!(!text.contains("var x"), "{text}");
    }

    #[test]
    fn the_main_text_is_found() {
        let paragraph =
            "A long sentence about weirs, which are low dams, goes on and on. ".repeat(12);
        let page = format!(
            "<html><head><title>Weirs</title></head><body><nav><a href=/a>Home</a></nav><article>\
             <h1>Weirs</h1><p>{paragraph}</p><p>{paragraph}</p></article><footer>Imprint</footer>\
             </body></html>"
        );
        let converted = convert_page(&page, "https://e.org/");
        assert_eq!(converted.title.as_deref(), Some("Weirs"));
        assert!(converted.text.contains("low dams") && !converted.text.contains("Imprint"));
    }

    #[test]
    fn z10_hostile_pages_end_as_plain_text() {
        let deep = format!("{}deep text", "<div>".repeat(300_000));
        let formatting: String = (0..20_000).map(|n| format!("<p><b id={n}>x")).collect();
        let few_but_deep = format!("{}deep text", "<div>".repeat(9_000));
        for (page, needle) in [(deep, "deep text"), (formatting, "x"), (few_but_deep, "deep text")]
        {
            let converted = convert_page(&page, "https://e.org/");
            assert_eq!(converted.how, "text of the HTML page");
            assert!(converted.text.contains(needle));
        }
    }

    #[test]
    fn plain_text_leaves_out_what_is_no_text() {
        let page = "<p>a &lt; b<!-- not this --></p><SCRIPT>if (x < 3) {}</SCRIPT>c<br>d<";
        assert_eq!(plain_text(page), "a < b\nc\nd<");
    }
}
