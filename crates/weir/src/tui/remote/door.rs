//! Signing in to a server, before the face has the terminal: by a token, or by name and password,
//! asked for here. Not here: where tokens are kept (`keys`).

use reqwest::{Method, Response, header};
use serde::Deserialize;
use serde_json::json;
use weir_core::secret::Secret;
use weir_install::cx::Cx;

use super::http::{self, Http, Key, Trouble};
use super::place::Place;
use crate::failure::{exit, failure, usage};
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
struct Me {
    name: String,
    #[serde(default)]
    csrf: String,
}

/// Begins the names under which tokens for servers are kept among the keys.
pub(crate) const SERVER: &str = "server ";

/// The name under which a token for a server is kept among the keys.
pub(crate) fn kept_as(place: &Place) -> String {
    format!("{SERVER}{place}")
}

/// Signs in, and gives back the name that one has there.
///
/// # Errors
/// The server cannot be reached, or lets nobody in: a sentence with what to do.
pub(super) async fn enter(cx: &Cx, place: &Place) -> anyhow::Result<(Http, String)> {
    // The variable names no server: it must not go to one for which another token is kept.
    let kept = cx.keys()?.kept(&kept_as(place)).cloned();
    let (token, from) = match kept {
        Some(token) => (Some(token), "`weir auth set`".to_owned()),
        None => {
            let variable = cx.environment.text(TOKEN).map(|text| Secret::new(text.trim()));
            (variable, format!("the variable {TOKEN}"))
        }
    };
    let http = Http::new(place.clone()).await.map_err(usage)?;
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

fn unreachable(place: &Place, trouble: &Trouble) -> anyhow::Error {
    match trouble {
        Trouble::Lost { why, .. } if why.contains("certificate") => failure(
            exit::FAILED,
            format!(
                "the server at {place} shows a certificate that does not hold here: {why}. Is the \
                 address the one that it was made for? Where you signed it yourself, add the one that \
                 signs to those of the system, or name its file in the variable SSL_CERT_FILE, which \
                 then takes the place of the system's"
            ),
        ),
        Trouble::Lost { why, .. } => failure(
            exit::FAILED,
            format!(
                "the server at {place} cannot be reached: {why}. Is it running (`weir serve`), and \
                 is the address right?"
            ),
        ),
        other => failure(exit::FAILED, format!("{place}: {other}")),
    }
}

async fn by_token(http: Http, (token, from): (Secret, &str)) -> anyhow::Result<(Http, String)> {
    let http = http.with(Key::Token(token));
    match http.get::<Me>(&["me"], &[]).await {
        Ok(me) => Ok((http, me.name)),
        Err(Trouble::SignedOut(_)) => Err(usage(format!(
            "the server at {} refuses the token of {from}: it is wrong, has ended or was revoked; \
             make another in the browser (Account, Tokens)",
            http.place
        ))),
        Err(trouble) => Err(unreachable(&http.place, &trouble)),
    }
}

async fn by_password(mut http: Http) -> anyhow::Result<(Http, String)> {
    terminal::err_line(&format!("Signing in to {}", http.place));
    for attempt in 1..=ATTEMPTS_MAX {
        let name = terminal::ask("Name: ")?;
        let password = Secret::new(terminal::read_hidden("Password")?);
        if name.is_empty() {
            break;
        }
        let mut said = login(&http, (&name, &password), None).await;
        if matches!(&said, Err(Trouble::Refused { code, .. }) if code == "second_factor") {
            let code = terminal::ask("Code of your authenticator app, or a recovery code: ")?;
            said = login(&http, (&name, &password), Some(&code)).await;
        }
        match said {
            Ok((key, me)) => {
                http = http.with(key);
                return Ok((http, me.name));
            }
            Err(Trouble::SignedOut(why)) if attempt < ATTEMPTS_MAX => terminal::err(&why),
            Err(Trouble::SignedOut(why)) => return Err(usage(why)),
            Err(trouble) => return Err(unreachable(&http.place, &trouble)),
        }
    }
    Err(usage("nobody was signed in"))
}

async fn login(
    http: &Http,
    (name, password): (&str, &Secret),
    code: Option<&str>,
) -> http::Answer<(Key, Me)> {
    let body = json!({ "name": name, "password": password.reveal(), "code": code });
    let response = http.raw(Method::POST, &["login"], &body).await?;
    let cookie = cookies(&response);
    let me: Me = http::read(response).await?;
    if cookie.is_empty() {
        return Err(Trouble::Strange("it lets one in without a cookie".into()));
    }
    let key = Key::Cookie { cookie: Secret::new(cookie.join("; ")), csrf: me.csrf.clone() };
    Ok((key, me))
}

/// What a browser would keep of an answer and send back.
fn cookies(response: &Response) -> Vec<String> {
    let lines = response.headers().get_all(header::SET_COOKIE).iter();
    let pairs = lines.filter_map(|line| Some(line.to_str().ok()?.split(';').next()?.trim()));
    let fit = pairs.filter(|pair| pair.len() <= COOKIE_BYTES_MAX && !pair.ends_with('='));
    fit.take(COOKIES_MAX).map(str::to_owned).collect()
}
