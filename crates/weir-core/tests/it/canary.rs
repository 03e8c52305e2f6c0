//! The gate `canary` lets be what agents ordinarily do: the cases of the tools' own tests.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weir_core::governance::rules::{RuleContext, RuleSet};
use weir_core::governance::{CallFacts, GateContext, GateName, Provenance, judge_call};
use weir_core::ids::CallId;
use weir_core::profile::{Limits, PermissionMode};
use weir_core::tool::{EffectClass, Effects, Inspection};

const WORD: &str = "WEIR-Q7JX4KMBZT2NVAHD";

fn is_stopped(tool: &str, input: &Value) -> bool {
    let inspection = Inspection::new(EffectClass::Once, Effects::default(), "");
    let call = CallFacts { call: CallId(1), tool, input, broken: None, inspection: &inspection };
    let context = GateContext {
        visible: &[],
        found: &weir_core::governance::NOTHING_FOUND,
        mode: PermissionMode::Full,
        rules: &RuleSet::new(RuleContext::default()),
        limits: &Limits::default(),
        tool_calls: 0,
        consulted: 0,
        changes: 0,
        recent: &VecDeque::new(),
        unknown: &[],
        provenance: Provenance { canary: Some(WORD), ..Provenance::for_empty_session() },
    };
    judge_call(&call, &context).gates.iter().any(|opinion| opinion.gate == GateName::Canary)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn g3_canary_raises_no_alarm_at_ordinary_work() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../weir-tools/tests/cases");
    let mut found = Vec::new();
    files(&folder, &mut found);
    let mut calls = 0;
    for path in &found {
        let bytes = std::fs::read(path).expect("readable");
        let text = String::from_utf8_lossy(&bytes);
        if path.file_name().is_some_and(|name| name == "call.json") {
            let call: Value = serde_json::from_str(&text).expect("JSON");
            assert!(!is_stopped("tool", &call), "{}", path.display());
            calls += 1;
        }
        // Whatever stands in the files could be written too.
        let start: String = text.chars().take(20_000).collect();
        assert!(!is_stopped("tool", &json!({ "content": start })), "{}", path.display());
    }
    assert!(calls >= 50, "the cases are there: {calls}");
    let word = json!({ "content": format!("# Notes\n{}\n", WORD.to_lowercase()) });
    assert!(is_stopped("tool", &word), "the gate is reached through the list");
}
