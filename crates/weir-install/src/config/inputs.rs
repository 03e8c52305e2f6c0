//! All that the settings of a workspace follow from, read at one moment: the texts of the files, the
//! environment, what was made in the browser, and trust. The same of it gives the same settings, which is
//! how they are known again. Not here: where settings that were put together are kept (`settings_cache`).

use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_core::record::sha256_hex;

use super::file::{ConfigLayer, key_text};
use super::{BrowserSettings, ConfigFiles, SettingOrigin, SourceLayers, WorkspaceConfig};
use crate::environment::ProcessEnvironment;
use crate::failure::usage;

/// What settings are put together from.
pub(crate) struct ConfigInputs<'a> {
    user: FileText<'a>,
    project: FileText<'a>,
    here: FileText<'a>,
    environment: Option<ConfigLayer>,
    trusted: bool,
    made: &'a BrowserSettings,
}

/// A file and what it says; `None`: there is none.
struct FileText<'a> {
    path: &'a Path,
    text: Option<String>,
}

impl FileText<'_> {
    fn parse(
        &self,
        origin: fn(PathBuf, u32) -> SettingOrigin,
    ) -> anyhow::Result<Option<ConfigLayer>> {
        let parsed = |text: &String| ConfigLayer::parse(self.path, text, origin).map_err(usage);
        self.text.as_ref().map(parsed).transpose()
    }
}

impl<'a> ConfigInputs<'a> {
    /// As they are now.
    ///
    /// # Errors
    /// A file cannot be read, or a variable means nothing: which, and why.
    pub(crate) fn read(
        files: &'a ConfigFiles,
        environment: &ProcessEnvironment,
        trusted: bool,
        made: &'a BrowserSettings,
    ) -> anyhow::Result<ConfigInputs<'a>> {
        let read = |path: &'a Path| files.read_text_of(path).map(|text| FileText { path, text });
        Ok(ConfigInputs {
            user: read(&files.user)?,
            project: read(&files.project)?,
            here: read(&files.here)?,
            environment: ConfigLayer::of_environment(environment)?,
            trusted,
            made,
        })
    }

    /// Puts the settings together.
    ///
    /// # Errors
    /// A file has a mistake: file, line, what is wrong.
    pub(crate) fn combine(&self) -> anyhow::Result<WorkspaceConfig> {
        let sources = SourceLayers {
            user: self.user.parse(SettingOrigin::User)?,
            environment: self.environment.clone(),
            project: self.project.parse(SettingOrigin::Project)?,
            here: self.here.parse(SettingOrigin::User)?.map(ConfigLayer::into_rules_alone),
        };
        WorkspaceConfig::combine_sources(sources, self.trusted, self.made)
    }

    /// Two that have the same digest give the same settings. It holds everything that they follow from,
    /// and tells none of it. `None`: there is no digest of these.
    pub(crate) fn digest(&self) -> Option<String> {
        let mut parts = Parts::default();
        for FileText { path, text } in [&self.user, &self.project, &self.here] {
            // Where a file would be that is not there says nothing: people without one have the same.
            let path = text.as_ref().map_or(&b""[..], |_| path.as_os_str().as_encoded_bytes());
            parts.add(path);
            parts.add(text.as_deref().unwrap_or_default().as_bytes());
        }
        let variables = self.environment.iter().flat_map(|layer| &layer.values);
        for (key, value) in variables {
            parts.add(key_text(key).as_bytes());
            parts.add_json(&value.json)?;
        }
        let BrowserSettings { installation, person, is_guest } = self.made;
        parts.add_json(&(self.trusted, is_guest, installation, person))?;
        Some(sha256_hex(&parts.0))
    }
}

/// Bytes of several parts, none of which can be taken for a piece of another.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
    fn add(&mut self, part: &[u8]) {
        self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.0.extend_from_slice(part);
    }

    fn add_json(&mut self, part: &impl Serialize) -> Option<()> {
        self.add(&serde_json::to_vec(part).ok()?);
        Some(())
    }
}
