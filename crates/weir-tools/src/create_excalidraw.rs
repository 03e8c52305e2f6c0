//! `create_excalidraw`: an Excalidraw drawing.

use async_trait::async_trait;
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_notes::diagram::excalidraw_text;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::diagram::{DrawingInput, DrawingKind, plan_drawing, report_drawing};
use crate::draft::plan_blocking;

pub(crate) struct CreateExcalidraw;

#[async_trait]
impl EditTool for CreateExcalidraw {
    type Input = DrawingInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            deferred: true,
            ..tool_spec(
                "create_excalidraw",
                ToolGroup::Edit,
                "Draws an .excalidraw file: boxes in groups, with arrows, laid out so that nothing \
                 overlaps.",
            )
        }
    }

    async fn plan_call(input: DrawingInput, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        let kind =
            DrawingKind { ending: "excalidraw", write: |diagram, _| excalidraw_text(diagram) };
        plan_blocking(move || plan_drawing(&input, &kind, &workspace)).await
    }

    fn report_result(input: &DrawingInput, _: &Effects, _: &NewContents) -> String {
        report_drawing(input)
    }
}
