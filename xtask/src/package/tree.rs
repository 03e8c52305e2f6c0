//! What is installed, as a tree of files: the program, its manual pages, its completions and two texts.
//! In an archive it lies as it is put below a prefix; in a package below `/usr`, with the unit of the server
//! and the user that it runs as. Not here: how a tree is packed.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};

use super::Release;
use crate::programs::{bytes_of, text_of};

/// The program, from the prefix.
pub(super) const PROGRAM: &str = "bin/weir";
const MANUAL: &str = "share/man/man1";
const TEXTS: &str = "share/doc/weir";
/// Where zsh looks below a prefix, and where Debian has it look for what packages bring.
const ZSH: &str = "share/zsh/site-functions/_weir";
const ZSH_OF_DEBIAN: &str = "share/zsh/vendor-completions/_weir";
/// Completions: a shell's name for `weir completions`, and where it looks for them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/weir"),
    ("zsh", ZSH),
    ("fish", "share/fish/vendor_completions.d/weir.fish"),
];
/// Where the repository has the unit of the server, and where packages put it: not enabled, not started.
const UNIT: (&str, &str) = ("deploy/weir.service", "usr/lib/systemd/system/weir.service");
/// The user that the unit names and the folder of its settings, for `systemd-sysusers` and `systemd-tmpfiles`.
const SYSTEM_FILES: [(&str, &str); 2] = [
    ("deploy/package/sysusers.conf", "usr/lib/sysusers.d/weir.conf"),
    ("deploy/package/tmpfiles.conf", "usr/lib/tmpfiles.d/weir.conf"),
];
/// The program in the unit of the repository, for whoever copies both by hand, and in that of a package.
const PROGRAM_BY_HAND: &str = "/usr/local/bin/weir";
const PROGRAM_OF_PACKAGE: &str = "/usr/bin/weir";
/// A program with more commands than this is asked in a circle.
const PAGES_MAX: usize = 1000;

/// Makes the tree of the archive at `goal`.
pub(super) fn stage(release: &Release, goal: &Path) -> anyhow::Result<()> {
    let binary = fs::read(&release.binary).context("reading the program")?;
    put(goal, PROGRAM, &binary)?;
    let home = tempfile::tempdir().context("a home without settings")?;
    for (shell, path) in COMPLETIONS {
        let mut command = release.command(&release.binary);
        let completions = bytes_of(command.args(["completions", shell]).env("HOME", home.path()))?;
        put(goal, path, &completions)?;
    }
    manual(release, goal, home.path())?;
    for text in ["README.md", "LICENSE"] {
        put(goal, &format!("{TEXTS}/{text}"), &fs::read(release.root.join(text)).context(text)?)?;
    }
    settle(goal, release.epoch)
}

/// A page for the program and for each command that a page names.
fn manual(release: &Release, goal: &Path, home: &Path) -> anyhow::Result<()> {
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    let mut made = 0;
    while let Some(words) = left.pop() {
        let mut command = release.command(&release.binary);
        let page = text_of(command.arg("man").args(&words).env("HOME", home))?;
        let name = std::iter::once("weir").chain(words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        for word in commands_named(&page, &name) {
            left.push(words.iter().cloned().chain([word]).collect());
        }
        put(goal, &format!("{MANUAL}/{name}.1"), page.as_bytes())?;
        made += 1;
        ensure!(made <= PAGES_MAX, "more than {PAGES_MAX} manual pages");
    }
    ensure!(made > 1, "the manual page of the program names no command");
    Ok(())
}

/// The commands below `name` that its manual page names, such as `weir\-sessions\-list(1)`.
fn commands_named(page: &str, name: &str) -> Vec<String> {
    let start = format!("{name}-");
    let named = page.lines().filter_map(|line| {
        let line = line.strip_suffix("(1)")?.replace("\\-", "-");
        let word = line.strip_prefix(&start)?;
        let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_word.then(|| word.to_owned())
    });
    named.collect()
}

/// Which system a package is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Debian,
    Rpm,
}

/// Makes the tree of a package at `goal` from that of the archive.
pub(super) fn stage_for(
    system: System,
    release: &Release,
    staged: &Path,
    goal: &Path,
) -> anyhow::Result<()> {
    for path in files(staged)? {
        let text = path.to_string_lossy().into_owned();
        let place = match (system, text.as_str()) {
            (System::Debian, ZSH) => ZSH_OF_DEBIAN,
            // What Debian's rules call the file with the licence.
            (System::Debian, "share/doc/weir/LICENSE") => "share/doc/weir/copyright",
            (_, other) => other,
        };
        let bytes = fs::read(staged.join(&path)).with_context(|| text.clone())?;
        put(goal, &format!("usr/{place}"), &bytes)?;
    }
    let manual = goal.join("usr").join(MANUAL);
    bytes_of(release.command("gzip").args(["-9", "-n", "-r"]).arg(manual))?;
    put(goal, UNIT.1, unit_of_package(&release.text(UNIT.0)?)?.as_bytes())?;
    for (text, place) in SYSTEM_FILES {
        put(goal, place, release.text(text)?.as_bytes())?;
    }
    settle(goal, release.epoch)
}

/// The unit as a package brings it: it starts the program of the package, and its first comment, which tells
/// where to copy it to, is not needed.
fn unit_of_package(text: &str) -> anyhow::Result<String> {
    ensure!(text.contains(PROGRAM_BY_HAND), "{} does not start {PROGRAM_BY_HAND}", UNIT.0);
    let kept = text.lines().skip_while(|line| line.starts_with('#') || line.is_empty());
    let text = kept.map(|line| format!("{line}\n")).collect::<String>();
    Ok(text.replace(PROGRAM_BY_HAND, PROGRAM_OF_PACKAGE))
}

/// All files below a folder, from there, sorted.
pub(super) fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inside)).context("reading a folder")? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a file, and the folders above it.
pub(super) fn put(folder: &Path, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let place = folder.join(path);
    let above = place.parent().context("a file in a folder")?;
    fs::create_dir_all(above).with_context(|| above.display().to_string())?;
    fs::write(&place, bytes).with_context(|| path.to_owned())
}

/// Rights and times that do not tell who built it when.
pub(super) fn settle(folder: &Path, epoch: u64) -> anyhow::Result<()> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch);
    let mut places = BTreeMap::new();
    for file in files(folder)? {
        let is_program = file.parent().is_some_and(|above| above.ends_with("bin"));
        places.extend(file.ancestors().skip(1).map(|above| (above.to_path_buf(), 0o755)));
        places.insert(file, if is_program { 0o755 } else { 0o644 });
    }
    for (place, mode) in places {
        let place = folder.join(place);
        fs::set_permissions(&place, Permissions::from_mode(mode))?;
        File::open(&place)?.set_modified(time)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_commands_below_it() {
        let page =
            ".SH SUBCOMMANDS\n.TP\nweir\\-mcp\\-servers(1)\nServers\n.TP\nweir\\-run(1)\nA task\n";
        assert_eq!(commands_named(page, "weir"), ["mcp-servers", "run"]);
        let page = "weir\\-mcp\\-servers\\-list(1)\nweir\\-run(1)\nsee printf(1)\n";
        assert_eq!(commands_named(page, "weir-mcp-servers"), ["list"]);
    }

    #[test]
    fn the_unit_of_a_package_starts_its_program() {
        let text = "# Copy it.\n\n[Service]\n# Why.\nExecStart=/usr/local/bin/weir serve\n";
        let unit = unit_of_package(text).expect("a unit");
        assert_eq!(unit, "[Service]\n# Why.\nExecStart=/usr/bin/weir serve\n");
        assert!(unit_of_package("[Service]\n").is_err(), "it starts nothing");
    }

    #[test]
    fn files_have_the_same_rights_and_times_whoever_makes_them() {
        let folder = tempfile::tempdir().expect("a folder");
        put(folder.path(), "bin/weir", b"x").expect("written");
        put(folder.path(), "share/man/weir.1", b"x").expect("written");
        settle(folder.path(), 1_000_000).expect("settled");
        let modes = ["", "bin", "bin/weir", "share", "share/man/weir.1"].map(|path| {
            let found = fs::metadata(folder.path().join(path)).expect("it is there");
            let time = found.modified().expect("a time");
            assert_eq!(time, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
            found.permissions().mode() & 0o777
        });
        assert_eq!(modes, [0o755, 0o755, 0o755, 0o755, 0o644]);
        let found = files(folder.path()).expect("a list");
        assert_eq!(found, [PathBuf::from("bin/weir"), PathBuf::from("share/man/weir.1")]);
    }
}
