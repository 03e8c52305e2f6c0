//! Asks an endpoint which models it has, and whether a local server is there at all (C4).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::catalogue::{ModelCatalogue, ResolvedModel, ServerKind, guessed_window, parse_ref};
use crate::http_model::ModelEndpoint;
use crate::transport::ModelTransport;
use crate::window::{self, LoadPolicy, WindowReport};

/// How long a local server is waited for: it is there or it is not.
pub const LOCAL_SERVER_MS_MAX: u64 = 300;
/// Where OpenRouter tells of the key that it is asked with.
const OPENROUTER_KEY: &str = "/key";
/// Most models of one list.
const MODELS_MAX: usize = 5_000;
/// Most models of one list of which it is asked which window holds.
const WINDOWS_ASKED_MAX: usize = 50;
/// The same of a server of which nobody said what it is: a vendor's list is long, and it knows none of what it is
/// asked.
const UNKNOWN_ASKED_MAX: usize = 8;

/// A model that an endpoint says it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// Its name, as requests want it.
    pub name: String,
    /// Context window in tokens, where the endpoint says it.
    pub window: Option<u64>,
    /// What the model could take, where that is more than the window that holds.
    pub window_max: Option<u64>,
    /// Output limit in tokens, where the endpoint says it.
    pub max_output: Option<u64>,
}

/// What an endpoint says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCheck {
    /// It takes it; these are its models.
    Accepted(Vec<FoundModel>),
    /// It does not take it: the HTTP status.
    Refused(u16),
    /// It says neither: a sentence without secrets.
    Unsaid(String),
}

/// Asks an endpoint for its models with the key that it has, to see whether that key is taken.
pub async fn check_key(endpoint: &ModelEndpoint, transport: &ModelTransport) -> KeyCheck {
    let refuses = |status: u16| match endpoint.vendor.dialect.as_str() {
        // Gemini calls a wrong key a wrong request.
        "gemini" => matches!(status, 400 | 401 | 403),
        _ => matches!(status, 401 | 403),
    };
    if endpoint.vendor.name == "openrouter" {
        // Its list of models is for everybody; this is for whoever has a key.
        match fetch_json(endpoint, transport, OPENROUTER_KEY).await {
            Err(ModelListError::Status { status, .. }) if refuses(status) => {
                return KeyCheck::Refused(status);
            }
            Ok(_) | Err(_) => (),
        }
    }
    match fetch_model_list(endpoint, transport).await {
        Ok(models) => KeyCheck::Accepted(models),
        Err(ModelListError::Status { status, .. }) if refuses(status) => KeyCheck::Refused(status),
        Err(why) => KeyCheck::Unsaid(why.into_sentence(endpoint)),
    }
}

/// Why there is no list.
enum ModelListError {
    /// The endpoint answered something else.
    Status {
        /// With this HTTP status.
        status: u16,
        /// When asked for this.
        path: String,
    },
    Other(String),
}

impl ModelListError {
    fn into_sentence(self, endpoint: &ModelEndpoint) -> String {
        match self {
            ModelListError::Status { status, path } => {
                let name = &endpoint.vendor.name;
                format!("{name} does not list its models (HTTP {status} from {path})")
            }
            ModelListError::Other(why) => why,
        }
    }
}

/// The models of an endpoint.
///
/// # Errors
/// What failed and why, in a sentence without secrets.
pub async fn list_models(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
) -> Result<Vec<FoundModel>, String> {
    fetch_model_list(endpoint, transport).await.map_err(|why| why.into_sentence(endpoint))
}

async fn fetch_model_list(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
) -> Result<Vec<FoundModel>, ModelListError> {
    let mut found = Vec::new();
    let mut page = String::new();
    loop {
        let value = fetch_json(endpoint, transport, &list_path(endpoint, &page)).await?;
        found.extend(read_list(&value));
        match next_page(&value) {
            Some(next) if found.len() < MODELS_MAX && next != page => page = next,
            _ => break,
        }
    }
    found.truncate(MODELS_MAX);
    Ok(found)
}

/// What an endpoint answers to a question by its path.
async fn fetch_json(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
    path: &str,
) -> Result<Value, ModelListError> {
    let other = ModelListError::Other;
    let headers = endpoint.request_headers().map_err(|error| other(error.to_string()))?;
    let url = endpoint.url_for(path).map_err(|error| other(error.to_string()))?;
    let got = transport.get(&url, headers).await;
    let (status, body) = got.map_err(|error| other(error.message))?;
    if status != 200 {
        return Err(ModelListError::Status { status, path: url.path().to_owned() });
    }
    serde_json::from_slice(&body)
        .map_err(|error| other(format!("the list of models is not JSON: {error}")))
}

fn list_path(endpoint: &ModelEndpoint, page: &str) -> String {
    match endpoint.vendor.dialect.as_str() {
        "anthropic" if page.is_empty() => "/v1/models?limit=1000".into(),
        "anthropic" => format!("/v1/models?limit=1000&after_id={page}"),
        "gemini" if page.is_empty() => "/v1beta/models?pageSize=1000".into(),
        "gemini" => format!("/v1beta/models?pageSize=1000&pageToken={page}"),
        // Whoever speaks its own words need not write the version of the others into its address.
        "ollama" => "/v1/models".into(),
        _ => "/models".into(),
    }
}

/// Only where the vendor's pages are known; a token that is no plain word is not followed.
fn next_page(value: &Value) -> Option<String> {
    let plain = |text: &&str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.=".contains(&b))
    };
    if let Some(token) = value["nextPageToken"].as_str().filter(plain) {
        return Some(token.to_owned());
    }
    (value["has_more"] == true).then(|| value["last_id"].as_str().filter(plain))?.map(str::to_owned)
}

fn read_list(value: &Value) -> Vec<FoundModel> {
    let list = ["data", "models"].iter().find_map(|name| value[*name].as_array());
    let list = list.or(value.as_array()).map_or(&[][..], Vec::as_slice);
    let number = |model: &Value, names: &[&str]| names.iter().find_map(|n| model[*n].as_u64());
    let named = list.iter().filter_map(|model| {
        let name = model["id"].as_str().or(model["name"].as_str()).or(model["model"].as_str())?;
        Some(FoundModel {
            name: name.strip_prefix("models/").unwrap_or(name).to_owned(),
            window: number(
                model,
                &[
                    "context_window",
                    "context_length",
                    "max_context_length",
                    "max_model_len",
                    "inputTokenLimit",
                    "max_input_tokens",
                ],
            ),
            window_max: None,
            max_output: number(
                model,
                &["outputTokenLimit", "max_completion_tokens", "max_tokens", "max_output_tokens"],
            ),
        })
    });
    named.take(MODELS_MAX).collect()
}

/// The models of a local server, or `None` when none answers within [`LOCAL_SERVER_MS_MAX`].
pub async fn local_server(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
) -> Option<Vec<FoundModel>> {
    let bound = Duration::from_millis(LOCAL_SERVER_MS_MAX);
    let asked = async {
        if endpoint.vendor.name == "ollama" {
            // Its own list holds what is installed, with the tags that requests want.
            let mut own = endpoint.clone();
            own.base_url = own.base_url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
            let url = own.url_for("/api/tags").ok()?;
            let (status, body) = transport.get(&url, own.request_headers().ok()?).await.ok()?;
            let value: Value = serde_json::from_slice(&body).ok()?;
            return (status == 200).then(|| read_list(&value));
        }
        list_models(endpoint, transport).await.ok()
    };
    tokio::time::timeout(bound, asked).await.ok().flatten()
}

/// The same, each with the window that holds, as far as its server says it without loading anything.
pub async fn local_models(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
) -> Option<Vec<FoundModel>> {
    let mut found = local_server(endpoint, transport).await?;
    ask_windows(endpoint, transport, &mut found).await;
    Some(found)
}

/// Puts beside models of a server that can be asked which window holds, as far as it says so without loading
/// anything. What its list says of models is not asked once more where nobody said what the server is.
pub async fn ask_windows(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
    found: &mut [FoundModel],
) {
    let is_known = ServerKind::of_vendor(&endpoint.vendor).is_some();
    let guess = guessed_window(&endpoint.vendor);
    let most = if is_known { WINDOWS_ASKED_MAX } else { UNKNOWN_ASKED_MAX };
    let unsaid = found.iter_mut().filter(|model| is_known || model.window.is_none());
    let asked = unsaid.take(most).map(async |model| {
        let said = window::ask_window(endpoint, transport, &model.name, LoadPolicy::Avoided).await;
        let (window, can) = match said.map(|said| said.window) {
            Some(WindowReport::Holds { tokens, can }) => (tokens, can),
            Some(WindowReport::Unsaid { can }) => (guess, can),
            Some(WindowReport::Missing | WindowReport::Silent) => (guess, None),
            None => return,
        };
        model.window_max = can.or(model.window).filter(|can| *can > window);
        model.window = Some(window);
    });
    futures::future::join_all(asked).await;
}

/// The first local server that answers and has a model, all asked at once (C4).
pub async fn first_local(
    catalogue: &ModelCatalogue,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    transport: &Arc<ModelTransport>,
) -> Option<ResolvedModel> {
    let local = catalogue.vendors().iter().filter(|vendor| vendor.local);
    let endpoints: Vec<ModelEndpoint> =
        local.map(|vendor| ModelEndpoint::from_env(vendor.clone(), env)).collect();
    let asked = endpoints.iter().map(|endpoint| local_server(endpoint, transport));
    let answers = futures::future::join_all(asked).await;
    endpoints.iter().zip(answers).find_map(|(endpoint, models)| {
        let first = models?.into_iter().find(|model| !model.name.contains("embed"))?;
        let model = parse_ref(&format!("{}/{}", endpoint.vendor.name, first.name)).ok()?;
        let mut resolved = catalogue.resolve_ref(&model).ok()?;
        resolved.info.max_output = first.max_output.unwrap_or(resolved.info.max_output);
        Some(resolved)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn v1_lists_of_all_vendors_are_read() {
        let names = |value: Value| {
            read_list(&value).into_iter().map(|m| (m.name, m.window)).collect::<Vec<_>>()
        };
        let openai = json!({"object": "list", "data": [{"id": "gpt-5", "context_window": 4}]});
        assert_eq!(names(openai), [("gpt-5".to_owned(), Some(4))]);
        let gemini = json!({"models": [{"name": "models/gemini-x", "inputTokenLimit": 9}]});
        assert_eq!(names(gemini), [("gemini-x".to_owned(), Some(9))]);
        let ollama = json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]});
        assert_eq!(names(ollama), [("qwen3:8b".to_owned(), None)]);
        assert_eq!(names(json!([{"id": "t"}])), [("t".to_owned(), None)]);
        assert_eq!(names(json!("no")), []);
        assert_eq!(next_page(&json!({"has_more": true, "last_id": "m-1"})), Some("m-1".into()));
        assert_eq!(next_page(&json!({"nextPageToken": "a&b"})), None);
    }
}
