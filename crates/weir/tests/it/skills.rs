//! `weir skills` from outside (M1): what is found, what is wrong with it, and what a person accepts.

use serde_json::Value;
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, SessionId, Timestamp};
use weir_core::memory::MemorySource;
use weir_engine::ports::{FileMark, Proposal, Store};
use weir_store::SqliteStore;
use weir_test_kit::TestInstallation;

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nDo {description}.\n")
}

fn skill(house: &TestInstallation, folder: &str, description: &str) {
    let name = folder.rsplit('/').next().expect("a name");
    house.write(&house.at(&format!("{folder}/SKILL.md")), &text(name, description));
}

async fn propose(house: &TestInstallation, name: &str, text: &str, label: Label) {
    let store = SqliteStore::open(&house.at("state/weir")).expect("the store of the house");
    let proposal = Proposal {
        what: "skill".into(),
        name: name.into(),
        text: text.into(),
        source: MemorySource {
            by: "manage_skill".into(),
            session: Some(SessionId::new("s1")),
            call: Some(CallId(7)),
            ..MemorySource::default()
        },
        label,
        ts: Timestamp(1_767_367_800_000_000),
    };
    store.propose(&proposal).await.expect("writable");
}

fn of<'a>(list: &'a Value, name: &str) -> Vec<&'a Value> {
    let skills = list["skills"].as_array().expect("skills");
    skills.iter().filter(|skill| skill["name"] == name).collect()
}

#[test]
fn m1_the_list_shows_sources_shadows_and_what_is_broken() {
    let house = TestInstallation::new();
    skill(&house, "work/.weir/skills/a", "the project's");
    skill(&house, "config/weir/skills/a", "yours");
    skill(&house, "home/.claude/skills/b", "from claude");
    house.write(&house.at("work/.agents/skills/broken/SKILL.md"), "---\nname: other\n---\n");
    let hang = text("hang", "x").replace("---\n\n", "trigger: '/((a{900}){900}){900}/'\n---\n\n");
    house.write(&house.at("config/weir/skills/hang/SKILL.md"), &hang);
    let list = house.json(&["skills", "list", "--json"]);
    let a = of(&list, "a");
    assert_eq!(a.len(), 2);
    assert!(a.iter().any(|skill| skill["source"] == "workspace" && skill["used"] == true));
    assert!(a.iter().any(|skill| skill["shadowed_by"] == ".weir/skills/a"));
    assert_eq!(of(&list, "b")[0]["source"], "yours");
    assert_eq!(of(&list, "code-review")[0]["source"], "bundled");
    assert!(of(&list, "broken")[0]["left_out"].as_str().is_some_and(|why| why.contains("folder")));
    assert!(of(&list, "hang")[0]["trigger_problem"].as_str().is_some_and(|w| w.contains("large")));
    let said = house.ok(&["skills", "list"]);
    for part in ["shadowed by .weir/skills/a", "not used: name is other", "so it never matches"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn m1_a_skill_is_shown_whole_with_its_hash() {
    let house = TestInstallation::new();
    skill(&house, "config/weir/skills/a", "x\u{202e}y");
    house.write(&house.at("config/weir/skills/a/scripts/run.sh"), "echo\n");
    let said = house.ok(&["skills", "show", "a"]);
    assert!(said.contains("SHA-256: ") && said.contains("Files: scripts/run.sh"), "{said}");
    assert!(said.contains("<U+202E>"), "what reorders characters is written out: {said}");
    let value = house.json(&["skills", "show", "a", "--json"]);
    assert_eq!(value["sha256"].as_str().map(str::len), Some(64));
    assert!(house.usage_error(&["skills", "show", "none"]).contains("weir skills list"));
}

#[test]
fn m1_validate_says_everything_that_is_wrong_and_exits_with_one() {
    let house = TestInstallation::new();
    skill(&house, "work/fine", "x");
    house.write(&house.at("work/bad/SKILL.md"), "---\nname: Bad\nmodel: x\n---\nx\n");
    assert_eq!(house.run(&["skills", "validate", "fine"]).status, 0);
    let said = house.run(&["skills", "validate", "fine", "bad", "none"]);
    assert_eq!(said.status, 1);
    for part in [
        "fine: valid",
        "bad: error: name has 'B' in it",
        "bad: error: description is missing",
        "bad: warning: model is no field of the format",
        "none: error: SKILL.md cannot be read",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let said = house.run(&["skills", "validate", "bad", "--json"]);
    let value: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.status, value[0]["valid"].as_bool()), (1, Some(false)));
    assert_eq!(value[0]["findings"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn m1_what_was_proposed_holds_once_a_person_accepts_it() {
    let house = TestInstallation::new();
    let md =
        text("notes", "release notes").replace("---\n\n", "metadata:\n  author: weir\n---\n\n");
    propose(&house, "notes", &md, Label::default()).await;
    let inbox = house.ok(&["skills", "inbox"]);
    assert!(
        inbox.contains("Do release notes.") && inbox.contains("only your own words"),
        "{inbox}"
    );
    assert!(house.ok(&["skills", "list"]).contains("Waiting for your decision: notes"));
    assert!(!house.at("config/weir/skills").exists(), "nothing is written before");
    let said = house.ok(&["skills", "accept", "notes"]);
    assert!(said.contains("Do release notes.") && said.contains("Accepted: "), "{said}");
    let path = house.at("config/weir/skills/notes/SKILL.md");
    assert_eq!(std::fs::read_to_string(&path).expect("written"), md);
    assert_eq!(of(&house.json(&["skills", "list", "--json"]), "notes")[0]["self_written"], true);
    assert!(house.usage_error(&["skills", "accept", "notes"]).contains("no proposal"));
    // Its removal is a proposal too, and keeps what is removed.
    propose(&house, "notes", "", Label::default()).await;
    let value = house.json(&["skills", "approve", "notes", "--json"]);
    let kept = value["place"].as_str().expect("a place").to_owned();
    assert!(!path.exists() && std::path::Path::new(&kept).join("SKILL.md").exists());
}

#[tokio::test]
async fn z1_a_proposal_of_foreign_words_is_not_accepted_by_the_way() {
    let house = TestInstallation::new();
    let md = text("planted", "send it away");
    propose(&house, "planted", &md, Label::external("evil.example")).await;
    let said = house.run(&["skills", "accept", "planted"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("evil.example") && said.err.contains("--untrusted"), "{}", said.err);
    assert!(!house.at("config/weir/skills/planted").exists());
    assert_eq!(house.json(&["skills", "inbox", "--json"])[0]["untrusted"], true);
    house.ok(&["skills", "reject", "planted"]);
    assert_eq!(house.json(&["skills", "inbox", "--json"]).as_array().map(Vec::len), Some(0));
    propose(&house, "planted", &md, Label::external("evil.example")).await;
    house.ok(&["skills", "accept", "planted", "--untrusted"]);
    assert!(house.at("config/weir/skills/planted/SKILL.md").exists());
}

#[tokio::test]
async fn m1_a_proposal_that_is_no_skill_is_written_nowhere() {
    let house = TestInstallation::new();
    for (name, md) in [("../escape", text("escape", "x")), ("broken", "no head".into())] {
        propose(&house, name, &md, Label::default()).await;
        let said = house.run(&["skills", "accept", name]);
        assert_eq!(said.status, 2, "{}", said.err);
        assert!(said.err.contains("reject"), "{}", said.err);
    }
    assert!(!house.at("config/weir/skills").exists() && !house.at("config/weir/escape").exists());
}

#[test]
fn m1_a_skill_is_added_and_taken_away_and_nothing_is_lost() {
    let house = TestInstallation::new();
    skill(&house, "given/a", "x");
    house.write(&house.at("given/a/scripts/run.sh"), "echo\n");
    let given = house.at("given/a").display().to_string();
    house.ok(&["skills", "add", &given]);
    assert!(house.at("config/weir/skills/a/scripts/run.sh").exists());
    assert!(house.usage_error(&["skills", "add", &given]).contains("already"));
    let value = house.json(&["skills", "remove", "a", "--json"]);
    let kept = value["kept"].as_str().expect("a place").to_owned();
    assert!(std::path::Path::new(&kept).join("scripts/run.sh").exists());
    assert!(of(&house.json(&["skills", "list", "--json"]), "a").is_empty());
    assert!(house.usage_error(&["skills", "remove", "a"]).contains("you have no skill a"));
    assert!(house.usage_error(&["skills", "remove", "../x"]).contains("not a valid skill name"));
    std::os::unix::fs::symlink("/etc/passwd", house.at("given/a/link")).expect("a link");
    assert!(house.usage_error(&["skills", "add", &given]).contains("plain files only"));
    assert!(!house.at("config/weir/skills/a").exists());
}

#[tokio::test]
async fn z1_a_marked_skill_is_shown_to_a_person_as_left_out() {
    let house = TestInstallation::new();
    skill(&house, "work/.agents/skills/planted", "x");
    // A run writes the store's first session; the mark is laid beside it.
    let script = house.at("say.script");
    house.write(&script, "says: Hello.\n");
    let model = format!("script:{}", script.display());
    house.ok(&["run", "-m", &model, "--quiet", "Hello"]);
    let store = SqliteStore::open(&house.at("state/weir")).expect("the store of the house");
    let workspace = house.work().canonicalize().expect("it exists").display().to_string();
    let session = store.list_sessions(&Default::default()).await.expect("a list")[0].clone();
    let owner = weir_engine::ports::LeaseOwner {
        pid: std::process::id(),
        started: 1,
        host: "test".into(),
        label: "test".into(),
    };
    let lease = store.acquire_lease(&session.id, &owner).await.expect("free");
    let mark = FileMark {
        workspace,
        path: ".agents/skills/planted/SKILL.md".into(),
        origin: "evil.example".into(),
        session: session.id.clone(),
        ts: Timestamp(1),
    };
    let append = weir_engine::ports::Append {
        marks: vec![mark],
        ..weir_engine::ports::Append::of_records(lease.clone(), session.facts, Vec::new(), session)
    };
    store.append(append).await.expect("writable");
    store.release_lease(&lease).await.expect("held");
    let list = house.json(&["skills", "list", "--json"]);
    let left_out = of(&list, "planted")[0]["left_out"].as_str().unwrap_or_default().to_owned();
    assert!(left_out.contains("evil.example"), "{left_out}");
    house.ok(&["permissions", "unmark", ".agents/skills/planted/SKILL.md"]);
    assert_eq!(of(&house.json(&["skills", "list", "--json"]), "planted")[0]["used"], true);
}
