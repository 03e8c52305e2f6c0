//! Beside sums: the caps that hold, and every cache miss with its cause and cost (R11). Read from journals, so
//! only where somebody looks. Not here: the sums.

use serde::Serialize;
use weir_core::sorting::sort_stably;
use weir_engine::ports::UsageFilter;
use weir_install::spending::CapState;
use weir_install::usage::{MissSum, SESSIONS_MAX, SessionMiss, SessionsUsage, read_sessions_usage};

use super::{UsageQuery, UsageReport};
use crate::app::App;
use crate::auth::accounts;
use crate::caller::Caller;
use crate::problem::HandlerResult;

/// Most misses that are listed one by one.
const MISSES_LISTED: usize = 200;

/// A cap on money, and what it has counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CapLine {
    /// The setting.
    pub(crate) key: String,
    /// The cap, in US dollars.
    pub(crate) max_usd: f64,
    /// What was spent of it; none: it is counted for each session or schedule by itself.
    pub(crate) spent_usd: Option<f64>,
    /// All of it in words.
    pub(crate) told: String,
}

/// One request of which the cache served less than it could have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MissLine {
    /// When, as RFC 3339.
    pub(crate) at: String,
    /// The person whose session it was.
    pub(crate) person: String,
    /// Id of the session.
    pub(crate) session: String,
    /// The model.
    pub(crate) model: String,
    /// The word of the cause.
    pub(crate) cause: String,
    /// The cause in words.
    pub(crate) why: String,
    /// Tokens that were paid for once more.
    pub(crate) tokens: u64,
    /// What that cost more, in US dollars; none: a price is not known.
    pub(crate) cost_usd: Option<f64>,
}

/// Misses of one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MissCauseSum {
    /// The word of the cause.
    pub(crate) cause: String,
    /// How many requests.
    pub(crate) misses: u64,
    /// Tokens that were paid for once more.
    pub(crate) tokens: u64,
    /// What that cost more, in US dollars, where prices are known.
    pub(crate) cost_usd: f64,
    /// Misses of which nobody knows what they cost.
    pub(crate) unpriced: u64,
}

/// What is told beside the sums.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UsageDetails {
    /// Caps of whoever looks.
    pub(crate) caps: Vec<CapLine>,
    /// Misses by cause, the most expensive first.
    pub(crate) causes: Vec<MissCauseSum>,
    /// The newest misses.
    pub(crate) misses: Vec<MissLine>,
    /// Sessions whose journals were not read, because there are too many.
    pub(crate) sessions_left_out: usize,
}

/// Adds to `report` what is read from journals and settings.
///
/// # Errors
/// A store does not answer.
pub(crate) async fn add_details(
    app: &App,
    caller: &Caller,
    query: &UsageQuery,
    report: &mut UsageReport,
) -> HandlerResult<()> {
    let filter = UsageFilter { from: Some(report.from.clone()), to: Some(report.to.clone()) };
    let people = match query.everybody {
        true => accounts::list_accounts(&app.auth.shelf).await?,
        false => vec![caller.person.clone()],
    };
    let mut all = SessionsUsage::default();
    let mut misses = Vec::new();
    for person in people {
        let store = app.user_space(&person).await?.store();
        let used = read_sessions_usage(store.as_ref(), &filter, SESSIONS_MAX).await?;
        misses.extend(used.misses().into_iter().map(|one| miss_line(one, &person.name)));
        all.left_out += used.left_out;
        all.sessions.extend(used.sessions);
    }
    sort_stably(&mut misses, |a, b| b.at.cmp(&a.at));
    misses.truncate(MISSES_LISTED);
    let caps = app.user_space(&caller.person).await?.cap_states().await?;
    report.details = UsageDetails {
        caps: caps.into_iter().map(cap_line).collect(),
        causes: all.sums_by_cause().into_iter().map(cause_sum).collect(),
        misses,
        sessions_left_out: all.left_out,
    };
    Ok(())
}

fn miss_line(one: &SessionMiss, person: &str) -> MissLine {
    MissLine {
        at: one.miss.ts.to_string(),
        person: person.to_owned(),
        session: one.session.to_string(),
        model: one.miss.model.clone(),
        cause: one.miss.cause.as_str().to_owned(),
        why: one.miss.cause.as_words(),
        tokens: one.miss.lost_tokens(),
        cost_usd: one.miss.cost_usd,
    }
}

fn cap_line(cap: CapState) -> CapLine {
    let told = cap.in_words();
    CapLine { key: cap.key, max_usd: cap.max_usd, spent_usd: cap.spent_usd, told }
}

fn cause_sum(sum: MissSum) -> MissCauseSum {
    let MissSum { cause, misses, tokens, cost_usd, unpriced } = sum;
    MissCauseSum { cause, misses, tokens, cost_usd, unpriced }
}
