//! What of the home folder a confined command sees (A14): what programs are made of, and nothing else. A
//! list of what is secret is never whole; a new tool puts its keys where nobody looked. Not here: the
//! workspace itself, and what a call names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::guard::{PathKind, WorkspacePathGuard};

/// Programs, what they are made of, and what they downloaded. New names are hidden until they stand
/// here.
const SEEN: &[&str] = &[
    // What git goes by.
    ".gitconfig",
    ".gitignore",
    ".gitignore_global",
    ".gitattributes",
    ".config/git",
    // Programs of the person's, whatever they are.
    "bin",
    ".local/bin",
    ".local/lib",
    ".local/lib64",
    ".local/libexec",
    ".nix-profile",
    ".local/state/nix",
    // By language.
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".bundle/cache",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".cargo",
    ".ccache",
    ".conda/envs",
    ".conda/pkgs",
    ".config/go",
    ".deno/bin",
    ".dotnet",
    ".elan",
    ".gem/ruby",
    ".ghcup",
    ".gradle/caches",
    ".gradle/jdks",
    ".gradle/wrapper",
    ".hex/packages",
    ".ivy2/cache",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/packages",
    ".julia/registries",
    ".juliaup",
    ".local/pipx",
    ".m2/repository",
    ".m2/wrapper",
    ".mix",
    ".npm",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".pnpm-store",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".stack/programs",
    ".stack/snapshots",
    ".volta",
    ".yarn",
    "anaconda3",
    "go/bin",
    "go/pkg",
    "mambaforge",
    "miniconda3",
    "miniforge3",
    ".local/share/fnm",
    ".local/share/gem",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/rtx",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".cache/Cypress",
    ".cache/ccache",
    ".cache/deno",
    ".cache/go-build",
    ".cache/golangci-lint",
    ".cache/mise",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/puppeteer",
    ".cache/pypoetry/artifacts",
    ".cache/pypoetry/cache",
    ".cache/pypoetry/virtualenvs",
    ".cache/sccache",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
];

/// Variables that say where such a folder lies. What they name besides is the person's.
const VARIABLES: [(&str, &[&str]); 9] = [
    ("CARGO_HOME", &[""]),
    ("RUSTUP_HOME", &[""]),
    ("PYENV_ROOT", &[""]),
    ("NVM_DIR", &[""]),
    ("JAVA_HOME", &[""]),
    ("GOROOT", &[""]),
    ("VIRTUAL_ENV", &[""]),
    ("CONDA_PREFIX", &[""]),
    ("GOPATH", &["bin", "pkg"]),
];

/// Keys in what is seen, beside those that the lists of keys name.
const KEYS: [&str; 5] = [
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/git/credentials",
    ".local/share/uv/credentials",
    ".npm/_logs",
];

/// Names beside `bin` where a program was installed with its parts.
const INSTALLED: [&str; 5] = ["lib", "lib64", "libexec", "pyvenv.cfg", "conda-meta"];

/// Entries of one folder that are looked at for keys.
const ENTRIES_MAX: usize = 2_000;

/// What of the home is seen, and what of that is not.
#[derive(Debug, Default)]
pub(super) struct VisibleHome {
    pub(super) seen: BTreeSet<PathBuf>,
    pub(super) masked: BTreeSet<PathBuf>,
}

impl VisibleHome {
    /// Looks it up. `variable` is the environment that commands get.
    pub(super) fn look_up(
        guard: &WorkspacePathGuard,
        home: &Path,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> VisibleHome {
        let mut seen: BTreeSet<PathBuf> = SEEN.iter().map(|name| home.join(name)).collect();
        for (name, below) in VARIABLES {
            let folders = variable(name);
            for folder in folders.iter().flat_map(std::env::split_paths) {
                seen.extend(below.iter().map(|below| folder.join(below)));
            }
        }
        let path = variable("PATH");
        seen.extend(
            path.iter().flat_map(std::env::split_paths).filter_map(|bin| install_folder(&bin)),
        );
        // Never the home as a whole, nor what lies around it.
        let is_inside = |path: &PathBuf| {
            let below = path.strip_prefix(home).is_ok_and(|below| below.components().count() > 0);
            below && path.canonicalize().is_ok_and(|real| !home.starts_with(real))
        };
        seen.retain(is_inside);
        let shared = [".local", ".config", ".cache", ".local/share"].map(|name| home.join(name));
        seen.retain(|path| !shared.contains(path));
        let mut masked: BTreeSet<PathBuf> = KEYS.iter().map(|name| home.join(name)).collect();
        masked.extend(seen.iter().flat_map(|path| keys_in(guard, path)));
        masked.retain(|path| path.exists());
        VisibleHome { seen, masked }
    }
}

/// What must be seen of the folder of a search path: where it was installed as one, the folder around
/// it.
fn install_folder(bin: &Path) -> Option<PathBuf> {
    if !bin.is_absolute() {
        return None;
    }
    let is_bin = ["bin", "sbin"].map(OsStr::new).contains(&bin.file_name().unwrap_or_default());
    let around = bin.parent().filter(|_| is_bin);
    let around = around.filter(|around| INSTALLED.iter().any(|name| around.join(name).exists()));
    Some(around.unwrap_or(bin).to_path_buf())
}

/// Keys among the entries of a folder.
fn keys_in(guard: &WorkspacePathGuard, folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let is_key = |entry: &std::fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let seen = if is_folder { PathKind::Folder } else { PathKind::File };
        let verdict = guard.built_in(&guard.spot_of(entry.path()), seen);
        verdict.ignored.is_some() || verdict.sensitive.is_some()
    };
    listed.filter(is_key).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a14_of_the_home_the_tools_are_seen_and_their_keys_are_not() {
        let top = tempfile::tempdir().expect("a folder");
        let home = top.path().canonicalize().expect("it exists");
        for folder in [
            ".cargo/bin",
            ".local/share/uv",
            ".config/gh",
            "Documents/bin",
            "tools/x/bin",
            "tools/x/lib",
            "venv/bin",
            "go/src",
            "go/pkg",
        ] {
            std::fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        for file in [".cargo/credentials.toml", "venv/pyvenv.cfg", "tools/x/.env", ".gitconfig"] {
            std::fs::write(home.join(file), "x").expect("a file");
        }
        let mut guard = WorkspacePathGuard::new(vec![home.join("ws")], Vec::new());
        guard.set_home(home.clone());
        let variable = |name: &str| {
            let joined = |names: &[&str]| {
                std::env::join_paths(names.iter().map(|name| home.join(name))).expect("plain")
            };
            match name {
                "PATH" => Some(joined(&["Documents/bin", "tools/x/bin", "venv/bin", "none/bin"])),
                "GOPATH" => Some(joined(&["go"])),
                "CARGO_HOME" => Some(home.clone().into_os_string()),
                _ => None,
            }
        };
        let found = VisibleHome::look_up(&guard, &home, variable);
        let below = |paths: &BTreeSet<PathBuf>| -> Vec<String> {
            let below = paths.iter().map(|path| path.strip_prefix(&home).expect("it lies there"));
            below.map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            below(&found.seen),
            [
                ".cargo",
                ".gitconfig",
                ".local/share/uv",
                "Documents/bin",
                "go/pkg",
                "tools/x",
                "venv"
            ]
        );
        assert_eq!(below(&found.masked), [".cargo/credentials.toml", "tools/x/.env"]);
    }
}
