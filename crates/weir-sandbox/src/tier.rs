//! Which confinement commands get, found by trying it, and an honest report of it (Z4).
//!
//! A tier is tried once, when it is first needed, and the answer holds for the life of the program.
//! Not here: what is enforced ([`bubblewrap`], [`landlock`], [`seccomp`]), the words for people
//! ([`report`]), and whether a command may run.

pub(crate) mod bubblewrap;
pub(crate) mod kernel;
pub(crate) mod landlock;
pub(crate) mod places;
mod report;
pub(crate) mod seccomp;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use weir_core::tool::Tier;
use weir_engine::ports::Confine;

use bubblewrap::{Outside, Veil};
use landlock::Extra;
use places::Places;
pub use report::{TierCheck, TierReport, probe};
use seccomp::Sockets;

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
pub(crate) type Tried<T> = Result<T, String>;

/// The tier under which commands are started.
pub fn holding(wish: TierWish) -> Tier {
    match wish {
        TierWish::Auto if try_bubblewrap().is_ok() => Tier::Bubblewrap,
        TierWish::Auto if try_landlock().is_ok() => Tier::Landlock,
        TierWish::Auto => Tier::None,
        TierWish::Exactly(tier) => tier,
    }
}

/// That a tier works here, with the program that it needs.
///
/// # Errors
/// Why it does not, and what to do about it.
pub(crate) fn ready(tier: Tier) -> Result<Option<PathBuf>, String> {
    let refused = |why: &String, remedy: String| {
        let tier = tier.as_str();
        format!("commands are to be confined by {tier}, which does not work here: {why}; {remedy}")
    };
    match tier {
        Tier::None => Ok(None),
        Tier::Landlock => match try_landlock() {
            Ok(_) => Ok(None),
            Err(why) => Err(refused(why, report::remedy(tier, why))),
        },
        Tier::Bubblewrap => match try_bubblewrap() {
            Ok(program) => Ok(Some(program.clone())),
            Err(why) => Err(refused(why, report::remedy(tier, why))),
        },
    }
}

/// The shell for commands.
pub(crate) fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}

/// The tier Landlock on the calling thread and all that it starts. Never undone. Says which version
/// of Landlock holds.
pub(crate) fn confine_thread(
    places: &Places,
    extra: &Extra,
    sockets: Sockets,
) -> Result<u32, String> {
    let filters = seccomp::programs(sockets)?;
    drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())?;
    let version = landlock::restrict(places, extra)?;
    seccomp::apply(&filters)?;
    Ok(version)
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

/// Where bubblewrap is, once it has built the same sandbox that commands get.
pub(crate) fn try_bubblewrap() -> &'static Tried<PathBuf> {
    static TRIED: OnceLock<Tried<PathBuf>> = OnceLock::new();
    TRIED.get_or_init(|| {
        let program = bubblewrap::find(&std::env::var_os("PATH").unwrap_or_default())?;
        let places = Places::look(&Confine::default(), Path::new("/"))?;
        let veil = Veil { folder: "/var/empty".into(), file: "/dev/null".into() };
        let outside = Outside { veil, helper: None, socket: None, histories: Vec::new() };
        let plan = bubblewrap::plan(&places, &outside)?;
        let mut command = Command::new(&program);
        command.args(&plan.arguments).args(["--", shell(), "-c", "exit 42"]);
        command.stdin(Stdio::null()).env_clear();
        let tried = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        if tried.status.code() == Some(42) {
            return Ok(program);
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        let said = said.lines().next().unwrap_or("it said nothing").trim();
        Err(format!("{}: {said} ({})", program.display(), tried.status))
    })
}

/// The version of Landlock that holds, once a thread has confined itself as commands are.
pub(crate) fn try_landlock() -> &'static Tried<u32> {
    static TRIED: OnceLock<Tried<u32>> = OnceLock::new();
    TRIED.get_or_init(|| {
        let tried = std::thread::spawn(|| {
            let mut places = Places { cwd: "/".into(), ..Places::default() };
            places.masked.insert("/etc/passwd".into());
            let version = confine_thread(&places, &Extra::default(), Sockets::Pairs)?;
            if std::fs::read("/etc/passwd").is_ok() {
                return Err("a file that was not allowed could be read".to_string());
            }
            if std::net::TcpListener::bind(("127.0.0.1", 0)).is_ok() {
                return Err("a socket could be made that was not allowed".to_string());
            }
            Ok(version)
        });
        tried.join().unwrap_or_else(|_| Err("the attempt panicked".into()))
    })
}
