//! Documents that are made and read by the tools, through a real workspace.

use serde_json::json;

use super::world::{World, block_on, text};
use crate::{create_docx, create_pptx, create_xlsx, read_document};

#[test]
fn k8_what_is_made_is_read_back_by_read_document() {
    let world = World::new();
    block_on(async {
        let call =
            json!({ "path": "a.docx", "title": "T", "content": "# H\n\nText 漢字 مرحبا 🎉" });
        let made = world.edit::<create_docx::CreateDocx>(call).await;
        assert!(made.ok && text(&made).starts_with("Wrote a.docx ("), "{}", text(&made));
        let read = world.act::<read_document::ReadDocument>(json!({ "path": "a.docx" })).await;
        let expected =
            "a.docx (DOCX, 1 page)\n\n--- 1: Part 1 ---\n# T\n\n## H\n\nText 漢字 مرحبا 🎉\n";
        assert_eq!(text(&read), expected);

        let slides = json!([{ "title": "One" }, { "title": "Two", "body": "- x", "notes": "n" }]);
        let call = json!({ "path": "a.pptx", "slides": slides });
        assert!(world.edit::<create_pptx::CreatePptx>(call).await.ok);
        let read = world.act::<read_document::ReadDocument>(json!({ "path": "a.pptx", "page": 2 }));
        let read = text(&read.await);
        assert!(read.contains("--- 2: Slide 2 ---\n# Two\n\n- x\n\nNotes: n"), "{read}");
        assert!(!read.contains("One"), "{read}");

        let rows = json!([["a", 1], ["b", { "formula": "=B1*2" }], ["=1+1", null]]);
        let call = json!({ "path": "a.xlsx", "sheets": [{ "name": "S", "rows": rows }] });
        assert!(world.edit::<create_xlsx::CreateXlsx>(call).await.ok);
        let call = json!({ "path": "a.xlsx", "sheet": "S", "range": "A2:B3" });
        let read = text(&world.act::<read_document::ReadDocument>(call).await);
        assert!(read.contains("| 2 | b | `=B1*2` (not computed) |\n| 3 | =1+1 |"), "{read}");
        assert!(!read.contains("| 1 |"), "{read}");
    });
}

#[test]
fn k8_a_document_is_one_planned_change_that_shows_its_words() {
    let world = World::new();
    let call = json!({ "path": "d/a.docx", "content": "Words to decide about" });
    let plan = block_on(world.plan("create_docx", call.clone()));
    assert_eq!(plan.effects.changes.len(), 1);
    assert!(plan.diff.is_some_and(|shown| shown.contains("Words to decide about")));
    assert!(world.read("d/a.docx").is_none(), "a plan writes nothing");
    let again = block_on(world.plan("create_docx", call));
    assert_eq!(plan.effects, again.effects, "the same description is the same change");
}
