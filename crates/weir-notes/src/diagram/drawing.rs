//! A canvas as somebody looks at it: a drawing as SVG, and an outline in words for where nothing can be
//! drawn. Reads any JSON Canvas 1.0 and draws what of it can be drawn. Not here: making a canvas, and its
//! links (`note`).

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::canvas::facing_sides;
use super::drawio::escape_xml;
use super::{BoxContent, BoxPlace};

/// Most boxes and arrows that are drawn.
const NODES_MAX: usize = 2_000;
const EDGES_MAX: usize = 4_000;
/// Farthest place and largest side of a box, in pixels.
const PLACE_MAX: i64 = 1_000_000;
const SIDE_MAX: i64 = 100_000;
/// Letters of a text that are shown, in a box or a line.
const TEXT_CHARS_MAX: usize = 600;
const LABEL_CHARS_MAX: usize = 80;
/// Size of letters, height of a line and width of a letter, in pixels.
const LETTER_SIZE: i64 = 16;
const LINE_HEIGHT: i64 = 22;
const LETTER_WIDTH: i64 = 9;
const PADDING: i64 = 12;
/// What stands around the boxes, in pixels.
const MARGIN: i64 = 40;
/// The colours of the format that have a number, from 1.
const COLORS: [&str; 6] = ["#e93147", "#ec7500", "#e0ac00", "#08b94e", "#00bfbc", "#7852ee"];

/// A canvas that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CanvasDrawing {
    boxes: Vec<DrawnBox>,
    groups: Vec<DrawnGroup>,
    arrows: Vec<DrawnArrow>,
    /// Boxes and arrows that could not be drawn: without a place, of an unknown kind, or too many.
    pub left_out: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DrawnBox {
    id: String,
    at: BoxPlace,
    content: BoxContent,
    color: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DrawnGroup {
    id: String,
    at: BoxPlace,
    label: String,
    color: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DrawnArrow {
    from: String,
    to: String,
    label: String,
}

impl CanvasDrawing {
    /// Reads a canvas.
    ///
    /// # Errors
    /// It is no JSON Canvas: a sentence.
    pub fn read_canvas(text: &str) -> Result<CanvasDrawing, String> {
        // An empty file is how an empty canvas is kept.
        if text.trim().is_empty() {
            return Ok(CanvasDrawing::default());
        }
        let whole: Value =
            serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let Some(fields) = whole.as_object() else {
            return Err("it is no canvas: its JSON is no object".into());
        };
        let list = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(&[][..]),
            Some(Value::Array(list)) => Ok(list.as_slice()),
            Some(_) => Err(format!("it is no canvas: `{name}` is no list")),
        };
        let mut drawing = CanvasDrawing::default();
        let nodes = list("nodes")?;
        drawing.left_out += nodes.len().saturating_sub(NODES_MAX);
        for node in nodes.iter().take(NODES_MAX) {
            drawing.take_node(node);
        }
        let edges = list("edges")?;
        drawing.left_out += edges.len().saturating_sub(EDGES_MAX);
        for edge in edges.iter().take(EDGES_MAX) {
            drawing.take_edge(edge);
        }
        Ok(drawing)
    }

    fn take_node(&mut self, node: &Value) {
        let word = |name: &str| node.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(id), Some(at)) = (word("id"), read_place(node)) else {
            self.left_out += 1;
            return;
        };
        let color = word("color");
        let content = match node.get("type").and_then(Value::as_str) {
            Some("group") => {
                let label = word("label").unwrap_or_default();
                self.groups.push(DrawnGroup { id, at, label, color });
                return;
            }
            Some("text") => BoxContent::Text(word("text").unwrap_or_default()),
            Some("file") => {
                let part = word("subpath").unwrap_or_default();
                BoxContent::File(word("file").unwrap_or_default() + &part)
            }
            Some("link") => BoxContent::Link(word("url").unwrap_or_default()),
            _ => {
                self.left_out += 1;
                return;
            }
        };
        self.boxes.push(DrawnBox { id, at, content, color });
    }

    fn take_edge(&mut self, edge: &Value) {
        let word = |name: &str| edge.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(from), Some(to)) = (word("fromNode"), word("toNode")) else {
            self.left_out += 1;
            return;
        };
        self.arrows.push(DrawnArrow { from, to, label: word("label").unwrap_or_default() });
    }

    /// Whether nothing stands on it.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty() && self.groups.is_empty()
    }

    fn places(&self) -> HashMap<&str, BoxPlace> {
        let boxes = self.boxes.iter().map(|drawn| (drawn.id.as_str(), drawn.at));
        boxes.chain(self.groups.iter().map(|group| (group.id.as_str(), group.at))).collect()
    }

    /// What a box or a group is called.
    fn names(&self) -> HashMap<&str, String> {
        let boxes = self.boxes.iter().map(|drawn| (drawn.id.as_str(), first_words(&drawn.content)));
        let groups = self.groups.iter().map(|group| (group.id.as_str(), short_label(&group.label)));
        boxes.chain(groups).collect()
    }

    /// The canvas as an SVG element: no script, no link, nothing that is fetched. Colours follow the page
    /// that it stands in.
    pub fn svg(&self) -> String {
        let frame = self.frame();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"{} {} {} {}\" \
             font-size=\"{LETTER_SIZE}\" font-family=\"sans-serif\" fill=\"currentColor\">\
             <title>Canvas</title><defs><marker id=\"canvas-arrow\" viewBox=\"0 0 10 10\" refX=\"9\" \
             refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L10 5L0 \
             10z\"/></marker></defs>",
            frame.x, frame.y, frame.width, frame.height
        );
        for group in &self.groups {
            write_frame(&mut out, group.at, group.color.as_deref(), "8 6");
            let above = group.at.y - 6;
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{above}\" font-weight=\"bold\">{}</text>",
                group.at.x,
                escape_xml(&short_label(&group.label))
            );
        }
        let places = self.places();
        for arrow in &self.arrows {
            let (Some(from), Some(to)) =
                (places.get(arrow.from.as_str()), places.get(arrow.to.as_str()))
            else {
                continue;
            };
            write_arrow(&mut out, *from, *to, &arrow.label);
        }
        for drawn in &self.boxes {
            write_frame(&mut out, drawn.at, drawn.color.as_deref(), "none");
            write_text(&mut out, drawn.at, &content_text(&drawn.content));
        }
        out.push_str("</svg>");
        out
    }

    /// The part of the plane that everything stands in.
    fn frame(&self) -> BoxPlace {
        let places: Vec<BoxPlace> = self.places().into_values().collect();
        let least = |of: fn(&BoxPlace) -> i64| places.iter().map(of).min().unwrap_or(0);
        let most = |of: fn(&BoxPlace) -> i64| places.iter().map(of).max().unwrap_or(0);
        let (x, y) = (least(|at| at.x) - MARGIN, least(|at| at.y) - MARGIN);
        let right = most(|at| at.x + at.width) + MARGIN;
        let bottom = most(|at| at.y + at.height) + MARGIN;
        BoxPlace { x, y, width: right - x, height: bottom - y }
    }

    /// The canvas in words: what stands in each group, and what leads where.
    pub fn outline(&self) -> String {
        let mut out = String::new();
        let mut groups: Vec<&DrawnGroup> = self.groups.iter().collect();
        // The smallest group around a box is the one that it stands in.
        groups.sort_by_key(|group| group.at.width.saturating_mul(group.at.height));
        let group_of = |at: BoxPlace| groups.iter().position(|group| is_within(at, group.at));
        let mut boxes: Vec<(Option<usize>, &DrawnBox)> =
            self.boxes.iter().map(|drawn| (group_of(drawn.at), drawn)).collect();
        boxes.sort_by_key(|(group, drawn)| {
            let of = group.and_then(|at| groups.get(at));
            (of.map(|group| (group.at.y, group.at.x)), drawn.at.y, drawn.at.x)
        });
        for own in boxes.chunk_by(|(a, _), (b, _)| a == b) {
            let group = own.first().and_then(|(at, _)| *at).and_then(|at| groups.get(at));
            let indent = match group {
                Some(group) => {
                    let _ = writeln!(out, "- **{}**", short_label(&group.label));
                    "  "
                }
                None => "",
            };
            for (_, drawn) in own {
                let _ = writeln!(out, "{indent}- {}", first_words(&drawn.content));
            }
        }
        let names = self.names();
        let name = |id: &str| names.get(id).cloned();
        let arrows: Vec<String> = self
            .arrows
            .iter()
            .filter_map(|arrow| {
                let line = format!("{} → {}", name(&arrow.from)?, name(&arrow.to)?);
                Some(match arrow.label.trim() {
                    "" => line,
                    label => format!("{line}: {}", short_label(label)),
                })
            })
            .collect();
        if !arrows.is_empty() {
            out.push('\n');
            arrows.iter().for_each(|line| {
                let _ = writeln!(out, "- {line}");
            });
        }
        if self.left_out > 0 {
            let _ = writeln!(out, "\n{} things of it cannot be shown.", self.left_out);
        }
        out
    }
}

fn read_place(node: &Value) -> Option<BoxPlace> {
    let number = |name: &str| {
        let value = node.get(name)?;
        // Some programs write places with a fraction.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a cast of a float stops at the bounds"
        )]
        value.as_i64().or_else(|| value.as_f64().map(|value| value as i64))
    };
    let place = |name: &str| Some(number(name)?.clamp(-PLACE_MAX, PLACE_MAX));
    let side = |name: &str| Some(number(name)?.clamp(1, SIDE_MAX));
    Some(BoxPlace {
        x: place("x")?,
        y: place("y")?,
        width: side("width")?,
        height: side("height")?,
    })
}

fn is_within(inner: BoxPlace, outer: BoxPlace) -> bool {
    let (x, y) = (inner.x + inner.width / 2, inner.y + inner.height / 2);
    x >= outer.x && x <= outer.x + outer.width && y >= outer.y && y <= outer.y + outer.height
}

fn content_text(content: &BoxContent) -> String {
    let text = match content {
        BoxContent::Text(text) => text,
        BoxContent::File(path) | BoxContent::Link(path) => path,
    };
    let shown = |letter: char| if letter.is_control() && letter != '\n' { ' ' } else { letter };
    text.chars().take(TEXT_CHARS_MAX).map(shown).collect()
}

/// What a box is called in a line.
fn first_words(content: &BoxContent) -> String {
    let text = content_text(content);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(empty)");
    short_label(line.trim_start_matches(['#', ' ']))
}

fn short_label(label: &str) -> String {
    let line: String = label.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LABEL_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// A colour as the format writes it: a number from 1 to 6, or `#rgb` and `#rrggbb`.
fn color_of(written: Option<&str>) -> &str {
    let Some(written) = written else { return "currentColor" };
    if let Some(hex) = written.strip_prefix('#')
        && matches!(hex.len(), 3 | 6)
        && hex.chars().all(|letter| letter.is_ascii_hexdigit())
    {
        return written;
    }
    let number = written.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| COLORS.get(at)).copied().unwrap_or("currentColor")
}

fn write_frame(out: &mut String, at: BoxPlace, color: Option<&str>, dashes: &str) {
    let color = color_of(color);
    let _ = write!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{color}\" \
         fill-opacity=\"0.06\" stroke=\"{color}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>",
        at.x, at.y, at.width, at.height
    );
}

fn write_arrow(out: &mut String, from: BoxPlace, to: BoxPlace, label: &str) {
    let (out_of, into) = facing_sides(from, to);
    let ((x1, y1), (x2, y2)) = (side_middle(from, out_of), side_middle(to, into));
    let _ = write!(
        out,
        "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"currentColor\" \
         stroke-width=\"2\" marker-end=\"url(#canvas-arrow)\"/>"
    );
    if !label.trim().is_empty() {
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-style=\"italic\">{}</text>",
            i64::midpoint(x1, x2),
            i64::midpoint(y1, y2) - 6,
            escape_xml(&short_label(label))
        );
    }
}

fn side_middle(at: BoxPlace, side: &str) -> (i64, i64) {
    let (middle_x, middle_y) = (at.x + at.width / 2, at.y + at.height / 2);
    match side {
        "left" => (at.x, middle_y),
        "right" => (at.x + at.width, middle_y),
        "top" => (middle_x, at.y),
        _ => (middle_x, at.y + at.height),
    }
}

/// The lines of a text that fit into a box; the last one says where more would follow.
fn write_text(out: &mut String, at: BoxPlace, text: &str) {
    let letters = usize::try_from((at.width - 2 * PADDING) / LETTER_WIDTH).unwrap_or(0).max(1);
    let room = usize::try_from((at.height - 2 * PADDING + LINE_HEIGHT / 3) / LINE_HEIGHT);
    let room = room.unwrap_or(0).max(1);
    let mut lines: Vec<String> = text.lines().flat_map(|line| wrap_line(line, letters)).collect();
    if lines.len() > room {
        lines.truncate(room);
        if let Some(last) = lines.last_mut() {
            last.push('…');
        }
    }
    let _ = write!(out, "<text>");
    for (number, line) in (1_i64..).zip(&lines) {
        let _ = write!(
            out,
            "<tspan x=\"{}\" y=\"{}\">{}</tspan>",
            at.x + PADDING,
            at.y + PADDING / 2 + number * LINE_HEIGHT - 4,
            escape_xml(line)
        );
    }
    out.push_str("</text>");
}

/// A line in pieces of at most so many letters, broken between words where there are any.
fn wrap_line(line: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in line.split_inclusive(' ') {
        let count = word.trim_end().chars().count();
        if length > 0 && length + count > letters {
            lines.push(String::new());
            length = 0;
        }
        for letter in word.chars() {
            if length >= letters && letter != ' ' {
                lines.push(String::new());
                length = 0;
            }
            if let Some(last) = lines.last_mut() {
                last.push(letter);
            }
            length += 1;
        }
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANVAS: &str = r##"{
        "nodes": [
            { "id": "g", "type": "group", "label": "Plan", "x": 0, "y": 0, "width": 700, "height": 400 },
            { "id": "a", "type": "text", "text": "# Why\n\n<script>x</script> & more", "x": 20, "y": 20,
              "width": 260, "height": 120, "color": "1" },
            { "id": "b", "type": "file", "file": "notes/How.md", "subpath": "#Steps", "x": 400, "y": 20.5,
              "width": 260, "height": 60, "color": "red\" onload=\"x()" },
            { "id": "c", "type": "link", "url": "https://example.org/?a=1&b=2", "x": 900, "y": 0,
              "width": 200, "height": 60, "color": "#0a0" },
            { "id": "d", "type": "hologram", "x": 0, "y": 0, "width": 1, "height": 1 },
            { "id": "e", "type": "text" }
        ],
        "edges": [
            { "id": "1", "fromNode": "a", "toNode": "b", "label": "leads to" },
            { "id": "2", "fromNode": "b", "toNode": "nowhere" },
            { "id": "3", "fromNode": "a" }
        ]
    }"##;

    #[test]
    fn k4_a_canvas_is_told_in_words() {
        let drawing = CanvasDrawing::read_canvas(CANVAS).expect("a canvas");
        assert_eq!(
            drawing.outline(),
            "- https://example.org/?a=1&b=2\n- **Plan**\n  - Why\n  - notes/How.md#Steps\n\n\
             - Why → notes/How.md#Steps: leads to\n\n3 things of it cannot be shown.\n"
        );
        let empty = CanvasDrawing::read_canvas(" \n").expect("empty");
        assert!(empty.is_empty() && empty.outline().is_empty());
        assert!(empty.svg().ends_with("</svg>"));
    }

    #[test]
    fn k4_a_drawing_of_a_canvas_can_do_nothing() {
        let svg = CanvasDrawing::read_canvas(CANVAS).expect("a canvas").svg();
        assert!(svg.contains("&lt;script&gt;x&lt;/script&gt;"), "{svg}");
        for word in ["<script", "onload", "href", "<image", "foreignObject"] {
            assert!(!svg.contains(word), "{word}: {svg}");
        }
        assert!(svg.contains("viewBox=\"-40 -40 1180 480\""), "{svg}");
        assert_eq!(svg.matches("<line ").count(), 1, "an arrow to nowhere is not drawn");
        assert!(svg.contains("stroke=\"#0a0\"") && svg.contains("stroke=\"#e93147\""), "{svg}");
    }

    #[test]
    fn k4_what_is_no_canvas_says_why() {
        for (text, why) in [
            ("{", "no JSON"),
            ("[]", "no object"),
            ("{\"nodes\": 1}", "`nodes` is no list"),
            ("{\"edges\": {}}", "`edges` is no list"),
        ] {
            let said = CanvasDrawing::read_canvas(text).expect_err(text);
            assert!(said.contains(why), "{said}");
        }
        let many: Vec<Value> = (0..NODES_MAX + 5)
            .map(|id| {
                serde_json::json!({ "id": id.to_string(), "type": "text", "text": "x".repeat(9_999),
                    "x": 1e300, "y": -1e300, "width": 0, "height": 1e9 })
            })
            .collect();
        let text = serde_json::json!({ "nodes": many }).to_string();
        let drawing = CanvasDrawing::read_canvas(&text).expect("a canvas");
        assert_eq!(drawing.left_out, 5);
        let longest = NODES_MAX * (TEXT_CHARS_MAX + 500) * 60;
        assert!(drawing.svg().len() < longest);
    }
}
