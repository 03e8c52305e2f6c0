//! `create_docx`: a DOCX from a description.

use async_trait::async_trait;
use weir_core::office::{OfficeDocument, TextDocument};
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::office::{OfficeInput, plan_office, report_office};

pub(crate) struct CreateDocx;

#[async_trait]
impl EditTool for CreateDocx {
    type Input = OfficeInput<TextDocument>;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "create_docx",
                ToolGroup::Edit,
                "Makes a Word document (DOCX) from Markdown; read_document reads it back.",
            )
        }
    }

    async fn plan_call(input: Self::Input, cx: &ToolContext) -> CallPlan {
        plan_office(&input.path, "docx", OfficeDocument::Text(input.document), cx).await
    }

    fn report_result(_: &Self::Input, effects: &Effects, contents: &NewContents) -> String {
        report_office(effects, contents)
    }
}
