//! What is said where a session that is a copy winds files back. Pure. Not here: which changes there
//! were (`weir_engine::rewind`).

use weir_core::ids::SessionId;

/// Originals that a line names.
const NAMED_MAX: usize = 3;

/// Whose changes are taken back beside the session's own, and whose cannot be.
pub(super) fn describe_copied_changes(
    originals: &[SessionId],
    missing: Option<&SessionId>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let named: Vec<&str> = originals.iter().take(NAMED_MAX).map(SessionId::as_str).collect();
    let more = match originals.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if !named.is_empty() {
        let named = named.join(", ");
        notes.push(format!(
            "this session is a copy: what its original changed since goes back too ({named}{more})"
        ));
    }
    if let Some(missing) = missing {
        notes.push(format!(
            "this session is a copy of {missing}, which is not there any more: what that changed \
             since stays as it is"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_a_copy_says_whose_changes_go_back_and_whose_stay() {
        let ids: Vec<SessionId> = ["a", "b", "c", "d"].map(SessionId::new).into();
        assert_eq!(describe_copied_changes(&[], None), Vec::<String>::new());
        let many = describe_copied_changes(&ids, Some(&ids[0]));
        assert!(many[0].ends_with("goes back too (a, b, c and 1 more)"), "{many:?}");
        assert!(many[1].starts_with("this session is a copy of a, which is not there"), "{many:?}");
        assert_eq!(many.len(), 2);
    }
}
