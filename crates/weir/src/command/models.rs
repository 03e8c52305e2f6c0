//! `weir models`: what is known of models, and what endpoints say they have.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_install::catalogue::models::{ProbedModels, Row, ask, rows_of};
use weir_install::context::InstallationContext;
use weir_install::models;
use weir_providers::catalogue::{ModelCatalogue, Vendor};

use crate::command::context_for_looking;
use crate::command::prices::run_prices_command;
use crate::failure::{exit, failure_with_status, usage};
use crate::options::{ModelsArgs, ModelsCommand};
use crate::terminal::{err_message, format_table, out_json, out_line};

/// Lists them.
pub(crate) async fn list_models(
    cx: &InstallationContext,
    args: ModelsArgs,
) -> anyhow::Result<ExitCode> {
    if let Some(ModelsCommand::Prices(prices)) = &args.command {
        return run_prices_command(cx, prices);
    }
    // Who asks an endpoint must know its address: that takes all of the settings.
    let looking = if args.probe { None } else { Some(context_for_looking(cx)?) };
    let cx = looking.as_ref().unwrap_or(cx);
    let catalogue = models::load_catalogue(cx)?;
    if let Some(name) = &args.provider
        && catalogue.find_vendor(name).is_none()
    {
        let known: Vec<&str> = catalogue.vendors().iter().map(|v| v.name.as_str()).collect();
        let known = known.join(", ");
        return Err(usage(format!("there is no provider {name:?}; known providers: {known}")));
    }
    let wanted = |vendor: &&Vendor| args.provider.as_ref().is_none_or(|name| *name == vendor.name);
    let vendors: Vec<&Vendor> = catalogue.vendors().iter().filter(wanted).collect();
    let probed = if args.probe { ask(cx, catalogue, &vendors).await? } else { ProbedModels::new() };
    if let Some(name) = args.provider.as_ref().filter(|_| args.probe) {
        check_endpoint_answered(cx, catalogue, &probed, name)?;
    }
    let mut rows = Vec::new();
    for vendor in &vendors {
        let (_, key) = models::vendor_endpoint(cx, catalogue, vendor)?;
        rows.extend(rows_of(catalogue, vendor, key.is_some(), probed.get(&vendor.name)));
    }
    for (name, why) in probed.iter().filter_map(|(name, found)| Some((name, found.as_ref().err()?)))
    {
        err_message(&format!("warning: {name}: {why}"));
    }
    let searches = |row: &Row| {
        let vendor = catalogue.find_vendor(&row.info.model.provider);
        vendor.is_some_and(|vendor| vendor.search_offer(&row.info.model.name).is_some())
    };
    if args.json.json {
        out_json(&rows.iter().map(|row| json_of(row, searches(row))).collect::<Vec<_>>())?;
    } else {
        let head = ["MODEL", "WINDOW", "OUTPUT", "PRICE in/out", "CAPABILITIES", "SEARCH", ""];
        let mut lines = vec![head.map(String::from).to_vec()];
        lines.extend(rows.iter().map(|row| cells_of(row, searches(row))));
        out_line(&format_table(&lines))?;
        if rows.iter().any(|row| row.window_max.is_some()) {
            err_message(
                "WINDOW shows the server's current context window and the model's maximum; \
                 docs/providers.md explains how to raise it",
            );
        }
        if !args.probe {
            err_message(
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
fn check_endpoint_answered(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
    probed: &ProbedModels,
    name: &str,
) -> anyhow::Result<()> {
    let Some(vendor) = catalogue.find_vendor(name) else { return Ok(()) };
    let (endpoint, _) = models::vendor_endpoint(cx, catalogue, vendor)?;
    let why = match probed.get(name) {
        Some(Ok(found)) if !found.is_empty() || !vendor.local => return Ok(()),
        Some(Ok(_)) => format!("{} responds, but has no models", endpoint.base_url),
        Some(Err(why)) => why.clone(),
        None if endpoint.base_url.is_empty() => "it has no address".to_owned(),
        None => format!("there is no key for it: `weir auth set {name}`"),
    };
    Err(failure_with_status(exit::FAILED, format!("{name}: {why}")))
}

/// A row for programs. `searches`: the vendor searches the web with it.
fn json_of(row: &Row, searches: bool) -> Value {
    let info = &row.info;
    json!({
        "model": info.model.to_string(),
        "window": info.window,
        "window_max": row.window_max,
        "max_output": info.max_output,
        "price": info.price,
        "abilities": info.abilities,
        "web_search": searches,
        "has_key": row.has_key,
        "offered": row.offered,
    })
}

/// A row for people.
fn cells_of(row: &Row, searches: bool) -> Vec<String> {
    let info = &row.info;
    let price = info.price.map_or_else(
        || "unknown".to_owned(),
        |price| format!("{} / {}", price.input, price.output),
    );
    let state = match (row.offered, row.has_key) {
        (Some(true), _) => "offered",
        (Some(false), _) => "not offered",
        (None, true) => "key",
        (None, false) => "",
    };
    vec![
        info.model.to_string(),
        match row.window_max {
            Some(most) => format!("{} of {most}", info.window),
            None => info.window.to_string(),
        },
        info.max_output.to_string(),
        price,
        info.abilities.join(","),
        if searches { "yes" } else { "" }.to_owned(),
        state.to_owned(),
    ]
}
