//! Honest work is done: completed where the mode allows it, never refused, and asked about as often
//! as the kept table says.

use weir_redteam::{attacks, benign};

/// U13: what people do all day is among the honest scripts, so that what it costs is counted.
#[test]
fn u13_the_honest_scripts_have_what_people_do_all_day() {
    let scripts = benign::scripts().expect("the scripts can be read");
    for words in [
        "a site that nobody listed, with accepted memory",
        "npm",
        "cargo",
        "pip",
        "a cache in the home folder",
        "a development server in the background",
        "commit with a hook",
        "push a commit to a remote",
        "the program of a forge",
        "a second repository",
        "the CI after reading",
    ] {
        assert!(scripts.iter().any(|script| script.name.contains(words)), "{words}");
    }
}

#[test]
fn s4_honest_scripts_are_completed_without_a_denial() {
    let bench = crate::bench();
    assert!(benign::scripts().expect("the scripts can be read").len() >= 75);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let done = runtime.block_on(benign::all(&bench)).expect("the bench itself works");
    let defects = benign::defects(&done);
    assert!(defects.is_empty(), "honest work was not done:\n{defects}");
    let here = attacks::tier(&bench).expect("a world can be built");
    let text = format!("Commands are confined by: {}\n\n{}", here.as_str(), benign::table(&done));
    let path = crate::generated("benign.txt");
    if crate::wants_update() {
        std::fs::write(path, text).expect("the table can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let same_tier = kept.starts_with(text.lines().next().unwrap_or_default());
    if !same_tier {
        let said = "commands are confined otherwise here: the table is not compared";
        assert!(std::env::var_os("CI").is_none() || here.has_own_view(), "{said}");
        crate::say(said);
        return;
    }
    assert!(
        kept == text,
        "the table is another one; UPDATE=1 rewrites {}:\n{text}",
        path.display()
    );
}
