//! Which module of a crate names which, and the circles that follow: modules of which each reaches
//! each other, so that none can be read, tested or moved without the rest.
//!
//! Modules are those that the root of a crate declares; what lies below one belongs to it. The root
//! itself is none: it lists everything. Not here: borders between crates (`tidy`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::order::Order;
use super::{Listed, Place, is_product};
use crate::tidy::imports::names;
use crate::tidy::tree::{Source, Tree};

/// The modules of one crate and the arrows between them.
#[derive(Debug, Default)]
pub(super) struct CrateModules {
    pub(super) krate: String,
    pub(super) modules: Vec<String>,
    pub(super) edges: Vec<ModuleEdge>,
    /// The largest first; none has fewer than two modules.
    pub(super) circles: Vec<Vec<String>>,
}

/// One module names another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ModuleEdge {
    pub(super) from: String,
    pub(super) to: String,
    /// How often.
    pub(super) mentions: usize,
    /// The first place, as an example.
    pub(super) place: Place,
    /// What is named there.
    pub(super) named: String,
}

/// A circle, put in an order in which little runs backwards.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Circle {
    /// Whoever stands first names those behind it.
    pub(super) order: Vec<String>,
    pub(super) edges: Vec<ModuleEdge>,
    /// Of those, what runs against the order: cut these, and the circle is open.
    pub(super) against: Vec<ModuleEdge>,
}

impl CrateModules {
    pub(super) fn largest_circle(&self) -> usize {
        self.circles.first().map_or(0, Vec::len)
    }

    pub(super) fn ordered_circles(&self) -> Vec<Circle> {
        self.circles.iter().map(|members| self.ordered(members)).collect()
    }

    fn ordered(&self, members: &[String]) -> Circle {
        let at = |name: &String| members.iter().position(|member| member == name);
        let mut weights = vec![vec![0; members.len()]; members.len()];
        let mut edges = Vec::new();
        for edge in &self.edges {
            if let (Some(from), Some(to)) = (at(&edge.from), at(&edge.to)) {
                weights[from][to] = edge.mentions;
                edges.push(edge.clone());
            }
        }
        let order = Order::of(&weights);
        let rank = |name: &String| at(name).map(|index| order.rank(index));
        let mut against: Vec<ModuleEdge> =
            edges.iter().filter(|edge| rank(&edge.from) > rank(&edge.to)).cloned().collect();
        against.sort_by_key(|edge| edge.mentions);
        let order = order.into_members().into_iter().map(|index| members[index].clone()).collect();
        Circle { order, edges, against }
    }
}

/// The modules of every product crate.
pub(super) fn crate_modules(tree: &Tree) -> Vec<CrateModules> {
    let mut by_crate = BTreeMap::<&str, Vec<&Source>>::new();
    for source in tree.sources.iter().filter(|source| is_product(source)) {
        by_crate.entry(&source.krate).or_default().push(source);
    }
    by_crate.into_iter().map(|(krate, sources)| modules_of(krate, &sources)).collect()
}

fn modules_of(krate: &str, sources: &[&Source]) -> CrateModules {
    let mut modules = BTreeSet::new();
    for source in sources {
        modules.extend(module_path(source).into_iter().next());
    }
    let exports = root_exports(sources, &modules);
    let mut edges = BTreeMap::<(String, String), ModuleEdge>::new();
    for source in sources {
        let path = module_path(source);
        let Some(from) = path.first() else { continue };
        for name in names(source) {
            let around = [path.as_slice(), name.modules.as_slice()].concat();
            let Some(first) = below_root(&name.path, &around) else { continue };
            let Some(to) = modules.get(&first).or_else(|| exports.get(&first)) else { continue };
            if to == from {
                continue;
            }
            let edge = edges.entry((from.clone(), to.clone())).or_insert_with(|| ModuleEdge {
                from: from.clone(),
                to: to.clone(),
                mentions: 0,
                place: Place { path: source.path.clone(), line: name.line },
                named: name.path,
            });
            edge.mentions += 1;
        }
    }
    let edges: Vec<ModuleEdge> = edges.into_values().collect();
    let modules: Vec<String> = modules.into_iter().collect();
    let circles = circles_among(&modules, &edges);
    CrateModules { krate: krate.to_owned(), modules, edges, circles }
}

/// The modules around what a source holds, from the root of its crate: `[session, calls]`.
fn module_path(source: &Source) -> Vec<String> {
    let inside = source.inside().trim_start_matches("src/").trim_end_matches(".rs");
    if matches!(inside, "lib" | "main") || inside.starts_with("bin/") {
        return Vec::new();
    }
    inside.split('/').map(str::to_owned).collect()
}

/// What the root passes on from a module under a shorter path: `pub use session::Session`.
fn root_exports(sources: &[&Source], modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for source in sources.iter().filter(|source| module_path(source).is_empty()) {
        for name in names(source).into_iter().filter(|name| name.modules.is_empty()) {
            let path = name.path.trim_start_matches("crate::").trim_start_matches("self::");
            let module = path.split("::").next().and_then(|first| modules.get(first));
            if let (Some(called), Some(module)) = (name.import, module) {
                exports.insert(called, module.clone());
            }
        }
    }
    exports
}

/// The first part of a path as seen from the root of the crate, if the path is one of the crate.
fn below_root(path: &str, around: &[String]) -> Option<String> {
    let mut segments = path.split("::").peekable();
    let mut base = match segments.next()? {
        "crate" => &around[..0],
        "self" => around,
        "super" => &around[..around.len().saturating_sub(1)],
        _ => return None,
    };
    while segments.peek() == Some(&"super") {
        segments.next();
        base = &base[..base.len().saturating_sub(1)];
    }
    base.first().cloned().or_else(|| segments.next().map(str::to_owned))
}

/// Sets of modules of which each reaches each other, the largest first.
fn circles_among(modules: &[String], edges: &[ModuleEdge]) -> Vec<Vec<String>> {
    let count = modules.len();
    let at = |name: &String| modules.binary_search(name).ok();
    let mut reaches = vec![vec![false; count]; count];
    for edge in edges {
        if let (Some(from), Some(to)) = (at(&edge.from), at(&edge.to)) {
            reaches[from][to] = true;
        }
    }
    for through in 0..count {
        let onward = reaches[through].clone();
        for row in reaches.iter_mut().filter(|row| row[through]) {
            for (to, reached) in row.iter_mut().enumerate() {
                *reached |= onward[to];
            }
        }
    }
    let mut circles: Vec<Vec<String>> = Vec::new();
    let mut placed = vec![false; count];
    for from in 0..count {
        if placed[from] || !reaches[from][from] {
            continue;
        }
        let members: Vec<usize> =
            (0..count).filter(|to| reaches[from][*to] && reaches[*to][from]).collect();
        for member in &members {
            placed[*member] = true;
        }
        circles.push(members.into_iter().map(|member| modules[member].clone()).collect());
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// The arrows inside of circles, those that run against the order first in each.
pub(super) fn listed(crates: &[CrateModules]) -> Vec<Listed> {
    let mut rows = Vec::new();
    for krate in crates {
        for circle in krate.ordered_circles() {
            let row = |edge: &ModuleEdge, against: &str| Listed {
                place: edge.place.clone(),
                what: format!("{}: {} -> {}", krate.krate, edge.from, edge.to),
                note: format!("{}x, {}{against}", edge.mentions, edge.named),
                key: format!("{} {} {}", krate.krate, edge.from, edge.to),
            };
            rows.extend(circle.against.iter().map(|edge| row(edge, ", against the order")));
            let along = circle.edges.iter().filter(|edge| !circle.against.contains(edge));
            rows.extend(along.map(|edge| row(edge, "")));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree;

    fn core(files: &[(&str, &str)]) -> CrateModules {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("crates/weir-core/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        crate_modules(&tree::of(&files)).remove(0)
    }

    fn arrows(krate: &CrateModules) -> Vec<String> {
        krate.edges.iter().map(|edge| format!("{}>{}", edge.from, edge.to)).collect()
    }

    #[test]
    fn every_way_to_name_a_module_is_an_arrow() {
        let krate = core(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\npub use e::Shown as Seen;"),
            ("a.rs", "use crate::b::X;\nfn f() { super::c::g(); }"),
            ("a/x.rs", "use super::super::d::Y;\nfn f() { dbg!(crate::e::Z); }"),
            ("b.rs", "mod own { use super::super::c; use super::T; }\nuse self::own::U;"),
            ("c.rs", "use crate::Seen;\nuse std::fmt;"),
            ("d.rs", "#[cfg(test)]\nmod tests { use crate::a::X; }"),
            ("e.rs", "use super::Unknown;\nuse crate::e::Own;"),
        ]);
        assert_eq!(arrows(&krate), ["a>b", "a>c", "a>d", "a>e", "b>c", "c>e"]);
        assert!(krate.circles.is_empty());
        assert_eq!(krate.largest_circle(), 0);
    }

    #[test]
    fn circles_are_found_and_opened_where_they_are_thin() {
        let krate = core(&[
            ("lib.rs", ""),
            ("a.rs", "use crate::b::{X, Y};"),
            ("b.rs", "use crate::c::{X, Y};\nuse crate::d::X;"),
            ("c.rs", "use crate::a::X;"),
            ("d.rs", "use crate::e::X;"),
            ("e.rs", "use crate::d::X;"),
        ]);
        assert_eq!(krate.circles, [vec!["a", "b", "c"], vec!["d", "e"]]);
        let circle = &krate.ordered_circles()[0];
        assert_eq!(circle.order, ["a", "b", "c"]);
        let [only] = circle.against.as_slice() else { panic!("one arrow runs back") };
        assert_eq!((only.from.as_str(), only.to.as_str(), only.mentions), ("c", "a", 1));
        assert_eq!((only.place.line, only.named.as_str()), (1, "crate::a::X"));
    }
}
