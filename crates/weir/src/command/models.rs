//! `weir models`: what is known of models, and what endpoints say they have.

use std::collections::BTreeMap;
use std::process::ExitCode;

use futures::future::join_all;
use serde_json::{Value, json};
use weir_core::model::{ModelInfo, ModelRef};
use weir_install::cx::Cx;
use weir_install::models;
use weir_providers::catalogue::{Catalogue, Vendor};
use weir_providers::probe::{self, FoundModel};

use crate::failure::{exit, failure, usage};
use crate::options::ModelsArgs;
use crate::terminal::{err, out, out_json, table};

/// What an endpoint answered, by provider.
pub(crate) type Probed = BTreeMap<String, Result<Vec<FoundModel>, String>>;

/// One row.
pub(crate) struct Row {
    /// The model.
    pub(crate) info: ModelInfo,
    /// What the model could take, where less holds now.
    window_max: Option<u64>,
    has_key: bool,
    /// The endpoint has it; `None`: it was not asked.
    pub(crate) offered: Option<bool>,
}

/// Lists them.
pub(crate) async fn models(cx: &Cx, args: ModelsArgs) -> anyhow::Result<ExitCode> {
    let catalogue = models::catalogue(cx)?;
    if let Some(name) = &args.provider
        && catalogue.vendor(name).is_none()
    {
        let known: Vec<&str> = catalogue.vendors().iter().map(|v| v.name.as_str()).collect();
        let known = known.join(", ");
        return Err(usage(format!("there is no provider {name:?}; known providers: {known}")));
    }
    let wanted = |vendor: &&Vendor| args.provider.as_ref().is_none_or(|name| *name == vendor.name);
    let vendors: Vec<&Vendor> = catalogue.vendors().iter().filter(wanted).collect();
    let probed = if args.probe { ask(cx, &catalogue, &vendors).await? } else { Probed::new() };
    if let Some(name) = args.provider.as_ref().filter(|_| args.probe) {
        answered(cx, &catalogue, &probed, name)?;
    }
    let mut rows = Vec::new();
    for vendor in &vendors {
        let (_, key) = models::endpoint(cx, &catalogue, vendor)?;
        rows.extend(rows_of(&catalogue, vendor, key.is_some(), probed.get(&vendor.name)));
    }
    for (name, why) in probed.iter().filter_map(|(name, found)| Some((name, found.as_ref().err()?)))
    {
        err(&format!("warning: {name}: {why}"));
    }
    if args.json.json {
        out_json(&rows.iter().map(Row::json).collect::<Vec<_>>())?;
    } else {
        let head = ["MODEL", "WINDOW", "OUTPUT", "PRICE in/out", "CAPABILITIES", ""];
        let mut lines = vec![head.map(String::from).to_vec()];
        lines.extend(rows.iter().map(Row::cells));
        out(&table(&lines))?;
        if rows.iter().any(|row| row.window_max.is_some()) {
            err("WINDOW shows the server's current context window and the model's maximum; \
                 docs/providers.md explains how to raise it");
        }
        if !args.probe {
            err(
                "`weir models --probe` asks the endpoints with a key, and local servers, for their \
                 models",
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the one endpoint that was to be asked answered.
///
/// # Errors
/// It did not, or was not asked: why, and what to do.
fn answered(cx: &Cx, catalogue: &Catalogue, probed: &Probed, name: &str) -> anyhow::Result<()> {
    let Some(vendor) = catalogue.vendor(name) else { return Ok(()) };
    let (endpoint, _) = models::endpoint(cx, catalogue, vendor)?;
    let why = match probed.get(name) {
        Some(Ok(found)) if !found.is_empty() || !vendor.local => return Ok(()),
        Some(Ok(_)) => format!("{} responds, but has no models", endpoint.base_url),
        Some(Err(why)) => why.clone(),
        None if endpoint.base_url.is_empty() => "it has no address".to_owned(),
        None => format!("there is no key for it: `weir auth set {name}`"),
    };
    Err(failure(exit::FAILED, format!("{name}: {why}")))
}

/// Asks endpoints that have a key, those of the settings, and local servers, all at once.
pub(crate) async fn ask(
    cx: &Cx,
    catalogue: &Catalogue,
    vendors: &[&Vendor],
) -> anyhow::Result<Probed> {
    let transport = models::transport(cx);
    let mut asked = Vec::new();
    for vendor in vendors {
        let (endpoint, key) = models::endpoint(cx, catalogue, vendor)?;
        let is_configured = key.is_some() || !vendor.needs_key;
        if is_configured && !endpoint.base_url.is_empty() {
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
            probe::list_models(endpoint, &transport).await
        };
        (endpoint.vendor.name.clone(), found)
    });
    Ok(join_all(answers).await.into_iter().collect())
}

/// The known models of a vendor and those that its endpoint named.
pub(crate) fn rows_of(
    catalogue: &Catalogue,
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
        let mut info = catalogue.info(&reference);
        info.window = model.window.unwrap_or(info.window);
        info.max_output = model.max_output.unwrap_or(info.max_output);
        rows.push(Row { info, window_max: model.window_max, has_key, offered: Some(true) });
    }
    rows
}

impl Row {
    fn json(&self) -> Value {
        let info = &self.info;
        json!({
            "model": info.model.to_string(),
            "window": info.window,
            "window_max": self.window_max,
            "max_output": info.max_output,
            "price": info.price,
            "abilities": info.abilities,
            "has_key": self.has_key,
            "offered": self.offered,
        })
    }

    fn cells(&self) -> Vec<String> {
        let info = &self.info;
        let price = info.price.map_or_else(
            || "unknown".to_owned(),
            |price| format!("{} / {}", price.input, price.output),
        );
        let state = match (self.offered, self.has_key) {
            (Some(true), _) => "offered",
            (Some(false), _) => "not offered",
            (None, true) => "key",
            (None, false) => "",
        };
        vec![
            info.model.to_string(),
            match self.window_max {
                Some(most) => format!("{} of {most}", info.window),
                None => info.window.to_string(),
            },
            info.max_output.to_string(),
            price,
            info.abilities.join(","),
            state.to_owned(),
        ]
    }
}
