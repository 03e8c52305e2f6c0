//! Models and keys: the same list that `weir models` shows, and the file of keys that `weir auth`
//! writes.

use async_trait::async_trait;
use weir_core::secret::Secret;
use weir_providers::probe::{self, KeyFault};
use weir_server::ports::{Home as _, HouseError, ModelDesk, ModelLine, ModelsTold, ProviderLine};

use super::home::PersonHome;
use super::refused;
use crate::command::models::{Row, ask, rows_of};
use crate::failure::usage;
use crate::keys::KeySource;
use crate::models;

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
            Ok(()) => Ok(()),
            Err(KeyFault::Refused) => Err(usage(format!(
                "{provider} does not accept this key. Nothing was saved: check that all of it was copied"
            ))),
            Err(KeyFault::Unclear(why)) => Err(usage(format!(
                "the key could not be checked with {provider}: {why}. Nothing was saved"
            ))),
        }
    }

    fn keep_key(&self, provider: &str, key: Secret) -> anyhow::Result<()> {
        let cx = self.at(None)?;
        if models::catalogue(&cx)?.vendor(provider).is_none() {
            return Err(usage(format!("there is no provider {provider:?}")));
        }
        cx.keys()?.clone().set(provider, key)
    }
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
