//! Serves: HTTP, WebSocket, the browser's pages, people and their schedules (S1 to S17).
//!
//! A face like any other: it folds what the engine publishes and sends it commands. Settings,
//! models, people and what their agents can use it has from `weir-install`; files of the
//! configuration, concrete stores, tools and providers it never sees. Reading order: `app`,
//! `route`, `guard`; then `auth` (who somebody is), `live` (sessions that run), `api` (JSON), `web`
//! (pages), `render` (text to safe HTML); `offscreen` is for tests that compare faces.
#![warn(missing_docs)]

mod agents;
mod api;
mod app;
mod audit;
mod auth;
mod guard;
mod headers;
mod health;
mod limits;
mod live;
mod mail;
mod memory;
mod metrics;
pub mod notify;
pub mod offscreen;
mod openapi;
mod peer;
mod problem;
pub mod render;
mod route;
mod schedule;
mod serve;
mod tls;
mod usage;
mod web;

pub use app::{App, ServerLimits, ServerOptions};
pub use openapi::openapi_document as openapi;
pub use route::{Route, RouteAccess, all_routes};
pub use serve::{HttpServer, ServeError};
pub use tls::{TlsError, certificate_finding};
