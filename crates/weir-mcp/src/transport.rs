//! The transport to a server on the network: it gives a token to nobody but the server that it was made
//! for. Not here: the client (`http`), signing in (`auth`).

use std::collections::HashMap;

use ::http::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};

use crate::ports::McpOptions;
use crate::spec::{ServerSpec, ServerTransport};
use crate::{auth, http};

pub(crate) type HttpTransport = StreamableHttpClientTransport<AuthClient<reqwest::Client>>;

/// The way to this server: with its token, where somebody signed in.
pub(crate) async fn open_transport(
    spec: &ServerSpec,
    options: &McpOptions,
) -> Result<HttpTransport, String> {
    let ServerTransport::Http { url, headers } = &spec.transport else {
        return Err("it is not on the network".into());
    };
    let url = http::check_server_url(url)?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let wrong = || format!("its header {name} cannot be sent");
        let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.reveal()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        custom.insert(key, value);
    }
    let mut manager = auth::authorization_manager(spec, options).await?;
    if auth::has_tokens(spec, options).await {
        // What is kept may be for a server that has moved: then somebody signs in again.
        if let Err(error) = manager.initialize_from_store().await {
            tracing::debug!(server = spec.name, %error, "kept tokens cannot be used");
        }
    }
    let client = http::client_builder().await?.pool_max_idle_per_host(0).build();
    let client = client.map_err(|error| format!("the network client: {error}"))?;
    // A call that was lost with its session is not sent again by itself: it may have taken effect.
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(custom)
        .reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(AuthClient::new(client, manager), config))
}
