//! What a person decides from a face that is attached: about what the server keeps, with the same words
//! (R10).

use serde_json::json;

use super::*;
use crate::agents::{get, id_of, said};

const ASKS: &str = "name: test\n\n\
    says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
    says: It is written.\n";

#[tokio::test]
async fn r10_an_attached_face_decides_about_what_the_server_keeps() {
    let mut served =
        TestServer::start(ServerSetup { script: ASKS, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    let fact = json!({ "text": "The deploy needs a tag.", "kind": "project" });
    let (status, made) = admin.api("POST", "/api/v1/memory", Some(fact)).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();

    face.type_line(&format!("/memory forget {id}"));
    face.until("Forget it? Type: yes / no", 1).await;
    assert!(face.text().contains("fact: The deploy needs a tag."), "{}", face.text());
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    assert_eq!(get(&admin, "/api/v1/memory").await["items"][0]["id"], json!(id));
    face.type_line(&format!("/memory forget {id}"));
    face.until("Forget it? Type: yes / no", 2).await;
    face.type_line("yes");
    face.until(&format!("{id} is forgotten"), 1).await;
    assert_eq!(get(&admin, "/api/v1/memory").await["items"], json!([]));

    // A recipe of the program is switched off, as its page does it.
    face.type_line("/recipes show find-todos");
    face.until("find-todos", 2).await;
    face.type_line("/recipes reject find-todos");
    face.until("Reject it for good? Type: yes / no", 1).await;
    face.type_line("yes");
    face.until("find-todos is", 1).await;

    // What another session asks: whole, once or not at all.
    let (_, made) = admin.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    said(&admin, &id_of(&made), "Write a file.").await;
    let waits = waiting(&admin, "a.txt").await;
    let asked = waits["id"].as_str().expect("an id").to_owned();
    face.type_line("/approvals");
    face.until(&asked, 1).await;
    face.type_line(&format!("/approvals answer {asked} once"));
    face.until("Allow it this once? Type: yes / no", 1).await;
    assert!(face.text().contains("+a"), "its difference is shown: {}", face.text());
    face.type_line("yes");
    face.until("is answered: once", 1).await;
    admin.until_status(&id_of(&made), "completed").await;

    // For the rest of that session, within bounds; and what was allowed is taken back.
    let (_, made) = admin.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    let session = id_of(&made);
    said(&admin, &session, "Write a file.").await;
    let asked = waiting(&admin, "a.txt").await["id"].as_str().expect("an id").to_owned();
    face.type_line(&format!("/approvals answer {asked} --text yes"));
    face.until("this is an approval", 1).await;
    face.type_line(&format!("/approvals answer {asked} session --uses=3 --for 10m"));
    face.until("in that session (uses 3, for 10m)? Type: yes / no", 1).await;
    face.type_line("yes");
    face.until("is answered: session", 1).await;
    admin.until_status(&session, "completed").await;
    let lease = &get(&admin, &format!("/api/v1/sessions/{session}")).await["leases"][0];
    assert_eq!((&lease["lease"], &lease["uses_left"]), (&json!(1), &json!(3)), "{lease}");
    face.type_line(&format!("/approvals revoke {session} 1"));
    face.until("such calls are asked again? Type: yes / no", 1).await;
    assert!(face.text().contains("allows: Edit("), "{}", face.text());
    face.type_line("yes");
    face.until(&format!("lease 1 of session {session} is revoked"), 1).await;
    assert_eq!(get(&admin, &format!("/api/v1/sessions/{session}")).await["leases"], json!([]));

    // What only the machine of the server decides is said, and not done.
    face.type_line("/config set permissions.allow Shell(*)");
    face.until("is not a setting that a server changes for who is signed in", 1).await;
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[tokio::test]
async fn r10_a_fact_that_changed_since_it_was_seen_is_not_decided_about() {
    let mut served =
        TestServer::start(ServerSetup { script: ASKS, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    let said =
        |importance: u8| json!({ "text": "It rains.", "kind": "event", "importance": importance });
    let (status, made) = admin.api("POST", "/api/v1/memory", Some(said(2))).await;
    assert_eq!(status, 201, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    face.type_line(&format!("/memory forget {id}"));
    face.until("Forget it? Type: yes / no", 1).await;
    admin.api("POST", "/api/v1/memory", Some(said(5))).await;
    face.type_line("yes");
    face.until("It changed meanwhile, and nothing was done", 1).await;
    // It is shown anew.
    face.until("importance: 5 of 5", 1).await;
    assert_eq!(get(&admin, "/api/v1/memory").await["items"][0]["id"], json!(id));

    // A program that decides by the API, and the page: the same.
    let path = format!("/api/v1/memory/{id}");
    let decide = async |body: serde_json::Value| admin.api("PATCH", &path, Some(body)).await;
    let (status, told) =
        decide(json!({ "status": "forgotten", "hash": made["hash"].clone() })).await;
    assert_eq!(status, 409, "{told}");
    assert!(told["detail"].as_str().is_some_and(|why| why.contains("look at it again")), "{told}");
    let seen = [("hash", made["hash"].as_str().expect("a hash"))];
    let (status, location, _) = admin.form(&format!("/memory/{id}/forget"), &seen).await;
    assert!(status == 303 && location.contains("problem="), "{status} {location}");
    let now = get(&admin, "/api/v1/memory").await["items"][0].clone();
    let (status, told) = decide(json!({ "status": "rejected", "hash": now["hash"] })).await;
    assert_eq!(status, 200, "{told}");
    // It is kept only by a yes to what was seen.
    for hash in [json!(""), now["hash"].clone()] {
        let (status, told) = decide(json!({ "status": "kept", "hash": hash })).await;
        assert_eq!(status, 409, "{told}");
    }
    assert_eq!(get(&admin, "/api/v1/memory").await["items"], json!([]));
    let (status, told) = decide(json!({ "status": "kept", "hash": told_hash(&admin).await })).await;
    assert_eq!((status, &told["status"]), (200, &json!("kept")));
}

#[tokio::test]
async fn r10_an_attached_face_sets_what_its_person_may_set() {
    let script = "name: test\n\nsays: Good morning.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    let value = async |key: &str| {
        let sheet = get(&admin, "/api/v1/settings").await;
        let found = sheet["items"].as_array().into_iter().flatten().find(|one| one["key"] == key);
        found.cloned().unwrap_or_default()
    };
    face.type_line("/config set limits.max_iterations 17");
    face.until("Set it for you? Type: yes / no", 1).await;
    assert!(face.text().contains("limits.max_iterations = 17"), "{}", face.text());
    assert_ne!(
        value("limits.max_iterations").await["value"],
        json!(17),
        "nothing was set by a look"
    );
    // Somebody sets something in between: it is shown anew, and then it is set.
    let other = json!({ "values": { "thinking": "low" } });
    let (status, told) = admin.api("PATCH", "/api/v1/settings", Some(other)).await;
    assert_eq!(status, 200, "{told}");
    face.type_line("yes");
    face.until("It changed meanwhile, and nothing was done", 1).await;
    face.until("Set it for you? Type: yes / no", 2).await;
    face.type_line("yes");
    face.until("limits.max_iterations is set for you", 1).await;
    let set = value("limits.max_iterations").await;
    assert_eq!((&set["value"], &set["own"]), (&json!(17), &json!(17)), "{set}");
    // What is for everybody is asked as that, and kept with who did it.
    face.type_line("/config set security.canary false");
    face.until("Set it for everybody on this server? Type: yes / no", 1).await;
    face.type_line("yes");
    face.until("is set for everybody on this server", 1).await;
    assert_eq!(value("security.canary").await["house"], json!(false));
    // What is not of its type is refused by the server.
    face.type_line("/config set limits.max_iterations many");
    face.until("Set it for you? Type: yes / no", 3).await;
    face.type_line("yes");
    face.until("error: ", 1).await;
    assert_eq!(value("limits.max_iterations").await["value"], json!(17));
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[tokio::test]
async fn r10_a_fact_is_kept_in_other_words_by_face_api_and_page() {
    let mut served =
        TestServer::start(ServerSetup { script: ASKS, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    let add = async |text: &str| {
        let fact = json!({ "text": text, "kind": "event" });
        let (status, made) = admin.api("POST", "/api/v1/memory", Some(fact)).await;
        assert_eq!(status, 201, "{made}");
        let path = format!("/api/v1/memory/{}", made["id"].as_str().expect("an id"));
        let (status, gone) = admin.api("PATCH", &path, Some(json!({ "status": "rejected" }))).await;
        assert_eq!(status, 200, "{gone}");
        gone
    };
    let kept = async || {
        let all = get(&admin, "/api/v1/memory").await;
        let lines = all["items"].as_array().cloned().unwrap_or_default();
        lines.iter().filter_map(|line| line["text"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    // From the face.
    let rain = add("It rains.").await;
    let id = rain["id"].as_str().expect("an id");
    face.type_line(&format!("/memory accept {id} --text It pours."));
    face.until("Accept it? Type: yes / no", 1).await;
    let shown = face.text();
    assert!(shown.contains("It pours.") && shown.contains("fact: It rains."), "{shown}");
    face.type_line("yes");
    face.until("is kept: It pours.", 1).await;
    assert_eq!(kept().await, ["It pours."]);
    // By the API: its form is checked, and it is one about what was seen.
    let snow = add("It snows.").await;
    let path = format!("/api/v1/memory/{}", snow["id"].as_str().expect("an id"));
    let key = concat!("sk-ant-", "api03-aaaaaaaaaaaaaaaaaaaaaaaa");
    for (body, expected) in [
        (json!({ "status": "kept", "hash": snow["hash"], "text": "" }), 400),
        (json!({ "status": "kept", "hash": snow["hash"], "text": format!("Use {key}") }), 400),
        (json!({ "status": "forgotten", "hash": snow["hash"], "text": "It hails." }), 400),
        (json!({ "status": "kept", "hash": rain["hash"], "text": "It hails." }), 409),
        (json!({ "status": "kept", "text": "It hails." }), 409),
    ] {
        let (status, told) = admin.api("PATCH", &path, Some(body.clone())).await;
        assert_eq!(status, expected, "{body}: {told}");
    }
    assert_eq!(kept().await, ["It pours."], "nothing was changed");
    let hash = snow["hash"].as_str().expect("a hash");
    let body = json!({ "status": "kept", "hash": hash, "text": "It hails." });
    let (status, told) = admin.api("PATCH", &path, Some(body)).await;
    assert_eq!((status, &told["text"]), (200, &json!("It hails.")), "{told}");
    assert!(told["edited_by"].is_string(), "{told}");
    // By the page: what is refused is given back to be mended.
    let fog = add("It is foggy.").await;
    let (id, hash) = (fog["id"].as_str().expect("an id"), fog["hash"].as_str().expect("a hash"));
    let page = format!("/memory/{id}/accept");
    let bad = concat!("It is sk-ant-", "api03-aaaaaaaaaaaaaaaaaaaaaaaa");
    let (status, _, told) = admin.form(&page, &[("hash", hash), ("text", bad)]).await;
    assert!(status == 400 && told.contains("key or password") && told.contains(bad), "{told}");
    // Settled meanwhile, or not there at all, no form takes the words any more: they are shown.
    for (page, hash, expected) in
        [(page.as_str(), "00", 409), ("/memory/none-such/accept", hash, 404)]
    {
        let (status, _, told) = admin.form(page, &[("hash", hash), ("text", "It is hazy.")]).await;
        let shown = told.contains("which were not saved") && told.contains("It is hazy.");
        assert!(status == expected && shown, "{status}: {told}");
    }
    let (status, location, _) =
        admin.form(&page, &[("hash", hash), ("text", "It is\r\nmisty.")]).await;
    assert!(status == 303 && location.contains("note="), "{status} {location}");
    assert!(kept().await.contains(&"It is misty.".to_owned()));
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

/// The hash of the only fact that was rejected.
async fn told_hash(admin: &Browser) -> serde_json::Value {
    get(admin, "/api/v1/memory?status=rejected").await["items"][0]["hash"].clone()
}

#[tokio::test]
async fn r10_an_attached_face_decides_about_rules_and_trust() {
    let script = "name: test\n\nsays: Good morning.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("Hello.");
    face.until("Good morning.", 1).await;
    let path = format!("/api/v1/sessions/{}", session(&admin).await);
    let info = get(&admin, &path).await;
    let folder = info["workspace"].as_str().expect("a folder").to_owned();
    let file = std::path::Path::new(&folder).join(".weir/config.toml");
    let offer = |rule: &str| format!("[permissions]\nallow = [\"{rule}\"]\n");

    served.house.write(&file, &offer("Shell(echo:*)"));
    face.type_line("/trust");
    face.until("as they are now? Type: yes / no", 1).await;
    assert!(face.text().contains("Shell(echo:*)"), "{}", face.text());
    served.house.write(&file, &offer("Shell(ls:*)"));
    face.type_line("yes");
    face.until("It changed meanwhile, and nothing was done", 1).await;
    face.until("as they are now? Type: yes / no", 2).await;
    assert_eq!(get(&admin, "/api/v1/rules").await["trusted"], json!([]));
    face.type_line("yes");
    face.until("is trusted, as it is now.", 1).await;
    assert_eq!(get(&admin, "/api/v1/rules").await["trusted"][0]["folder"], json!(folder));
    face.type_line("/trust list");
    face.until("of this session", 1).await;
    face.type_line("/trust remove");
    face.until("files no longer? Type: yes / no", 1).await;
    face.type_line("yes");
    face.until("is trusted no longer.", 1).await;

    let rules = async || get(&admin, "/api/v1/rules").await["rules"].to_string();
    face.type_line("/permissions add allow Shell(rm:*)");
    face.until("Add it? Type: yes / no", 1).await;
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    assert!(!rules().await.contains("Shell(rm:*)"));
    face.type_line("/permissions add deny Shell(rm:*)");
    face.until("Add it? Type: yes / no", 2).await;
    face.type_line("yes");
    face.until("deny Shell(rm:*) is added.", 1).await;
    assert!(rules().await.contains("Shell(rm:*)"));
    face.type_line("/permissions remove Shell(rm:*)");
    face.until("Remove it? Type: yes / no", 1).await;
    face.type_line("yes");
    face.until("Shell(rm:*) is removed.", 1).await;
    assert!(!rules().await.contains("Shell(rm:*)"));
    face.type_line("/quit");
    assert_eq!(face.close_input_until_end().await.status, 0);
}

#[tokio::test]
async fn r10_pages_bound_an_answer_for_the_session_and_take_it_back() {
    let mut served =
        TestServer::start(ServerSetup { script: ASKS, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    let (_, made) = admin.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    let session = id_of(&made);
    said(&admin, &session, "Write a file.").await;
    let asked = waiting(&admin, "a.txt").await["id"].as_str().expect("an id").replace('.', "-");
    let (_, inbox) = admin.get("/approvals").await;
    let offered = inbox.contains("within bounds") && inbox.contains("name=\"uses\" value=\"5\"");
    assert!(offered, "{inbox}");
    let page = format!("/chats/{session}/decide");
    for (name, value, decision, expected) in [
        ("uses", "0", "session", 400),
        ("for", "0m", "session", 400),
        ("for", "soon", "session", 400),
        ("uses", "5", "once", 400),
        ("uses", "5", "session", 303),
    ] {
        let fields = [
            ("approval", asked.as_str()),
            ("decision", decision),
            ("back", "/approvals"),
            (name, value),
        ];
        let (status, location, told) = admin.form(&page, &fields).await;
        assert_eq!(status, expected, "{name}={value} {decision}: {location} {told}");
    }
    admin.until_status(&session, "completed").await;
    let (leases, revoke) = (format!("/chats/{session}/leases"), format!("/chats/{session}/revoke"));
    let (_, page) = admin.get(&leases).await;
    assert!(page.contains("5 calls left") && page.contains("Edit("), "{page}");
    let (status, location, _) = admin.form(&revoke, &[("lease", "1")]).await;
    assert!(status == 303 && location.contains("note="), "{status} {location}");
    let (_, page) = admin.get(&leases).await;
    assert!(page.contains("There are no leases."), "{page}");
    // A page of earlier takes nothing back twice.
    let (status, location, _) = admin.form(&revoke, &[("lease", "1")]).await;
    assert!(status == 303 && location.contains("problem="), "{status} {location}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g4_of_two_answers_to_a_question_whose_run_is_over_the_other_is_told() {
    let script = "name: test\n\ncalls: ask_followup_question {\"question\": \"Which colour?\"}\n\n\
        says: So it is.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    for n in 0..6 {
        // Nobody attends it: the run ends, and its question stays open.
        assert_eq!(served.house.start(&["run", "Paint it."]).wait_for_end().status, 4);
        let session = id_of(&get(&admin, "/api/v1/sessions").await["items"][0]);
        let path = format!("/api/v1/questions/{session}.q1");
        let answer = |colour: &str| admin.api("POST", &path, Some(json!({ "answer": colour })));
        let ((blue, one), (red, other)) = tokio::join!(answer("blue"), answer("red"));
        let counts = if blue == 204 { "blue" } else { "red" };
        let told = if blue == 204 { (204, 409) } else { (409, 204) };
        assert_eq!((blue, red), told, "answers {n}: {one} {other}");
        let facts = admin.facts(&session).await;
        let said: Vec<_> = facts.iter().filter(|fact| fact["kind"] == "input.accepted").collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[1]["content"][0]["text"], counts, "{said:?}");
        admin.until_status(&session, "completed").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g4_of_a_yes_and_a_no_in_one_moment_the_one_that_does_not_count_is_told() {
    let mut served =
        TestServer::start(ServerSetup { script: ASKS, ..ServerSetup::default() }).await;
    let admin = served.admin().await;
    for n in 0..6 {
        let session = admin.open().await;
        said(&admin, &session, "Write a file.").await;
        admin.until_asked("the call", |one| one["session"] == session.as_str()).await;
        let path = format!("/api/v1/approvals/{session}.a1");
        let answer = |what: &str| admin.api("POST", &path, Some(json!({ "decision": what })));
        let ((yes, one), (no, other)) = tokio::join!(answer("once"), answer("deny"));
        let told = if yes == 200 { (200, 409) } else { (409, 200) };
        assert_eq!((yes, no), told, "answers {n}: {one} {other}");
        let facts = admin.facts(&session).await;
        let decided: Vec<_> =
            facts.iter().filter(|fact| fact["kind"] == "approval.resolved").collect();
        assert_eq!(decided.len(), 1, "{decided:?}");
        assert_eq!(decided[0]["decision"], if yes == 200 { "once" } else { "deny" });
        admin.until_status(&session, "completed").await;
    }
}
