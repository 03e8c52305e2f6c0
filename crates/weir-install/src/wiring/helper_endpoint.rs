//! Where a helper is reached that does something else than answer in words: vectors, pictures. Not here:
//! helpers that are asked like any model (`guards`), and what each of these is good for.

use std::sync::Arc;

use weir_core::model::ModelInfo;
use weir_providers::http_model::ModelEndpoint;
use weir_providers::transport::ModelTransport;

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::models;

/// A model that a setting names, and where it is asked.
pub(super) struct HelperEndpoint {
    endpoint: ModelEndpoint,
    info: Arc<ModelInfo>,
    /// The setting, and where it stands.
    key: String,
}

impl HelperEndpoint {
    /// What `make` makes of it.
    ///
    /// # Errors
    /// It cannot be used: why, with the place of its setting.
    pub(super) fn connect<T, E: std::fmt::Display>(
        self,
        cx: &InstallationContext,
        make: impl FnOnce(ModelEndpoint, Arc<ModelInfo>, Arc<ModelTransport>) -> Result<T, E>,
    ) -> anyhow::Result<T> {
        make(self.endpoint, self.info, models::process_transport(cx))
            .map_err(|why| unusable_helper(&self.key, &why))
    }
}

/// The model `name` of the setting `key`; `None`: the setting is empty.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) fn helper_endpoint(
    cx: &InstallationContext,
    key: &str,
    name: &str,
) -> anyhow::Result<Option<HelperEndpoint>> {
    let name = name.trim();
    if name.is_empty() {
        return Ok(None);
    }
    let key = format!("{}: {key}", cx.config()?.origin_of_key(key));
    let catalogue = models::load_catalogue(cx)?;
    let resolved = catalogue.resolve_model(name).map_err(|error| unusable_helper(&key, &error))?;
    let (endpoint, source) = models::vendor_endpoint(cx, catalogue, &resolved.vendor)?;
    if resolved.vendor.needs_key && source.is_none() {
        let vendor = &resolved.vendor.name;
        let why = format!("there is no key: run `weir auth set {vendor}`");
        return Err(unusable_helper(&key, &why));
    }
    Ok(Some(HelperEndpoint { endpoint, info: Arc::new(resolved.info), key }))
}

fn unusable_helper(key: &str, why: &dyn std::fmt::Display) -> anyhow::Error {
    usage(format!("{key} cannot be used: {why}"))
}
