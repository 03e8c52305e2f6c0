//! `generate_canvas`: a JSON Canvas.

use async_trait::async_trait;
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_notes::diagram::canvas_text;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::diagram::{DrawingInput, DrawingKind, plan_drawing, report_drawing};
use crate::draft::plan_blocking;

pub(crate) struct GenerateCanvas;

#[async_trait]
impl EditTool for GenerateCanvas {
    type Input = DrawingInput;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "generate_canvas",
                ToolGroup::Edit,
                "Draws a JSON Canvas (Obsidian): notes, texts and addresses as nodes, in groups, with \
                 arrows. Places are found so that nothing overlaps.",
            )
        }
    }

    async fn plan_call(input: DrawingInput, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        let kind = DrawingKind { ending: "canvas", write: |diagram, _| canvas_text(diagram) };
        plan_blocking(move || plan_drawing(&input, &kind, &workspace)).await
    }

    fn report_result(input: &DrawingInput, _: &Effects, _: &NewContents) -> String {
        report_drawing(input)
    }
}
