//! Requests to a server, with whatever shows who one is; answers within bounds; what went wrong in
//! words. Not here: what is asked for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use weir_core::secret::Secret;
use weir_core::view::plain::visible_text;
use weir_engine::blocking::run_blocking;

use super::address::ServerAddress;
use super::client::build_http_client;
use super::form::multipart_form_body;

/// Largest answer that is read, in bytes.
const BODY_BYTES_MAX: usize = 32 << 20;
/// Largest answer about what went wrong.
const PROBLEM_BYTES_MAX: usize = 64 << 10;
/// Longest sentence of a server that is shown, in characters.
const WHY_CHARS_MAX: usize = 1_000;
/// How long an answer may take: a hook or a foreign server may be asked meanwhile.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(120);
/// How long a stream may say nothing: the server says every 15 seconds that it is there.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(45);
/// Longest time that a server can ask one to wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How one shows who one is.
pub(super) enum ServerCredentials {
    /// Not at all yet.
    None,
    /// By a token.
    Token(Secret),
    /// As a browser does that signed in.
    Cookie {
        /// Names and values.
        cookie: Secret,
        /// What pages of the server send back.
        csrf: String,
    },
}

/// Why nothing came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestError {
    /// The server cannot be reached now.
    Lost {
        /// Why.
        why: String,
        /// When it wants to be asked again.
        wait: Option<Duration>,
    },
    /// Nobody is signed in, or not any more.
    SignedOut(String),
    /// It does not do this.
    Refused {
        /// HTTP status.
        status: u16,
        /// The stable word for it.
        code: String,
        /// Why, and what to do.
        why: String,
    },
    /// What it answers cannot be read.
    Strange(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Lost { why, .. } => write!(f, "the server cannot be reached ({why})"),
            RequestError::SignedOut(why) | RequestError::Refused { why, .. } => f.write_str(why),
            RequestError::Strange(why) => write!(f, "the server answers something else: {why}"),
        }
    }
}

impl RequestError {
    /// There is no such thing.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, RequestError::Refused { status: 404, .. })
    }
}

/// What comes of a request.
pub(super) type ApiResult<T> = Result<T, RequestError>;

/// A server, and who one is there.
pub(super) struct ServerClient {
    client: reqwest::Client,
    /// Where it is.
    pub(super) address: ServerAddress,
    key: ServerCredentials,
}

impl ServerClient {
    /// Ready to ask the server at `address`.
    ///
    /// # Errors
    /// The system's certificates cannot be used.
    pub(super) async fn new(address: ServerAddress) -> Result<ServerClient, String> {
        let there = address.clone();
        let made = run_blocking(move || build_http_client(&there)).await;
        let client = made.map_err(|error| error.to_string())??;
        Ok(ServerClient { client, address, key: ServerCredentials::None })
    }

    /// The same as somebody.
    pub(super) fn with_credentials(self, key: ServerCredentials) -> ServerClient {
        ServerClient { key, ..self }
    }

    /// Whether there is a sign-in that ends with this program.
    pub(super) fn is_signed_in(&self) -> bool {
        matches!(self.key, ServerCredentials::Cookie { .. })
    }

    /// Something of the server.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, &str)],
    ) -> ApiResult<T> {
        let request = self.build_request(Method::GET, parts, query);
        read_json_response(send_request(request.timeout(ANSWER_WAIT)).await?).await
    }

    /// Has something done.
    pub(super) async fn post_json<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> ApiResult<T> {
        self.send_json(Method::POST, parts, body).await
    }

    /// Has something changed.
    pub(super) async fn patch_json<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        body: &impl Serialize,
    ) -> ApiResult<T> {
        self.send_json(Method::PATCH, parts, body).await
    }

    async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        parts: &[&str],
        body: &impl Serialize,
    ) -> ApiResult<T> {
        read_json_response(self.send_for_response(method, parts, body).await?).await
    }

    /// The same with the headers of the answer.
    pub(super) async fn send_for_response(
        &self,
        method: Method,
        parts: &[&str],
        body: &impl Serialize,
    ) -> ApiResult<Response> {
        let text = serde_json::to_string(body).map_err(|e| RequestError::Strange(e.to_string()))?;
        let request = self.build_request(method, parts, &[]);
        let request = request.header(header::CONTENT_TYPE, "application/json").body(text);
        send_request(request.timeout(ANSWER_WAIT)).await
    }

    /// Uploads a file: one part of a form.
    pub(super) async fn upload_file<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        name: &str,
        bytes: &Arc<[u8]>,
    ) -> ApiResult<T> {
        let boundary = format!("weir-{}", uuid::Uuid::new_v4().simple());
        let request = self.build_request(Method::POST, parts, &[]);
        let kind = format!("multipart/form-data; boundary={boundary}");
        let request = request.header(header::CONTENT_TYPE, kind);
        let request =
            request.body(multipart_form_body(&boundary, name, bytes)).timeout(ANSWER_WAIT);
        read_json_response(send_request(request).await?).await
    }

    /// An answer that comes bit by bit.
    pub(super) async fn open_stream(
        &self,
        parts: &[&str],
        query: &[(&str, &str)],
    ) -> ApiResult<Response> {
        let request = self.build_request(Method::GET, parts, query);
        // The whole may take for ever; its beginning may not.
        match tokio::time::timeout(ANSWER_WAIT, send_request(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(lost_connection("it does not answer")),
        }
    }

    fn build_request(
        &self,
        method: Method,
        parts: &[&str],
        query: &[(&str, &str)],
    ) -> RequestBuilder {
        let mut url = self.address.endpoint_url(parts);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.request(method, url);
        let request = request.header(header::ACCEPT, "application/json, */*;q=0.5");
        match &self.key {
            ServerCredentials::None => request,
            ServerCredentials::Token(token) => request.bearer_auth(token.reveal()),
            ServerCredentials::Cookie { cookie, csrf } => request
                .header(header::COOKIE, cookie.reveal())
                .header(header::ORIGIN, self.address.origin_text())
                .header("x-csrf-token", csrf),
        }
    }
}

fn lost_connection(why: &str) -> RequestError {
    RequestError::Lost { why: why.to_owned(), wait: None }
}

/// What went wrong, in one line.
pub(super) fn describe_transport_error(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    // The innermost says what happened; those around it repeat the address.
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    shorten_server_text(&inner.to_string())
}

/// One bounded line of what a server says. It is shown before the face has the terminal, too: what
/// would steer the terminal is written out (Z10).
fn shorten_server_text(text: &str) -> String {
    let blank = |c: char| if c.is_whitespace() { ' ' } else { c };
    let line: String = text.trim().chars().take(WHY_CHARS_MAX).map(blank).collect();
    visible_text(&line).chars().take(WHY_CHARS_MAX).collect()
}

/// Sends; an answer that says what went wrong is trouble.
async fn send_request(request: RequestBuilder) -> ApiResult<Response> {
    let sent = request.send().await;
    let response = sent.map_err(|error| lost_connection(&describe_transport_error(&error)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.is_redirection() {
        let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        let to = shorten_server_text(to.unwrap_or("somewhere else"));
        return Err(RequestError::Strange(format!("it sends one on to {to}; name that address")));
    }
    let wait = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let wait = wait.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    let wait = wait.map(|wait: Duration| wait.min(WAIT_MAX));
    let body = read_bounded_body(response, PROBLEM_BYTES_MAX).await.unwrap_or_default();
    Err(parse_problem(status, wait, &body))
}

/// What an answer of this status says (RFC 9457).
fn parse_problem(status: StatusCode, wait: Option<Duration>, body: &[u8]) -> RequestError {
    let told: Value = serde_json::from_slice(body).unwrap_or_default();
    let text =
        |name: &str| told[name].as_str().filter(|text| !text.is_empty()).map(shorten_server_text);
    let why = text("detail").or_else(|| text("title"));
    let why = why.unwrap_or_else(|| format!("the server answered {status}"));
    let code = text("code").unwrap_or_default();
    match status.as_u16() {
        // `second_factor` is a question, and no sign-in has ended.
        401 if code != "second_factor" => RequestError::SignedOut(why),
        429 | 502..=504 => RequestError::Lost { why, wait },
        status => RequestError::Refused { status, code, why },
    }
}

async fn read_bounded_body(mut response: Response, most: usize) -> ApiResult<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| lost_connection(&describe_transport_error(&error)))?
    {
        if bytes.len() + chunk.len() > most {
            return Err(RequestError::Strange(format!("its answer has more than {most} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads an answer of JSON; none is `null`.
pub(super) async fn read_json_response<T: DeserializeOwned>(response: Response) -> ApiResult<T> {
    let bytes = read_bounded_body(response, BODY_BYTES_MAX).await?;
    let bytes = if bytes.is_empty() { b"null".as_slice() } else { &bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        RequestError::Strange(format!(
            "{}; is it a server of weir?",
            shorten_server_text(&error.to_string())
        ))
    })
}

/// The next bytes of a stream; `None`: it is over.
///
/// # Errors
/// The line broke, or nothing was heard for long.
pub(super) async fn next(
    stream: &mut (impl futures::Stream<Item = reqwest::Result<impl AsRef<[u8]>>> + Unpin),
) -> ApiResult<Option<Vec<u8>>> {
    match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
        Err(_) => Err(lost_connection("nothing was heard for long")),
        Ok(None) => Ok(None),
        Ok(Some(Ok(bytes))) => Ok(Some(bytes.as_ref().to_vec())),
        Ok(Some(Err(error))) => Err(lost_connection(&format!(
            "the connection broke: {}",
            describe_transport_error(&error)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_what_a_server_answers_is_told_in_its_own_words() {
        let of = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).expect("a status");
            parse_problem(status, Some(Duration::from_secs(3)), body.as_bytes())
        };
        let refused = |status, code: &str, why: &str| RequestError::Refused {
            status,
            code: code.into(),
            why: why.into(),
        };
        let table = [
            (
                401,
                r#"{"code":"unauthorized","detail":"sign in"}"#,
                RequestError::SignedOut("sign in".into()),
            ),
            (
                401,
                r#"{"code":"second_factor","detail":"code"}"#,
                refused(401, "second_factor", "code"),
            ),
            (
                404,
                r#"{"code":"not_found","title":"Not Found"}"#,
                refused(404, "not_found", "Not Found"),
            ),
            (409, "<html>", refused(409, "", "the server answered 409 Conflict")),
            (
                500,
                r#"{"detail":7}"#,
                refused(500, "", "the server answered 500 Internal Server Error"),
            ),
        ];
        for (status, body, expected) in table {
            assert_eq!(of(status, body), expected, "{status} {body}");
        }
        for status in [429, 502, 503, 504] {
            let RequestError::Lost { wait, .. } = of(status, "") else { panic!("{status}") };
            assert_eq!(wait, Some(Duration::from_secs(3)));
        }
        let long = format!(r#"{{"detail":"{}"}}"#, "x".repeat(9_000));
        assert_eq!(of(400, &long).to_string().len(), WHY_CHARS_MAX);
    }

    #[test]
    fn z10_what_a_server_says_is_one_line_that_steers_no_terminal() {
        for (said, shown) in [
            ("sign in", "sign in"),
            (" a\r\nb\tc\u{2028}d ", "a  b c d"),
            ("\u{1b}]0;x\u{7}\u{1b}[2J", "<U+001B>]0;x<U+0007><U+001B>[2J"),
            ("no\u{202e}sey\u{200b}", "no<U+202E>sey<U+200B>"),
        ] {
            let body = serde_json::json!({ "detail": said, "code": said }).to_string();
            let told = parse_problem(StatusCode::BAD_REQUEST, None, body.as_bytes());
            let expected =
                RequestError::Refused { status: 400, code: shown.into(), why: shown.into() };
            assert_eq!(told, expected, "{said:?}");
        }
        let long = shorten_server_text(&"\u{1b}".repeat(9_000));
        assert_eq!(long.chars().count(), WHY_CHARS_MAX);
    }
}
