//! What is done to every template before anything of it is used, and when the rest of a document was
//! added: macros are left out, what would reach outside is refused, nothing stands there twice, and
//! what nothing leads to any more goes. Not here: which styles and layouts it has.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::document::DocumentError;

use super::parts::{
    CONTENT_TYPES, ContentTypes, DocumentProperties, add_root, default_types, relations_xml,
    types_xml,
};
use crate::markdown::is_plain_link;
use crate::package::{PackageScope, ZipPackage, join_path, relations_part};
use crate::unfit_description;
use crate::xml::{XmlElement, parse_xml, xml_text};

/// A template without what is never taken over.
pub(super) struct CleanTemplate {
    pub(super) package: ZipPackage,
    pub(super) remarks: Vec<String>,
}

/// Opens a template.
pub(super) fn open_template(name: &str, bytes: &[u8]) -> Result<CleanTemplate, DocumentError> {
    let wrong = |why: String| unfit_description(format!("the template {name}: {why}"));
    let mut package = ZipPackage::read_package(bytes, PackageScope::Whole)
        .map_err(|error| wrong(error.to_string()))?;
    unify_names(&mut package).map_err(wrong)?;
    let mut remarks = Vec::new();
    let macros: Vec<String> =
        package.list_names().filter(|part| is_program_part(part)).map(str::to_owned).collect();
    if !macros.is_empty() {
        remarks.push(format!("the macros of the template {name} were left out"));
        macros.iter().for_each(|part| package.remove(part));
    }
    let relations: Vec<String> =
        package.list_names().filter(|part| part.ends_with(".rels")).map(str::to_owned).collect();
    for part in relations {
        let rows = clean_relations(&package.needed_xml(&part)?).map_err(wrong)?;
        package.insert(part, relations_xml(&rows));
    }
    Ok(CleanTemplate { package, remarks })
}

/// Names of parts are the same whatever their capitals: two that differ by nothing else are refused,
/// and parts of relationships are called as everybody looks for them.
fn unify_names(package: &mut ZipPackage) -> Result<(), String> {
    let mut known = BTreeSet::new();
    let names: Vec<String> = package.list_names().map(str::to_owned).collect();
    for name in names {
        let lower = name.to_ascii_lowercase();
        if !known.insert(lower.clone()) {
            return Err(format!(
                "{name} is in it twice, but for capitals; open it in its program and save it anew"
            ));
        }
        let is_relations = lower.ends_with(".rels");
        if is_relations && !(name.ends_with(".rels") && name.contains("_rels/")) {
            let (folder, file) = name.rsplit_once('/').unwrap_or(("", &name));
            let folder = match folder.len().checked_sub("_rels".len()) {
                Some(at) if lower.get(at..folder.len()) == Some("_rels") => &name[..at],
                _ => continue,
            };
            let file = &file[..file.len() - ".rels".len()];
            package.rename(&name, format!("{folder}_rels/{file}.rels"));
        }
    }
    Ok(())
}

fn is_program_part(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    ["vbaproject", "vbadata", "/activex/"].iter().any(|word| lower.contains(word))
}

/// Relationships without programs, each id once; what is outside and would be fetched is refused.
fn clean_relations(root: &XmlElement) -> Result<String, String> {
    let mut rows = String::new();
    let mut known = BTreeSet::new();
    for row in root.find_elements("Relationship") {
        let kind = row.find_attribute("Type").unwrap_or_default();
        let target = row.find_attribute("Target").unwrap_or_default();
        let short = kind.rsplit('/').next().unwrap_or(kind).to_ascii_lowercase();
        let mode = row.find_attribute("TargetMode").unwrap_or_default();
        let is_outside = mode.eq_ignore_ascii_case("external");
        if short == "attachedtemplate" || is_program_part(target) || short == "vbaproject" {
            continue;
        }
        if is_outside && short != "hyperlink" {
            return Err(format!(
                "it refers to {target}, which would be fetched when the document is opened; save \
                 a copy without it"
            ));
        }
        if !known.insert(row.find_attribute("Id").unwrap_or_default()) {
            continue;
        }
        if is_outside && !is_plain_link(target) {
            // The text that is linked names the row, so the row stays.
            let id = xml_text(row.find_attribute("Id").unwrap_or_default());
            rows.push_str(&format!(
                "<Relationship Id=\"{id}\" Type=\"{}\" Target=\"about:blank\" \
                 TargetMode=\"External\"/>",
                xml_text(kind)
            ));
            continue;
        }
        rows.push_str(&relation_row(row));
    }
    Ok(rows)
}

/// A relationship as it is.
pub(super) fn relation_row(row: &XmlElement) -> String {
    let attributes: String = ["Id", "Type", "Target", "TargetMode"]
        .iter()
        .filter_map(|key| Some((key, row.find_attribute(key)?)))
        .map(|(key, value)| format!(" {key}=\"{}\"", xml_text(value)))
        .collect();
    format!("<Relationship{attributes}/>")
}

/// The rows of a part of relationships whose kind and id `keep` wants; none where it is missing.
pub(super) fn relation_rows(
    package: &ZipPackage,
    part: &str,
    keep: impl Fn(&str, &str) -> bool,
) -> Result<String, DocumentError> {
    let root = package.parse_part(part)?;
    let rows = root.iter().flat_map(|root| root.find_elements("Relationship"));
    let rows = rows.filter(|row| {
        let kind = row.find_attribute("Type").unwrap_or_default();
        let short = kind.rsplit('/').next().unwrap_or(kind);
        keep(short, row.find_attribute("Id").unwrap_or_default())
    });
    Ok(rows.map(relation_row).collect())
}

/// The main part of a document and its type.
#[derive(Debug, Clone, Copy)]
pub(super) struct MainPart<'a> {
    pub(super) part: &'a str,
    pub(super) kind: &'a str,
}

/// The file of a template to which everything was added: what says so of the whole package is written
/// anew, and parts that nothing leads to are left out. `types` are those of the parts that were added.
pub(super) fn finish_template(
    mut package: ZipPackage,
    main: MainPart<'_>,
    mut types: ContentTypes,
    properties: DocumentProperties<'_>,
) -> Result<Vec<u8>, DocumentError> {
    types.add_override(main.part, main.kind);
    add_root(&mut package, &mut types, main.part, properties);
    drop_unreached(&mut package)?;
    let all = join_types(&package, &types)?;
    package.insert(CONTENT_TYPES, all);
    package.into_bytes(CONTENT_TYPES)
}

/// Leaves out every part to which no relationship leads from the root of the package.
fn drop_unreached(package: &mut ZipPackage) -> Result<(), DocumentError> {
    let names: BTreeMap<String, String> =
        package.list_names().map(|name| (name.to_ascii_lowercase(), name.to_owned())).collect();
    let mut reached = BTreeSet::from([CONTENT_TYPES.to_owned()]);
    let mut waiting = vec![String::new()];
    while let Some(part) = waiting.pop() {
        let Some(relations) = names.get(&relations_part(&part).to_ascii_lowercase()) else {
            continue;
        };
        reached.insert(relations.clone());
        let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
        let root = package.needed_xml(relations)?;
        for row in root.find_elements("Relationship") {
            let mode = row.find_attribute("TargetMode").unwrap_or_default();
            if mode.eq_ignore_ascii_case("external") {
                continue;
            }
            let target = join_path(folder, row.find_attribute("Target").unwrap_or_default());
            if let Some(name) = names.get(&target.to_ascii_lowercase())
                && reached.insert(name.clone())
            {
                waiting.push(name.clone());
            }
        }
    }
    names.values().filter(|name| !reached.contains(*name)).for_each(|name| package.remove(name));
    Ok(())
}

/// The content types of a template and of what was added, each part and each ending once. Parts that
/// are gone have none.
fn join_types(package: &ZipPackage, added: &ContentTypes) -> Result<String, DocumentError> {
    let root = package.needed_xml(CONTENT_TYPES)?;
    let own = parse_xml("types", format!("<x>{}</x>", default_types()).as_bytes())?;
    let mut endings: BTreeMap<String, String> = BTreeMap::new();
    let mut rows = default_types();
    for row in own.list_elements() {
        let ending = row.find_attribute("Extension").unwrap_or_default();
        let kind = row.find_attribute("ContentType").unwrap_or_default();
        endings.insert(ending.to_ascii_lowercase(), kind.to_owned());
    }
    let mut types = ContentTypes::default();
    let mut others: BTreeMap<String, &str> = BTreeMap::new();
    for row in root.find_elements("Default") {
        let ending = row.find_attribute("Extension").unwrap_or_default().to_ascii_lowercase();
        let kind = row.find_attribute("ContentType").unwrap_or_default();
        if let Some(ours) = endings.get(&ending) {
            if ours != kind {
                others.entry(ending).or_insert(kind);
            }
            continue;
        }
        rows.push_str(&format!(
            "<Default Extension=\"{}\" ContentType=\"{}\"/>",
            xml_text(&ending),
            xml_text(kind)
        ));
        endings.insert(ending, kind.to_owned());
    }
    // Where the template means something else by an ending, its parts say so themselves.
    for name in package.list_names() {
        let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if let Some(kind) = others.get(&ending) {
            types.add_override(name, kind);
        }
    }
    let mut said = BTreeSet::new();
    for row in root.find_elements("Override") {
        let part = row.find_attribute("PartName").unwrap_or_default().trim_start_matches('/');
        let lower = part.to_ascii_lowercase();
        let name = package.list_names().find(|name| name.eq_ignore_ascii_case(part));
        if let Some(name) = name
            && said.insert(lower)
        {
            types.add_override(name, row.find_attribute("ContentType").unwrap_or_default());
        }
    }
    for (part, kind) in added.list_overrides().filter(|(part, _)| package.find_part(part).is_some())
    {
        types.add_override(part, kind);
    }
    Ok(types_xml(rows, types.list_overrides()))
}

#[cfg(test)]
mod tests;
