//! The second lock: whatever the first one let out is read as a browser would read it, and what is
//! not on the list is taken away.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use super::code;
use super::links::{external_address, is_own};

/// Elements of text.
const TEXT: &[&str] = &[
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "details",
    "div",
    "em",
    "figcaption",
    "figure",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "input",
    "ins",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
    "wbr",
];

/// Elements of formulas.
const FORMULA: &[&str] = &[
    "math",
    "menclose",
    "merror",
    "mfrac",
    "mi",
    "mmultiscripts",
    "mn",
    "mo",
    "mover",
    "mpadded",
    "mphantom",
    "mprescripts",
    "mroot",
    "mrow",
    "ms",
    "mspace",
    "msqrt",
    "mstyle",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
    "none",
];

/// Attributes of formulas: sizes, spaces, forms.
const FORMULA_ATTRIBUTES: &[&str] = &[
    "accent",
    "accentunder",
    "columnalign",
    "columnlines",
    "columnspacing",
    "depth",
    "display",
    "displaystyle",
    "fence",
    "form",
    "height",
    "largeop",
    "linethickness",
    "lspace",
    "mathbackground",
    "mathcolor",
    "mathsize",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "notation",
    "rowalign",
    "rowlines",
    "rowspacing",
    "rspace",
    "scriptlevel",
    "separator",
    "stretchy",
    "symmetric",
    "voffset",
    "width",
];

/// Elements of drawings. None that links, loads, moves or holds other markup.
const DRAWING: &[&str] = &[
    "circle", "defs", "ellipse", "g", "line", "marker", "path", "polygon", "polyline", "rect",
    "svg", "text", "tspan",
];

/// Attributes of drawings: places, sizes, colours.
const DRAWING_ATTRIBUTES: &[&str] = &[
    "cx",
    "cy",
    "d",
    "dominant-baseline",
    "dx",
    "dy",
    "fill",
    "fill-opacity",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "height",
    "id",
    "marker-end",
    "marker-start",
    "markerHeight",
    "markerUnits",
    "markerWidth",
    "opacity",
    "orient",
    "points",
    "preserveAspectRatio",
    "r",
    "refX",
    "refY",
    "rx",
    "ry",
    "stroke",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "text-decoration",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
    "y2",
];

/// Classes of text.
const CLASSES: &[&str] = &[
    "address",
    "align-centre",
    "align-left",
    "align-right",
    "code",
    "code-block",
    "diagram",
    "drawing",
    "footnotes",
    "formula",
    "heading-1",
    "heading-2",
    "heading-3",
    "heading-4",
    "heading-5",
    "heading-6",
    "host",
    "muted",
    "nowhere",
    "place",
    "plain",
    "raw",
    "table-wrap",
];

static BUILDER: LazyLock<Builder<'static>> = LazyLock::new(sanitizer_builder);

/// Longest piece of text between two elements, in bytes: what writes HTML looks ahead over all of
/// it for each sign that it escapes.
const RUN_MAX: usize = 1024;

/// Safe HTML from HTML of the first lock.
pub(super) fn clean_html(html: &str) -> String {
    BUILDER.clean(&broken_up(html)).to_string()
}

/// The same with long text in pieces: an element that says nothing stands between them.
fn broken_up(html: &str) -> Cow<'_, str> {
    if !html.split('<').any(|run| run.len() > RUN_MAX) {
        return Cow::Borrowed(html);
    }
    let mut out = String::with_capacity(html.len() + html.len() / 64);
    let (mut since, mut in_tag, mut in_entity) = (0_usize, false, false);
    for c in html.chars() {
        out.push(c);
        since += c.len_utf8();
        match c {
            '<' => (since, in_tag) = (0, true),
            '>' => (since, in_tag) = (0, false),
            '&' => in_entity = true,
            ';' => in_entity = false,
            _ => (),
        }
        if since > RUN_MAX && !in_tag && !in_entity {
            out.push_str("<wbr>");
            since = 0;
        }
    }
    Cow::Owned(out)
}

fn sanitizer_builder() -> Builder<'static> {
    let mut attributes: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut allow = |element, names: &[&'static str]| {
        attributes.entry(element).or_default().extend(names.iter().copied());
    };
    for element in TEXT {
        allow(element, &["class"]);
    }
    allow("a", &["href", "title", "target", "aria-label"]);
    allow("img", &["src", "alt", "title", "loading"]);
    allow("input", &["type", "disabled", "checked", "aria-label"]);
    allow("ol", &["start"]);
    allow("th", &["scope"]);
    allow("div", &["role", "aria-label", "tabindex"]);
    allow("pre", &["tabindex"]);
    allow("span", &["tabindex"]);
    for element in ["li", "sup", "h2", "h3", "h4", "h5", "h6"] {
        allow(element, &["id"]);
    }
    for element in FORMULA {
        allow(element, FORMULA_ATTRIBUTES);
    }
    for element in DRAWING {
        allow(element, DRAWING_ATTRIBUTES);
    }
    let mut builder = Builder::empty();
    builder
        .tags(TEXT.iter().chain(FORMULA).chain(DRAWING).copied().collect())
        .tag_attributes(attributes)
        .set_tag_attribute_value("input", "type", "checkbox")
        .set_tag_attribute_value("input", "disabled", "")
        .clean_content_tags(HashSet::from(["script", "style"]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some("noopener noreferrer nofollow"))
        .attribute_filter(allowed_attribute);
    builder
}

/// The value of an attribute, where it may have it.
fn allowed_attribute<'v>(element: &str, name: &str, value: &'v str) -> Option<Cow<'v, str>> {
    let kept = match (element, name) {
        ("a", "href") => is_own(value) || is_anchor(value) || external_address(value).is_some(),
        ("img", "src") => is_own(value),
        ("a", "target") => value == "_blank",
        (_, "id") => ["note-", "ref-", "d-", "section-"].iter().any(|ours| value.starts_with(ours)),
        (_, "role") => matches!(value, "group" | "img"),
        (_, "tabindex") => value == "0",
        (_, "class") => {
            value.split(' ').all(|class| CLASSES.contains(&class) || code::is_class(class))
        }
        (_, "href" | "src" | "style") => false,
        // In drawings a value may point at something: only at a part of the same drawing.
        _ => !value.contains("url(") || is_part(value),
    };
    kept.then_some(Cow::Borrowed(value))
}

/// A place in the same text: a footnote, or the way back from it.
fn is_anchor(address: &str) -> bool {
    address.starts_with("#note-") || address.starts_with("#ref-")
}

/// `url(#d-…)`, and nothing else.
fn is_part(value: &str) -> bool {
    let name = value.strip_prefix("url(#d-").and_then(|rest| rest.strip_suffix(')'));
    name.is_some_and(|name| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::clean_html;

    #[test]
    fn s12_the_second_lock_holds_by_itself() {
        for (html, left) in [
            ("<p onclick=x>a</p>", "<p>a</p>"),
            ("<script>x</script>a", "a"),
            ("<a href=\"javascript:x\">a</a>", "<a rel=\"noopener noreferrer nofollow\">a</a>"),
            ("<img src=\"https://foreign.test/x.png\" alt=\"a\">", "<img alt=\"a\">"),
            ("<p class=\"btn danger\" id=\"main\" style=\"x\">a</p>", "<p>a</p>"),
            (
                "<svg><a href=\"javascript:x\"><text>a</text></a></svg>",
                "<svg><a rel=\"noopener noreferrer nofollow\"><text>a</text></a></svg>",
            ),
            (
                "<svg><path fill=\"url(https://foreign.test)\"></path></svg>",
                "<svg><path></path></svg>",
            ),
            ("<iframe srcdoc=\"x\"></iframe>a", "a"),
            (
                "<h2 id=\"main\">a</h2><h3 id=\"section-2\">b</h3>",
                "<h2>a</h2><h3 id=\"section-2\">b</h3>",
            ),
        ] {
            assert_eq!(clean_html(html), left, "{html}");
        }
    }

    #[test]
    fn z10_long_text_keeps_every_word() {
        for piece in ["&amp;", "£", "word ", "&lt;x&gt;"] {
            let text = piece.repeat(5000);
            assert_eq!(clean_html(&text).replace("<wbr>", ""), text);
        }
        assert_eq!(clean_html("<p>short &amp; plain</p>"), "<p>short &amp; plain</p>");
    }
}
