//! Settings of a person and of the house, each with its origin (S6, S9, C8), and whether the record
//! of what was done is whole (G10).

use std::collections::BTreeMap;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HouseError;

/// What a value looks like: by this a page chooses its control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It is kept, with this version.
    Kept(u64),
    /// Somebody was quicker: this version is there now.
    Stale(u64),
}

/// Settings. Asked by pages and API; each change counts from the next run on.
#[async_trait]
pub trait SettingsDesk: Send + Sync {
    /// Every setting as it is now.
    ///
    /// # Errors
    /// The files of settings cannot be understood, or the database does not answer.
    async fn sheet(&self) -> Result<SettingsSheet, HouseError>;
    /// Changes settings. The same change twice is one change.
    ///
    /// # Errors
    /// [`HouseError::Refused`] with the reason: not theirs to set, not of its type, wider than the
    /// house allows. Then nothing is changed.
    async fn change(&self, change: &SettingsChange) -> Result<Changed, HouseError>;
    /// Whether journals and audit lines of the person are as they were written (G10).
    ///
    /// # Errors
    /// They cannot be read.
    async fn verify(&self) -> Result<AuditVerdict, HouseError>;
}

/// Whether everything is as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditVerdict {
    /// It is.
    pub whole: bool,
    /// Audit lines that were looked at.
    pub lines: u64,
    /// Sessions whose journals were looked at.
    pub sessions: u64,
    /// Facts in them.
    pub facts: u64,
    /// What is not: one sentence each, with number or place.
    pub faults: Vec<String>,
}
