//! Holds what a session said and did against its journal, its folder and the witness.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::house::House;
use super::plan::WorkPlace;
use super::work::{Kind, Mark, Place, Planned, Work};
use super::{Fault, Finding};

/// Statuses in which a run of the harness may rest.
const STATUSES: &[&str] = &["completed", "needs_input"];
/// How the engine begins the names of files that it is about to rename.
const TEMPORARY: &str = ".weir-tmp-";

/// Every fact that was printed is in the journal as it was printed, the journal is whole, and its
/// run rests.
pub(super) fn facts(journal: &[Value], acknowledged: &[Value]) -> Vec<Finding> {
    let mut findings = whole(journal, acknowledged);
    findings.extend(run_status(journal));
    findings
}

/// Every fact that was printed is in the journal as it was printed, and the journal is whole.
pub(super) fn whole(journal: &[Value], acknowledged: &[Value]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let by_seq: BTreeMap<u64, &Value> =
        journal.iter().filter_map(|fact| Some((fact["seq"].as_u64()?, fact))).collect();
    for printed in acknowledged {
        let Some(seq) = printed["seq"].as_u64() else { continue };
        let kept = by_seq.get(&seq).copied();
        if !kept.is_some_and(|kept| holds(kept, printed)) {
            let kind = kept.map_or("nothing", |fact| fact["kind"].as_str().unwrap_or_default());
            findings.push(Finding::new(
                Fault::FactLost,
                format!("fact {seq} was printed as {}; the journal has {kind}", brief(printed)),
            ));
        }
    }
    let gap = (1_u64..).zip(journal).find(|(number, fact)| fact["seq"] != *number);
    if let Some((number, _)) = gap {
        let what = format!("the journal has no fact {number} at its place");
        findings.push(Finding::new(Fault::BrokenJournal, what));
    }
    findings.extend(replies(journal));
    findings
}

/// Every run has its end, whichever.
pub(super) fn runs_ended(journal: &[Value]) -> Option<Finding> {
    let count = |kind: &str| journal.iter().filter(|fact| fact["kind"] == kind).count();
    let (begun, ended) = (count("run.started"), count("run.finished"));
    (begun != ended)
        .then(|| Finding::new(Fault::Unfinished, format!("{begun} runs began and {ended} ended")))
}

/// A call that a client was told the end of, with its tag and whether it succeeded.
pub(super) type ToldCall<'a> = (&'a str, bool);

/// What a client was told of a call, the journals say too.
pub(super) fn told_calls(journal: &[Value], told: &[ToldCall<'_>]) -> Vec<Finding> {
    let is_kept = |(tag, ok): &ToldCall<'_>| {
        let said = proposed(journal, tag).first().map_or(Said::NotStarted, |id| said(journal, id));
        match ok {
            true => said == Said::Succeeded,
            false => matches!(said, Said::Failed | Said::Unknown | Said::NotStarted),
        }
    };
    told.iter()
        .filter(|told| !is_kept(told))
        .map(|(tag, ok)| {
            let what =
                format!("a client was told that {tag} is over (ok: {ok}); the journal differs");
            Finding::new(Fault::FactLost, what)
        })
        .collect()
}

/// Every call that an editor was told the end of has one in the journal.
pub(super) fn ended_calls(journal: &[Value], told: &[String]) -> Vec<Finding> {
    let has_ended = |call: &str| {
        let kinds = ["call.finished", "call.unknown", "call.reconciled"].map(Some);
        journal.iter().any(|fact| fact["call"] == call && kinds.contains(&fact["kind"].as_str()))
    };
    let told: BTreeSet<&str> = told.iter().map(String::as_str).collect();
    told.into_iter()
        .filter(|call| !has_ended(call))
        .map(|call| {
            let what = format!("an editor was told the end of {call}, and the journal has none");
            Finding::new(Fault::FactLost, what)
        })
        .collect()
}

/// Every field that was printed is kept; the journal may hold more.
fn holds(kept: &Value, printed: &Value) -> bool {
    match (kept.as_object(), printed.as_object()) {
        (Some(kept), Some(printed)) => {
            printed.iter().all(|(key, value)| kept.get(key) == Some(value))
        }
        _ => kept == printed,
    }
}

fn brief(fact: &Value) -> String {
    let text = fact.to_string();
    text.chars().take(200).collect()
}

fn run_status(journal: &[Value]) -> Option<Finding> {
    let finished: Vec<&Value> =
        journal.iter().filter(|fact| fact["kind"] == "run.finished").collect();
    let what = match finished.as_slice() {
        [one] if STATUSES.contains(&one["status"].as_str().unwrap_or_default()) => return None,
        [one] => format!("the run ended as {}: {}", one["status"], one["error"]),
        [] => "there is no run.finished".into(),
        more => format!("there are {} run.finished", more.len()),
    };
    Some(Finding::new(Fault::Unfinished, what))
}

/// A reply that was received is never bought again.
fn replies(journal: &[Value]) -> Vec<Finding> {
    let mut replied = HashSet::new();
    let mut findings = Vec::new();
    for fact in journal {
        let turn = fact["turn"].as_str().unwrap_or_default();
        let again = match fact["kind"].as_str() {
            Some("model.replied") => !replied.insert(turn),
            Some("model.requested") => replied.contains(turn),
            _ => false,
        };
        if again {
            let what = format!("the reply of {turn} was asked for again: {}", brief(fact));
            findings.push(Finding::new(Fault::EffectDoubled, what));
        }
    }
    findings
}

/// What the journal says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    NotStarted,
    /// Started, and then nothing.
    Nothing,
    Succeeded,
    Failed,
    Unknown,
}

/// Every effect is there as the journal says, at most once, and never without a word.
pub(super) fn effects(
    house: &House,
    work: &Work,
    journal: &[Value],
) -> anyhow::Result<Vec<Finding>> {
    let (mut workspace, mut left) = (String::new(), Vec::new());
    let folder = house.work_folder(journal);
    gather(&folder, &folder, (&mut workspace, &mut left))?;
    let witness = String::from_utf8_lossy(&fs::read(&house.witness)?).into_owned();
    let mut findings = torn(work, &workspace, &witness);
    findings.extend(project_changes(house, work)?);
    for path in left {
        let what = format!("{path} was left in the workspace by a process that was killed");
        findings.push(Finding::new(Fault::Unfinished, what));
    }
    for call in &work.calls {
        let ids = proposed(journal, &call.tag);
        if ids.len() > 1 {
            let what = format!("{} was proposed {} times", call.tag, ids.len());
            findings.push(Finding::new(Fault::EffectDoubled, what));
        }
        let said = match ids.first() {
            Some(id) if tells_bad_exit(journal, id) => Said::Failed,
            Some(id) => said(journal, id),
            None => Said::NotStarted,
        };
        findings.extend(ids.iter().filter_map(|id| answered_once(journal, id)));
        findings.extend(judge(call, said, (&workspace, &witness)));
    }
    Ok(findings)
}

/// What a session in a copy changed in the project, of which nothing was taken over.
fn project_changes(house: &House, work: &Work) -> anyhow::Result<Vec<Finding>> {
    if house.place == WorkPlace::Project {
        return Ok(Vec::new());
    }
    let texts = contents(house)?;
    let is_as_it_was = |(path, text): &&(String, String)| {
        fs::read_to_string(house.workspace.join(path)).is_ok_and(|now| now == *text)
    };
    let same = work.files.iter().filter(is_as_it_was).count();
    let there = texts.lines().filter(|line| line.starts_with("path ")).count();
    if same == work.files.len() && there == same {
        return Ok(Vec::new());
    }
    let files = work.files.len();
    let what = format!("the project had {files} files, has {there}, and {same} are as they were");
    Ok(vec![Finding::new(Fault::UnknownUnsaid, what)])
}

fn proposed<'a>(journal: &'a [Value], tag: &str) -> Vec<&'a str> {
    let proposals = journal.iter().filter(|fact| fact["kind"] == "call.proposed");
    proposals
        .filter(|fact| fact["input"].to_string().contains(tag))
        .filter_map(|fact| fact["call"].as_str())
        .collect()
}

fn said(journal: &[Value], call: &str) -> Said {
    let mut said = Said::NotStarted;
    for fact in journal.iter().filter(|fact| fact["call"] == call) {
        said = match (fact["kind"].as_str().unwrap_or_default(), said) {
            ("call.started", _) => Said::Nothing,
            ("call.unknown", _) => Said::Unknown,
            // A denied call is finished too.
            ("call.finished", Said::Nothing) if fact["ok"] == true => Said::Succeeded,
            ("call.finished", Said::Nothing) => Said::Failed,
            (_, said) => said,
        };
    }
    said
}

/// Whether the result of a command says that it did not come to its own end: those that are planned exit with
/// 0, unless one of their processes, or what confines them, was killed.
fn tells_bad_exit(journal: &[Value], call: &str) -> bool {
    let of_call = |fact: &&Value| fact["call"] == call && fact["kind"] == "call.finished";
    let summaries = journal.iter().filter(of_call).filter_map(|fact| fact["summary"].as_str());
    let exits = summaries.filter_map(|summary| summary.strip_prefix("Exit code "));
    exits.filter_map(|rest| rest.split(' ').next()).any(|code| code != "0")
}

/// A call is started once, or once more for each time that it was found not to have happened; and
/// it is answered exactly once.
fn answered_once(journal: &[Value], call: &str) -> Option<Finding> {
    let count = |kind: &str| {
        journal.iter().filter(|fact| fact["call"] == call && fact["kind"] == kind).count()
    };
    let (started, reconciled) = (count("call.started"), count("call.reconciled"));
    if started > 1 + reconciled {
        let what = format!("{call} was started {started} times and reconciled {reconciled} times");
        return Some(Finding::new(Fault::EffectDoubled, what));
    }
    let answers = count("call.finished") + count("call.unknown");
    (answers != 1).then(|| {
        let what = format!("{call} has {answers} answers, {started} starts");
        Finding::new(Fault::UnknownUnsaid, what)
    })
}

fn judge(call: &Planned, said: Said, texts: (&str, &str)) -> Vec<Finding> {
    let mut findings = Vec::new();
    if said == Said::Nothing {
        let what = format!("{} was started, and the journal says no more of it", call.tag);
        findings.push(Finding::new(Fault::UnknownUnsaid, what));
    }
    for mark in &call.marks {
        let text = match mark.place {
            Place::Workspace => texts.0,
            Place::Witness => texts.1,
        };
        let count = text.lines().filter(|line| *line == mark.text).count();
        if let Some(fault) = wrong(call, mark, said, count) {
            let what = format!(
                "{}: {:?} is there {count} times; the journal: {said:?}",
                call.tag, mark.text
            );
            findings.push(Finding::new(fault, what));
        }
    }
    findings
}

fn wrong(call: &Planned, mark: &Mark, said: Said, count: usize) -> Option<Fault> {
    if count > 1 {
        return Some(Fault::EffectDoubled);
    }
    let happened = (count == 1) != mark.removed;
    match said {
        Said::Succeeded => (mark.certain && !happened).then_some(Fault::FactLost),
        Said::NotStarted => happened.then_some(Fault::UnknownUnsaid),
        // A command that failed may have run in part, and its result says so.
        Said::Failed => (happened && call.kind == Kind::File).then_some(Fault::UnknownUnsaid),
        // What was said of it covers both.
        Said::Unknown | Said::Nothing => None,
    }
}

/// Whole lines only: what a kill cut must not stay cut.
fn torn(work: &Work, workspace: &str, witness: &str) -> Vec<Finding> {
    let marks = work.calls.iter().flat_map(|call| &call.marks).map(|mark| mark.text.as_str());
    let before = work.files.iter().flat_map(|(_, text)| text.lines());
    let known: BTreeSet<&str> =
        marks.chain(before).chain(["a line that makes the file longer"]).collect();
    let lines = workspace.lines().chain(witness.lines());
    lines
        .filter(|line| !known.contains(line) && !line.starts_with("path "))
        .map(|line| {
            Finding::new(Fault::FactLost, format!("nobody wrote this line as it is: {line:?}"))
        })
        .collect()
}

/// All texts of the project, with a line for every path.
pub(super) fn contents(house: &House) -> anyhow::Result<String> {
    let (mut texts, mut left) = (String::new(), Vec::new());
    gather(&house.workspace, &house.workspace, (&mut texts, &mut left))?;
    Ok(texts)
}

/// All texts below `folder` with a line for every path, and the temporary files of the engine; what
/// the agent and git keep for themselves is left out.
fn gather(
    root: &Path,
    folder: &Path,
    (out, left): (&mut String, &mut Vec<String>),
) -> anyhow::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        if name == ".weir" || name == ".git" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            gather(root, &path, (&mut *out, &mut *left))?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path).display();
        if name.to_string_lossy().starts_with(TEMPORARY) {
            left.push(relative.to_string());
            continue;
        }
        out.push_str(&format!("path {relative}\n"));
        out.push_str(&String::from_utf8_lossy(&fs::read(&path)?));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(kind: Kind, mark: Mark) -> Planned {
        let (tool, input) = ("a_tool", json!({"of": "k1n1z"}));
        Planned { tag: "k1n1z".into(), kind, marks: vec![mark], tool, input, step: 1 }
    }

    fn mark(removed: bool) -> Mark {
        Mark { text: "m".into(), place: Place::Workspace, removed, certain: true }
    }

    fn faults(kind: Kind, removed: bool, said: Said, text: &str) -> Vec<Fault> {
        let findings = judge(&call(kind, mark(removed)), said, (text, ""));
        findings.into_iter().map(|finding| finding.fault).collect()
    }

    #[test]
    fn d7_effects_are_held_against_what_was_said() {
        use Fault::{EffectDoubled, FactLost, UnknownUnsaid};
        let cases = [
            (Kind::File, false, Said::Succeeded, "m\n", vec![]),
            (Kind::File, false, Said::Succeeded, "", vec![FactLost]),
            (Kind::File, true, Said::Succeeded, "", vec![]),
            (Kind::File, true, Said::Succeeded, "m\n", vec![FactLost]),
            (Kind::File, false, Said::NotStarted, "m\n", vec![UnknownUnsaid]),
            (Kind::File, false, Said::Failed, "m\n", vec![UnknownUnsaid]),
            (Kind::Command, false, Said::Failed, "m\n", vec![]),
            (Kind::Command, false, Said::Unknown, "m\n", vec![]),
            (Kind::Command, false, Said::Unknown, "m\nm\n", vec![EffectDoubled]),
            (Kind::Command, false, Said::Nothing, "", vec![UnknownUnsaid]),
        ];
        for (kind, removed, said, text, expected) in cases {
            assert_eq!(faults(kind, removed, said, text), expected, "{said:?} {text:?}");
        }
    }

    #[test]
    fn d7_what_a_client_was_told_is_held_against_the_journal() {
        let of = |kind: &str, ok: bool| json!({"kind": kind, "call": "s/c1", "ok": ok});
        let proposed = json!({"kind": "call.proposed", "call": "s/c1", "input": {"path": "k1n1z"}});
        let cases = [
            (vec![of("call.started", true), of("call.finished", true)], true, 0),
            (vec![of("call.started", true), of("call.finished", true)], false, 1),
            (vec![of("call.started", true), of("call.unknown", true)], true, 1),
            (vec![of("call.started", true), of("call.unknown", true)], false, 0),
            (vec![of("call.finished", false)], false, 0),
            (vec![], true, 1),
        ];
        for (facts, ok, faults) in cases {
            let journal = [vec![proposed.clone()], facts].concat();
            assert_eq!(told_calls(&journal, &[("k1n1z", ok)]).len(), faults, "{journal:?} {ok}");
        }
        let run = |kind: &str| json!({"kind": kind, "run": "r1"});
        assert!(runs_ended(&[run("run.started")]).is_some());
        assert!(runs_ended(&[run("run.started"), run("run.finished")]).is_none());
    }

    #[test]
    fn d7_a_printed_fact_that_is_not_kept_is_lost() {
        let kept = [
            json!({"seq": 1, "kind": "run.started", "run": "r1", "hash": "x"}),
            json!({"seq": 2, "kind": "run.finished", "status": "completed"}),
        ];
        let same = [json!({"seq": 1, "kind": "run.started", "run": "r1"})];
        assert!(facts(&kept, &same).is_empty());
        for lost in [
            json!({"seq": 1, "kind": "run.started", "run": "r2"}),
            json!({"seq": 3, "kind": "run.started", "run": "r1"}),
        ] {
            let found = facts(&kept, &[lost]);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].fault, Fault::FactLost);
        }
        assert_eq!(facts(&kept[1..], &[])[0].fault, Fault::BrokenJournal);
    }

    #[test]
    fn d7_a_command_that_was_killed_before_its_first_word_is_told_by_its_exit_code() {
        let finished = |summary: &str| {
            [
                serde_json::json!({ "kind": "call.finished", "call": "c1", "ok": true, "summary": summary }),
            ]
        };
        for (summary, bad) in [
            ("Exit code 1 after 45 ms", true),
            ("Exit code 137 after 3 s", true),
            ("Exit code 0 after 45 ms", false),
            ("Applied the patch to 2 files", false),
        ] {
            assert_eq!(tells_bad_exit(&finished(summary), "c1"), bad, "{summary}");
        }
        assert!(!tells_bad_exit(&finished("Exit code 1 after 45 ms"), "c2"));
    }
}
