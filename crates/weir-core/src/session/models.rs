//! The models of a session: which one goes on where another has failed for good, and which one a run is for
//! (V8, R6). Not here: making one ready (the engine), retries of a request (`handle`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;
use crate::event::{
    CondenseReason, Event, ModelFailed, ModelSwitched, RunStatus, RunTrigger, SwitchCause,
    ToolsRefused,
};
use crate::ids::TurnId;
use crate::message::MessageBlock;
use crate::model::FailureClass;
use crate::profile::Limits;
use crate::routing::{RoutedWork, WorkKind};
use crate::safe_text::join_sentences;
use crate::usage::Usage;

use super::condense::BURST_SHARE;
use super::{RunPhase, RunState, Session, TurnStage, TurnState};

/// A model that is to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelWish {
    /// The model, as it is named.
    pub model: String,
    /// What made the switch necessary.
    pub cause: SwitchCause,
    /// Why, in words.
    pub reason: String,
}

/// Whether another model can help where one failed for good in this way. What it refused it was asked to
/// refuse; what is wrong with a request is wrong for others too.
fn can_another_help(class: FailureClass) -> bool {
    match class {
        FailureClass::Network
        | FailureClass::StreamCut
        | FailureClass::Timeout
        | FailureClass::Overloaded
        | FailureClass::RateLimited
        | FailureClass::Auth
        | FailureClass::NotFound
        | FailureClass::ToolsRefused => true,
        FailureClass::ContextOverflow | FailureClass::InvalidRequest | FailureClass::Refused => {
            false
        }
    }
}

impl Session {
    /// The model that is to go on before anything else is asked; `None`: the present one does.
    pub fn model_wish(&self) -> Option<ModelWish> {
        if self.falling.is_some() {
            return self.falling.clone();
        }
        let run = self.run.as_ref()?;
        // Which model a run is for is settled once, before its first request: each switch costs a cache.
        let begins = run.phase == RunPhase::Between && run.iterations == 0;
        if !begins || !self.unexamined_inputs().is_empty() || self.condensing.is_some() {
            return None;
        }
        let config = self.config.as_ref()?;
        let (model, rule) =
            config.routing.wanted_for(self.work_of_run(run, config), &run.failed_models)?;
        let (cause, reason) = match rule {
            Some(words) => (SwitchCause::Rule, words),
            None => (SwitchCause::Chosen, "the model that was chosen".to_owned()),
        };
        Some(ModelWish { model: model.to_owned(), cause, reason })
    }

    fn work_of_run<'a>(&self, run: &RunState, config: &'a SessionConfig) -> RoutedWork<'a> {
        let kind = match run.trigger {
            RunTrigger::User | RunTrigger::Resume => WorkKind::Person,
            RunTrigger::Schedule => WorkKind::Schedule,
            RunTrigger::Agent => WorkKind::Agent,
        };
        let is_picture = |block: &MessageBlock| matches!(block, MessageBlock::Image { .. });
        let seen = self.history.iter().flat_map(|message| &message.blocks);
        let queued = self.queue.iter().flat_map(|queued| &queued.content);
        let images = seen.chain(queued).any(is_picture);
        RoutedWork { kind, profile: &config.profile.name, tokens: self.next_tokens(), images }
    }

    /// The model that goes on after a failure of this class, where one is left.
    pub(super) fn fallback_after(&self, class: FailureClass) -> Option<&str> {
        can_another_help(class).then(|| self.next_fallback()).flatten()
    }

    pub(super) fn next_fallback(&self) -> Option<&str> {
        let routing = &self.config.as_ref()?.routing;
        let mut failed = self.run.as_ref()?.failed_models.clone();
        failed.extend(routing.present().map(String::from));
        routing.next_fallback(&failed)
    }

    /// Another model with what follows from it, and nothing else; or why it cannot be spoken with.
    pub(super) fn accept_model(
        &self,
        model: &str,
        config: Result<Arc<SessionConfig>, String>,
    ) -> Option<Event> {
        self.run.as_ref().filter(|run| run.cancel.is_none())?;
        let wish = self.model_wish().filter(|wish| wish.model == model)?;
        let kept = self.config.as_ref()?;
        let settled = config.and_then(|ready| kept.speaking_with(&wish.model, &ready));
        let settled = settled.and_then(|config| match self.lack_of_room(wish.cause, &config) {
            Some(why) => Err(why),
            None => Ok(config),
        });
        let (config, refused) = match settled {
            Ok(config) => (Some(Arc::new(config)), None),
            Err(why) => (None, Some(why)),
        };
        let from = kept.routing.present().map(String::from);
        let from = from.unwrap_or_else(|| kept.model.model.to_string());
        let ModelWish { model, cause, reason } = wish;
        Some(ModelSwitched { model, from, cause, reason, refused, config }.into())
    }

    /// Why a run does not begin with a model whose window has no room for its first request; `None`: it does.
    /// For the model that was chosen the conversation is made shorter, where that helps; for the one of a rule
    /// it is not.
    fn lack_of_room(&self, cause: SwitchCause, config: &SessionConfig) -> Option<String> {
        let window = config.model.window;
        let is_too_long = |tokens: u64| window > 0 && tokens as f64 >= window as f64 * BURST_SHARE;
        let tokens = self.next_tokens_with(config);
        let saved = || {
            let shorter = self.condense_preview().filter(|_| config.condensing.enabled);
            shorter.map_or(0, |plan| plan.tokens_before.saturating_sub(plan.tokens_after))
        };
        let has_no_room = match cause {
            SwitchCause::Rule => is_too_long(tokens),
            SwitchCause::Chosen => {
                is_too_long(tokens) && is_too_long(tokens.saturating_sub(saved()))
            }
            // What a turn has begun with is made shorter for whoever goes on with it, or passed on.
            SwitchCause::Failure => false,
        };
        has_no_room.then(|| {
            format!("its window of {window} tokens has no room for a request of about {tokens}")
        })
    }

    /// A request that another model was to answer and that its window has no room for: it is made shorter, or
    /// the next one is asked.
    pub(super) fn refit_fact(&self, turn: &TurnState) -> Option<Event> {
        if !turn.refit || self.falling.is_some() || self.condensing.is_some() {
            return None;
        }
        let (tokens, window) = (self.next_tokens(), self.window_tokens());
        if window == 0 || (tokens as f64) < window as f64 * BURST_SHARE {
            return None;
        }
        if self.may_shorten() {
            return Some(self.begin_condensing(CondenseReason::Overflow).into());
        }
        let next = self.next_fallback().map(String::from);
        let after = match &next {
            Some(next) => format!("{next} goes on."),
            None => "Begin a new session, or name a fallback with a larger window.".to_owned(),
        };
        let message = format!(
            "The request has about {tokens} tokens, and the window of {} has {window}. {after}",
            self.model.model
        );
        let class = FailureClass::ContextOverflow;
        // Nothing was sent, so nothing is charged.
        let usage = Usage::default();
        Some(ModelFailed { turn: turn.id, class, message, usage, cost_usd: None, next }.into())
    }

    /// Folds in that a request failed for good.
    pub(super) fn apply_failure(&mut self, f: &ModelFailed) {
        let Some(next) = &f.next else {
            self.turn = None;
            return self.end_run(RunStatus::Failed, Some(f.message.clone()));
        };
        self.present_model_failed();
        let (model, cause, reason) = (next.clone(), SwitchCause::Failure, f.message.clone());
        self.falling = Some(ModelWish { model, cause, reason });
        // The same turn is asked again: of what had come of its reply nothing was taken.
        if let Some(turn) = &mut self.turn {
            turn.stage = TurnStage::Due;
        }
    }

    /// What follows where the server of the model takes no tools with a request: they stand in the prompt from
    /// now on (V5). `None`: this request offered none in the vendor's own way, so that would change nothing.
    pub(super) fn refused_tools_fact(&self, turn: TurnId, message: &str) -> Option<Event> {
        let offered = self.model.has_ability("tools") && !self.tools.is_empty();
        let (model, message) = (self.model.model.to_string(), message.to_owned());
        offered.then(|| ToolsRefused { turn, model, message }.into())
    }

    /// Folds in that a server takes no tools with a request. What is asked stays what it was; only how it is
    /// written changes, from its beginning on.
    pub(super) fn apply_refused_tools(&mut self, f: &ToolsRefused) {
        let Some(config) = &self.config else { return };
        let model = config.model.with_tools_in_prompt();
        self.model = Arc::new(model.clone());
        self.config = Some(Arc::new(SessionConfig { model, ..SessionConfig::clone(config) }));
        self.prefix_break = Some(format!("the tools of {} stand in its prompt now", f.model));
        if let Some(turn) = &mut self.turn {
            turn.stage = TurnStage::Due;
        }
    }

    fn present_model_failed(&mut self) {
        let routing = self.config.as_ref().map(|config| &config.routing);
        let present = routing.and_then(|routing| routing.present()).map(String::from);
        if let Some(run) = &mut self.run {
            run.failed_models.extend(present);
        }
    }

    /// Folds in that another model goes on, or cannot.
    pub(super) fn apply_model(&mut self, f: &ModelSwitched) {
        self.falling = None;
        let Some(config) = &f.config else {
            if let Some(run) = &mut self.run {
                run.failed_models.insert(f.model.clone());
            }
            if f.cause == SwitchCause::Failure {
                self.fall_further(f);
            }
            return;
        };
        self.prefix_break = Some(format!("the model is {} now", f.model));
        // Before the first request there is nothing to lose.
        self.asks_other_model = self.window.sent.0 > 0;
        super::apply::apply_config(self, config);
        if let Some(turn) = &mut self.turn {
            (turn.attempts, turn.overflows, turn.refit) = (0, 0, true);
        }
    }

    /// A fallback cannot be had: the one after it goes on, or the run ends.
    fn fall_further(&mut self, f: &ModelSwitched) {
        let (cause, reason) = (f.cause, f.reason.clone());
        if let Some(model) = self.next_fallback().map(String::from) {
            self.falling = Some(ModelWish { model, cause, reason });
            return;
        }
        self.turn = None;
        let why = f.refused.as_deref().unwrap_or("it cannot be had");
        let why = format!("It cannot: {why}");
        let text = join_sentences([reason.as_str(), &why, "No other fallback is left."]);
        self.end_run(RunStatus::Failed, Some(text));
    }
}

impl SessionConfig {
    /// These settings with the model of `ready` and what follows from a model: tools, prompt, thinking, and a
    /// bound of a run in USD or tokens where none held. Rights, rules and the bounds that hold stay. An agent of
    /// another agent gets no tool that it had not.
    ///
    /// # Errors
    /// What keeps it from being asked, in words.
    fn speaking_with(&self, name: &str, ready: &SessionConfig) -> Result<SessionConfig, String> {
        // What nobody sits beside is bounded by whether its model has a price: in USD or in tokens.
        let limits = Limits {
            budget_usd: self.limits.budget_usd.or(ready.limits.budget_usd),
            budget_tokens: self.limits.budget_tokens.or(ready.limits.budget_tokens),
            ..self.limits
        };
        let run_is_held = limits.budget_usd.is_some() && limits.budget_tokens.is_none();
        if ready.model.price.is_none() && (run_is_held || limits.session_usd.is_some()) {
            let budget = match run_is_held {
                true => self.budget_in_words(),
                false => "a budget in USD".to_owned(),
            };
            return Err(format!(
                "the price of {} is not known, and {budget} holds here (`weir models prices` sets it)",
                ready.model.model
            ));
        }
        let mut config = SessionConfig {
            limits,
            model: ready.model.clone(),
            thinking: ready.thinking,
            tools: ready.tools.clone(),
            deferred: ready.deferred.clone(),
            system: ready.system.clone(),
            ..self.clone()
        };
        if self.depth > 0 {
            let has = |name: &str| self.all_tools().any(|tool| tool.name == name);
            Arc::make_mut(&mut config.tools).retain(|tool| has(&tool.name));
            Arc::make_mut(&mut config.deferred).retain(|tool| has(&tool.name));
        }
        let away = self.routing.home.as_deref() != Some(name);
        config.routing.away = away.then(|| name.to_owned());
        Ok(config)
    }
}
