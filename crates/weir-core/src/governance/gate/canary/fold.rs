//! Letters and digits behind their disguises: full width, mathematical, circled, small, accented,
//! tagged, and those of other scripts that look like Latin ones. Everything else is nothing.
//!
//! A table of our own: the core depends on no tables of Unicode.

/// Latin letters with marks, U+00C0 to U+017F; `*`: none.
const MARKED: &[u8; 192] = b"AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo*ouuuuyty\
AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";

/// First character, letters in order of code: what these stand for.
const LOOK_ALIKE: &[(&str, &str)] = &[
    ("АВЕКМНОРСТУХЅІЈЗԚԜЬ", "ABEKMHOPCTYXSIJ3QWb"),
    ("авекмнорстухѕіјһԁԛԝӏгпѵ", "abekmhopctyxsijhdqwlrnv"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("αβγεηικνορτυχω", "abyenikvoptuxw"),
    ("ℎℬℰℱℋℐℒℳℛℯℊℴℭℌℑℜℨℂℍℕℙℚℝℤKℓ", "hBEFHILMRegoCHIRZCHNPQRZKl"),
    ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    ("⁰¹²³⁴⁵⁶⁷⁸⁹⓪ⁱⁿ", "01234567890in"),
];

/// Ranges that run through an alphabet: first character, last, what the first stands for.
const RUNS: &[(u32, u32, u8)] = &[
    (0x2080, 0x2089, b'0'),
    (0x2460, 0x2468, b'1'),
    (0x2474, 0x247C, b'1'),
    (0x249C, 0x24B5, b'a'),
    (0x24B6, 0x24CF, b'A'),
    (0x24D0, 0x24E9, b'a'),
    (0x2776, 0x277E, b'1'),
    (0xFF10, 0xFF19, b'0'),
    (0xFF21, 0xFF3A, b'A'),
    (0xFF41, 0xFF5A, b'a'),
    (0x1F110, 0x1F129, b'A'),
    (0x1F130, 0x1F149, b'A'),
    (0x1F150, 0x1F169, b'A'),
    (0x1F170, 0x1F189, b'A'),
    (0x1F1E6, 0x1F1FF, b'A'),
    (0x1FBF0, 0x1FBF9, b'0'),
    (0xE0030, 0xE0039, b'0'),
    (0xE0041, 0xE005A, b'A'),
    (0xE0061, 0xE007A, b'a'),
];

/// Mathematical letters: thirteen alphabets, large and small.
const MATHEMATICAL_LETTERS: std::ops::RangeInclusive<u32> = 0x1D400..=0x1D6A3;
/// Mathematical digits: five times ten.
const MATHEMATICAL_DIGITS: std::ops::RangeInclusive<u32> = 0x1D7CE..=0x1D7FF;

/// A text as letters and digits of ASCII in their case. The signs `+-/_`, which base64 knows, stay;
/// every other character is a blank.
pub(super) fn fold_text(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (plain, other) = rest.split_at(ascii);
        for byte in plain.as_bytes() {
            let kept = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_');
            out.push(if kept { *byte } else { b' ' });
        }
        let Some(c) = other.chars().next() else { break };
        out.push(fold_character(c).unwrap_or(b' '));
        rest = &other[c.len_utf8()..];
    }
    out
}

/// The ASCII letter or digit that a character stands for, in its case.
fn fold_character(c: char) -> Option<u8> {
    let code = u32::from(c);
    if c.is_ascii() {
        return u8::try_from(code).ok().filter(u8::is_ascii_alphanumeric);
    }
    let offset = |from: u32| usize::try_from(code.wrapping_sub(from)).unwrap_or(usize::MAX);
    if let Some(letter) = MARKED.get(offset(0xC0)) {
        return (*letter != b'*').then_some(*letter);
    }
    if MATHEMATICAL_LETTERS.contains(&code) {
        let place = u8::try_from((code - 0x1D400) % 52).ok()?;
        return Some(if place < 26 { b'A' + place } else { b'a' + place - 26 });
    }
    if MATHEMATICAL_DIGITS.contains(&code) {
        return u8::try_from((code - 0x1D7CE) % 10).ok().map(|digit| b'0' + digit);
    }
    if let Some((from, _, first)) = RUNS.iter().find(|(from, to, _)| (*from..=*to).contains(&code))
    {
        return u8::try_from(code - from).ok().map(|place| first + place);
    }
    LOOK_ALIKE.iter().find_map(|(theirs, ours)| {
        let place = theirs.chars().position(|their| their == c)?;
        ours.as_bytes().get(place).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g3_every_disguise_stands_for_one_letter() {
        for (theirs, ours) in LOOK_ALIKE {
            assert_eq!(theirs.chars().count(), ours.len(), "{theirs}");
        }
        let folded = |text: &str| {
            let letters = fold_text(text).into_iter().filter(u8::is_ascii_alphanumeric);
            letters.map(char::from).collect::<String>()
        };
        assert_eq!(folded("ＷＥＩＲ-７"), "WEIR7");
        assert_eq!(folded("𝓦𝕖𝘐𝚛 𝟕𝟮"), "WeIr72");
        assert_eq!(folded("Ⓦⓔ⒤🅁 🇽"), "WeiRX");
        assert_eq!(folded("WÉĨŘ ẑ Ж"), "WEIR");
        assert_eq!(folded("ЕІ ЅРΑСΕ"), "EISPACE");
        assert_eq!(folded("w\u{200b}e\u{301}i\u{ad}r\u{feff}"), "weir");
        assert_eq!(folded("\u{E0057}\u{E0065}"), "We");
    }

    #[test]
    fn g3_folding_is_total() {
        for c in '\0'..=char::MAX {
            if let Some(letter) = fold_character(c) {
                assert!(letter.is_ascii_alphanumeric(), "{c:?}");
            }
        }
    }
}
