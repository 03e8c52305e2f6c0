//! Holds a final answer against the JSON Schema that the person gave (`--output-schema`).

use serde_json::Value;

/// The answer as JSON, or what is wrong with it, in words the model can act on. A fence around the
/// JSON is taken off, since models like to add one.
///
/// # Errors
/// A sentence: what is wrong with it, or with the schema.
pub fn verify_output(text: &str, schema: &Value) -> Result<Value, String> {
    let value: Value = serde_json::from_str(strip_code_fence(text))
        .map_err(|error| format!("It is not JSON: {error}."))?;
    let validator = jsonschema::draft202012::new(schema)
        .map_err(|error| format!("The schema itself is invalid: {error}."))?;
    let first = validator.iter_errors(&value).next();
    let wrong = first.map(|error| format!("At {}: {error}.", error.instance_path()));
    match wrong {
        None => Ok(value),
        Some(wrong) => Err(wrong),
    }
}

fn strip_code_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|rest| rest.split_once('\n')).map_or(text, |(_, body)| body.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::verify_output;

    #[test]
    fn c2_an_answer_must_match_the_schema() {
        let schema = json!({ "type": "object", "required": ["n"] });
        assert_eq!(verify_output("```json\n{\"n\": 1}\n```", &schema), Ok(json!({ "n": 1 })));
        assert!(verify_output("{}", &schema).is_err_and(|e| e.contains('n')));
        assert!(verify_output("no", &schema).is_err_and(|e| e.contains("not JSON")));
    }
}
