//! A client at two streams: its lines in, ours out, until it goes. Not here: what is answered.

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::{QuitReason, ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::agent::ServedAgent;
use crate::handler::McpHandler;
use crate::lines::LineTransport;

/// Why a client is no longer served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It does not begin as the protocol wants it.
    #[error("the client did not begin as MCP wants it: {0}")]
    Beginning(String),
    /// The connection failed, or the program met a bug.
    #[error("the connection to the client failed: {0}")]
    Connection(String),
}

/// Serves a client until it goes or `stop` is cancelled. One line is one message; a line that is none is
/// answered with an error of JSON-RPC.
///
/// # Errors
/// It never began, or the connection failed.
pub async fn serve_streams(
    agent: Arc<dyn ServedAgent>,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let handler = McpHandler::new(agent);
    let client = LineTransport::new(input, output);
    let running = match handler.serve_with_ct(client, stop).await {
        Ok(running) => running,
        // Whoever says nothing and goes has not asked for anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(ServeError::Beginning(error.to_string())),
    };
    match running.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(reason) => Err(ServeError::Connection(format!("{reason:?}"))),
        Err(error) => Err(ServeError::Connection(error.to_string())),
    }
}
