//! Withholds foreign content in which the judge model found instructions (G8). The judge was asked
//! by the engine; its silence counts as a finding.

use super::{Filter, FilterContext, ResultDraft};
use crate::message::MessageBlock;

pub(super) struct ScreenFilter;

impl Filter for ScreenFilter {
    fn name(&self) -> &'static str {
        "screen"
    }
    fn clean_draft(&self, draft: &mut ResultDraft, context: &FilterContext<'_>) {
        let Some(why) = context.withhold else { return };
        let text = format!(
            "The content of this result is withheld: {why}. Tell the person that it was withheld, \
             and go on without it."
        );
        draft.blocks = vec![MessageBlock::text(text)];
        draft.summary = "withheld".into();
        draft.withheld = Some(why.to_string());
    }
}
