//! Hooks and a judge model that answer as the scenario says: by what they are told, not by how
//! often they were asked, so that a play with a crash gets the same answers.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use weir_core::message::{MessageBlock, plain_text};
use weir_core::model::{
    FailureClass, ModelInfo, ModelRef, ModelReply, ModelRequest, Price, ReplyBlock, StopReason,
    Usage,
};
use weir_engine::ports::{
    Conversation, HookAnswer, HookCall, HookDecision, HookMoment, Hooks, MediaMap, Model,
    PreparedRequest, SignalSink,
};

use crate::parse::Setup;

struct FakeHook {
    name: String,
    moment: HookMoment,
    /// Words that must stand in what it is told.
    about: String,
    decision: HookDecision,
    words: String,
}

/// Hooks of a scenario.
pub struct FakeHooks {
    hooks: Vec<FakeHook>,
}

impl FakeHooks {
    /// Hooks as `(event, words, what it does)`: `block WORDS`, `ask WORDS` or `tell WORDS`.
    ///
    /// # Errors
    /// There is no such event or deed.
    pub fn new(setup: &[(String, String, String)]) -> anyhow::Result<FakeHooks> {
        let mut hooks = Vec::new();
        for (index, (event, about, does)) in setup.iter().enumerate() {
            let moment = HookMoment::ALL.into_iter().find(|moment| moment.as_str() == event);
            let moment = moment.with_context(|| format!("there is no event {event}"))?;
            let (word, words) = does.split_once(' ').unwrap_or((does, ""));
            let decision = match word {
                "block" => HookDecision::Deny,
                "ask" => HookDecision::Ask,
                "tell" => HookDecision::Pass,
                _ => bail!("a hook blocks, asks or tells"),
            };
            hooks.push(FakeHook {
                name: format!("hooks.{event}[{index}] (setup)"),
                moment,
                about: about.clone(),
                decision,
                words: words.into(),
            });
        }
        Ok(FakeHooks { hooks })
    }
}

#[async_trait]
impl Hooks for FakeHooks {
    fn has_listener(&self, moment: HookMoment) -> bool {
        self.hooks.iter().any(|hook| hook.moment == moment)
    }
    async fn run_hooks(&self, call: HookCall) -> Vec<HookAnswer> {
        let told = format!("{} {}", call.tool.as_deref().unwrap_or_default(), call.fields);
        let asked = self.hooks.iter().filter(|hook| hook.moment == call.moment);
        let fitting = asked.filter(|hook| told.contains(&hook.about));
        let answer = |hook: &FakeHook| {
            let tells = hook.decision == HookDecision::Pass;
            HookAnswer {
                hook: hook.name.clone(),
                decision: hook.decision,
                reason: if tells { String::new() } else { hook.words.clone() },
                context: tells.then(|| hook.words.clone()),
            }
        };
        fitting.map(answer).collect()
    }
}

/// What the helper that summarises says when a scenario does not say otherwise.
const SUMMARY: &str =
    "<summary>Earlier turns were about the task; nothing else is needed.</summary>";

/// A helper model: the first answer whose words stand in the question. `fails` fails; a question
/// that no words fit gets `otherwise`.
pub struct FakeJudge {
    answers: Arc<Vec<(String, String)>>,
    otherwise: &'static str,
    /// What its answers cost; absent: nobody knows.
    price: Option<Price>,
}

/// The stronger model of a scenario, where it has one; it costs what the session's own costs.
pub fn flagship(setup: &Setup) -> Option<Arc<dyn Model>> {
    let answers = Arc::new(setup.flagship.clone());
    let price = |(input, output)| Price { input, output, cache_read: 0.0, cache_write: 0.0 };
    let price = setup.price.map(price);
    let model = || Arc::new(FakeJudge { answers, otherwise: "", price }) as Arc<dyn Model>;
    (!setup.flagship.is_empty()).then(model)
}

impl FakeJudge {
    /// A judge with these answers.
    pub fn new(answers: Vec<(String, String)>) -> FakeJudge {
        FakeJudge { answers: Arc::new(answers), otherwise: "", price: None }
    }

    /// A planner with these answers; a recipe that none fits does not fit.
    pub fn planning(answers: Vec<(String, String)>) -> FakeJudge {
        FakeJudge { answers: Arc::new(answers), otherwise: "[]", price: None }
    }

    /// A helper that summarises, with these answers.
    pub fn summarising(answers: Vec<(String, String)>) -> FakeJudge {
        FakeJudge { answers: Arc::new(answers), otherwise: SUMMARY, price: None }
    }
}

impl Model for FakeJudge {
    fn info(&self) -> Arc<ModelInfo> {
        Arc::new(ModelInfo {
            model: ModelRef { provider: "scenario".into(), name: "judge".into() },
            window: 100_000,
            max_output: 1_000,
            price: self.price,
            abilities: Vec::new(),
            may_cut: false,
        })
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(Judging {
            answers: self.answers.clone(),
            otherwise: self.otherwise,
            question: String::new(),
        })
    }
}

struct Judging {
    answers: Arc<Vec<(String, String)>>,
    otherwise: &'static str,
    question: String,
}

#[async_trait]
impl Conversation for Judging {
    fn prepare(&mut self, request: &ModelRequest, _media: &MediaMap) -> PreparedRequest {
        let told = request.history.iter().map(|message| plain_text(&message.blocks));
        // What it is told to do first: words of a person may stand there.
        let all = std::iter::once(request.system.to_string()).chain(told);
        self.question = all.collect::<Vec<_>>().join("\n");
        PreparedRequest::default()
    }
    async fn send(&mut self, _signals: &SignalSink) -> ModelReply {
        let fitting = self.answers.iter().find(|(words, _)| self.question.contains(words));
        match fitting.map_or(self.otherwise, |(_, answer)| answer.as_str()) {
            "hangs" => std::future::pending().await,
            "fails" => ModelReply::Failed {
                class: FailureClass::InvalidRequest,
                message: "the judge is out".into(),
                retry_after_ms: None,
            },
            answer => ModelReply::Whole {
                blocks: vec![ReplyBlock::Said(MessageBlock::text(answer))],
                stop: StopReason::End,
                usage: Usage { input: 10, output: 2, ..Usage::default() },
                repairs: Vec::new(),
            },
        }
    }
}
