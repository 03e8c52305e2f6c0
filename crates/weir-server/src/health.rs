//! Whether the process lives, whether it can work, and its figures (S15). Not here: what an admin
//! sees of it (`web/pages/admin`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode, header};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use weir_install::maintenance::{HealthFinding, HealthLevel};

use crate::app::App;
use crate::app::health_monitor::HealthMonitor;
use crate::headers;
use crate::peer::ClientAddress;
use crate::problem::ProblemDetails;
use crate::tls::check_certificate;

/// How long what was found holds: whoever asks often does not make the database work.
const HOLDS: Duration = Duration::from_secs(1);
/// How long the database may take to answer.
const DATABASE_TIME: Duration = Duration::from_secs(3);

/// The three addresses. They ask nobody who they are: a database that is away must not keep them
/// from answering.
pub(crate) fn health_routes() -> Router<App> {
    let named = |route: &'static str, methods: MethodRouter<App>| {
        methods.layer(from_fn_with_state(route, headers::label_route))
    };
    Router::new()
        .route("/healthz", named("/healthz", get(get_healthz)))
        .route("/readyz", named("/readyz", get(get_readyz)))
        .route("/metrics", named("/metrics", get(get_metrics)))
}

/// That the process answers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LivenessReport {
    /// Always `ok`.
    pub(crate) status: &'static str,
    /// Version of the program.
    pub(crate) version: String,
}

async fn get_healthz(State(app): State<App>) -> Json<LivenessReport> {
    Json(LivenessReport { status: "ok", version: app.installation.version().to_owned() })
}

/// Whether requests should be sent here.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReadinessReport {
    /// Whether they should.
    pub(crate) ready: bool,
    /// What keeps it from working: `database`, `disk`, `draining`.
    pub(crate) wrong: Vec<String>,
    /// What does not, and somebody should look at: `certificate`, `clock`, `damaged`, `disk`. The
    /// page *Server* says it in words.
    pub(crate) warnings: Vec<String>,
}

async fn get_readyz(State(app): State<App>) -> Response {
    let findings = app.health.current_findings(&app).await;
    let named = |health: HealthLevel| -> Vec<String> {
        let found = findings.iter().filter(|one| one.health == health);
        found.map(|one| one.name.clone()).collect()
    };
    let (mut wrong, warnings) = (named(HealthLevel::Bad), named(HealthLevel::Warn));
    if app.stop.is_cancelled() {
        wrong.push("draining".into());
    }
    let ready = ReadinessReport { ready: wrong.is_empty(), wrong, warnings };
    let status = if ready.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(ready)).into_response()
}

async fn get_metrics(State(app): State<App>, asks: ClientAddress, headers: HeaderMap) -> Response {
    if !may_measure(asks, &headers, app.options.metrics_token.as_deref()) {
        let sentence = "figures are for this machine; others send the token that \
                        server.metrics_token_env names";
        return ProblemDetails::not_permitted(sentence).into_response();
    }
    let mut now: Vec<(&str, &str, f64)> = Vec::new();
    if let Some(free) = app.installation.maintenance().disk_free_bytes() {
        now.push(("disk_free_bytes", "Bytes free where the data lies", free as f64));
    }
    let ready =
        app.health.current_findings(&app).await.iter().all(|one| one.health != HealthLevel::Bad);
    now.push(("ready", "Whether it can work", f64::from(u8::from(ready))));
    now.push(("sessions_open", "Sessions that run in this process", app.sessions.count() as f64));
    let listening = app.sessions.listeners().count();
    now.push(("listeners", "Sockets and event streams that listen", listening as f64));
    if let Some(certificate) = app.certificate.get() {
        let ends = certificate.ends_at().micros() as f64 / 1e6;
        now.push(("certificate_ends_seconds", "When the certificate ends", ends));
    }
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = app.metrics.render_text(app.connections.open_count(), &now);
    ([(header::CONTENT_TYPE, media)], text).into_response()
}

/// Whether a request may read the metrics: one from this machine that no proxy passed on for
/// another, and one with the token.
fn may_measure(asks: ClientAddress, headers: &HeaderMap, token: Option<&str>) -> bool {
    let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let sent = sent.and_then(|text| text.strip_prefix("Bearer "));
    if let (Some(token), Some(sent)) = (token, sent) {
        // Hashes are compared: how long that takes says nothing of the token.
        return Sha256::digest(token) == Sha256::digest(sent);
    }
    let by_proxy = ["x-forwarded-for", "forwarded"].iter().any(|name| headers.contains_key(*name));
    asks.ip.is_loopback() && !by_proxy
}

impl HealthMonitor {
    /// Everything that was looked at, at most a second ago.
    pub(crate) async fn current_findings(&self, app: &App) -> Arc<Vec<HealthFinding>> {
        let mut last = self.last.lock().await;
        if let Some((at, findings)) = last.as_ref().filter(|(at, _)| at.elapsed() < HOLDS) {
            tracing::trace!(age = ?at.elapsed(), "findings are fresh");
            return findings.clone();
        }
        let mut findings = vec![check_database(app).await, self.check_clock(app.current_time())];
        findings.extend(
            app.certificate.get().map(|one| check_certificate(one.ends_at(), app.current_time())),
        );
        findings.extend(self.unreadable_finding());
        findings.extend(app.installation.maintenance().findings().await);
        let findings = Arc::new(findings);
        *last = Some((Instant::now(), findings.clone()));
        findings
    }
}

async fn check_database(app: &App) -> HealthFinding {
    let says = match tokio::time::timeout(DATABASE_TIME, app.records.check_alive()).await {
        Ok(Ok(())) => {
            return HealthFinding::new("database", HealthLevel::Good, "the database answers");
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it did not answer within {} s", DATABASE_TIME.as_secs()),
    };
    tracing::error!(why = %says, "the database does not answer");
    let says = format!("the database does not answer: {says}. Nothing is done until it does");
    HealthFinding::new("database", HealthLevel::Bad, says)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(ip: &str, lines: &[(&'static str, &'static str)], token: Option<&str>) -> bool {
        let ip = ip.parse().expect("an address");
        let pairs = lines.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
        });
        may_measure(ClientAddress { ip, secure: false }, &pairs.collect(), token)
    }

    #[test]
    fn s15_figures_are_for_this_machine_or_the_token() {
        assert!(may("127.0.0.1", &[], None));
        assert!(may("::1", &[], Some("secret")));
        assert!(!may("192.0.2.1", &[], None));
        assert!(!may("127.0.0.1", &[("x-forwarded-for", "192.0.2.1")], None), "a proxy's client");
        assert!(may("192.0.2.1", &[("authorization", "Bearer secret")], Some("secret")));
        assert!(!may("192.0.2.1", &[("authorization", "Bearer secre")], Some("secret")));
        assert!(!may("192.0.2.1", &[("authorization", "Bearer ")], None));
    }
}
