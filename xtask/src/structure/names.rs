//! Names of functions and types: how many are one word, how many a bare participle, which are borne
//! by many. Not here: what a word is (`words`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::walk::Declared;
use super::{Listed, Place, words};

/// From how many types on a name says nothing any more.
const BEARERS_MANY: usize = 3;

/// All names of a kind, and those that are one word.
#[derive(Default)]
pub(super) struct NameGroup {
    pub(super) all: usize,
    pub(super) one_word: Vec<NamedItem>,
}

/// Something with a one-word name.
pub(super) struct NamedItem {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) place: Place,
    pub(super) participle: bool,
    /// What a model calls a tool's arguments; every tool has one.
    tool_input: bool,
}

/// A name and how many bear it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Repeated {
    pub(super) name: String,
    pub(super) count: usize,
}

impl NameGroup {
    pub(super) fn participles(&self) -> usize {
        self.one_word.iter().filter(|item| item.participle).count()
    }
}

/// Functions whose name is ours to choose.
pub(super) fn functions(sources: &[Declared]) -> NameGroup {
    let mut group = NameGroup::default();
    let functions =
        sources.iter().filter(|source| source.product).flat_map(|source| &source.functions);
    for function in functions {
        let ours = !function.for_tests && !function.dictated;
        if !ours || words::is_conventional(&function.name) {
            continue;
        }
        group.all += 1;
        if words::is_one_word(&function.name) {
            group.one_word.push(NamedItem {
                name: function.name.clone(),
                kind: "fn",
                place: function.place.clone(),
                participle: words::is_participle(&function.name),
                tool_input: false,
            });
        }
    }
    group
}

/// Structs, enums, traits and aliases.
pub(super) fn types(sources: &[Declared]) -> NameGroup {
    let mut group = NameGroup::default();
    for source in sources.iter().filter(|source| source.product) {
        for item in source.types.iter().filter(|item| !item.for_tests) {
            group.all += 1;
            if words::is_one_hump(&item.name) {
                group.one_word.push(NamedItem {
                    name: item.name.clone(),
                    kind: item.kind.as_str(),
                    place: item.place.clone(),
                    participle: words::is_participle(&item.name),
                    tool_input: item.name == "Input" && source.krate == "weir-tools",
                });
            }
        }
    }
    group
}

/// Names by how many bear them, the most frequent first.
pub(super) fn by_frequency(group: &NameGroup) -> Vec<Repeated> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for item in group.one_word.iter().filter(|item| !item.tool_input) {
        *counts.entry(&item.name).or_default() += 1;
    }
    let mut repeated: Vec<Repeated> =
        counts.into_iter().map(|(name, count)| Repeated { name: name.to_owned(), count }).collect();
    repeated.sort_by_key(|repeated| std::cmp::Reverse(repeated.count));
    repeated
}

/// Names that so many bear that they say nothing.
pub(super) fn borne_often(group: &NameGroup) -> Vec<Repeated> {
    let mut repeated = by_frequency(group);
    repeated.retain(|repeated| repeated.count >= BEARERS_MANY);
    repeated
}

/// The one-word names as rows; `often` are those whose number of bearers is said.
pub(super) fn listed(group: &NameGroup, often: &[Repeated]) -> Vec<Listed> {
    let row = |item: &NamedItem| {
        let mut notes = Vec::new();
        if item.participle {
            notes.push("participle".to_owned());
        }
        if let Some(repeated) = often.iter().find(|repeated| repeated.name == item.name) {
            notes.push(format!("borne by {}", repeated.count));
        }
        Listed {
            place: item.place.clone(),
            what: format!("{} {}", item.kind, item.name),
            note: notes.join(", "),
            key: format!("{} {} {}", item.place.path, item.kind, item.name),
        }
    };
    group.one_word.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::walk;
    use super::*;
    use crate::tidy::tree;

    fn sources(files: &[(&str, &str)]) -> Vec<Declared> {
        tree::of(files).sources.iter().map(walk::declared).collect()
    }

    #[test]
    fn what_a_trait_or_a_habit_dictates_is_not_counted() {
        let text = "fn new() {}\nfn told() {}\nfn describe_fact() {}\n\
                    impl T for S { fn asked() {} }\n\
                    #[cfg(test)]\nmod tests { fn kept() {} }";
        let group = functions(&sources(&[("crates/weir-core/src/x.rs", text)]));
        assert_eq!((group.all, group.one_word.len(), group.participles()), (2, 1, 1));
    }

    #[test]
    fn development_tests_and_examples_are_no_product() {
        for path in [
            "crates/weir-redteam/src/x.rs",
            "crates/weir-core/tests/it/x.rs",
            "crates/weir-core/examples/x.rs",
            "crates/weir-core/benches/x.rs",
            "xtask/src/x.rs",
        ] {
            assert_eq!(functions(&sources(&[(path, "fn told() {}")])).all, 0, "{path}");
        }
    }

    #[test]
    fn a_name_that_three_types_bear_is_one_too_many() {
        let group = types(&sources(&[
            ("crates/weir-core/src/x.rs", "struct Kept;\nmod a { enum Kept {} }\nstruct Two;"),
            ("crates/weir-tui/src/x.rs", "type Kept = u8;\nstruct KeptNote;"),
            ("crates/weir-tools/src/x.rs", "struct Input;"),
        ]));
        assert_eq!((group.all, group.one_word.len(), group.participles()), (6, 5, 3));
        assert_eq!(borne_often(&group), [Repeated { name: "Kept".to_owned(), count: 3 }]);
        assert!(by_frequency(&group).iter().all(|repeated| repeated.name != "Input"));
    }
}
