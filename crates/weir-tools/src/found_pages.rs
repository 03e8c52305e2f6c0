//! What a search of the web brought, or why nothing, whoever searched. Not here: asking (`web_search`,
//! `vendor_search`), and how pages are told to the model.

use weir_core::tool::{RawResult, ResultEffect};

use crate::search_engine::FoundPage;

/// What one question brought.
#[derive(Default)]
pub(crate) struct FoundPages {
    pub(crate) pages: Vec<FoundPage>,
    /// What the reader must know of them.
    pub(crate) notes: Vec<String>,
    /// What a model used to find them.
    pub(crate) used: Option<ResultEffect>,
}

/// Why a question brought nothing.
pub(crate) struct FailedSearch {
    /// A sentence for the model.
    pub(crate) why: String,
    /// What a model used all the same.
    pub(crate) used: Option<ResultEffect>,
}

impl From<String> for FailedSearch {
    fn from(why: String) -> FailedSearch {
        FailedSearch { why, used: None }
    }
}

impl FailedSearch {
    pub(crate) fn into_result(self) -> RawResult {
        RawResult { news: self.used.into_iter().collect(), ..RawResult::error(self.why) }
    }
}
