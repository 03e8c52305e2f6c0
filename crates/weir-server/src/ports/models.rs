//! Models, the endpoints that offer them, and their keys. A key goes in and never comes out.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use weir_core::secret::Secret;

use super::HouseError;

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelLine {
    /// `provider/name`.
    pub model: String,
    /// Who offers it.
    pub provider: String,
    /// Its window in tokens.
    pub window: u64,
    /// Most tokens of a reply.
    pub max_output: u64,
    /// US dollars for a million tokens that it reads; `null`: not known.
    pub price_input: Option<f64>,
    /// The same of what it writes.
    pub price_output: Option<f64>,
    /// What it can: `tools`, `images`, …
    pub abilities: Vec<String>,
    /// Its provider has a key, or needs none.
    pub usable: bool,
    /// Its endpoint named it when it was asked; `null`: it was not asked.
    pub offered: Option<bool>,
}

/// What endpoints said.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ModelsTold {
    /// Models, by provider.
    pub models: Vec<ModelLine>,
    /// Endpoints that did not answer, and why.
    pub notes: Vec<String>,
}

/// Somebody who offers models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProviderLine {
    /// Its name.
    pub name: String,
    /// Where it is reached.
    pub base_url: String,
    /// The configuration names it, or changes where it is reached.
    pub custom: bool,
    /// It runs on this machine.
    pub local: bool,
    /// It does not answer without a key.
    pub needs_key: bool,
    /// Variables that are looked at for its key.
    pub variables: Vec<String>,
    /// Where its key comes from: `variable NAME`, `kept`; `null`: it has none.
    pub key: Option<String>,
    /// A key is kept under its name, and can be removed.
    pub kept: bool,
}

/// An endpoint beside the built-in ones, as an admin adds it.
#[derive(Debug, Clone)]
pub struct NewEndpoint {
    /// Its name: the part of a model's name before the slash.
    pub name: String,
    /// How it is spoken to: one of [`DIALECTS`].
    pub dialect: String,
    /// Its address: `https://llm.example.org/v1`.
    pub base_url: String,
    /// Its key; empty: it wants none.
    pub key: Secret,
    /// It is kept without being asked.
    pub unchecked: bool,
}

/// Dialects that endpoints speak, with words for people.
pub const DIALECTS: [(&str, &str); 4] = [
    ("openai-chat", "OpenAI-compatible (chat completions)"),
    ("openai-responses", "OpenAI responses"),
    ("anthropic", "Anthropic messages"),
    ("gemini", "Gemini"),
];

/// Models and keys.
#[async_trait]
pub trait ModelDesk: Send + Sync {
    /// Models that are known; `probe`: endpoints with a key, and local servers, are asked.
    ///
    /// # Errors
    /// The settings cannot be read.
    async fn models(&self, probe: bool) -> Result<ModelsTold, HouseError>;
    /// Everybody who offers models.
    ///
    /// # Errors
    /// The settings or keys cannot be read.
    async fn providers(&self) -> Result<Vec<ProviderLine>, HouseError>;
    /// The model of a new chat in which none is chosen, as `provider/name`; `None`: there is none that
    /// can be asked. Local servers are asked where nothing is set and no provider has a key.
    ///
    /// # Errors
    /// The settings or keys cannot be read.
    async fn standard(&self) -> Result<Option<String>, HouseError>;
    /// Whether a provider takes this key, found out by asking it. Nothing is kept. Only for admins.
    ///
    /// # Errors
    /// [`HouseError::Refused`] with the reason: no such provider, it does not take the key, or it
    /// could not be asked.
    async fn check_key(&self, provider: &str, key: &Secret) -> Result<(), HouseError>;
    /// Adds an endpoint to the installation's settings, after it was asked for its models; gives these
    /// as `provider/name`. Only for admins.
    ///
    /// # Errors
    /// [`HouseError::Refused`] with the reason: the name is taken or is none, it does not answer, or
    /// the settings cannot be written. Nothing is kept then.
    async fn add_endpoint(&self, new: &NewEndpoint) -> Result<Vec<String>, HouseError>;
    /// Takes an endpoint out of the installation's settings, with its key; whether it was there. Only
    /// for admins.
    ///
    /// # Errors
    /// The settings or keys cannot be written.
    async fn remove_endpoint(&self, name: &str) -> Result<bool, HouseError>;
    /// Keeps a key of the installation. Only for admins: the caller sees to it, and so does this.
    ///
    /// # Errors
    /// No such provider, it is no key, or it cannot be written.
    async fn set_key(&self, provider: &str, key: Secret) -> Result<(), HouseError>;
    /// Forgets a key of the installation; whether there was one. Only for admins.
    ///
    /// # Errors
    /// It cannot be written.
    async fn remove_key(&self, provider: &str) -> Result<bool, HouseError>;
}
