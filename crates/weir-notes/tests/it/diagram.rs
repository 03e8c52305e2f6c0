//! Diagrams: nothing overlaps, whatever leads where.

use proptest::prelude::*;
use weir_notes::diagram::{
    BoxContent, DiagramArrow, DiagramBox, canvas_text, drawio_text, excalidraw_text, lay_out,
};

fn drawn_box(at: usize, group: u8, length: usize) -> DiagramBox {
    let content = match length % 3 {
        0 => BoxContent::File(format!("Notes/{at}.md")),
        _ => BoxContent::Text("word & <more> \"text\" ".repeat(length)),
    };
    let group = (group > 0).then(|| format!("Group {group}"));
    DiagramBox { id: format!("n{at}"), content, group, color: (length == 5).then(|| "4".into()) }
}

proptest! {
    #[test]
    fn k4_boxes_never_overlap(
        boxes in prop::collection::vec((0u8..4, 0usize..40), 1..40),
        arrows in prop::collection::vec((0usize..40, 0usize..40), 0..60),
    ) {
        let count = boxes.len();
        let boxes = boxes.into_iter().enumerate().map(|(at, (group, length))| drawn_box(at, group, length));
        let arrows = arrows.into_iter().map(|(from, to)| DiagramArrow {
            from: format!("n{}", from % count),
            to: format!("n{}", to % count),
            label: Some("leads to".into()),
        });
        let diagram = lay_out(&boxes.collect::<Vec<_>>(), arrows.collect()).expect("a diagram");
        for (at, one) in diagram.boxes.iter().enumerate() {
            for other in &diagram.boxes[at + 1..] {
                prop_assert!(!one.at.overlaps_place(other.at), "{one:?} {other:?}");
            }
            for group in &diagram.groups {
                // A box lies in its own group and in no other.
                prop_assert_eq!(one.at.overlaps_place(group.at), one.of.group.as_deref() == Some(group.label.as_str()));
            }
        }
        for (at, one) in diagram.groups.iter().enumerate() {
            prop_assert!(diagram.groups[at + 1..].iter().all(|other| !one.at.overlaps_place(other.at)));
        }
        for json in [canvas_text(&diagram), excalidraw_text(&diagram)] {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        }
        let xml = drawio_text(&diagram, "a & b");
        prop_assert_eq!(xml.matches("<mxCell").count(), 2 + diagram.groups.len() + count + diagram.arrows.len());
    }
}

#[test]
fn k4_a_diagram_that_cannot_be_drawn_says_why() {
    let arrow = |to: &str| DiagramArrow { from: "n1".into(), to: to.into(), label: None };
    let color = DiagramBox { color: Some("red".into()), ..drawn_box(1, 0, 1) };
    for (boxes, arrows, said) in [
        (vec![], vec![], "nothing to draw"),
        (vec![drawn_box(1, 0, 1), drawn_box(1, 0, 2)], vec![], "\"n1\" is there twice"),
        (vec![drawn_box(1, 0, 1)], vec![arrow("n2")], "\"n2\", which is not there"),
        (vec![color], vec![], "the color \"red\" is none"),
    ] {
        let why = lay_out(&boxes, arrows).expect_err(said);
        assert!(why.contains(said), "{why}");
    }
}
