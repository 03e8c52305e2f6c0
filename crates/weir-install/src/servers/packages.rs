//! Servers that are started from a package (`npx`, `uvx` and their like): what a command line
//! names, and what of it is installed. The sandbox has no network, so such a package is installed
//! once by a person's word and started from there. Nothing is fetched here: `fetch` asks
//! registries.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{DeclaredServer, ServerOwner};
use crate::config::McpServerSettings;
use crate::context::InstallationContext;
use crate::environment::ProcessEnvironment;

mod fetch;
mod line;
mod npm;
mod python;

pub use fetch::{FoundVersion, PackageReplacement, find_package_version, install_package};

/// The folder of packages below the state folder.
const FOLDER: &str = "mcp-packages";
/// What is written beside an installed package.
const RECORD: &str = "installed.json";
/// Largest such file that is read.
const RECORD_BYTES_MAX: u64 = 64 << 10;

/// Where a package comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PackageRegistry {
    /// npm.
    Npm,
    /// PyPI.
    PyPi,
}

impl PackageRegistry {
    /// Name that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            PackageRegistry::Npm => "npm",
            PackageRegistry::PyPi => "PyPI",
        }
    }
}

/// A package that a command line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPackage {
    /// Registry that the package is fetched from.
    pub registry: PackageRegistry,
    /// Name of the package in its registry.
    pub name: String,
    /// `[extra]` of a Python package; empty: none.
    extras: String,
    /// The version, range or tag that is wanted; empty: the newest.
    wanted: String,
    /// The program of it that is meant; none: its only one, or the one of its own name.
    program: Option<String>,
    /// The version of Python that is wanted: `3.12`.
    python: Option<String>,
    /// What the program is given.
    args: Vec<String>,
}

impl ServerPackage {
    /// What is asked of the registry, in its own words.
    fn registry_request(&self) -> String {
        match (self.registry, self.wanted.is_empty()) {
            (PackageRegistry::Npm, false) => format!("{}@{}", self.name, self.wanted),
            (PackageRegistry::Npm | PackageRegistry::PyPi, _) => {
                format!("{}{}{}", self.name, self.extras, self.wanted)
            }
        }
    }

    /// The package for people: `npm @scope/server`.
    pub fn display_name(&self) -> String {
        format!("{} {}", self.registry.as_str(), self.registry_request())
    }

    /// What the record of an installation must say to be one of this line.
    fn installation_line(&self) -> String {
        let program = self.program.as_deref().unwrap_or_default();
        let python = self.python.as_deref().unwrap_or_default();
        format!("{} program={program} python={python}", self.display_name())
    }
}

/// What runs the program of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramRunner {
    /// Node.js, found on the search path.
    Node,
    /// The Python of the package's own environment.
    Python,
    /// Nothing: it is a program itself.
    Itself,
}

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledPackage {
    /// The line that it was installed for.
    line: String,
    registry: PackageRegistry,
    name: String,
    /// The exact version.
    pub version: String,
    /// Where it was fetched.
    from: String,
    /// The registry's checksum of it.
    integrity: String,
    /// SHA-256 of the list of everything that was installed with it, each with its checksum.
    list: String,
    /// Its folder, beside the record.
    folder: String,
    runner: ProgramRunner,
    /// The program, below that folder.
    program: PathBuf,
}

impl InstalledPackage {
    /// What is pinned of it: package, version and checksums.
    pub fn pinned_text(&self) -> String {
        let InstalledPackage { name, version, integrity, list, .. } = self;
        let registry = self.registry.as_str();
        format!("{registry} {name} {version} {integrity} (with what it needs: sha256 {list})")
    }

    /// The folder of the package, and the command line that starts it.
    fn start_command_line(&self, place: &Path, args: &[String]) -> (PathBuf, Vec<String>) {
        let folder = place.join(&self.folder);
        let program = folder.join(&self.program).display().to_string();
        let mut words = match self.runner {
            ProgramRunner::Node => vec!["node".to_owned(), program],
            ProgramRunner::Python => {
                vec![python::environment_python(&folder).display().to_string(), program]
            }
            ProgramRunner::Itself => vec![program],
        };
        words.extend(args.iter().cloned());
        (folder, words)
    }
}

impl DeclaredServer {
    /// The package that it is started from; `None`: it is started as it stands. What runs outside
    /// the sandbox has the network, and fetches for itself.
    pub fn started_package(&self, cx: &InstallationContext) -> Option<ServerPackage> {
        let package = package_of_server(&self.settings)?;
        // A workspace that brings the package starts its own, as npx does.
        let own = cx.folder.join("node_modules").join(&package.name);
        let brought = self.whose != ServerOwner::User
            && package.registry == PackageRegistry::Npm
            && package.wanted.is_empty()
            && own.exists();
        (!brought).then_some(package)
    }

    /// Folder in which the server's package is installed.
    pub fn package_place(&self, cx: &InstallationContext) -> PathBuf {
        cx.dirs.state.join(FOLDER).join(self.storage_key(cx))
    }

    /// The installed package of the server; `None`: none, or one that was installed for another line.
    pub fn installed_package(
        &self,
        cx: &InstallationContext,
        package: &ServerPackage,
    ) -> Option<InstalledPackage> {
        let place = self.package_place(cx);
        let installed = read_install_record(&place)
            .filter(|found| found.line == package.installation_line())?;
        place.join(&installed.folder).join(&installed.program).is_file().then_some(installed)
    }

    /// How its installed package is started: its folder, and the command line.
    pub(super) fn package_command_line(
        &self,
        cx: &InstallationContext,
        package: &ServerPackage,
        installed: &InstalledPackage,
    ) -> (PathBuf, Vec<String>) {
        installed.start_command_line(&self.package_place(cx), &package.args)
    }
}

/// The package that a declaration names; `None`: its command is started as it stands.
pub fn package_of_server(settings: &McpServerSettings) -> Option<ServerPackage> {
    let confined = settings.url.is_empty() && !settings.unconfined;
    confined.then(|| line::package_of_command_line(&settings.command, &settings.args)).flatten()
}

/// What is said of a server whose package is not there.
pub(crate) fn not_installed(declared: &DeclaredServer, package: &ServerPackage) -> String {
    let server = &declared.name;
    if declared.whose == ServerOwner::Editor {
        return format!(
            "it is started from a package ({}), and the sandbox in which it would be fetched has no \
             network: `weir mcp-servers add {server} -- COMMAND` in a terminal installs it once and \
             declares it, and that one is used then",
            package.display_name()
        );
    }
    format!(
        "its package ({}) is not installed, and the sandbox in which it would be fetched has no \
         network: `weir mcp-servers install {server}` installs it once; with `unconfined = true` it \
         fetches for itself, and runs with your own rights",
        package.display_name()
    )
}

fn read_install_record(place: &Path) -> Option<InstalledPackage> {
    let path = place.join(RECORD);
    let small = std::fs::metadata(&path).is_ok_and(|meta| meta.len() <= RECORD_BYTES_MAX);
    let text = small.then(|| std::fs::read_to_string(&path).ok()).flatten()?;
    serde_json::from_str(&text).ok()
}

/// Takes away what is installed of a server that is removed.
///
/// # Errors
/// It cannot be removed.
pub fn remove(place: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The program of this name on the search path.
pub(crate) fn on_path(environment: &ProcessEnvironment, name: &str) -> Option<PathBuf> {
    let path = environment.text_variable("PATH")?;
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// How one gets a program that servers are commonly started with; empty for others.
pub(crate) fn how_to_get(program: &str) -> &'static str {
    match program {
        "node" | "npm" | "npx" => {
            "; it comes with Node.js: https://nodejs.org, `apt install nodejs npm`, or `brew install \
             node`"
        }
        "uv" | "uvx" => "; it comes with uv: https://docs.astral.sh/uv/",
        "pipx" => "; `apt install pipx` or `brew install pipx`",
        "bun" | "bunx" => "; it comes with Bun: https://bun.sh",
        "pnpm" | "pnpx" => "; `npm install --global pnpm` brings it",
        "deno" => "; https://deno.com has it",
        "docker" => "; https://docs.docker.com has it. Its daemon is not reached from the sandbox",
        name if name.starts_with("python") => {
            "; Python 3 with venv: https://python.org, `apt install python3 python3-venv`, or `brew \
             install python`"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_what_is_missing_is_said_with_where_it_is_had() {
        for program in ["npm", "npx", "node", "uvx", "python3", "python3.12", "docker", "bunx"] {
            assert!(!how_to_get(program).is_empty(), "{program}");
        }
        assert_eq!(how_to_get("my-server"), "");
    }

    #[test]
    fn c9_a_package_is_started_from_its_folder() {
        let mut installed = InstalledPackage {
            line: String::new(),
            registry: PackageRegistry::Npm,
            name: "s".into(),
            version: "1.0.0".into(),
            from: String::new(),
            integrity: "sha512-x".into(),
            list: "0".into(),
            folder: "1.0.0-a".into(),
            runner: ProgramRunner::Node,
            program: "node_modules/s/index.js".into(),
        };
        let place = Path::new("/p");
        let words =
            |installed: &InstalledPackage| installed.start_command_line(place, &[".".into()]).1;
        assert_eq!(words(&installed), ["node", "/p/1.0.0-a/node_modules/s/index.js", "."]);
        installed.runner = ProgramRunner::Itself;
        assert_eq!(words(&installed), ["/p/1.0.0-a/node_modules/s/index.js", "."]);
        installed.runner = ProgramRunner::Python;
        assert_eq!(words(&installed)[0], "/p/1.0.0-a/bin/python");
    }
}
