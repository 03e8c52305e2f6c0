//! Asks a server of one's own which window holds for a model: the one it was started with, which is
//! often far below what the model could take, and past which it cuts at the front without a word
//! (R6). Written after the vendors' own documentation of their wire. Not here: what is done with it.

mod answers;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use crate::catalogue::{ServerKind, Vendor};
pub use crate::catalogue::{can_be_asked, is_own_server};
use crate::http_model::ModelEndpoint;
use crate::transport::ModelTransport;
use answers::{
    StrangerAnswers, WINDOW_TOKENS_MAX, read_llamacpp, read_lmstudio, read_vllm, tokens_of,
};

/// How long the questions about one model may take, in milliseconds.
pub const WINDOW_MS_MAX: u64 = 3_000;
/// How long a server may take to load a model that is about to be used anyway, in milliseconds.
pub const LOAD_MS_MAX: u64 = 60_000;
/// Tokens that Ollama is asked to hold where nobody says how many: enough for an agent at work.
const OLLAMA_WINDOW: u64 = 32_768;
/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// What a server says of the window of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowReport {
    /// So many tokens hold for the next request.
    Holds {
        /// The window, in tokens.
        tokens: u64,
        /// What the model could take, where that is said.
        can: Option<u64>,
    },
    /// It answers, and does not say which will hold.
    Unsaid {
        /// What the model could take, where that is said.
        can: Option<u64>,
    },
    /// It answers, and has no such model.
    Missing,
    /// Nobody answers in time.
    Silent,
}

/// What a server says that a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// Its template has a way to call tools.
    pub tools: bool,
    /// It can think before it answers, or not.
    pub thinking: bool,
    /// It sees pictures.
    pub images: bool,
}

/// What a server says of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerReport {
    /// Of its window.
    pub window: WindowReport,
    /// Of what it can do; `None`: it does not say.
    pub capabilities: Option<ModelCapabilities>,
    /// What the server is, as it was known before or as its answers show; `None`: nobody knows.
    pub server: Option<ServerKind>,
}

impl From<WindowReport> for ServerReport {
    fn from(window: WindowReport) -> ServerReport {
        ServerReport { window, capabilities: None, server: None }
    }
}

/// Whether a model may be loaded to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadPolicy {
    /// It is about to be used, so it would be loaded all the same.
    Allowed,
    /// Nobody uses it now.
    Avoided,
}

/// How a larger window is had from this vendor's server, as the end of a sentence. `server`: what it has shown to be,
/// where it was asked.
pub fn how_to_raise(vendor: &Vendor, server: Option<ServerKind>, model: &str) -> String {
    match ServerKind::of_vendor(vendor).or(server) {
        Some(ServerKind::Ollama) if is_native(vendor) => format!(
            "write it down as `window` under [models.\"{}/{model}\"]: Ollama is asked for it with each \
             request, and it takes memory",
            vendor.name
        ),
        Some(ServerKind::Ollama) => format!(
            "start the server with OLLAMA_CONTEXT_LENGTH=32768 `ollama serve`, or make a model with \
             `FROM {model}` and `PARAMETER num_ctx 32768` in a Modelfile: Ollama's OpenAI-compatible \
             endpoint takes no window with a request"
        ),
        Some(ServerKind::LmStudio) => format!("`lms load {model} --context-length 32768`"),
        Some(ServerKind::LlamaCpp) => "start `llama-server` with `--ctx-size 32768`".to_owned(),
        Some(ServerKind::Vllm) => "start `vllm serve` with `--max-model-len 32768`".to_owned(),
        Some(ServerKind::Other) | None => format!(
            "give its server a larger one, or say what holds as `window` under [models.\"{}/{model}\"]",
            vendor.name
        ),
    }
}

/// Whether the server is spoken to in its own words, in which a request can ask for a window.
fn is_native(vendor: &Vendor) -> bool {
    vendor.dialect == crate::dialect::ollama::NAME
}

/// Asks the server of `endpoint` which window holds for `model`, and what that can do. `None`: this
/// vendor's servers cannot be asked.
pub async fn ask_window(
    endpoint: &ModelEndpoint,
    transport: &ModelTransport,
    model: &str,
    loading: LoadPolicy,
) -> Option<ServerReport> {
    if !can_be_asked(&endpoint.vendor) {
        return None;
    }
    let server = ServerKind::of_vendor(&endpoint.vendor);
    // Paths beside the OpenAI-compatible ones stand without their version.
    let mut own = endpoint.clone();
    own.base_url = own.base_url.trim().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    let answers = AtomicBool::new(false);
    let asking = WindowQuery { endpoint: own, as_configured: endpoint, transport, model, answers };
    let report = match server {
        Some(ServerKind::Ollama) => asking.ask_ollama(loading).await,
        Some(ServerKind::LmStudio) => asking.within_bound(asking.ask_lmstudio()).await,
        Some(ServerKind::LlamaCpp) => asking.within_bound(asking.ask_llamacpp()).await,
        Some(ServerKind::Vllm) => asking.within_bound(asking.ask_vllm()).await,
        Some(ServerKind::Other) | None => asking.ask_stranger(loading).await,
    };
    Some(ServerReport { server: server.or(report.server), ..report })
}

struct WindowQuery<'a> {
    /// Where its own paths begin.
    endpoint: ModelEndpoint,
    /// Where the model is spoken with.
    as_configured: &'a ModelEndpoint,
    transport: &'a ModelTransport,
    model: &'a str,
    /// Somebody answered, whatever it was: a server that says nothing of a window is there all the same.
    answers: AtomicBool,
}

impl WindowQuery<'_> {
    async fn within_bound(
        &self,
        asked: impl Future<Output = Option<ServerReport>>,
    ) -> ServerReport {
        let bound = Duration::from_millis(WINDOW_MS_MAX);
        let said = tokio::time::timeout(bound, asked).await.ok().flatten();
        said.unwrap_or_else(|| self.wordless_report())
    }

    /// What is known where nothing was said of a window.
    fn wordless_report(&self) -> ServerReport {
        match self.answers.load(Ordering::Relaxed) {
            true => WindowReport::Unsaid { can: None }.into(),
            false => WindowReport::Silent.into(),
        }
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.get_from(&self.endpoint, path).await
    }

    async fn get_from(&self, endpoint: &ModelEndpoint, path: &str) -> Option<Value> {
        let url = endpoint.url_for(path).ok()?;
        let headers = endpoint.request_headers().ok()?;
        let (status, body) = self.transport.get(&url, headers).await.ok()?;
        self.answers.store(true, Ordering::Relaxed);
        (status == 200).then(|| serde_json::from_slice(&body).ok())?
    }

    async fn get_within_bound(&self, endpoint: &ModelEndpoint, path: &str) -> Option<Value> {
        let bound = Duration::from_millis(WINDOW_MS_MAX);
        tokio::time::timeout(bound, self.get_from(endpoint, path)).await.ok().flatten()
    }

    /// Status and answer; what is no JSON is `null`.
    async fn post_json(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        let url = self.endpoint.url_for(path).ok()?;
        let mut headers = self.endpoint.request_headers().ok()?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let sent = self.transport.post(&url, headers, Bytes::from(body.to_string())).await;
        let answer = sent.ok()?;
        let status = answer.status;
        let bytes = answer.whole_body(ANSWER_BYTES_MAX).await.ok()??;
        Some((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// A window that its Modelfile sets holds for every request that names none, as those of the
    /// OpenAI-compatible endpoint do. Where it sets none the server's own default holds, which is known
    /// of a model that was loaded like that: loading it with no options makes sure of it.
    async fn ask_ollama(&self, loading: LoadPolicy) -> ServerReport {
        let bound = Duration::from_millis(WINDOW_MS_MAX);
        let name = json!({ "model": self.model });
        let shown = tokio::time::timeout(bound, self.post_json("/api/show", &name)).await;
        let shown = match shown.ok().flatten() {
            Some((200, shown)) => shown,
            // A server that has no such address says nothing about a model.
            Some((404, told)) if told["error"].is_string() => return WindowReport::Missing.into(),
            Some(_) => return WindowReport::Unsaid { can: None }.into(),
            None => return WindowReport::Silent.into(),
        };
        let window = match is_native(&self.endpoint.vendor) {
            true => window_to_ask_for(&shown, self.model),
            false => self.window_of_ollama(&shown, loading).await,
        };
        let capabilities = capabilities_of(&shown["capabilities"]);
        ServerReport { window, capabilities, server: None }
    }

    /// The window that a request has which names none.
    async fn window_of_ollama(&self, shown: &Value, loading: LoadPolicy) -> WindowReport {
        let bound = Duration::from_millis(WINDOW_MS_MAX);
        let can = length_of(&shown["model_info"]);
        let below = |tokens: u64| can.map_or(tokens, |can| tokens.min(can));
        // What runs in Ollama's cloud has all that it can take.
        if let Some(tokens) = can.filter(|_| self.model.ends_with("cloud")) {
            return WindowReport::Holds { tokens, can };
        }
        if let Some(tokens) = num_ctx(shown["parameters"].as_str().unwrap_or_default()) {
            return WindowReport::Holds { tokens: below(tokens), can };
        }
        if loading == LoadPolicy::Allowed {
            let load = json!({ "model": self.model, "stream": false });
            let bound = Duration::from_millis(LOAD_MS_MAX);
            if !matches!(
                tokio::time::timeout(bound, self.post_json("/api/generate", &load)).await,
                Ok(Some((200, _)))
            ) {
                return WindowReport::Unsaid { can };
            }
        }
        let running = tokio::time::timeout(bound, self.get("/api/ps")).await.ok().flatten();
        let held = running.and_then(|running| loaded_length(&running, self.model));
        match held {
            Some(tokens) => WindowReport::Holds { tokens: below(tokens), can },
            None => WindowReport::Unsaid { can },
        }
    }

    async fn ask_lmstudio(&self) -> Option<ServerReport> {
        read_lmstudio(&self.get("/api/v0/models").await?, self.model)
    }

    async fn ask_llamacpp(&self) -> Option<ServerReport> {
        Some(read_llamacpp(&self.get("/props").await?))
    }

    async fn ask_vllm(&self) -> Option<ServerReport> {
        read_vllm(&self.get("/v1/models").await?, self.model)
    }

    /// A server of which nobody said what it is is asked what each of the known ones would answer, all at once: a
    /// vendor's, which knows none of it, costs no more than one answer. Each has the whole bound for itself, so
    /// that one address which never answers hides nothing of the others.
    async fn ask_stranger(&self, loading: LoadPolicy) -> ServerReport {
        let (list, props, own_list) = futures::future::join3(
            self.get_within_bound(self.as_configured, "/models"),
            self.get_within_bound(&self.endpoint, "/props"),
            self.get_within_bound(&self.endpoint, "/api/v0/models"),
        )
        .await;
        let told = StrangerAnswers { list, props, own_list };
        if let Some(report) = told.read_report(self.model) {
            return report;
        }
        if told.is_ollama(self.model) {
            let report = self.ask_ollama(loading).await;
            return ServerReport { server: Some(ServerKind::Ollama), ..report };
        }
        self.wordless_report()
    }
}

/// The window that requests ask for: what the Modelfile says, else enough for an agent at work; never more than
/// the model can take.
fn window_to_ask_for(shown: &Value, model: &str) -> WindowReport {
    let Some(can) = length_of(&shown["model_info"]) else {
        return WindowReport::Unsaid { can: None };
    };
    let set = num_ctx(shown["parameters"].as_str().unwrap_or_default());
    // What runs in Ollama's cloud has all that it can take.
    let wanted = if model.ends_with("cloud") { can } else { set.unwrap_or(OLLAMA_WINDOW) };
    WindowReport::Holds { tokens: wanted.min(can), can: Some(can) }
}

/// `["completion", "tools", "thinking", "vision"]`; older versions have no such list.
fn capabilities_of(list: &Value) -> Option<ModelCapabilities> {
    let list = list.as_array().filter(|list| !list.is_empty())?;
    let has = |word: &str| list.iter().any(|one| one == word);
    Some(ModelCapabilities {
        tools: has("tools"),
        thinking: has("thinking"),
        images: has("vision"),
    })
}

/// `llama.context_length` and the like: the family stands before it.
fn length_of(info: &Value) -> Option<u64> {
    let fields = info.as_object()?;
    let family = fields.get("general.architecture").and_then(Value::as_str);
    let named = family.and_then(|family| fields.get(&format!("{family}.context_length")));
    let any = || fields.iter().find(|(name, _)| name.ends_with(".context_length"));
    tokens_of(named.or_else(|| any().map(|(_, value)| value))?)
}

/// The line `num_ctx 8192` of a Modelfile's parameters.
fn num_ctx(parameters: &str) -> Option<u64> {
    parameters.lines().find_map(|line| {
        let (name, value) = line.trim().split_once(char::is_whitespace)?;
        let tokens: u64 = value.trim().parse().ok().filter(|_| name == "num_ctx")?;
        (1..=WINDOW_TOKENS_MAX).contains(&tokens).then_some(tokens)
    })
}

/// The window of a model that is loaded. Ollama adds `:latest` to a name without a tag.
fn loaded_length(running: &Value, model: &str) -> Option<u64> {
    let whole = if model.contains(':') { model.to_owned() } else { format!("{model}:latest") };
    let mut models = running["models"].as_array()?.iter();
    let row = models.find(|row| row["name"] == whole.as_str() || row["model"] == whole.as_str())?;
    tokens_of(&row["context_length"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_what_servers_say_of_windows_is_read() {
        let info = json!({"general.architecture": "qwen3", "vision.context_length": 7,
            "qwen3.context_length": 40_960});
        assert_eq!(length_of(&info), Some(40_960));
        assert_eq!(length_of(&json!({"llama.context_length": 8_192})), Some(8_192));
        assert_eq!(length_of(&json!("no")), None);
        let parameters = "stop                           \"<|im_end|>\"\nnum_ctx   8192\n";
        assert_eq!(num_ctx(parameters), Some(8_192));
        for none in ["", "num_ctx", "num_ctx many", "num_ctx 0", "num_ctx 1000000000000", "x 1"] {
            assert_eq!(num_ctx(none), None, "{none}");
        }
        let shown = |parameters: &str, can: u64| json!({"parameters": parameters, "model_info": {"llama.context_length": can}});
        let holds = |tokens, can| WindowReport::Holds { tokens, can: Some(can) };
        for (parameters, can, model, expected) in [
            ("", 131_072, "m", 32_768),
            ("", 8_192, "m", 8_192),
            ("num_ctx 16384", 131_072, "m", 16_384),
            ("num_ctx 65536", 40_960, "m", 40_960),
            ("", 131_072, "m-cloud", 131_072),
        ] {
            let found = window_to_ask_for(&shown(parameters, can), model);
            assert_eq!(found, holds(expected, can), "{parameters} {can}");
        }
        assert_eq!(window_to_ask_for(&json!({}), "m"), WindowReport::Unsaid { can: None });
        let can = capabilities_of(&json!(["completion", "vision"])).expect("a list");
        assert!(can.images && !can.tools && !can.thinking);
        assert_eq!(capabilities_of(&json!([])), None);
        let running = json!({"models": [{"name": "qwen3:latest", "context_length": 4_096},
            {"model": "qwen3:8b", "context_length": 32_768}, {"name": "old:latest"}]});
        for (model, tokens) in [("qwen3", Some(4_096)), ("qwen3:8b", Some(32_768)), ("old", None)] {
            assert_eq!(loaded_length(&running, model), tokens, "{model}");
        }
    }
}
