//! One server of a session: how it stands against what a person approved, its connection while it
//! has one, and when it is tried again. Not here: the protocol, and what a call may do.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use rmcp::model::{CallToolResult, JsonObject};
use tokio::sync::broadcast;
use weir_core::ids::Timestamp;

use crate::changes::describe_tool_changes;
use crate::connect::{
    HandshakeMode, NotConnected, RequestFailure, RequestScope, ServerConnection, connect_server,
    deadline_after, run_until, wants_sign_in,
};
use crate::handler::{McpConnectionContext, ServerChange};
use crate::listing::ServerListing;
use crate::pin::{DifferenceKind, PinDifference, ServerPin, in_words};
use crate::ports::{McpOptions, Sampler};
use crate::spec::ServerSpec;
use crate::state::{ServerReport, ServerState};

/// First wait after a server failed twice in a row, in milliseconds.
const BACKOFF_MS: u64 = 500;
/// Longest such wait.
const BACKOFF_MS_MAX: u64 = 60_000;
/// How often somebody signs in for one call: each time the server may want more.
const SIGN_INS_MAX: usize = 3;
/// So many changes of one server are told: of one that goes on changing nothing more is learned.
const CHANGES_TOLD_MAX: usize = 10;
/// A call waits so long for the next try; beyond it fails at once.
const PATIENCE_MS: u64 = 3_000;

/// What is known without asking it.
#[derive(Default)]
struct ServerSnapshot {
    starting: bool,
    failed: Option<String>,
    ready: Option<(bool, bool)>,
    /// What it said when it was asked last.
    listing: Option<Arc<ServerListing>>,
    differences: Vec<PinDifference>,
    /// What of that the session was told.
    told: BTreeSet<String>,
    errors: String,
}

/// The connection, or when to try next.
enum ConnectionState {
    Down { failures: u32, not_before: Timestamp },
    Up { connection: Arc<ServerConnection>, failures: u32 },
}

/// One server.
pub(crate) struct McpServer {
    pub(crate) spec: ServerSpec,
    pub(crate) pin: Option<ServerPin>,
    options: Arc<McpOptions>,
    changes: broadcast::Sender<ServerChange>,
    known: Mutex<ServerSnapshot>,
    /// Held while a connection is made, so that it is made once; nobody else waits for it.
    link: tokio::sync::Mutex<ConnectionState>,
}

impl McpServer {
    pub(crate) fn new(
        spec: ServerSpec,
        pin: Option<ServerPin>,
        options: Arc<McpOptions>,
        changes: broadcast::Sender<ServerChange>,
    ) -> McpServer {
        let link = ConnectionState::Down { failures: 0, not_before: Timestamp::default() };
        McpServer {
            spec,
            pin,
            options,
            changes,
            known: Mutex::default(),
            link: tokio::sync::Mutex::new(link),
        }
    }

    fn lock_snapshot(&self) -> MutexGuard<'_, ServerSnapshot> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What differs in its declaration.
    fn declaration_differences(&self) -> Vec<PinDifference> {
        self.pin.as_ref().map(|pin| pin.of_declaration(&self.spec)).unwrap_or_default()
    }

    /// Why no tool of it may be offered; `None`: its approved tools may.
    pub(crate) fn closed_reason(&self) -> Option<String> {
        let name = &self.spec.name;
        let approve = format!("a person looks at it with `weir mcp-servers approve {name}`");
        if !self.spec.enabled {
            return Some(format!("The server {name} is switched off ({}).", self.spec.origin));
        }
        if self.pin.is_none() {
            return Some(format!("Nobody has approved the server {name} yet; {approve}."));
        }
        let redeclared = self.declaration_differences();
        if !redeclared.is_empty() {
            return Some(format!(
                "The server {name} is declared otherwise than it was approved:\n{}\nUntil then it \
                 is closed; {approve}.",
                in_words(&redeclared)
            ));
        }
        let known = self.lock_snapshot();
        let whole = |d: &&PinDifference| d.tool.is_none() && d.kind == DifferenceKind::Changed;
        known.differences.iter().find(whole).map(|_| {
            format!(
                "The server {name} no longer calls itself what it did when it was approved. Until \
                 then it is closed; {approve}."
            )
        })
    }

    /// Why one tool may not be called. In words of ours: what a server says of itself before anybody
    /// saw it does not reach a model, not even as a quotation.
    pub(crate) fn closed_tool(&self, tool: &str) -> Option<String> {
        if let Some(why) = self.closed_reason() {
            return Some(why);
        }
        let name = &self.spec.name;
        let known = self.lock_snapshot();
        let found = known.differences.iter().find(|d| d.tool.as_deref() == Some(tool))?;
        let what = match found.kind {
            DifferenceKind::Changed => format!(
                "is not as it was approved: {} differ now",
                changed_parts(self.pin.as_ref(), known.listing.as_deref(), tool)
            ),
            DifferenceKind::Added => "is new and nobody has approved it".into(),
            DifferenceKind::Removed => {
                return Some(format!("The server {name} no longer offers the tool {tool}."));
            }
            DifferenceKind::Told => return None,
        };
        Some(format!(
            "The tool {tool} of the server {name} {what}. It is closed until a person has seen the \
             difference: `weir mcp-servers approve {name}`. Go on without it."
        ))
    }

    pub(crate) fn report(&self) -> ServerReport {
        let redeclared = self.declaration_differences();
        let known = self.lock_snapshot();
        let mut differences = redeclared;
        differences.extend(known.differences.iter().cloned());
        let closes = differences.iter().any(|d| d.kind != DifferenceKind::Told);
        let state = if !self.spec.enabled {
            ServerState::Disabled
        } else if self.pin.is_none() {
            ServerState::Unpinned
        } else if closes {
            ServerState::Changed { diff: in_words(&differences) }
        } else if known.starting {
            ServerState::Starting
        } else if let Some((resources, prompts)) = known.ready {
            let listing = known.listing.as_ref();
            ServerState::Ready {
                tools: listing.map_or(0, |listing| listing.tools.len()),
                resources,
                prompts,
                protocol: listing.map(|listing| listing.protocol.clone()).unwrap_or_default(),
            }
        } else if let Some(why) = &known.failed {
            ServerState::Failed { why: why.clone() }
        } else {
            ServerState::NotStarted
        };
        let approved = || self.pin.as_ref().map(|pin| pin.listing.clone());
        ServerReport {
            name: self.spec.name.clone(),
            origin: self.spec.origin.clone(),
            state,
            listing: known.listing.as_deref().cloned().or_else(approved),
            errors: known.errors.clone(),
        }
    }

    /// Its connection; made where there is none, and its tools compared with what was approved.
    pub(crate) fn open_connection(&self) -> BoxFuture<'_, Result<Arc<ServerConnection>, String>> {
        Box::pin(self.find_or_make_connection())
    }

    async fn find_or_make_connection(&self) -> Result<Arc<ServerConnection>, String> {
        if let Some(why) = self.closed_reason() {
            return Err(why);
        }
        let mut link = self.link.lock().await;
        let failures = match &*link {
            ConnectionState::Up { connection, failures } => {
                if !connection.is_gone() {
                    let connection = connection.clone();
                    if connection.shared.stale.load(Ordering::Acquire) {
                        self.look_again(&connection).await?;
                    }
                    return Ok(connection);
                }
                self.record_disconnect(connection).await;
                let failures = failures + 1;
                let not_before = self.wait_after(failures);
                *link = ConnectionState::Down { failures, not_before };
                self.wait_until(not_before).await?;
                failures
            }
            ConnectionState::Down { failures, not_before } => {
                let failures = *failures;
                self.wait_until(*not_before).await?;
                failures
            }
        };
        self.lock_snapshot().starting = true;
        let made = self.start_server().await;
        self.lock_snapshot().starting = false;
        match made {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *link = ConnectionState::Up { connection: connection.clone(), failures };
                self.notify_change("connection");
                Ok(connection)
            }
            Err(why) => {
                let failures = failures + 1;
                *link = ConnectionState::Down { failures, not_before: self.wait_after(failures) };
                let mut known = self.lock_snapshot();
                known.ready = None;
                known.failed = Some(why.clone());
                drop(known);
                self.notify_change("connection");
                Err(format!("The server {} cannot be used: {why}.", self.spec.name))
            }
        }
    }

    /// Starts it and asks what it offers. Who asked knows nothing of pins.
    fn start_server(&self) -> BoxFuture<'_, Result<ServerConnection, String>> {
        Box::pin(self.start_in_its_way())
    }

    async fn start_in_its_way(&self) -> Result<ServerConnection, String> {
        let approved = self.pin.as_ref().map(|pin| pin.listing.protocol.as_str());
        // A server that spoke the old way when it was approved is greeted so: one question less,
        // and some never answer one that they do not know.
        let wished = self.spec.protocol.as_deref();
        let begin = match wished.or(approved) {
            Some(protocol) if !protocol.is_empty() && protocol < "2026-07-28" => {
                HandshakeMode::Greet
            }
            _ => HandshakeMode::Discover,
        };
        let other = if begin == HandshakeMode::Greet {
            HandshakeMode::Discover
        } else {
            HandshakeMode::Greet
        };
        let connection = match self.connect_signed_in(begin).await {
            Ok(connection) => connection,
            // Silence to the new question may mean that it knows the old greeting only; an answer
            // that is none, that it has learned, or never learned, the other way.
            Err(NotConnected { silent, refused, why, sign_in: None })
                if wished.is_none()
                    && (refused || (silent && begin == HandshakeMode::Discover)) =>
            {
                match self.connect_signed_in(other).await {
                    Ok(connection) => connection,
                    Err(again) if silent => return Err(again.why),
                    Err(_) => return Err(why),
                }
            }
            Err(NotConnected { why, .. }) => return Err(why),
        };
        self.inspect_or_sign_in(connection).await
    }

    /// The connection, once the server has said what it offers. It may want somebody to sign in
    /// only then.
    async fn inspect_or_sign_in(
        &self,
        mut connection: ServerConnection,
    ) -> Result<ServerConnection, String> {
        for _ in 0..SIGN_INS_MAX {
            let failed = match self.inspect_listing(&connection).await {
                Ok(()) => return Ok(connection),
                Err(failed) => failed,
            };
            let said = connection.describe_stderr().await;
            let begin = match connection.protocol_version().as_str() {
                "2026-07-28" => HandshakeMode::Discover,
                _ => HandshakeMode::Greet,
            };
            connection.close().await;
            match failed {
                RequestFailure::SignIn(challenge) if self.options.authorizer.is_some() => {
                    self.sign_in(Some(&challenge)).await?;
                    connection =
                        self.connect_signed_in(begin).await.map_err(|refused| refused.why)?;
                }
                other => {
                    return Err(format!(
                        "it does not say what it offers: {}{said}",
                        in_a_word(&self.spec.name, other)
                    ));
                }
            }
        }
        connection.close().await;
        Err(format!(
            "it does not say what it offers, although somebody signed in {SIGN_INS_MAX} times"
        ))
    }

    /// Connects, after signing in where the server wants that and a person can be brought there.
    async fn connect_signed_in(
        &self,
        begin: HandshakeMode,
    ) -> Result<ServerConnection, NotConnected> {
        let shared = || {
            Arc::new(McpConnectionContext::new(
                &self.spec,
                self.options.clone(),
                self.changes.clone(),
            ))
        };
        let refused = match connect_server(&self.spec, shared(), begin).await {
            Ok(connection) => return Ok(connection),
            Err(refused) => refused,
        };
        let Some(challenge) = &refused.sign_in else { return Err(refused) };
        if self.options.authorizer.is_none() {
            return Err(refused);
        }
        match self.sign_in(Some(challenge)).await {
            Ok(()) => connect_server(&self.spec, shared(), begin).await,
            Err(why) => Err(NotConnected { why, ..refused }),
        }
    }

    /// Signs a person in.
    pub(crate) fn sign_in<'a>(
        &'a self,
        challenge: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let Some(authorizer) = &self.options.authorizer else {
                return Err(wants_sign_in(&self.spec.name));
            };
            let challenge = challenge.filter(|challenge| !challenge.is_empty());
            crate::auth::sign_in(&self.spec, &self.options, authorizer.as_ref(), challenge).await
        })
    }

    /// Asks what it offers and compares that with what was approved.
    async fn inspect_listing(&self, connection: &ServerConnection) -> Result<(), RequestFailure> {
        let listing = connection.fetch_listing().await?;
        let (_, resources, prompts) = connection.offered_features();
        let differences = self.pin.as_ref().map(|pin| pin.of_listing(&listing)).unwrap_or_default();
        let mut known = self.lock_snapshot();
        known.failed = None;
        known.ready = Some((resources, prompts));
        known.listing = Some(Arc::new(listing));
        known.differences = differences;
        Ok(())
    }

    async fn look_again(&self, connection: &ServerConnection) -> Result<(), String> {
        self.inspect_listing(connection).await.map_err(|failed| {
            let name = &self.spec.name;
            let why = in_a_word(name, failed);
            format!("The server {name} changed its tools and does not list them: {why}.")
        })
    }

    async fn record_disconnect(&self, connection: &ServerConnection) {
        let errors = connection.stderr_text().await;
        let mut known = self.lock_snapshot();
        known.errors = errors;
        known.ready = None;
        known.failed = Some("it ended".into());
    }

    /// When to try again after so many failures in a row: at once after the first, then later and
    /// later, at a moment that others do not choose too.
    fn wait_after(&self, failures: u32) -> Timestamp {
        let clock = &self.options.clock;
        let ms = match failures {
            0 | 1 => 0,
            n => (BACKOFF_MS << (n - 2).min(16)).min(BACKOFF_MS_MAX),
        };
        let jitter = if ms == 0 { 0 } else { clock.random_number() % (ms / 4 + 1) };
        let us = i64::try_from((ms + jitter) * 1_000).unwrap_or(i64::MAX);
        Timestamp(clock.now().0.saturating_add(us))
    }

    async fn wait_until(&self, moment: Timestamp) -> Result<(), String> {
        let left_ms = moment.0.saturating_sub(self.options.clock.now().0).max(0) / 1_000;
        let left_ms = u64::try_from(left_ms).unwrap_or(0);
        if left_ms > PATIENCE_MS {
            let failed = self.lock_snapshot().failed.clone().unwrap_or_default();
            return Err(format!(
                "The server {} failed several times ({failed}); it is tried again in {} seconds.",
                self.spec.name,
                left_ms.div_ceil(1_000)
            ));
        }
        self.options.clock.sleep_until(moment).await;
        Ok(())
    }

    /// Calls one of its tools.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: JsonObject,
        way: &RequestScope<'_>,
    ) -> Result<CallToolResult, String> {
        let mut connection = self.open_for(way).await?;
        // What it said while it was started, or said since, counts.
        if let Some(why) = self.closed_tool(tool) {
            return Err(why);
        }
        let mut result = connection.call_tool(tool, arguments.clone(), way).await;
        for _ in 0..SIGN_INS_MAX {
            let Err(RequestFailure::SignIn(challenge)) = &result else { break };
            if self.options.authorizer.is_none() {
                break;
            }
            self.sign_in(Some(challenge)).await?;
            // The server refused before it did anything, so asking again does nothing twice.
            drop(connection);
            self.close().await;
            connection = self.open_for(way).await?;
            result = connection.call_tool(tool, arguments.clone(), way).await;
        }
        match result {
            Ok(result) => {
                self.reset_failures().await;
                Ok(result)
            }
            Err(failed) => {
                let why = self.after_failure(&connection, failed).await;
                Err(format!("The call of {tool} failed: {why}"))
            }
        }
    }

    /// Its connection, unless the call is cancelled first.
    pub(crate) async fn open_for(
        &self,
        way: &RequestScope<'_>,
    ) -> Result<Arc<ServerConnection>, String> {
        tokio::select! {
            biased;
            () = way.cancel.cancelled() => Err("The call was cancelled.".into()),
            opened = self.open_connection() => opened,
        }
    }

    /// Who answers its questions to the model; none: it may not ask.
    pub(crate) fn sampler(&self) -> Option<&Arc<dyn Sampler>> {
        self.options.sampler.as_ref().filter(|_| self.spec.sampling)
    }

    /// Asks again what it offers, where it runs and said that its list is another. It is not started for that,
    /// and what fails shows at its next call.
    pub(crate) async fn look_if_stale(&self) {
        let link = self.link.lock().await;
        if let ConnectionState::Up { connection, .. } = &*link
            && !connection.is_gone()
            && connection.shared.stale.load(Ordering::Acquire)
            && let Err(why) = self.look_again(connection).await
        {
            tracing::debug!(why, "a changed list could not be read");
        }
    }

    /// The same, and no longer than this: the server may not answer, and somebody may be signing in to it
    /// meanwhile. What is not read then is read before its next call.
    pub(crate) async fn look_if_stale_within(&self, ms: u64) {
        let (clock, server) = (self.options.clock.as_ref(), &self.spec.name);
        if run_until(clock, deadline_after(clock, ms), self.look_if_stale()).await.is_none() {
            tracing::debug!(server, "a changed list is not read yet");
        }
    }

    /// Whether [`McpServer::take_tool_change`] has anything.
    pub(crate) fn has_tool_change(&self) -> bool {
        self.untold_change(&self.lock_snapshot()).is_some()
    }

    /// What of its tools is not as it was approved, and what to do, where that was not told yet.
    pub(crate) fn take_tool_change(&self) -> Option<String> {
        let mut known = self.lock_snapshot();
        let words = self.untold_change(&known)?;
        known.told.insert(words.clone());
        Some(words)
    }

    fn untold_change(&self, known: &ServerSnapshot) -> Option<String> {
        let words = describe_tool_changes(&self.spec.name, &known.differences)?;
        let is_new = !known.told.contains(&words) && known.told.len() < CHANGES_TOLD_MAX;
        is_new.then_some(words)
    }

    /// A call went well: what failed before is forgotten.
    pub(crate) async fn reset_failures(&self) {
        if let Ok(mut link) = self.link.try_lock()
            && let ConnectionState::Up { failures, .. } = &mut *link
        {
            *failures = 0;
        }
    }

    /// What to say about a request without an answer.
    pub(crate) async fn after_failure(
        &self,
        connection: &ServerConnection,
        failed: RequestFailure,
    ) -> String {
        let name = &self.spec.name;
        match failed {
            RequestFailure::Refused(why) => {
                format!("the server {name} refused it: {}", crate::text::visible_text(&why, 2_000))
            }
            RequestFailure::Cancelled => {
                "it was cancelled; whether it took effect is not known.".into()
            }
            RequestFailure::SignIn(_) => format!("{}.", wants_sign_in(name)),
            RequestFailure::Unanswered(why) => {
                format!(
                    "the server {name} gave no usable answer: {why}. Whether it took effect is \
                         not known."
                )
            }
            RequestFailure::Lost => {
                let said = connection.describe_stderr().await;
                self.record_disconnect(connection).await;
                self.notify_change("connection");
                format!(
                    "the server {name} ended in the middle of it{said}. Whether it took effect is \
                     not known; it was not tried again. The next call starts the server anew."
                )
            }
        }
    }

    /// Starts it although nobody approved it, only to see what it offers, and ends it again.
    pub(crate) fn fetch_listing(&self) -> BoxFuture<'_, Result<ServerListing, String>> {
        Box::pin(async move {
            self.close().await;
            let connection = self.start_server().await?;
            let listing = self.lock_snapshot().listing.as_deref().cloned().unwrap_or_default();
            let errors = connection.stderr_text().await;
            self.lock_snapshot().errors = errors;
            connection.close().await;
            self.lock_snapshot().ready = None;
            Ok(listing)
        })
    }

    /// Ends it. The next use starts it again.
    pub(crate) fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.end_connection())
    }

    async fn end_connection(&self) {
        let mut link = self.link.lock().await;
        let not_before = Timestamp::default();
        let before =
            std::mem::replace(&mut *link, ConnectionState::Down { failures: 0, not_before });
        drop(link);
        let mut known_errors = None;
        if let ConnectionState::Up { connection, .. } = before {
            known_errors = Some(connection.stderr_text().await);
            // Calls that are under way hold it too; then it ends with the last of them.
            if let Ok(connection) = Arc::try_unwrap(connection) {
                connection.close().await;
            }
        }
        let mut known = self.lock_snapshot();
        known.ready = None;
        known.failed = None;
        known.errors = known_errors.unwrap_or_default();
    }

    fn notify_change(&self, what: &'static str) {
        // Nobody has to listen.
        let _ = self.changes.send(ServerChange { server: self.spec.name.clone(), what });
    }
}

fn in_a_word(server: &str, failed: RequestFailure) -> String {
    match failed {
        RequestFailure::Refused(why) | RequestFailure::Unanswered(why) => {
            crate::text::visible_text(&why, 500)
        }
        RequestFailure::Cancelled => "it was cancelled".into(),
        RequestFailure::SignIn(_) => wants_sign_in(server),
        RequestFailure::Lost => "it ended".into(),
    }
}

/// Which parts of a tool's definition are others now.
fn changed_parts(pin: Option<&ServerPin>, now: Option<&ServerListing>, tool: &str) -> String {
    let before = pin.and_then(|pin| pin.listing.tools.get(tool));
    let after = now.and_then(|now| now.tools.get(tool));
    let (Some(before), Some(after)) = (before, after) else { return "its parts".into() };
    let mut parts = Vec::new();
    if before.description != after.description {
        parts.push("its description");
    }
    if before.input_schema != after.input_schema {
        parts.push("the schema of its input");
    }
    if parts.is_empty() {
        parts.push("its title, its output or its notes");
    }
    parts.join(" and ")
}
