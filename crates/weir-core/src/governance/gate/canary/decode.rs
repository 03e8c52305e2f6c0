//! What a text may be the encoding of: escapes of addresses, pages and programs, base64 in both
//! alphabets, hex, character codes. Not here: what is looked for in it.
//!
//! Nothing is rejected: every stretch of a text that can be read as an encoding is, from each place
//! where it could begin, and what separates its characters is left out.

/// Shortest stretch of readable characters that is decoded once more.
const READABLE_MIN: usize = 8;
/// Longest name of an entity: `&ZeroWidthSpace;`.
const ENTITY_CHARS_MAX: usize = 24;

/// No digit of base64.
const NO_SEXTET: u8 = 64;

/// The stretches of `bytes` that are text, one a line.
pub(super) fn readable_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks().filter(|chunk| chunk.valid().len() >= READABLE_MIN) {
        for run in chunk.valid().split(|c: char| c.is_control() && !"\n\r\t".contains(c)) {
            if run.len() >= READABLE_MIN {
                out.push_str(run);
                out.push('\n');
            }
        }
    }
    out
}

/// Gives everything that a text may be the encoding of to `take`, until that says to stop. The
/// text comes folded: letters, digits, `+-/_` and blanks.
pub(super) fn each_decoding(letters: &[u8], mut take: impl FnMut(&[u8]) -> bool) {
    if decode_base64(letters, &mut take)
        && decode_hex(letters, &mut take)
        && decode_base32(letters, &mut take)
    {
        take(&character_codes(letters));
    }
}

/// Base32, standard and with the extended hex letters, over separators; every place in a group of
/// eight where it could begin.
fn decode_base32(letters: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
    let standard = |letter: u8| match letter.to_ascii_lowercase() {
        letter @ b'a'..=b'z' => Some(letter - b'a'),
        letter @ b'2'..=b'7' => Some(letter - b'2' + 26),
        _ => None,
    };
    let extended = |letter: u8| match letter.to_ascii_lowercase() {
        letter @ b'0'..=b'9' => Some(letter - b'0'),
        letter @ b'a'..=b'v' => Some(letter - b'a' + 10),
        _ => None,
    };
    let streams: [Vec<u8>; 2] = [
        letters.iter().filter_map(|letter| standard(*letter)).collect(),
        letters.iter().filter_map(|letter| extended(*letter)).collect(),
    ];
    for stream in &streams {
        for skipped in 0..8 {
            if !take(&from_quintets(stream.get(skipped..).unwrap_or_default())) {
                return false;
            }
        }
    }
    true
}

/// Bytes of groups of five bits.
fn from_quintets(quintets: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(quintets.len() * 5 / 8);
    let (mut held, mut bits) = (0_u32, 0);
    for quintet in quintets {
        held = (held << 5 | u32::from(*quintet)) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}

/// Base64, standard and for addresses, over lines and other separators; every place in a group of
/// four where it could begin. Whether `+/-_` are data or separators is tried both ways.
fn decode_base64(letters: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
    let sextets: Vec<u8> = letters.iter().map(|letter| base64_sextet(*letter)).collect();
    let below = |bound: u8| sextets.iter().copied().filter(move |sextet| *sextet < bound).collect();
    let (with_signs, without): (Vec<u8>, Vec<u8>) = (below(NO_SEXTET), below(62));
    let mut whole = Vec::new();
    for stream in [&with_signs, &without] {
        for skipped in 0..4 {
            let bytes = from_sextets(stream.get(skipped..).unwrap_or_default());
            if !take(&bytes) {
                return false;
            }
            if whole.is_empty() {
                whole = bytes;
            }
        }
        if with_signs.len() == without.len() {
            break;
        }
    }
    // Pieces that were encoded one by one.
    let pieces = sextets.split(|sextet| *sextet == NO_SEXTET);
    let bytes: Vec<u8> = pieces.flat_map(from_sextets).collect();
    bytes == whole || take(&bytes)
}

fn base64_sextet(letter: u8) -> u8 {
    match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => NO_SEXTET,
    }
}

fn from_sextets(sextets: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sextets.len() / 4 * 3 + 2);
    let (groups, rest) = sextets.as_chunks::<4>();
    for [a, b, c, d] in groups {
        out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
    }
    match rest {
        [a, b] => out.push(a << 2 | b >> 4),
        [a, b, c] => out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2]),
        _ => (),
    }
    out
}

/// Hex: without separators from either half of a byte, and piece by piece (`0x57, 0x45`).
fn decode_hex(letters: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
    let all: Vec<u8> = letters.iter().filter_map(|letter| hex_nibble(*letter)).collect();
    let whole = from_nibbles(&all);
    if !take(&whole) || !take(&from_nibbles(all.get(1..).unwrap_or_default())) {
        return false;
    }
    let mut bytes = Vec::new();
    for piece in letters.split(|letter| hex_nibble(*letter).is_none()) {
        if piece.len() % 2 == 0 {
            let nibbles: Vec<u8> = piece.iter().filter_map(|letter| hex_nibble(*letter)).collect();
            bytes.extend(from_nibbles(&nibbles));
        }
    }
    bytes == whole || take(&bytes)
}

fn hex_nibble(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'A'..=b'F' => Some(letter - b'A' + 10),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

fn from_nibbles(nibbles: &[u8]) -> Vec<u8> {
    nibbles.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

/// Numbers as the codes of characters: `[87, 69, 73, 82]`.
fn character_codes(letters: &[u8]) -> Vec<u8> {
    let numbers = letters.split(|letter| !letter.is_ascii_digit());
    let codes = numbers.filter_map(|piece| std::str::from_utf8(piece).ok()?.parse::<u8>().ok());
    codes.filter(|code| (b' '..=b'~').contains(code)).collect()
}

/// The text with escapes of one level replaced: `%57`, `=57`, `&#87;`, `&#x57;`, `\x57`, `\u0057`,
/// `\u{57}`, `\U00000057`, `\127`. Entities with a name go: none is a letter or digit. `None`: it
/// has no escapes.
pub(super) fn unescape_text(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut any = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        let escape = match byte {
            b'%' | b'=' => parse_number(rest, 16, 2).map(|code| (DecodedEscape::Byte(code), 3)),
            b'\\' => parse_backslash_escape(rest),
            b'&' => parse_entity(rest),
            _ => None,
        };
        let Some((piece, length)) = escape else {
            out.push(*byte);
            at += 1;
            continue;
        };
        any = true;
        at += length;
        match piece {
            DecodedEscape::Byte(code) => out.push(u8::try_from(code & 0xff).unwrap_or_default()),
            DecodedEscape::Char(code) => {
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            DecodedEscape::Nothing => (),
        }
    }
    any.then(|| String::from_utf8_lossy(&out).into_owned())
}

/// What an escape stands for.
enum DecodedEscape {
    Byte(u32),
    Char(u32),
    Nothing,
}

/// A number of exactly so many digits.
fn parse_number(bytes: &[u8], radix: u32, digits: usize) -> Option<u32> {
    let text = std::str::from_utf8(bytes.get(..digits)?).ok()?;
    let is_number = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    is_number.then(|| u32::from_str_radix(text, radix).ok()).flatten()
}

/// A number up to `end`, and its length with that.
fn number_until(bytes: &[u8], radix: u32, end: u8) -> Option<(u32, usize)> {
    let length = bytes.iter().take(ENTITY_CHARS_MAX).position(|byte| *byte == end)?;
    Some((parse_number(bytes, radix, length)?, length + 1))
}

fn parse_backslash_escape(rest: &[u8]) -> Option<(DecodedEscape, usize)> {
    let hex = |digits| parse_number(rest.get(1..)?, 16, digits);
    match rest.first()? {
        b'x' => Some((DecodedEscape::Byte(hex(2)?), 4)),
        b'u' if rest.get(1) == Some(&b'{') => {
            let (code, length) = number_until(rest.get(2..)?, 16, b'}')?;
            Some((DecodedEscape::Char(code), 3 + length))
        }
        b'u' => Some((DecodedEscape::Char(hex(4)?), 6)),
        b'U' => Some((DecodedEscape::Char(hex(8)?), 10)),
        _ => Some((DecodedEscape::Byte(parse_number(rest, 8, 3)?), 4)),
    }
}

fn parse_entity(rest: &[u8]) -> Option<(DecodedEscape, usize)> {
    match (rest.first()?, rest.get(1)) {
        (b'#', Some(b'x' | b'X')) => {
            let (code, length) = number_until(rest.get(2..)?, 16, b';')?;
            Some((DecodedEscape::Char(code), 3 + length))
        }
        (b'#', _) => {
            let (code, length) = number_until(rest.get(1..)?, 10, b';')?;
            Some((DecodedEscape::Char(code), 2 + length))
        }
        _ => {
            let length = rest.iter().take(ENTITY_CHARS_MAX).position(|byte| *byte == b';')?;
            let is_name = length > 1 && rest[..length].iter().all(u8::is_ascii_alphanumeric);
            is_name.then_some((DecodedEscape::Nothing, 2 + length))
        }
    }
}
