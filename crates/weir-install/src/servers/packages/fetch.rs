//! Asks a registry which version there is, and installs exactly that one, by the registry's
//! ordinary client with the person's own settings. No script of a package is run. It happens in a
//! folder of its own, so that no file of a workspace says where packages come from. Not here:
//! asking the person.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::io::AsyncReadExt as _;
use url::Url;

use super::{
    InstalledPackage, PackageRegistry, ProgramRunner, RECORD, ServerPackage, how_to_get, on_path,
    read_install_record,
};
use crate::context::InstallationContext;
use crate::environment::ProcessEnvironment;
use crate::servers::DeclaredServer;

/// How long a client of a registry may take.
const WAIT: Duration = Duration::from_secs(600);
/// What of its output is read.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// What of its complaint is shown, in characters.
const COMPLAINT_CHARS_MAX: usize = 800;
/// Largest file of a package's description that is read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The version that would be installed.
pub struct FoundVersion {
    /// Name of the package.
    pub name: String,
    /// The exact version.
    pub version: String,
    /// Address of the registry.
    pub from: String,
    /// The registry's checksum.
    pub integrity: String,
    /// What runs while it is installed, for people.
    pub with: &'static str,
    /// What else is installed, each with its checksum, where that is known before.
    pub(super) pinned: Vec<String>,
    /// Where it is put.
    pub(super) draft: DraftFolder,
}

/// What was installed.
pub(super) struct InstalledFiles {
    pub(super) runner: ProgramRunner,
    /// Below the folder.
    pub(super) program: PathBuf,
    /// Everything that was installed, each with its checksum.
    pub(super) list: Vec<String>,
}

/// A folder that is taken away again unless it is kept.
pub(super) struct DraftFolder {
    pub(super) path: PathBuf,
    kept: bool,
}

impl DraftFolder {
    fn new(place: &Path) -> std::io::Result<DraftFolder> {
        let path = place.join(uuid::Uuid::new_v4().simple().to_string());
        std::fs::create_dir_all(&path)?;
        Ok(DraftFolder { path, kept: false })
    }
}

impl Drop for DraftFolder {
    fn drop(&mut self) {
        if !self.kept {
            // What is left over is taken away with the next installation.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// What was there before, until the person has seen the new one.
pub struct PackageReplacement {
    place: PathBuf,
    now: String,
    before: Option<InstalledPackage>,
}

impl PackageReplacement {
    /// The new one counts: the others are taken away.
    pub fn keep_new(self) {
        let entries = std::fs::read_dir(&self.place).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.path().is_dir()) {
            if entry.file_name().to_str() != Some(&self.now) {
                // A session may still run it; then it goes with the next installation.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// The one before counts again, if there was one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_back(self) -> anyhow::Result<()> {
        let Some(before) = &self.before else { return Ok(()) };
        write_install_record(&self.place, before)?;
        let _ = std::fs::remove_dir_all(self.place.join(&self.now));
        Ok(())
    }
}

/// Which version there is now.
///
/// # Errors
/// The client of the registry is missing, or says no.
pub async fn find_package_version(
    cx: &InstallationContext,
    server: &DeclaredServer,
    package: &ServerPackage,
) -> anyhow::Result<FoundVersion> {
    let said = |why: String| package_failure(&server.name, package, &why);
    let draft =
        DraftFolder::new(&server.package_place(cx)).map_err(|error| said(error.to_string()))?;
    let client = RegistryClient { environment: &cx.environment };
    match package.registry {
        PackageRegistry::Npm => super::npm::find_npm_version(&client, package, draft).await,
        PackageRegistry::PyPi => super::python::find_python_version(&client, package, draft).await,
    }
    .map_err(said)
}

/// Installs what was found, and keeps what the person was told of it.
///
/// # Errors
/// The client of the registry says no, or what it installed is not what was found.
pub async fn install_package(
    cx: &InstallationContext,
    server: &DeclaredServer,
    package: &ServerPackage,
    mut found: FoundVersion,
) -> anyhow::Result<PackageReplacement> {
    let said = |why: String| package_failure(&server.name, package, &why);
    let client = RegistryClient { environment: &cx.environment };
    let put = match package.registry {
        PackageRegistry::Npm => super::npm::install_npm_package(&client, package, &found).await,
        PackageRegistry::PyPi => {
            super::python::install_python_package(&client, package, &found).await
        }
    };
    let InstalledFiles { runner, program, mut list } = put.map_err(said)?;
    list.sort();
    let place = server.package_place(cx);
    let folder = found.draft.path.file_name().unwrap_or_default();
    let now = folder.to_string_lossy().into_owned();
    let before = read_install_record(&place);
    let installed = InstalledPackage {
        line: package.installation_line(),
        registry: package.registry,
        name: found.name.clone(),
        version: found.version.clone(),
        from: found.from.clone(),
        integrity: found.integrity.clone(),
        list: sha256_hex(list.join("\n").as_bytes()),
        folder: now.clone(),
        runner,
        program,
    };
    write_install_record(&place, &installed)?;
    found.draft.kept = true;
    Ok(PackageReplacement { place, now, before })
}

fn write_install_record(place: &Path, installed: &InstalledPackage) -> anyhow::Result<()> {
    let (path, draft) = (place.join(RECORD), place.join(format!("{RECORD}.new")));
    std::fs::write(&draft, serde_json::to_vec_pretty(installed)?)?;
    std::fs::rename(&draft, &path)?;
    Ok(())
}

fn package_failure(server: &str, package: &ServerPackage, why: &str) -> anyhow::Error {
    let shown = package.display_name();
    anyhow::anyhow!("{server}: the package {shown} was not installed: {why}")
}

fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An address without what one signs in with.
pub(super) fn address_without_login(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return address.to_owned() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

/// A file of a package's description.
pub(super) fn read_description_file(path: &Path) -> Result<String, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let size = std::fs::metadata(path).map_err(told)?.len();
    match size > FILE_BYTES_MAX {
        true => Err(format!("{} has {size} bytes", path.display())),
        false => std::fs::read_to_string(path).map_err(told),
    }
}

/// What starts the client of a registry: with the variables of the person, who started this
/// program and was asked.
pub(super) struct RegistryClient<'a> {
    environment: &'a ProcessEnvironment,
}

impl RegistryClient<'_> {
    /// The program of this name.
    pub(super) fn find_program(&self, name: &str) -> Result<PathBuf, String> {
        on_path(self.environment, name).ok_or_else(|| {
            format!("there is no program {name} on the search path{}", how_to_get(name))
        })
    }

    /// What it writes to standard output.
    pub(super) async fn run(
        &self,
        program: &Path,
        args: &[&str],
        folder: &Path,
    ) -> Result<String, String> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let told = |error: std::io::Error| format!("{name}: {error}");
        let mut child = tokio::process::Command::new(program)
            .args(args)
            .current_dir(folder)
            .env_clear()
            .envs(self.environment.all_variables().filter(|(variable, _)| variable != "PWD"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(told)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let work = async {
            let (out, err) = tokio::join!(read_bounded_text(out), read_bounded_text(err));
            child.wait().await.map(|status| (status, out, err))
        };
        let done = tokio::time::timeout(WAIT, work).await;
        let done = done.map_err(|_| format!("{name} took longer than {} s", WAIT.as_secs()))?;
        let (status, out, err) = done.map_err(told)?;
        if status.success() {
            return Ok(out);
        }
        let complaint = if err.trim().is_empty() { out } else { err };
        let complaint = complaint.trim();
        let skip = complaint.chars().count().saturating_sub(COMPLAINT_CHARS_MAX);
        let tail: String = complaint.chars().skip(skip).collect();
        let command = args.iter().take(3).copied().collect::<Vec<_>>().join(" ");
        Err(format!("`{name} {command}` ended with {status} and wrote: {tail}"))
    }
}

async fn read_bounded_text(stream: Option<impl tokio::io::AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was read until it broke off is shown.
        let _ = stream.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z7_an_address_is_shown_without_what_one_signs_in_with() {
        assert_eq!(
            address_without_login("https://me:pw@h.example/a.whl?k=v"),
            "https://h.example/a.whl"
        );
        assert_eq!(address_without_login("a path"), "a path");
    }
}
