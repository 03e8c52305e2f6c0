//! The word told in pieces over several calls (G3): what of the last calls is put together, and whether that holds most
//! of it. Not here: what stands in one call, and encodings.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::fold::fold_text;
use super::gather_strings;

/// Longest value that is looked at for pieces of the word: an address or a query.
const PIECE_IN_MAX: usize = 240;
/// Letters of one piece that are told from chance in so little text: those of a number of 32 bits.
const PIECE: usize = 4;

/// Places of [`place_of_letters`].
pub(super) const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 14;

/// A place for four letters, which few others share: most of a text is told from what is looked for by this
/// alone. The factor is an odd one that scatters numbers that differ in few bits.
pub(super) fn place_of_letters(letters: u32) -> usize {
    (letters.wrapping_mul(0x9E37_79B1) >> (u32::BITS - PLACE_BITS)) as usize
}

/// What is put together of an earlier call, made when it is first needed and kept: the arguments of a call may be a
/// whole file, of which nothing is short.
#[derive(Clone, Default)]
pub struct CanaryText(OnceLock<Arc<[u8]>>);

impl CanaryText {
    /// The [`push_short_values`] of arguments, of which `form` is the text that is kept.
    pub(super) fn short_values(&self, form: &str) -> &[u8] {
        self.0.get_or_init(|| {
            let mut values = Vec::new();
            if let Ok(input) = serde_json::from_str::<Value>(form) {
                push_short_values(&input, &mut values);
            }
            values.into()
        })
    }
}

/// It follows from the call. Whether it was needed yet says nothing about that.
impl PartialEq for CanaryText {
    fn eq(&self, _: &CanaryText) -> bool {
        true
    }
}

impl Eq for CanaryText {}

impl fmt::Debug for CanaryText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CanaryText").finish_non_exhaustive()
    }
}

/// Adds letters and digits of the short values of arguments, in lower case, a line each.
pub(super) fn push_short_values(input: &Value, values: &mut Vec<u8>) {
    gather_strings(input, &mut |text, is_key| {
        if is_key || text.len() > PIECE_IN_MAX {
            return;
        }
        let letters = fold_text(text).into_iter().filter(u8::is_ascii_alphanumeric);
        values.extend(letters.map(|letter| letter.to_ascii_lowercase()));
        values.push(b'\n');
    });
}

/// Whether `values` together hold most of the word in pieces.
pub(super) fn are_most_pieces_in(values: &[u8], secret: &[u8]) -> bool {
    let pieces: Vec<u32> =
        secret.windows(PIECE).map(|piece| piece.iter().fold(0, shift_piece)).collect();
    let mut places = vec![false; PLACES];
    for piece in &pieces {
        places[place_of_letters(*piece)] = true;
    }
    let mut told = vec![false; secret.len()];
    let mut last = 0;
    for letter in values {
        // Fewer letters than a piece leave zeros in it, which no piece has.
        last = shift_piece(last, letter);
        if !places[place_of_letters(last)] {
            continue;
        }
        for (at, _) in pieces.iter().enumerate().filter(|(_, piece)| **piece == last) {
            told[at..at + PIECE].fill(true);
        }
    }
    let known = told.iter().filter(|told| **told).count();
    known * 4 >= secret.len() * 3
}

fn shift_piece(piece: u32, letter: &u8) -> u32 {
    piece << 8 | u32::from(*letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn q12_pieces_are_found_as_by_comparing_each(
            secret in "[a-c0-1]{8,20}",
            values in "[a-c0-1\n]{0,60}",
            from in 0..8_usize,
        ) {
            let values = format!("{values}{}\n", &secret[from..]);
            let mut told = vec![false; secret.len()];
            for at in 0..=secret.len() - PIECE {
                if values.contains(&secret[at..at + PIECE]) {
                    told[at..at + PIECE].fill(true);
                }
            }
            let known = told.iter().filter(|told| **told).count();
            let most = known * 4 >= secret.len() * 3;
            prop_assert_eq!(are_most_pieces_in(values.as_bytes(), secret.as_bytes()), most);
        }
    }
}
