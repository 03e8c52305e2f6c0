//! What a program was built from, as a CycloneDX list: every crate that is compiled into it or helps
//! to compile it, with its licence, the sum of its source, and what it depends on. Cargo says all of it.
//! Not here: crates of tests only, and the C sources inside of crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Release;
use crate::programs::{locked_metadata, text_of};

/// What cargo calls the system of the program that needs its C library.
pub(super) const TARGET: &str = "x86_64-unknown-linux-gnu";
const PROGRAM: &str = "weir";

/// Writes the list of a program that was built for `target`, under the name of its archive's folder.
pub(super) fn write(release: &Release, target: &str, folder: &str) -> anyhow::Result<()> {
    let (metadata, lock) = read_sources(&release.root, target)?;
    let mut date = release.command("date");
    let time =
        text_of(date.args(["-u", "-d", &format!("@{}", release.epoch), "+%Y-%m-%dT%H:%M:%SZ"]))?;
    let list = list(&metadata, &lock, time.trim())?;
    let text = serde_json::to_string_pretty(&list).context("the list as JSON")?;
    let name = format!("{folder}.cdx.json");
    fs::write(release.out.join(&name), text + "\n").context(name)
}

/// What cargo says of the crates, and what stands in the lock file.
fn read_sources(root: &Path, target: &str) -> anyhow::Result<(Metadata, Lock)> {
    let metadata = locked_metadata(root, &[&format!("--filter-platform={target}")])?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock")?;
    Ok((metadata, toml::from_str(&lock).context("Cargo.lock")?))
}

/// What is read of `Cargo.lock`: cargo's own answer lacks the sums.
#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

fn list(metadata: &Metadata, lock: &Lock, time: &str) -> anyhow::Result<Value> {
    let program = metadata.workspace_packages().into_iter().find(|package| package.name == PROGRAM);
    let program = program.context("the workspace has the program")?;
    let needs = needs(metadata, &program.id)?;
    let sums: BTreeMap<(&str, &str), &str> = lock
        .package
        .iter()
        .filter_map(|p| Some(((p.name.as_str(), p.version.as_str()), p.checksum.as_deref()?)))
        .collect();
    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    for (id, below) in &needs {
        let package = &metadata[*id];
        let mut refs: Vec<String> = below.iter().map(|id| purl(&metadata[*id])).collect();
        refs.sort();
        dependencies.insert(purl(package), json!({"ref": purl(package), "dependsOn": refs}));
        if package.id != program.id {
            components.insert(purl(package), component("library", package, &sums));
        }
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": time, "component": component("application", program, &sums) },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

/// What each crate needs, from the program on: not what only its tests need.
fn needs<'a>(
    metadata: &'a Metadata,
    program: &'a PackageId,
) -> anyhow::Result<BTreeMap<&'a PackageId, BTreeSet<&'a PackageId>>> {
    let graph = metadata.resolve.as_ref().context("cargo tells what depends on what")?;
    let nodes: BTreeMap<_, _> = graph.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut found = BTreeMap::new();
    let mut left = vec![program];
    while let Some(id) = left.pop() {
        if found.contains_key(id) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("cargo tells nothing of {id}"))?;
        let built = node.deps.iter().filter(|dep| {
            dep.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
        });
        let below: BTreeSet<&PackageId> = built.map(|dep| &dep.pkg).collect();
        left.extend(&below);
        found.insert(id, below);
    }
    Ok(found)
}

fn component(kind: &str, package: &Package, sums: &BTreeMap<(&str, &str), &str>) -> Value {
    let version = package.version.to_string();
    let mut made = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": package.name.as_str(),
        "version": version,
        "purl": purl(package),
    });
    if let Some(sum) = sums.get(&(package.name.as_str(), version.as_str())) {
        made["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    if let Some(license) = &package.license {
        // Old crates write a slash for "or".
        let expression = license.replace(" / ", " OR ").replace('/', " OR ");
        made["licenses"] = json!([{"expression": expression}]);
    }
    made
}

/// A crate's name for programs that look for known holes.
fn purl(package: &Package) -> String {
    let version = package.version.to_string().replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", package.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_what_is_built_in_and_no_tests() {
        let root = crate::root().expect("the workspace");
        let (metadata, lock) = read_sources(&root, TARGET).expect("cargo answers");
        let made = list(&metadata, &lock, "1970-01-01T00:00:00Z").expect("a list");
        assert_eq!(made["metadata"]["component"]["name"], PROGRAM);
        let components = made["components"].as_array().expect("a list");
        let of = |name: &str| components.iter().find(|made| made["name"] == name);
        assert!(of("weir-test-kit").is_none() && of("proptest").is_none(), "crates of tests");
        let ring = of("ring").expect("it is built in");
        assert_eq!(ring["hashes"][0]["content"].as_str().map(str::len), Some(64));
        assert!(ring["licenses"][0]["expression"].is_string());
        // Whatever is referred to is in the list.
        let known: BTreeSet<&str> = components
            .iter()
            .chain([&made["metadata"]["component"]])
            .filter_map(|made| made["bom-ref"].as_str())
            .collect();
        for entry in made["dependencies"].as_array().expect("a list") {
            for below in entry["dependsOn"].as_array().expect("a list") {
                assert!(known.contains(below.as_str().expect("a name")), "{below}");
            }
        }
    }

    #[test]
    fn r9_the_list_of_a_static_program_has_its_allocator() {
        let root = crate::root().expect("the workspace");
        let has = |target: &str| {
            let (metadata, lock) = read_sources(&root, target).expect("cargo answers");
            let made = list(&metadata, &lock, "1970-01-01T00:00:00Z").expect("a list");
            let components = made["components"].as_array().expect("a list");
            components.iter().any(|made| made["name"] == "tikv-jemallocator")
        };
        assert!(has("x86_64-unknown-linux-musl") && has("aarch64-unknown-linux-musl"));
        assert!(!has(TARGET), "the usual program has that of its C library");
    }
}
