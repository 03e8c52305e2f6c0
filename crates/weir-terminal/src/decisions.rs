//! By which words of the command line a decision of the face is looked at and made here, and what it is
//! at a server. A new one is a row in the table of `weir-tui` (`decisions`) and its line here. Pure. Not
//! here: doing it (`local::decisions`, `remote::decisions`).

use serde_json::Value;
use weir_core::view::plain::visible_text;
use weir_tui::link::{DecisionKind, DecisionRequest};

/// How what would count is shown before it is decided, and held against what was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalReview {
    /// The command itself: `--preview`, then `--as-shown`.
    Preview,
    /// What these words print of the thing that was named; it is printed once more right before.
    Printed {
        /// The words.
        words: &'static [&'static str],
        /// What is asked.
        question: &'static str,
    },
    /// An approval or a question of any session.
    Approval,
    /// A lease of any session.
    Lease,
}

/// A decision about what this machine keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalDecision {
    /// The words of the command that makes it, before what was named.
    pub(crate) words: &'static [&'static str],
    /// How it is shown.
    pub(crate) review: LocalReview,
}

/// A decision about what a server keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemoteDecision {
    /// A deed about a thing of the library.
    Library {
        /// The shelf, as addresses name it.
        shelf: &'static str,
        /// The deed, as addresses name it.
        deed: &'static str,
        /// What is asked.
        question: &'static str,
    },
    /// How far a fact of the memory comes.
    Memory {
        /// The word for it.
        status: &'static str,
        /// What is asked.
        question: &'static str,
    },
    /// A permission rule, or trust of the session's folder.
    Rule {
        /// What is asked.
        question: &'static str,
    },
    /// A setting of the person, or one that holds for everybody there.
    Setting,
    /// What a session asks.
    Approval,
    /// What an answer for a session allows.
    Lease,
}

/// What is asked before an approval or a question of a session is answered so.
pub(crate) fn answer_question(request: &DecisionRequest) -> String {
    if request.own_words.is_some() {
        return "Answer it in these words?".into();
    }
    let bounds = request.flags.join(", ").replace("--", "").replace('=', " ");
    match (request.arguments.get(1).map(String::as_str), bounds.as_str()) {
        (Some("once"), _) => "Allow it this once?".into(),
        (Some("session"), "") => "Allow it and what is like it until that session ends?".into(),
        (Some("session"), bounds) => {
            format!("Allow it and what is like it in that session ({bounds})?")
        }
        (Some("always"), _) => "Allow it and what is like it in that project from now on?".into(),
        _ => "Deny it?".into(),
    }
}

/// The words that answer a question, before the question.
pub(crate) fn answer_text(words: &str, asked: &str) -> String {
    let words = words.lines().map(visible_text).collect::<Vec<_>>().join("\n");
    format!("In your words:\n\n{words}\n\nWhat is asked:\n\n{asked}")
}

/// What is asked before a lease is revoked.
pub(crate) const REVOKE_QUESTION: &str = "Revoke it, so that such calls are asked again?";

/// A lease, as text: what it allows, how far, and by whom.
pub(crate) fn lease_text(session: &str, lease: &Value) -> String {
    let mut text = format!("Lease {} of session {}\n", lease["lease"], visible_text(session));
    let mut push = |name: &str, value: &str| {
        text.push_str(&format!("{name}: {}\n", visible_text(value)));
    };
    for rule in lease["rules"].as_array().into_iter().flatten() {
        let written = rule.as_str().or(rule["rule"].as_str());
        push("allows", &written.map_or_else(|| rule.to_string(), str::to_owned));
    }
    if let Some(name) = lease["grant"]["name"].as_str() {
        push("allows", name);
    }
    match lease["uses_left"].as_u64() {
        Some(left) => push("calls left", &left.to_string()),
        None => push("calls left", "any number"),
    }
    push("until", lease["until"].as_str().unwrap_or("the end of the session"));
    push("granted by", lease["by"].as_str().unwrap_or_default());
    text
}

/// How a decision is made here.
pub(crate) fn local_decision(kind: DecisionKind) -> LocalDecision {
    use DecisionKind as Kind;
    use LocalReview::{Approval, Lease, Preview, Printed};
    const REMOVE: &str = "Remove it?";
    const DISABLE: &str = "Disable it?";
    let printed = |words, question| Printed { words, question };
    let (words, review): (&'static [&'static str], LocalReview) = match kind {
        Kind::MemoryAccept => (&["memory", "accept"], Preview),
        Kind::MemoryReject => (&["memory", "reject"], Preview),
        Kind::MemoryForget => (&["memory", "forget"], Preview),
        Kind::SkillAccept => (&["skills", "accept"], Preview),
        Kind::SkillReject => (&["skills", "reject"], Preview),
        Kind::SkillRemove => (&["skills", "remove"], printed(&["skills", "show"], REMOVE)),
        Kind::RecipeAccept => (&["recipes", "accept"], Preview),
        Kind::RecipeReject => {
            (&["recipes", "reject"], printed(&["recipes", "show"], "Reject it for good?"))
        }
        Kind::RecipeRemove => (&["recipes", "remove"], printed(&["recipes", "show"], REMOVE)),
        Kind::ServerApprove => (&["mcp-servers", "approve"], Preview),
        Kind::ServerRemove => {
            (&["mcp-servers", "remove"], printed(&["mcp-servers", "show"], REMOVE))
        }
        Kind::PluginEnable => (&["plugins", "enable"], Preview),
        Kind::PluginDisable => (&["plugins", "disable"], printed(&["plugins", "show"], DISABLE)),
        Kind::ToolAccept => (&["tools", "accept"], Preview),
        Kind::ToolDisable => (&["tools", "disable"], printed(&["tools", "show"], DISABLE)),
        Kind::ToolRemove => (&["tools", "remove"], printed(&["tools", "show"], REMOVE)),
        Kind::SettingAccept => (&["config", "accept"], Preview),
        Kind::SettingReject => (&["config", "reject"], Preview),
        Kind::SettingSet => (&["config", "set"], Preview),
        Kind::SettingUnset => (&["config", "unset"], Preview),
        Kind::TrustGrant => (&["trust"], Preview),
        Kind::TrustRemove => (
            &["trust", "--remove"],
            printed(&["trust", "--list"], "Trust this folder's own files no longer?"),
        ),
        Kind::RuleAdd => (&["permissions", "add"], Preview),
        Kind::RuleRemove => (&["permissions", "remove"], Preview),
        Kind::ApprovalAnswer => (&["approvals", "answer"], Approval),
        Kind::LeaseRevoke => (&["approvals", "revoke"], Lease),
    };
    LocalDecision { words, review }
}

/// How a decision is made at a server.
pub(crate) fn remote_decision(kind: DecisionKind) -> RemoteDecision {
    use DecisionKind as Kind;
    let library = |shelf, deed, question| RemoteDecision::Library { shelf, deed, question };
    let memory = |status, question| RemoteDecision::Memory { status, question };
    match kind {
        Kind::MemoryAccept => memory("kept", "Accept it?"),
        Kind::MemoryReject => memory("rejected", "Reject it for good?"),
        Kind::MemoryForget => memory("forgotten", "Forget it?"),
        Kind::SkillAccept => library("skills", "accept", "Accept it?"),
        Kind::SkillReject => library("skills", "reject", "Reject it?"),
        Kind::SkillRemove => library("skills", "remove", "Remove it?"),
        Kind::RecipeAccept => library("recipes", "accept", "Accept it?"),
        Kind::RecipeReject => library("recipes", "reject", "Reject it for good?"),
        Kind::RecipeRemove => library("recipes", "remove", "Remove it?"),
        Kind::ServerApprove => library("servers", "approve", "Approve it as it is now?"),
        Kind::ServerRemove => library("servers", "remove", "Remove it?"),
        Kind::PluginEnable => library("plugins", "enable", "Enable it?"),
        Kind::PluginDisable => library("plugins", "disable", "Disable it?"),
        Kind::ToolAccept => library("made", "accept", "Accept it?"),
        Kind::ToolDisable => library("made", "disable", "Disable it?"),
        Kind::ToolRemove => library("made", "remove", "Remove it?"),
        Kind::SettingAccept => library("settings", "accept", "Accept it?"),
        Kind::SettingReject => library("settings", "reject", "Reject it?"),
        Kind::ApprovalAnswer => RemoteDecision::Approval,
        Kind::LeaseRevoke => RemoteDecision::Lease,
        Kind::TrustGrant => {
            RemoteDecision::Rule { question: "Trust this folder's own files, as they are now?" }
        }
        Kind::TrustRemove => {
            RemoteDecision::Rule { question: "Trust this folder's own files no longer?" }
        }
        Kind::RuleAdd => RemoteDecision::Rule { question: "Add it?" },
        Kind::RuleRemove => RemoteDecision::Rule { question: "Remove it?" },
        Kind::SettingSet | Kind::SettingUnset => RemoteDecision::Setting,
    }
}
