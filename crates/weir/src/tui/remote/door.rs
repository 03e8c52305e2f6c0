//! Signing in to a server, before the face has the terminal: by a token, or by name and password,
//! asked for here. Not here: where tokens are kept (`keys`).

use reqwest::{Method, Response, header};
use serde::Deserialize;
use serde_json::json;
use weir_core::secret::Secret;
use weir_install::cx::Cx;

use super::http::{self, RequestError, ServerClient, ServerCredentials};
use super::place::ServerAddress;
use crate::failure::{exit, failure_with_status, usage};
use crate::terminal;

/// The variable with a token, for servers of which none is kept.
const TOKEN: &str = "WEIR_TOKEN";
/// How often a person may try.
const ATTEMPTS_MAX: usize = 3;
/// Cookies that are kept, and the longest.
const COOKIES_MAX: usize = 8;
const COOKIE_BYTES_MAX: usize = 4 << 10;

/// Who is signed in.
#[derive(Debug, Deserialize)]
struct SignedInUser {
    name: String,
    #[serde(default)]
    csrf: String,
}

/// Begins the names under which tokens for servers are kept among the keys.
pub(crate) const SERVER: &str = "server ";

/// The name under which a token for a server is kept among the keys.
pub(crate) fn kept_as(place: &ServerAddress) -> String {
    format!("{SERVER}{place}")
}

/// Signs in, and gives back the name that one has there.
///
/// # Errors
/// The server cannot be reached, or lets nobody in: a sentence with what to do.
pub(super) async fn sign_in(
    cx: &Cx,
    place: &ServerAddress,
) -> anyhow::Result<(ServerClient, String)> {
    // The variable names no server: it must not go to one for which another token is kept.
    let kept = cx.provider_keys()?.kept_key(&kept_as(place)).cloned();
    let (token, from) = match kept {
        Some(token) => (Some(token), "`weir auth set`".to_owned()),
        None => {
            let variable = cx.environment.text_variable(TOKEN).map(|text| Secret::new(text.trim()));
            (variable, format!("the variable {TOKEN}"))
        }
    };
    let http = ServerClient::new(place.clone()).await.map_err(usage)?;
    if let Some(token) = token {
        return by_token(http, (token, &from)).await;
    }
    if !terminal::is_attended() {
        return Err(usage(format!(
            "{place} wants to know who you are, and nobody can be asked here: make a token in the \
             browser (Account, Tokens) and set {TOKEN}, or keep it with `weir auth set {place}`"
        )));
    }
    by_password(http).await
}

fn unreachable_server(place: &ServerAddress, trouble: &RequestError) -> anyhow::Error {
    match trouble {
        RequestError::Lost { why, .. } if why.contains("certificate") => failure_with_status(
            exit::FAILED,
            format!(
                "the server at {place} shows a certificate that does not hold here: {why}. Is the \
                 address the one that it was made for? Where you signed it yourself, add the one that \
                 signs to those of the system, or name its file in the variable SSL_CERT_FILE, which \
                 then takes the place of the system's"
            ),
        ),
        RequestError::Lost { why, .. } => failure_with_status(
            exit::FAILED,
            format!(
                "the server at {place} cannot be reached: {why}. Is it running (`weir serve`), and \
                 is the address right?"
            ),
        ),
        other => failure_with_status(exit::FAILED, format!("{place}: {other}")),
    }
}

async fn by_token(
    http: ServerClient,
    (token, from): (Secret, &str),
) -> anyhow::Result<(ServerClient, String)> {
    let http = http.with_credentials(ServerCredentials::Token(token));
    match http.get::<SignedInUser>(&["me"], &[]).await {
        Ok(me) => Ok((http, me.name)),
        Err(RequestError::SignedOut(_)) => Err(usage(format!(
            "the server at {} refuses the token of {from}: it is wrong, has ended or was revoked; \
             make another in the browser (Account, Tokens)",
            http.place
        ))),
        Err(trouble) => Err(unreachable_server(&http.place, &trouble)),
    }
}

async fn by_password(mut http: ServerClient) -> anyhow::Result<(ServerClient, String)> {
    terminal::err_line(&format!("Signing in to {}", http.place));
    for attempt in 1..=ATTEMPTS_MAX {
        let name = terminal::ask_visible_line("Name: ")?;
        let password = Secret::new(terminal::read_hidden("Password")?);
        if name.is_empty() {
            break;
        }
        let mut said = log_in_with_password(&http, (&name, &password), None).await;
        if matches!(&said, Err(RequestError::Refused { code, .. }) if code == "second_factor") {
            let code =
                terminal::ask_visible_line("Code of your authenticator app, or a recovery code: ")?;
            said = log_in_with_password(&http, (&name, &password), Some(&code)).await;
        }
        match said {
            Ok((key, me)) => {
                http = http.with_credentials(key);
                return Ok((http, me.name));
            }
            Err(RequestError::SignedOut(why)) if attempt < ATTEMPTS_MAX => {
                terminal::err_message(&why)
            }
            Err(RequestError::SignedOut(why)) => return Err(usage(why)),
            Err(trouble) => return Err(unreachable_server(&http.place, &trouble)),
        }
    }
    Err(usage("nobody was signed in"))
}

async fn log_in_with_password(
    http: &ServerClient,
    (name, password): (&str, &Secret),
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
