//! Which model is meant, and the parts that speak with it (C4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::model::Thinking;
use weir_engine::ports::Model;
use weir_providers::catalogue::{Catalogue, Overrides, Resolved, Vendor};
use weir_providers::http_model::{Endpoint, http_model};
use weir_providers::probe;
use weir_providers::transport::{Transport, TransportOptions};
use weir_scripted_model::ScriptedModel;

use crate::cx::Cx;
use crate::failure::usage;
use crate::keys::KeySource;

mod window;

pub use window::{Windows, fits};

/// What is said when no model is named and none can be found.
const NO_MODEL: &str = "no model: none is named, no provider has a key, and no local server \
     (Ollama, LM Studio, llama.cpp, vLLM) answers. Three ways to go on:\n  \
     1. set a key: `weir auth set anthropic`, or a variable such as ANTHROPIC_API_KEY\n  \
     2. start a local server: `ollama serve`, then `weir run -m ollama/NAME …`\n  \
     3. look around without a model: `weir demo`";

/// Vendors and models as the settings say.
///
/// # Errors
/// A provider of the settings is not complete.
pub fn catalogue(cx: &Cx) -> anyhow::Result<Catalogue> {
    let settings = &cx.config()?.settings;
    if settings.providers.is_empty() && settings.models.is_empty() {
        return Ok(Catalogue::built_in().clone());
    }
    let overrides: Overrides = serde_json::from_value(serde_json::json!({
        "providers": settings.providers,
        "models": settings.models,
    }))?;
    Catalogue::new(&overrides).map_err(|error| {
        let place = cx.config().map(|config| {
            let first = config.set_keys().find(|(key, _)| key.starts_with("providers."));
            first.map(|(_, origin)| format!("{origin}: ")).unwrap_or_default()
        });
        usage(format!("{}{error}", place.unwrap_or_default()))
    })
}

/// The transport of this process.
pub fn transport(cx: &Cx) -> Arc<Transport> {
    let made = cx.transport.get_or_init(|| {
        // The variable that other programs read for the same purpose.
        let extra_ca = cx.environment.text("SSL_CERT_FILE").map(PathBuf::from);
        Transport::new(TransportOptions { extra_ca, ..TransportOptions::default() })
    });
    made.clone()
}

/// Where a vendor is reached, with its key from variable or file.
pub fn endpoint(
    cx: &Cx,
    catalogue: &Catalogue,
    vendor: &Vendor,
) -> anyhow::Result<(Endpoint, Option<KeySource>)> {
    let found = cx.keys()?.find(vendor, catalogue, &cx.environment);
    let (key, source) = found.unzip();
    let variable = |name: &str| cx.environment.text(name).map(String::from);
    let base_url = vendor.endpoint(&variable);
    Ok((Endpoint { vendor: vendor.clone(), base_url, key }, source))
}

/// A model that can be asked.
pub async fn model(cx: &Cx, wish: Option<&str>) -> anyhow::Result<Arc<dyn Model>> {
    let named = match wish {
        Some(text) => Some((text.to_owned(), None)),
        None => {
            let config = cx.config()?;
            config.settings.model.clone().map(|text| (text, Some(config.origin("model"))))
        }
    };
    let Some((text, origin)) = named else { return found(cx).await };
    let place = origin.map(|origin| format!("{origin}: ")).unwrap_or_default();
    if let Ok(resolved) = catalogue(cx)?.resolve(&text) {
        window::ask(cx, &resolved).await?;
    }
    at(cx, &text, &place)
}

/// How much a model thinks where nobody says anything, as far as the catalogue knows it.
pub fn usual_thinking(cx: &Cx, model: &str) -> Thinking {
    let known = catalogue(cx).ok().and_then(|catalogue| catalogue.resolve(model).ok());
    known.map_or_else(Thinking::default, |resolved| resolved.info.usual_thinking())
}

/// The name of the model that [`model`] would give, without making ready to speak with it. Nobody is
/// asked over the network unless no model is named and no provider has a key.
///
/// # Errors
/// As [`model`].
pub async fn known(cx: &Cx, wish: Option<&str>) -> anyhow::Result<String> {
    let set = match wish {
        Some(_) => None,
        None => cx.config()?.settings.model.clone(),
    };
    let catalogue = catalogue(cx)?;
    let Some(text) = wish.or(set.as_deref()) else {
        for vendor in catalogue.vendors() {
            let (_, source) = endpoint(cx, &catalogue, vendor)?;
            if let (Some(_), Some(name)) = (source, &vendor.default_model) {
                return Ok(format!("{}/{name}", vendor.name));
            }
        }
        return Ok(found(cx).await?.info().model.to_string());
    };
    if text.starts_with("script:") {
        return Ok(model(cx, Some(text)).await?.info().model.to_string());
    }
    let resolved = catalogue.resolve(text);
    // What is wrong is said in the words of the one that speaks.
    let Ok(resolved) = resolved else { return Ok(model(cx, wish).await?.info().model.to_string()) };
    let (_, source) = endpoint(cx, &catalogue, &resolved.vendor)?;
    if resolved.vendor.needs_key && source.is_none() {
        return Ok(model(cx, wish).await?.info().model.to_string());
    }
    Ok(resolved.info.model.to_string())
}

/// What a person has to give before anything can be asked.
pub enum Missing {
    /// No model is named and none can be found.
    Model,
    /// The model that is named needs the key of this vendor.
    Key(Box<Vendor>),
}

/// What is missing for [`known`], where a person can give it. Other mistakes are left to whoever asks
/// for the model.
///
/// # Errors
/// The settings cannot be read.
pub async fn missing(cx: &Cx, wish: Option<&str>) -> anyhow::Result<Option<Missing>> {
    let set = cx.config()?.settings.model.as_deref();
    let catalogue = catalogue(cx)?;
    if let Some(text) = wish.or(set) {
        let resolved = match text.starts_with("script:") {
            true => return Ok(None),
            false => catalogue.resolve(text),
        };
        let Ok(resolved) = resolved else { return Ok(None) };
        let (_, source) = endpoint(cx, &catalogue, &resolved.vendor)?;
        let is_missing = resolved.vendor.needs_key && source.is_none();
        return Ok(is_missing.then(|| Missing::Key(Box::new(resolved.vendor))));
    }
    for vendor in catalogue.vendors() {
        let (_, source) = endpoint(cx, &catalogue, vendor)?;
        if source.is_some() && vendor.default_model.is_some() {
            return Ok(None);
        }
    }
    let variable = |name: &str| cx.environment.text(name).map(String::from);
    let local = probe::first_local(&catalogue, &variable, &transport(cx)).await;
    Ok(local.is_none().then_some(Missing::Model))
}

/// The model of this name.
///
/// # Errors
/// There is none, or no key for it.
pub fn named(cx: &Cx, text: &str) -> anyhow::Result<Arc<dyn Model>> {
    at(cx, text, "")
}

/// The same for a name that stands at `place`.
fn at(cx: &Cx, text: &str, place: &str) -> anyhow::Result<Arc<dyn Model>> {
    if let Some(file) = text.strip_prefix("script:") {
        crate::wiring::guest::may_script(cx, file)?;
        return scripted(cx, Path::new(file));
    }
    let catalogue = catalogue(cx)?;
    let resolved = catalogue.resolve(text).map_err(|error| usage(format!("{place}{error}")))?;
    speak(cx, &catalogue, resolved)
}

/// The scripted model that plays `file`.
fn scripted(cx: &Cx, file: &Path) -> anyhow::Result<Arc<dyn Model>> {
    // Relative to where the person stands; the workspace's own is the second guess.
    let in_folder = cx.folder.join(file);
    let file = if file.exists() || !in_folder.exists() { file } else { &in_folder };
    let model = ScriptedModel::from_file(file).map_err(|error| usage(error.to_string()))?;
    Ok(Arc::new(model))
}

/// The model when none is named: a key, then a local server, then an error that helps.
async fn found(cx: &Cx) -> anyhow::Result<Arc<dyn Model>> {
    let catalogue = catalogue(cx)?;
    for vendor in catalogue.vendors() {
        let (_, source) = endpoint(cx, &catalogue, vendor)?;
        if let (Some(_), Some(name)) = (source, &vendor.default_model) {
            let resolved = catalogue.resolve(&format!("{}/{name}", vendor.name));
            return speak(cx, &catalogue, resolved.map_err(|error| usage(error.to_string()))?);
        }
    }
    let variable = |name: &str| cx.environment.text(name).map(String::from);
    match probe::first_local(&catalogue, &variable, &transport(cx)).await {
        Some(resolved) => {
            window::ask(cx, &resolved).await?;
            speak(cx, &catalogue, resolved)
        }
        None => Err(usage(NO_MODEL)),
    }
}

fn speak(cx: &Cx, catalogue: &Catalogue, resolved: Resolved) -> anyhow::Result<Arc<dyn Model>> {
    let (endpoint, source) = endpoint(cx, catalogue, &resolved.vendor)?;
    let vendor = &resolved.vendor;
    if vendor.needs_key && source.is_none() {
        let name = &vendor.name;
        let variable = vendor.key_env.first().map(|variable| format!("set {variable}, or "));
        return Err(usage(format!(
            "there is no key for {name}: {}run `weir auth set {name}` (`weir demo` needs none)",
            variable.unwrap_or_default()
        )));
    }
    let info = Arc::new(window::with_window(cx, resolved).info);
    http_model(endpoint, info, transport(cx)).map_err(|error| usage(error.to_string()))
}
