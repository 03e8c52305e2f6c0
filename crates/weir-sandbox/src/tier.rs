//! Which confinement commands get, found by trying it, and an honest report of it (Z4).
//!
//! A tier is tried once, when it is first needed, and the answer holds for the life of the program.
//! Not here: what is enforced ([`namespaces`], [`bubblewrap`], [`landlock`], [`seccomp`]), the words for
//! people ([`report`]), and whether a command may run.

pub(crate) mod bubblewrap;
pub(crate) mod kernel;
pub(crate) mod landlock;
mod listeners;
pub(crate) mod mounts;
pub(crate) mod namespaces;
mod report;
pub(crate) mod seccomp;

use std::fs::File;
use std::io::{IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use weir_core::tool::Tier;
use weir_engine::ports::CommandConfinement;

use crate::inside_orders::{INSIDE, InsideMessage, InsideOrders, SandboxStage};
use crate::places::ConfinedPlaces;
use landlock::{ExtraAllowances, LandlockConfinement};
use mounts::{Mount, MountVeil, OutsideFiles};
use namespaces::{SandboxLayout, WORKS};
pub use report::{TierCheck, TierReport, probe_tiers, tier_weakness};
use seccomp::{MediatedOpenings, SocketPolicy};

/// How a complaint begins where nothing was started.
pub(crate) const NOT_BUILT: &str = "the sandbox could not be built";

/// So often a sandbox is built anew where what it mounts went away meanwhile.
pub(crate) const BUILDS_MAX: usize = 3;

/// Which tier is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TierWish {
    /// The strongest that works here.
    #[default]
    Auto,
    /// This one. Where it does not work, no command is started.
    Exactly(Tier),
}

/// What trying a tier gave: a detail, or why it does not work.
pub(crate) type TrialResult<T> = Result<T, String>;

/// The tier under which commands are started. `program` is the one that calls
/// [`inside_main`](crate::inside_main): this one, usually.
pub fn holding_tier(wish: TierWish, program: &Path) -> Tier {
    match wish {
        TierWish::Auto if try_namespaces(program).is_ok() => Tier::Namespaces,
        TierWish::Auto if try_bubblewrap().is_ok() => Tier::Bubblewrap,
        TierWish::Auto if try_landlock().is_ok() => Tier::Landlock,
        TierWish::Auto => Tier::None,
        TierWish::Exactly(tier) => tier,
    }
}

/// That a tier works here, with the other program that it needs.
///
/// # Errors
/// Why it does not, and what to do about it.
pub(crate) fn check_tier(tier: Tier, program: &Path) -> Result<Option<PathBuf>, String> {
    let tried = match tier {
        Tier::None => return Ok(None),
        Tier::Namespaces => try_namespaces(program).as_ref().map(|()| None),
        Tier::Landlock => try_landlock().as_ref().map(|_| None),
        Tier::Bubblewrap => try_bubblewrap().as_ref().map(|program| Some(program.clone())),
    };
    tried.map_err(|why| {
        format!(
            "commands are to be confined by {}, which does not work here: {why}; {}",
            tier.as_str(),
            report::tier_remedy(tier, why)
        )
    })
}

/// The shell for commands.
pub(crate) fn shell_path() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

/// The tier Landlock on the calling thread and all that it starts, without what a mediator adds. Never
/// undone.
pub(crate) fn confine_thread(
    places: &ConfinedPlaces,
    extra: &ExtraAllowances,
    sockets: SocketPolicy,
) -> Result<LandlockConfinement, String> {
    let filters = seccomp::filter_programs(sockets)?;
    drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())?;
    let restricted = landlock::restrict_thread(places, extra)?;
    seccomp::apply_filters(&filters)?;
    Ok(restricted)
}

/// Root keeps its name and loses its powers.
pub(crate) fn drop_capabilities() -> Result<(), String> {
    use rustix::thread::{CapabilitySet, CapabilitySets};
    for capability in CapabilitySet::all().iter() {
        // Whoever may not do this has none to lose.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::clear_ambient_capability_set()
        .and_then(|()| rustix::thread::set_capabilities(None, none))
        .map_err(|error| format!("the capabilities cannot be given up: {error}"))
}

/// The mounts of a command that is granted nothing. Which sockets other people have on this machine says
/// nothing about what its kernel can do: they are looked for before each command.
fn minimal_mounts() -> Result<Vec<Mount>, String> {
    let places = ConfinedPlaces::resolve_confine(&CommandConfinement::default(), Path::new("/"))?;
    let veil = MountVeil { folder: "/var/empty".into(), file: "/dev/null".into() };
    let outside = OutsideFiles { veil, shown: Vec::new(), histories: Vec::new() };
    mounts::mounts_around(&places, &outside)
}

/// Whether this kernel lets us build namespaces, once `program` has built the same sandbox that
/// commands get.
pub(crate) fn try_namespaces(program: &Path) -> &'static TrialResult<()> {
    static TRIED: OnceLock<TrialResult<()>> = OnceLock::new();
    TRIED.get_or_init(|| {
        try_with_mounts(|mounts| {
            let layout = SandboxLayout { mounts, cwd: "/".into(), only_tried: true };
            let layout = in_memory(&layout).map_err(|error| error.to_string())?;
            let (control, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
            send_descriptors(&control, &[layout]).map_err(|error| error.to_string())?;
            let orders = InsideOrders {
                processes: 1,
                room: Some(SandboxStage::Outside),
                ..InsideOrders::default()
            };
            let orders = serde_json::to_string(&orders).map_err(|error| error.to_string())?;
            let mut command = Command::new(program);
            command.arg(INSIDE).arg(orders).stdin(OwnedFd::from(theirs)).env_clear();
            let tried =
                command.output().map_err(|error| format!("{}: {error}", program.display()))?;
            if tried.status.code() == Some(i32::from(WORKS)) {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&tried.stderr);
            let said = said.lines().next().unwrap_or("it said nothing").trim();
            match serde_json::from_str(said) {
                Ok(InsideMessage::Failed { why }) => {
                    Err(why.strip_prefix(NOT_BUILT).unwrap_or(&why).trim_start_matches(": ").into())
                }
                Ok(
                    InsideMessage::Starting | InsideMessage::Started | InsideMessage::Ended { .. },
                )
                | Err(_) => Err(format!("{}: {said} ({})", program.display(), tried.status)),
            }
        })
    })
}

/// Tries with what there is to mount now, and again where that changed meanwhile: what was looked up may be gone
/// when it is mounted, and says nothing about this machine. Commands are started again for the same reason
/// (`supervise::spawn`).
fn try_with_mounts<T>(attempt: impl Fn(Vec<Mount>) -> TrialResult<T>) -> TrialResult<T> {
    let mut mounts = minimal_mounts()?;
    for _ in 1..BUILDS_MAX {
        let outcome = attempt(mounts.clone());
        if outcome.is_ok() {
            return outcome;
        }
        let now = minimal_mounts()?;
        if now == mounts {
            return outcome;
        }
        mounts = now;
    }
    attempt(mounts)
}

/// A layout as a file without a name.
pub(crate) fn in_memory(layout: &SandboxLayout) -> std::io::Result<OwnedFd> {
    let handle = rustix::fs::memfd_create("layout", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(handle);
    file.write_all(&serde_json::to_vec(layout)?)?;
    Ok(OwnedFd::from(file))
}

/// Hands descriptors over, in one message.
pub(crate) fn send_descriptors(control: &UnixStream, handles: &[OwnedFd]) -> std::io::Result<()> {
    let handles: Vec<_> = handles.iter().map(|handle| handle.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut sent = SendAncillaryBuffer::new(&mut space);
    sent.push(SendAncillaryMessage::ScmRights(&handles));
    sendmsg(control, &[IoSlice::new(b"i")], &mut sent, SendFlags::empty())?;
    Ok(())
}

/// Where bubblewrap is, once it has built the same sandbox that commands get.
pub(crate) fn try_bubblewrap() -> &'static TrialResult<PathBuf> {
    static TRIED: OnceLock<TrialResult<PathBuf>> = OnceLock::new();
    TRIED.get_or_init(|| {
        let program = bubblewrap::find_program(&std::env::var_os("PATH").unwrap_or_default())?;
        try_with_mounts(|mounts| {
            let plan = bubblewrap::plan_arguments(&mounts, Path::new("/"))?;
            let mut command = Command::new(&program);
            command.args(&plan.arguments).args(["--", shell_path(), "-c", "exit 42"]);
            command.stdin(Stdio::null()).env_clear();
            let tried =
                command.output().map_err(|error| format!("{}: {error}", program.display()))?;
            if tried.status.code() == Some(42) {
                return Ok(program.clone());
            }
            let said = String::from_utf8_lossy(&tried.stderr);
            let said = said.lines().next().unwrap_or("it said nothing").trim();
            Err(format!("{}: {said} ({})", program.display(), tried.status))
        })
    })
}

/// The version of Landlock that holds, once a thread has confined itself as commands are.
pub(crate) fn try_landlock() -> &'static TrialResult<u32> {
    static TRIED: OnceLock<TrialResult<u32>> = OnceLock::new();
    TRIED.get_or_init(|| {
        let tried = std::thread::spawn(|| {
            let mut places = ConfinedPlaces { cwd: "/".into(), ..ConfinedPlaces::default() };
            places.masked.insert("/etc/passwd".into());
            let restricted =
                confine_thread(&places, &ExtraAllowances::default(), SocketPolicy::Pairs)?;
            if std::fs::read("/etc/passwd").is_ok() {
                return Err("a file that was not allowed could be read".to_string());
            }
            if std::net::TcpListener::bind(("127.0.0.1", 0)).is_ok() {
                return Err("a socket could be made that was not allowed".to_string());
            }
            // Never heard: it is only seen that this machine lets it be made.
            weir_seccomp_notify::CallListener::install(&seccomp::mediated_filter(
                MediatedOpenings::Writing,
            )?)
            .map_err(|error| format!("calls cannot be mediated: {error}"))?;
            Ok(restricted.version)
        });
        tried.join().unwrap_or_else(|_| Err("the attempt panicked".into()))
    })
}
