//! What a tool asks a vendor for that is no question to a model: a picture and a search, whose price is known
//! only afterwards, and vectors. Its turn among those with whom its session shares bounds, and what is set
//! aside under caps (R11). Not here: what a picture or a search costs at most, which each of them says.

use weir_core::model::ModelInfo;
use weir_core::session::family_budget::SpentSum;

use super::{HeldSpending, HelperBounds, HelperTurn, most_of_request, most_used_by_request};

/// What is set aside for one such thing.
pub(crate) struct ToolSpending {
    turn: HelperTurn,
    /// Under the caps; none: there is none.
    held: Option<HeldSpending>,
    /// `None`: the price is not known.
    at_most_usd: Option<f64>,
}

impl ToolSpending {
    /// Sets so many US dollars aside; waits for those who ask now, where what is left may be theirs. From then on
    /// it is asked for.
    ///
    /// # Errors
    /// Why nothing may be asked.
    pub(crate) async fn reserve_cost(
        bounds: &HelperBounds,
        at_most_usd: f64,
    ) -> Result<ToolSpending, String> {
        let at_most = SpentSum { usd: at_most_usd, tokens: 0 };
        ToolSpending::reserve_sum(bounds, at_most, Some(at_most_usd)).await
    }

    /// Sets aside what a request of about `tokens` to `model` uses at most, of whose answer no tokens are
    /// counted; waits in the same way.
    ///
    /// # Errors
    /// Why nothing may be asked.
    pub(crate) async fn reserve_input(
        bounds: &HelperBounds,
        model: &ModelInfo,
        tokens: u64,
    ) -> Result<ToolSpending, String> {
        let silent = ModelInfo { max_output: 0, ..model.clone() };
        let at_most = most_used_by_request(&silent, tokens);
        ToolSpending::reserve_sum(bounds, at_most, most_of_request(&silent, tokens)).await
    }

    async fn reserve_sum(
        bounds: &HelperBounds,
        at_most: SpentSum,
        at_most_usd: Option<f64>,
    ) -> Result<ToolSpending, String> {
        let HelperBounds { session, call, family, spending, time } = bounds;
        let mut turn = family.reserve_for_helper(session, *call, at_most).await?;
        let held = match spending {
            None => None,
            Some(spending) => {
                let (spending, whose) = (spending.clone(), bounds.hold_name("tool"));
                Some(HeldSpending::reserve(spending, time.clone(), whose, at_most_usd).await?)
            }
        };
        turn.begin_use(at_most);
        Ok(ToolSpending { turn, held, at_most_usd })
    }

    /// The same as `asked`; what is set aside holds as long as that takes.
    pub(crate) async fn hold_during<T>(&self, asked: impl Future<Output = T>) -> T {
        match &self.held {
            Some(held) => held.hold_during(asked).await,
            None => asked.await,
        }
    }

    /// It is over and used so many tokens. `cost_usd`: what it cost; none: nothing was asked for. What the
    /// vendor does not say becomes the most under a cap, where no price is nothing.
    pub(crate) async fn settle_cost(self, cost_usd: Option<&mut Option<f64>>, tokens: u64) {
        let ToolSpending { turn, held, at_most_usd } = self;
        let cost_usd = match cost_usd {
            Some(cost_usd) => {
                let known = cost_usd.or(at_most_usd);
                if held.is_some() {
                    *cost_usd = known;
                }
                known.unwrap_or(0.0)
            }
            None => 0.0,
        };
        turn.settle_use(SpentSum { usd: cost_usd, tokens });
        if let Some(held) = held {
            held.settle(Some(cost_usd)).await;
        }
    }
}
