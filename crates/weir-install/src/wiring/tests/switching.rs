//! What a switch of profile gives a session, and what it never changes (P7).

use weir_core::config::describe_widening;
use weir_engine::ports::ProfileSettings;
use weir_test_kit::{HttpAnswer, HttpStandIn};

use super::*;

/// A session of `profile` and what a switch to `to` would give it.
async fn switched(
    house: &House,
    wishes: &SessionOverrides,
    to: &str,
) -> (SessionConfig, Result<ProfileSettings, String>) {
    let cx = house.cx(&[]);
    let wishes =
        SessionOverrides { model: wishes.model.clone().or(Some(house.script())), ..wishes.clone() };
    let options = session_options(&cx, &wishes, None).await.expect("it can be settled");
    let switched = options.profiles.profile_settings(&options.config, to);
    (options.config, switched)
}

fn of(profile: &str) -> SessionOverrides {
    SessionOverrides { profile: Some(profile.into()), ..SessionOverrides::default() }
}

#[tokio::test]
async fn p7_a_switch_gives_what_a_fresh_session_of_that_profile_has() {
    let house = House::new();
    house.write("config/weir/config.toml", "[permissions]\ndeny = [\"Read(x)\"]\n");
    for from in ["agent", "ask", "plan", "code", "assistant"] {
        for to in ["agent", "ask", "plan", "code", "assistant"] {
            let (before, after) = switched(&house, &of(from), to).await;
            let after = after.expect("it can be used");
            let fresh = house.settled(&of(to), None).await;
            assert_eq!(after.config, fresh, "{from} to {to}");
            assert_eq!(after.config.rules, before.rules);
            assert!(after.model.is_none() && after.notes.is_empty(), "{:?}", after.notes);
        }
    }
}

/// `(profile, flag, settings, to, the mode after it)`
#[tokio::test]
async fn p7_the_mode_is_never_wider_than_flag_settings_and_session_let_it_be() {
    use PermissionMode::{Ask, AutoEdit, Full, Plan};
    for (from, flag, settings, to, expected) in [
        ("agent", None, "ask", "code", Ask),
        ("agent", None, "auto-edit", "code", AutoEdit),
        ("plan", None, "ask", "code", Ask),
        ("plan", None, "auto-edit", "code", AutoEdit),
        ("agent", None, "full", "plan", Plan),
        ("agent", Some(AutoEdit), "ask", "code", AutoEdit),
        ("agent", Some(Plan), "ask", "code", Plan),
        ("agent", Some(Plan), "full", "wide", Plan),
        ("plan", Some(Plan), "full", "agent", Plan),
        ("agent", None, "ask", "wide", Ask),
        ("agent", None, "full", "wide", Full),
        ("agent", Some(Full), "ask", "wide", Full),
        ("agent", Some(Full), "ask", "ask", Plan),
    ] {
        let house = House::new();
        house.write("config/weir/config.toml", &format!("permission = \"{settings}\"\n"));
        house.write("config/weir/profiles/wide.toml", "role = \"r\"\npermission = \"full\"\n");
        let wishes = SessionOverrides { permission: flag, ..of(from) };
        let (_, after) = switched(&house, &wishes, to).await;
        let after = after.expect("it can be used");
        assert_eq!(after.config.permission, expected, "{from} {flag:?} {settings} {to}");
        let told = after.notes.iter().any(|note| note.contains("permission full is not taken"));
        assert_eq!(told, to == "wide" && expected != Full, "{:?}", after.notes);
    }
}

#[tokio::test]
async fn p7_a_profile_brings_its_model_where_it_can_be_had() {
    let house = House::new();
    house.write("other.script", "says: other\n");
    let other = house.folder.path().join("other.script").display().to_string();
    house.write(
        "config/weir/profiles/other.toml",
        &format!("role = \"r\"\nmodel = \"script:{other}\"\n"),
    );
    house.write("config/weir/profiles/dear.toml", "role = \"r\"\nmodel = \"anthropic/x-1\"\n");
    house.write("config/weir/config.toml", &format!("model = {:?}\n", house.script()));
    let cx = house.cx(&[]);
    let options = session_options(&cx, &SessionOverrides::default(), None).await.expect("settled");
    let after =
        options.profiles.profile_settings(&options.config, "other").expect("it can be used");
    let model = after.model.expect("another model");
    assert_eq!(*model.info(), after.config.model);
    let again =
        options.profiles.profile_settings(&options.config, "other").expect("it can be used");
    assert_eq!(again.config, after.config, "asked twice, the same answer");
    let after = options.profiles.profile_settings(&options.config, "dear").expect("it can be used");
    assert!(after.model.is_none() && after.config.model == options.config.model);
    assert!(after.notes[0].contains("the model stays"), "{:?}", after.notes);
    // A flag says which model it is, whatever the profile.
    let flagged = SessionOverrides { model: Some(house.script()), ..SessionOverrides::default() };
    let (before, after) = switched(&house, &flagged, "other").await;
    let after = after.expect("it can be used");
    assert_eq!(after.config.model, before.model);
}

#[tokio::test]
async fn r6_a_profile_that_names_a_local_model_has_the_window_that_its_server_says() {
    let shown = serde_json::json!({ "parameters": "", "capabilities": ["completion", "tools"],
        "model_info": { "llama.context_length": 131_072 } });
    let server = HttpStandIn::start(move |request, _| match request.path() {
        "/api/show" => HttpAnswer::json(200, &shown),
        _ => HttpAnswer::new(404, "text/plain", "404 page not found"),
    });
    let house = House::new();
    let profile = "role = \"r\"\nmodel = \"ollama/qwen3:8b\"\n";
    house.write("config/weir/profiles/local.toml", profile);
    house.write("config/weir/config.toml", &format!("model = {:?}\n", house.script()));
    let address = server.address();
    let cx = house.cx(&[("OLLAMA_HOST", address.as_str())]);
    let options = session_options(&cx, &SessionOverrides::default(), None).await.expect("settled");
    let after = options.profiles.profile_settings(&options.config, "local").expect("usable");
    assert_eq!(after.config.model.window, 32_768, "not the careful guess");
    assert!(after.notes.is_empty(), "{:?}", after.notes);
}

#[tokio::test]
async fn p7_what_is_unknown_is_named_and_what_changed_since_does_not_count() {
    let house = House::new();
    house.write("config/weir/profiles/mine.toml", "role = \"r\"\ngroups = [\"read\"]\n");
    let cx = house.cx(&[]);
    let wishes = SessionOverrides { model: Some(house.script()), ..SessionOverrides::default() };
    let options = session_options(&cx, &wishes, None).await.expect("settled");
    let why = options
        .profiles
        .profile_settings(&options.config, "nobody")
        .err()
        .expect("none is called so");
    assert!(why.contains("nobody") && why.contains("mine") && why.contains("code"), "{why}");
    let before =
        options.profiles.profile_settings(&options.config, "mine").expect("it can be used").config;
    house.write("config/weir/profiles/mine.toml", "role = \"r\"\n");
    let after =
        options.profiles.profile_settings(&options.config, "mine").expect("it can be used").config;
    assert_eq!(after, before, "a file that is changed meanwhile changes nothing");
    assert!(describe_widening(&options.config, &before).is_empty());
    assert!(!describe_widening(&before, &options.config).is_empty());
}

#[tokio::test]
async fn r11_a_switch_keeps_the_caps_of_the_session_and_of_a_run_of_a_schedule() {
    let house = House::new();
    house.write(
        "config/weir/config.toml",
        "[spending]\nsession_usd = 1.5\nschedule_run_tokens = 700\n",
    );
    let schedule = ScheduleWish { agent: "nightly".into(), day_usd: None };
    for wishes in [of("agent"), SessionOverrides { schedule: Some(schedule), ..of("agent") }] {
        let (before, after) = switched(&house, &wishes, "code").await;
        let after = after.expect("it can be used").config;
        assert_eq!(after.limits.session_usd, Some(1.5));
        let tokens = wishes.schedule.as_ref().map(|_| 700);
        assert_eq!(after.limits.budget_tokens, tokens, "the model has no price");
        let widening = describe_widening(&before, &after);
        assert!(!widening.iter().any(|what| what.contains("money")), "{widening:?}");
    }
}
