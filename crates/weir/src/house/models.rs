//! Models and keys: the same list that `weir models` shows, and the file of keys that `weir auth`
//! writes.

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::secret::Secret;
use weir_install::config;
use weir_install::cx::Cx;
use weir_install::keys::KeySource;
use weir_install::models;
use weir_providers::catalogue::{Catalogue, Overrides};
use weir_providers::http_model::Endpoint;
use weir_providers::probe::{self, KeyCheck};
use weir_server::ports::{
    DIALECTS, Home as _, HouseError, ModelDesk, ModelLine, ModelsTold, NewEndpoint, ProviderLine,
};

use super::home::PersonHome;
use super::refused;
use crate::command::models::{Row, ask, rows_of};
use crate::failure::usage;

fn line(row: &Row, usable: bool) -> ModelLine {
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

impl PersonHome {
    async fn told(&self, probe: bool) -> anyhow::Result<ModelsTold> {
        let cx = self.at(None)?;
        let catalogue = models::catalogue(&cx)?;
        let vendors: Vec<_> = catalogue.vendors().iter().collect();
        let probed = match probe {
            true => ask(&cx, &catalogue, &vendors).await?,
            false => Default::default(),
        };
        let mut told = ModelsTold::default();
        for vendor in vendors {
            let (_, key) = models::endpoint(&cx, &catalogue, vendor)?;
            let usable = key.is_some() || !vendor.needs_key;
            let rows = rows_of(&catalogue, vendor, key.is_some(), probed.get(&vendor.name));
            told.models.extend(rows.iter().map(|row| line(row, usable)));
        }
        let failed = probed.iter().filter_map(|(name, found)| Some((name, found.as_ref().err()?)));
        told.notes = failed.map(|(name, why)| format!("{name}: {why}")).collect();
        Ok(told)
    }

    fn offering(&self) -> anyhow::Result<Vec<ProviderLine>> {
        let cx = self.at(None)?;
        let catalogue = models::catalogue(&cx)?;
        let keys = cx.keys()?;
        let custom = &cx.config()?.settings.providers;
        let lines = catalogue.vendors().iter().map(|vendor| {
            let (endpoint, source) = models::endpoint(&cx, &catalogue, vendor)?;
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
                    KeySource::File(_) => "kept".into(),
                }),
                kept: keys.kept(&vendor.name).is_some(),
            })
        });
        lines.collect()
    }

    /// Keys of the installation are its admins'.
    fn of_admin(&self) -> Result<(), HouseError> {
        match self.person.is_admin() {
            true => Ok(()),
            false => Err(HouseError::Refused("only an admin changes keys".into())),
        }
    }

    async fn checked(&self, provider: &str, key: &Secret) -> anyhow::Result<()> {
        let cx = self.at(None)?;
        let catalogue = models::catalogue(&cx)?;
        let Some(vendor) = catalogue.vendor(provider) else {
            return Err(usage(format!("there is no provider {provider:?}")));
        };
        let (mut endpoint, _) = models::endpoint(&cx, &catalogue, vendor)?;
        endpoint.key = Some(key.clone());
        match probe::check_key(&endpoint, &models::transport(&cx)).await {
            KeyCheck::Accepted(_) => Ok(()),
            KeyCheck::Refused(_) => Err(usage(format!(
                "{provider} does not accept this key. Nothing was saved: check that all of it was copied"
            ))),
            KeyCheck::Unsaid(why) => Err(usage(format!(
                "the key could not be checked with {provider}: {why}. Nothing was saved"
            ))),
        }
    }

    async fn added(&self, new: &NewEndpoint) -> anyhow::Result<Vec<String>> {
        let cx = self.at(None)?;
        let (name, base_url) = (new.name.trim(), new.base_url.trim());
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(plain) {
            return Err(usage("Name: use lowercase letters, digits, - and _"));
        }
        if models::catalogue(&cx)?.vendor(name).is_some() {
            return Err(usage(format!("there is a provider {name:?} already")));
        }
        if !DIALECTS.iter().any(|(word, _)| *word == new.dialect) {
            return Err(usage(format!("there is no API {:?}", new.dialect)));
        }
        let is_address = base_url.starts_with("https://") || base_url.starts_with("http://");
        if !is_address || base_url.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(usage("Address: it begins with https:// or http://"));
        }
        let declared = json!({ "dialect": new.dialect, "base_url": base_url });
        let found = match new.unchecked {
            true => Vec::new(),
            false => answers(&cx, (name, &declared), &new.key).await?,
        };
        if !new.key.is_empty() {
            cx.keys()?.clone().set(name, new.key.clone())?;
        }
        // One value, so that no half of it is ever there.
        let text = |field: &str| declared[field].to_string();
        let table = format!("{{ dialect = {}, base_url = {} }}", text("dialect"), text("base_url"));
        let key = config::key_text(&["providers", name]);
        config::set_value(&cx.files().user, &key, &table)?;
        Ok(found)
    }

    fn without(&self, name: &str) -> anyhow::Result<bool> {
        let cx = self.at(None)?;
        let removed = config::remove_endpoint(&cx.files().user, name)?;
        if removed {
            cx.keys()?.clone().remove(name)?;
        }
        Ok(removed)
    }

    fn keep_key(&self, provider: &str, key: Secret) -> anyhow::Result<()> {
        let cx = self.at(None)?;
        if models::catalogue(&cx)?.vendor(provider).is_none() {
            return Err(usage(format!("there is no provider {provider:?}")));
        }
        cx.keys()?.clone().set(provider, key)
    }
}

/// Longest name of an endpoint, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The models of an endpoint that is not in the settings yet.
async fn answers(
    cx: &Cx,
    (name, declared): (&str, &Value),
    key: &Secret,
) -> anyhow::Result<Vec<String>> {
    let settings = &cx.config()?.settings;
    let mut together = json!({ "providers": settings.providers, "models": settings.models });
    together["providers"][name] = declared.clone();
    let catalogue = Catalogue::new(&serde_json::from_value::<Overrides>(together)?)
        .map_err(|error| usage(error.to_string()))?;
    let vendor = catalogue.vendor(name).cloned();
    let vendor = vendor.ok_or_else(|| usage(format!("there is no provider {name:?}")))?;
    let key = (!key.is_empty()).then(|| key.clone());
    let endpoint = Endpoint { base_url: vendor.base_url.clone(), vendor, key };
    let found = probe::list_models(&endpoint, &models::transport(cx)).await;
    let found = found.map_err(|why| {
        usage(format!("the endpoint could not be used: {why}. Nothing was saved"))
    })?;
    Ok(found.iter().map(|model| format!("{name}/{}", model.name)).collect())
}

#[async_trait]
impl ModelDesk for PersonHome {
    async fn models(&self, probe: bool) -> Result<ModelsTold, HouseError> {
        self.look_up_made().await?;
        self.told(probe).await.map_err(|error| refused(&error))
    }

    async fn providers(&self) -> Result<Vec<ProviderLine>, HouseError> {
        self.look_up_made().await?;
        self.offering().map_err(|error| refused(&error))
    }

    async fn standard(&self) -> Result<Option<String>, HouseError> {
        self.look_up_made().await?;
        let cx = self.at(None).map_err(|error| refused(&error))?;
        // Settings that cannot be read are told by whoever asks for them; here there is no model.
        Ok(models::known(&cx, None).await.ok())
    }

    async fn check_key(&self, provider: &str, key: &Secret) -> Result<(), HouseError> {
        self.of_admin()?;
        self.checked(provider, key).await.map_err(|error| refused(&error))
    }

    async fn add_endpoint(&self, new: &NewEndpoint) -> Result<Vec<String>, HouseError> {
        self.of_admin()?;
        let found = self.added(new).await.map_err(|error| refused(&error))?;
        self.renew();
        Ok(found)
    }

    async fn remove_endpoint(&self, name: &str) -> Result<bool, HouseError> {
        self.of_admin()?;
        let removed = self.without(name).map_err(|error| refused(&error))?;
        self.renew();
        Ok(removed)
    }

    async fn set_key(&self, provider: &str, key: Secret) -> Result<(), HouseError> {
        self.of_admin()?;
        self.keep_key(provider, key).map_err(|error| refused(&error))?;
        self.renew();
        Ok(())
    }

    async fn remove_key(&self, provider: &str) -> Result<bool, HouseError> {
        self.of_admin()?;
        let removed = self.at(None).and_then(|cx| cx.keys()?.clone().remove(provider));
        let removed = removed.map_err(|error| refused(&error))?;
        self.renew();
        Ok(removed)
    }
}
