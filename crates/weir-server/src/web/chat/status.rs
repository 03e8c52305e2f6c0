//! State, context and cost of a chat; its task list; what must not be overlooked.

use maud::{Markup, html};
use weir_core::event::Event;
use weir_core::ids::CallId;
use weir_core::tool::PlanStatus;
use weir_core::view::plain::visible;
use weir_core::view::told::{dollars, tokens};

/// How a chat stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Status {
    /// What is going on: `None`: nothing, it is at rest.
    pub(crate) doing: Option<Doing>,
    /// Tokens of the last request, estimated.
    pub(crate) context: u64,
    /// Tokens that fit.
    pub(crate) window: u64,
    /// Tokens that were used.
    pub(crate) tokens: u64,
    /// US dollars, where every price is known.
    pub(crate) cost_usd: f64,
    /// Some price is not known: the cost is at least this.
    pub(crate) cost_open: bool,
    /// Model, `provider/name`.
    pub(crate) model: String,
    /// How much the model thinks; empty: as usual for it.
    pub(crate) thinking: String,
    /// Profile.
    pub(crate) profile: String,
    /// Permission mode.
    pub(crate) permission: String,
}

/// What is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Doing {
    /// A request is being made.
    Working,
    /// The model writes or thinks.
    Writing,
    /// Calls are under way: the tool.
    Calling(String),
    /// A person is needed.
    Waiting,
    /// The context is being made shorter.
    Condensing,
    /// Somebody wants it to end.
    Stopping,
}

impl Doing {
    fn words(&self) -> String {
        match self {
            Doing::Working => "Working".into(),
            Doing::Writing => "Writing".into(),
            Doing::Calling(tool) => format!("Using {}", visible(tool)),
            Doing::Waiting => "Waiting for you".into(),
            Doing::Condensing => "Compacting the context".into(),
            Doing::Stopping => "Stopping".into(),
        }
    }
}

/// What must not be overlooked: calls of which nobody knows whether they happened (D4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Banner {
    /// Those that are not settled.
    pub(crate) unknown: Vec<Unsure>,
}

/// A call of which nobody knows whether it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsure {
    /// Its entry.
    pub(crate) place: u64,
    /// Which.
    pub(crate) call: CallId,
    /// Tool.
    pub(crate) tool: String,
    /// Why nobody knows.
    pub(crate) why: String,
}

pub(super) fn status(state: &Status) -> Markup {
    let running = state.doing.is_some();
    let waiting = state.doing == Some(Doing::Waiting);
    let share = match state.window {
        0 => 0,
        window => (state.context.saturating_mul(100) / window).min(100),
    };
    html! {
        div id="status" class="status" data-running=(running) data-model=(visible(&state.model))
            data-profile=(visible(&state.profile)) data-permission=(state.permission)
            data-thinking=(state.thinking) {
            span.doing data-waiting=(waiting) {
                @if let Some(doing) = &state.doing {
                    @if !waiting { span.pulse aria-hidden="true" {} }
                    (doing.words())
                }
            }
            span.grow {}
            @if state.context > 0 && state.window > 0 {
                span.context title={
                    (state.context) " of " (state.window) " tokens of the model's context are used"
                } {
                    span.unseen { "Context " }
                    meter min="0" max="100" high="70" value=(share) { (share) " %" }
                    span { (share) " %" }
                }
            }
            @if state.tokens > 0 {
                span.used title={ (state.tokens) " tokens" } {
                    (tokens(state.tokens)) span.unseen { " tokens" }
                    @if state.cost_usd > 0.0 {
                        " · " (dollars(state.cost_usd)) @if state.cost_open { "+" }
                    }
                }
            }
        }
    }
}

pub(super) fn plan(event: Option<&Event>) -> Markup {
    let items = match event {
        Some(Event::PlanUpdated(fact)) => fact.items.as_slice(),
        _ => &[],
    };
    let done = items.iter().filter(|item| item.status == PlanStatus::Done).count();
    let now = items.iter().find(|item| item.status == PlanStatus::InProgress);
    html! {
        div id="plan" class="plan" {
            @if !items.is_empty() {
                details open[done < items.len()] {
                    summary {
                        strong { "Tasks " (done) "/" (items.len()) }
                        @if let Some(item) = now { span.muted { " " (visible(&item.text)) } }
                    }
                    ol {
                        @for item in items {
                            @let (class, word) = match item.status {
                                PlanStatus::Pending => ("pending", "to do"),
                                PlanStatus::InProgress => ("now", "in progress"),
                                PlanStatus::Done => ("done", "done"),
                            };
                            li class=(class) { (visible(&item.text)) span.unseen { " (" (word) ")" } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn banner(banner: &Banner) -> Markup {
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
                                a href={ "#e" (unsure.place) } { (visible(&unsure.tool)) } ": "
                                (visible(&unsure.why))
                            }
                        }
                    }
                }
            }
        }
    }
}
