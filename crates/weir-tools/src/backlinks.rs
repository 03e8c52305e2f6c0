//! The notes that link to one, for faces that show it (K3). Not here: what the model is told of links
//! (`get_linked_notes`), the index (`vault`).

use serde::{Deserialize, Serialize};
use weir_core::tool::PathAccess;
use weir_engine::workspace::Workspace;

use crate::vault::{self, LinkPassage, NoteVault};

/// Most notes that are named.
const BACKLINKS_MAX: usize = 100;

/// A note that links to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Backlink {
    /// Path of the note that links.
    pub path: String,
    /// Line of its first link, from 1; `None`: it stands on a canvas, whose lines nobody sees.
    pub line: Option<usize>,
    /// The text of that line, or in words what the link is.
    pub passage: String,
}

/// What links to a note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BacklinkList {
    /// In the order of paths, at most 100.
    pub backlinks: Vec<Backlink>,
    /// How many more notes link to it.
    pub left_out: usize,
}

/// The notes of a vault that link to the file at `path`. Blocks.
pub(crate) fn backlinks_in(workspace: &Workspace, vault: &NoteVault, path: &str) -> BacklinkList {
    let index = vault.index();
    let Some((target, _)) = index.find_file(path) else { return BacklinkList::default() };
    let links = index.backlinks_of(target);
    let mut list = BacklinkList::default();
    for own in links.chunk_by(|a, b| a.source == b.source) {
        let Some(link) = own.first().filter(|link| link.source != target) else { continue };
        if list.backlinks.len() == BACKLINKS_MAX {
            list.left_out += 1;
            continue;
        }
        let source = index.name_table().path_of(link.source).to_owned();
        let at = workspace.resolve(&source, PathAccess::Read);
        // A note that went away meanwhile has no passage.
        let text = vault::read_text(workspace, &at).unwrap_or_default();
        let Some(link) = index.link_at(*link) else { continue };
        let LinkPassage { line, passage } = vault::link_passage(&text, &link.link);
        list.backlinks.push(Backlink { path: source, line, passage });
    }
    list
}
