//! What a person is told once, in a folder in which nothing was said yet and for which nobody chose a
//! permission mode: which holds, what passes in it, and a quieter one where that is safe (U13). Pure.

use crate::profile::PermissionMode;

/// A first start, as far as the mode is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstStart {
    /// The mode that holds, chosen by nobody.
    pub mode: PermissionMode,
    /// `auto-edit` would be less to answer, and a sandbox holds what passes in it.
    pub offers_auto_edit: bool,
}

impl FirstStart {
    /// One line. `switch`: how one goes to `auto-edit` in this face, as words after a colon.
    pub fn describe(self, switch: &str) -> String {
        let passes = match self.mode {
            PermissionMode::Plan => "it reads and plans, and changes nothing",
            PermissionMode::Ask => {
                "reading passes; changing files, and running commands that do more than read, asks you first"
            }
            PermissionMode::AutoEdit => {
                "files of this folder and commands in the sandbox pass; the network and everything \
                 outside asks you first"
            }
            PermissionMode::Full => "what no rule forbids and no gate holds passes",
        };
        let offer = match self.offers_auto_edit {
            true => format!(
                " In auto-edit, files of this folder and commands in the sandbox pass, and undo takes \
                 them back: {switch}"
            ),
            false => String::new(),
        };
        format!("Permission mode {}: {passes}.{offer}", self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u13_the_first_line_offers_a_quieter_mode_only_where_it_is_safe() {
        let first = FirstStart { mode: PermissionMode::Ask, offers_auto_edit: true };
        let line = first.describe("/permissions auto-edit");
        assert!(line.starts_with("Permission mode ask: reading passes;"), "{line}");
        assert!(line.ends_with("undo takes them back: /permissions auto-edit"), "{line}");
        for mode in PermissionMode::ALL {
            let line = FirstStart { mode, offers_auto_edit: false }.describe("/x");
            assert!(line.starts_with(&format!("Permission mode {mode}: ")), "{line}");
            assert!(!line.contains("/x") && !line.contains('\n'), "{line}");
        }
    }
}
