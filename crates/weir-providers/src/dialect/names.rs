//! Names and ids in the alphabets of the vendors, reversibly and without collisions (V3).
//!
//! Pure functions of the text: a name is rendered the same way in every request, so nothing that was
//! sent ever changes.

use std::borrow::Cow;

use weir_core::ids::CallId;
use weir_core::model::{ModelReply, ModelSignal, ReplyBlock};
use weir_core::record::sha256_hex;
use weir_core::tool::ToolSpec;

/// Longest name of a tool that every vendor takes.
const NAME_LENGTH_MAX: usize = 64;
/// Hex digits of the hash that keeps renamed tools apart.
const HASH_DIGITS: usize = 16;
/// What ids of ours begin with; ids of vendors that begin so are replaced too.
const OWN_ID_PREFIX: &str = "weir_";

/// A tool's name as the vendors accept it: `[a-zA-Z_][a-zA-Z0-9_-]{0,63}`.
///
/// Most names stay as they are. One that does not fit becomes its own letters and a hash; one that
/// already looks like that is renamed as well, so no two names ever meet.
pub fn wire_name(name: &str) -> Cow<'_, str> {
    if is_wire_name(name) && !looks_renamed(name) {
        return Cow::Borrowed(name);
    }
    let room = NAME_LENGTH_MAX - HASH_DIGITS - 1;
    let mut out: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(room)
        .collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert(0, '_');
        out.truncate(room);
    }
    out.push('_');
    out.push_str(&sha256_hex(name.as_bytes())[..HASH_DIGITS]);
    Cow::Owned(out)
}

fn is_wire_name(name: &str) -> bool {
    (1..=NAME_LENGTH_MAX).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn looks_renamed(name: &str) -> bool {
    let Some(split) = name.len().checked_sub(HASH_DIGITS + 1) else { return false };
    let (_, hash) = name.split_at(split);
    hash.starts_with('_') && hash[1..].bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The way back: which tool a name on the wire means.
#[derive(Debug, Clone, Default)]
pub struct WireNames {
    /// Only the tools whose name changed.
    renamed: Vec<(String, String)>,
}

impl WireNames {
    /// For the tools of a request.
    pub fn new(tools: &[ToolSpec]) -> WireNames {
        let renamed = tools.iter().filter_map(|tool| match wire_name(&tool.name) {
            Cow::Borrowed(_) => None,
            Cow::Owned(wire) => Some((wire, tool.name.clone())),
        });
        WireNames { renamed: renamed.collect() }
    }

    /// The tool that `wire` means.
    pub fn restore<'a>(&'a self, wire: &'a str) -> &'a str {
        let found = self.renamed.iter().find(|(name, _)| name == wire);
        found.map_or(wire, |(_, original)| original)
    }

    /// `reply` with the names of the tools as they were.
    pub fn restore_reply(&self, mut reply: ModelReply) -> ModelReply {
        if let ModelReply::Whole { blocks, .. } = &mut reply
            && !self.renamed.is_empty()
        {
            for block in blocks {
                if let ReplyBlock::Call(call) = block {
                    call.tool = self.restore(&call.tool).to_owned();
                }
            }
        }
        reply
    }

    /// `signal` with the name of the tool as it was.
    pub fn restore_signal(&self, signal: ModelSignal) -> ModelSignal {
        match signal {
            ModelSignal::CallBegun(name) if !self.renamed.is_empty() => {
                ModelSignal::CallBegun(self.restore(&name).to_owned())
            }
            other => other,
        }
    }
}

/// What a vendor accepts as the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdAlphabet {
    /// `[a-zA-Z0-9_-]`, at most so many characters.
    Word { length_max: usize },
    /// Exactly nine letters and digits.
    NineAlphanumeric,
}

/// A vendor's id as it may be sent, `None` when one of ours must stand for it.
pub(crate) fn keep_id(id: &str, alphabet: IdAlphabet) -> bool {
    match alphabet {
        IdAlphabet::Word { length_max } => {
            (1..=length_max).contains(&id.len())
                && !id.starts_with(OWN_ID_PREFIX)
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        }
        IdAlphabet::NineAlphanumeric => {
            id.len() == 9 && !id.starts_with("00") && id.bytes().all(|b| b.is_ascii_alphanumeric())
        }
    }
}

/// An id of ours for `call`, unique in the session because the call's number is.
pub(crate) fn own_id(call: CallId, alphabet: IdAlphabet) -> String {
    match alphabet {
        IdAlphabet::Word { .. } => format!("{OWN_ID_PREFIX}{call}"),
        // Seven digits of base 36 hold every number of a call.
        IdAlphabet::NineAlphanumeric => {
            let mut rest = call.0;
            let mut digits = [b'0'; 7];
            for digit in digits.iter_mut().rev() {
                *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
                rest /= 36;
            }
            format!("00{}", digits.iter().map(|byte| char::from(*byte)).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v3_names_fit_stay_apart_and_come_back() {
        let long = "x".repeat(200);
        let names = ["read_file", "fs.read", "fs_read", "fs/read", "7zip", "", "naïve", &long];
        let tricky = wire_name("fs.read").into_owned();
        let mut wires: Vec<String> = Vec::new();
        for name in names.iter().copied().chain([tricky.as_str()]) {
            let wire = wire_name(name);
            assert!(is_wire_name(&wire), "{name:?} became {wire:?}");
            wires.push(wire.into_owned());
        }
        let mut distinct = wires.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), wires.len(), "{wires:?}");
        assert_eq!(wires[0], "read_file");
    }

    #[test]
    fn v3_ids_of_ours_are_unique_and_never_kept_from_a_vendor() {
        let word = IdAlphabet::Word { length_max: 40 };
        assert!(keep_id("toolu_01A-b", word));
        assert!(!keep_id("weir_c1", word) && !keep_id("", word) && !keep_id("a b", word));
        assert_eq!(own_id(CallId(17), word), "weir_c17");
        let nine = own_id(CallId(u32::MAX), IdAlphabet::NineAlphanumeric);
        assert_eq!((nine.len(), nine.as_str()), (9, "001z141z3"));
        assert!(!keep_id(&nine, IdAlphabet::NineAlphanumeric));
    }
}
