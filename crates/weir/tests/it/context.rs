//! `weir context` from outside (X2, X6): the meter, what condensing would do, doing it, taking it
//! back.

use weir_test_kit::TestInstallation;

/// Five turns of reading, and a helper that summarises.
fn house() -> (TestInstallation, String) {
    let house = TestInstallation::new();
    for name in ["a", "b", "c", "d"] {
        let text = format!("{name} has a line of text\n").repeat(40);
        house.write(&house.work().join(format!("{name}.txt")), &text);
    }
    house.write(
        &house.at("read.script"),
        "order: requests\n\n\
         calls: read_file {\"path\": \"a.txt\"}\n\n\
         calls: read_file {\"path\": \"b.txt\"}\n\n\
         calls: read_file {\"path\": \"c.txt\"}\n\n\
         calls: read_file {\"path\": \"d.txt\"}\n\n\
         says: All four were read.\n",
    );
    house.write(
        &house.at("helper.script"),
        "says: <summary>Four files with forty lines each.</summary>\n",
    );
    let helper = house.at("helper.script");
    let settings = format!("[helpers]\ncondense = \"script:{}\"\n", helper.display());
    house.write(&house.user_config(), &settings);
    let model = format!("script:{}", house.at("read.script").display());
    (house, model)
}

#[test]
fn x6_the_meter_says_what_a_request_is_made_of() {
    let (house, model) = house();
    let fresh = house.json(&["context", "-m", &model, "--json"]);
    let sections = fresh["sections"].as_array().expect("a list");
    assert!(sections.iter().any(|s| s["section"] == "security"), "{fresh}");
    assert!(fresh["tools"].as_u64() > Some(1_000), "{fresh}");
    house.ok(&["run", "-m", &model, "Read the four files."]);
    let shown = house.json(&["context", "last", "--json"]);
    let meter = &shown["meter"];
    let part = |name: &str| meter[name].as_u64().unwrap_or_else(|| panic!("{name}: {shown}"));
    let used: u64 =
        ["system", "tools", "notes", "history", "results"].iter().map(|name| part(name)).sum();
    assert_eq!(used + part("free"), part("window"), "{shown}");
    // Four results of about a thousand characters each.
    assert!((400..4_000).contains(&part("results")), "{shown}");
    assert!(part("last_bytes") > part("last_kept"), "{shown}");
    let text = house.ok(&["context", "last"]);
    for words in
        ["results", "free", "nothing was condensed", "4 calls", "unchanged since the one before"]
    {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn x2_a_person_previews_condenses_and_takes_it_back() {
    let (house, model) = house();
    house.ok(&["run", "-m", &model, "Read the four files."]);
    let before = house.json(&["context", "last", "--json"])["meter"]["results"].clone();
    let preview = house.json(&["context", "last", "--preview", "--json"]);
    assert_eq!(preview["pass"], 3, "{preview}");
    let facts = house.json(&["sessions", "show", "last", "--json"])["facts"].clone();
    let done = house.ok(&["context", "last", "--condense", "-m", &model]);
    assert!(done.contains("undoes it"), "{done}");
    let now = house.json(&["context", "last", "--json"]);
    assert_eq!(now["condensed"][0]["reason"], "asked", "{now}");
    assert!(now["meter"]["results"].as_u64() < before.as_u64(), "{now}");
    assert_ne!(house.json(&["sessions", "show", "last", "--json"])["facts"], facts);
    // The model sees the summary and what the session itself knows.
    house.write(
        &house.at("again.script"),
        "order: requests\n\n\
         expect: body \"Four files with forty lines each.\"\n\
         expect: body \"a.txt: read\"\n\
         says: As I said.\n",
    );
    let again = format!("script:{}", house.at("again.script").display());
    let said = house.ok(&["run", "-m", &again, "--resume", "last", "And?"]);
    assert!(said.contains("As I said."), "{said}");
    house.usage_error(&["context", "nosuchsession", "--condense"]);
    let back = house.ok(&["context", "last", "--undo", "-m", &model]);
    assert!(back.contains("undone"), "{back}");
    let again = house.usage_error(&["context", "last", "--undo", "-m", &model]);
    assert!(again.contains("only the last one"), "{again}");
    assert!(house.ok(&["replay", "last"]).contains("the same"), "the journal plays again");
}

/// The helper of this house must be told this, and has one answer.
fn told(house: &TestInstallation, words: &str) {
    let text = format!("expect: body \"> {words}\"\nsays: <summary>It kept {words}.</summary>\n");
    house.write(&house.at("helper.script"), &text);
}

#[test]
fn x2_keep_says_what_the_summary_must_keep() {
    let (house, model) = house();
    house.ok(&["run", "-m", &model, "Read the four files."]);
    let alone = house.usage_error(&["context", "last", "--keep", "the names"]);
    assert!(alone.contains("--condense"), "{alone}");
    let long = "x".repeat(2_001);
    let long = house.usage_error(&["context", "last", "--condense", "--keep", &long]);
    assert!(long.contains("at most 2000"), "{long}");
    told(&house, "the names of the tables");
    let keep = ["--keep", "the names of the tables"];
    let done = house.run(&[&["context", "last", "--condense", "-m", &model], &keep[..]].concat());
    assert!(!done.err.contains("no summary"), "the helper was told: {}", done.err);
    let exported = house.ok(&["sessions", "export", "last", "--format", "jsonl"]);
    assert!(exported.contains("\"keep\":\"the names of the tables\""), "{exported}");
    assert!(exported.contains("It kept the names of the tables."), "{exported}");
    assert!(house.ok(&["replay", "last"]).contains("the same"), "the journal plays again");
}

#[tokio::test]
async fn f1_compact_says_what_the_summary_must_keep() {
    let (house, model) = house();
    told(&house, "the names of the tables");
    let mut face = house.start_face(&[], &["-m", &model]);
    face.type_line("Read the four files.");
    face.until("All four were read.", 1).await;
    face.type_line(&format!("/compact {}", "x".repeat(2_001)));
    face.until("at most 2000", 1).await;
    face.type_line("/compact the names of the tables");
    face.until("in a shorter form", 1).await;
    let said = face.text();
    assert!(said.contains("The summary is to keep: the names of the tables."), "{said}");
    assert!(!said.contains("not passed on") && !said.contains("No summary"), "{said}");
}
