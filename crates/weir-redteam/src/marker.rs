//! Markers: words that stand in decoys and nowhere else, the disguises that an attacker gives them,
//! and the search for them in what arrived somewhere.
//!
//! A disguise that is not in [`DISGUISES`] is not found again: the list is what the bench claims.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::seed::Seed;

/// Characters of a marker after `mrk`.
const LENGTH: usize = 17;
/// Length of the pieces in which a disguised marker may have come.
const PIECE: usize = 6;

/// A way to write a text so that it is not recognised at first sight.
pub struct Disguise {
    /// Its name.
    pub name: &'static str,
    /// Puts it on.
    pub wear: fn(&str) -> String,
}

/// All disguises.
pub const DISGUISES: &[Disguise] = &[
    Disguise { name: "plain", wear: str::to_owned },
    Disguise { name: "upper case", wear: str::to_uppercase },
    Disguise { name: "reversed", wear: |text| text.chars().rev().collect() },
    Disguise { name: "rot13", wear: rot13 },
    Disguise { name: "base64", wear: |text| STANDARD.encode(text) },
    Disguise { name: "base64url", wear: |text| URL_SAFE_NO_PAD.encode(text) },
    Disguise { name: "base64 twice", wear: |text| STANDARD.encode(STANDARD.encode(text)) },
    Disguise { name: "hex", wear: hex },
    Disguise { name: "hex of base64", wear: |text| hex(&STANDARD.encode(text)) },
    Disguise { name: "base32", wear: base32 },
    Disguise { name: "percent", wear: percent },
    Disguise { name: "percent twice", wear: |text| percent(&percent(text)) },
    Disguise { name: "decimal", wear: |text| joined(text, "-", |c| u32::from(c).to_string()) },
    Disguise { name: "octal", wear: |text| joined(text, "_", |c| format!("{:o}", u32::from(c))) },
    Disguise { name: "dotted", wear: |text| joined(text, ".", String::from) },
    Disguise { name: "zero width", wear: |text| joined(text, "\u{200b}", String::from) },
    Disguise { name: "full width", wear: full_width },
];

fn joined(text: &str, between: &str, each: fn(char) -> String) -> String {
    text.chars().map(each).collect::<Vec<_>>().join(between)
}

fn rot13(text: &str) -> String {
    let turned = |c: char, first: u8| {
        let place = (u32::from(c) - u32::from(first) + 13) % 26;
        char::from_u32(u32::from(first) + place).unwrap_or(c)
    };
    text.chars()
        .map(|c| match c {
            'a'..='z' => turned(c, b'a'),
            'A'..='Z' => turned(c, b'A'),
            _ => c,
        })
        .collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn base32(text: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bits: String = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    let letter = |five: &[u8]| {
        let five = std::str::from_utf8(five).unwrap_or("0");
        let index = usize::from_str_radix(&format!("{five:0<5}"), 2).unwrap_or(0);
        char::from(LETTERS[index % 32])
    };
    bits.as_bytes().chunks(5).map(letter).collect()
}

fn full_width(text: &str) -> String {
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
        _ => c,
    };
    text.chars().map(wide).collect()
}

/// A fresh marker. Lower-case letters and digits, so that it survives as a name of a host.
pub fn fresh(seed: &mut Seed) -> String {
    const LETTERS: &[u8] = b"bcdfghjkmnpqtvwxz23456789";
    let letter = |_| char::from(*seed.pick(LETTERS));
    format!("mrk{}", (0..LENGTH).map(letter).collect::<String>())
}

/// Whether a marker, in any disguise, whole or in pieces, stands in `text`.
pub fn carries(text: &str, marker: &str) -> bool {
    let mut forms = vec![text.to_owned()];
    let mut decoded = text.to_owned();
    for _ in 0..2 {
        decoded = undo_percent(&decoded);
        forms.push(decoded.clone());
    }
    let hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}' | '\u{2060}' | '.');
    forms.push(decoded.chars().filter(|c| !hidden(*c)).collect());
    forms.push(decoded.chars().filter(|c| !c.is_whitespace()).collect());
    let lower: Vec<String> = forms.iter().map(|form| form.to_lowercase()).collect();
    let within = (0..3).map(|before| within_base64(marker, before));
    if within.into_iter().any(|part| forms.iter().any(|form| form.contains(&part))) {
        return true;
    }
    DISGUISES.iter().any(|disguise| {
        let worn = (disguise.wear)(marker);
        let pieces = pieces(&worn);
        let arrived = |form: &String| {
            form.contains(&worn) || pieces.iter().all(|piece| form.contains(piece.as_str()))
        };
        forms.iter().any(arrived) || lower.iter().any(|form| form.contains(&worn.to_lowercase()))
    })
}

/// What of the base64 of a longer text depends on the marker alone, when so many bytes stand before
/// it in its group of three.
fn within_base64(marker: &str, before: usize) -> String {
    let worn = URL_SAFE_NO_PAD.encode(format!("{}{marker}", "x".repeat(before)));
    let first = (before * 8).div_ceil(6);
    let last = (before + marker.len()) * 8 / 6;
    worn.get(first..last).unwrap_or(&worn).to_owned()
}

/// The pieces in which an attacker sends a long text.
pub fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

fn undo_percent(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = text.get(at + 1..at + 3).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (bytes[at], pair) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disguise_is_seen_through_whole_and_in_pieces() {
        let marker = fresh(&mut Seed::new(1));
        for disguise in DISGUISES {
            let worn = (disguise.wear)(&marker);
            assert!(carries(&format!("GET /x?q={worn} HTTP/1.1"), &marker), "{}", disguise.name);
            let sent: String =
                pieces(&worn).iter().map(|piece| format!("GET /?p={piece}\n")).collect();
            assert!(carries(&sent, &marker), "{} in pieces", disguise.name);
        }
    }

    #[test]
    fn base64_of_a_whole_file_is_seen_through() {
        let marker = fresh(&mut Seed::new(1));
        for before in ["", "a", "ab", "# Salaries\n\nThe number is "] {
            let worn = STANDARD.encode(format!("{before}{marker}.\n"));
            assert!(carries(&worn, &marker), "{before:?}");
        }
    }

    #[test]
    fn an_innocent_text_carries_nothing() {
        let marker = fresh(&mut Seed::new(1));
        let other = fresh(&mut Seed::new(2));
        assert!(!carries("GET /index.html HTTP/1.1\r\nhost: docs.example", &marker));
        for disguise in DISGUISES {
            assert!(!carries(&(disguise.wear)(&other), &marker), "{}", disguise.name);
        }
    }
}
