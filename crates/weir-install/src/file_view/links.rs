//! The body of a note with other words in place of its links, for whoever shows it. Pure. Not here: where
//! links lead (`weir_tools::note_links`), what a face writes for one.

use weir_tools::note_links::FileLink;

/// The `body` of a note, which begins at `start` of its text, with some links written anew: `write` is
/// told the number of each link, the link, and how it stands there, and says what is to stand there
/// instead; `None` leaves it. What stands within a link that was written anew is gone with it.
pub fn rewrite_links(
    body: &str,
    start: usize,
    links: &[FileLink],
    write: impl Fn(usize, &FileLink, &str) -> Option<String>,
) -> String {
    let mut text = String::with_capacity(body.len());
    let mut done = 0;
    for (number, link) in links.iter().enumerate() {
        let (Some(from), Some(to)) = (link.start.checked_sub(start), link.end.checked_sub(start))
        else {
            continue;
        };
        // Another process may have said where links stand: places that are none are passed over.
        let (Some(before), Some(own)) = (body.get(done..from), body.get(from..to)) else {
            continue;
        };
        let Some(written) = write(number, link, own) else { continue };
        text.push_str(before);
        text.push_str(&written);
        done = to;
    }
    text.push_str(body.get(done..).unwrap_or_default());
    text
}

#[cfg(test)]
mod tests {
    use weir_tools::note_links::{FileLinkKind, FileLinkTarget};

    use super::*;

    fn link(start: usize, end: usize) -> FileLink {
        FileLink {
            start,
            end,
            form: FileLinkKind::Wiki,
            embed: false,
            text: "words".into(),
            named: "a".into(),
            part: String::new(),
            target: FileLinkTarget::Unknown,
        }
    }

    #[test]
    fn k2_links_are_written_anew_and_all_else_stays() {
        let body = "é [[a]] and [[b]].";
        // The text begins one byte before the body.
        let links = [link(4, 9), link(6, 7), link(14, 19)];
        let shown = rewrite_links(body, 1, &links, |number, link, own| {
            (number != 2).then(|| format!("<{number} {} {own}>", link.text))
        });
        assert_eq!(shown, "é <0 words [[a]]> and [[b]].");
    }

    #[test]
    fn k2_places_that_are_none_are_passed_over() {
        let links = [link(0, 3), link(3, 2), link(2, 90), link(1, 2)];
        let shown = rewrite_links("éa", 0, &links, |_, _, _| Some("X".into()));
        assert_eq!(shown, "X");
        let shown = rewrite_links("éa", 5, &links, |_, _, _| Some("X".into()));
        assert_eq!(shown, "éa");
    }
}
