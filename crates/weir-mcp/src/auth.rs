//! Signing in at a server on the network (OAuth 2.1): discovery, registration, PKCE, and tokens that
//! are made for one server and given to no other. Not here: how a person is brought to a page, and
//! where tokens lie.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, CredentialStore, OAuthHttpClient,
    OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest, OAuthState, StoredCredentials,
    WWWAuthenticateParams,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::ports::{Authorizer, McpOptions, TokenStore};
use crate::spec::{ServerSpec, ServerTransport};

/// How long a person may take to sign in.
const PERSON_WAIT: Duration = Duration::from_secs(300);
/// How long one request of the whole may take.
const REQUEST_WAIT: Duration = Duration::from_secs(30);
/// Largest answer of an authorization server.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Longest request of the browser that brings the answer.
const CALLBACK_BYTES_MAX: usize = 16 << 10;
/// Visitors of the callback port that bring no answer.
const VISITORS_MAX: usize = 50;

/// What is kept for a server: the tokens, and for which address they were made.
#[derive(Serialize, Deserialize)]
struct KeptTokens {
    url: String,
    credentials: StoredCredentials,
}

/// The tokens of one server, as the SDK wants to keep them.
struct ServerTokenStore {
    server: String,
    url: String,
    store: Arc<dyn TokenStore>,
}

impl ServerTokenStore {
    fn for_server(spec: &ServerSpec, url: &str, store: &Arc<dyn TokenStore>) -> ServerTokenStore {
        ServerTokenStore { server: spec.name.clone(), url: url.to_owned(), store: store.clone() }
    }
}

#[async_trait::async_trait]
impl CredentialStore for ServerTokenStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.store.load(&self.server).await.map_err(AuthError::CredentialStoreError)?;
        let kept = kept.and_then(|text| serde_json::from_str::<KeptTokens>(&text).ok());
        // A token goes to the server it was made for: under the same name another address is
        // another server.
        Ok(kept.filter(|kept| kept.url == self.url).map(|kept| kept.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let kept = KeptTokens { url: self.url.clone(), credentials };
        let text = serde_json::to_string(&kept)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        let saved = self.store.save(&self.server, Some(&text)).await;
        saved.map_err(AuthError::CredentialStoreError)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let cleared = self.store.save(&self.server, None).await;
        cleared.map_err(AuthError::CredentialStoreError)
    }
}

/// Every request of signing in: over TLS unless on this machine, to no closed address, bounded, and
/// never led elsewhere.
struct AuthHttpClient {
    client: reqwest::Client,
    allowed: AllowedHosts,
}

/// Where one may be sent to sign in. The server names the place, and that must not be a way into the
/// person's own network: only where the person declared the server itself is one more address open.
#[derive(Clone)]
struct AllowedHosts {
    /// The host of the server.
    host: String,
    /// The server is on this machine: then its authorization server may be too.
    local: bool,
}

impl AllowedHosts {
    fn allows_ip(&self, ip: std::net::IpAddr) -> bool {
        let ip = ip.to_canonical();
        (ip.is_loopback() && self.local) || !is_closed(ip)
    }
}

impl reqwest::dns::Resolve for AllowedHosts {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let allowed = self.clone();
        Box::pin(async move {
            let own = name.as_str() == allowed.host;
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let open: Vec<_> = found.filter(|at| own || allowed.allows_ip(at.ip())).collect();
            if open.is_empty() {
                return Err(format!("{} is closed for signing in", name.as_str()).into());
            }
            Ok(Box::new(open.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

/// Addresses that are nobody's on the open network.
fn is_closed(ip: std::net::IpAddr) -> bool {
    match ip {
        std::net::IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            ip.is_private()
                || ip.is_loopback()
                || ip.is_link_local()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_broadcast()
                || a == 0
                || (a == 100 && (64..128).contains(&b))
                || a >= 240
        }
        std::net::IpAddr::V6(ip) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
        }
    }
}

impl OAuthHttpClient for AuthHttpClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            self.check_url(request.url())?;
            let response = self.client.execute(request).await?;
            let mut built = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                built = built.header(name, value);
            }
            let mut body = Vec::new();
            let mut stream = response.bytes_stream();
            while let Some(chunk) = stream.next().await {
                let chunk = chunk?;
                if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                    return Err(OAuthHttpClientError::from("the answer is too long"));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(built.body(body)?)
        })
    }
}

impl AuthHttpClient {
    fn check_url(&self, url: &Url) -> Result<(), OAuthHttpClientError> {
        let here = crate::http::is_here(url);
        let own = url.host_str() == Some(self.allowed.host.as_str());
        let open = match url.host() {
            Some(url::Host::Ipv4(ip)) => self.allowed.allows_ip(ip.into()),
            Some(url::Host::Ipv6(ip)) => self.allowed.allows_ip(ip.into()),
            // What it stands for is judged when it is looked up.
            Some(url::Host::Domain(name)) => name != "localhost" || self.allowed.local,
            None => false,
        };
        let plain = url.scheme() != "https" && !here;
        if !(open || own) || plain {
            let why = format!("the server wants to sign in at {url}, which is closed for that");
            return Err(OAuthHttpClientError::from(why));
        }
        Ok(())
    }
}

/// Asks for tokens, and keeps them.
pub(crate) async fn authorization_manager(
    spec: &ServerSpec,
    options: &McpOptions,
) -> Result<AuthorizationManager, String> {
    let (url, client) = auth_http_client(spec).await?;
    let made = AuthorizationManager::new_with_oauth_http_client(url.as_str(), client).await;
    let mut manager = made.map_err(|error| error.to_string())?;
    manager.set_credential_store(ServerTokenStore::for_server(spec, url.as_str(), &options.tokens));
    Ok(manager)
}

/// Whether there are tokens of this server.
pub(crate) async fn has_tokens(spec: &ServerSpec, options: &McpOptions) -> bool {
    let ServerTransport::Http { url, .. } = &spec.transport else { return false };
    let Ok(url) = crate::http::check_server_url(url) else { return false };
    let tokens = ServerTokenStore::for_server(spec, url.as_str(), &options.tokens);
    matches!(tokens.load().await, Ok(Some(found)) if found.token_response.is_some())
}

async fn auth_http_client(spec: &ServerSpec) -> Result<(Url, Arc<dyn OAuthHttpClient>), String> {
    let ServerTransport::Http { url, .. } = &spec.transport else {
        return Err("nobody signs in at a server that is a program".into());
    };
    let url = crate::http::check_server_url(url)?;
    let client = crate::http::client_builder().await?;
    let local = crate::http::is_here(&url);
    let allowed = AllowedHosts { host: url.host_str().unwrap_or_default().to_owned(), local };
    let client = client
        .dns_resolver(Arc::new(allowed.clone()))
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(REQUEST_WAIT)
        .build()
        .map_err(|error| format!("the network client could not be made: {error}"))?;
    Ok((url, Arc::new(AuthHttpClient { client, allowed })))
}

/// Signs a person in: they are brought to a page of the authorization server, and its answer comes
/// back to a port of this machine. `challenge` is what the server said when it refused.
///
/// # Errors
/// What went wrong, for a person. No token is ever in it.
pub(crate) async fn sign_in(
    spec: &ServerSpec,
    options: &McpOptions,
    authorizer: &dyn Authorizer,
    challenge: Option<&str>,
) -> Result<(), String> {
    let (url, client) = auth_http_client(spec).await?;
    let oauth = &spec.oauth;
    let listener = TcpListener::bind(("127.0.0.1", oauth.callback_port.unwrap_or(0)))
        .await
        .map_err(|error| format!("the answer cannot come in: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let mut request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}/callback"))
        .with_client_name("Weir")
        .with_scopes(oauth.scopes.iter().cloned());
    if let Some(id) = &oauth.client_id {
        request = request.with_preregistered_client(id.as_str());
        if let Some(secret) = &oauth.client_secret {
            request = request.with_client_secret(secret.reveal());
        }
    }
    if let Some(address) = &oauth.client_metadata_url {
        request = request.with_client_metadata_url(address.as_str());
    }
    if let Some(challenge) = challenge {
        request = request.with_challenge(challenge);
    }
    let tokens = ServerTokenStore::for_server(spec, url.as_str(), &options.tokens);
    let more = more_scopes(&tokens, &url, challenge).await;
    if !more.is_empty() {
        request = request.with_scopes(more.into_iter().chain(oauth.scopes.iter().cloned()));
    } else if challenge.is_some() {
        // What was refused is not used again, whoever made it.
        tokens.clear().await.map_err(|error| error.to_string())?;
    }
    let failed = |error: AuthError| format!("signing in at {} failed: {error}", spec.name);
    let made = AuthorizationManager::new_with_oauth_http_client(url.as_str(), client).await;
    let mut manager = made.map_err(failed)?;
    manager.set_credential_store(tokens);
    let mut state = OAuthState::Unauthorized(manager);
    state.start_authorization(request).await.map_err(failed)?;
    let page = state.get_authorization_url().await.map_err(failed)?;
    let page_url = Url::parse(&page).map_err(|error| format!("its page: {error}"))?;
    if page_url.scheme() != "https" && !crate::http::is_here(&page_url) {
        return Err(format!("{} names a page to sign in that is not encrypted", spec.name));
    }
    authorizer.open_page(&spec.name, &page).await?;
    let answered = tokio::time::timeout(PERSON_WAIT, await_callback(&listener, port)).await;
    let answered = answered.map_err(|_| format!("nobody signed in at {} in time", spec.name))??;
    state.handle_callback_url(&answered).await.map_err(failed)
}

/// What is asked for when the server wants more than was granted: that, and what was granted before.
/// Empty: it wants something else.
async fn more_scopes(
    tokens: &ServerTokenStore,
    url: &Url,
    challenge: Option<&str>,
) -> BTreeSet<String> {
    let Some(challenge) = challenge else { return BTreeSet::new() };
    let wanted = WWWAuthenticateParams::parse(challenge, url);
    if !wanted.is_insufficient_scope() {
        return BTreeSet::new();
    }
    let granted = match tokens.load().await {
        Ok(Some(kept)) => kept.granted_scopes,
        Ok(None) | Err(_) => Vec::new(),
    };
    let words = wanted.scope.unwrap_or_default();
    words.split_whitespace().map(str::to_owned).chain(granted).collect()
}

/// Waits for the browser to come back, and gives the address that it asks for.
async fn await_callback(listener: &TcpListener, port: u16) -> Result<String, String> {
    for _ in 0..VISITORS_MAX {
        let Ok((mut stream, _)) = listener.accept().await else { continue };
        let Some(path) = read_request_path(&mut stream).await else { continue };
        let address = format!("http://127.0.0.1:{port}{path}");
        let Ok(url) = Url::parse(&address) else { continue };
        let has = |wanted: &str| url.query_pairs().any(|(name, _)| name == wanted);
        if url.path() != "/callback" || !(has("code") || has("error")) {
            send_response(&mut stream, "404 Not Found", "There is nothing here.").await;
            continue;
        }
        if has("error") {
            send_response(&mut stream, "200 OK", "You were not signed in.").await;
            let word = |wanted: &str| {
                let found = url.query_pairs().find(|(name, _)| name == wanted);
                found.map(|(_, value)| crate::text::visible_text(&value, 300)).unwrap_or_default()
            };
            let (error, why) = (word("error"), word("error_description"));
            return Err(format!("the authorization server refused: {error} {why}"));
        }
        send_response(&mut stream, "200 OK", "You are signed in. This page can be closed.").await;
        return Ok(address);
    }
    Err("too many others came to the port of the answer".into())
}

async fn read_request_path(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let reading = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut chunk));
        let count = reading.await.ok()?.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if bytes.len() > CALLBACK_BYTES_MAX {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let path = text.strip_prefix("GET ")?.split(' ').next()?;
    path.starts_with('/').then(|| path.to_owned())
}

async fn send_response(stream: &mut TcpStream, status: &str, words: &str) {
    let length = words.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: \
         {length}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{words}"
    );
    // Whoever went away has no need of it.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}
