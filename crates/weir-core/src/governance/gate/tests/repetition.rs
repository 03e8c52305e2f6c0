//! The gate `repetition`: the third identical call and the third similar search (L6).

use super::*;

/// A call as the session remembers it.
fn earlier(input: &Value, changes_before: u64, changed: bool) -> RecentCall {
    RecentCall {
        tool: "tool".into(),
        input: canonical_json(input),
        words: Vec::new(),
        changes_before,
        result: Some("r".into()),
        changed,
        poll: false,
        canary: CanaryText::default(),
    }
}

#[test]
fn l6_the_third_identical_call_is_refused() {
    let call = json!({ "b": 1, "a": 2 });
    let other = json!({ "a": 3 });
    let read = || inspection(on([path(PathAccess::Read, "a")]));
    let mut world = World::new(FULL, &[]);
    assert_eq!(world.judge("tool", &call, &read()).verdict, Verdict::Allow);
    world.recent =
        [earlier(&json!({ "a": 2, "b": 1 }), 0, false), earlier(&other, 0, false)].into();
    assert_eq!(world.judge("tool", &call, &read()).verdict, Verdict::Allow);
    world.recent.push_back(earlier(&call, 0, false));
    assert_eq!(said(&world.judge("tool", &call, &read())), (Verdict::Deny, "repetition"));
    assert_eq!(world.judge("poll", &call, &read()).verdict, Verdict::Allow, "another tool");
    world.changes = 1;
    assert_eq!(world.judge("tool", &call, &read()).verdict, Verdict::Allow, "a write since");
    world.recent.push_back(earlier(&call, 1, false));
    world.recent.push_back(earlier(&call, 1, false));
    assert_eq!(world.judge("tool", &call, &read()).verdict, Verdict::Deny, "and again");
}

#[test]
fn l6_a_path_written_differently_is_the_same_call() {
    let read = || inspection(on([path(PathAccess::Read, "a/f.txt")]));
    let mut world = World::new(FULL, &[]);
    let first = json!({ "path": "a/f.txt" });
    world.recent = [earlier(&first, 0, false), earlier(&first, 0, false)].into();
    for same in ["./a/f.txt", "a//f.txt", "b/../a/f.txt", "/home/work/a/f.txt"] {
        let judged = world.judge("tool", &json!({ "path": same }), &read());
        assert_eq!(said(&judged), (Verdict::Deny, "repetition"), "{same}");
    }
    let other = inspection(on([path(PathAccess::Read, "f.txt")]));
    for call in [json!({ "path": "f.txt" }), json!({ "path": "./f.txt" })] {
        assert_eq!(world.judge("tool", &call, &other).verdict, Verdict::Allow, "{call}");
    }
}

#[test]
fn l6_the_workspace_named_in_any_way_is_the_same_call() {
    let list = || inspection(on([path(PathAccess::List, ".")]));
    let mut world = World::new(FULL, &[]);
    let first = json!({ "recursive": true });
    world.recent = [earlier(&first, 0, false), earlier(&first, 0, false)].into();
    for same in [".", "./", "a/..", "/work/ws", "/work/ws/"] {
        let judged = world.judge("tool", &json!({ "path": same, "recursive": true }), &list());
        assert_eq!(said(&judged), (Verdict::Deny, "repetition"), "{same}");
    }
    for other in ["/work", "/", "a"] {
        let judged = world.judge("tool", &json!({ "path": other, "recursive": true }), &list());
        assert_eq!(judged.verdict, Verdict::Allow, "{other}");
    }
}

#[test]
fn l6_the_window_is_fifteen_calls() {
    let call = json!({});
    let mut world = World::new(FULL, &[]);
    world.recent = [earlier(&call, 0, false), earlier(&call, 0, false)].into();
    for number in 0..13 {
        world.recent.push_back(earlier(&json!(number), 0, false));
    }
    let facts = inspection(Effects::default());
    assert_eq!(world.judge("tool", &call, &facts).verdict, Verdict::Deny);
    world.recent.push_back(earlier(&json!("x"), 0, false));
    assert_eq!(world.judge("tool", &call, &facts).verdict, Verdict::Allow);
}

#[test]
fn l6_its_own_changes_do_not_excuse_a_repetition() {
    let call = json!({ "content": "x" });
    let mut world = World::new(FULL, &[]);
    world.recent = [earlier(&call, 0, true), earlier(&call, 1, true)].into();
    world.changes = 2;
    let write = inspection(on([path(PathAccess::Write, "a")]));
    assert_eq!(said(&world.judge("tool", &call, &write)), (Verdict::Deny, "repetition"));
    world.changes = 3;
    assert_eq!(world.judge("tool", &call, &write).verdict, Verdict::Allow, "another change since");
}

#[test]
fn l6_a_poll_may_repeat_while_its_answer_differs() {
    let call = json!({ "job": 1 });
    let poll = |result: &str| RecentCall {
        tool: "poll".into(),
        result: Some(result.into()),
        poll: true,
        ..earlier(&call, 0, false)
    };
    let facts = inspection(Effects { jobs: vec!["1".into()], ..Effects::default() });
    let mut world = World::new(FULL, &[]);
    world.recent = [poll("10 %"), poll("20 %")].into();
    assert_eq!(world.judge("poll", &call, &facts).verdict, Verdict::Allow);
    world.recent.push_back(poll("20 %"));
    assert_eq!(world.judge("poll", &call, &facts).verdict, Verdict::Deny);
}

#[test]
fn r3_a_server_may_ask_the_model_the_same_again() {
    const ASKED: &str = "mcp__git__sampling";
    let question = json!({ "messages": [{ "role": "user", "text": "2+2?" }], "tokens_max": 9 });
    let before = || RecentCall { tool: ASKED.into(), ..earlier(&question, 0, false) };
    let asks = |samples: Option<&str>| {
        let samples = samples.map(str::to_owned);
        inspection(Effects { samples, reads_from: vec!["mcp:git".into()], ..Effects::default() })
    };
    let mut world = World::new(FULL, &[]);
    world.visible.push(ASKED.to_owned());
    world.recent = [before(), before()].into();
    assert_eq!(world.judge(ASKED, &question, &asks(Some("git"))).verdict, Verdict::Allow);
    let agent = world.judge(ASKED, &question, &asks(None));
    assert_eq!(said(&agent), (Verdict::Deny, "repetition"));
}

#[test]
fn l6_the_third_similar_search_is_refused() {
    let search = |query: &str| Effects { searches: vec![query.into()], ..Effects::default() };
    let remembered = |query: &str| RecentCall {
        words: search_words(&search(query)),
        ..earlier(&json!(query), 0, false)
    };
    let mut world = World::new(FULL, &[]);
    world.recent = [remembered("error handling in gate"), remembered("gate error handling")].into();
    let judged = |world: &World, query: &str| {
        world.judge("tool", &json!({ "q": query }), &inspection(search(query))).verdict
    };
    assert_eq!(judged(&world, "Error  handling: GATE!"), Verdict::Deny);
    assert_eq!(judged(&world, "journal hash chain"), Verdict::Allow);
    assert_eq!(judged(&world, "gate"), Verdict::Allow, "one of three words is not similar");
    world.changes = 1;
    assert_eq!(judged(&world, "gate error handling"), Verdict::Allow, "a write since");
    let set = |text: &str| search_words(&search(text));
    assert!(!is_similar(&set("a b"), &set("a c d")));
    assert!(!is_similar(&set("a b c"), &set("a b d e")), "two of five");
    assert!(!is_similar(&set("a b"), &set("a")), "exactly one half");
    assert!(is_similar(&set("a b c"), &set("a b")));
    assert!(!is_similar(&[], &[]));
}
