//! Models that are known, and what endpoints say they have. Not here: which of them a session takes
//! (`models`).

use std::collections::BTreeMap;

use futures::future::join_all;
use weir_core::model::{ModelInfo, ModelRef};
use weir_providers::catalogue::{ModelCatalogue, Vendor};
use weir_providers::probe::{self, FoundModel};
use weir_providers::window;

use crate::context::InstallationContext;
use crate::models;

/// What an endpoint answered, by provider.
pub type ProbedModels = BTreeMap<String, Result<Vec<FoundModel>, String>>;

/// One row.
pub struct Row {
    /// Name, window and price of the model.
    pub info: ModelInfo,
    /// What the model could take, where less holds now.
    pub window_max: Option<u64>,
    /// A key of its provider is known.
    pub has_key: bool,
    /// The endpoint has it; `None`: it was not asked.
    pub offered: Option<bool>,
}

/// Asks endpoints that have a key, those of the settings, and local servers, all at once. What was found out of
/// their models before is forgotten.
pub async fn ask(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
    vendors: &[&Vendor],
) -> anyhow::Result<ProbedModels> {
    let transport = models::process_transport(cx);
    let mut asked = Vec::new();
    for vendor in vendors {
        let (endpoint, key) = models::vendor_endpoint(cx, catalogue, vendor)?;
        let is_configured = key.is_some() || !vendor.needs_key;
        if is_configured && !endpoint.base_url.is_empty() {
            models::forget_refused_tools(cx, &vendor.name)?;
            asked.push((vendor.local, endpoint));
        }
    }
    let answers = asked.iter().map(async |(local, endpoint)| {
        let found = if *local {
            match probe::local_models(endpoint, &transport).await {
                Some(found) => Ok(found),
                // That one of several is not there is the usual case, not a failure.
                None if vendors.len() > 1 => Ok(Vec::new()),
                None => Err(format!("no response from {}: is it running?", endpoint.base_url)),
            }
        } else {
            let mut found = probe::list_models(endpoint, &transport).await;
            if let Ok(found) = &mut found
                && window::can_be_asked(&endpoint.vendor)
            {
                probe::ask_windows(endpoint, &transport, found).await;
            }
            found
        };
        (endpoint.vendor.name.clone(), found)
    });
    Ok(join_all(answers).await.into_iter().collect())
}

/// The known models of a vendor and those that its endpoint named.
pub fn rows_of(
    catalogue: &ModelCatalogue,
    vendor: &Vendor,
    has_key: bool,
    probed: Option<&Result<Vec<FoundModel>, String>>,
) -> Vec<Row> {
    let found = probed.and_then(|found| found.as_ref().ok());
    let offers = |name: &str| found.map(|list| list.iter().any(|model| model.name == name));
    let known = catalogue.models().iter().filter(|info| info.model.provider == vendor.name);
    let mut rows: Vec<Row> = known
        .map(|info| Row {
            info: info.clone(),
            window_max: None,
            has_key,
            offered: offers(&info.model.name),
        })
        .collect();
    for model in found.into_iter().flatten() {
        if rows.iter().any(|row| row.info.model.name == model.name) {
            continue;
        }
        let reference = ModelRef { provider: vendor.name.clone(), name: model.name.clone() };
        let mut info = catalogue.model_info(&reference);
        info.window = model.window.unwrap_or(info.window);
        info.max_output = model.max_output.unwrap_or(info.max_output);
        rows.push(Row { info, window_max: model.window_max, has_key, offered: Some(true) });
    }
    rows
}
