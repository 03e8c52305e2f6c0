//! What a server may ask of us and tell us while it is connected: questions to person and model,
//! folders, progress, log lines, changed lists. Each is bounded; what nobody allowed is declined.

#![expect(
    deprecated,
    reason = "roots, sampling and logging are asked for by most servers there are"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation,
    InputRequest, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, Root, SamplingMessage,
    SamplingMessageContentBlock,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use weir_core::tool::foreign;
use weir_engine::ports::{ModelPrompter, PersonPrompter, ProgressSink};

use crate::ports::{
    Elicitation, ElicitationOutcome, McpOptions, SamplingRequest, SamplingRole, SamplingTurn,
};
use crate::spec::ServerSpec;
use crate::text::visible_text;
use crate::wire::ProtocolErrors;

/// Most characters of a server's question.
const QUESTION_CHARS_MAX: usize = 4_000;
/// Most characters of a line of progress.
const PROGRESS_CHARS_MAX: usize = 500;
/// Most lines of progress of one call that are shown.
const PROGRESS_LINES_MAX: u32 = 1_000;
/// Most questions to the model over the life of a connection.
const SAMPLES_MAX: u32 = 20;
/// Most characters of such a question.
const SAMPLE_CHARS_MAX: usize = 100_000;
/// Most tokens of an answer to one.
const SAMPLE_TOKENS_MAX: u32 = 4_096;

/// Something about a server that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerChange {
    /// Name of the server.
    pub(crate) server: String,
    /// What changed: `tools`, `resources`, `prompts`, or `connection`.
    pub(crate) what: &'static str,
}

/// A call of a session, as a server meets it while it works for that.
#[derive(Clone)]
pub(crate) struct RequestCaller {
    /// Whom it may ask.
    pub(crate) person: Arc<dyn PersonPrompter>,
    /// By what it may ask the model.
    pub(crate) model: Arc<dyn ModelPrompter>,
}

/// What a connection and whoever listens to its server share.
pub(crate) struct McpConnectionContext {
    pub(crate) server: String,
    pub(crate) options: Arc<McpOptions>,
    /// It may ask the model.
    pub(crate) sampling: bool,
    /// The revision with which it is greeted in the old way.
    pub(crate) greets: ProtocolVersion,
    /// Its tools may be others than those that were listed.
    pub(crate) stale: AtomicBool,
    pub(crate) trouble: ProtocolErrors,
    pub(crate) changes: broadcast::Sender<ServerChange>,
    progress: Mutex<HashMap<ProgressToken, ProgressListener>>,
    samples: AtomicU32,
    /// Calls that are under way, the newest last.
    callers: Mutex<Vec<(u64, RequestCaller)>>,
    /// Questions to a person or the model that are open.
    asking: AtomicU32,
}

struct ProgressListener {
    sink: ProgressSink,
    beats: watch::Sender<u32>,
}

impl McpConnectionContext {
    pub(crate) fn new(
        spec: &ServerSpec,
        options: Arc<McpOptions>,
        changes: broadcast::Sender<ServerChange>,
    ) -> McpConnectionContext {
        McpConnectionContext {
            server: spec.name.clone(),
            options,
            sampling: spec.sampling,
            greets: greeting_version(spec.protocol.as_deref()),
            stale: AtomicBool::new(false),
            trouble: ProtocolErrors::default(),
            changes,
            progress: Mutex::default(),
            samples: AtomicU32::new(0),
            callers: Mutex::default(),
            asking: AtomicU32::new(0),
        }
    }

    /// Shows what the server says of the progress of one request, until the guard is dropped.
    pub(crate) fn follow_progress(
        self: &Arc<Self>,
        token: ProgressToken,
        sink: ProgressSink,
    ) -> (ProgressGuard, watch::Receiver<u32>) {
        let beats = watch::Sender::new(0);
        let beat = beats.subscribe();
        let mut listeners = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.insert(token.clone(), ProgressListener { sink, beats });
        (ProgressGuard { shared: self.clone(), token }, beat)
    }

    /// Lets the server ask for this call until the guard is dropped.
    pub(crate) fn attend_caller(self: &Arc<Self>, caller: RequestCaller) -> CallerGuard {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let id = callers.last().map_or(0, |(id, _)| id + 1);
        callers.push((id, caller));
        CallerGuard { shared: self.clone(), id }
    }

    /// The newest call that is under way.
    fn newest_caller(&self) -> Option<RequestCaller> {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.last().map(|(_, caller)| caller.clone())
    }

    /// Whether a person or the model is being asked: meanwhile nobody waits for the server.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire) > 0
    }

    pub(crate) fn notify_change(&self, what: &'static str) {
        // Nobody has to listen.
        let _ = self.changes.send(ServerChange { server: self.server.clone(), what });
    }

    /// The answer to something that the server needs for its own answer (MRTR).
    pub(crate) async fn answer_input_request(
        &self,
        request: InputRequest,
    ) -> Result<Value, ErrorData> {
        let internal =
            |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
        match request {
            InputRequest::CreateMessage(request) => {
                let result = self.sample_model(request.params).await?;
                serde_json::to_value(result).map_err(internal)
            }
            InputRequest::Elicitation(request) => {
                serde_json::to_value(self.elicit_from_person(request.params).await)
                    .map_err(internal)
            }
            InputRequest::ListRoots(_) => {
                serde_json::to_value(self.workspace_roots()).map_err(internal)
            }
            _ => Err(ErrorData::invalid_request("this cannot be asked here", None)),
        }
    }

    fn workspace_roots(&self) -> ListRootsResult {
        let uri = |path: &std::path::PathBuf| url::Url::from_directory_path(path).ok();
        let roots = self.options.roots.iter().filter_map(uri);
        // Without the slash at the end, as editors write them.
        let roots = roots.map(|uri| Root::new(uri.as_str().trim_end_matches('/').to_owned()));
        ListRootsResult::new(roots.collect())
    }

    async fn elicit_from_person(&self, request: ElicitRequestParams) -> ElicitResult {
        let Some(elicit) = &self.options.elicit else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let (message, form, url) = match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let Ok(form) = serde_json::to_value(requested_schema) else {
                    return ElicitResult::new(ElicitationAction::Decline);
                };
                (message, Some(form), None)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, None, Some(url))
            }
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        let question = Elicitation {
            server: self.server.clone(),
            message: visible_text(&message, QUESTION_CHARS_MAX),
            form,
            url: url.map(|url| visible_text(&url, QUESTION_CHARS_MAX)),
        };
        let person = self.newest_caller().map(|caller| caller.person);
        let _asking = CountGuard::new(&self.asking);
        match elicit.ask_person(question, person).await {
            ElicitationOutcome::Accepted(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            ElicitationOutcome::Declined => ElicitResult::new(ElicitationAction::Decline),
            ElicitationOutcome::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    async fn sample_model(
        &self,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorData> {
        let refuse = |why: &str| ErrorData::new(ErrorCode(-1), why.to_owned(), None);
        let sampler = self.options.sampler.as_ref().filter(|_| self.sampling);
        let sampler = sampler.ok_or_else(|| refuse("no server may ask the model here"))?;
        // What is asked for no call is judged by no session's gate.
        let caller = self.newest_caller();
        let caller = caller.ok_or_else(|| refuse("the model can be asked while a call runs"))?;
        if self.samples.fetch_add(1, Ordering::Relaxed) >= SAMPLES_MAX {
            return Err(refuse("it has asked the model often enough"));
        }
        let mut messages = Vec::new();
        let mut chars = 0;
        for message in &request.messages {
            let text =
                message_text(message).ok_or_else(|| refuse("only text can be asked here"))?;
            chars += text.chars().count();
            let role = match message.role {
                rmcp::model::Role::User => SamplingRole::User,
                rmcp::model::Role::Assistant => SamplingRole::Assistant,
            };
            // What hides from whoever is asked about it must not reach the model either.
            messages.push(SamplingTurn { role, text: visible_text(&text, SAMPLE_CHARS_MAX) });
        }
        if chars > SAMPLE_CHARS_MAX || messages.is_empty() {
            return Err(refuse("the question is empty or too long"));
        }
        let question = SamplingRequest {
            system: visible_text(&request.system_prompt.unwrap_or_default(), QUESTION_CHARS_MAX),
            messages,
            tokens_max: request.max_tokens.min(SAMPLE_TOKENS_MAX),
        };
        let _asking = CountGuard::new(&self.asking);
        let name = foreign::sampling_name(&self.server);
        let asked = caller.model.ask_model(&name, question.to_input()).await;
        let text = asked.map_err(|why| refuse(&why))?;
        let answer = SamplingMessage::assistant_text(text);
        Ok(CreateMessageResult::new(answer, sampler.model_name()).with_stop_reason("endTurn"))
    }
}

/// The newest revision that begins with a greeting, or the older one that was wished for.
fn greeting_version(wished: Option<&str>) -> ProtocolVersion {
    match wished {
        Some("2025-06-18") => ProtocolVersion::V_2025_06_18,
        Some("2025-03-26") => ProtocolVersion::V_2025_03_26,
        Some("2024-11-05") => ProtocolVersion::V_2024_11_05,
        _ => ProtocolVersion::V_2025_11_25,
    }
}

/// The text of a message, if it has nothing else.
fn message_text(message: &SamplingMessage) -> Option<String> {
    let mut text = String::new();
    for block in message.content.iter() {
        match block {
            SamplingMessageContentBlock::Text(block) => text.push_str(&block.text),
            _ => return None,
        }
    }
    Some(text)
}

/// While it lives, progress is shown.
pub(crate) struct ProgressGuard {
    shared: Arc<McpConnectionContext>,
    token: ProgressToken,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        let mut listeners = self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.remove(&self.token);
    }
}

/// While it lives, the server may ask for a call.
pub(crate) struct CallerGuard {
    shared: Arc<McpConnectionContext>,
    id: u64,
}

impl Drop for CallerGuard {
    fn drop(&mut self) {
        let mut callers = self.shared.callers.lock().unwrap_or_else(PoisonError::into_inner);
        callers.retain(|(id, _)| *id != self.id);
    }
}

/// One more, until it is dropped.
struct CountGuard<'a>(&'a AtomicU32);

impl<'a> CountGuard<'a> {
    fn new(count: &'a AtomicU32) -> CountGuard<'a> {
        count.fetch_add(1, Ordering::AcqRel);
        CountGuard(count)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Our side of a connection.
#[derive(Clone)]
pub(crate) struct McpClientHandler(pub(crate) Arc<McpConnectionContext>);

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut abilities = ClientCapabilities::default();
        if !self.0.options.roots.is_empty() {
            abilities.roots = Some(rmcp::model::RootsCapabilities::default());
        }
        if self.0.sampling && self.0.options.sampler.is_some() {
            abilities.sampling = Some(rmcp::model::SamplingCapability::default());
        }
        if self.0.options.elicit.is_some() {
            let form = rmcp::model::FormElicitationCapability::default();
            let mut elicitation = rmcp::model::ElicitationCapability::default();
            elicitation.form = Some(form);
            elicitation.url = Some(rmcp::model::UrlElicitationCapability::default());
            abilities.elicitation = Some(elicitation);
        }
        ClientConfig::new(abilities, Implementation::new("weir", &self.0.options.version))
            .with_protocol_version(self.0.greets.clone())
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.0.sample_model(params).await
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.0.workspace_roots())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.0.elicit_from_person(request).await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let told = {
            let listeners = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(listener) = listeners.get(&params.progress_token) else { return };
            listener.beats.send_modify(|beats| *beats = beats.saturating_add(1));
            (*listener.beats.borrow() <= PROGRESS_LINES_MAX).then(|| listener.sink.clone())
        };
        if let Some(sink) = told {
            let of = params.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let said = params.message.unwrap_or_default();
            let said = visible_text(&said, PROGRESS_CHARS_MAX);
            sink.send(&format!("{}{of} {said}\n", params.progress));
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = visible_text(&params.data.to_string(), PROGRESS_CHARS_MAX);
        let server = &self.0.server;
        match params.level {
            LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice => {
                tracing::debug!(server, text, "a server's log");
            }
            _ => tracing::info!(server, text, "a server's log"),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.stale.store(true, Ordering::Release);
        self.0.notify_change("tools");
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_change("resources");
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notify_change("prompts");
    }
}

#[cfg(test)]
mod tests;
