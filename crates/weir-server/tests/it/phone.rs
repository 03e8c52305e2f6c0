//! The telephone (R5): paired at the terminal, told of what waits, answering it once and exactly; the real
//! server, the real `weir phone`, and addresses that listen. What attackers try is in the hostile bench.

mod following;
mod lasting;
mod pushed;

use serde_json::{Value, json};
use sha2::Digest as _;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use weir_test_kit::{
    Browser, HttpAnswer, HttpStandIn, ServerSetup, TestDatabase, TestInstallation, TestServer,
    wait_until, wait_until_async,
};

use super::operations::over_tls_as;

const WRITES: &str = "name: test\n\n\
    calls: write_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\nsays: Written.\n";
const ONCE: [(&str, &str); 1] = [("decision", "once")];
const DENY: [(&str, &str); 1] = [("decision", "deny")];

/// A server, its admin, and an address that is told everything.
struct Setting {
    served: TestServer,
    admin: Browser,
    hook: HttpStandIn,
}

impl Setting {
    async fn start(script: &str, database: Option<String>) -> Setting {
        Setting::of(ServerSetup { script, database, ..ServerSetup::default() }).await
    }

    async fn of(setup: ServerSetup<'_>) -> Setting {
        let mut served = TestServer::start(setup).await;
        let admin = served.admin().await;
        let hook = HttpStandIn::start(|_, _| HttpAnswer::empty(200));
        let new = json!({ "way": "webhook", "url": format!("http://{}/hook", hook.address()) });
        let (status, added) = admin.api("POST", "/api/v1/notifications", Some(new)).await;
        assert_eq!(status, 201, "{added}");
        Setting { served, admin, hook }
    }

    /// The session of a terminal's run that asks.
    fn asked_at_a_terminal(&self) -> String {
        wait_until("the terminal's run asks", || {
            let listed = self.served.house.json(&["approvals", "list", "--json"]);
            let session = listed["approvals"][0]["session"].as_str().map(str::to_owned);
            session.ok_or(listed)
        })
    }

    /// A session of the server that asks.
    async fn asked_here(&self) -> String {
        let session = self.admin.open().await;
        let path = format!("/api/v1/sessions/{session}/input");
        let words = json!({ "client_id": "u1", "content": [{ "type": "text", "text": "Go." }] });
        let (status, said) = self.admin.api("POST", &path, Some(words)).await;
        assert_eq!(status, 202, "{said}");
        session
    }

    /// What was told of an approval of this session.
    async fn told_of(&self, session: &str) -> Value {
        wait_until_async(&format!("{session} is told"), async || {
            let body = |body: &str| serde_json::from_str::<Value>(body).expect("JSON");
            let all: Vec<Value> =
                self.hook.requests().iter().map(|request| body(&request.body)).collect();
            let is_it = |told: &&Value| {
                let link = told["link"].as_str().unwrap_or_default();
                told["kind"] == "approval" && link.ends_with(session)
            };
            all.iter().find(is_it).cloned().ok_or_else(|| json!(all))
        })
        .await
    }

    /// The page on which a session's question is answered.
    async fn page_of(&self, session: &str) -> String {
        let told = self.told_of(session).await;
        let page = told["answer"].as_str().unwrap_or_else(|| panic!("no answer: {told}"));
        page.to_owned()
    }

    fn is_written(&self) -> bool {
        self.served.house.work().join("a.txt").exists()
    }

    /// Who answered, as the journal has it.
    async fn answered_by(&self, session: &str) -> Value {
        let facts = self.admin.facts(session).await;
        let fact = facts.iter().find(|fact| fact["kind"] == "approval.resolved");
        fact.cloned().unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_answers_a_terminals_question_after_both_ends_were_killed() {
    let mut setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel 9").await;
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let session = setting.asked_at_a_terminal();
    let page = setting.page_of(&session).await;
    setting.served.kill_and_restart().await;
    run.kill();
    let (status, shown) = phone.get(&page).await;
    assert_eq!(status, 200, "{shown}");
    for words in ["Allow this?", "a.txt", "Allow once", "Deny"] {
        assert!(shown.contains(words), "no {words} in {shown}");
    }
    assert!(shown.contains("<details open"), "nothing that is asked is folded away: {shown}");
    let (status, waiting) = phone.api("GET", "/api/v1/approvals", None).await;
    assert_eq!((status, waiting["items"].as_array().map(Vec::len)), (200, Some(1)), "{waiting}");
    let (status, _, done) = phone.form(&page, &ONCE).await;
    assert_eq!(status, 200, "{done}");
    assert!(done.contains("Allowed once"), "{done}");
    // Nobody runs the session any more: the server takes it up.
    wait_until("the call runs", || if setting.is_written() { Ok(()) } else { Err("no file") });
    let resolved = setting.answered_by(&session).await;
    assert_eq!(resolved["by"], "admin (phone Pixel 9)", "{resolved}");
    assert_eq!(resolved["decision"], "once", "{resolved}");
    let audit = setting.served.house.ok(&["audit", "tail"]);
    assert!(audit.contains("admin (phone Pixel 9)"), "the audit names the device: {audit}");
    let (status, _, again) = phone.form(&page, &DENY).await;
    assert_eq!(status, 404, "it is used up: {again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_running_terminal_goes_on_with_the_telephones_no() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let run = setting.served.house.start(&["run", "--ask-elsewhere", "Write it"]);
    let session = setting.asked_at_a_terminal();
    let page = setting.page_of(&session).await;
    let (status, _, done) = phone.form(&page, &DENY).await;
    assert_eq!(status, 200, "{done}");
    assert!(done.contains("Denied"), "{done}");
    run.wait_for_end();
    assert!(!setting.is_written());
    assert_eq!(setting.answered_by(&session).await["decision"], "deny");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_an_answer_after_the_time_of_its_question_counts_for_nothing() {
    let config = "[limits]\napproval_timeout = \"10s\"\n";
    let setup = ServerSetup { script: WRITES, config, ..ServerSetup::default() };
    let setting = Setting::of(setup).await;
    let phone = setting.served.telephone("Pixel").await;
    let session = setting.asked_here().await;
    let page = setting.page_of(&session).await;
    let resolved = wait_until_async("nobody answers in time", async || {
        let resolved = setting.answered_by(&session).await;
        if resolved["decision"] == "expired" { Ok(resolved) } else { Err(resolved) }
    })
    .await;
    assert_eq!(resolved["by"], "the time limit", "{resolved}");
    let (status, _, refused) = phone.form(&page, &ONCE).await;
    assert_eq!(status, 404, "{refused}");
    assert!(refused.contains("Not answered here"), "{refused}");
    assert!(!setting.is_written());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_an_answer_counts_once_in_postgresql_too() {
    let Some(database) = TestDatabase::create().await else { return };
    let setting = Setting::start(WRITES, Some(database.url.clone())).await;
    let phone = setting.served.telephone("Pixel").await;
    let session = setting.asked_here().await;
    let page = setting.page_of(&session).await;
    let all = (0..8).map(|at| {
        let (phone, page) = (phone.clone(), page.clone());
        let decision = if at % 2 == 0 { DENY } else { ONCE };
        async move { phone.form(&page, &decision).await.0 }
    });
    let statuses = futures::future::join_all(all).await;
    let counted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(counted, 1, "{statuses:?}");
    let resolved = setting.answered_by(&session).await;
    assert_eq!(resolved["by"], "admin (phone Pixel)", "{resolved}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_is_not_seen_at_one_look_is_answered_on_its_page_only() {
    let long = "line\\n".repeat(120);
    let script = WRITES.replace("one\\n", &long);
    let setting = Setting::start(&script, None).await;
    setting.served.telephone("Pixel").await;
    let session = setting.asked_here().await;
    let told = setting.told_of(&session).await;
    assert!(told.get("answer").is_none(), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_without_a_telephone_a_notice_carries_no_answer() {
    let setting = Setting::start(WRITES, None).await;
    let session = setting.asked_here().await;
    let told = setting.told_of(&session).await;
    assert!(told.get("answer").is_none(), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_who_is_not_paired_sees_nothing_of_what_is_asked() {
    let setting = Setting::start(WRITES, None).await;
    setting.served.telephone("Pixel").await;
    let session = setting.asked_here().await;
    let page = setting.page_of(&session).await;
    for (caller, expected) in [(setting.served.stranger(), 401), (setting.admin.clone(), 403)] {
        let (status, shown) = caller.get(&page).await;
        assert_eq!(status, expected, "{shown}");
        assert!(!shown.contains("a.txt") && shown.contains("Not answered here"), "{shown}");
    }
    let (status, _, refused) = setting.admin.form(&page, &ONCE).await;
    assert_eq!(status, 403, "{refused}");
    let other = setting.served.stranger();
    let (status, _, refused) = other.form(&page, &ONCE).await;
    assert_eq!(status, 401, "{refused}");
    assert!(!setting.is_written());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_revoked_telephone_is_nobody_at_once() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let session = setting.asked_here().await;
    let page = setting.page_of(&session).await;
    let house = &setting.served.house;
    let listed = house.json(&["phone", "list", "--json"]);
    assert_eq!(listed[0]["name"], "Pixel", "{listed}");
    assert_eq!(listed[0]["account"], "admin", "{listed}");
    let told = house.ok(&["phone", "revoke", "Pixel"]);
    assert_eq!(told, "Revoked Pixel of admin.\n");
    let (status, _) = phone.api("GET", "/api/v1/sessions", None).await;
    assert_eq!(status, 401);
    let (status, _, refused) = phone.form(&page, &ONCE).await;
    assert_eq!(status, 401, "{refused}");
    let (status, _) = phone.get(&page).await;
    assert_eq!(status, 401);
    assert!(!setting.is_written());
    assert!(house.ok(&["phone", "list"]).contains("No telephone is paired"));
    let told = house.usage_error(&["phone", "revoke", "Pixel"]);
    assert!(told.contains("no paired telephone is called"), "{told}");
    // Its person sees it where they see their sign-ins.
    let (_, account) = setting.admin.get("/account").await;
    assert!(account.contains("phone revoked") && account.contains("phone paired"), "{account}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_is_ended_on_the_account_page_too_and_administers_nothing() {
    let setting = Setting::start(WRITES, None).await;
    let phone = setting.served.telephone("Pixel").await;
    let wish = json!({ "name": "mallory", "password": weir_test_kit::PASSWORD });
    let (status, refused) = phone.api("POST", "/api/v1/users", Some(wish)).await;
    assert_eq!(status, 403, "{refused}");
    let wish = json!({ "name": "stays", "scope": "all" });
    let (status, refused) = phone.api("POST", "/api/v1/account/tokens", Some(wish)).await;
    assert_eq!(status, 403, "{refused}");
    let (_, all) = setting.admin.api("GET", "/api/v1/account/logins", None).await;
    let all = all["items"].as_array().expect("a list");
    let found = all.iter().find(|login| login["device"] == "Pixel").expect("it is listed");
    assert_eq!(found["how"], "phone");
    let path = format!("/api/v1/account/logins/{}", found["id"].as_str().expect("an id"));
    let (status, ended) = setting.admin.api("DELETE", &path, None).await;
    assert_eq!(status, 204, "{ended}");
    let (status, _) = phone.api("GET", "/api/v1/sessions", None).await;
    assert_eq!(status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_code_pairs_one_telephone_and_the_terminal_names_it() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    served.admin().await;
    let (terminal, code) = served.pairing_code(&["--picture"]).await;
    let text = terminal.output_text();
    assert!(text.contains('█'), "a picture: {text}");
    assert!(text.contains(&format!("/phone#{code}")), "{text}");
    assert!(text.contains("Only this machine reaches this address"), "{text}");
    let looking = served.stranger();
    let (status, shown) = looking.get("/phone").await;
    assert_eq!(status, 200);
    assert!(shown.contains("only with a code from your own terminal"), "{shown}");
    let (status, _, refused) =
        looking.form("/phone", &[("code", &code), ("name", "a) by (bob")]).await;
    assert_eq!(status, 400, "a name that misleads costs no code: {refused}");
    let all = (0..6).map(|at| {
        let (stranger, code) = (served.stranger(), code.clone());
        async move {
            let name = format!("Phone {at}");
            let fields = [("code", code.as_str()), ("name", name.as_str())];
            (stranger.form("/phone", &fields).await.0, name)
        }
    });
    let all = futures::future::join_all(all).await;
    let paired: Vec<&String> =
        all.iter().filter(|(status, _)| *status == 303).map(|(_, name)| name).collect();
    assert_eq!(paired.len(), 1, "{all:?}");
    let ended = terminal.wait_for_end();
    assert_eq!(ended.status, 0);
    assert!(ended.out.contains(&format!("Paired: {} of admin", paired[0])), "{}", ended.out);
    let listed = served.house.json(&["phone", "list", "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_terminal_that_goes_away_takes_its_code_along() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    served.admin().await;
    let (terminal, code) = served.pairing_code(&[]).await;
    terminal.signal("-INT");
    assert_eq!(terminal.wait_for_end().status, 130);
    let (status, _, refused) = served.stranger().form("/phone", &[("code", &code)]).await;
    assert_eq!(status, 403, "{refused}");
    assert!(refused.contains("run `weir phone` again"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_without_an_account_the_telephone_is_the_way_in_until_there_is_a_password() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let setup_code = served.setup_code();
    let (terminal, code) = served.pairing_code(&["--account", "ann", "--name", "Pixel"]).await;
    let stranger = served.stranger();
    let fields = [
        ("code", setup_code.as_str()),
        ("name", "eve"),
        ("password", weir_test_kit::PASSWORD),
        ("again", weir_test_kit::PASSWORD),
    ];
    let (status, location, refused) = stranger.form("/setup", &fields).await;
    assert_eq!((status, location.as_str()), (303, "/signin"), "the setup is closed: {refused}");
    let phone = served.stranger();
    let (status, _, body) = phone.form("/phone", &[("code", &code)]).await;
    assert_eq!(status, 303, "{body}");
    assert_eq!(terminal.wait_for_end().status, 0);
    let (status, me) = phone.api("GET", "/api/v1/me", None).await;
    assert_eq!((status, me["name"].as_str()), (200, Some("ann")), "{me}");
    // Whoever starts the server gives the account a password later; the telephone stays.
    served.stop().await;
    let file = served.house.at("password");
    std::fs::write(&file, weir_test_kit::PASSWORD).expect("writable");
    let file = file.display().to_string();
    let args = ["serve", "--bind", "127.0.0.1:0", "--first-admin", "ann", "--password-file", &file];
    let mut once = served.house.start(&args);
    once.wait_for_error_line("created the account ann");
    once.signal("-TERM");
    once.wait_for_end();
    served.restart().await;
    served.signed_in("ann").await;
    let (status, _) = phone.api("GET", "/api/v1/me", None).await;
    assert_eq!(status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_on_the_local_network_nothing_is_served_without_tls() {
    let config = "[server]\nbind = \"127.0.0.1:0\"\n";
    let house = TestInstallation::with_scripted_model("name: test\n\nsays: Done.\n", config);
    let mut terminal = house.start(&["phone", "--lan=127.0.0.1", "--account", "ann"]);
    terminal.until("This command is the server", 1).await;
    let text = terminal.output_text();
    let page = text.split("or open ").nth(1).and_then(|rest| rest.split(' ').next());
    let page = page.expect("an address").to_owned();
    let address = page.strip_prefix("https://").and_then(|rest| rest.strip_suffix("/phone"));
    let address = address.expect("by TLS, an address of its own").to_owned();
    let chain = house.at("state/weir/phone/127-0-0-1.pem");
    let certificate = CertificateDer::from_pem_file(&chain).expect("a certificate");
    let digest = sha2::Sha256::digest(&certificate);
    let fingerprint: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    assert!(text.contains(&fingerprint.join(":")), "the fingerprint is shown: {text}");
    assert!(text.contains("browsers show no notifications"), "it says so: {text}");
    assert!(text.contains("ntfy, Telegram, Matrix or a webhook"), "and what tells: {text}");
    let answer = over_tls_as("127.0.0.1", &address, &certificate).expect("TLS comes about");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let plain = reqwest::Client::builder().no_proxy().build().expect("a client");
    assert!(plain.get(format!("http://{address}/healthz")).send().await.is_err());
    // A second terminal finds it, and does not begin another.
    let mut second = house.start(&["phone", "--name", "Pixel"]);
    second.until("five minutes.", 1).await;
    assert!(second.output_text().contains(&format!("Open {page}#")), "{}", second.output_text());
    assert!(!second.output_text().contains("This command is the server"));
    assert!(
        second.output_text().contains(&fingerprint.join(":")),
        "a second code is compared as the first was: {}",
        second.output_text()
    );
    second.signal("-INT");
    second.wait_for_end();
    terminal.signal("-INT");
    assert_eq!(terminal.wait_for_end().status, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_weir_serve_takes_over_the_local_network_with_the_same_certificate() {
    let config = "[server]\nbind = \"127.0.0.1:0\"\n";
    let house = TestInstallation::with_scripted_model("name: test\n\nsays: Done.\n", config);
    let mut terminal = house.start(&["phone", "--lan=127.0.0.1", "--account", "ann"]);
    terminal.until("This command is the server", 1).await;
    assert!(terminal.output_text().contains("weir serve --lan"), "it says what serves later");
    terminal.signal("-INT");
    terminal.wait_for_end();
    let chain = house.at("state/weir/phone/127-0-0-1.pem");
    let certificate = CertificateDer::from_pem_file(&chain).expect("a certificate");
    let digest = sha2::Sha256::digest(&certificate);
    let fingerprint: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let mut serving = house.start(&["serve", "--lan=127.0.0.1"]);
    let listening = serving.wait_for_error_line("listening on https://");
    let address = listening.rsplit("https://").next().expect("an address").trim().to_owned();
    serving.wait_for_error_line(&fingerprint.join(":"));
    let answer = over_tls_as("127.0.0.1", &address, &certificate).expect("TLS comes about");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut pairing = house.start(&["phone", "--name", "Pixel"]);
    pairing.until("five minutes.", 1).await;
    let shown = pairing.output_text();
    assert!(shown.contains(&format!("Open https://{address}/phone#")), "{shown}");
    assert!(shown.contains(&fingerprint.join(":")), "{shown}");
    pairing.signal("-INT");
    pairing.wait_for_end();
    serving.signal("-TERM");
    assert_eq!(serving.wait_for_end().status, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_without_an_account_nothing_is_served_on_the_local_network() {
    let house = TestInstallation::with_scripted_model("name: test\n\nsays: Done.\n", "");
    // An address of documentation: refused before anything listens.
    let refused = house.usage_error(&["serve", "--lan=192.0.2.7"]);
    assert!(refused.contains("there is no account with a password"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_telephone_is_told_the_next_step_until_something_tells_it() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let phone = served.telephone("Pixel").await;
    let (_, page) = phone.get("/approvals").await;
    assert!(page.contains("Next: be told when something waits."), "{page}");
    assert!(page.contains("ntfy, Telegram, Matrix or a webhook"), "{page}");
    let (_, page) = admin.get("/approvals").await;
    assert!(!page.contains("Next: be told"), "not in a browser that has the bell: {page}");
    let hook = HttpStandIn::start(|_, _| HttpAnswer::empty(200));
    let new = json!({ "way": "webhook", "url": format!("http://{}/hook", hook.address()) });
    let (status, added) = admin.api("POST", "/api/v1/notifications", Some(new)).await;
    assert_eq!(status, 201, "{added}");
    let (_, page) = phone.get("/approvals").await;
    assert!(!page.contains("Next: be told"), "{page}");
}
