//! What a call tells a foreign server in words of its own (A11). Pure; whether it may is the flow
//! table's business.

use serde_json::Value;

use super::{InputSchema, QueryEffect, argument};

impl QueryEffect {
    /// The free words in `arguments`. A member of a closed set of the tool's own schema, a flag and
    /// the name of a declared argument say nothing that was put together here; numbers could.
    pub fn from_arguments(
        server: impl Into<String>,
        arguments: &Value,
        schema: &InputSchema,
    ) -> QueryEffect {
        let mut words = Vec::new();
        collect_words(arguments, schema, &mut words);
        words.sort_unstable();
        words.dedup();
        QueryEffect { server: server.into(), words }
    }
}

fn collect_words(value: &Value, schema: &Value, words: &mut Vec<String>) {
    let is_member = schema["enum"].as_array().is_some_and(|set| set.contains(value))
        || schema.get("const").is_some_and(|only| only == value);
    if is_member {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) => (),
        Value::Number(number) => words.push(argument::number_word(number)),
        Value::String(text) if text.trim().is_empty() => (),
        Value::String(text) => words.push(text.clone()),
        Value::Array(items) => {
            items.iter().for_each(|item| collect_words(item, &schema["items"], words))
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let declared = schema["properties"].get(name);
                if declared.is_none() {
                    words.push(name.clone());
                }
                collect_words(field, declared.unwrap_or(&Value::Null), words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a11_what_the_model_chose_freely_is_a_word_of_the_query() {
        let schema: InputSchema = json!({ "properties": {
            "q": { "type": "string" },
            "state": { "enum": ["open", "closed"] },
            "labels": { "type": "array", "items": { "enum": ["bug"] } },
            "page": { "type": "integer" },
        } })
        .into();
        let words = |arguments| QueryEffect::from_arguments("s", &arguments, &schema).words;
        assert_eq!(words(json!({ "state": "open", "labels": ["bug"], "draft": true })), ["draft"]);
        assert_eq!(words(json!({ "q": "secret", "page": 31337 })), ["31337", "secret"]);
        assert_eq!(words(json!({ "state": "secret" })), ["secret"]);
        assert_eq!(words(json!({ "labels": ["bug", "s3"], "q": " " })), ["s3"]);
        assert!(words(json!({})).is_empty());
    }
}
