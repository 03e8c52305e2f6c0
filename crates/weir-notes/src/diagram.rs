//! Boxes and arrows laid out so that nothing overlaps, and written as a canvas, a drawing or a diagram.
//! Not here: what is drawn.

use std::collections::{BTreeMap, HashMap};

mod canvas;
mod drawing;
mod drawio;
mod excalidraw;

pub use canvas::canvas_text;
pub use drawing::CanvasDrawing;
pub use drawio::drawio_text;
pub use excalidraw::excalidraw_text;

/// Most boxes and arrows.
const BOXES_MAX: usize = 500;
const ARROWS_MAX: usize = 2_000;
/// Sizes, in pixels.
const WIDTH: i64 = 260;
const FILE_WIDTH: i64 = 400;
const FILE_HEIGHT: i64 = 400;
const LINE_HEIGHT: i64 = 28;
const LETTERS_A_LINE: usize = 28;
const HEIGHT_MIN: i64 = 60;
const HEIGHT_MAX: i64 = 800;
const GAP: i64 = 80;
const PADDING: i64 = 40;

/// What a box shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoxContent {
    /// Text.
    Text(String),
    /// A file of the vault, by its path.
    File(String),
    /// An address.
    Link(String),
}

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagramBox {
    /// Its name for arrows.
    pub id: String,
    /// What it shows.
    pub content: BoxContent,
    /// The group it stands in.
    pub group: Option<String>,
    /// `1` to `6`, or `#rrggbb`.
    pub color: Option<String>,
}

/// An arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagramArrow {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What stands beside it.
    pub label: Option<String>,
}

/// A box with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedBox {
    /// The box.
    pub of: DiagramBox,
    /// Its place.
    pub at: BoxPlace,
}

/// A group with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedGroup {
    /// What stands above it.
    pub label: String,
    /// Its place.
    pub at: BoxPlace,
}

/// A place, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxPlace {
    /// Left edge.
    pub x: i64,
    /// Upper edge.
    pub y: i64,
    /// Width.
    pub width: i64,
    /// Height.
    pub height: i64,
}

impl BoxPlace {
    /// Whether two places share a pixel.
    pub fn overlaps_place(self, other: BoxPlace) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// Boxes and arrows with their places.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlacedDiagram {
    /// Groups, which lie behind their boxes.
    pub groups: Vec<PlacedGroup>,
    /// Boxes in the order in which they were given.
    pub boxes: Vec<PlacedBox>,
    /// Arrows.
    pub arrows: Vec<DiagramArrow>,
}

/// Finds places: in columns along the arrows, one group below the other.
///
/// # Errors
/// A sentence: too many, an id twice or none, an arrow to what is not there.
pub fn lay_out(boxes: &[DiagramBox], arrows: Vec<DiagramArrow>) -> Result<PlacedDiagram, String> {
    check_drawing(boxes, &arrows)?;
    let mut groups: Vec<Option<String>> = boxes.iter().map(|of| of.group.clone()).collect();
    groups.sort();
    groups.dedup();
    let columns = columns_of(boxes, &arrows);
    let mut places: HashMap<&str, BoxPlace> = HashMap::new();
    let mut placed_groups = Vec::new();
    let mut top = 0;
    for group in &groups {
        let inset = if group.is_some() { PADDING } else { 0 };
        let mut by_column: BTreeMap<usize, Vec<&DiagramBox>> = BTreeMap::new();
        for of in boxes.iter().filter(|of| of.group == *group) {
            by_column.entry(columns[of.id.as_str()]).or_default().push(of);
        }
        let (mut x, mut right, mut bottom) = (inset, inset, top + inset);
        for column in by_column.values() {
            let mut y = top + inset;
            for of in column {
                let (width, height) = size_of(&of.content);
                places.insert(&of.id, BoxPlace { x, y, width, height });
                right = right.max(x + width);
                bottom = bottom.max(y + height);
                y += height + GAP / 2;
            }
            x = right + GAP;
        }
        if let Some(label) = group {
            let at = BoxPlace { x: 0, y: top, width: right + inset, height: bottom + inset - top };
            placed_groups.push(PlacedGroup { label: label.clone(), at });
        }
        top = bottom + inset + GAP;
    }
    let boxes = boxes.iter().filter_map(|of| {
        let at = *places.get(of.id.as_str())?;
        Some(PlacedBox { of: of.clone(), at })
    });
    Ok(PlacedDiagram { groups: placed_groups, boxes: boxes.collect(), arrows })
}

fn check_drawing(boxes: &[DiagramBox], arrows: &[DiagramArrow]) -> Result<(), String> {
    if boxes.is_empty() {
        return Err("there is nothing to draw: give nodes".into());
    }
    if boxes.len() > BOXES_MAX || arrows.len() > ARROWS_MAX {
        return Err(format!("at most {BOXES_MAX} nodes and {ARROWS_MAX} edges can be drawn"));
    }
    let mut ids: Vec<&str> = boxes.iter().map(|of| of.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("the id {:?} is there twice", twice[0]));
    }
    for of in boxes {
        if of.id.trim().is_empty() {
            return Err("a node has no id".into());
        }
        if let Some(color) = of.color.as_deref().filter(|color| !is_color(color)) {
            return Err(format!("{}: the color {color:?} is none; write 1 to 6 or #rrggbb", of.id));
        }
    }
    let ends = arrows.iter().flat_map(|arrow| [&arrow.from, &arrow.to]);
    match ends.into_iter().find(|end| ids.binary_search(&end.as_str()).is_err()) {
        Some(end) => Err(format!("an edge names the node {end:?}, which is not there")),
        None => Ok(()),
    }
}

fn is_color(color: &str) -> bool {
    let hex =
        |digits: &str| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(color, "1" | "2" | "3" | "4" | "5" | "6") || color.strip_prefix('#').is_some_and(hex)
}

/// How far each box stands from the left: one column behind the furthest that leads to it. Arrows that
/// lead back do not count.
fn columns_of<'a>(boxes: &'a [DiagramBox], arrows: &[DiagramArrow]) -> HashMap<&'a str, usize> {
    let mut columns: HashMap<&str, usize> = boxes.iter().map(|of| (of.id.as_str(), 0)).collect();
    // As often as there are boxes is enough; a circle would go on for ever.
    for _ in 0..boxes.len().min(60) {
        let mut moved = false;
        for arrow in arrows.iter().filter(|arrow| arrow.from != arrow.to) {
            let from = columns.get(arrow.from.as_str()).copied().unwrap_or(0);
            let Some(to) = columns.get_mut(arrow.to.as_str()) else { continue };
            if *to < from + 1 && from + 1 < boxes.len() {
                *to = from + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    columns
}

fn size_of(content: &BoxContent) -> (i64, i64) {
    match content {
        BoxContent::File(_) | BoxContent::Link(_) => (FILE_WIDTH, FILE_HEIGHT),
        BoxContent::Text(text) => {
            let lines = text.lines().map(|line| line.chars().count() / LETTERS_A_LINE + 1);
            let lines = i64::try_from(lines.sum::<usize>().max(1)).unwrap_or(HEIGHT_MAX);
            (WIDTH, (lines.saturating_mul(LINE_HEIGHT) + 32).clamp(HEIGHT_MIN, HEIGHT_MAX))
        }
    }
}

/// What a box says as text.
fn words_of(content: &BoxContent) -> &str {
    match content {
        BoxContent::Text(text) | BoxContent::Link(text) => text,
        BoxContent::File(path) => crate::resolve::note_title(path),
    }
}
