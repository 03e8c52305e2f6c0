//! A DOCX as a template: its styles by name, its page, its header and footer. Its text is left out.

use std::fmt::Write as _;

use weir_core::document::DocumentError;
use weir_core::office::TextDocument;

use super::blocks::{BodyIds, BodyWriter};
use super::styles::{LIST_ID_FIRST, STYLES, WORD, numbering_rows};
use super::{KIND, PageMeasure, StyleNames, document_xml, list_margin_lines, properties_of};
use crate::make::parts::{ContentTypes, PartRelationships, XML_HEAD, relations_xml};
use crate::make::template::{MainPart, finish_template, open_template, relation_rows};
use crate::package::ZipPackage;
use crate::unfit_description;
use crate::xml::{XmlElement, decode_xml, xml_text};

const DOCUMENT: &str = "word/document.xml";
const RELATIONS: &str = "word/_rels/document.xml.rels";
const STYLES_PART: &str = "word/styles.xml";
const NUMBERING: &str = "word/numbering.xml";

/// Kinds of parts that a text of a template uses; what its own text used goes with it.
const KEPT: [&str; 8] = [
    "styles",
    "stylesWithEffects",
    "settings",
    "webSettings",
    "fontTable",
    "theme",
    "numbering",
    "customXml",
];

/// A template that was opened.
pub(super) struct TextTemplate {
    package: ZipPackage,
    pub(super) remarks: Vec<String>,
    pub(super) page: Option<PageMeasure>,
    section: Option<XmlElement>,
    /// Names and ids of its styles.
    styles: Vec<(String, String)>,
}

impl TextTemplate {
    pub(super) fn read_template(name: &str, bytes: &[u8]) -> Result<TextTemplate, DocumentError> {
        let clean = open_template(name, bytes)?;
        let package = clean.package;
        if package.find_part(DOCUMENT).is_none() {
            return Err(unfit_description(format!(
                "the template {name} is no DOCX; name a Word document"
            )));
        }
        let document = package.needed_xml(DOCUMENT)?;
        let section = document.find_child("body").and_then(last_section);
        let page = section.as_ref().and_then(page_of);
        let styles = package.parse_part(STYLES_PART)?;
        let styles =
            styles.iter().flat_map(|root| root.find_elements("style")).filter_map(|style| {
                let name = style.find_child("name")?.find_attribute("val")?.to_lowercase();
                Some((name, style.find_attribute("styleId")?.to_owned()))
            });
        let styles = styles.collect();
        Ok(TextTemplate { package, remarks: clean.remarks, page, section, styles })
    }

    /// Ids of its own styles where it has one of the same name.
    pub(super) fn style_names(&self) -> StyleNames {
        let mut names = StyleNames::default();
        for style in STYLES {
            if let Some(id) = self.style_id(style.name) {
                names.other.insert(style.id, id.to_owned());
            }
        }
        names
    }

    fn style_id(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        self.styles.iter().find(|(known, _)| *known == name).map(|(_, id)| id.as_str())
    }

    /// The template with another text.
    pub(super) fn fill_template(
        mut self,
        text: &TextDocument,
        body: &BodyWriter<'_>,
        main: &str,
    ) -> Result<Vec<u8>, DocumentError> {
        self.add_missing_styles();
        let mut types = ContentTypes::default();
        let mut relations = self.new_relations("rIdM")?;
        let mut references = Vec::new();
        let names = self.style_names();
        for margin in list_margin_lines(text) {
            let file = self.free_name(margin.name);
            let id = relations.add_relationship(margin.name, &file);
            types.add_override(&format!("word/{file}"), &format!("{KIND}.{}+xml", margin.name));
            self.package.insert(format!("word/{file}"), margin.to_xml(&names));
            references.push((margin.name, id));
        }
        self.add_lists(body, &mut relations, &mut types);
        let section = self.section_xml(&references);
        for stored in body.pictures.list_pictures() {
            let bytes = stored.picture.bytes.clone();
            self.package.insert(format!("word/media/{}", stored.file), bytes);
        }
        let rows = relation_rows(&self.package, RELATIONS, |kind, id| {
            KEPT.contains(&kind)
                || (matches!(kind, "header" | "footer")
                    && section.contains(&format!("r:id=\"{}\"", xml_text(id))))
        })?;
        self.package.insert(DOCUMENT, document_xml(main, &section));
        let rows = format!("{rows}{}{}", body.relations.list_rows(), relations.list_rows());
        self.package.insert(RELATIONS, relations_xml(&rows));
        self.drop_settings();
        let kind = format!("{KIND}.document.main+xml");
        let main = MainPart { part: DOCUMENT, kind: &kind };
        finish_template(self.package, main, types, properties_of(text))
    }

    /// Where the ids of a body begin that goes into it.
    pub(super) fn free_ids(&self) -> Result<BodyIds, DocumentError> {
        let root = self.package.parse_part(NUMBERING)?;
        let lists = root.iter().flat_map(XmlElement::list_elements);
        let ids = lists.flat_map(|list| {
            let ids = ["abstractNumId", "numId"].map(|key| list.find_attribute(key)?.parse().ok());
            ids.into_iter().flatten().collect::<Vec<usize>>()
        });
        let highest = ids.max().unwrap_or(0).min(1 << 30);
        let relations = self.new_relations("rIdW")?;
        Ok(BodyIds { relations, list_id_first: LIST_ID_FIRST.max(highest + 1) })
    }

    /// Relationships beside those that it has.
    fn new_relations(&self, prefix: &str) -> Result<PartRelationships, DocumentError> {
        let rows = relation_rows(&self.package, RELATIONS, |_, _| true)?;
        Ok(PartRelationships::beside_rows(&rows, prefix))
    }

    /// A name below `word/` that no part has.
    fn free_name(&self, name: &str) -> String {
        let mut free = (1_u64..).map(|number| format!("weir-{name}{number}.xml"));
        let known = |file: &String| self.package.find_part(&format!("word/{file}")).is_some();
        free.find(|file| !known(file)).unwrap_or_default()
    }

    fn add_missing_styles(&mut self) {
        let missing: String = STYLES
            .iter()
            .filter(|style| style.id != "Normal" && self.style_id(style.name).is_none())
            .map(super::styles::BundledStyle::to_xml)
            .collect();
        if let Some(part) = self.package.find_part(STYLES_PART) {
            let text =
                decode_xml(part).replacen("</w:styles>", &format!("{missing}</w:styles>"), 1);
            self.package.insert(STYLES_PART, text.into_bytes());
        }
    }

    fn add_lists(
        &mut self,
        body: &BodyWriter<'_>,
        relations: &mut PartRelationships,
        types: &mut ContentTypes,
    ) {
        if body.lists.is_empty() {
            return;
        }
        let [kinds, used] = numbering_rows(&body.lists, body.list_id_first);
        let text = match self.package.find_part(NUMBERING) {
            Some(part) => {
                let text = decode_xml(part).into_owned();
                let end = text.rfind("</w:numbering>").unwrap_or(text.len());
                let lists = text.find("<w:num ").unwrap_or(end).min(end);
                format!("{}{kinds}{}{used}{}", &text[..lists], &text[lists..end], "</w:numbering>")
            }
            None => {
                relations.add_relationship("numbering", "numbering.xml");
                types.add_override(NUMBERING, &format!("{KIND}.numbering+xml"));
                format!("{XML_HEAD}<w:numbering xmlns:w=\"{WORD}\">{kinds}{used}</w:numbering>")
            }
        };
        self.package.insert(NUMBERING, text.into_bytes());
    }

    /// The page of the template, with its headers and footers where none were asked for.
    fn section_xml(&self, references: &[(&'static str, String)]) -> String {
        let mut out = String::from("<w:sectPr>");
        for (name, id) in references {
            let _ = write!(out, "<w:{name}Reference w:type=\"default\" r:id=\"{id}\"/>");
        }
        for element in self.section.iter().flat_map(XmlElement::list_elements) {
            let given = |name: &str| references.iter().any(|(given, _)| *given == name);
            let keep = match element.name.as_str() {
                "headerReference" => !given("header"),
                "footerReference" => !given("footer"),
                "pgSz" | "pgMar" => true,
                "titlePg" => references.is_empty(),
                _ => false,
            };
            if keep {
                let attributes: String = element
                    .list_attributes()
                    .filter(|(key, _)| key.starts_with("w:") || key.starts_with("r:"))
                    .map(|(key, value)| format!(" {key}=\"{}\"", xml_text(value)))
                    .collect();
                let _ = write!(out, "<w:{}{attributes}/>", element.name);
            }
        }
        out.push_str("</w:sectPr>");
        out
    }

    /// What these settings name is gone, so they go too.
    fn drop_settings(&mut self) {
        let part = "word/settings.xml";
        let Some(bytes) = self.package.find_part(part) else { return };
        let mut text = decode_xml(bytes).into_owned();
        for name in ["attachedTemplate", "footnotePr", "endnotePr", "mailMerge"] {
            text = drop_element(&text, name);
        }
        self.package.insert(part, text.into_bytes());
    }
}

/// XML without the first element called `name`, which stands in none of its kind.
fn drop_element(text: &str, name: &str) -> String {
    let begin = format!("<w:{name}");
    let found = text.match_indices(&begin).map(|(at, _)| at);
    let mut found = found.filter(|at| text[at + begin.len()..].starts_with([' ', '/', '>']));
    let Some(at) = found.next() else { return text.to_owned() };
    let end = format!("</w:{name}>");
    let Some(head) = text[at..].find('>').map(|head| at + head) else { return text.to_owned() };
    let after = if text[..head].ends_with('/') {
        Some(head + 1)
    } else {
        text[head..].find(&end).map(|inner| head + inner + end.len())
    };
    match after {
        Some(after) => format!("{}{}", &text[..at], &text[after..]),
        None => text.to_owned(),
    }
}

/// The section that the end of the text belongs to.
fn last_section(body: &XmlElement) -> Option<XmlElement> {
    let section = body.find_elements("sectPr").last()?;
    let mut copy = section.flat_copy();
    for child in section.list_elements() {
        copy.children.push(crate::xml::XmlNode::Element(child.flat_copy()));
    }
    Some(copy)
}

fn page_of(section: &XmlElement) -> Option<PageMeasure> {
    let number =
        |element: &XmlElement, name: &str| element.find_attribute(name)?.parse::<u64>().ok();
    let size = section.find_child("pgSz")?;
    let margin = section.find_child("pgMar").and_then(|margin| number(margin, "left"));
    Some(PageMeasure {
        width: number(size, "w")?.clamp(2_000, 60_000),
        height: number(size, "h")?.clamp(2_000, 60_000),
        margin: margin.unwrap_or(1_304).min(5_000),
    })
}
