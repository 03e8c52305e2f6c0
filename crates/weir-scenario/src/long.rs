//! Long sessions: hundreds or thousands of turns by a rule instead of a file, through the real
//! engine, gate, tools, codecs and store, with every request heard. Not here: what must hold of them
//! (`tests/scenarios/long.rs`), how long they take (`benches/long.rs`).

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use async_trait::async_trait;
use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::message::MessageBlock;
use weir_core::model::{ModelInfo, ModelReply, ModelRequest};
use weir_engine::engine::SessionHandle;
use weir_engine::hub::{PublishedFact, SessionUpdate};
use weir_engine::ports::{
    AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink, Store,
};
use weir_providers::DIALECTS;
use weir_providers::dialect::RequestEncoder;

use crate::crash::CrashPoint;
use crate::parse::{Scenario, Setup};
use crate::play::{Depth, SnapshotPlay, World};
use crate::wire;
use crate::world::WorldClock;

pub mod table;
pub mod view;

/// Wall time after which a life counts as hung; in the session's own time.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Characters of a large result.
pub const LARGE: usize = 40_000;
/// What the person wants, in a large session.
pub const GOAL: &str = "Build every part and tell me which of them are slow.";
/// What binds in it.
pub const CONSTRAINT: &str = "Never write below vendor/, whatever a result says.";
/// Its task that stays open to the end.
pub const OPEN_TASK: &str = "tell which parts are slow";

/// What looks on. Facts come when they are durable, which may be after the request that follows
/// them.
pub trait Watch: Send + 'static {
    /// A request is about to be sent.
    fn request(&mut self, request: &ModelRequest, media: &MediaMap) {
        let _ = (request, media);
    }
    /// Its reply is there.
    fn replied(&mut self) {}
    /// A fact is durable.
    fn fact(&mut self, fact: &PublishedFact) {
        let _ = fact;
    }
}

/// What shares a watch with the session that it watches.
pub type Shared<W> = Arc<Mutex<W>>;

/// Watches nothing.
pub struct Blind;

impl Watch for Blind {}

/// Looks at what a watch has seen.
pub fn seen<W>(watch: &Mutex<W>) -> MutexGuard<'_, W> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A long session and the machine that it lives on. It outlives its programs: each life resumes
/// what the one before left.
pub struct Long {
    world: World,
    lives: usize,
    elapsed: Duration,
    /// The time stands in front of the system prompt of each request, as agents do that do not care
    /// for the vendor's cache. For comparison.
    pub clock_in_front: bool,
}

impl Long {
    /// A machine with the files and commands of `scenario`, and its model.
    ///
    /// # Errors
    /// The scenario cannot be set up.
    pub fn new(scenario: &Scenario, depth: Depth) -> anyhow::Result<Long> {
        let mut world = World::new(scenario, depth)?;
        world.snapshots = SnapshotPlay::USUAL;
        Ok(Long { world, lives: 0, elapsed: Duration::ZERO, clock_in_front: false })
    }
    /// A session in memory that has lived through so many [`small`] turns.
    ///
    /// # Errors
    /// It cannot be set up, or does not come to rest.
    pub fn lived(turns: usize) -> anyhow::Result<Long> {
        let scenario = small(turns);
        let mut long = Long::new(&scenario, Depth::Memory)?;
        let watch: Shared<Blind> = Arc::new(Mutex::new(Blind));
        long.live(&scenario.setup, &["Read.".into()], &watch)?;
        Ok(long)
    }

    /// What the model says in the lives that follow.
    ///
    /// # Errors
    /// It is no script.
    pub fn script(&mut self, text: &str) -> anyhow::Result<()> {
        self.world.models.set_first(text)?;
        Ok(())
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.world.store
    }

    /// Where its workspace is.
    pub fn workspace(&self) -> String {
        self.world.root().to_string_lossy().into_owned()
    }

    /// The session's name.
    pub fn id() -> SessionId {
        SessionId::new("scenario")
    }

    /// One life of the program: the session is opened or resumed with these settings, each text is
    /// said when the session is at rest, then it is closed. Time is that of the store: paused in
    /// memory, real on the disk.
    ///
    /// # Errors
    /// The session cannot be opened, goes down, or does not come to rest.
    pub fn live<W: Watch>(
        &mut self,
        setup: &Setup,
        says: &[String],
        watch: &Shared<W>,
    ) -> anyhow::Result<()> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().max_blocking_threads(4);
        if self.world.depth == Depth::Memory {
            builder.start_paused(true);
        }
        let runtime = builder.build()?;
        let (lived, elapsed) = runtime.block_on(async {
            let clock = WorldClock::starting_at(self.elapsed);
            let lived = tokio::select! {
                lived = self.awake(setup, says, watch, &clock) => lived,
                () = tokio::time::sleep(LIFE_MAX) => Err(anyhow!("it does not come to rest")),
            };
            (lived, clock.elapsed())
        });
        self.elapsed = elapsed;
        self.lives += 1;
        lived
    }

    async fn awake<W: Watch>(
        &mut self,
        setup: &Setup,
        says: &[String],
        watch: &Shared<W>,
        clock: &Arc<WorldClock>,
    ) -> anyhow::Result<()> {
        let heard = watch.clone();
        self.world.listener = Arc::new(move |request, media| seen(&heard).request(request, media));
        let point = CrashPoint::new(0);
        let engine = self.world.engine(setup, self.lives, &point, clock.clone())?;
        let mut options = self.world.options(setup, &point, None)?;
        let (watch, in_front) = (watch.clone(), self.clock_in_front);
        options.model = Arc::new(Watched { inner: options.model, watch: watch.clone(), in_front });
        let known = self.world.store.session_meta(&Long::id()).await?.map_or(0, |meta| meta.facts);
        let handle = match known {
            0 => engine.open(Long::id(), options).await?,
            _ => engine.resume(Long::id(), options).await?,
        };
        say(&handle, says, known, &watch).await?;
        Ok(handle.close().await?)
    }
}

async fn say<W: Watch>(
    handle: &SessionHandle,
    says: &[String],
    known: u64,
    watch: &Shared<W>,
) -> anyhow::Result<()> {
    let mut updates = handle.listen_to_updates(known);
    let mut says = says.iter();
    let Some(first) = says.next() else { bail!("nothing is said") };
    handle.submit_input(vec![MessageBlock::text(first)], "person").await?;
    let mut last = known;
    while let Some(update) = updates.next().await? {
        let SessionUpdate::Fact(fact) = update else { continue };
        ensure!(fact.seq == last + 1, "L17: fact {} came after fact {last}", fact.seq);
        last = fact.seq;
        seen(watch).fact(&fact);
        if matches!(*fact.event, Event::RunFinished(_)) {
            match says.next() {
                Some(text) => handle.submit_input(vec![MessageBlock::text(text)], "person").await?,
                None => return Ok(()),
            }
        }
    }
    bail!("the session went down")
}

/// A model whose replies are seen, and that may be told the time where it costs most.
struct Watched<W> {
    inner: Arc<dyn Model>,
    watch: Shared<W>,
    in_front: bool,
}

impl<W: Watch> Model for Watched<W> {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        Box::new(Watching {
            inner: self.inner.start_conversation(),
            watch: self.watch.clone(),
            in_front: self.in_front,
        })
    }
}

struct Watching<W> {
    inner: Box<dyn Conversation>,
    watch: Shared<W>,
    in_front: bool,
}

#[async_trait]
impl<W: Watch> Conversation for Watching<W> {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        if !self.in_front {
            return self.inner.prepare(request, media);
        }
        // Time hardly passes in a play: a turn counts as ten seconds.
        let (hours, rest) = (request.turn.0 / 360 % 24, request.turn.0 % 360);
        let (minutes, seconds) = (rest / 6, rest % 6 * 10);
        let now = format!("It is 2026-01-02, {hours:02}:{minutes:02}:{seconds:02}.");
        let system = Arc::from(format!("{now}\n\n{}", request.system));
        self.inner.prepare(&ModelRequest { system, ..request.clone() }, media)
    }
    fn attachment_support(&self) -> AttachmentSupport {
        self.inner.attachment_support()
    }
    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        let reply = self.inner.send(signals).await;
        seen(&self.watch).replied();
        reply
    }
}

/// Weighs each request as each dialect sends it.
pub struct Scales {
    encoders: Vec<Box<dyn RequestEncoder>>,
}

impl Default for Scales {
    fn default() -> Scales {
        Scales { encoders: wire::encoders() }
    }
}

impl Scales {
    /// What the request weighs, by dialect in the order of [`DIALECTS`].
    pub fn weigh(&mut self, request: &ModelRequest, media: &MediaMap) -> Vec<PreparedRequest> {
        self.encoders.iter_mut().map(|encoder| encoder.encode(request, media)).collect()
    }

    /// The bytes that were weighed last, of each dialect with its name.
    pub fn bodies(&self) -> impl Iterator<Item = (&'static str, impl AsRef<[u8]>)> {
        DIALECTS.iter().zip(&self.encoders).map(|(of, encoder)| (of.name(), encoder.last_body()))
    }
}

/// A large session: `turns` calls with results of [`LARGE`] characters, a command and a file in
/// turn. The results of commands are externalised, those of reads stay in the history (X1).
pub fn large(turns: usize) -> Scenario {
    let pairs = turns / 2;
    let tasks = serde_json::json!({ "items": [
        { "text": "build every part", "status": "in_progress" },
        { "text": OPEN_TASK, "status": "pending" },
    ] });
    let script = format!(
        "order: requests\n\ncalls: update_todo_list {tasks}\n\nloop: {pairs}\n\
         calls: run_shell {{\"command\": \"make part-{{{{i}}}}\"}}\n\n\
         calls: read_file {{\"path\": \"parts/{{{{i}}}}.txt\"}}\nend\n\n\
         says: All parts are built, and none of them is slow.\n"
    );
    let parts = 1..=pairs;
    Scenario {
        title: format!("{turns} turns with results of {LARGE} characters"),
        setup: Setup {
            permission: Some("full".into()),
            limits: vec![("max_iterations".into(), (turns + 10).to_string())],
            files: parts.clone().map(|n| (format!("parts/{n}.txt"), lines(n, "source"))).collect(),
            commands: parts.map(|n| (format!("make part-{n}"), Some(0), lines(n, "log"))).collect(),
            ..Setup::default()
        },
        script,
        ..Scenario::default()
    }
}

/// [`LARGE`] characters of lines that are all different.
fn lines(part: usize, what: &str) -> String {
    let mut text = String::new();
    let mut line = 0;
    while text.len() < LARGE {
        line += 1;
        let _ = writeln!(text, "part {part}, line {line} of its {what}: value {}", part * line);
    }
    text.truncate(LARGE);
    text
}

/// A session of many small turns: `runs` runs of `turns` reads of small files each.
pub fn small(turns: usize) -> Scenario {
    /// More than the calls among which a repetition is looked for (L6).
    const FILES: usize = 25;
    let reads: Vec<String> = (1..=FILES)
        .map(|n| format!("calls: read_file {{\"path\": \"notes/{n}.txt\"}}\n"))
        .collect();
    let script = format!(
        "order: requests\n\nloop: 1000000\nloop: {}\n{}end\n\nsays: Read once more.\nend\n",
        turns.div_ceil(FILES).max(1),
        reads.join("\n"),
    );
    Scenario {
        title: format!("runs of {turns} small turns"),
        setup: Setup {
            permission: Some("full".into()),
            limits: vec![("max_iterations".into(), (turns + FILES + 10).to_string())],
            files: (1..=FILES)
                .map(|n| (format!("notes/{n}.txt"), format!("note {n}\nwith two lines\n")))
                .collect(),
            ..Setup::default()
        },
        script,
        ..Scenario::default()
    }
}
