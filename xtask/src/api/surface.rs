//! The public surface of a crate: which items everybody can name, under which path, with their methods
//! and the traits that they have. Not here: the text of an item (`lines`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use syn::{Item, ItemImpl, Path, Type, UseTree};

use super::lines::{derived_traits, is_hidden, item_lines, method_lines};
use super::modules::{CrateTree, is_public};
use super::names::{NameTarget, imported_names, makes_name, name_of};
use super::text::short_text;
use crate::tidy::tree::{Tree, item_attrs};

/// What makes an item the same one however it is named: its module and its own name.
type ItemKey = (usize, String);

/// The lines of a crate, sorted, each once.
pub(super) fn surface_lines(tree: &Tree, krate: &str) -> BTreeSet<String> {
    let modules = CrateTree::of(tree, krate);
    if modules.modules.is_empty() {
        return BTreeSet::new();
    }
    let mut walk = SurfaceWalk {
        modules: &modules,
        lines: BTreeSet::new(),
        paths: BTreeMap::new(),
        walked: BTreeSet::new(),
        imports: VecDeque::new(),
        traits: BTreeMap::new(),
    };
    let root = krate.replace('-', "_");
    walk.walk_module(0, &root);
    // After everything that stands where it is public, so that it is told at its own place.
    while let Some(import) = walk.imports.pop_front() {
        walk.follow_import(&import);
    }
    walk.add_implementations();
    for (path, names) in std::mem::take(&mut walk.traits) {
        let names: Vec<String> = names.into_iter().collect();
        walk.lines.insert(format!("{path} impls {}", names.join(", ")));
    }
    walk.lines
}

/// A `pub use` that is still to be followed.
struct PublicImport<'t> {
    module: usize,
    at: String,
    tree: &'t UseTree,
}

struct SurfaceWalk<'w, 't> {
    modules: &'w CrateTree<'t>,
    lines: BTreeSet<String>,
    /// The first public path of each item.
    paths: BTreeMap<ItemKey, String>,
    walked: BTreeSet<(usize, String)>,
    imports: VecDeque<PublicImport<'t>>,
    /// The traits of each public path.
    traits: BTreeMap<String, BTreeSet<String>>,
}

impl<'t> SurfaceWalk<'_, 't> {
    /// Tells every public item of a module under the path `at`.
    fn walk_module(&mut self, module: usize, at: &str) {
        if !self.walked.insert((module, at.to_owned())) {
            return;
        }
        for item in self.modules.modules[module].items.clone() {
            if is_hidden(item_attrs(item)) {
                continue;
            }
            match item {
                Item::Mod(it) if is_public(&it.vis) => {
                    let name = it.ident.to_string();
                    if let Some(child) = self.modules.modules[module].children.get(&name).copied() {
                        let path = format!("{at}::{name}");
                        self.lines.insert(format!("{path} mod"));
                        self.walk_module(child, &path);
                    }
                }
                Item::Use(it) if is_public(&it.vis) => {
                    self.imports.push_back(PublicImport {
                        module,
                        at: at.to_owned(),
                        tree: &it.tree,
                    });
                }
                Item::Macro(it) => match &it.ident {
                    Some(name) if it.attrs.iter().any(|a| a.path().is_ident("macro_export")) => {
                        let root = at.split("::").next().unwrap_or(at);
                        self.lines.insert(format!("{root}::{name} macro"));
                    }
                    Some(_) => (),
                    None => self.lines.extend(item_lines(item, at)),
                },
                other if is_public_item(other) => self.tell_item(module, other, at),
                _ => (),
            }
        }
    }

    fn tell_item(&mut self, module: usize, item: &Item, at: &str) {
        let Some(name) = name_of(item).map(ToString::to_string) else { return };
        self.tell_named_item(item, &format!("{at}::{name}"), (module, name));
    }

    fn tell_named_item(&mut self, item: &Item, path: &str, key: ItemKey) {
        if let Some(first) = self.paths.get(&key) {
            if first != path {
                self.lines.insert(format!("{path} is {first}"));
            }
            return;
        }
        self.paths.insert(key, path.to_owned());
        self.lines.extend(item_lines(item, path));
        let derived = derived_traits(item);
        if !derived.is_empty() {
            self.traits.entry(path.to_owned()).or_default().extend(derived);
        }
    }

    fn follow_import(&mut self, import: &PublicImport<'t>) {
        for imported in imported_names(import.tree) {
            let targets = self.modules.resolve_path(import.module, &imported.path);
            for target in targets {
                match (target, &imported.name) {
                    (NameTarget::Module(module), None) => self.walk_module(module, &import.at),
                    (NameTarget::Module(module), Some(name)) => {
                        let path = format!("{}::{name}", import.at);
                        self.lines.insert(format!("{path} mod"));
                        self.walk_module(module, &path);
                    }
                    (NameTarget::Item(module, item), Some(name)) => {
                        let own = name_of(item).map(ToString::to_string).unwrap_or_default();
                        let path = format!("{}::{name}", import.at);
                        self.tell_named_item(item, &path, (module, own));
                    }
                    (NameTarget::Made(module, own), Some(name)) => {
                        self.tell_made_item((module, own), &format!("{}::{name}", import.at));
                    }
                    (NameTarget::Outside(other), Some(name)) => {
                        self.lines.insert(format!("{}::{name} is {other}", import.at));
                    }
                    (NameTarget::Outside(other), None) => {
                        self.lines.insert(format!("{}::* is {other}::*", import.at));
                    }
                    (NameTarget::Item(..) | NameTarget::Made(..), None) => (),
                }
            }
        }
    }

    fn tell_made_item(&mut self, key: ItemKey, path: &str) {
        if let Some(first) = self.paths.get(&key) {
            if first != path {
                self.lines.insert(format!("{path} is {first}"));
            }
            return;
        }
        for item in &self.modules.modules[key.0].items {
            if makes_name(item, &key.1) {
                self.lines.extend(item_lines(item, path));
            }
        }
        self.paths.insert(key, path.to_owned());
    }

    fn add_implementations(&mut self) {
        for module in 0..self.modules.modules.len() {
            for item in self.modules.modules[module].items.clone() {
                let Item::Impl(implementation) = item else { continue };
                let Some(path) = self.public_type(module, implementation) else { continue };
                match &implementation.trait_ {
                    None => self.lines.extend(method_lines(implementation, &path)),
                    Some((_, of, _)) if self.is_public_trait(module, of) => {
                        let name = of.segments.last().map(short_text);
                        self.traits.entry(path).or_default().extend(name);
                    }
                    Some(_) => (),
                }
            }
        }
    }

    /// The public path of the type that an `impl` is for.
    fn public_type(&self, module: usize, implementation: &ItemImpl) -> Option<String> {
        let Type::Path(ty) = &*implementation.self_ty else { return None };
        let path = path_names(&ty.path);
        let keys = self.modules.resolve_path(module, &path).into_iter().filter_map(key_of);
        let known = keys.filter_map(|key| self.paths.get(&key).cloned()).next();
        known.or_else(|| {
            // What a macro makes in a module that is public bears its name there.
            let [name] = path.as_slice() else { return None };
            self.made_in_public(module, name)
        })
    }

    fn made_in_public(&self, module: usize, name: &str) -> Option<String> {
        let made = self.modules.modules[module].items.iter().any(|item| makes_name(item, name));
        let (_, at) = self.walked.iter().find(|(walked, _)| made && *walked == module)?;
        Some(format!("{at}::{name}"))
    }

    fn is_public_trait(&self, module: usize, of: &Path) -> bool {
        self.modules.resolve_path(module, &path_names(of)).into_iter().any(|target| match target {
            NameTarget::Outside(_) => true,
            other => key_of(other).is_some_and(|key| self.paths.contains_key(&key)),
        })
    }
}

fn key_of(target: NameTarget<'_>) -> Option<ItemKey> {
    match target {
        NameTarget::Item(module, item) => Some((module, name_of(item)?.to_string())),
        NameTarget::Made(module, name) => Some((module, name)),
        NameTarget::Module(_) | NameTarget::Outside(_) => None,
    }
}

fn path_names(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn is_public_item(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(it) => &it.vis,
        Item::Enum(it) => &it.vis,
        Item::Fn(it) => &it.vis,
        Item::Static(it) => &it.vis,
        Item::Struct(it) => &it.vis,
        Item::Trait(it) => &it.vis,
        Item::TraitAlias(it) => &it.vis,
        Item::Type(it) => &it.vis,
        Item::Union(it) => &it.vis,
        _ => return false,
    };
    is_public(visibility)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree;

    fn surface_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("crates/weir-core/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        surface_lines(&tree::of(&files), "weir-core").into_iter().collect()
    }

    #[test]
    fn what_everybody_can_name_is_told_once_under_its_path() {
        let lines = surface_of(&[
            ("lib.rs", "pub mod open; mod shut; pub use shut::Shown; pub use open::Thing;"),
            (
                "open.rs",
                "#[derive(Clone, Debug)] pub struct Thing { a: u8 } impl Thing { pub fn look(&self) {} \
                 fn own(&self) {} } pub(crate) struct Inner; #[cfg(test)] pub fn test_only() {}",
            ),
            (
                "shut.rs",
                "pub struct Shown; pub struct Hidden; trait Own {} impl Own for Shown {} \
                 impl std::fmt::Display for Shown {} use super::open::Thing; \
                 impl Thing { pub fn turn(self) {} }",
            ),
        ]);
        assert_eq!(
            lines,
            [
                "weir_core::Shown impls Display",
                "weir_core::Shown struct, 0 fields, all public",
                "weir_core::Thing is weir_core::open::Thing",
                "weir_core::open mod",
                "weir_core::open::Thing impls Clone, Debug",
                "weir_core::open::Thing struct",
                "weir_core::open::Thing::look fn(&self)",
                "weir_core::open::Thing::turn fn(self)",
            ]
        );
    }

    #[test]
    fn globs_other_crates_and_what_macros_make_are_told() {
        let lines = surface_of(&[
            ("lib.rs", "mod parts; pub use parts::*; pub use serde::Serialize;"),
            ("parts.rs", "mod name; pub use name::Name; pub const MAX: usize = 3;"),
            (
                "parts/name.rs",
                "make_names! { pub enum Name { A = \"a\" } } impl Name { pub fn f() {} }",
            ),
        ]);
        assert_eq!(
            lines,
            [
                "weir_core::MAX const: usize",
                "weir_core::Name by make_names!: pub enum Name",
                "weir_core::Name by make_names!: pub enum Name { A = \"a\" }",
                "weir_core::Name::f fn()",
                "weir_core::Serialize is serde::Serialize",
            ]
        );
    }
}
