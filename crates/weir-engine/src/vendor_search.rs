//! A search by a model's vendor, as one call makes it: without known secrets, within a time. Not here:
//! whether it may be asked (the gate judges the call), and how a vendor is asked (`weir-providers`).

use std::time::Duration;

use weir_core::governance::filter::redact_text;

use crate::ports::{VendorAnswer, VendorPage, VendorQuestion, VendorSearch, VendorSearchError};

/// How long a vendor may search and write.
const WAIT: Duration = Duration::from_secs(150);

/// Asks `vendor`. Neither the question nor the answer holds one of `secrets`.
///
/// # Errors
/// As [`VendorSearch::search_web`]; it took too long.
pub(crate) async fn search_by_vendor(
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
            return Err(VendorSearchError { why, used: None });
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
