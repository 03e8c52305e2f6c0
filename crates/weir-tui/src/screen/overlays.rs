//! The full screens from outside: keys and news in, what is to be seen out, at 80x24 and 40x12.
//! Golden pictures stand in `tests/frames`; `UPDATE=1` writes them anew.

use crossterm::event::{KeyCode, KeyModifiers};
use weir_core::ids::{SessionId, Timestamp};

use super::choose::{ChoiceScreen, ChoiceSubject};
use super::help::HelpScreen;
use super::pager::TextPager;
use super::rewind::RewindScreen;
use super::sessions::SessionsScreen;
use super::transcript::ConversationScreen;
use super::{Screen, ScreenStep};
use crate::app::commands::face_commands;
use crate::app::entries::{EarlierEntries, EarlierReach, EntryTranscript};
use crate::app::painter::AppPainter;
use crate::link::{
    ChoiceOption, ListResult, RewindScope, SessionLine, SessionTarget, SlashCommandInfo, TextKind,
    UiCommand, UiUpdate,
};

mod desk;

use desk::{Desk, NOW, Shell, replied, said, talked};

fn long(lines: usize) -> String {
    (1..=lines)
        .map(|n| format!("line {n}: The quick brown fox jumps over the lazy dog.\n"))
        .collect()
}

#[test]
fn f1_frames_of_the_pager() {
    let (mut plain, _) = Desk::new(TextPager::new("Context", long(60), TextKind::Plain), talked());
    plain.golden("pager-plain");
    plain.types("/line 5");
    plain.golden("pager-typing");
    plain.press(KeyCode::Enter);
    plain.golden("pager-found");
    let text = "# Memory\n\nWhat is **known**:\n\n- one\n- two `code`\n\n```rust\nfn a() {}\n```\n";
    let (mut desk, _) =
        Desk::new(TextPager::new("Memory", text.into(), TextKind::Markdown), talked());
    desk.golden("pager-markdown");
    let text = "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+two and a half\n three\n";
    let (mut desk, _) = Desk::new(TextPager::new("Change", text.into(), TextKind::Diff), talked());
    desk.golden("pager-diff");
}

#[test]
fn f1_the_pager_keeps_its_place_when_the_width_changes() {
    for kind in [TextKind::Plain, TextKind::Markdown] {
        let text = long(400).replace('\n', "\n\n");
        let (mut desk, _) = Desk::new(TextPager::new("T", text, kind), talked());
        desk.seen(80, 24);
        (0..5).for_each(|_| drop(desk.press(KeyCode::PageDown)));
        let top =
            desk.seen(80, 24).lines.iter().skip(1).find(|l| l.width() > 0).map(|l| l.to_string());
        let place = top.expect("a line")[..9].to_owned();
        for columns in [40, 20, 60, 80] {
            let near: String = desk.text(columns, 24).lines().take(8).collect();
            assert!(near.contains(place.trim()), "{kind:?} {columns}: {place} in {near}");
        }
    }
}

#[test]
fn f1_the_pager_reads_a_hundred_thousand_lines() {
    let (mut desk, _) = Desk::new(TextPager::new("Log", long(100_000), TextKind::Plain), talked());
    desk.press(KeyCode::Char('G'));
    assert!(desk.text(80, 24).contains("line 100000:"));
    desk.press(KeyCode::Home);
    assert!(desk.text(80, 24).contains("line 1:"));
    desk.types("/line 77777");
    desk.press(KeyCode::Enter);
    assert!(desk.text(80, 24).lines().nth(1).is_some_and(|l| l.starts_with("line 77777:")));
    // Words that stand nowhere move nothing.
    desk.press(KeyCode::Esc);
    desk.types("/nowhere to be found");
    desk.press(KeyCode::Enter);
    assert!(desk.text(80, 24).contains("not found"));
    assert!(desk.text(80, 24).contains("line 77777:"));
}

#[test]
fn f1_frames_of_the_transcript() {
    let (mut desk, _) = Desk::new(ConversationScreen::new(), talked());
    desk.golden("transcript");
    desk.press(KeyCode::Char('['));
    desk.press(KeyCode::Char('['));
    desk.types("/output");
    desk.press(KeyCode::Enter);
    desk.golden("transcript-unfolded");
}

#[test]
fn f1_the_transcript_unfolds_searches_and_fetches_whole_results() {
    let (mut desk, _) = Desk::new(ConversationScreen::new(), talked());
    assert!(!desk.text(80, 50).contains("line 30 of the output"));
    desk.types("e");
    assert!(desk.text(80, 90).contains("line 30 of the output"));
    assert!(desk.text(80, 90).contains("hidden things"));
    desk.types("e");
    // Words in a fold are found, and the fold opens.
    desk.types("/LINE 29 OF");
    desk.press(KeyCode::Enter);
    let text = desk.text(80, 24);
    assert!(text.lines().any(|line| line.starts_with("> ") && line.contains("line 29")), "{text}");
    let ScreenStep::Over(mut pager) = desk.press(KeyCode::Char('w')) else { panic!("a pager") };
    let ScreenStep::Do(wishes) = desk.step(|_, with| pager.on_open(with)) else { panic!("a wish") };
    assert!(
        matches!(&wishes[..], [UiCommand::Report { arguments, .. }] if arguments == "7"),
        "{wishes:?}"
    );
    // The fold closes again, and what was found ends before the screen does.
    desk.press(KeyCode::Enter);
    assert!(!desk.text(80, 50).contains("line 29 of"));
    assert!(matches!(desk.press(KeyCode::Esc), ScreenStep::Stay));
    assert!(matches!(desk.press(KeyCode::Esc), ScreenStep::Close));
}

#[test]
fn f1_the_transcript_jumps_between_messages_and_makes_only_what_is_seen() {
    let mut transcript = EntryTranscript::default();
    for n in 1..=10_000 {
        transcript.push(said(n, &format!("message {n}")));
        transcript.push(replied(n, &format!("answer {n}")));
    }
    let (mut desk, _) = Desk::new(ConversationScreen::new(), transcript);
    assert!(desk.text(80, 24).contains("answer 10000"));
    for expected in ["message 10000", "message 9999", "message 9998"] {
        desk.press(KeyCode::Char('['));
        assert!(desk.text(80, 24).contains(expected), "{expected}");
    }
    desk.press(KeyCode::Char('g'));
    assert!(desk.text(80, 24).contains("message 1\n"));
    desk.press(KeyCode::Char('G'));
    assert!(desk.text(80, 24).contains("answer 10000"));
}

fn sessions() -> Vec<SessionLine> {
    let titles = [
        "Fix the parser",
        "Write release notes",
        "Parser \u{1b}[2Jbench",
        "日本語のメモを整理する",
    ];
    let line = |(n, title): (usize, &&str)| SessionLine {
        id: SessionId::new(format!("s{n}")),
        title: (*title).to_owned(),
        folder: format!("~/code/project-{n}"),
        last: Timestamp(NOW.0 - 5_000_000_000 * (n as i64 + 1).pow(4)),
        state: "completed".into(),
        found: None,
    };
    titles.iter().enumerate().map(line).collect()
}

#[test]
fn f1_frames_of_the_sessions_and_their_search() {
    let (mut desk, wishes) = Desk::new(SessionsScreen::new("", NOW), talked());
    assert_eq!(wishes, [UiCommand::Sessions { query: String::new(), ticket: 1 }]);
    desk.golden("sessions-waiting");
    desk.tell(&UiUpdate::Listed { ticket: 1, items: ListResult::Sessions(sessions()) });
    desk.golden("sessions");
    // Titles are filtered at once; the store is asked once, and again when it has answered.
    assert_eq!(desk.types("pars"), [UiCommand::Sessions { query: "p".into(), ticket: 2 }]);
    assert!(!desk.text(80, 24).contains("release notes"));
    let mut found = sessions().remove(1);
    found.found = Some("the parser was slow".into());
    let answer = UiUpdate::Listed { ticket: 2, items: ListResult::Sessions(Vec::new()) };
    let step = desk.tell(&answer);
    let again = UiCommand::Sessions { query: "pars".into(), ticket: 3 };
    assert!(matches!(&step, ScreenStep::Do(wishes) if wishes[..] == [again]));
    desk.tell(&UiUpdate::Listed { ticket: 3, items: ListResult::Sessions(vec![found]) });
    desk.golden("sessions-found");
    let step = desk.press(KeyCode::Enter);
    let open = UiCommand::Open(SessionTarget::Existing(SessionId::new("s2")));
    assert!(matches!(&step, ScreenStep::CloseAnd(wishes) if wishes[..] == [open]));
    desk.press(KeyCode::Down);
    let step = desk.press_with(KeyCode::Char('f'), KeyModifiers::CONTROL);
    let fork = UiCommand::Open(SessionTarget::Fork { of: SessionId::new("s0"), before: None });
    assert!(matches!(&step, ScreenStep::CloseAnd(wishes) if wishes[..] == [fork]));
    // An answer to another question changes nothing.
    let late = UiUpdate::Listed { ticket: 2, items: ListResult::Sessions(Vec::new()) };
    assert!(matches!(desk.tell(&late), ScreenStep::Idle));
}

#[test]
fn f1_frames_of_the_choices() {
    let (mut desk, wishes) = Desk::new(ChoiceScreen::new(ChoiceSubject::Models), talked());
    assert_eq!(wishes, [UiCommand::Models(1)]);
    let choice = |value: &str, about: &str, current| ChoiceOption {
        value: value.into(),
        about: about.into(),
        current,
    };
    let choices = vec![
        choice("anthropic/claude", "200k window, $3 in, $15 out", false),
        choice("script/one", "answers from a script", true),
    ];
    desk.tell(&UiUpdate::Listed { ticket: 1, items: ListResult::Choices(choices) });
    desk.golden("models");
    let step = desk.press(KeyCode::Enter);
    assert!(
        matches!(&step, ScreenStep::CloseAnd(w) if w[..] == [UiCommand::Model("script/one".into())])
    );
    let (mut desk, _) = Desk::new(ChoiceScreen::new(ChoiceSubject::Thinking), talked());
    desk.golden("thinking");
    desk.types("high");
    let step = desk.press(KeyCode::Enter);
    assert!(matches!(&step, ScreenStep::Command(line) if line == "/thinking high"));
    let (mut desk, wishes) = Desk::new(ChoiceScreen::new(ChoiceSubject::Profiles), talked());
    assert_eq!(wishes, [UiCommand::Profiles(1)]);
    desk.tell(&UiUpdate::Failed { ticket: 1, why: "The server is away.".into() });
    desk.golden("profiles-failed");
    let (mut desk, _) = Desk::new(
        ChoiceScreen::for_themes(&[("dark", "for dark"), ("light", "x")], "dark"),
        talked(),
    );
    desk.golden("themes");
    desk.press(KeyCode::Down);
    assert!(
        matches!(desk.press(KeyCode::Enter), ScreenStep::Command(line) if line == "/theme light")
    );
}

#[test]
fn f1_frames_of_going_back_with_a_preview() {
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n one\n-new\n+old\n";
    let asked = |keys: &[KeyCode]| {
        let (mut desk, _) = Desk::new(RewindScreen::new(), talked());
        keys.iter().for_each(|key| drop(desk.press(*key)));
        desk
    };
    let mut desk = asked(&[]);
    desk.golden("rewind");
    desk.press(KeyCode::Down);
    let step = desk.press(KeyCode::Enter);
    assert!(
        matches!(&step, ScreenStep::Do(w) if w[..] == [UiCommand::Preview { before: 10, ticket: 1 }])
    );
    desk.golden("rewind-looking");
    // Files do not go back before one has seen which.
    assert!(matches!(desk.press(KeyCode::Char('b')), ScreenStep::Idle));
    let text = UiUpdate::Text {
        ticket: 1,
        title: "Changes".into(),
        text: diff.into(),
        kind: TextKind::Diff,
    };
    desk.tell(&text);
    desk.golden("rewind-preview");
    let step = desk.press(KeyCode::Char('b'));
    let wish = UiCommand::Rewind { before: 10, back: RewindScope::Both };
    assert!(matches!(&step, ScreenStep::Do(wishes) if wishes[..] == [wish]));
    let (about, named) = (Box::default(), Vec::new());
    let step = desk.tell(&UiUpdate::Opened { session: None, known: 0, about, named });
    let words = "Fix the test that fails on Tuesdays";
    assert!(matches!(step, ScreenStep::Put(text) if text == words));
    // Files alone close it at once; Esc changes nothing.
    let mut desk = asked(&[KeyCode::Enter]);
    desk.tell(&text);
    let step = desk.press(KeyCode::Char('f'));
    let wish = UiCommand::Rewind { before: 20, back: RewindScope::Files };
    assert!(matches!(&step, ScreenStep::CloseAnd(wishes) if wishes[..] == [wish]));
    let mut desk = asked(&[KeyCode::Enter]);
    assert!(matches!(desk.press(KeyCode::Esc), ScreenStep::Stay));
    assert!(matches!(desk.press(KeyCode::Esc), ScreenStep::Close));
}

/// A screen that is open where earlier entries were not read.
fn begun(screen: impl Screen + 'static, mut transcript: EntryTranscript) -> Desk {
    transcript.expect_earlier(0);
    let mut desk = Desk::new(screen, transcript).0;
    desk.text(80, 24);
    desk
}

/// Whether this is what a screen wants.
fn reads(step: &ScreenStep, reach: EarlierReach) -> bool {
    matches!(step, ScreenStep::ReadEarlier(wanted) if *wanted == reach)
}

fn head(desk: &mut Desk) -> String {
    desk.text(80, 24).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn f1_earlier_messages_come_in_while_one_chooses_which_to_go_back_to() {
    let mut desk = begun(RewindScreen::new(), EntryTranscript::default());
    assert!(desk.text(80, 24).contains("Earlier messages are not here yet."));
    for filter in ["", "tuesdays"] {
        let mut desk = begun(RewindScreen::new(), talked());
        // Whoever comes near the oldest one goes on to those before it, and whoever filters to all.
        match filter {
            "" => assert!(reads(&desk.press(KeyCode::Down), EarlierReach::Part)),
            words => {
                desk.types(words);
                let step = desk.step(|screen, with| screen.handle_paste("", with));
                assert!(reads(&step, EarlierReach::Far), "{words}");
            }
        }
        desk.set_earlier(EarlierEntries::UnderWay);
        assert!(head(&mut desk).contains("are being read"), "{}", head(&mut desk));
        let step = desk.insert_earlier(said(0, "The very first words"), None);
        assert!(matches!(step, ScreenStep::Stay), "all of them are there");
        // The one that was marked is the one that is chosen.
        let step = desk.press(KeyCode::Enter);
        let wish = UiCommand::Preview { before: 10, ticket: 1 };
        assert!(matches!(&step, ScreenStep::Do(w) if w[..] == [wish]), "{filter:?}");
        desk.press(KeyCode::Esc);
        filter.chars().for_each(|_| drop(desk.press(KeyCode::Backspace)));
        assert!(desk.text(80, 24).contains("The very first words"), "{filter:?}");
    }
}

#[test]
fn q10_the_oldest_message_to_go_back_to_is_reached_over_many_parts() {
    let mut desk = begun(RewindScreen::new(), talked());
    assert!(reads(&desk.press(KeyCode::End), EarlierReach::Far));
    for n in [2, 1] {
        let step = desk.insert_earlier(said(0, &format!("Words {n}")), Some(EarlierEntries::Left));
        assert!(reads(&step, EarlierReach::Far), "more is left");
    }
    // What cannot be read is not tried by itself again, but when the person goes on.
    desk.set_earlier(EarlierEntries::Failed("The server is away".into()));
    let failed = UiUpdate::Failed { ticket: 1, why: "The server is away".into() };
    assert!(matches!(desk.tell(&failed), ScreenStep::Idle));
    assert!(head(&mut desk).contains("cannot be read"), "{}", head(&mut desk));
    assert!(reads(&desk.press(KeyCode::End), EarlierReach::Far));
    let step = desk.insert_earlier(said(0, "The very first words"), None);
    assert!(matches!(step, ScreenStep::Stay));
    let text = desk.text(80, 24);
    assert!(text.lines().any(|line| line.starts_with("> The very first words")), "{text}");
}

#[test]
fn q10_earlier_entries_are_read_when_one_scrolls_near_them_and_not_before() {
    let up = [KeyCode::Up, KeyCode::PageUp, KeyCode::Char('k'), KeyCode::Char('b')];
    for code in up {
        let mut desk = begun(ConversationScreen::new(), talked());
        assert!(reads(&desk.press(code), EarlierReach::Part), "{code:?}");
    }
    let control = KeyModifiers::CONTROL;
    for c in ['u', 'b'] {
        let mut desk = begun(ConversationScreen::new(), talked());
        assert!(reads(&desk.press_with(KeyCode::Char(c), control), EarlierReach::Part), "{c}");
    }
    // Nothing else reads them, and nothing does where they are far.
    let mut long = EntryTranscript::default();
    for n in 1..=200 {
        long.push(said(n, "Words"));
    }
    let mut desk = begun(ConversationScreen::new(), long);
    let others = ['j', ' ', 'e', 'G', ']', 'k', 'b'];
    for code in others.map(KeyCode::Char).into_iter().chain([KeyCode::Up, KeyCode::PageUp]) {
        let step = desk.press(code);
        assert!(!matches!(step, ScreenStep::ReadEarlier(_)), "{code:?}");
        assert!(!desk.text(80, 24).contains("earlier entries"), "{code:?}");
    }
}

#[test]
fn q10_one_line_says_what_stands_before_the_first_entry_that_is_there() {
    let mut desk = begun(ConversationScreen::new(), talked());
    let first = |desk: &mut Desk| desk.text(80, 24).lines().nth(1).unwrap_or_default().to_owned();
    desk.press(KeyCode::Char('k'));
    assert_eq!(first(&mut desk), "  … earlier entries: go up to read them");
    assert!(head(&mut desk).ends_with("/6+"), "{}", head(&mut desk));
    desk.set_earlier(EarlierEntries::UnderWay);
    assert_eq!(first(&mut desk), "  … earlier entries are being read");
    desk.set_earlier(EarlierEntries::Failed("The server is away".into()));
    assert!(first(&mut desk).contains("(go up to try again): The server is away"));
    assert!(reads(&desk.press(KeyCode::Char('k')), EarlierReach::Part), "it is tried again");
    desk.insert_earlier(said(0, "The very first words"), None);
    assert!(head(&mut desk).ends_with("/7"), "{}", head(&mut desk));
    assert!(!desk.text(80, 24).contains("earlier entries"));
    // The row that one is at is seen at any size, with the line and without.
    for rows in 0..12 {
        let mut desk = begun(ConversationScreen::new(), talked());
        for _ in 0..60 {
            let text = desk.text(80, rows);
            assert!(rows < 3 || text.lines().any(|line| line.starts_with('>')), "{rows}: {text}");
            desk.press(KeyCode::Char('k'));
        }
        assert!(rows < 4 || first_of(&mut desk, rows).contains("earlier entries"), "{rows}");
    }
}

/// The first line below the title.
fn first_of(desk: &mut Desk, rows: u16) -> String {
    desk.text(80, rows).lines().nth(1).unwrap_or_default().to_owned()
}

#[test]
fn q10_what_was_said_before_the_session_was_open_stands_above_all_that_is_read() {
    let mut transcript = talked();
    // The first of them is such an entry.
    transcript.expect_earlier(1);
    let mut desk = Desk::new(ConversationScreen::new(), transcript).0;
    assert!(!desk.text(80, 24).contains("Tuesdays"), "there is a gap below it");
    for _ in 0..20 {
        desk.press(KeyCode::Up);
    }
    assert!(reads(&desk.press(KeyCode::Up), EarlierReach::Part));
    assert!(head(&mut desk).ends_with("1/5+"), "{}", head(&mut desk));
    let step = desk.insert_earlier(said(0, "Nearer words"), Some(EarlierEntries::Left));
    assert!(matches!(step, ScreenStep::Stay));
    assert!(head(&mut desk).ends_with("2/6+"), "one stays where one is: {}", head(&mut desk));
    desk.press(KeyCode::Home);
    desk.insert_earlier(said(0, "The very first words"), None);
    let text = desk.text(80, 24);
    let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(place("Tuesdays") < place("The very first words"), "{text}");
    assert!(place("The very first words") < place("Nearer words"), "{text}");
    assert!(head(&mut desk).contains("1/8"), "{}", head(&mut desk));
}

#[test]
fn q10_the_beginning_is_reached_over_many_parts_and_any_key_ends_that() {
    let mut desk = begun(ConversationScreen::new(), talked());
    for code in [KeyCode::Home, KeyCode::Char('g')] {
        assert!(reads(&desk.press(code), EarlierReach::Far));
        desk.set_earlier(EarlierEntries::UnderWay);
        assert!(head(&mut desk).contains("reading earlier entries"));
        let step = desk.insert_earlier(said(0, "Words"), Some(EarlierEntries::Left));
        assert!(reads(&step, EarlierReach::Far), "more is left: {code:?}");
        assert!(desk.text(80, 24).lines().any(|line| line.starts_with('>')));
        desk.press(KeyCode::Char('e'));
        let step = desk.insert_earlier(said(0, "Words"), Some(EarlierEntries::Left));
        assert!(matches!(step, ScreenStep::Stay), "nobody looks for the beginning any more");
    }
    assert!(reads(&desk.press(KeyCode::Home), EarlierReach::Far));
    desk.set_earlier(EarlierEntries::Failed("The server is away".into()));
    let failed = UiUpdate::Failed { ticket: 1, why: "The server is away".into() };
    assert!(matches!(desk.tell(&failed), ScreenStep::Stay));
    assert!(head(&mut desk).contains("cannot be read"));
    assert!(reads(&desk.press(KeyCode::Home), EarlierReach::Far), "it can be tried again");
    desk.insert_earlier(said(0, "The very first words"), None);
    assert!(head(&mut desk).contains("1/11"), "{}", head(&mut desk));
}

#[test]
fn q10_words_and_messages_are_found_in_parts_that_were_not_read() {
    let search = |desk: &mut Desk, words: &str| {
        desk.press(KeyCode::Char('/'));
        desk.types(words);
        desk.press(KeyCode::Enter)
    };
    let mut desk = begun(ConversationScreen::new(), talked());
    assert!(matches!(search(&mut desk, "tuesdays"), ScreenStep::Stay), "they stand there");
    assert!(reads(&search(&mut desk, "very first"), EarlierReach::Far));
    let step = desk.insert_earlier(said(0, "Other words"), Some(EarlierEntries::Left));
    assert!(reads(&step, EarlierReach::Far), "they do not stand there");
    let step = desk.insert_earlier(said(0, "The very first words"), Some(EarlierEntries::Left));
    assert!(matches!(step, ScreenStep::Stay), "they are found, and no more is read");
    assert!(head(&mut desk).contains("1/8+"), "{}", head(&mut desk));
    // From the last one on they are looked for from the beginning, which has to be read for that.
    assert!(reads(&desk.press(KeyCode::Char('n')), EarlierReach::Far));
    desk.insert_earlier(said(0, "The very first, in truth"), None);
    assert!(head(&mut desk).contains("from the beginning"), "{}", head(&mut desk));
    desk.press(KeyCode::Char('N'));
    assert!(head(&mut desk).contains("from the end"), "{}", head(&mut desk));
    search(&mut desk, "never said");
    assert!(head(&mut desk).contains("not found"), "{}", head(&mut desk));
    // The message before the first that is there.
    let mut desk = begun(ConversationScreen::new(), talked());
    assert!(matches!(desk.press(KeyCode::Char('[')), ScreenStep::Stay));
    assert!(matches!(desk.press(KeyCode::Char('[')), ScreenStep::Stay));
    assert!(reads(&desk.press(KeyCode::Char('[')), EarlierReach::Part));
    let step = desk.insert_earlier(replied(9, "An answer"), Some(EarlierEntries::Left));
    assert!(reads(&step, EarlierReach::Part), "this is no message");
    desk.insert_earlier(said(0, "The very first words"), None);
    assert!(head(&mut desk).contains("1/8"), "{}", head(&mut desk));
    desk.press(KeyCode::Char('['));
    assert!(head(&mut desk).contains("no more messages"), "{}", head(&mut desk));
}

#[test]
fn f1_frames_of_the_help() {
    let (mut desk, _) = Desk::new(HelpScreen::new(), talked());
    desk.named.extend(face_commands(AppPainter::Screen).map(|command| SlashCommandInfo {
        name: command.name.into(),
        about: command.about.into(),
        hint: command.hint.into(),
        kind: "command".into(),
    }));
    desk.golden("help");
    let all = desk.text(80, 200);
    for word in ["Ctrl-O", "Ctrl-R", "/review", "/doctor", "auto-edit", "(workflow)"] {
        assert!(all.contains(word), "{word} in {all}");
    }
}

#[test]
fn f1_every_screen_does_any_size_and_key() {
    let evil = "\u{1b}[2J\u{202e}x";
    let screens: Vec<fn() -> Box<dyn Screen>> = vec![
        || Box::new(TextPager::new("\u{1b}[2J", "\u{1b}[2J\u{202e}\n".repeat(9), TextKind::Plain)),
        || Box::new(TextPager::new("T", "# \u{1b}[2J".into(), TextKind::Markdown)),
        || Box::new(ConversationScreen::new()),
        || Box::new(SessionsScreen::new("\u{1b}[2J", NOW)),
        || Box::new(ChoiceScreen::new(ChoiceSubject::Models)),
        || Box::new(RewindScreen::new()),
        || Box::new(HelpScreen::new()),
    ];
    let codes = [
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageDown,
        KeyCode::PageUp,
        KeyCode::End,
        KeyCode::Home,
        KeyCode::Enter,
        KeyCode::Char('/'),
        KeyCode::Char('n'),
        KeyCode::Enter,
        KeyCode::Char('N'),
        KeyCode::Char('['),
        KeyCode::Char('e'),
        KeyCode::Left,
        KeyCode::F(5),
    ];
    for make in screens {
        for (columns, rows) in [(0, 0), (0, 9), (9, 0), (1, 1), (2, 2), (3, 3), (10, 4), (300, 90)]
        {
            let mut transcript = talked();
            transcript.push(said(9, evil));
            let (mut desk, _) = Desk::new(Shell(make()), transcript);
            desk.tell(&UiUpdate::Listed { ticket: 1, items: ListResult::Sessions(sessions()) });
            for code in codes {
                desk.press(code);
                let view = desk.seen(columns, rows);
                assert!(view.lines.len() <= rows.into());
                for line in &view.lines {
                    assert!(line.width() <= columns.into(), "{columns}x{rows}: {line}");
                    assert!(!line.to_string().contains(['\u{1b}', '\u{202e}']), "{line:?}");
                }
                if let Some((row, cell)) = view.cursor {
                    assert!(row < rows.into() && cell <= columns.into(), "{columns}x{rows}");
                }
            }
        }
    }
}
