//! The requests of the protocol, each answered by the port. Not here: how a call is followed (`following`),
//! and bytes (`serve`).

#![expect(
    deprecated,
    reason = "which lines it hears is what a client of the older revisions says so"
)]

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, InitializeResult, InputResponses, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, SetLevelRequestMethod,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use crate::agent::{
    CallRequest, ClientIdentity, FoldersAnswer, ResourceRequest, ServedAgent, ServingError,
};
use crate::asking::is_newest;
use crate::folders::{AskedFolders, KnownFolders, ask_folders};
use crate::following::{CallScene, follow_call, resume_call};
use crate::logging::{ConnectionLog, LogTeller};
use crate::params::{describe_wrong_params, is_removed_method};
use crate::prompting::{QUESTIONS_MAX, answer_prompt};
use crate::subscribing::{LISTENERS_MAX, Subscriptions, accepted_filter, tell_listener};
use crate::translate::{
    contents_of, error_of, log_level_of, prompt_of, resource_of, server_info, template_of, tool_of,
};
use crate::waiting::{FollowedCall, WaitingCalls};

/// Characters of a client's name or version that are taken over.
const IDENTITY_CHARS_MAX: usize = 64;

/// Answers the requests of one client.
#[derive(Clone)]
pub struct McpHandler {
    agent: Arc<dyn ServedAgent>,
    waiting: Arc<WaitingCalls>,
    /// Prompts at once whose words are asked for: a form may stand open for long.
    asking: Arc<Semaphore>,
    subscribed: Arc<Subscriptions>,
    listening: Arc<Semaphore>,
    folders: Arc<KnownFolders>,
    log: Arc<ConnectionLog>,
}

impl McpHandler {
    /// Answers by this agent.
    pub fn new(agent: Arc<dyn ServedAgent>) -> McpHandler {
        McpHandler {
            agent,
            waiting: Arc::default(),
            asking: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            subscribed: Arc::new(Subscriptions::new(None)),
            listening: Arc::new(Semaphore::new(LISTENERS_MAX)),
            folders: Arc::default(),
            log: Arc::default(),
        }
    }

    /// Another connection to the same agent, which may be silent for so long: a call that waits is found again
    /// by it, and what the one is told, of changes and of the log, and says of its folders, the other is not.
    pub(crate) fn for_connection(&self, silence_max: Duration) -> McpHandler {
        let subscribed = Arc::new(Subscriptions::new(Some(silence_max)));
        McpHandler { subscribed, folders: Arc::default(), log: Arc::default(), ..self.clone() }
    }
}

/// What the client says of itself, cut to a length.
fn client_of(context: &RequestContext<RoleServer>) -> ClientIdentity {
    let cut = |text: &str| text.chars().take(IDENTITY_CHARS_MAX).collect::<String>();
    let told = context.client_info();
    told.map_or_else(ClientIdentity::default, |told| ClientIdentity {
        name: cut(&told.name),
        version: cut(&told.version),
    })
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> InitializeResult {
        server_info(self.agent.describe_server())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.agent.list_tools().await.map_err(error_of)?;
        Ok(ListToolsResult::with_all_items(tools.into_iter().map(tool_of).collect()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.subscribed.note_heard();
        let request = CallRequest {
            client: client_of(&context),
            tool: params.name.into_owned(),
            arguments: params.arguments.unwrap_or_default(),
        };
        let brought = params.input_responses.unwrap_or_default();
        let (followed, brought) = match &params.request_state {
            Some(state) => {
                let resumed = resume_call(state, &request, &brought, &self.waiting).await?;
                (resumed, InputResponses::new())
            }
            None => {
                let call = self.agent.begin_call(request.clone()).await.map_err(error_of)?;
                (FollowedCall { call, request, asked: Vec::new() }, brought)
            }
        };
        let log = LogTeller::of_request(&context, &self.log);
        let scene = CallScene { waiting: &self.waiting, folders: &self.folders, log };
        follow_call(followed, context, brought, &scene).await
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.agent.list_prompts().await.map_err(error_of)?;
        Ok(ListPromptsResult::with_all_items(prompts.into_iter().map(prompt_of).collect()))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        answer_prompt(self.agent.as_ref(), params, &context, &self.asking).await
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.agent.list_resources().await.map_err(error_of)?;
        Ok(ListResourcesResult::with_all_items(resources.into_iter().map(resource_of).collect()))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.agent.list_templates().await.map_err(error_of)?;
        let templates = templates.into_iter().map(template_of).collect();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.subscribed.note_heard();
        let folders = match self.agent.follows_folders() {
            false => FoldersAnswer::NotSaid,
            true => {
                let brought = params.input_responses.as_ref();
                match ask_folders(&context, brought, &self.folders).await? {
                    AskedFolders::Answered(folders) => folders,
                    AskedFolders::ComeBack(asked) => {
                        return Ok(ReadResourceResponse::InputRequired(asked));
                    }
                }
            }
        };
        let uri = params.uri;
        let request = ResourceRequest { client: client_of(&context), uri: uri.clone(), folders };
        let read = tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the request was cancelled", None));
            }
            read = self.agent.read_resource(request) => read,
        };
        let parts = read.map_err(|error| match error {
            ServingError::NotFound(why) => {
                ErrorData::resource_not_found(why, Some(serde_json::json!({ "uri": uri })))
            }
            other => error_of(other),
        })?;
        let contents = parts.into_iter().map(|part| contents_of(part, &uri)).collect();
        Ok(ReadResourceResponse::Complete(ReadResourceResult::new(contents)))
    }

    async fn set_level(
        &self,
        params: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.note_heard();
        // Without a handshake each request says what it wants to hear itself.
        if is_newest(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.log.set_level(log_level_of(params.level));
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let is_there = !(is_newest(&context) && is_removed_method(&method));
        let why = is_there.then(|| describe_wrong_params(&method, params.as_ref())).flatten();
        Err(match why {
            Some(why) => ErrorData::invalid_params(why, None),
            None => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.folders.forget_answer();
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.note_heard();
        self.subscribed.subscribe(&self.agent, params.uri, context.peer)
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.unsubscribe(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        accepted_filter(self.agent.as_ref(), requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ok(_place) = self.listening.clone().try_acquire_owned() else {
            let why = format!("{LISTENERS_MAX} requests listen already; end one of them first");
            return Err(ErrorData::invalid_request(why, None));
        };
        tell_listener(self.agent.as_ref(), &context).await;
        Ok(())
    }
}
