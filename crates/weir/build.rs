//! Tells a release build of which commit it is, for `weir --version`, and the linker in which order the
//! functions lie and how addresses are kept. A debug build is told neither: it would be built anew with every
//! commit. Without git, or from an archive, the version stands alone. A static program is told how large the
//! stacks of threads are that C starts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The one system whose programs are laid out: there are lists of functions for it.
const LAID_OUT_TARGET: &str = "x86_64-unknown-linux-gnu";
/// The stack of a thread that C starts in a static program, in bytes: as Rust's own threads have. musl
/// reads it from the program's headers; else it were 128 kB, where the usual C library has 8 MB. Nothing
/// here starts such threads unasked: libgit2 could, to pack objects.
const C_STACK_BYTES: u32 = 2 << 20;
/// The archive of what unwinds a panic.
const UNWINDER: &str = "libgcc_eh.a";
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
    if let Some(profile) = profile
        && std::env::var("TARGET").is_ok_and(|target| target == LAID_OUT_TARGET)
    {
        order_functions(&profile);
        pack_addresses(&profile);
        bring_unwinder();
    }
}

/// Lays functions that every run needs side by side (Q5), where there is a list for this build and a linker
/// that takes it. A list that is older than the code does no harm: unknown names are passed over.
fn order_functions(profile: &str) {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let list = own.join("order").join(format!("{profile}.txt"));
    if !list.is_file() {
        return;
    }
    println!("cargo:rerun-if-changed={}", list.display());
    let words = [
        format!("-Wl,--symbol-ordering-file={}", list.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if linked_program(&words).is_some() {
        tell_linker(&words);
    }
}

/// Keeps the places that hold an address as a map of bits in place of 24 bytes each, which every start read
/// whole: 3 MB (Q1, Q5). The loader of glibc knows them since 2.36, so what somebody builds for this machine has
/// them where they start; what is handed out says which glibc it asks for.
fn pack_addresses(profile: &str) {
    let words = ["-Wl,-z,pack-relative-relocs".to_owned()];
    let Some(program) = linked_program(&words) else { return };
    let starts = || Command::new(program).status().is_ok_and(|status| status.success());
    if profile == "dist" || starts() {
        tell_linker(&words);
    }
}

/// Takes what unwinds a panic into the program, where the compiler's archive of it is: it is small, and a library
/// less is looked for, opened and mapped at each start (Q1, Q5).
fn bring_unwinder() {
    let Some(archive) = gcc_archive(UNWINDER) else { return };
    let Some(folder) = archive.parent() else { return };
    let search = format!("native={}", folder.display());
    let library = format!("static:+verbatim={UNWINDER}");
    let caught =
        "fn main() { if std::panic::catch_unwind(|| panic!()).is_ok() { std::process::exit(1) } }";
    let words = ["-L".to_owned(), search.clone(), "-l".to_owned(), library.clone()];
    let Some(program) = compiled_program(caught, &words) else { return };
    let catches = Command::new(program).stderr(Stdio::null()).status();
    if catches.is_ok_and(|status| status.success()) {
        println!("cargo:rustc-link-search={search}");
        println!("cargo:rustc-link-lib={library}");
    }
}

/// Where GCC has an archive of its own.
fn gcc_archive(name: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

fn tell_linker(words: &[String]) {
    for word in words {
        println!("cargo:rustc-link-arg-bin=weir={word}");
    }
}

/// The name of the profile, which cargo says by the place of its output only.
fn profile() -> Option<String> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR")?);
    let folder = out.ancestors().find(|folder| folder.ends_with("build"))?.parent()?;
    Some(folder.file_name()?.to_str()?.to_owned())
}

/// A program that was linked with these words: GNU's linker, which some builds of Rust use, knows no order.
fn linked_program(words: &[String]) -> Option<PathBuf> {
    let words: Vec<String> = words.iter().map(|word| format!("-Clink-arg={word}")).collect();
    compiled_program("fn main() {}", &words)
}

/// A program of this text, compiled with these words.
fn compiled_program(text: &str, words: &[String]) -> Option<PathBuf> {
    let (rustc, out) = (std::env::var_os("RUSTC")?, PathBuf::from(std::env::var_os("OUT_DIR")?));
    let source = out.join("tried.rs");
    std::fs::write(&source, text).ok()?;
    let mut command = Command::new(rustc);
    command.arg("--out-dir").arg(&out).arg(&source).args(["--target", LAID_OUT_TARGET]);
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Some(linker) = std::env::var_os("RUSTC_LINKER") {
        let mut flag = std::ffi::OsString::from("-Clinker=");
        flag.push(linker);
        command.arg(flag);
    }
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then(|| out.join("tried"))
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
