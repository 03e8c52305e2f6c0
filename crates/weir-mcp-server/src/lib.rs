//! Serves MCP clients: what another agent's program asks in the protocol becomes calls of a port, and what
//! comes of them becomes answers of the protocol, in both its revisions (R2).
//!
//! [`ServedAgent`] is the port: tools, prompts, resources, and calls that go on for a while, may ask a person
//! and can be given up. The official SDK speaks the protocol; nothing outside this crate knows its types.
//! What a client sends is foreign: it is passed on and bounded here, never judged.
//!
//! Reading order: `agent` (the port), `handler` (the protocol's requests), `following` (one call and its
//! questions), `asking` (what a client can be asked, and how), `folders` (which it has open), `logging` (the lines
//! that it wants to hear), `waiting` (calls whose client was asked to come back), `prompting` (prompts that lack
//! words), `subscribing` (who is told of changes), `params` (what is wrong with those of a request), `serve` (a client
//! at two streams: `lines`, what each says in `messages`, several in one in `batches`), `http` (clients over
//! HTTP: several messages in one in `http_batches`, what is read and sent in `http_bodies`). Not here: sessions,
//! gates and tools (`weir-install` has what stands behind the port).

mod agent;
mod asking;
mod batches;
mod folders;
mod following;
mod handler;
mod http;
mod http_batches;
mod http_bodies;
mod lines;
mod logging;
mod messages;
mod params;
mod prompting;
mod serve;
mod subscribing;
mod translate;
mod waiting;

pub use agent::{
    CallAnswer, CallInProgress, CallNews, CallQuestion, CallRequest, CallResult, ClientIdentity,
    FoldersAnswer, LogLevel, LogLine, ModelAnswer, ModelQuestion, OtherAnswerers, PersonAnswer,
    PersonQuestion, PersonReach, PromptReply, PromptRequest, PromptText, QuestionNeed,
    ResourceRequest, ResultPart, ServedAgent, ServedArgument, ServedPrompt, ServedResource,
    ServedTemplate, ServedTool, ServerDescription, ServingError,
};
pub use handler::McpHandler;
pub use http::{HttpClients, HttpOptions};
pub use http_bodies::AnswerBody;
pub use serve::{ServeError, serve_streams};
