//! Hostile files of settings, keys and durations, by the driver of `weir-fuzz` (Z10).

use std::path::Path;

use weir_fuzz::{Target, driver, input, seeds};

use super::file::ConfigLayer;
use super::{SettingOrigin, WorkspaceConfig};
use crate::duration::parse_time_span;

const WORDS: &[&str] = &[
    "[limits]\n",
    "[permissions]\n",
    "[providers.x]\n",
    "[[",
    "]]\n",
    "[",
    "]",
    "\"\"\"",
    "'''",
    "=",
    ".",
    "a.",
    "{",
    "}",
    "allow = [\"",
    "deny = [\"Read(**)\"]\n",
    "max_iterations = ",
    "tool_timeout = \"",
    "budget_usd = ",
    "model = \"",
    "true",
    "inf",
    "nan",
    "1979-05-27T07:32:00Z",
    "0x",
    "1_0",
    "\\u0000",
    "\\U0010FFFF",
    "#",
    "\r\n",
    "\"",
];

/// An error names the file and one of its lines; values and rules stand at lines of it.
fn config(data: &[u8]) {
    let text = input::text(data);
    let path = Path::new("ws/config.toml");
    let lines = text.matches('\n').count() + 1;
    let line_of = |told: &str| -> Option<usize> {
        let rest = told.strip_prefix("ws/config.toml:")?;
        rest.split(':').next()?.parse().ok()
    };
    let layer = match ConfigLayer::parse(path, &text, SettingOrigin::User) {
        Ok(layer) => layer,
        Err(why) => {
            let line = line_of(&why).unwrap_or_else(|| panic!("no file and line: {why}"));
            assert!((1..=lines).contains(&line), "line {line} of {lines}: {why}");
            return;
        }
    };
    for rule in &layer.rules {
        let line = rule.origin.line.map_or(0, |line| line as usize);
        assert!((1..=lines).contains(&line), "a rule at line {line} of {lines}");
    }
    if let Err(why) = WorkspaceConfig::of_layer(layer) {
        let why = format!("{why:#}");
        assert!(line_of(&why).is_some(), "no file and line: {why}");
    }
}

fn config_seeds() -> Vec<Vec<u8>> {
    let mut found = seeds::files("examples", "config.toml");
    found.extend(seeds::blocks("docs", "toml"));
    found
}

/// What was understood is understood again when it is written back.
fn duration(data: &[u8]) {
    let text = input::text(data);
    match parse_time_span(&text) {
        Ok(understood) => assert_eq!(parse_time_span(&understood.to_string()), Ok(understood)),
        Err(why) => assert!(why.contains("is not a duration")),
    }
}

#[test]
fn z10_fuzz_config() {
    driver::check(&Target {
        name: "config",
        run: config,
        seeds: config_seeds,
        dictionary: WORDS,
        inputs: 1_500,
    });
}

#[test]
fn z10_fuzz_duration() {
    driver::check(&Target {
        name: "duration",
        run: duration,
        seeds: || seeds::texts(&["90s", "1h30m", "500ms", "30d", "12"]),
        dictionary: &["ms", "s", "m", "h", "d", "0", " "],
        inputs: 10_000,
    });
}
