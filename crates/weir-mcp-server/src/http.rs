//! Clients over HTTP (streamable HTTP): each request and its answer, for everybody who may reach one agent.
//! Not here: listening, who may ask, which agent is whose, and what stands in a batch (`http_batches`).

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agent::ServedAgent;
use crate::batches::{BATCHES_MAX, describe_too_many, describe_wrong_size};
use crate::handler::McpHandler;
use crate::http_batches::{
    BatchAnswers, BatchEntry, answer_with, begins_with_batches, describe_no_batches, is_batch,
    read_batch, refuse_batch, split_batch,
};
use crate::http_bodies::{AnswerBody, WholeBody, read_body};
use crate::messages::{INVALID_REQUEST, refusal_of};

/// Bytes of one message of a client.
const MESSAGE_BYTES_MAX: usize = 8 << 20;
/// The header that names a connection of the revisions with a handshake.
const SESSION_ID: &str = "mcp-session-id";
/// How long a client of the revisions with a handshake may say nothing: a call may wait for a person.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// How clients over HTTP are served.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Pages from which a browser may ask, as `https://weir.example.org`; from others it is refused.
    pub origins: Vec<String>,
    /// Ends every connection.
    pub stop: CancellationToken,
}

/// All clients of one agent.
pub struct HttpClients {
    service: StreamableHttpService<McpHandler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Connections whose revision has batches, as long as they are there.
    with_batches: Mutex<HashSet<Arc<str>>>,
    /// Batches that may be answered at once.
    batches: Arc<Semaphore>,
}

impl HttpClients {
    /// Clients of this agent.
    pub fn new(agent: Arc<dyn ServedAgent>, options: HttpOptions) -> HttpClients {
        // One for all of them: a call that waits is found again by whichever connection asks.
        let handler = McpHandler::new(agent);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE_MAX);
        let config = StreamableHttpServerConfig::default()
            // The server around looks at the name that it is asked by, for every address.
            .disable_allowed_hosts()
            .with_allowed_origins(options.origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            .with_cancellation_token(options.stop);
        let sessions = Arc::new(sessions);
        let service = StreamableHttpService::new(
            move || Ok(handler.for_connection(IDLE_MAX)),
            sessions.clone(),
            config,
        );
        HttpClients {
            service,
            sessions,
            with_batches: Mutex::default(),
            batches: Arc::new(Semaphore::new(BATCHES_MAX)),
        }
    }

    /// Answers a request. The answer may go on for as long as a call does.
    pub async fn answer_request<B>(&self, request: Request<B>) -> Response<AnswerBody>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        if request.method() != Method::POST {
            return self.service.handle(request).await.map(AnswerBody::of_one);
        }
        let (head, body) = request.into_parts();
        let body = match read_body(body, MESSAGE_BYTES_MAX).await {
            Ok(body) => body,
            Err((status, why)) => {
                let refusal = refusal_of(&Value::Null, INVALID_REQUEST, &why);
                return answer_with(status, refusal.to_string());
            }
        };
        if is_batch(&body) {
            // Who may send none has nothing of it read.
            if let Some(refusal) = self.refuse_sender(&head.headers).await {
                return refusal;
            }
            if let Some(entries) = read_batch(&body) {
                return self.answer_batch(&head, entries).await;
            }
        }
        // Each message of the revision without a handshake names no connection either, so whether one began is
        // known from the answer, and only then is it read which revision that has.
        let beginning = (!head.headers.contains_key(SESSION_ID)).then(|| body.clone());
        let answer = self.service.handle(Request::from_parts(head, WholeBody::new(body))).await;
        if let Some(beginning) = beginning
            && answer.headers().contains_key(SESSION_ID)
            && begins_with_batches(&beginning)
        {
            self.note_begun(answer.headers()).await;
        }
        answer.map(AnswerBody::of_one)
    }

    /// Answers several messages at once, of who may send them: each is given on as if it had come alone, in
    /// their order.
    async fn answer_batch(&self, head: &Parts, entries: Vec<Value>) -> Response<AnswerBody> {
        if let Some(why) = describe_wrong_size(entries.len()) {
            return refuse_batch(&why);
        }
        let Ok(permit) = self.batches.clone().try_acquire_owned() else {
            return refuse_batch(&describe_too_many());
        };
        let mut answers = BatchAnswers::default();
        for entry in split_batch(entries) {
            let (message, is_asked) = match entry {
                BatchEntry::Ask(message) => (message, true),
                BatchEntry::Tell(message) => (message, false),
                BatchEntry::Refuse(answer) => {
                    answers.add_refusal(answer);
                    continue;
                }
            };
            let body = WholeBody::new(message.to_string());
            let given_on = self.service.handle(Request::from_parts(head.clone(), body));
            let answer = answers.read_during(given_on).await;
            let asked = is_asked.then_some(&message["id"]);
            if let Some(answer) = answers.add_answer(answer.map(AnswerBody::of_one), asked) {
                return answer;
            }
        }
        answers.into_answer(permit)
    }

    /// The answer to whoever sends a batch and did not agree on the revision that has them, or whose connection
    /// is not there any more.
    async fn refuse_sender(&self, headers: &HeaderMap) -> Option<Response<AnswerBody>> {
        let session = headers.get(SESSION_ID).and_then(|name| name.to_str().ok());
        let has_batches = session.is_some_and(|name| self.lock_with_batches().contains(name));
        let Some(session) = session.filter(|_| has_batches) else {
            return Some(refuse_batch(&describe_no_batches()));
        };
        match self.sessions.has_session(&Arc::from(session)).await {
            Ok(true) => None,
            // As a message alone would be told.
            Ok(false) | Err(_) => Some(answer_with(StatusCode::NOT_FOUND, String::new())),
        }
    }

    /// Notes that a connection which began now has batches, and forgets those that are over.
    async fn note_begun(&self, headers: &HeaderMap) {
        let Some(session) = headers.get(SESSION_ID).and_then(|name| name.to_str().ok()) else {
            return;
        };
        let known: Vec<Arc<str>> = self.lock_with_batches().iter().cloned().collect();
        let mut over = Vec::new();
        for name in known {
            if !matches!(self.sessions.has_session(&name).await, Ok(true)) {
                over.push(name);
            }
        }
        let mut with_batches = self.lock_with_batches();
        with_batches.retain(|name| !over.contains(name));
        with_batches.insert(Arc::from(session));
    }

    fn lock_with_batches(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        self.with_batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
