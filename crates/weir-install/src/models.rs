//! Which model is meant, and the parts that speak with it (C4).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Deserialize as _;
use weir_core::model::Thinking;
use weir_core::record::sha256_hex;
use weir_engine::ports::Model;
use weir_providers::catalogue::{CatalogueOverrides, ModelCatalogue, ResolvedModel, Vendor};
use weir_providers::http_model::{ModelEndpoint, http_model};
use weir_providers::probe;
use weir_providers::transport::{ModelTransport, TransportOptions};
use weir_scripted_model::ScriptedModel;

use crate::config::{SettingOrigin, Settings};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::keys::KeySource;

mod refused_tools;
mod window;

pub(crate) use refused_tools::forget_refused_tools;
pub(crate) use window::WindowNotice;
pub use window::check_fits_window;

/// What is said when no model is named and none can be found.
const NO_MODEL: &str = "no model: none is named, no provider has a key, and no local server \
     (Ollama, LM Studio, llama.cpp, vLLM) answers. Three ways to go on:\n  \
     1. set a key: `weir auth set anthropic`, or a variable such as ANTHROPIC_API_KEY\n  \
     2. start a local server: `ollama serve`, then `weir run -m ollama/NAME …`\n  \
     3. look around without a model: `weir demo`";

/// Vendors and models as the settings say. Put together once for a context, as its settings are read once.
///
/// # Errors
/// A provider of the settings is not complete.
pub fn load_catalogue(cx: &InstallationContext) -> anyhow::Result<&ModelCatalogue> {
    let settings = &cx.config()?.settings;
    if settings.providers.is_empty() && settings.models.is_empty() {
        return Ok(ModelCatalogue::built_in());
    }
    if let Some(made) = cx.catalogue.get() {
        return Ok(made);
    }
    let made = catalogue_of_settings(cx, settings)?;
    Ok(cx.catalogue.get_or_init(|| made))
}

/// Vendors and models as these settings say, put together once in the program for all that say the same.
///
/// # Errors
/// A provider of the settings is not complete.
fn catalogue_of_settings(
    cx: &InstallationContext,
    settings: &Settings,
) -> anyhow::Result<Arc<ModelCatalogue>> {
    let said = said_of_models(settings);
    let digest = sha256_hex(said.to_string().as_bytes());
    if let Some(kept) = cx.settings_cache.catalogues.find(&digest) {
        return Ok(kept);
    }
    let overrides = CatalogueOverrides::deserialize(&said)?;
    let made = ModelCatalogue::new(&overrides).map_err(|error| {
        let place = cx.config().map(|config| {
            let first = config.set_keys().find(|(key, _)| key.starts_with("providers."));
            first.map(|(_, origin)| format!("{origin}: ")).unwrap_or_default()
        });
        usage(format!("{}{error}", place.unwrap_or_default()))
    })?;
    Ok(cx.settings_cache.catalogues.keep(digest, made))
}

/// The same without the providers that are not complete, and by name what each of those lacks.
///
/// # Errors
/// What the settings say of models is no such thing.
pub(crate) fn catalogue_of_complete_providers(
    settings: &Settings,
) -> anyhow::Result<(ModelCatalogue, BTreeMap<String, String>)> {
    let mut overrides = CatalogueOverrides::deserialize(&said_of_models(settings))?;
    let mut incomplete = BTreeMap::new();
    overrides.providers.retain(|name, given| {
        let providers = BTreeMap::from([(name.clone(), given.clone())]);
        let alone = CatalogueOverrides { providers, ..CatalogueOverrides::default() };
        match ModelCatalogue::new(&alone) {
            Ok(_) => true,
            Err(error) => {
                incomplete.insert(name.clone(), error.to_string());
                false
            }
        }
    });
    let catalogue = ModelCatalogue::new(&overrides).map_err(|error| usage(error.to_string()))?;
    Ok((catalogue, incomplete))
}

/// What settings say of providers and models.
fn said_of_models(settings: &Settings) -> serde_json::Value {
    serde_json::json!({ "providers": settings.providers, "models": settings.models })
}

/// The transport of this process.
pub fn process_transport(cx: &InstallationContext) -> Arc<ModelTransport> {
    let made = cx.transport.get_or_init(|| {
        // The variable that other programs read for the same purpose.
        let extra_ca = cx.environment.text_variable("SSL_CERT_FILE").map(PathBuf::from);
        ModelTransport::new(TransportOptions { extra_ca, ..TransportOptions::default() })
    });
    made.clone()
}

/// Where a vendor is reached, with its key from variable or file.
pub fn vendor_endpoint(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
    vendor: &Vendor,
) -> anyhow::Result<(ModelEndpoint, Option<KeySource>)> {
    let found = cx.provider_keys()?.find_key(vendor, catalogue, &cx.environment);
    let (key, source) = found.unzip();
    let variable = |name: &str| cx.environment.text_variable(name).map(String::from);
    let base_url = vendor.endpoint_url(&variable);
    Ok((ModelEndpoint { vendor: vendor.clone(), base_url, key }, source))
}

/// A model that can be asked.
pub async fn choose_model(
    cx: &InstallationContext,
    wish: Option<&str>,
) -> anyhow::Result<Arc<dyn Model>> {
    let named = match wish {
        Some(text) => Some((text.to_owned(), None)),
        None => {
            let config = cx.config()?;
            config.settings.model.clone().map(|text| (text, Some(config.origin_of_key("model"))))
        }
    };
    let Some((text, origin)) = named else { return find_usable_model(cx).await };
    let place = origin.map(|origin| format!("{origin}: ")).unwrap_or_default();
    if let Ok(resolved) = load_catalogue(cx)?.resolve_model(&text) {
        window::ask_local_window(cx, &resolved).await?;
    }
    model_named_at(cx, &text, &place)
}

/// The model of this name, which is to go on in the place of another one. A server of one's own must answer.
///
/// # Errors
/// There is none, no key for it, or nobody answers where it is.
pub async fn choose_stand_in(
    cx: &InstallationContext,
    name: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    if let Ok(resolved) = load_catalogue(cx)?.resolve_model(name) {
        window::ask_stand_in_window(cx, &resolved).await?;
    }
    model_by_name(cx, name)
}

/// Asks the servers of these models which windows hold, all at once, where they are local ones. To be called
/// before a model is made that is not chosen by [`choose_model`]: a request to it names its window, and
/// what is longer is cut off unseen (R6). What nobody answers is left as it is.
pub(crate) async fn ask_windows_ahead(
    cx: &InstallationContext,
    names: BTreeSet<&str>,
    notice: WindowNotice,
) {
    let asked = names.into_iter().map(|name| window::ask_ahead(cx, name, notice));
    futures::future::join_all(asked).await;
}

/// How much a model thinks where nobody says anything, as far as the catalogue knows it.
pub fn usual_thinking(cx: &InstallationContext, model: &str) -> Thinking {
    let known = load_catalogue(cx).ok().and_then(|catalogue| catalogue.resolve_model(model).ok());
    known.map_or_else(Thinking::default, |resolved| resolved.info.usual_thinking())
}

/// The name of the model that [`choose_model`] would give, without making ready to speak with it. Nobody is
/// asked over the network unless no model is named and no provider has a key.
///
/// # Errors
/// As [`choose_model`].
pub async fn chosen_model_name(
    cx: &InstallationContext,
    wish: Option<&str>,
) -> anyhow::Result<String> {
    let set = match wish {
        Some(_) => None,
        None => cx.config()?.settings.model.clone(),
    };
    let catalogue = load_catalogue(cx)?;
    let Some(text) = wish.or(set.as_deref()) else {
        if let Some(first) = first_keyed_model(cx, catalogue)? {
            return Ok(first.info.model.to_string());
        }
        return Ok(find_usable_model(cx).await?.info().model.to_string());
    };
    if text.starts_with("script:") {
        return Ok(choose_model(cx, Some(text)).await?.info().model.to_string());
    }
    let resolved = catalogue.resolve_model(text);
    // What is wrong is said in the words of the one that speaks.
    let Ok(resolved) = resolved else {
        return Ok(choose_model(cx, wish).await?.info().model.to_string());
    };
    let (_, source) = vendor_endpoint(cx, catalogue, &resolved.vendor)?;
    if resolved.vendor.needs_key && source.is_none() {
        return Ok(choose_model(cx, wish).await?.info().model.to_string());
    }
    Ok(resolved.info.model.to_string())
}

/// What a person has to give before anything can be asked.
pub enum MissingForModel {
    /// No model is named and none can be found.
    Model,
    /// The model that is named needs the key of this vendor.
    Key(Box<Vendor>),
}

/// What is missing for [`chosen_model_name`], where a person can give it. Other mistakes are left to whoever asks
/// for the model.
///
/// # Errors
/// The settings cannot be read.
pub async fn find_missing_for_model(
    cx: &InstallationContext,
    wish: Option<&str>,
) -> anyhow::Result<Option<MissingForModel>> {
    let set = cx.config()?.settings.model.as_deref();
    let catalogue = load_catalogue(cx)?;
    if let Some(text) = wish.or(set) {
        let resolved = match text.starts_with("script:") {
            true => return Ok(None),
            false => catalogue.resolve_model(text),
        };
        let Ok(resolved) = resolved else { return Ok(None) };
        let (_, source) = vendor_endpoint(cx, catalogue, &resolved.vendor)?;
        let is_missing = resolved.vendor.needs_key && source.is_none();
        return Ok(is_missing.then(|| MissingForModel::Key(Box::new(resolved.vendor))));
    }
    if first_keyed_model(cx, catalogue)?.is_some() {
        return Ok(None);
    }
    let variable = |name: &str| cx.environment.text_variable(name).map(String::from);
    let local = probe::first_local(catalogue, &variable, &process_transport(cx)).await;
    Ok(local.is_none().then_some(MissingForModel::Model))
}

/// The model of this name.
///
/// # Errors
/// There is none, or no key for it.
pub fn model_by_name(cx: &InstallationContext, text: &str) -> anyhow::Result<Arc<dyn Model>> {
    model_named_at(cx, text, "")
}

/// The same for a name that stands at `place`.
fn model_named_at(
    cx: &InstallationContext,
    text: &str,
    place: &str,
) -> anyhow::Result<Arc<dyn Model>> {
    if let Some(file) = text.strip_prefix("script:") {
        check_guest_script(cx, file)?;
        return scripted_model(cx, Path::new(file));
    }
    let catalogue = load_catalogue(cx)?;
    let resolved =
        catalogue.resolve_model(text).map_err(|error| usage(format!("{place}{error}")))?;
    connect_resolved_model(cx, catalogue, resolved)
}

/// The scripted model that plays `file`.
///
/// # Errors
/// There is no such file, or it is no script.
pub(crate) fn scripted_model(
    cx: &InstallationContext,
    file: &Path,
) -> anyhow::Result<Arc<dyn Model>> {
    let file = found_script(cx, file);
    let model = ScriptedModel::from_file(&file).map_err(|error| usage(error.to_string()))?;
    Ok(Arc::new(model))
}

/// Where the script `file` is: relative to where the person stands; the workspace's own is the second
/// guess.
pub(crate) fn found_script(cx: &InstallationContext, file: &Path) -> PathBuf {
    let in_folder = cx.folder.join(file);
    if file.exists() || !in_folder.exists() { file.to_path_buf() } else { in_folder }
}

/// The usual model of the first vendor for which there is a key.
///
/// # Errors
/// The keys cannot be read; the vendor's usual model is none.
pub(crate) fn first_keyed_model(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
) -> anyhow::Result<Option<ResolvedModel>> {
    for vendor in catalogue.vendors() {
        let (_, source) = vendor_endpoint(cx, catalogue, vendor)?;
        if let (Some(_), Some(name)) = (source, &vendor.default_model) {
            let resolved = catalogue.resolve_model(&format!("{}/{name}", vendor.name));
            return resolved.map(Some).map_err(|error| usage(error.to_string()));
        }
    }
    Ok(None)
}

/// The model when none is named: a key, then a local server, then an error that helps.
fn find_usable_model(cx: &InstallationContext) -> BoxFuture<'_, anyhow::Result<Arc<dyn Model>>> {
    Box::pin(async move {
        let catalogue = load_catalogue(cx)?;
        if let Some(first) = first_keyed_model(cx, catalogue)? {
            return connect_resolved_model(cx, catalogue, first);
        }
        let variable = |name: &str| cx.environment.text_variable(name).map(String::from);
        match probe::first_local(catalogue, &variable, &process_transport(cx)).await {
            Some(resolved) => {
                window::ask_local_window(cx, &resolved).await?;
                connect_resolved_model(cx, catalogue, resolved)
            }
            None => Err(usage(NO_MODEL)),
        }
    })
}

fn connect_resolved_model(
    cx: &InstallationContext,
    catalogue: &ModelCatalogue,
    resolved: ResolvedModel,
) -> anyhow::Result<Arc<dyn Model>> {
    let (endpoint, source) = vendor_endpoint(cx, catalogue, &resolved.vendor)?;
    let vendor = &resolved.vendor;
    if vendor.needs_key && source.is_none() {
        let name = &vendor.name;
        let variable = vendor.key_env.first().map(|variable| format!("set {variable}, or "));
        return Err(usage(format!(
            "there is no key for {name}: {}run `weir auth set {name}` (`weir demo` needs none)",
            variable.unwrap_or_default()
        )));
    }
    let says_abilities = window::is_able(cx, &resolved.info.model.to_string());
    let (info, address) = (window::with_window(cx, resolved).info, endpoint.base_url.clone());
    // What a person says that a model can do holds, whatever its server said before.
    let info = match says_abilities {
        true => info,
        false => refused_tools::with_refused_tools(cx, info, &address),
    };
    let model = http_model(endpoint, Arc::new(info), process_transport(cx))
        .map_err(|error| usage(error.to_string()))?;
    Ok(refused_tools::watch_model(cx, model, &address))
}

/// A scripted model is a file of this machine: a guest has the one that the installation names, and
/// no other.
///
/// # Errors
/// It is another; in words.
fn check_guest_script(cx: &InstallationContext, file: &str) -> anyhow::Result<()> {
    if !cx.is_guest() {
        return Ok(());
    }
    let config = cx.config()?;
    let named = config.settings.model.as_deref().and_then(|text| text.strip_prefix("script:"));
    let by_installation = matches!(
        config.origin_of_key("model"),
        SettingOrigin::User(..)
            | SettingOrigin::Environment(_)
            | SettingOrigin::Browser { for_all: true, .. }
    );
    match named == Some(file) && by_installation {
        true => Ok(()),
        false => Err(usage("a scripted model is a file of the server; choose another model")),
    }
}
