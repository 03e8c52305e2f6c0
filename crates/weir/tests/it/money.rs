//! Money through the program (R11): what was used and what caches missed, prices with their day, and caps that
//! refuse before anybody is asked. A stand-in for a vendor counts what it was asked.

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, HttpAnswer, HttpStandIn, TestInstallation};

/// A vendor that answers everything with one sentence, and counts so many tokens.
fn vendor(input: u64, cached: u64) -> HttpStandIn {
    HttpStandIn::start(move |request, _| match request.path().ends_with("/chat/completions") {
        true => HttpAnswer::new(200, "text/event-stream", reply(input, cached)),
        false => HttpAnswer::new(404, "text/plain", "404 page not found"),
    })
}

/// One that says what it answers, and counts nothing. `whole`: it also says that this was all.
fn silent_vendor(whole: bool) -> HttpStandIn {
    HttpStandIn::start(move |request, _| match request.path().ends_with("/chat/completions") {
        true => HttpAnswer::new(200, "text/event-stream", uncounted_reply(whole)),
        false => HttpAnswer::new(404, "text/plain", "404 page not found"),
    })
}

fn uncounted_reply(whole: bool) -> String {
    let all = reply(1, 0);
    let pieces: Vec<&str> = all.split_inclusive("\n\n").collect();
    let counted = |piece: &&&str| piece.contains("\"usage\"");
    match whole {
        true => pieces.iter().filter(|piece| !counted(piece)).copied().collect(),
        false => pieces[0].to_owned(),
    }
}

fn reply(input: u64, cached: u64) -> String {
    let piece = |delta: Value, why: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": why });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let usage = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [], "usage": { "prompt_tokens": input, "completion_tokens": 100,
        "total_tokens": input + 100, "prompt_tokens_details": { "cached_tokens": cached } } });
    let said = piece(json!({ "role": "assistant", "content": "Hello there." }), Value::Null);
    format!("{said}{}data: {usage}\n\ndata: [DONE]\n\n", piece(json!({}), json!("stop")))
}

const PRICE: &str = "price = { input = 2.0, output = 10.0, cache_read = 0.2 }";

/// A house whose model is the vendor's. `model`: lines of its table; `rest`: more of the settings.
fn house(vendor: &HttpStandIn, model: &str, rest: &str) -> TestInstallation {
    let house = TestInstallation::new();
    let address = vendor.address();
    house.write(
        "config/weir/config.toml",
        &format!(
            "model = \"acme/large\"\n{rest}\n[providers.acme]\ndialect = \"openai-chat\"\n\
             base_url = \"http://{address}/v1\"\n[models.\"acme/large\"]\nwindow = 200000\nmax_output = \
             1000\nabilities = [\"tools\"]\n{model}\n"
        ),
    );
    house
}

fn asked(vendor: &HttpStandIn) -> usize {
    vendor.requests().iter().filter(|request| request.path().ends_with("/completions")).count()
}

fn run(house: &TestInstallation, args: &[&str]) -> CommandOutput {
    let mut all = vec!["run", "--output", "json"];
    all.extend(args);
    house.run(&all)
}

fn finished(output: &CommandOutput) -> Value {
    serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

#[test]
fn r11_usage_by_day_model_and_session_with_each_miss_and_its_cost() {
    let vendor = vendor(50_000, 0);
    let house = house(&vendor, PRICE, "");
    assert!(house.ok(&["usage"]).contains("No cache miss"));
    let first = finished(&run(&house, &["Say hello."]));
    let session = first["session"].as_str().expect("a session").to_owned();
    assert_eq!(run(&house, &["--resume", &session, "Once more."]).status, 0);

    let told = house.json(&["usage", "--json"]);
    let total = &told["total"];
    assert_eq!(
        (&total["replies"], &total["runs"], &total["input"]),
        (&json!(2), &json!(2), &json!(100_000))
    );
    let cost = total["cost_usd"].as_f64().expect("priced");
    assert!((cost - 2.0 * (0.1 + 0.001)).abs() < 1e-9, "{cost}");
    assert_eq!(told["rows"].as_array().map(Vec::len), Some(1), "one day");

    let miss = &told["misses"]["list"][0];
    assert_eq!((&miss["cause"], &miss["session"]), (&json!("restarted"), &json!(session)));
    assert_eq!((&miss["expected"], &miss["served"]), (&json!(50_000), &json!(0)));
    let lost = miss["cost_usd"].as_f64().expect("priced");
    assert!((lost - 0.05 * (2.0 - 0.2)).abs() < 1e-9, "{lost}");

    let by_session = house.json(&["usage", "--by", "session", "--json"]);
    let row = &by_session["rows"][0];
    assert_eq!((&row["name"], &row["title"]), (&json!(session), &json!("Say hello.")));
    assert_eq!(house.json(&["usage", "--by", "model", "--json"])["rows"][0]["name"], "acme/large");
    let text = house.ok(&["usage", "--misses"]);
    for words in ["$0.20", "$0.09", "Weir was started again in between", "together", &session] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // What is gone has been spent all the same.
    house.ok(&["sessions", "delete", &session, "--yes"]);
    let by_session = house.json(&["usage", "--by", "session", "--json"]);
    assert_eq!(by_session["rows"][0]["name"], "(other sessions)");
    assert_eq!(by_session["total"]["replies"], 2);
    let wrong = house.run(&["usage", "--from", "2026-02-30"]);
    assert_eq!(wrong.status, 2, "{wrong:?}");
}

#[test]
fn r11_what_a_judge_model_used_is_in_every_sum_of_usage() {
    let house = TestInstallation::new();
    let judge = "price: input=4 output=20\n\nsays: FITS\nusage: input=500 output=10\n";
    house.write("judge.script", judge);
    let used = "usage: input=1000 output=100\n";
    let write = "write_file {\"path\": \"a.txt\", \"content\": \"new\"}";
    let judge = house.at("judge.script").display().to_string();
    house.set_scripted_model(
        &format!("price: input=2 output=10\n\ncalls: {write}\n{used}\nsays: Written.\n{used}"),
        &format!("[security]\nvalidate_output = true\n[helpers]\njudge = \"script:{judge}\"\n"),
    );
    let output = run(&house, &["--permission", "full", "Write it."]);
    let ended = finished(&output);
    assert_eq!((output.status, house.at("work/a.txt").exists()), (0, true), "{output:?}");

    // Two replies of the session's model, and one of the judge.
    let (all, all_usd) = (json!([2_500, 210, 3, 0]), 2.0 * 0.003 + 0.0022);
    let check = |row: &Value, counts: &Value, usd: f64| {
        let found = json!([row["input"], row["output"], row["replies"], row["unpriced"]]);
        assert_eq!(&found, counts, "{row}");
        let cost = row["cost_usd"].as_f64().expect("priced");
        assert!((cost - usd).abs() < 1e-9, "{row}");
    };
    let by_day = house.json(&["usage", "--json"]);
    check(&by_day["total"], &all, all_usd);
    check(&by_day["rows"][0], &all, all_usd);
    let by_session = house.json(&["usage", "--by", "session", "--json"]);
    assert_eq!(by_session["rows"][0]["name"], ended["session"]);
    check(&by_session["rows"][0], &all, all_usd);
    let by_model = house.json(&["usage", "--by", "model", "--json"]);
    assert_eq!(by_model["rows"][1]["name"], "(helper models)", "{by_model}");
    check(&by_model["rows"][1], &json!([500, 10, 1, 0]), 0.0022);
    assert!(house.ok(&["usage", "--by", "model"]).contains("(helper models)"));
}

#[test]
fn r11_a_cap_refuses_before_anybody_is_asked() {
    let vendor = vendor(50_000, 0);
    let house = house(&vendor, PRICE, "[spending]\nday_usd = 0.05\n");
    assert_eq!(run(&house, &["Say hello."]).status, 0);
    assert_eq!(asked(&vendor), 1, "one goes beyond");
    for _ in 0..2 {
        let output = run(&house, &["And again."]);
        let told = finished(&output);
        assert_eq!((output.status, told["status"].as_str()), (3, Some("budget")), "{output:?}");
        let why = told["error"].as_str().expect("a reason");
        assert!(why.contains("day_usd") && why.contains("0.1010 of 0.05"), "{why}");
    }
    assert_eq!(asked(&vendor), 1, "nobody else was asked");
    let text = house.ok(&["usage"]);
    assert!(text.contains("spending.day_usd") && text.contains("$0.10 of $0.05 today"), "{text}");
    // The journal says so, and plays again.
    let session = house.json(&["sessions", "list", "--json"])[0]["id"].clone();
    let session = session.as_str().expect("an id");
    house.ok(&["replay", session]);
}

#[test]
fn r11_a_session_cap_holds_over_its_runs() {
    let vendor = vendor(50_000, 0);
    let house = house(&vendor, PRICE, "[spending]\nsession_usd = 0.15\n");
    let session = finished(&run(&house, &["One."]))["session"].as_str().expect("one").to_owned();
    assert_eq!(run(&house, &["--resume", &session, "Two."]).status, 0);
    let output = run(&house, &["--resume", &session, "Three."]);
    assert_eq!((output.status, finished(&output)["status"].as_str()), (3, Some("budget")));
    assert_eq!(asked(&vendor), 2);
    assert_eq!(run(&house, &["Another."]).status, 0, "another session has its own");
}

#[test]
fn r11_an_unknown_price_passes_no_cap_and_a_price_of_nothing_does() {
    let vendor = vendor(50_000, 0);
    let house = house(&vendor, "", "[spending]\nday_usd = 5.0\n");
    let output = run(&house, &["Say hello."]);
    let why = finished(&output)["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!((output.status, asked(&vendor)), (3, 0), "{output:?}");
    assert!(why.contains("unknown price is not nothing"), "{why}");
    house.ok(&["models", "prices", "acme/large", "--input", "0", "--output", "0"]);
    assert_eq!(run(&house, &["Say hello."]).status, 0);
    assert_eq!(asked(&vendor), 1);
}

#[test]
fn r11_prices_are_shown_with_their_day_set_and_taken_back() {
    let vendor = vendor(1, 0);
    let house = house(&vendor, "", "");
    let all = house.json(&["models", "prices", "--json"]);
    let rows = all.as_array().expect("a list");
    assert!(rows.len() > 40, "{}", rows.len());
    for row in rows {
        let day = row["priced_on"].as_str().unwrap_or_default();
        assert!(row["price"].is_object() && day.len() == 10, "{row}");
    }
    let one = |model: &str| house.json(&["models", "prices", model, "--json"])[0].clone();
    assert_eq!(one("acme/large")["price"], Value::Null);
    let known = one("anthropic/claude-sonnet-4-5")["price"].clone();
    let set = ["--input", "1.5", "--output", "6", "--cache-read", "0.15", "--on", "2026-11-20"];
    for model in ["acme/large", "anthropic/claude-sonnet-4-5"] {
        let mut words = vec!["models", "prices", model];
        words.extend(set);
        house.ok(&words);
        let row = one(model);
        let price = (&row["price"]["input"], &row["price"]["cache_read"]);
        assert_eq!(price, (&json!(1.5), &json!(0.15)), "{row}");
        assert_eq!((&row["priced_on"], &row["from"]), (&json!("2026-11-20"), &json!("settings")));
    }
    assert_eq!(one("anthropic/claude-sonnet-4-5")["built_in"], known);
    house.ok(&["models", "prices", "anthropic/claude-sonnet-4-5", "--unset"]);
    assert_eq!(one("anthropic/claude-sonnet-4-5")["price"], known);
    assert!(house.ok(&["models", "prices", "acme/large"]).contains("your settings"));
}

#[test]
fn r11_nonsense_is_no_price_and_no_cap() {
    let vendor = vendor(1, 0);
    let house = house(&vendor, "", "");
    for (words, why) in [
        (&["--input=-1", "--output", "2"][..], "from 0 to"),
        (&["--input", "NaN", "--output", "2"], "from 0 to"),
        (&["--input", "3000000", "--output", "2"], "from 0 to"),
        (&["--input", "1", "--output", "2", "--cache-read", "5"], "costs less"),
        (&["--input", "1", "--output", "2", "--on", "tomorrow"], "is no day"),
        (&["--input", "1"], "--output"),
        (&["--input", "-3", "--output", "2"], "from 0 to"),
        (&["--unset"], "name no price"),
    ] {
        let mut all = vec!["models", "prices", "acme/large"];
        all.extend(words);
        let output = house.run(&all);
        assert!(output.status == 2 && output.err.contains(why), "{words:?}: {output:?}");
    }
    for (line, why) in [
        ("[spending]\nday_usd = -1.0", "spending.day_usd must be an amount above 0"),
        ("[spending]\nschedule_usd = -1.0", "0 means no cap"),
        ("[models.\"a/b\"]\nprice = { input = -1.0, output = 2.0 }", "from 0 to"),
        ("[models.\"a/b\"]\npriced_on = \"soon\"", "priced_on"),
    ] {
        house.write("config/weir/config.toml", line);
        let shown = house.run(&["usage"]);
        assert!(shown.status == 0 && shown.err.contains(why), "what shows goes on: {shown:?}");
        let output = house.run(&["config", "get", "model"]);
        assert!(output.status == 2 && output.err.contains(why), "{line}: {output:?}");
        assert!(output.err.contains("config.toml"), "it names the place: {output:?}");
    }
}

#[test]
fn r11_cached_tokens_cost_as_input_where_no_price_of_the_cache_is_named() {
    let vendor = vendor(50_000, 49_000);
    let house = house(&vendor, "", "[spending]\nday_usd = 0.05\n");
    let said = house.ok(&["models", "prices", "acme/large", "--input", "2", "--output", "10"]);
    assert!(said.contains("--cache-read") && said.contains("counts as input: 2 USD"), "{said}");
    assert!(house.ok(&["models", "prices", "acme/large"]).contains("as input"));
    assert_eq!(run(&house, &["Say hello."]).status, 0);
    let cost = house.json(&["usage", "--json"])["total"]["cost_usd"].as_f64().expect("priced");
    assert!((cost - 0.101).abs() < 1e-9, "{cost}");
    assert_eq!(run(&house, &["And again."]).status, 3, "so the cap is reached");
    // Where the cache costs nothing because nothing costs anything, nothing is said.
    let said = house.ok(&["models", "prices", "acme/large", "--input", "0", "--output", "0"]);
    assert!(!said.contains("counts as input"), "{said}");
}

#[test]
fn r11_a_vendor_that_counts_nothing_is_paid_all_the_same() {
    let vendor = silent_vendor(true);
    let house = house(&vendor, PRICE, "[spending]\nday_usd = 0.001\n");
    let first = run(&house, &["Say hello."]);
    assert_eq!(first.status, 0, "{first:?}");
    let total = house.json(&["usage", "--json"])["total"].clone();
    let input = total["input"].as_u64().expect("a number");
    assert!(input > 500 && total["cost_usd"].as_f64() > Some(0.001), "{total}");
    assert_eq!(run(&house, &["And again."]).status, 3);
    assert_eq!(asked(&vendor), 1, "the cap holds");
    assert!(house.ok(&["usage"]).contains("No cache miss"), "an estimate says nothing of caches");
}

#[test]
fn r11_a_stream_that_breaks_off_is_counted_and_not_tried_beyond_a_cap() {
    let vendor = silent_vendor(false);
    let house = house(&vendor, PRICE, "[spending]\nday_usd = 0.001\n");
    let output = run(&house, &["Say hello."]);
    let told = finished(&output);
    assert_eq!((output.status, told["status"].as_str()), (3, Some("budget")), "{output:?}");
    assert_eq!(asked(&vendor), 1, "nothing is left for a second attempt");
    let total = house.json(&["usage", "--json"])["total"].clone();
    assert_eq!(total["replies"], 0, "no reply came: {total}");
    assert!(total["cost_usd"].as_f64() > Some(0.001), "{total}");
    let session = told["session"].as_str().expect("one");
    house.ok(&["replay", session]);
}

#[test]
fn r11_a_price_that_is_set_later_brings_a_session_back_to_its_cap() {
    let vendor = vendor(50_000, 0);
    let house = house(&vendor, "", "");
    let session = finished(&run(&house, &["One."]))["session"].as_str().expect("one").to_owned();
    house.ok(&["config", "set", "spending.session_usd", "0.15"]);
    let output = run(&house, &["--resume", &session, "Two."]);
    assert_eq!((output.status, asked(&vendor)), (3, 1), "its price is not known: {output:?}");
    house.ok(&["models", "prices", "acme/large", "--input", "2", "--output", "10"]);
    // What was asked before counts at this price: 0.101 of 0.15, and then 0.202.
    assert_eq!(run(&house, &["--resume", &session, "Three."]).status, 0);
    let output = run(&house, &["--resume", &session, "Four."]);
    assert_eq!((output.status, asked(&vendor)), (3, 2), "{output:?}");
    let why = finished(&output)["error"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("session_usd is reached: 0.2020 of 0.15"), "{why}");
}

#[test]
fn l4_a_file_of_the_workspace_that_sets_a_budget_is_named_where_the_budget_ends_a_run() {
    let acme = vendor(1_000, 0);
    let unpriced = house(&acme, "", "");
    unpriced.write(&unpriced.project_config(), "[limits]\nbudget_usd = 0.5\n");
    let said = run(&unpriced, &["Hi."]);
    let error = finished(&said)["error"].to_string();
    assert_eq!((said.status, asked(&acme)), (3, 0), "{}", said.err);
    assert!(error.contains("price of acme/large is unknown"), "{error}");
    assert!(error.contains(".weir/config.toml:2 sets (limits.budget_usd)"), "{error}");
    // The person's own word is none of the file's.
    let said = run(&unpriced, &["--budget-usd", "0.4", "Hi."]);
    let error = finished(&said)["error"].to_string();
    assert!(error.contains("so a budget in USD cannot be held"), "{error}");
    let own = house(&acme, "", "[limits]\nbudget_usd = 0.5\n");
    let said = run(&own, &["Hi."]);
    let error = finished(&said)["error"].to_string();
    assert!(error.contains("so a budget in USD cannot be held"), "{error}");
}
