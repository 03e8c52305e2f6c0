//! RTF to text: paragraphs, tabs, cells, letters of any script. Pictures, fonts and hidden
//! destinations are left out; nothing embedded is opened.

use weir_core::document::DocumentError;

use super::flat::western_char;
use super::{ReadDocument, pieces_of};
use crate::{broken_document, too_large};

/// Deepest group.
const DEPTH_MAX: usize = 500;
/// Groups whose text is no text of the document.
const HIDDEN: [&str; 17] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "object",
    "themedata",
    "datastore",
    "latentstyles",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "xmlnstbl",
    "fldinst",
    "bkmkstart",
    "bkmkend",
];

/// What a group inherits.
#[derive(Clone, Copy)]
struct GroupState {
    hidden: bool,
    /// Letters that follow one in Unicode and stand for it in older programs.
    skip: usize,
}

/// Reads rich text.
pub(super) fn read_rich_text(bytes: &[u8]) -> Result<ReadDocument, DocumentError> {
    let mut reader = RichReader::default();
    reader.read_text(bytes)?;
    let mut remarks = Vec::new();
    if contains_field(bytes) {
        let said =
            "it has fields that reach outside (as INCLUDEPICTURE or DDE), which were not followed";
        remarks.push(said.to_owned());
    }
    if reader.has_objects {
        remarks.push("it has embedded objects, which were not opened".to_owned());
    }
    let text = reader.out.replace("\n\n\n", "\n\n");
    let blocks = text.split("\n\n").map(str::to_owned);
    Ok(ReadDocument { format: "RTF", pages: pieces_of(blocks), remarks, ..Default::default() })
}

/// Whether there is a field that starts a program or fetches something.
fn contains_field(bytes: &[u8]) -> bool {
    const ACTING: [&str; 5] = ["INCLUDEPICTURE", "INCLUDETEXT", "DDEAUTO", "DDE ", "IMPORT "];
    let text = String::from_utf8_lossy(bytes);
    text.split("\\fldinst").skip(1).any(|field| {
        let end = field.floor_char_boundary(200.min(field.len()));
        let head = field[..end].to_ascii_uppercase();
        let head = head.split('}').next().unwrap_or_default();
        ACTING.iter().any(|word| head.contains(word))
    })
}

#[derive(Default)]
struct RichReader {
    out: String,
    has_objects: bool,
    /// Half of a letter that takes two units.
    high: Option<u16>,
    /// Letters that are still skipped.
    skipping: usize,
}

impl RichReader {
    fn read_text(&mut self, bytes: &[u8]) -> Result<(), DocumentError> {
        let mut groups = vec![GroupState { hidden: false, skip: 1 }];
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            let state = groups.last().copied().unwrap_or(GroupState { hidden: false, skip: 1 });
            match byte {
                b'{' => {
                    if groups.len() > DEPTH_MAX {
                        return Err(too_large(format!("its groups are nested over {DEPTH_MAX}")));
                    }
                    groups.push(state);
                    self.skipping = 0;
                }
                b'}' => {
                    groups.pop();
                    self.skipping = 0;
                }
                b'\\' => {
                    let word = ControlWord::read_word(bytes, &mut at);
                    if let Some(group) = groups.last_mut() {
                        self.obey_word(&word, group, bytes, &mut at);
                    }
                }
                b'\r' | b'\n' => {}
                byte => self.add_char(western_char(*byte), state),
            }
        }
        if groups.len() > 1 {
            return Err(broken_document("it is cut short"));
        }
        Ok(())
    }

    fn add_char(&mut self, c: char, state: GroupState) {
        if self.skipping > 0 {
            self.skipping -= 1;
        } else if !state.hidden {
            self.out.push(c);
        }
    }

    fn obey_word(
        &mut self,
        word: &ControlWord<'_>,
        group: &mut GroupState,
        bytes: &[u8],
        at: &mut usize,
    ) {
        match word.name {
            name if HIDDEN.contains(&name) => {
                self.has_objects |= name == "object";
                group.hidden = true;
            }
            "*" => group.hidden = true,
            // What a field shows is text again.
            "fldrslt" => group.hidden = false,
            "par" | "sect" | "page" if !group.hidden => self.out.push_str("\n\n"),
            "row" if !group.hidden => self.out.push('\n'),
            "cell" if !group.hidden => self.out.push_str(" | "),
            "line" if !group.hidden => self.out.push('\n'),
            "tab" => self.add_char('\t', *group),
            "emdash" => self.add_char('—', *group),
            "endash" => self.add_char('–', *group),
            "bullet" => self.add_char('•', *group),
            "lquote" => self.add_char('‘', *group),
            "rquote" => self.add_char('’', *group),
            "ldblquote" => self.add_char('“', *group),
            "rdblquote" => self.add_char('”', *group),
            "~" => self.add_char('\u{a0}', *group),
            "{" | "}" | "\\" => self.add_char(char::from(word.name.as_bytes()[0]), *group),
            "uc" => {
                group.skip = word.number.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).min(8)
            }
            "u" => self.add_unit(word.number.unwrap_or(0), *group),
            "'" => {
                let digits = bytes.get(*at..*at + 2).and_then(|d| std::str::from_utf8(d).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                *at += 2;
                self.add_char(byte.map_or('?', western_char), *group);
            }
            "bin" => {
                let length = word.number.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
                *at = at.saturating_add(length).min(bytes.len());
            }
            _ => {}
        }
    }

    /// A unit of UTF-16; some programs write it below zero.
    fn add_unit(&mut self, number: i32, group: GroupState) {
        self.skipping = 0;
        let unit = u16::try_from(number.rem_euclid(0x1_0000)).unwrap_or(0xFFFD);
        match (self.high.take(), unit) {
            (_, 0xD800..=0xDBFF) => self.high = Some(unit),
            (Some(high), 0xDC00..=0xDFFF) => {
                let c = char::decode_utf16([high, unit]).next().and_then(Result::ok);
                self.add_char(c.unwrap_or(char::REPLACEMENT_CHARACTER), group);
            }
            (_, unit) => {
                let c = char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.add_char(c, group);
            }
        }
        self.skipping = group.skip;
    }
}

/// A word after a backslash.
struct ControlWord<'a> {
    name: &'a str,
    number: Option<i32>,
}

impl<'a> ControlWord<'a> {
    fn read_word(bytes: &'a [u8], at: &mut usize) -> ControlWord<'a> {
        let from = *at;
        let text = |from: usize, to: usize| {
            bytes.get(from..to).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default()
        };
        while bytes.get(*at).is_some_and(u8::is_ascii_alphabetic) {
            *at += 1;
        }
        if *at == from {
            *at = (from + 1).min(bytes.len());
            return ControlWord { name: text(from, *at), number: None };
        }
        let name = text(from, *at);
        let digits = *at;
        if bytes.get(*at) == Some(&b'-') {
            *at += 1;
        }
        while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        let number = text(digits, *at).parse().ok();
        if bytes.get(*at) == Some(&b' ') {
            *at += 1;
        }
        ControlWord { name, number }
    }
}
