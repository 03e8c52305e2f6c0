//! Questions to the person as an editor with forms and pages asks them, and what its answers mean. Pure. Not here:
//! questions that are a choice (`crate::permission`), and when one is asked.

use serde_json::{Map, Value, json};
use weir_core::event::{QuestionAsked, QuestionField};
use weir_core::safe_text::visible_text;
use weir_core::view::told::one_line;
use weir_core::view::transcript::PendingAsk;
use weir_install::wiring::server_answers::{CANCEL, DECLINE, LEAVE_OUT, OPENED};

use crate::permission::PermissionReply;
use crate::render::ElicitationModes;
use crate::rpc::RpcError;
use crate::wire::{ElicitationMode, ElicitationParams, ElicitationResult};

/// The field of a form that takes the answer. The name that a server gives its field stands in the title.
const ANSWER: &str = "answer";
/// The field that takes several answers.
const CHOICES: &str = "choices";

/// The question to the editor about what waits, where it is one for a form or page that the editor can show.
pub(crate) fn elicitation_question(
    session: &str,
    ask: &PendingAsk,
    able: ElicitationModes,
) -> Option<ElicitationParams> {
    let asked = ask.question()?;
    let mode = match asked.field.as_deref() {
        // An editor opens an address as it is: one that hides something is told in words alone.
        Some(QuestionField::Page { url }) if able.pages && visible_text(url) == *url => {
            let (elicitation_id, url) = (ask.name().to_owned(), url.clone());
            ElicitationMode::Url { elicitation_id, url }
        }
        Some(QuestionField::Value { required, schema }) if able.forms => {
            let required: &[&str] = if *required { &[ANSWER] } else { &[] };
            form(&json!({ ANSWER: schema }), required)
        }
        None if able.forms && (asked.multiple || asked.options.is_empty()) => own_form(asked),
        Some(QuestionField::Page { .. } | QuestionField::Value { .. }) | None => return None,
    };
    let message = asked.text.lines().map(visible_text).collect::<Vec<_>>().join("\n");
    let tool_call_id = ask.call().to_string();
    Some(ElicitationParams { session_id: session.to_owned(), tool_call_id, message, mode })
}

/// The form of a question of the agent's own.
fn own_form(asked: &QuestionAsked) -> ElicitationMode {
    let words = |title: &str| json!({ "type": "string", "title": title });
    if asked.options.is_empty() {
        let mut answer = words("Your answer");
        answer["minLength"] = 1.into();
        return form(&json!({ ANSWER: answer }), &[ANSWER]);
    }
    let choice = |option: &String| json!({ "const": option, "title": one_line(option) });
    let all: Vec<Value> = asked.options.iter().map(choice).collect();
    let choices = json!({ "type": "array", "title": "Answers", "items": { "anyOf": all } });
    form(&json!({ CHOICES: choices, ANSWER: words("In your own words") }), &[])
}

fn form(properties: &Value, required: &[&str]) -> ElicitationMode {
    let requested_schema =
        json!({ "type": "object", "properties": properties, "required": required });
    ElicitationMode::Form { requested_schema }
}

/// What an answer of the editor to `asked` means.
pub(crate) fn read_elicitation(
    asked: &QuestionAsked,
    answer: Result<Value, RpcError>,
) -> PermissionReply {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return PermissionReply::Unable(one_line(&error.message)),
    };
    let Ok(result) = serde_json::from_value::<ElicitationResult>(answer) else {
        return PermissionReply::Unable("its answer cannot be read".into());
    };
    // A server is told that the person does not want to; the agent's own question can be answered in words still.
    let without = |word: &str| match asked.server {
        Some(_) => PermissionReply::Said(word.to_owned()),
        None => PermissionReply::Nothing,
    };
    let content = match result {
        ElicitationResult::Accept { content } => content.unwrap_or_default(),
        ElicitationResult::Decline => return without(DECLINE),
        ElicitationResult::Cancel => return without(CANCEL),
    };
    match asked.field.as_deref() {
        Some(QuestionField::Page { .. }) => PermissionReply::Said(OPENED.to_owned()),
        Some(QuestionField::Value { required, .. }) => {
            let said = words_of(content.get(ANSWER)).filter(|said| !said.is_empty() || *required);
            let nothing = if *required { "" } else { LEAVE_OUT };
            PermissionReply::Said(said.unwrap_or_else(|| nothing.to_owned()))
        }
        None => own_answer(&content),
    }
}

/// The answer to a question of the agent's own: what was chosen, and the words beside it.
fn own_answer(content: &Map<String, Value>) -> PermissionReply {
    let said = [content.get(CHOICES), content.get(ANSWER)];
    let said = said.into_iter().filter_map(words_of).filter(|said| !said.trim().is_empty());
    match said.collect::<Vec<_>>().join(", ") {
        said if said.is_empty() => PermissionReply::Nothing,
        said => PermissionReply::Said(said),
    }
}

/// A value as a person would say it; of a list whose parts hold commas, the list. `None`: there is none.
fn words_of(value: Option<&Value>) -> Option<String> {
    Some(match value? {
        Value::Null | Value::Object(_) => return None,
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            match texts.iter().any(|text| text.contains(',')) {
                true => json!(texts).to_string(),
                false => texts.join(", "),
            }
        }
    })
}

#[cfg(test)]
mod tests;
