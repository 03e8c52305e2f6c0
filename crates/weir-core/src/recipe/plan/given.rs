//! What an earlier call of a recipe gives to later ones. Not here: how it is put in.

use serde::{Deserialize, Serialize};

use crate::tool::built_in::{ToolTrait, has_trait};

/// What an earlier call gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutput {
    /// Text of the result.
    pub text: String,
    /// Nothing of it was cut or left out.
    pub whole: bool,
}

/// The words that stand within a line that was cut.
const LINE_CUT: &str = "goes on for ";

impl StepOutput {
    /// What the result of `tool` gives to later calls: of a file its lines, without the numbers that
    /// are only shown.
    pub fn from_result(tool: &str, text: String, whole: bool) -> StepOutput {
        match lines_of(&text).filter(|_| has_trait(tool, ToolTrait::NumbersLines)) {
            Some((lines, all)) => StepOutput { text: lines, whole: whole && all },
            None => StepOutput { text, whole },
        }
    }
}

/// The lines of a file as it was shown, and whether these are all of it.
fn lines_of(shown: &str) -> Option<(String, bool)> {
    if shown.starts_with('[') && shown.ends_with(" is empty]") {
        return Some((String::new(), true));
    }
    let count = shown.lines().count();
    let mut lines = Vec::with_capacity(count);
    let mut all = !shown.contains(LINE_CUT);
    let mut next = None;
    for (index, line) in shown.lines().enumerate() {
        let numbered = line
            .split_once('\t')
            .and_then(|(number, line)| number.parse::<usize>().ok().map(|number| (number, line)));
        match numbered {
            Some((number, line)) if next.is_none_or(|next| next == number) => {
                next = Some(number + 1);
                lines.push(line);
            }
            // A note: only that it was read to the end says that nothing is left out.
            _ if index > 0 && index + 1 == count && line.starts_with('[') => {
                all = all && line.starts_with("[lines ") && line.ends_with("; the end]");
            }
            _ => return None,
        }
    }
    Some((lines.join("\n"), all))
}
