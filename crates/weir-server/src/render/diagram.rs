//! Diagrams that a text describes (Mermaid), drawn here as SVG. What cannot be drawn within bounds
//! is shown as it is written.

use sha2::{Digest as _, Sha256};

use super::markdown::escape_html;
use super::plain::visible_text;

/// Longest description that is drawn, in bytes.
const SOURCE_MAX: usize = 8 << 10;
/// Largest drawing, in bytes.
const DRAWING_MAX: usize = 512 << 10;
/// Diagrams of one text that are drawn.
const DIAGRAMS_MAX: usize = 20;

/// Kinds whose size follows from the length of their description, never from a number in it.
const KINDS: &[(&str, &str)] = &[
    ("flowchart", "Flow chart"),
    ("graph", "Flow chart"),
    ("sequenceDiagram", "Sequence diagram"),
    ("classDiagram", "Class diagram"),
    ("stateDiagram", "State diagram"),
    ("erDiagram", "Entity relationship diagram"),
    ("pie", "Pie chart"),
    ("mindmap", "Mind map"),
];

/// What is left for diagrams.
pub(super) struct DiagramBudget {
    diagrams: usize,
}

impl Default for DiagramBudget {
    fn default() -> DiagramBudget {
        DiagramBudget { diagrams: DIAGRAMS_MAX }
    }
}

/// Whether a block in this language describes a diagram.
pub(super) fn is_diagram(language: &str) -> bool {
    language.eq_ignore_ascii_case("mermaid")
}

/// The drawing, with its description below it; `false`: it could not be drawn, nothing is written.
pub(super) fn write_diagram(out: &mut String, source: &str, budget: &mut DiagramBudget) -> bool {
    let Some(left) = budget.diagrams.checked_sub(1) else { return false };
    budget.diagrams = left;
    let Some((name, svg)) = render_svg(source) else { return false };
    out.push_str("<figure class=\"diagram\"><div class=\"drawing\" role=\"img\" aria-label=\"");
    out.push_str(name);
    out.push_str("; its description follows\">");
    out.push_str(&svg);
    out.push_str("</div><details><summary>Description of the diagram</summary>");
    out.push_str("<pre tabindex=\"0\"><code>");
    escape_html(out, &visible_text(source));
    out.push_str("</code></pre></details></figure>\n");
    true
}

fn render_svg(source: &str) -> Option<(&'static str, String)> {
    if source.len() > SOURCE_MAX {
        return None;
    }
    let kind = source.lines().map(str::trim).find(|line| !is_aside(line))?;
    let word = kind.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let (_, name) = KINDS.iter().find(|(known, _)| *known == word)?;
    let kept: Vec<&str> = source.lines().filter(|line| is_drawing(line.trim_start())).collect();
    let kept = kept.join("\n");
    // The drawing program is young: a fault of it costs one drawing, not the page.
    let drawing = std::panic::catch_unwind(|| mermaid_svg::render(&kept)).ok()?.ok()?;
    if drawing.len() > DRAWING_MAX {
        return None;
    }
    // Names in the drawing are its own on the page, whatever the description calls things.
    let hash = Sha256::digest(source.as_bytes());
    let salt: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let drawing = drawing.replace(" id=\"", &format!(" id=\"d-{salt}-"));
    Some((name, as_large_as_drawn(drawing.replace("url(#", &format!("url(#d-{salt}-")))))
}

/// The drawing says that it is as wide as there is room, and a style of its own, which pages do not
/// take, how wide that may be: two boxes would fill the page. Its size is the one it was drawn in.
fn as_large_as_drawn(drawing: String) -> String {
    const WIDE: &str = "width=\"100%\" viewBox=\"0 0 ";
    let Some((before, rest)) = drawing.split_once(WIDE) else { return drawing };
    let Some((box_size, after)) = rest.split_once('"') else { return drawing };
    let mut sides = box_size.split(' ').map(str::parse::<f64>);
    let (Some(Ok(width)), Some(Ok(height)), None) = (sides.next(), sides.next(), sides.next())
    else {
        return drawing;
    };
    format!("{before}width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {box_size}\"{after}")
}

/// Lines before the one that says what is drawn.
fn is_aside(line: &str) -> bool {
    line.is_empty() || line.starts_with("%%")
}

/// Lines that draw: none that makes a part of the drawing a link or calls something.
fn is_drawing(line: &str) -> bool {
    let word = line.split(char::is_whitespace).next().unwrap_or_default();
    !matches!(word, "click" | "link" | "links" | "callback" | "href") && !line.starts_with("%%{")
}

#[cfg(test)]
mod tests {
    use super::render_svg;

    #[test]
    fn s12_a_small_diagram_is_small() {
        let (_, drawing) = render_svg("graph LR\nA[One]-->B[Two]\n").expect("it is drawn");
        let head = drawing.split('>').next().expect("an element");
        let side = |name: &str| -> f64 {
            let text = head.split(&format!(" {name}=\"")).nth(1).expect(name);
            text.split('"').next().expect(name).parse().expect("a number")
        };
        assert!(side("width") < 500.0 && side("height") < 300.0, "{head}");
    }
}
