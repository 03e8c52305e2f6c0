//! Tables for the pure rules about sub-agents: authority is an intersection, budgets are shares.

use super::*;
use crate::governance::rules::RuleOrigin;
use crate::model::{ModelInfo, ModelRef};
use crate::profile::built_in_profiles;

fn tool(name: &str, group: ToolGroup) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        group,
        input_schema: serde_json::json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe: true,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

fn settings(permission: PermissionMode, tools: &[(&str, ToolGroup)]) -> SessionConfig {
    let model = ModelRef { provider: "script".into(), name: "m".into() };
    let model = ModelInfo::with_name(model);
    SessionConfig {
        permission,
        tools: Arc::new(tools.iter().map(|(name, group)| tool(name, *group)).collect()),
        externalize_over: 2_000,
        attended: true,
        ..SessionConfig::with_defaults("/w", built_in_profiles().remove(0), model)
    }
}

fn names(config: &SessionConfig) -> Vec<&str> {
    config.tools.iter().map(|tool| tool.name.as_str()).collect()
}

const READ: (&str, ToolGroup) = ("read_file", ToolGroup::Read);
const WRITE: (&str, ToolGroup) = ("write_file", ToolGroup::Edit);
const SHELL: (&str, ToolGroup) = ("run_shell", ToolGroup::Skill);
const NEW_TASK: &str = "new_task";
const TASK: (&str, ToolGroup) = (NEW_TASK, ToolGroup::Agent);
const ASK: (&str, ToolGroup) = ("ask_followup_question", ToolGroup::Agent);

/// `(parent, profile, mode and tools of the child)`
#[test]
fn m6_the_authority_of_a_child_is_an_intersection() {
    use PermissionMode::{Ask, AutoEdit, Full, Plan};
    for (parent, own, mode, tools) in [
        ((Ask, vec![READ]), (Full, vec![READ, WRITE, SHELL]), Ask, vec!["read_file"]),
        ((Full, vec![READ, WRITE, SHELL]), (Plan, vec![READ]), Plan, vec!["read_file"]),
        (
            (Plan, vec![READ, TASK]),
            (AutoEdit, vec![READ, WRITE, TASK]),
            Plan,
            vec!["read_file", NEW_TASK],
        ),
        ((Full, vec![READ, ASK, TASK]), (Full, vec![ASK, READ]), Full, vec!["read_file"]),
        ((Full, vec![]), (Full, vec![READ]), Full, vec![]),
    ] {
        let parent = settings(parent.0, &parent.1);
        let own = settings(own.0, &own.1);
        let child = child_config(&parent, &own, &BudgetShare::default());
        assert_eq!((child.permission, names(&child)), (mode, tools));
        assert_eq!(child.depth, 1);
        assert!(crate::config::describe_widening(&parent, &child).is_empty());
        assert_eq!(
            child_config(&parent, &child, &BudgetShare::default()),
            child,
            "twice changes nothing more"
        );
    }
}

#[test]
fn m6_what_a_parent_found_by_name_only_its_child_may_have() {
    let mut parent = settings(PermissionMode::Full, &[READ]);
    parent.deferred = Arc::new(vec![tool("write_file", ToolGroup::Edit)]);
    let own = settings(PermissionMode::Full, &[READ, WRITE, SHELL]);
    assert_eq!(
        names(&child_config(&parent, &own, &BudgetShare::default())),
        ["read_file", "write_file"]
    );
}

#[test]
fn m6_rules_of_the_parent_stay_and_a_profile_adds_denials_only() {
    let rule = |action, text: &str| {
        crate::governance::rules::Rule::parse(action, text, RuleOrigin::new("test"))
            .expect("a rule")
    };
    let mut parent = settings(PermissionMode::Full, &[READ]);
    parent.rules.add(rule(RuleAction::Deny, "Edit(a)"));
    parent.rules.add(rule(RuleAction::Allow, "Shell(ls)"));
    let mut own = settings(PermissionMode::Full, &[READ]);
    own.rules.add(rule(RuleAction::Allow, "Shell"));
    own.rules.add(rule(RuleAction::Deny, "Web"));
    let child = child_config(&parent, &own, &BudgetShare::default());
    let texts: Vec<String> =
        child.rules.iter().map(|r| format!("{} {}", r.action(), r.text())).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    for expected in ["deny Edit(a)", "allow Shell(ls)", "deny Web"] {
        assert!(texts.iter().any(|text| text == expected), "{texts:?}");
    }
}

#[test]
fn m6_a_child_keeps_the_narrower_of_all_bounds_and_none_of_the_extras() {
    let mut parent = settings(PermissionMode::Full, &[READ]);
    parent.limits.max_iterations = 10;
    parent.limits.budget_tokens = Some(900);
    parent.limits.consecutive_mistake_limit = 3;
    parent.limits.power_steering_frequency = 4;
    parent.output_schema = Some(serde_json::json!({}));
    parent.strict = true;
    parent.guards.canary = Some("kestrel".into());
    let mut own = settings(PermissionMode::Full, &[READ]);
    own.limits.max_iterations = 200;
    own.limits.max_tool_calls = Some(5);
    own.attended = false;
    let share = BudgetShare { budget_tokens: Some(300), ..BudgetShare::default() };
    let child = child_config(&parent, &own, &share);
    let limits = child.limits;
    assert_eq!((limits.max_iterations, limits.max_tool_calls), (10, Some(5)));
    assert_eq!((limits.budget_tokens, limits.consecutive_mistake_limit), (Some(300), 3));
    assert_eq!(limits.power_steering_frequency, 0);
    assert!(child.strict && child.attended && child.output_schema.is_none());
    assert!(!child.condensing.enabled && child.memory.off && child.recipes.off);
    assert_eq!(child.guards.canary.as_deref(), Some("kestrel"));
}

#[test]
fn m6_no_deeper_agent_than_the_limit_says() {
    for (depth, max, has) in
        [(0, 2, true), (1, 2, false), (0, 1, false), (0, 3, true), (1, 3, true)]
    {
        let mut parent = settings(PermissionMode::Full, &[READ, TASK]);
        parent.depth = depth;
        parent.limits.max_subtask_depth = max;
        let mut own = parent.clone();
        own.limits.max_subtask_depth = 9;
        let child = child_config(&parent, &own, &BudgetShare::default());
        assert_eq!(names(&child).contains(&NEW_TASK), has, "depth {depth} of {max}");
    }
    let mut tools = vec![tool(NEW_TASK, ToolGroup::Agent)];
    within_depth(&mut tools, 0, &Limits { max_subtask_depth: 0, ..Limits::default() });
    assert!(tools.is_empty());
}

/// `(left, granted to those that run, calls that wait, what one of them gets)`
#[test]
fn m6_what_is_left_is_divided_among_those_that_wait() {
    let tokens =
        |tokens: u64| BudgetShare { budget_tokens: Some(tokens), ..BudgetShare::default() };
    let usd = |usd: f64| BudgetShare { budget_usd: Some(usd), ..BudgetShare::default() };
    let none = BudgetShare::default();
    for (left, granted, shares, expected) in [
        (none, vec![], 3, none),
        (tokens(900), vec![], 1, tokens(900)),
        (tokens(900), vec![], 3, tokens(300)),
        (tokens(900), vec![tokens(300)], 2, tokens(300)),
        (tokens(900), vec![tokens(300), tokens(300)], 1, tokens(300)),
        (tokens(100), vec![tokens(300)], 1, tokens(0)),
        (tokens(900), vec![none], 0, tokens(900)),
        (usd(0.9), vec![usd(0.3)], 2, usd(0.3)),
        (usd(0.0), vec![], 1, usd(0.0)),
        (
            BudgetShare { run_timeout_ms: Some(5), ..none },
            vec![none],
            4,
            BudgetShare { run_timeout_ms: Some(5), ..none },
        ),
    ] {
        let came = divide_share(&left, &granted, shares);
        assert_eq!(
            (came.budget_tokens, came.run_timeout_ms),
            (expected.budget_tokens, expected.run_timeout_ms)
        );
        let money = |share: &BudgetShare| share.budget_usd.map(|usd| (usd * 1e6).round());
        assert_eq!(money(&came), money(&expected));
    }
}

#[test]
fn m6_names_of_children_lead_back_to_their_parents() {
    let root = SessionId::new("0199");
    let child = child_session_id(&root, CallId(3));
    let grandchild = child_session_id(&child, CallId(12));
    assert_eq!(grandchild.as_str(), "0199_c3_c12");
    assert_eq!(parent_of(&grandchild), Some((child.clone(), CallId(12))));
    assert_eq!(parent_of(&child), Some((root.clone(), CallId(3))));
    assert_eq!(parent_of(&root), None);
    assert_eq!(parent_of(&SessionId::new("my_notes")), None);
}

#[test]
fn m6_who_may_write_is_said_by_mode_and_tools() {
    use PermissionMode::{Ask, Plan};
    for (mode, tools, writes) in [
        (Ask, vec![READ, TASK], false),
        (Ask, vec![READ, WRITE], true),
        (Ask, vec![READ, SHELL], true),
        (Plan, vec![READ, WRITE, SHELL], false),
        (Ask, vec![READ, ("manage_anything", ToolGroup::Agent)], true),
        (Ask, vec![("mcp__x__y", ToolGroup::Mcp)], true),
    ] {
        assert_eq!(may_write(&settings(mode, &tools)), writes, "{mode} {tools:?}");
    }
}

/// `(the model that the parent speaks with, the chosen one and the present one of the child)`
#[test]
fn v8_a_child_goes_on_with_what_stands_in_and_is_free_of_what_a_rule_wanted() {
    let of = |away: Option<&str>| ModelRouting {
        home: Some("a/home".into()),
        away: away.map(String::from),
        fallback: vec!["b/second".into()],
        ..ModelRouting::default()
    };
    for (away, home, present) in [
        (None, "a/home", "a/home"),
        (Some("b/second"), "b/second", "b/second"),
        (Some("c/small"), "a/home", "c/small"),
    ] {
        let mut parent = settings(PermissionMode::Full, &[READ]);
        parent.routing = of(away);
        let own = settings(PermissionMode::Full, &[READ]);
        let child = child_config(&parent, &own, &BudgetShare::default());
        let routing = &child.routing;
        assert_eq!((routing.home.as_deref(), routing.present()), (Some(home), Some(present)));
        assert_eq!(child_config(&parent, &child, &BudgetShare::default()), child);
    }
}
