//! `create_drawio`: a diagram for draw.io.

use async_trait::async_trait;
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_notes::diagram::drawio_text;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::diagram::{DrawingInput, DrawingKind, plan_drawing, report_drawing};
use crate::draft::plan_blocking;

pub(crate) struct CreateDrawio;

#[async_trait]
impl EditTool for CreateDrawio {
    type Input = DrawingInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            deferred: true,
            ..tool_spec(
                "create_drawio",
                ToolGroup::Edit,
                "Draws a .drawio file: boxes in groups, with arrows, laid out so that nothing \
                 overlaps.",
            )
        }
    }

    async fn plan_call(input: DrawingInput, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        let kind = DrawingKind {
            ending: "drawio",
            write: |diagram, path| drawio_text(diagram, weir_notes::resolve::file_name(path)),
        };
        plan_blocking(move || plan_drawing(&input, &kind, &workspace)).await
    }

    fn report_result(input: &DrawingInput, _: &Effects, _: &NewContents) -> String {
        report_drawing(input)
    }
}
