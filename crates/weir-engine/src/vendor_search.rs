//! A search by a model's vendor, as one call makes it: without known secrets, within a time. Not here:
//! whether it may be asked (the gate judges the call), and how a vendor is asked (`weir-providers`).

use std::time::Duration;

use weir_core::governance::filter::redact_text;
use weir_core::ids::CallId;
use weir_core::model::Usage;

use crate::ports::{
    ModelUse, VendorAnswer, VendorPage, VendorQuestion, VendorSearch, VendorSearchError,
};
use crate::worker_context::WorkerContext;

/// How long a vendor may search and write.
const WAIT: Duration = Duration::from_secs(150);

/// What one question to a vendor's search costs at most, in US dollars, as far as anybody can say before: so
/// much is set aside under a cap, and counts there where the vendor does not say what it cost.
const SEARCH_USD_MAX: f64 = 0.5;

/// Asks `vendor` for `call` where no cap is reached.
///
/// # Errors
/// As [`VendorSearch::search_web`]; a cap is reached; it took too long.
pub(crate) async fn search_under_caps(
    context: &WorkerContext,
    call: CallId,
    vendor: &dyn VendorSearch,
    question: VendorQuestion,
) -> Result<VendorAnswer, VendorSearchError> {
    let refused = |why| VendorSearchError { why, used: None };
    let held = context.reserve_for_tool(call, SEARCH_USD_MAX).await.map_err(refused)?;
    let asked = search_by_vendor(vendor, &context.parts.secrets, question);
    let mut answer = held.hold_during(asked).await;
    let (cost, tokens) = match &mut answer {
        Ok(answer) => {
            let tokens = answer.usage.total_tokens();
            (Some(&mut answer.cost_usd), tokens)
        }
        Err(error) => {
            let tokens = error.used.as_ref().map_or(0, |used| used.usage.total_tokens());
            (error.used.as_mut().map(|used| &mut used.cost_usd), tokens)
        }
    };
    held.settle_cost(cost, tokens).await;
    answer
}

/// Asks `vendor`. Neither the question nor the answer holds one of `secrets`.
///
/// # Errors
/// As [`VendorSearch::search_web`]; it took too long.
async fn search_by_vendor(
    vendor: &dyn VendorSearch,
    secrets: &[String],
    question: VendorQuestion,
) -> Result<VendorAnswer, VendorSearchError> {
    let clean = |text: &str| redact_text(text, secrets).into_owned();
    let question = VendorQuestion {
        words: clean(&question.words),
        site: question.site.as_deref().map(clean),
        ..question
    };
    let asked = tokio::time::timeout(WAIT, vendor.search_web(&question)).await;
    let answer = match asked {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(VendorSearchError { why: clean(&error.why), ..error }),
        Err(_) => {
            let why = format!("no answer in {} s; try again, or go on without", WAIT.as_secs());
            // It was asked, and nobody knows what that cost.
            let used = Some(ModelUse { usage: Usage::default(), cost_usd: None });
            return Err(VendorSearchError { why, used });
        }
    };
    let page = |page: VendorPage| VendorPage {
        title: clean(&page.title),
        url: clean(&page.url),
        passage: clean(&page.passage),
        date: page.date.as_deref().map(clean),
    };
    Ok(VendorAnswer {
        pages: answer.pages.into_iter().map(page).collect(),
        uncited: clean(&answer.uncited),
        searched: answer.searched.iter().map(|words| clean(words)).collect(),
        ..answer
    })
}
