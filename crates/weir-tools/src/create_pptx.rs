//! `create_pptx`: a PPTX from a description.

use async_trait::async_trait;
use weir_core::office::{OfficeDocument, SlideDeck};
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::office::{OfficeInput, plan_office, report_office};

pub(crate) struct CreatePptx;

#[async_trait]
impl EditTool for CreatePptx {
    type Input = OfficeInput<SlideDeck>;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "create_pptx",
                ToolGroup::Edit,
                "Makes a presentation (PPTX). A slide takes a body and one of right, table, \
                 picture, chart; what is too long goes on to further slides.",
            )
        }
    }

    async fn plan_call(input: Self::Input, cx: &ToolContext) -> CallPlan {
        plan_office(&input.path, "pptx", OfficeDocument::Slides(input.document), cx).await
    }

    fn report_result(_: &Self::Input, effects: &Effects, contents: &NewContents) -> String {
        report_office(effects, contents)
    }
}
