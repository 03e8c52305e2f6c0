//! Models of a person, the endpoints that offer them, and their keys: the same list that `weir
//! models` shows, and the file of keys that `weir auth` writes. A key goes in and never comes out.

use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use weir_core::secret::Secret;
use weir_core::sorting::sort_stably_by_key;
use weir_providers::catalogue::{CatalogueOverrides, ModelCatalogue};
use weir_providers::dialect::openai_chat;
use weir_providers::http_model::ModelEndpoint;
use weir_providers::probe::{self, KeyCheck};

use super::UserSpace;
use crate::catalogue::models::{Row, ask, rows_of};
use crate::config::{self, KeyStore};
use crate::context::InstallationContext;
use crate::failure::{InstallationError, refused, usage};
use crate::keys::{KeySource, ProviderKeys};
use crate::models;

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelLine {
    /// `provider/name`.
    pub model: String,
    /// Name of the provider that offers the model.
    pub provider: String,
    /// Context window of the model, in tokens.
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
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelsTold {
    /// Models, by provider.
    pub models: Vec<ModelLine>,
    /// Endpoints that did not answer, and why.
    pub notes: Vec<String>,
}

/// Somebody who offers models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ProviderLine {
    /// Name of the provider.
    pub name: String,
    /// Base address of the provider.
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
    /// How it is spoken to: one of [`dialect_choices`].
    pub dialect: String,
    /// Its address: `https://llm.example.org/v1`.
    pub base_url: String,
    /// Its key; empty: it wants none.
    pub key: Secret,
    /// It is kept without being asked.
    pub unchecked: bool,
}

/// A dialect that endpoints speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialectChoice {
    /// Its word in the configuration.
    pub name: &'static str,
    /// Its words for people.
    pub title: &'static str,
}

/// The dialects that an endpoint can speak, that of most of them first.
pub fn dialect_choices() -> Vec<DialectChoice> {
    let mut all: Vec<DialectChoice> = weir_providers::DIALECTS
        .iter()
        .map(|dialect| DialectChoice { name: dialect.name(), title: dialect.title() })
        .collect();
    sort_stably_by_key(&mut all, |choice| choice.name != openai_chat::NAME);
    all
}

fn model_line(row: &Row, usable: bool) -> ModelLine {
    let info = &row.info;
    ModelLine {
        model: info.model.to_string(),
        provider: info.model.provider.clone(),
        window: info.window,
        max_output: info.max_output,
        price_input: info.price.map(|price| price.input),
        price_output: info.price.map(|price| price.output),
        abilities: info.abilities.clone(),
        usable,
        offered: row.offered,
    }
}

impl UserSpace {
    async fn gather_models(&self, probe: bool) -> anyhow::Result<ModelsTold> {
        let cx = self.at(None)?;
        let catalogue = models::load_catalogue(&cx)?;
        let vendors: Vec<_> = catalogue.vendors().iter().collect();
        let probed = match probe {
            true => ask(&cx, catalogue, &vendors).await?,
            false => Default::default(),
        };
        let mut told = ModelsTold::default();
        for vendor in vendors {
            let (_, key) = models::vendor_endpoint(&cx, catalogue, vendor)?;
            let usable = key.is_some() || !vendor.needs_key;
            let rows = rows_of(catalogue, vendor, key.is_some(), probed.get(&vendor.name));
            told.models.extend(rows.iter().map(|row| model_line(row, usable)));
        }
        let failed = probed.iter().filter_map(|(name, found)| Some((name, found.as_ref().err()?)));
        told.notes = failed.map(|(name, why)| format!("{name}: {why}")).collect();
        Ok(told)
    }

    fn provider_lines(&self) -> anyhow::Result<Vec<ProviderLine>> {
        let cx = self.at(None)?;
        let catalogue = models::load_catalogue(&cx)?;
        let keys = cx.provider_keys()?;
        let custom = &cx.config()?.settings.providers;
        let lines = catalogue.vendors().iter().map(|vendor| {
            let (endpoint, source) = models::vendor_endpoint(&cx, catalogue, vendor)?;
            Ok(ProviderLine {
                name: vendor.name.clone(),
                base_url: endpoint.base_url,
                custom: custom.contains_key(&vendor.name),
                local: vendor.local,
                needs_key: vendor.needs_key,
                variables: vendor.key_env.clone(),
                key: source.map(|source| match source {
                    KeySource::Variable(name) => format!("variable {name}"),
                    // Where the file lies is the machine's business.
                    KeySource::File(_) | KeySource::Keyring => "kept".into(),
                }),
                kept: keys.kept_key(&vendor.name).is_some(),
            })
        });
        lines.collect()
    }

    /// Keys of the installation are its admins'.
    fn of_admin(&self) -> Result<(), InstallationError> {
        match self.person.is_admin() {
            true => Ok(()),
            false => Err(InstallationError::Refused("only an admin changes keys".into())),
        }
    }

    async fn check_provider_key(&self, provider: &str, key: &Secret) -> anyhow::Result<()> {
        let cx = self.at(None)?;
        let catalogue = models::load_catalogue(&cx)?;
        let Some(vendor) = catalogue.find_vendor(provider) else {
            return Err(usage(format!("there is no provider {provider:?}")));
        };
        let (mut endpoint, _) = models::vendor_endpoint(&cx, catalogue, vendor)?;
        endpoint.key = Some(key.clone());
        match probe::check_key(&endpoint, &models::process_transport(&cx)).await {
            KeyCheck::Accepted(_) => Ok(()),
            KeyCheck::Refused(_) => Err(usage(format!(
                "{provider} does not accept this key. Nothing was saved: check that all of it was copied"
            ))),
            KeyCheck::Unsaid(why) => Err(usage(format!(
                "the key could not be checked with {provider}: {why}. Nothing was saved"
            ))),
        }
    }

    async fn add_provider_endpoint(&self, new: &NewEndpoint) -> anyhow::Result<Vec<String>> {
        let cx = self.at(None)?;
        let (name, base_url) = (new.name.trim(), new.base_url.trim());
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(plain) {
            return Err(usage("Name: use lowercase letters, digits, - and _"));
        }
        if models::load_catalogue(&cx)?.find_vendor(name).is_some() {
            return Err(usage(format!("there is a provider {name:?} already")));
        }
        if weir_providers::find_dialect(&new.dialect).is_none() {
            return Err(usage(format!("there is no API {:?}", new.dialect)));
        }
        let is_address = base_url.starts_with("https://") || base_url.starts_with("http://");
        if !is_address || base_url.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(usage("Address: it begins with https:// or http://"));
        }
        let declared = json!({ "dialect": new.dialect, "base_url": base_url });
        let found = match new.unchecked {
            true => Vec::new(),
            false => probe_unsaved_endpoint(&cx, name, &declared, &new.key).await?,
        };
        if !new.key.is_empty() {
            served_keys(&cx)?.save_key(name, new.key.clone())?;
        }
        // One value, so that no half of it is ever there.
        let text = |field: &str| declared[field].to_string();
        let table = format!("{{ dialect = {}, base_url = {} }}", text("dialect"), text("base_url"));
        let key = config::key_text(&["providers", name]);
        let files = cx.config_files();
        config::set_value(&files.file_at(&files.user), &key, &table)?;
        Ok(found)
    }

    fn remove_provider(&self, name: &str) -> anyhow::Result<bool> {
        let cx = self.at(None)?;
        let files = cx.config_files();
        let removed = config::remove_endpoint(&files.file_at(&files.user), name)?;
        if removed {
            cx.provider_keys()?.clone().remove(name)?;
        }
        Ok(removed)
    }

    fn keep_key(&self, provider: &str, key: Secret) -> anyhow::Result<()> {
        let cx = self.at(None)?;
        if models::load_catalogue(&cx)?.find_vendor(provider).is_none() {
            return Err(usage(format!("there is no provider {provider:?}")));
        }
        served_keys(&cx)?.save_key(provider, key).map(drop)
    }
}

/// The kept keys as a server changes them: it must have them again when it starts without a desktop, so
/// the keyring takes one only where the settings say so.
fn served_keys(cx: &InstallationContext) -> anyhow::Result<ProviderKeys> {
    let store = match cx.config()?.settings.keys.store {
        KeyStore::Keyring => KeyStore::Keyring,
        KeyStore::Auto | KeyStore::File => KeyStore::File,
    };
    Ok(cx.keys_to_change()?.with_store(store))
}

/// Longest name of an endpoint, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The models of an endpoint that is not in the settings yet.
async fn probe_unsaved_endpoint(
    cx: &InstallationContext,
    name: &str,
    declared: &Value,
    key: &Secret,
) -> anyhow::Result<Vec<String>> {
    let settings = &cx.config()?.settings;
    let mut together = json!({ "providers": settings.providers, "models": settings.models });
    together["providers"][name] = declared.clone();
    let catalogue = ModelCatalogue::new(&CatalogueOverrides::deserialize(&together)?)
        .map_err(|error| usage(error.to_string()))?;
    let vendor = catalogue.find_vendor(name).cloned();
    let vendor = vendor.ok_or_else(|| usage(format!("there is no provider {name:?}")))?;
    let key = (!key.is_empty()).then(|| key.clone());
    let endpoint = ModelEndpoint { base_url: vendor.base_url.clone(), vendor, key };
    let found = probe::list_models(&endpoint, &models::process_transport(cx)).await;
    let found = found.map_err(|why| {
        usage(format!("the endpoint could not be used: {why}. Nothing was saved"))
    })?;
    Ok(found.iter().map(|model| format!("{name}/{}", model.name)).collect())
}

impl UserSpace {
    /// Models that are known; `probe`: endpoints with a key, and local servers, are asked.
    ///
    /// # Errors
    /// The settings cannot be read.
    pub async fn list_models(&self, probe: bool) -> Result<ModelsTold, InstallationError> {
        self.look_up_made().await?;
        self.gather_models(probe).await.map_err(|error| refused(&error))
    }

    /// Everybody who offers models.
    ///
    /// # Errors
    /// The settings or keys cannot be read.
    pub async fn list_providers(&self) -> Result<Vec<ProviderLine>, InstallationError> {
        self.look_up_made().await?;
        self.provider_lines().map_err(|error| refused(&error))
    }

    /// The model of a new chat in which none is chosen, as `provider/name`; `None`: there is none that
    /// can be asked. Local servers are asked where nothing is set and no provider has a key.
    ///
    /// # Errors
    /// The settings or keys cannot be read.
    pub async fn standard_model(&self) -> Result<Option<String>, InstallationError> {
        self.look_up_made().await?;
        let cx = self.at(None).map_err(|error| refused(&error))?;
        // Settings that cannot be read are told by whoever asks for them; here there is no model.
        Ok(models::chosen_model_name(&cx, None).await.ok())
    }

    /// Whether a provider takes this key, found out by asking it. Nothing is kept. Only for admins.
    ///
    /// # Errors
    /// [`InstallationError::Refused`] with the reason: no such provider, it does not take the key,
    /// or it could not be asked.
    pub async fn check_key(&self, provider: &str, key: &Secret) -> Result<(), InstallationError> {
        self.of_admin()?;
        self.check_provider_key(provider, key).await.map_err(|error| refused(&error))
    }

    /// Adds an endpoint to the installation's settings, after it was asked for its models; gives these
    /// as `provider/name`. Only for admins.
    ///
    /// # Errors
    /// [`InstallationError::Refused`] with the reason: the name is taken or is none, it does not
    /// answer, or the settings cannot be written. Nothing is kept then.
    pub async fn add_endpoint(&self, new: &NewEndpoint) -> Result<Vec<String>, InstallationError> {
        self.of_admin()?;
        let found = self.add_provider_endpoint(new).await.map_err(|error| refused(&error))?;
        self.renew();
        Ok(found)
    }

    /// Takes an endpoint out of the installation's settings, with its key; whether it was there. Only
    /// for admins.
    ///
    /// # Errors
    /// The settings or keys cannot be written.
    pub async fn remove_endpoint(&self, name: &str) -> Result<bool, InstallationError> {
        self.of_admin()?;
        let removed = self.remove_provider(name).map_err(|error| refused(&error))?;
        self.renew();
        Ok(removed)
    }

    /// Keeps a key of the installation. Only for admins: the caller sees to it, and so does this.
    ///
    /// # Errors
    /// No such provider, it is no key, or it cannot be written.
    pub async fn set_key(&self, provider: &str, key: Secret) -> Result<(), InstallationError> {
        self.of_admin()?;
        self.keep_key(provider, key).map_err(|error| refused(&error))?;
        self.renew();
        Ok(())
    }

    /// Forgets a key of the installation; whether there was one. Only for admins.
    ///
    /// # Errors
    /// It cannot be written.
    pub async fn remove_key(&self, provider: &str) -> Result<bool, InstallationError> {
        self.of_admin()?;
        let removed = self.at(None).and_then(|cx| cx.provider_keys()?.clone().remove(provider));
        let removed = removed.map_err(|error| refused(&error))?;
        self.renew();
        Ok(removed.is_some())
    }
}
