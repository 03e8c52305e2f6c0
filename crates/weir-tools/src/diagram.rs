//! What the tools that draw have in common: nodes and edges as a model gives them, laid out, and the file
//! that is made. Not here: a tool.

use serde::Deserialize;
use weir_engine::ports::{CallPlan, FileContent};
use weir_engine::workspace::Workspace;
use weir_notes::diagram::{BoxContent, DiagramArrow, DiagramBox, PlacedDiagram, lay_out};

use crate::draft::{self, PlanDraft};
use crate::text;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawingInput {
    /// Path of the file to make.
    pub(crate) path: String,
    /// What is drawn.
    nodes: Vec<NodeInput>,
    /// Arrows between nodes.
    #[serde(default)]
    edges: Vec<EdgeInput>,
    /// Replace a file that is there.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct NodeInput {
    /// Its name for edges.
    id: String,
    /// Text, Markdown in a canvas.
    #[serde(default)]
    text: Option<String>,
    /// Path of a file of the workspace, instead of text.
    #[serde(default)]
    file: Option<String>,
    /// An address, instead of text.
    #[serde(default)]
    url: Option<String>,
    /// Title of the group it stands in.
    #[serde(default)]
    group: Option<String>,
    /// `1` red, `2` orange, `3` yellow, `4` green, `5` cyan, `6` purple, or `#rrggbb`.
    #[serde(default)]
    color: Option<String>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct EdgeInput {
    /// Id of a node.
    from: String,
    /// Id of a node.
    to: String,
    /// Words beside the arrow.
    #[serde(default)]
    label: Option<String>,
}

/// A kind of file that is drawn.
pub(crate) struct DrawingKind {
    /// Its ending, without the dot.
    pub(crate) ending: &'static str,
    /// Writes it, with the path for a title.
    pub(crate) write: fn(&PlacedDiagram, &str) -> String,
}

/// A plan that makes the file.
pub(crate) fn plan_drawing(
    input: &DrawingInput,
    kind: &DrawingKind,
    workspace: &Workspace,
) -> CallPlan {
    let (at, before) = draft::at_for_writing(workspace, &input.path);
    let path = at.path.clone();
    let summary = format!("Draw {path} with {} nodes", input.nodes.len());
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    let before = match before {
        Ok(before @ FileContent::Absent) => before,
        Ok(before @ FileContent::File { .. }) if input.overwrite => before,
        Ok(FileContent::File { .. }) => {
            let why = format!("{path} exists already; set overwrite: true to replace it");
            return draft.into_failing_plan(summary, why);
        }
        Ok(other) => return draft.into_failing_plan(summary, draft::not_a_file(&path, &other)),
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    };
    if !weir_notes::index::has_ending(&path, kind.ending) {
        return draft.into_failing_plan(summary, format!("{path} must end in .{}", kind.ending));
    }
    let drawn = input.nodes.iter().map(node_box).collect::<Result<Vec<_>, _>>();
    match drawn.and_then(|boxes| lay_out(&boxes, input.edges.iter().map(edge_arrow).collect())) {
        Ok(diagram) => {
            let text = (kind.write)(&diagram, &path);
            let after = draft::file_content(text.into_bytes(), &before);
            draft.add_change(at, &before, &after);
            draft.into_plan(summary)
        }
        Err(why) => draft.into_failing_plan(summary, why),
    }
}

fn node_box(node: &NodeInput) -> Result<DiagramBox, String> {
    let content = match (&node.text, &node.file, &node.url) {
        (Some(text), None, None) => BoxContent::Text(text.clone()),
        (None, Some(file), None) => BoxContent::File(file.trim_start_matches("./").to_owned()),
        (None, None, Some(url)) => BoxContent::Link(url.clone()),
        _ => return Err(format!("the node {} needs one of text, file and url", node.id)),
    };
    let (group, color) = (node.group.clone(), node.color.clone());
    Ok(DiagramBox { id: node.id.clone(), content, group, color })
}

fn edge_arrow(edge: &EdgeInput) -> DiagramArrow {
    DiagramArrow { from: edge.from.clone(), to: edge.to.clone(), label: edge.label.clone() }
}

/// What the model is told.
pub(crate) fn report_drawing(input: &DrawingInput) -> String {
    format!(
        "Drew {} with {} and {}",
        input.path,
        text::count_noun(input.nodes.len(), "node"),
        text::count_noun(input.edges.len(), "edge")
    )
}
