//! The port's words in the protocol's types and back. Pure. Not here: requests and their order.

#![expect(
    deprecated,
    reason = "log lines, and questions for models and folders, are what the revisions with a handshake have"
)]

use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, ErrorData, GetPromptResult, Implementation, InitializeResult, InputRequest,
    ListRootsRequest, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam, Prompt,
    PromptArgument, PromptMessage, Resource, ResourceContents, ResourceTemplate, Role,
    SamplingMessage, SamplingMessageContentBlock, ServerCapabilities, Tool, ToolAnnotations,
};
use serde_json::Value;

use crate::agent::{
    CallQuestion, CallResult, FoldersAnswer, LogLevel, LogLine, ModelAnswer, ModelQuestion,
    PersonAnswer, PersonQuestion, PromptText, ResultPart, ServedPrompt, ServedResource,
    ServedTemplate, ServedTool, ServerDescription, ServingError,
};

/// Folders of a client that are listened to, and the longest address of one, in bytes.
const FOLDERS_MAX: usize = 64;
const FOLDER_BYTES_MAX: usize = 4_096;
/// Longest answer of a client's model, in bytes, and longest name of a model, in characters.
const MODEL_WORDS_MAX: usize = 400_000;
const MODEL_NAME_MAX: usize = 100;

pub(crate) fn server_info(about: ServerDescription) -> InitializeResult {
    let capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_prompts()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_logging()
        .build();
    let server = Implementation::new(about.name, about.version).with_title(about.title);
    let info = InitializeResult::new(capabilities).with_server_info(server);
    match about.instructions.is_empty() {
        true => info,
        false => info.with_instructions(about.instructions),
    }
}

pub(crate) fn tool_of(served: ServedTool) -> Tool {
    let hints = ToolAnnotations::new().read_only(served.reads_only).open_world(served.reaches_out);
    let hints = match served.reads_only {
        true => hints,
        // What it changes in the workspace comes back with `weir undo`; what it does elsewhere may not.
        false => hints.destructive(true),
    };
    Tool::new(served.name, served.description, Arc::new(served.input_schema))
        .with_annotations(hints)
}

pub(crate) fn prompt_of(served: ServedPrompt) -> Prompt {
    let argument = |one: crate::agent::ServedArgument| {
        PromptArgument::new(one.name).with_description(one.description).with_required(one.required)
    };
    let arguments: Vec<PromptArgument> = served.arguments.into_iter().map(argument).collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    Prompt::new(served.name, Some(served.description), arguments)
}

pub(crate) fn prompt_result(prompt: PromptText) -> GetPromptResult {
    let message = |part| PromptMessage::new(Role::User, content_of(part));
    let mut result = GetPromptResult::new(prompt.parts.into_iter().map(message).collect());
    result.description = Some(prompt.description).filter(|text| !text.is_empty());
    result
}

pub(crate) fn resource_of(served: ServedResource) -> Resource {
    Resource::new(served.uri, served.name)
        .with_description(served.description)
        .with_mime_type(served.media_type)
}

pub(crate) fn template_of(served: ServedTemplate) -> ResourceTemplate {
    ResourceTemplate::new(served.uri_template, served.name)
        .with_description(served.description)
        .with_mime_type(served.media_type)
}

/// A piece of a resource, which stands at `uri`.
pub(crate) fn contents_of(part: ResultPart, uri: &str) -> ResourceContents {
    match part {
        ResultPart::Text(text) => ResourceContents::text(text, uri),
        ResultPart::Image { media_type, data } | ResultPart::Audio { media_type, data } => {
            ResourceContents::blob(data, uri).with_mime_type(media_type)
        }
        ResultPart::TextResource { uri, media_type, text } => {
            ResourceContents::text(text, uri).with_mime_type(media_type)
        }
        ResultPart::BinaryResource { uri, media_type, data } => {
            ResourceContents::blob(data, uri).with_mime_type(media_type)
        }
    }
}

fn content_of(part: ResultPart) -> ContentBlock {
    match part {
        ResultPart::Text(text) => ContentBlock::text(text),
        ResultPart::Image { media_type, data } => ContentBlock::image(data, media_type),
        ResultPart::Audio { media_type, data } => ContentBlock::audio(data, media_type),
        part @ (ResultPart::TextResource { .. } | ResultPart::BinaryResource { .. }) => {
            ContentBlock::resource(contents_of(part, ""))
        }
    }
}

pub(crate) fn tool_result(result: CallResult) -> CallToolResult {
    let blocks: Vec<ContentBlock> = result.parts.into_iter().map(content_of).collect();
    match result.ok {
        true => CallToolResult::success(blocks),
        false => CallToolResult::error(blocks),
    }
}

/// The form of a question as the protocol asks it; `None`: its schema is none that the protocol has.
pub(crate) fn form_of(question: &PersonQuestion) -> Option<ElicitRequestParams> {
    let schema: ElicitationSchema = serde_json::from_value(question.schema.clone()).ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.message.clone(),
        requested_schema: schema,
    })
}

/// A question as the protocol asks it; `None`: it is none that the protocol has.
pub(crate) fn request_of(question: &CallQuestion) -> Option<InputRequest> {
    Some(match question {
        CallQuestion::Person(question) => {
            InputRequest::Elicitation(ElicitRequest::new(form_of(question)?))
        }
        CallQuestion::Model(question) => {
            InputRequest::CreateMessage(CreateMessageRequest::new(sampling_of(question)))
        }
        CallQuestion::Folders(_) => InputRequest::ListRoots(ListRootsRequest::default()),
    })
}

fn sampling_of(question: &ModelQuestion) -> CreateMessageRequestParams {
    let asked = vec![SamplingMessage::user_text(&question.text)];
    let params = CreateMessageRequestParams::new(asked, question.tokens_max);
    match question.system.is_empty() {
        true => params,
        false => params.with_system_prompt(&question.system),
    }
}

/// What a client's model said: its words alone, and all of them or none.
pub(crate) fn model_answer_of(result: CreateMessageResult) -> ModelAnswer {
    if result.message.role != Role::Assistant {
        return ModelAnswer::Failed("the client gave words that are not its model's".into());
    }
    let words = result.message.content.into_vec().into_iter().filter_map(|block| match block {
        SamplingMessageContentBlock::Text(text) => Some(text.text),
        _ => None,
    });
    let text = words.collect::<Vec<_>>().join("\n");
    match text.len() > MODEL_WORDS_MAX {
        true => {
            let why = format!("the client's model said more than {MODEL_WORDS_MAX} bytes");
            ModelAnswer::Failed(why)
        }
        false => {
            let model = result.model.chars().take(MODEL_NAME_MAX).collect();
            ModelAnswer::Said { model, text }
        }
    }
}

/// A client's folders: all of them or none, since a part of them would be another wish.
pub(crate) fn folders_of(result: ListRootsResult) -> FoldersAnswer {
    let is_short = |uri: &String| uri.len() <= FOLDER_BYTES_MAX;
    let open: Vec<String> = result.roots.into_iter().map(|root| root.uri).collect();
    match open.len() <= FOLDERS_MAX && open.iter().all(is_short) {
        true => FoldersAnswer::Open(open),
        false => FoldersAnswer::Failed(format!(
            "it named more than {FOLDERS_MAX} folders, or one with more than {FOLDER_BYTES_MAX} bytes"
        )),
    }
}

pub(crate) fn log_level_of(level: LoggingLevel) -> LogLevel {
    match level {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info => LogLevel::Info,
        LoggingLevel::Notice => LogLevel::Notice,
        LoggingLevel::Warning => LogLevel::Warning,
        LoggingLevel::Error => LogLevel::Error,
        LoggingLevel::Critical => LogLevel::Critical,
        LoggingLevel::Alert => LogLevel::Alert,
        LoggingLevel::Emergency => LogLevel::Emergency,
    }
}

pub(crate) fn log_message_of(line: LogLine) -> LoggingMessageNotificationParam {
    let level = match line.level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    };
    LoggingMessageNotificationParam::new(level, line.data).with_logger(line.logger)
}

pub(crate) fn answer_of(result: ElicitResult) -> PersonAnswer {
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(content))) => {
            PersonAnswer::Accepted(content)
        }
        (ElicitationAction::Decline, _) => PersonAnswer::Declined,
        // A yes to a form that was not filled in says nothing, nor does a word that nobody knows.
        (_, _) => PersonAnswer::Dismissed,
    }
}

pub(crate) fn error_of(error: ServingError) -> ErrorData {
    match error {
        ServingError::NotFound(why) | ServingError::Invalid(why) => {
            ErrorData::invalid_params(why, None)
        }
        ServingError::Failed(why) => ErrorData::internal_error(why, None),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::Root;

    use super::*;

    #[test]
    fn r2_a_clients_folders_are_all_taken_or_none() {
        let named = |many: usize, bytes: usize| {
            let uri = format!("file:///{}", "x".repeat(bytes - 8));
            folders_of(ListRootsResult::new(vec![Root::new(uri); many]))
        };
        assert!(
            matches!(named(FOLDERS_MAX, 100), FoldersAnswer::Open(open) if open.len() == FOLDERS_MAX)
        );
        assert!(matches!(named(0, 100), FoldersAnswer::Open(open) if open.is_empty()));
        assert!(matches!(named(FOLDERS_MAX + 1, 100), FoldersAnswer::Failed(_)));
        assert!(matches!(named(1, FOLDER_BYTES_MAX + 1), FoldersAnswer::Failed(_)));
    }

    #[test]
    fn r2_of_a_clients_model_only_its_own_words_count_and_whole() {
        let said = |message| model_answer_of(CreateMessageResult::new(message, "m".repeat(300)));
        let words = said(SamplingMessage::assistant_text("yes"));
        assert!(
            matches!(&words, ModelAnswer::Said { model, text } if text == "yes" && model.len() == MODEL_NAME_MAX),
            "{words:?}"
        );
        for none in [
            SamplingMessage::user_text("yes"),
            SamplingMessage::assistant_text("x".repeat(MODEL_WORDS_MAX + 1)),
        ] {
            assert!(matches!(said(none), ModelAnswer::Failed(_)));
        }
    }

    #[test]
    fn r2_a_level_is_the_same_there_and_back() {
        for level in [LogLevel::Debug, LogLevel::Notice, LogLevel::Warning, LogLevel::Emergency] {
            let line = LogLine { level, logger: "weir", data: Value::Null };
            assert_eq!(log_level_of(log_message_of(line).level), level);
        }
        assert!(LogLevel::Debug < LogLevel::Info && LogLevel::Alert < LogLevel::Emergency);
    }
}
