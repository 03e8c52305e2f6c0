//! Holds each answer of the API that a test sees against the description that the server gives of
//! itself. Not here: whether the description is current (the server's own tests), and requests.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::Value;

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../docs/generated/openapi.json");
    serde_json::from_str(text).expect("the description of the API is JSON")
});

type Validators = HashMap<String, Arc<jsonschema::Validator>>;
static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);

/// Panics where an answer that went well is not what the description says of it.
pub(crate) fn check_answer(asked: &str, status: u16, answer: &Value) {
    let (method, path) = asked.split_once(' ').expect("a method and a path");
    let path = path.split('?').next().unwrap_or_default();
    if !(200..300).contains(&status) || !path.starts_with("/api/v1/") {
        return;
    }
    let Some(template) = template_of(path) else {
        panic!("{asked}: the description has no such path");
    };
    let method = method.to_ascii_lowercase();
    let place = format!("/paths/{}/{method}/responses/{status}", escape_pointer(template));
    let described = DESCRIPTION.pointer(&place);
    assert!(described.is_some(), "{asked}: the description has no answer {status}");
    let place = format!("{place}/content/application~1json/schema");
    if DESCRIPTION.pointer(&place).is_none() {
        assert!(answer.is_null(), "{asked}: the description has no body for {status}: {answer}");
        return;
    }
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validator = validators.entry(place).or_insert_with_key(|place| compile_validator(place));
    let problems: Vec<String> =
        validator.iter_errors(answer).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{asked} is not as described: {problems:#?}\n{answer}");
}

/// The schema there, with what it refers to.
fn compile_validator(place: &str) -> Arc<jsonschema::Validator> {
    let mut schema = DESCRIPTION.pointer(place).cloned().unwrap_or_default();
    schema["components"] = DESCRIPTION["components"].clone();
    let made = jsonschema::draft202012::new(&schema);
    Arc::new(made.unwrap_or_else(|error| panic!("the schema at {place}: {error}")))
}

/// The described path that fits best: with the most segments that are words.
fn template_of(path: &str) -> Option<&'static str> {
    let segments: Vec<&str> = path.split('/').collect();
    let described = DESCRIPTION["paths"].as_object().expect("paths");
    let fits = |template: &&String| {
        let parts: Vec<&str> = template.split('/').collect();
        parts.len() == segments.len()
            && parts.iter().zip(&segments).all(|(part, got)| part.starts_with('{') || part == got)
    };
    let words = |template: &&String| template.split('/').filter(|p| !p.starts_with('{')).count();
    described.keys().filter(fits).max_by_key(words).map(String::as_str)
}

fn escape_pointer(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}
