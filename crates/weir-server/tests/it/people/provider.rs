//! Signing in through an identity provider: a small one that answers as real ones do, and lies where
//! a test says so (S2).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weir_test_kit::{Browser, PASSWORD, ServerSetup, TestServer};

use crate::people::is_in;

/// As what the provider knows this server.
const CLIENT_SECRET: &str = "shh-nobody-reads-this";

fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random)
        .expect("it can be read")
}

/// What the provider says when somebody comes with a code.
#[derive(Clone)]
struct Word {
    claims: Value,
    challenge: String,
    header: Value,
    is_forged: bool,
}

struct Provider {
    address: String,
    key: EcdsaKeyPair,
    other: EcdsaKeyPair,
    words: Mutex<HashMap<String, Word>>,
}

impl Provider {
    async fn start() -> Arc<Provider> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let provider =
            Arc::new(Provider { address, key: key(), other: key(), words: Mutex::default() });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    /// What somebody does at the provider: they sign in there and come back with a code. `change`:
    /// what the provider (or somebody who is not it) says otherwise.
    async fn visit(
        &self,
        browser: &Browser,
        change: impl FnOnce(&mut Word),
    ) -> (u16, String, String) {
        let (status, headers, _) = browser.get_whole("/signin/oidc?next=/agents").await;
        assert_eq!(status, 303);
        let to = url::Url::parse(headers["location"].to_str().expect("text")).expect("an address");
        assert!(to.as_str().starts_with(&self.address), "{to}");
        let asked: HashMap<String, String> = to.query_pairs().into_owned().collect();
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["redirect_uri"], format!("{}/signin/oidc/back", browser.origin()));
        let mut word = Word {
            claims: json!({
                "iss": self.address, "aud": asked["client_id"], "sub": "subject-1",
                "exp": now() + 300, "iat": now(), "nonce": asked["nonce"],
                "email": "ann@example.org", "email_verified": true, "preferred_username": "ann.x",
            }),
            challenge: asked["code_challenge"].clone(),
            header: json!({ "alg": "ES256", "kid": "one" }),
            is_forged: false,
        };
        change(&mut word);
        self.words.lock().expect("free").insert("the-code".into(), word);
        let state = &asked["state"];
        let back = browser.send(
            browser.request("GET", &format!("/signin/oidc/back?state={state}&code=the-code")),
        );
        let response = back.await;
        let to = response.headers().get("location").map(|to| to.to_str().expect("text").to_owned());
        let status = response.status().as_u16();
        (status, to.unwrap_or_default(), response.text().await.expect("a body"))
    }
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("after 1970").as_secs()
}

async fn discovery(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let at = &provider.address;
    Json(json!({
        "issuer": at, "authorization_endpoint": format!("{at}/authorize"),
        "token_endpoint": format!("{at}/token"), "jwks_uri": format!("{at}/keys"),
    }))
}

async fn keys(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let point = provider.key.public_key().as_ref();
    Json(json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig",
        "alg": "ES256", "x": b64(&point[1..33]), "y": b64(&point[33..]) }] }))
}

async fn token(
    State(provider): State<Arc<Provider>>,
    body: String,
) -> Result<Json<Value>, axum::http::StatusCode> {
    let sent: HashMap<String, String> =
        url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let refused = axum::http::StatusCode::BAD_REQUEST;
    let word = provider.words.lock().expect("free").remove(&sent["code"]).ok_or(refused)?;
    if b64(&Sha256::digest(sent["code_verifier"].as_bytes())) != word.challenge {
        return Err(refused);
    }
    let head = b64(word.header.to_string().as_bytes());
    let signed = format!("{head}.{}", b64(word.claims.to_string().as_bytes()));
    let key = if word.is_forged { &provider.other } else { &provider.key };
    let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
    let signature = match word.header["alg"].as_str() {
        Some("none") => String::new(),
        _ => b64(signature.as_ref()),
    };
    Ok(Json(json!({ "id_token": format!("{signed}.{signature}"), "token_type": "Bearer" })))
}

async fn configured(served: &mut TestServer, provider: &Provider, makes_accounts: bool) {
    let admin = served.admin().await;
    let mut fields = vec![
        ("issuer", provider.address.as_str()),
        ("client_id", "weir"),
        ("client_secret", CLIENT_SECRET),
        ("label", "Example"),
    ];
    if makes_accounts {
        fields.push(("makes_accounts", "on"));
    }
    let (status, _, body) = admin.form("/users/door/provider", &fields).await;
    assert_eq!(status, 303, "{body}");
    let (_, page) = served.stranger().get("/signin").await;
    assert!(page.contains("Sign in with Example"), "{page}");
    assert!(
        !admin.get("/users").await.1.contains(CLIENT_SECRET),
        "its secret goes in and does not come out"
    );
    assert!(!is_in(&served.house.at("state"), CLIENT_SECRET.as_bytes()), "kept sealed (Z7)");
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_provider_brings_in_whom_an_admin_named_and_nobody_else() {
    let provider = Provider::start().await;
    let mut served = TestServer::start(ServerSetup::default()).await;
    configured(&mut served, &provider, false).await;
    let (status, _, body) = provider.visit(&served.stranger(), |_| ()).await;
    assert_eq!(status, 403, "nobody here has the address: {body}");
    let admin = served.admin().await;
    let body = json!({ "name": "ann", "password": PASSWORD, "email": "Ann@Example.org" });
    let (status, made) = admin.api("POST", "/api/v1/users", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let unverified = |word: &mut Word| word.claims["email_verified"] = json!(false);
    assert_eq!(provider.visit(&served.stranger(), unverified).await.0, 403, "not verified there");
    let ann = served.stranger();
    let (status, to, body) = provider.visit(&ann, |_| ()).await;
    assert_eq!((status, to.as_str()), (303, "/agents"), "{body}");
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.1["id"], made["id"]);
    // From now on it is the provider's own name for them that counts.
    let ann = served.stranger();
    let moved = |word: &mut Word| word.claims["email"] = json!("admin@example.org");
    assert_eq!(provider.visit(&ann, moved).await.0, 303);
    assert_eq!(ann.api("GET", "/api/v1/me", None).await.1["name"], "ann");
    let path = format!("/api/v1/users/{}", made["id"].as_str().expect("an id"));
    assert_eq!(admin.api("PATCH", &path, Some(json!({ "disabled": true }))).await.0, 200);
    assert_eq!(provider.visit(&served.stranger(), |_| ()).await.0, 401, "a disabled account");
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_provider_may_bring_new_people_but_never_takes_a_name() {
    let provider = Provider::start().await;
    let mut served = TestServer::start(ServerSetup::default()).await;
    configured(&mut served, &provider, true).await;
    let browser = served.stranger();
    let admin = |word: &mut Word| word.claims["preferred_username"] = json!("admin");
    assert_eq!(provider.visit(&browser, admin).await.0, 303);
    let (_, me) = browser.api("GET", "/api/v1/me", None).await;
    assert_eq!((me["name"].as_str(), me["role"].as_str()), (Some("admin-2"), Some("user")));
}

/// What somebody who is not the provider would change.
type Lie = fn(&mut Word);

#[tokio::test(flavor = "multi_thread")]
async fn s2_what_a_provider_did_not_say_brings_nobody_in() {
    let provider = Provider::start().await;
    let mut served = TestServer::start(ServerSetup::default()).await;
    configured(&mut served, &provider, true).await;
    let lies: Vec<(&str, Lie)> = vec![
        ("another key", |word| word.is_forged = true),
        ("no signature", |word| word.header = json!({ "alg": "none" })),
        ("a shared secret", |word| word.header["alg"] = json!("HS256")),
        ("another algorithm", |word| word.header["alg"] = json!("RS256")),
        ("another provider", |word| word.claims["iss"] = json!("https://evil.example")),
        ("for somebody else", |word| word.claims["aud"] = json!("another")),
        ("for several", |word| word.claims["aud"] = json!(["weir", "another"])),
        ("too old", |word| word.claims["exp"] = json!(now() - 120)),
        ("not yet", |word| word.claims["nbf"] = json!(now() + 600)),
        ("another way's", |word| word.claims["nonce"] = json!("another")),
        ("another's code", |word| word.challenge = "another".into()),
    ];
    for (what, lie) in lies {
        let (status, _, body) = provider.visit(&served.stranger(), lie).await;
        assert_eq!(status, 401, "{what}: {body}");
    }
    // The way of one browser is no way for another: nobody is led into somebody else's account.
    let (_, headers, _) = served.stranger().get_whole("/signin/oidc").await;
    let to = url::Url::parse(headers["location"].to_str().expect("text")).expect("an address");
    let (_, state) = to.query_pairs().find(|(name, _)| name == "state").expect("a state");
    let path = format!("/signin/oidc/back?state={state}&code=the-code");
    assert_eq!(served.stranger().get(&path).await.0, 401);
    assert_eq!(served.stranger().get("/signin/oidc/back?error=access_denied").await.0, 401);
}
