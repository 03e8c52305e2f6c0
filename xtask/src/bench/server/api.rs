//! As much of an HTTP client as the bench needs: one request a connection.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The password of everybody here.
pub(super) const PASSWORD: &str = "a horse of another colour";

/// Somebody who is signed in.
#[derive(Debug)]
pub(super) struct Person {
    /// The `Cookie` header.
    pub(super) cookie: String,
    csrf: String,
}

struct Answer {
    status: u16,
    cookies: Vec<String>,
    body: Value,
}

async fn request(
    address: &str,
    line: &str,
    headers: &str,
    body: Option<&Value>,
) -> anyhow::Result<Answer> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let text = format!(
        "{line} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(text.as_bytes()).await?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await?;
    let text = String::from_utf8(bytes)?;
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("{line}: {text}"))?;
    let status = head.split(' ').nth(1).context("a status")?.parse()?;
    let field = |name: &'static str| {
        head.lines().filter_map(move |line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    };
    let is_chunked = field("transfer-encoding").any(|value| value.contains("chunked"));
    let body = if is_chunked { whole(body) } else { body.to_owned() };
    let cookies = field("set-cookie").filter_map(|line| line.split(';').next());
    let cookies = cookies.map(str::to_owned).collect();
    Ok(Answer { status, cookies, body: serde_json::from_str(&body).unwrap_or_default() })
}

/// The body that chunks make up.
fn whole(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        match rest.get(..size) {
            Some(chunk) if size > 0 => body.push_str(chunk),
            _ => break,
        }
        chunks = rest.get(size + 2..).unwrap_or_default();
    }
    body
}

/// How often somebody who is told to wait tries again.
const SIGN_IN_TRIES_MAX: u32 = 60;

impl Person {
    /// Signs in.
    pub(super) async fn sign_in(address: &str, name: &str) -> anyhow::Result<Person> {
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
        ensure!(answer.status == 200, "{name} signs in: {} {}", answer.status, answer.body);
        let mut person = Person { cookie: answer.cookies.join("; "), csrf: String::new() };
        let me = person.call(address, "GET /api/v1/me", None).await?;
        person.csrf = me["csrf"].as_str().context("a token for forms")?.to_owned();
        Ok(person)
    }

    async fn call(&self, address: &str, line: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let mut headers = format!("cookie: {}\r\n", self.cookie);
        if !self.csrf.is_empty() {
            headers.push_str(&format!("x-csrf-token: {}\r\n", self.csrf));
        }
        let answer = request(address, line, &headers, body).await?;
        ensure!(answer.status < 300, "{line}: {} {}", answer.status, answer.body);
        Ok(answer.body)
    }

    /// Makes an account.
    pub(super) async fn make_person(&self, address: &str, name: &str) -> anyhow::Result<()> {
        let body = json!({ "name": name, "password": PASSWORD });
        self.call(address, "POST /api/v1/users", Some(&body)).await.map(drop)
    }

    /// Opens a session; its id.
    pub(super) async fn open_session(&self, address: &str) -> anyhow::Result<String> {
        let made = self.call(address, "POST /api/v1/sessions", Some(&json!({}))).await?;
        Ok(made["id"].as_str().with_context(|| made.to_string())?.to_owned())
    }

    /// Says something in a session.
    pub(super) async fn say(&self, address: &str, id: &str, words: &str) -> anyhow::Result<()> {
        let body = json!({ "content": [{ "type": "text", "text": words }] });
        let line = format!("POST /api/v1/sessions/{id}/input");
        self.call(address, &line, Some(&body)).await.map(drop)
    }
}
