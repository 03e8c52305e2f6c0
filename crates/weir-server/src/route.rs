//! Every address that the server answers, as a table: from it the router, the OpenAPI document and
//! the sweep of other people's ids are made (S2, S14). Not here: what is asked and answered there (`contract`).

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use http::Method;
use tower_http::limit::RequestBodyLimitLayer;

use crate::app::App;
use crate::{guard, headers, limits};

mod contract;

pub use crate::guard::RouteAccess;
#[cfg(test)]
pub(crate) use contract::{RouteAnswer, RouteContract, SchemaOf};

/// One method of one address.
#[derive(Clone)]
pub struct Route {
    /// Method.
    pub method: Method,
    /// Address, with `{id}` for what changes.
    pub path: &'static str,
    /// The callers that it is open to.
    pub access: RouteAccess,
    /// One line for people; pages have none and stand in no API document.
    pub summary: &'static str,
    #[cfg(test)]
    pub(crate) contract: RouteContract,
    pub(crate) body_bytes_max: usize,
    pub(crate) handler: Arc<dyn Fn() -> MethodRouter<App> + Send + Sync>,
}

/// What a handler gives.
type HandlerFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of any signature. Routes hold these, so that what routing is made of is compiled once and not
/// once for each of the handlers.
#[derive(Clone)]
struct AnyHandler(Arc<dyn Fn(Request, App) -> HandlerFuture + Send + Sync>);

impl AnyHandler {
    fn new<H, T>(handler: H) -> AnyHandler
    where
        H: Handler<T, App, Future = HandlerFuture> + Sync,
        T: 'static,
    {
        AnyHandler(Arc::new(move |request, app| handler.clone().call(request, app)))
    }
}

impl Handler<(), App> for AnyHandler {
    type Future = HandlerFuture;

    fn call(self, request: Request, app: App) -> HandlerFuture {
        (self.0)(request, app)
    }
}

impl Route {
    fn new(method: Method, filter: MethodFilter, path: &'static str, handler: AnyHandler) -> Route {
        Route {
            method,
            path,
            access: RouteAccess::Person,
            summary: "",
            #[cfg(test)]
            contract: RouteContract::default(),
            body_bytes_max: limits::BODY_BYTES_MAX,
            handler: Arc::new(move || on(filter, handler.clone())),
        }
    }

    /// `GET`.
    pub(crate) fn get<H, T>(path: &'static str, handler: H) -> Route
    where
        H: Handler<T, App, Future = HandlerFuture> + Sync,
        T: 'static,
    {
        Route::new(Method::GET, MethodFilter::GET, path, AnyHandler::new(handler))
    }

    /// `POST`.
    pub(crate) fn post<H, T>(path: &'static str, handler: H) -> Route
    where
        H: Handler<T, App, Future = HandlerFuture> + Sync,
        T: 'static,
    {
        Route::new(Method::POST, MethodFilter::POST, path, AnyHandler::new(handler))
    }

    /// `PUT`.
    pub(crate) fn put<H, T>(path: &'static str, handler: H) -> Route
    where
        H: Handler<T, App, Future = HandlerFuture> + Sync,
        T: 'static,
    {
        Route::new(Method::PUT, MethodFilter::PUT, path, AnyHandler::new(handler))
    }

    /// `PATCH`.
    pub(crate) fn patch<H, T>(path: &'static str, handler: H) -> Route
    where
        H: Handler<T, App, Future = HandlerFuture> + Sync,
        T: 'static,
    {
        Route::new(Method::PATCH, MethodFilter::PATCH, path, AnyHandler::new(handler))
    }

    /// `DELETE`.
    pub(crate) fn delete<H, T>(path: &'static str, handler: H) -> Route
    where
        H: Handler<T, App, Future = HandlerFuture> + Sync,
        T: 'static,
    {
        Route::new(Method::DELETE, MethodFilter::DELETE, path, AnyHandler::new(handler))
    }

    /// Opens the route to these callers; without it, to everybody who is signed in.
    pub(crate) fn access(mut self, access: RouteAccess) -> Route {
        self.access = access;
        self
    }

    /// One line for the API document. Without it the route is a page and stands in none.
    pub(crate) fn summary(mut self, summary: &'static str) -> Route {
        self.summary = summary;
        self
    }

    /// Bytes that its body may have. Without it: [`limits::BODY_BYTES_MAX`].
    pub(crate) fn body_max(mut self, bytes: usize) -> Route {
        self.body_bytes_max = bytes;
        self
    }
}

/// The router of a table. Each route is guarded as its `access` says, whatever its handler does.
pub(crate) fn build_router(app: &App, table: &[Route]) -> Router<App> {
    let mut router = Router::new();
    for route in table {
        let limit = route.body_bytes_max;
        let methods = (route.handler)()
            .layer::<_, Infallible>(DefaultBodyLimit::disable())
            .layer(RequestBodyLimitLayer::new(limit))
            .layer(from_fn_with_state(app.clone(), guard::per_person));
        let guarded = guard::guard_methods(app, route.access, methods);
        let named = guarded.layer(from_fn_with_state(route.path, headers::label_route));
        router = router.route(route.path, named);
    }
    let host = axum::middleware::from_fn_with_state(app.clone(), guard::check_host);
    router.layer(host)
}
