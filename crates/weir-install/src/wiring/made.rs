//! The made tools of a session (T5), and what runs their code: this program again, as a child that
//! has nothing. Not here: which tools count (`weir_engine::made`), the child (`weir-script`).

use std::sync::Arc;

use weir_engine::marks::marks_in;
use weir_engine::ports::Scripts;
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;
use weir_script::ChildScripts;

use crate::context::InstallationContext;

/// What runs scripts.
pub fn script_runner() -> anyhow::Result<Arc<dyn Scripts>> {
    Ok(Arc::new(ChildScripts::new(std::env::current_exe()?)))
}

/// Puts every made tool that counts here into the toolbox; says why others do not.
pub(super) async fn add_dynamic_tools(
    cx: &InstallationContext,
    toolbox: &Toolbox,
    workspace: &Workspace,
) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    let root = workspace.root().display().to_string();
    let marks = marks_in(store.as_ref(), &root).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let from = weir_tools::ToolFiles { workspace, trusted: cx.is_trusted() };
    let (_, notes) =
        weir_tools::add_dynamic_tools(store.as_ref(), from, &script_runner()?, toolbox).await?;
    for note in notes {
        cx.notify(&format!("note: {note}"));
    }
    Ok(())
}
