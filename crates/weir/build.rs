//! Tells a release build of which commit it is, for `weir --version`, and the linker in which order the
//! functions lie. A debug build is told neither: it would be built anew with every commit. Without git, or
//! from an archive, the version stands alone. A static program is told how large the stacks of threads are
//! that C starts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The one system for which there are lists of functions.
const ORDERED_TARGET: &str = "x86_64-unknown-linux-gnu";
/// The stack of a thread that C starts in a static program, in bytes: as Rust's own threads have. musl
/// reads it from the program's headers; else it were 128 kB, where the usual C library has 8 MB. Nothing
/// here starts such threads unasked: libgit2 could, to pack objects.
const C_STACK_BYTES: u32 = 2 << 20;
/// Builds that people run.
const RUN_PROFILES: [&str; 2] = ["release", "dist"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    // By the profile's name: for `PROFILE` all that do not inherit from `release` are debug builds.
    let profile = profile().filter(|profile| RUN_PROFILES.contains(&profile.as_str()));
    let commit = profile.as_ref().and_then(|_| commit());
    let full = commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=WEIR_VERSION={full}");
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|library| library == "musl") {
        println!("cargo:rustc-link-arg-bin=weir=-Wl,-z,stack-size={C_STACK_BYTES}");
    }
    if let Some(profile) = profile {
        order_functions(&profile);
    }
}

/// Lays functions that every run needs side by side (Q5), where there is a list for this build and a linker
/// that takes it. A list that is older than the code does no harm: unknown names are passed over.
fn order_functions(profile: &str) {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let list = own.join("order").join(format!("{profile}.txt"));
    let is_for_target = std::env::var("TARGET").is_ok_and(|target| target == ORDERED_TARGET);
    if !is_for_target || !list.is_file() {
        return;
    }
    println!("cargo:rerun-if-changed={}", list.display());
    let words = [
        format!("-Wl,--symbol-ordering-file={}", list.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if linker_takes(&words) {
        for word in words {
            println!("cargo:rustc-link-arg-bin=weir={word}");
        }
    }
}

/// The name of the profile, which cargo says by the place of its output only.
fn profile() -> Option<String> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR")?);
    let folder = out.ancestors().find(|folder| folder.ends_with("build"))?.parent()?;
    Some(folder.file_name()?.to_str()?.to_owned())
}

/// Whether a program can be linked with these words: GNU's linker, which some builds of Rust use, cannot.
fn linker_takes(words: &[String]) -> bool {
    let (Some(rustc), Some(out)) = (std::env::var_os("RUSTC"), std::env::var_os("OUT_DIR")) else {
        return false;
    };
    let source = Path::new(&out).join("empty.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    command.arg("--out-dir").arg(&out).arg(&source).args(["--target", ORDERED_TARGET]);
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Some(linker) = std::env::var_os("RUSTC_LINKER") {
        let mut flag = std::ffi::OsString::from("-Clinker=");
        flag.push(linker);
        command.arg(flag);
    }
    command.args(words.iter().map(|word| format!("-Clink-arg={word}")));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
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
