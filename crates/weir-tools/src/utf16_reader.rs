//! What is stored in UTF-16 as a reader of UTF-8, in memory of one piece. What is broken there is broken here:
//! half a character is a byte that no UTF-8 has.

use std::io::{self, BufRead, Read};

use weir_engine::utf16::ByteOrder;

/// Most bytes that are decoded at once.
const PIECE_BYTES: usize = 8_192;
/// What stands for half a character.
const BROKEN: u8 = 0xff;

/// Reads text that is stored in UTF-16.
pub(crate) struct Utf16Reader<'a> {
    inner: &'a mut dyn BufRead,
    order: ByteOrder,
    /// The first byte of a unit whose second one was not read yet.
    byte: Option<u8>,
    /// The first half of a character whose second one was not read yet.
    high: Option<u16>,
    decoded: Vec<u8>,
    consumed: usize,
    is_over: bool,
}

impl<'a> Utf16Reader<'a> {
    pub(crate) fn new(inner: &'a mut dyn BufRead, order: ByteOrder) -> Utf16Reader<'a> {
        Utf16Reader {
            inner,
            order,
            byte: None,
            high: None,
            decoded: Vec::new(),
            consumed: 0,
            is_over: false,
        }
    }

    fn decode_piece(&mut self) -> io::Result<()> {
        self.decoded.clear();
        self.consumed = 0;
        let buffer = self.inner.fill_buf()?;
        let piece = buffer[..buffer.len().min(PIECE_BYTES)].to_vec();
        self.inner.consume(piece.len());
        self.is_over = piece.is_empty();
        if self.is_over && (self.byte.take().is_some() | self.high.take().is_some()) {
            self.decoded.push(BROKEN);
        }
        for byte in piece {
            match self.byte.take() {
                None => self.byte = Some(byte),
                Some(first) => self.take_unit(self.order.read_unit([first, byte])),
            }
        }
        Ok(())
    }

    fn take_unit(&mut self, unit: u16) {
        let high = self.high.take();
        if (0xd800..=0xdbff).contains(&unit) {
            self.decoded.extend(high.map(|_| BROKEN));
            self.high = Some(unit);
            return;
        }
        for found in char::decode_utf16(high.into_iter().chain([unit])) {
            match found {
                Ok(c) => self.decoded.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(_) => self.decoded.push(BROKEN),
            }
        }
    }
}

impl BufRead for Utf16Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.consumed >= self.decoded.len() && !self.is_over {
            self.decode_piece()?;
        }
        Ok(self.decoded.get(self.consumed..).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.consumed = self.consumed.saturating_add(bytes);
    }
}

impl Read for Utf16Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t1_pieces_of_any_size_are_the_same_text() {
        let text = "Grüße\r\n€ 𝄞𝄞\r\n".repeat(3_000);
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let file = order.encode(&text);
            for room in [1, 3, 7, 8_192, 100_000] {
                let mut inner = io::BufReader::with_capacity(room, file.as_slice());
                let mut read = String::new();
                let mut reader = Utf16Reader::new(&mut inner, order);
                reader.read_to_string(&mut read).expect("it is whole");
                assert_eq!(read.strip_prefix('\u{feff}'), Some(text.as_str()), "{room}");
            }
        }
    }

    #[test]
    fn t1_half_a_character_is_a_broken_byte_and_what_follows_is_read() {
        for (file, expected) in [
            (&b"\x00\xd8a\0"[..], &b"\xffa"[..]),
            (b"\x00\xd8\x00\xd8a\0", b"\xff\xffa"),
            (b"\x00\xdca\0", b"\xffa"),
            (b"a\0\x00\xd8", b"a\xff"),
            (b"a\0b", b"a\xff"),
        ] {
            let mut read = Vec::new();
            let mut inner = file;
            let mut reader = Utf16Reader::new(&mut inner, ByteOrder::Little);
            reader.read_to_end(&mut read).expect("bytes can be read");
            assert_eq!(read, expected, "{file:?}");
        }
    }
}
