//! A diagram as an Excalidraw drawing: boxes with their text bound to them, arrows bound to boxes. Not
//! here: where boxes stand.

use serde_json::{Map, Value, json};

use super::canvas::facing_sides;
use super::{BoxPlace, PlacedBox, PlacedDiagram, words_of};

/// Colours of a canvas by their numbers.
const COLORS: [&str; 6] = ["#e03131", "#e8590c", "#f08c00", "#2f9e44", "#0c8599", "#6741d9"];

/// The colour of a box as `#rrggbb`.
pub(super) fn hex_color(color: Option<&str>) -> &str {
    let numbered = color.and_then(|color| color.parse::<usize>().ok());
    match numbered.and_then(|number| COLORS.get(number.checked_sub(1)?)) {
        Some(hex) => hex,
        None => color.unwrap_or("#1e1e1e"),
    }
}

/// The text of an `.excalidraw` file.
pub fn excalidraw_text(diagram: &PlacedDiagram) -> String {
    let mut elements: Vec<Value> = Vec::new();
    for (at, group) in diagram.groups.iter().enumerate() {
        let id = format!("group-{}", at + 1);
        elements.push(drawing_element(
            &id,
            "rectangle",
            group.at,
            &json!({ "strokeStyle": "dashed" }),
        ));
        let label = BoxPlace {
            x: group.at.x + 10,
            y: group.at.y + 6,
            width: group.at.width - 20,
            height: 25,
        };
        elements.push(text_element(&format!("{id}-text"), label, &group.label, None));
    }
    elements.extend(diagram.boxes.iter().flat_map(|placed| box_elements(diagram, placed)));
    for (at, arrow) in diagram.arrows.iter().enumerate() {
        let (from, to) = (diagram.box_place(&arrow.from), diagram.box_place(&arrow.to));
        let (from_side, to_side) = facing_sides(from, to);
        let (start, end) = (SideMiddle::of_side(from, from_side), SideMiddle::of_side(to, to_side));
        let (width, height) = (end.x - start.x, end.y - start.y);
        let id = format!("arrow-{}", at + 1);
        let place = BoxPlace { x: start.x, y: start.y, width: width.abs(), height: height.abs() };
        elements.push(drawing_element(&id, "arrow", place, &json!({
            "points": [[0, 0], [width, height]],
            "startBinding": { "elementId": arrow.from, "focus": 0, "gap": 1 },
            "endBinding": { "elementId": arrow.to, "focus": 0, "gap": 1 },
            "startArrowhead": null,
            "endArrowhead": "arrow",
            "boundElements": arrow.label.iter().map(|_| json!({ "id": format!("{id}-text"), "type": "text" })).collect::<Vec<_>>(),
        })));
        if let Some(label) = &arrow.label {
            let middle = BoxPlace {
                x: start.x + width / 2 - 40,
                y: start.y + height / 2 - 12,
                width: 80,
                height: 25,
            };
            elements.push(text_element(&format!("{id}-text"), middle, label, Some(&id)));
        }
    }
    let whole = json!({
        "type": "excalidraw",
        "version": 2,
        "source": "weir",
        "elements": elements,
        "appState": { "viewBackgroundColor": "#ffffff", "gridSize": null },
        "files": {},
    });
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}

/// A box, and its text bound to it.
fn box_elements(diagram: &PlacedDiagram, placed: &PlacedBox) -> [Value; 2] {
    let (id, text_id) = (&placed.of.id, format!("{}-text", placed.of.id));
    let arrows = diagram.arrows.iter().enumerate();
    let bound = arrows.filter(|(_, arrow)| arrow.from == *id || arrow.to == *id);
    let mut bound: Vec<Value> = bound
        .map(|(at, _)| json!({ "id": format!("arrow-{}", at + 1), "type": "arrow" }))
        .collect();
    bound.push(json!({ "id": text_id, "type": "text" }));
    let color = hex_color(placed.of.color.as_deref());
    let outline = drawing_element(
        id,
        "rectangle",
        placed.at,
        &json!({ "strokeColor": color, "boundElements": bound, "roundness": { "type": 3 } }),
    );
    let inner = BoxPlace {
        x: placed.at.x + 5,
        y: placed.at.y + 5,
        width: placed.at.width - 10,
        height: placed.at.height - 10,
    };
    [outline, text_element(&text_id, inner, words_of(&placed.of.content), Some(id))]
}

/// The middle of a side.
struct SideMiddle {
    x: i64,
    y: i64,
}

impl SideMiddle {
    fn of_side(at: BoxPlace, side: &str) -> SideMiddle {
        let (middle_x, middle_y) = (at.x + at.width / 2, at.y + at.height / 2);
        match side {
            "right" => SideMiddle { x: at.x + at.width, y: middle_y },
            "left" => SideMiddle { x: at.x, y: middle_y },
            "top" => SideMiddle { x: middle_x, y: at.y },
            _ => SideMiddle { x: middle_x, y: at.y + at.height },
        }
    }
}

fn text_element(id: &str, at: BoxPlace, text: &str, container: Option<&str>) -> Value {
    drawing_element(
        id,
        "text",
        at,
        &json!({
            "text": text,
            "originalText": text,
            "fontSize": 16,
            "fontFamily": 1,
            "textAlign": if container.is_some() { "center" } else { "left" },
            "verticalAlign": if container.is_some() { "middle" } else { "top" },
            "containerId": container,
            "lineHeight": 1.25,
        }),
    )
}

/// What every element has, with what this one has beside.
fn drawing_element(id: &str, kind: &str, at: BoxPlace, own: &Value) -> Value {
    // The same diagram is drawn the same way each time.
    let seed =
        id.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let mut fields: Map<String, Value> = json!({
        "id": id, "type": kind, "x": at.x, "y": at.y, "width": at.width, "height": at.height,
        "angle": 0, "strokeColor": "#1e1e1e", "backgroundColor": "transparent", "fillStyle": "solid",
        "strokeWidth": 2, "strokeStyle": "solid", "roughness": 1, "opacity": 100, "groupIds": [],
        "frameId": null, "roundness": null, "seed": seed & 0x7fff_ffff, "version": 1, "versionNonce": 1,
        "isDeleted": false, "boundElements": [], "updated": 1, "link": null, "locked": false,
    })
    .as_object()
    .cloned()
    .unwrap_or_default();
    fields.extend(
        own.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
    );
    Value::Object(fields)
}
