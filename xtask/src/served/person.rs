//! Somebody who is signed in at a server: as much of an HTTP client as benches and proofs need, one request a
//! connection.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

use super::wait_at_most;

/// The password of everybody here.
pub(crate) const PASSWORD: &str = "a horse of another colour";

/// An answer that did not come in this time never comes.
const ANSWER_MAX: Duration = Duration::from_secs(120);
/// A stream of events says four times in this time that it is there.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Somebody who is signed in. What they are known by holds at every server of the same database.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    /// The `Cookie` header.
    pub(crate) cookie: String,
    csrf: String,
}

struct Answer {
    status: u16,
    cookies: Vec<String>,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

/// Sends a request. In HTTP/1.0, where the end of an answer is the end of its connection.
async fn send(
    address: &str,
    line: &str,
    headers: &str,
    body: Option<&Value>,
) -> anyhow::Result<TcpStream> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let text = format!(
        "{line} HTTP/1.0\r\nhost: {address}\r\norigin: http://{address}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(text.as_bytes()).await?;
    Ok(socket)
}

async fn request(
    address: &str,
    line: &str,
    headers: &str,
    body: Option<&Value>,
) -> anyhow::Result<Answer> {
    let what = format!("{line} at {address}");
    wait_at_most(ANSWER_MAX, &what, exchange(address, line, headers, body)).await?
}

async fn exchange(
    address: &str,
    line: &str,
    headers: &str,
    body: Option<&Value>,
) -> anyhow::Result<Answer> {
    let mut socket = send(address, line, headers, body).await?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await?;
    let text = String::from_utf8(bytes)?;
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("{line}: {text:?}"))?;
    let field = |name: &'static str| {
        head.lines().filter_map(move |line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    };
    if let Some(length) = field("content-length").next() {
        let length: usize = length.parse().with_context(|| format!("{line}: {head}"))?;
        ensure!(body.len() == length, "{line}: {} of {length} bytes came", body.len());
    }
    let cookies = field("set-cookie").filter_map(|line| line.split(';').next());
    let cookies = cookies.map(str::to_owned).collect();
    Ok(Answer { status: status(head)?, cookies, text: body.to_owned() })
}

/// The next line of a stream.
async fn hear_line(
    lines: &mut Lines<BufReader<TcpStream>>,
    what: &str,
) -> anyhow::Result<Option<String>> {
    Ok(wait_at_most(SILENCE_MAX, what, lines.next_line()).await??)
}

fn status(head: &str) -> anyhow::Result<u16> {
    let word = head.split(' ').nth(1).with_context(|| format!("no status in {head:?}"))?;
    word.parse().with_context(|| format!("no status in {head:?}"))
}

/// How often somebody who is told to wait tries again.
const SIGN_IN_TRIES_MAX: u32 = 60;

impl Person {
    /// Signs in.
    pub(crate) async fn sign_in(address: &str, name: &str) -> anyhow::Result<Person> {
        let body = json!({ "name": name, "password": PASSWORD });
        let mut answer = request(address, "POST /api/v1/login", "", Some(&body)).await?;
        // Many people behind one address are slowed down, here as anywhere.
        for _ in 0..SIGN_IN_TRIES_MAX {
            if answer.status != 429 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            answer = request(address, "POST /api/v1/login", "", Some(&body)).await?;
        }
        ensure!(answer.status == 200, "{name} signs in: {} {}", answer.status, answer.text);
        let mut person = Person { cookie: answer.cookies.join("; "), csrf: String::new() };
        let me = person.call(address, "GET /api/v1/me", None).await?;
        person.csrf = me["csrf"].as_str().context("a token for forms")?.to_owned();
        Ok(person)
    }

    fn headers(&self) -> String {
        let mut headers = format!("cookie: {}\r\n", self.cookie);
        if !self.csrf.is_empty() {
            headers.push_str(&format!("x-csrf-token: {}\r\n", self.csrf));
        }
        headers
    }

    /// What a request is answered: its status, and its body as JSON.
    ///
    /// # Errors
    /// No answer comes.
    pub(crate) async fn ask(
        &self,
        address: &str,
        line: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Value)> {
        let answer = request(address, line, &self.headers(), body).await?;
        Ok((answer.status, answer.json()))
    }

    /// What a request is answered that must succeed.
    ///
    /// # Errors
    /// It does not, or no answer comes.
    pub(crate) async fn call(
        &self,
        address: &str,
        line: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let (status, answer) = self.ask(address, line, body).await?;
        ensure!(status < 300, "{line}: {status} {answer}");
        Ok(answer)
    }

    /// Makes an account.
    pub(crate) async fn make_person(&self, address: &str, name: &str) -> anyhow::Result<()> {
        let body = json!({ "name": name, "password": PASSWORD });
        self.call(address, "POST /api/v1/users", Some(&body)).await.map(drop)
    }

    /// Opens a session with these settings; its id.
    pub(crate) async fn open_session(
        &self,
        address: &str,
        settings: &Value,
    ) -> anyhow::Result<String> {
        let made = self.call(address, "POST /api/v1/sessions", Some(settings)).await?;
        Ok(made["id"].as_str().with_context(|| made.to_string())?.to_owned())
    }

    /// Says something in a session.
    pub(crate) async fn say(&self, address: &str, id: &str, words: &str) -> anyhow::Result<()> {
        let body = json!({ "content": [{ "type": "text", "text": words }] });
        let line = format!("POST /api/v1/sessions/{id}/input");
        self.call(address, &line, Some(&body)).await.map(drop)
    }

    /// The whole session as it is exported, line by line.
    ///
    /// # Errors
    /// It cannot be had.
    pub(crate) async fn export(&self, address: &str, id: &str) -> anyhow::Result<String> {
        let line = format!("GET /api/v1/sessions/{id}/export");
        let answer = request(address, &line, &self.headers(), None).await?;
        ensure!(answer.status == 200, "{line}: {} {}", answer.status, answer.text);
        Ok(answer.text)
    }

    /// Hears the events of a session after a place, until `hear` says that it is enough or the server ends it.
    ///
    /// # Errors
    /// They cannot be had, or the connection breaks off.
    pub(crate) async fn follow(
        &self,
        address: &str,
        id: &str,
        after: u64,
        mut hear: impl FnMut(Value) -> bool,
    ) -> anyhow::Result<()> {
        let line = format!("GET /api/v1/sessions/{id}/events?after={after}");
        let what = format!("{line} at {address}");
        let headers = self.headers();
        let sent = wait_at_most(SILENCE_MAX, &what, send(address, &line, &headers, None));
        let mut lines = BufReader::new(sent.await??).lines();
        let head = hear_line(&mut lines, &what).await?;
        let head = head.with_context(|| format!("{what}: no answer"))?;
        let status = status(&head)?;
        let mut said = String::new();
        while let Some(text) = hear_line(&mut lines, &what).await? {
            if status != 200 {
                said.push_str(&text);
                continue;
            }
            let event = text.strip_prefix("data:").map(|data| serde_json::from_str(data.trim()));
            if let Some(Ok(event)) = event
                && !hear(event)
            {
                return Ok(());
            }
        }
        if status != 200 {
            bail!("{line}: {status} {said}");
        }
        Ok(())
    }
}
