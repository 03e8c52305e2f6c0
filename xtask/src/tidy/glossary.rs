//! Every noun in the name of a public type stands in the glossary, with one meaning, or in a list of
//! ordinary words. Not here: whether a meaning is right, and names of functions (`structure`).

use std::collections::BTreeSet;

use syn::{Ident, Item, Visibility};

use super::Finding;
use super::tree::{Tree, is_for_tests, item_attrs};

const GLOSSARY: &str = "docs/glossary.md";
/// Words of English, Rust and the trade that mean here what they mean everywhere: one a line.
const ORDINARY: &str = "xtask/ordinary-words.txt";

/// The crates whose types others name.
const PUBLIC_CRATES: &[&str] = &[
    "weir-core",
    "weir-documents",
    "weir-engine",
    "weir-install",
    "weir-mail",
    "weir-mcp",
    "weir-providers",
    "weir-sandbox",
    "weir-script",
    "weir-store",
    "weir-tools",
    "weir-web",
];

/// Words that are neither.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let text_of = |path: &str| tree.texts.iter().find(|text| text.path == path);
    let mut known: BTreeSet<String> = BTreeSet::new();
    if let Some(glossary) = text_of(GLOSSARY) {
        let rows =
            glossary.text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
        known.extend(rows.flat_map(words_of_text));
    }
    if let Some(ordinary) = text_of(ORDINARY) {
        known.extend(ordinary.text.lines().map(str::to_owned));
    }
    let mut found = Vec::new();
    let public = |krate: &str| PUBLIC_CRATES.contains(&krate);
    for source in tree.sources.iter().filter(|source| public(&source.krate) && !source.for_tests) {
        if !source.inside().starts_with("src/") {
            continue;
        }
        for ident in public_types(&source.syntax.items) {
            let name = ident.to_string();
            for word in words_of_name(&name).into_iter().filter(|word| !is_known(&known, word)) {
                let place = (source.path.as_str(), ident.span().start().line);
                let what = format!(
                    "the word `{word}` of {name} has no meaning yet: a row in {GLOSSARY} or, if it \
                     means what it means everywhere, a line in {ORDINARY}"
                );
                found.push(Finding::new("glossary", place, what));
            }
        }
    }
    found
}

/// Public structs, enums, traits and aliases that stand in a file itself.
fn public_types(items: &[Item]) -> Vec<&Ident> {
    let named = items.iter().filter(|item| !is_for_tests(item_attrs(item)));
    let public = named.filter_map(|item| match item {
        Item::Struct(item) => Some((&item.vis, &item.ident)),
        Item::Enum(item) => Some((&item.vis, &item.ident)),
        Item::Trait(item) => Some((&item.vis, &item.ident)),
        Item::Type(item) => Some((&item.vis, &item.ident)),
        _ => None,
    });
    public
        .filter(|(visibility, _)| matches!(visibility, Visibility::Public(_)))
        .map(|(_, ident)| ident)
        .collect()
}

/// A word as it stands, or in the singular.
fn is_known(known: &BTreeSet<String>, word: &str) -> bool {
    let singulars = [word.strip_suffix('s'), word.strip_suffix("es")];
    known.contains(word) || singulars.into_iter().flatten().any(|word| known.contains(word))
}

/// The humps of a name in lower case; letters alone.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().filter(char::is_ascii_alphabetic).collect();
    for (at, letter) in letters.iter().enumerate() {
        let before_small = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let after_small = at > 0 && letters[at - 1].is_ascii_lowercase();
        if letter.is_ascii_uppercase() && (before_small || after_small) || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

fn words_of_text(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Text, of};
    use super::*;

    fn told(source: &str, glossary: &str, ordinary: &str) -> Vec<String> {
        let mut tree = of(&[("crates/weir-core/src/x.rs", source)]);
        for (path, text) in [(GLOSSARY, glossary), (ORDINARY, ordinary)] {
            tree.texts.push(Text { path: path.into(), text: text.into() });
        }
        findings(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_word_of_a_public_type_stands_in_one_of_both_lists() {
        let source = "pub struct GateOpinions;\nstruct Hidden;\npub fn other() {}";
        assert!(told(source, "| gate | a judge |\n", "opinion\n").is_empty());
        let missing = told(source, "| gate | a judge of opinion |\n", "");
        assert_eq!(missing.len(), 1);
        assert!(missing[0].contains("`opinions` of GateOpinions"), "{}", missing[0]);
    }

    #[test]
    fn names_fall_into_humps() {
        assert_eq!(words_of_name("McpOAuthSettings"), ["mcp", "o", "auth", "settings"]);
        assert_eq!(words_of_name("SQLStore"), ["sql", "store"]);
        assert_eq!(words_of_name("Sse2Decoder"), ["sse", "decoder"]);
    }
}
