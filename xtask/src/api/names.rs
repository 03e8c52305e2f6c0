//! What a name means in a module: an item of it, another module, an import, or what a macro made.
//! Not here: names of other crates, which are told as they stand.

use syn::{Ident, Item, UseTree};

use super::modules::CrateTree;
use super::text::has_ident;

/// How many imports are followed for one name.
const STEPS_MAX: usize = 32;

/// What a name leads to.
#[derive(Clone)]
pub(super) enum NameTarget<'t> {
    /// An item of this module.
    Item(usize, &'t Item),
    /// A module.
    Module(usize),
    /// Something that a macro of this module makes under this name.
    Made(usize, String),
    /// Something of another crate.
    Outside(String),
}

/// One name that an import brings.
pub(super) struct ImportedName {
    pub(super) path: Vec<String>,
    /// As what; none: everything in it.
    pub(super) name: Option<String>,
}

/// The names of an import, one by one.
pub(super) fn imported_names(tree: &UseTree) -> Vec<ImportedName> {
    let mut found = Vec::new();
    collect_names(tree, &mut Vec::new(), &mut found);
    found
}

fn collect_names(tree: &UseTree, path: &mut Vec<String>, out: &mut Vec<ImportedName>) {
    let mut leaf = |last: Option<&Ident>, name: Option<&Ident>| {
        let own = last.filter(|last| *last != "self");
        let path: Vec<String> = path.iter().cloned().chain(own.map(ToString::to_string)).collect();
        let name = match name.map(ToString::to_string) {
            Some(name) if name == "self" => path.last().cloned(),
            other => other,
        };
        out.push(ImportedName { path, name });
    };
    match tree {
        UseTree::Name(it) => leaf(Some(&it.ident), Some(&it.ident)),
        UseTree::Rename(it) => leaf(Some(&it.ident), Some(&it.rename)),
        UseTree::Glob(_) => leaf(None, None),
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            collect_names(&it.tree, path, out);
            path.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect_names(tree, path, out);
            }
        }
    }
}

/// The name that an item gives itself.
pub(super) fn name_of(item: &Item) -> Option<&Ident> {
    Some(match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::TraitAlias(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    })
}

impl<'t> CrateTree<'t> {
    /// All that `path` means in the module `from`.
    pub(super) fn resolve_path(&self, from: usize, path: &[String]) -> Vec<NameTarget<'t>> {
        self.follow_path(from, path, STEPS_MAX)
    }

    fn follow_path(&self, from: usize, path: &[String], steps: usize) -> Vec<NameTarget<'t>> {
        let outside = || vec![NameTarget::Outside(path.join("::"))];
        let mut here = vec![NameTarget::Module(from)];
        if steps == 0 {
            return outside();
        }
        for (at, segment) in path.iter().enumerate() {
            let Some(module) = here.iter().find_map(|target| match target {
                NameTarget::Module(module) => Some(*module),
                _ => None,
            }) else {
                return outside();
            };
            here = match segment.as_str() {
                "crate" if at == 0 => vec![NameTarget::Module(0)],
                "self" if at == 0 => continue,
                "super" => match self.modules[module].parent {
                    Some(parent) => vec![NameTarget::Module(parent)],
                    None => return outside(),
                },
                name => self.look_name_up(module, name, steps - 1),
            };
        }
        if here.is_empty() { outside() } else { here }
    }

    /// What `name` means in `module`, by an item of its own before an import.
    fn look_name_up(&self, module: usize, name: &str, steps: usize) -> Vec<NameTarget<'t>> {
        let node = &self.modules[module];
        let mut found: Vec<NameTarget<'t>> =
            node.children.get(name).map(|child| NameTarget::Module(*child)).into_iter().collect();
        let named = node.items.iter().filter(|item| name_of(item).is_some_and(|own| own == name));
        found.extend(named.map(|item| NameTarget::Item(module, item)));
        if !found.is_empty() {
            return found;
        }
        let mut globs = Vec::new();
        for item in &node.items {
            let Item::Use(import) = item else { continue };
            for imported in imported_names(&import.tree) {
                match &imported.name {
                    Some(own) if own == name => {
                        let of_others = imported.path.first().is_some_and(|first| first == name);
                        if !of_others {
                            return self.follow_path(module, &imported.path, steps);
                        }
                    }
                    Some(_) => (),
                    None => globs.push(imported.path),
                }
            }
        }
        if node.items.iter().any(|item| makes_name(item, name)) {
            return vec![NameTarget::Made(module, name.to_owned())];
        }
        for glob in globs {
            for target in self.follow_path(module, &glob, steps) {
                let NameTarget::Module(other) = target else { continue };
                let below = if other == module {
                    Vec::new()
                } else {
                    self.look_name_up(other, name, steps.saturating_sub(1))
                };
                if steps > 0 && !below.is_empty() {
                    return below;
                }
            }
        }
        Vec::new()
    }
}

/// Whether the call of a macro mentions a name: then it may make what bears it.
pub(super) fn makes_name(item: &Item, name: &str) -> bool {
    let Item::Macro(call) = item else { return false };
    call.ident.is_none() && has_ident(&call.mac.tokens, name)
}
