//! The sentences of the requirements as they are written by hand. Not here: who cites them.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

/// A capital letter and a number: `L14`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) letter: char,
    pub(super) number: u8,
}

impl Id {
    /// The id that a word is as a whole.
    pub(super) fn parse(word: &str) -> Option<Id> {
        let mut chars = word.chars();
        let letter = chars.next().filter(char::is_ascii_uppercase)?;
        let digits = chars.as_str();
        let plain = matches!(digits.len(), 1 | 2)
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0');
        let number = plain.then(|| digits.parse().ok())??;
        Some(Id { letter, number })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.number)
    }
}

/// All groups, in the order of their letters.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) groups: Vec<Group>,
}

/// Requirements of one area.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) letter: char,
    pub(super) heading: String,
    pub(super) sentences: BTreeMap<Id, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    group: Vec<WrittenGroup>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGroup {
    letter: char,
    heading: String,
    ids: BTreeMap<String, String>,
}

impl Table {
    /// # Errors
    /// It is no such table, or out of order: what and where.
    pub(super) fn parse(text: &str) -> anyhow::Result<Table> {
        let written: WrittenTable = toml::from_str(text)?;
        let mut groups = Vec::new();
        for WrittenGroup { letter, heading, ids } in written.group {
            let mut sentences = BTreeMap::new();
            for (id, sentence) in ids {
                let id = Id::parse(&id).with_context(|| format!("{id} is no id such as L14"))?;
                ensure!(id.letter == letter, "{id} stands in group {letter}: put it in its own");
                let whole = sentence.ends_with('.') && !sentence.contains(['\n', '|']);
                ensure!(whole, "{id}: write one sentence, in one line and without a stroke");
                sentences.insert(id, sentence);
            }
            groups.push(Group { letter, heading, sentences });
        }
        let sorted = groups.is_sorted_by(|before, after| before.letter < after.letter);
        ensure!(sorted, "the groups are not in the order of their letters: sort them");
        Ok(Table { groups })
    }

    pub(super) fn sentence(&self, id: Id) -> Option<&str> {
        let group = self.groups.iter().find(|group| group.letter == id.letter)?;
        group.sentences.get(&id).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(letter: char, ids: &str) -> String {
        format!("[[group]]\nletter = \"{letter}\"\nheading = \"H\"\n[group.ids]\n{ids}\n")
    }

    #[test]
    fn a_capital_and_a_number_are_an_id() {
        let id = Id::parse("L14").expect("an id");
        assert_eq!((id.letter, id.number, id.to_string().as_str()), ('L', 14, "L14"));
        for word in ["", "L", "l14", "L0", "L014", "L140", "LL1", "Ä1", "L1a", "1", "L+1"] {
            assert_eq!(Id::parse(word), None, "{word}");
        }
    }

    #[test]
    fn ids_are_in_the_order_of_their_numbers() {
        let table = Table::parse(&group('L', "L10 = \"Ten.\"\nL9 = \"Nine.\"")).expect("a table");
        let ids: Vec<String> = table.groups[0].sentences.keys().map(Id::to_string).collect();
        assert_eq!(ids, ["L9", "L10"]);
        assert_eq!(table.sentence(Id { letter: 'L', number: 9 }), Some("Nine."));
        assert_eq!(table.sentence(Id { letter: 'M', number: 9 }), None);
    }

    #[test]
    fn a_table_that_is_out_of_order_says_why() {
        let said = |text: &str| Table::parse(text).expect_err("no table").to_string();
        assert!(said(&group('L', "M1 = \"One.\"")).contains("M1 stands in group L"));
        assert!(said(&group('L', "L1 = \"One\"")).contains("one sentence"));
        assert!(said(&group('L', "One = \"One.\"")).contains("no id"));
        let twice = format!("{}{}", group('M', "M1 = \"One.\""), group('L', "L1 = \"One.\""));
        assert!(said(&twice).contains("order of their letters"));
    }
}
