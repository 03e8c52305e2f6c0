//! The API's own description, from the table of routes and the types (S14): nothing in it is written
//! by hand that the program knows. And that the kept texts are this description. Not here: what the server gives,
//! which is the text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::DOCUMENT;
use crate::health::{LivenessReport, ReadinessReport};
use crate::problem::ProblemDetails;
use crate::route::{Route, RouteAccess, RouteAnswer, SchemaOf};
use crate::routes::{all_routes, openapi_document};

/// The OpenAPI 3.1 document of a table of routes.
fn document_of(table: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<ProblemDetails>();
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for route in table.iter().filter(|route| !route.summary.is_empty()) {
        let operation = operation_object(route, &mut generator);
        let method = route.method.as_str().to_lowercase();
        paths.entry(wire_path(route.path)).or_default().insert(method, operation);
    }
    for (path, operation) in health_operations(&mut generator) {
        paths.entry(path.into()).or_default().insert("get".into(), operation);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Weir",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The API of `weir serve`. Errors are problem details (RFC 9457) with a \
                            stable `code`. Lists come in parts: send `next` as `after`. What is \
                            another person's does not exist (404).",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made on the account page.",
                },
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "weir",
                    "description": "A browser's sign-in; what changes something also needs the \
                                    header `x-csrf-token`.",
                },
            },
            "responses": {
                "Problem": {
                    "description": "It did not work: what, why, what to do.",
                    "headers": {
                        "Retry-After": {
                            "description": "Seconds to wait, where waiting helps.",
                            "schema": { "type": "integer", "minimum": 0 },
                        },
                    },
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    })
}

/// A path as OpenAPI writes it: what takes the rest of the path looks like any other part.
fn wire_path(path: &str) -> String {
    path.replace("{*", "{")
}

/// The first word after `/api/v1/`: operations are listed below it. What the whole site tells of itself stands
/// below `well-known`.
fn path_tag(path: &str) -> &str {
    let rest = path.trim_start_matches("/api/v1/").trim_start_matches(['/', '.']);
    rest.split('/').next().unwrap_or_default()
}

/// A name for generated clients: `get_sessions_id_events`.
fn operation_id(method: &Method, path: &str) -> String {
    let mut id = method.as_str().to_lowercase();
    for part in path.trim_start_matches("/api/v1").split('/').filter(|part| !part.is_empty()) {
        let plain = part.trim_matches(['{', '}', '*']);
        id.push('_');
        id.extend(plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
    }
    id
}

fn operation_object(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = path_parameters(route.path);
    parameters
        .extend(route.contract.query.map(|of| query_parameters(of, generator)).unwrap_or_default());
    let mut operation = json!({
        "summary": route.summary,
        "operationId": operation_id(&route.method, route.path),
        "tags": [path_tag(route.path)],
        "responses": response_objects(route, generator),
        "security": match route.access {
            RouteAccess::Anyone => json!([]),
            RouteAccess::Person | RouteAccess::Admin => json!([{ "token": [] }, { "cookie": [] }]),
        },
    });
    if route.access == RouteAccess::Admin {
        operation["description"] = "Admins only.".into();
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(of) = route.contract.body {
        let schema = of(generator);
        operation["requestBody"] = json!({
            "required": route.contract.body_required,
            "content": { route.contract.body_media: { "schema": schema } },
        });
    }
    operation
}

fn path_parameters(path: &str) -> Vec<Value> {
    let parts = path.split('/').filter(|part| part.starts_with('{'));
    let names = parts.map(|part| part.trim_matches(['{', '}', '*']));
    let parameter = |name| {
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": { "type": "string", "minLength": 1 },
        })
    };
    names.map(parameter).collect()
}

/// The fields of a struct, each as a parameter.
fn query_parameters(of: SchemaOf, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut own = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let schema = of(&mut own).to_value();
    // What the fields refer to must stand among the components too.
    generator.definitions_mut().extend(own.take_definitions(true));
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, mut field): (String, Value)| {
        let words = field.as_object_mut().and_then(|field| field.remove("description"));
        json!({
            "name": name,
            "in": "query",
            "required": required.contains(&name.as_str()),
            "description": words.unwrap_or_default().as_str().unwrap_or_default(),
            "schema": without_null(field),
        })
    };
    fields.into_iter().map(parameter).collect()
}

/// A query has no way to say null: a parameter that may be absent is simply not sent.
fn without_null(mut schema: Value) -> Value {
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|word| word != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(any) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        any.retain(|one| one["type"] != "null");
        if let [only] = any.as_slice() {
            return only.clone();
        }
    }
    schema
}

fn response_objects(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut responses: BTreeMap<String, Value> = BTreeMap::new();
    for given in &route.contract.answers {
        let entry = responses
            .entry(given.status.to_string())
            .or_insert_with(|| json!({ "description": status_description(given.status) }));
        if let Some((media, schema)) = answer_content(given, generator) {
            entry["content"][media] = json!({ "schema": schema });
        }
    }
    let problem = json!({ "$ref": "#/components/responses/Problem" });
    responses.entry("default".into()).or_insert(problem);
    json!(responses)
}

fn answer_content(
    given: &RouteAnswer,
    generator: &mut SchemaGenerator,
) -> Option<(&'static str, Schema)> {
    given.body.map(|of| (given.media, of(generator)))
}

fn status_description(status: u16) -> &'static str {
    match status {
        200 => "It is as asked.",
        201 => "It was made.",
        202 => "It was taken in.",
        204 => "It is done.",
        206 => "A part of it.",
        101 => "The connection speaks another protocol from now on.",
        302 | 303 | 307 => "It is elsewhere.",
        304 => "It has not changed.",
        _ => "Another answer.",
    }
}

/// The addresses beside the table.
fn health_operations(generator: &mut SchemaGenerator) -> Vec<(&'static str, Value)> {
    let alive = generator.subschema_for::<LivenessReport>();
    let ready = generator.subschema_for::<ReadinessReport>();
    let json_of = |schema: &Schema| json!({ "application/json": { "schema": schema } });
    let healthz = json!({
        "summary": "Whether the process answers",
        "operationId": "get_healthz",
        "tags": ["health"],
        "security": [],
        "responses": {
            "200": { "description": "It does.", "content": json_of(&alive) },
            "default": { "$ref": "#/components/responses/Problem" },
        },
    });
    let readyz = json!({
        "summary": "Whether requests should be sent here",
        "operationId": "get_readyz",
        "tags": ["health"],
        "security": [],
        "responses": {
            "200": { "description": "They should.", "content": json_of(&ready) },
            "503": { "description": "They should not.", "content": json_of(&ready) },
            "default": { "$ref": "#/components/responses/Problem" },
        },
    });
    vec![("/healthz", healthz), ("/readyz", readyz)]
}

#[test]
fn s14_the_description_of_the_api_stands_in_the_repository() {
    let derived = document_of(&all_routes());
    // What people read, and what the program gives.
    let read = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/openapi.json");
    let text = format!("{derived:#}\n");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&read, &text).expect("docs/generated can be written");
    }
    let there = std::fs::read_to_string(&read).unwrap_or_default();
    assert!(
        there == text,
        "docs/generated/openapi.json is out of date: run this test with UPDATE=1"
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/openapi/document.json");
    weir_test_kit::check_kept_json(path, DOCUMENT, &derived);
}

#[test]
fn s14_every_route_of_the_api_is_described_and_no_page_is() {
    for route in all_routes() {
        let name = format!("{} {}", route.method, route.path);
        let is_api = ["/api/", "/.well-known/"].iter().any(|at| route.path.starts_with(at));
        assert_eq!(is_api, !route.summary.is_empty(), "{name}: summary");
        if is_api {
            assert!(!route.contract.answers.is_empty(), "{name} says what it gives");
            let changes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
            assert!(
                route.method == Method::GET || changes.contains(&route.method),
                "{name}: method"
            );
        }
    }
}

#[test]
fn s14_no_address_is_there_twice() {
    let mut seen = BTreeSet::new();
    for route in all_routes() {
        let key = format!("{} {}", route.method, route.path);
        assert!(seen.insert(key.clone()), "{key} stands twice in the table");
    }
    let mut ids = BTreeSet::new();
    for route in all_routes().iter().filter(|route| !route.summary.is_empty()) {
        let id = operation_id(&route.method, route.path);
        assert!(ids.insert(id.clone()), "{id} names two operations");
    }
}

#[test]
fn s14_every_reference_of_the_document_leads_somewhere() {
    let document = openapi_document();
    let mut open = vec![&document];
    let mut count = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(target)) = fields.get("$ref") {
                    let pointer = target.strip_prefix('#').expect("within the document");
                    assert!(document.pointer(pointer).is_some(), "{target}");
                    count += 1;
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => (),
        }
    }
    assert!(count > 0, "there are some");
}

#[test]
fn s14_names_are_made_from_paths() {
    assert_eq!(
        operation_id(&Method::GET, "/api/v1/sessions/{id}/events"),
        "get_sessions_id_events"
    );
    assert_eq!(operation_id(&Method::PUT, "/api/v1/files/{*path}"), "put_files_path");
    assert_eq!(wire_path("/api/v1/files/{*path}"), "/api/v1/files/{path}");
    assert_eq!(path_tag("/api/v1/sessions/{id}/events"), "sessions");
    assert_eq!(path_tag("/.well-known/oauth-protected-resource/mcp"), "well-known");
}
