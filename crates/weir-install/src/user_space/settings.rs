//! Settings of a person and of the installation, each with its origin (S6, S9, C8): what people made in
//! the browser is kept in the records, one entry for the installation and one for each person, and enters
//! the configuration as layers of its own. Not here: what those layers may hold (`config/made.rs`).

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::PoisonError;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::view::first_start::FirstStart;
use weir_engine::ports::{PutOutcome, RecordEntry, Records};

use super::UserSpace;
use crate::audit::{self, AuditVerdict};
use crate::config::{
    self, BrowserSettings, MadeValue, MadeValues, SettingScope, WorkspaceConfig, check_made,
};
use crate::context::InstallationContext;
use crate::failure::{InstallationError, refused};
use crate::trust::TrustStore;
use crate::wiring::{self, SessionOverrides};

/// What a value looks like: by this a page chooses its control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SettingShape {
    /// On or off.
    Toggle,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// One line.
    Text,
    /// Several lines.
    LongText,
    /// One of [`Setting::choices`].
    Choice,
    /// A list or table: told, and changed in files.
    Other,
}

/// One setting with everything that is to be known of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its key: `limits.max_iterations`.
    pub key: String,
    /// What it means.
    pub description: String,
    /// What its value looks like.
    pub shape: SettingShape,
    /// It may be without a value.
    pub optional: bool,
    /// The only values there are; empty: any that fits.
    pub choices: Vec<String>,
    /// Values that are known here, to be offered.
    pub suggestions: Vec<String>,
    /// The value that holds.
    pub value: Value,
    /// What holds when nobody says anything.
    pub default: Value,
    /// Where the value that holds came from: `set in the browser by ann`.
    pub origin: String,
    /// What the person set for themselves.
    pub own: Option<Value>,
    /// What an admin set for everybody.
    pub house: Option<Value>,
    /// The person may set it for themselves.
    pub yours: bool,
    /// An admin may set it for everybody.
    pub for_all: bool,
}

/// All settings of a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SettingsSheet {
    /// Every setting, in the order of the reference.
    pub items: Vec<Setting>,
    /// Version of what the person set: grows with each change. 0: nothing yet.
    pub version: u64,
    /// The same of what was set for everybody.
    pub house_version: u64,
    /// What was left out and why: values that no longer fit.
    pub notes: Vec<String>,
}

/// A change of settings: all of it or nothing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SettingsChange {
    /// For everybody, and not for oneself alone: only an admin may.
    #[serde(default)]
    pub for_all: bool,
    /// Only if what is changed has this version now (`version` or `house_version`); without it:
    /// whatever is there.
    #[serde(default)]
    pub version: Option<u64>,
    /// New values by key; `null` takes the value away, so that the one below it holds.
    pub values: BTreeMap<String, Value>,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsChangeOutcome {
    /// It is kept, with this version.
    Kept(u64),
    /// Somebody was quicker: this version is there now.
    Stale(u64),
}

/// The kind of these entries in the records.
const RECORD: &str = "setting";

/// The name of the installation's entry. A person's is `of:` and their id.
const INSTALLATION: &str = "house";

/// By which a file is known to be as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileStamp {
    /// When it was written, where it lies on the disk, and how long it is; none: it is not there.
    found: Option<(i64, i64, u64, u64)>,
}

impl FileStamp {
    fn of_path(path: &Path) -> FileStamp {
        let stamp = |found: Metadata| (found.mtime(), found.mtime_nsec(), found.ino(), found.len());
        FileStamp { found: std::fs::metadata(path).ok().map(stamp) }
    }
}

/// Values that one change may have.
const VALUES_MAX: usize = 200;

/// What is kept of one scope.
#[derive(Debug, Default)]
struct KeptValues {
    values: MadeValues,
    version: u64,
}

fn to_failed_error(error: &dyn std::fmt::Display) -> InstallationError {
    InstallationError::Failed(error.to_string())
}

impl UserSpace {
    /// Looks up what is set in the browser now, also by another replica. What was made of other
    /// settings is let go.
    pub(super) async fn look_up_made(&self) -> Result<(), InstallationError> {
        let (house, person) = (
            self.stored_values(SettingScope::Installation).await?,
            self.stored_values(SettingScope::Person).await?,
        );
        let made = BrowserSettings {
            installation: house.values,
            person: person.values,
            is_guest: !self.person.is_admin(),
        };
        let is_new = self.cx.set_made(made);
        if self.has_new_files() || is_new {
            self.renew();
        }
        Ok(())
    }

    /// Whether the files of rules, settings and trust are others than at the last look: an admin changed them
    /// on a page or by a command, and they hold for everybody.
    fn has_new_files(&self) -> bool {
        let files = [self.cx.config_files().user, TrustStore::file_of(&self.cx.dirs.state)];
        let stamps = files.map(|path| FileStamp::of_path(&path));
        let mut known = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.replace(stamps.clone());
        before.is_some_and(|before| before != stamps)
    }

    fn entry_name(&self, scope: SettingScope) -> (String, String) {
        match scope {
            SettingScope::Installation => (INSTALLATION.to_owned(), String::new()),
            SettingScope::Person => (format!("of:{}", self.person.id), self.person.id.0.clone()),
        }
    }

    async fn stored_values(&self, scope: SettingScope) -> Result<KeptValues, InstallationError> {
        let records: &dyn Records = self.records.as_ref();
        let (name, _) = self.entry_name(scope);
        let Some(entry) = records.get(RECORD, &name, self.now()).await? else {
            return Ok(KeptValues::default());
        };
        let values = serde_json::from_str(&entry.text).map_err(|error| {
            to_failed_error(&format!("the settings {name} are damaged: {error}"))
        })?;
        Ok(KeptValues { values, version: entry.version })
    }

    /// What would hold with `values` in place of what `scope` has.
    fn check_values(
        &self,
        scope: SettingScope,
        values: &MadeValues,
    ) -> Result<(), InstallationError> {
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let mut made = self.cx.browser_settings();
        let kept = match scope {
            SettingScope::Installation => std::mem::replace(&mut made.installation, values.clone()),
            SettingScope::Person => std::mem::replace(&mut made.person, values.clone()),
        };
        let config =
            WorkspaceConfig::load_with(&cx.config_files(), &cx.environment, cx.is_trusted(), &made);
        let config = config.map_err(|error| refused(&error))?;
        // Each by itself is right: what is left out now is too wide.
        let mine = format!("set in the browser by {}: ", self.person.name);
        let fresh = |note: &&String| {
            note.starts_with(&mine)
                && values.iter().any(|(key, value)| {
                    kept.get(key) != Some(value) && note[mine.len()..].starts_with(key.as_str())
                })
        };
        match config.warnings.iter().find(fresh).filter(|_| scope == SettingScope::Person) {
            Some(note) => Err(InstallationError::Refused(note[mine.len()..].to_owned())),
            None => Ok(()),
        }
    }
}

impl UserSpace {
    /// What somebody is told who has said nothing here yet, and chose no permission mode (U13). `None`
    /// also where that cannot be found out: no page waits for it.
    pub async fn first_start(&self) -> Option<FirstStart> {
        self.look_up_made().await.ok()?;
        let cx = self.at(None).ok()?;
        let (wishes, store) = (SessionOverrides::default(), self.store());
        wiring::find_first_start(&cx, &wishes, Some(store.as_ref()), None).await
    }

    /// Every setting as it is now.
    ///
    /// # Errors
    /// The files of settings cannot be understood, or the database does not answer.
    pub async fn settings_sheet(&self) -> Result<SettingsSheet, InstallationError> {
        self.look_up_made().await?;
        let (house, person) = (
            self.stored_values(SettingScope::Installation).await?,
            self.stored_values(SettingScope::Person).await?,
        );
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let config = cx.config().map_err(|error| refused(&error))?;
        let shapes = config::setting_value_schemas();
        let is_admin = self.person.is_admin();
        // How the installation is wired is its admins' business.
        let is_shown = |entry: &config::SettingEntry| {
            let settable = SettingScope::Installation.may_set(&entry.key)
                || SettingScope::Person.may_set(&entry.key);
            shapes.contains_key(&entry.key) && (settable || is_admin)
        };
        let entries = config::setting_entries(config).into_iter().filter(is_shown);
        let known = KnownNames::from_context(&cx);
        let items = entries.map(|entry| {
            let shape = shapes.get(&entry.key).cloned().unwrap_or_default();
            let choices = schema_choices(&shape);
            Setting {
                shape: shape_of(&entry.key, &shape, &choices),
                optional: is_optional(&shape),
                suggestions: known.for_key(&entry.key),
                own: person.values.get(&entry.key).map(|made| made.value.clone()),
                house: house.values.get(&entry.key).map(|made| made.value.clone()),
                yours: SettingScope::Person.may_set(&entry.key),
                for_all: SettingScope::Installation.may_set(&entry.key),
                choices,
                origin: told_origin(&entry.origin, is_admin),
                description: entry.description,
                value: entry.value,
                default: entry.default,
                key: entry.key,
            }
        });
        Ok(SettingsSheet {
            items: items.collect(),
            version: person.version,
            house_version: house.version,
            notes: config
                .warnings
                .iter()
                .filter(|note| is_admin || is_made(note))
                .cloned()
                .collect(),
        })
    }

    /// Changes settings. The same change twice is one change.
    ///
    /// # Errors
    /// [`InstallationError::Refused`] with the reason: not theirs to set, not of its type, wider
    /// than the installation allows. Then nothing is changed.
    pub async fn change_settings(
        &self,
        change: &SettingsChange,
    ) -> Result<SettingsChangeOutcome, InstallationError> {
        if change.for_all && !self.person.is_admin() {
            let why = "only an admin may set what holds for everybody";
            return Err(InstallationError::Refused(why.into()));
        }
        if change.values.len() > VALUES_MAX {
            return Err(InstallationError::Refused(format!("at most {VALUES_MAX} values at once")));
        }
        self.look_up_made().await?;
        let scope = if change.for_all { SettingScope::Installation } else { SettingScope::Person };
        let kept = self.stored_values(scope).await?;
        if let Some(version) = change.version.filter(|version| *version != kept.version) {
            // Sent twice, it is done already.
            return Ok(match is_there(&kept.values, change) && version < kept.version {
                true => SettingsChangeOutcome::Kept(kept.version),
                false => SettingsChangeOutcome::Stale(kept.version),
            });
        }
        if is_there(&kept.values, change) {
            return Ok(SettingsChangeOutcome::Kept(kept.version));
        }
        let mut values = kept.values;
        for (key, value) in &change.values {
            if value.is_null() {
                values.remove(key);
                continue;
            }
            let (value, by) = (value.clone(), self.person.name.clone());
            let made = MadeValue { value, by, ts: self.now() };
            check_made(scope, key, &made).map_err(InstallationError::Refused)?;
            values.insert(key.clone(), made);
        }
        self.check_values(scope, &values)?;
        let (name, owner) = self.entry_name(scope);
        let text = serde_json::to_string(&values).map_err(|error| to_failed_error(&error))?;
        let kind = RECORD.to_owned();
        let ts = self.now();
        let entry = RecordEntry { kind, name, owner, text, version: 0, expires: None, ts };
        match self.records.put(&entry, Some(kept.version)).await? {
            PutOutcome::Changed(now) => Ok(SettingsChangeOutcome::Stale(now)),
            PutOutcome::Kept(version) => {
                tracing::info!(by = %self.person.name, for_all = change.for_all,
                    keys = ?change.values.keys().collect::<Vec<_>>(), "settings were changed");
                self.look_up_made().await?;
                Ok(SettingsChangeOutcome::Kept(version))
            }
        }
    }

    /// Whether journals and audit lines of the person are as they were written (G10).
    ///
    /// # Errors
    /// They cannot be read.
    pub async fn verify_audit(&self) -> Result<AuditVerdict, InstallationError> {
        audit::whole(self.store().as_ref(), &self.chained)
            .await
            .map_err(|error| to_failed_error(&format!("{error:#}")))
    }
}

/// Whether everything that a change wants is so already.
fn is_there(values: &MadeValues, change: &SettingsChange) -> bool {
    change.values.iter().all(|(key, value)| match values.get(key) {
        Some(made) => made.value == *value,
        None => value.is_null(),
    })
}

/// Whether a note is about something that was set on a page.
fn is_made(note: &str) -> bool {
    note.starts_with("set in the browser")
}

/// Where a value came from, without paths of the machine for people who have no business there.
fn told_origin(origin: &str, is_admin: bool) -> String {
    let is_path = origin.starts_with('/') || origin.contains(":\\");
    if is_path && !is_admin { "the installation's config.toml".into() } else { origin.to_owned() }
}

/// Names that are known here.
struct KnownNames {
    models: Vec<String>,
    profiles: Vec<String>,
}

impl KnownNames {
    fn from_context(cx: &InstallationContext) -> KnownNames {
        let catalogue = crate::models::load_catalogue(cx);
        let models = catalogue.map(|catalogue| {
            catalogue.models().iter().map(|info| info.model.to_string()).collect::<Vec<_>>()
        });
        let profiles = cx.loaded_profiles().map(|profiles| {
            profiles.iter().map(|loaded| loaded.profile.name.clone()).collect::<Vec<_>>()
        });
        KnownNames { models: models.unwrap_or_default(), profiles: profiles.unwrap_or_default() }
    }

    fn for_key(&self, key: &str) -> Vec<String> {
        match key {
            "model" => self.models.clone(),
            "profile" => self.profiles.clone(),
            "prompt.timezone" => jiff::tz::db().available().map(|name| name.to_string()).collect(),
            key if key.starts_with("helpers.") => self.models.clone(),
            _ => Vec::new(),
        }
    }
}

/// The words that a schema lists, one by one.
fn schema_choices(schema: &Value) -> Vec<String> {
    let words = |list: &Value, name: Option<&str>| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        let word = |item: &Value| name.map_or(item.clone(), |name| item[name].clone());
        items.filter_map(|item| word(item).as_str().map(String::from)).collect()
    };
    match (&schema["enum"], &schema["oneOf"]) {
        (Value::Array(_), _) => words(&schema["enum"], None),
        (_, Value::Array(_)) => words(&schema["oneOf"], Some("const")),
        _ => Vec::new(),
    }
}

fn schema_types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(word) => vec![word.as_str()],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_optional(schema: &Value) -> bool {
    let branches = schema["anyOf"].as_array();
    schema_types(schema).contains(&"null")
        || branches
            .is_some_and(|branches| branches.iter().any(|one| schema_types(one).contains(&"null")))
}

fn shape_of(key: &str, schema: &Value, choices: &[String]) -> SettingShape {
    if !choices.is_empty() {
        return SettingShape::Choice;
    }
    if key == "prompt.instructions" {
        return SettingShape::LongText;
    }
    let branches = schema["anyOf"].as_array().into_iter().flatten();
    let all: Vec<&str> =
        schema_types(schema).into_iter().chain(branches.flat_map(schema_types)).collect();
    let has = |word: &str| all.contains(&word);
    match () {
        () if has("boolean") => SettingShape::Toggle,
        () if has("integer") && !has("string") => SettingShape::Whole,
        () if has("number") && !has("string") => SettingShape::Number,
        () if has("string") => SettingShape::Text,
        () => SettingShape::Other,
    }
}

#[cfg(test)]
mod tests;
