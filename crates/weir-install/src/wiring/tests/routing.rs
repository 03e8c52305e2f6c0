//! Which other models a session may speak with: by settings, and never against a person's own choice (V8).

use weir_core::model::{FailureClass, ModelReply};
use weir_core::routing::ModelRouting;
use weir_engine::ports::SignalSink;

use super::*;

const SETTINGS: &str = "[routing]\nfallback = [\"ollama/second\"]\n\
     [[routing.rules]]\nmodel = \"ollama/small\"\ninput_below = 100\n";

async fn routing(
    house: &House,
    wishes: SessionOverrides,
    kept: Option<&SessionConfig>,
) -> ModelRouting {
    let cx = house.cx(&[]);
    session_options(&cx, &wishes, kept).await.expect("it can be settled").config.routing
}

fn named(house: &House) -> SessionOverrides {
    SessionOverrides { model: Some(house.script()), ..SessionOverrides::default() }
}

#[tokio::test]
async fn v8_a_rule_counts_only_where_nobody_named_the_model() {
    let house = House::new();
    house.write("config/weir/config.toml", &format!("model = {:?}\n{SETTINGS}", house.script()));
    let plain = SessionOverrides::default();
    let free = routing(&house, plain.clone(), None).await;
    assert_eq!(free.home.as_deref(), Some(house.script().as_str()));
    assert_eq!((free.fallback.len(), free.rules.len(), &free.away), (1, 1, &None));
    let chosen = routing(&house, named(&house), None).await;
    assert_eq!((chosen.fallback.len(), chosen.rules.len()), (1, 0), "a flag is a choice");
    let profile = format!("role = \"r\"\nmodel = {:?}\n", house.script());
    house.write("config/weir/profiles/own.toml", &profile);
    let own = SessionOverrides { profile: Some("own".into()), ..plain.clone() };
    assert!(routing(&house, own, None).await.rules.is_empty(), "a profile is one too");
    // What a session began with stays: who chose its model is not asked again.
    let cx = house.cx(&[]);
    for (wishes, rules) in [(plain.clone(), 1), (named(&house), 0)] {
        let kept = session_options(&cx, &wishes, None).await.expect("settled").config;
        let again = routing(&house, plain.clone(), Some(&kept)).await;
        assert_eq!(again.rules.len(), rules);
        assert_eq!(again, kept.routing);
    }
}

#[tokio::test]
async fn v8_a_session_that_is_taken_up_speaks_with_the_model_that_it_had_reached() {
    let house = House::new();
    house.write("other.script", "name: other\n\nsays: other\n");
    let other = format!("script:{}", house.folder.path().join("other.script").display());
    let text = format!("model = {:?}\n[routing]\nfallback = [{other:?}]\n", house.script());
    house.write("config/weir/config.toml", &text);
    let cx = house.cx(&[]);
    let plain = SessionOverrides::default();
    let first = session_options(&cx, &plain, None).await.expect("settled");
    let to = first.profiles.model_settings(&first.config, &other).await.expect("it is there");
    let model = to.model.expect("a model");
    assert_eq!((model.info().model.name.as_str(), &to.config.model), ("other", &*model.info()));
    let kept = SessionConfig {
        routing: ModelRouting { away: Some(other.clone()), ..to.config.routing.clone() },
        ..to.config
    };
    let again = session_options(&cx, &plain, Some(&kept)).await.expect("settled");
    assert_eq!(again.model.info().model.name, "other");
    assert_eq!(again.config, kept, "nothing of it is new");
    // Who names a model has that one.
    let named = session_options(&cx, &named(&house), Some(&kept)).await.expect("settled").config;
    assert_eq!((named.routing.away.as_deref(), named.model.model.name.as_str()), (None, "hello"));
    // It cannot be had any more: that is said when it is asked for.
    let why = first.profiles.model_settings(&first.config, "anthropic/x-1").await;
    assert!(why.err().expect("there is no key").contains("there is no key for anthropic"));
}

#[tokio::test]
async fn v8_a_session_opens_though_the_model_that_stood_in_is_gone() {
    let house = House::new();
    house.write("other.script", "name: other\n\nsays: other\n");
    let file = house.folder.path().join("other.script");
    let other = format!("script:{}", file.display());
    let text = format!("model = {:?}\n[routing]\nfallback = [{other:?}]\n", house.script());
    house.write("config/weir/config.toml", &text);
    let cx = house.cx(&[]);
    let plain = SessionOverrides::default();
    let first = session_options(&cx, &plain, None).await.expect("settled");
    let to = first.profiles.model_settings(&first.config, &other).await.expect("it is there");
    let home = first.config.routing.home.clone().expect("it is named");
    let kept = SessionConfig {
        routing: ModelRouting { away: Some(other.clone()), ..first.config.routing.clone() },
        ..to.config
    };
    std::fs::remove_file(&file).expect("it was there");
    let again = session_options(&cx, &plain, Some(&kept)).await.expect("it opens");
    assert_eq!(again.config, kept, "the next run leads home, not the opening");
    assert_eq!(*again.model.info(), kept.model);
    // A run that is under way passes on, as from any model that is not there.
    let reply = again.model.start_conversation().send(&SignalSink::none()).await;
    let ModelReply::Failed { class, message, .. } = reply else { panic!("{reply:?}") };
    assert_eq!(class, FailureClass::NotFound);
    assert!(message.contains(&format!("{other} stood in for {home}")), "{message}");
    let back = again.profiles.model_settings(&again.config, &home).await.expect("it is there");
    assert_eq!(back.config.model, first.config.model);
    // Where nobody knows which model is its own, it is said what is missing.
    let lost = SessionConfig {
        routing: ModelRouting { away: Some(other.clone()), ..ModelRouting::default() },
        ..kept
    };
    assert!(session_options(&cx, &plain, Some(&lost)).await.is_err());
}

#[tokio::test]
async fn v8_a_name_that_means_no_model_is_said_at_once_and_a_folder_names_none() {
    let house = House::new();
    house.write("config/weir/config.toml", "[routing]\nfallback = [\"nobody/x\"]\n");
    let cx = house.cx(&[]);
    let refused = session_options(&cx, &named(&house), None).await.err().expect("it is no model");
    let words = refused.to_string();
    assert!(words.contains("routing.fallback") && words.contains("nobody"), "{words}");
    let house = House::new();
    house.write("work/.weir/config.toml", SETTINGS);
    let none = routing(&house, named(&house), None).await;
    assert_eq!(none, ModelRouting::default(), "a workspace that is not trusted names none");
}

#[tokio::test]
async fn v8_the_rule_of_the_page_holds_for_a_short_question_in_every_profile() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fallback.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let line = page.lines().find_map(|line| line.strip_prefix("input_below = "));
    let bound: u64 = line.expect("the example has a bound").parse().expect("a number");
    let house = House::new();
    for profile in ["agent", "ask", "plan", "code", "assistant"] {
        let of = SessionOverrides { profile: Some(profile.into()), ..named(&house) };
        let stands = house.settled(&of, None).await.standing_tokens();
        assert!(stands * 5 / 4 < bound, "{profile}: {stands} of {bound} tokens stand already");
    }
}

#[tokio::test]
async fn r11_a_model_that_a_run_of_a_schedule_goes_on_with_is_bounded_as_if_it_began_with_it() {
    let house = House::new();
    house.write("dear.script", "name: dear\nprice: input=1 output=1\n\nsays: dear\n");
    let dear = format!("script:{}", house.folder.path().join("dear.script").display());
    let caps = "[spending]\nschedule_run_usd = 0.5\nschedule_run_tokens = 700\n";
    house.write("config/weir/config.toml", caps);
    let cx = house.cx(&[]);
    let schedule = ScheduleWish { agent: "nightly".into(), day_usd: None };
    let (usd, tokens) = (Some(0.5), Some(700));
    for (begins, goes_on, by_schedule, first, then) in [
        (house.script(), dear.clone(), true, (None, tokens), (usd, tokens)),
        (dear.clone(), house.script(), true, (usd, None), (usd, tokens)),
        (dear.clone(), house.script(), false, (None, None), (None, None)),
    ] {
        let schedule = by_schedule.then(|| schedule.clone());
        let wishes =
            SessionOverrides { model: Some(begins), schedule, ..SessionOverrides::default() };
        let options = session_options(&cx, &wishes, None).await.expect("settled");
        let bounds = |limits: &Limits| (limits.budget_usd, limits.budget_tokens);
        assert_eq!(bounds(&options.config.limits), first, "{goes_on} {by_schedule}");
        let to = options.profiles.model_settings(&options.config, &goes_on).await;
        let to = to.expect("it is there").config;
        assert_eq!(bounds(&to.limits), then, "{goes_on} {by_schedule}");
    }
}
