//! Asks an endpoint which models it has, and whether a local server is there at all (C4).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::catalogue::{Catalogue, LOCAL_WINDOW, Resolved, parse_ref};
use crate::http_model::Endpoint;
use crate::transport::Transport;
use crate::window::{self, Loading, Window};

/// How long a local server is waited for: it is there or it is not.
pub const LOCAL_SERVER_MS_MAX: u64 = 300;
/// Most models of one list.
const MODELS_MAX: usize = 5_000;
/// Most models of one list of which it is asked which window holds.
const WINDOWS_ASKED_MAX: usize = 50;

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

/// The models of an endpoint.
///
/// # Errors
/// What failed and why, in a sentence without secrets.
pub async fn list_models(
    endpoint: &Endpoint,
    transport: &Transport,
) -> Result<Vec<FoundModel>, String> {
    let headers = endpoint.headers().map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let mut page = String::new();
    loop {
        let path = list_path(endpoint, &page);
        let url = endpoint.url(&path).map_err(|error| error.to_string())?;
        let got = transport.get(&url, headers.clone()).await;
        let (status, body) = got.map_err(|error| error.message)?;
        if status != 200 {
            let name = &endpoint.vendor.name;
            return Err(format!(
                "{name} does not list its models (HTTP {status} from {})",
                url.path()
            ));
        }
        let value: Value = serde_json::from_slice(&body)
            .map_err(|error| format!("the list of models is not JSON: {error}"))?;
        found.extend(read_list(&value));
        match next_page(&value) {
            Some(next) if found.len() < MODELS_MAX && next != page => page = next,
            _ => break,
        }
    }
    found.truncate(MODELS_MAX);
    Ok(found)
}

/// Why a key may not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFault {
    /// The vendor does not take it.
    Refused,
    /// It could not be found out: the reason, in a sentence without secrets.
    Unclear(String),
}

/// Whether the vendor takes the endpoint's key, by a request that costs nothing.
///
/// # Errors
/// It does not, or nobody could tell.
pub async fn check_key(endpoint: &Endpoint, transport: &Transport) -> Result<(), KeyFault> {
    let unclear = |why: String| KeyFault::Unclear(why);
    // Its list of models is open to everybody.
    let path = match endpoint.vendor.name.as_str() {
        "openrouter" => "/key".to_owned(),
        _ => list_path(endpoint, ""),
    };
    let headers = endpoint.headers().map_err(|error| unclear(error.to_string()))?;
    let url = endpoint.url(&path).map_err(|error| unclear(error.to_string()))?;
    let (status, _) = transport.get(&url, headers).await.map_err(|error| unclear(error.message))?;
    match status {
        200..=299 => Ok(()),
        // Gemini says 400 of a key that is none.
        400 | 401 | 403 => Err(KeyFault::Refused),
        status => Err(unclear(format!("HTTP {status} from {}", url.path()))),
    }
}

fn list_path(endpoint: &Endpoint, page: &str) -> String {
    match endpoint.vendor.dialect.as_str() {
        "anthropic" if page.is_empty() => "/v1/models?limit=1000".into(),
        "anthropic" => format!("/v1/models?limit=1000&after_id={page}"),
        "gemini" if page.is_empty() => "/v1beta/models?pageSize=1000".into(),
        "gemini" => format!("/v1beta/models?pageSize=1000&pageToken={page}"),
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
pub async fn local_server(endpoint: &Endpoint, transport: &Transport) -> Option<Vec<FoundModel>> {
    let bound = Duration::from_millis(LOCAL_SERVER_MS_MAX);
    let asked = async {
        if endpoint.vendor.name == "ollama" {
            // Its own list holds what is installed, with the tags that requests want.
            let mut own = endpoint.clone();
            own.base_url = own.base_url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
            let url = own.url("/api/tags").ok()?;
            let (status, body) = transport.get(&url, own.headers().ok()?).await.ok()?;
            let value: Value = serde_json::from_slice(&body).ok()?;
            return (status == 200).then(|| read_list(&value));
        }
        list_models(endpoint, transport).await.ok()
    };
    tokio::time::timeout(bound, asked).await.ok().flatten()
}

/// The same, each with the window that holds, as far as its server says it without loading anything.
pub async fn local_models(endpoint: &Endpoint, transport: &Transport) -> Option<Vec<FoundModel>> {
    let mut found = local_server(endpoint, transport).await?;
    let first = found.iter_mut().take(WINDOWS_ASKED_MAX);
    let asked = first.map(async |model| {
        let said = window::ask(endpoint, transport, &model.name, Loading::Avoided).await;
        let (window, can) = match said {
            Some(Window::Holds { tokens, can }) => (tokens, can),
            Some(Window::Unsaid { can }) => (LOCAL_WINDOW, can),
            Some(Window::Missing | Window::Silent) => (LOCAL_WINDOW, None),
            None => return,
        };
        model.window_max = can.or(model.window).filter(|can| *can > window);
        model.window = Some(window);
    });
    futures::future::join_all(asked).await;
    Some(found)
}

/// The first local server that answers and has a model, all asked at once (C4).
pub async fn first_local(
    catalogue: &Catalogue,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    transport: &Arc<Transport>,
) -> Option<Resolved> {
    let local = catalogue.vendors().iter().filter(|vendor| vendor.local);
    let endpoints: Vec<Endpoint> =
        local.map(|vendor| Endpoint::from_env(vendor.clone(), env)).collect();
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
