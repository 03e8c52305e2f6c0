//! A switch of profile gives what was judged, or nothing (P7, G5).

use std::sync::Arc;

use super::{ProfileSwitch, Session, SessionConfig};
use crate::config::describe_widening;
use crate::event::{Event, ProfileSwitched};
use crate::ids::{SessionId, Timestamp};
use crate::input::{EffectAnswer, SessionInput};
use crate::model::{ModelInfo, ModelRef};
use crate::profile::{Limits, PermissionMode, built_in_profiles};

pub(super) fn config(profile: &str, permission: PermissionMode) -> SessionConfig {
    let found = built_in_profiles().into_iter().find(|known| known.name == profile);
    let found = found.expect("a built-in profile");
    let model = ModelRef { provider: "script".into(), name: "one".into() };
    let model = ModelInfo::with_name(model);
    SessionConfig {
        permission,
        system: profile.into(),
        ..SessionConfig::with_defaults("/work", found, model)
    }
}

/// What comes of a switch to `to` that was judged to widen nothing but `judged`.
fn switched(to: SessionConfig, judged: &[&str]) -> ProfileSwitched {
    let mut session = Session::new(SessionId::new("s"));
    session.config = Some(Arc::new(config("ask", PermissionMode::Ask)));
    session.switching = Some(ProfileSwitch {
        profile: to.profile.name.clone(),
        reason: "to go on".into(),
        widens: judged.iter().map(ToString::to_string).collect(),
    });
    let (config, notes) = (Ok(Arc::new(to)), vec!["a note".into()]);
    let input = SessionInput::Answer(EffectAnswer::Switched { config, notes });
    let fact = session.handle(Timestamp::default(), input).remove(0);
    assert!(session.switching.is_none(), "it is made once");
    let Event::ProfileSwitched(switched) = fact else { panic!("another fact") };
    let now = session.config().expect("settings");
    assert_eq!(now.profile.name, switched.profile, "the fold has what the fact says");
    switched
}

#[test]
fn p7_a_switch_is_made_only_as_far_as_it_was_judged() {
    let wider = "permission auto-edit instead of ask";
    let of = |mode| config("code", mode);
    let same = switched(of(PermissionMode::Ask), &[]);
    assert_eq!((same.profile.as_str(), same.from.as_str()), ("code", "ask"));
    assert_eq!((same.reason.as_str(), same.notes.len()), ("to go on", 1));
    assert_eq!(switched(of(PermissionMode::AutoEdit), &[wider]).profile, "code");
    let refused = switched(of(PermissionMode::AutoEdit), &[]);
    assert_eq!(refused.profile, "ask");
    assert!(refused.reason.contains("not switched") && refused.reason.contains(wider));
    let full = switched(of(PermissionMode::Full), &[wider]);
    assert_eq!(full.profile, "ask", "more than what was agreed to");
}

/// `(what the limits become, does that widen)`
#[test]
fn p7_more_of_a_bound_widens_and_less_does_not() {
    let base = Limits {
        max_tool_calls: Some(9),
        budget_tokens: Some(9),
        consecutive_mistake_limit: 3,
        ..Limits::default()
    };
    let with = |limits| SessionConfig { limits, ..config("ask", PermissionMode::Ask) };
    for (limits, expected) in [
        (base, false),
        (Limits { max_tool_calls: Some(8), ..base }, false),
        (Limits { budget_usd: Some(1.0), ..base }, false),
        (Limits { max_iterations: 9, ..base }, false),
        (Limits { max_tool_calls: Some(10), ..base }, true),
        (Limits { max_tool_calls: None, ..base }, true),
        (Limits { budget_tokens: None, ..base }, true),
        (Limits { max_iterations: 26, ..base }, true),
        (Limits { consecutive_mistake_limit: 2, ..base }, false),
        (Limits { consecutive_mistake_limit: 4, ..base }, true),
        (Limits { consecutive_mistake_limit: 0, ..base }, true),
        (Limits { max_subtask_depth: 3, ..base }, true),
        (Limits { max_subtask_depth: 3, max_tool_calls: Some(10), ..base }, true),
    ] {
        let words = describe_widening(&with(base), &with(limits));
        assert_eq!(!words.is_empty(), expected, "{limits:?}: {words:?}");
    }
}
