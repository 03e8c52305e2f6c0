//! `weir recipes` from outside (M5, L16): written ones, learned ones, and a person's word about them.

use serde_json::{Value, json};
use weir_core::governance::label::Label;
use weir_core::ids::{RunId, SessionId, Timestamp};
use weir_core::memory::MemorySource;
use weir_core::recipe::{LearnedRecipe, Recipe, RecipeEvidence, RecipeUse};
use weir_engine::ports::{Append, LeaseOwner, Proposal, SessionMeta, Store};
use weir_store::SqliteStore;
use weir_test_kit::TestInstallation;

const MINE: &str = "# Mine.\nid = \"tidy\"\nname = \"Tidy up\"\ndescription = \"Tidies.\"\n\
                    triggers = [\"tidy\"]\n\n[[parameters]]\nname = \"path\"\n\n[[steps]]\n\
                    tool = \"read_file\"\ninput = { path = \"{{path}}\" }\n";

fn mine(house: &TestInstallation, text: &str) -> String {
    let path = house.at("given/mine.toml");
    house.write(&path, text);
    path.display().to_string()
}

fn store(house: &TestInstallation) -> SqliteStore {
    SqliteStore::open(&house.at("state/weir")).expect("the store of the house")
}

fn of<'a>(list: &'a Value, id: &str) -> &'a Value {
    let recipes = list["recipes"].as_array().expect("a list");
    recipes.iter().find(|recipe| recipe["id"] == id).unwrap_or(&Value::Null)
}

async fn propose(house: &TestInstallation, id: &str, label: Label) {
    let recipe: Recipe = serde_json::from_value(json!({
        "id": id, "name": "Add … shopping list", "description": "For messages like that.",
        "triggers": ["add", "shopping list"],
        "parameters": [{"name": "what"}], "source": "learned", "label": label,
        "steps": [{"tool": "append_to_file", "input": {"path": "a.md", "content": "{{what}}"}}],
    }))
    .expect("a recipe");
    let run = |n: u32| RecipeEvidence {
        session: SessionId::new(format!("s{n}")),
        run: RunId(n),
        ts: Timestamp(1_767_367_800_000_000),
    };
    let learned = LearnedRecipe { recipe, evidence: vec![run(3), run(2), run(1)] };
    let proposal = Proposal {
        what: "recipe".into(),
        name: id.into(),
        text: serde_json::to_string(&learned).expect("JSON"),
        source: MemorySource { by: "runs".into(), ..MemorySource::default() },
        label,
        ts: Timestamp(1_767_367_800_000_000),
    };
    store(house).propose(&proposal).await.expect("writable");
}

/// Runs made this of a recipe.
async fn used(house: &TestInstallation, id: &str, successes: usize, failures: usize) {
    let store = store(house);
    let session = SessionId::new("earlier");
    let owner =
        LeaseOwner { pid: 4_000_000, started: 1, host: "test".into(), label: "test".into() };
    let lease = store.acquire_lease(&session, &owner).await.expect("free");
    let one = |ok| (RecipeUse { recipe: id.into(), fast: false, ok }, Timestamp(7));
    let uses = vec![one(true); successes].into_iter().chain(vec![one(false); failures]);
    let append = Append {
        recipe_use: uses.collect(),
        ..Append::of_records(
            lease.clone(),
            0,
            Vec::new(),
            SessionMeta {
                id: session,
                workspace: String::new(),
                title: String::new(),
                model: String::new(),
                profile: String::new(),
                status: "idle".into(),
                created: Timestamp(1),
                updated: Timestamp(1),
                facts: 0,
                parent: None,
            },
        )
    };
    store.append(append).await.expect("writable");
    store.release_lease(&lease).await.expect("held");
}

#[test]
fn m5_a_person_adds_shows_and_removes_a_recipe() {
    let house = TestInstallation::new();
    let list = house.ok(&["recipes", "list"]);
    for part in ["weekly-review", "bundled", "+0 (0 ok, 0 failed)", "told", "never used"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    house.ok(&["recipes", "add", &mine(&house, MINE)]);
    let path = house.at("config/weir/recipes/tidy.toml");
    assert_eq!(std::fs::read_to_string(&path).expect("written"), MINE);
    let list = house.json(&["recipes", "list", "--json"]);
    let found = of(&list, "tidy");
    assert_eq!((&found["source"], &found["state"]), (&"written".into(), &"told".into()));
    let shown = house.ok(&["recipes", "show", "tidy"]);
    for part in ["Tidy up", "Triggers: tidy", "Parameter path", "Step 1: read_file {\"path\":"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let whole = house.json(&["recipes", "show", "tidy", "--json"]);
    assert_eq!(whole["recipe"]["steps"][0]["tool"], "read_file");
    assert!(house.usage_error(&["recipes", "add", &mine(&house, MINE)]).contains("already"));
    let kept = house.json(&["recipes", "remove", "tidy", "--json"]);
    let kept = std::path::PathBuf::from(kept["kept"].as_str().expect("a place"));
    assert!(kept.exists() && !path.exists());
    assert!(house.usage_error(&["recipes", "show", "tidy"]).contains("there is no recipe tidy"));
    assert!(house.usage_error(&["recipes", "remove", "../x"]).contains("there is no recipe"));
    assert!(
        house.usage_error(&["recipes", "remove", "weekly-review"]).contains("with the program")
    );
}

#[test]
fn m5_what_is_wrong_with_a_file_is_said_with_its_line() {
    let house = TestInstallation::new();
    for (text, words) in [
        ("id = oops\n".to_owned(), "mine.toml:1: "),
        (MINE.replace("{{path}}", "{{file}}"), "mine.toml:10: steps[0].input: {{file}}"),
        (MINE.replace("[\"tidy\"]", "[]"), "mine.toml:5: triggers: there are none"),
        (MINE.replace("id = \"tidy\"", "id = \"../tidy\""), "mine.toml:2: id: "),
    ] {
        let said = house.usage_error(&["recipes", "add", &mine(&house, &text)]);
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!house.at("config/weir/recipes").exists());
    // A tool that is not there now may be one of a server: it is said, and no more.
    let said = house.run(&["recipes", "add", &mine(&house, &MINE.replace("read_file", "reed"))]);
    assert_eq!(said.status, 0);
    assert!(said.err.contains("there is no tool \"reed\""), "{}", said.err);
    // A file that breaks later is a warning, and the others count.
    house.write(&house.at("config/weir/recipes/other.toml"), "id = 7\nname = \n");
    let list = house.json(&["recipes", "list", "--json"]);
    assert!(of(&list, "tidy").is_object());
    let notice = list["notices"][0].as_str().expect("a notice");
    assert!(notice.contains("other.toml:2: "), "{notice}");
    assert!(house.ok(&["recipes", "list"]).contains("warning: "));
    // A run says it too, and goes on.
    let script = house.at("say.script");
    house.write(&script, "says: Hello.\n");
    let said = house.run(&["run", "-m", &format!("script:{}", script.display()), "Hello"]);
    assert_eq!(said.status, 0);
    assert!(said.err.contains("other.toml:2: "), "{}", said.err);
}

#[tokio::test]
async fn m5_a_learned_recipe_waits_for_a_person() {
    let house = TestInstallation::new();
    propose(&house, "learned-add-1", Label::default()).await;
    let list = house.ok(&["recipes", "list"]);
    assert!(
        list.contains(
            "Waiting for your decision: learned-add-1 “Add … shopping list”, from 3 runs"
        ),
        "{list}"
    );
    let shown = house.ok(&["recipes", "show", "learned-add-1"]);
    assert!(shown.contains("Learned from:\n  s3 r3 ") && shown.contains("(deleted)"), "{shown}");
    let value = house.json(&["recipes", "list", "--json"]);
    assert_eq!(value["proposals"][0]["evidence"].as_array().map(Vec::len), Some(3));
    assert_eq!(of(&value, "learned-add-1"), &Value::Null);

    let said = house.ok(&["recipes", "accept", "learned-add-1"]);
    assert!(said.contains("Step 1: append_to_file") && said.contains("Accepted"), "{said}");
    let value = house.json(&["recipes", "list", "--json"]);
    assert_eq!(of(&value, "learned-add-1")["source"], "learned");
    assert_eq!(value["proposals"], json!([]));
    // Not for certain messages.
    house.ok(&["recipes", "reject", "learned-add-1", "--for", "wish list"]);
    let whole = house.json(&["recipes", "show", "learned-add-1", "--json"]);
    assert_eq!(whole["recipe"]["excludes"], json!(["wish list"]));
    // Not at all, and back again.
    house.ok(&["recipes", "reject", "learned-add-1"]);
    assert!(house.usage_error(&["recipes", "show", "learned-add-1"]).contains("was rejected"));
    assert_eq!(house.json(&["recipes", "list", "--json"])["rejected"][0]["id"], "learned-add-1");
    house.ok(&["recipes", "accept", "learned-add-1"]);
    assert!(house.ok(&["recipes", "show", "learned-add-1"]).contains("Not for: wish list"));
    house.ok(&["recipes", "remove", "learned-add-1"]);
    assert_eq!(of(&house.json(&["recipes", "list", "--json"]), "learned-add-1"), &Value::Null);
    assert!(house.usage_error(&["recipes", "accept", "nothing"]).contains("there is no recipe"));
}

#[tokio::test]
async fn z1_a_recipe_of_foreign_words_is_not_accepted_by_the_way() {
    let house = TestInstallation::new();
    propose(&house, "learned-planted", Label::external("evil.example")).await;
    let said = house.run(&["recipes", "accept", "learned-planted"]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("evil.example") && said.err.contains("--untrusted"), "{}", said.err);
    assert!(house.ok(&["recipes", "list"]).contains("UNTRUSTED: learned-planted"));
    house.ok(&["recipes", "accept", "learned-planted", "--untrusted"]);
    let list = house.json(&["recipes", "list", "--json"]);
    assert_eq!(of(&list, "learned-planted")["untrusted"], true);
    // Rejected and wanted again, it is as foreign as before.
    house.ok(&["recipes", "reject", "learned-planted"]);
    let said = house.usage_error(&["recipes", "accept", "learned-planted"]);
    assert!(said.contains("--untrusted"), "{said}");
}

#[tokio::test]
async fn m5_a_demoted_recipe_gets_another_chance_by_a_person() {
    let house = TestInstallation::new();
    used(&house, "weekly-review", 3, 4).await;
    used(&house, "find-todos", 3, 0).await;
    let list = house.json(&["recipes", "list", "--json"]);
    let demoted = of(&list, "weekly-review");
    assert_eq!((&demoted["state"], &demoted["points"]), (&"demoted".into(), &(-1).into()));
    assert_eq!(of(&list, "find-todos")["state"], "fast");
    assert!(house.ok(&["recipes", "show", "weekly-review"]).contains("Demoted: "));
    let said = house.ok(&["recipes", "accept", "weekly-review"]);
    assert!(said.contains("points start from zero"), "{said}");
    let list = house.json(&["recipes", "list", "--json"]);
    assert_eq!(
        (&of(&list, "weekly-review")["state"], &of(&list, "weekly-review")["points"]),
        (&"told".into(), &0.into())
    );
    // One of the program is switched off by name, and back.
    house.ok(&["recipes", "reject", "weekly-review"]);
    assert_eq!(of(&house.json(&["recipes", "list", "--json"]), "weekly-review"), &Value::Null);
    house.ok(&["recipes", "accept", "weekly-review"]);
    assert_eq!(
        of(&house.json(&["recipes", "list", "--json"]), "weekly-review")["source"],
        "bundled"
    );
    // Or copied among one's own, where it is not for certain messages.
    house.ok(&["recipes", "reject", "find-todos", "--for", "todo app"]);
    let list = house.json(&["recipes", "list", "--json"]);
    assert_eq!(
        (&of(&list, "find-todos")["source"], &of(&list, "find-todos")["points"]),
        (&"written".into(), &3.into())
    );
    let text = std::fs::read_to_string(house.at("config/weir/recipes/find-todos.toml"));
    let text = text.expect("written");
    assert!(text.starts_with("# Where something is left to do") && text.contains("\"todo app\""));
    let said = house.usage_error(&["recipes", "reject", "find-todos", "--for", "?!"]);
    assert!(said.contains("it has no word"), "{said}");
    assert!(
        house.usage_error(&["recipes", "reject", "find-todos"]).contains("weir recipes remove")
    );
}

#[test]
fn m5_settings_are_checked_and_a_workspace_widens_none() {
    let house = TestInstallation::new();
    house.write(&house.user_config(), "[recipes]\nfloor = 1.5\n");
    let said = house.usage_error(&["config", "show", "--json"]);
    assert!(said.contains("config.toml:2: recipes.floor is 1.5: set 0 to 1"), "{said}");
    house.write(&house.user_config(), "[recipes]\nfloor = 0.7\nlearn = false\n");
    let project = "[recipes]\naccept_learned = true\nlearn = true\nfloor = 0.1\n";
    house.write(&house.project_config(), project);
    let get = |key: &str| house.ok(&["config", "get", key]).trim().to_owned();
    assert_eq!(get("recipes.accept_learned"), "false");
    assert_eq!(get("recipes.learn"), "false");
    assert_eq!(get("recipes.floor"), "0.7");
    house.write(&house.project_config(), "[recipes]\nenabled = false\nfloor = 0.9\n");
    assert_eq!((get("recipes.enabled"), get("recipes.floor")), ("false".into(), "0.9".into()));
}

/// “Add X to the shopping list” with the calls that a model makes for it.
fn shops(house: &TestInstallation, what: &str) -> Value {
    shops_as(house, what, &format!("Add {what} to the shopping list"))
}

fn shops_as(house: &TestInstallation, what: &str, said: &str) -> Value {
    let script = house.at("shop.script");
    let text = format!(
        "calls: read_file {{\"path\": \"shopping.md\"}}\n\ncalls: append_to_file {{\"path\": \
         \"shopping.md\", \"content\": \"- [ ] {what}\\n\"}}\n\nsays: It is on the list.\n"
    );
    house.write(&script, &text);
    run(house, &script, said)
}

/// Other words for the same task give a recipe of another id, and three of its runs would propose the step
/// once more that the person took out.
#[test]
fn m5_r10_what_a_person_took_out_of_a_learned_recipe_is_not_proposed_again() {
    let house = TestInstallation::new();
    house.write(&house.work().join("shopping.md"), "# Shopping\n");
    for what in ["milk", "brown bread", "eggs"] {
        shops(&house, what);
    }
    let waits = |house: &TestInstallation| {
        let list = house.json(&["recipes", "list", "--json"]);
        list["proposals"].as_array().expect("a list").clone()
    };
    let id = waits(&house)[0]["id"].as_str().expect("a recipe waits").to_owned();
    let accept = ["recipes", "accept", &id];
    let shown = house.json(&[&accept[..], &["--preview", "--json"]].concat());
    let text = shown["editable"].as_str().expect("a file");
    let parts: Vec<&str> = text.split("[[steps]]").collect();
    let [head, _, second] = parts[..] else { panic!("two steps: {text}") };
    let own = format!("{head}[[steps]]{second}");
    let words = [&accept[..], &["--text", &own]].concat();
    let shown = house.json(&[&words[..], &["--preview", "--json"]].concat());
    let hash = shown["as_shown"].as_str().expect("a hash");
    house.ok(&[&words[..], &["--as-shown", hash]].concat());
    for what in ["tea", "rice", "salt", "figs"] {
        shops_as(&house, what, &format!("Put {what} on the shopping list"));
    }
    assert_eq!(waits(&house), Vec::<Value>::new());
    let kept = house.json(&["recipes", "show", &id, "--json"]);
    assert_eq!(kept["recipe"]["steps"].as_array().map(Vec::len), Some(1), "{kept}");
}

fn run(house: &TestInstallation, script: &std::path::Path, said: &str) -> Value {
    let model = format!("script:{}", script.display());
    let args = ["run", "-m", &model, "--permission", "auto-edit", "--output", "json", said];
    house.json(&args)
}

/// Two programs at once in one store: what each did counts once, and one recipe is proposed.
#[test]
fn m5_two_programs_learn_one_recipe_and_count_together() {
    let house = TestInstallation::new();
    house.write(&house.work().join("shopping.md"), "# Shopping\n");
    // A file each, so that the programs are not in each other's way there.
    let start = |what: &str| {
        let path = house.at(&format!("{what}.script"));
        let text = format!(
            "calls: read_file {{\"path\": \"shopping.md\"}}\n\ncalls: write_file {{\"path\": \
             \"{what}.md\", \"content\": \"Buy it.\"}}\n\nsays: It is noted.\n"
        );
        house.write(&path, &text);
        let said = format!("Note {what} for the shopping tour");
        let model = format!("script:{}", path.display());
        let args = ["run", "-m", &model, "--permission", "auto-edit", "--quiet", &said];
        house.command(&args).stdout(std::process::Stdio::null()).spawn().expect("it starts")
    };
    let all = |things: &[&str]| {
        let children: Vec<_> = things.iter().map(|what| start(what)).collect();
        for mut child in children {
            assert!(child.wait().expect("it ends").success());
        }
    };
    all(&["milk"]);
    all(&["bread", "eggs"]);
    let list = house.json(&["recipes", "list", "--json"]);
    assert_eq!(list["proposals"].as_array().map(Vec::len), Some(1), "{list}");
    let id = list["proposals"][0]["id"].as_str().expect("a recipe waits").to_owned();
    assert_eq!(list["proposals"][0]["evidence"].as_array().map(Vec::len), Some(3));
    assert_eq!(list["proposals"][0]["recipe"]["steps"][1]["input"]["path"], "{{path}}.md");
    house.ok(&["recipes", "accept", &id]);
    all(&["tea", "rice"]);
    assert_eq!(of(&house.json(&["recipes", "list", "--json"]), &id)["points"], 2);
}

/// The whole way, with the real program: solved three times, proposed, accepted, told three times,
/// then followed by itself with one call of the planner and one of the model.
#[test]
fn m5_l16_a_recipe_is_learned_accepted_and_takes_the_fast_path() {
    let house = TestInstallation::new();
    house.write(&house.work().join("shopping.md"), "# Shopping\n");
    let waiting =
        |house: &TestInstallation| house.json(&["recipes", "list", "--json"])["proposals"].clone();
    for what in ["milk", "brown bread"] {
        shops(&house, what);
        assert_eq!(waiting(&house), json!([]));
    }
    shops(&house, "eggs");
    let waits = waiting(&house);
    let id = waits[0]["id"].as_str().expect("a recipe waits").to_owned();
    assert_eq!(waits[0]["evidence"].as_array().map(Vec::len), Some(3));
    assert_eq!(waits[0]["untrusted"], false);
    let shown = house.ok(&["recipes", "show", &id]);
    for part in ["“Add eggs to the shopping list”", "Add … shopping list", "{{content}}"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    house.ok(&["recipes", "accept", &id]);

    let mut normal = Value::Null;
    for (n, what) in ["tea", "rice", "salt"].iter().enumerate() {
        normal = shops(&house, what);
        let standing = house.json(&["recipes", "list", "--json"]);
        assert_eq!(of(&standing, &id)["points"], n + 1, "used and completed");
    }
    assert_eq!(normal["iterations"], 3);
    // What followed the recipe is no news about another one.
    assert_eq!(waiting(&house), json!([]));

    let plan = house.at("plan.script");
    house.write(
        &plan,
        "says: [{\"tool\": \"read_file\", \"input\": {\"path\": \"shopping.md\"}}, {\"tool\": \
         \"append_to_file\", \"input\": {\"path\": \"shopping.md\", \"content\": \"- [ ] figs\\n\"}}]\n",
    );
    let config = format!("[helpers]\nplan = \"script:{}\"\n", plan.display());
    house.write(&house.user_config(), &config);
    let script = house.at("answer.script");
    house.write(&script, "expect: \"All 2 steps are done\"\nsays: Figs are on the list.\n");
    let fast = run(&house, &script, "Add figs to the shopping list");
    assert_eq!((&fast["iterations"], &fast["tool_calls"]), (&1.into(), &2.into()), "{fast}");
    assert_eq!(fast["recipe"], json!({ "recipe": id, "fast": true, "ok": true }));
    let list = std::fs::read_to_string(house.work().join("shopping.md")).expect("it is there");
    assert!(list.ends_with("- [ ] salt\n- [ ] figs\n"), "{list}");
    assert_eq!(of(&house.json(&["recipes", "list", "--json"]), &id)["state"], "fast");
}
