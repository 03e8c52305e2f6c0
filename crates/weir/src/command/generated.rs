//! Documents generated from the program's own words, compared with what lies in the repository.
//! `UPDATE=1 cargo test` writes them anew.

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory;

use crate::options::CliOptions;

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("writable");
        std::fs::write(&path, text).expect("writable");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "docs/generated/{name} is out of date: run the tests with UPDATE=1");
}

#[test]
fn c1_the_help_of_every_command_stands_in_the_generated_page() {
    let mut command = CliOptions::command().term_width(100);
    command.build();
    let mut page = String::from(
        "# Commands\n\nThe help text of every command, as the program prints it. The options under \
         *Global options* apply to every command and are shown once.\n",
    );
    describe(&mut command, "weir", &mut page);
    check("cli.md", &page);
}

fn describe(command: &mut clap::Command, path: &str, page: &mut String) {
    let is_top = path == "weir";
    let mut shown = command.clone();
    if !is_top {
        let everywhere: Vec<String> = shown
            .get_arguments()
            .filter(|arg| arg.is_global_set())
            .map(|arg| arg.get_id().to_string())
            .collect();
        for id in everywhere {
            shown = shown.mut_arg(id, |arg| arg.hide(true));
        }
    }
    let help = shown.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let _ = write!(page, "\n## `{path}`\n\n```text\n{}\n```\n", help.trim_end());
    assert!(command.get_about().is_some(), "{path} says what it does");
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    if names.is_empty() {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Example"), "{path} has an example");
    }
    for name in names {
        if let Some(sub) = command.find_subcommand_mut(&name) {
            describe(sub, &format!("{path} {name}"), page);
        }
    }
}
