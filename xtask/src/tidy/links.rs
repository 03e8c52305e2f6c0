//! Links between the project's documents lead somewhere, and the table of contents names every page. Not here:
//! what the pages say, and links to other places than the project.

use std::collections::BTreeMap;
use std::path::Path;

use super::tree::{Text, Tree};
use super::{Finding, line_of};

/// The table of contents of the documents.
const CONTENTS: &str = "docs/README.md";

/// All findings about links.
pub(super) fn findings(root: &Path, tree: &Tree) -> Vec<Finding> {
    let pages: BTreeMap<&str, &Text> = tree
        .texts
        .iter()
        .filter(|text| is_document(&text.path))
        .map(|text| (text.path.as_str(), text))
        .collect();
    let mut found = Vec::new();
    for page in pages.values() {
        for target in links(&page.text) {
            let place = (page.path.as_str(), line_of(&page.text, &format!("]({target})")));
            found.extend(
                wrong(root, &pages, page, &target).map(|why| Finding::new("link", place, why)),
            );
        }
    }
    found.extend(left_out(&pages));
    found
}

/// Pages at the top and those of `docs/`: what people read. Not fixtures of tests.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/"))
}

/// Targets of links and pictures; nothing of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            for (open, _) in line.match_indices("](") {
                let in_code = line[..open].matches('`').count() % 2 == 1;
                let rest = &line[open + 2..];
                if let (false, Some(end)) = (in_code, rest.find(')')) {
                    found.push(rest[..end].to_owned());
                }
            }
        }
    }
    found
}

/// Why a link leads nowhere; `None`: it leads somewhere, or out of the project.
fn wrong(root: &Path, pages: &BTreeMap<&str, &Text>, page: &Text, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(p, a)| (p, Some(a)));
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if path.is_empty() { page.path.clone() } else { joined(folder, path)? };
    if !root.join(&path).exists() {
        return Some(format!("there is no {path}: name the page as it is called now"));
    }
    let anchor = anchor?;
    let goal = pages.get(path.as_str())?;
    let known = anchors(&goal.text);
    (!known.iter().any(|known| known == anchor))
        .then(|| format!("{path} has no heading #{anchor}: name one that it has"))
}

/// A path from the root of the project; `None`: it leaves the project.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a page's headings, as forges make them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        let title = line.trim_start_matches('#');
        if in_block || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let same = found.iter().filter(|known| **known == slug).count();
        found.push(if same == 0 { slug } else { format!("{slug}-{same}") });
    }
    found
}

/// Pages of `docs/` that the table of contents does not name.
fn left_out(pages: &BTreeMap<&str, &Text>) -> Vec<Finding> {
    let Some(contents) = pages.get(CONTENTS) else { return Vec::new() };
    let named = links(&contents.text);
    let missing = pages.keys().filter_map(|path| {
        let name = path
            .strip_prefix("docs/")
            .filter(|name| !name.contains('/') && *name != "README.md")?;
        (!named.iter().any(|target| target.split('#').next() == Some(name))).then(|| {
            Finding::new(
                "contents",
                (CONTENTS, 1),
                format!("{name} is not in the table of contents"),
            )
        })
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Text {
        Text { path: path.into(), text: text.into() }
    }

    #[test]
    fn links_are_found_and_code_is_none() {
        let text = "[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n![g](h.png)\n";
        assert_eq!(links(text), ["b.md", "h.png"]);
    }

    #[test]
    fn headings_have_the_anchors_of_forges() {
        assert_eq!(
            anchors(
                "# The *flow* table\n## `weir run`, in CI\n```\n# no heading\n```\n## A\n## A\n"
            ),
            ["the-flow-table", "weir-run-in-ci", "a", "a-1"]
        );
    }

    #[test]
    fn a_link_to_nothing_and_a_page_that_nobody_names_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("docs")).expect("docs");
        let contents =
            "[one](one.md#here) [two](none.md) [three](one.md#nowhere) [up](../README.md)\n";
        let texts = [
            ("docs/README.md", contents),
            ("docs/one.md", "# Here\n"),
            ("docs/left.md", "# Left\n"),
        ];
        for (path, text) in texts {
            std::fs::write(root.path().join(path), text).expect("a page");
        }
        let tree = Tree {
            texts: texts.iter().map(|(path, text)| page(path, text)).collect(),
            ..Tree::default()
        };
        let found: Vec<String> =
            findings(root.path(), &tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("none.md") && found[1].contains("#nowhere"), "{found:?}");
        assert!(found[2].contains("README.md") && found[3].contains("left.md"), "{found:?}");
    }
}
