//! Maps in what authenticators send (CBOR, RFC 8949, read by `minicbor`): how many pairs there are
//! must be said, and no key may come twice. Not here: what the values mean (`cose`, `said`).

use minicbor::Decoder;
use minicbor::decode::{Decode, Error};

/// Reads the map at the beginning of `bytes`: `read_value` takes the value of each key. How many
/// bytes the map has; `None`: it is none, or a value is not what it must be.
pub(super) fn read_map<'a, K: Decode<'a, ()> + PartialEq>(
    bytes: &'a [u8],
    mut read_value: impl FnMut(&K, &mut Decoder<'a>) -> Result<(), Error>,
) -> Option<usize> {
    let mut decoder = Decoder::new(bytes);
    let pairs = decoder.map().ok()??;
    // No room is kept ahead: the number is the sender's.
    let mut known = Vec::new();
    for _ in 0..pairs {
        let key: K = decoder.decode().ok()?;
        if known.contains(&key) {
            return None;
        }
        read_value(&key, &mut decoder).ok()?;
        known.push(key);
    }
    Some(decoder.position())
}

/// How many bytes the COSE key at the beginning of `bytes` has.
pub(super) fn key_length(bytes: &[u8]) -> Option<usize> {
    read_map(bytes, |_: &i64, decoder| decoder.skip())
}

/// `authData` of an attestation, whatever else it says.
pub(super) fn authenticator_data(attestation: &[u8]) -> Option<&[u8]> {
    let mut data = None;
    let length = read_map(attestation, |key: &&str, decoder| match *key {
        "authData" => decoder.bytes().map(|bytes| data = Some(bytes)),
        _ => decoder.skip(),
    })?;
    data.filter(|_| length == attestation.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn s2_the_data_of_an_attestation_is_found_and_nothing_may_stand_behind_it() {
        let mut attestation = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x42ab".to_vec();
        assert_eq!(authenticator_data(&attestation), Some(&b"ab"[..]));
        attestation.push(0);
        assert_eq!(authenticator_data(&attestation), None);
        assert_eq!(authenticator_data(b"\xa1\x68authData\x62ab"), None, "a text");
        assert_eq!(authenticator_data(b"\xa1\x63fmt\x64none"), None);
    }

    #[test]
    fn s2_what_is_too_long_too_deep_or_twice_is_nothing() {
        assert_eq!(key_length(&[0xa2, 1, 0x38, 0x63, 0x20, 0x42, 1, 2, 0xff]), Some(8));
        assert_eq!(
            key_length(&[0xa1, 1, 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            None
        );
        assert_eq!(key_length(&[0xbb, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
        let deep = [&[0xa1, 1][..], &[0x81; 64]].concat();
        assert_eq!(key_length(&deep), None);
        assert_eq!(key_length(&[0xa2, 1, 1, 1, 2]), None);
        assert_eq!(key_length(&[0xbf, 1, 1, 0xff]), None, "no end is said");
    }

    proptest! {
        #[test]
        fn s2_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = key_length(&bytes);
            let _ = authenticator_data(&bytes);
        }
    }
}
