//! `weir phone` without a telephone (R5): what it refuses, what it lists, and that it is the server where none
//! runs. What telephones do stands in the tests of the server.

use std::net::TcpListener;

use weir_test_kit::{RunningProgram, TestInstallation};

/// An installation whose server takes any free port.
fn house() -> TestInstallation {
    house_with("bind = \"127.0.0.1:0\"")
}

/// An installation with these settings of its server.
fn house_with(server: &str) -> TestInstallation {
    let config = format!("[server]\n{server}\n");
    TestInstallation::with_scripted_model("name: test\n\nsays: Done.\n", &config)
}

#[test]
fn r5_without_telephones_there_is_nothing_to_list_or_revoke() {
    let house = house();
    assert_eq!(house.ok(&["phone", "list"]), "No telephone is paired; `weir phone` pairs one.\n");
    assert_eq!(house.json(&["phone", "list", "--json"]), serde_json::json!([]));
    let told = house.usage_error(&["phone", "revoke", "Pixel"]);
    assert!(told.contains("no paired telephone is called \"Pixel\""), "{told}");
}

#[test]
fn r5_nothing_is_paired_by_an_address_on_which_others_listen() {
    let house = house();
    let told = house.usage_error(&["phone", "--address", "http://weir.example.org"]);
    assert!(told.contains("without TLS"), "{told}");
    let told = house.usage_error(&["phone", "--address", "weir.example.org"]);
    assert!(told.contains("is not an address like https://"), "{told}");
    let told = house.usage_error(&["phone", "--name", "a) by (bob"]);
    assert!(told.contains("the name of a telephone has"), "{told}");
    assert_eq!(house.json(&["phone", "list", "--json"]), serde_json::json!([]));
}

#[test]
fn r5_where_no_server_runs_it_is_the_server_until_it_is_ended() {
    let house = house();
    let mut terminal = house.start(&["phone", "--account", "ann"]);
    terminal.wait_for("This command is the server", 1);
    let text = terminal.output_text();
    assert!(text.contains("Open http://127.0.0.1:") && text.contains("/phone#"), "{text}");
    assert!(text.contains("Only this machine reaches this address"), "{text}");
    assert!(text.contains("server.public_url") && text.contains("--lan"), "what to set: {text}");
    assert!(!text.contains('█') && text.contains("No QR code is shown"), "{text}");
    let told = house.usage_error(&["phone", "--lan"]);
    assert!(told.contains("a server of this installation runs already"), "{told}");
    let told = house.usage_error(&["phone", "--address", "https://weir.example.org"]);
    assert!(told.contains("set server.public_url"), "{told}");
    // What `/phone` of the terminal face shows.
    let shown = house.ok(&["phone", "--show"]);
    assert!(!shown.contains('█') && shown.contains("/phone#"), "{shown}");
    let shown = house.ok(&["phone", "--show", "--picture"]);
    assert!(shown.contains('█') && shown.contains("/phone#"), "{shown}");
    for ground in ["light on a dark ground", "dark on a light ground"] {
        assert!(shown.contains(ground), "without colours it is there for both: {shown}");
    }
    terminal.signal("-INT");
    assert_eq!(terminal.wait_for_end().status, 0);
    let told = house.usage_error(&["phone", "--show"]);
    assert!(told.contains("no server of this installation runs"), "{told}");
}

#[test]
fn r5_a_file_of_a_server_that_was_killed_leads_nobody_anywhere() {
    let house = house();
    let mut first = house.start(&["phone", "--account", "ann"]);
    first.wait_for("This command is the server", 1);
    first.kill();
    let mut second = house.start(&["phone"]);
    second.wait_for("This command is the server", 1);
    second.signal("-TERM");
    second.wait_for_end();
}

#[test]
fn r5_a_terminal_shows_the_picture_in_colours_of_its_own() {
    let house = house();
    let mut command = house.command_at_terminal(&["phone", "--account", "ann", "--picture"]);
    command.env("TERM", "xterm-256color");
    let mut terminal = RunningProgram::start(command);
    terminal.wait_for("This command is the server", 1);
    let text = terminal.text();
    assert!(!text.contains("<U+001B>"), "nothing is written out: {text}");
    let rows = text.matches("\u{1b}[38;5;231;48;5;16m█").count();
    assert!(rows > 10, "white on black, whatever the terminal's ground is: {text}");
    assert!(!text.contains("on a light ground"), "once is enough: {text}");
    // Who wants no colours has the picture for either ground.
    let mut command = house.command_at_terminal(&["phone", "--show", "--picture"]);
    command.env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let mut plain = RunningProgram::start(command);
    plain.wait_for("five minutes.", 1);
    let text = plain.text();
    assert!(!text.contains('\u{1b}') && text.contains("on a light ground"), "{text}");
}

#[test]
fn r5_where_it_cannot_be_the_server_nothing_was_made() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = listener.local_addr().expect("it listens");
    let house = house_with(&format!("bind = \"{taken}\""));
    house.usage_error(&["phone", "--account", "ann"]);
    house.set_scripted_model("name: test\n\nsays: Done.\n", "[server]\nbind = \"0.0.0.0:0\"\n");
    let told = house.usage_error(&["phone", "--account", "ann"]);
    assert!(told.contains("does not speak TLS"), "{told}");
    // The first setup in the browser is as it was.
    let mut server = house.start(&["serve", "--bind", "127.0.0.1:0"]);
    server.wait_for("setup code:", 1);
}

#[test]
fn r5_the_settings_pair_nothing_over_an_address_on_which_others_listen() {
    let house = house_with("bind = \"127.0.0.1:0\"\npublic_url = \"http://weir.example.org\"");
    let told = house.usage_error(&["phone", "--account", "ann"]);
    assert!(told.contains("without TLS"), "{told}");
    let mut server = house.start(&["serve"]);
    server.wait_for("setup code:", 1);
    let told = house.usage_error(&["phone"]);
    assert!(told.contains("without TLS"), "a server that runs so: {told}");
}

#[test]
fn r5_a_code_needs_no_variable_that_only_the_server_has() {
    let house = house_with("bind = \"127.0.0.1:0\"\nmetrics_token_env = \"WEIR_TEST_METRICS\"");
    let told = house.usage_error(&["phone", "--account", "ann"]);
    assert!(told.contains("WEIR_TEST_METRICS is not set"), "it would be the server: {told}");
    let mut command = house.command(&["serve"]);
    command.env("WEIR_TEST_METRICS", "token");
    let mut server = RunningProgram::start(command);
    server.wait_for("setup code:", 1);
    let shown = house.ok(&["phone", "--show"]);
    assert!(shown.contains("/phone#"), "{shown}");
}

#[test]
fn r5_telephones_are_those_of_the_server_that_runs() {
    let house = house();
    let database = format!("sqlite:{}", house.at("elsewhere").display());
    let mut server = house.start(&["serve", "--database", &database]);
    server.wait_for("setup code:", 1);
    // The account for the code is made where the server keeps its data.
    house.ok(&["phone", "--show"]);
    let other = format!("sqlite:{}", house.at("other").display());
    let told = house.usage_error(&["phone", "--show", "--database", &other]);
    assert!(told.contains("leave --database out"), "{told}");
    server.signal("-TERM");
    server.wait_for_end();
    let mut here = house.start(&["serve"]);
    here.wait_for("setup code:", 1);
    here.signal("-TERM");
    here.wait_for_end();
    let mut there = house.start(&["serve", "--database", &database]);
    there.wait_for("listening on", 1);
    there.signal("-TERM");
    let told = there.wait_for_end();
    assert!(!told.err.contains("setup code:"), "{}", told.err);
}

#[test]
fn g5_an_agents_command_sets_no_first_password() {
    let house = house().with_variable("WEIR_SUPERVISED", "/state/commands/1");
    let file = house.at("password").display().to_string();
    let args = ["serve", "--bind", "127.0.0.1:0", "--first-admin", "ann", "--password-file", &file];
    let told = house.usage_error(&args);
    assert!(told.contains("only a person may do this"), "{told}");
}
