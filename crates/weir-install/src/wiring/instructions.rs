//! What a person is told of the files that instruct, as a session begins (M2). Not here: reading them
//! (`weir_engine::scene`).

use std::path::Path;

use weir_core::view::plain::visible_text;
use weir_engine::scene;

use crate::context::InstallationContext;

/// Says what stands in the place of instructions and is no file: nobody learns from it what was meant.
pub(super) fn warn_of_no_files(cx: &InstallationContext, root: &Path) {
    for (path, kind) in scene::find_unreadable_instructions(root, Some(&cx.dirs.config)) {
        let path = visible_text(&path.display().to_string());
        cx.notify_once(&format!(
            "warning: {path} is {kind} and instructs nobody; put a file there or remove it"
        ));
    }
}
