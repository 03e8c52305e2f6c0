//! A server to test: the real binary in folders of its own, and browsers that keep their cookies.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderValue, LOCATION, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::house::House;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The password of everybody here.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

/// What a server starts with.
#[derive(Default)]
pub(crate) struct Setup<'a> {
    /// What the model says; empty: `says: Done.` once.
    pub(crate) script: &'a str,
    /// More of `config.toml`.
    pub(crate) config: &'a str,
    /// Where data is kept; `None`: the state folder.
    pub(crate) database: Option<String>,
    /// Variables.
    pub(crate) env: &'a [(&'a str, &'a str)],
}

/// A server that runs. Dropping it ends it.
pub(crate) struct Served {
    /// Its folders.
    pub(crate) house: House,
    database: Option<String>,
    running: Option<Running>,
    address: Address,
    admin: Option<Browser>,
}

struct Running {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    more: Receiver<()>,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(house: &House, database: Option<&str>, more_args: &[&str]) -> Running {
        let mut args = vec!["serve"];
        if !more_args.contains(&"--bind") {
            args.extend(["--bind", "127.0.0.1:0"]);
        }
        if let Some(database) = database {
            args.extend(["--database", database]);
        }
        args.extend(more_args);
        let mut child = house
            .command(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stderr = child.stderr.take().expect("it was piped");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (tell, more) = channel();
        let kept = lines.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                if tell.send(()).is_err() {
                    // Nobody waits any more; the pipe is still read, so that it never fills.
                    continue;
                }
            }
        });
        let mut running = Running { child, lines, more, address: String::new() };
        let line = running.line("listening on ");
        running.address = line.rsplit_once("//").expect("an address").1.to_owned();
        running
    }

    fn said(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first line with these words on standard error; waits for it.
    fn line(&mut self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.said().iter().find(|line| line.contains(words)) {
                return line.clone();
            }
            let left = until.saturating_duration_since(Instant::now());
            let ended = self.more.recv_timeout(left).is_err();
            let there = self.said().iter().any(|line| line.contains(words));
            assert!(!ended || there, "no line with {words:?} in {:?}", self.said());
        }
    }
}

impl Served {
    /// Starts a server, and waits until it listens.
    pub(crate) async fn start(setup: Setup<'_>) -> Served {
        let mut house = House::new();
        for (name, value) in setup.env {
            house = house.with(name, value);
        }
        let script = match setup.script {
            "" => "name: test\n\nsays: Done.\n",
            script => script,
        };
        let path = house.at("test.script");
        house.write(&path, script);
        let config = format!("model = \"script:{}\"\n{}", path.display(), setup.config);
        house.write(&house.user_config(), &config);
        let running = Running::start(&house, setup.database.as_deref(), &[]);
        let address = Arc::new(Mutex::new(running.address.clone()));
        let database = setup.database;
        Served { house, database, running: Some(running), address, admin: None }
    }

    /// Starts a server on folders that are there, with the settings that stand in them.
    pub(crate) async fn start_in(house: House, database: Option<String>) -> Served {
        let running = Running::start(&house, database.as_deref(), &[]);
        let address = Arc::new(Mutex::new(running.address.clone()));
        Served { house, database, running: Some(running), address, admin: None }
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("the server runs")
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.running().address
    }

    /// An address on it: `/chats` becomes `http://127.0.0.1:PORT/chats`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// Process id.
    pub(crate) fn pid(&self) -> u32 {
        self.running().child.id()
    }

    /// What it said on standard error until now.
    pub(crate) fn said(&self) -> String {
        self.running().said().join("\n")
    }

    /// The first line with these words that it says on standard error; waits for it.
    pub(crate) fn line(&mut self, words: &str) -> String {
        self.running.as_mut().expect("the server runs").line(words)
    }

    /// The setup code that it printed.
    pub(crate) fn setup_code(&mut self) -> String {
        let line = self.line("setup code: ");
        let code = line.split("setup code: ").nth(1).expect("a code");
        code.split_whitespace().next().expect("a code").to_owned()
    }

    /// Somebody without an account.
    pub(crate) fn stranger(&self) -> Browser {
        Browser::new(self.address.clone())
    }

    /// The admin, signed in: the first call sets the server up.
    pub(crate) async fn admin(&mut self) -> Browser {
        if let Some(admin) = &self.admin {
            return admin.clone();
        }
        let code = self.setup_code();
        let browser = self.stranger();
        let fields = [
            ("code", code.as_str()),
            ("name", "admin"),
            ("password", PASSWORD),
            ("again", PASSWORD),
        ];
        let (status, location, body) = browser.form("/setup", &fields).await;
        assert_eq!((status, location.as_str()), (303, "/"), "setup: {body}");
        browser.know_csrf().await;
        self.admin = Some(browser.clone());
        browser
    }

    /// Somebody with an account of their own, role user, signed in.
    pub(crate) async fn person(&mut self, name: &str) -> Browser {
        let admin = self.admin().await;
        let body = json!({ "name": name, "password": PASSWORD });
        let (status, made) = admin.api("POST", "/api/v1/users", Some(body)).await;
        assert_eq!(status, 201, "an account for {name}: {made}");
        self.signed_in(name).await
    }

    /// A browser more of somebody who has an account.
    pub(crate) async fn signed_in(&self, name: &str) -> Browser {
        let browser = self.stranger();
        browser.sign_in(name, PASSWORD).await;
        browser
    }

    /// Ends it without a chance to tidy up and starts it again on the same data. Browsers that were
    /// made before go on with the new port.
    pub(crate) async fn kill_and_restart(&mut self) {
        let mut running = self.running.take().expect("the server runs");
        running.child.kill().expect("it runs");
        running.child.wait().expect("it ends");
        self.restart().await;
    }

    /// Ends it without a chance to tidy up.
    pub(crate) fn kill(&mut self) {
        let mut running = self.running.take().expect("the server runs");
        running.child.kill().expect("it runs");
        running.child.wait().expect("it ends");
    }

    /// Starts it again after [`Served::kill`] where it was: whoever held a line finds it there.
    pub(crate) fn restart_at(&mut self, address: &str) {
        let database = self.database.as_deref();
        let running = Running::start(&self.house, database, &["--bind", address]);
        assert_eq!(running.address, address);
        self.running = Some(running);
    }

    /// Asks it to end and waits; its exit status.
    pub(crate) async fn stop(&mut self) -> i32 {
        let mut running = self.running.take().expect("the server runs");
        let status = std::process::Command::new("kill")
            .args(["-TERM", &running.child.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(status.success(), "the signal was sent");
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = running.child.try_wait().expect("it can be waited for") {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < until, "it does not end: {:?}", running.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Starts it again after [`Served::stop`].
    pub(crate) async fn restart(&mut self) {
        let running = Running::start(&self.house, self.database.as_deref(), &[]);
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = running.address.clone();
        self.running = Some(running);
    }
}

/// Somebody with a browser, or a program with a token. Clones share their cookies.
#[derive(Clone)]
pub(crate) struct Browser {
    client: reqwest::Client,
    /// Of the server, which has another port after each start.
    address: Address,
    state: Arc<Mutex<State>>,
}

type Address = Arc<Mutex<String>>;

#[derive(Default)]
struct State {
    cookies: BTreeMap<String, String>,
    csrf: String,
    token: Option<String>,
}

/// A socket of the API.
pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Browser {
    fn new(address: Address) -> Browser {
        // Whoever is first sets it for all; the others find it set.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `127.0.0.1:PORT` of the server as it runs now.
    pub(crate) fn address(&self) -> String {
        self.address.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The `Cookie` header.
    pub(crate) fn cookie(&self) -> String {
        let state = self.state();
        let pairs: Vec<String> =
            state.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    /// What forms and scripts of the pages send back.
    pub(crate) fn token(&self) -> String {
        self.state().csrf.clone()
    }

    /// Forgets or sets a cookie.
    pub(crate) fn set_cookie(&self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.state().cookies.insert(name.into(), value.into()),
            None => self.state().cookies.remove(name),
        };
    }

    /// The same server as a program sees it: no cookies, a token of this person.
    pub(crate) async fn program(&self, scope: &str) -> Browser {
        let wanted = json!({ "name": "test", "scope": scope });
        let (status, made) = self.api("POST", "/api/v1/account/tokens", Some(wanted)).await;
        assert_eq!(status, 201, "a token: {made}");
        let program = Browser::new(self.address.clone());
        program.state().token = Some(made["token"].as_str().expect("a token").to_owned());
        program
    }

    /// Signs in by the form, as a browser does.
    pub(crate) async fn sign_in(&self, name: &str, password: &str) {
        let fields = [("name", name), ("password", password)];
        let (status, _, body) = self.form("/signin", &fields).await;
        assert_eq!(status, 303, "{name} signs in: {body}");
        self.know_csrf().await;
    }

    async fn know_csrf(&self) {
        let (status, me) = self.api("GET", "/api/v1/me", None).await;
        assert_eq!(status, 200, "{me}");
        self.state().csrf = me["csrf"].as_str().expect("it is there").to_owned();
    }

    /// A request with everything that this browser or program adds by itself.
    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder {
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
    pub(crate) async fn send(&self, request: RequestBuilder) -> reqwest::Response {
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
    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let response = self.send(self.request("GET", path)).await;
        let status = response.status().as_u16();
        (status, response.text().await.expect("a body"))
    }

    /// A page with the headers of its answer.
    pub(crate) async fn get_whole(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        let response = self.send(self.request("GET", path)).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.expect("a body").to_vec())
    }

    /// Sends a form with its token: status, where it leads (else empty), body.
    pub(crate) async fn form(&self, path: &str, fields: &[(&str, &str)]) -> (u16, String, String) {
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

    /// Calls the API: status and JSON (`null` where there is no body).
    pub(crate) async fn api(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
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
        if text.is_empty() {
            return (status, Value::Null);
        }
        let value = serde_json::from_str(&text);
        (status, value.unwrap_or_else(|error| panic!("{method} {path}: {error}: {text}")))
    }

    /// A new session; its id.
    pub(crate) async fn open(&self) -> String {
        let (status, made) = self.api("POST", "/api/v1/sessions", Some(json!({}))).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().expect("an id").to_owned()
    }

    /// Every fact of a session's journal, as an export tells it.
    pub(crate) async fn facts(&self, session: &str) -> Vec<Value> {
        let (status, text) = self.get(&format!("/api/v1/sessions/{session}/export")).await;
        assert_eq!(status, 200, "{text}");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["seq"].is_u64()).collect()
    }

    /// The socket of the API.
    pub(crate) async fn socket(&self) -> Socket {
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
