//! How a target takes bytes apart: text, several texts in one input, cuts at any place.

use crate::mutate::Random;

/// Stands between the parts of an input that has several.
pub const SEPARATOR: u8 = 0x1e;

/// The bytes as text, as a person's editor would show them.
pub fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// The first `N` parts of an input; missing ones are empty, the last takes what is left.
pub fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut found = data.splitn(N, |byte| *byte == SEPARATOR);
    std::array::from_fn(|_| found.next().unwrap_or_default())
}

/// The parts as one input.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(&SEPARATOR)
}

/// Numbers that follow from the input itself, so that the same input is always cut the same way.
pub fn random_of(data: &[u8]) -> Random {
    // FNV-1a: spreads well enough for places to cut at.
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Random::new(hash)
}

/// The same bytes in pieces of one to `most` bytes.
pub fn chunks(data: &[u8], most: usize) -> Vec<&[u8]> {
    let mut random = random_of(data);
    let mut rest = data;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at((1 + random.below(most)).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_pieces_put_together_are_the_whole() {
        let whole = join(&[b"a", b"", b"c"]);
        assert_eq!(parts::<3>(&whole), [&b"a"[..], b"", b"c"]);
        assert_eq!(parts::<2>(&whole)[1], b"\x1ec");
        assert_eq!(parts::<4>(&whole)[3], b"");
        assert_eq!(chunks(&whole, 3).concat(), whole);
    }
}
