//! Which crate may depend on which: the borders of the house, from cargo's own metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, Package};

use super::{Finding, line_of};
use crate::programs::locked_metadata;

/// What one crate may use.
struct Border {
    krate: &'static str,
    /// Crates of ours.
    ours: &'static [&'static str],
    /// Crates of others that it must not name.
    never: &'static [&'static str],
    /// The only crates of others that it may name; empty: any that is not in `never`.
    only: &'static [&'static str],
}

const HTTP: &[&str] =
    &["reqwest", "hyper", "axum", "sqlx", "rusqlite", "git2", "crossterm", "ratatui"];

/// The table. A crate that is not in it may not be in the workspace.
const BORDERS: &[Border] = &[
    Border {
        krate: "weir-core",
        ours: &[],
        never: &[],
        only: &["serde", "serde_json", "thiserror", "jiff", "globset", "schemars", "sha2"],
    },
    Border { krate: "weir-engine", ours: &["weir-core", "weir-meaning"], never: HTTP, only: &[] },
    Border {
        krate: "weir-providers",
        ours: &["weir-core", "weir-engine"],
        never: &["axum", "sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    // Not the product's way to vendors, so it may serve; it never connects.
    Border {
        krate: "weir-scripted-model",
        ours: &["weir-core", "weir-engine", "weir-providers"],
        never: &["reqwest", "sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    Border {
        krate: "weir-tools",
        ours: &["weir-core", "weir-engine", "weir-notes"],
        never: HTTP,
        only: &[],
    },
    Border {
        krate: "weir-store",
        ours: &["weir-core", "weir-engine"],
        never: &["reqwest", "axum", "crossterm", "ratatui"],
        only: &[],
    },
    Border {
        krate: "weir-sandbox",
        ours: &["weir-core", "weir-engine", "weir-seccomp-notify"],
        never: HTTP,
        only: &[],
    },
    // The one crate with unsafe code: so little that it can be read in one sitting.
    Border { krate: "weir-seccomp-notify", ours: &[], never: &[], only: &["libc"] },
    Border {
        krate: "weir-web",
        ours: &["weir-core", "weir-engine"],
        never: &["sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    Border {
        krate: "weir-mcp",
        ours: &["weir-core", "weir-engine"],
        never: &["sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    Border {
        krate: "weir-mail",
        ours: &["weir-core", "weir-engine"],
        never: &["sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    // The installation: it prints nothing, serves nothing and knows no command line.
    Border {
        krate: "weir-install",
        ours: &[
            "weir-core",
            "weir-documents",
            "weir-engine",
            "weir-mcp",
            "weir-mcp-server",
            "weir-meaning",
            "weir-notes",
            "weir-providers",
            "weir-scripted-model",
            "weir-tools",
            "weir-mail",
            "weir-script",
            "weir-store",
            "weir-sandbox",
            "weir-web",
        ],
        never: &[
            "clap",
            "axum",
            "hyper",
            "reqwest",
            "sqlx",
            "rusqlite",
            "git2",
            "crossterm",
            "ratatui",
        ],
        only: &[],
    },
    Border {
        krate: "weir-server",
        ours: &["weir-core", "weir-engine", "weir-highlight", "weir-install", "weir-mcp-server"],
        never: &["sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    Border {
        krate: "weir-tui",
        ours: &["weir-core", "weir-highlight"],
        never: &["reqwest", "axum", "sqlx", "rusqlite", "git2"],
        only: &[],
    },
    // It serves the face and prints nothing; it knows no command line.
    Border {
        krate: "weir-terminal",
        ours: &[
            "weir-core",
            "weir-engine",
            "weir-install",
            "weir-providers",
            "weir-store",
            "weir-tui",
        ],
        never: &["clap", "axum", "sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    // One more face on the link: it knows no engine, no command line and no screen.
    Border {
        krate: "weir-acp",
        ours: &["weir-core", "weir-engine", "weir-install", "weir-terminal", "weir-tui"],
        never: &["clap", "axum", "reqwest", "sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    // The protocol's server side alone: what is behind its port it does not know.
    Border {
        krate: "weir-mcp-server",
        ours: &[],
        never: &["clap", "axum", "reqwest", "sqlx", "rusqlite", "git2", "crossterm", "ratatui"],
        only: &[],
    },
    Border { krate: "weir-script", ours: &["weir-engine", "weir-sandbox"], never: HTTP, only: &[] },
    Border { krate: "weir-documents", ours: &["weir-core"], never: HTTP, only: &[] },
    // Passages, words and vectors: pure.
    Border { krate: "weir-meaning", ours: &[], never: HTTP, only: &[] },
    // What each word of code is: pure, and the one crate that knows languages.
    Border { krate: "weir-highlight", ours: &[], never: HTTP, only: &["syntect"] },
    // Pure rules about notes.
    Border { krate: "weir-notes", ours: &[], never: HTTP, only: &[] },
    Border {
        krate: "weir-scenario",
        ours: &[
            "weir-core",
            "weir-documents",
            "weir-engine",
            "weir-providers",
            "weir-tools",
            "weir-mail",
            "weir-script",
            "weir-scripted-model",
            "weir-server",
            "weir-store",
            "weir-test-kit",
        ],
        never: &["reqwest"],
        only: &[],
    },
    // It sees the program from outside, so that the tests of every crate may use it.
    Border { krate: "weir-test-kit", ours: &[], never: &["axum", "git2"], only: &[] },
    Border {
        krate: "weir",
        ours: &[
            "weir-acp",
            "weir-core",
            "weir-engine",
            "weir-install",
            "weir-mcp",
            "weir-mcp-server",
            "weir-providers",
            "weir-tools",
            "weir-script",
            "weir-scripted-model",
            "weir-server",
            "weir-store",
            "weir-sandbox",
            "weir-terminal",
            "weir-tui",
        ],
        never: &[],
        only: &[],
    },
    Border {
        krate: "weir-fuzz",
        ours: &[
            "weir-acp",
            "weir-core",
            "weir-documents",
            "weir-engine",
            "weir-notes",
            "weir-providers",
            "weir-scripted-model",
            "weir-server",
            "weir-tools",
            "weir-web",
        ],
        never: HTTP,
        only: &[],
    },
    Border {
        krate: "weir-redteam",
        ours: &[
            "weir-core",
            "weir-engine",
            "weir-install",
            "weir-mcp",
            "weir-mcp-server",
            "weir-providers",
            "weir-tools",
            "weir-store",
            "weir-script",
            "weir-server",
            "weir-sandbox",
            "weir-web",
        ],
        never: &["reqwest"],
        only: &[],
    },
    // Its load bench opens thousands of sockets at once; everything else there is plain code.
    Border { krate: "xtask", ours: &[], never: &["reqwest"], only: &[] },
];

/// Crates that may not be anywhere below ours: a second TLS stack, or one that needs C's.
const BANNED: &[(&str, &str)] = &[
    ("aws-lc-rs", "ring is the one provider of rustls: use `default-features = false`"),
    ("aws-lc-sys", "ring is the one provider of rustls: use `default-features = false`"),
    ("openssl-sys", "rustls is the one TLS stack"),
    ("native-tls", "rustls is the one TLS stack"),
];

/// Crates of which there may be one: two SQLites in one program, and one of them is the wrong one.
const ALONE: &[&str] = &["libsqlite3-sys"];

/// Crates that make the core impure, even through others.
const IMPURE: &[&str] =
    &["tokio", "reqwest", "hyper", "sqlx", "rusqlite", "rand", "mio", "async-std"];

/// What crosses a border.
///
/// # Errors
/// Cargo cannot say what the workspace is.
pub(super) fn findings(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let metadata = locked_metadata(root, &[])?;
    let mut found = Vec::new();
    for package in metadata.workspace_packages() {
        let manifest = package.manifest_path.as_std_path();
        let path = manifest.strip_prefix(root).unwrap_or(manifest).display().to_string();
        let text = fs::read_to_string(manifest).unwrap_or_default();
        found.extend(borders(package, &path, &text));
    }
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    found.extend(banned(&lock));
    found.extend(doubled(&lock));
    found.extend(impure(&metadata));
    Ok(found)
}

fn borders(package: &Package, path: &str, manifest: &str) -> Vec<Finding> {
    let name = package.name.as_str();
    let Some(border) = BORDERS.iter().find(|border| border.krate == name) else {
        let what = format!("{name} has no row in the table of borders (xtask/src/tidy/crates.rs)");
        return vec![Finding::new("border", (path, 1), what)];
    };
    let mut found = Vec::new();
    for dependency in &package.dependencies {
        let other = dependency.name.as_str();
        let ours = other.starts_with("weir");
        let for_tests = dependency.kind == DependencyKind::Development;
        let allowed = match (ours, for_tests) {
            (true, _) => {
                let for_all = ["weir-scenario", "weir-fuzz", "weir-test-kit"].contains(&other);
                // The examples of the engine run one: over a store and a model, with tools.
                let for_example = name == "weir-engine"
                    && ["weir-store", "weir-scripted-model", "weir-tools"].contains(&other);
                // The cases of documents are read back by the readers themselves.
                let for_cases = name == "weir-tools" && other == "weir-documents";
                // Its tests ask a model that counts connections, and look into its files.
                let for_server =
                    name == "weir-server" && ["weir-store", "weir-scripted-model"].contains(&other);
                let tried = for_all || for_example || for_cases || for_server;
                border.ours.contains(&other) || (for_tests && tried)
            }
            (false, true) => true,
            (false, false) => {
                !border.never.contains(&other)
                    && (border.only.is_empty() || border.only.contains(&other))
            }
        };
        if !allowed {
            let what =
                format!("{name} must not depend on {other}: do it behind a port of the engine");
            let line = line_of(manifest, other);
            found.push(Finding::new("border", (path, line), what));
        }
    }
    found
}

/// Banned crates in the lock file.
fn banned(lock: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, why) in BANNED {
        let entry = format!("name = \"{name}\"");
        if lock.lines().any(|line| line == entry) {
            let what = format!("{name} is pulled in: {why} (`cargo tree -i {name}` says by whom)");
            found.push(Finding::new("border", ("Cargo.lock", line_of(lock, &entry)), what));
        }
    }
    found
}

/// Crates that stand in the lock file in more than one version although there may be one.
fn doubled(lock: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in ALONE {
        let entry = format!("name = \"{name}\"");
        let places = lock.lines().enumerate().filter(|(_, line)| *line == entry);
        for (at, _) in places.skip(1) {
            let what = format!(
                "{name} is there twice: take versions of what needs it that agree (`cargo tree -i \
                 {name}` says who does)"
            );
            found.push(Finding::new("border", ("Cargo.lock", at + 1), what));
        }
    }
    found
}

/// What the core pulls in through others.
fn impure(metadata: &Metadata) -> Vec<Finding> {
    let Some(resolve) = &metadata.resolve else { return Vec::new() };
    let normal: BTreeMap<_, Vec<_>> = resolve
        .nodes
        .iter()
        .map(|node| {
            let normal = node.deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            });
            (&node.id, normal.map(|dependency| &dependency.pkg).collect())
        })
        .collect();
    let core = metadata.packages.iter().find(|package| package.name.as_str() == "weir-core");
    let mut open: Vec<_> = core.map(|package| &package.id).into_iter().collect();
    let mut seen: BTreeSet<_> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        for next in normal.get(id).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    let names = metadata.packages.iter().filter(|package| seen.contains(&package.id));
    names
        .filter(|package| IMPURE.contains(&package.name.as_str()))
        .map(|package| {
            let what = format!("weir-core pulls in {} through another crate", package.name);
            Finding::new("border", ("crates/weir-core/Cargo.toml", 1), what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_tls_stack_is_found() {
        let lock = "[[package]]\nname = \"ring\"\n\n[[package]]\nname = \"aws-lc-rs\"\n";
        let found = banned(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 5);
        assert!(banned("name = \"ring\"\n").is_empty());
    }

    #[test]
    fn a_second_sqlite_is_found() {
        let once = "[[package]]\nname = \"libsqlite3-sys\"\nversion = \"0.37.0\"\n";
        assert!(doubled(once).is_empty());
        let twice = format!("{once}\n[[package]]\nname = \"libsqlite3-sys\"\n");
        let found = doubled(&twice);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 6);
    }
}
