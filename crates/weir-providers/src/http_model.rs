//! A model behind an HTTP endpoint: a dialect and the transport put together.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::HeaderMap;
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ModelRequest, ModelSignal};
use weir_core::secret::Secret;
use weir_engine::ports::{
    AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink,
};

use crate::catalogue::Vendor;
use crate::dialect::names::WireNames;
use crate::dialect::{Dialect, ReplyDecoder, RequestEncoder};
use crate::text_tools;
use crate::transport::{ModelTransport, StreamedResponse, TransportError, header_map};

/// Where a server of one's own speaks its own API: never below the version of another one.
const OWN_PATHS: &str = "/api/";
/// How long the end of a finished answer is waited for, so that its connection can be used again.
const DRAIN_MS_MAX: u64 = 200;

/// An endpoint that cannot be used as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It speaks what nobody here does.
    #[error("provider {provider:?} speaks {dialect:?}, which is no known dialect")]
    Dialect {
        /// Name of the provider.
        provider: String,
        /// Name of the dialect that settings gave and that does not exist.
        dialect: String,
    },
    /// No address, or none that can be used.
    #[error(
        "provider {provider:?} has no usable base URL ({url:?}): it must begin with http:// or \
         https://; set `base_url` under [providers.{provider}]{or_variable}"
    )]
    BaseUrl {
        /// Name of the provider.
        provider: String,
        /// What the settings say.
        url: String,
        /// The variable that could be set instead.
        or_variable: String,
    },
    /// A header that HTTP does not allow.
    #[error("header {name:?} of provider {provider:?} is not valid in HTTP")]
    Header {
        /// Name of the provider.
        provider: String,
        /// Name of the header.
        name: String,
    },
}

/// Where a vendor is reached, and with what.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// The vendor, with its dialect and quirks.
    pub vendor: Vendor,
    /// Where requests go: [`Vendor::endpoint_url`] for the environment at hand.
    pub base_url: String,
    /// The key that is sent; none: the vendor wants none, or there is none.
    pub key: Option<Secret>,
}

impl ModelEndpoint {
    /// The endpoint of `vendor` as the environment says.
    pub fn from_env(vendor: Vendor, env: &dyn Fn(&str) -> Option<String>) -> ModelEndpoint {
        let (base_url, key) = (vendor.endpoint_url(env), vendor.key_from_env(env));
        ModelEndpoint { vendor, base_url, key }
    }

    pub(crate) fn find_dialect(&self) -> Result<&'static dyn Dialect, EndpointError> {
        crate::find_dialect(&self.vendor.dialect).ok_or_else(|| EndpointError::Dialect {
            provider: self.vendor.name.clone(),
            dialect: self.vendor.dialect.clone(),
        })
    }

    /// The address of `path`, which begins with a slash and may end in a query.
    pub(crate) fn url_for(&self, path: &str) -> Result<Url, EndpointError> {
        let bad = || EndpointError::BaseUrl {
            provider: self.vendor.name.clone(),
            url: self.base_url.clone(),
            or_variable: self
                .vendor
                .base_url_env
                .first()
                .map(|name| format!(" or the variable {name}"))
                .unwrap_or_default(),
        };
        let mut url = Url::parse(self.base_url.trim()).map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad());
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let base = url.path().trim_end_matches('/');
        // What a server has of its own stands beside what it speaks for others.
        let base = match path.starts_with(OWN_PATHS) {
            true => base.strip_suffix("/v1").unwrap_or(base).to_owned(),
            false => base.to_owned(),
        };
        // People write the version into the base URL or leave it out.
        let version = path.split('/').nth(1).map(|version| format!("/{version}"));
        let path = match version {
            Some(version) if base.ends_with(&version) && version.starts_with("/v1") => {
                &path[version.len()..]
            }
            _ => path,
        };
        url.set_path(&format!("{base}{path}"));
        let queries: Vec<&str> = [query, url.query().unwrap_or("")]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let query = queries.join("&");
        url.set_query((!query.is_empty()).then_some(query.as_str()));
        Ok(url)
    }

    pub(crate) fn request_headers(&self) -> Result<HeaderMap, EndpointError> {
        let key = self.key.as_ref().filter(|key| !key.is_empty()).map(Secret::reveal);
        let mut headers: Vec<(String, String)> = Vec::new();
        let own_header = self.vendor.key_header.as_ref();
        let dialect_key = if own_header.is_some() { None } else { key };
        for (name, value) in self.find_dialect()?.request_headers(dialect_key) {
            headers.push((name.to_owned(), value));
        }
        if let (Some(name), Some(key)) = (own_header, key) {
            headers.push((name.clone(), key.to_owned()));
        }
        for (name, value) in &self.vendor.headers {
            headers.push((name.clone(), value.reveal().to_owned()));
        }
        header_map(headers)
            .map_err(|name| EndpointError::Header { provider: self.vendor.name.clone(), name })
    }

    /// Takes what must not be seen out of a message.
    pub(crate) fn scrub(&self, message: &str) -> String {
        let mut text = message.to_owned();
        for secret in self.key.iter().chain(self.vendor.headers.values()) {
            text = secret.scrub(&text);
        }
        text
    }

    /// The failure where a key is needed and there is none: nothing is sent then.
    pub(crate) fn missing_key(&self) -> Option<ModelReply> {
        let has_key = self.key.as_ref().is_some_and(|key| !key.is_empty());
        if has_key || !self.vendor.needs_key {
            return None;
        }
        let name = &self.vendor.name;
        let variable = self.vendor.key_env.first().map_or("its key variable", String::as_str);
        Some(ModelReply::Failed {
            class: FailureClass::Auth,
            message: format!(
                "There is no key for {name}. Set {variable} or run `weir auth set {name}`."
            ),
            retry_after_ms: None,
        })
    }
}

/// A model at `endpoint`.
///
/// # Errors
/// When the endpoint cannot be used as configured. Nothing is sent yet.
pub fn http_model(
    endpoint: ModelEndpoint,
    info: Arc<ModelInfo>,
    transport: Arc<ModelTransport>,
) -> Result<Arc<dyn Model>, EndpointError> {
    let dialect = endpoint.find_dialect()?;
    let url = endpoint.url_for(&dialect.request_path(&info.model.name))?;
    let headers = endpoint.request_headers()?;
    Ok(Arc::new(HttpModel(Arc::new(HttpModelContext {
        endpoint,
        dialect,
        url,
        headers,
        info,
        transport,
    }))))
}

struct HttpModelContext {
    endpoint: ModelEndpoint,
    dialect: &'static dyn Dialect,
    url: Url,
    headers: HeaderMap,
    info: Arc<ModelInfo>,
    transport: Arc<ModelTransport>,
}

struct HttpModel(Arc<HttpModelContext>);

impl Model for HttpModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.0.info.clone()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        let own = HttpConversation {
            shared: self.0.clone(),
            encoder: self.0.dialect.new_encoder(&self.0.endpoint.vendor.quirks),
            tools: None,
            names: WireNames::default(),
        };
        text_tools::conversation_for(Box::new(own))
    }
}

struct HttpConversation {
    shared: Arc<HttpModelContext>,
    encoder: Box<dyn RequestEncoder>,
    /// The tools that `names` was made for.
    tools: Option<Arc<Vec<weir_core::tool::ToolSpec>>>,
    names: WireNames,
}

#[async_trait]
impl Conversation for HttpConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        if !self.tools.as_ref().is_some_and(|tools| Arc::ptr_eq(tools, &request.tools)) {
            self.names = WireNames::new(&request.tools);
            self.tools = Some(request.tools.clone());
        }
        self.encoder.encode(request, media)
    }

    fn first_to_write(&self, request: &ModelRequest) -> usize {
        self.encoder.first_to_write(request)
    }

    fn attachment_support(&self) -> AttachmentSupport {
        self.encoder.accepted_media()
    }

    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        if let Some(reply) = self.shared.endpoint.missing_key() {
            return reply;
        }
        // A server has a thousand replies under way at once: what was sent is not kept beside what is kept
        // encoded (Q19).
        let body = self.encoder.take_body();
        if body.is_empty() {
            return failed_reply(
                FailureClass::InvalidRequest,
                "Nothing was prepared to be sent.".into(),
            );
        }
        // Not through `self`: encoders are not shared between threads.
        let HttpConversation { shared, names, .. } = self;
        let reply = match shared.exchange_once(names, body, signals).await {
            Ok(reply) => reply,
            Err(error) => failed_reply(error.class, error.message),
        };
        match reply {
            ModelReply::Failed { class, message, retry_after_ms } => {
                let message = shared.endpoint.scrub(&message);
                ModelReply::Failed { class, message, retry_after_ms }
            }
            whole @ ModelReply::Whole { .. } => names.restore_reply(whole),
        }
    }
}

impl HttpModelContext {
    async fn exchange_once(
        &self,
        names: &WireNames,
        body: bytes::Bytes,
        signals: &SignalSink,
    ) -> Result<ModelReply, TransportError> {
        let headers = json_headers(self.headers.clone(), "text/event-stream");
        let answer = self.transport.post(&self.url, headers, body).await?;
        let answer = match accepted_answer(self.dialect, answer).await {
            Ok(answer) => answer,
            Err(failed) => return Ok(failed),
        };
        let decoder = self.dialect.new_decoder(&self.endpoint.vendor.quirks);
        let show = |signal| signals.send(names.restore_signal(signal));
        read_reply(answer, decoder, show).await
    }
}

/// The headers of a request in JSON whose answer is of the type `accept`.
pub(crate) fn json_headers(mut headers: HeaderMap, accept: &'static str) -> HeaderMap {
    for (name, value) in [("content-type", "application/json"), ("accept", accept)] {
        headers.insert(name, reqwest::header::HeaderValue::from_static(value));
    }
    headers
}

/// The answer, if its status says that it is one.
///
/// # Errors
/// What failed instead, with its class.
pub(crate) async fn accepted_answer(
    dialect: &dyn Dialect,
    answer: StreamedResponse,
) -> Result<StreamedResponse, ModelReply> {
    if (300..400).contains(&answer.status) {
        let target = answer.location.as_deref().unwrap_or("an unnamed place");
        return Err(failed_reply(
            FailureClass::NotFound,
            format!(
                "The endpoint answered with a redirect to {target}, which is never followed. \
                 Check the base URL."
            ),
        ));
    }
    if answer.status != 200 {
        let (status, wish) = (answer.status, answer.retry_after.clone());
        let body = answer.error_body().await;
        return Err(dialect.classify_failure(status, wish.as_deref(), &body));
    }
    Ok(answer)
}

/// Feeds the decoder until the answer is over.
pub(crate) async fn read_reply(
    mut answer: StreamedResponse,
    mut decoder: Box<dyn ReplyDecoder>,
    mut show: impl FnMut(ModelSignal) + Send,
) -> Result<ModelReply, TransportError> {
    let drain = std::time::Duration::from_millis(DRAIN_MS_MAX);
    loop {
        let chunk = if decoder.is_over() {
            // Reading to the end lets the connection be used again, but it is not waited for.
            tokio::time::timeout(drain, answer.next_chunk())
                .await
                .ok()
                .and_then(Result::ok)
                .flatten()
        } else {
            match answer.next_chunk().await {
                Ok(chunk) => chunk,
                // What came may have been whole already.
                Err(error) => {
                    return match decoder.finish() {
                        ModelReply::Failed { class: FailureClass::StreamCut, .. } => Err(error),
                        other => Ok(other),
                    };
                }
            }
        };
        match chunk {
            Some(chunk) => decoder.feed(&chunk, &mut show),
            None => return Ok(decoder.finish()),
        }
    }
}

pub(crate) fn failed_reply(class: FailureClass, message: String) -> ModelReply {
    ModelReply::Failed { class, message, retry_after_ms: None }
}
