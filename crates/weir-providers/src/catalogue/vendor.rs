//! A vendor as a row of data, and where the environment says it is reached.
//!
//! Reads no variable itself: the environment comes in as a function.

use std::collections::BTreeMap;

use serde::Deserialize;
use weir_core::secret::Secret;

use super::{SearchOffer, ServerKind};
use crate::dialect::VendorQuirks;

/// A vendor: a row of data.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// The word before the slash.
    pub name: String,
    /// Name of the dialect that it speaks.
    pub dialect: String,
    /// Where requests go when no variable says otherwise. May be empty.
    pub base_url: String,
    /// Variables that hold its key.
    #[serde(default)]
    pub key_env: Vec<String>,
    /// Variables that replace `base_url`.
    #[serde(default)]
    pub base_url_env: Vec<String>,
    /// Port for a variable that names only a host.
    #[serde(default)]
    pub env_port: Option<u16>,
    /// Path for a variable that names only a host.
    #[serde(default)]
    pub env_path: Option<String>,
    /// Whether it answers only with a key.
    #[serde(default = "default_true")]
    pub needs_key: bool,
    /// A server on this machine that is looked for when nothing is configured.
    #[serde(default)]
    pub local: bool,
    /// It is not built in: the settings name it.
    #[serde(skip)]
    pub is_own: bool,
    /// What its server is, where the settings say so.
    #[serde(skip)]
    pub server: Option<ServerKind>,
    /// Header that carries the key, where it is not the dialect's own.
    #[serde(default)]
    pub key_header: Option<String>,
    /// Whose model rows count for it too.
    #[serde(default)]
    pub models_of: Option<String>,
    /// The model for those who name none.
    #[serde(default)]
    pub default_model: Option<String>,
    /// How it searches the web with its own tool; none: it documents none.
    #[serde(default)]
    pub search: Option<SearchOffer>,
    /// More headers; values may be secret.
    /// Headers that are sent with each request.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// Differences from other vendors of the same dialect.
    #[serde(default)]
    pub quirks: VendorQuirks,
}

fn default_true() -> bool {
    true
}

impl Vendor {
    /// Its key, from the first variable that is set.
    pub fn key_from_env(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<Secret> {
        self.key_env
            .iter()
            .filter_map(|name| env(name))
            .map(Secret::new)
            .find(|key| !key.is_empty())
    }

    /// Its base URL: from a variable where one is set, else its own. Empty when neither is there.
    pub fn endpoint_url(&self, env: &dyn Fn(&str) -> Option<String>) -> String {
        let given = self.base_url_env.iter().filter_map(|name| env(name));
        match given.map(|url| url.trim().to_owned()).find(|url| !url.is_empty()) {
            Some(url) => self.complete_url(&url),
            None => self.base_url.clone(),
        }
    }

    /// A host as people put it into a variable, as a whole URL.
    fn complete_url(&self, given: &str) -> String {
        let (scheme, rest) = given.split_once("://").unwrap_or(("http", given));
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let has_port = authority.rsplit_once(':').is_some_and(|(host, port)| {
            port.bytes().all(|b| b.is_ascii_digit()) && (!host.contains(':') || host.ends_with(']'))
        });
        // A server listens on all addresses; a client asks the one of this machine.
        let authority = match authority.strip_prefix("0.0.0.0") {
            Some(port) => format!("127.0.0.1{port}"),
            None => authority.to_owned(),
        };
        let port = match self.env_port {
            Some(port) if !has_port && scheme == "http" => format!(":{port}"),
            _ => String::new(),
        };
        let path = match path.trim_end_matches('/') {
            "" => self.env_path.as_deref().unwrap_or(""),
            path => path,
        };
        format!("{scheme}://{authority}{port}{path}")
    }
}

/// `[providers.NAME]` of the config.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VendorOverride {
    /// Wire dialect; required for a new provider.
    pub dialect: Option<String>,
    /// Base URL; required for a new provider.
    pub base_url: Option<String>,
    /// Variable that holds the key; without one a new provider is asked without a key.
    pub api_key_env: Option<String>,
    /// Headers that are sent with each request.
    pub headers: BTreeMap<String, Secret>,
    /// What its server is, in a word of [`ServerKind::WORDS`]; without one it may be asked.
    pub server: Option<String>,
}
