//! Somebody who speaks to a server under test: a browser that keeps its cookies, or a program with a
//! token. Not here: the server (`server`); what a page does in a real browser (`tests/browser`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reqwest::header::{HeaderMap, HeaderValue, LOCATION, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::described::check_answer;
use crate::wait::{PATIENCE, wait_until_async};

/// The password of everybody here.
pub const PASSWORD: &str = "correct horse battery staple";

/// Somebody with a browser, or a program with a token. Clones share their cookies.
#[derive(Clone)]
pub struct Browser {
    client: reqwest::Client,
    address: SharedAddress,
    state: Arc<Mutex<BrowserState>>,
}

/// Of the server, which has another port after each start.
pub(crate) type SharedAddress = Arc<Mutex<String>>;

#[derive(Default)]
struct BrowserState {
    cookies: BTreeMap<String, String>,
    csrf: String,
    token: Option<String>,
}

/// A socket of the API.
pub type ApiSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Browser {
    /// Somebody without an account.
    pub(crate) fn new(address: SharedAddress) -> Browser {
        // Whoever is first sets it for all; the others find it set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .no_proxy()
            // A line that the server is about to close must not be taken for the next request.
            .pool_max_idle_per_host(0)
            .build()
            .expect("a client");
        Browser { client, address, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, BrowserState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `127.0.0.1:PORT` of the server as it runs now.
    pub fn address(&self) -> String {
        self.address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The `Cookie` header.
    pub fn cookie(&self) -> String {
        let state = self.state();
        let pairs: Vec<String> =
            state.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    /// What forms and scripts of the pages send back.
    pub fn token(&self) -> String {
        self.state().csrf.clone()
    }

    /// Forgets or sets a cookie.
    pub fn set_cookie(&self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.state().cookies.insert(name.into(), value.into()),
            None => self.state().cookies.remove(name),
        };
    }

    /// The same server as a program sees it: no cookies, a token of this person.
    pub async fn program(&self, scope: &str) -> Browser {
        let wanted = json!({ "name": "test", "scope": scope });
        let (status, made) = self.api("POST", "/api/v1/account/tokens", Some(wanted)).await;
        assert_eq!(status, 201, "a token: {made}");
        let program = Browser::new(self.address.clone());
        program.state().token = Some(made["token"].as_str().expect("a token").to_owned());
        program
    }

    /// Signs in by the form, as a browser does.
    pub async fn sign_in(&self, name: &str, password: &str) {
        let fields = [("name", name), ("password", password)];
        let (status, _, body) = self.form("/signin", &fields).await;
        assert_eq!(status, 303, "{name} signs in: {body}");
        self.ask_csrf().await;
    }

    /// Asks for what forms and scripts of the pages send back.
    pub(crate) async fn ask_csrf(&self) {
        let (status, me) = self.api("GET", "/api/v1/me", None).await;
        assert_eq!(status, 200, "{me}");
        self.state().csrf = me["csrf"].as_str().expect("it is there").to_owned();
    }

    /// A request with everything that this browser or program adds by itself.
    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let is_unsafe = !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
        let mut request = self.client.request(method, format!("{}{path}", self.origin()));
        let (cookie, token) = (self.cookie(), self.state().token.clone());
        if let Some(token) = token {
            return request.bearer_auth(token);
        }
        if !cookie.is_empty() {
            request = request.header("cookie", cookie);
        }
        if is_unsafe {
            request = request.header("origin", self.origin());
        }
        request.header("sec-fetch-site", "same-origin")
    }

    /// Sends a request and keeps the cookies of its answer.
    pub async fn send(&self, request: RequestBuilder) -> reqwest::Response {
        let response = request.send().await.expect("the server answers");
        for line in response.headers().get_all(SET_COOKIE) {
            let line = line.to_str().expect("text");
            let (name, rest) = line.split_once('=').expect("a cookie");
            let value = rest.split(';').next().unwrap_or_default();
            let ends = line.contains("Max-Age=0");
            self.set_cookie(name, (!ends).then_some(value));
        }
        response
    }

    /// A page or whatever else; its status and body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let response = self.send(self.request("GET", path)).await;
        let status = response.status().as_u16();
        (status, response.text().await.expect("a body"))
    }

    /// A page with the headers of its answer.
    pub async fn get_whole(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        let response = self.send(self.request("GET", path)).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.expect("a body").to_vec())
    }

    /// Sends a form with its token: status, where it leads (else empty), body.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
        let csrf = self.token();
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(fields);
        if !csrf.is_empty() {
            pairs.append_pair("csrf", &csrf);
        }
        let request = self
            .request("POST", path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "text/html")
            .body(pairs.finish());
        let response = self.send(request).await;
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).map(|to| to.to_str().expect("text"));
        let location = location.unwrap_or_default().to_owned();
        (status, location, response.text().await.expect("a body"))
    }

    /// Calls the API: status and JSON (`null` where there is no body), which is as it is described.
    pub async fn api(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self.request(method, path);
        let csrf = self.token();
        if !csrf.is_empty() {
            request = request.header("x-csrf-token", csrf);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = self.send(request).await;
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        let asked = format!("{method} {path}");
        let value = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text)
                .unwrap_or_else(|error| panic!("{asked}: {error}: {text}")),
        };
        check_answer(&asked, status, &value);
        (status, value)
    }

    /// A new session; its id.
    pub async fn open(&self) -> String {
        let (status, made) = self.api("POST", "/api/v1/sessions", Some(json!({}))).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().expect("an id").to_owned()
    }

    /// Every fact of a session's journal, as an export tells it.
    pub async fn facts(&self, session: &str) -> Vec<Value> {
        let (status, text) = self.get(&format!("/api/v1/sessions/{session}/export")).await;
        assert_eq!(status, 200, "{text}");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["seq"].is_u64()).collect()
    }

    /// Waits until a session has this status; what the API tells of it then.
    pub async fn until_status(&self, session: &str, status: &str) -> Value {
        let path = format!("/api/v1/sessions/{session}");
        wait_until_async(&format!("{session} is {status}"), async || {
            let (_, info) = self.api("GET", &path, None).await;
            if info["status"] == status { Ok(info) } else { Err(info) }
        })
        .await
    }

    /// Waits until a call of this person's asks that is the one looked for, which `what` names.
    pub async fn until_asked(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        wait_until_async(&format!("{what} is asked"), async || {
            let (_, list) = self.api("GET", "/api/v1/approvals", None).await;
            let found = list["items"].as_array().and_then(|all| all.iter().find(|one| is_it(one)));
            found.cloned().ok_or(list)
        })
        .await
    }

    /// The socket of the API.
    pub async fn socket(&self) -> ApiSocket {
        let url = format!("ws://{}/api/v1/ws", self.address());
        let mut request = url.into_client_request().expect("an address");
        let value = |text: &str| HeaderValue::from_str(text).expect("a header");
        let (origin, cookie, token) = (self.origin(), self.cookie(), self.state().token.clone());
        let headers = request.headers_mut();
        match token {
            Some(token) => {
                headers.insert("authorization", value(&format!("Bearer {token}")));
            }
            None => {
                headers.insert("origin", value(&origin));
                headers.insert("cookie", value(&cookie));
            }
        }
        let (socket, _) =
            tokio_tungstenite::connect_async(request).await.expect("the socket opens");
        socket
    }
}
