//! Signing in to a server, before the face has the terminal: by a token, or by name and password,
//! asked for here. Not here: where tokens are kept (`keys`).

use anyhow::anyhow;
use reqwest::{Method, Response, header};
use serde::Deserialize;
use serde_json::{Value, json};
use weir_core::secret::Secret;
use weir_install::context::InstallationContext;
use weir_install::failure::usage;

use super::address::ServerAddress;
use super::http::{self, RequestError, ServerClient, ServerCredentials};

/// The variable with a token, for servers of which none is kept.
const TOKEN: &str = "WEIR_TOKEN";
/// How often a person may try.
const ATTEMPTS_MAX: usize = 3;
/// Cookies that are kept, and the longest.
const COOKIES_MAX: usize = 8;
const COOKIE_BYTES_MAX: usize = 4 << 10;

/// How the person at the terminal is asked who they are, before the face has it. It is the program
/// that reads and prints.
#[derive(Clone, Copy)]
pub struct SignInPrompts {
    /// Whether somebody sits there.
    pub is_attended: fn() -> bool,
    /// Shows a line.
    pub show_line: fn(&str),
    /// Says what went wrong.
    pub show_failure: fn(&str),
    /// Asks for a line that may be seen.
    pub ask_line: fn(&str) -> anyhow::Result<String>,
    /// Asks for a line that is not shown while it is typed.
    pub ask_hidden: fn(&str) -> anyhow::Result<String>,
}

/// Who is signed in.
#[derive(Debug, Deserialize)]
struct SignedInUser {
    name: String,
    #[serde(default)]
    csrf: String,
}

/// Begins the names under which tokens for servers are kept among the keys.
pub const SERVER_KEY_PREFIX: &str = "server ";

/// The name under which a token for a server is kept among the keys.
pub fn server_key_name(address: &ServerAddress) -> String {
    format!("{SERVER_KEY_PREFIX}{address}")
}

/// Signs in, and gives back the name that one has there.
///
/// # Errors
/// The server cannot be reached, or lets nobody in: a sentence with what to do.
pub(super) async fn sign_in(
    cx: &InstallationContext,
    address: &ServerAddress,
    prompts: &SignInPrompts,
) -> anyhow::Result<(ServerClient, String)> {
    // The variable names no server: it must not go to one for which another token is kept.
    let kept = cx.provider_keys()?.kept_key(&server_key_name(address)).cloned();
    let (token, from) = match kept {
        Some(token) => (Some(token), "`weir auth set`".to_owned()),
        None => {
            let variable = cx.environment.text_variable(TOKEN).map(|text| Secret::new(text.trim()));
            (variable, format!("the variable {TOKEN}"))
        }
    };
    let http = ServerClient::new(address.clone()).await.map_err(usage)?;
    if let Some(token) = token {
        return by_token(http, token, &from).await;
    }
    // Nobody types a password for a server that is not there.
    find_server(&http).await?;
    if !(prompts.is_attended)() {
        return Err(usage(format!(
            "{address} wants to know who you are, and nobody can be asked here: make a token in the \
             browser (Account, Tokens) and set {TOKEN}, or keep it with `weir auth set {address}`"
        )));
    }
    by_password(http, prompts).await
}

/// Checks that a server answers at the address, whoever asks.
async fn find_server(http: &ServerClient) -> anyhow::Result<()> {
    match http.get::<Value>(&["me"], &[]).await {
        Ok(_) | Err(RequestError::SignedOut(_)) => Ok(()),
        // A server of Weir has this route, and gives each refusal a word.
        Err(RequestError::Refused { status, code, .. }) if status == 404 || code.is_empty() => {
            Err(usage(format!(
                "{} answers with HTTP {status}, and not as a server of Weir does; is the address right?",
                http.address
            )))
        }
        Err(RequestError::Refused { .. }) => Ok(()),
        Err(trouble) => Err(unreachable_server(&http.address, &trouble)),
    }
}

fn unreachable_server(address: &ServerAddress, trouble: &RequestError) -> anyhow::Error {
    match trouble {
        RequestError::Lost { why, .. } if why.contains("certificate") => anyhow!(
            "the server at {address} shows a certificate that does not hold here: {why}. Is the \
             address the one that it was made for? Where you signed it yourself, add the one that \
             signs to those of the system, or name its file in the variable SSL_CERT_FILE, which \
             then takes the place of the system's"
        ),
        RequestError::Lost { why, .. } => anyhow!(
            "the server at {address} cannot be reached: {why}. Is it running (`weir serve`), and is \
             the address right?"
        ),
        other => anyhow!("{address}: {other}"),
    }
}

async fn by_token(
    http: ServerClient,
    token: Secret,
    from: &str,
) -> anyhow::Result<(ServerClient, String)> {
    let http = http.with_credentials(ServerCredentials::Token(token));
    match http.get::<SignedInUser>(&["me"], &[]).await {
        Ok(me) => Ok((http, me.name)),
        Err(RequestError::SignedOut(_)) => Err(usage(format!(
            "the server at {} refuses the token of {from}: it is wrong, has ended or was revoked; \
             make another in the browser (Account, Tokens)",
            http.address
        ))),
        Err(trouble) => Err(unreachable_server(&http.address, &trouble)),
    }
}

async fn by_password(
    mut http: ServerClient,
    prompts: &SignInPrompts,
) -> anyhow::Result<(ServerClient, String)> {
    (prompts.show_line)(&format!("Signing in to {}", http.address));
    for attempt in 1..=ATTEMPTS_MAX {
        let name = (prompts.ask_line)("Name: ")?;
        let password = Secret::new((prompts.ask_hidden)("Password")?);
        if name.is_empty() {
            break;
        }
        let mut said = log_in_with_password(&http, &name, &password, None).await;
        if matches!(&said, Err(RequestError::Refused { code, .. }) if code == "second_factor") {
            let code = (prompts.ask_line)("Code of your authenticator app, or a recovery code: ")?;
            said = log_in_with_password(&http, &name, &password, Some(&code)).await;
        }
        match said {
            Ok((key, me)) => {
                http = http.with_credentials(key);
                return Ok((http, me.name));
            }
            Err(RequestError::SignedOut(why)) if attempt < ATTEMPTS_MAX => {
                (prompts.show_failure)(&why)
            }
            Err(RequestError::SignedOut(why)) => return Err(usage(why)),
            Err(trouble) => return Err(unreachable_server(&http.address, &trouble)),
        }
    }
    Err(usage("nobody was signed in"))
}

async fn log_in_with_password(
    http: &ServerClient,
    name: &str,
    password: &Secret,
    code: Option<&str>,
) -> http::ApiResult<(ServerCredentials, SignedInUser)> {
    let body = json!({ "name": name, "password": password.reveal(), "code": code });
    let response = http.send_for_response(Method::POST, &["login"], &body).await?;
    let cookie = response_cookies(&response);
    let me: SignedInUser = http::read_json_response(response).await?;
    if cookie.is_empty() {
        return Err(RequestError::Strange("it lets one in without a cookie".into()));
    }
    let key =
        ServerCredentials::Cookie { cookie: Secret::new(cookie.join("; ")), csrf: me.csrf.clone() };
    Ok((key, me))
}

/// What a browser would keep of an answer and send back.
fn response_cookies(response: &Response) -> Vec<String> {
    let lines = response.headers().get_all(header::SET_COOKIE).iter();
    let pairs = lines.filter_map(|line| Some(line.to_str().ok()?.split(';').next()?.trim()));
    let fit = pairs.filter(|pair| pair.len() <= COOKIE_BYTES_MAX && !pair.ends_with('='));
    fit.take(COOKIES_MAX).map(str::to_owned).collect()
}
