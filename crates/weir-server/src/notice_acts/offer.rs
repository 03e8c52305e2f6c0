//! What an answer from a notice would be for: one approval, exactly as it stands, where all of it can be
//! seen at one look. Not here: the answer itself (`notice_acts`).

use serde_json::json;
use weir_core::event::ApprovalRequested;
use weir_core::governance::canonical_json;
use weir_core::ids::{ApprovalId, SessionId, Timestamp};
use weir_core::record::sha256_hex;
use weir_core::view::transcript::PendingAsk;
use weir_core::view::visible::is_seen_at_one_look;

use crate::inbox::InboxEntry;

/// An approval that may be answered from a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskOffer {
    /// The session that asks: a sub-agent's, where one does.
    pub(crate) session: SessionId,
    /// Its approval.
    pub(crate) approval: ApprovalId,
    /// Of exactly what is asked.
    pub(crate) digest: String,
    /// When no answer is a denial.
    pub(crate) expires: Option<Timestamp>,
}

impl AskOffer {
    /// The offer for something that waits; `None`: it is answered on its page only.
    pub(crate) fn of_entry(entry: &InboxEntry) -> Option<AskOffer> {
        let (session, asked) = approval_of(entry)?;
        is_seen_at_one_look(asked).then(|| AskOffer {
            session: session.clone(),
            approval: asked.approval.clone(),
            digest: digest_of(asked, &entry.top.workspace),
            expires: asked.expires,
        })
    }
}

/// The approval that an entry asks for, and the session that asks.
pub(crate) fn approval_of(entry: &InboxEntry) -> Option<(&SessionId, &ApprovalRequested)> {
    match &entry.ask {
        PendingAsk::Approval(asked) => Some((&entry.top.id, &**asked)),
        PendingAsk::AgentApproval(asked) => Some((&asked.agent, &*asked.request)),
        PendingAsk::Question(_) => None,
    }
}

/// The digest of everything that is asked: tool, arguments, difference, the words about it, and the folder.
fn digest_of(asked: &ApprovalRequested, folder: &str) -> String {
    sha256_hex(canonical_json(&json!({ "asked": asked, "folder": folder })).as_bytes())
}

#[cfg(test)]
mod tests {
    use weir_core::ids::CallId;
    use weir_core::label::Label;

    use super::*;

    #[test]
    fn r5_the_digest_is_of_tool_arguments_difference_and_folder() {
        let asked = ApprovalRequested {
            approval: ApprovalId::new("s-a1"),
            call: CallId(1),
            tool: "write_file".into(),
            input: json!({ "path": "a" }),
            summary: "Write a".into(),
            diff: Some("+x".into()),
            reason: "r".into(),
            unknown: Vec::new(),
            rules: Vec::new(),
            grant: None,
            often: false,
            binds: "b".into(),
            expires: None,
            label: Label::default(),
            bound: false,
            lines: Vec::new(),
        };
        let digest = digest_of(&asked, "/work");
        let changed = [
            digest_of(&asked, "/work2"),
            digest_of(&ApprovalRequested { tool: "edit_file".into(), ..asked.clone() }, "/work"),
            digest_of(
                &ApprovalRequested { input: json!({ "path": "b" }), ..asked.clone() },
                "/work",
            ),
            digest_of(&ApprovalRequested { diff: Some("+y".into()), ..asked.clone() }, "/work"),
            digest_of(
                &ApprovalRequested { approval: ApprovalId::new("s-a2"), ..asked.clone() },
                "/work",
            ),
        ];
        for other in &changed {
            assert_ne!(*other, digest);
        }
        assert_eq!(digest_of(&asked, "/work"), digest, "the same each time");
    }
}
