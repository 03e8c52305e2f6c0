//! Servers that are started from a package, from outside: installed once, by a person's word, then
//! started from there. The registry's client is a program of ours that notes what it was asked.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use weir_test_kit::TestInstallation;

use crate::mcp_servers::SERVER;

/// Answers as npm does: the version in `version`, and a lock file with the checksum in `locked`.
const NPM: &str = r#"#!/bin/sh
echo "$*" >>"$FAKE/npm.log"
version=$(cat "$FAKE/version")
case $1 in
view)
  printf '{"name":"@s/files","version":"%s","dist.tarball":"https://me:pw@registry.example/files.tgz","dist.integrity":"sha512-%s"}\n' "$version" "$version" ;;
install)
  [ -e package.json ] || exit 1
  mkdir -p node_modules/@s/files
  cp "$FAKE/server.sh" node_modules/@s/files/server.sh
  chmod 755 node_modules/@s/files/server.sh
  printf '{"name":"@s/files","bin":{"files":"./server.sh"}}' >node_modules/@s/files/package.json
  printf '{"packages":{"":{},"node_modules/@s/files":{"version":"%s","integrity":"sha512-%s"}}}' \
    "$version" "$(cat "$FAKE/locked" 2>/dev/null || echo "$version")" >package-lock.json ;;
esac
"#;

/// A house with these clients on the search path.
fn house() -> TestInstallation {
    let house = TestInstallation::new();
    let path = std::env::var("PATH").unwrap_or_default();
    let (programs, fake) = (house.at("programs"), house.at("fake"));
    let house = house.with_variable("PATH", &format!("{}:{path}", programs.display()));
    let house = house.with_variable("FAKE", &fake.display().to_string());
    for (name, text) in [("npm", NPM), ("node", "#!/bin/sh\nexit 1\n")] {
        let program = house.at("programs").join(name);
        house.write(&program, text);
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    house.write(&house.at("fake/server.sh"), &format!("#!/bin/sh\n{SERVER}"));
    house.write(&house.at("fake/version"), "1.0.0");
    let tools = json!([{"name": "paint", "description": "Paints.", "inputSchema": {
        "type": "object", "properties": {"colour": {"type": "string"}}}}]);
    house.write(&house.at("work/tools.json"), &tools.to_string());
    house
}

fn log(house: &TestInstallation) -> String {
    std::fs::read_to_string(house.at("fake/npm.log")).unwrap_or_default()
}

fn state(house: &TestInstallation) -> Value {
    house.json(&["mcp-servers", "list", "--json"])[0]["state"].clone()
}

fn package(house: &TestInstallation) -> String {
    let shown = house.json(&["mcp-servers", "show", "files", "--json"]);
    shown["package"].as_str().unwrap_or_default().to_owned()
}

/// Folders of installed versions.
fn folders(house: &TestInstallation) -> usize {
    let entries = std::fs::read_dir(house.at("state/weir/mcp-packages/files"));
    entries.into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()).count()
}

fn run(house: &TestInstallation) -> String {
    let script = "calls: mcp__files__paint {\"colour\": \"blue\"}\n\nsays: done\n";
    house.write(&house.at("model.script"), script);
    let model = format!("script:{}", house.at("model.script").display());
    let allow = "Mcp(files:*)";
    let said = house.run(&["run", "-m", &model, "--permission", "full", "--allow", allow, "go"]);
    format!("{}\n{}", said.out, said.err)
}

const ADD: [&str; 8] = ["mcp-servers", "add", "files", "--yes", "--", "npx", "-y", "@s/files"];

#[test]
fn c9_a_package_is_installed_once_pinned_and_started_without_network() {
    let house = house();
    let said = house.ok(&ADD);
    for part in [
        "package: @s/files",
        "version: 1.0.0",
        "from: https://registry.example/files.tgz",
        "checksum: sha512-1.0.0",
        "by: npm install --ignore-scripts",
        "starts: npx -y @s/files",
        "files is approved: 1 tools",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("me:pw"), "{said}");
    let asked = log(&house);
    assert!(asked.contains("install @s/files@1.0.0 --ignore-scripts"), "{asked}");
    assert!(package(&house).starts_with("npm @s/files 1.0.0 sha512-1.0.0"), "{}", package(&house));
    assert!(run(&house).contains("called with blue"), "{}", run(&house));
    // A newer version in the registry is nobody's business until somebody asks for it.
    house.write(&house.at("fake/version"), "2.0.0");
    assert!(run(&house).contains("called with blue"));
    assert_eq!((state(&house), log(&house)), (json!("approved"), asked));

    let said = house.ok(&["mcp-servers", "update", "files", "--yes"]);
    for part in ["version: 2.0.0 (installed: 1.0.0)", "its package was \"npm @s/files 1.0.0 "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(package(&house).starts_with("npm @s/files 2.0.0"), "{}", package(&house));
    assert_eq!(folders(&house), 1, "the one before is taken away");
    let said = house.ok(&["mcp-servers", "update", "files", "--yes"]);
    assert!(said.contains("2.0.0 is the newest matching version"), "{said}");

    // One that does not work leaves the one before.
    house.write(&house.at("fake/version"), "3.0.0");
    house.write(&house.at("fake/server.sh"), "#!/bin/sh\nexit 3\n");
    assert_eq!(house.run(&["mcp-servers", "update", "files", "--yes"]).status, 1);
    assert!(package(&house).starts_with("npm @s/files 2.0.0"), "{}", package(&house));
    assert_eq!((state(&house), folders(&house)), (json!("approved"), 1));
    assert!(run(&house).contains("called with blue"));

    house.ok(&["mcp-servers", "remove", "files"]);
    assert_eq!(folders(&house), 0);
}

#[test]
fn c9_nothing_is_installed_where_nobody_is_asked() {
    let house = house();
    let mut add = ADD.to_vec();
    add[3] = "--no-start";
    house.ok(&add);
    assert_eq!(state(&house), "uninstalled");
    let said = run(&house);
    for part in ["`weir mcp-servers install files`", "has no network", "unconfined = true"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for command in ["install", "update", "approve"] {
        let why = house.usage_error(&["mcp-servers", command, "files"]);
        assert!(why.contains("nobody can be asked"), "{command}: {why}");
    }
    assert_eq!(log(&house), "", "npm was not even asked");
    let said = house.ok(&["mcp-servers", "install", "files", "--yes"]);
    assert!(said.contains("version: 1.0.0") && said.contains("files is approved"), "{said}");
    let said = house.ok(&["mcp-servers", "install", "files"]);
    assert!(said.contains("1.0.0 is installed"), "{said}");
    // Another version in the settings is another package.
    let text = std::fs::read_to_string(house.user_config()).expect("written");
    house.write(&house.user_config(), &text.replace("@s/files", "@s/files@0.9.0"));
    assert_eq!(state(&house), "uninstalled");
}

#[test]
fn z8_another_package_than_was_shown_is_not_kept() {
    let house = house();
    house.write(&house.at("fake/locked"), "evil");
    let said = house.run(&ADD);
    assert_eq!(said.status, 1, "{}", said.err);
    assert!(said.err.contains("sha512-evil, and not 1.0.0 sha512-1.0.0"), "{}", said.err);
    assert_eq!((state(&house), folders(&house)), (json!("uninstalled"), 0));
}

#[test]
fn c9_what_is_missing_is_named() {
    let house = house();
    let house = house.with_variable("PATH", "/nowhere");
    let said = house.run(&ADD);
    assert_eq!(said.status, 1);
    assert!(said.err.contains("no program node on the search path; it comes with"), "{}", said.err);
    let said = house.run(&["mcp-servers", "add", "t", "--yes", "--", "uvx", "mcp-server-time"]);
    assert!(said.err.contains("no program python3 on the search path"), "{}", said.err);
    let said = house.run(&["mcp-servers", "add", "d", "--yes", "--", "docker", "run", "x"]);
    assert!(said.err.contains("no program docker on the search path; https://docs.docker.com"));
}

#[test]
fn c9_a_program_that_says_nothing_is_told_of_both_ways_out() {
    let house = house();
    let quiet = ["--start-timeout", "300ms", "--yes", "--", "/bin/sh", "-c", "sleep 60"];
    let said = house.run(&[&["mcp-servers", "add", "mute"][..], &quiet].concat());
    assert_eq!(said.status, 1);
    for part in ["it said nothing for 300 ms", "has no network", "`hosts`", "`--unconfined`"] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
}

#[test]
fn c1_an_imported_package_waits_to_be_installed() {
    let house = house();
    let theirs = json!({"mcpServers": {"files": {"command": "npx", "args": ["-y", "@s/files"]}}});
    house.write(&house.at("home/.claude.json"), &theirs.to_string());
    let said = house.ok(&["import", "claude-code"]);
    assert!(said.contains("to be installed once (npm @s/files)"), "{said}");
    assert!(said.contains("`weir mcp-servers install files`"), "{said}");
    assert_eq!((state(&house), log(&house)), (json!("uninstalled"), String::new()));
}
