//! XML of documents as a tree, and text made fit for XML. Bounded in depth and size; a part that
//! declares entities is refused and none is ever replaced. Not here: what the elements mean.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use weir_core::document::DocumentError;

use crate::{broken_document, too_large, unfit_description};

/// Deepest element; real documents stay below 60.
const DEPTH_MAX: usize = 200;
/// Most elements and texts of one part: a novel has some 300,000.
const NODES_MAX: usize = 2_000_000;

/// An element.
#[derive(Debug, Default)]
pub(crate) struct XmlElement {
    /// Without its prefix.
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    pub(crate) children: Vec<XmlNode>,
}

/// What stands in an element.
#[derive(Debug)]
pub(crate) enum XmlNode {
    Element(XmlElement),
    Text(String),
}

impl XmlElement {
    /// An attribute by its whole name, else by its name without a prefix.
    pub(crate) fn find_attribute(&self, name: &str) -> Option<&str> {
        let exact = self.attributes.iter().find(|(key, _)| key == name);
        let local = || self.attributes.iter().find(|(key, _)| local_name(key) == name);
        exact.or_else(local).map(|(_, value)| value.as_str())
    }

    /// All attributes.
    pub(crate) fn list_attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The elements in it.
    pub(crate) fn list_elements(&self) -> impl Iterator<Item = &XmlElement> {
        self.children.iter().filter_map(|node| match node {
            XmlNode::Element(element) => Some(element),
            XmlNode::Text(_) => None,
        })
    }

    /// The elements of this name in it.
    pub(crate) fn find_elements<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'a XmlElement> {
        self.list_elements().filter(move |element| element.name == name)
    }

    /// The first element of this name in it.
    pub(crate) fn find_child(&self, name: &str) -> Option<&XmlElement> {
        self.list_elements().find(|element| element.name == name)
    }

    /// Follows names downwards.
    pub(crate) fn follow_names(&self, names: &[&str]) -> Option<&XmlElement> {
        names.iter().try_fold(self, |element, name| element.find_child(name))
    }

    /// Every element below it, itself first, in the order of the text.
    pub(crate) fn walk_elements(&self) -> ElementWalk<'_> {
        ElementWalk { waiting: vec![self] }
    }

    /// The element with its attributes, without what stands in it.
    pub(crate) fn flat_copy(&self) -> XmlElement {
        XmlElement {
            name: self.name.clone(),
            attributes: self.attributes.clone(),
            children: Vec::new(),
        }
    }

    /// Content that stands in it several times, for newer and older programs, is there once: as the
    /// first choice, else as what older programs take.
    fn keep_one_choice(&mut self) {
        let has_choice = self.find_child("Choice").is_some();
        let wanted = if has_choice { "Choice" } else { "Fallback" };
        let is_wanted = |node: &XmlNode| matches!(node, XmlNode::Element(e) if e.name == wanted);
        let kept = std::mem::take(&mut self.children).into_iter().find(is_wanted);
        self.children.extend(kept);
    }

    /// The text of all that is below it.
    pub(crate) fn collect_text(&self) -> String {
        let mut out = String::new();
        self.add_text(&mut out);
        out
    }

    fn add_text(&self, out: &mut String) {
        for node in &self.children {
            match node {
                XmlNode::Element(element) => element.add_text(out),
                XmlNode::Text(text) => out.push_str(text),
            }
        }
    }
}

/// See [`XmlElement::walk_elements`].
pub(crate) struct ElementWalk<'a> {
    waiting: Vec<&'a XmlElement>,
}

impl<'a> Iterator for ElementWalk<'a> {
    type Item = &'a XmlElement;

    fn next(&mut self) -> Option<&'a XmlElement> {
        let element = self.waiting.pop()?;
        let first = self.waiting.len();
        self.waiting.extend(element.list_elements());
        self.waiting[first..].reverse();
        Some(element)
    }
}

fn local_name(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

/// The tree of a part. `part` is its name, for what goes wrong.
pub(crate) fn parse_xml(part: &str, bytes: &[u8]) -> Result<XmlElement, DocumentError> {
    let text = decode_xml(bytes);
    let failed = |why: String| broken_document(format!("{part}: {why}"));
    let mut reader = Reader::from_str(&text);
    let mut open: Vec<XmlElement> = Vec::new();
    let mut root = None;
    let mut nodes = 0;
    loop {
        nodes += 1;
        if nodes > NODES_MAX {
            return Err(too_large(format!("{part} has more than {NODES_MAX} elements")));
        }
        match reader.read_event().map_err(|error| failed(error.to_string()))? {
            Event::Start(start) => {
                if open.len() >= DEPTH_MAX {
                    return Err(too_large(format!("{part} is nested deeper than {DEPTH_MAX}")));
                }
                open.push(element_of(&start).map_err(failed)?);
            }
            Event::Empty(start) => {
                let element = element_of(&start).map_err(failed)?;
                close_element(element, &mut open, &mut root);
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close_element(element, &mut open, &mut root);
                }
            }
            Event::Text(text) => add_text(&mut open, &text.xml_content(XML)),
            Event::CData(text) => add_text(&mut open, &text.xml_content(XML)),
            Event::GeneralRef(reference) => {
                let name = reference.xml_content(XML);
                let known = reference.resolve_char_ref().map_err(|error| failed(error.to_string()));
                let text = match known? {
                    Some(c) => c.to_string(),
                    None => resolve_entity(&name)
                        .ok_or_else(|| failed(format!("it uses an entity of its own, &{name};")))?
                        .to_string(),
                };
                add_text(&mut open, &text);
            }
            Event::DocType(kind) => refuse_entities(part, &kind.xml_content(XML))?,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    match (root, open.is_empty()) {
        (Some(root), true) => Ok(root),
        _ => Err(failed("it is cut short".to_owned())),
    }
}

const XML: quick_xml::XmlVersion = quick_xml::XmlVersion::Explicit1_0;

/// A document type with declarations of its own can blow a text up or name files to read.
fn refuse_entities(part: &str, kind: &str) -> Result<(), DocumentError> {
    if kind.contains('[') || kind.contains("<!") {
        return Err(unfit_description(format!(
            "{part} in it declares entities in a document type (a DTD), and it is not read"
        )));
    }
    Ok(())
}

fn element_of(start: &BytesStart<'_>) -> Result<XmlElement, String> {
    let name = start.local_name();
    let mut element = XmlElement { name: name.into_inner().to_owned(), ..XmlElement::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let key = attribute.key.into_inner().to_owned();
        let value = attribute.normalized_value(XML).map_err(|error| error.to_string())?;
        element.attributes.push((key, value.into_owned()));
    }
    Ok(element)
}

fn close_element(mut element: XmlElement, open: &mut [XmlElement], root: &mut Option<XmlElement>) {
    if element.name == "AlternateContent" {
        element.keep_one_choice();
    }
    match open.last_mut() {
        Some(parent) => parent.children.push(XmlNode::Element(element)),
        None => *root = root.take().or(Some(element)),
    }
}

fn add_text(open: &mut [XmlElement], text: &str) {
    let Some(parent) = open.last_mut() else { return };
    match parent.children.last_mut() {
        Some(XmlNode::Text(before)) => before.push_str(text),
        _ => parent.children.push(XmlNode::Text(text.to_owned())),
    }
}

fn resolve_entity(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "apos" => '\'',
        "quot" => '"',
        _ => return None,
    })
}

/// The text of a part in the encodings that XML must have: UTF-8 and UTF-16.
pub(crate) fn decode_xml(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], join: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| join([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest),
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(wide(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(wide(rest, u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Text for XML: escaped, and without what XML cannot hold.
pub(crate) fn xml_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k7_a_part_that_declares_entities_is_refused() {
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
        let far = "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><x>&a;</x>";
        for text in [bomb, far, "<x>&own;</x>"] {
            let said = parse_xml("word/document.xml", text.as_bytes()).expect_err("refused");
            assert!(said.to_string().contains("entit"), "{said}");
        }
    }

    #[test]
    fn k7_depth_and_broken_xml_are_errors() {
        let deep = "<a>".repeat(100_000);
        let said = parse_xml("p", deep.as_bytes()).expect_err("too deep").to_string();
        assert!(said.contains("deeper"), "{said}");
        for text in ["", "<a>", "<a></b>", "<a><b></a>", "no xml"] {
            assert!(parse_xml("p", text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn k7_texts_attributes_and_order_are_read() {
        let text = "<w:p w:x='1' x='2'>a&amp;b&#x41;<w:t y='3'>c<![CDATA[<d>]]></w:t>e</w:p>";
        let root = parse_xml("p", text.as_bytes()).expect("a tree");
        assert_eq!(root.collect_text(), "a&bAc<d>e");
        assert_eq!((root.find_attribute("x"), root.find_attribute("w:x")), (Some("2"), Some("1")));
        assert_eq!(root.find_child("t").and_then(|t| t.find_attribute("y")), Some("3"));
        let wide: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain("<a>ü</a>".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(parse_xml("p", &wide).expect("a tree").collect_text(), "ü");
    }
}
