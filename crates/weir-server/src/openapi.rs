//! The API's own description (S14), as text: the same in each answer of a program. Not here: making it of the
//! table of routes and the types, which a test does (`derived`).

use serde_json::Value;

#[cfg(test)]
mod derived;

/// Where its own description is.
pub(crate) const PATH: &str = "/api/v1/openapi.json";

/// The OpenAPI 3.1 document. A test writes and compares it.
const DOCUMENT: &str = include_str!("openapi/document.json");

/// The document as a value.
pub(crate) fn read_document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap_or_default()
}
