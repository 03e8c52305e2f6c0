//! State, context and cost of a chat; its task list; what must not be overlooked.

use maud::{Markup, html};
use weir_core::tool::{PlanItem, PlanStatus};
use weir_core::view::plain::visible_text;
use weir_core::view::told::{format_dollars, token_count_text};
use weir_core::view::transcript::{Activity, SessionMeters, Transcript, UnknownCall};

/// How a chat stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ChatStatus {
    /// What is going on: `None`: nothing, it is at rest.
    pub(crate) activity: Option<Activity>,
    /// A run is on, and a person is needed.
    pub(crate) waiting: bool,
    /// Numbers of the chat.
    pub(crate) meters: SessionMeters,
    /// Model, `provider/name`.
    pub(crate) model: String,
    /// How much the model thinks; empty: as usual for it.
    pub(crate) thinking: String,
    /// Profile.
    pub(crate) profile: String,
    /// Permission mode.
    pub(crate) permission: String,
}

impl ChatStatus {
    /// How a chat stands of which so much is seen.
    pub(super) fn from_transcript(seen: &Transcript) -> ChatStatus {
        let settings = seen.settings();
        ChatStatus {
            activity: seen.activity().cloned(),
            waiting: seen.is_running() && !seen.asks().is_empty(),
            meters: seen.meters().clone(),
            model: settings.model.clone(),
            thinking: settings.thinking.map(|it| it.as_str().into()).unwrap_or_default(),
            profile: settings.profile.clone(),
            permission: settings.permission.map(|it| it.as_str().into()).unwrap_or_default(),
        }
    }

    fn activity_text(&self) -> Option<String> {
        Some(match self.activity.as_ref()? {
            activity @ (Activity::Stopping | Activity::Paused(_)) => activity.activity_words(),
            _ if self.waiting => "Waiting for you".into(),
            activity => activity.activity_words(),
        })
    }
}

/// What must not be overlooked: calls of which nobody knows whether they happened (D4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChatBanner {
    /// Those that are not settled.
    pub(crate) unknown: Vec<UnknownCall>,
}

pub(super) fn render_status(state: &ChatStatus) -> Markup {
    let meters = &state.meters;
    let running = state.activity.is_some();
    let waiting = state.waiting;
    let paused = matches!(state.activity, Some(Activity::Paused(_)));
    html! {
        div id="status" class="status" data-running=(running) data-model=(visible_text(&state.model))
            data-profile=(visible_text(&state.profile)) data-permission=(state.permission)
            data-thinking=(state.thinking) data-paused=(paused) {
            span.doing data-waiting=(waiting) {
                @if let Some(words) = state.activity_text() {
                    @if !waiting && !paused { span.pulse aria-hidden="true" {} }
                    (words)
                }
            }
            span.grow {}
            @if let Some(share) = meters.context_share() {
                span.context title={
                    (meters.context) " of " (meters.window) " tokens of the model's context are used"
                } {
                    span.unseen { "Context " }
                    meter min="0" max="100" high="70" value=(share) { (share) " %" }
                    span { (share) " %" }
                }
            }
            @if meters.tokens > 0 {
                span.used title={ (meters.tokens) " tokens" } {
                    (token_count_text(meters.tokens)) span.unseen { " tokens" }
                    @if meters.cost_usd > 0.0 {
                        " · " (format_dollars(meters.cost_usd)) @if meters.cost_open { "+" }
                    }
                }
            }
        }
    }
}

pub(super) fn render_plan(items: &[PlanItem]) -> Markup {
    let done = items.iter().filter(|item| item.status == PlanStatus::Done).count();
    let now = items.iter().find(|item| item.status == PlanStatus::InProgress);
    html! {
        div id="plan" class="plan" {
            @if !items.is_empty() {
                details open[done < items.len()] {
                    summary {
                        strong { "Tasks " (done) "/" (items.len()) }
                        @if let Some(item) = now { span.muted { " " (visible_text(&item.text)) } }
                    }
                    ol {
                        @for item in items {
                            @let (class, word) = match item.status {
                                PlanStatus::Pending => ("pending", "to do"),
                                PlanStatus::InProgress => ("now", "in progress"),
                                PlanStatus::Done => ("done", "done"),
                            };
                            li class=(class) { (visible_text(&item.text)) span.unseen { " (" (word) ")" } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn render_banner(banner: &ChatBanner) -> Markup {
    html! {
        div id="banner" {
            @if !banner.unknown.is_empty() {
                div.notice.warn role="alert" {
                    p {
                        strong { "Outcome unknown. " }
                        "Weir stopped while this was running, so its outcome is unknown. Check it yourself \
                         before you allow it again; until then, every action with effects asks you \
                         first."
                    }
                    ul {
                        @for unsure in &banner.unknown {
                            li {
                                a href={ "#e" (unsure.seq) } { (unsure.tool) } ": "
                                (unsure.why)
                            }
                        }
                    }
                }
            }
        }
    }
}
