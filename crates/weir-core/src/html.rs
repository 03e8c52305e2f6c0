//! HTML before it is parsed: how deep and how large a page would become, the text of one that is out
//! of measure, and a page without what nobody sees. Pure scans that only go forward, so that no page
//! can make them slow. Not here: parsing a page, and Markdown.

use std::collections::{HashMap, HashSet};

/// Most bytes that are parsed; the rest of a longer page is left out.
pub const HTML_BYTES_MAX: usize = 2_000_000;
/// Deepest tree that is walked.
pub const HTML_DEPTH_MAX: usize = 200;
/// Elements whose text is no text.
pub const HTML_SKIPPED: [&str; 7] =
    ["script", "style", "noscript", "template", "svg", "iframe", "head"];

/// Most nodes that a parser's rules of repair could make of a page.
const NODES_MAX: usize = 2_000_000;
/// Up to here a page cannot be deep enough to be slow, whatever its tags.
const SMALL_TAGS_MAX: usize = 2_000;

/// Elements that are never closed.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that end where the next of their kind begins.
const SELF_CLOSING: [&str; 4] = ["p", "li", "dt", "dd"];
/// Elements that a parser opens again in every block until they are closed.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// Elements in which `<` begins no tag until they end.
const RAW: [&str; 4] = ["script", "style", "textarea", "title"];
/// What a style says of what nobody sees, without blanks.
const UNSEEN_STYLES: [&str; 6] = [
    "display:none",
    "visibility:hidden",
    "font-size:0;",
    "font-size:0px",
    "opacity:0;",
    "mso-hide:all",
];

/// The longest start of a page with at most [`HTML_BYTES_MAX`] bytes.
pub fn cut_page(html: &str) -> &str {
    &html[..html.floor_char_boundary(HTML_BYTES_MAX.min(html.len()))]
}

/// Whether a parser bears the page: neither deep nor blown up by rules of repair.
pub fn is_harmless_page(html: &str) -> bool {
    PageMeasure::measure_page(html).is_harmless()
}

/// A page without what nobody sees: comments, scripts, styles, hidden elements; and without
/// attributes that lead to a script or a file.
///
/// ```
/// let page = "<p>See<!-- not --> <span style=\"display: none\">hidden</span>this</p>";
/// assert_eq!(weir_core::html::visible_page(page), "<p>See this</p>");
/// ```
pub fn visible_page(html: &str) -> String {
    let mut page = String::with_capacity(html.len());
    let mut from = 0;
    while let Some(tag) = next_tag(html, from) {
        page.extend(without_comments(&html[from..tag.at.0]));
        from = tag.at.1;
        let is_skipped = is_among(tag.name, &HTML_SKIPPED);
        // The head holds the title and what else says something of the page.
        let is_skipped = is_skipped && !tag.name.eq_ignore_ascii_case("head");
        if !tag.closes && (is_skipped || is_hidden(tag.attributes)) {
            if !is_among(tag.name, &VOID) {
                from = end_of(html, from, tag.name);
            }
        } else if leads_astray(tag.attributes) {
            page.push('<');
            page.push_str(tag.name);
            page.push('>');
        } else {
            page.push_str(&html[tag.at.0..tag.at.1]);
        }
    }
    page.extend(without_comments(&html[from..]));
    page
}

/// Whether a tag is one of these, whatever its case.
fn is_among(name: &str, list: &[&str]) -> bool {
    list.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Whether attributes say that nobody sees the element.
fn is_hidden(attributes: &str) -> bool {
    let lower = attributes.to_ascii_lowercase();
    // Words in quotes are values.
    let mut quote = None;
    let unquoted = lower.chars().filter(|c| match quote {
        Some(open) if open == *c => {
            quote = None;
            false
        }
        Some(_) => false,
        None if matches!(c, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        None => true,
    });
    let unquoted: String = unquoted.collect();
    let mut words = unquoted.split(|c: char| c.is_whitespace() || c == '/');
    if words.any(|word| word.split('=').next() == Some("hidden")) {
        return true;
    }
    let Some((_, style)) = lower.split_once("style") else { return false };
    let mut style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    style = style.replace(['"', '\''], ";");
    UNSEEN_STYLES.iter().any(|unseen| style.contains(unseen))
}

/// Whether an attribute leads to a script, a file or data that pretends to be a page.
fn leads_astray(attributes: &str) -> bool {
    let bare: String = attributes
        .chars()
        .filter(|c| !c.is_whitespace() && !c.is_control())
        .collect::<String>()
        .to_ascii_lowercase();
    ["href=", "src=", "action=", "data="].iter().any(|name| {
        bare.split(name).skip(1).any(|value| {
            let value = value.trim_start_matches(['"', '\'']);
            ["javascript:", "vbscript:", "file:", "data:text"].iter().any(|s| value.starts_with(s))
                || (value.starts_with('&') && value.contains("script"))
        })
    })
}

/// What lies between tags, in the pieces that comments part: a tag's search passes over them.
fn without_comments(raw: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(raw);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(start) = text.find("<!--") else {
            rest = None;
            return Some(text);
        };
        rest = Some(text[start..].find("-->").map_or("", |end| &text[start + end + 3..]));
        Some(&text[..start])
    })
}

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
        let mut open: Vec<String> = Vec::new();
        // How many of a name are open: an end without a beginning looks for none.
        let mut open_names: HashMap<String, usize> = HashMap::new();
        let mut formatting = HashSet::new();
        let mut from = 0;
        while let Some(tag) = next_tag(html, from) {
            from = tag.at.1;
            measure.tags += 1;
            let among = |list: &[&str]| is_among(tag.name, list);
            let name = tag.name.to_ascii_lowercase();
            if tag.closes {
                while open_names.get(&name).is_some_and(|count| *count > 0) {
                    let Some(ended) = open.pop() else { break };
                    let is_it = ended == name;
                    open_names.entry(ended).and_modify(|count| *count -= 1);
                    if is_it {
                        break;
                    }
                }
            } else if !among(&VOID) && !among(&SELF_CLOSING) {
                if among(&FORMATTING) {
                    formatting.insert((tag.name, tag.attributes));
                }
                *open_names.entry(name.clone()).or_default() += 1;
                open.push(name);
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
        nodes <= NODES_MAX && (self.tags <= SMALL_TAGS_MAX || self.depth <= 10 * HTML_DEPTH_MAX)
    }
}

/// All text of a page that somebody sees, without its tags, in one pass.
pub fn plain_text(html: &str) -> String {
    let mut text = String::new();
    let mut from = 0;
    while let Some(tag) = next_tag(html, from) {
        without_comments(&html[from..tag.at.0]).for_each(|raw| push_entities(&mut text, raw));
        from = tag.at.1;
        let skipped = is_among(tag.name, &HTML_SKIPPED) || is_hidden(tag.attributes);
        if !tag.closes && !is_among(tag.name, &VOID) && skipped {
            from = end_of(html, from, tag.name);
        } else if !is_among(tag.name, &FORMATTING) {
            text.push('\n');
        }
    }
    without_comments(&html[from..]).for_each(|raw| push_entities(&mut text, raw));
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Where the element called `name` ends, others of its name within it included.
fn end_of(html: &str, mut from: usize, name: &str) -> usize {
    let is_raw = is_among(name, &RAW);
    let mut open = 1_usize;
    while let Some(tag) = next_tag(html, from) {
        from = tag.at.1;
        if tag.name.eq_ignore_ascii_case(name) {
            open = if tag.closes { open - 1 } else { open + usize::from(!is_raw) };
        }
        if open == 0 {
            return from;
        }
    }
    html.len()
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
    fn k7_what_nobody_sees_is_left_out() {
        for (page, seen) in [
            ("<p>a<!-- b --></p>", "<p>a</p>"),
            ("a<script>if (x < 3) { '<b>' }</script>b", "ab"),
            ("a<STYLE>x</STYLE>b", "ab"),
            ("<div hidden>x<div>y</div>z</div>b", "b"),
            ("<div class=hidden-xs>x</div>", "<div class=hidden-xs>x</div>"),
            ("<p style='color:red; DISPLAY : none'>x</p>b", "b"),
            ("<p style=\"font-size:0\">x</p>b", "b"),
            (
                "<p style=\"font-size:0.9em;opacity:0.5\">x</p>",
                "<p style=\"font-size:0.9em;opacity:0.5\">x</p>",
            ),
            ("<img hidden src=x>b", "b"),
            ("<img alt='a hidden b'>", "<img alt='a hidden b'>"),
            ("<a href=\"java\nscript:x()\">t</a>", "<a>t</a>"),
            ("<a href='FILE:///etc/passwd'>t</a>", "<a>t</a>"),
            ("<a href=https://e.org/?q=file:x>t</a>", "<a href=https://e.org/?q=file:x>t</a>"),
            ("<p hidden>never closed", ""),
            ("x < y", "x < y"),
        ] {
            assert_eq!(visible_page(page), seen, "{page}");
        }
        let page = "<p>a &lt; b<!-- not this --></p><SCRIPT>if (x < 3) {}</SCRIPT>c<br>d\
                    <i hidden>no</i><";
        assert_eq!(plain_text(page), "a < b\nc\nd<");
    }

    #[test]
    fn z10_pages_out_of_measure_are_known() {
        assert!(is_harmless_page("<p>one</p>"));
        assert!(!is_harmless_page(&"<div>".repeat(300_000)));
        let formatting: String = (0..20_000).map(|n| format!("<p><b id={n}>x")).collect();
        assert!(!is_harmless_page(&formatting));
        // Ends of what never began, in a deep page: looked for one by one they would take minutes.
        let unbegun = format!("{}{}", "<em>".repeat(400_000), "</x>".repeat(100_000));
        assert!(!is_harmless_page(&unbegun));
        assert_eq!(cut_page(&"ü".repeat(HTML_BYTES_MAX)).len(), HTML_BYTES_MAX);
    }
}
