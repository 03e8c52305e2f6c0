//! Errors as the API tells them: `application/problem+json` with a stable code (C7).

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use weir_engine::engine::EngineError;
use weir_engine::ports::StoreError;
use weir_install::failure::InstallationError;

/// What went wrong (RFC 9457).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProblemDetails {
    /// HTTP status.
    pub(crate) status: u16,
    /// Stable, for programs: `missing`.
    pub(crate) code: String,
    /// For people: what failed.
    pub(crate) title: String,
    /// Why, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) detail: String,
    /// Seconds after which to try again.
    #[serde(skip)]
    pub(crate) retry_after: Option<u64>,
}

/// What handlers give back.
pub(crate) type HandlerResult<T> = Result<T, ProblemDetails>;

impl ProblemDetails {
    /// A problem of this status and code.
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> ProblemDetails {
        ProblemDetails {
            status: status.as_u16(),
            code: code.into(),
            title: status.canonical_reason().unwrap_or("Error").into(),
            detail: detail.into(),
            retry_after: None,
        }
    }

    /// What was sent cannot be used.
    pub(crate) fn bad_request(detail: impl Into<String>) -> ProblemDetails {
        ProblemDetails::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    /// There is no such thing; the same for what is another's (S2).
    pub(crate) fn not_found(what: impl std::fmt::Display) -> ProblemDetails {
        ProblemDetails::new(StatusCode::NOT_FOUND, "not_found", format!("{what} does not exist"))
    }

    /// Nobody is signed in.
    pub(crate) fn not_signed_in() -> ProblemDetails {
        ProblemDetails::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "sign in, or send a valid token",
        )
    }

    /// The person who is signed in may not do this.
    pub(crate) fn not_permitted(detail: impl Into<String>) -> ProblemDetails {
        ProblemDetails::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// It does not fit what is there now.
    pub(crate) fn conflict(detail: impl Into<String>) -> ProblemDetails {
        ProblemDetails::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// Too much at once.
    pub(crate) fn too_many(seconds: u64, detail: impl Into<String>) -> ProblemDetails {
        let mut problem = ProblemDetails::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail);
        problem.retry_after = Some(seconds);
        problem
    }

    /// The HTTP status.
    pub(crate) fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST)
    }

    /// Whether what was sent was refused, for a reason that whoever sent it can do something about.
    pub(crate) fn is_refusal(&self) -> bool {
        let refusals =
            [StatusCode::BAD_REQUEST, StatusCode::CONFLICT, StatusCode::UNPROCESSABLE_ENTITY];
        refusals.iter().any(|status| status.as_u16() == self.status)
    }

    /// The disk stands in the way. The cause goes to the log.
    fn refused_by_disk(cause: &StoreError, code: &str, detail: &str) -> ProblemDetails {
        tracing::error!(%cause, "a request failed");
        ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }

    /// It failed here. The cause goes to the log; the answer names none of the machine's insides.
    pub(crate) fn internal_failure(cause: impl std::fmt::Display) -> ProblemDetails {
        tracing::error!(%cause, "a request failed");
        ProblemDetails::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the server could not do this now; its log says why",
        )
    }
}

impl IntoResponse for ProblemDetails {
    fn into_response(self) -> Response {
        let status = self.status_code();
        let retry = self.retry_after;
        let mut response = (status, Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<InstallationError> for ProblemDetails {
    fn from(error: InstallationError) -> ProblemDetails {
        match error {
            InstallationError::Refused(why) => ProblemDetails::bad_request(why),
            InstallationError::Stale(why) => ProblemDetails::conflict(why),
            InstallationError::Missing(what) => ProblemDetails::not_found(what),
            InstallationError::Failed(why) => ProblemDetails::internal_failure(why),
            InstallationError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ProblemDetails {
    fn from(error: StoreError) -> ProblemDetails {
        match error {
            StoreError::Missing { what } => ProblemDetails::not_found(what),
            error @ StoreError::Held { .. } => ProblemDetails::conflict(error.to_string()),
            error if error.is_full() => ProblemDetails::refused_by_disk(
                &error,
                "disk_full",
                "the server's disk is full, so this was not done: when there is room again, try \
                 again; what was confirmed before is kept",
            ),
            error @ StoreError::Damaged { .. } => ProblemDetails::refused_by_disk(
                &error,
                "damaged",
                "what the server keeps is damaged here, so this was not done: whoever runs the \
                 server finds in its log what to restore from a backup",
            ),
            error => ProblemDetails::internal_failure(error),
        }
    }
}

impl From<EngineError> for ProblemDetails {
    fn from(error: EngineError) -> ProblemDetails {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Session(why) => ProblemDetails::not_found(why),
            EngineError::Refused(why) => ProblemDetails::conflict(why),
            error @ (EngineError::Stopped | EngineError::Crashed) => {
                ProblemDetails::internal_failure(error)
            }
        }
    }
}
