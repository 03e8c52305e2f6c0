//! A canvas for faces that show it (K4): a drawing, and what stands on it in words. Not here: how it is
//! read and drawn (`weir-notes`), making one (`generate_canvas`).

use weir_notes::diagram::CanvasDrawing;

/// A canvas as somebody looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanvasPreview {
    /// What stands on it and what leads where, in Markdown; empty: nothing.
    pub outline: String,
    /// An SVG element that fetches and runs nothing.
    pub svg: String,
}

/// Reads the text of a canvas.
///
/// # Errors
/// It is none: a sentence.
pub fn preview_canvas(text: &str) -> Result<CanvasPreview, String> {
    let drawing = CanvasDrawing::read_canvas(text)?;
    Ok(CanvasPreview { outline: drawing.outline(), svg: drawing.svg() })
}
