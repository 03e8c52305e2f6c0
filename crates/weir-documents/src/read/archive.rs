//! What stands in a package beside its text: programs, and references to what is outside.

use weir_core::document::DocumentError;

use crate::package::ZipPackage;
use crate::xml::parse_xml;

/// Most references that are named.
const NAMED_MAX: usize = 10;

/// Sentences about macros, embedded files and references to what is outside.
pub(super) fn package_remarks(package: &ZipPackage) -> Result<Vec<String>, DocumentError> {
    let mut remarks = Vec::new();
    let lower = |name: &str| name.to_ascii_lowercase();
    let programs: Vec<&str> = package
        .list_names()
        .filter(|name| {
            let name = lower(name);
            name.ends_with("vbaproject.bin")
                || name.contains("/activex/")
                || name.starts_with("basic/")
                || name.starts_with("scripts/")
        })
        .collect();
    if !programs.is_empty() {
        remarks.push(format!("it has macros, which were not run: {}", join_names(&programs)));
    }
    let embedded: Vec<&str> =
        package.list_names().filter(|name| name.contains("/embeddings/")).collect();
    if !embedded.is_empty() {
        remarks.push(format!("files embedded in it were not read: {}", join_names(&embedded)));
    }
    let relations: Vec<String> = package
        .list_names()
        .filter(|name| lower(name).ends_with(".rels"))
        .map(str::to_owned)
        .collect();
    let mut outside = Vec::new();
    for part in relations {
        let Some(root) = package.parse_part(&part)? else { continue };
        for row in root.find_elements("Relationship") {
            let kind = row.find_attribute("Type").unwrap_or_default();
            let mode = row.find_attribute("TargetMode").unwrap_or_default();
            if mode.eq_ignore_ascii_case("external") && !kind.ends_with("/hyperlink") {
                outside.push(row.find_attribute("Target").unwrap_or_default().to_owned());
            }
        }
    }
    if let Some(root) = package.parse_part("content.xml")? {
        let links = root
            .walk_elements()
            .filter(|element| matches!(element.name.as_str(), "image" | "object" | "table-source"))
            .filter_map(|element| element.find_attribute("xlink:href"))
            .filter(|target| target.contains("://"));
        outside.extend(links.map(str::to_owned));
    }
    if !outside.is_empty() {
        let names: Vec<&str> = outside.iter().map(String::as_str).collect();
        remarks.push(format!(
            "it refers to what is outside, which was not fetched: {}",
            join_names(&names)
        ));
    }
    let leads_out =
        |name: &&str| name.starts_with('/') || name.split(['/', '\\']).any(|s| s == "..");
    let odd: Vec<&str> = package.list_names().filter(leads_out).collect();
    if !odd.is_empty() {
        let names = join_names(&odd);
        remarks.push(format!("it has entries that lead out of it, which were not used: {names}"));
    }
    let fields = acting_fields(package)?;
    if !fields.is_empty() {
        let names: Vec<&str> = fields.iter().map(String::as_str).collect();
        let names = join_names(&names);
        remarks.push(format!("it has fields that reach outside, which were not followed: {names}"));
    }
    Ok(remarks)
}

/// Fields of a text, and links of a workbook, that start a program or fetch something when opened.
fn acting_fields(package: &ZipPackage) -> Result<Vec<String>, DocumentError> {
    const ACTING: [&str; 6] =
        ["DDE", "DDEAUTO", "INCLUDEPICTURE", "INCLUDETEXT", "IMPORT", "DATABASE"];
    let mut found = Vec::new();
    let names = package.list_names().filter(|name| {
        (name.starts_with("word/") || name.starts_with("xl/externalLinks/"))
            && name.ends_with(".xml")
    });
    for name in names {
        let Some(bytes) = package.find_part(name) else { continue };
        if contains(bytes, b"ddeLink") {
            found.push(format!("DDE in {name}"));
        }
        if !contains(bytes, b"instr") {
            continue;
        }
        // A field may be cut into several pieces.
        let root = parse_xml(name, bytes)?;
        let mut fields = String::new();
        for element in root.walk_elements() {
            match (element.name.as_str(), element.find_attribute("instr")) {
                ("instrText", _) => fields.push_str(&element.collect_text()),
                ("fldChar", _) => fields.push('\n'),
                ("fldSimple", Some(field)) => fields.push_str(&format!("\n{field}\n")),
                _ => {}
            }
        }
        let acting = fields.lines().map(str::trim).filter(|field| {
            let word = field.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
            ACTING.contains(&word.as_str())
        });
        found.extend(acting.map(str::to_owned));
    }
    Ok(found)
}

fn join_names(names: &[&str]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(NAMED_MAX)
        .map(|name| name.chars().filter(|c| !c.is_control()).take(200).collect())
        .collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// For readers that parse the parts themselves: none may declare entities.
pub(super) fn refuse_entities(package: &ZipPackage) -> Result<(), DocumentError> {
    for name in package.list_names().filter(|name| name.ends_with(".xml")) {
        let Some(bytes) = package.find_part(name) else { continue };
        let head = &bytes[..bytes.len().min(4_096)];
        if contains(head, b"<!DOCTYPE") || contains(head, b"<!ENTITY") {
            // Says what is wrong with it.
            parse_xml(name, bytes)?;
        }
    }
    Ok(())
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
