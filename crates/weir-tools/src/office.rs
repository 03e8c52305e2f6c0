//! What the tools that make documents share: the files that go in are read, the document is made by
//! the confined reader, and what it became is planned as a change of one file.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use weir_core::document::{DocumentRequest, DocumentResult};
use weir_core::office::{OfficeDocument, OfficePart};
use weir_core::tool::{Effects, PathAccess};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};

use crate::built::NewContents;
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft};
use crate::{run_blocking, text};

/// Most bytes of the files that go into one document.
const FILES_BYTES_MAX: u64 = 48_000_000;
/// Most files that go into one document.
const FILES_MAX: usize = 100;

/// Where a document goes, and its description beside it. Read in two steps, since a field that
/// nobody knows must be refused and a flattened description would let it pass.
#[derive(Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OfficeInput<D> {
    /// File to write, with its usual ending.
    pub(crate) path: String,
    #[cfg_attr(test, schemars(flatten))]
    pub(crate) document: D,
}

impl<'de, D: DeserializeOwned> Deserialize<'de> for OfficeInput<D> {
    fn deserialize<R: Deserializer<'de>>(input: R) -> Result<Self, R::Error> {
        let mut fields = Map::<String, Value>::deserialize(input)?;
        let path = take_text(&mut fields, "path").map_err(R::Error::custom)?;
        let path = path.ok_or_else(|| R::Error::missing_field("path"))?;
        let document = D::deserialize(Value::Object(fields)).map_err(R::Error::custom)?;
        Ok(OfficeInput { path, document })
    }
}

/// Takes a text out of fields; `None`: it is not there.
pub(crate) fn take_text(
    fields: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<String>, String> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{name} must be a text")),
    }
}

/// A document that the reader made.
pub(crate) struct MadeOffice {
    pub(crate) outline: String,
    pub(crate) remarks: Vec<String>,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the files that go into `document` and makes it. What is read is declared in `draft`.
pub(crate) async fn make_office(
    document: OfficeDocument,
    draft: &mut PlanDraft,
    cx: &ToolContext,
) -> Result<MadeOffice, String> {
    let names = document.named_files();
    if names.len() > FILES_MAX {
        return Err(format!(
            "{} files go into it and at most {FILES_MAX} can; make several documents",
            names.len()
        ));
    }
    let (mut parts, mut bytes) = (Vec::new(), Vec::new());
    for name in names {
        let at = cx.workspace.resolve(&name, PathAccess::Read);
        draft.touch(at.clone());
        let workspace = cx.workspace.clone();
        let left = FILES_BYTES_MAX.saturating_sub(bytes.len() as u64);
        let read = run_blocking(move || workspace.read(&at, left)).await?;
        match read.map_err(|why| format!("{name}: {why}"))? {
            FileContent::File { bytes: file, .. } => {
                parts.push(OfficePart { name, length: file.len() as u64 });
                bytes.extend_from_slice(&file);
            }
            other => return Err(draft::not_a_file(&name, &other)),
        }
    }
    let wish = DocumentRequest::Make { document, parts };
    match cx.documents.inspect_document(wish, bytes.into()).await {
        Ok(DocumentResult::Made { outline, remarks, bytes }) => {
            Ok(MadeOffice { outline, remarks, bytes })
        }
        Ok(_) => Err("nothing that was asked for was made".into()),
        Err(why) => Err(why.to_string()),
    }
}

/// The plan of writing `document` to `path`, whose name must end so.
pub(crate) async fn plan_office(
    path: &str,
    ending: &str,
    document: OfficeDocument,
    cx: &ToolContext,
) -> CallPlan {
    let mut draft = PlanDraft::default();
    let (at, before) = draft::at_for_writing(&cx.workspace, path);
    draft.touch(at.clone());
    let create = at.access == PathAccess::Create;
    let verb = if create { "Create" } else { "Replace" };
    let summary = format!("{verb} {}", at.path);
    if !at.path.to_lowercase().ends_with(&format!(".{ending}")) {
        let why = format!("{} does not end in .{ending}", at.path);
        return draft.into_failing_plan(summary, why);
    }
    let before = match before {
        Ok(before @ (FileContent::Absent | FileContent::File { .. })) => before,
        Ok(other) => {
            let why = draft::not_a_file(&at.path, &other);
            return draft.into_failing_plan(summary, why);
        }
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    };
    let made = match make_office(document, &mut draft, cx).await {
        Ok(made) => made,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    if made.bytes.len() as u64 > EDIT_BYTES_MAX {
        let size = text::size_text(made.bytes.len() as u64);
        let why = format!("the document has {size}, more than is written; use smaller pictures");
        return draft.into_failing_plan(summary, why);
    }
    let after = draft::file_content(made.bytes, &before);
    draft.change_unshown(at, &before, &after);
    for remark in &made.remarks {
        draft.add_note(&format!("Note: {remark}\n"));
    }
    draft.add_note(&made.outline);
    draft.into_plan(summary)
}

/// What the model is told of a document that was written.
pub(crate) fn report_office(effects: &Effects, contents: &NewContents) -> String {
    let written = effects.changes.first().and_then(|change| {
        let bytes = contents.get(&change.path)?;
        Some(format!("Wrote {} ({})", change.path, text::size_text(bytes.len() as u64)))
    });
    written.unwrap_or_else(|| "The file is exactly this document already".into())
}
