//! What a foreign server wants to know of the person (elicitation, R3), as questions of the
//! session: one for each field of its form, then the whole answer as it would be sent, with the
//! server's name. Nothing leaves without the last yes. What looks like a secret is not asked at
//! all. Not here: how a question reaches faces.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use weir_core::event::QuestionField;
use weir_core::view::plain::visible_text;
use weir_engine::ports::PersonPrompter;
use weir_mcp::{Elicitation, ElicitationHandler, ElicitationOutcome};

use crate::keys::looks_secret;

pub mod answers;
mod form;

use answers::{CANCEL, DECLINE, LEAVE_OUT, OPENED};
use form::{FieldKind, FormField};

/// How often one field is asked when the answer does not fit.
const TRIES_MAX: u32 = 3;

/// Longest value that a server proposes and that one word takes, in characters; a longer one is typed.
const PROPOSED_CHARS_MAX: usize = 200;

const SEND: &str = "Send";
const USE_NOTHING: &str = "Use nothing at all";

/// Asks by questions of the session.
pub(super) struct ByQuestions;

/// What a person said to one question.
enum PersonReply {
    Answer(String),
    Over(ElicitationOutcome),
}

#[async_trait]
impl ElicitationHandler for ByQuestions {
    async fn ask_person(
        &self,
        question: Elicitation,
        person: Option<Arc<dyn PersonPrompter>>,
    ) -> ElicitationOutcome {
        let Some(person) = person else { return ElicitationOutcome::Declined };
        let asked = PersonElicitation { question: &question, person: person.as_ref() };
        match (&question.url, &question.form) {
            (Some(url), _) => asked.ask_to_open_page(url).await,
            (None, Some(schema)) => asked.fill_form(schema).await,
            (None, None) => ElicitationOutcome::Declined,
        }
    }
}

struct PersonElicitation<'a> {
    question: &'a Elicitation,
    person: &'a dyn PersonPrompter,
}

impl PersonElicitation<'_> {
    async fn ask_person(&self, text: &str, options: &[&str]) -> PersonReply {
        self.ask_for(text, options, None).await
    }

    /// The same; `field`: what the answer is for.
    async fn ask_for(
        &self,
        text: &str,
        options: &[&str],
        field: Option<&QuestionField>,
    ) -> PersonReply {
        let options: Vec<String> = options.iter().map(|option| visible_text(option)).collect();
        let server = &self.question.server;
        let said = match field {
            Some(field) => self.person.ask_for_field(server, text, &options, field).await,
            None => self.person.ask_person(server, text, &options).await,
        };
        match said.as_deref().map(str::trim) {
            None => PersonReply::Over(ElicitationOutcome::Declined),
            Some(said) if said.eq_ignore_ascii_case(DECLINE) => {
                PersonReply::Over(ElicitationOutcome::Declined)
            }
            Some(said) if said.eq_ignore_ascii_case(CANCEL) => {
                PersonReply::Over(ElicitationOutcome::Cancelled)
            }
            Some(said) => PersonReply::Answer(said.to_owned()),
        }
    }

    /// Who asks, and its words as a quotation: they are foreign.
    fn question_head(&self) -> String {
        let Elicitation { server, message, .. } = self.question;
        let mut text = format!("The server {server} asks you:\n");
        for line in message.lines() {
            text.push_str(&format!("> {}\n", visible_text(line)));
        }
        text
    }

    async fn ask_to_open_page(&self, url: &str) -> ElicitationOutcome {
        let host = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let Some(host) = host.as_ref().and_then(|url| url.host_str()) else {
            return ElicitationOutcome::Declined;
        };
        let text = format!(
            "{}\nIt wants you to open a page at {host}. Weir does not open it; open it yourself if \
             you want to:\n{}\n",
            self.question_head(),
            visible_text(url)
        );
        let page = QuestionField::Page { url: url.to_owned() };
        match self.ask_for(&text, &[OPENED, DECLINE, CANCEL], Some(&page)).await {
            PersonReply::Answer(said) if said == OPENED => {
                ElicitationOutcome::Accepted(Value::Object(Map::new()))
            }
            PersonReply::Answer(_) => ElicitationOutcome::Declined,
            PersonReply::Over(over) => over,
        }
    }

    async fn fill_form(&self, schema: &Value) -> ElicitationOutcome {
        let Ok(fields) = form::parse_form_fields(schema) else {
            return ElicitationOutcome::Declined;
        };
        if let Some(secret) = fields.iter().find(|field| is_secret(field)) {
            let text = format!(
                "{}\nIt asks for {}, which looks like a secret. Weir sends no secrets to servers: it \
                 is declined. Give it to the server in its settings (`secrets`) instead.\n",
                self.question_head(),
                visible_text(&secret.title)
            );
            self.ask_person(&text, &[DECLINE]).await;
            return ElicitationOutcome::Declined;
        }
        let mut answer = Map::new();
        for (at, field) in fields.iter().enumerate() {
            match self.ask_field(field, at + 1, fields.len()).await {
                Ok(Some(value)) => drop(answer.insert(field.name.clone(), value)),
                Ok(None) => (),
                Err(over) => return over,
            }
        }
        self.confirm_and_send(answer).await
    }

    /// The value of a field, which is number `at` (from 1) `of` so many; none: it is left out.
    async fn ask_field(
        &self,
        field: &FormField,
        at: usize,
        of: usize,
    ) -> Result<Option<Value>, ElicitationOutcome> {
        let must = if field.required { "required" } else { "may be left out" };
        let about = format!("{} ({}, {must})", visible_text(&field.title), field.kind.in_words());
        let described = match field.description.is_empty() {
            true => String::new(),
            false => format!("> {}\n", visible_text(&field.description)),
        };
        let proposed = field.default.as_ref().map(|value| {
            let said = visible_text(&field.kind.value_in_words(value));
            match said.is_empty() {
                true => USE_NOTHING.to_owned(),
                false => format!("Use {said}"),
            }
        });
        let proposed = proposed.filter(|said| said.chars().count() <= PROPOSED_CHARS_MAX);
        let mut options: Vec<&str> = proposed.as_deref().into_iter().collect();
        options.extend(field.kind.choice_titles());
        if !field.required {
            options.push(LEAVE_OUT);
        }
        options.extend([DECLINE, CANCEL]);
        let value = QuestionField::Value { required: field.required, schema: field.to_schema() };
        let mut wrong = String::new();
        for _ in 0..TRIES_MAX {
            let text = format!(
                "{}\nField {at} of {of}: {about}\n{described}{wrong}What you answer is shown to you \
                 again before it goes to the server.\n",
                self.question_head()
            );
            let said = match self.ask_for(&text, &options, Some(&value)).await {
                PersonReply::Answer(said) => said,
                PersonReply::Over(over) => return Err(over),
            };
            if !field.required && said == LEAVE_OUT {
                return Ok(None);
            }
            if proposed.as_ref() == Some(&said) {
                return Ok(field.default.clone());
            }
            match field.kind.parse_answer(&said) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => wrong = format!("That does not fit: {why}.\n"),
            }
        }
        Err(ElicitationOutcome::Declined)
    }

    /// Shows what would be sent, exactly, and sends it with a yes alone.
    async fn confirm_and_send(&self, answer: Map<String, Value>) -> ElicitationOutcome {
        let server = &self.question.server;
        let answer = Value::Object(answer);
        let shown = serde_json::to_string_pretty(&answer).unwrap_or_default();
        // What hides is named where it is shown; what is sent is what was typed.
        let shown: Vec<String> = shown.lines().map(visible_text).collect();
        let text = format!(
            "{}\nThis is sent to the server {server}, and nothing else:\n```\n{}\n```\n",
            self.question_head(),
            shown.join("\n")
        );
        match self.ask_person(&text, &[SEND, DECLINE, CANCEL]).await {
            PersonReply::Answer(said) if said.eq_ignore_ascii_case(SEND) => {
                ElicitationOutcome::Accepted(answer)
            }
            PersonReply::Answer(_) => ElicitationOutcome::Declined,
            PersonReply::Over(over) => over,
        }
    }
}

/// Whether a field asks for what a person should give to no server.
fn is_secret(field: &FormField) -> bool {
    const WORDS: [&str; 7] =
        ["password", "passphrase", "secret", "token", "api key", "apikey", "private key"];
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], " ");
    let said = [&field.name, &field.title, &field.description].map(|text| plain(text));
    looks_secret(&field.name)
        || matches!(field.kind, FieldKind::Password)
        || WORDS.iter().any(|word| said.iter().any(|text| text.contains(word)))
}

#[cfg(test)]
mod tests;
