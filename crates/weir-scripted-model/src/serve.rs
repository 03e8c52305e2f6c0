//! The scripted model as a server (`weir script serve FILE`): every dialect on one port, so that
//! anything that speaks to a vendor can speak to a script. It has no key, asks for none and
//! listens where it is told; it is not for the open network.

mod connection;
mod record;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::frames::{ReplyFrames, StreamEnding};
use super::player::{RequestAddress, ScriptAnswer, ScriptAnswerBody, ScriptPlayer};
use super::step::Script;
use super::wire::{CREATED, JSON, WIRES, Wire};
use connection::{ConnectionBreaker, ScriptListener};
use record::{ExchangeRecorder, RecordedExchange};

const REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Bytes of a stream that are sent at once when the script sets no pace.
const CHUNK_BYTES: usize = 32 * 1024;

/// How a script is served.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Every exchange is appended to this file, one JSON object a line: `m`, `path`, `h` (headers
    /// without secrets), `body`, `status`, `resp`.
    pub record: Option<PathBuf>,
    /// Ends the server and every connection.
    pub shutdown: CancellationToken,
}

struct ScriptServer {
    player: ScriptPlayer,
    name: String,
    recorder: Option<Arc<ExchangeRecorder>>,
}

/// Serves `script` on `listener` until [`ServeOptions::shutdown`] fires.
///
/// # Errors
/// The file to record to cannot be opened, or the listener failed.
pub async fn run_script_server(
    listener: TcpListener,
    script: Script,
    options: ServeOptions,
) -> io::Result<()> {
    let recorder = options.record.as_deref().map(ExchangeRecorder::open).transpose()?.map(Arc::new);
    let name = script.header.name.clone().unwrap_or_else(|| "script".to_owned());
    let server =
        Arc::new(ScriptServer { player: ScriptPlayer::new(Arc::new(script)), name, recorder });
    let router = Router::new().fallback(handle_request).with_state(server);
    // Whoever drops this future ends the connections too.
    let shutdown = options.shutdown.child_token();
    let _guard = shutdown.clone().drop_guard();
    let door = ScriptListener::new(listener, shutdown.clone());
    axum::serve(door, router.into_make_service_with_connect_info::<ConnectionBreaker>())
        .with_graceful_shutdown(shutdown.cancelled_owned())
        .await
}

/// What an address stands for.
enum ScriptRoute {
    Health,
    Models,
    Count { key: &'static str },
    Talk { wire: &'static dyn Wire, address: RequestAddress },
    Nothing,
}

/// Reads the path from its end: people set base URLs with and without `/v1`.
fn route_path(path: &str) -> ScriptRoute {
    let talk = |name: &str, address| match WIRES.iter().find(|wire| wire.name() == name) {
        Some(wire) => ScriptRoute::Talk { wire: *wire, address },
        None => ScriptRoute::Nothing,
    };
    let path = path.trim_end_matches('/');
    if let Some((before, verb)) = path.rsplit_once(':') {
        let model = before.rsplit('/').next().unwrap_or_default().to_owned();
        let address = |stream| RequestAddress { model: Some(model), stream: Some(stream) };
        return match verb {
            "streamGenerateContent" => talk("gemini", address(true)),
            "generateContent" => talk("gemini", address(false)),
            "countTokens" => ScriptRoute::Count { key: "totalTokens" },
            _ => ScriptRoute::Nothing,
        };
    }
    let last_two = path.rsplitn(3, '/').take(2).collect::<Vec<_>>();
    match last_two.as_slice() {
        ["healthz", ..] => ScriptRoute::Health,
        ["models", ..] | [_, "models"] => ScriptRoute::Models,
        ["count_tokens", ..] => ScriptRoute::Count { key: "input_tokens" },
        ["completions", "chat"] => talk("openai-chat", RequestAddress::default()),
        ["chat", "api"] => talk("ollama", RequestAddress::default()),
        ["messages", ..] => talk("anthropic", RequestAddress::default()),
        ["responses", ..] => talk("openai-responses", RequestAddress::default()),
        _ => ScriptRoute::Nothing,
    }
}

async fn handle_request(
    State(server): State<Arc<ScriptServer>>,
    ConnectInfo(link): ConnectInfo<ConnectionBreaker>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = axum::body::to_bytes(body, REQUEST_BYTES_MAX).await;
    let body = read.as_ref().cloned().unwrap_or_default();
    let exchange = server.recorder.as_ref().map(|recorder| {
        RecordedExchange::begin(
            Arc::clone(recorder),
            &parts.method,
            &parts.uri,
            &parts.headers,
            &body,
        )
    });
    if let Err(error) = read {
        let why = format!("the request's body could not be read: {error}");
        return json_response(
            StatusCode::PAYLOAD_TOO_LARGE,
            &json!({"error": {"message": why}}),
            exchange,
        );
    }
    let route = route_path(parts.uri.path());
    match route {
        ScriptRoute::Health => json_response(StatusCode::OK, &json!({"status": "ok"}), exchange),
        ScriptRoute::Models => json_response(StatusCode::OK, &models_json(&server.name), exchange),
        ScriptRoute::Nothing => {
            let why = format!("the scripted model does not serve {}", parts.uri.path());
            json_response(StatusCode::NOT_FOUND, &json!({"error": {"message": why}}), exchange)
        }
        ScriptRoute::Count { .. } | ScriptRoute::Talk { .. } if parts.method != Method::POST => {
            let why = json!({"error": {"message": "this address is for POST"}});
            json_response(StatusCode::METHOD_NOT_ALLOWED, &why, exchange)
        }
        ScriptRoute::Count { key } => {
            json_response(StatusCode::OK, &json!({key: body.len() / 4 + 1}), exchange)
        }
        ScriptRoute::Talk { wire, address } => {
            let answer = server.player.answer_request(wire, &address, &body);
            answer_conversation(answer, wire.stream_type(), link, exchange).await
        }
    }
}

async fn answer_conversation(
    answer: ScriptAnswer,
    stream_type: &'static str,
    link: ConnectionBreaker,
    exchange: Option<RecordedExchange>,
) -> Response {
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    match answer.what {
        ScriptAnswerBody::Hang => std::future::pending().await,
        ScriptAnswerBody::NoConnection => {
            link.break_connection();
            build_response(StatusCode::OK, JSON, Body::empty())
        }
        ScriptAnswerBody::Body { refusal, retry_after } => {
            let status =
                StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            if let Some(mut exchange) = exchange {
                exchange.record_answer(refusal.status, &refusal.body);
            }
            let mut response =
                build_response(status, refusal.content_type, Body::from(refusal.body));
            if let Some(value) = retry_after.and_then(|text| HeaderValue::from_str(&text).ok()) {
                response.headers_mut().insert(header::RETRY_AFTER, value);
            }
            response
        }
        ScriptAnswerBody::Stream(frames) => {
            build_response(StatusCode::OK, stream_type, stream_body(*frames, link, exchange))
        }
    }
}

fn build_response(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("request-id", HeaderValue::from_static("req_script"));
    headers.insert("x-request-id", HeaderValue::from_static("req_script"));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn json_response(
    status: StatusCode,
    value: &Value,
    exchange: Option<RecordedExchange>,
) -> Response {
    let body = value.to_string();
    if let Some(mut exchange) = exchange {
        exchange.record_answer(status.as_u16(), body.as_bytes());
    }
    build_response(status, JSON, Body::from(body))
}

/// A stream that is being sent.
struct SendingStream {
    frames: ReplyFrames,
    link: ConnectionBreaker,
    exchange: Option<RecordedExchange>,
    begun: bool,
    over: bool,
}

fn stream_body(
    frames: ReplyFrames,
    link: ConnectionBreaker,
    mut exchange: Option<RecordedExchange>,
) -> Body {
    if let Some(exchange) = &mut exchange {
        exchange.record_answer(200, b"");
    }
    let sending = SendingStream { frames, link, exchange, begun: false, over: false };
    Body::from_stream(stream::unfold(sending, |mut sending| async move {
        let chunk = sending.next().await?;
        Some((chunk, sending))
    }))
}

impl SendingStream {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.over {
            return self.end_connection().await;
        }
        if self.begun && !self.frames.pace.is_zero() {
            tokio::time::sleep(self.frames.pace).await;
        }
        self.begun = true;
        let mut bytes = Vec::with_capacity(1024);
        self.over = !self.frames.fill_buffer(CHUNK_BYTES, &mut bytes);
        if bytes.is_empty() {
            return self.end_connection().await;
        }
        if let Some(exchange) = &mut self.exchange {
            exchange.record_bytes(&bytes);
        }
        Some(Ok(Bytes::from(bytes)))
    }

    /// What happens to the connection after the last byte.
    async fn end_connection(&mut self) -> Option<io::Result<Bytes>> {
        match self.frames.ending {
            StreamEnding::Whole
            | StreamEnding::Cut
            | StreamEnding::Midstream
            | StreamEnding::Garbage => None,
            StreamEnding::Stall => std::future::pending().await,
            StreamEnding::Reset => {
                // What was sent before goes out first; then nothing more does.
                tokio::task::yield_now().await;
                self.link.break_connection();
                Some(Err(io::Error::from(io::ErrorKind::ConnectionReset)))
            }
        }
    }
}

/// A list of models in the words of all vendors at once.
fn models_json(name: &str) -> Value {
    let one = json!({
        "id": name, "object": "model", "created": CREATED, "owned_by": "script",
        "type": "model", "display_name": name, "created_at": "2025-10-09T08:53:20Z",
    });
    let gemini = json!({
        "name": format!("models/{name}"), "displayName": name, "version": "1",
        "inputTokenLimit": 200_000, "outputTokenLimit": 32_000,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    });
    json!({
        "object": "list", "data": [one], "models": [gemini],
        "has_more": false, "first_id": name, "last_id": name,
    })
}
