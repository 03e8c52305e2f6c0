//! Serves: HTTP, WebSocket, the browser's pages, people and their schedules (S1 to S17).
//!
//! A face like any other: it folds what the engine publishes and sends it commands. Settings,
//! models, people and what their agents can use it has from `weir-install`; files of the
//! configuration, concrete stores, tools and providers it never sees. Reading order: `app`,
//! `caller`, `route`, `guard`; then `auth` and `sign_in` (who somebody is), `session_registry` and
//! `live` (sessions that run), `phone` (telephones that are paired), `api` (JSON), `chat` and `web` (pages), `render` (text to safe HTML),
//! `routes` (all addresses); `offscreen` is for tests that compare faces.
#![warn(missing_docs)]

mod account_admin;
mod agents;
mod api;
mod app;
mod audit;
mod auth;
mod brain;
mod caller;
mod chat;
mod embedded;
mod guard;
mod headers;
mod health;
mod inbox;
mod limits;
mod live;
mod mail;
mod mcp;
mod mcp_clients;
mod mcp_token;
mod memory;
mod metrics;
mod notice_acts;
pub mod notify;
pub mod offscreen;
mod openapi;
mod page;
mod peer;
mod person_news;
pub mod phone;
mod problem;
mod recent_workspaces;
pub mod render;
mod request;
mod route;
mod routes;
mod schedule;
mod serve;
mod session_registry;
mod sign_in;
mod tls;
mod usage;
mod web;
mod x509;

pub use app::{App, ServerLimits, ServerOptions};
pub use route::{Route, RouteAccess};
pub use routes::{all_routes, openapi_document};
pub use serve::{HttpServer, ServeError};
pub use tls::{TlsError, certificate_finding};
