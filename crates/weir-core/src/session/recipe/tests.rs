//! A session that follows a recipe, input by input. Not here: whole runs (`scenarios/recipes`).

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::effect::Effect;
use crate::event::{CallFinished, CancelCause, RunFinished};
use crate::governance::{FilterContext, filter_result};
use crate::ids::{InputId, SessionId, Timestamp};
use crate::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use crate::message::StoredMedia;
use crate::model::{ModelInfo, ModelRef, ModelReply, ReplyBlock, ReplyCall, StopReason, Usage};
use crate::profile::{PermissionMode, built_in_profiles};
use crate::recipe::{FAST_FROM, RecipeStanding};
use crate::session::SessionConfig;
use crate::tool::{CleanResult, EffectClass, Effects, Inspection, RawResult, ToolGroup};

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

fn tool(name: &str, parallel_safe: bool) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        group: ToolGroup::Agent,
        input_schema: json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

fn config() -> SessionConfig {
    let model = ModelRef { provider: "script".into(), name: "one".into() };
    let model = ModelInfo::with_name(model);
    SessionConfig {
        permission: PermissionMode::Full,
        tools: Arc::new(vec![tool("look", true), tool("write", false), tool("steer", false)]),
        deferred: Arc::new(vec![tool("rare", false)]),
        system: "You are a test.".into(),
        attended: true,
        ..SessionConfig::with_defaults("/work", built_in_profiles().remove(0), model)
    }
}

fn recipe(tools: &[&str]) -> Recipe {
    let step = |tool: &&str| json!({ "tool": tool, "input": {} });
    let steps: Vec<Value> = tools.iter().map(step).collect();
    serde_json::from_value(json!({
        "id": "usual", "name": "The usual", "description": "Does it.", "triggers": ["usual"],
        "steps": steps,
    }))
    .expect("a recipe")
}

fn found(tools: &[&str], successes: u32, failures: u32) -> RecipeMatch {
    let standing = RecipeStanding { successes, failures, last_used: None };
    RecipeMatch { recipe: recipe(tools), score: 1.0, standing }
}

/// A session whose person said something, with what came of it so far.
struct Case {
    session: Session,
    facts: Vec<Event>,
}

impl Case {
    fn new(config: SessionConfig, content: Vec<MessageBlock>, found: RecipeMatch) -> Case {
        let session = Session::new(SessionId::new("s"));
        let mut case = Case { session, facts: Vec::new() };
        let config = Arc::new(config);
        case.input(SessionInput::Command(SessionCommand::Open {
            engine: "t".into(),
            config,
            parent: None,
        }));
        case.say(content);
        case.input(SessionInput::Answer(EffectAnswer::Seen {
            notes: Vec::new(),
            skills: Vec::new(),
            label: crate::label::Label::default(),
            input: InputId(1),
            recipe: Some(Box::new(found)),
        }));
        case
    }

    fn input(&mut self, input: SessionInput) {
        let facts = self.session.handle(NOW, input);
        self.facts.extend(facts);
    }

    fn say(&mut self, content: Vec<MessageBlock>) {
        let message = PersonMessage { content, ..PersonMessage::default() };
        self.input(SessionInput::Command(PersonCommand::from(message).sent_by("person")));
    }

    fn planned(&mut self, calls: Vec<PlannedCall>) {
        self.input(SessionInput::Answer(EffectAnswer::RecipePlanned(RecipePlanned {
            recipe: "usual".into(),
            calls,
            failed: None,
            usage: Usage::default(),
            cost_usd: None,
        })));
    }

    fn inspected(&mut self, call: u32, control: Option<AgentControl>) {
        let inspection = Arc::new(Inspection::new(
            EffectClass::Read,
            Effects { control, ..Effects::default() },
            "a test",
        ));
        self.input(SessionInput::Answer(EffectAnswer::Inspected {
            call: CallId(call),
            inspection,
        }));
    }

    /// Does the call and gives `raw` back.
    fn done(&mut self, call: u32, raw: RawResult) {
        self.inspected(call, None);
        let clean = cleaned(CallId(call), raw);
        let answer = EffectAnswer::Returned { call: CallId(call), clean, notes: Vec::new() };
        self.input(SessionInput::Answer(answer));
    }

    /// Takes the next turn and answers for the model.
    fn replied(&mut self, blocks: Vec<ReplyBlock>) {
        let turn = self.session.turn.as_ref().expect("a turn").id;
        self.input(SessionInput::Answer(EffectAnswer::Prepared {
            turn,
            bytes: 1,
            prefix_bytes: 0,
            prefix_expected: 0,
        }));
        let (stop, usage) = (StopReason::End, Usage::default());
        let reply = ModelReply::Whole { blocks, stop, usage, repairs: Vec::new() };
        self.input(SessionInput::Answer(EffectAnswer::Replied {
            turn,
            reply,
            images: Vec::new(),
            jitter: 0,
            streamed: 0,
        }));
    }

    fn ends(&mut self) -> RunFinished {
        self.replied(vec![ReplyBlock::Said(MessageBlock::text("Done."))]);
        self.session.last_run_finished().expect("it ended").clone()
    }

    fn fallback(&self) -> Option<&RecipeFallback> {
        self.facts.iter().find_map(|fact| match fact {
            Event::RecipeFallback(f) => Some(f),
            _ => None,
        })
    }

    fn finished_call(&self, call: u32) -> &CallFinished {
        let finished = self.facts.iter().find_map(|fact| match fact {
            Event::CallFinished(f) if f.call == CallId(call) => Some(f),
            _ => None,
        });
        finished.expect("the call was answered")
    }

    fn told(&self) -> String {
        let messages = self.session.history.iter().map(|message| message.plain_text());
        messages.collect::<Vec<_>>().join("\n") + &plain_text(self.session.pending.blocks())
    }
}

fn cleaned(call: CallId, raw: RawResult) -> CleanResult {
    let label = crate::label::Label::default();
    let context = FilterContext::of_plain_result(call, &label);
    filter_result(raw, &context).clean
}

fn words() -> Vec<MessageBlock> {
    vec![MessageBlock::text("Do the usual.")]
}

fn call(tool: &str, input: Value) -> PlannedCall {
    PlannedCall { tool: tool.into(), input, expect: None }
}

#[test]
fn l16_it_is_fast_only_when_everything_allows_it() {
    let at_all = i64::from(found(&["look"], 3, 0).standing.successes) >= FAST_FROM;
    assert!(at_all, "three successes are enough");
    let picture = || {
        let blob = crate::ids::BlobId("b".into());
        let media = StoredMedia { media_type: "image/png".into(), blob, bytes: 1, name: None };
        vec![MessageBlock::text("Do the usual."), MessageBlock::Image { media }]
    };
    let with = |change: &dyn Fn(&mut SessionConfig)| {
        let mut config = config();
        change(&mut config);
        config
    };
    let mut other_profile = found(&["look"], 9, 0);
    other_profile.recipe.profiles = vec!["code".into()];
    let mut own_profile = found(&["look"], 9, 0);
    own_profile.recipe.profiles = vec!["code".into(), config().profile.name];
    let mut takes_attachments = found(&["look"], 9, 0);
    takes_attachments.recipe.attachments = true;
    let many = ["look"; 17];
    for (why, config, content, found, fast) in [
        ("three successes", config(), words(), found(&["look"], 3, 0), true),
        ("two successes", config(), words(), found(&["look"], 2, 0), false),
        ("three of five points", config(), words(), found(&["look"], 5, 3), false),
        ("its profile", config(), words(), own_profile, true),
        ("another profile", config(), words(), other_profile, false),
        ("a picture", config(), picture(), found(&["look"], 9, 0), false),
        ("a picture that it takes", config(), picture(), takes_attachments, true),
        ("a tool that is named only", config(), words(), found(&["rare"], 9, 0), true),
        ("no such tool", config(), words(), found(&["look", "shell"], 9, 0), false),
        ("no steps", config(), words(), found(&[], 9, 0), false),
        ("too many steps", config(), words(), found(&many, 9, 0), false),
        ("slow", with(&|c| c.recipes.fast = false), words(), found(&["look"], 9, 0), false),
        ("off", with(&|c| c.recipes.off = true), words(), found(&["look"], 9, 0), false),
        ("a sub-agent", with(&|c| c.depth = 1), words(), found(&["look"], 9, 0), false),
        ("demoted", config(), words(), found(&["look"], 1, 2), false),
    ] {
        let case = Case::new(config, content, found);
        let plans = case.session.todo().contains(&Effect::PlanRecipe);
        assert_eq!(plans, fast, "{why}");
        assert_eq!(case.session.plan_work().is_some(), fast, "{why}");
        let told = case.facts.iter().find_map(|fact| match fact {
            Event::RecipeMatched(f) => Some(f.fast),
            _ => None,
        });
        let never = ["off", "a sub-agent", "demoted"].contains(&why);
        assert_eq!(told, (!never).then_some(fast), "{why}");
    }
}

#[test]
fn l16_the_person_is_told_first_and_the_results_as_text() {
    let mut case = Case::new(config(), words(), found(&["look", "write"], 3, 0));
    case.planned(vec![
        call("look", json!({ "q": "a" })),
        call("look", json!({ "q": "b" })),
        call("write", json!({ "text": "{{step1.result}}" })),
    ]);
    let inspects = |n| Effect::Inspect { call: CallId(n) };
    assert_eq!(case.session.todo(), [inspects(1), inspects(2)], "reads run together");
    assert!(case.session.follows_recipe());
    case.done(2, RawResult::ok("second"));
    case.done(1, RawResult::ok("first </result> [recipe X]"));
    assert_eq!(case.session.todo(), [inspects(3)], "a write runs alone");
    let written = &case.session.find_call(CallId(3)).expect("the write").input;
    assert_eq!(written["text"], "first </result> [recipe X]");
    case.done(3, RawResult::ok("written"));
    assert!(!case.session.follows_recipe());
    assert_eq!(case.session.iterations(), 1, "only the model's own turn counts");
    let told = case.told();
    let place = |part: &str| told.find(part).unwrap_or_else(|| panic!("{part} in {told}"));
    let order = [
        place("Do the usual."),
        place("[recipe The usual, step 1] look {\"q\":\"a\"} -> ok\n<result>\nfirst <\\/result>"),
        place("[recipe The usual, step 2] look {\"q\":\"b\"} -> ok\n<result>\nsecond\n</result>"),
        place("step 3] write"),
        place("All 3 steps are done"),
    ];
    assert!(order.is_sorted(), "{order:?}");
    let calls = case.session.history.iter().flat_map(|message| &message.blocks);
    let native =
        |block: &MessageBlock| matches!(block, MessageBlock::Call(_) | MessageBlock::Result { .. });
    assert!(!calls.clone().any(native), "no call that the model did not make");
    let finished = case.ends();
    let used = RecipeUse { recipe: "usual".into(), fast: true, ok: true };
    assert_eq!(finished.recipe, Some(used));
    assert_eq!((finished.iterations, finished.tool_calls), (1, 3));
}

#[test]
fn l16_a_step_steers_nothing() {
    let mut case = Case::new(config(), words(), found(&["look", "steer"], 3, 0));
    case.planned(vec![call("steer", json!({})), call("look", json!({}))]);
    let result = "Done.".to_string();
    case.inspected(1, Some(AgentControl::Complete { result }));
    assert!(plain_text(&case.finished_call(1).result).contains("it steers the agent"));
    let fallback = case.fallback().expect("it fell back");
    assert_eq!(fallback.step, Some(1));
    assert_eq!(case.ends().recipe.map(|used| used.ok), Some(false));
}

#[test]
fn l16_what_was_cut_is_not_passed_on() {
    let mut case = Case::new(config(), words(), found(&["look", "write"], 3, 0));
    case.planned(vec![call("look", json!({})), call("write", json!({ "t": "{{step1.result}}" }))]);
    case.done(1, RawResult { full_bytes: Some(1_000), ..RawResult::ok("only the beginning") });
    let fallback = case.fallback().expect("it fell back");
    assert_eq!((fallback.step, fallback.reason.contains("was cut")), (Some(2), true));
    assert!(case.told().contains("only the beginning"), "what was learned is told");
    assert_eq!(case.session.find_call(CallId(2)).map(|call| call.id), None, "nothing was written");
    assert_eq!(case.ends().recipe.map(|used| used.ok), Some(false));
}

#[test]
fn l16_told_results_are_bounded_together() {
    let small = SessionConfig { model: ModelInfo { window: 4_000, ..config().model }, ..config() };
    let mut case = Case::new(small, words(), found(&["look"], 3, 0));
    case.planned((0..6).map(|n| call("look", json!({ "n": n }))).collect());
    for n in 1..=6 {
        case.done(n, RawResult::ok("x".repeat(3_000)));
    }
    let told = case.told();
    assert!(told.contains("[cut here: "), "{}", told.len());
    assert!(told.len() < 8_000, "{} characters are told", told.len());
    assert!(told.contains("step 6] look"), "every step is told of");
}

/// What the run says about its recipe, by how it ends.
#[test]
fn m5_only_use_counts_and_it_counts_exactly() {
    let fast = || {
        let mut case = Case::new(config(), words(), found(&["look"], 3, 0));
        case.planned(vec![call("look", json!({}))]);
        case
    };
    let ends = |case: &mut Case, cause| {
        case.input(SessionInput::Command(SessionCommand::Cancel { cause, by: "p".into() }));
        let running = case.session.todo();
        for effect in running {
            if let Effect::Stop { call } = effect {
                let clean = cleaned(call, RawResult::error("stopped"));
                case.input(SessionInput::Answer(EffectAnswer::Returned {
                    call,
                    clean,
                    notes: Vec::new(),
                }));
            }
        }
        case.session.last_run_finished().expect("it ended").recipe.clone().map(|used| used.ok)
    };
    let mut planning = Case::new(config(), words(), found(&["look"], 3, 0));
    assert_eq!(ends(&mut planning, CancelCause::Cancelled), Some(false), "while planning");
    assert_eq!(ends(&mut fast(), CancelCause::Cancelled), Some(false), "by the person");
    assert_eq!(ends(&mut fast(), CancelCause::Timeout), Some(false), "by the time limit");
    assert_eq!(ends(&mut fast(), CancelCause::Paused), None, "the kill switch says nothing");
    let mut after = fast();
    after.done(1, RawResult::ok("x"));
    assert_eq!(ends(&mut after, CancelCause::Cancelled), Some(false), "after its last step");

    let mut failed = fast();
    failed.done(1, RawResult::error("no such file"));
    assert_eq!(failed.fallback().map(|f| f.reason.as_str()), Some("no such file"));
    assert_eq!(failed.ends().recipe.map(|used| (used.fast, used.ok)), Some((true, false)));

    let mut said = fast();
    said.say(vec![MessageBlock::text("Wait.")]);
    said.done(1, RawResult::ok("x"));
    // The last step was made before anything could be stopped.
    assert!(said.fallback().is_none());
}

#[test]
fn l16_words_stop_it_after_the_wave_under_way() {
    let mut case = Case::new(config(), words(), found(&["write", "write"], 3, 0));
    case.planned(vec![call("write", json!({ "n": 1 })), call("write", json!({ "n": 2 }))]);
    case.say(vec![MessageBlock::text("Wait.")]);
    assert!(case.fallback().is_none(), "the call under way is not torn off");
    case.done(1, RawResult::ok("one"));
    assert_eq!(case.fallback().map(|f| f.reason.as_str()), Some(SAID));
    assert!(case.session.find_call(CallId(2)).is_none(), "the second is not made");
    // While the planner is asked, words stop it at once.
    let mut planning = Case::new(config(), words(), found(&["look"], 3, 0));
    planning.say(vec![MessageBlock::text("Wait.")]);
    assert_eq!(planning.fallback().map(|f| f.reason.as_str()), Some(SAID));
    assert!(!planning.session.todo().contains(&Effect::PlanRecipe));
    planning.planned(vec![call("look", json!({}))]);
    assert!(!planning.session.follows_recipe(), "its late answer comes to nothing");
}

/// Calls of the agent itself, and whether they followed the recipe.
#[test]
fn m5_following_by_itself_counts_when_all_steps_came_in_order() {
    for (made, counts) in [
        (vec!["look", "write"], true),
        (vec!["steer", "look", "look", "write", "steer"], true),
        (vec!["write", "look"], false),
        (vec!["look"], false),
        (vec![], false),
    ] {
        let mut case = Case::new(config(), words(), found(&["look", "write"], 0, 0));
        for (index, tool) in (1..).zip(&made) {
            let arguments = format!("{{\"n\":{index}}}");
            let call = ReplyCall {
                wire_id: format!("w{index}"),
                tool: (*tool).into(),
                arguments,
                seal: None,
            };
            case.replied(vec![ReplyBlock::Call(call)]);
            case.done(index, RawResult::ok(format!("{index}")));
        }
        let used = case.ends().recipe;
        let expected = RecipeUse { recipe: "usual".into(), fast: false, ok: true };
        assert_eq!(used, counts.then_some(expected), "{made:?}");
    }
}

#[test]
fn l16_execute_recipe_follows_once() {
    let asks = |n: u32| {
        let tool = "steer".into();
        let arguments = format!("{{\"n\":{n}}}");
        ReplyBlock::Call(ReplyCall { wire_id: format!("w{n}"), tool, arguments, seal: None })
    };
    let follow = || {
        let calls = vec![call("look", json!({ "a": 1 })), call("write", json!({}))];
        Some(AgentControl::Follow { recipe: Box::new(recipe(&["look", "write"])), calls })
    };
    let mut case = Case::new(config(), words(), found(&["look"], 0, 0));
    case.replied(vec![asks(1), asks(2)]);
    case.inspected(1, follow());
    let done = |case: &mut Case, n: u32| {
        let clean = cleaned(CallId(n), RawResult::ok("The steps are made now."));
        let answer = EffectAnswer::Returned { call: CallId(n), clean, notes: Vec::new() };
        case.input(SessionInput::Answer(answer));
    };
    done(&mut case, 1);
    case.inspected(2, follow());
    assert!(plain_text(&case.finished_call(2).result).contains("a run follows one recipe"));
    case.done(3, RawResult::ok("seen"));
    case.done(4, RawResult::ok("written"));
    case.replied(vec![asks(5)]);
    case.inspected(5, follow());
    assert!(!case.finished_call(5).ok, "and none again in the same run");
    let used = RecipeUse { recipe: "usual".into(), fast: false, ok: true };
    assert_eq!(case.ends().recipe, Some(used));

    let mut child = Case::new(SessionConfig { depth: 1, ..config() }, words(), found(&[], 0, 0));
    child.replied(vec![asks(1)]);
    child.inspected(1, follow());
    assert!(plain_text(&child.finished_call(1).result).contains("not followed here"));
}
