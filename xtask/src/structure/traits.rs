//! Traits with exactly one implementation in the product: a border that nothing else stands on.
//! Not here: implementations that a macro writes, and those for pointers, which only hand calls on.

use serde::Serialize;

use super::walk::{Declared, Implementation, TypeItem, TypeKind};
use super::{Listed, Place};

/// A trait of the product that one type of the product implements.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LoneTrait {
    pub(super) krate: String,
    pub(super) name: String,
    pub(super) place: Place,
    /// The type.
    pub(super) by: String,
    pub(super) implemented: Place,
    /// Implementations in tests.
    pub(super) in_tests: usize,
    /// Implementations in crates that only help to develop.
    pub(super) in_development: usize,
}

/// All of them, by crate.
pub(super) fn lone_traits(sources: &[Declared]) -> Vec<LoneTrait> {
    let mut lone = Vec::new();
    for source in sources.iter().filter(|source| source.product) {
        for item in &source.types {
            if item.kind == TypeKind::Trait && !item.for_tests {
                lone.extend(lone_trait(sources, source, item));
            }
        }
    }
    lone
}

fn lone_trait(sources: &[Declared], home: &Declared, item: &TypeItem) -> Option<LoneTrait> {
    let (mut product, mut in_tests, mut in_development) = (Vec::new(), 0, 0);
    for source in sources {
        let of_it = |found: &&Implementation| found.of == item.name && !found.hands_on;
        for found in source.implementations.iter().filter(of_it) {
            if !is_meant(sources, source, home, &item.name) {
                continue;
            }
            if found.for_tests {
                in_tests += 1;
            } else if source.development {
                in_development += 1;
            } else if source.product {
                product.push(found);
            }
        }
    }
    let [only] = product.as_slice() else { return None };
    Some(LoneTrait {
        krate: home.krate.clone(),
        name: item.name.clone(),
        place: item.place.clone(),
        by: only.by.clone(),
        implemented: only.place.clone(),
        in_tests,
        in_development,
    })
}

/// Whether an implementation in `source` is of this trait, where several bear its name: the one of
/// the own source comes first, then the one of the own crate.
fn is_meant(sources: &[Declared], source: &Declared, home: &Declared, name: &str) -> bool {
    let declares = |other: &Declared| {
        other.types.iter().any(|of| of.kind == TypeKind::Trait && of.name == name)
    };
    if declares(source) {
        return std::ptr::eq(source, home);
    }
    let in_crate = sources.iter().any(|other| other.krate == source.krate && declares(other));
    !in_crate || source.krate == home.krate
}

pub(super) fn listed(traits: &[LoneTrait]) -> Vec<Listed> {
    let row = |lone: &LoneTrait| {
        let note = match (lone.in_tests, lone.in_development) {
            (0, 0) => "no test implements it".to_owned(),
            (tests, 0) => format!("{tests} in tests"),
            (tests, development) => format!("{tests} in tests, {development} in development"),
        };
        Listed {
            place: lone.place.clone(),
            what: format!("trait {} for {}", lone.name, lone.by),
            note,
            key: format!("{} {}", lone.place.path, lone.name),
        }
    };
    traits.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::walk;
    use super::*;
    use crate::tidy::tree;

    fn lone(files: &[(&str, &str)]) -> Vec<(String, String, usize)> {
        let sources: Vec<Declared> = tree::of(files).sources.iter().map(walk::declared).collect();
        let found = lone_traits(&sources).into_iter();
        found.map(|lone| (lone.name, lone.by, lone.in_tests)).collect()
    }

    #[test]
    fn one_implementation_is_lone_whatever_tests_have() {
        let found = lone(&[
            ("crates/weir-core/src/x.rs", "trait Desk {}\ntrait Gate {}\ntrait Idle {}"),
            ("crates/weir/src/x.rs", "impl x::Desk for House {}\nimpl Gate for A {}"),
            ("crates/weir/src/y.rs", "impl Gate for B {}\nimpl<T: Desk> Desk for Arc<T> {}"),
            ("crates/weir-core/tests/it/x.rs", "impl Desk for Fake {}"),
        ]);
        assert_eq!(found, [("Desk".to_owned(), "House".to_owned(), 1)]);
    }

    #[test]
    fn a_trait_of_the_same_name_elsewhere_is_another() {
        let found = lone(&[
            ("crates/weir-core/src/x.rs", "trait Desk {}\nimpl Desk for A {}"),
            ("crates/weir-tui/src/x.rs", "trait Desk {}"),
            ("crates/weir-tui/src/y.rs", "impl Desk for B {}\nimpl Desk for C {}"),
        ]);
        assert_eq!(found, [("Desk".to_owned(), "A".to_owned(), 0)]);
    }
}
