//! What was put right while a call was read, as a set, and each in words.
//!
//! Not the repairing: the readers do that, and note it here.

/// One thing that was put right, or left alone for a reason that a person should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    TrailingComma,
    Quotes,
    BareKeys,
    PythonWords,
    LineBreaks,
    Escapes,
    MissingBracket,
    MissingMark,
    MissingOpening,
    EncodedArguments,
    DoubledBraces,
    BesideName,
    OnlyArgument,
    StrayMarks,
    OwnResult,
    Fence,
    OpenThinking,
    Quotation,
    Explained,
    BehindHalf,
    Unread,
}

/// Every repair with the words in which it is journaled.
const WORDS: &[(Repair, &str)] = &[
    (Repair::TrailingComma, "a comma before a closing bracket was left out"),
    (Repair::Quotes, "texts in single or typographic quotes were taken as texts"),
    (Repair::BareKeys, "names of arguments without quotes were taken as names"),
    (Repair::PythonWords, "True, False and None were read as true, false and null"),
    (Repair::LineBreaks, "line breaks within a text were kept"),
    (Repair::Escapes, "an escape that JSON does not know was taken as it stands"),
    (Repair::MissingBracket, "a closing bracket that was missing at the end was added"),
    (Repair::MissingMark, "a mark that was missing at the end of a call was added"),
    (Repair::MissingOpening, "a mark that was missing at the start of a call was added"),
    (Repair::EncodedArguments, "arguments that were written as a text were read as an object"),
    (Repair::DoubledBraces, "doubled braces were read as single ones"),
    (Repair::BesideName, "arguments that stood beside the name were taken as arguments"),
    (Repair::OnlyArgument, "a value without a name was taken as the tool's only argument"),
    (Repair::StrayMarks, "marks left over after a call were left out"),
    (Repair::OwnResult, "what the model wrote as the result of its own call was left out"),
    (Repair::Fence, "the code fence around a call was left out"),
    (Repair::OpenThinking, "thinking that was never closed was taken to end at the call"),
    (Repair::Quotation, "a call that stands word for word in what was read stayed text"),
    (Repair::Explained, "a call that the words around it may only explain stayed text"),
    (Repair::BehindHalf, "a call behind half a call stayed text, which may be a part of the other"),
    (Repair::Unread, "a reply that takes too long to look through stayed text"),
];

/// A set of repairs, in the order of [`WORDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Repairs(u32);

impl Repairs {
    pub(super) fn add_repair(&mut self, repair: Repair) {
        self.0 |= 1 << repair as u32;
    }

    pub(super) fn remove(&mut self, repair: Repair) {
        self.0 &= !(1 << repair as u32);
    }

    pub(super) fn add_all(&mut self, other: Repairs) {
        self.0 |= other.0;
    }

    pub(super) fn as_words(self) -> Vec<String> {
        let has = |repair: Repair| self.0 & (1 << repair as u32) != 0;
        WORDS.iter().filter(|(one, _)| has(*one)).map(|(_, words)| (*words).to_owned()).collect()
    }
}
