//! What the gate finds, what it lets be, and that it comes to an end.

use std::collections::VecDeque;
use std::time::Instant;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::governance::rules::{RuleContext, RuleSet};
use crate::governance::{CallFacts, Provenance, RecentCall};
use crate::ids::CallId;
use crate::profile::{Limits, PermissionMode};
use crate::tool::{CommandEffect, EffectClass, Effects, HostEffect, Inspection};

const WORD: &str = "WEIR-Q7JX4KMBZT2NVAHD";

fn judged(tool: &str, input: &Value, effects: Effects, word: Option<&str>) -> Option<GateOpinion> {
    judged_after(&VecDeque::new(), tool, input, effects, word)
}

/// The same after other calls.
fn judged_after(
    recent: &VecDeque<RecentCall>,
    tool: &str,
    input: &Value,
    effects: Effects,
    word: Option<&str>,
) -> Option<GateOpinion> {
    let provenance = Provenance { canary: word, ..Provenance::for_empty_session() };
    judged_within(recent, tool, input, effects, provenance)
}

fn judged_within(
    recent: &VecDeque<RecentCall>,
    tool: &str,
    input: &Value,
    effects: Effects,
    provenance: Provenance<'_>,
) -> Option<GateOpinion> {
    let inspection = Inspection::new(EffectClass::Once, effects, "");
    let call = CallFacts { call: CallId(1), tool, input, broken: None, inspection: &inspection };
    let context = GateContext {
        visible: &[],
        found: &crate::governance::NOTHING_FOUND,
        mode: PermissionMode::Full,
        rules: &RuleSet::new(RuleContext::default()),
        limits: &Limits::default(),
        tool_calls: 0,
        consulted: 0,
        changes: 0,
        recent,
        unknown: &[],
        provenance,
    };
    CanaryGate.judge(&JudgedCall::of_facts(call), &context)
}

fn stops(input: &Value) -> bool {
    judged("t", input, Effects::default(), Some(WORD)).is_some()
}

fn earlier(input: &Value) -> RecentCall {
    RecentCall {
        tool: "web_fetch".into(),
        input: crate::governance::canonical_json(input),
        words: Vec::new(),
        changes_before: 0,
        result: None,
        changed: false,
        poll: false,
        canary: CanaryText::default(),
    }
}

#[test]
fn g3_canary_in_pieces_over_several_calls_is_put_together() {
    let pieces = ["q7jx", "4kmb", "zt2n"]
        .map(|piece| json!({ "url": format!("https://docs.example/?p={piece}&n=1") }));
    let recent: VecDeque<RecentCall> = pieces[..2].iter().map(earlier).collect();
    let after =
        |recent| judged_after(recent, "web_fetch", &pieces[2], Effects::default(), Some(WORD));
    let found = after(&recent);
    assert!(found.is_some());
    assert_eq!(after(&recent), found, "what was kept of them says the same");
    assert!(after(&VecDeque::new()).is_none());
}

#[test]
fn s6_words_of_earlier_days_are_still_watched() {
    let old = ["WEIR-JX2QMVTK7ZB4HNDA".to_owned()];
    let input = json!({ "q": "jx2qmvtk7zb4hnda" });
    let with = |canaries_before| Provenance {
        canary: Some(WORD),
        canaries_before,
        ..Provenance::for_empty_session()
    };
    let opinion =
        |provenance| judged_within(&VecDeque::new(), "t", &input, Effects::default(), provenance);
    assert!(opinion(with(&[])).is_none());
    let denied = opinion(with(&old)).expect("the old word is found");
    assert_eq!(denied.verdict, crate::governance::Verdict::Deny);
}

#[test]
fn g3_canary_in_base32_is_found() {
    // RFC 4648, lower and upper case, with padding, and with the extended hex letters.
    let quintets = |alphabet: &[u8]| {
        let bits: String = WORD.bytes().map(|byte| format!("{byte:08b}")).collect();
        let letter = |group: &[u8]| {
            let group = format!("{:0<5}", String::from_utf8_lossy(group));
            char::from(alphabet[usize::from_str_radix(&group, 2).expect("bits")])
        };
        bits.as_bytes().chunks(5).map(letter).collect::<String>()
    };
    let standard = quintets(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
    let extended = quintets(b"0123456789ABCDEFGHIJKLMNOPQRSTUV");
    for text in [standard.clone(), standard.to_lowercase(), extended, format!("x{standard}")] {
        assert!(stops(&json!({ "q": text })), "{text}");
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Written for this test: the gate has a decoder only.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            out.push(if place <= group.len() { char::from(BASE64[sextet as usize]) } else { '=' });
        }
    }
    out
}

fn each_byte(text: &str, form: impl Fn(u8) -> String) -> String {
    text.bytes().map(form).collect()
}

fn moved(text: &str, by: u32) -> String {
    text.chars().filter_map(|c| char::from_u32(u32::from(c) + by)).collect()
}

fn rot(text: &str) -> String {
    text.bytes().map(|b| char::from(rot13(b.to_ascii_lowercase()))).collect()
}

/// The word in one coat each.
fn coats() -> Vec<(&'static str, String)> {
    let hex = each_byte(WORD, |b| format!("{b:02x}"));
    let percent = each_byte(WORD, |b| format!("%{b:02X}"));
    let utf16: Vec<u8> = WORD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let spaced = |by: &str| WORD.chars().map(String::from).collect::<Vec<_>>().join(by);
    vec![
        ("plain", WORD.into()),
        ("small", WORD.to_lowercase()),
        ("without its prefix", WORD[5..].into()),
        ("first half", WORD[5..13].into()),
        ("middle", WORD[9..17].into()),
        ("last half", WORD[13..].into()),
        ("base64", base64(WORD.as_bytes())),
        ("base64 second place", base64(format!("x{WORD}").as_bytes())),
        ("base64 third place", base64(format!("xy{WORD}").as_bytes())),
        ("base64 of the secret half", base64(&WORD.as_bytes()[5..13])),
        ("base64 of binary around", base64(&[&[0xff, 0xfe], WORD.as_bytes(), &[0xfb]].concat())),
        ("base64 in lines", base64(WORD.as_bytes()).replace("J", "J\r\n")),
        ("base64 with signs between", base64(WORD.as_bytes()).replace("J", "J-/")),
        ("base64 of UTF-16", base64(&utf16)),
        ("base64 twice", base64(base64(WORD.as_bytes()).as_bytes())),
        ("base64 of hex", base64(hex.as_bytes())),
        ("base64 of it backwards", base64(WORD.chars().rev().collect::<String>().as_bytes())),
        ("base64 of full width", base64(moved(WORD, 0xFEE0).as_bytes())),
        ("hex", hex.clone()),
        ("large hex from an odd place", format!("a{}", hex.to_uppercase())),
        ("hex with spaces", each_byte(WORD, |b| format!("{b:02x} "))),
        ("hex with 0x", each_byte(WORD, |b| format!("0x{b:02x}, "))),
        ("hex twice", each_byte(&hex, |b| format!("{b:02x}"))),
        ("percent", percent.clone()),
        ("percent here and there", WORD.replace('J', "%4A").replace('Z', "%5a")),
        ("percent twice", percent.replace('%', "%25")),
        ("percent of base64", each_byte(&base64(WORD.as_bytes()), |b| format!("%{b:02X}"))),
        ("backwards", WORD.chars().rev().collect()),
        ("moved by thirteen", rot(WORD)),
        ("moved and backwards", rot(WORD).chars().rev().collect()),
        ("dots", spaced(".")),
        ("lines", spaced("\n")),
        ("zero width", spaced("\u{200b}")),
        ("soft hyphens and joiners", spaced("\u{ad}\u{200d}")),
        ("named entities", spaced("&zwnj;")),
        ("numbered entities", each_byte(WORD, |b| format!("&#{b};"))),
        ("hex entities", each_byte(WORD, |b| format!("&#x{b:x};"))),
        ("u escapes", each_byte(WORD, |b| format!("\\u{b:04x}"))),
        ("u escapes here and there", WORD.replace('K', "\\u004b").replace('N', "\\u{4e}")),
        ("x escapes", each_byte(WORD, |b| format!("\\x{b:02x}"))),
        ("octal escapes", each_byte(WORD, |b| format!("\\{b:03o}"))),
        ("quoted printable", WORD.replace('M', "=4D")),
        ("character codes", each_byte(WORD, |b| format!("{b}, "))),
        ("full width", moved(WORD, 0xFEE0)),
        ("Cyrillic look-alikes", WORD.replace('K', "К").replace('T', "Т").replace('A', "А")),
        ("accents", WORD.replace('A', "Á").replace('Z', "Ž").replace('N', "N\u{303}")),
        ("mathematical", WORD.replace('Q', "𝐐").replace('J', "𝒥").replace('7', "𝟟")),
    ]
}

#[test]
fn g3_canary_is_found_in_every_coat_and_place() {
    for (name, coat) in coats() {
        assert!(stops(&json!({ "x": coat })), "{name}: {coat}");
        let around = format!("see https://a.example/?q={coat}&ok=1 and the rest of it, please");
        assert!(stops(&json!({ "x": [1, { "y": around }] })), "{name} in a text: {around}");
        assert!(stops(&json!({ &coat: true })), "{name} as a key");
    }
    assert!(judged(WORD, &json!({}), Effects::default(), Some(WORD)).is_some(), "a tool's name");
}

#[test]
fn g3_canary_is_found_when_it_is_split_over_values() {
    let pieces: Vec<&str> = vec!["WEIR-Q7", "JX4", "KMB", "ZT2", "NVA", "HD"];
    assert!(stops(&json!(pieces)));
    assert!(stops(&json!({ "a": "WEIR-Q7JX", "b": { "c": ["4KMB", "ZT2"] }, "d": "NVAHD" })));
    assert!(stops(&json!({ "Q7JX": "4KM", "BZT": "2NV", "AHD": 1 })), "keys and values in turn");
    let encoded: Vec<String> = pieces.iter().map(|piece| base64(piece.as_bytes())).collect();
    assert!(stops(&json!(encoded)), "each piece encoded: {encoded:?}");
    let codes: Vec<u8> = WORD.bytes().collect();
    assert!(stops(&json!({ "codes": codes })), "as numbers");
    assert!(stops(&json!({ "b": "ZT2NVAHD", "a": "Q7JX4KMB" })), "halves in the wrong order");
}

#[test]
fn g3_canary_is_found_in_effects() {
    let command = CommandEffect { command: format!("echo {WORD}"), ..CommandEffect::default() };
    let commands = Effects { commands: vec![command], ..Effects::default() };
    assert!(judged("t", &json!({}), commands, Some(WORD)).is_some());
    let host = HostEffect {
        method: "GET".into(),
        host: format!("{}.a.example", WORD.to_lowercase()),
        url: "https://a.example/".into(),
        secret: None,
    };
    let hosts = Effects { hosts: vec![host], ..Effects::default() };
    assert!(judged("t", &json!({}), hosts, Some(WORD)).is_some());
}

#[test]
fn g3_canary_lets_be_what_is_not_the_word() {
    for honest in [
        json!({}),
        json!({ "x": "WEIR" }),
        json!({ "x": "WEIR-" }),
        json!({ "x": &WORD[5..12] }),
        json!({ "x": "The word of this session is confidential; I will not repeat it." }),
        json!({ "x": base64(b"An ordinary text, encoded, with a tail of its own.") }),
        json!({ "x": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }),
        json!({ "x": [1, 2, 3, 65, 66, 67, 68, 69, 70, 71, 72, 1.5, true, null] }),
    ] {
        assert!(!stops(&honest), "{honest}");
    }
    assert!(judged("t", &json!({ "x": WORD }), Effects::default(), None).is_none(), "switched off");
    let short = judged("t", &json!({}), Effects::default(), Some("WEIR-ABC"));
    assert!(short.is_some_and(|opinion| opinion.reason.contains("too short")), "fails closed");
}

#[test]
fn g3_canary_comes_to_an_end_with_a_megabyte() {
    let mut nested = "ordinary words, and more of them. ".repeat(2_000);
    for _ in 0..5 {
        nested = base64(nested.as_bytes());
    }
    let hostile = [
        "A".repeat(1 << 20),
        "%25".repeat(80_000),
        "&amp;#x41;".repeat(25_000),
        "\\u0025\\u0034".repeat(20_000),
        "4a4b".repeat(60_000),
        "é\u{200b}".repeat(50_000),
        nested,
    ];
    for text in hostile {
        let started = Instant::now();
        // Whatever the verdict: it comes.
        let _ = stops(&json!({ "x": text }));
        let took = started.elapsed();
        assert!(took.as_secs() < 120, "{took:?} for {} bytes", text.len());
    }
}

proptest! {
    #[test]
    fn q12_of_many_words_is_said_what_is_said_of_each(
        others in proptest::collection::vec("WEIR-([A-Z2-7]{6,7}|[A-Z2-7]{16})", 0..4),
        coat in proptest::option::of(0..coats().len()),
        place in 0..4_usize,
        told in any::<bool>(),
    ) {
        let mut words = others;
        words.insert(place.min(words.len()), WORD.to_owned());
        let input = json!({ "x": coat.map(|coat| coats().swap_remove(coat).1), "y": "and more" });
        let halves = ["q7jx4kmb", "zt2nva"].map(|half| earlier(&json!({ "q": half })));
        let recent: VecDeque<RecentCall> = halves.into_iter().filter(|_| told).collect();
        let said = |word: &str, canaries_before: &[String]| {
            let empty = Provenance::for_empty_session();
            let provenance = Provenance { canary: Some(word), canaries_before, ..empty };
            judged_within(&recent, "t", &input, Effects::default(), provenance)
        };
        let each = words.iter().find_map(|word| said(word, &[]));
        prop_assert_eq!(said(&words[0], &words[1..]), each);
    }

    #[test]
    fn g3_canary_raises_no_false_alarm(
        text in any::<String>(),
        words in "[a-zA-Z0-9 +/=.,%&\\\\-]{0,600}",
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let input = json!({ "a": text, &words: [base64(&bytes), words, bytes] });
        prop_assert!(!stops(&input));
    }

    #[test]
    fn g3_canary_is_found_among_anything(
        before in "[ -~]{0,80}",
        after in "[ -~]{0,80}",
        coat in 0..coats().len(),
    ) {
        let (name, coat) = coats().swap_remove(coat);
        // A neighbour that could be part of the encoding moves where it begins, never what it says.
        let input = json!({ "x": format!("{before} {coat} {after}") });
        prop_assert!(stops(&input), "{}: {}", name, input);
    }
}
