//! PPTX to Markdown: a page for each slide, in the order of the presentation, with tables, the values
//! of charts, and the speaker's notes.

use std::collections::BTreeMap;

use weir_core::document::{DocumentError, DocumentPage};

use super::ReadDocument;
use crate::markdown::{write_link, write_table};
use crate::package::{ZipPackage, join_path, relations_part};
use crate::xml::XmlElement;

/// Reads a presentation.
pub(super) fn read_deck(package: &ZipPackage) -> Result<ReadDocument, DocumentError> {
    let presentation = package.needed_xml("ppt/presentation.xml")?;
    let targets = relations_of(package, "ppt/presentation.xml")?;
    let mut pages = Vec::new();
    let list = presentation.find_child("sldIdLst");
    for (at, slide) in list.into_iter().flat_map(|list| list.find_elements("sldId")).enumerate() {
        let target = slide.find_attribute("r:id").and_then(|id| targets.get(id));
        let Some(target) = target else { continue };
        let part = &target.part;
        let text = read_slide(package, part)?;
        pages.push(DocumentPage { name: format!("Slide {}", at + 1), text });
    }
    Ok(ReadDocument { format: "PPTX", pages, ..ReadDocument::default() })
}

/// What a relationship leads to.
struct RelationTarget {
    kind: String,
    part: String,
}

/// Relationships of a part, with whole names of parts; addresses stay as they are.
fn relations_of(
    package: &ZipPackage,
    part: &str,
) -> Result<BTreeMap<String, RelationTarget>, DocumentError> {
    let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
    let root = package.parse_part(&relations_part(part))?;
    let rows = root.iter().flat_map(|root| root.find_elements("Relationship"));
    let rows = rows.filter_map(|row| {
        let target = row.find_attribute("Target")?;
        let part = match row.find_attribute("TargetMode") {
            Some("External") => target.to_owned(),
            _ => join_path(folder, target),
        };
        let kind = row.find_attribute("Type")?.rsplit('/').next()?.to_owned();
        Some((row.find_attribute("Id")?.to_owned(), RelationTarget { kind, part }))
    });
    Ok(rows.collect())
}

fn read_slide(package: &ZipPackage, part: &str) -> Result<String, DocumentError> {
    let root = package.needed_xml(part)?;
    let relations = relations_of(package, part)?;
    let mut out = String::new();
    let shapes = root
        .walk_elements()
        .filter(|element| matches!(element.name.as_str(), "sp" | "graphicFrame" | "pic"));
    for shape in shapes {
        match shape.name.as_str() {
            "sp" => out.push_str(&read_shape(shape, &relations)),
            "pic" => {
                let about = shape.follow_names(&["nvPicPr", "cNvPr"]);
                let about =
                    about.and_then(|about| about.find_attribute("descr")).unwrap_or_default();
                out.push_str(&format!("![{}]()\n\n", about.replace(['[', ']'], " ")));
            }
            _ => {
                for rows in shape.walk_elements().filter(|element| element.name == "tbl") {
                    out.push_str(&read_table(rows));
                    out.push('\n');
                }
                let chart = shape.walk_elements().find(|element| element.name == "chart");
                let target = chart.and_then(|chart| relations.get(chart.find_attribute("r:id")?));
                if let Some(target) = target
                    && let Some(chart) = package.parse_part(&target.part)?
                {
                    out.push_str(&read_chart(&chart));
                    out.push('\n');
                }
            }
        }
    }
    if let Some(notes) = relations.values().find(|target| target.kind == "notesSlide")
        && let Some(root) = package.parse_part(&notes.part)?
    {
        let body = root
            .walk_elements()
            .filter(|element| element.name == "sp" && place_kind(element) == Some("body"));
        let text: String = body.map(|shape| shape_text(shape, &relations)).collect();
        if !text.trim().is_empty() {
            out.push_str(&format!("Notes: {}\n", text.trim()));
        }
    }
    Ok(out)
}

fn place_kind(shape: &XmlElement) -> Option<&str> {
    shape
        .follow_names(&["nvSpPr", "nvPr", "ph"])
        .map(|place| place.find_attribute("type").unwrap_or(""))
}

fn read_shape(shape: &XmlElement, relations: &BTreeMap<String, RelationTarget>) -> String {
    let kind = place_kind(shape);
    if matches!(kind, Some("sldNum" | "dt")) {
        return String::new();
    }
    let text = shape_text(shape, relations);
    let text = text.trim_end();
    if text.trim().is_empty() {
        return String::new();
    }
    match kind {
        Some("title" | "ctrTitle") => format!("# {}\n\n", text.replace('\n', " ")),
        Some("ftr") => format!("Footer: {text}\n\n"),
        _ => format!("{text}\n\n"),
    }
}

fn shape_text(shape: &XmlElement, relations: &BTreeMap<String, RelationTarget>) -> String {
    let Some(body) = shape.find_child("txBody") else { return String::new() };
    // Text of a placeholder stands in a list unless it says otherwise.
    let is_list = matches!(place_kind(shape), Some("" | "obj"));
    let mut out = String::new();
    for paragraph in body.find_elements("p") {
        let mut text = String::new();
        for run in paragraph.list_elements() {
            match run.name.as_str() {
                "r" | "fld" => {
                    let piece: String =
                        run.find_elements("t").map(XmlElement::collect_text).collect();
                    let target = run
                        .follow_names(&["rPr", "hlinkClick"])
                        .and_then(|link| relations.get(link.find_attribute("r:id")?));
                    match target {
                        Some(target) => text.push_str(&write_link(&piece, &target.part)),
                        None => text.push_str(&piece),
                    }
                }
                "br" => text.push('\n'),
                _ => {}
            }
        }
        if text.trim().is_empty() {
            continue;
        }
        let about = paragraph.find_child("pPr");
        let level = about.and_then(|p| p.find_attribute("lvl")?.parse::<usize>().ok()).unwrap_or(0);
        let none = about.is_some_and(|about| about.find_child("buNone").is_some());
        let number = about.is_some_and(|about| about.find_child("buAutoNum").is_some());
        let sign = match (none, number) {
            (true, _) => "",
            (false, true) => "1. ",
            (false, false) if is_list => "- ",
            _ => "",
        };
        out.push_str(&format!("{}{sign}{text}\n", "  ".repeat(level.min(8))));
    }
    out
}

fn read_table(rows: &XmlElement) -> String {
    let no_links = BTreeMap::new();
    let rows: Vec<Vec<String>> = rows
        .find_elements("tr")
        .map(|row| row.find_elements("tc").map(|cell| shape_text(cell, &no_links)).collect())
        .collect();
    write_table(&rows)
}

/// The values of a chart as a table.
fn read_chart(root: &XmlElement) -> String {
    let points = |parent: Option<&XmlElement>| -> Vec<(usize, String)> {
        let points = parent.into_iter().flat_map(XmlElement::walk_elements);
        let points = points.filter(|element| element.name == "pt");
        points
            .filter_map(|point| {
                let at = point.find_attribute("idx")?.parse().ok().filter(|at| *at < 10_000)?;
                Some((at, point.find_child("v").map(XmlElement::collect_text).unwrap_or_default()))
            })
            .collect()
    };
    let mut rows: Vec<Vec<String>> = vec![vec![String::new()]];
    for (number, series) in root.walk_elements().filter(|e| e.name == "ser").enumerate() {
        let name = points(series.find_child("tx")).into_iter().next().map(|(_, name)| name);
        if let Some(head) = rows.first_mut() {
            head.push(name.unwrap_or_else(|| format!("Series {}", number + 1)));
        }
        let names = points(series.find_child("cat"));
        let values = points(series.find_child("val"));
        for (column, cells) in [(0, names), (number + 1, values)] {
            for (at, text) in cells {
                if rows.len() <= at + 1 {
                    rows.resize(at + 2, Vec::new());
                }
                if let Some(row) = rows.get_mut(at + 1) {
                    if row.len() <= column {
                        row.resize(column + 1, String::new());
                    }
                    row[column] = text;
                }
            }
        }
    }
    let titles = root.walk_elements().find(|element| element.name == "title");
    let title = titles.map(XmlElement::collect_text).filter(|title| !title.trim().is_empty());
    let title = title.map(|title| format!("Chart: {}\n\n", title.trim())).unwrap_or_default();
    format!("{title}{}", write_table(&rows))
}
