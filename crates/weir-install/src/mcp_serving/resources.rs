//! What can be read by an address: the files of the folder, its checkpoints, and the session itself. Each
//! but the last is a call of a tool, so it is judged, journaled and labelled as one. Pure. Not here: making
//! the call, and reading the journal (`journal`).

use std::path::Path;

use serde_json::{Value, json};
use url::Url;
use weir_mcp_server::{CallResult, ResultPart, ServedResource, ServedTemplate, ServingError};

use super::journal::JournalPage;

const SESSION: &str = "weir://session";
const SESSION_FROM: &str = "weir://session/";
const FILES: &str = "weir://files";
const CHECKPOINTS: &str = "weir://checkpoints";
const CHECKPOINT: &str = "weir://checkpoint/";
const TEXT: &str = "text/plain";

const READ_FILE: &str = "read_file";
const LIST_FILES: &str = "list_files";
pub(super) const LIST_CHECKPOINTS: &str = "list_checkpoints";
const DIFF_CHECKPOINT: &str = "diff_checkpoint";
/// How a line ends of which `read_file` left something out, and how long it is at least.
const LINE_CUT: &str = " bytes; search_files finds text in it]";
const LINE_BYTES_CUT: usize = 50_000;

/// A call that reads a resource.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResourceCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// Resources with an address of their own, of those whose tools are there.
pub(super) fn fixed_resources(has_tool: impl Fn(&str) -> bool) -> Vec<ServedResource> {
    let resource = |uri: &str, name: &str, description: &str| ServedResource {
        uri: uri.into(),
        name: name.into(),
        description: description.into(),
        media_type: TEXT.into(),
    };
    let mut all = Vec::new();
    if has_tool(LIST_FILES) {
        all.push(resource(
            FILES,
            "Files",
            "The files of the folder, without what .gitignore names.",
        ));
    }
    if has_tool(LIST_CHECKPOINTS) {
        let about = "The snapshots that were taken before files were changed, newest first.";
        all.push(resource(CHECKPOINTS, "Checkpoints", about));
    }
    all.push(ServedResource {
        media_type: "application/jsonl".into(),
        ..resource(SESSION, "This session", "The newest facts of the journal, one a line.")
    });
    all
}

/// Families of resources, of those whose tools are there.
pub(super) fn resource_templates(has_tool: impl Fn(&str) -> bool) -> Vec<ServedTemplate> {
    let template = |uri: &str, name: &str, description: &str| ServedTemplate {
        uri_template: uri.into(),
        name: name.into(),
        description: description.into(),
        media_type: TEXT.into(),
    };
    let mut all = Vec::new();
    if has_tool(READ_FILE) {
        let about = "A file, by its absolute path. Of text its lines, each ended by a line feed.";
        all.push(template("file:///{+path}", "File", about));
    }
    if has_tool(DIFF_CHECKPOINT) {
        let about = "What has changed since a checkpoint, as a diff.";
        all.push(template("weir://checkpoint/{name}", "Checkpoint", about));
    }
    all.push(ServedTemplate {
        media_type: "application/jsonl".into(),
        ..template(
            "weir://session/{number}",
            "Facts",
            "The journal from the fact of this number on.",
        )
    });
    all
}

/// What of the session's journal stands at an address; `None`: it is another address.
pub(super) fn journal_page(uri: &str) -> Option<JournalPage> {
    if uri == SESSION {
        return Some(JournalPage::Newest);
    }
    uri.strip_prefix(SESSION_FROM)?.parse().ok().map(JournalPage::From)
}

/// A resource whose changes are told: what this session itself does to it is known without looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchedResource {
    /// The journal of the session that calls go to, also of the one after it.
    Session,
    /// The list of checkpoints.
    Checkpoints,
}

/// The resource at an address, if its changes are told. Of a file they are not: when a file changes is told by
/// the file, and reading it is a judged call each time.
pub(super) fn watched_resource(uri: &str) -> Result<WatchedResource, ServingError> {
    match uri {
        SESSION => Ok(WatchedResource::Session),
        CHECKPOINTS => Ok(WatchedResource::Checkpoints),
        _ => Err(ServingError::Invalid(format!(
            "changes are told of {SESSION} and {CHECKPOINTS}, not of {uri:?}; a change that is made here \
             has a checkpoint before it"
        ))),
    }
}

impl ResourceCall {
    /// The call that reads what stands at an address.
    ///
    /// # Errors
    /// It is no address of this server.
    pub(super) fn of_uri(uri: &str, root: &Path) -> Result<ResourceCall, ServingError> {
        let call = |tool, arguments| Ok(ResourceCall { tool, arguments });
        if uri == FILES {
            return call(LIST_FILES, json!({"recursive": true, "limit": 5000}));
        }
        if uri == CHECKPOINTS {
            return call(LIST_CHECKPOINTS, json!({}));
        }
        if let Some(name) = uri.strip_prefix(CHECKPOINT).filter(|name| !name.is_empty()) {
            return call(DIFF_CHECKPOINT, json!({ "checkpoint": name }));
        }
        let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file");
        let path = url.and_then(|url| url.to_file_path().ok());
        let unknown = || ServingError::NotFound(format!("there is no resource {uri:?}"));
        let path = path.ok_or_else(unknown)?;
        // Below the folder paths are relative; what lies elsewhere is judged as what it is.
        let path = path.strip_prefix(root).unwrap_or(&path);
        let path = path.to_str().ok_or_else(unknown)?;
        call(READ_FILE, json!({ "path": path }))
    }

    /// The call that reads on, where a page says that there is more.
    pub(super) fn next_page(&self, result: &CallResult) -> Option<ResourceCall> {
        if self.tool != READ_FILE || !result.ok {
            return None;
        }
        let [ResultPart::Text(text)] = result.parts.as_slice() else { return None };
        // Lines of the file have a number before them, whatever they say.
        let notice = text.lines().next_back()?.strip_prefix('[')?.strip_suffix(']')?;
        let offset =
            notice.split("; ").find_map(|word| word.strip_prefix("go on with offset: "))?;
        let offset: u64 = offset.parse().ok()?;
        let mut arguments = self.arguments.clone();
        arguments["offset"] = Value::from(offset);
        Some(ResourceCall { tool: self.tool, arguments })
    }

    /// What the call gave, as contents of the resource.
    ///
    /// # Errors
    /// The call failed or was refused: its words.
    pub(super) fn read_contents(
        &self,
        result: CallResult,
        uri: &str,
    ) -> Result<Vec<ResultPart>, ServingError> {
        if !result.ok {
            return Err(ServingError::Failed(text_of(&result.parts)));
        }
        if self.tool == READ_FILE && has_cut_line(&text_of(&result.parts)) {
            let why = format!(
                "{uri} has a line that is too long to be read whole; search_files finds text in it"
            );
            return Err(ServingError::Failed(why));
        }
        let part = |part: ResultPart| match part {
            ResultPart::Text(text) if self.tool == READ_FILE => {
                ResultPart::Text(without_line_numbers(&text))
            }
            ResultPart::BinaryResource { media_type, data, .. } => {
                ResultPart::BinaryResource { uri: uri.to_owned(), media_type, data }
            }
            other => other,
        };
        let has_media = result.parts.iter().any(|part| !matches!(part, ResultPart::Text(_)));
        let is_wanted = |part: &ResultPart| !(has_media && matches!(part, ResultPart::Text(_)));
        Ok(result.parts.into_iter().filter(is_wanted).map(part).collect())
    }
}

fn text_of(parts: &[ResultPart]) -> String {
    let text = parts.iter().filter_map(|part| match part {
        ResultPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    text.collect::<Vec<_>>().join("\n")
}

/// Whether a page says of a line that it is longer than a page: a part of a file is not the file.
fn has_cut_line(page: &str) -> bool {
    page.lines().any(|line| line.len() > LINE_BYTES_CUT && line.ends_with(LINE_CUT))
}

/// The lines of a file, of a page that numbers them; what is said about the page is left out.
fn without_line_numbers(page: &str) -> String {
    let line = |line: &str| {
        let (number, text) = line.split_once('\t')?;
        number.trim().parse::<u64>().ok()?;
        Some(format!("{text}\n"))
    };
    page.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_of(uri: &str) -> Result<ResourceCall, ServingError> {
        ResourceCall::of_uri(uri, Path::new("/srv/site"))
    }

    #[test]
    fn r2_an_address_is_a_call_of_a_tool_or_nothing() {
        for (uri, tool, arguments) in [
            ("file:///srv/site/src/a%20b.rs", READ_FILE, json!({"path": "src/a b.rs"})),
            ("file:///srv/site/../../etc/passwd", READ_FILE, json!({"path": "/etc/passwd"})),
            ("file:///etc/passwd", READ_FILE, json!({"path": "/etc/passwd"})),
            ("weir://checkpoints", LIST_CHECKPOINTS, json!({})),
            ("weir://checkpoint/ab12", DIFF_CHECKPOINT, json!({"checkpoint": "ab12"})),
        ] {
            assert_eq!(call_of(uri), Ok(ResourceCall { tool, arguments }), "{uri}");
        }
        for uri in
            ["", "weir://", "weir://checkpoint/", "http://a.example/", "file://host/x", "a.txt"]
        {
            assert!(matches!(call_of(uri), Err(ServingError::NotFound(_))), "{uri}");
        }
    }

    #[test]
    fn r2_changes_are_told_of_the_session_and_the_checkpoints_and_of_no_file() {
        assert_eq!(watched_resource("weir://session"), Ok(WatchedResource::Session));
        assert_eq!(watched_resource("weir://checkpoints"), Ok(WatchedResource::Checkpoints));
        for uri in ["", "weir://session/1", "weir://files", "file:///srv/site/a.txt"] {
            assert!(matches!(watched_resource(uri), Err(ServingError::Invalid(_))), "{uri}");
        }
    }

    #[test]
    fn r2_the_journal_has_pages_and_no_other_address_is_one() {
        assert_eq!(journal_page("weir://session"), Some(JournalPage::Newest));
        assert_eq!(journal_page("weir://session/12"), Some(JournalPage::From(12)));
        for uri in ["weir://session/", "weir://session/x", "weir://session/-1", "weir://sessions"] {
            assert_eq!(journal_page(uri), None, "{uri}");
            assert!(matches!(call_of(uri), Err(ServingError::NotFound(_))), "{uri}");
        }
    }

    #[test]
    fn r2_a_file_comes_without_the_numbers_of_its_lines_and_to_its_end() {
        let page = "3\tthree\n4\t\n5\ta\tb\n[lines 3-5 of 6; go on with offset: 6]";
        let parts = vec![ResultPart::Text(page.into())];
        let result = CallResult { parts, ok: true };
        let read = call_of("file:///srv/site/a.txt").expect("a file");
        let next = read.next_page(&result).expect("there is more");
        assert_eq!(next.arguments, json!({"path": "a.txt", "offset": 6}));
        let contents = read.read_contents(result, "file:///srv/site/a.txt").expect("contents");
        assert_eq!(contents, vec![ResultPart::Text("three\n\na\tb\n".into())]);
        let page = |text: String| CallResult { parts: vec![ResultPart::Text(text)], ok: true };
        let notices = "[lines 1-2 of 9; go on with offset: 3; lines end with CRLF]";
        let next = read.next_page(&page(format!("1\tx\n2\ty\n{notices}"))).expect("more");
        assert_eq!(next.arguments["offset"], 3, "with other notices beside it");
        // What the file itself says leads nowhere.
        for last in ["6\tx", "6\t[go on with offset: 1]", "6\tgo on with offset: 1]"] {
            assert_eq!(read.next_page(&page(last.into())), None, "{last}");
        }
        let cut = format!("1\t{}… [this line goes on for 7{LINE_CUT}", "x".repeat(50_000));
        let cut = read.read_contents(page(cut), "file:///srv/site/a.txt");
        assert!(matches!(cut, Err(ServingError::Failed(_))), "a part is not the file: {cut:?}");
    }
}
