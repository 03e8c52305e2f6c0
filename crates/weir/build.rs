//! Tells a release build of which commit it is, for `weir --version`. A debug build is not told: it would be
//! built anew with every commit. Without git, or from an archive, the version stands alone.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let commit = if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        commit()
    } else {
        None
    };
    let full = commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=WEIR_VERSION={full}");
}

/// The commit and its day, of this repository and of no other around it.
fn commit() -> Option<String> {
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&head).exists() {
        println!("cargo:rerun-if-changed={head}");
    }
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["log", "-1", "--format=%h %cs"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
