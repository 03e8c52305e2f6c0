//! Files of long results that are there no longer: what to do instead. Not here: writing and removing
//! them, which the engine does when a run begins to need them and when it ends.

/// Where the engine puts them.
const FOLDER: &str = ".weir/tmp/";

/// The way to what stood in the file, where `path` is one of these; the engine calls them
/// `.weir/tmp/<session>/<tool>-<number of the call>.md`.
pub(crate) fn missing_result_advice(path: &str) -> Option<String> {
    let (_, name) = path.strip_prefix(FOLDER)?.split_once('/')?;
    let (tool, number) = name.strip_suffix(".md")?.rsplit_once('-')?;
    let is_one = !name.contains('/') && !tool.is_empty() && number.parse::<u32>().is_ok();
    is_one.then(|| {
        format!(
            "{path} is gone: the file of a long result is kept until its run ends. recall \
             {{\"call\": \"c{number}\"}} finds what it said; for all of it, make the call again"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::missing_result_advice;

    #[test]
    fn x1_only_the_file_of_a_result_is_answered_so() {
        let told = missing_result_advice(".weir/tmp/s1/search_files-7.md").expect("it is one");
        assert!(told.contains("recall {\"call\": \"c7\"}"), "{told}");
        assert!(
            missing_result_advice(".weir/tmp/s1/mcp__a__b-c-12.md")
                .is_some_and(|told| told.contains("c12"))
        );
        for other in [
            "notes.md",
            ".weir/tmp/notes-1.md",
            ".weir/tmp/s1/notes.md",
            ".weir/tmp/s1/-1.md",
            ".weir/tmp/s1/skills/a-1.md",
            ".weir/tmp/s1/a-1.txt",
            "x/.weir/tmp/s1/a-1.md",
        ] {
            assert_eq!(missing_result_advice(other), None, "{other}");
        }
    }
}
