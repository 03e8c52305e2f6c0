//! What makes a play fail although it came to rest: an expectation of the script's own that was not
//! met, and a person who never came to do what they were meant to. Not here: the laws of the
//! journal (`crate::laws`), and what a scenario expects (its golden blocks).

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use weir_core::event::Event;
use weir_engine::hub::PublishedFact;

use super::Played;
use crate::parse::{ACTS_ARE_LEFT_OVER, SCRIPT_IS_REFUSED, Scenario};
use crate::render;

/// How the scripted model says that the request is not what its script expects. The provider's own
/// words stand before it.
const SCRIPT_REFUSES: &str = "the script (line ";

/// Checks a play in which the program lived from the beginning to the end. After a crash a request
/// may hold other results, and the moment of an act may be over; nothing is said about such a play.
///
/// `done` holds the numbers of the acts that were done, from 0.
pub(super) fn check_uncrashed_play(
    scenario: &Scenario,
    done: &BTreeSet<usize>,
    played: &Played,
) -> anyhow::Result<()> {
    check_script(scenario, played)
        .and_then(|()| check_acts(scenario, done))
        .with_context(|| format!("this is no golden play:\n{}", render::journal(played)))
}

fn check_script(scenario: &Scenario, played: &Played) -> anyhow::Result<()> {
    let agents = played.agents.values().map(|left| &left.facts);
    let mut facts = std::iter::once(&played.facts).chain(agents).flatten();
    let refusal = facts.find_map(script_refusal);
    match (scenario.script_is_refused, refusal) {
        (false, Some(words)) => anyhow::bail!(
            "an expectation of the script was not met, and no {SCRIPT_IS_REFUSED} says that it is \
             about that: {words}"
        ),
        (true, None) => anyhow::bail!("{SCRIPT_IS_REFUSED}, and no expectation of it failed"),
        (false, None) | (true, Some(_)) => Ok(()),
    }
}

/// The words in which the script refused a request.
fn script_refusal(fact: &PublishedFact) -> Option<&str> {
    let message = match fact.event.as_ref() {
        Event::ModelFailed(f) => &f.message,
        Event::ModelRetried(f) => &f.message,
        Event::HistoryQuarantined(f) => &f.message,
        Event::ToolsRefused(f) => &f.message,
        _ => return None,
    };
    message.find(SCRIPT_REFUSES).map(|at| &message[at..])
}

fn check_acts(scenario: &Scenario, done: &BTreeSet<usize>) -> anyhow::Result<()> {
    let acts = scenario.acts.iter().enumerate();
    let left: Vec<String> = acts
        .filter(|(at, _)| !done.contains(at))
        .map(|(at, act)| format!("{} {:?}", at + 1, act.deed))
        .collect();
    if scenario.acts_are_left_over {
        ensure!(!left.is_empty(), "{ACTS_ARE_LEFT_OVER}, and none is");
        return Ok(());
    }
    ensure!(
        left.is_empty(),
        "acts of the people were never done, and no {ACTS_ARE_LEFT_OVER} says so: {}",
        left.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;
    use crate::play::{Depth, play};

    /// Plays a session in which a file is read and, if `people` agree, another is written.
    fn outcome(prose: &str, script: &str, people: &str) -> Result<(), String> {
        let text = format!(
            "# T\n\n{prose}\n\n```setup\nattended yes\nfile a.txt: one\n```\n```script\n{script}```\n\
             ```people\n{people}```\n"
        );
        let scenario = parse(&text).expect("a scenario");
        play(&scenario, Depth::Memory, 0).map(drop).map_err(|error| format!("{error:#}"))
    }

    const READS: &str =
        "calls: read_file {\"path\": \"a.txt\"}\n\nexpect: result \"one\"\nsays: Read.\n";
    const FAILS: &str =
        "calls: read_file {\"path\": \"a.txt\"}\n\nexpect: result \"two\"\nsays: Read.\n";

    #[test]
    fn a_play_whose_script_is_refused_fails() {
        outcome("", READS, "says Read it.\n").expect("as expected");
        let failed = outcome("", FAILS, "says Read it.\n").expect_err("the script refuses");
        assert!(failed.contains("the script (line "), "{failed}");
        assert!(failed.contains("model.failed"), "the journal is shown: {failed}");
        outcome("<!-- the script is refused -->", FAILS, "says Read it.\n").expect("it is marked");
        let failed = outcome("<!-- the script is refused -->", READS, "says Read it.\n");
        assert!(
            failed.expect_err("a mark without a reason").contains("no expectation of it failed")
        );
    }

    #[test]
    fn a_play_in_which_an_act_never_happens_fails() {
        let people = "says Read it.\napproves\nsays Thanks.\n";
        let failed = outcome("", READS, people).expect_err("nobody asked for the yes");
        assert!(failed.contains("2 Decides"), "{failed}");
        outcome("<!-- acts are left over -->", READS, people).expect("it is marked");
        let failed = outcome("<!-- acts are left over -->", READS, "says Read it.\n");
        assert!(failed.expect_err("a mark without a reason").contains("and none is"));
    }
}
