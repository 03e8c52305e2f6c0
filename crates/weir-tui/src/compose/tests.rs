//! The box by its keys. Keys are written as they are typed; `<C-a>` with control, `<M-a>` with alt,
//! `<S-Enter>` with shift, `<Up>`, `<lt>` for `<`. What is in the box is written with `|` where the
//! cursor stands, tokens as they are shown.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

mod clipboard;
mod offers;
mod pastes;
mod random;
mod shows;

fn parsed(keys: &str) -> Vec<KeyEvent> {
    let mut out = Vec::new();
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let Some((name, after)) = rest.strip_prefix('<').and_then(|named| named.split_once('>'))
        else {
            out.push(KeyEvent::new(KeyCode::Char(first), KeyModifiers::NONE));
            rest = &rest[first.len_utf8()..];
            continue;
        };
        rest = after;
        let mut modifiers = KeyModifiers::NONE;
        let mut name = name;
        for (start, modifier) in
            [("C-", KeyModifiers::CONTROL), ("M-", KeyModifiers::ALT), ("S-", KeyModifiers::SHIFT)]
        {
            if let Some(bare) = name.strip_prefix(start) {
                (name, modifiers) = (bare, modifiers | modifier);
            }
        }
        let code = match name {
            "Enter" => KeyCode::Enter,
            "Tab" => KeyCode::Tab,
            "Esc" => KeyCode::Esc,
            "BS" => KeyCode::Backspace,
            "Del" => KeyCode::Delete,
            "Up" => KeyCode::Up,
            "Down" => KeyCode::Down,
            "Left" => KeyCode::Left,
            "Right" => KeyCode::Right,
            "Home" => KeyCode::Home,
            "End" => KeyCode::End,
            "lt" => KeyCode::Char('<'),
            "gt" => KeyCode::Char('>'),
            other => {
                let c = other.chars().next().filter(|c| c.len_utf8() == other.len());
                KeyCode::Char(c.unwrap_or_else(|| panic!("no key is called {other:?}")))
            }
        };
        out.push(KeyEvent::new(code, modifiers));
    }
    out
}

fn typed(composer: &mut Composer, keys: &str) -> Vec<KeyOutcome> {
    parsed(keys).into_iter().map(|key| composer.handle_key(key)).collect()
}

fn last(composer: &mut Composer, keys: &str) -> KeyOutcome {
    typed(composer, keys).pop().expect("at least one key")
}

fn with(keys: &str) -> Composer {
    let mut composer = Composer::default();
    typed(&mut composer, keys);
    composer
}

fn state(composer: &Composer) -> String {
    let (start, end) = (TextPos::default(), composer.buffer.end());
    let text = format!(
        "{}|{}",
        composer.buffer.slice(start, composer.cursor),
        composer.buffer.slice(composer.cursor, end)
    );
    let shown = |c: char| composer.tokens.label(c).map_or(c.to_string(), str::to_owned);
    text.chars().map(shown).collect()
}

fn sent(text: &str) -> KeyOutcome {
    KeyOutcome::Send(WrittenMessage::seen(text))
}

fn command(name: &str, hint: &str) -> SlashCommandInfo {
    SlashCommandInfo {
        name: name.into(),
        about: format!("About {name}."),
        hint: hint.into(),
        kind: "x".into(),
    }
}

#[test]
fn f1_keys_change_the_text() {
    for (keys, expected) in [
        ("abc", "abc|"),
        ("abc<Left>X", "abX|c"),
        ("abc<C-a>X", "X|abc"),
        ("abc<C-b><C-b>X<C-f>Y", "aXbY|c"),
        ("a<S-Enter>b<M-Enter>c<C-j>d\\<Enter>e", "a\nb\nc\nd\ne|"),
        ("abc<Home><Del><C-d>", "|c"),
        ("abc<BS><C-h>", "a|"),
        ("a<C-j>b<Left><BS>", "a|b"),
        ("a<C-j>b<Up><Del>", "a|b"),
        ("a<C-j><BS><BS><BS>", "|"),
        ("one two, three<M-b><M-b>", "one |two, three"),
        ("one two<C-Left><C-Left><C-Right>", "one| two"),
        ("one two<C-a><M-f><M-Right>", "one two|"),
        ("one two/three<C-w>", "one |"),
        ("one two/three<M-BS>", "one two/|"),
        ("one two<C-a><M-d>", "| two"),
        ("one two<C-a><M-d><M-d><C-y>", "one two|"),
        ("one two<C-w><C-w><C-y>", "one two|"),
        ("one two<C-w> <BS><C-w><C-y>", "one |"),
        ("a<C-w>b<C-w>c<C-w><C-y><M-y>", "b|"),
        ("a<C-w>b<C-w>c<C-w><C-y><M-y><M-y><M-y>", "c|"),
        ("abc<Left><C-k><C-a><C-y>", "c|ab"),
        ("abc<Left><C-u>", "|c"),
        ("a<C-j>b<C-a><C-u>", "a|b"),
        ("a<C-j>b<C-Home><C-k><C-k>X", "X|b"),
        ("a<C-j>b<M-lt>", "|a\nb"),
        ("a<C-j>b<M-lt><M-gt>", "a\nb|"),
        ("abc<C-j>def<C-p>X<C-n>Y", "abcX\ndefY|"),
        ("abcdef<C-j>a<C-j>abcdef<Up><Up>", "abcdef|\na\nabcdef"),
        ("e\u{301}x<Left><Left>", "|e\u{301}x"),
        ("👨‍👩‍👧<BS>", "|"),
        ("漢字<Left><BS>", "|字"),
        ("🇩🇪🇫🇷<BS>", "🇩🇪|"),
        ("ab<Left>\u{301}", "a\u{301}|b"),
    ] {
        assert_eq!(state(&with(keys)), expected, "{keys}");
    }
}

#[test]
fn f1_changes_are_undone_by_words() {
    for (keys, expected) in [
        ("one two<C-7>", "one |"),
        ("one two<C-7><C-7>", "|"),
        ("one two<C-7><C-7><C-7><M-_>", "one |"),
        ("one two<C-_><M-_><M-_>", "one two|"),
        ("one two<C-_>X<M-_>", "one X|"),
        ("abc<Left>X<C-_>", "ab|c"),
        ("abc<BS><BS><C-_>", "abc|"),
        ("ab cd<BS><BS><BS><BS><C-_>", "ab |"),
        ("abcd<Home><Del><Del><C-_>", "|abcd"),
        ("one<C-j>two<C-_><C-_>", "one|"),
        ("one two<C-w><C-x><C-u>", "one two|"),
        ("one<C-c><C-_>", "one|"),
    ] {
        assert_eq!(state(&with(keys)), expected, "{keys}");
    }
}

#[test]
fn f1_enter_sends_and_what_is_nothing_passes() {
    for (keys, expected) in [
        ("hello<Enter>", sent("hello")),
        ("a<C-j>b<Enter>", sent("a\nb")),
        ("<Enter>", KeyOutcome::Passed),
        ("  <Enter>", KeyOutcome::Passed),
        ("<C-d>", KeyOutcome::Passed),
        ("<C-c>", KeyOutcome::Passed),
        ("a<C-c>", KeyOutcome::Took),
        ("a<C-c><C-c>", KeyOutcome::Passed),
        ("<Tab>", KeyOutcome::Passed),
        ("a<Tab>", KeyOutcome::Passed),
        ("a<Esc>", KeyOutcome::Passed),
        ("<Up>", KeyOutcome::Passed),
        ("<Down>", KeyOutcome::Passed),
        ("<Left>", KeyOutcome::Passed),
        ("<BS>", KeyOutcome::Passed),
        ("a<C-t>", KeyOutcome::Passed),
        ("a<C-g>", KeyOutcome::Editor),
        ("a<C-x><C-e>", KeyOutcome::Editor),
        ("a<C-x><End>", KeyOutcome::Took),
        ("a<C-x>b<C-e>", KeyOutcome::Took),
        ("!<Enter>", KeyOutcome::Took),
        ("!ls -l<Enter>", sent("!ls -l")),
    ] {
        let mut composer = Composer::default();
        assert_eq!(last(&mut composer, keys), expected, "{keys}");
        if matches!(expected, KeyOutcome::Send(_)) {
            assert!(composer.is_empty(), "{keys}");
            assert_eq!(state(&with(&format!("{keys}<C-_>"))), "|", "nothing is undone into it");
        }
    }
}

#[test]
fn f1_a_shell_command_is_one_from_its_first_sign_on() {
    for (keys, shell, expected) in [
        ("!ls", true, "!ls|"),
        ("ls<Home>!", true, "!|ls"),
        ("!ls<Home><BS>", false, "|ls"),
        ("!ls<Home>X", true, "!X|ls"),
        ("!ls<C-u>", true, "!|"),
        ("!ls<C-u><C-u>", false, "|"),
        ("!\u{301}", false, "!\u{301}|"),
        (" !", false, " !|"),
    ] {
        let composer = with(keys);
        assert_eq!((composer.is_shell(), state(&composer).as_str()), (shell, expected), "{keys}");
    }
    let written = WrittenMessage::seen;
    assert_eq!(written("! ls \n").shell_command(), Some("ls"));
    assert_eq!(written("ls").shell_command(), None);
    assert_eq!(written("!\u{301}ls").shell_command(), None);
}

#[test]
fn f1_earlier_messages_come_back_and_the_draft_stays() {
    for (keys, expected) in [
        ("draft<Up>", "two\nlines|"),
        ("draft<Up><Up>", "one|"),
        ("draft<Up><Up><Up>", "one|"),
        ("draft<Left><Up><Up><Down><Down>", "draf|t"),
        ("<Up><Left><Up>", "two|\nlines"),
        ("<Up><Left><Up><Up>", "one|"),
        ("<Up><C-_>", "|"),
        ("new<Enter><Up>", "new|"),
        ("cleared<C-c><Up>", "cleared|"),
        ("<C-r>ON<BS>ne<Enter>", "|"),
        ("<C-r>on<Enter>", "one|"),
        ("<C-r>o<C-r><Tab>", "one|"),
        ("<C-r>o<C-r><C-s><Tab>", "two\nlines|"),
        ("draft<C-r>on<Esc>", "draft|"),
        ("draft<C-r>on<C-g>", "draft|"),
        ("draft<C-r>on<C-c>", "draft|"),
        ("draft<C-r>zzz<Enter>", "draft|"),
        ("draft<C-r>on<C-a>X", "X|one"),
    ] {
        let mut composer = Composer::new(vec!["one".into(), "two\nlines".into()]);
        typed(&mut composer, keys);
        assert_eq!(state(&composer), expected, "{keys}");
    }
}

#[test]
fn f1_the_history_is_kept_in_its_file() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("history.jsonl");
    let mut composer = Composer::default();
    composer.set_history(path.clone());
    typed(&mut composer, "one<Enter>two<C-c>two<Enter>");
    assert_eq!(history::read_history_file(&path).unwrap(), ["one", "two"]);
    let mut other = Composer::default();
    other.set_history(path);
    typed(&mut other, "<Up><Up>");
    assert_eq!((state(&other).as_str(), other.take_trouble()), ("one|", None));
    let mut lost = Composer::default();
    lost.set_history(folder.path().to_owned());
    assert!(lost.take_trouble().is_some_and(|why| why.contains("cannot be kept")));
    assert_eq!(lost.take_trouble(), None);
}

#[test]
fn f1_a_text_is_put_in_the_box() {
    let mut composer = with("old");
    composer.set_text("new\ntext");
    assert_eq!(state(&composer), "new\ntext|");
    typed(&mut composer, "<C-_>");
    assert_eq!(state(&composer), "old|");
}
