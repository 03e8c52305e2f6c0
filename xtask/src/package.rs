//! `cargo xtask package`: everything that a release hands out, made from programs that are built already:
//! archives, a `.deb`, an `.rpm`, the Homebrew formula, the entry for editors' registry of agents, lists of
//! what it was built from, the installer, sums of all of it, and a signature of the sums. Two runs give the
//! same bytes. Not here: building the programs, making a key, and publishing anything.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use crate::programs::{bytes_of_git, text_of};
use libraries::LibcVersion;
use static_program::StaticProgram;

mod archive;
mod deb;
mod formula;
mod libraries;
mod registry;
mod rpm;
mod sbom;
mod static_program;
mod sums;
mod tree;
#[cfg(test)]
mod workflows;

/// The variable by which whoever builds says when "now" is, by the rules of reproducible builds.
const EPOCH_VARIABLE: &str = "SOURCE_DATE_EPOCH";
/// Where the files of all releases lie.
const RELEASES: &str = "https://github.com/weir-agent/weir/releases/download";

/// Make what a release hands out from a built program, with sums and their signature
#[derive(Debug, Args)]
pub(crate) struct PackageArgs {
    /// The program, built for x86-64 Linux and stripped (`cargo build --profile dist -p weir`)
    #[arg(long, value_name = "FILE")]
    binary: PathBuf,
    /// A static program of the same commit (`cargo build --profile dist --target x86_64-unknown-linux-musl
    /// -p weir`), or one for aarch64: at most one for each processor
    #[arg(long, value_name = "FILE")]
    static_program: Vec<PathBuf>,
    /// Folder for the files; it must be empty or not be there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// File with the private SSH key that signs the sums
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The version that the program must have, with or without `v` in front, such as a tag
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The newest C library that the program may ask for, such as 2.35
    #[arg(long, value_name = "VERSION")]
    libc_max: Option<LibcVersion>,
    /// How hard to compress
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u8).range(1..=9))]
    level: u8,
}

/// What all parts of a release are made of.
struct Release {
    /// The folder of the workspace.
    root: PathBuf,
    out: PathBuf,
    binary: PathBuf,
    /// What the program says of itself.
    said: String,
    /// The version in that.
    version: String,
    /// The time of every file, in seconds since 1970.
    epoch: u64,
    level: u8,
}

impl Release {
    /// The name of the folder in the archive of the program for the usual C library.
    fn name(&self) -> String {
        format!("weir-{}-x86_64-linux", self.version)
    }

    /// Where a file of this release is downloaded from.
    fn address(&self, file: &str) -> String {
        format!("{RELEASES}/v{}/{file}", self.version)
    }

    /// The version as dpkg and rpm compare it: what stands behind a hyphen comes before the release.
    fn package_version(&self) -> String {
        self.version.replace('-', "~")
    }

    /// A text of the repository.
    fn text(&self, path: &str) -> anyhow::Result<String> {
        let path = self.root.join(path);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// A template of `deploy/package/`, with each `@NAME@` replaced.
    fn filled(&self, template: &str, values: &[(&str, &str)]) -> anyhow::Result<String> {
        let mut text = self.text(&format!("deploy/package/{template}"))?;
        for (name, value) in values {
            let mark = format!("@{name}@");
            ensure!(text.contains(&mark), "{template} has no {mark}");
            text = text.replace(&mark, value);
        }
        Ok(text)
    }

    /// A program whose output is a part of the release: it knows this time and no language.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env(EPOCH_VARIABLE, self.epoch.to_string())
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(std::process::Stdio::null());
        command
    }
}

/// Makes everything and prints the names of the files.
///
/// # Errors
/// The program is not what it should be, a tool is missing or fails, or a file cannot be written.
pub(crate) fn package(root: &Path, args: &PackageArgs) -> anyhow::Result<ExitCode> {
    let work = tempfile::tempdir().context("a folder to work in")?;
    let release = release(root, args, work.path())?;
    let needed = libraries::of(&release, args.libc_max)?;
    let static_programs = StaticProgram::read_all(&release, &args.static_program)?;
    let staged = work.path().join(release.name());
    tree::stage(&release, &staged)?;
    archive::write(&release, &staged)?;
    deb::write(&release, &staged, &needed)?;
    rpm::write(&release, &staged)?;
    sbom::write(&release, sbom::TARGET, &release.name())?;
    for program in &static_programs {
        program.write(&release, &staged)?;
    }
    let offered = static_program::offered(&release, &static_programs);
    formula::write(&release, &offered)?;
    registry::write(&release, &offered)?;
    sums::write(&release, &args.key)?;
    let mut out = std::io::stdout().lock();
    for file in tree::files(&release.out)? {
        writeln!(out, "{}", release.out.join(file).display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn release(root: &Path, args: &PackageArgs, work: &Path) -> anyhow::Result<Release> {
    let binary = fs::canonicalize(&args.binary)
        .with_context(|| format!("{}: build the program first", args.binary.display()))?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let out = fs::canonicalize(&args.out).context("the folder for the files")?;
    ensure!(
        fs::read_dir(&out)?.next().is_none(),
        "{} is not empty: what lies there could be handed out too",
        out.display()
    );
    let mut release = Release {
        root: root.to_path_buf(),
        out,
        binary,
        said: String::new(),
        version: String::new(),
        epoch: epoch(root)?,
        level: args.level,
    };
    let said = text_of(release.command(&release.binary).arg("--version").env("HOME", work))?;
    let Some(version) = version_in(&said) else {
        bail!("{} says {said:?} for its version: it is not weir", release.binary.display());
    };
    if let Some(wanted) = &args.version {
        let wanted = wanted.strip_prefix('v').unwrap_or(wanted);
        ensure!(
            wanted == version,
            "the program is weir {version}, not {wanted}: set the version in Cargo.toml and build"
        );
    }
    version.clone_into(&mut release.version);
    release.said = said;
    Ok(release)
}

/// The version in what the program says of itself; a program that is handed out says its commit behind it.
fn version_in(said: &str) -> Option<&str> {
    let mut words = said.split_whitespace();
    (words.next() == Some("weir")).then(|| words.next()).flatten()
}

/// The time of the release: what the environment says, else that of the last commit.
fn epoch(root: &Path) -> anyhow::Result<u64> {
    if let Ok(set) = std::env::var(EPOCH_VARIABLE) {
        return set.parse().with_context(|| format!("{EPOCH_VARIABLE} is no number: {set:?}"));
    }
    let said = bytes_of_git(root, &["log", "-1", "--format=%ct"])?;
    let said = String::from_utf8_lossy(&said);
    said.trim().parse().with_context(|| format!("git said {said:?} for the last commit's time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Release {
        /// One of this version, of which nothing lies on the disk.
        pub(super) fn for_test(version: &str) -> Self {
            Self {
                root: PathBuf::new(),
                out: PathBuf::new(),
                binary: PathBuf::new(),
                said: format!("weir {version}"),
                version: version.to_owned(),
                epoch: 0,
                level: 1,
            }
        }
    }

    #[test]
    fn r9_the_commit_is_no_part_of_the_version() {
        assert_eq!(version_in("weir 0.1.0 (1d6ab1a9 2026-11-30)\n"), Some("0.1.0"));
        assert_eq!(version_in("weir 0.2.0-rc.1\n"), Some("0.2.0-rc.1"));
        assert_eq!(version_in("other 0.1.0\n"), None);
        assert_eq!(version_in("weir\n"), None);
    }
}
