//! The server as it is, in this process, with an address that is told of everything: what whoever reads a
//! person's notices has. And browsers that speak to it, byte by byte, so that they may also do what no browser
//! does. Not here: what is tried (`phone`).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use weir_install::context::{InstallationContext, NamedFolders};
use weir_install::environment::ProcessEnvironment;
use weir_install::installation::Installation;
use weir_install::notifier::Notifier;
use weir_server::{App, HttpServer, ServerLimits, ServerOptions};

/// Every session asks for this once.
const SCRIPT: &str = "name: test\n\n\
    calls: write_file {\"path\": \"owned.txt\", \"content\": \"x\\n\"}\n\nsays: Written.\n";
/// A foreign server that is declared and that nobody approved.
pub(super) const BAIT: &str = "bait";
/// The file that it leaves where it is started.
pub(super) const BAIT_STARTED: &str = "bait-started";
pub(super) const PASSWORD: &str = "correct horse battery staple";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What was answered to a request.
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("no JSON: {}", self.body))
    }

    fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.head.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
        lines.filter_map(|line| line.split(';').next()?.split_once('='))
    }
}

/// A browser with its cookies, or what acts as one.
#[derive(Clone)]
pub(super) struct Caller {
    address: SocketAddr,
    cookies: BTreeMap<String, String>,
    pub(super) csrf: String,
}

impl Caller {
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends a request with these lines beside its own; nothing is added that a browser would not.
    pub(super) async fn send(
        &mut self,
        line: &str,
        lines: &[String],
        body: &str,
    ) -> anyhow::Result<Answer> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut text =
            format!("{line} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if !cookies.is_empty() {
            text.push_str(&format!("cookie: {}\r\n", cookies.join("; ")));
        }
        for line in lines {
            text.push_str(&format!("{line}\r\n"));
        }
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(text.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        let whole = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = whole.split_once("\r\n\r\n").unwrap_or((&whole, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
        for (name, value) in answer.cookies() {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        Ok(answer)
    }

    /// A form as our own pages send it.
    pub(super) async fn form(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
    ) -> anyhow::Result<Answer> {
        let lines = [
            format!("origin: {}", self.origin()),
            "sec-fetch-site: same-origin".to_owned(),
            "content-type: application/x-www-form-urlencoded".to_owned(),
        ];
        let csrf = self.csrf.clone();
        let fields = fields.iter().copied().chain([("csrf", csrf.as_str())]);
        self.send(&format!("POST {path}"), &lines, &encode_form(fields)).await
    }

    /// The API as a script of our own pages calls it.
    pub(super) async fn api(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Answer> {
        let lines = [
            format!("origin: {}", self.origin()),
            "sec-fetch-site: same-origin".to_owned(),
            format!("x-csrf-token: {}", self.csrf),
            "content-type: application/json".to_owned(),
        ];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(&format!("{method} {path}"), &lines, &body).await
    }

    /// Asks for what forms send back.
    async fn ask_csrf(&mut self) -> anyhow::Result<()> {
        let answer = self.api("GET", "/api/v1/me", &Value::Null).await?;
        ensure!(answer.status == 200, "not signed in: {}", answer.body);
        self.csrf = answer.json()?["csrf"].as_str().unwrap_or_default().to_owned();
        Ok(())
    }
}

fn encode_form<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let encode = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        text.bytes()
            .map(|byte| match plain(byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            })
            .collect()
    };
    fields
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect::<Vec<_>>()
        .join("&")
}

/// Something that waits, with the page on which a notice says that it is answered.
#[derive(Clone)]
pub(super) struct Waiting {
    /// `SESSION.a1`.
    pub(super) approval: String,
    pub(super) session: String,
    /// `/act/TOKEN`.
    pub(super) page: String,
}

/// The server, its first person and whoever reads along.
pub(super) struct PhoneHouse {
    pub(super) app: App,
    pub(super) ann: Caller,
    pub(super) work: PathBuf,
    address: SocketAddr,
    told: Arc<Mutex<Vec<Value>>>,
    server: tokio::task::JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl PhoneHouse {
    /// Starts it; everything that is told goes to an address that is listened to.
    pub(super) async fn open() -> anyhow::Result<PhoneHouse> {
        let folder = tempfile::Builder::new().prefix("weir-redteam-phone-").tempdir()?;
        let [home, state, work] = ["home", "state", "work"].map(|name| folder.path().join(name));
        let config = home.join(".config/weir");
        for made in [&config, &state, &work] {
            std::fs::create_dir_all(made)?;
        }
        let script = folder.path().join("model.script");
        std::fs::write(&script, SCRIPT)?;
        std::fs::write(
            config.join("config.toml"),
            format!(
                "model = \"script:{}\"\n[mcp_servers.{BAIT}]\ncommand = \"touch\"\n\
                 args = [\"{BAIT_STARTED}\"]\nwrites = [\".\"]\n",
                script.display()
            ),
        )?;
        let home = home.display().to_string();
        let environment = ProcessEnvironment::of(&[("HOME", home.as_str())]);
        let named = NamedFolders { workspace: Some(work.clone()), state_dir: Some(state) };
        let cx = InstallationContext::new(&named, environment, Notifier::SILENT)?;
        let installation = Arc::new(Installation::open(cx, "").await?);
        let options = ServerOptions {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            public_url: None,
            tls: None,
            proxies: Vec::new(),
            quiet: true,
            limits: ServerLimits { requests_per_minute: 100_000, ..ServerLimits::default() },
            metrics_token: None,
        };
        let app = App::new(installation, options)?;
        let made = app.make_first_admin("ann", PASSWORD).await;
        ensure!(made == Ok(true), "no first account: {made:?}");
        let server = HttpServer::bind(app.clone()).await?;
        let address = server.address();
        let server = tokio::spawn(server.run(futures::stream::pending()));
        let mut house = PhoneHouse {
            app,
            ann: stranger(address),
            work,
            address,
            told: Arc::default(),
            server,
            _folder: folder,
        };
        house.ann = house.sign_in("ann").await?;
        let hook = listen(house.told.clone()).await?;
        let channel = json!({ "way": "webhook", "url": format!("http://{hook}/hook") });
        let added = house.ann.api("POST", "/api/v1/notifications", &channel).await?;
        ensure!(added.status == 201, "no channel: {}", added.body);
        Ok(house)
    }

    pub(super) fn stranger(&self) -> Caller {
        stranger(self.address)
    }

    /// Somebody with a password, at a browser.
    pub(super) async fn sign_in(&self, name: &str) -> anyhow::Result<Caller> {
        let mut caller = self.stranger();
        let wish = json!({ "name": name, "password": PASSWORD });
        let answer = caller.api("POST", "/api/v1/login", &wish).await?;
        ensure!(answer.status == 200, "{name} does not come in: {}", answer.body);
        caller.ask_csrf().await?;
        Ok(caller)
    }

    /// Another person with an account of their own.
    pub(super) async fn person(&mut self, name: &str) -> anyhow::Result<Caller> {
        let wish = json!({ "name": name, "password": PASSWORD });
        let made = self.ann.api("POST", "/api/v1/users", &wish).await?;
        ensure!(made.status == 201, "no account for {name}: {}", made.body);
        self.sign_in(name).await
    }

    /// A code as the terminal shows it.
    pub(super) async fn code(&self) -> anyhow::Result<String> {
        let offered = self.app.offer_pairing("ann", "").await;
        Ok(offered.map_err(anyhow::Error::msg)?.code)
    }

    /// A telephone of the first person's.
    pub(super) async fn telephone(&self, name: &str) -> anyhow::Result<Caller> {
        let code = self.code().await?;
        let mut phone = self.stranger();
        let paired = phone.form("/phone", &[("code", code.as_str()), ("name", name)]).await?;
        ensure!(paired.status == 303, "{name} is not paired: {}", paired.body);
        phone.ask_csrf().await?;
        Ok(phone)
    }

    /// A session that asks, once its person was told how to answer.
    pub(super) async fn waiting(&mut self) -> anyhow::Result<Waiting> {
        let _ = std::fs::remove_file(self.work.join("owned.txt"));
        let made = self.ann.api("POST", "/api/v1/sessions", &json!({})).await?.json()?;
        let session = made["id"].as_str().context("no session was made")?.to_owned();
        let words = json!({ "client_id": "u1", "content": [{ "type": "text", "text": "Go." }] });
        let path = format!("/api/v1/sessions/{session}/input");
        let said = self.ann.api("POST", &path, &words).await?;
        ensure!(said.status == 202, "it was not said: {}", said.body);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let is_it = |told: &&Value| {
                told["link"].as_str().is_some_and(|link| link.ends_with(&session))
                    && told["kind"] == "approval"
            };
            if let Some(told) = told.iter().find(is_it) {
                let page = told["answer"].as_str().context("the notice carries no answer")?;
                let approval = format!("{session}.a1");
                return Ok(Waiting { approval, page: page.to_owned(), session });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        bail!("nobody was told of {session}")
    }

    /// What became of it without its person: `None`: it waits.
    pub(super) async fn reached(&mut self, waiting: &Waiting) -> anyhow::Result<Option<String>> {
        // What was wrongly taken in shows after a moment.
        tokio::time::sleep(LOOK_EVERY).await;
        if self.work.join("owned.txt").exists() {
            return Ok(Some("the file was written".to_owned()));
        }
        let path = format!("/api/v1/approvals/{}", waiting.approval);
        let answer = self.ann.api("GET", &path, &Value::Null).await?;
        Ok((answer.status != 200).then(|| "it does not wait any more".to_owned()))
    }

    /// Waits until the session has done with the answer.
    pub(super) async fn rest(&mut self, waiting: &Waiting) -> anyhow::Result<()> {
        let path = format!("/api/v1/sessions/{}", waiting.session);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let told = self.ann.api("GET", &path, &Value::Null).await?.json()?;
            if !matches!(told["status"].as_str(), Some("running" | "waiting")) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        bail!("{} comes to no end", waiting.session)
    }

    /// Ends it.
    pub(super) async fn close(self) {
        self.app.stop.cancel();
        let _ = self.server.await;
    }
}

fn stranger(address: SocketAddr) -> Caller {
    Caller { address, cookies: BTreeMap::new(), csrf: String::new() }
}

/// Listens and keeps what it is told.
async fn listen(told: Arc<Mutex<Vec<Value>>>) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let told = told.clone();
            tokio::spawn(async move {
                if let Some(body) = read_body(stream).await {
                    told.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                }
            });
        }
    });
    Ok(address)
}

/// The JSON of one request, which is answered.
async fn read_body(mut stream: TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0_u8; 4096];
        let read = stream.read(&mut piece).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((_, body)) = text.split_once("\r\n\r\n") else { continue };
        if let Ok(found) = serde_json::from_str(body) {
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.ok()?;
            return Some(found);
        }
    }
}
