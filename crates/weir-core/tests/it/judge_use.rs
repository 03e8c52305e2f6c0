//! What the judge model used for a call that is not judged by its answer (R11). Not here: what it says of a call, and
//! sums over sessions.

use serde_json::json;
use weir_core::event::{Event, HelperAsked};
use weir_core::governance::label::Label;
use weir_core::ids::CallId;
use weir_core::input::PersonCommand;
use weir_core::model::Usage;
use weir_core::tool::{Effects, Inspection, JudgeUse};

use crate::played::{self, Played};

fn used() -> JudgeUse {
    let usage = Usage { input: 10, output: 2, ..Usage::default() };
    JudgeUse { usage, cost_usd: Some(0.25) }
}

fn inspection(judge_use: Option<JudgeUse>) -> Inspection {
    Inspection { judge_use, ..played::inspection(Effects::default()) }
}

/// A session whose model asked for one call.
fn with_call() -> (Played, CallId) {
    let mut played = Played::open(played::config(&["read"]), "Do it.", Label::default());
    let calls = played.turn(1, &[("read", json!({}))]);
    (played, calls[0])
}

fn helped(played: &Played) -> Vec<HelperAsked> {
    let helped = played.facts.iter().filter_map(|fact| match fact {
        Event::HelperAsked(f) => Some(f.clone()),
        _ => None,
    });
    helped.collect()
}

#[test]
fn r11_what_the_judge_used_for_a_call_that_was_cancelled_meanwhile_counts_for_the_session() {
    let (mut played, call) = with_call();
    played.command(PersonCommand::Cancel.sent_by("person"));
    assert!(played.session.run().is_none(), "the run is over");
    let mut sum = *played.session.usage();
    let JudgeUse { usage, cost_usd } = used();
    sum.add(&usage);
    played.inspect(call, inspection(Some(used())));
    assert_eq!(helped(&played), [HelperAsked { work: "judge".into(), usage, cost_usd }]);
    assert_eq!(*played.session.usage(), sum);
    // A late answer for which nothing was paid leaves nothing.
    let facts = played.facts.len();
    let nothing = JudgeUse { usage: Usage::default(), cost_usd: None };
    played.inspect(call, inspection(None));
    played.inspect(call, inspection(Some(nothing)));
    assert_eq!(played.facts.len(), facts);
}

#[test]
fn r11_what_the_judge_used_for_a_call_that_is_judged_counts_once() {
    let (mut played, call) = with_call();
    let mut sum = *played.session.usage();
    sum.add(&used().usage);
    played.inspect(call, inspection(Some(used())));
    assert_eq!(played.judged(call).inspection.judge_use, Some(used()));
    assert_eq!((helped(&played), *played.session.usage()), (Vec::new(), sum));
}
