//! What a program saves (U7): a task of thirty calls over an MCP server, done call by call, as many at
//! once as there can be, and by one program. Requests, what they send, wall time and questions. What the
//! model would think in between is nobody's here: it answers at once.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::figures::{Row, ms, table};
use super::house::{House, Ran};
use super::model::{Reply, Script};
use super::tracker::{STALE, Tracker};

/// Requests that the program may take: it is written, the answer is given.
const REQUESTS_MAX: f64 = 2.0;
/// Share of the tokens of the loop that the program may send, in percent.
const SHARE_MAX: f64 = 10.0;
/// Bytes of a request that count as a token.
const TOKEN_BYTES: f64 = 4.0;
/// Runs of each way.
const RUNS_MAX: u32 = 5;
/// Where the table is kept.
const KEPT: &str = "docs/generated/program.txt";

const TASK: &str = "Close every issue that is open and has seen no work for 60 days.";

const CODE: &str = "\
const { issues } = await mcp__tracker__list_issues({});
const stale = issues.filter(issue => issue.state === \"open\" && issue.days_without_work >= 60);
for (const { id } of stale) await mcp__tracker__close_issue({ id });
return { closed: stale.map(issue => issue.id) };";

const HEAD: &str = "\
What a program saves (U7)

A person asks for what takes thirty calls over an MCP server: list the forty issues, and close the
twenty-nine that are open and forgotten. The server's tools are declared: one reads, one changes what
is the person's own. Mode full. The model is scripted and answers at once,
so wall time is Weir's. A token is four bytes of a request; what a vendor's cache would save is not
taken off. Written by: UPDATE=1 cargo xtask bench --programs

one by one   a call in each reply
side by side as many calls in a reply as do not need each other's results
program      one call of run_program, which is loaded where tools of servers are
";

/// Ways to do the task.
const WAYS: [Way; 3] = [
    Way { name: "one by one", script: one_by_one },
    Way { name: "side by side", script: side_by_side },
    Way { name: "program", script: by_program },
];

struct Way {
    name: &'static str,
    script: fn() -> Script,
}

/// All ways, side by side.
pub(super) fn rows(house: &House, runs: u32) -> anyhow::Result<Vec<Row>> {
    let tracker = Tracker::start()?;
    house.with_settings(&tracker.settings(), || {
        let approved = house.weir(&["mcp-servers", "approve", "tracker", "--yes"]).output()?;
        let said = String::from_utf8_lossy(&approved.stderr);
        ensure!(approved.status.success(), "the server is not approved: {said}");
        let mut measured: Vec<Vec<Cost>> = vec![Vec::new(); WAYS.len()];
        for _ in 0..runs.min(RUNS_MAX) {
            for (way, costs) in WAYS.iter().zip(&mut measured) {
                let ran = house.run_task(&(way.script)(), TASK)?;
                costs.push(Cost::of(&ran, &tracker).context(way.name)?);
            }
        }
        Ok(table_rows(&measured))
    })
}

fn table_rows(measured: &[Vec<Cost>]) -> Vec<Row> {
    let mut rows = Vec::new();
    let each = |costs: &[Cost], of: fn(&Cost) -> f64| costs.iter().map(of).collect::<Vec<_>>();
    let whole = &measured[0];
    for (Way { name, .. }, costs) in WAYS.iter().zip(measured) {
        let asked = each(costs, |cost| cost.requests);
        let tokens = each(costs, |cost| cost.tokens);
        let pairs = costs.iter().zip(whole);
        let share: Vec<f64> = pairs.map(|(cost, of)| 100.0 * cost.tokens / of.tokens).collect();
        let titled = |what: &str| format!("{name}: {what}");
        let is_goal = *name == "program";
        rows.push(match is_goal {
            true => Row::at_most("U7", &titled("model calls"), &asked, "", REQUESTS_MAX),
            false => Row::of("U7", &titled("model calls"), &asked, ""),
        });
        rows.push(Row::of("U7", &titled("tokens sent"), &tokens, ""));
        rows.push(match is_goal {
            true => Row::at_most("U7", &titled("share of the tokens"), &share, "%", SHARE_MAX),
            false => Row::of("U7", &titled("share of the tokens"), &share, "%"),
        });
        rows.push(Row::of("U7", &titled("wall time"), &each(costs, |cost| cost.wall), "ms"));
        rows.push(Row::of("U7", &titled("questions"), &each(costs, |cost| cost.questions), ""));
    }
    rows
}

/// Writes the table where it is kept.
///
/// # Errors
/// The file cannot be written.
pub(super) fn keep(root: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let path = root.join(KEPT);
    std::fs::write(&path, format!("{HEAD}\n{}", table(rows)))
        .with_context(|| path.display().to_string())
}

#[derive(Debug, Clone)]
struct Cost {
    requests: f64,
    tokens: f64,
    wall: f64,
    questions: f64,
}

impl Cost {
    fn of(ran: &Ran, tracker: &Tracker) -> anyhow::Result<Cost> {
        let closed = tracker.take_changed();
        let failed =
            ran.facts.iter().find(|fact| fact["kind"] == "call.finished" && fact["ok"] == false);
        let failed = failed.map(ToString::to_string).unwrap_or_default();
        ensure!(closed == STALE, "{closed} of {STALE} issues were closed {failed}");
        let is_call = |fact: &&Value| {
            let tool = fact["tool"].as_str().unwrap_or_default();
            fact["kind"] == "call.finished"
                && tool.starts_with("mcp__tracker__")
                && fact["ok"] == true
        };
        let calls = ran.facts.iter().filter(is_call).count();
        ensure!(calls == CALLS, "{calls} of {CALLS} calls were made");
        let asked = ran.facts.iter().filter(|fact| fact["kind"] == "approval.requested").count();
        let bytes: usize = ran.exchanges.iter().map(|exchange| exchange.body.len()).sum();
        Ok(Cost {
            requests: ran.exchanges.len() as f64,
            tokens: (bytes as f64 / TOKEN_BYTES).round(),
            wall: ms(ran.wall),
            questions: asked as f64,
        })
    }
}

/// Calls that the task takes.
const CALLS: usize = 1 + STALE as usize;

type Wish = (&'static str, Value);

fn list() -> Wish {
    ("mcp__tracker__list_issues", json!({}))
}

fn closes() -> Vec<Wish> {
    (1..=STALE).map(|id| ("mcp__tracker__close_issue", json!({ "id": id }))).collect()
}

/// Replies with these calls, one reply after the other, then the end.
fn replies(turns: Vec<Vec<Wish>>) -> Script {
    Arc::new(move |number| match turns.get(number) {
        Some(calls) => Reply::Calls(calls.clone()),
        None => Reply::Text("They are closed.".into()),
    })
}

fn one_by_one() -> Script {
    let calls = std::iter::once(list()).chain(closes());
    replies(calls.map(|call| vec![call]).collect())
}

fn side_by_side() -> Script {
    replies(vec![vec![list()], closes()])
}

fn program() -> Wish {
    ("run_program", json!({ "code": CODE }))
}

fn by_program() -> Script {
    replies(vec![vec![program()]])
}

#[cfg(test)]
mod tests {
    #[test]
    fn u07_the_table_that_is_kept_is_of_this_bench() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let kept = std::fs::read_to_string(root.join(super::KEPT)).expect(super::KEPT);
        assert!(kept.starts_with(super::HEAD), "{} was written by another bench", super::KEPT);
        let judged = |word: &str| kept.lines().filter(|line| line.ends_with(word)).count();
        assert_eq!((judged(" met"), judged(" MISSED")), (2, 0), "{kept}");
    }
}
