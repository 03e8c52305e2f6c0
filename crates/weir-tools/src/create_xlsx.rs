//! `create_xlsx`: a XLSX from a description.

use async_trait::async_trait;
use weir_core::office::{OfficeDocument, WorkbookDocument};
use weir_core::tool::{Effects, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::office::{OfficeInput, plan_office, report_office};

pub(crate) struct CreateXlsx;

#[async_trait]
impl EditTool for CreateXlsx {
    type Input = OfficeInput<WorkbookDocument>;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "create_xlsx",
                ToolGroup::Edit,
                "Makes a workbook (XLSX). Text stays text, also when it begins \
                 with =; formulas are declared.",
            )
        }
    }

    async fn plan_call(input: Self::Input, cx: &ToolContext) -> CallPlan {
        plan_office(&input.path, "xlsx", OfficeDocument::Workbook(input.document), cx).await
    }

    fn report_result(_: &Self::Input, effects: &Effects, contents: &NewContents) -> String {
        report_office(effects, contents)
    }
}
