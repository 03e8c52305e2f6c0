//! A PPTX as a template: its layouts with their placeholders, its master and theme. Its slides are
//! left out.

use std::fmt::Write as _;

use weir_core::document::DocumentError;

use super::fit::SlideBox;
use super::layout::{DeckLayouts, SlideKind, SlideLayout, SlidePlace};
use super::look::{
    BODY_SIZES, COVER_SIZES, HEIGHT, PointSizes, SMALL_SIZES, SUBTITLE_SIZES, TITLE_SIZES, WIDTH,
};
use super::master::declare_namespaces;
use crate::make::parts::XML_HEAD;
use crate::make::template::{open_template, relation_row};
use crate::package::{ZipPackage, join_path};
use crate::unfit_description;
use crate::xml::{XmlElement, decode_xml, xml_text};

const PRESENTATION: &str = "ppt/presentation.xml";
const RELATIONS: &str = "ppt/_rels/presentation.xml.rels";

/// Kinds of parts that slides of a template use; what its own slides used goes with them.
const KEPT: [&str; 5] = ["slideMaster", "theme", "presProps", "viewProps", "tableStyles"];

/// A template that was opened.
pub(super) struct DeckTemplate {
    pub(super) package: ZipPackage,
    pub(super) remarks: Vec<String>,
    pub(super) layouts: DeckLayouts,
    /// The part of its theme, for notes.
    pub(super) theme: String,
    /// Its master of notes, when it has one.
    pub(super) notes_master: Option<String>,
    /// Its relationships without slides.
    pub(super) rows: String,
    /// The presentation, with `{notes}` and `{slides}` where those lists stand.
    pub(super) presentation: String,
}

impl DeckTemplate {
    pub(super) fn read_template(name: &str, bytes: &[u8]) -> Result<DeckTemplate, DocumentError> {
        let clean = open_template(name, bytes)?;
        let mut package = clean.package;
        if package.find_part(PRESENTATION).is_none() {
            return Err(unfit_description(format!(
                "the template {name} is no PPTX; name a presentation"
            )));
        }
        let presentation = package.needed_xml(PRESENTATION)?;
        let relations = package.needed_xml(RELATIONS)?;
        let slides: Vec<String> = package
            .list_names()
            .filter(|part| {
                let part = part.to_ascii_lowercase();
                [
                    "ppt/slides/",
                    "ppt/notesslides/",
                    "ppt/comments/",
                    "ppt/charts/weir-",
                    "ppt/media/weir-",
                ]
                .iter()
                .any(|folder| part.starts_with(folder))
            })
            .map(str::to_owned)
            .collect();
        slides.iter().for_each(|part| package.remove(part));
        let mut rows = String::new();
        let mut notes_master = None;
        for row in relations.find_elements("Relationship") {
            let target = row.find_attribute("Target").unwrap_or_default();
            match row.find_attribute("Type").unwrap_or_default().rsplit('/').next() {
                Some("notesMaster") => notes_master = Some(join_path("ppt", target)),
                Some(kind) if KEPT.contains(&kind) => {}
                _ => continue,
            }
            rows.push_str(&relation_row(row));
        }
        let layouts = read_layouts(&package)?;
        if layouts.layouts.is_empty() {
            return Err(unfit_description(format!(
                "the template {name} has no layout with a title; use another"
            )));
        }
        let theme =
            package.find_part("ppt/theme/theme1.xml").map(|part| decode_xml(part).into_owned());
        Ok(DeckTemplate {
            presentation: presentation_xml(&presentation),
            package,
            remarks: clean.remarks,
            layouts,
            theme: theme.unwrap_or_else(|| super::look::look_of(Default::default()).theme_xml()),
            notes_master,
            rows,
        })
    }
}

/// What of the presentation stays: masters and sizes.
fn presentation_xml(root: &XmlElement) -> String {
    let list = |name: &str, row: &str| {
        let rows: String = root
            .find_child(name)
            .into_iter()
            .flat_map(|list| list.find_elements(row))
            .map(|row| {
                let attributes: String = row
                    .list_attributes()
                    .filter(|(key, _)| matches!(*key, "id" | "r:id"))
                    .map(|(key, value)| format!(" {key}=\"{}\"", xml_text(value)))
                    .collect();
                format!("<p:{}{attributes}/>", row.name)
            })
            .collect();
        if rows.is_empty() { rows } else { format!("<p:{name}>{rows}</p:{name}>") }
    };
    let mut sizes = String::new();
    for name in ["sldSz", "notesSz"] {
        if let Some(size) = root.find_child(name) {
            let number =
                |key| size.find_attribute(key).and_then(|n| n.parse::<u64>().ok()).unwrap_or(1);
            let _ = write!(sizes, "<p:{name} cx=\"{}\" cy=\"{}\"/>", number("cx"), number("cy"));
        }
    }
    format!(
        "{XML_HEAD}<p:presentation {}>{}{}{{notes}}{{slides}}{sizes}</p:presentation>",
        declare_namespaces(),
        list("sldMasterIdLst", "sldMasterId"),
        list("notesMasterIdLst", "notesMasterId"),
    )
}

fn read_layouts(package: &ZipPackage) -> Result<DeckLayouts, DocumentError> {
    let mut parts: Vec<&str> = package
        .list_names()
        .filter(|part| part.starts_with("ppt/slideLayouts/slide") && part.ends_with(".xml"))
        .collect();
    parts.sort_by_key(|part| (part.len(), part.to_owned()));
    let master = package
        .list_names()
        .find(|part| part.starts_with("ppt/slideMasters/slide") && part.ends_with(".xml"))
        .map(str::to_owned);
    let master = match master {
        Some(part) => package.parse_part(&part)?,
        None => None,
    };
    let mut found: Vec<(SlideKind, SlideLayout)> = Vec::new();
    let mut titled = None;
    for part in parts {
        let root = package.needed_xml(part)?;
        let Some(layout) = read_layout(part, &root, master.as_ref()) else { continue };
        let kind = SlideKind::ALL
            .into_iter()
            .find(|kind| root.find_attribute("type") == Some(kind.format_name()));
        if let Some(kind) = kind
            && !found.iter().any(|(known, _)| *known == kind)
            && layout.texts.len() >= texts_needed(kind)
        {
            found.push((kind, layout.clone()));
        }
        titled = titled.or(Some(layout));
    }
    // A kind without a layout of its own takes the nearest that has what it needs.
    for kind in SlideKind::ALL {
        if found.iter().any(|(known, _)| *known == kind) {
            continue;
        }
        let near = [SlideKind::Content, SlideKind::Columns, SlideKind::TitleOnly, SlideKind::Cover]
            .into_iter()
            .filter_map(|near| found.iter().find(|(known, _)| *known == near))
            .map(|(_, layout)| layout.clone())
            .chain(titled.clone())
            .find(|layout| layout.texts.len() >= texts_needed(kind));
        if let Some(layout) = near {
            found.push((kind, layout));
        }
    }
    Ok(DeckLayouts { layouts: found })
}

fn texts_needed(kind: SlideKind) -> usize {
    match kind {
        SlideKind::Cover | SlideKind::Section | SlideKind::Content => 1,
        SlideKind::Columns => 2,
        SlideKind::TitleOnly => 0,
    }
}

fn read_layout(part: &str, root: &XmlElement, master: Option<&XmlElement>) -> Option<SlideLayout> {
    let places = places_of(root);
    let of_master = master.map(places_of).unwrap_or_default();
    let area_of = |place: &FoundPlace| {
        place.area.or_else(|| {
            let kind = match place.kind.as_str() {
                "ctrTitle" => "title",
                "" | "subTitle" | "obj" => "body",
                kind => kind,
            };
            of_master.iter().find(|known| known.kind == kind).and_then(|known| known.area)
        })
    };
    let title = places.iter().find(|place| matches!(&*place.kind, "title" | "ctrTitle"))?;
    let whole =
        SlideBox { x: WIDTH / 20, y: HEIGHT / 5, width: WIDTH * 9 / 10, height: HEIGHT * 7 / 10 };
    let place = |found: &FoundPlace, sizes: PointSizes| {
        let area = area_of(found);
        let mut place =
            SlidePlace::new(&found.kind, found.index.as_deref(), area.unwrap_or(whole), sizes);
        place.own_frame = if area.is_none() { Some(whole) } else { None };
        place
    };
    let is_cover = title.kind == "ctrTitle";
    let text_sizes = if is_cover { SUBTITLE_SIZES } else { BODY_SIZES };
    let texts: Vec<SlidePlace> = places
        .iter()
        .filter(|found| matches!(&*found.kind, "" | "body" | "subTitle" | "obj"))
        .map(|found| {
            place(
                found,
                found.size.map_or(text_sizes, |most| PointSizes { most, least: most.min(14) }),
            )
        })
        .collect();
    let field = |kind: &str| {
        places.iter().find(|found| found.kind == kind).map(|found| place(found, SMALL_SIZES))
    };
    let title_sizes = if is_cover { COVER_SIZES } else { TITLE_SIZES };
    let title_place = place(title, title_sizes);
    let room = texts.first().filter(|_| texts.len() == 1).map(|text| text.area);
    let body = of_master.iter().find(|place| place.kind == "body").and_then(|place| place.area);
    Some(SlideLayout {
        part: part.to_owned(),
        title: title_place,
        room: room.or(body).unwrap_or(whole),
        footer: field("ftr"),
        number: field("sldNum"),
        texts,
    })
}

struct FoundPlace {
    kind: String,
    index: Option<String>,
    area: Option<SlideBox>,
    size: Option<u32>,
}

fn places_of(root: &XmlElement) -> Vec<FoundPlace> {
    let shapes = root.walk_elements().filter(|element| element.name == "sp");
    shapes
        .filter_map(|shape| {
            let place = shape.follow_names(&["nvSpPr", "nvPr", "ph"])?;
            let size = shape
                .follow_names(&["txBody", "lstStyle", "lvl1pPr", "defRPr"])
                .and_then(|run| run.find_attribute("sz")?.parse::<u32>().ok())
                .map(|size| size / 100);
            Some(FoundPlace {
                kind: place.find_attribute("type").unwrap_or_default().to_owned(),
                index: place.find_attribute("idx").map(str::to_owned),
                area: shape.follow_names(&["spPr", "xfrm"]).and_then(frame_of),
                size: size.filter(|size| (8..=96).contains(size)),
            })
        })
        .collect()
}

fn frame_of(frame: &XmlElement) -> Option<SlideBox> {
    let number =
        |tag: &str, key: &str| frame.find_child(tag)?.find_attribute(key)?.parse::<u64>().ok();
    Some(SlideBox {
        x: number("off", "x")?,
        y: number("off", "y")?,
        width: number("ext", "cx")?,
        height: number("ext", "cy")?,
    })
}
