//! Makes hostile inputs of real ones: the same seed and the same number give the same input.
//!
//! It knows no format. What makes an input likely to reach deep are the seeds and the dictionary of
//! its target.

/// Longest input that is made. Long enough for nesting and repetition to hurt, short enough that a
/// linear parser is quick in a debug build.
pub const INPUT_BYTES_MAX: usize = 32 * 1024;

/// Most mutations of one input.
const STEPS_MAX: usize = 8;
/// Longest piece that is moved, doubled or removed.
const PIECE_BYTES_MAX: usize = 64;

/// Numbers at the borders of types, and such that parsers of numbers dislike.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1e999",
    "-1e-999",
    "0x7f",
    "00000000000000000001",
    "127",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.1e-400",
    "NaN",
    "Infinity",
];

/// Texts that are not what they seem: invisible, turned around, of several forms, or no text.
const ODDITIES: &[&[u8]] = &[
    b"\0",
    b"\r",
    b"\r\n",
    b"\x1b[2J",
    b"\x7f",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    "\u{feff}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{2066}".as_bytes(),
    "\u{fffd}".as_bytes(),
    "\u{10ffff}".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{212a}".as_bytes(),
    "\u{130}".as_bytes(),
    "\u{df}".as_bytes(),
    "\u{3002}".as_bytes(),
    "\u{ff0f}".as_bytes(),
    "👩\u{200d}👩\u{200d}👧".as_bytes(),
];

/// What opens and closes; one side of it many times over is a nesting bomb.
const BRACKETS: &[(&str, &str)] = &[
    ("[", "]"),
    ("{", "}"),
    ("(", ")"),
    ("{\"a\":", "}"),
    ("[[", "]]"),
    ("$(", ")"),
    ("\"", "\""),
    ("`", "`"),
    ("<b>", "</b>"),
    ("a.", "b"),
    ("../", ""),
    ("\\", ""),
    ("!", ""),
    ("*", ""),
    ("{a,", "}"),
];

/// A small generator (SplitMix64): quick, and the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// A number below `bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.draw() % (bound.max(1) as u64)).unwrap_or(0)
    }
    /// One of `items`.
    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// The `number`-th input of a run: a seed, changed in one to eight places.
pub fn input(random: &mut Random, seeds: &[Vec<u8>], dictionary: &[&str]) -> Vec<u8> {
    let mut bytes = match random.below(16) {
        // Words of the parser alone reach forms that no seed has.
        0 => words(random, dictionary),
        _ => random.pick(seeds).cloned().unwrap_or_default(),
    };
    for _ in 0..1 + random.below(STEPS_MAX) {
        step(random, &mut bytes, seeds, dictionary);
        bytes.truncate(INPUT_BYTES_MAX);
    }
    bytes
}

fn words(random: &mut Random, dictionary: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..1 + random.below(12) {
        if let Some(word) = random.pick(dictionary) {
            bytes.extend_from_slice(word.as_bytes());
        }
    }
    bytes
}

fn step(random: &mut Random, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], dictionary: &[&str]) {
    let at = random.below(bytes.len() + 1);
    match random.below(64) {
        0..=5 => flip(random, bytes, at),
        6..=9 => {
            let byte = random.draw().to_le_bytes()[0];
            insert(bytes, at, &[byte]);
        }
        10..=15 => drop(cut(random, bytes, at)),
        16..=20 => {
            let piece = piece(random, bytes, at).to_vec();
            insert(bytes, at, &piece);
        }
        21..=24 => {
            let piece = cut(random, bytes, at);
            let to = random.below(bytes.len() + 1);
            insert(bytes, to, &piece);
        }
        25..=29 => splice(random, bytes, at, seeds),
        30..=44 => {
            let word = random.pick(dictionary).copied().unwrap_or_default();
            put(random, bytes, at, word.as_bytes());
        }
        45..=48 => {
            let number = random.pick(NUMBERS).copied().unwrap_or_default();
            number_at(bytes, at, number);
        }
        49..=54 => {
            let oddity = random.pick(ODDITIES).copied().unwrap_or_default();
            put(random, bytes, at, oddity);
        }
        55..=57 => bytes.truncate(at),
        58..=60 => swap_lines(random, bytes),
        61 | 62 => {
            let piece = piece(random, bytes, at).to_vec();
            let times = 1 + random.below(64);
            insert(bytes, at, &piece.repeat(times));
        }
        _ => bomb(random, bytes, at, dictionary),
    }
}

fn flip(random: &mut Random, bytes: &mut [u8], at: usize) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let room = INPUT_BYTES_MAX.saturating_sub(bytes.len());
    let piece = &piece[..piece.len().min(room)];
    bytes.splice(at..at, piece.iter().copied());
}

/// Inserts, or writes over what stands there.
fn put(random: &mut Random, bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if random.below(2) == 0 {
        insert(bytes, at, piece);
    } else {
        let end = (at + piece.len()).min(bytes.len());
        bytes.splice(at..end, piece.iter().copied());
    }
}

fn piece<'a>(random: &mut Random, bytes: &'a [u8], at: usize) -> &'a [u8] {
    let length = 1 + random.below(PIECE_BYTES_MAX);
    &bytes[at..(at + length).min(bytes.len())]
}

fn cut(random: &mut Random, bytes: &mut Vec<u8>, at: usize) -> Vec<u8> {
    let length = piece(random, bytes, at).len();
    bytes.drain(at..at + length).collect()
}

/// The beginning of this input and the end of another.
fn splice(random: &mut Random, bytes: &mut Vec<u8>, at: usize, seeds: &[Vec<u8>]) {
    let other = random.pick(seeds).map_or(&[][..], Vec::as_slice);
    let from = random.below(other.len() + 1);
    if random.below(2) == 0 {
        bytes.truncate(at);
        bytes.extend_from_slice(&other[from..]);
    } else {
        let piece = piece(random, other, from).to_vec();
        insert(bytes, at, &piece);
    }
}

/// Puts a number in the place of the digits at or after `at`, or just there.
fn number_at(bytes: &mut Vec<u8>, at: usize, number: &str) {
    let start = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |found| at + found);
    let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.splice(start..start + digits, number.bytes());
}

fn swap_lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    if one < lines.len() && other < lines.len() {
        lines.swap(one, other);
        *bytes = lines.concat();
    }
}

/// One thing many times over, with or without as many ends.
fn bomb(random: &mut Random, bytes: &mut Vec<u8>, at: usize, dictionary: &[&str]) {
    let times = 1 << random.below(15);
    let (open, close) = match random.below(2) {
        0 => random.pick(BRACKETS).copied().unwrap_or_default(),
        _ => (random.pick(dictionary).copied().unwrap_or_default(), ""),
    };
    let mut bomb = open.repeat(times);
    if random.below(2) == 0 {
        bomb.push_str(&close.repeat(times));
    }
    // An input is cut at its end, and a bomb without its ends says less.
    let half = (INPUT_BYTES_MAX - open.len()) / (open.len() + close.len()).max(1);
    if bomb.len() > INPUT_BYTES_MAX {
        bomb = open.repeat(half) + &close.repeat(half);
    }
    if random.below(2) == 0 {
        *bytes = bomb.into_bytes();
    } else {
        insert(bytes, at, bomb.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_within_the_bound() {
        let seeds = [b"one\ntwo\n".to_vec(), b"three".to_vec()];
        let run = |seed| {
            let mut random = Random::new(seed);
            (0..5_000).map(|_| input(&mut random, &seeds, &["word", "("])).collect::<Vec<_>>()
        };
        let inputs = run(1);
        assert_eq!(inputs, run(1));
        assert_ne!(inputs, run(2));
        assert!(inputs.iter().all(|bytes| bytes.len() <= INPUT_BYTES_MAX));
        let different: std::collections::HashSet<_> = inputs.iter().collect();
        assert!(different.len() > 4_000, "{} different inputs", different.len());
        let deep = inputs.iter().filter(|bytes| bytes.len() > 4_096).count();
        assert!(deep > 50, "{deep} bombs");
    }

    #[test]
    fn nothing_to_begin_with_is_enough() {
        let mut random = Random::new(7);
        assert!((0..1_000).any(|_| !input(&mut random, &[], &[]).is_empty()));
    }
}
