//! Says where a result came from and how private it is (Z1). The label follows from the effects
//! that were judged and from what stood in the context; nothing in the text can change it.

use super::{Filter, FilterContext, ResultDraft};

pub(super) struct LabelFilter;

impl Filter for LabelFilter {
    fn name(&self) -> &'static str {
        "label"
    }
    fn clean_draft(&self, draft: &mut ResultDraft, context: &FilterContext<'_>) {
        draft.label = context.label.clone();
    }
}
