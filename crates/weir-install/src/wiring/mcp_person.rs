//! What a foreign server wants to know of the person (elicitation, R3), as questions of the
//! session: one for each field of its form, then the whole answer as it would be sent, with the
//! server's name. Nothing leaves without the last yes. What looks like a secret is not asked at
//! all. Not here: how a question reaches faces.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use weir_core::view::plain::visible;
use weir_engine::ports::Person;
use weir_mcp::{Elicit, Elicitation, Elicited};

use crate::keys::looks_secret;

mod form;

use form::{Field, Kind};

/// How often one field is asked when the answer does not fit.
const TRIES_MAX: u32 = 3;

const DECLINE: &str = "Decline";
const CANCEL: &str = "Cancel";
const SEND: &str = "Send";
const LEAVE_OUT: &str = "Leave it out";
const OPENED: &str = "I opened it";

/// Asks by questions of the session.
pub(super) struct ByQuestions;

/// What a person said to one question.
enum Said {
    Answer(String),
    Over(Elicited),
}

#[async_trait]
impl Elicit for ByQuestions {
    async fn ask(&self, question: Elicitation, person: Option<Arc<dyn Person>>) -> Elicited {
        let Some(person) = person else { return Elicited::Declined };
        let asked = Asked { question: &question, person: person.as_ref() };
        match (&question.url, &question.form) {
            (Some(url), _) => asked.page(url).await,
            (None, Some(schema)) => asked.form(schema).await,
            (None, None) => Elicited::Declined,
        }
    }
}

struct Asked<'a> {
    question: &'a Elicitation,
    person: &'a dyn Person,
}

impl Asked<'_> {
    async fn put(&self, text: &str, options: &[&str]) -> Said {
        let options: Vec<String> = options.iter().map(|option| visible(option)).collect();
        let said = self.person.ask(&self.question.server, text, &options).await;
        match said.as_deref().map(str::trim) {
            None => Said::Over(Elicited::Declined),
            Some(said) if said.eq_ignore_ascii_case(DECLINE) => Said::Over(Elicited::Declined),
            Some(said) if said.eq_ignore_ascii_case(CANCEL) => Said::Over(Elicited::Cancelled),
            Some(said) => Said::Answer(said.to_owned()),
        }
    }

    /// Who asks, and its words as a quotation: they are foreign.
    fn head(&self) -> String {
        let Elicitation { server, message, .. } = self.question;
        let mut text = format!("The server {server} asks you:\n");
        for line in message.lines() {
            text.push_str(&format!("> {}\n", visible(line)));
        }
        text
    }

    async fn page(&self, url: &str) -> Elicited {
        let host = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let Some(host) = host.as_ref().and_then(|url| url.host_str()) else {
            return Elicited::Declined;
        };
        let text = format!(
            "{}\nIt wants you to open a page at {host}. Weir does not open it; open it yourself if \
             you want to:\n{}\n",
            self.head(),
            visible(url)
        );
        match self.put(&text, &[OPENED, DECLINE, CANCEL]).await {
            Said::Answer(said) if said == OPENED => Elicited::Accepted(Value::Object(Map::new())),
            Said::Answer(_) => Elicited::Declined,
            Said::Over(over) => over,
        }
    }

    async fn form(&self, schema: &Value) -> Elicited {
        let Ok(fields) = form::fields(schema) else { return Elicited::Declined };
        if let Some(secret) = fields.iter().find(|field| is_secret(field)) {
            let text = format!(
                "{}\nIt asks for {}, which looks like a secret. Weir sends no secrets to servers: it \
                 is declined. Give it to the server in its settings (`secrets`) instead.\n",
                self.head(),
                visible(&secret.title)
            );
            self.put(&text, &[DECLINE]).await;
            return Elicited::Declined;
        }
        let mut answer = Map::new();
        for (at, field) in fields.iter().enumerate() {
            match self.field(field, (at + 1, fields.len())).await {
                Ok(Some(value)) => drop(answer.insert(field.name.clone(), value)),
                Ok(None) => (),
                Err(over) => return over,
            }
        }
        self.send(answer).await
    }

    /// The value of a field; none: it is left out.
    async fn field(
        &self,
        field: &Field,
        (at, of): (usize, usize),
    ) -> Result<Option<Value>, Elicited> {
        let must = if field.required { "required" } else { "may be left out" };
        let about = format!("{} ({}, {must})", visible(&field.title), field.kind.in_words());
        let described = match field.description.is_empty() {
            true => String::new(),
            false => format!("> {}\n", visible(&field.description)),
        };
        let mut options: Vec<&str> = field.kind.options();
        if !field.required {
            options.push(LEAVE_OUT);
        }
        options.extend([DECLINE, CANCEL]);
        let mut wrong = String::new();
        for _ in 0..TRIES_MAX {
            let text = format!(
                "{}\nField {at} of {of}: {about}\n{described}{wrong}What you answer is shown to you \
                 again before it goes to the server.\n",
                self.head()
            );
            let said = match self.put(&text, &options).await {
                Said::Answer(said) => said,
                Said::Over(over) => return Err(over),
            };
            if !field.required && said == LEAVE_OUT {
                return Ok(None);
            }
            match field.kind.read(&said) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => wrong = format!("That does not fit: {why}.\n"),
            }
        }
        Err(Elicited::Declined)
    }

    /// Shows what would be sent, exactly, and sends it with a yes alone.
    async fn send(&self, answer: Map<String, Value>) -> Elicited {
        let server = &self.question.server;
        let answer = Value::Object(answer);
        let shown = serde_json::to_string_pretty(&answer).unwrap_or_default();
        // What hides is named where it is shown; what is sent is what was typed.
        let shown: Vec<String> = shown.lines().map(visible).collect();
        let text = format!(
            "{}\nThis is sent to the server {server}, and nothing else:\n```\n{}\n```\n",
            self.head(),
            shown.join("\n")
        );
        match self.put(&text, &[SEND, DECLINE, CANCEL]).await {
            Said::Answer(said) if said.eq_ignore_ascii_case(SEND) => Elicited::Accepted(answer),
            Said::Answer(_) => Elicited::Declined,
            Said::Over(over) => over,
        }
    }
}

/// Whether a field asks for what a person should give to no server.
fn is_secret(field: &Field) -> bool {
    const WORDS: [&str; 7] =
        ["password", "passphrase", "secret", "token", "api key", "apikey", "private key"];
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], " ");
    let said = [&field.name, &field.title, &field.description].map(|text| plain(text));
    looks_secret(&field.name)
        || matches!(field.kind, Kind::Password)
        || WORDS.iter().any(|word| said.iter().any(|text| text.contains(word)))
}

#[cfg(test)]
mod tests;
