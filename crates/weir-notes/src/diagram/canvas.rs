//! A diagram as JSON Canvas 1.0. Not here: where boxes stand.

use serde_json::{Map, Value, json};

use super::{BoxContent, BoxPlace, PlacedDiagram};

/// The text of a `.canvas` file.
pub fn canvas_text(diagram: &PlacedDiagram) -> String {
    let mut nodes: Vec<Value> = Vec::new();
    for (at, group) in diagram.groups.iter().enumerate() {
        let id = format!("group-{}", at + 1);
        nodes.push(canvas_node(&id, group.at, &json!({ "type": "group", "label": group.label })));
    }
    for placed in &diagram.boxes {
        let content = match &placed.of.content {
            BoxContent::Text(text) => json!({ "type": "text", "text": text }),
            BoxContent::File(path) => json!({ "type": "file", "file": path }),
            BoxContent::Link(url) => json!({ "type": "link", "url": url }),
        };
        let mut value = canvas_node(&placed.of.id, placed.at, &content);
        if let (Some(color), Some(fields)) = (&placed.of.color, value.as_object_mut()) {
            fields.insert("color".into(), json!(color));
        }
        nodes.push(value);
    }
    let edges: Vec<Value> = diagram
        .arrows
        .iter()
        .enumerate()
        .map(|(at, arrow)| {
            let (from, to) = (diagram.box_place(&arrow.from), diagram.box_place(&arrow.to));
            let (from_side, to_side) = facing_sides(from, to);
            let mut edge = json!({
                "id": format!("edge-{}", at + 1),
                "fromNode": arrow.from,
                "fromSide": from_side,
                "toNode": arrow.to,
                "toSide": to_side,
            });
            if let (Some(label), Some(fields)) = (&arrow.label, edge.as_object_mut()) {
                fields.insert("label".into(), json!(label));
            }
            edge
        })
        .collect();
    let whole = json!({ "nodes": nodes, "edges": edges });
    // A value of our own is always JSON.
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}

fn canvas_node(id: &str, at: BoxPlace, content: &Value) -> Value {
    let mut fields = Map::new();
    fields.insert("id".into(), json!(id));
    fields.extend(
        content
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    for (name, value) in [("x", at.x), ("y", at.y), ("width", at.width), ("height", at.height)] {
        fields.insert(name.into(), json!(value));
    }
    Value::Object(fields)
}

/// The sides that face each other.
pub(super) fn facing_sides(from: BoxPlace, to: BoxPlace) -> (&'static str, &'static str) {
    match () {
        () if from.x + from.width <= to.x => ("right", "left"),
        () if to.x + to.width <= from.x => ("left", "right"),
        () if from.y <= to.y => ("bottom", "top"),
        () => ("top", "bottom"),
    }
}

impl PlacedDiagram {
    /// Where a box stands; nowhere: it is not there.
    pub(super) fn box_place(&self, id: &str) -> BoxPlace {
        let found = self.boxes.iter().find(|placed| placed.of.id == id);
        found.map_or(BoxPlace { x: 0, y: 0, width: 0, height: 0 }, |placed| placed.at)
    }
}
