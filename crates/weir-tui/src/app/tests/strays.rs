//! Keys that were meant for something else: for a screen that lay over a question, for the box. None of
//! them answers, none lands in the box, none widens what the agent may.

use crossterm::event::KeyCode;
use serde_json::json;
use weir_core::event::Decision;
use weir_core::input::PersonCommand;
use weir_core::profile::PermissionMode;

use super::keys::{ask, asks, decided};
use super::made::Face;
use crate::link::UiCommand;

fn modes(face: &mut Face) -> Vec<PermissionMode> {
    let wished = face.wished().into_iter();
    wished
        .filter_map(|wish| if let UiCommand::Mode(mode) = wish { Some(mode) } else { None })
        .collect()
}

/// A face over whose question a screen lies: the screen, and how it is opened from there.
const SCREENS: [(&str, KeyCode, bool); 3] = [
    ("the whole question", KeyCode::Char('v'), false),
    ("the whole question by Ctrl-O", KeyCode::Char('o'), true),
    ("the help", KeyCode::Char('?'), false),
];

fn covered(key: KeyCode, control: bool) -> Face {
    let mut face = asks(&["Shell(make:*)"]);
    match key {
        KeyCode::Char(c) if control => face.control(c),
        key => face.press(key),
    }
    assert_eq!(face.app.screens.len(), 1, "{key:?}");
    face
}

#[test]
fn f1_who_looks_at_a_question_and_comes_back_answers_it_at_any_speed() {
    for (what, key, control) in SCREENS {
        for gap in [0, 40, 400, 600, 5_000] {
            for close in [KeyCode::Char('q'), KeyCode::Esc] {
                let mut face = covered(key, control);
                face.wait(gap);
                face.press(close);
                assert!(face.app.screens.is_empty(), "{what}");
                face.wait(gap);
                face.press(KeyCode::Char('y'));
                assert_eq!(face.wished(), decided(Decision::Once, None), "{what} {gap} {close:?}");
                assert!(face.app.composer.is_empty(), "{what} {gap} {close:?}");
            }
        }
    }
}

#[test]
fn f1_no_key_that_a_screen_took_answers_or_lands_in_the_box() {
    let letters = (' '..='~').map(KeyCode::Char);
    let others = [
        KeyCode::Enter,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageDown,
        KeyCode::End,
        KeyCode::F(5),
    ];
    let all: Vec<KeyCode> = letters.chain(others).collect();
    for (what, opens, control) in SCREENS {
        for gap in [0, 30, 700] {
            for key in &all {
                let mut face = covered(opens, control);
                for _ in 0..3 {
                    face.wait(gap);
                    // What closes it is held down and comes again.
                    face.press(*key);
                }
                let heard = face.wished();
                let closes = face.app.screens.is_empty();
                let held = gap < 500;
                if !closes || held {
                    assert_eq!(heard, [], "{what}, {key:?} every {gap} ms");
                    assert!(face.app.composer.is_empty(), "{what}, {key:?} every {gap} ms");
                }
            }
        }
    }
}

#[test]
fn f1_a_question_that_came_below_a_screen_takes_keys_only_after_a_pause() {
    for gap in [0, 100, 450] {
        let mut face = Face::open(80, 24);
        face.begin("Run it.");
        face.proposed("c1", "run_shell", &json!({"command": "make"}));
        face.control('o');
        face.wait(1_000);
        ask(&mut face, "a1", &[]);
        face.wait(3_000);
        face.press(KeyCode::Char('q'));
        face.wait(gap);
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), [], "nobody has seen it {gap} ms");
        face.app.composer.set_text("");
        face.wait(600);
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), decided(Decision::Once, None));
    }
}

#[test]
fn f1_another_question_below_the_screen_is_not_the_one_that_was_looked_at() {
    let mut face = covered(KeyCode::Char('v'), false);
    let resolved = json!({"approval": "a1", "call": "c1", "decision": "deny", "by": "web:bob"});
    face.fact("approval.resolved", &resolved);
    ask(&mut face, "a2", &[]);
    face.wait(2_000);
    for _ in 0..3 {
        if !face.app.screens.is_empty() {
            face.press(KeyCode::Char('q'));
        }
    }
    face.press(KeyCode::Char('y'));
    assert!(
        !face.wished().iter().any(|wish| matches!(wish, UiCommand::Tell(PersonCommand::Decide(_))))
    );
}

#[test]
fn f1_what_asks_less_holds_only_when_enter_says_so() {
    use PermissionMode::{Ask, AutoEdit, Full, Plan};
    let mut face = Face::open(80, 24);
    face.press(KeyCode::Tab);
    assert_eq!(modes(&mut face), []);
    assert!(face.shot().contains("Enter: mode auto-edit"), "{}", face.shot());
    // A tab and a line end of a text that was pasted as keys.
    face.press(KeyCode::Enter);
    assert_eq!(modes(&mut face), [], "nobody has read it");
    face.wait(600);
    face.press(KeyCode::Enter);
    assert_eq!(modes(&mut face), [AutoEdit]);
    // Narrower is at once, also past a wider one.
    face.press(KeyCode::Tab);
    assert_eq!(modes(&mut face), [Plan]);
    face.press(KeyCode::Tab);
    face.press(KeyCode::Tab);
    assert_eq!(modes(&mut face), [], "ask and auto-edit are both wider than plan");
    face.wait(600);
    face.press(KeyCode::BackTab);
    face.wait(600);
    face.press(KeyCode::Enter);
    assert_eq!(modes(&mut face), [Ask]);
    // Full is among them once it was said in words, and asks as well.
    face.say("/permissions full");
    face.press(KeyCode::Tab);
    assert_eq!(modes(&mut face), [Full, Plan]);
    face.press(KeyCode::BackTab);
    assert!(face.shot().contains("Enter: mode full"), "{}", face.shot());
    face.wait(600);
    face.press(KeyCode::Enter);
    assert_eq!(modes(&mut face), [Full]);
}

#[test]
fn f1_every_other_key_leaves_the_mode_as_it_is() {
    let keys = (' '..='~').map(KeyCode::Char).chain([
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::Up,
        KeyCode::Left,
        KeyCode::F(2),
    ]);
    for key in keys {
        let mut face = Face::open(80, 24);
        face.press(KeyCode::Tab);
        face.wait(600);
        face.press(key);
        face.app.screens.clear();
        face.wait(600);
        face.press(KeyCode::Enter);
        assert_eq!(modes(&mut face), [], "{key:?}");
    }
    // Nor does time, nor a paste, nor a question that comes.
    let mut face = Face::open(80, 24);
    face.press(KeyCode::Tab);
    face.wait(7_000);
    face.press(KeyCode::Enter);
    face.press(KeyCode::Tab);
    face.app.handle_paste("\t\n", face.now);
    face.wait(600);
    face.press(KeyCode::Enter);
    assert_eq!(modes(&mut face), []);
}

#[test]
fn f1_tab_in_a_text_changes_no_mode() {
    for keys in ["look at READ\t", "a\tb\n", "\tindented\n\tmore\n"] {
        for gap in [0, 600] {
            let mut face = Face::open(80, 24);
            for c in keys.chars() {
                face.wait(gap);
                face.press(match c {
                    '\t' => KeyCode::Tab,
                    '\n' => KeyCode::Enter,
                    c => KeyCode::Char(c),
                });
            }
            assert_eq!(modes(&mut face), [], "{keys:?} {gap}");
        }
    }
}
