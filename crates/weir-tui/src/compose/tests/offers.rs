//! Lists of completions by their keys.

use super::*;

#[test]
fn f1_commands_are_completed() {
    for (keys, expected, did) in [
        ("/<Tab>", "/help |", KeyOutcome::Took),
        ("/mo<Tab>", "/model |", KeyOutcome::Took),
        ("/mo<Enter>", "/model |", KeyOutcome::Took),
        ("/hel<Enter>", "|", sent("/help")),
        ("/help<Enter>", "|", sent("/help")),
        ("/model<Enter>", "|", sent("/model")),
        ("/model x<Enter>", "|", sent("/model x")),
        ("/<Down><Tab>", "/model |", KeyOutcome::Took),
        ("/<Up><Tab>", "/compact |", KeyOutcome::Took),
        ("/<Down><Down><Down><C-p><Tab>", "/compact |", KeyOutcome::Took),
        ("/mo<Esc><Tab>", "/mo|", KeyOutcome::Passed),
        ("/mo<Esc>d<Tab>", "/mod|", KeyOutcome::Passed),
        ("/mo<Esc><Enter>", "|", sent("/mo")),
        ("/zzz<Tab>", "/zzz|", KeyOutcome::Took),
        ("/mo<Left><Tab>", "/m|o", KeyOutcome::Took),
        ("/mo<Left><Tab><Tab>", "/model |o", KeyOutcome::Took),
        ("a /mo<Tab>", "a /mo|", KeyOutcome::Passed),
        (" x<Home>/mo<Tab>", "/model| x", KeyOutcome::Took),
        ("/mo<Esc><Esc>", "/mo|", KeyOutcome::Passed),
    ] {
        let mut composer = Composer::default();
        let known = [("help", ""), ("model", "[name]"), ("compact", ""), ("model", "twice")];
        composer.set_named(known.map(|(name, hint)| command(name, hint)).into());
        let (before, tab) = keys.split_at(keys.rfind('<').expect("it ends with a named key"));
        typed(&mut composer, before);
        if tab == "<Tab>" {
            assert_eq!(composer.can_complete(), did == KeyOutcome::Took, "{keys}");
        }
        assert_eq!(last(&mut composer, tab), did, "{keys}");
        assert_eq!(state(&composer), expected, "{keys}");
    }
}

#[test]
fn f1_files_are_completed() {
    let found = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (keys, files, more, expected) in [
        ("@ma", found(&["src/main.rs"]), "<Tab>", "@src/main.rs |"),
        ("see @ma", found(&["src/main.rs", "b"]), "<Down><Enter>!", "see @b !|"),
        ("@", found(&["my file.txt"]), "<Tab>", "@\"my file.txt\" |"),
        ("@\"my", found(&["my file.txt"]), "<Tab>", "@\"my file.txt\" |"),
        ("@sr", found(&["src/"]), "<Tab>", "@src/|"),
        ("@x", found(&["a 'b' \"c\".txt"]), "<Tab>", "[file: a 'b' \"c\".txt] |"),
        ("@x", found(&[]), "<Tab>", "@x|"),
        ("@xy", found(&["xy", "xyz"]), "<Enter>", "|"),
        ("@xy", found(&["xyz", "xy"]), "<Enter>", "@xyz |"),
        ("!cat @x", found(&["a b.txt"]), "<Tab>", "!cat 'a b.txt' |"),
        ("!cat @x", found(&["a b/"]), "<Tab>", "!cat @\"a b/|"),
        ("@x", found(&["x"]), "<Esc><Tab>", "@x|"),
        ("a b<Left>@x ", found(&["y"]), "<Tab>", "a @x |b"),
        ("a b<Left><Left>@x", found(&["y"]), "<Tab>", "a@x| b"),
        ("a  b<Left><Left>@x", found(&["y"]), "<Tab>", "a @y| b"),
    ] {
        let mut composer = Composer::default();
        if let KeyOutcome::Files { ticket, .. } = last(&mut composer, keys) {
            composer.receive_files(ticket, files);
        }
        typed(&mut composer, more);
        assert_eq!(state(&composer), expected, "{keys} {more}");
    }
}

#[test]
fn f1_late_answers_are_for_nothing() {
    let mut composer = Composer::default();
    let asked = typed(&mut composer, "@ab");
    let tickets: Vec<(&str, CommandTicket)> = asked
        .iter()
        .filter_map(|did| match did {
            KeyOutcome::Files { query, ticket } => Some((query.as_str(), *ticket)),
            _ => None,
        })
        .collect();
    let first = FIRST_TICKET;
    assert_eq!(tickets, [("", first), ("a", first + 1), ("ab", first + 2)]);
    composer.receive_files(first, vec!["old".into()]);
    assert_eq!(last(&mut composer, "<Tab>"), KeyOutcome::Took, "the answer is on its way");
    typed(&mut composer, "<Esc>");
    composer.receive_files(first + 2, vec!["late".into()]);
    assert_eq!(state(&composer), "@ab|", "nobody waits any more");
    // A folder is gone into.
    let KeyOutcome::Files { ticket, .. } = last(&mut composer, "c") else { panic!("it asks") };
    composer.receive_files(ticket, vec!["src/".into()]);
    let KeyOutcome::Files { query, ticket } = last(&mut composer, "<Enter>") else {
        panic!("it asks")
    };
    composer.receive_files(ticket, vec!["src/a".into()]);
    assert_eq!((query.as_str(), last(&mut composer, "<Enter>")), ("src/", KeyOutcome::Took));
    assert_eq!(state(&composer), "@src/a |");
}
