//! The modules of one crate with their items, as files and `mod` lines make them. Not here: what a
//! name means in a module (`names`).

use std::collections::BTreeMap;

use syn::{Item, ItemMod, Visibility};

use crate::tidy::tree::{Source, Tree, is_for_tests, item_attrs};

/// One module.
pub(super) struct ModuleNode<'t> {
    pub(super) parent: Option<usize>,
    /// Its items, without those for tests.
    pub(super) items: Vec<&'t Item>,
    pub(super) children: BTreeMap<String, usize>,
}

/// All modules of a crate; the first is its root.
pub(super) struct CrateTree<'t> {
    pub(super) modules: Vec<ModuleNode<'t>>,
}

/// Where a module's own files lie, and who is above it.
struct Spot {
    parent: Option<usize>,
    folder: String,
}

impl<'t> CrateTree<'t> {
    /// The modules of `krate`; none where it has no library.
    pub(super) fn of(tree: &'t Tree, krate: &str) -> CrateTree<'t> {
        let below = format!("crates/{krate}/src/");
        let sources = tree.sources.iter().filter(|source| source.path.starts_with(&below));
        let files: BTreeMap<&str, &'t Source> =
            sources.map(|source| (&source.path[below.len()..], source)).collect();
        let mut made = CrateTree { modules: Vec::new() };
        if let Some(root) = files.get("lib.rs") {
            let spot = Spot { parent: None, folder: String::new() };
            made.add_module(&files, &root.syntax.items, &spot);
        }
        made
    }

    fn add_module(
        &mut self,
        files: &BTreeMap<&str, &'t Source>,
        items: &'t [Item],
        spot: &Spot,
    ) -> usize {
        let index = self.modules.len();
        let kept = items.iter().filter(|item| !is_for_tests(item_attrs(item)));
        let kept: Vec<&'t Item> = kept.collect();
        let (parent, children) = (spot.parent, BTreeMap::new());
        self.modules.push(ModuleNode { parent, items: kept.clone(), children });
        for item in kept {
            let Item::Mod(ItemMod { ident, content, .. }) = item else { continue };
            let name = ident.to_string();
            let inner: &'t [Item] = match content {
                Some((_, items)) => items,
                None => match files.get(format!("{}{name}.rs", spot.folder).as_str()) {
                    Some(source) => &source.syntax.items,
                    None => continue,
                },
            };
            let below = Spot { parent: Some(index), folder: format!("{}{name}/", spot.folder) };
            let child = self.add_module(files, inner, &below);
            self.modules[index].children.insert(name, child);
        }
        index
    }
}

/// Whether everybody can see an item of this visibility.
pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}
