//! As much of CBOR (RFC 8949) as authenticators send: definite lengths, no tags, no floats. What is
//! anything else is nothing.

/// Values within values.
const DEPTH_MAX: usize = 8;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A whole number.
    Int(i64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Text.
    Text(&'a str),
    /// A list.
    List(Vec<Value<'a>>),
    /// Pairs.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

impl<'a> Value<'a> {
    /// The value of a whole number as key.
    pub(super) fn at(&self, key: i64) -> Option<&Value<'a>> {
        self.find(&Value::Int(key))
    }

    /// The value of a word as key.
    pub(super) fn named(&self, key: &'a str) -> Option<&Value<'a>> {
        self.find(&Value::Text(key))
    }

    fn find(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        match self {
            Value::Map(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Bytes, if it is those.
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A number, if it is one.
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }
}

/// The first value of some bytes, and what stands behind it.
pub(super) fn read(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    read_within(bytes, DEPTH_MAX)
}

fn read_within(bytes: &[u8], depth: usize) -> Option<(Value<'_>, &[u8])> {
    let depth = depth.checked_sub(1)?;
    let (first, rest) = bytes.split_first()?;
    let (major, info) = (first >> 5, first & 31);
    if major == 7 {
        return match info {
            20 => Some((Value::Bool(false), rest)),
            21 => Some((Value::Bool(true), rest)),
            22 => Some((Value::Null, rest)),
            _ => None,
        };
    }
    let (number, mut rest) = argument(info, rest)?;
    match major {
        0 => Some((Value::Int(i64::try_from(number).ok()?), rest)),
        1 => Some((Value::Int(-1 - i64::try_from(number).ok()?), rest)),
        2 | 3 => {
            let (taken, rest) = rest.split_at_checked(usize::try_from(number).ok()?)?;
            let value = match major {
                2 => Value::Bytes(taken),
                _ => Value::Text(std::str::from_utf8(taken).ok()?),
            };
            Some((value, rest))
        }
        4 => {
            // No room is kept ahead: the number is the sender's.
            let mut list = Vec::new();
            for _ in 0..number {
                let (value, left) = read_within(rest, depth)?;
                list.push(value);
                rest = left;
            }
            Some((Value::List(list), rest))
        }
        5 => {
            let mut map = Vec::new();
            for _ in 0..number {
                let (key, left) = read_within(rest, depth)?;
                let (value, left) = read_within(left, depth)?;
                if map.iter().any(|(known, _)| *known == key) {
                    return None;
                }
                map.push((key, value));
                rest = left;
            }
            Some((Value::Map(map), rest))
        }
        _ => None,
    }
}

/// The number that stands in or behind the first byte.
fn argument(info: u8, rest: &[u8]) -> Option<(u64, &[u8])> {
    let size = match info {
        0..=23 => return Some((u64::from(info), rest)),
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => return None,
    };
    let (taken, rest) = rest.split_at_checked(size)?;
    Some((taken.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)), rest))
}

/// `authData` of an attestation, whatever else it says.
pub(super) fn authenticator_data(attestation: &[u8]) -> Option<&[u8]> {
    let (value, rest) = read(attestation)?;
    if !rest.is_empty() {
        return None;
    }
    value.named("authData")?.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn s2_values_are_read_as_the_standard_writes_them() {
        let check = |bytes: &[u8], value: Value<'_>| {
            assert_eq!(read(bytes), Some((value, &[][..])), "{bytes:x?}");
        };
        check(&[0x17], Value::Int(23));
        check(&[0x19, 0x03, 0xe8], Value::Int(1000));
        check(&[0x38, 0x63], Value::Int(-100));
        check(&[0x44, 1, 2, 3, 4], Value::Bytes(&[1, 2, 3, 4]));
        check(&[0x63, 0xe6, 0xb0, 0xb4], Value::Text("水"));
        check(&[0x82, 0x01, 0x20], Value::List(vec![Value::Int(1), Value::Int(-1)]));
        check(&[0xa1, 0x01, 0xf5], Value::Map(vec![(Value::Int(1), Value::Bool(true))]));
    }

    #[test]
    fn s2_what_is_too_long_too_deep_or_twice_is_nothing() {
        assert_eq!(read(&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(read(&[0x9b, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(read(&[0x81; 64]), None);
        assert_eq!(read(&[0xa2, 1, 1, 1, 2]), None);
        assert_eq!(read(&[0x5f, 0x41, 1, 0xff]), None, "no end is said");
    }

    proptest! {
        #[test]
        fn s2_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = authenticator_data(&bytes);
        }
    }
}
