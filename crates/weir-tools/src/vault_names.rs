//! How like one name of a file is to another, asked of thousands. Not here: which file a name means.

use weir_engine::workspace::edit_distance;

/// A name that others are compared with.
pub(crate) struct NameLetters {
    name: String,
    count: usize,
    letters: u64,
}

impl NameLetters {
    /// Takes a name.
    pub(crate) fn of_name(name: &str) -> NameLetters {
        NameLetters {
            name: name.to_owned(),
            count: name.chars().count(),
            letters: letters_of(name),
        }
    }
    /// How many steps another name is away; `None`: it is another name.
    pub(crate) fn distance_to(&self, other: &str) -> Option<usize> {
        let allowed = (self.count / 3).max(1);
        // A step changes the length by one, and brings or takes one letter: most names need no more.
        let letters = letters_of(other);
        let lacks =
            (self.letters & !letters).count_ones().max((letters & !self.letters).count_ones());
        if self.count.abs_diff(other.chars().count()) > allowed || lacks as usize > allowed {
            return None;
        }
        Some(edit_distance(&self.name, other)).filter(|distance| *distance <= allowed)
    }
}

/// Which letters a name has, whatever the case; several letters share a bit.
fn letters_of(name: &str) -> u64 {
    let letters = name.chars().flat_map(char::to_lowercase);
    letters.fold(0, |bits, letter| bits | (1 << (u32::from(letter) % 64)))
}
