//! A diagram as a file of draw.io: one page of XML, uncompressed. Not here: where boxes stand.

use super::excalidraw::hex_color;
use super::{BoxPlace, PlacedDiagram, words_of};

/// The text of a `.drawio` file.
pub fn drawio_text(diagram: &PlacedDiagram, title: &str) -> String {
    let mut cells = String::new();
    for (at, group) in diagram.groups.iter().enumerate() {
        let style = "rounded=0;whiteSpace=wrap;html=0;dashed=1;fillColor=none;verticalAlign=top;fontStyle=1;";
        let id = format!("group-{}", at + 1);
        cells.push_str(&vertex_cell(&CellText { id: &id, value: &group.label, style }, group.at));
    }
    for placed in &diagram.boxes {
        let color = hex_color(placed.of.color.as_deref());
        let style = format!("rounded=1;whiteSpace=wrap;html=0;strokeColor={color};");
        let (id, value) = (format!("node-{}", placed.of.id), words_of(&placed.of.content));
        cells.push_str(&vertex_cell(&CellText { id: &id, value, style: &style }, placed.at));
    }
    for (at, arrow) in diagram.arrows.iter().enumerate() {
        cells.push_str(&format!(
            "        <mxCell id=\"edge-{}\" value=\"{}\" style=\"endArrow=classic;html=0;rounded=1;\" \
             edge=\"1\" parent=\"1\" source=\"{}\" target=\"{}\">\n          \
             <mxGeometry relative=\"1\" as=\"geometry\"/>\n        </mxCell>\n",
            at + 1,
            escape_xml(arrow.label.as_deref().unwrap_or_default()),
            escape_xml(&format!("node-{}", arrow.from)),
            escape_xml(&format!("node-{}", arrow.to)),
        ));
    }
    format!(
        "<mxfile host=\"weir\">\n  <diagram id=\"page-1\" name=\"{}\">\n    <mxGraphModel grid=\"1\" \
         gridSize=\"10\" arrows=\"1\" page=\"0\">\n      <root>\n        <mxCell id=\"0\"/>\n        \
         <mxCell id=\"1\" parent=\"0\"/>\n{cells}      </root>\n    </mxGraphModel>\n  </diagram>\n</mxfile>\n",
        escape_xml(title)
    )
}

struct CellText<'a> {
    id: &'a str,
    value: &'a str,
    style: &'a str,
}

fn vertex_cell(cell: &CellText<'_>, at: BoxPlace) -> String {
    format!(
        "        <mxCell id=\"{}\" value=\"{}\" style=\"{}\" vertex=\"1\" parent=\"1\">\n          \
         <mxGeometry x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" as=\"geometry\"/>\n        </mxCell>\n",
        escape_xml(cell.id),
        escape_xml(cell.value),
        cell.style,
        at.x,
        at.y,
        at.width,
        at.height,
    )
}

/// Text as it stands in XML, also in an attribute; what cannot stand there is left out.
pub(super) fn escape_xml(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    let escaped = plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\n', "&#10;")
}
