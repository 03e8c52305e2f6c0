//! What a tool asks a vendor for whose price is known only afterwards (a picture, a search): its turn among
//! those with whom its session shares bounds, and what is set aside under caps (R11). Not here: what one such
//! thing costs at most, which each of them says.

use weir_core::session::family_budget::SpentSum;

use super::{HeldSpending, HelperBounds, HelperTurn};

/// What is set aside for one such thing.
pub(crate) struct ToolSpending {
    turn: HelperTurn,
    /// Under the caps; none: there is none.
    held: Option<HeldSpending>,
    at_most_usd: f64,
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
        let HelperBounds { session, call, family, spending, time } = bounds;
        let at_most = SpentSum { usd: at_most_usd, tokens: 0 };
        let mut turn = family.reserve_for_helper(session, *call, at_most).await?;
        let held = match spending {
            None => None,
            Some(spending) => {
                let (spending, whose) = (spending.clone(), bounds.hold_name("tool"));
                let at_most = Some(at_most_usd);
                Some(HeldSpending::reserve(spending, time.clone(), whose, at_most).await?)
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
            Some(cost_usd) if held.is_some() => *cost_usd.get_or_insert(at_most_usd),
            Some(cost_usd) => cost_usd.unwrap_or(at_most_usd),
            None => 0.0,
        };
        turn.settle_use(SpentSum { usd: cost_usd, tokens });
        if let Some(held) = held {
            held.settle(Some(cost_usd)).await;
        }
    }
}
