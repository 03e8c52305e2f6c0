//! What a crate must not import, by reading its sources: things that its dependencies would let it.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemMod, ItemUse, Macro, UseTree};

use super::Finding;
use super::tree::{Source, Tree, is_for_tests, item_attrs};

/// One thing that must not be named.
struct Ban {
    krate: &'static str,
    /// Beginning of the path inside the crate.
    under: &'static str,
    path: &'static str,
    /// Paths below it that may be named.
    except: &'static [&'static str],
    instead: &'static str,
}

const fn ban(krate: &'static str, path: &'static str, instead: &'static str) -> Ban {
    Ban { krate, under: "src/", path, except: &[], instead }
}

const PURE: &str = "the core is pure: the engine looks, and hands the answer in";
const NO_OUTPUT: &str = "the installation prints nothing: it returns text, or tells its notifier";
const HANDLE: &str = "tools reach the world through the handles of their context";

/// The table.
const BANS: &[Ban] = &[
    ban("weir-core", "std::fs", PURE),
    ban("weir-core", "std::net", PURE),
    ban("weir-core", "std::env", PURE),
    ban("weir-core", "std::process", PURE),
    ban("weir-core", "std::thread", PURE),
    ban("weir-core", "std::time", PURE),
    ban("weir-core", "std::os", PURE),
    ban("weir-core", "jiff::Timestamp::now", PURE),
    ban("weir-core", "jiff::Zoned::now", PURE),
    ban("weir-core", "Zoned::now", PURE),
    ban("weir-core", "SystemTime", PURE),
    ban("weir-core", "Instant", PURE),
    ban("weir-core", "rand", PURE),
    ban("weir-core", "tokio", PURE),
    ban("weir-tools", "std::process", HANDLE),
    ban("weir-tools", "tokio::process", HANDLE),
    ban("weir-tools", "tokio::fs", HANDLE),
    ban("weir-tools", "std::net", HANDLE),
    ban("weir-tools", "tokio::net", HANDLE),
    ban("weir-tools", "std::env", HANDLE),
    ban("weir-tools", "reqwest", HANDLE),
    ban("weir-tools", "File::open", HANDLE),
    ban("weir-tools", "File::create", HANDLE),
    ban("weir-tools", "File::options", HANDLE),
    ban("weir-install", "clap", "flags are the program's"),
    ban("weir-install", "std::io::stderr", NO_OUTPUT),
    ban("weir-install", "io::stderr", NO_OUTPUT),
    Ban {
        krate: "weir-tools",
        under: "src/",
        path: "std::fs",
        except: &["std::fs::File"],
        instead: HANDLE,
    },
    Ban {
        krate: "weir-providers",
        under: "src/dialect",
        path: "reqwest",
        except: &[],
        instead: "a codec turns values into bytes; `transport` sends them",
    },
    Ban {
        krate: "weir-providers",
        under: "src/dialect",
        path: "crate::transport",
        except: &[],
        instead: "a codec turns values into bytes; `transport` sends them",
    },
    ban("weir-engine", "reqwest", "the engine reaches the network through a port"),
    ban("weir-engine", "sqlx", "the engine reaches the journal through a port"),
    ban("weir-engine", "rusqlite", "the engine reaches the journal through a port"),
    ban("weir-store", "weir_core::event", "the store knows a fact's envelope, not its meaning"),
    ban("weir-store", "weir_core::session", "the store knows a fact's envelope, not its meaning"),
];

/// Every place where something banned is named.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.for_tests) {
        let bans: Vec<&Ban> = BANS
            .iter()
            .filter(|ban| ban.krate == source.krate && source.inside().starts_with(ban.under))
            .collect();
        if bans.is_empty() {
            continue;
        }
        for name in names(source) {
            for ban in &bans {
                if ban.forbids(&name.path) {
                    let what = format!("{} is not for {}: {}", name.path, ban.krate, ban.instead);
                    found.push(Finding::new("import", (&source.path, name.line), what));
                }
            }
        }
    }
    found
}

impl Ban {
    fn forbids(&self, path: &str) -> bool {
        begins(path, self.path) && !self.except.iter().any(|except| begins(path, except))
    }
}

/// Whether `path` is `start` or lies below it.
fn begins(path: &str, start: &str) -> bool {
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A path that a source names.
pub(crate) struct Name {
    pub(crate) path: String,
    pub(crate) line: usize,
    /// What an import calls it here: the last part, or what stands behind `as`.
    pub(crate) import: Option<String>,
    /// The modules around it that are written out in this source.
    pub(crate) modules: Vec<String>,
}

/// All paths in a source, those of its tests left out.
pub(crate) fn names(source: &Source) -> Vec<Name> {
    let mut names = Names::default();
    names.visit_file(&source.syntax);
    names.found
}

#[derive(Default)]
struct Names {
    found: Vec<Name>,
    modules: Vec<String>,
}

impl Names {
    fn add(&mut self, path: String, line: usize, import: Option<String>) {
        self.found.push(Name { path, line, import, modules: self.modules.clone() });
    }

    fn imports(&mut self, tree: &UseTree, before: &str) {
        let below = |ident: &dyn std::fmt::Display| match before {
            "" => ident.to_string(),
            _ => format!("{before}::{ident}"),
        };
        match tree {
            UseTree::Path(path) => self.imports(&path.tree, &below(&path.ident)),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.imports(tree, before);
                }
            }
            UseTree::Name(name) if name.ident == "self" => {
                let last = before.rsplit("::").next().map(str::to_owned);
                self.add(before.to_owned(), name.ident.span().start().line, last);
            }
            UseTree::Name(name) => {
                let line = name.ident.span().start().line;
                self.add(below(&name.ident), line, Some(name.ident.to_string()));
            }
            UseTree::Rename(name) => {
                let line = name.ident.span().start().line;
                self.add(below(&name.ident), line, Some(name.rename.to_string()));
            }
            UseTree::Glob(star) => {
                self.add(before.to_owned(), star.star_token.spans[0].start().line, None);
            }
        }
    }

    /// Paths in the input of a macro, which is not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons < 2 {
                        self.end(&mut path, line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end(&mut path, line);
                    self.tokens(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.end(&mut path, line);
                    colons = 0;
                }
            }
        }
        self.end(&mut path, line);
    }

    fn end(&mut self, path: &mut Vec<String>, line: usize) {
        if path.len() > 1 {
            self.add(path.join("::"), line, None);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(item_attrs(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.modules.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.modules.pop();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.imports(&item.tree, "");
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let (Some(first), true) = (path.segments.first(), segments.len() > 1) {
            let line = first.ident.span().start().line;
            self.add(segments.join("::"), line, None);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        findings(&tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn forbidden_imports_are_found_in_groups_paths_and_macros() {
        let path = "crates/weir-core/src/session.rs";
        assert_eq!(lines(path, "use std::{fmt, fs};"), [1]);
        assert_eq!(lines(path, "fn f() {\n    std::fs::read(\"x\");\n}"), [2]);
        assert_eq!(lines(path, "fn f() {\n    print!(\"{}\", std::env::var(\"X\"));\n}"), [2]);
        assert!(lines(path, "use std::fmt;\nuse std::collections::HashMap;").is_empty());
        assert!(lines(path, "#[cfg(test)]\nmod tests {\n    use std::fs;\n}").is_empty());
        assert!(lines("crates/weir-engine/src/x.rs", "use std::fs;").is_empty());
    }

    #[test]
    fn exceptions_and_folders_are_heeded() {
        assert!(lines("crates/weir-tools/src/glob.rs", "use std::fs::File;").is_empty());
        assert_eq!(lines("crates/weir-tools/src/glob.rs", "use std::fs::read;"), [1]);
        assert_eq!(lines("crates/weir-providers/src/dialect/x.rs", "use reqwest::Client;"), [1]);
        assert!(lines("crates/weir-providers/src/transport.rs", "use reqwest::Client;").is_empty());
    }

    #[test]
    fn modules_that_are_declared_for_tests_are_left_alone() {
        let files = [
            ("crates/weir-core/src/gate.rs", "#[cfg(test)]\nmod tests;"),
            ("crates/weir-core/src/gate/tests.rs", "use std::fs;"),
        ];
        assert!(findings(&tree::of(&files)).is_empty());
    }
}
