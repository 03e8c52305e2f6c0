//! Pictures over real sockets on this machine: what each vendor is asked, and what is made of each of
//! its answers (K13). The cases are folders, see `tests/pictures/README.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::secret::Secret;
use weir_engine::ports::{
    ModelUse, PictureAspect, PictureError, PictureFormat, PictureModel as _, PictureReply,
    PictureRequest,
};
use weir_providers::catalogue::ModelCatalogue;
use weir_providers::http_model::ModelEndpoint;
use weir_providers::picture::{PictureModelError, RemotePictureModel};
use weir_providers::transport::{ModelTransport, TransportOptions};

use crate::http::{Behave, Server, answer, serve};
use crate::support::IMAGE;

const KEY: &str = "sk-marker-0123456789";

/// The model `name` of the catalogue, at a server of the test.
fn model_at(name: &str, server: &Server) -> Result<RemotePictureModel, PictureModelError> {
    let resolved = ModelCatalogue::built_in().resolve_model(name).expect("a known vendor");
    let version = if name.starts_with("gemini") { "" } else { "/v1" };
    let endpoint = ModelEndpoint {
        vendor: resolved.vendor,
        base_url: format!("http://127.0.0.1:{}{version}", server.port),
        key: Some(Secret::new(KEY)),
    };
    let transport = ModelTransport::new(TransportOptions::default());
    RemotePictureModel::new(endpoint, Arc::new(resolved.info), transport)
}

fn plain_request() -> PictureRequest {
    PictureRequest { prompt: "A fox".into(), aspect: None, format: PictureFormat::Png }
}

async fn asked(name: &str, behave: Behave) -> Result<PictureReply, PictureError> {
    let server = serve(behave).await;
    let model = model_at(name, &server).unwrap_or_else(|error| panic!("{error}"));
    model.make_picture(&plain_request()).await
}

fn case_folders() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
    let inner = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("readable").path()).filter(|path| path.is_dir()).collect()
    };
    let mut cases: Vec<PathBuf> = inner(&folder).iter().flat_map(|shape| inner(shape)).collect();
    cases.sort();
    assert!(cases.len() >= 20, "too few cases");
    cases
}

fn json_at(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

/// What is asked for, as `wish.json` says it, and of which model.
fn read_wish(case: &Path) -> (String, PictureRequest) {
    let wish = json_at(&case.join("wish.json"));
    let aspect = wish["aspect"].as_str().and_then(|text| {
        let (width, height) = text.split_once(':')?;
        Some(PictureAspect { width: width.parse().ok()?, height: height.parse().ok()? })
    });
    let format = match wish["format"].as_str() {
        Some("jpeg") => PictureFormat::Jpeg,
        Some("webp") => PictureFormat::Webp,
        _ => PictureFormat::Png,
    };
    let text = |name: &str| wish[name].as_str().expect("a text").to_owned();
    (text("model"), PictureRequest { prompt: text("prompt"), aspect, format })
}

/// What the vendor answers: the file whose name says its status and type.
fn read_answer(case: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(case).expect("a folder");
    let names = entries.map(|entry| entry.expect("readable").file_name().into_string());
    let mut names = names.map(|name| name.expect("UTF-8"));
    let name = names.find(|name| name.starts_with("answer.")).expect("an answer");
    let parts: Vec<&str> = name.split('.').collect();
    let media = if parts[2] == "sse" { "text/event-stream" } else { "application/json" };
    let body = std::fs::read_to_string(case.join(&name)).expect("readable");
    answer(&format!("{} x", parts[1]), &format!("content-type: {media}\r\n"), &body)
}

fn result_json(done: &Result<PictureReply, PictureError>) -> Value {
    let used = |used: &ModelUse| (json!([used.usage.input, used.usage.output]), used.cost_usd);
    match done {
        Ok(reply) => {
            let (tokens, cost_usd) = used(&reply.used);
            let kind = weir_engine::sniff::image_media_type(&reply.bytes).expect("a picture");
            let picture = format!("{} bytes of {kind}", reply.bytes.len());
            json!({
                "picture": picture, "said": reply.said, "tokens": tokens, "cost_usd": cost_usd,
            })
        }
        Err(PictureError { why, used: None }) => json!({ "failed": why }),
        Err(PictureError { why, used: Some(spent) }) => {
            let (tokens, cost_usd) = used(spent);
            json!({ "failed": why, "tokens": tokens, "cost_usd": cost_usd })
        }
    }
}

fn compare(path: &Path, found: &Value) {
    let found = serde_json::to_string_pretty(found).expect("JSON") + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).expect("writable");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, expected, "{} differs; UPDATE=1 writes it anew", path.display());
}

#[tokio::test]
async fn k13_pictures_are_asked_for_and_read_as_each_vendor_documents_it() {
    for case in case_folders() {
        let (name, request) = read_wish(&case);
        let server = serve(Behave::Answer(read_answer(&case))).await;
        let model = model_at(&name, &server).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.model_name(), name);
        let done = model.make_picture(&request).await;
        compare(&case.join("result.json"), &result_json(&done));
        let requests = server.requests.lock().expect("not poisoned");
        assert_eq!(requests.len(), 1, "{}: never asked again", case.display());
        let (head, body) = requests[0].split_once("\r\n\r\n").expect("head and body");
        assert!(head.contains(KEY) && !body.contains(KEY), "{}", case.display());
        assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
        compare(&case.join("request.json"), &serde_json::from_str(body).expect("JSON"));
    }
}

#[tokio::test]
async fn k13_each_shape_goes_to_its_own_address() {
    for (name, line) in [
        ("openai/gpt-image-1", "POST /v1/images/generations "),
        ("ollama/painter", "POST /v1/images/generations "),
        ("openai/gpt-5", "POST /v1/responses "),
        ("openrouter/google/gemini-2.5-flash-image", "POST /v1/chat/completions "),
        (
            "gemini/gemini-2.5-flash-image",
            "POST /v1beta/models/gemini-2.5-flash-image:streamGenerateContent?alt=sse ",
        ),
    ] {
        let server = serve(Behave::Answer(answer("500 x", "", "{}"))).await;
        let model = model_at(name, &server).unwrap_or_else(|error| panic!("{error}"));
        model.make_picture(&plain_request()).await.expect_err("it is broken");
        let requests = server.requests.lock().expect("not poisoned");
        assert!(requests[0].starts_with(line), "{name}: {}", requests[0]);
    }
    let server = serve(Behave::Answer(answer("200 OK", "", "{}"))).await;
    let unfit = model_at("anthropic/claude-opus-5", &server).err().map(|error| error.to_string());
    assert!(unfit.is_some_and(|why| why.contains("anthropic makes no pictures")));
    assert!(server.requests.lock().expect("not poisoned").is_empty());
}

#[tokio::test]
async fn k13_an_answer_beyond_its_bounds_is_not_taken() {
    // An honest beginning, and more than any picture that is kept has.
    let data = format!("{}{}", IMAGE.trim_end_matches('='), "A".repeat(46 << 20));
    let data = &data[..data.len() / 4 * 4];
    let body = format!(r#"{{"data":[{{"b64_json":"{data}"}}]}}"#);
    let done = asked("openai/gpt-image-1", Behave::Answer(answer("200 OK", "", &body))).await;
    let why = done.expect_err("too large").why;
    assert!(why.contains("larger than 32 MB"), "{why}");
    let body = "x".repeat((64 << 20) + 1);
    let done = asked("openai/gpt-image-1", Behave::Answer(answer("200 OK", "", &body))).await;
    let why = done.expect_err("too long").why;
    assert!(why.contains("longer than 64 MB"), "{why}");
    let chunk = format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#);
    let event = format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{chunk}]}}}}]}}\n\n");
    let stream = answer("200 OK", "content-type: text/event-stream\r\n", &event);
    let done = asked("gemini/gemini-2.5-flash-image", Behave::Answer(stream)).await;
    let why = done.expect_err("too large an event").why;
    assert!(why.contains("was not taken"), "{why}");
}

#[tokio::test]
async fn k13_what_breaks_off_after_it_was_sent_may_cost_and_is_said_so() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"data\":[{\"b64_json\":\"iVBOR";
    let done = asked("openai/gpt-image-1", Behave::Cut(head.into())).await;
    let PictureError { why, used } = done.expect_err("it broke off");
    assert!(why.contains("may have been made and charged for"), "{why}");
    assert_eq!(used.map(|used| used.cost_usd), Some(None), "nobody knows what it cost");
    // Nothing listens at a port that the system gives to nobody by itself: nothing was sent.
    let server = serve(Behave::Cut(Vec::new())).await;
    let resolved = ModelCatalogue::built_in().resolve_model("ollama/painter").expect("known");
    let endpoint = ModelEndpoint {
        vendor: resolved.vendor,
        base_url: "http://127.0.0.1:1/v1".into(),
        key: None,
    };
    let transport = ModelTransport::new(TransportOptions::default());
    let model = RemotePictureModel::new(endpoint, Arc::new(resolved.info), transport);
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    let PictureError { why, used } =
        model.make_picture(&plain_request()).await.expect_err("nobody is there");
    assert!(why.contains("could not be reached"), "{why}");
    assert_eq!(used, None);
    drop(server);
}

#[tokio::test]
async fn k13_without_a_key_nothing_is_sent() {
    let server = serve(Behave::Answer(answer("200 OK", "", "{}"))).await;
    let resolved = ModelCatalogue::built_in().resolve_model("openai/gpt-image-1").expect("known");
    let base_url = format!("http://127.0.0.1:{}/v1", server.port);
    let endpoint = ModelEndpoint { vendor: resolved.vendor, base_url, key: None };
    let transport = ModelTransport::new(TransportOptions::default());
    let model = RemotePictureModel::new(endpoint, Arc::new(resolved.info), transport);
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    let why = model.make_picture(&plain_request()).await.expect_err("no key").why;
    assert!(why.contains("OPENAI_API_KEY"), "{why}");
    assert!(server.requests.lock().expect("not poisoned").is_empty());
}
