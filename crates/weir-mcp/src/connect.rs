//! One connection to a server: made, asked, ended. Knows both lives of the protocol: that of
//! 2026-07-28, where each request stands for itself, and the older one that begins with a handshake.
//! Not here: whether anybody approved the server, and when it is tried again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, InputRequiredResult, JsonObject, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequest, ReadResourceRequestParams, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RoleClient, RunningService,
    ServiceError,
};
use rmcp::{ClientServiceExt as _, Peer};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Clock, ProgressSink};

use crate::handler::{McpClientHandler, McpConnectionContext, RequestCaller};
use crate::listing::{ServerListing, TOOLS_MAX};
use crate::ports::{LaunchedProcess, ServerProcess};
use crate::spec::{ServerSpec, ServerTransport};
use crate::wire::ServerStreams;

/// Pages of one list that are asked for.
const PAGES_MAX: usize = 100;
/// Entries of one list that are taken.
const ENTRIES_MAX: usize = 20 * TOOLS_MAX;
/// How often a server may ask for more before it answers one request.
const ROUNDS_MAX: usize = 8;
/// How long a server may take to end when it is asked to.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// What is kept of what a server wrote to standard error, in an error for the model, in characters.
const ERRORS_CHARS_MAX: usize = 600;

/// How long one request may take, who sees its progress, and who may end it.
pub(crate) struct RequestScope<'a> {
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) progress: &'a ProgressSink,
    /// The call for which it is made: what the server may ask meanwhile; none: it is made for none.
    pub(crate) caller: Option<&'a RequestCaller>,
    /// Without any word from the server.
    pub(crate) idle_ms: u64,
    /// In any case.
    pub(crate) hard_ms: u64,
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestFailure {
    /// The server says so.
    Refused(String),
    /// It was cancelled.
    Cancelled,
    /// It took too long, or said something that nobody understands.
    Unanswered(String),
    /// Somebody has to sign in, or to sign in for more: what the server said. It did not do what it
    /// was asked.
    SignIn(String),
    /// The connection is gone.
    Lost,
}

/// A server that is connected. Its process ends with this.
pub(crate) struct ServerConnection {
    running: RunningService<RoleClient, McpClientHandler>,
    pub(crate) shared: Arc<McpConnectionContext>,
    child: Option<Box<dyn ServerProcess>>,
    clock: Arc<dyn Clock>,
    start_ms: u64,
    /// Hears of changed lists, where the protocol wants that to be asked for.
    listener: Option<JoinHandle<()>>,
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

/// How to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeMode {
    /// Ask what it speaks; what does not know that question is greeted in the old way.
    Discover,
    /// Greet it in the old way at once.
    Greet,
}

/// Why there is no connection.
pub(crate) struct NotConnected {
    pub(crate) why: String,
    /// It said nothing until its time was over.
    pub(crate) silent: bool,
    /// It answered, and does not speak this way.
    pub(crate) refused: bool,
    /// Somebody has to sign in: what the server said.
    pub(crate) sign_in: Option<String>,
}

/// Starts or reaches a server.
pub(crate) async fn connect_server(
    spec: &ServerSpec,
    shared: Arc<McpConnectionContext>,
    begin: HandshakeMode,
) -> Result<ServerConnection, NotConnected> {
    let options = shared.options.clone();
    let clock = options.clock.clone();
    let until = deadline_after(clock.as_ref(), spec.timeouts.start_ms);
    let told = |why: String| NotConnected { why, silent: false, refused: false, sign_in: None };
    let handler = McpClientHandler(shared.clone());
    let (child, running) = match &spec.transport {
        ServerTransport::Stdio { .. } => {
            let LaunchedProcess { input, output, child } =
                options.launcher.launch(spec).await.map_err(told)?;
            let streams = ServerStreams::new(output, input, shared.trouble.clone());
            let serving = handler.serve_with_lifecycle(streams, lifecycle_mode(begin));
            (Some(child), run_until(clock.as_ref(), until, serving).await)
        }
        ServerTransport::Http { .. } => {
            let transport = crate::transport::open_transport(spec, &options).await.map_err(told)?;
            let serving = handler.serve_with_lifecycle(transport, lifecycle_mode(begin));
            (None, run_until(clock.as_ref(), until, serving).await)
        }
    };
    let (mut why, refused, sign_in) = match running {
        Some(Ok(running)) => {
            let start_ms = spec.timeouts.start_ms;
            let mut made =
                ServerConnection { running, shared, child, clock, start_ms, listener: None };
            made.subscribe_to_changes().await;
            return Ok(made);
        }
        Some(Err(error)) => {
            (in_words(spec, &error), Some(speaks_otherwise(&error)), sign_in_challenge(&error))
        }
        None => (format!("it said nothing for {} ms", spec.timeouts.start_ms), None, None),
    };
    let silent = refused.is_none();
    if let Some(child) = child {
        why.push_str(&stderr_sentence(child.as_ref()).await);
        child.end_process().await;
    }
    if silent || is_fetching_program(spec) {
        why.push_str(without_network(spec));
    }
    Err(NotConnected { why, silent, refused: refused.unwrap_or(false), sign_in })
}

/// Whether its program is one that fetches what it starts.
fn is_fetching_program(spec: &ServerSpec) -> bool {
    const FETCHERS: [&str; 12] = [
        "npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "uv", "uvx", "pipx", "docker",
    ];
    let ServerTransport::Stdio { command, .. } = &spec.transport else { return false };
    let name = std::path::Path::new(command).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| FETCHERS.contains(&name))
}

/// What may be the matter with a program that has no network, and both ways out.
fn without_network(spec: &ServerSpec) -> &'static str {
    let confined =
        matches!(spec.transport, ServerTransport::Stdio { .. }) && !spec.reach.unconfined;
    match (confined && spec.reach.hosts.is_empty(), is_fetching_program(spec)) {
        (true, false) => {
            "; the sandbox in which it runs has no network: if it waits for one, name the hosts that \
             it may reach (`hosts`, `--host`), or let it run with your own rights (`unconfined`, \
             `--unconfined`)"
        }
        (true, true) => {
            "; the sandbox in which it runs has no network, so it can fetch nothing: install it and \
             name the installed program (a plain `npx PACKAGE` or `uvx PACKAGE` line is installed by \
             `weir mcp-servers install`), or let it run with your own rights (`unconfined`, \
             `--unconfined`)"
        }
        (false, _) => "",
    }
}

/// Whether the server answered what no server answers that speaks this way.
fn speaks_otherwise(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. }
    )
}

/// What the server said when it wanted somebody to sign in.
fn sign_in_challenge(error: &ClientInitializeError) -> Option<String> {
    match error.auth_challenge() {
        Some(challenge) => Some(challenge.to_owned()),
        None => error.is_authorization_required().then(String::new),
    }
}

fn lifecycle_mode(begin: HandshakeMode) -> ClientLifecycleMode {
    match begin {
        HandshakeMode::Discover => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        HandshakeMode::Greet => ClientLifecycleMode::Initialize,
    }
}

pub(crate) fn deadline_after(clock: &dyn Clock, ms: u64) -> Timestamp {
    let us = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
    Timestamp(clock.now().0.saturating_add(us))
}

pub(crate) async fn run_until<T>(
    clock: &dyn Clock,
    until: Timestamp,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep_until(until) => None,
    }
}

fn in_words(spec: &ServerSpec, error: &ClientInitializeError) -> String {
    if sign_in_challenge(error).is_some() {
        return wants_sign_in(&spec.name);
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended at once".into(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => in_words(spec, fallback),
        other => other.to_string(),
    }
}

/// What is said where nobody can sign in.
pub(crate) fn wants_sign_in(server: &str) -> String {
    format!("it wants somebody to sign in; a person runs `weir mcp-servers restart {server}`")
}

/// What the process wrote to standard error, as the end of a sentence.
pub(crate) async fn stderr_sentence(child: &dyn ServerProcess) -> String {
    let errors = child.stderr_tail().await;
    let errors = errors.trim();
    if errors.is_empty() {
        return String::new();
    }
    let skip = errors.chars().count().saturating_sub(ERRORS_CHARS_MAX);
    let tail: String = errors.chars().skip(skip).collect();
    format!("; it wrote: {tail}")
}

impl ServerConnection {
    fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// Whether the server is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.running.is_closed() || self.peer().is_transport_closed()
    }

    /// What the process wrote to standard error, as the end of a sentence.
    pub(crate) async fn describe_stderr(&self) -> String {
        match &self.child {
            Some(child) => stderr_sentence(child.as_ref()).await,
            None => String::new(),
        }
    }

    /// What the process wrote to standard error.
    pub(crate) async fn stderr_text(&self) -> String {
        match &self.child {
            Some(child) => child.stderr_tail().await,
            None => String::new(),
        }
    }

    /// Ends it in good order: its input is closed, then its process is ended.
    pub(crate) async fn close(mut self) {
        if let Some(listener) = self.listener.take() {
            listener.abort();
        }
        let _ = self.running.close_with_timeout(CLOSE_WAIT).await;
        if let Some(child) = self.child.take() {
            child.end_process().await;
        }
    }

    /// The revision that both speak.
    pub(crate) fn protocol_version(&self) -> String {
        let info = self.peer().peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// Whether it says that it has tools, resources, prompts.
    pub(crate) fn offered_features(&self) -> (bool, bool, bool) {
        self.peer().peer_info().map_or((true, false, false), |info| {
            let can = &info.capabilities;
            (can.tools.is_some(), can.resources.is_some(), can.prompts.is_some())
        })
    }

    /// Asks to be told of changed lists, where nobody is told unasked (2026-07-28).
    async fn subscribe_to_changes(&mut self) {
        let Some(info) = self.peer().peer_info() else { return };
        if info.protocol_version.has_initialize() {
            return;
        }
        let tells = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        if tells != Some(true) {
            return;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let (peer, shared) = (self.peer().clone(), self.shared.clone());
        self.listener = Some(tokio::spawn(async move {
            let Ok(mut subscription) = peer.listen(filter).await else { return };
            while let Ok(Some(_)) = subscription.next().await {
                shared.stale.store(true, Ordering::Release);
                shared.notify_change("tools");
            }
        }));
    }

    /// Everything that it offers as tools, asked for within the time of a start.
    pub(crate) async fn fetch_listing(&self) -> Result<ServerListing, RequestFailure> {
        let unread = UnreadList::begin_reading(&self.shared.stale);
        let (has_tools, ..) = self.offered_features();
        let tools =
            if has_tools { self.fetch_list(ServerListKind::Tools).await? } else { Vec::new() };
        unread.end_reading();
        let info = self.peer().peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.as_ref());
        let (name, version) = server.map_or(("", ""), |s| (s.name.as_str(), s.version.as_str()));
        Ok(ServerListing::from_tools(name, version, &self.protocol_version(), tools))
    }

    /// All entries of a list, as they came.
    pub(crate) async fn fetch_list(
        &self,
        list: ServerListKind,
    ) -> Result<Vec<Value>, RequestFailure> {
        let cancel = CancellationToken::new();
        let progress = ProgressSink::none();
        let until = deadline_after(self.clock.as_ref(), self.start_ms);
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let left = until.0.saturating_sub(self.clock.now().0).max(0) / 1_000;
            let left = u64::try_from(left).unwrap_or(0).max(1);
            let (cancel, progress) = (&cancel, &progress);
            let way = RequestScope { cancel, progress, caller: None, idle_ms: left, hard_ms: left };
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = result_to_value(&self.send_request(list.to_request(params), &way).await?);
            if let Some(Value::Array(items)) = page.get(list.field_name()) {
                entries.extend(items.iter().cloned());
            }
            let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            // A server that gives the same mark again would go on for ever.
            if next.is_none() || next == cursor || entries.len() >= ENTRIES_MAX {
                break;
            }
            cursor = next;
        }
        entries.truncate(ENTRIES_MAX);
        Ok(entries)
    }

    /// Calls a tool.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: JsonObject,
        way: &RequestScope<'_>,
    ) -> Result<CallToolResult, RequestFailure> {
        let _attending = way.caller.map(|caller| self.shared.attend_caller(caller.clone()));
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..ROUNDS_MAX {
            let request = CallToolRequest::new(params.clone());
            match self.send_request(ClientRequest::CallToolRequest(request), way).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(more) => {
                    let (responses, state) = self.answer_inputs(more, way).await?;
                    params.input_responses = responses;
                    params.request_state = state;
                }
                // A result that says nothing at all.
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                    return Ok(CallToolResult::success(Vec::new()));
                }
                _ => {
                    return Err(RequestFailure::Unanswered(
                        "its answer is no result of a call".into(),
                    ));
                }
            }
        }
        Err(RequestFailure::Unanswered(format!("it asked for more {ROUNDS_MAX} times")))
    }

    /// Reads a resource: the answer as it came.
    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        way: &RequestScope<'_>,
    ) -> Result<Value, RequestFailure> {
        let params = ReadResourceRequestParams::new(uri.to_owned());
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        self.send_request(request, way).await.map(|answer| result_to_value(&answer))
    }

    /// Fills a prompt in: the answer as it came.
    pub(crate) async fn fill_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        way: &RequestScope<'_>,
    ) -> Result<Value, RequestFailure> {
        let params = GetPromptRequestParams::new(name.to_owned()).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        self.send_request(request, way).await.map(|answer| result_to_value(&answer))
    }

    async fn answer_inputs(
        &self,
        wanted: InputRequiredResult,
        way: &RequestScope<'_>,
    ) -> Result<(Option<std::collections::BTreeMap<String, Value>>, Option<String>), RequestFailure>
    {
        /// Things that are asked for at once.
        const INPUTS_MAX: usize = 10;
        let mut responses = std::collections::BTreeMap::new();
        for (key, request) in wanted.input_requests.unwrap_or_default().into_iter().take(INPUTS_MAX)
        {
            let answered = tokio::select! {
                () = way.cancel.cancelled() => return Err(RequestFailure::Cancelled),
                answered = self.shared.answer_input_request(request) => answered,
            };
            let answer =
                answered.map_err(|error| RequestFailure::Refused(error.message.into_owned()))?;
            responses.insert(key, answer);
        }
        Ok(((!responses.is_empty()).then_some(responses), wanted.request_state))
    }

    /// Sends a request and waits for its answer, as long as the way allows.
    async fn send_request(
        &self,
        request: ClientRequest,
        way: &RequestScope<'_>,
    ) -> Result<ServerResult, RequestFailure> {
        let mut trouble = self.shared.trouble.subscribe_errors();
        trouble.mark_unchanged();
        let sent = self.peer().send_request_with_option(request, PeerRequestOptions::no_options());
        let mut handle = sent.await.map_err(|error| request_failure(&error))?;
        let token = handle.progress_token.clone();
        let (_following, mut beat) = self.shared.follow_progress(token, way.progress.clone());
        let clock = self.clock.as_ref();
        let mut hard = deadline_after(clock, way.hard_ms);
        let mut idle = deadline_after(clock, way.idle_ms);
        let why = loop {
            let until = Timestamp(idle.0.min(hard.0));
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    return match answer {
                        Ok(Ok(answer)) => Ok(answer),
                        Ok(Err(error)) => Err(request_failure(&error)),
                        Err(_) => Err(RequestFailure::Lost),
                    };
                }
                () = way.cancel.cancelled() => break RequestFailure::Cancelled,
                Ok(()) = beat.changed() => idle = deadline_after(clock, way.idle_ms),
                Ok(()) = trouble.changed() => {
                    break RequestFailure::Unanswered(trouble.borrow().1.clone());
                }
                () = clock.sleep_until(until) => {
                    // Then the server waits for a person, not we for the server.
                    if self.shared.is_asking() {
                        idle = deadline_after(clock, way.idle_ms);
                        hard = deadline_after(clock, way.hard_ms);
                        continue;
                    }
                    let ms = if until == hard { way.hard_ms } else { way.idle_ms };
                    break RequestFailure::Unanswered(format!("it did not answer within {ms} ms"));
                }
            }
        };
        let reason = match &why {
            RequestFailure::Cancelled => "the call was cancelled",
            _ => "no answer is awaited any more",
        };
        // Whoever floods its output may not read its input: telling it must not take long.
        let telling = handle.cancel(Some(reason.to_owned()));
        let _ = run_until(clock, deadline_after(clock, 500), telling).await;
        Err(why)
    }
}

/// A list of tools that is being read. Unless it comes whole it is still to be read, also where nobody waits for
/// it any more: a tool that changed would stay open.
struct UnreadList<'a> {
    stale: &'a AtomicBool,
    is_read: bool,
}

impl<'a> UnreadList<'a> {
    /// What is said to be another from now on is another than the one that comes.
    fn begin_reading(stale: &'a AtomicBool) -> UnreadList<'a> {
        stale.store(false, Ordering::Release);
        UnreadList { stale, is_read: false }
    }

    fn end_reading(mut self) {
        self.is_read = true;
    }
}

impl Drop for UnreadList<'_> {
    fn drop(&mut self) {
        if !self.is_read {
            self.stale.store(true, Ordering::Release);
        }
    }
}

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ServerListKind {
    fn to_request(self, params: PaginatedRequestParams) -> ClientRequest {
        match self {
            ServerListKind::Tools => ListToolsRequest::with_param(params).into(),
            ServerListKind::Resources => ListResourcesRequest::with_param(params).into(),
            ServerListKind::Templates => ListResourceTemplatesRequest::with_param(params).into(),
            ServerListKind::Prompts => ListPromptsRequest::with_param(params).into(),
        }
    }

    fn field_name(self) -> &'static str {
        match self {
            ServerListKind::Tools => "tools",
            ServerListKind::Resources => "resources",
            ServerListKind::Templates => "resourceTemplates",
            ServerListKind::Prompts => "prompts",
        }
    }
}

fn result_to_value(answer: &ServerResult) -> Value {
    serde_json::to_value(answer).unwrap_or_else(|_| json!({}))
}

fn request_failure(error: &ServiceError) -> RequestFailure {
    match error {
        ServiceError::McpError(error) => {
            RequestFailure::Refused(error.message.clone().into_owned())
        }
        ServiceError::TransportSend(error) => match auth_refusal(error.error.as_ref()) {
            Some(challenge) => RequestFailure::SignIn(challenge),
            None => RequestFailure::Unanswered(error.error.to_string()),
        },
        ServiceError::TransportClosed => RequestFailure::Lost,
        ServiceError::Cancelled { .. } => RequestFailure::Lost,
        other => RequestFailure::Unanswered(other.to_string()),
    }
}

/// What the server said when it refused for want of a token, or of a wider one.
fn auth_refusal(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<AuthRequiredError>() {
            return Some(found.www_authenticate_header.clone());
        }
        if let Some(found) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(found.www_authenticate_header.clone());
        }
        next = error.source();
    }
    None
}
