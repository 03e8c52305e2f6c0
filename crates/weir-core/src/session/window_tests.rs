//! What is counted of a request, and when a server is taken to have cut it (R6, X2).

use super::*;
use crate::message::VendorSeal;
use crate::profile::PermissionMode;

/// `(bytes of the request before and its count, bytes of this one, its count, was it cut)`
#[test]
fn r6_a_server_that_counts_too_little_has_cut_the_request() {
    for (before, bytes, counted, expected) in [
        // The first time nobody knows how many bytes a token has.
        (None, 40_000, 4_096, true),
        (None, 40_000, 5_000, false),
        (None, 20_000, 4_096, false),
        // A quarter of a token a byte, and more was sent than came.
        (Some((20_000, 5_000)), 40_000, 10_000, false),
        (Some((20_000, 5_000)), 40_000, 5_900, true),
        // As much as a window takes, and less than was sent.
        (Some((6_600, 1_650)), 22_000, 4_096, true),
        (Some((6_600, 1_650)), 22_000, 4_000, false),
        (Some((6_600, 1_650)), 16_500, 4_096, false),
        // What only happens to be a multiple of a window's steps is none.
        (Some((20_000, 5_000)), 24_500, 5_120, false),
        // It does not grow, though something was added.
        (Some((16_000, 4_000)), 18_000, 4_000, true),
        (Some((16_000, 4_000)), 18_000, 3_700, true),
        (Some((16_000, 4_000)), 18_000, 4_500, false),
        (Some((16_000, 4_000)), 16_500, 4_000, false),
        // Only what no cache held, or nothing, or something else is counted.
        (Some((32_000, 8_000)), 40_000, 600, false),
        (Some((16_000, 4_000)), 18_000, 0, false),
        (Some((32_000, 8_000)), 38_000, 1_500, false),
        (Some((32_000, 8_000)), 38_000, 2_500, true),
    ] {
        let mut window = ContextWindow::default();
        if let Some((bytes, tokens)) = before {
            window.asked = WindowWeight { bytes, ..WindowWeight::default() };
            window.note_reply(&Usage { input: tokens, ..Usage::default() });
        }
        window.asked = WindowWeight { bytes, ..WindowWeight::default() };
        let usage =
            Usage { cache_read: counted / 2, input: counted - counted / 2, ..Usage::default() };
        assert_eq!(window.is_cut(&usage), expected, "{before:?} {bytes} {counted}");
    }
    // What was condensed meanwhile is no longer the beginning.
    let mut window =
        ContextWindow { asked: WindowWeight::text(16_000), ..ContextWindow::default() };
    window.note_reply(&Usage { input: 4_000, ..Usage::default() });
    window.replace_history(std::iter::empty());
    window.asked = WindowWeight::text(18_000);
    assert!(!window.is_cut(&Usage { input: 3_900, ..Usage::default() }));
}

fn counted(input: u64) -> Usage {
    Usage { input, ..Usage::default() }
}

/// A request with this history, as it is sent.
fn sent(window: &mut ContextWindow) {
    window.asked = window.request_weight(None);
}

#[test]
fn r6_thoughts_that_are_never_sent_back_count_for_nothing() {
    let mut window = ContextWindow { system: WindowWeight::text(16_000), ..Default::default() };
    sent(&mut window);
    window.note_reply(&counted(4_000));
    let thought = MessageBlock::Thinking { text: "so ".repeat(4_000), seal: None };
    let reply = vec![thought, MessageBlock::text("a".repeat(2_000 - BLOCK_BYTES as usize))];
    window.add_message(&Message::assistant(reply.clone()));
    assert_eq!(window.history, WindowWeight::text(2_000));
    sent(&mut window);
    assert!(!window.is_cut(&counted(4_500)), "12,000 bytes of thoughts were not sent");
    // They were written all the same, and are paid for.
    let used = window.estimate_reply(&reply);
    assert_eq!((used.input, used.output), (4_500, 3_500));
    // Sealed ones go back.
    let seal = VendorSeal { dialect: "d".into(), data: "0123456789".into() };
    let sealed = MessageBlock::Thinking { text: "so".into(), seal: Some(seal) };
    let weight = WindowWeight { bytes: BLOCK_BYTES + 14, sealed: 14, media: 0 };
    assert_eq!(of_blocks(&[sealed]), weight);
}

#[test]
fn r6_a_window_that_was_believed_too_small_is_believed_no_longer() {
    for (reply, expected) in [(2_800, Some(2_800)), (2_801, None)] {
        let mut window = ContextWindow { believed: Some(2_800), ..ContextWindow::default() };
        window.asked = WindowWeight::text(10_000);
        window.note_reply(&counted(reply));
        assert_eq!(window.believed, expected, "{reply}");
    }
}

#[test]
fn r6_a_server_that_counts_what_its_cache_did_not_hold_teaches_the_whole() {
    let mut window = ContextWindow { system: WindowWeight::text(32_000), ..Default::default() };
    sent(&mut window);
    window.note_reply(&counted(8_000));
    for _ in 0..3 {
        window.history.add(WindowWeight::text(6_000));
        sent(&mut window);
        assert!(!window.is_cut(&counted(1_500)));
        window.note_reply(&counted(1_500));
    }
    assert_eq!(window.weight_tokens(window.asked), 12_500);
}

#[test]
fn r6_what_one_model_counted_is_no_measure_for_the_next_one() {
    let config = |name: &str| {
        let mut config = crate::session::switch_tests::config("agent", PermissionMode::Ask);
        config.model.model.name = name.into();
        config.system = "s".repeat(16_000).into();
        config
    };
    let mut window = ContextWindow::default();
    window.apply_config(&config("one"));
    let seal = VendorSeal { dialect: "d".into(), data: "x".repeat(9_000).into() };
    let sealed = MessageBlock::Thinking { text: String::new(), seal: Some(seal) };
    window.add_message(&Message::assistant(vec![sealed, MessageBlock::text("Hi.")]));
    sent(&mut window);
    let bytes = window.asked.bytes;
    window.note_reply(&counted(bytes / 2));
    // The next one has other tokens, and is not sent what the first one sealed.
    window.apply_config(&config("two"));
    sent(&mut window);
    let tokens = window.weight_tokens(window.asked);
    assert!(tokens.abs_diff(bytes / 2) <= 1, "{tokens}: it is still the best estimate");
    assert!(!window.is_cut(&counted(16_000 / 5)), "half of what it is to the first one");
    assert!(window.is_cut(&counted(16_000 / 12)));
    // What it counts is its own measure.
    window.note_reply(&counted(4_000));
    sent(&mut window);
    assert!(!window.is_cut(&counted(4_000)));
    // An estimate that would be too low for most is not kept for another one.
    window.apply_config(&config("three"));
    assert_eq!(window.weight_tokens(WindowWeight::text(1_000)), 280);
    // Where the messages are gone, nothing of them is left out.
    window.replace_history(std::iter::empty());
    assert_eq!(window.foreign, 0);
}

#[test]
fn x2_a_value_weighs_what_its_json_has() {
    for text in ["null", r#"{"path":"ä\n","many":[1,2.5,-3e9,true],"none":{}}"#, r#""\u0007""#] {
        let value: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(json_bytes(&value), value.to_string().len(), "{text}");
    }
}
