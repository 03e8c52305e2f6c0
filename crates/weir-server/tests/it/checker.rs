//! Reads HTML as a browser does and says what in it should not be there. Another parser's build and
//! another list than those of the product: a mistake there is not repeated here.

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, QualName, local_name, ns, parse_fragment};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// Elements that nothing but text, tables, formulas and drawings is made of.
const ELEMENTS: &str = " a blockquote br code del details div em figcaption figure h2 h3 h4 h5 h6 hr \
    html img input ins li ol p pre span strong summary sup table tbody td th thead tr ul wbr \
    math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow \
    ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none \
    circle defs ellipse g line marker path polygon polyline rect svg text tspan ";

/// Beginnings of attributes that run, load or style something, whatever element has them.
const NEVER: [&str; 14] = [
    "on",
    "style",
    "srcset",
    "srcdoc",
    "formaction",
    "action",
    "ping",
    "poster",
    "background",
    "data-",
    "xlink",
    "xmlns",
    "is",
    "slot",
];

/// What should not be in this HTML.
pub(crate) fn faults(html: &str) -> Vec<String> {
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let dom = parse_fragment(RcDom::default(), ParseOpts::default(), context, Vec::new(), false);
    let dom = dom.one(html);
    let mut faults = Vec::new();
    let mut waiting: Vec<Handle> = vec![dom.document.clone()];
    while let Some(node) = waiting.pop() {
        match &node.data {
            NodeData::Element { name, attrs, .. } => {
                let element = name.local.to_string();
                if !ELEMENTS.contains(&format!(" {element} ")) {
                    faults.push(format!("<{element}>"));
                }
                for attr in attrs.borrow().iter() {
                    attribute(&element, &attr.name.local, &attr.value, &mut faults);
                }
            }
            NodeData::Comment { .. } => faults.push("a comment".into()),
            NodeData::ProcessingInstruction { .. } => faults.push("an instruction".into()),
            NodeData::Doctype { .. } => faults.push("a doctype".into()),
            NodeData::Document | NodeData::Text { .. } => (),
        }
        waiting.extend(node.children.borrow().iter().cloned());
    }
    faults
}

fn attribute(element: &str, name: &str, value: &str, faults: &mut Vec<String>) {
    let mut fault = || faults.push(format!("<{element} {name}={value:?}>"));
    if NEVER.iter().any(|never| name.starts_with(never)) {
        fault();
    }
    match (element, name) {
        ("a", "href") => {
            let leads = ["http://", "https://", "mailto:", "#note-", "#ref-"];
            let own = value.starts_with('/') && !value.starts_with("//") && !value.contains('\\');
            if !own && !leads.iter().any(|lead| value.starts_with(lead)) {
                fault();
            }
        }
        ("img", "src") if value.starts_with("/own/") => (),
        ("input", "type") if value == "checkbox" => (),
        (_, "href" | "src" | "type" | "name" | "for" | "action" | "value" | "contenteditable") => {
            fault();
        }
        (_, "id")
            if !["note-", "ref-", "d-", "section-"].iter().any(|own| value.starts_with(own)) =>
        {
            fault();
        }
        (_, "target") if value != "_blank" => fault(),
        (_, "tabindex") if value != "0" => fault(),
        _ if value.contains("url(") && !value.starts_with("url(#d-") => fault(),
        _ => (),
    }
    if element == "a" && name == "rel" && !value.contains("noopener") {
        fault();
    }
}
