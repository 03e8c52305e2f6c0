//! Scheduled agents by API and by pages, what people without the role admin can reach, and the
//! library, memory and models of a person (S8, S9, T3).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{
    Browser, PATIENCE, ServerSetup, TestInstallation, TestServer, wait_until_async,
};

pub(crate) async fn get(browser: &Browser, path: &str) -> Value {
    let (status, body) = browser.api("GET", path, None).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// The newest run of an agent, once it is over. A tick that was left out while another was at work is
/// none.
async fn last_run(browser: &Browser, agent: &str) -> Value {
    wait_until_async(&format!("{agent} is over"), async || {
        let runs = get(browser, &format!("/api/v1/agents/{agent}/runs")).await;
        let left_out = |run: &Value| run["state"] == "skipped" || run["state"] == "missed";
        let newest = runs["items"].as_array().and_then(|all| all.iter().find(|run| !left_out(run)));
        newest.filter(|run| run["open"] == json!(false)).cloned().ok_or(runs)
    })
    .await
}

/// Everything in the journal of a session, as text.
async fn journal(browser: &Browser, session: &str) -> String {
    let (status, body) =
        browser.get(&format!("/api/v1/sessions/{session}/export?format=jsonl")).await;
    assert_eq!(status, 200, "{body}");
    body
}

#[expect(clippy::needless_pass_by_value, reason = "called with what json! makes")]
fn agent(name: &str, more: Value) -> Value {
    let mut wish = json!({ "name": name, "prompt": "Say what is new." });
    for (key, value) in more.as_object().expect("fields") {
        wish[key] = value.clone();
    }
    wish
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_an_agent_is_due_runs_once_and_can_be_watched() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let ann = served.person("ann").await;
    let wish = agent("tick", json!({ "cron": "* * * * * *", "max": null }));
    let (status, refused) = ann.api("POST", "/api/v1/agents", Some(wish)).await;
    assert_eq!(status, 422, "an unknown field is refused: {refused}");
    let wish = agent("tick", json!({ "cron": "* * * * * *", "timezone": "Europe/Berlin" }));
    let (status, made) = ann.api("POST", "/api/v1/agents", Some(wish.clone())).await;
    assert_eq!(status, 201, "{made}");
    let (status, again) = ann.api("POST", "/api/v1/agents", Some(wish)).await;
    assert_eq!(status, 400, "a name is taken once: {again}");
    let run = last_run(&ann, "tick").await;
    assert_eq!((&run["cause"], &run["state"]), (&json!("cron"), &json!("completed")), "{run}");
    let session = run["session"].as_str().expect("a session");
    let text = journal(&ann, session).await;
    assert!(text.contains("schedule:tick") && text.contains("Done."), "{text}");
    let (status, page) = ann.get("/agents/tick").await;
    assert_eq!(status, 200);
    assert!(page.contains(&format!("/chats/{session}")), "the run has a link to its chat");
    let (status, _) = ann.api("POST", "/api/v1/agents/tick/pause", None).await;
    assert_eq!(status, 200);
    let paused = get(&ann, "/api/v1/agents/tick").await;
    assert_eq!((&paused["active"], &paused["next"]), (&json!(false), &Value::Null));
    let runs = get(&ann, "/api/v1/agents/tick/runs?limit=200").await;
    let ticks: Vec<&str> =
        runs["items"].as_array().expect("runs").iter().filter_map(|r| r["tick"].as_str()).collect();
    let mut once = ticks.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ticks.len(), "no tick runs twice: {ticks:?}");
    let bob = served.person("bob").await;
    let (status, _) = bob.api("GET", "/api/v1/agents/tick", None).await;
    assert_eq!(status, 404, "what is another's does not exist");
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_a_paused_agent_runs_by_hand_and_goes_on_after_a_restart() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let ann = served.person("ann").await;
    let made = ann.api("POST", "/api/v1/agents", Some(agent("report", json!({})))).await;
    assert_eq!(made.0, 201, "{}", made.1);
    assert_eq!(ann.api("POST", "/api/v1/agents/report/pause", None).await.0, 200);
    let (status, run) = ann.api("POST", "/api/v1/agents/report/run", None).await;
    assert_eq!((status, &run["cause"]), (202, &json!("manual")), "{run}");
    assert_eq!(last_run(&ann, "report").await["state"], "completed");
    served.kill_and_restart().await;
    let (status, run) = ann.api("POST", "/api/v1/agents/report/run", None).await;
    assert_eq!(status, 202, "{run}");
    assert_eq!(last_run(&ann, "report").await["state"], "completed");
    let runs = get(&ann, "/api/v1/agents/report/runs").await;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2), "{runs}");
    assert_eq!(ann.api("POST", "/api/v1/pause", Some(json!({}))).await.0 / 100, 2);
    let (status, refused) = ann.api("POST", "/api/v1/agents/report/run", None).await;
    assert_eq!((status, &refused["code"]), (409, &json!("paused")), "the kill switch holds");
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_pages_work_by_form_alone() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let ann = served.person("ann").await;
    let wrong = [("name", "Digest"), ("prompt", "Read <b>all</b>."), ("cron", "0 8 * *")];
    let (status, _, body) = ann.form("/agent-new", &wrong).await;
    assert_eq!(status, 400, "{body}");
    assert!(
        body.contains("Not saved") && body.contains("Read &lt;b&gt;all"),
        "what was typed stays"
    );
    let right = [
        ("name", "digest"),
        ("prompt", "Read all."),
        ("cron", "0 8 * * MON-FRI"),
        ("timezone", "Europe/Berlin"),
        ("tools", "read_file"),
        ("tools", "list_files"),
        ("max_tool_calls", "7"),
        ("thinking", "high"),
        ("on_ask", "queue"),
    ];
    let look: Vec<(&str, &str)> = right.iter().copied().chain([("do", "look")]).collect();
    let (status, _, body) = ann.form("/agent-new", &look).await;
    assert_eq!(status, 200);
    assert!(body.contains("Every weekday (Monday to Friday) at 08:00"), "{body}");
    assert_eq!(body.matches("08:00 Europe/Berlin").count(), 5, "five times, in its zone");
    let (status, location, body) = ann.form("/agent-new", &right).await;
    assert_eq!(status, 303, "{body}");
    assert!(location.starts_with("/agents/digest"), "{location}");
    let kept = get(&ann, "/api/v1/agents/digest").await["agent"].clone();
    assert_eq!(kept["tools"], json!(["read_file", "list_files"]));
    assert_eq!((&kept["limits"]["max_tool_calls"], &kept["on_ask"]), (&json!(7), &json!("queue")));
    assert_eq!(kept["thinking"], "high", "{kept}");
    let (_, page) = ann.get("/agents/digest/edit").await;
    assert!(page.contains("<option value=\"high\" selected>High"), "{page}");
    let (_, page) = ann.get("/agents/digest").await;
    assert!(page.contains("Thinking") && page.contains("high"), "{page}");
    let none = [("prompt", "Only think."), ("timezone", "UTC")];
    let (status, _, body) = ann.form("/agents/digest/edit", &none).await;
    assert_eq!(status, 303, "{body}");
    let kept = get(&ann, "/api/v1/agents/digest").await["agent"].clone();
    assert_eq!((&kept["tools"], &kept["cron"]), (&json!([]), &Value::Null), "none means none");
    assert_eq!(kept["thinking"], Value::Null, "as in the settings");
    let foreign = [
        ("prompt", "Only think."),
        ("timezone", "UTC"),
        ("tools", "mcp__git__log"),
        ("tools", "mcp__git__show"),
    ];
    let (status, location, body) = ann.form("/agents/digest/edit", &foreign).await;
    assert_eq!(status, 303, "{body}");
    let told = location.replace("%20", " ").replace('+', " ");
    assert!(told.contains("while its server is. mcp__git__show is available"), "{told}");
    let (status, _, body) = ann.form("/agents/digest/edit", &none).await;
    assert_eq!(status, 303, "{body}");
    let (status, location, _) = ann.form("/agents/digest/run", &[]).await;
    assert_eq!(status, 303, "{location}");
    assert_eq!(last_run(&ann, "digest").await["state"], "completed");
    let (status, location, _) = ann.form("/agents/digest/remove", &[]).await;
    assert_eq!((status, location.as_str()), (303, "/agents"));
    assert_eq!(ann.api("GET", "/api/v1/agents/digest", None).await.0, 404);
}

/// A model that tries every way out of its folder. `OTHER` is another person's file.
const HOSTILE: &str = include_str!("agents/hostile.script");
/// What stands in the files of others.
const MARKER: &str = "the-secret-of-bob";

/// What stands in Ann's own.
const OWN: &str = "words-of-ann-herself";

pub(crate) fn id_of(made: &Value) -> String {
    made["id"].as_str().or(made["session"].as_str()).expect("an id").to_owned()
}

pub(crate) async fn said(browser: &Browser, session: &str, text: &str) {
    let path = format!("/api/v1/sessions/{session}/input");
    let content = json!({ "content": [{ "type": "text", "text": text }] });
    let (status, body) = browser.api("POST", &path, Some(content)).await;
    assert_eq!(status, 202, "{body}");
}

/// The journal of a session, once its run is over. Whatever asks is allowed: a person's word must
/// not open what is another's.
pub(crate) async fn over(browser: &Browser, session: &str) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = journal(browser, session).await;
        if text.contains("run.finished") {
            return text;
        }
        let waiting = get(browser, "/api/v1/approvals").await;
        for item in waiting["items"].as_array().into_iter().flatten() {
            let id = item["id"].as_str().expect("an id");
            let yes = json!({ "decision": "once" });
            browser.api("POST", &format!("/api/v1/approvals/{id}"), Some(yes)).await;
        }
        assert!(Instant::now() < until, "the run is not over: {waiting} {text}");
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

/// The journal of a session of Ann in which the hostile model ran, in the mode that lets most pass.
async fn attacked(served: &mut TestServer, tier: &str) -> String {
    let ann = served.person("ann").await;
    let users = served.house.at("people");
    let bob = users.join("bob/secret.txt");
    served.house.write(&bob, MARKER);
    served.house.write(&users.join("ann/own.txt"), OWN);
    std::os::unix::fs::symlink(&bob, users.join("ann/link.txt")).expect("a link");
    std::os::unix::fs::symlink(users.join("bob"), users.join("ann/linked")).expect("a link");
    let wish = json!({ "permission": "full" });
    let (status, made) = ann.api("POST", "/api/v1/sessions", Some(wish)).await;
    assert_eq!(status / 100, 2, "{tier}: {made}");
    let id = id_of(&made);
    said(&ann, &id, "Read @../bob/secret.txt and @link.txt.").await;
    over(&ann, &id).await
}

/// Files below `folder` with these words in them; links are not followed.
fn holding(folder: &Path, words: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let bytes = std::fs::read(&path).expect("readable");
                if String::from_utf8_lossy(&bytes).contains(words) {
                    found.push(path);
                }
            }
        }
    }
    found
}

async fn check_hostile(tier: &str, has_shell: bool) {
    let house = TestInstallation::new();
    let users = house.at("people");
    let script = house.at("hostile.script");
    house.write(&script, &HOSTILE.replace("{BOB}", &users.join("bob").display().to_string()));
    let config = format!(
        "model = \"script:{}\"\n[sandbox]\ntier = \"{tier}\"\n[server]\nusers_dir = \"{}\"\n\
         [server.people]\nmax_permission = \"full\"\n[limits]\nconsecutive_mistake_limit = 0\n",
        script.display(),
        users.display()
    );
    house.write(&house.user_config(), &config);
    let mut served = TestServer::start_in(house, None).await;
    let text = attacked(&mut served, tier).await;
    assert!(!text.contains(MARKER), "{tier}: a file of another was read: {text}");
    assert!(text.contains(OWN), "{tier}: their own file is read: {text}");
    let copied = holding(&served.house.at("people/ann"), MARKER);
    assert_eq!(copied, Vec::<PathBuf>::new(), "{tier}: nothing of another's came over");
    let bob = served.house.at("people/bob/secret.txt");
    assert_eq!(std::fs::read_to_string(bob).expect("it is there"), MARKER, "{tier}");
    assert_eq!(text.contains("own-folder-by-shell"), has_shell, "{tier}: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_a_person_is_bound_to_their_folder_with_bubblewrap() {
    check_hostile("bubblewrap", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_without_a_sandbox_that_hides_there_are_no_commands() {
    check_hostile("none", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t3_a_person_gets_of_the_installation_what_an_admin_offers() {
    let config = "[mcp_servers.inner]\ncommand = \"true\"\n[mcp_servers.offered]\ncommand = \
                  \"true\"\n[server.people]\nmcp_servers = [\"offered\"]\ntools_denied = \
                  [\"web_fetch\"]\n";
    let mut served = TestServer::start(ServerSetup { config, ..ServerSetup::default() }).await;
    let ann = served.person("ann").await;
    let names = |page: Value| -> Vec<String> {
        let items = page["items"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["name"].as_str().map(String::from)).collect()
    };
    assert_eq!(names(get(&ann, "/api/v1/library/servers").await), ["offered"]);
    let admin = served.admin().await;
    assert_eq!(names(get(&admin, "/api/v1/library/servers").await), ["inner", "offered"]);
    let wish = agent("fetch", json!({ "tools": ["web_fetch"] }));
    let (status, refused) = ann.api("POST", "/api/v1/agents", Some(wish.clone())).await;
    assert_eq!(status, 400, "{refused}");
    assert!(refused["detail"].as_str().is_some_and(|why| why.contains("web_fetch")), "{refused}");
    assert_eq!(admin.api("POST", "/api/v1/agents", Some(wish)).await.0, 201);
    for model in ["script:/etc/passwd", "script:nothing"] {
        let wish = agent("other", json!({ "model": model }));
        let (status, refused) = ann.api("POST", "/api/v1/agents", Some(wish)).await;
        assert_eq!(status, 400, "a script is a file of the server: {refused}");
    }
    for folder in ["..", "/", "/etc", "../admin"] {
        let wish = agent("other", json!({ "workspace": folder }));
        let (status, refused) = ann.api("POST", "/api/v1/agents", Some(wish)).await;
        assert_eq!(status, 400, "{folder}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_what_is_remembered_is_each_persons_own() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    let ann = served.person("ann").await;
    let fact = [("text", "Tea, not coffee."), ("kind", "preference"), ("importance", "4")];
    let (status, location, body) = ann.form("/memory", &fact).await;
    assert_eq!(status, 303, "{location} {body}");
    let secret = format!("The key is sk-ant-{}", "0123456789abcdef".repeat(2));
    let key = [("text", secret.as_str()), ("kind", "project")];
    let (status, _, body) = ann.form("/memory", &key).await;
    assert_eq!(status, 400, "a key is not remembered: {body}");
    let kept = get(&ann, "/api/v1/memory?q=tea").await["items"][0].clone();
    assert_eq!((&kept["text"], &kept["importance"]), (&json!("Tea, not coffee."), &json!(4)));
    let (status, export) = ann.get("/memory.md").await;
    assert!(status == 200 && export.contains("Tea, not coffee."), "{export}");
    let id = kept["id"].as_str().expect("an id");
    let bob = served.person("bob").await;
    assert_eq!(get(&bob, "/api/v1/memory").await["items"], json!([]));
    let (status, _) = bob
        .api("PATCH", &format!("/api/v1/memory/{id}"), Some(json!({ "status": "forgotten" })))
        .await;
    assert_eq!(status, 404);
    let (status, location, _) = ann.form(&format!("/memory/{id}/forget"), &[]).await;
    assert_eq!(status, 303, "{location}");
    assert_eq!(get(&ann, "/api/v1/memory").await["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_keys_go_in_and_never_come_out() {
    const KEY: &str = "key-of-the-house-0123456789";
    let mut served = TestServer::start(ServerSetup::default()).await;
    let admin = served.admin().await;
    let (status, location, body) =
        admin.form("/models/key", &[("provider", "anthropic"), ("key", KEY)]).await;
    assert_eq!(status, 303, "{location} {body}");
    let file = served.house.at("config/weir/keys.toml");
    assert!(!file.exists(), "a key that its vendor could not be asked about is not kept by itself");
    let typed = [("provider", "anthropic"), ("key", KEY), ("unchecked", "yes")];
    let (status, location, body) = admin.form("/models/key", &typed).await;
    assert_eq!(status, 303, "{location} {body}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&file).expect("it is kept").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let ann = served.person("ann").await;
    for browser in [&admin, &ann] {
        let (status, page) = browser.get("/models").await;
        assert!(status == 200 && !page.contains(KEY), "{page}");
        let providers = get(browser, "/api/v1/providers?limit=200").await;
        assert!(!providers.to_string().contains(KEY), "{providers}");
        let all = providers["items"].as_array().cloned().expect("providers");
        let found = all.into_iter().find(|line| line["name"] == "anthropic").expect("it is known");
        assert_eq!(found["key"], "kept", "{found}");
    }
    assert!(!served.error_text().contains(KEY), "no log has it");
    let path = "/api/v1/providers/anthropic/key";
    assert_eq!(ann.api("PUT", path, Some(json!({ "key": "another" }))).await.0, 403);
    assert_eq!(ann.api("DELETE", path, None).await.0, 403);
    assert_eq!(admin.api("DELETE", path, None).await.0, 204);
    assert_eq!(admin.api("DELETE", path, None).await.0, 404, "it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_a_made_tool_waits_until_it_was_read() {
    const MAKES: &str = include_str!("agents/makes.script");
    let mut served =
        TestServer::start(ServerSetup { script: MAKES, ..ServerSetup::default() }).await;
    let ann = served.person("ann").await;
    for shelf in
        ["skills", "recipes", "made", "servers", "plugins", "profiles", "tools", "settings"]
    {
        let (status, page) = ann.get(&format!("/library/{shelf}")).await;
        assert_eq!(status, 200, "{shelf}: {page}");
    }
    let tool = get(&ann, "/api/v1/library/tools/read_file").await;
    assert_eq!(tool["text_kind"], "json");
    let schema: Value = serde_json::from_str(tool["text"].as_str().expect("text")).expect("JSON");
    assert!(schema["properties"]["path"].is_object(), "{schema}");
    assert_eq!(ann.api("GET", "/api/v1/library/tools/none_such", None).await.0, 404);
    let (status, made) = ann.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status / 100, 2, "{made}");
    let id = id_of(&made);
    said(&ann, &id, "Write a skill.").await;
    over(&ann, &id).await;
    let skill = get(&ann, "/api/v1/library/skills/greeting").await;
    assert_eq!(skill["line"]["waits"], json!(true), "{skill}");
    let hash = skill["waiting"]["hash"].as_str().expect("a hash").to_owned();
    let path = "/api/v1/library/skills/greeting/accept";
    let (status, other) = ann.api("POST", path, Some(json!({ "hash": "00" }))).await;
    assert_eq!(status, 409, "a word about another one counts for nothing: {other}");
    let (status, page) = ann.get("/library/skills/greeting").await;
    assert!(status == 200 && page.contains("Waiting for your approval"), "{page}");
    let own = [("hash", hash.as_str()), ("text", "Not a skill.")];
    let (status, _, page) = ann.form("/library/skills/greeting/accept", &own).await;
    assert!(status == 400 && page.contains("Not a skill."), "refused words are given back: {page}");
    let (status, location, _) =
        ann.form("/library/skills/greeting/accept", &[("hash", &hash)]).await;
    assert!(status == 303 && location.contains("note="), "{location}");
    let skill = get(&ann, "/api/v1/library/skills/greeting").await;
    assert_eq!((&skill["line"]["state"], &skill["waiting"]), (&json!("used"), &Value::Null));
    let late = [("hash", hash.as_str()), ("text", "Mine.")];
    let (status, _, page) = ann.form("/library/skills/greeting/accept", &late).await;
    let shown = page.contains("which were not saved") && page.contains("Mine.");
    assert!(matches!(status, 400 | 409) && shown, "{status}: {page}");
    let bob = served.person("bob").await;
    assert_eq!(bob.api("GET", "/api/v1/library/skills/greeting", None).await.0, 404);
    let (status, location, _) = ann.form("/library/skills/greeting/remove", &[]).await;
    assert!(status == 303 && location.starts_with("/library/skills?"), "{location}");
    let (status, _, page) = ann.form("/library/skills/greeting/accept", &late).await;
    assert!(status == 404 && page.contains("Mine."), "{status}: {page}");
}
