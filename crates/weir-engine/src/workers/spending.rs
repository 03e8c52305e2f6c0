//! What a request of the session's own model may cost is set aside before it is encoded, and given back when
//! its reply is durable (R11); under the bounds that it shares with its family, when its reply is folded. Not
//! here: how caps are held (`spending`).

use std::sync::PoisonError;

use tokio_util::sync::CancellationToken;
use weir_core::event::Event;
use weir_core::ids::TurnId;
use weir_core::input::EffectAnswer;
use weir_core::model::ModelInfo;
use weir_core::session::family_budget::UsedUpFamily;
use weir_core::tool::ResultEffect;

use super::Workers;
use crate::ports::{PublishedFact, StoreError};
use crate::spending::{self, EndedHelp, LOOK_AGAIN_MS, RENEW_MS, SpendingAnswer};

/// What becomes of a request.
pub(super) enum SpendingOutcome {
    /// It may be made.
    Granted,
    /// It may not, which the session is told.
    Refused(Box<EffectAnswer>),
    /// The run ended meanwhile.
    Cancelled,
}

impl Workers {
    /// Sets aside what a request of about `tokens` costs at most. Waits for others where what is left may
    /// be theirs, and for a store that does not answer: without its word nothing is asked.
    pub(super) async fn reserve_spending(
        &self,
        turn: TurnId,
        model: &ModelInfo,
        tokens: u64,
        cancel: &CancellationToken,
    ) -> SpendingOutcome {
        // Those near by first, and for everybody in this order: whoever waits for a cap keeps nobody of
        // another family, and whoever has both will be done.
        let (family, session) = (&self.context.resources.family, &self.context.session);
        let at_most = spending::most_used_by_request(model, tokens);
        let reserved = tokio::select! {
            biased;
            () = cancel.cancelled() => return SpendingOutcome::Cancelled,
            reserved = family.reserve_spending(session, at_most) => reserved,
        };
        if let Err(UsedUpFamily { limit, spent, max }) = reserved {
            let answer = EffectAnswer::Unaffordable { turn, limit, spent: Some(spent), max };
            return SpendingOutcome::Refused(Box::new(answer));
        }
        let outcome = self.reserve_under_caps(turn, model, tokens, cancel).await;
        if !matches!(outcome, SpendingOutcome::Granted) {
            family.release_spending(session);
        }
        outcome
    }

    async fn reserve_under_caps(
        &self,
        turn: TurnId,
        model: &ModelInfo,
        tokens: u64,
        cancel: &CancellationToken,
    ) -> SpendingOutcome {
        let Some(spending) = &self.spending else { return SpendingOutcome::Granted };
        let at_most = spending::most_of_request(model, tokens);
        let name = self.hold_name(turn);
        loop {
            let asked = tokio::select! {
                () = cancel.cancelled() => return SpendingOutcome::Cancelled,
                asked = spending.reserve(&name, at_most) => asked,
            };
            match asked {
                Ok(SpendingAnswer::Granted) => return SpendingOutcome::Granted,
                Ok(SpendingAnswer::Reached(cap)) => {
                    let (limit, spent, max) = (cap.limit, cap.spent, cap.max);
                    let answer = EffectAnswer::Unaffordable { turn, limit, spent, max };
                    return SpendingOutcome::Refused(Box::new(answer));
                }
                Ok(SpendingAnswer::Busy) => (),
                Err(error) => tracing::warn!(%error, "what was spent is not known; asking again"),
            }
            let again = self.context.time.now().plus_ms(LOOK_AGAIN_MS);
            tokio::select! {
                () = cancel.cancelled() => return SpendingOutcome::Cancelled,
                () = self.context.time.sleep_until(again) => (),
            }
        }
    }

    /// Keeps what is set aside while a model is asked. Never returns.
    pub(super) async fn keep_reservation(&self, turn: TurnId) {
        let Some(spending) = &self.spending else { return std::future::pending().await };
        loop {
            self.context.time.sleep_until(self.context.time.now().plus_ms(RENEW_MS)).await;
            if let Err(error) = spending.renew(&self.hold_name(turn)).await {
                tracing::warn!(%error, "what is set aside could not be renewed");
            }
        }
    }

    /// What gives back what is set aside, where these facts, which are durable, say that a request is over;
    /// none: nothing is set aside, or it is not.
    pub(crate) fn release_after(
        &self,
        facts: &[PublishedFact],
    ) -> Option<impl Future<Output = ()> + use<>> {
        let spending = self.spending.clone()?;
        let over: Vec<String> = {
            let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
            let turns = facts.iter().filter_map(|fact| asking.turn_over(&fact.event));
            turns.map(|turn| self.hold_name(turn)).collect()
        };
        let helped = facts.iter().any(|fact| says_what_helpers_used(&fact.event));
        let ended = EndedHelp::of_facts(facts.iter().map(|fact| fact.event.as_ref()));
        let session = self.context.session.to_string();
        (helped || !over.is_empty()).then_some(async move {
            let warn = |error: StoreError| {
                tracing::warn!(%error, "what was set aside is void only after a while");
            };
            for name in over {
                spending.release(&name).await.unwrap_or_else(warn);
            }
            if helped {
                spending.release_settled(&session, &ended).await.unwrap_or_else(warn);
            }
        })
    }

    /// Why a model whose price nobody knows is not asked under the caps that hold; `None`: it is.
    pub(super) fn unpriced_refusal(&self, model: &ModelInfo) -> Option<String> {
        let holds = self.spending.as_ref().is_some_and(|spending| spending.holds_unpriced());
        (holds && model.price.is_none()).then(|| {
            format!(
                "the price of {} is not known, and a cap on money holds here (`weir models prices` sets it)",
                model.model
            )
        })
    }

    /// Whether anything is set aside at all.
    pub(crate) fn has_caps(&self) -> bool {
        self.spending.is_some()
    }

    /// The name under which it is set aside what the request of a turn may cost: another for each, so that
    /// giving one back never takes the next away.
    fn hold_name(&self, turn: TurnId) -> String {
        format!("{}/{turn}", self.context.session)
    }
}

/// The turn for which something may be set aside, as durable facts say.
#[derive(Debug, Default)]
pub(super) struct AskingTurn(Option<TurnId>);

impl AskingTurn {
    /// The turn whose request is over with this fact.
    fn turn_over(&mut self, event: &Event) -> Option<TurnId> {
        match event {
            Event::TurnStarted(f) => self.0 = Some(f.turn),
            Event::ModelRequested(f) => self.0 = Some(f.turn),
            Event::ModelReplied(f) => return self.end(f.turn),
            // Another model goes on with the turn: what it may cost takes the place of this.
            Event::ModelFailed(f) if f.next.is_some() => self.0 = Some(f.turn),
            Event::ModelFailed(f) => return self.end(f.turn),
            // None could go on, or it could not be made shorter: nobody asks for that turn any more.
            Event::RunFinished(_) => return self.0.take(),
            _ => (),
        }
        None
    }

    fn end(&mut self, turn: TurnId) -> Option<TurnId> {
        self.0 = None;
        Some(turn)
    }
}

fn says_what_helpers_used(event: &Event) -> bool {
    match event {
        Event::ContextSummarised(_)
        | Event::RunRemembered(_)
        | Event::RecipePlanned(_)
        | Event::HelperAsked(_) => true,
        Event::CallJudged(f) => f.inspection.judge_use.is_some(),
        Event::CallFinished(f) => {
            f.news.iter().any(|news| matches!(news, ResultEffect::Used { .. }))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use weir_core::event::{ModelFailed, RunFinished, RunStatus, TurnStarted};
    use weir_core::ids::RunId;
    use weir_core::model::{FailureClass, Usage};

    use super::*;
    fn failed(next: Option<&str>) -> Event {
        let (class, message) = (FailureClass::Network, "it broke".to_owned());
        let (usage, next) = (Usage::default(), next.map(String::from));
        ModelFailed { turn: TurnId(4), class, message, usage, cost_usd: None, next }.into()
    }

    fn run_finished() -> Event {
        RunFinished {
            run: RunId(1),
            status: RunStatus::Failed,
            text: String::new(),
            output: None,
            usage: Usage::default(),
            cost_usd: None,
            iterations: 1,
            tool_calls: 0,
            denials: Vec::new(),
            changed_files: Vec::new(),
            marked_files: Vec::new(),
            pictures: Vec::new(),
            recipe: None,
            error: None,
        }
        .into()
    }

    #[test]
    fn r11_what_is_set_aside_for_a_turn_is_given_back_when_no_model_could_go_on_with_it() {
        let started = TurnStarted {
            turn: TurnId(4),
            iteration: 1,
            inputs: Vec::new(),
            recipe: false,
            told: None,
        };
        let over = |facts: &[Event]| -> Vec<TurnId> {
            let mut asking = AskingTurn::default();
            facts.iter().filter_map(|fact| asking.turn_over(fact)).collect()
        };
        let started: Event = started.into();
        // Another one goes on: what is set aside for the turn stays.
        assert_eq!(over(&[started.clone(), failed(Some("b"))]), Vec::new());
        // It could not, and the run has ended: once, and nothing of a turn that comes later.
        let ended = [started.clone(), failed(Some("b")), run_finished(), run_finished()];
        assert_eq!(over(&ended), [TurnId(4)]);
        assert_eq!(over(&[failed(Some("b")), run_finished()]), [TurnId(4)], "after a restart");
        assert_eq!(over(&[started, failed(None), run_finished()]), [TurnId(4)]);
        assert_eq!(over(&[run_finished()]), Vec::new());
    }
}
