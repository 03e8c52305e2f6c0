//! A model for side work that is asked only in its turn among those with whom its session shares bounds, and
//! while no cap is reached that sessions have in common. What it answers otherwise is a failure with the reason:
//! a judge that does not answer says no, a summary is not made. Not here: the session's own model, of which the
//! session itself is told.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::ids::{CallId, SessionId};
use weir_core::message::MessageBlock;
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ModelRequest};
use weir_core::session::family_budget::SpentSum;

use super::{
    EndedHelp, FamilySpending, HeldSpending, SharedSpending, most_of_request, most_used_by_request,
};
use crate::ports::{AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink};
use crate::session_time::SessionTime;

/// Bytes of a token, at least.
const BYTES_PER_TOKEN: usize = 3;
/// What stands in a name in place of a call.
const NO_CALL: &str = "-";

/// Under what a model for side work is asked.
#[derive(Clone)]
pub(crate) struct HelperBounds {
    /// The session for which it is asked.
    pub(crate) session: SessionId,
    /// The call for which it is asked, where what it uses is counted with the end of that.
    pub(crate) call: Option<CallId>,
    /// Those with whom the session shares bounds.
    pub(crate) family: FamilySpending,
    /// Caps that sessions have in common; none: there is none.
    pub(crate) spending: Option<SharedSpending>,
    /// The session's time.
    pub(crate) time: SessionTime,
}

impl HelperBounds {
    /// Sets aside under the caps what a request to `model` of about `tokens` costs at most; none: there is
    /// no cap.
    async fn reserve_under_caps(
        &self,
        model: &ModelInfo,
        tokens: u64,
    ) -> Result<Option<HeldSpending>, String> {
        let HelperBounds { spending: Some(spending), time, .. } = self else {
            return Ok(None);
        };
        let whose = self.hold_name(&model.model.to_string());
        let at_most = most_of_request(model, tokens);
        HeldSpending::reserve(spending.clone(), time.clone(), whose, at_most).await.map(Some)
    }

    /// How the names of what is set aside for asking `whom` begin; [`is_counted`] and [`call_prefix`] read them.
    pub(super) fn hold_name(&self, whom: &str) -> String {
        let HelperBounds { session, call, .. } = self;
        match call {
            Some(call) => format!("{session}/{call}/{whom}"),
            None => format!("{session}/{NO_CALL}/{whom}"),
        }
    }
}

/// How the names begin of what is set aside for the same call as `name`; `None`: it is for no call.
pub(super) fn call_prefix(name: &str) -> Option<&str> {
    let (session, rest) = name.split_once('/')?;
    let (call, _) = rest.split_once('/')?;
    call.parse::<CallId>().ok()?;
    name.get(..session.len() + call.len() + 2)
}

/// Whether what is set aside under `name` is for `session`, and for what has `ended` there.
pub(super) fn is_counted(name: &str, session: &str, ended: &EndedHelp) -> bool {
    let rest = name.strip_prefix(session).and_then(|rest| rest.strip_prefix('/'));
    let call = rest.and_then(|rest| rest.split('/').next());
    call.is_some_and(|call| ended.has(call.parse().ok()))
}

/// A model under bounds.
pub(crate) struct CappedModel {
    inner: Arc<dyn Model>,
    bounds: HelperBounds,
}

impl CappedModel {
    /// `model`, asked while `bounds` let it.
    pub(crate) fn wrap(model: Arc<dyn Model>, bounds: HelperBounds) -> Arc<dyn Model> {
        Arc::new(CappedModel { inner: model, bounds })
    }
}

impl Model for CappedModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(CappedConversation {
            inner: self.inner.start_conversation(),
            bounds: self.bounds.clone(),
            model: self.inner.info(),
            tokens: 0,
        })
    }
}

struct CappedConversation {
    inner: Box<dyn Conversation>,
    bounds: HelperBounds,
    model: Arc<ModelInfo>,
    tokens: u64,
}

#[async_trait]
impl Conversation for CappedConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        let bytes: usize = request.system.len()
            + request
                .history
                .iter()
                .flat_map(|message| &message.blocks)
                .map(text_bytes)
                .sum::<usize>();
        self.tokens = (bytes / BYTES_PER_TOKEN) as u64;
        self.inner.prepare(request, media)
    }

    fn first_to_write(&self, request: &ModelRequest) -> usize {
        self.inner.first_to_write(request)
    }

    fn attachment_support(&self) -> AttachmentSupport {
        self.inner.attachment_support()
    }

    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        let CappedConversation { inner, bounds, model, tokens } = self;
        let at_most = most_used_by_request(model, *tokens);
        // Those near by first, in the order of the session's own requests: whoever waits for a cap keeps nobody
        // of another family, and whoever has both will be done.
        let HelperBounds { family, session, call, .. } = &*bounds;
        let mut turn = match family.reserve_for_helper(session, *call, at_most).await {
            Ok(turn) => turn,
            Err(why) => return refused_reply(why),
        };
        let held = match bounds.reserve_under_caps(model, *tokens).await {
            Ok(held) => held,
            Err(why) => return refused_reply(why),
        };
        turn.begin_use(at_most);
        let reply = match &held {
            Some(held) => held.hold_during(inner.send(signals)).await,
            None => inner.send(signals).await,
        };
        turn.settle_use(used_by_reply(model, &reply, at_most));
        if let Some(held) = held {
            held.settle(cost_of_reply(model, &reply)).await;
        }
        reply
    }
}

fn refused_reply(why: String) -> ModelReply {
    ModelReply::Failed { class: FailureClass::Refused, message: why, retry_after_ms: None }
}

/// What a reply cost; `None`: nobody counted it.
fn cost_of_reply(model: &ModelInfo, reply: &ModelReply) -> Option<f64> {
    match reply {
        ModelReply::Whole { usage, .. } if usage.is_nothing() => None,
        ModelReply::Whole { usage, .. } => model.cost(usage),
        ModelReply::Failed { class, .. } if class.may_be_charged() => None,
        ModelReply::Failed { .. } => Some(0.0),
    }
}

/// What a request used; where nobody counted it, the most.
fn used_by_reply(model: &ModelInfo, reply: &ModelReply, at_most: SpentSum) -> SpentSum {
    match reply {
        ModelReply::Whole { usage, .. } if !usage.is_nothing() => {
            SpentSum { usd: model.cost(usage).unwrap_or(0.0), tokens: usage.total_tokens() }
        }
        ModelReply::Failed { class, .. } if !class.may_be_charged() => SpentSum::default(),
        ModelReply::Whole { .. } | ModelReply::Failed { .. } => at_most,
    }
}

fn text_bytes(block: &MessageBlock) -> usize {
    match block {
        MessageBlock::Text { text, .. } => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use weir_core::event::{CallUnknown, Event};
    use weir_core::ids::Timestamp;
    use weir_core::model::{ModelRef, ReplyBlock, StopReason, Usage};
    use weir_core::session::family_budget::{FamilyMember, RunningAgent};

    use super::*;
    use crate::helper::ask_helper_model;
    use crate::system_clock::SystemClock;

    /// A model that answers every question with 30 tokens, and counts the questions.
    #[derive(Clone, Default)]
    struct CountingModel(Arc<AtomicUsize>);

    impl Model for CountingModel {
        fn info(&self) -> Arc<ModelInfo> {
            let model = ModelRef { provider: "box".into(), name: "helper".into() };
            Arc::new(ModelInfo { max_output: 100, ..ModelInfo::with_name(model) })
        }
        fn start_conversation(&self) -> Box<dyn Conversation> {
            Box::new(self.clone())
        }
    }

    #[async_trait]
    impl Conversation for CountingModel {
        fn prepare(&mut self, _request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
            PreparedRequest::default()
        }
        async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
            self.0.fetch_add(1, Ordering::Relaxed);
            ModelReply::Whole {
                blocks: vec![ReplyBlock::Said(MessageBlock::text("done"))],
                stop: StopReason::End,
                usage: Usage { input: 20, output: 10, ..Usage::default() },
                repairs: Vec::new(),
            }
        }
    }

    /// A model that never answers.
    #[derive(Clone)]
    struct SilentModel;

    impl Model for SilentModel {
        fn info(&self) -> Arc<ModelInfo> {
            CountingModel::default().info()
        }
        fn start_conversation(&self) -> Box<dyn Conversation> {
            Box::new(self.clone())
        }
    }

    #[async_trait]
    impl Conversation for SilentModel {
        fn prepare(&mut self, _request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
            PreparedRequest::default()
        }
        async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
            std::future::pending().await
        }
    }

    /// Two agents that have `left` tokens for both, and the bounds of a helper of the first.
    fn bounds_of_first(left: u64) -> HelperBounds {
        let family = FamilySpending::default();
        let agents = ["s_c1", "s_c2"].map(SessionId::new);
        let running = agents.iter().cloned();
        let granted = SpentSum::default();
        let running = running.map(|agent| RunningAgent { agent, granted }).collect();
        let parent = FamilyMember { left_tokens: Some(left), running, ..FamilyMember::default() };
        family.lock_budget().set_member(&SessionId::new("s"), parent);
        for agent in &agents {
            family.lock_budget().set_member(agent, FamilyMember::default());
        }
        let time = SessionTime::from_last_fact(Arc::new(SystemClock::default()), Timestamp(0));
        let [session, _] = agents;
        HelperBounds { session, call: Some(CallId(7)), family, spending: None, time }
    }

    #[tokio::test]
    async fn r11_a_helper_is_asked_in_its_turn_and_what_it_used_counts_for_the_others() {
        let (bounds, model) = (bounds_of_first(50), CountingModel::default());
        let family = bounds.family.clone();
        let wrapped = CappedModel::wrap(Arc::new(model.clone()), bounds);
        let (first, second) = (SessionId::new("s_c1"), SessionId::new("s_c2"));
        let at_most = SpentSum { usd: 0.0, tokens: 60 };
        assert_eq!(family.reserve_spending(&second, at_most).await, Ok(()));
        let asked = ask_helper_model(wrapped.as_ref(), &first, "", "Is it clean?".into());
        let mut asked = std::pin::pin!(asked);
        assert!(asked.as_mut().now_or_never().is_none(), "the other may use up what is left");
        assert_eq!(model.0.load(Ordering::Relaxed), 0);
        family.release_spending(&second);
        assert_eq!(asked.await.expect("it is asked").0, "done");
        // 30 of the 50 are used: one more question may go beyond, and no third one is asked.
        let again = ask_helper_model(wrapped.as_ref(), &first, "", "And now?".into());
        again.await.expect("something is left");
        let third = ask_helper_model(wrapped.as_ref(), &first, "", "And now?".into());
        let why = third.await.expect_err("nothing is left");
        assert!(why.contains("nothing is left of the tokens"), "{why}");
        assert_eq!(model.0.load(Ordering::Relaxed), 2);
        assert!(family.reserve_spending(&second, at_most).await.is_err());
    }

    #[tokio::test]
    async fn r11_a_helper_that_is_cut_off_may_have_used_all_that_it_could() {
        let bounds = bounds_of_first(50);
        let (family, first) = (bounds.family.clone(), bounds.session.clone());
        let wrapped = CappedModel::wrap(Arc::new(SilentModel), bounds);
        let asked = ask_helper_model(wrapped.as_ref(), &first, "", "Is it clean?".into());
        assert!(asked.now_or_never().is_none(), "it is asked, and nobody waits for it any more");
        let at_most = SpentSum { usd: 0.0, tokens: 60 };
        let refused = family.reserve_spending(&SessionId::new("s_c2"), at_most).await;
        assert!(refused.expect_err("nothing is left").spent >= 100.0);
    }

    #[test]
    fn r11_what_is_set_aside_says_for_which_call_of_which_session() {
        let bounds = bounds_of_first(50);
        let name = format!("{}/4f-1", bounds.hold_name("box/helper"));
        assert_eq!(name, "s_c1/c7/box/helper/4f-1");
        // A provider may be called like a call.
        let beside = HelperBounds { call: None, ..bounds }.hold_name("c7/helper");
        let unknown = |call| {
            let (tool, reason) = ("read".to_owned(), "it is gone".to_owned());
            Event::from(CallUnknown { call: CallId(call), tool, reason, told: None })
        };
        let other_ended = EndedHelp::of_facts(&[unknown(8)]);
        assert!(!is_counted(&name, "s_c1", &other_ended), "its call goes on");
        assert!(is_counted(&beside, "s_c1", &other_ended));
        let ended = EndedHelp::of_facts(&[unknown(7)]);
        assert!(is_counted(&name, "s_c1", &ended));
        for other in ["s", "s_c", "s_c2"] {
            assert!(!is_counted(&name, other, &ended) && !is_counted(&beside, other, &ended));
        }
    }
}
