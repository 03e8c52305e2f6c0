//! Signing in through an identity provider (OpenID Connect, code flow with PKCE). What the provider
//! says is checked by `ring`; the way there and back is bound to the browser by a cookie, so that
//! nobody is led into another's account. Not here: the check of the token itself (`oidc/jwt`).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::app::App;
use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::auth::{accounts, events, secret};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::sign_in::{CompletedLogin, SignInContext, cookies};

mod jwt;

use jwt::{ExpectedClaims, IdTokenClaims};
use weir_install::people::{Person, PersonId, Role};

const PROVIDER: &str = "oidc_provider";
const ERRAND: &str = "oidc_errand";
const SUBJECT: &str = "oidc_subject";
/// How long somebody may take at the provider.
const ERRAND_LIVES_MS: u64 = 10 * 60 * 1000;
/// How long the provider may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// Most bytes of one of its answers.
const ANSWER_BYTES_MAX: usize = 512 * 1024;

/// An identity provider, as an admin described it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct IdentityProvider {
    /// Its address: `https://accounts.example.org`.
    pub(crate) issuer: String,
    /// As what this server is known there.
    pub(crate) client_id: String,
    /// Its secret there, sealed; empty: none (PKCE protects the way in any case). It is opened only
    /// where a token is asked for: one that does not open must lock nobody out who has a password.
    #[serde(default)]
    pub(crate) client_secret: String,
    /// What the button on the sign-in page says.
    pub(crate) label: String,
    /// Whether a person who has no account gets one.
    #[serde(default)]
    pub(crate) makes_accounts: bool,
}

/// What the provider says of itself (OpenID Connect Discovery).
#[derive(Debug, Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
}

/// A provider as it says to be used.
struct ProviderEndpoints {
    issuer: String,
    authorization: Url,
    token: Url,
    keys: Url,
}

/// A way to the provider that somebody is on.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AuthorizationAttempt {
    verifier: String,
    nonce: String,
    next: String,
    back: String,
}

/// A way to the provider.
pub(crate) struct AuthorizationRedirect {
    /// Where the browser goes.
    pub(crate) to: Url,
    /// What the browser keeps meanwhile.
    pub(crate) errand: String,
}

/// With what the browser comes back.
#[derive(Deserialize)]
pub(crate) struct AuthorizationCallback {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
}

fn provider_problem(why: impl std::fmt::Display) -> ProblemDetails {
    tracing::warn!(%why, "signing in through the identity provider failed");
    ProblemDetails::new(
        http::StatusCode::UNAUTHORIZED,
        "provider_refused",
        "signing in through the identity provider did not work; the log of the server says why",
    )
}

/// The provider, if there is one.
pub(crate) async fn find_provider(shelf: &TypedRecords) -> HandlerResult<Option<IdentityProvider>> {
    Ok(shelf.get::<IdentityProvider>(PROVIDER, "house").await?.map(|kept| kept.value))
}

/// A secret as a provider keeps it; none stays none.
///
/// # Errors
/// It cannot be sealed.
pub(crate) fn seal_client_secret(shelf: &TypedRecords, secret: &str) -> HandlerResult<String> {
    if secret.is_empty() {
        return Ok(String::new());
    }
    shelf.seal_secret(PROVIDER, secret)
}

/// The secret as the provider knows it; `None`: there is none.
fn open_client_secret(
    shelf: &TypedRecords,
    provider: &IdentityProvider,
) -> HandlerResult<Option<String>> {
    if provider.client_secret.is_empty() {
        return Ok(None);
    }
    shelf.open_secret(PROVIDER, &provider.client_secret).map(Some)
}

/// Keeps a provider, its secret as [`seal_client_secret`] made it, or takes it away.
///
/// # Errors
/// Its address cannot be one.
pub(crate) async fn set_provider(
    shelf: &TypedRecords,
    provider: Option<&IdentityProvider>,
) -> HandlerResult<()> {
    let Some(provider) = provider else {
        shelf.remove(PROVIDER, "house").await?;
        return Ok(());
    };
    let url = Url::parse(&provider.issuer)
        .map_err(|_| ProblemDetails::bad_request("the issuer is no address"))?;
    if !is_safe(&url) {
        return Err(ProblemDetails::bad_request(
            "the issuer must be an address that begins with https://",
        ));
    }
    if provider.client_id.is_empty() || provider.label.is_empty() {
        return Err(ProblemDetails::bad_request(
            "the client id and the words on the button are needed",
        ));
    }
    let slot = EntrySlot { kind: PROVIDER, name: "house", owner: "", expires: None };
    shelf.put_entry(slot, provider, None).await?;
    Ok(())
}

/// Whether something may be asked there: by TLS, or on this machine.
fn is_safe(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(four)) => four.is_loopback(),
        Some(url::Host::Ipv6(six)) => six.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

fn build_http_client() -> HandlerResult<reqwest::Client> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(
            crate::notify::outgoing::tls_client_config()
                .map_err(ProblemDetails::internal_failure)?,
        )
        .timeout(PATIENCE)
        // What a redirect leads to was not configured.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(ProblemDetails::internal_failure)
}

async fn request_json<T: serde::de::DeserializeOwned>(
    request: reqwest::RequestBuilder,
) -> HandlerResult<T> {
    let mut response =
        request.send().await.map_err(|error| provider_problem(error.without_url()))?;
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| provider_problem(error.without_url()))?
    {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(provider_problem("the provider's answer is too long"));
        }
    }
    if !status.is_success() {
        let said: String = String::from_utf8_lossy(&bytes).chars().take(300).collect();
        return Err(provider_problem(format!("the provider answered {status}: {said}")));
    }
    serde_json::from_slice(&bytes).map_err(provider_problem)
}

async fn discover_endpoints(
    client: &reqwest::Client,
    provider: &IdentityProvider,
) -> HandlerResult<ProviderEndpoints> {
    let issuer = provider.issuer.trim_end_matches('/');
    let found: DiscoveryDocument =
        request_json(client.get(format!("{issuer}/.well-known/openid-configuration"))).await?;
    if found.issuer.trim_end_matches('/') != issuer {
        return Err(provider_problem(format!("the provider calls itself {:?}", found.issuer)));
    }
    let address = |text: &str| match Url::parse(text).ok().filter(is_safe) {
        Some(url) => Ok(url),
        None => Err(provider_problem(format!("{text:?} is no address that is protected by TLS"))),
    };
    Ok(ProviderEndpoints {
        authorization: address(&found.authorization_endpoint)?,
        token: address(&found.token_endpoint)?,
        keys: address(&found.jwks_uri)?,
        issuer: found.issuer,
    })
}

/// Where the provider sends the browser back to.
fn way_back(app: &App, headers: &HeaderMap) -> HandlerResult<String> {
    let origin = app
        .asked_origin(headers)
        .ok_or_else(|| ProblemDetails::bad_request("the request names no host"))?;
    Ok(format!("{origin}/signin/oidc/back"))
}

/// Begins a way to the provider.
///
/// # Errors
/// There is none, or it does not answer as one.
pub(crate) async fn begin_authorization(
    app: &App,
    headers: &HeaderMap,
    next: &str,
) -> HandlerResult<AuthorizationRedirect> {
    let shelf = &app.auth.shelf;
    let provider =
        find_provider(shelf).await?.ok_or_else(|| ProblemDetails::not_found("a provider"))?;
    let found = discover_endpoints(&build_http_client()?, &provider).await?;
    let errand = AuthorizationAttempt {
        verifier: secret::random_token()?,
        nonce: secret::random_token()?,
        next: next.into(),
        back: way_back(app, headers)?,
    };
    let state = secret::random_token()?;
    let slot = EntrySlot {
        kind: ERRAND,
        name: &secret::secret_digest(&state),
        owner: "",
        expires: Some(shelf.current_time().plus_ms(ERRAND_LIVES_MS)),
    };
    shelf.put_entry(slot, &errand, None).await?;
    let mut to = found.authorization;
    to.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &provider.client_id)
        .append_pair("redirect_uri", &errand.back)
        .append_pair("scope", "openid email profile")
        .append_pair("state", &state)
        .append_pair("nonce", &errand.nonce)
        .append_pair(
            "code_challenge",
            &URL_SAFE_NO_PAD.encode(secret::sha256_digest(errand.verifier.as_bytes())),
        )
        .append_pair("code_challenge_method", "S256");
    Ok(AuthorizationRedirect { to, errand: state })
}

/// Somebody comes back from the provider: who is in, and where they wanted to go.
///
/// # Errors
/// It was not this browser's way; the provider or its token is not right; nobody has an account.
pub(crate) async fn finish_authorization(
    door: &SignInContext<'_>,
    back: &AuthorizationCallback,
) -> HandlerResult<(CompletedLogin, String)> {
    let shelf = &door.app.auth.shelf;
    let state = back.state.as_deref().unwrap_or_default();
    let kept = cookies::read_cookie(door.headers, cookies::errand_name(door.app));
    if state.is_empty() || kept != Some(state) {
        return Err(provider_problem("another browser began this, or too long ago"));
    }
    let errand =
        shelf.take_entry::<AuthorizationAttempt>(ERRAND, &secret::secret_digest(state)).await?;
    let errand =
        errand.ok_or_else(|| provider_problem("nobody began this, or too long ago"))?.value;
    if let Some(error) = &back.error {
        return Err(provider_problem(format!("the provider said {error:?}")));
    }
    let provider = find_provider(shelf)
        .await?
        .ok_or_else(|| provider_problem("there is no provider any more"))?;
    let code = back.code.as_deref().ok_or_else(|| provider_problem("the provider gave no code"))?;
    let secret = open_client_secret(shelf, &provider)?;
    let now_s = shelf.current_time().0 / 1_000_000;
    let claims = fetch_claims(&provider, secret.as_deref(), &errand, code, now_s).await?;
    let person = find_claimed_person(door, &provider, &claims).await?;
    if person.disabled {
        return Err(provider_problem(format!("the account {} is disabled", person.name)));
    }
    Ok((door.complete_login(person, "identity provider").await?, errand.next))
}

async fn fetch_claims(
    provider: &IdentityProvider,
    secret: Option<&str>,
    errand: &AuthorizationAttempt,
    code: &str,
    now_s: i64,
) -> HandlerResult<IdTokenClaims> {
    let client = build_http_client()?;
    let found = discover_endpoints(&client, provider).await?;
    let mut request = client
        .post(found.token)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json");
    if let Some(secret) = secret {
        let encode =
            |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let (id, secret) = (encode(&provider.client_id), encode(secret));
        request = request.basic_auth(id, Some(secret));
    }
    let tokens: TokenResponse =
        request_json(request.body(token_request_body(provider, errand, code))).await?;
    let keys: jwt::JwkSet = request_json(client.get(found.keys)).await?;
    let expected = ExpectedClaims {
        issuer: &found.issuer,
        client_id: &provider.client_id,
        nonce: &errand.nonce,
        now_s,
    };
    jwt::check_id_token(&tokens.id_token, &keys, &expected).map_err(provider_problem)
}

/// What a code is exchanged with.
fn token_request_body(
    provider: &IdentityProvider,
    errand: &AuthorizationAttempt,
    code: &str,
) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &errand.back)
        .append_pair("client_id", &provider.client_id)
        .append_pair("code_verifier", &errand.verifier)
        .finish()
}

/// Whose account it is: known by the provider's name for them; else by an address that both the
/// provider and an admin vouch for; else a new one, if that is wanted.
async fn find_claimed_person(
    door: &SignInContext<'_>,
    provider: &IdentityProvider,
    claims: &IdTokenClaims,
) -> HandlerResult<Person> {
    let shelf = &door.app.auth.shelf;
    let issuer = provider.issuer.trim_end_matches('/');
    let subject = secret::secret_digest(&format!("{issuer}\n{}", claims.sub));
    if let Some(kept) = shelf.get::<PersonId>(SUBJECT, &subject).await? {
        let person = accounts::get(shelf, kept.value.as_str()).await?;
        return person.ok_or_else(|| provider_problem("the account is gone"));
    }
    let email = claims.email.as_deref().filter(|_| claims.is_email_verified());
    let known = match email {
        Some(email) => accounts::by_email(shelf, email).await?,
        None => None,
    };
    let person = match known {
        Some(person) => person,
        None if provider.makes_accounts => new_account(door, claims).await?,
        None => {
            return Err(ProblemDetails::not_permitted(
                "nobody here has your mail address; ask an admin to add it to your account",
            ));
        }
    };
    let slot =
        EntrySlot { kind: SUBJECT, name: &subject, owner: person.id.as_str(), expires: None };
    shelf.put_entry(slot, &person.id, None).await?;
    Ok(person)
}

/// A new account, by what the provider calls them. A name that is taken is never given to them.
async fn new_account(door: &SignInContext<'_>, claims: &IdTokenClaims) -> HandlerResult<Person> {
    let shelf = &door.app.auth.shelf;
    let wish = claims.preferred_username.as_deref().or(claims.email.as_deref()).unwrap_or("person");
    let wish = wish.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let plain: String =
        wish.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).take(24).collect();
    let plain = plain.trim_start_matches(['.', '_', '-']);
    let plain = if plain.is_empty() { "person" } else { plain };
    for number in 1..100_u32 {
        let name = match number {
            1 => plain.to_owned(),
            number => format!("{plain}-{number}"),
        };
        match accounts::create_account(shelf, &name, Role::User, false).await {
            Ok(person) => {
                events::record_event(
                    shelf,
                    door.event_actor(""),
                    "account_made",
                    &person.name,
                    "identity provider",
                )
                .await?;
                return Ok(person);
            }
            Err(problem) if problem.code == "conflict" => {}
            Err(problem) => return Err(problem),
        }
    }
    Err(provider_problem("every name like theirs is taken"))
}
