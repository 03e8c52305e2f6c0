//! Settings made in the browser, prompt files, allow-lists, the security layers, usage and audit.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _};
use weir_test_kit::{Browser, ServerSetup, TestDatabase, TestServer};

/// A model that answers often enough.
const TALKS: &str = "name: test\n\nsays: One.\n\nsays: Two.\n\nsays: Three.\n\nsays: Four.\n";

async fn change(browser: &Browser, body: Value) -> (u16, Value) {
    browser.api("PATCH", "/api/v1/settings", Some(body)).await
}

async fn setting(browser: &Browser, key: &str) -> Value {
    let (status, sheet) = browser.api("GET", "/api/v1/settings", None).await;
    assert_eq!(status, 200, "{sheet}");
    let items = sheet["items"].as_array().expect("settings");
    items.iter().find(|item| item["key"] == key).cloned().unwrap_or(Value::Null)
}

/// Begins a chat in which nothing was said yet.
async fn begin(browser: &Browser) -> String {
    let (status, made) = browser.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    made["id"].as_str().expect("an id").to_owned()
}

/// Says something and waits until the run has ended; all facts of the journal then.
async fn say(browser: &Browser, id: &str, text: &str) -> Vec<Value> {
    let before = runs(&browser.facts(id).await);
    let body = json!({ "content": [{ "type": "text", "text": text }] });
    let path = format!("/api/v1/sessions/{id}/input");
    let (status, said) = browser.api("POST", &path, Some(body)).await;
    assert_eq!(status, 202, "{said}");
    for _ in 0..2_400 {
        let facts = browser.facts(id).await;
        if runs(&facts) > before {
            return facts;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the run does not end");
}

fn runs(facts: &[Value]) -> usize {
    facts.iter().filter(|fact| fact["kind"] == "run.finished").count()
}

#[tokio::test]
async fn s5_what_is_set_on_the_page_counts_in_the_next_run_and_says_who_set_it() {
    let config = "[limits]\nmax_iterations = 20\n";
    let mut served =
        TestServer::start(ServerSetup { script: TALKS, config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;

    let before = setting(&admin, "limits.max_iterations").await;
    assert_eq!(before["value"], 20);
    assert!(before["origin"].as_str().expect("text").ends_with("config.toml:3"), "{before}");

    let id = begin(&admin).await;
    let first = say(&admin, &id, "Hello").await;
    assert!(configured(&first).contains("\"max_iterations\":20"));

    // For everybody, then for oneself; the session goes on in between, opened still.
    let house = json!({ "for_all": true, "values": { "limits.max_iterations": 9 } });
    let (status, sheet) = change(&admin, house).await;
    assert_eq!((status, &sheet["house_version"]), (200, &json!(1)), "{sheet}");
    let held = setting(&admin, "limits.max_iterations").await;
    assert_eq!(held["value"], 9);
    assert_eq!(held["origin"], "set in the browser for everybody by admin");
    let second = say(&admin, &id, "Again").await;
    assert!(configured(&second).contains("\"max_iterations\":9"));

    let own = json!({ "version": 0, "values": { "limits.max_iterations": 5 } });
    let (status, _) = change(&admin, own.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(
        setting(&admin, "limits.max_iterations").await["origin"],
        "set in the browser by admin"
    );
    // The same change sent again is done already; another one from the same version is too late.
    assert_eq!(change(&admin, own).await.0, 200);
    let late = json!({ "version": 0, "values": { "limits.max_iterations": 6 } });
    let (status, problem) = change(&admin, late).await;
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")), "{problem}");
    let third = say(&admin, &id, "And again").await;
    assert!(configured(&third).contains("\"max_iterations\":5"));

    // Taken away, the one below holds.
    let back = json!({ "values": { "limits.max_iterations": null } });
    assert_eq!(change(&admin, back).await.0, 200);
    assert_eq!(setting(&admin, "limits.max_iterations").await["value"], 9);
}

#[tokio::test]
async fn q19_sessions_that_share_settings_are_opened_with_what_files_and_trust_say_by_then() {
    let config = "[limits]\nmax_iterations = 20\n";
    let mut served =
        TestServer::start(ServerSetup { script: TALKS, config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let house = &served.house;
    let opened = async || configured(&admin.facts(&begin(&admin).await).await);
    for _ in 0..2 {
        assert!(opened().await.contains("\"max_iterations\":20"));
    }
    // As long as before, and as old.
    let path = house.user_config();
    let text = house.read(&path).expect("it is there");
    let old = std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
    house.write(&path, &text.replace("max_iterations = 20", "max_iterations = 21"));
    let file = std::fs::File::options().write(true).open(&path).expect("it is there");
    file.set_modified(old).expect("set back");
    assert!(opened().await.contains("\"max_iterations\":21"));

    let rule = "Web(q19.example.org)";
    let rules = format!("[permissions]\nallow = [\"{rule}\"]\n");
    house.write(&house.project_config(), &rules);
    assert!(!opened().await.contains(rule), "nobody trusts it");
    house.ok(&["trust", "--yes"]);
    assert!(opened().await.contains(rule));
    // Trust ends with another governed file, though that of the settings is as it was.
    house.write(&house.at("work/.mcp.json"), "{}");
    assert!(!opened().await.contains(rule));
}

/// The last settings that a journal has.
fn configured(facts: &[Value]) -> String {
    let mut has = facts.iter().filter(|fact| fact["config"].is_object());
    let last = has.next_back().expect("settings stand in the journal");
    last["config"].to_string()
}

#[tokio::test]
async fn s5_a_person_sets_only_what_is_theirs() {
    let config = "[limits]\nmax_iterations = 10\n[security]\ncanary = true\n";
    let mut served = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    let refused = [
        ("providers.acme.base_url", json!("http://127.0.0.1:1/v1")),
        ("sandbox.tier", json!("none")),
        ("hooks.Stop", json!([])),
        ("commands.x.run", json!("id")),
        ("secrets.x.env", json!("HOME")),
        ("security.canary", json!(false)),
        ("security.confirmation", json!(false)),
        ("server.bind", json!("0.0.0.0:1")),
        ("helpers.judge", json!("acme/x")),
        ("permissions.allow", json!(["Shell(*)"])),
        ("web.allow_hosts", json!(["*"])),
        ("limits.max_iterations", json!(11)),
        ("limits.max_iterations", json!("many")),
        ("limits.nothing", json!(1)),
        ("model", json!("script:/etc/passwd")),
        ("prompt.timezone", json!("Mars/Base")),
    ];
    for (key, value) in refused {
        let (status, problem) = change(&ann, json!({ "values": { key: value } })).await;
        assert_eq!(status, 400, "{key}: {problem}");
        assert!(problem["detail"].as_str().expect("why").contains(key), "{key}: {problem}");
    }
    let (status, _) =
        change(&ann, json!({ "for_all": true, "values": { "profile": "ask" } })).await;
    assert_eq!(status, 403);
    // All or nothing: one that is wrong keeps the others out.
    let both = json!({ "values": { "limits.max_iterations": 4, "sandbox.tier": "none" } });
    assert_eq!(change(&ann, both).await.0, 400);
    assert_eq!(setting(&ann, "limits.max_iterations").await["value"], 10);
    // What is theirs: and nobody else's.
    let own =
        json!({ "values": { "limits.max_iterations": 4, "prompt.timezone": "Europe/Zurich" } });
    assert_eq!(change(&ann, own).await.0, 200);
    assert_eq!(setting(&ann, "limits.max_iterations").await["value"], 4);
    assert_eq!(setting(&admin, "limits.max_iterations").await["value"], 10);
    // An admin lowers the bound: what is wider than it no longer counts, and it is said.
    let lower = json!({ "for_all": true, "values": { "limits.max_iterations": 3 } });
    assert_eq!(change(&admin, lower).await.0, 200);
    assert_eq!(setting(&ann, "limits.max_iterations").await["value"], 3);
    let (_, sheet) = ann.api("GET", "/api/v1/settings", None).await;
    assert!(sheet["notes"].to_string().contains("wider than the installation allows"), "{sheet}");
    // How the installation is wired is not told to everybody.
    assert_eq!(setting(&ann, "server.bind").await, Value::Null);
    assert_eq!(setting(&admin, "server.bind").await["value"], "127.0.0.1:7717");
}

#[tokio::test]
async fn s5_settings_work_by_plain_forms_and_survive_a_restart() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    for section in ["general", "prompt", "memory", "limits", "context", "lists", "server"] {
        let (status, page) = admin.get(&format!("/settings?section={section}")).await;
        assert_eq!(status, 200, "{section}: {page}");
        assert!(page.contains("<h1>Settings</h1>"), "{section}");
    }
    let fields =
        [("section", "limits"), ("for", ""), ("version", "0"), ("v:limits.budget_usd", "0.5")];
    let (status, location, body) = admin.form("/settings", &fields).await;
    assert_eq!((status, location.as_str()), (303, "/settings?section=limits&saved=1"), "{body}");
    let wrong = [("section", "limits"), ("version", "1"), ("v:limits.max_iterations", "0")];
    let (status, _, body) = admin.form("/settings", &wrong).await;
    assert_eq!(status, 400);
    assert!(body.contains("no run could begin") && body.contains("value=\"0\""), "{body}");
    let (_, found) = admin.get("/settings?q=budget").await;
    assert!(found.contains("section=limits#s-limits-budget-usd"), "{found}");

    served.kill_and_restart().await;
    let kept = setting(&admin, "limits.budget_usd").await;
    assert_eq!(
        (&kept["value"], &kept["origin"]),
        (&json!(0.5), &json!("set in the browser by admin"))
    );
}

#[tokio::test]
async fn s5_prompt_files_have_versions_and_the_disk_is_the_truth() {
    let mut served =
        TestServer::start(ServerSetup { script: TALKS, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let soul = "/api/v1/settings/prompts/soul";
    let save = |text: &str, version: u64| {
        let body = json!({ "text": text, "version": version });
        let admin = admin.clone();
        async move { admin.api("PUT", soul, Some(body)).await }
    };
    assert_eq!(save("You are Kestrel.\n", 0).await.0, 200);
    assert_eq!(save("You are Heron.\n", 1).await.0, 200);
    let (status, problem) = save("You are late.\n", 1).await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(save(&"x".repeat(6_001), 2).await.0, 400);

    let path = served.house.user_config().with_file_name("SOUL.md");
    assert_eq!(std::fs::read_to_string(&path).expect("it is on disk"), "You are Heron.\n");
    // Another program changes the file: a version of its own.
    std::fs::write(&path, "You are Crane.\n").expect("it can be written");
    let (_, text) = admin.api("GET", soul, None).await;
    assert_eq!(
        (&text["text"], &text["versions"][0]["by"]),
        (&json!("You are Crane.\n"), &json!("outside"))
    );
    assert_eq!(text["versions"].as_array().expect("versions").len(), 3);

    // A running chat keeps its prompt; a new one has the new text.
    let id = begin(&admin).await;
    say(&admin, &id, "Hello").await;
    let (status, location, _) =
        admin.form("/settings/prompts/soul/restore", &[("version", "1")]).await;
    assert_eq!((status, location.as_str()), (303, "/settings/prompts/soul?saved=1"));
    let old = configured(&say(&admin, &id, "Who are you?").await);
    assert!(old.contains("Crane") && !old.contains("Kestrel"), "{old}");
    let fresh = begin(&admin).await;
    let new = configured(&say(&admin, &fresh, "Hello").await);
    assert!(new.contains("Kestrel") && !new.contains("Crane"), "{new}");

    let (status, page) = admin.get("/settings/prompts/soul?from=2&to=3").await;
    assert_eq!(status, 200);
    assert!(page.contains("Heron") && page.contains("Crane") && page.contains("Restore"), "{page}");
    let (_, preview) = admin.api("GET", "/api/v1/settings/preview", None).await;
    assert!(preview.to_string().contains("You are Kestrel."), "{preview}");

    // Somebody else has files of their own.
    let ann = served.person("ann").await;
    let (_, hers) = ann.api("GET", soul, None).await;
    assert_eq!((&hers["text"], &hers["versions"]), (&json!(""), &json!([])));
    let body = json!({ "text": "Call me Ann.", "version": 0 });
    let personality = "/api/v1/settings/prompts/personality";
    assert_eq!(ann.api("PUT", personality, Some(body)).await.0, 200);
    assert_eq!(setting(&ann, "prompt.instructions").await["own"], "Call me Ann.");
    assert_eq!(setting(&admin, "prompt.instructions").await["value"], "");
    let (_, hers) = ann.api("GET", "/api/v1/settings/preview", None).await;
    let text = hers.to_string();
    assert!(text.contains("Call me Ann.") && !text.contains("Kestrel"), "{text}");
}

#[tokio::test]
async fn s9_lists_are_changed_on_the_page_by_whom_they_belong_to() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let (admin, ann, bob) =
        (served.admin().await, served.person("ann").await, served.person("bob").await);
    let hosts = "/api/v1/settings/lists/hosts";
    let put = |who: &Browser, value: &str, for_all: bool| {
        let (who, body) = (who.clone(), json!({ "value": value, "for_all": for_all }));
        async move { who.api("PUT", hosts, Some(body)).await }
    };
    assert_eq!(put(&ann, "Docs.RS", false).await.0, 200);
    assert_eq!(put(&ann, "docs.rs", false).await.1.as_array().expect("a list").len(), 1);
    assert_eq!(put(&admin, "example.org", true).await.0, 200);
    assert_eq!(put(&ann, "evil.example", true).await.0, 400);
    assert_eq!(put(&ann, "https://x.example/a", false).await.0, 400);
    let names = |list: &Value| -> Vec<String> {
        let items = list.as_array().expect("a list").iter();
        items.map(|item| item["value"].as_str().expect("text").to_owned()).collect()
    };
    assert_eq!(names(&ann.api("GET", hosts, None).await.1), ["example.org", "docs.rs"]);
    assert_eq!(names(&bob.api("GET", hosts, None).await.1), ["example.org"]);
    let remove = format!("{hosts}?value=example.org&for_all=true");
    assert_eq!(ann.api("DELETE", &remove, None).await.0, 400);
    let (status, _, _) = admin
        .form("/settings/lists/hosts/remove", &[("value", "example.org"), ("for_all", "true")])
        .await;
    assert_eq!(status, 303);
    assert_eq!(names(&bob.api("GET", hosts, None).await.1), Vec::<String>::new());
    let recipients = "/api/v1/settings/lists/recipients";
    let body = json!({ "value": "Bob@Example.org" });
    assert_eq!(names(&ann.api("PUT", recipients, Some(body)).await.1), ["bob@example.org"]);
    // Who widened what is on record.
    let (_, events) = admin.api("GET", "/api/v1/audit/accounts", None).await;
    let text = events.to_string();
    assert!(
        text.contains("host example.org for everybody") && text.contains("host docs.rs"),
        "{text}"
    );
}

/// A model that writes a file, and says when it is done.
const WRITES: &str = "name: test\n\ncalls: write_file {\"path\": \"a.txt\", \"content\": \"x\"}\n\n\
                      says: Done.\n\ncalls: write_file {\"path\": \"b.txt\", \"content\": \"x\"}\n\n\
                      says: Done.\n";

#[tokio::test]
async fn s6_an_admin_switches_confirmation_off_and_deny_rules_hold() {
    let config = "[permissions]\ndeny = [\"Edit(b.txt)\"]\n";
    let mut served =
        TestServer::start(ServerSetup { script: WRITES, config, ..ServerSetup::default() }).await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    assert_eq!(ann.get("/settings/security").await.0, 403);
    let off = [("version", "0"), ("v:security.confirmation", "false")];
    assert_eq!(ann.form("/settings/security", &off).await.0, 403);
    let (status, page) = admin.get("/settings/security").await;
    assert_eq!(status, 200, "{page}");
    let order = ["Confirmation", "Canary word", "Output validation", "Screening of results"];
    let places: Vec<usize> = order.iter().map(|word| page.find(word).expect(word)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("cannot be turned off here"));

    assert_eq!(admin.form("/settings/security", &off).await.0, 303);
    let id = begin(&admin).await;
    let passed = judged(&say(&admin, &id, "Write a.txt").await);
    assert_eq!(passed.last().map(String::as_str), Some("allow"));
    let denied = judged(&say(&admin, &id, "Write b.txt").await);
    assert_eq!(denied.last().map(String::as_str), Some("deny"), "a rule beats the switch");
    let (_, events) = admin.api("GET", "/api/v1/audit/accounts", None).await;
    assert!(events.to_string().contains("security.confirmation = false"), "{events}");
}

fn judged(facts: &[Value]) -> Vec<String> {
    let judged = facts.iter().filter(|fact| fact["kind"] == "call.judged");
    judged.map(|fact| fact["verdict"].as_str().expect("a verdict").to_owned()).collect()
}

#[tokio::test]
async fn s6_a_canary_that_leaves_rings_the_bell() {
    let mut served = TestServer::start(ServerSetup {
        script: TALKS,
        config: "[security]\ncanary = true\n",
        ..ServerSetup::default()
    })
    .await;
    let admin = served.admin().await;
    let id = begin(&admin).await;
    let config = configured(&say(&admin, &id, "Hello").await);
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let word = config["guards"]["canary"].as_str().expect("a word").to_owned();
    let day = config["guards"]["canary_day"].as_str().expect("a day");
    assert_eq!(day.len(), "2026-01-02".len(), "{config}");

    // A script goes on where the history is: its first reply was given above.
    let leak = format!(
        "name: test\n\nsays: One.\n\ncalls: write_file {{\"path\": \"a.txt\", \"content\": \
         \"{word}\"}}\n\nsays: Done.\n"
    );
    served.house.write(&served.house.at("test.script"), &leak);
    served.kill_and_restart().await;
    let facts = say(&admin, &id, "Write it down").await;
    assert_eq!(judged(&facts).last().map(String::as_str), Some("deny"));
    for _ in 0..1_200 {
        let (_, notices) = admin.api("GET", "/api/v1/notices", None).await;
        if let Some(notice) = notices.as_array().and_then(|all| all.first()) {
            assert_eq!((&notice["kind"], &notice["seen"]), (&json!("alert"), &json!(false)));
            assert!(!notices.to_string().contains(&word), "an alert does not tell the word");
            assert!(admin.get("/notifications").await.1.contains("Alert: canary"));
            assert_eq!(admin.form("/notifications/seen", &[]).await.0, 303);
            let (_, seen) = admin.api("GET", "/api/v1/notices", None).await;
            assert_eq!(seen[0]["seen"], true);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody was told");
}

#[tokio::test]
async fn s10_usage_is_the_sum_of_the_journals() {
    let mut served =
        TestServer::start(ServerSetup { script: TALKS, ..ServerSetup::default() }).await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    let mut expected = [0_u64; 2];
    for who in [&admin, &ann] {
        let id = begin(who).await;
        for fact in say(who, &id, "Hello").await {
            if fact["kind"] == "model.replied" {
                expected[0] += fact["usage"]["input"].as_u64().unwrap_or_default();
                expected[1] += fact["usage"]["output"].as_u64().unwrap_or_default();
            }
        }
    }
    assert!(expected[1] > 0, "the scripted model counts its words");
    let (status, all) = admin.api("GET", "/api/v1/usage?everybody=true", None).await;
    assert_eq!(status, 200, "{all}");
    assert_eq!(all["total"]["input"], expected[0]);
    assert_eq!(all["total"]["output"], expected[1]);
    assert_eq!(all["total"]["runs"], 2);
    let (_, own) = ann.api("GET", "/api/v1/usage", None).await;
    assert_eq!(own["total"]["runs"], 1);
    assert!(!own.to_string().contains("\"person\":\"admin\""), "{own}");
    assert_eq!(ann.api("GET", "/api/v1/usage?everybody=true", None).await.0, 403);
    assert_eq!(ann.api("GET", "/api/v1/usage?from=yesterday", None).await.0, 400);
    let (status, page) = admin.get("/usage?everybody=true").await;
    assert_eq!(status, 200);
    assert!(
        page.contains("<svg") && page.contains("By person") && page.contains("<caption>"),
        "{page}"
    );
    let (status, csv) = admin.get("/api/v1/usage/export?everybody=true").await;
    assert_eq!((status, csv.lines().count()), (200, 3), "{csv}");
}

#[tokio::test]
async fn s10_audit_is_filtered_verified_and_finds_a_changed_line() {
    let script = "name: test\n\ncalls: read_file {\"path\": \"note.txt\"}\n\nsays: Done.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    served.house.write(&served.house.work().join("note.txt"), "A note.\n");
    let id = begin(&admin).await;
    say(&admin, &id, "Read it").await;
    let (status, part) =
        admin.api("GET", "/api/v1/audit?kind=call.judged&tool=read_file", None).await;
    assert_eq!(status, 200, "{part}");
    let rows = part["items"].as_array().expect("lines");
    assert_eq!(rows.len(), 1, "{part}");
    assert_eq!(
        (&rows[0]["session"], &rows[0]["fields"]["tool"]),
        (&json!(id), &json!("read_file"))
    );
    let (_, none) = admin.api("GET", "/api/v1/audit?verdict=deny", None).await;
    assert_eq!(none["items"], json!([]));
    let (_, page) = admin.get("/audit?tool=read_file").await;
    assert!(page.contains(&format!("/chats/{id}#e")), "{page}");
    let (_, jsonl) = admin.get("/api/v1/audit/export").await;
    let numbers: Vec<u64> = jsonl
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["n"].as_u64().expect("a number")
        })
        .collect();
    assert!(numbers.len() > 3 && numbers.is_sorted() && numbers[0] == 1, "{numbers:?}");

    // Another's: for an admin, without content; for nobody else.
    let hers = begin(&ann).await;
    say(&ann, &hers, "My secret wish").await;
    let (status, lines) = admin.api("GET", "/api/v1/audit?person=ann", None).await;
    assert_eq!(status, 200);
    let text = lines.to_string();
    assert!(
        text.contains("call.judged") && !text.contains("note.txt") && !text.contains("workspace"),
        "{text}"
    );
    assert_eq!(ann.api("GET", "/api/v1/audit?person=admin", None).await.0, 404);
    let (_, own) = ann.api("GET", "/api/v1/audit/accounts", None).await;
    let names: Vec<&Value> =
        own.as_array().expect("events").iter().map(|one| &one["account"]).collect();
    assert!(!names.is_empty() && names.iter().all(|name| **name == "ann"), "{own}");

    let (_, verdict) = admin.api("GET", "/api/v1/audit/verify", None).await;
    assert_eq!((&verdict["whole"], &verdict["faults"]), (&json!(true), &json!([])), "{verdict}");
    tamper(&served);
    let (_, verdict) = admin.api("GET", "/api/v1/audit/verify", None).await;
    assert_eq!(verdict["whole"], false, "{verdict}");
    assert!(verdict["faults"][0].as_str().expect("a fault").contains("changed"), "{verdict}");
    let (_, _, page) = admin.form("/audit/verify", &[]).await;
    assert!(page.contains("Verification failed"), "{page}");
}

/// Changes a word in the newest file of audit lines.
fn tamper(served: &TestServer) {
    let folder = served.house.at("state/weir/audit");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("there is a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"))
        .collect();
    files.sort();
    let path = files.last().expect("there is a file");
    let text = std::fs::read_to_string(path).expect("it can be read");
    std::fs::write(path, text.replacen("read_file", "read_fill", 1)).expect("it can be written");
}

#[tokio::test]
async fn s10_audit_in_postgresql_is_verified_too() {
    let Some(database) = TestDatabase::create().await else { return };
    let script = "name: test\n\ncalls: read_file {\"path\": \"note.txt\"}\n\nsays: Done.\n";
    let kept = Some(database.url.clone());
    let mut served =
        TestServer::start(ServerSetup { script, database: kept, ..ServerSetup::default() }).await;
    let (admin, ann) = (served.admin().await, served.person("ann").await);
    say(&admin, &begin(&admin).await, "Read it").await;
    say(&ann, &begin(&ann).await, "Read it").await;
    let verify = |who: &Browser| {
        let who = who.clone();
        async move { who.api("GET", "/api/v1/audit/verify", None).await.1 }
    };
    let verdict = verify(&admin).await;
    assert_eq!((&verdict["whole"], &verdict["sessions"]), (&json!(true), &json!(1)), "{verdict}");
    assert!(verdict["lines"].as_u64().expect("a number") > 3, "{verdict}");

    // Whoever owns the database changes lines of everybody.
    let options: PgConnectOptions = database.url.parse().expect("a URL");
    let mut connection = options.connect().await.expect("the database answers");
    let changed = connection
        .execute("UPDATE audit SET entry = replace(entry, 'run.started', 'run.stopped')")
        .await
        .expect("a superuser may");
    assert!(changed.rows_affected() >= 2, "a line of each");
    for who in [&admin, &ann] {
        let verdict = verify(who).await;
        assert_eq!(verdict["whole"], false, "{verdict}");
        assert!(verdict["faults"][0].as_str().expect("a fault").contains("changed"), "{verdict}");
    }
}

#[tokio::test]
async fn s10_help_is_searchable_and_inside_the_program() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let (status, contents) = admin.get("/help").await;
    assert_eq!(status, 200, "{contents}");
    assert!(contents.contains("/help?page=memory") && contents.contains("<kbd>"), "{contents}");
    let (_, found) = admin.get("/help?q=checkpoint+undo").await;
    assert!(found.contains("/help?page=checkpoints-and-undo"), "{found}");
    let (_, page) = admin.get("/help?page=configuration").await;
    assert!(page.contains("href=\"/help?page=gate\""), "{page}");
    assert_eq!(admin.get("/help?page=../Cargo").await.0, 404);
    let (_, nothing) = admin.get("/help?q=%3Cscript%3Ezzzz").await;
    assert!(nothing.contains("&lt;script&gt;") && !nothing.contains("<script>zzzz"), "{nothing}");
}

/// The first fact of a chat that is begun with these settings.
async fn opened(browser: &Browser, body: Value) -> Value {
    let (status, made) = browser.api("POST", "/api/v1/sessions", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id");
    browser.facts(id).await.first().cloned().unwrap_or_default()
}

/// L4, T3: 20 calls of tools in a run where nobody says anything; a chat may name its own bounds and
/// tools, within what its person may have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_a_chat_has_bounds_of_its_own_within_what_its_person_may() {
    let config = "[limits]\nbudget_usd = 2.0\n";
    let mut served =
        TestServer::start(ServerSetup { script: TALKS, config, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let ann = served.person("ann").await;
    let calls = |fact: &Value| fact["config"]["limits"]["max_tool_calls"].clone();
    assert_eq!(calls(&opened(&ann, json!({})).await), 20);
    let body = json!({
        "only_tools": ["read_file", "glob"], "max_tool_calls": 7, "budget_usd": 0.5,
    });
    let fact = opened(&ann, body).await;
    assert_eq!(calls(&fact), 7, "{fact}");
    assert_eq!(fact["config"]["limits"]["budget_usd"], 0.5);
    assert_eq!(fact["tools"], json!(["read_file", "glob"]));
    assert_eq!(opened(&ann, json!({ "only_tools": [] })).await["tools"], json!([]));

    let stored = json!({ "for_all": true, "values": { "limits.max_tool_calls": 9 } });
    assert_eq!(change(&admin, stored).await.0, 200);
    assert_eq!(calls(&opened(&ann, json!({})).await), 9, "what was stored beats 20");
    for (body, words) in [
        (json!({ "max_tool_calls": 10 }), "9 is the most"),
        (json!({ "max_tool_calls": 0 }), "only_tools"),
        (json!({ "budget_usd": 2.5 }), "2 is the most"),
        (json!({ "budget_usd": -1.0 }), "more than 0"),
        (json!({ "only_tools": ["read_files"] }), "read_files"),
    ] {
        let (status, refused) = ann.api("POST", "/api/v1/sessions", Some(body.clone())).await;
        assert_eq!(status / 100, 4, "{body}: {refused}");
        assert!(refused.to_string().contains(words), "{body}: {refused}");
    }
    assert_eq!(calls(&opened(&admin, json!({ "max_tool_calls": 30 })).await), 30);
}
