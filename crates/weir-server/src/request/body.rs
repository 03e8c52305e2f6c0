//! What was sent and how it is answered: an address of the API takes JSON and gives JSON, an address
//! of a page takes its form and leads to a page. One handler serves both, because what it asks for in
//! its signature is the same. Not here: how a form is read (`request::form`).

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Request};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;

use super::form::read_form;
use crate::problem::{HandlerResult, ProblemDetails};

/// Below this stand the addresses of programs.
const API: &str = "/api/";
/// Scripts of our pages send it with what they send in place of a form.
const SCRIPT_HEADER: &str = "x-csrf-token";

/// The kind of client that waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyTo {
    /// A program, by an address of the API: it reads JSON.
    Program,
    /// A script of one of our pages: it needs no page.
    Script,
    /// A browser that sent a form: it goes to a page.
    Browser,
}

impl ReplyTo {
    fn of_request(parts: &Parts) -> ReplyTo {
        match (parts.uri.path().starts_with(API), parts.headers.contains_key(SCRIPT_HEADER)) {
            (true, _) => ReplyTo::Program,
            (false, true) => ReplyTo::Script,
            (false, false) => ReplyTo::Browser,
        }
    }

    /// It is done: `answer` for a program, `page` for a browser.
    pub(crate) fn answer_done(self, page: &str, answer: impl IntoResponse) -> Response {
        match self {
            ReplyTo::Program => answer.into_response(),
            ReplyTo::Script => StatusCode::NO_CONTENT.into_response(),
            ReplyTo::Browser => Redirect::to(page).into_response(),
        }
    }

    /// A page was made, to which a script goes as well.
    pub(crate) fn answer_created(self, page: &str) -> Response {
        if self == ReplyTo::Browser {
            return Redirect::to(page).into_response();
        }
        let mut response = StatusCode::CREATED.into_response();
        if let Ok(page) = HeaderValue::from_str(page) {
            response.headers_mut().insert(header::LOCATION, page);
        }
        response
    }

    /// It was done before, and `page` shows it. A script tells it by the status: what it sent now was
    /// not looked at.
    pub(crate) fn answer_repeated(self, page: &str) -> Response {
        match self {
            ReplyTo::Browser => Redirect::to(page).into_response(),
            ReplyTo::Program | ReplyTo::Script => {
                let mut response = self.answer_created(page);
                *response.status_mut() = StatusCode::OK;
                response
            }
        }
    }

    /// It is done, and `page` says so in a sentence.
    pub(crate) fn answer_with_note(
        self,
        page: &str,
        note: &str,
        answer: impl IntoResponse,
    ) -> Response {
        match self {
            ReplyTo::Program => answer.into_response(),
            ReplyTo::Script | ReplyTo::Browser => redirect_with(page, "note", note).into_response(),
        }
    }

    /// It is done and noted, or a browser finds on `page` why it is not.
    ///
    /// # Errors
    /// It was not done, and a program or script asked.
    pub(crate) fn noted_or_problem<T: IntoResponse>(
        self,
        page: &str,
        note: &str,
        done: HandlerResult<T>,
    ) -> HandlerResult<Response> {
        match (done, self) {
            (Ok(answer), _) => Ok(self.answer_with_note(page, note, answer)),
            // A script would follow the redirect and take the page for success.
            (Err(problem), ReplyTo::Program | ReplyTo::Script) => Err(problem),
            (Err(problem), ReplyTo::Browser) => {
                Ok(redirect_with(page, "problem", &problem.detail).into_response())
            }
        }
    }
}

/// To a page, with a sentence for it under this name.
pub(crate) fn redirect_with(page: &str, name: &str, sentence: &str) -> Redirect {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair(name, sentence);
    Redirect::to(&format!("{page}?{}", query.finish()))
}

/// To a page, which says what was done, or what was refused and why.
///
/// # Errors
/// It was not done for another reason than what was sent, or what is there now: then a page of its
/// own says so.
pub(crate) fn redirect_with_result(
    page: &str,
    done: HandlerResult<impl AsRef<str>>,
) -> HandlerResult<Redirect> {
    match done {
        Ok(note) => Ok(redirect_with(page, "note", note.as_ref())),
        Err(problem) if problem.is_refusal() => Ok(redirect_with(page, "problem", &problem.detail)),
        Err(problem) => Err(problem),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ReplyTo {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> HandlerResult<ReplyTo> {
        Ok(ReplyTo::of_request(parts))
    }
}

/// What was sent: JSON to an address of the API, a form to that of a page.
#[derive(Debug)]
pub(crate) struct SentBody<T>(pub(crate) T);

async fn read_sent_form<T: DeserializeOwned, S: Send + Sync>(
    request: Request,
    state: &S,
) -> Result<T, Response> {
    let bytes = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
    read_form(&bytes).map_err(|error| {
        ProblemDetails::bad_request(format!("the form cannot be read: {error}")).into_response()
    })
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for SentBody<T> {
    type Rejection = Response;
    async fn from_request(request: Request, state: &S) -> Result<SentBody<T>, Response> {
        if !request.uri().path().starts_with(API) {
            return read_sent_form(request, state).await.map(SentBody);
        }
        let sent = <Json<T> as FromRequest<S>>::from_request(request, state).await;
        sent.map(|Json(sent)| SentBody(sent)).map_err(IntoResponse::into_response)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> OptionalFromRequest<S> for SentBody<T> {
    type Rejection = Response;
    async fn from_request(request: Request, state: &S) -> Result<Option<SentBody<T>>, Response> {
        if !request.uri().path().starts_with(API) {
            return read_sent_form(request, state).await.map(|sent| Some(SentBody(sent)));
        }
        let sent = <Json<T> as OptionalFromRequest<S>>::from_request(request, state).await;
        sent.map(|sent| sent.map(|Json(sent)| SentBody(sent))).map_err(IntoResponse::into_response)
    }
}
