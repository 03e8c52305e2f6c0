//! Which notes are linked with which: names and paths as they are written, and how near notes are to each
//! other. Not here: the rules by which an editor of notes resolves links.

use std::collections::HashMap;

/// Most links of one text that are looked at.
const LINKS_MAX: usize = 1_000;

/// What the links of a note say of its neighbours, beside what the note says of itself.
const LINK_SHARE: f32 = 0.5;

/// Targets of `[[links]]` and of Markdown links to other notes, as they are compared: lower case, without
/// heading, block and ending.
pub(crate) fn link_targets(text: &str) -> Vec<String> {
    let wiki = text.split("[[").skip(1).filter_map(|rest| Some(rest.split_once("]]")?.0));
    let plain = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let plain = plain.filter(|target| !target.contains("://") && !target.starts_with('#'));
    let mut targets: Vec<String> =
        wiki.chain(plain).take(LINKS_MAX).map(note_name).filter(|name| !name.is_empty()).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// The name of a note as links are compared: the last part of its path, lower case, without ending.
fn note_name(target: &str) -> String {
    let path = target.split(['|', '#', '^', '\n']).next().unwrap_or_default();
    let file = path.trim().trim_matches(['<', '>']).rsplit('/').next().unwrap_or_default();
    let lower = file.replace("%20", " ").to_lowercase();
    lower.strip_suffix(".md").unwrap_or(&lower).to_owned()
}

/// A note of a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkedNote<'a> {
    /// Its number.
    pub(crate) number: usize,
    /// Its path.
    pub(crate) name: &'a str,
    /// What it links to, as [`link_targets`] says it.
    pub(crate) targets: &'a [String],
}

/// Who is linked with whom, either way.
#[derive(Debug, Default)]
pub(crate) struct LinkGraph(HashMap<usize, Vec<usize>>);

impl LinkGraph {
    /// The graph of these notes. A name that several notes have means each of them.
    pub(crate) fn connect_notes<'a>(
        notes: impl Iterator<Item = LinkedNote<'a>> + Clone,
    ) -> LinkGraph {
        let mut named: HashMap<String, Vec<usize>> = HashMap::new();
        for note in notes.clone() {
            named.entry(note_name(note.name)).or_default().push(note.number);
        }
        let mut near: HashMap<usize, Vec<usize>> = HashMap::new();
        for note in notes {
            let targets = note.targets.iter().filter_map(|target| named.get(target));
            for other in targets.flatten().filter(|other| **other != note.number) {
                near.entry(note.number).or_default().push(*other);
                near.entry(*other).or_default().push(note.number);
            }
        }
        for neighbours in near.values_mut() {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        LinkGraph(near)
    }

    /// How near notes are to the best ones, which come first: a note is nearest to itself, and what it is
    /// linked with, either way, is near. A note with many links says less with each. Empty where none of
    /// the best has a link: then all are as near as they were.
    pub(crate) fn nearness(&self, best: &[usize]) -> HashMap<usize, f32> {
        let mut near: HashMap<usize, f32> = HashMap::new();
        let mut is_linked = false;
        for (place, note) in best.iter().enumerate() {
            let worth = 1.0 / (1.0 + place as f32);
            *near.entry(*note).or_default() += worth;
            let Some(neighbours) = self.0.get(note) else { continue };
            is_linked = true;
            let share = LINK_SHARE * worth / (neighbours.len() as f32).sqrt();
            for neighbour in neighbours {
                *near.entry(*neighbour).or_default() += share;
            }
        }
        if is_linked { near } else { HashMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_links_to_notes_are_found_as_they_are_written() {
        let text = "[[Daily notes|days]], ![[Media/Image.PNG]], [other](../a/My%20note.md#Part), \
                    [web](https://e.org/x.md), [here](#below), [[Daily notes#Setup]], [[ ]]";
        assert_eq!(link_targets(text), ["daily notes", "image.png", "my note"]);
    }

    #[test]
    fn k6_what_is_linked_with_the_best_is_near() {
        let targets =
            [vec!["b".to_owned(), "c".to_owned(), "a".to_owned()], vec![], vec![], vec![]];
        let notes = ["x/A.md", "b.md", "y/c.md", "d.md"].into_iter().zip(&targets).enumerate();
        let notes = notes.map(|(number, (name, targets))| LinkedNote { number, name, targets });
        let graph = LinkGraph::connect_notes(notes);
        let near = |best: &[usize]| {
            let mut near: Vec<usize> = graph.nearness(best).into_keys().collect();
            near.sort_unstable();
            near
        };
        assert_eq!(near(&[0]), [0, 1, 2]);
        assert_eq!(near(&[1]), [0, 1]);
        assert_eq!(near(&[3]), [0_usize; 0], "it has no links");
        let of = graph.nearness(&[1, 3, 0]);
        assert!(of[&1] > of[&0] && of[&0] > of[&3] && of[&3] > of[&2], "{of:?}");
    }
}
