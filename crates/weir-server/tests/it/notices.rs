//! What waits for a person and runs that ended, told by a channel of theirs: of sessions here and of
//! other programs, each once, and not what was answered meanwhile (R5). The real server and an address
//! that listens.

use serde_json::{Value, json};
use weir_test_kit::{
    Browser, HttpAnswer, HttpStandIn, ServerSetup, TestDatabase, TestServer, wait_until,
    wait_until_async,
};

const WRITES: &str = "name: test\n\n\
    calls: write_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\nsays: Written.\n";
const ASKS: &str = "name: test\n\n\
    calls: ask_followup_question {\"question\": \"Which colour?\", \"options\": [\"red\"]}\n\n\
    says: Red.\n";

/// A server, its admin, and a webhook of theirs that takes everything.
struct Setting {
    served: TestServer,
    admin: Browser,
    hook: HttpStandIn,
}

impl Setting {
    async fn start(script: &str, database: Option<String>) -> Setting {
        let setup = ServerSetup { script, database, ..ServerSetup::default() };
        let mut served = TestServer::start(setup).await;
        let admin = served.admin().await;
        let hook = HttpStandIn::start(|_, _| HttpAnswer::empty(200));
        let new = json!({ "way": "webhook", "url": format!("http://{}/hook", hook.address()) });
        let (status, added) = admin.api("POST", "/api/v1/notifications", Some(new)).await;
        assert_eq!(status, 201, "{added}");
        Setting { served, admin, hook }
    }

    /// What was told so far.
    fn told(&self) -> Vec<Value> {
        let body = |body: &str| serde_json::from_str(body).expect("JSON");
        self.hook.requests().iter().map(|request| body(&request.body)).collect()
    }

    /// What was told of this kind about a session.
    fn told_of(&self, kind: &str, session: &str) -> Vec<Value> {
        let mut told = self.told();
        let is_it = |told: &Value| {
            told["kind"] == kind
                && told["link"].as_str().is_some_and(|link| link.ends_with(session))
        };
        told.retain(is_it);
        told
    }

    async fn until_told(&self, kind: &str, session: &str) -> Value {
        wait_until_async(&format!("{kind} of {session} is told"), async || {
            let found = self.told_of(kind, session).into_iter().next();
            found.ok_or_else(|| json!(self.told()))
        })
        .await
    }

    async fn say(&self, session: &str) {
        let path = format!("/api/v1/sessions/{session}/input");
        let words = json!({ "client_id": "u1", "content": [{ "type": "text", "text": "Go." }] });
        let (status, said) = self.admin.api("POST", &path, Some(words)).await;
        assert_eq!(status, 202, "{said}");
    }

    async fn allow(&self, session: &str) {
        let path = format!("/api/v1/approvals/{session}.a1");
        let yes = json!({ "decision": "once" });
        let (status, settled) = self.admin.api("POST", &path, Some(yes)).await;
        assert_eq!(status, 200, "{settled}");
    }

    /// Waits until a terminal's run asks; its session.
    fn asked_at_a_terminal(&self) -> String {
        wait_until("the terminal's run asks", || {
            let listed = self.served.house.json(&["approvals", "list", "--json"]);
            let session = listed["approvals"][0]["session"].as_str().map(str::to_owned);
            session.ok_or(listed)
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_waits_and_what_ended_is_told_once_across_restarts() {
    let mut setting = Setting::start(WRITES, None).await;
    let session = setting.admin.open().await;
    setting.say(&session).await;
    let told = setting.until_told("approval", &session).await;
    assert_eq!(told["title"], "Allow write_file?", "{told}");
    assert!(told["text"].as_str().is_some_and(|text| text.contains("a.txt")), "{told}");
    let (_, notices) = setting.admin.api("GET", "/api/v1/notices", None).await;
    assert_eq!(notices[0]["kind"], "approval", "the bell has it, too: {notices}");
    setting.served.kill_and_restart().await;
    // When another is told, it was looked at what waits; the first waits still.
    let other = setting.admin.open().await;
    setting.say(&other).await;
    setting.until_told("approval", &other).await;
    setting.allow(&session).await;
    let told = setting.until_told("run_ended", &session).await;
    assert_eq!(told["title"], "A run is done", "{told}");
    setting.served.kill_and_restart().await;
    setting.allow(&other).await;
    setting.until_told("run_ended", &other).await;
    for session in [&session, &other] {
        for kind in ["approval", "run_ended"] {
            assert_eq!(setting.told_of(kind, session).len(), 1, "{kind}: {:?}", setting.told());
        }
    }
    assert!(!json!(setting.told()).to_string().contains("Written."), "nothing of what was said");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s16_a_sign_in_from_a_new_browser_is_told() {
    let setting = Setting::start(WRITES, None).await;
    setting.served.signed_in("admin").await;
    let told = wait_until_async("the sign-in is told", async || {
        let found = setting.told().into_iter().find(|told| told["kind"] == "account");
        found.ok_or_else(|| json!(setting.told()))
    })
    .await;
    assert_eq!(told["title"], "Somebody signed in to your account from a new browser", "{told}");
    assert_eq!(setting.told().len(), 1, "the first sign-in of an account is none");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_waits_is_told_from_postgresql_too() {
    let Some(database) = TestDatabase::create().await else { return };
    let mut setting = Setting::start(WRITES, Some(database.url.clone())).await;
    let session = setting.admin.open().await;
    setting.say(&session).await;
    setting.until_told("approval", &session).await;
    setting.served.kill_and_restart().await;
    setting.allow(&session).await;
    setting.until_told("run_ended", &session).await;
    assert_eq!(setting.told().len(), 2, "{:?}", setting.told());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_question_is_told() {
    let setting = Setting::start(ASKS, None).await;
    let session = setting.admin.open().await;
    setting.say(&session).await;
    let told = setting.until_told("question", &session).await;
    assert_eq!(told["text"], "Which colour?", "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_characters_that_turn_text_around_are_shown() {
    let asks = ASKS.replace("Which colour?", "Which \\u202ecolour?");
    let setting = Setting::start(&asks, None).await;
    let session = setting.admin.open().await;
    setting.say(&session).await;
    let told = setting.until_told("question", &session).await;
    assert_eq!(told["text"], "Which <U+202E>colour?", "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_run_of_another_program_on_the_same_store_is_told() {
    let setting = Setting::start(WRITES, None).await;
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let session = setting.asked_at_a_terminal();
    setting.until_told("approval", &session).await;
    setting.served.house.ok(&["approvals", "answer", &format!("{session}-a1"), "once"]);
    assert_eq!(run.wait_for_end().status, 0);
    setting.until_told("run_ended", &session).await;
    assert_eq!(setting.told().len(), 2, "{:?}", setting.told());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_came_while_no_server_ran_is_told_unless_it_was_answered() {
    let mut setting = Setting::start(WRITES, None).await;
    let address = setting.served.address().to_owned();
    setting.served.kill();
    // One that was asked and answered meanwhile, and one that still waits.
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let answered = setting.asked_at_a_terminal();
    setting.served.house.ok(&["approvals", "answer", &format!("{answered}-a1"), "once"]);
    assert_eq!(run.wait_for_end().status, 0);
    // What would change nothing is not asked.
    std::fs::remove_file(setting.served.house.work().join("a.txt")).expect("it was written");
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let waits = setting.asked_at_a_terminal();
    run.kill();
    setting.served.restart_at(&address);
    setting.until_told("approval", &waits).await;
    setting.until_told("run_ended", &answered).await;
    assert_eq!(setting.told().len(), 2, "{:?}", setting.told());
}
