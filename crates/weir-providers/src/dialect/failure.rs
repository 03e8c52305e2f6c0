//! What went wrong, decided once (L8): a status and a body, or an error inside a stream, become a
//! class and a sentence.
//!
//! One place for all vendors: they borrow each other's wordings, and gateways mix them.

use std::borrow::Cow;

use serde_json::Value;
use weir_core::model::{FailureClass, ModelReply};

/// Longest piece of a vendor's message that is shown.
const MESSAGE_CHARS_MAX: usize = 2000;
/// Longest wait that a vendor may wish for: a day.
const RETRY_AFTER_MS_MAX: u64 = 86_400_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderFailure {
    pub(crate) class: FailureClass,
    pub(crate) message: String,
    pub(crate) retry_after_ms: Option<u64>,
}

impl ProviderFailure {
    pub(crate) fn new(class: FailureClass, message: impl Into<String>) -> ProviderFailure {
        ProviderFailure { class, message: message.into(), retry_after_ms: None }
    }

    pub(crate) fn into_reply(self) -> ModelReply {
        let ProviderFailure { class, message, retry_after_ms } = self;
        ModelReply::Failed { class, message, retry_after_ms }
    }
}

/// What a vendor says about an error, wherever it stands in the body.
#[derive(Debug, Default)]
struct VendorError {
    /// Codes, types and statuses, in lower case, joined with spaces.
    codes: String,
    message: String,
    retry_after_ms: Option<u64>,
}

/// From an answer that is not a stream.
pub(crate) fn from_answer(status: u16, retry_after: Option<&str>, body: &[u8]) -> ProviderFailure {
    let said = read_body(body);
    let class = class_of(status, &said);
    let told =
        if said.message.is_empty() { "The answer has no message.".into() } else { said.message };
    let message =
        format!("{} (HTTP {status}): {told}{}", failure_headline(class), failure_remedy(class));
    let wish = retry_after.and_then(seconds_to_ms).or(said.retry_after_ms);
    ProviderFailure { class, message, retry_after_ms: wish.map(|ms| ms.min(RETRY_AFTER_MS_MAX)) }
}

/// From an error event in a stream that began well. `error` is the object the vendor sent.
pub(crate) fn from_stream(error: &Value) -> ProviderFailure {
    let said = read_value(error);
    let status =
        error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let class = match status {
        Some(status) if status >= 400 => class_of(status, &said),
        _ => class_of_codes(&said).unwrap_or(FailureClass::Overloaded),
    };
    let told = if said.message.is_empty() { error.to_string() } else { said.message };
    let message = shorten_message(&format!(
        "{} (in mid-answer): {told}{}",
        failure_headline(class),
        failure_remedy(class)
    ));
    ProviderFailure { class, message, retry_after_ms: said.retry_after_ms }
}

/// `1.5` (seconds) in milliseconds. Dates are turned into seconds by the transport, which knows what
/// time the server thinks it is.
fn seconds_to_ms(text: &str) -> Option<u64> {
    let seconds: f64 = text.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0) as u64)
}

fn failure_headline(class: FailureClass) -> &'static str {
    match class {
        FailureClass::RateLimited => "The provider limits the rate of requests",
        FailureClass::Overloaded => "The provider is overloaded or broken at the moment",
        FailureClass::Network => "The provider could not be reached",
        FailureClass::StreamCut => "The answer broke off",
        FailureClass::Timeout => "The provider took too long",
        FailureClass::ContextOverflow => "The request is larger than the model's context window",
        FailureClass::Auth => "The provider refused the key or the account",
        FailureClass::InvalidRequest => "The provider rejected the request as invalid",
        FailureClass::NotFound => "The provider knows no such model or address",
        FailureClass::Refused => "The provider's safety rules refused the request",
        FailureClass::ToolsRefused => "The provider takes no tools with a request for this model",
    }
}

fn failure_remedy(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Auth => " Check the key with `weir auth list` and the account's credit.",
        FailureClass::NotFound => {
            " Check the model's name with `weir models --probe` and the base URL."
        }
        FailureClass::RateLimited
        | FailureClass::Overloaded
        | FailureClass::Network
        | FailureClass::StreamCut
        | FailureClass::Timeout
        | FailureClass::ContextOverflow
        | FailureClass::InvalidRequest
        | FailureClass::Refused
        | FailureClass::ToolsRefused => "",
    }
}

fn class_of(status: u16, said: &VendorError) -> FailureClass {
    let by_words = class_of_codes(said);
    match status {
        // A gateway that finds nobody who would take them says so like this.
        404 if by_words == Some(FailureClass::ToolsRefused) => FailureClass::ToolsRefused,
        300..=399 | 404 | 405 | 410 => FailureClass::NotFound,
        401..=403 => match by_words {
            Some(FailureClass::Refused) => FailureClass::Refused,
            _ => FailureClass::Auth,
        },
        408 => FailureClass::Timeout,
        // A body that is too long is cured by what cures a window that is too small.
        413 => FailureClass::ContextOverflow,
        429 => match by_words {
            Some(class @ (FailureClass::Auth | FailureClass::ContextOverflow)) => class,
            _ => FailureClass::RateLimited,
        },
        409 | 425 | 498 | 500.. => match by_words {
            // Some call a mistake of the request one of their own.
            Some(class @ (FailureClass::ContextOverflow | FailureClass::ToolsRefused)) => class,
            _ => FailureClass::Overloaded,
        },
        _ => match by_words {
            // Only a status can say that a request may be tried again.
            Some(class) if !class.is_retryable() => class,
            _ => FailureClass::InvalidRequest,
        },
    }
}

/// Codes and wordings, most telling first.
const WORDINGS: &[(FailureClass, &[&str])] = &[
    (
        FailureClass::ToolsRefused,
        &[
            // vLLM, llama.cpp, Ollama, OpenRouter.
            "requires --enable-auto-tool-choice",
            "requires --jinja",
            "unsupported param: tools",
            "does not support tools",
            "no endpoints found that support tool use",
        ],
    ),
    (
        FailureClass::ContextOverflow,
        &[
            "context_length_exceeded",
            "exceed_context_size",
            "request_too_large",
            "prompt is too long",
            "input is too long",
            "exceed context limit",
            "exceeds the context window",
            "exceeds the available context",
            "maximum context length",
            "maximum prompt length",
            "greater than the context length",
            "exceeds the maximum number of tokens",
            "larger than the context",
            "reduce the length of the messages",
            "too large for model",
            "context window exceeded",
            "`inputs` tokens + `max_new_tokens`",
            "current length is",
        ],
    ),
    (
        FailureClass::Auth,
        &[
            "authentication_error",
            "permission_error",
            "permission_denied",
            "unauthenticated",
            "invalid_api_key",
            "api_key_invalid",
            "api key not valid",
            "incorrect api key",
            "invalid api key",
            "insufficient_quota",
            "billing",
            "credit balance",
            "insufficient balance",
        ],
    ),
    (
        FailureClass::Refused,
        &[
            "content_filter",
            "content_policy",
            "moderation_blocked",
            "responsibleai",
            "safety system",
            "prohibited_content",
            "usage policy",
        ],
    ),
    (
        FailureClass::RateLimited,
        &["rate_limit", "resource_exhausted", "too_many_requests", "too many requests"],
    ),
    (FailureClass::NotFound, &["not_found", "model_not_found", "does not exist"]),
    (
        FailureClass::Overloaded,
        &[
            "overloaded",
            "api_error",
            "server_error",
            "internal_error",
            "unavailable",
            "internal server",
            "bad gateway",
            "insufficient_system_resource",
        ],
    ),
    (FailureClass::Timeout, &["timeout_error", "deadline_exceeded", "request_timeout"]),
    (FailureClass::InvalidRequest, &["invalid_request", "invalid_argument", "invalid_prompt"]),
];

fn class_of_codes(said: &VendorError) -> Option<FailureClass> {
    let message = said.message.to_lowercase();
    let says = |word: &&str| said.codes.contains(*word) || message.contains(*word);
    WORDINGS.iter().find(|(_, words)| words.iter().any(&says)).map(|(class, _)| *class)
}

fn read_body(body: &[u8]) -> VendorError {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(mut items)) if !items.is_empty() => read_value(&items.swap_remove(0)),
        Ok(value) => read_value(&value),
        Err(_) => {
            let text = String::from_utf8_lossy(body);
            VendorError {
                message: shorten_message(&without_markup(&text)),
                ..VendorError::default()
            }
        }
    }
}

fn read_value(value: &Value) -> VendorError {
    let inner = value.get("error").unwrap_or(value);
    let mut said = VendorError::default();
    for object in [value, inner] {
        for name in ["type", "code", "status", "reason"] {
            if let Some(word) = object.get(name).and_then(Value::as_str) {
                said.codes.push_str(&word.to_lowercase());
                said.codes.push(' ');
            }
        }
    }
    let texts = [
        inner.get("message"),
        inner.as_str().map(|_| inner),
        value.get("message"),
        value.get("detail"),
    ];
    if let Some(text) = texts.into_iter().flatten().next() {
        said.message = match text {
            Value::String(text) => shorten_message(text),
            other => shorten_message(&other.to_string()),
        };
    }
    // A gateway puts the vendor's own words here.
    if let Some(raw) = inner.pointer("/metadata/raw").and_then(Value::as_str) {
        said.message = shorten_message(&format!("{} ({raw})", said.message));
    }
    read_details(inner, &mut said);
    said
}

/// Google's `details`: reasons and the wish to wait, `"retryDelay": "12.5s"`.
fn read_details(error: &Value, said: &mut VendorError) {
    for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
        if let Some(reason) = detail.get("reason").and_then(Value::as_str) {
            said.codes.push_str(&reason.to_lowercase());
            said.codes.push(' ');
        }
        let delay = detail.get("retryDelay").and_then(Value::as_str);
        let delay = delay.and_then(|text| seconds_to_ms(text.strip_suffix('s')?));
        said.retry_after_ms = said.retry_after_ms.or(delay);
    }
}

/// The words of a web page, roughly: enough to recognise a proxy's error page.
fn without_markup(text: &str) -> Cow<'_, str> {
    if !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for piece in text.split('<') {
        let words = piece.split_once('>').map_or(piece, |(_, words)| words).trim();
        if !words.is_empty() {
            out.push_str(words);
            out.push(' ');
        }
    }
    Cow::Owned(out)
}

fn shorten_message(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureClass::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn l8_answers_are_classified_once_by_status_and_words() {
        let cases: &[(u16, &str, FailureClass)] = &[
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: bad"}}"#,
                InvalidRequest,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                ContextOverflow,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                Auth,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#,
                ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
                ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                Auth,
            ),
            (400, r#"{"error":{"code":"content_filter","message":"filtered"}}"#, Refused),
            (401, r#"{"error":{"message":"Incorrect API key provided"}}"#, Auth),
            (402, "Insufficient Balance", Auth),
            (403, "{}", Auth),
            (404, r#"{"error":{"type":"not_found_error","message":"model: claude-9"}}"#, NotFound),
            (413, r#"{"error":{"type":"request_too_large"}}"#, ContextOverflow),
            (422, r#"{"detail":[{"msg":"field required"}]}"#, InvalidRequest),
            (
                400,
                r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}"#,
                ToolsRefused,
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
                ToolsRefused,
            ),
            (
                400,
                r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error","param":null,"code":null}}"#,
                ToolsRefused,
            ),
            (
                400,
                r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#,
                ToolsRefused,
            ),
            (
                404,
                r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#,
                ToolsRefused,
            ),
            (429, r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#, RateLimited),
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
                Auth,
            ),
            (500, "<html><h1>Internal</h1></html>", Overloaded),
            (
                500,
                r#"{"error":{"message":"the request exceeds the available context size"}}"#,
                ContextOverflow,
            ),
            (502, "", Overloaded),
            (503, "", Overloaded),
            (529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
            (302, "", NotFound),
        ];
        for (status, body, class) in cases {
            let failure = from_answer(*status, None, body.as_bytes());
            assert_eq!(failure.class, *class, "{status} {body}");
            assert!(failure.message.contains(&status.to_string()));
        }
    }

    #[test]
    fn l8_the_wish_to_wait_comes_from_header_or_body() {
        assert_eq!(from_answer(429, Some("1.5"), b"").retry_after_ms, Some(1500));
        assert_eq!(from_answer(429, Some("soon"), b"").retry_after_ms, None);
        assert_eq!(from_answer(429, Some("1e300"), b"").retry_after_ms, Some(RETRY_AFTER_MS_MAX));
        let google = br#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.5s"}]}}"#;
        assert_eq!(from_answer(429, None, google).retry_after_ms, Some(12_500));
    }

    #[test]
    fn l8_errors_inside_a_stream_have_a_class_too() {
        let class = |text: &str| from_stream(&serde_json::from_str(text).expect("JSON")).class;
        assert_eq!(class(r#"{"type":"overloaded_error","message":"Overloaded"}"#), Overloaded);
        assert_eq!(class(r#"{"type":"invalid_request_error","message":"no"}"#), InvalidRequest);
        assert_eq!(class(r#"{"code":"rate_limit_exceeded","message":"Rate limit"}"#), RateLimited);
        assert_eq!(class(r#"{"code":503,"message":"busy","status":"UNAVAILABLE"}"#), Overloaded);
        assert_eq!(class(r#"{"message":"who knows"}"#), Overloaded);
    }
}
