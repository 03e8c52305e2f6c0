//! What a definition may be, and the words of its history.

use super::*;
use crate::profile::built_in_profiles;
use crate::tool::ToolGroup;

fn agent(name: &str) -> ScheduledAgent {
    ScheduledAgent {
        name: name.into(),
        prompt: "Look at the harbour.".into(),
        cron: Some("0 8 * * *".into()),
        timezone: "UTC".into(),
        after: None,
        profile: None,
        tools: Vec::new(),
        prompt_mode: PromptMode::Combined,
        model: None,
        permission: None,
        thinking: None,
        limits: AgentLimits::default(),
        missed: None,
        on_ask: OnAsk::Deny,
        workspace: "/w".into(),
        owner: "ada".into(),
    }
}

#[test]
fn m7_names_and_prompts_are_bounded() {
    let long = "a".repeat(NAME_CHARS_MAX + 1);
    for name in ["", "A", "a b", "-a", "../x", "ä", "a/b", "a\n", long.as_str()] {
        assert!(agent(name).problem().expect("no name").contains("cannot be its name"), "{name}");
    }
    for name in ["a", "0", "daily-digest_2"] {
        assert_eq!(agent(name).problem(), None, "{name}");
    }
    let prompt = |text: String| ScheduledAgent { prompt: text, ..agent("a") }.problem();
    assert!(prompt(" \n".into()).expect("empty").contains("empty"));
    assert!(prompt("x".repeat(PROMPT_CHARS_MAX + 1)).expect("long").contains("characters"));
    let own = ScheduledAgent { after: Some("a".into()), ..agent("a") };
    assert!(own.problem().expect("a circle").contains("after itself"));
}

#[test]
fn m7_circles_are_found() {
    let known = |pairs: &[(&str, &str)]| -> Vec<(String, Option<String>)> {
        let after = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        pairs.iter().map(|(name, of)| ((*name).to_owned(), after(of))).collect()
    };
    let chain = known(&[("b", "c"), ("c", "d"), ("d", "")]);
    assert_eq!(find_circle(&chain, "a", "b"), None);
    assert_eq!(find_circle(&chain, "d", "b"), Some("d after b after c after d".into()));
    assert_eq!(find_circle(&chain, "a", "nobody"), None);
    assert_eq!(find_circle(&known(&[]), "a", "a"), Some("a after a".into()));
    // One that was there before and does not hold the new one ends all the same.
    assert_eq!(find_circle(&known(&[("x", "y"), ("y", "x")]), "a", "x"), None);
}

#[test]
fn t3_no_tool_declared_means_no_tool() {
    let full = built_in_profiles().into_iter().find(|p| p.name == "agent").expect("it is built in");
    let none = ScheduledAgent::narrow_profile(&[], full.clone());
    for (tool, group) in [
        ("read_file", ToolGroup::Read),
        ("run_shell", ToolGroup::Skill),
        ("attempt_completion", ToolGroup::Agent),
        ("find_tool", ToolGroup::Agent),
    ] {
        assert!(full.has_tool(tool, group) && !none.has_tool(tool, group), "{tool}");
    }
    let forbids = Profile { denied_tools: vec!["run_shell".into()], ..full };
    let some = ScheduledAgent::narrow_profile(&["read_file".into(), "run_shell".into()], forbids);
    assert!(some.has_tool("read_file", ToolGroup::Read));
    assert!(!some.has_tool("list_files", ToolGroup::Read), "not declared");
    assert!(!some.has_tool("run_shell", ToolGroup::Skill), "the profile forbids it");
}

#[test]
fn m7_states_and_causes_are_read_as_they_are_written() {
    for state in AgentRunState::ALL {
        assert_eq!(state.to_string().parse(), Ok(state));
        let json = serde_json::to_string(&state).expect("a word");
        assert_eq!(serde_json::from_str::<AgentRunState>(&json).expect("the same"), state);
    }
    assert!("done".parse::<AgentRunState>().is_err());
    for cause in [AgentCause::Cron, AgentCause::After, AgentCause::Manual, AgentCause::Mail] {
        assert_eq!(cause.as_str().parse(), Ok(cause));
    }
    assert!("often".parse::<AgentCause>().is_err());
}

#[test]
fn m7_the_input_says_why_it_runs() {
    let daily = ScheduledAgent { after: Some("night".into()), ..agent("daily") };
    let run = |cause| AgentRun::new(&daily, cause, "t".into(), Timestamp(0));
    for (cause, words) in [
        (AgentCause::Cron, "Scheduled run of the agent daily, due NOW."),
        (AgentCause::After, "because a run of night has completed (NOW)."),
        (AgentCause::Manual, "Run of the agent daily by hand, NOW."),
        (AgentCause::Mail, "because a mail came (NOW)."),
    ] {
        let input = daily.input(&run(cause), "NOW");
        assert!(input.contains(words), "{input}");
    }
    assert!(is_schedule(&daily.actor_name()) && !is_schedule("ada"));
}

#[test]
fn m7_remarks_are_kept_and_not_repeated() {
    let mut run = AgentRun::new(&agent("a"), AgentCause::Cron, "t".into(), Timestamp(0));
    run.add_remark("one");
    run.add_remark("one");
    run.add_remark("");
    let ended = run.with_end(AgentRunState::Skipped, Timestamp(5), "two");
    assert_eq!((ended.note.as_str(), ended.finished), ("one; two", Some(Timestamp(5))));
    assert!(!ended.state.is_open());
}
