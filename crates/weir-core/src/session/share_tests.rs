//! Tools that a journal told are kept once, together with those of the program (Q18).

use std::sync::Arc;

use super::switch_tests::config;
use super::{Session, SessionConfig};
use crate::ids::SessionId;
use crate::profile::PermissionMode;
use crate::tool::{ToolGroup, ToolSpec};

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        group: ToolGroup::Read,
        input_schema: serde_json::json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe: true,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

fn settings(tools: &[&str]) -> SessionConfig {
    let tools = Arc::new(tools.iter().map(|name| tool(name)).collect());
    SessionConfig { tools, ..config("code", PermissionMode::Ask) }
}

#[test]
fn q18_what_a_journal_told_is_shared_with_what_the_program_has_only_where_it_is_the_same() {
    let program = settings(&["look", "write"]);
    for (journal, shared) in [(&["look", "write"][..], true), (&["look"][..], false)] {
        let mut session = Session::new(SessionId::new("s"));
        let told = settings(journal);
        session.tools = told.tools.clone();
        session.config = Some(Arc::new(told.clone()));
        session.share_tools(&program);
        let kept = session.config().expect("it was configured");
        assert_eq!(**kept, told, "nothing is another");
        assert_eq!(Arc::ptr_eq(&kept.tools, &program.tools), shared);
        assert_eq!(Arc::ptr_eq(&session.tools, &program.tools), shared);
    }
}

#[test]
fn q18_settings_whose_tools_are_shared_already_are_not_copied() {
    let told = Arc::new(settings(&["look"]));
    let mut session = Session::new(SessionId::new("s"));
    (session.tools, session.config) = (told.tools.clone(), Some(told.clone()));
    session.share_tools(&SessionConfig { system: "another".into(), ..(*told).clone() });
    assert!(session.config().is_some_and(|kept| Arc::ptr_eq(kept, &told)));
}
