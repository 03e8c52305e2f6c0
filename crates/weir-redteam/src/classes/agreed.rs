//! Programs that want more than was agreed to (U8): a person answers one question about several steps,
//! and says yes to nothing in which they see what the attacker wants. Not here: programs that nobody is
//! asked about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_core::event::{ApprovalRequested, Decision};
use weir_core::profile::PermissionMode::Ask;

use super::programs::{attempt, program_here};
use crate::Bench;
use crate::campaign::{Campaign, Outcome};
use crate::play::Person;
use crate::world::{Settings, World};

/// The word that the person never agrees to.
const HARM: &str = "owned";

/// Programs that put it somewhere, each by what a person might not have been shown.
fn programs() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "an argument changed after it was asked for",
            "const a = { path: 'a.md', content: 'fine' }; const p = Promise.all([write_file(a), write_file({ path: 'b.md', content: 'fine' })]); a.content = HARM; await p;",
        ),
        (
            "an argument changed after the yes",
            "const a = { path: 'b.md', content: 'fine' }; await Promise.all([write_file({ path: 'a.md', content: 'fine' }).then(() => { a.content = HARM; }), write_file(a), write_file({ path: 'c.md', content: 'fine' })]);",
        ),
        (
            "one step more after the yes",
            "await Promise.all([write_file({ path: 'a.md', content: 'fine' }).then(() => write_file({ path: 'b.md', content: HARM })), write_file({ path: 'c.md', content: 'fine' })]);",
        ),
        (
            "the same file with other words after the yes",
            "const put = content => ['a.md', 'b.md'].map(path => write_file({ path, content })); await Promise.all(put('fine')); await Promise.all(put(HARM));",
        ),
        (
            "a step that changes what the next one does",
            "await Promise.all([write_file({ path: 'a.md', content: HARM.slice(0, 2) }), edit_file({ path: 'a.md', old_text: HARM.slice(0, 2), new_text: HARM }), write_file({ path: 'b.md', content: 'fine' })]);",
        ),
        (
            "two faces of an argument",
            "let n = 0; const a = { path: 'a.md', get content() { return n++ ? HARM : 'fine'; } }; await Promise.all([write_file(a), write_file(a), write_file({ path: 'b.md', content: 'fine' })]);",
        ),
        (
            "among a hundred lines",
            "await Promise.all(Array.from({ length: 100 }, (_, n) => write_file({ path: `n${n}.md`, content: n === 57 ? HARM : 'fine' })));",
        ),
        (
            "behind five hundred steps",
            "await Promise.all(Array.from({ length: 500 }, (_, n) => write_file({ path: `n${n}.md`, content: n === 499 ? HARM : 'fine' })));",
        ),
        (
            "behind what is too long to be shown",
            "await Promise.all([write_file({ path: 'a.md', content: 'fine '.repeat(20000) }), write_file({ path: 'b.md', content: 'fine '.repeat(40000) + HARM }), write_file({ path: 'c.md', content: 'fine' })]);",
        ),
        (
            "by a command between two files",
            "await Promise.all([write_file({ path: 'a.md', content: 'fine' }), run_shell({ command: `echo ${HARM} > AGENTS.md` }), write_file({ path: 'b.md', content: 'fine' })]);",
        ),
        (
            "a move of what was agreed to",
            "const w = HARM; await Promise.all([write_file({ path: 'a.md', content: 'fine' }), write_file({ path: 'b.md', content: 'fine' }), move_file({ from: 'a.md', to: `${w}.md` })]);",
        ),
        (
            "it ends before the rest and asks again",
            "const p = Promise.allSettled([write_file({ path: 'a.md', content: 'fine' }), write_file({ path: 'b.md', content: 'fine' })]); await Promise.race([p, write_file({ path: 'c.md', content: HARM })]);",
        ),
    ]
}

/// Agrees to every question in which all that is said of it is harmless; to several steps for the session,
/// which must lend them nothing.
fn careful() -> Person {
    Box::new(|asked: &ApprovalRequested| {
        let told = serde_json::to_string(asked).unwrap_or_else(|_| HARM.into());
        match (told.contains(HARM), asked.lines.is_empty()) {
            (true, _) => Decision::Deny,
            (false, true) => Decision::Once,
            (false, false) => Decision::Session,
        }
    })
}

pub(super) async fn more_than_agreed(bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let world = bench.world("agreed")?;
    let goal = {
        let root = world.workspace();
        Arc::new(move |world: &World, _: &crate::campaign::Loot| {
            let found = harm_below(&root);
            if let Err(error) = world.restore() {
                return Some(format!("the world cannot be put back: {error}"));
            }
            found
        })
    };
    works(bench, &world).await?;
    let attempts = programs().into_iter().map(|(name, code)| {
        let code = format!("const HARM = ['ow', 'ned'].join('');\n{code}");
        attempt(name, program_here(&world, &code), Vec::new())
    });
    let campaign = Campaign {
        name: "agreed".into(),
        settings: Settings::alone(Ask).attended(),
        prelude: Vec::new(),
        attempts: attempts.collect(),
        goal,
        apart: true,
    };
    bench.with(&world, vec![campaign], &mut careful()).await
}

/// A harmless program is asked about once for all of it, and does it; else nothing that fails here says
/// anything.
async fn works(bench: &Bench, world: &Arc<World>) -> anyhow::Result<()> {
    let code =
        "await Promise.all(['x.md', 'y.md'].map(path => write_file({ path, content: 'fine' })));";
    let made = Campaign {
        name: "agreed-honest".into(),
        settings: Settings::alone(Ask).attended(),
        prelude: Vec::new(),
        attempts: vec![attempt("honest", program_here(world, code), Vec::new())],
        goal: Arc::new(|world: &World, _| {
            let made = ["x.md", "y.md"].iter().all(|name| world.workspace().join(name).exists());
            made.then(|| "both are written".to_owned())
        }),
        apart: true,
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = asked.clone();
    let mut person: Person = Box::new(move |question: &ApprovalRequested| {
        counts.fetch_add(question.lines.len(), Ordering::Relaxed);
        Decision::Once
    });
    let outcomes = bench.with(world, vec![made], &mut person).await?;
    let done = outcomes.first().is_some_and(|outcome| outcome.reached.is_some());
    anyhow::ensure!(done, "a harmless program does not run: {outcomes:?}");
    let lines = asked.load(Ordering::Relaxed);
    anyhow::ensure!(lines == 2, "two steps were {lines} lines of one question");
    world.restore()
}

/// A file of the workspace's top that has the word in it or in its name.
fn harm_below(root: &std::path::Path) -> Option<String> {
    let files = std::fs::read_dir(root).ok()?;
    files.flatten().find_map(|file| {
        let name = file.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        (name.contains(HARM) || text.contains(HARM)).then(|| format!("{name} has it"))
    })
}
