//! Clients over HTTP (streamable HTTP): each request and its answer, for everybody who may reach one agent.
//! Not here: listening, who may ask, and which agent is whose.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::agent::ServedAgent;
use crate::handler::McpHandler;

/// Bytes of one message of a client.
const MESSAGE_BYTES_MAX: usize = 8 << 20;
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
        let service = StreamableHttpService::new(
            move || Ok(handler.for_connection(IDLE_MAX)),
            Arc::new(sessions),
            config,
        );
        HttpClients { service }
    }

    /// Answers a request. The answer may go on for as long as a call does.
    pub async fn answer_request<B>(
        &self,
        request: Request<B>,
    ) -> Response<impl Body<Data = Bytes, Error = Infallible> + Send + use<B>>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        self.service.handle(request).await
    }
}
