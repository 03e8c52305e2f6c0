//! The dialog about one server that an editor brings: whether it is started, what it offers, whether that is
//! used. Its own task: a person may take as long as they want. What they approve and refuse is kept.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use weir_core::event::Decision;
use weir_core::ids::SessionId;
use weir_core::view::told::{count_text, one_line};
use weir_install::catalogue::servers::{approval, brought, words};
use weir_install::context::InstallationContext;
use weir_install::wiring::mcp::{self, KnownMcpServer};

use crate::permission::{PermissionReply, ServerQuestion, read_reply, server_question};
use crate::rpc::EditorPeer;
use crate::wire::{
    SessionUpdate, ToolCallChange, ToolCallContent, ToolCallStart, ToolCallStatus, ToolKind,
    UpdateParams,
};

/// How long a server may take to say what it offers.
const LISTING_WAIT: Duration = Duration::from_secs(60);

/// How a review begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewBegin {
    /// Nobody approved it as it is declared: it is not started without a yes.
    AskFirst,
    /// It is approved, and may offer something else by now.
    LookAgain,
}

/// How far a review is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewStage {
    /// A person is asked.
    Asked,
    /// The server is started to see what it offers.
    Starting,
    /// Nobody waits for it.
    LookedAt,
}

/// How a review ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReviewEnd {
    /// It is approved: how many tools, in words.
    Approved(String),
    /// A person said no.
    Refused,
    /// Nobody said anything: why.
    Unanswered(String),
    /// It cannot be started or asked: why.
    Failed(String),
    /// It offers what was approved.
    Unchanged,
}

/// What happened in a review.
pub(in crate::session) struct ReviewNews {
    pub(super) server: String,
    pub(super) what: Result<ReviewStage, ReviewEnd>,
}

/// One review.
pub(super) struct ServerReview {
    pub(super) cx: Arc<InstallationContext>,
    pub(super) peer: EditorPeer,
    pub(super) session: SessionId,
    pub(super) known: KnownMcpServer,
    pub(super) news: mpsc::Sender<ReviewNews>,
    /// The editor shows it.
    pub(super) is_shown: bool,
}

impl ReviewBegin {
    pub(super) fn first_stage(self) -> ReviewStage {
        match self {
            ReviewBegin::AskFirst => ReviewStage::Asked,
            ReviewBegin::LookAgain => ReviewStage::LookedAt,
        }
    }
}

/// A yes to the first question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartConsent {
    /// It is started; its tools are looked at before they are used.
    ShowTools,
    /// It is started and its tools are used.
    UseTools,
}

impl ServerReview {
    /// Leads it to its end.
    pub(super) async fn run(mut self, begin: ReviewBegin) {
        let end = self.review(begin).await.unwrap_or_else(|end| end);
        if self.is_shown {
            self.end_call(&end).await;
        }
        self.tell(Err(end)).await;
    }

    /// What comes of it; an end before its end is an error.
    async fn review(&mut self, begin: ReviewBegin) -> Result<ReviewEnd, ReviewEnd> {
        let consent = match begin {
            ReviewBegin::AskFirst => self.ask_start().await?,
            ReviewBegin::LookAgain => StartConsent::ShowTools,
        };
        if begin == ReviewBegin::AskFirst {
            self.tell(Ok(ReviewStage::Starting)).await;
        }
        let spec = self.known.enabled_spec().map_err(|error| failed(&error))?;
        let offered = approval::offer(&self.cx, &self.known, spec);
        let offered = tokio::time::timeout(LISTING_WAIT, offered).await;
        let offered = offered.map_err(|_| ReviewEnd::Failed("it does not answer".into()))?;
        let (pin, differences) = offered.map_err(|error| failed(&error))?;
        if begin == ReviewBegin::LookAgain && !words::closes_anything(&differences) {
            return Ok(ReviewEnd::Unchanged);
        }
        if consent == StartConsent::ShowTools {
            self.tell(Ok(ReviewStage::Asked)).await;
            let text = approval::shown(&self.known, &pin.listing, &differences);
            match self.ask(ServerQuestion::Tools, &text).await? {
                Decision::Deny | Decision::Cancelled | Decision::Expired => {
                    return self.refuse().await;
                }
                Decision::Once | Decision::Session | Decision::Always => (),
            }
        }
        let saved = mcp::save_approval(&self.cx, &self.known.declared, &pin).await;
        saved.map_err(|error| failed(&error))?;
        Ok(ReviewEnd::Approved(count_text(pin.listing.tools.len(), "tool")))
    }

    async fn ask_start(&mut self) -> Result<StartConsent, ReviewEnd> {
        let text = brought::describe_start(&self.known);
        match self.ask(ServerQuestion::Start, &text).await? {
            Decision::Always => Ok(StartConsent::UseTools),
            Decision::Once | Decision::Session => Ok(StartConsent::ShowTools),
            Decision::Deny | Decision::Cancelled | Decision::Expired => Err(self.refuse().await?),
        }
    }

    async fn refuse(&self) -> Result<ReviewEnd, ReviewEnd> {
        let saved = brought::save_refusal(&self.cx, &self.known, &self.session).await;
        saved.map(|()| ReviewEnd::Refused).map_err(|error| failed(&error))
    }

    /// Asks the person at the editor. Whatever is no answer is an end.
    async fn ask(&mut self, asked: ServerQuestion, text: &str) -> Result<Decision, ReviewEnd> {
        self.show_call(asked).await;
        let call = ToolCallChange {
            title: Some(self.title(asked)),
            kind: Some(ToolKind::Other),
            status: Some(ToolCallStatus::Pending),
            ..self.call_change()
        };
        let params = server_question(self.session.as_str(), call, asked, text);
        let unable =
            |why: String| ReviewEnd::Unanswered(format!("the editor could not ask: {why}"));
        let request = self.peer.send_request("session/request_permission", &params).await;
        let request = request.map_err(|error| unable(error.message))?;
        match read_reply(request.wait_for_answer().await) {
            PermissionReply::Decided(decision) => Ok(decision),
            PermissionReply::Unable(why) => Err(unable(why)),
            PermissionReply::Nothing | PermissionReply::Chosen(_) | PermissionReply::Said(_) => {
                Err(ReviewEnd::Unanswered("nobody answered what was asked about it".into()))
            }
        }
    }

    fn title(&self, asked: ServerQuestion) -> String {
        let name = one_line(&self.known.declared.name);
        match (asked, self.known.declared.settings.url.is_empty()) {
            (ServerQuestion::Start, true) => format!("Start the MCP server {name} of the editor?"),
            (ServerQuestion::Start, false) => {
                format!("Connect to the MCP server {name} of the editor?")
            }
            (ServerQuestion::Tools, _) => format!("Use the tools of the MCP server {name}?"),
        }
    }

    fn call_change(&self) -> ToolCallChange {
        let tool_call_id = format!("mcp-server-{}", self.known.declared.name);
        ToolCallChange { tool_call_id, ..ToolCallChange::default() }
    }

    /// Shows what is asked about, as editors expect it of every question.
    async fn show_call(&mut self, asked: ServerQuestion) {
        if std::mem::replace(&mut self.is_shown, true) {
            return;
        }
        self.send_update(&SessionUpdate::ToolCall(ToolCallStart {
            tool_call_id: self.call_change().tool_call_id,
            title: self.title(asked),
            name: None,
            kind: ToolKind::Other,
            status: ToolCallStatus::Pending,
            raw_input: None,
        }))
        .await;
    }

    async fn end_call(&self, end: &ReviewEnd) {
        let name = one_line(&self.known.declared.name);
        let (status, text) = match end {
            ReviewEnd::Approved(tools) => {
                (ToolCallStatus::Completed, format!("Approved: {tools}."))
            }
            ReviewEnd::Unchanged => (ToolCallStatus::Completed, "It is as approved.".into()),
            ReviewEnd::Refused => (ToolCallStatus::Failed, "Not used.".into()),
            ReviewEnd::Unanswered(why) | ReviewEnd::Failed(why) => {
                (ToolCallStatus::Failed, format!("Not used: {}", one_line(why)))
            }
        };
        self.send_update(&SessionUpdate::ToolCallUpdate(ToolCallChange {
            title: Some(format!("MCP server {name} of the editor")),
            status: Some(status),
            content: Some(vec![ToolCallContent::text_content(
                weir_install::file_view::escape_words(&text),
            )]),
            ..self.call_change()
        }))
        .await;
    }

    async fn send_update(&self, update: &SessionUpdate) {
        let params = UpdateParams { session_id: self.session.as_str(), update };
        self.peer.send_notification("session/update", &params).await;
    }

    /// A session that has gone hears nothing.
    async fn tell(&self, what: Result<ReviewStage, ReviewEnd>) {
        let server = self.known.declared.name.clone();
        let _ = self.news.send(ReviewNews { server, what }).await;
    }
}

fn failed(error: &impl std::fmt::Display) -> ReviewEnd {
    ReviewEnd::Failed(format!("{error:#}"))
}
