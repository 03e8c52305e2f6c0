//! How like one name of a file is to another, asked of thousands. Not here: which file a name means.

use weir_engine::workspace::edit_distance;
use weir_notes::resolve::note_title;

/// A name that others are compared with.
struct NameLetters {
    name: String,
    count: usize,
    letters: u64,
}

impl NameLetters {
    /// Takes a name.
    fn of_name(name: &str) -> NameLetters {
        NameLetters {
            name: name.to_owned(),
            count: name.chars().count(),
            letters: letters_of(name),
        }
    }
    /// How many steps another name is away; `None`: it is another name.
    fn distance_to(&self, other: &str) -> Option<usize> {
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

/// Names of files, of which some are like a name.
pub(crate) struct NameCandidates<'a>(Vec<(&'a str, Vec<String>)>);

impl<'a> NameCandidates<'a> {
    /// Takes paths, each with other names of the file.
    pub(crate) fn of_names(names: Vec<(&'a str, Vec<String>)>) -> NameCandidates<'a> {
        NameCandidates(names)
    }
    /// Files whose names are most like a name that leads nowhere, best first.
    pub(crate) fn likely_targets(&self, name: &str) -> Vec<String> {
        let wanted = NameLetters::of_name(note_title(name));
        let mut near: Vec<(usize, &str)> = Vec::new();
        for (path, aliases) in &self.0 {
            let title = note_title(path);
            let mut names = std::iter::once(title).chain(aliases.iter().map(String::as_str));
            let best = names.find_map(|other| wanted.distance_to(other));
            near.extend(best.map(|distance| (distance, *path)));
        }
        near.sort_unstable();
        near.into_iter().map(|(_, path)| path.to_owned()).collect()
    }
}

/// Which letters a name has, whatever the case; several letters share a bit.
fn letters_of(name: &str) -> u64 {
    let letters = name.chars().flat_map(char::to_lowercase);
    letters.fold(0, |bits, letter| bits | (1 << (u32::from(letter) % 64)))
}
