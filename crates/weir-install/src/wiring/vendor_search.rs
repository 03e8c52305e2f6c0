//! The vendor that searches the web for a session, as the settings choose it. Not here: how it is asked
//! (`weir-providers`), and search engines with a key of their own (`search`).

use std::sync::Arc;

use weir_core::model::{ModelInfo, ModelRef};
use weir_engine::ports::VendorSearch as _;
use weir_providers::search::SearchModel;

use super::helper_endpoint::helper_endpoint;
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::models;
use crate::search::search_engine;

/// Who searches the web for sessions that begin here, with the price where a vendor does, in words; `None`:
/// nobody. Asks nobody over the network.
///
/// # Errors
/// Settings or keys cannot be read; the model that the settings name cannot search.
pub fn describe_search(cx: &InstallationContext) -> anyhow::Result<Option<String>> {
    if let Some(engine) = search_engine(cx)? {
        return Ok(Some(format!("{} at {}", engine.kind.as_str(), engine.host)));
    }
    let Some(model) = search_model(cx, &likely_model(cx)?)? else { return Ok(None) };
    let source = model.source();
    Ok(Some(format!("{} at {}, {}", source.model, source.address.host, model.price_text())))
}

/// The model that a session has where nobody names one: that of the settings, or the first with a key.
fn likely_model(cx: &InstallationContext) -> anyhow::Result<ModelInfo> {
    let catalogue = models::load_catalogue(cx)?;
    let none = ModelRef { provider: String::new(), name: String::new() };
    if let Some(text) = &cx.config()?.settings.model {
        let resolved = catalogue.resolve_model(text).map(|resolved| resolved.info);
        return Ok(resolved.unwrap_or_else(|_| ModelInfo::with_name(none)));
    }
    let first = models::first_keyed_model(cx, catalogue)?;
    Ok(first.map_or_else(|| ModelInfo::with_name(none), |first| first.info))
}

/// The model that searches for a session with `session_model`, where a vendor is to search. `None`: no
/// vendor is to, or that of the session's own model does not.
///
/// # Errors
/// The model that the settings name cannot search: file and line, why, and what to do.
pub(crate) fn search_model(
    cx: &InstallationContext,
    session_model: &ModelInfo,
) -> anyhow::Result<Option<Arc<SearchModel>>> {
    let config = cx.config()?;
    let settings = &config.settings.web.search;
    if !settings.is_by_vendor() {
        return Ok(None);
    }
    if let Some(named) = helper_endpoint(cx, "web.search.model", &settings.model)? {
        return named.connect(cx, SearchModel::new).map(|model| Some(Arc::new(model)));
    }
    let catalogue = models::load_catalogue(cx)?;
    // A scripted model has no vendor.
    let Ok(resolved) = catalogue.resolve_ref(&session_model.model) else { return Ok(None) };
    if resolved.vendor.search_offer(&session_model.model.name).is_none() {
        return Ok(None);
    }
    let (endpoint, _) = models::vendor_endpoint(cx, catalogue, &resolved.vendor)?;
    let info = Arc::new(session_model.clone());
    let made = SearchModel::new(endpoint, info, models::process_transport(cx));
    made.map(|model| Some(Arc::new(model))).map_err(|error| usage(error.to_string()))
}
