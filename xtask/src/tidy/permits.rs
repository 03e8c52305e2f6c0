//! G1 in the sources: tools are made in one crate, and permits in one place.

use syn::visit::{self, Visit};
use syn::{Item, ItemImpl, ItemMod};

use super::Finding;
use super::imports::names;
use super::tree::{Source, Tree, is_for_tests};

/// Where something that runs calls may be implemented: the tools, what stands for a foreign one, and
/// the stand-ins of scenarios and of the hostile bench.
const TOOL_CRATES: &[&str] = &["weir-tools", "weir-mcp", "weir-scenario", "weir-redteam"];
/// Where the tools of other people's programs are shown, which are no part of Weir.
const EXAMPLES: &str = "examples/";
/// The only sources that may make a permit.
const PERMIT_PLACES: &[&str] =
    &["crates/weir-core/src/governance.rs", "crates/weir-core/src/session.rs"];

/// Tools and permits outside their place.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.for_tests) {
        let is_example = source.inside().starts_with(EXAMPLES);
        if !is_example && !TOOL_CRATES.contains(&source.krate.as_str()) {
            for line in impls_of(source, "Tool") {
                let what = "a Tool is implemented outside weir-tools: move it there (G1)";
                found.push(Finding::new("permit", (&source.path, line), what));
            }
        }
        let place = PERMIT_PLACES.contains(&source.path.as_str())
            || source.path.starts_with("crates/weir-core/src/session/");
        let minted = names(source).into_iter().filter(|name| name.path.ends_with("Permit::mint"));
        for name in minted.filter(|_| !place) {
            let what = "a permit is made outside the session: only governance may (G1)";
            found.push(Finding::new("permit", (&source.path, name.line), what));
        }
    }
    found
}

/// Lines of the `impl NAME for …` of a source.
pub(super) fn impls_of(source: &Source, name: &str) -> Vec<usize> {
    implementors(source, name).into_iter().map(|(_, line)| line).collect()
}

/// Types that implement the trait `name` in a source, with their lines.
pub(super) fn implementors(source: &Source, name: &str) -> Vec<(String, usize)> {
    let mut impls = Impls { name, found: Vec::new() };
    impls.visit_file(&source.syntax);
    impls.found
}

struct Impls<'a> {
    name: &'a str,
    found: Vec<(String, usize)>,
}

impl<'ast> Visit<'ast> for Impls<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Mod(ItemMod { attrs, .. }) = item
            && is_for_tests(attrs)
        {
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if let Some((_, path, _)) = &item.trait_
            && path.segments.last().is_some_and(|last| last.ident == self.name)
            && let syn::Type::Path(own) = &*item.self_ty
            && let Some(own) = own.path.segments.last()
        {
            self.found.push((own.ident.to_string(), item.impl_token.span.start().line));
        }
        visit::visit_item_impl(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        findings(&tree::of(&[(path, text)])).len()
    }

    #[test]
    fn g1_tools_and_permits_have_their_place() {
        let tool = "impl weir_engine::ports::Tool for Hammer {}";
        assert_eq!(count("crates/weir-engine/src/x.rs", tool), 1);
        assert_eq!(count("crates/weir-tools/src/x.rs", tool), 0);
        assert_eq!(count("crates/weir-engine/tests/it/x.rs", tool), 0);
        let mint = "fn f() { let p = Permit::mint(1); }";
        assert_eq!(count("crates/weir-core/src/view.rs", mint), 1);
        assert_eq!(count("crates/weir-core/src/session.rs", mint), 0);
    }
}
