//! The models that a session may speak with beside the chosen one: what settings say of it, and what a
//! person's own choice leaves of that (V8). Not here: when another one goes on (`weir_core::routing`).

use weir_core::model::ModelInfo;
use weir_core::profile::Profile;
use weir_core::routing::{ModelRouting, RouteRule};
use weir_core::session::SessionConfig;

use super::SessionOverrides;
use super::client_model::CLIENT_PROVIDER;
use crate::config::WorkspaceConfig;
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::models;

/// How the model of a session was named.
pub(super) struct NamedModel {
    /// Its name, by which it is made ready again.
    name: String,
    /// Somebody named it for this session: no rule leads it elsewhere.
    is_chosen: bool,
    /// Whoever calls this program is the model itself.
    is_client: bool,
}

impl NamedModel {
    /// By a flag, a profile or settings; a model that Weir found by itself has its own name.
    pub(super) fn new(
        config: &WorkspaceConfig,
        wishes: &SessionOverrides,
        profile: &Profile,
        info: &ModelInfo,
    ) -> NamedModel {
        let chosen = wishes.model.as_ref().or(profile.model.as_ref());
        let named = chosen.or(config.settings.model.as_ref()).cloned();
        // A provider alone, or a dated name, means this one; a script has no other name than its file.
        let script = named.filter(|text| text.starts_with("script:"));
        NamedModel {
            name: script.unwrap_or_else(|| info.model.to_string()),
            is_chosen: chosen.is_some(),
            is_client: info.model.provider == CLIENT_PROVIDER,
        }
    }
}

/// The other models of a session. One that exists keeps the model that was chosen for it, also while another
/// one stands in; and it gets no rules that it had not, since nobody knows who chose its model.
///
/// # Errors
/// A name in `routing` that means no model.
pub(super) fn session_routing(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    named: &NamedModel,
) -> anyhow::Result<ModelRouting> {
    if named.is_client {
        return Ok(ModelRouting::default());
    }
    let is_new = kept.is_none();
    let kept = kept.filter(|_| wishes.model.is_none()).map(|kept| &kept.routing);
    let settings = &cx.config()?.settings.routing;
    let fallback: anyhow::Result<Vec<String>> = (settings.fallback.iter())
        .map(|name| whole_name(cx, "routing.fallback", name, is_new))
        .collect();
    let may_lead = kept.map_or(!named.is_chosen, |kept| !kept.rules.is_empty());
    let whole_rule = |rule: &RouteRule| {
        let model = whole_name(cx, "routing.rules", &rule.model, is_new)?;
        Ok(RouteRule { model, ..rule.clone() })
    };
    let rules: anyhow::Result<Vec<RouteRule>> =
        settings.rules.iter().filter(|_| may_lead).map(whole_rule).collect();
    let (fallback, rules) = (fallback?, rules?);
    let away = kept.and_then(|kept| kept.away.clone());
    if fallback.is_empty() && rules.is_empty() && away.is_none() {
        return Ok(ModelRouting::default());
    }
    let home = kept.and_then(|kept| kept.home.clone());
    let home = Some(home.unwrap_or_else(|| named.name.clone()));
    Ok(ModelRouting { home, away, fallback, rules })
}

/// The whole name of a model that `key` names. Of a new session it is said once what is missing for it, as long
/// as there is time to mend that.
fn whole_name(
    cx: &InstallationContext,
    key: &str,
    name: &str,
    is_new: bool,
) -> anyhow::Result<String> {
    if name.starts_with("script:") {
        return Ok(name.to_owned());
    }
    let catalogue = models::load_catalogue(cx)?;
    let resolved = catalogue.resolve_model(name).map_err(|error| {
        let place = cx.config().map(|config| format!("{}: ", config.origin_of_key(key)));
        usage(format!("{}{key}: {error}", place.unwrap_or_default()))
    })?;
    let vendor = &resolved.vendor;
    let (_, source) = models::vendor_endpoint(cx, catalogue, vendor)?;
    if is_new && vendor.needs_key && source.is_none() {
        cx.notify(&format!(
            "warning: {key} names {name}, and there is no key for {0}: it cannot go on (`weir auth set {0}`)",
            vendor.name
        ));
    }
    Ok(resolved.info.model.to_string())
}
