//! Signing in (OAuth 2.1) at a small imitation of an authorization server: discovery, registration,
//! PKCE, audience, tokens that are kept and given to nobody else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use weir_mcp::{Authorizer, McpHub, ServerPin};

use crate::network::{at, listen, real};
use crate::world::*;

const TOKEN: &str = "token-marker-1";

/// What the authorization server was asked.
#[derive(Default)]
struct Seen {
    address: Mutex<String>,
    registered: Mutex<Vec<Value>>,
    authorized: Mutex<Vec<BTreeMap<String, String>>>,
    exchanged: Mutex<Vec<BTreeMap<String, String>>>,
    /// It names another issuer than its own.
    lies: bool,
}

impl Seen {
    fn address(&self) -> String {
        self.address.lock().expect("no test panics with it").clone()
    }
}

type Shared = Arc<Seen>;

/// A server that wants a token, with the authorization server beside it.
async fn guarded(seen: Shared) -> String {
    let guard = |State(seen): State<Shared>, headers: HeaderMap, request: Request, next: Next| async move {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if bearer == Some(&format!("Bearer {TOKEN}")) {
            return next.run(request).await;
        }
        let hint = format!(
            "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\"",
            seen.address()
        );
        (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, hint)]).into_response()
    };
    let mcp = real().layer(middleware::from_fn_with_state(seen.clone(), guard));
    let router = Router::new()
        .route("/.well-known/oauth-protected-resource/mcp", get(resource))
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/register", post(register))
        .route("/token", post(token))
        .with_state(seen.clone())
        .merge(mcp);
    let address = listen(router).await;
    *seen.address.lock().expect("no test panics with it") = address.clone();
    address
}

async fn resource(State(seen): State<Shared>) -> Json<Value> {
    let address = seen.address();
    Json(json!({ "resource": format!("{address}/mcp"), "authorization_servers": [address],
        "scopes_supported": ["read"] }))
}

async fn metadata(State(seen): State<Shared>) -> Json<Value> {
    let address = seen.address();
    let issuer = if seen.lies { "https://evil.example".to_owned() } else { address.clone() };
    Json(json!({ "issuer": issuer,
        "authorization_endpoint": format!("{address}/authorize"),
        "token_endpoint": format!("{address}/token"),
        "registration_endpoint": format!("{address}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"] }))
}

async fn register(State(seen): State<Shared>, body: String) -> Response {
    let asked: Value = serde_json::from_str(&body).expect("a registration is JSON");
    let answer = json!({ "client_id": "client-7", "redirect_uris": asked["redirect_uris"] });
    seen.registered.lock().expect("no test panics with it").push(asked);
    (StatusCode::CREATED, Json(answer)).into_response()
}

async fn token(State(seen): State<Shared>, body: String) -> Response {
    let form: BTreeMap<String, String> =
        url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let challenge =
        seen.authorized.lock().expect("no test panics with it")[0]["code_challenge"].clone();
    let digest = Sha256::digest(form["code_verifier"].as_bytes());
    let proof = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest);
    let good = proof == challenge && form["code"] == "code-1";
    seen.exchanged.lock().expect("no test panics with it").push(form);
    if !good {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })))
            .into_response();
    }
    Json(json!({ "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600 }))
        .into_response()
}

/// A person with a browser: follows the page, and agrees; or comes back with something else.
struct Browser {
    seen: Shared,
    comes_back: fn(&BTreeMap<String, String>) -> String,
}

#[async_trait]
impl Authorizer for Browser {
    async fn open_page(&self, _: &str, url: &str) -> Result<(), String> {
        let page = Url::parse(url).expect("it is an address");
        let asked: BTreeMap<String, String> = page.query_pairs().into_owned().collect();
        let back = format!("{}?{}", asked["redirect_uri"], (self.comes_back)(&asked));
        self.seen.authorized.lock().expect("no test panics with it").push(asked);
        tokio::spawn(async move {
            // Somebody else looks at the port first.
            let nobody = back.split('?').next().unwrap_or_default().replace("callback", "x");
            for address in [nobody, back] {
                let _ = get_page(&address).await;
            }
        });
        Ok(())
    }
}

async fn get_page(address: &str) -> std::io::Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let url = Url::parse(address).expect("it is an address");
    let host = format!("127.0.0.1:{}", url.port().expect("it has a port"));
    let mut stream = tokio::net::TcpStream::connect(&host).await?;
    let path = format!("{}?{}", url.path(), url.query().unwrap_or_default());
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map(drop)
}

fn agrees(asked: &BTreeMap<String, String>) -> String {
    format!("code=code-1&state={}", asked["state"])
}

#[tokio::test]
async fn z8_signing_in_uses_pkce_and_names_the_server_that_the_token_is_for() {
    let seen = Shared::default();
    let address = guarded(seen.clone()).await;
    let spec = at(&format!("{address}/mcp"));
    let mut options = options(Stage::default());
    let tokens = Arc::new(Tokens::default());
    options.tokens = tokens.clone();
    // Without anybody to bring there it is told what to do.
    let hub = McpHub::new(vec![spec.clone()], BTreeMap::new(), options.clone());
    let why = hub.fetch_listing("a").await.expect_err("it wants a token");
    assert!(why.contains("wants somebody to sign in"), "{why}");

    options.authorizer = Some(Arc::new(Browser { seen: seen.clone(), comes_back: agrees }));
    let hub = McpHub::new(vec![spec.clone()], BTreeMap::new(), options.clone());
    let listing = hub.fetch_listing("a").await.expect("somebody signed in");
    let pins = BTreeMap::from([("a".to_owned(), ServerPin::from_listing(&spec, listing))]);

    let asked = seen.authorized.lock().expect("no test panics with it")[0].clone();
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], format!("{address}/mcp"), "the token is for this server");
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
    let exchanged = seen.exchanged.lock().expect("no test panics with it")[0].clone();
    assert_eq!(exchanged["resource"], format!("{address}/mcp"));
    assert_eq!(exchanged["client_id"], "client-7");
    assert_eq!(seen.registered.lock().expect("no test panics with it")[0]["client_name"], "Weir");

    // The token is kept: the next hub signs in no more.
    options.authorizer = None;
    let hub = McpHub::new(vec![spec.clone()], pins, options.clone());
    let result = call(&hub, "a", "echo").await.expect("the kept token is good");
    assert_eq!(text_of(&result), "hello");
    assert_eq!(seen.authorized.lock().expect("no test panics with it").len(), 1);

    // Under the same name another address is another server: it gets no token.
    let thief = Arc::new(Mutex::new(Vec::new()));
    let heard = thief.clone();
    let other = listen(Router::new().fallback(move |headers: HeaderMap| {
        let heard = heard.clone();
        async move {
            heard
                .lock()
                .expect("no test panics with it")
                .push(headers.contains_key(header::AUTHORIZATION));
            StatusCode::NOT_FOUND
        }
    }))
    .await;
    let moved = at(&format!("{other}/mcp"));
    let hub = McpHub::new(vec![moved], BTreeMap::new(), options);
    assert!(hub.fetch_listing("a").await.is_err());
    let heard = thief.lock().expect("no test panics with it").clone();
    assert!(!heard.is_empty() && heard.iter().all(|had_token| !had_token), "{heard:?}");
    assert!(tokens.0.lock().expect("no test panics with it")["a"].contains(TOKEN));
}

#[tokio::test]
async fn z8_an_answer_that_nobody_asked_for_signs_nobody_in() {
    for comes_back in [
        (|_: &BTreeMap<String, String>| "code=code-1&state=other".to_owned())
            as fn(&BTreeMap<String, String>) -> String,
        |_| "error=access_denied&error_description=no".to_owned(),
        |asked| format!("code=code-2&state={}", asked["state"]),
    ] {
        let seen = Shared::default();
        let address = guarded(seen.clone()).await;
        let mut options = options(Stage::default());
        let tokens = Arc::new(Tokens::default());
        options.tokens = tokens.clone();
        options.authorizer = Some(Arc::new(Browser { seen, comes_back }));
        let hub = McpHub::new(vec![at(&format!("{address}/mcp"))], BTreeMap::new(), options);
        let why = hub.fetch_listing("a").await.expect_err("nobody signed in");
        assert!(!why.contains(TOKEN), "{why}");
        assert!(
            !tokens
                .0
                .lock()
                .expect("no test panics with it")
                .values()
                .any(|kept| kept.contains(TOKEN))
        );
    }
}

#[tokio::test]
async fn z8_an_authorization_server_that_is_another_is_not_believed() {
    let seen = Arc::new(Seen { lies: true, ..Seen::default() });
    let address = guarded(seen.clone()).await;
    let mut options = options(Stage::default());
    options.authorizer = Some(Arc::new(Browser { seen: seen.clone(), comes_back: agrees }));
    let hub = McpHub::new(vec![at(&format!("{address}/mcp"))], BTreeMap::new(), options);
    assert!(hub.fetch_listing("a").await.is_err());
    assert!(seen.exchanged.lock().expect("no test panics with it").is_empty());
}
