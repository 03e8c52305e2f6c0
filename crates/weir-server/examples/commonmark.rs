//! Compares rendering with the examples of CommonMark, whose `spec.txt` is named on the command
//! line. What differs on purpose is undone before; what is left must be the same.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::fmt::Write as _;
use std::process::ExitCode;

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, QualName, local_name, ns, parse_fragment};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use weir_server::render;

/// Addresses of the examples lead to pages of one's own: so that they are links at all.
struct Pages;

impl render::LinkResolver for Pages {
    fn resolve_link(&self, address: &str) -> Option<String> {
        (!address.contains(':')).then(|| page(address))
    }
    fn resolve_image(&self, address: &str) -> Option<String> {
        Some(page(address))
    }
}

fn page(address: &str) -> String {
    let mut path = String::from("/own");
    for byte in address.bytes() {
        let _ = write!(path, "-{byte:02x}");
    }
    path
}

/// The same on the side of the examples, which escape some signs and not others.
fn same_page(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let sign = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (first, sign) {
            (b'%', Some(sign)) => {
                bytes.push(sign);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Examples that differ because raw HTML is text, because an address is no link here, or because a
/// bare address is one. Whether one is among them is told by the example itself.
fn is_on_purpose(wanted: &str, markdown: &str) -> bool {
    let has_raw = markdown.contains('<') && wanted.contains('<') && raw(wanted, markdown);
    has_raw
        || links(wanted).any(|address| address.contains(':') && !leads(address))
        || bare(markdown, wanted)
}

/// Whether the wanted HTML has an element that stands in the text itself.
fn raw(wanted: &str, markdown: &str) -> bool {
    let starts = markdown.match_indices('<').map(|(at, _)| &markdown[at..]);
    starts.filter(|rest| rest.len() > 2).any(|rest| {
        let end = rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at);
        wanted.contains(&rest[..end])
    })
}

fn links(wanted: &str) -> impl Iterator<Item = &str> {
    wanted.match_indices("href=\"").map(|(at, start)| {
        let rest = &wanted[at + start.len()..];
        rest.split('"').next().unwrap_or_default()
    })
}

fn leads(address: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme))
}

/// A bare address is a link here, and a `$` begins a formula.
fn bare(markdown: &str, wanted: &str) -> bool {
    let is_link = |address: &str| wanted.contains(&format!("href=\"{address}"));
    markdown.contains('$')
        || ["https://", "http://"]
            .iter()
            .any(|scheme| markdown.contains(scheme) && !is_link(scheme))
}

/// HTML in a form in which only what counts differs.
fn form(html: &str, out: &mut String) {
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let dom = parse_fragment(RcDom::default(), ParseOpts::default(), context, Vec::new(), false);
    node(&dom.one(html).document, out, false);
}

fn node(handle: &Handle, out: &mut String, pre: bool) {
    match &handle.data {
        NodeData::Text { contents } => {
            let text = contents.borrow().to_string();
            match pre {
                true => out.push_str(&text),
                false => out.push_str(&text.split_whitespace().collect::<Vec<_>>().join(" ")),
            }
        }
        NodeData::Element { name, attrs, .. } => {
            let element = &*name.local;
            let level = attrs.borrow().iter().find_map(|attr| {
                attr.value.strip_prefix("heading-").map(|level| format!("h{level}"))
            });
            let element = level.as_deref().unwrap_or(element);
            let shown = !matches!(element, "html" | "figure" | "figcaption" | "wbr" | "span");
            if element == "figcaption" {
                return;
            }
            if shown {
                let _ = write!(out, "<{element}");
                for attr in attrs.borrow().iter().filter(|attr| counts(&attr.name.local)) {
                    let is_address = matches!(&*attr.name.local, "href" | "src");
                    let value =
                        if is_address { address(&attr.value) } else { attr.value.to_string() };
                    let _ = write!(out, " {}={value:?}", attr.name.local);
                }
                out.push('>');
            }
            let is_pre = pre || element == "pre";
            handle.children.borrow().iter().for_each(|child| node(child, out, is_pre));
            if shown {
                let _ = write!(out, "</{element}>");
            }
        }
        _ => handle.children.borrow().iter().for_each(|child| node(child, out, pre)),
    }
}

fn counts(attribute: &str) -> bool {
    matches!(attribute, "href" | "src" | "alt" | "title" | "start")
}

/// An address in one form, wherever it comes from.
fn address(value: &str) -> String {
    let ours = value.strip_prefix("/own").filter(|rest| rest.is_empty() || rest.starts_with('-'));
    let Some(ours) = ours else {
        let whole = url::Url::parse(&value.replace('\\', "%5C"));
        return same_page(&whole.map_or(value.to_string(), String::from));
    };
    let signs = ours.split('-').skip(1).map(|sign| u8::from_str_radix(sign, 16).unwrap_or(b'?'));
    same_page(&String::from_utf8_lossy(&signs.collect::<Vec<u8>>()))
}

/// Number, text and HTML of each example.
fn examples(spec: &str) -> Vec<(usize, String, String)> {
    let fence = "`".repeat(32);
    let mut found = Vec::new();
    for part in spec.split(&format!("{fence} example\n")).skip(1) {
        let body = part.split(&format!("\n{fence}")).next().unwrap_or_default();
        let Some((markdown, html)) = body.split_once("\n.\n").or_else(|| body.split_once("\n."))
        else {
            continue;
        };
        found.push((found.len() + 1, markdown.replace('→', "\t") + "\n", html.replace('→', "\t")));
    }
    found
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_default();
    let Ok(spec) = std::fs::read_to_string(&path) else {
        eprintln!("{path:?} cannot be read: name the spec.txt of CommonMark");
        return ExitCode::from(2);
    };
    let style = render::MarkdownStyle { addresses: &Pages, ..render::MarkdownStyle::default() };
    let (mut same, mut on_purpose, mut wrong) = (0, Vec::new(), Vec::new());
    for (number, markdown, wanted) in examples(&spec) {
        let (mut ours, mut theirs) = (String::new(), String::new());
        form(&render::markdown_as(&markdown, &style).0, &mut ours);
        form(&wanted, &mut theirs);
        match (ours == theirs, is_on_purpose(&wanted, &markdown)) {
            (true, _) => same += 1,
            (false, true) => on_purpose.push(number),
            (false, false) => {
                wrong.push(number);
                println!("example {number}: {markdown:?}\n  wanted {theirs}\n  got    {ours}");
            }
        }
    }
    println!("{same} the same, {} different on purpose: {on_purpose:?}", on_purpose.len());
    println!("{} wrong: {wrong:?}", wrong.len());
    // A spec that could not be taken apart has no examples.
    if wrong.is_empty() && same > 500 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
