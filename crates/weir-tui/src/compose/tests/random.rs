//! Any keys in any order.

use proptest::prelude::*;

use super::*;
use crate::text::theme::Theme;

fn key_strategy() -> impl Strategy<Value = String> {
    const NAMED: &[&str] = &[
        "<Enter>", "<C-j>", "<BS>", "<Del>", "<Left>", "<Right>", "<Up>", "<Down>", "<Home>",
        "<End>", "<C-a>", "<C-e>", "<C-k>", "<C-u>", "<C-w>", "<C-y>", "<M-y>", "<M-b>", "<M-f>",
        "<M-d>", "<M-BS>", "<C-_>", "<M-_>", "<C-r>", "<C-s>", "<Esc>", "<Tab>", "<C-c>", "<M-u>",
        "<C-x>", "<C-Home>", "<C-End>", "paste", "long", "view",
    ];
    const TYPED: &[&str] =
        &["a", "b", " ", "/", "@", "!", "\\", "\"", "漢", "\u{301}", "\u{200d}", "👩", "🇩"];
    prop_oneof![
        3 => proptest::sample::select(TYPED).prop_map(str::to_owned),
        2 => proptest::sample::select(NAMED).prop_map(str::to_owned),
    ]
}

fn play(composer: &mut Composer, key: &str, width: usize) {
    match key {
        "paste" => drop(composer.handle_paste("p\u{301}\n🇩 q")),
        "long" => drop(composer.handle_paste(&"l\n".repeat(20))),
        "view" => {
            let (lines, (row, cell)) = composer.render_lines(width, 4, &Theme::plain_theme());
            assert!(lines.len() <= 4 && row < lines.len().max(1) && cell < width.max(1));
            assert!(lines.iter().all(|line| line.width() <= width), "{lines:?} in {width}");
        }
        key => {
            for did in typed(composer, key) {
                if let KeyOutcome::Files { ticket, .. } = did {
                    composer.receive_files(ticket, vec!["a b/".into(), "c".into()]);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn f1_no_keys_break_the_box(
        keys in proptest::collection::vec(key_strategy(), 0..60),
        width in 0_usize..30,
    ) {
        let mut composer = Composer::new(vec!["one".into(), "two\nrows".into()]);
        composer.set_named(vec![command("ab", ""), command("ba", "x")]);
        for key in &keys {
            play(&mut composer, key, width);
            play(&mut composer, "view", width);
            let cursor = composer.cursor;
            prop_assert!(cursor.line < composer.buffer.lines().len());
            prop_assert_eq!(composer.buffer.snap_to_boundary(cursor), cursor, "after {}", key);
        }
    }

    #[test]
    fn f1_all_that_is_undone_can_be_redone(
        keys in proptest::collection::vec(key_strategy(), 0..60),
    ) {
        let mut composer = Composer::default();
        for key in keys.iter().filter(|key| *key != "<Enter>") {
            play(&mut composer, key, 20);
        }
        typed(&mut composer, "<Esc><Esc>");
        for _ in 0..300 {
            typed(&mut composer, "<M-_>");
        }
        let before = composer.buffer.text();
        for _ in 0..300 {
            typed(&mut composer, "<C-_>");
        }
        prop_assert!(composer.is_empty());
        for _ in 0..300 {
            typed(&mut composer, "<M-_>");
        }
        prop_assert_eq!(composer.buffer.text(), before);
    }
}
