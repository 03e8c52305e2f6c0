//! `weir models prices`: prices with the day they are from, and setting one. Not here: windows and abilities
//! (`models`).

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::model::{ModelRef, Price};
use weir_install::config::{self, SettingOrigin};
use weir_install::context::InstallationContext;
use weir_install::models;
use weir_providers::catalogue::{ModelCatalogue, PriceRow, parse_ref, price_complaint};

use crate::failure::usage;
use crate::options::PricesArgs;
use crate::supervised::refuse_supervised_flag;
use crate::terminal::{err_message, format_table, out_json, out_line};

/// Shows prices, or sets one.
pub(crate) fn run_prices_command(
    cx: &InstallationContext,
    args: &PricesArgs,
) -> anyhow::Result<ExitCode> {
    if args.input.is_some() || args.unset {
        // Prices decide what passes under a cap (G5).
        let flag = if args.unset { "--unset" } else { "--input" };
        refuse_supervised_flag(&format!("models prices {flag}"), &cx.environment)?;
    }
    match (&args.model, args.input, args.unset) {
        (Some(model), Some(input), _) => set_price(cx, model, input, args)?,
        (Some(model), None, true) => unset_price(cx, model)?,
        (model, _, _) => show_prices(cx, model.as_deref(), args.json.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_prices(
    cx: &InstallationContext,
    wanted: Option<&str>,
    as_json: bool,
) -> anyhow::Result<()> {
    let catalogue = models::load_catalogue(cx)?;
    let rows = wanted_rows(catalogue, wanted)?;
    if as_json {
        return out_json(&rows.iter().map(row_json).collect::<Vec<_>>());
    }
    let head = ["MODEL", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "ON", "FROM"];
    let mut lines = vec![head.map(String::from).to_vec()];
    lines.extend(rows.iter().map(row_cells));
    out_line(&format_table(&lines))?;
    err_message(
        "USD per million tokens. A model that is not listed, or whose price is unknown, is not asked \
         under a cap in USD; `weir models prices MODEL --input USD --output USD` sets a price",
    );
    Ok(())
}

/// The rows of one model, of one provider, or all that have a price.
fn wanted_rows(catalogue: &ModelCatalogue, wanted: Option<&str>) -> anyhow::Result<Vec<PriceRow>> {
    let of_provider = |name: &str| {
        let known = catalogue.models().iter().filter(|info| info.model.provider == name);
        known.map(|info| catalogue.price_row(&info.model)).collect::<Vec<_>>()
    };
    match wanted {
        None => {
            let priced = catalogue.models().iter().filter(|info| info.price.is_some());
            Ok(priced.map(|info| catalogue.price_row(&info.model)).collect())
        }
        Some(name) if !name.contains('/') => match catalogue.find_vendor(name) {
            Some(_) => Ok(of_provider(name)),
            None => {
                Err(usage(format!("there is no provider {name:?}; `weir models` lists models")))
            }
        },
        Some(name) => Ok(vec![catalogue.price_row(&known_model(catalogue, name)?)]),
    }
}

fn known_model(catalogue: &ModelCatalogue, name: &str) -> anyhow::Result<ModelRef> {
    let resolved = catalogue.resolve_model(name).map_err(|error| usage(error.to_string()))?;
    Ok(resolved.info.model)
}

fn row_json(row: &PriceRow) -> Value {
    json!({
        "model": row.model,
        "price": row.price,
        "priced_on": row.source.day,
        "from": if row.source.is_own { "settings" } else { "weir" },
        "built_in": row.built_in,
    })
}

fn row_cells(row: &PriceRow) -> Vec<String> {
    let part = |of: fn(&Price) -> f64| {
        row.price.as_ref().map_or_else(|| "unknown".to_owned(), |price| of(price).to_string())
    };
    // A part that nobody named is no price of nothing.
    let named = |of: fn(&Price) -> f64| match row.price.as_ref().map(of) {
        Some(usd) if usd > 0.0 || row.price.is_some_and(|price| price.input == 0.0) => {
            usd.to_string()
        }
        Some(_) => "as input".to_owned(),
        None => "unknown".to_owned(),
    };
    let origin = match (row.price, row.source.is_own, row.built_in) {
        (None, ..) => String::new(),
        (_, true, Some(built_in)) => {
            format!("your settings (Weir says {} / {})", built_in.input, built_in.output)
        }
        (_, true, None) => "your settings".to_owned(),
        (_, false, _) => "Weir".to_owned(),
    };
    vec![
        row.model.clone(),
        part(|price| price.input),
        part(|price| price.output),
        named(|price| price.cache_read),
        named(|price| price.cache_write),
        row.source.day.clone().unwrap_or_default(),
        origin,
    ]
}

fn set_price(
    cx: &InstallationContext,
    model: &str,
    input: f64,
    args: &PricesArgs,
) -> anyhow::Result<()> {
    let catalogue = models::load_catalogue(cx)?;
    let named = known_model(catalogue, model)?;
    let price = Price {
        input,
        output: args.output.unwrap_or(input),
        cache_read: args.cache_read.unwrap_or(0.0),
        cache_write: args.cache_write.unwrap_or(0.0),
    };
    if let Some(problem) = price_complaint(&price) {
        return Err(usage(format!("the price of {named} {problem}")));
    }
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let day = args.on.clone().unwrap_or(today);
    if day.parse::<jiff::civil::Date>().is_err() {
        return Err(usage(format!("--on {day:?} is no day; write 2026-11-29")));
    }
    let files = cx.config_files();
    let path = &files.user;
    let key = |field: &str| config::key_text(&["models", &named.to_string(), field]);
    let Price { input, output, cache_read, cache_write } = price;
    let mut text = format!("input = {input:?}, output = {output:?}");
    for (part, usd) in [("cache_read", cache_read), ("cache_write", cache_write)] {
        if usd > 0.0 {
            text.push_str(&format!(", {part} = {usd:?}"));
        }
    }
    let (price_key, price_text) = (key("price"), format!("{{ {text} }}"));
    let (day_key, day_text) = (key("priced_on"), format!("{day:?}"));
    let values = [(price_key.as_str(), price_text.as_str()), (day_key.as_str(), day_text.as_str())];
    config::set_values(&files.file_at(path), &values)?;
    warn_if_beaten(cx, &named)?;
    out_line(&format!(
        "{named} costs {input} / {output} USD per million tokens from now on ({}){}",
        path.display(),
        cache_words(&price)
    ))
}

/// What its cache costs, where that was not said: nothing is free that costs as input.
fn cache_words(price: &Price) -> String {
    let unnamed: Vec<&str> = [
        (price.cache_read, "read from its cache (--cache-read)"),
        (price.cache_write, "written to it (--cache-write)"),
    ]
    .into_iter()
    .filter_map(|(usd, words)| (usd == 0.0 && price.input > 0.0).then_some(words))
    .collect();
    match unnamed.is_empty() {
        true => String::new(),
        false => {
            format!(". What is {} counts as input: {} USD", unnamed.join(" and "), price.input)
        }
    }
}

/// Says when something above the person's own file names another price.
fn warn_if_beaten(cx: &InstallationContext, model: &ModelRef) -> anyhow::Result<()> {
    let read = cx.reloaded_in_folder(&cx.folder)?;
    let key = config::key_text(&["models", &model.to_string(), "price", "input"]);
    let origin = read.config()?.origin_of_key(&key);
    if !matches!(origin, SettingOrigin::User(..) | SettingOrigin::BuiltIn) {
        err_message(&format!("warning: {origin} names another price, which takes precedence here"));
    }
    Ok(())
}

fn unset_price(cx: &InstallationContext, model: &str) -> anyhow::Result<()> {
    let name = parse_ref(model).map_err(|error| usage(error.to_string()))?.to_string();
    let files = cx.config_files();
    let keys = ["price", "priced_on"].map(|field| config::key_text(&["models", &name, field]));
    let was_set =
        config::unset_values(&files.file_at(&files.user), &keys.each_ref().map(String::as_str))?;
    if !was_set {
        return Err(usage(format!("your settings name no price of {name}")));
    }
    let row =
        models::load_catalogue(&cx.reloaded_in_folder(&cx.folder)?)?.price_row(&parse_ref(&name)?);
    out_line(&match row.price {
        Some(price) => format!("{name} costs {} / {} USD again", price.input, price.output),
        None => format!("the price of {name} is unknown again"),
    })
}
