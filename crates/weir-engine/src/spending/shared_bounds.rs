//! The bounds of a call, for those who have models asked for it beside the engine (R11). Not here: whom that
//! concerns, and how bounds are held.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::model::ModelInfo;

use super::{CappedModel, HelperBounds, ToolSpending};
use crate::ports::{CallBounds, Model, ModelUse, ReservedRequest};

/// The bounds of one call.
pub(crate) struct SharedCallBounds(pub(crate) HelperBounds);

#[async_trait]
impl CallBounds for SharedCallBounds {
    fn bound_model(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        CappedModel::wrap(model, self.0.clone())
    }

    async fn reserve_input(
        &self,
        model: &ModelInfo,
        tokens: u64,
    ) -> Result<Box<dyn ReservedRequest>, String> {
        let reserved = ToolSpending::reserve_input(&self.0, model, tokens).await?;
        Ok(Box::new(reserved))
    }
}

#[async_trait]
impl ReservedRequest for ToolSpending {
    async fn keep(&self) {
        self.hold_during(std::future::pending()).await
    }

    async fn settle(self: Box<Self>, used: Option<&mut ModelUse>) {
        match used {
            Some(ModelUse { usage, cost_usd }) => {
                self.settle_cost(Some(cost_usd), usage.total_tokens()).await;
            }
            None => self.settle_cost(None, 0).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::{CallId, SessionId, Timestamp};
    use weir_core::model::{ModelRef, Price, Usage};
    use weir_core::session::family_budget::{FamilyMember, SpentSum};

    use super::*;
    use crate::session_time::SessionTime;
    use crate::spending::FamilySpending;
    use crate::system_clock::SystemClock;

    fn vectors_model(price: Option<Price>) -> ModelInfo {
        let model = ModelRef { provider: "box".into(), name: "vectors".into() };
        ModelInfo { max_output: 1_000_000, price, ..ModelInfo::with_name(model) }
    }

    /// A call of a session that has so many tokens left.
    fn bounds(left_tokens: u64) -> HelperBounds {
        let (session, family) = (SessionId::new("s"), FamilySpending::default());
        let member = FamilyMember { left_tokens: Some(left_tokens), ..FamilyMember::default() };
        family.lock_budget().set_member(&session, member);
        let time = SessionTime::from_last_fact(Arc::new(SystemClock::default()), Timestamp(0));
        HelperBounds { session, call: Some(CallId(7)), family, spending: None, time }
    }

    #[tokio::test]
    async fn r11_vectors_are_asked_for_within_the_tokens_that_are_left() {
        let shared = SharedCallBounds(bounds(100));
        let family = shared.0.family.clone();
        let model = vectors_model(None);
        let first = shared.reserve_input(&model, 40).await.expect("100 tokens are left");
        let usage = Usage { input: 70, ..Usage::default() };
        first.settle(Some(&mut ModelUse { usage, cost_usd: None })).await;
        let second = shared.reserve_input(&model, 40).await.expect("30 tokens are left");
        // Nobody hears of it any more: a vendor had it, so it counts as the most, twice its estimate.
        drop(second);
        let why = shared.reserve_input(&model, 1).await.err().expect("150 of 100 are used");
        assert!(why.contains("nothing is left of the tokens"), "{why}");
        family.lock_budget().release_helpers(&shared.0.session, |call| call == Some(CallId(7)));
        let free = shared.reserve_input(&model, 1).await.expect("its session counts it now");
        free.settle(None).await;
        assert!(shared.reserve_input(&model, 1).await.is_ok(), "nothing was asked for");
    }

    #[tokio::test]
    async fn r11_vectors_cost_what_they_are_given_and_no_answer() {
        let shared = SharedCallBounds(bounds(u64::MAX));
        let session = shared.0.session.clone();
        let left_usd = Some(1.0);
        let member = FamilyMember { left_usd, ..FamilyMember::default() };
        shared.0.family.lock_budget().set_member(&session, member);
        let price = Price { input: 1.0, output: 1_000.0, cache_read: 0.0, cache_write: 0.0 };
        let model = vectors_model(Some(price));
        // Twice 100,000 tokens are 0.20 USD: another one has room beside it.
        let first = shared.reserve_input(&model, 100_000).await.expect("1 USD is left");
        let second = shared.reserve_input(&model, 100_000).await.expect("0.80 USD are left");
        drop((first, second));
        let used = shared.0.family.reserve_for_helper(&session, None, SpentSum::default()).await;
        assert!(used.is_ok(), "0.40 USD are used");
    }
}
