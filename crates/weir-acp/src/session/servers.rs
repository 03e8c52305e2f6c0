//! MCP servers that the editor brings to a session: those that nobody approved yet are asked about, started
//! after a yes, and approved as `weir mcp-servers approve` does. A prompt waits a moment for that, so that a
//! session begins with its tools; without an answer it goes on without them, and that is said.
//!
//! Beside it: `review` (the dialog about one). Not here: using them, which is the session's own matter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use weir_core::ids::CallId;
use weir_core::tool::foreign;
use weir_core::view::told::{FactTone, one_line};
use weir_install::catalogue::servers::brought::{
    BroughtServerState, brought_server_state, load_brought_servers,
};
use weir_install::context::InstallationContext;
use weir_install::wiring::mcp::KnownMcpServer;
use weir_tui::link::UiCommand;

use super::EditorSession;
use crate::rpc::RequestId;
use crate::wire::{ContentBlock, PromptResult, TurnEnd};

mod review;

use review::{ReviewBegin, ReviewEnd, ReviewNews, ReviewStage, ServerReview};

/// How long a prompt waits for the answer to a question about a server.
const ANSWER_WAIT: Duration = Duration::from_secs(3);
/// How long a prompt waits for a server that is being started.
const START_WAIT: Duration = Duration::from_secs(20);
/// Prompts that may wait at once.
const HELD_MAX: usize = 16;
/// News that may wait.
const NEWS_MAX: usize = 64;

/// A prompt that waits for servers.
struct HeldPrompt {
    request: RequestId,
    blocks: Vec<ContentBlock>,
}

/// A review that is on.
struct OpenReview {
    stage: ReviewStage,
    /// How long prompts wait for it.
    holds_until: Instant,
}

/// What is going on about servers of the editor.
pub(super) struct ServerReviews {
    cx: Option<Arc<InstallationContext>>,
    /// Their names.
    brought: Vec<String>,
    open: BTreeMap<String, OpenReview>,
    /// Those that were looked at again because a call of theirs failed.
    looked_again: BTreeSet<String>,
    held: Vec<HeldPrompt>,
    /// One was approved that the session does not have yet.
    has_new: bool,
    /// It was said that background jobs keep them away.
    has_told_jobs: bool,
    tasks: JoinSet<()>,
    sender: mpsc::Sender<ReviewNews>,
    news: mpsc::Receiver<ReviewNews>,
}

impl ServerReviews {
    /// Those of a session to which servers may be brought by `cx`; `None`: none are.
    pub(super) fn new(cx: Option<InstallationContext>) -> ServerReviews {
        let (sender, news) = mpsc::channel(NEWS_MAX);
        ServerReviews {
            cx: cx.map(Arc::new),
            brought: Vec::new(),
            open: BTreeMap::new(),
            looked_again: BTreeSet::new(),
            held: Vec::new(),
            has_new: false,
            has_told_jobs: false,
            tasks: JoinSet::new(),
            sender,
            news,
        }
    }

    /// The next thing that happened. Waits for ever where nothing is on.
    pub(super) async fn next_news(&mut self) -> Option<ReviewNews> {
        self.news.recv().await
    }

    /// How long prompts wait; `None`: they do not.
    pub(super) fn holds_until(&self) -> Option<Instant> {
        let now = Instant::now();
        self.open.values().map(|review| review.holds_until).filter(|until| *until > now).max()
    }

    /// When those that wait are said at the latest; `None`: none waits.
    pub(super) fn release_time(&self) -> Option<Instant> {
        let waits = !self.held.is_empty();
        waits.then(|| self.holds_until().unwrap_or_else(Instant::now))
    }

    /// Nothing is asked or started any more.
    pub(super) fn abort_all(&mut self) {
        self.tasks.abort_all();
    }
}

impl EditorSession {
    /// Looks which servers the editor brings, and begins to ask about those that nobody approved.
    pub(super) async fn review_servers(&mut self) {
        let Some(cx) = self.servers.cx.clone() else { return };
        let known = match load_brought_servers(&cx).await {
            Ok(known) => known,
            Err(error) => {
                let why = format!("the MCP servers of the editor are not used: {error:#}");
                return self.tell_remark(FactTone::Warn, &why).await;
            }
        };
        for brought in cx.editor_servers() {
            if !known.iter().any(|one| one.declared.name == brought.name) {
                let name = one_line(&brought.name);
                let words = format!(
                    "the MCP server {name} of the editor is left out: one of this name is declared already"
                );
                self.tell_remark(FactTone::Quiet, &words).await;
            }
        }
        for one in known {
            let name = one.declared.name.clone();
            let state = brought_server_state(&cx, &one, &self.id).await;
            self.servers.brought.push(name.clone());
            match state.unwrap_or_else(|error| BroughtServerState::Unusable(format!("{error:#}"))) {
                BroughtServerState::Approved => (),
                BroughtServerState::Unapproved => {
                    self.begin_review(cx.clone(), one, ReviewBegin::AskFirst);
                }
                BroughtServerState::Refused => {
                    let words = format!("the MCP server {name} is not started: you said no to it");
                    self.tell_remark(FactTone::Quiet, &words).await;
                }
                BroughtServerState::Unusable(why) => {
                    let why = format!("the MCP server {name} of the editor is not used: {why}");
                    self.tell_remark(FactTone::Warn, &why).await;
                }
            }
        }
    }

    fn begin_review(
        &mut self,
        cx: Arc<InstallationContext>,
        known: KnownMcpServer,
        begin: ReviewBegin,
    ) {
        let name = known.declared.name.clone();
        let stage = begin.first_stage();
        self.note_stage(&name, stage);
        let review = ServerReview {
            cx,
            peer: self.peer.clone(),
            session: self.id.clone(),
            known,
            news: self.servers.sender.clone(),
            is_shown: false,
        };
        self.servers.tasks.spawn(review.run(begin));
    }

    fn note_stage(&mut self, name: &str, stage: ReviewStage) {
        let wait = match stage {
            ReviewStage::Asked => ANSWER_WAIT,
            ReviewStage::Starting => START_WAIT,
            ReviewStage::LookedAt => Duration::ZERO,
        };
        let review = OpenReview { stage, holds_until: Instant::now() + wait };
        self.servers.open.insert(name.to_owned(), review);
    }

    /// A call failed: where it is one of a server of the editor, what that offers may be another than was
    /// approved.
    pub(super) async fn look_at_failed_call(&mut self, call: CallId) {
        let failed = self.render.transcript().find_call(call).and_then(|entry| {
            let finished = entry.finished.as_deref().filter(|fact| !fact.ok)?;
            Some([finished.tool.clone(), entry.proposed.fact.tool.clone()])
        });
        let (Some(tools), Some(cx)) = (failed, self.servers.cx.clone()) else { return };
        let is_its = |name: &&String| {
            let prefix = format!("{}{}__", foreign::PREFIX, foreign::server_part(name));
            tools.iter().any(|tool| tool.starts_with(&prefix))
        };
        let Some(name) = self.servers.brought.iter().find(is_its).cloned() else { return };
        if self.servers.open.contains_key(&name) || !self.servers.looked_again.insert(name.clone())
        {
            return;
        }
        let Ok(known) = load_brought_servers(&cx).await else { return };
        if let Some(known) = known.into_iter().find(|one| one.declared.name == name)
            && known.pin.is_some()
        {
            self.begin_review(cx, known, ReviewBegin::LookAgain);
        }
    }

    /// Something happened about a server.
    pub(super) async fn take_review_news(&mut self, news: ReviewNews) {
        let name = one_line(&news.server);
        match news.what {
            Ok(stage) => return self.note_stage(&news.server, stage),
            Err(end) => {
                self.servers.open.remove(&news.server);
                self.servers.has_new |= matches!(end, ReviewEnd::Approved(_));
                let (tone, words) = match end {
                    ReviewEnd::Approved(tools) => {
                        (FactTone::Quiet, format!("the MCP server {name} is approved: {tools}"))
                    }
                    ReviewEnd::Refused => (
                        FactTone::Quiet,
                        format!("the MCP server {name} is not used: you said no to it"),
                    ),
                    ReviewEnd::Unanswered(why) => (
                        FactTone::Warn,
                        format!(
                            "the MCP server {name} is not used: {why}; it is asked about again when the session is opened again"
                        ),
                    ),
                    ReviewEnd::Failed(why) => (
                        FactTone::Warn,
                        format!("the MCP server {name} of the editor is not used: {why}"),
                    ),
                    ReviewEnd::Unchanged => (FactTone::Quiet, String::new()),
                };
                self.tell_remark(tone, &words).await;
            }
        }
        self.use_new_servers().await;
        if self.servers.holds_until().is_none() {
            self.release_prompts().await;
        }
    }

    /// Takes the session up anew with what was approved, as soon as that ends nothing: a run goes on to its end,
    /// and so do background jobs, which would end with it. A session that is to begin has them then.
    pub(super) async fn use_new_servers(&mut self) {
        let starts = |review: &OpenReview| review.stage == ReviewStage::Starting;
        if !self.servers.has_new || self.servers.open.values().any(starts) {
            return;
        }
        let transcript = self.render.transcript();
        let (is_running, has_jobs) = (transcript.is_running(), !transcript.jobs().is_empty());
        if is_running {
            return;
        }
        if has_jobs {
            if !std::mem::replace(&mut self.servers.has_told_jobs, true) {
                let words = "the tools of what you approved come when the background jobs of this session \
                             have ended, which taking it up anew would end, or when it is opened again";
                self.tell_remark(FactTone::Quiet, words).await;
            }
            return;
        }
        match self.send_wish(UiCommand::Reload) {
            Ok(()) => (self.servers.has_new, self.servers.has_told_jobs) = (false, false),
            // What happens next tries again.
            Err(error) => self.tell_remark(FactTone::Warn, &error.message).await,
        }
    }

    /// Says a prompt, as soon as no server holds it up.
    pub(super) async fn take_prompt(&mut self, request: RequestId, blocks: Vec<ContentBlock>) {
        self.use_new_servers().await;
        let waits = self.servers.holds_until().is_some() || !self.servers.held.is_empty();
        match waits && self.servers.held.len() < HELD_MAX {
            true => self.servers.held.push(HeldPrompt { request, blocks }),
            false => {
                self.tell_unanswered().await;
                self.say_prompt(request, blocks).await;
            }
        }
    }

    /// Nothing holds prompts up any more.
    pub(super) async fn release_prompts(&mut self) {
        let held = std::mem::take(&mut self.servers.held);
        if held.is_empty() {
            return;
        }
        self.tell_unanswered().await;
        for prompt in held {
            self.say_prompt(prompt.request, prompt.blocks).await;
        }
    }

    /// Prompts that wait are not wanted any more: all, or this one.
    pub(super) async fn drop_held_prompts(&mut self, one: Option<&RequestId>) {
        let is_dropped = |held: &mut HeldPrompt| one.is_none_or(|request| held.request == *request);
        let dropped: Vec<HeldPrompt> = self.servers.held.extract_if(.., is_dropped).collect();
        for prompt in dropped {
            let result = PromptResult { stop_reason: TurnEnd::Cancelled };
            self.peer.send_answer(&prompt.request, Ok(result)).await;
        }
    }

    /// Says once of each server that nobody has answered about that it is not there yet.
    async fn tell_unanswered(&mut self) {
        let asked = self.servers.open.iter_mut();
        let asked = asked.filter(|(_, review)| review.stage == ReviewStage::Asked);
        let names: Vec<String> = asked
            .map(|(name, review)| {
                review.stage = ReviewStage::LookedAt;
                one_line(name)
            })
            .collect();
        for name in names {
            let words = format!(
                "the MCP server {name} of the editor is not used yet: what was asked about it is not \
                 answered"
            );
            self.tell_remark(FactTone::Warn, &words).await;
        }
    }
}
