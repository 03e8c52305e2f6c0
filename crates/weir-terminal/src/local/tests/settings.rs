//! Other settings, at once and later.

use weir_core::model::Thinking;
use weir_core::view::first_start::FirstStart;

use super::*;

const TWO: &str = "calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\n\
     calls: write_file {\"path\": \"b.txt\", \"content\": \"new\"}\n\nsays: done\n\nsays: again\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_the_mode_changes_while_a_run_is_on() {
    let house = House::new(TWO);
    let mut face = house.face().await;
    face.say("write both").await;
    let approval = face.asked().await;
    face.wish(UiCommand::Mode(PermissionMode::AutoEdit)).await;
    let (_, configured) = face.fact("session.configured").await;
    let Event::SessionConfigured(configured) = configured.as_ref() else { panic!() };
    assert_eq!(configured.config.permission, PermissionMode::AutoEdit);
    face.decide(approval, Decision::Once, None).await;
    // The second one is not asked about.
    assert_eq!(face.finished().await, RunStatus::Completed);
    assert!(house.read("work/b.txt").is_some());
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_needs_another_prompt_counts_from_the_next_run_on() {
    let house = House::new(TWO);
    let mut face = house.face().await;
    face.say("write both").await;
    let approval = face.asked().await;
    face.wish(UiCommand::Mode(PermissionMode::Plan)).await;
    assert!(face.notice(NoticeTone::Quiet).await.contains("next run"));
    face.wish(UiCommand::Thinking(Thinking::High)).await;
    assert!(face.notice(NoticeTone::Quiet).await.contains("next run"));
    face.decide(approval, Decision::Deny, None).await;
    let second = face.asked().await;
    face.decide(second, Decision::Deny, None).await;
    face.finished().await;
    let (_, configured) = face.fact("session.configured").await;
    let Event::SessionConfigured(configured) = configured.as_ref() else { panic!() };
    assert_eq!(configured.config.permission, PermissionMode::Plan);
    assert_eq!(configured.config.thinking, Thinking::High);
    assert!(!configured.config.tools.iter().any(|tool| tool.name == "write_file"));
    face.say("and now").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_before_anything_was_said_settings_are_only_told() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    let told = |news: &UiUpdate| matches!(news, UiUpdate::Settings { .. });
    face.until("settings", told).await;
    face.wish(UiCommand::Mode(PermissionMode::Full)).await;
    face.wish(UiCommand::Profile("plan".into())).await;
    face.until("settings", told).await;
    let last = face.until("settings", told).await;
    let UiUpdate::Settings { profile, permission, .. } = last else { panic!() };
    assert_eq!((profile.as_str(), permission), ("plan", PermissionMode::Full));
    face.wish(UiCommand::Profile("no such".into())).await;
    assert!(face.notice(NoticeTone::Bad).await.contains("no such"));
    face.wish(UiCommand::Model("nobody/x".into())).await;
    assert!(face.notice(NoticeTone::Bad).await.contains("nobody"));
    assert!(!house.at("state").exists());
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_the_last_choice_counts_and_what_holds_is_told() {
    let house = House::new(TWO);
    let mut face = house.face().await;
    face.say("write both").await;
    let approval = face.asked().await;
    face.wish(UiCommand::Mode(PermissionMode::Plan)).await;
    let told = |news: &UiUpdate| matches!(news, UiUpdate::Settings { .. });
    let UiUpdate::Settings { permission, .. } = face.until("what holds", told).await else {
        panic!()
    };
    assert_eq!(permission, PermissionMode::Ask, "`plan` waits");
    face.wish(UiCommand::Thinking(Thinking::Low)).await;
    face.until("what holds", told).await;
    face.wish(UiCommand::Mode(PermissionMode::AutoEdit)).await;
    face.fact("session.configured").await;
    face.decide(approval, Decision::Deny, None).await;
    face.finished().await;
    // What waited is changed now, and `plan` does not wait any more.
    let (_, configured) = face.fact("session.configured").await;
    let Event::SessionConfigured(configured) = configured.as_ref() else { panic!() };
    assert_eq!(configured.config.permission, PermissionMode::AutoEdit);
    assert_eq!(configured.config.thinking, Thinking::Low);
    face.wish(UiCommand::Profile("no such".into())).await;
    assert!(face.notice(NoticeTone::Bad).await.contains("no such"));
    let UiUpdate::Settings { thinking, .. } = face.until("what holds", told).await else {
        panic!()
    };
    assert_eq!(thinking, Thinking::Low);
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_another_has_is_handed_to_it_before_anything_is_made_ready() {
    let house = House::new("pace: 50ms\nrepeat: 40\nsays: word \n\nsays: again\n");
    let mut first = house.face().await;
    first.say("count").await;
    first.fact("run.started").await;
    // No session can be made ready with this model: nobody tries.
    let flags = SessionOverrides { model: Some("script:/nowhere".into()), ..house.flags() };
    let mut second = house.opened(SessionTarget::Existing(first.id()), flags).await;
    second.say("and this").await;
    let handed = |news: &UiUpdate| matches!(news, UiUpdate::Notice { text, .. } if text.contains("handed to"));
    second.until("that it is handed over", handed).await;
    first.finished().await;
    second.leave().await;
    first.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u13_a_first_start_says_its_mode_until_something_was_said_or_chosen() {
    async fn first_start(house: &House, flags: SessionOverrides) -> Option<FirstStart> {
        let (mut link, far) = ui_channel_pair();
        let picks = FirstSessionPicker::Nothing;
        let told_from = FirstTold::FirstFact;
        let begin = FirstSession { which: SessionTarget::New, flags, picks, name: None, told_from };
        let cx = house.cx();
        let served = tokio::spawn(async move {
            let (_printer, mut remarks) = mpsc::channel(1);
            serve_link(cx, begin, &mut remarks, far).await;
        });
        let found = loop {
            let news = link.news.recv().await.expect("it is opened");
            if let UiUpdate::Opened { about, .. } = news {
                break about.first_start;
            }
        };
        drop(link);
        served.await.expect("it ends");
        found
    }
    let house = House::new("says: hello\n");
    let first = first_start(&house, house.flags()).await.expect("nothing was said here");
    assert_eq!(first.mode, PermissionMode::Ask);
    let asked = SessionOverrides { permission: Some(PermissionMode::Ask), ..house.flags() };
    assert_eq!(first_start(&house, asked).await, None, "a flag says it");
    house.write("config/weir/config.toml", "[sandbox]\ntier = \"none\"\n");
    let first = first_start(&house, house.flags()).await.expect("nothing was said here");
    assert!(!first.offers_auto_edit, "nothing would confine what passes");
    house.write("config/weir/config.toml", "permission = \"ask\"\n");
    assert_eq!(first_start(&house, house.flags()).await, None, "settings say it");
    house.write("config/weir/config.toml", "");
    let mut face = house.face().await;
    face.say("hello").await;
    face.finished().await;
    face.leave().await;
    assert_eq!(first_start(&house, house.flags()).await, None, "it is not the first");
}
