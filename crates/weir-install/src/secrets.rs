//! Secrets that tools name and never see (Z7): where each one's value is, and the value itself for
//! the client that sends it and the filter that takes it out of results.
//!
//! Keys of model providers are not here: no tool names those.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_core::secret::Secret;
use weir_sandbox::LentSecret;
use weir_web::{WebSecret, check_value};

use crate::config::SecretSettings;
use crate::context::InstallationContext;
use crate::keys::KeySource;

mod search;

/// Largest file of a secret, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// A declared secret.
#[derive(Debug, Clone)]
pub struct DeclaredSecret {
    /// What has its value.
    pub source: KeySource,
    /// What the client needs of it, its value included where there is one.
    pub web: WebSecret,
}

/// Every declared secret, in the order of their names. A value that cannot be had stops nothing but
/// its use: the reason stands in its place.
///
/// # Errors
/// The settings cannot be read.
pub fn load_declared_secrets(cx: &InstallationContext) -> anyhow::Result<Vec<DeclaredSecret>> {
    let declared = cx.config()?.settings.secrets.iter().map(|(name, settings)| {
        let source = secret_source(settings, cx.dirs.home.as_deref());
        let value = match &source {
            KeySource::Variable(variable) => cx
                .environment
                .text_variable(variable)
                .map(Secret::new)
                .ok_or_else(|| format!("the variable {variable} is not set")),
            KeySource::File(path) => read_secret_file(path, &cx.folder)
                .map_err(|why| format!("{}: {why}", path.display())),
            KeySource::Keyring => Err("settings name a variable or a file".into()),
        };
        let value = value.and_then(|value| check_value(&value).map(|()| value));
        let web = WebSecret {
            name: name.clone(),
            hosts: settings.hosts.clone(),
            header: settings.header.clone(),
            format: settings.format.clone(),
            value,
        };
        DeclaredSecret { source, web }
    });
    let mut declared: Vec<DeclaredSecret> = declared.collect();
    let is_new = |own: &DeclaredSecret| declared.iter().all(|other| other.web.name != own.web.name);
    let own = [of_obsidian(cx)?, search::search_secret(cx)?];
    let own: Vec<DeclaredSecret> = own.into_iter().flatten().filter(is_new).collect();
    declared.extend(own);
    Ok(declared)
}

/// The name of the plugin that comes with the program, and of the secret that it names.
pub const OBSIDIAN: &str = "obsidian";
/// The variable that holds its key.
const OBSIDIAN_VARIABLE: &str = "OBSIDIAN_API_KEY";
/// Where it is, unless `plugins.obsidian.url` says otherwise.
const OBSIDIAN_HOST: &str = "127.0.0.1:27123";

/// The key of the built-in plugin, for the host that it is set up for. Nothing, where neither is
/// there.
fn of_obsidian(cx: &InstallationContext) -> anyhow::Result<Option<DeclaredSecret>> {
    let settings = &cx.config()?.settings;
    let url = settings.plugins.get(OBSIDIAN).map(|set| set.url.as_str()).unwrap_or_default();
    let keys = cx.provider_keys()?;
    let (source, value) = match cx.environment.text_variable(OBSIDIAN_VARIABLE) {
        Some(text) if !text.is_empty() => {
            (KeySource::Variable(OBSIDIAN_VARIABLE.into()), Ok(Secret::new(text)))
        }
        _ => {
            let why = || {
                format!(
                    "no key: run `weir auth set {OBSIDIAN}`, or set the variable {OBSIDIAN_VARIABLE}"
                )
            };
            let kept = keys.kept_key(OBSIDIAN).cloned();
            (keys.source_or_file(OBSIDIAN), kept.ok_or_else(why))
        }
    };
    if url.is_empty() && value.is_err() {
        return Ok(None);
    }
    let host =
        weir_core::plugin::address::address_authority(url).unwrap_or(OBSIDIAN_HOST).to_owned();
    let value = value.and_then(|value| check_value(&value).map(|()| value));
    let SecretSettings { header, format, .. } = SecretSettings::default();
    let web = WebSecret { name: OBSIDIAN.into(), hosts: vec![host], header, format, value };
    Ok(Some(DeclaredSecret { source, web }))
}

/// Shortest secret that a command is given: a shorter one could not be told from other words, and
/// would stand in what the agent reads.
const LENT_CHARS_MIN: usize = 8;

/// Secrets that commands may be given, in the order of the settings: the value of `[secrets.NAME]`, of
/// the person's variable, or the kept one.
///
/// # Errors
/// The settings cannot be read.
pub(crate) fn load_lent_secrets(cx: &InstallationContext) -> anyhow::Result<Vec<LentSecret>> {
    let names = &cx.config()?.settings.commands.secrets;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let (declared, keys) = (load_declared_secrets(cx)?, cx.provider_keys()?);
    let value = |name: &String| {
        if let Some(one) = declared.iter().find(|one| one.web.name == *name) {
            return one.web.value.clone();
        }
        let own = cx.environment.text_variable(name).map(Secret::new);
        own.or_else(|| keys.kept_key(name).cloned()).ok_or_else(|| {
            format!(
                "it has no value; a person sets the variable {name} or runs weir auth set {name}"
            )
        })
    };
    let checked = |value: Secret| {
        let is_long = value.reveal().chars().count() >= LENT_CHARS_MIN;
        let why = format!("its value has fewer than {LENT_CHARS_MIN} characters");
        let plain = !value.reveal().contains('\0');
        if is_long && plain { Ok(value) } else { Err(why) }
    };
    let lent = names
        .iter()
        .map(|name| LentSecret { name: name.clone(), value: value(name).and_then(checked) });
    Ok(lent.collect())
}

/// The values of those, for the filter that keeps them out of results.
///
/// # Errors
/// As [`load_lent_secrets`].
pub(crate) fn lent_values(cx: &InstallationContext) -> anyhow::Result<Vec<String>> {
    let lent = load_lent_secrets(cx)?;
    Ok(lent.iter().filter_map(|one| Some(one.value.as_ref().ok()?.reveal().to_owned())).collect())
}

/// The values, for the filter that keeps them out of results.
pub fn declared_secret_values(declared: &[DeclaredSecret]) -> impl Iterator<Item = String> + '_ {
    declared.iter().filter_map(|one| one.web.value.as_ref().ok()).map(|v| v.reveal().to_owned())
}

fn secret_source(settings: &SecretSettings, home: Option<&Path>) -> KeySource {
    match (&settings.env, &settings.file) {
        (Some(variable), _) => KeySource::Variable(variable.clone()),
        (None, file) => {
            let file = file.as_deref().unwrap_or_default();
            KeySource::File(match (file.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_), None) | (None, _) => PathBuf::from(file),
            })
        }
    }
}

/// The text of a file that only its owner can read and no tool works in.
fn read_secret_file(path: &Path, workspace: &Path) -> Result<Secret, String> {
    let unread = |error: std::io::Error| format!("it cannot be read: {error}");
    let real = std::fs::canonicalize(path).map_err(unread)?;
    if real.starts_with(workspace) {
        return Err("it lies in the workspace, where tools read it; move it out".into());
    }
    // Asked before it is opened: opening a pipe would wait for somebody.
    if !std::fs::metadata(&real).map_err(unread)?.is_file() {
        return Err("it is no file".into());
    }
    let file = std::fs::File::open(&real).map_err(unread)?;
    let found = file.metadata().map_err(unread)?;
    if found.mode() & 0o077 != 0 {
        let path = path.display();
        return Err(format!("other users can read it; run `chmod 600 {path}`"));
    }
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|_| "it cannot be read as UTF-8".to_owned())?;
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn z7_only_a_file_for_its_owner_alone_is_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it exists");
        let (work, file) = (root.join("work"), root.join("token"));
        std::fs::create_dir(&work).expect("a new folder");
        std::fs::write(&file, "marker-value-1\n").expect("writable");
        let mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).expect("ours");
        };
        mode(0o640);
        let why = read_secret_file(&file, &work).expect_err("others can read it");
        assert!(why.contains("chmod 600") && !why.contains("marker"), "{why}");
        mode(0o600);
        assert_eq!(read_secret_file(&file, &work).expect("it is ours").reveal(), "marker-value-1");
        let why = read_secret_file(&file, &root).expect_err("in the workspace");
        assert!(why.contains("lies in the workspace"), "{why}");
        std::os::unix::fs::symlink(&file, work.join("link")).expect("a new link");
        assert!(read_secret_file(&work.join("link"), &work).is_ok(), "what counts is where it is");
        assert!(
            read_secret_file(&work, &root.join("none")).expect_err("a folder").contains("no file")
        );
        assert!(read_secret_file(&root.join("none"), &work).is_err());
    }
}
