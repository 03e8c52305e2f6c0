//! The prompt files of a person: the texts on disk, and each version that was ever saved in the
//! records (S5). What is on disk is the truth: a text that another program changed is a version of
//! its own. Not here: how a prompt is put together.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::ids::Timestamp;
use weir_core::prompt::{self, BYTES_PER_TOKEN};
use weir_core::sorting::sort_stably_by_key;
use weir_engine::blocking::run_blocking;
use weir_engine::ports::{PutOutcome, RecordEntry};
use weir_engine::scene::{SOUL_CHARS_MAX, SceneRequest, USER_CHARS_MAX};

use super::{SessionPreferences, SettingsChange, SettingsChangeOutcome, UserSpace};
use crate::config::read_text;
use crate::failure::InstallationError;
use crate::files;
use crate::wiring::CUSTOM_CHARS_MAX;

/// A text of a person that stands in prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromptFile {
    /// `SOUL.md`: who the agent is.
    Soul,
    /// `USER.md`: who the person is.
    User,
    /// How the agent is to behave towards them: the setting `prompt.instructions`.
    Personality,
}

impl PromptFile {
    /// All, in the order in which people read of them.
    pub const ALL: [PromptFile; 3] = [PromptFile::Soul, PromptFile::User, PromptFile::Personality];

    /// Name of the file in the addresses of pages.
    pub fn name(self) -> &'static str {
        match self {
            PromptFile::Soul => "soul",
            PromptFile::User => "user",
            PromptFile::Personality => "personality",
        }
    }

    /// The file of this name.
    pub fn from_name(name: &str) -> Option<PromptFile> {
        PromptFile::ALL.into_iter().find(|file| file.name() == name)
    }
}

/// One version of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PromptVersion {
    /// 1, 2, 3, …
    pub version: u64,
    /// Text that is added or shown.
    pub text: String,
    /// Who saved it; `outside`: the file was changed by another program.
    pub by: String,
    /// When it was written (UTC).
    pub ts: Timestamp,
}

/// A text and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PromptText {
    /// The file that it is the text of.
    pub file: PromptFile,
    /// As it is now.
    pub text: String,
    /// Characters that a prompt has room for: a longer text is refused.
    pub chars_max: usize,
    /// The newest first. Empty: nobody ever wrote it.
    pub versions: Vec<PromptVersion>,
}

/// A part of the prompt that a new chat would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PromptSection {
    /// Name of the section.
    pub name: String,
    /// Its text as the model would read it.
    pub text: String,
    /// About so many tokens.
    pub tokens: u64,
}

/// The kind of a version in the records.
const RECORD: &str = "prompt_version";

/// Versions that are kept of one text; the oldest go.
const VERSIONS_MAX: usize = 100;

/// Who saved what no page saved.
const OUTSIDE: &str = "outside";

/// The setting that holds the personality.
const INSTRUCTIONS: &str = "prompt.instructions";

#[derive(Serialize, Deserialize)]
struct StoredPromptVersion {
    text: String,
    by: String,
    ts: Timestamp,
}

fn chars_max(file: PromptFile) -> usize {
    match file {
        PromptFile::Soul => SOUL_CHARS_MAX,
        PromptFile::User => USER_CHARS_MAX,
        PromptFile::Personality => CUSTOM_CHARS_MAX,
    }
}

fn to_failed_error(error: &dyn std::fmt::Display) -> InstallationError {
    InstallationError::Failed(error.to_string())
}

impl UserSpace {
    fn path_of(&self, file: PromptFile) -> Option<PathBuf> {
        match file {
            PromptFile::Soul => Some(self.cx.dirs.config.join("SOUL.md")),
            PromptFile::User => Some(self.cx.dirs.config.join("USER.md")),
            PromptFile::Personality => None,
        }
    }

    /// The text as it is where it counts.
    async fn text_now(&self, file: PromptFile) -> Result<String, InstallationError> {
        let Some(path) = self.path_of(file) else {
            let sheet = self.settings_sheet().await?;
            let setting = sheet.items.into_iter().find(|setting| setting.key == INSTRUCTIONS);
            let own = setting.and_then(|setting| setting.own);
            return Ok(own.and_then(|own| own.as_str().map(str::to_owned)).unwrap_or_default());
        };
        let read = run_blocking(move || read_text(&path)).await;
        let text =
            read.map_err(|error| to_failed_error(&error))?.map_err(InstallationError::Failed)?;
        Ok(text.unwrap_or_default())
    }

    fn version_name(&self, file: PromptFile, version: u64) -> String {
        format!("{}/{}/{version:010}", self.person.id, file.name())
    }

    /// Versions that are kept, the oldest first, with their numbers.
    async fn prompt_versions(
        &self,
        file: PromptFile,
    ) -> Result<Vec<PromptVersion>, InstallationError> {
        let owner = self.person.id.as_str();
        let entries = self.records.list(RECORD, Some(owner), self.now()).await?;
        let of_this = format!("{owner}/{}/", file.name());
        let mut versions = Vec::new();
        for entry in entries {
            let Some(number) = entry.name.strip_prefix(&of_this) else { continue };
            let version = number.parse().map_err(|error| to_failed_error(&error))?;
            let kept: StoredPromptVersion =
                serde_json::from_str(&entry.text).map_err(|error| to_failed_error(&error))?;
            versions.push(PromptVersion { version, text: kept.text, by: kept.by, ts: kept.ts });
        }
        sort_stably_by_key(&mut versions, |version| version.version);
        Ok(versions)
    }

    /// Keeps a version. `false`: somebody was quicker.
    async fn keep_version(
        &self,
        file: PromptFile,
        one: &PromptVersion,
    ) -> Result<bool, InstallationError> {
        let kept = StoredPromptVersion { text: one.text.clone(), by: one.by.clone(), ts: one.ts };
        let entry = RecordEntry {
            kind: RECORD.into(),
            name: self.version_name(file, one.version),
            owner: self.person.id.0.clone(),
            text: serde_json::to_string(&kept).map_err(|error| to_failed_error(&error))?,
            version: 0,
            expires: None,
            ts: one.ts,
        };
        Ok(matches!(self.records.put(&entry, Some(0)).await?, PutOutcome::Kept(_)))
    }

    /// Versions with what is on disk as the last of them.
    async fn versions_now(
        &self,
        file: PromptFile,
    ) -> Result<Vec<PromptVersion>, InstallationError> {
        let text = self.text_now(file).await?;
        let mut versions = self.prompt_versions(file).await?;
        let last = versions.last();
        let is_known = match last {
            Some(last) => last.text == text,
            None => text.is_empty(),
        };
        if is_known {
            return Ok(versions);
        }
        let version = last.map_or(1, |last| last.version + 1);
        let one = PromptVersion { version, text, by: OUTSIDE.into(), ts: self.now() };
        if !self.keep_version(file, &one).await? {
            return self.prompt_versions(file).await;
        }
        versions.push(one);
        Ok(versions)
    }

    async fn write_text(&self, file: PromptFile, text: &str) -> Result<(), InstallationError> {
        let Some(path) = self.path_of(file) else {
            let value = if text.is_empty() { Value::Null } else { Value::from(text) };
            let values = [(INSTRUCTIONS.to_owned(), value)].into();
            let change = SettingsChange { for_all: false, version: None, values };
            return match self.change_settings(&change).await? {
                SettingsChangeOutcome::Kept(_) => Ok(()),
                SettingsChangeOutcome::Stale(_) => Err(stale_version_error()),
            };
        };
        let text = text.to_owned();
        let written = run_blocking(move || files::replace_file(&path, text.as_bytes(), 0o644));
        let written = written.await.map_err(|error| to_failed_error(&error))?;
        written.map_err(|error| to_failed_error(&format!("{error:#}")))
    }
}

fn stale_version_error() -> InstallationError {
    InstallationError::Stale("somebody saved it meanwhile: look at the newest version first".into())
}

impl UserSpace {
    /// A text with its versions.
    ///
    /// # Errors
    /// File or database cannot be read.
    pub async fn prompt_text(&self, file: PromptFile) -> Result<PromptText, InstallationError> {
        let mut versions = self.versions_now(file).await?;
        versions.reverse();
        let text = versions.first().map(|last| last.text.clone()).unwrap_or_default();
        Ok(PromptText { file, text, chars_max: chars_max(file), versions })
    }

    /// Saves a text as a new version; the same text again is none. `expected`: only over this
    /// version (0: there is none yet). Returns the newest version.
    ///
    /// # Errors
    /// [`InstallationError::Refused`]: too long, or somebody saved meanwhile.
    pub async fn save_prompt(
        &self,
        file: PromptFile,
        text: &str,
        expected: Option<u64>,
    ) -> Result<u64, InstallationError> {
        // Browsers send line ends of their own.
        let text = text.replace("\r\n", "\n");
        let (length, most) = (text.chars().count(), chars_max(file));
        if length > most {
            return Err(InstallationError::Refused(format!(
                "it has {length} characters and a prompt has room for {most}: shorten it"
            )));
        }
        let mut versions = self.versions_now(file).await?;
        let newest = versions.last().map_or(0, |last| last.version);
        let same = versions.last().is_some_and(|last| last.text == text);
        if same || (newest == 0 && text.is_empty()) {
            return Ok(newest);
        }
        if expected.is_some_and(|expected| expected != newest) {
            return Err(stale_version_error());
        }
        let (by, ts) = (self.person.name.clone(), self.now());
        let one = PromptVersion { version: newest + 1, text, by, ts };
        // The version first: should the file not take it, the next look says what is there.
        if !self.keep_version(file, &one).await? {
            return Err(stale_version_error());
        }
        self.write_text(file, &one.text).await?;
        let version = one.version;
        versions.push(one);
        for old in versions.iter().take(versions.len().saturating_sub(VERSIONS_MAX)) {
            self.records.remove(RECORD, &self.version_name(file, old.version)).await?;
        }
        self.renew();
        Ok(version)
    }

    /// The prompt of a new chat, part by part. Asks no model and changes nothing.
    ///
    /// # Errors
    /// No session could be begun now: why.
    pub async fn preview_prompt(&self) -> Result<Vec<PromptSection>, InstallationError> {
        let look = self.look_at_settings().await?;
        let options = self.session_options_at(&look, &SessionPreferences::default(), None).await?;
        let engine = self.engine_at(&look).await?;
        let glance = SceneRequest {
            named: options.config.profile.skills.clone(),
            ..SceneRequest::default()
        };
        let scene = engine.preview_scene(&options, glance).await;
        let section = |section: prompt::RenderedSection| PromptSection {
            name: section.name.to_string(),
            tokens: (section.text.len() / BYTES_PER_TOKEN) as u64,
            text: section.text,
        };
        Ok(prompt::fitted_sections(&scene).into_iter().map(section).collect())
    }
}
