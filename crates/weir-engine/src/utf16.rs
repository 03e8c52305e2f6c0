//! Text in UTF-16 with a mark at its beginning, as programs of Windows write it. Not here: UTF-16 without a
//! mark, which nothing tells from other bytes, and how such a file is shown or changed.

/// Which byte of a unit comes first, as the mark at the beginning of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lesser one, as Windows writes it.
    Little,
    /// The greater one.
    Big,
}

/// The mark, which is no part of the text.
const MARK: u16 = 0xfeff;
/// Bytes of the mark, and of every unit.
const UNIT_BYTES: usize = 2;

impl ByteOrder {
    /// What the mark at the beginning of a file says; `None`: it has no mark of UTF-16.
    pub fn of_mark(start: &[u8]) -> Option<ByteOrder> {
        match start {
            // The mark of UTF-32 begins as that of UTF-16 does.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(ByteOrder::Little),
            [0xfe, 0xff, ..] => Some(ByteOrder::Big),
            _ => None,
        }
    }

    /// What the encoding is called.
    pub fn encoding_name(self) -> &'static str {
        match self {
            ByteOrder::Little => "UTF-16LE",
            ByteOrder::Big => "UTF-16BE",
        }
    }

    /// A unit of the text.
    pub fn read_unit(self, bytes: [u8; UNIT_BYTES]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    /// The text of a file behind its mark: [`ByteOrder::encode`] makes the same bytes of it.
    ///
    /// # Errors
    /// Half a character stands in it: where, as a part of a sentence about the file.
    pub fn decode(self, file: &[u8]) -> Result<String, String> {
        let (units, odd) = text_units(file);
        let mut text = String::with_capacity(units.len());
        let mut at = UNIT_BYTES;
        let broken = |at: usize| {
            format!("its {} is broken: half a character stands at byte {at}", self.encoding_name())
        };
        for found in char::decode_utf16(units.iter().map(|unit| self.read_unit(*unit))) {
            let Ok(c) = found else { return Err(broken(at)) };
            at += c.len_utf16() * UNIT_BYTES;
            text.push(c);
        }
        if odd.is_empty() { Ok(text) } else { Err(broken(at)) }
    }

    /// The same for whoever only looks: half a character is shown as `�`.
    pub fn decode_lossy(self, file: &[u8]) -> String {
        let (units, odd) = text_units(file);
        let units = units.iter().map(|unit| self.read_unit(*unit));
        let chars = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        let end = (!odd.is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chars.chain(end).collect()
    }

    /// A file with this text, its mark first.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let units = std::iter::once(MARK).chain(text.encode_utf16());
        let bytes = units.flat_map(|unit| match self {
            ByteOrder::Little => unit.to_le_bytes(),
            ByteOrder::Big => unit.to_be_bytes(),
        });
        bytes.collect()
    }
}

/// The units behind the mark of a file, and a byte that is none.
fn text_units(file: &[u8]) -> (&[[u8; UNIT_BYTES]], &[u8]) {
    file.get(UNIT_BYTES..).unwrap_or_default().as_chunks()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t1_the_mark_says_the_order_and_what_is_written_is_what_was_read() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for text in ["", "a", "Grüße\r\n€ 𝄞\r\n", "\u{feff}twice"] {
                let file = order.encode(text);
                assert_eq!(ByteOrder::of_mark(&file), Some(order));
                assert_eq!(order.decode(&file).as_deref(), Ok(text));
                assert_eq!(order.decode_lossy(&file), text);
            }
        }
        for start in [&b""[..], b"\xff", b"\xff\xfe\0\0a\0\0\0", b"\xef\xbb\xbfa", b"a\0"] {
            assert_eq!(ByteOrder::of_mark(start), None, "{start:?}");
        }
    }

    #[test]
    fn t1_half_a_character_is_named_and_never_written_as_another() {
        for (file, at, shown) in [
            (&b"\xff\xfea\0\x00\xd8b\0"[..], 4, "a\u{fffd}b"),
            (b"\xff\xfea\0\x00\xdc", 4, "a\u{fffd}"),
            (b"\xff\xfea\0b", 4, "a\u{fffd}"),
            (b"\xff\xfe\x34\xd8", 2, "\u{fffd}"),
        ] {
            let why = ByteOrder::Little.decode(file).expect_err("it is broken");
            assert!(why.ends_with(&format!("half a character stands at byte {at}")), "{why}");
            assert_eq!(ByteOrder::Little.decode_lossy(file), shown);
        }
    }
}
