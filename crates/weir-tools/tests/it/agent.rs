//! The tools that steer the agent itself, attachments, and bounds of reading.

use serde_json::json;
use weir_core::message::MessageBlock;
use weir_core::tool::{AgentControl, PlanStatus};

use super::world::{World, block_on, text};
use crate::inspect_self::InspectSelf;
use crate::read_file::ReadFile;
use crate::search_files::SearchFiles;
use crate::update_todo_list::UpdateTodoList;

#[test]
fn l11_the_task_list_is_a_control_effect() {
    let world = World::new();
    let input = json!({"items": [
        {"text": "look", "status": "done"},
        {"text": "act", "status": "in_progress"},
        {"text": "check", "status": "pending"},
    ]});
    let plan = block_on(world.plan("update_todo_list", input.clone()));
    let Some(AgentControl::Plan { items }) = plan.effects.control else { panic!("no plan") };
    let statuses: Vec<PlanStatus> = items.iter().map(|item| item.status).collect();
    assert_eq!(statuses, [PlanStatus::Done, PlanStatus::InProgress, PlanStatus::Pending]);
    let said = text(&block_on(world.act::<UpdateTodoList>(input)));
    assert_eq!(said, "Task list: 1 done, 1 in progress, 1 pending");
}

#[test]
fn l13_questions_and_l3_completion_are_control_effects() {
    let world = World::new();
    let input = json!({"question": "Which?", "options": ["a", "b"], "multiple": true});
    let plan = block_on(world.plan("ask_followup_question", input));
    let asked = AgentControl::Ask {
        text: "Which?".into(),
        options: vec!["a".into(), "b".into()],
        multiple: true,
    };
    assert_eq!(plan.effects.control, Some(asked));
    let plan = block_on(world.plan("attempt_completion", json!({"result": "Done."})));
    assert_eq!(plan.effects.control, Some(AgentControl::Complete { result: "Done.".into() }));
    let empty = block_on(world.plan("attempt_completion", json!({"result": " "})));
    assert!(empty.fails.is_some() && empty.effects.control.is_none());
}

#[test]
fn t2_inspect_self_shows_all_or_one_part() {
    let world = World::new();
    let all = text(&block_on(world.act::<InspectSelf>(json!({}))));
    assert!(all.contains("script/one") && all.contains("max_iterations"), "{all}");
    let part = text(&block_on(world.act::<InspectSelf>(json!({"part": "model"}))));
    assert_eq!(part, "\"script/one\"");
    let none = block_on(world.act::<InspectSelf>(json!({"part": "x"})));
    assert!(!none.ok && text(&none).contains("the parts are: model, limits"));
}

#[test]
fn x5_images_and_pdfs_are_attached() {
    let world = World::new();
    world.write("a.png", b"\x89PNG\r\n\x1a\nrest");
    world.write("b.pdf", b"%PDF-1.7 rest");
    let image = block_on(world.act::<ReadFile>(json!({"path": "a.png"})));
    let Some(MessageBlock::Image { media }) = image.blocks.get(1) else { panic!("no image") };
    assert_eq!((media.media_type.as_str(), media.bytes), ("image/png", 12));
    assert_eq!(media.name.as_deref(), Some("a.png"));
    assert!(world.blobs.0.lock().expect("no panic").contains_key(&media.blob));
    let pdf = block_on(world.act::<ReadFile>(json!({"path": "b.pdf"})));
    assert!(matches!(pdf.blocks.get(1), Some(MessageBlock::Document { .. })));
    world.write("wide.png", b"\x89PNG\r\n\x1a\nwide");
    let wide = block_on(world.act::<ReadFile>(json!({"path": "wide.png"})));
    assert!(text(&wide).contains("scaled down to 2000 × 7"), "{}", text(&wide));
    let Some(MessageBlock::Image { media }) = wide.blocks.get(1) else { panic!("no image") };
    assert_eq!(media.bytes, 5);
    world.write("d.pdf", b"%PDF-1.7 broken");
    let broken = block_on(world.act::<ReadFile>(json!({"path": "d.pdf"})));
    assert!(!broken.ok && text(&broken).starts_with("d.pdf cannot be"), "{}", text(&broken));
    let mut huge = b"\x89PNG\r\n\x1a\n".to_vec();
    huge.resize((32 << 20) + 1, 1);
    world.write("c.png", &huge);
    let refused = block_on(world.act::<ReadFile>(json!({"path": "c.png"})));
    assert!(!refused.ok && text(&refused).contains("at most 33.5 MB"), "{}", text(&refused));
}

#[test]
fn g6_what_is_ignored_or_sensitive_is_not_found_by_searching() {
    let world = World::new();
    world.write(".weirignore", b"secret/\n");
    world.write("secret/a.txt", b"needle\n");
    world.write(".env", b"needle=1\n");
    world.write("open.txt", b"needle\n");
    let found = text(&block_on(world.act::<SearchFiles>(json!({"pattern": "needle"}))));
    assert!(found.contains("open.txt\n1:needle"), "{found}");
    assert!(!found.contains("secret/") && !found.contains("needle=1"), "{found}");
    assert!(found.contains(".env (may hold secrets"), "{found}");
}

#[test]
fn t7_a_cancelled_read_ends() {
    let world = World::new();
    world.write("a.txt", b"one\n");
    world.cx.cancel.cancel();
    let raw = block_on(world.act::<ReadFile>(json!({"path": "a.txt"})));
    assert!(!raw.ok && text(&raw).contains("cancelled"), "{}", text(&raw));
}
