//! Files that a call makes whose content nobody knew when it was judged. Not here: changes that were
//! planned to the byte (`changes`), and what commands write (`crate::commands`).

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::governance::Permit;
use weir_core::tool::{FileState, PlannedChange};

use super::{FileContent, FileError, Workspace, changes};

/// Permission bits of such a file.
const FILE_MODE: u32 = 0o644;

impl Workspace {
    /// Makes the file `path`, which is among the paths that `permit` was given for. Nothing may stand
    /// there: what does is left as it is. Returns the changed paths.
    ///
    /// # Errors
    /// The path was not judged, something stands there, or it cannot be written. Nothing was changed.
    pub fn create_permitted_file(
        &self,
        permit: &Permit,
        path: &str,
        bytes: Arc<[u8]>,
    ) -> Result<Vec<String>, FileError> {
        let content = FileContent::File { bytes: bytes.clone(), mode: FILE_MODE };
        let made = [PlannedChange {
            path: path.to_owned(),
            before: FileState::Absent,
            after: content.image(),
        }];
        changes::check_within_effects(&made, &permit.effects().paths)?;
        let contents = BTreeMap::from([(path.to_owned(), bytes)]);
        let label = format!("{}-{}", permit.session(), permit.call());
        changes::apply_changes(self, &made, &contents, &label)
    }
}
