//! Withholds foreign content in which the judge model found instructions (G8). The judge was asked
//! by the engine; its silence counts as a finding.

use super::{Draft, Filter, FilterContext};
use crate::message::Block;

pub(super) struct Screen;

impl Filter for Screen {
    fn name(&self) -> &'static str {
        "screen"
    }
    fn clean(&self, draft: &mut Draft, context: &FilterContext<'_>) {
        let Some(why) = context.withhold else { return };
        let text = format!(
            "The content of this result is withheld: {why}. Tell the person that it was withheld, \
             and go on without it."
        );
        draft.blocks = vec![Block::text(text)];
        draft.summary = "withheld".into();
        draft.withheld = Some(why.to_string());
    }
}
