//! What a random session begins with, and the dice that choose it. Not here: how it is played.

use std::sync::Arc;

use serde_json::json;
use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::model::{ModelInfo, ModelRef};
use weir_core::profile::{Limits, PermissionMode, built_in_profiles};
use weir_core::routing::{ModelRouting, RouteRule};
use weir_core::session::SessionConfig;
use weir_core::tool::{ToolGroup, ToolSpec};

/// A small generator: the same numbers for the same seed, everywhere.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        // SplitMix64: full period, no state to warm up.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

pub(super) const TOOLS: [(&str, bool); 8] = [
    ("look", true),
    ("search", true),
    ("write", false),
    ("once", false),
    ("send", true),
    ("ask", false),
    ("finish", false),
    ("program", false),
];

/// What a session begins with.
pub(super) fn config(dice: &mut Dice) -> SessionConfig {
    let spec = |(name, parallel_safe): &(&str, bool)| ToolSpec {
        name: (*name).into(),
        description: String::new(),
        group: ToolGroup::Agent,
        input_schema: json!({ "type": "object" }).into(),
        deferred: false,
        parallel_safe: *parallel_safe,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    };
    let mut rules = RuleSet::new(RuleContext::default());
    if dice.one_in(3) {
        let origin = RuleOrigin::new("test");
        rules.add(rules.parse_rule(RuleAction::Deny, "Edit(secret/**)", origin).expect("a rule"));
    }
    let name = ModelRef { provider: "script".into(), name: "random".into() };
    let model = ModelInfo {
        // A small one is condensed again and again.
        window: [100_000, 0, 600, 900, 1_500, 3_000][dice.below(6) as usize],
        max_output: 1_000,
        ..ModelInfo::with_name(name)
    };
    SessionConfig {
        permission: PermissionMode::ALL[dice.below(4) as usize],
        rules,
        limits: Limits {
            max_iterations: 2 + dice.below(12) as u32,
            max_tool_calls: dice.one_in(5).then(|| 3 + dice.below(6) as u32),
            consecutive_mistake_limit: [0, 3][dice.below(2) as usize],
            rate_limit_ms: [0, 0, 50][dice.below(3) as usize],
            parallel_calls: 1 + dice.below(4) as u32,
            program_steps: [2, 5, 200][dice.below(3) as usize],
            budget_tokens: dice.one_in(8).then_some(2_000),
            run_timeout_ms: dice.one_in(6).then_some(20_000),
            power_steering_frequency: [0, 3][dice.below(2) as usize],
            ..Limits::default()
        },
        tools: Arc::new(TOOLS.iter().map(spec).collect()),
        condensing: weir_core::session::CondensingSettings {
            enabled: !dice.one_in(6),
            threshold: 70,
        },
        memory: weir_core::session::MemoryPolicy {
            after_run: dice.one_in(3),
            ..weir_core::session::MemoryPolicy::default()
        },
        system: "You are a test.".into(),
        externalize_over: 2_000,
        output_schema: dice.one_in(9).then(|| json!({ "type": "string" })),
        strict: dice.one_in(6),
        attended: dice.one_in(2),
        routing: match dice.below(3) {
            0 => ModelRouting::default(),
            some => ModelRouting {
                home: Some("home".into()),
                fallback: vec!["second".into(), "third".into()],
                rules: (some == 2).then(small_work).into_iter().collect(),
                ..ModelRouting::default()
            },
        },
        ..SessionConfig::with_defaults("/w", built_in_profiles().remove(0), model)
    }
}

/// Small work is for another model.
fn small_work() -> RouteRule {
    RouteRule { model: "small".into(), input_below: Some(300), ..RouteRule::default() }
}
