//! A real keyring that is unlocked, at a real session bus, and an agent of ssh: what commands in each
//! confining tier try to have of it (Z4, R9). That everything tried works outside is tried too.
//! Not here: sockets in general (`reach`).

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandSpec};
use weir_test_kit::or_skipped;

use crate::attack::{Cage, SECRET};
use crate::world::PATIENCE;

under_confining_tiers!(
    r9_an_unlocked_keyring_is_not_reached,
    r9_an_agent_is_not_reached_by_the_name_to_which_its_socket_was_moved,
);

/// As every session bus has it, and nothing that starts programs.
const BUS_POLICY: &str = "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\
                          <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy>";

const PROGRAMS: [&str; 5] =
    ["dbus-daemon", "gnome-keyring-daemon", "secret-tool", "dbus-send", "ssh-agent"];

/// Speaks with a bus without a library. Says `CONNECTED` where it was let in.
const CLIENT: &str = r#"import os, socket, sys
def ask(s):
    s.settimeout(30); s.sendall(b'\0AUTH EXTERNAL ' + b''.join(b'%02x' % c for c in b'%d' % os.getuid()) + b'\r\n')
    if s.recv(99).startswith(b'OK'): print('CONNECTED', sys.argv[1:])
def tries(f):
    try: f()
    except OSError as e: print(e.errno)
def plain(name):
    s = socket.socket(socket.AF_UNIX); s.connect(name.replace('@', chr(0))); ask(s)
def from_folder(name):
    at = os.open(os.path.dirname(name) or '.', os.O_PATH)
    s = socket.socket(socket.AF_UNIX); s.connect('/proc/self/fd/%d/%s' % (at, os.path.basename(name))); ask(s)
def by_handle(name):
    at = os.open(name, os.O_PATH)
    s = socket.socket(socket.AF_UNIX); s.connect('/proc/self/fd/%d' % at); ask(s)
def other_kinds(name):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        s = socket.socket(socket.AF_UNIX, kind); s.connect(name); print('CONNECTED', kind)
for name in sys.argv[1:]:
    for f in (plain, from_folder, by_handle, other_kinds): tries(lambda: f(name))
"#;

/// Ends with the test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A session as a person has one, with a secret in its keyring.
struct Desktop {
    cage: Cage,
    /// Where the bus is: as addresses of D-Bus.
    addresses: Vec<String>,
    _tmp: tempfile::TempDir,
    _daemons: Vec<Daemon>,
}

fn find_programs() -> Result<(), String> {
    let there =
        |name: &&str| ["/usr/bin", "/bin"].iter().any(|at| Path::new(at).join(name).exists());
    match PROGRAMS.iter().find(|name| !there(name)) {
        Some(missing) => Err(format!("{missing} is not installed")),
        None => Ok(()),
    }
}

impl Desktop {
    fn start(tier: Tier) -> Desktop {
        let cage = Cage::new(tier);
        let tmp = tempfile::tempdir().expect("a folder below /tmp");
        std::fs::create_dir_all(cage.root.join("desk/run")).expect("a folder");
        std::fs::write(cage.ws.join("client.py"), CLIENT).expect("a file");
        // A folder that is seen, the workspace itself, what is replaced, the usual place, and no file.
        let first = cage.ws.join("src/first");
        let bound = [
            cage.root.join("outside/bus"),
            cage.ws.join("src/bus"),
            tmp.path().join("bus"),
            cage.root.join("desk/run/bus"),
            first.clone(),
        ];
        let mut addresses = bound.map(|path| format!("unix:path={}", path.display())).to_vec();
        addresses.push(format!("unix:abstract={}", cage.root.join("abstract").display()));
        let listens: String =
            addresses.iter().map(|address| format!("<listen>{address}</listen>")).collect();
        let config = cage.root.join("desk/bus.conf");
        std::fs::write(
            &config,
            format!("<busconfig><type>session</type>{listens}{BUS_POLICY}</busconfig>"),
        )
        .expect("a file");
        let mut bus = Command::new("dbus-daemon");
        bus.arg(format!("--config-file={}", config.display())).args(["--nofork", "--nopidfile"]);
        let mut daemons = vec![Daemon(bus.stderr(Stdio::null()).spawn().expect("a bus"))];
        wait_until("the bus listens", || first.exists());
        std::fs::rename(&first, cage.ws.join("src/moved")).expect("moved");
        addresses[4] = format!("unix:path={}", cage.ws.join("src/moved").display());
        let mut desktop = Desktop { cage, addresses, _tmp: tmp, _daemons: Vec::new() };
        let mut keyring = desktop.command("gnome-keyring-daemon", 0);
        keyring.args(["--foreground", "--unlock", "--components=secrets"]);
        keyring.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut keyring = keyring.spawn().expect("a keyring");
        keyring.stdin.take().expect("piped").write_all(b"pw").expect("it reads");
        daemons.push(Daemon(keyring));
        desktop._daemons = daemons;
        wait_until("the keyring keeps something", || desktop.store_secret());
        desktop
    }

    /// A program of the person's.
    fn command(&self, program: &str, address: usize) -> Command {
        let desk = self.cage.root.join("desk");
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &desk);
        command.env("XDG_RUNTIME_DIR", desk.join("run"));
        command.env("DBUS_SESSION_BUS_ADDRESS", &self.addresses[address]);
        command
    }

    fn store_secret(&self) -> bool {
        let mut store = self.command("secret-tool", 0);
        store.args(["store", "--label=x", "service", "weir", "account", "a"]);
        let spawned = store.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut store = spawned.expect("secret-tool");
        store.stdin.take().expect("piped").write_all(SECRET.as_bytes()).expect("it reads");
        store.wait().expect("our child").success()
    }

    /// Names that the raw client can use.
    fn names(&self) -> Vec<String> {
        let plain =
            |address: &String| address.replace("unix:path=", "").replace("unix:abstract=", "@");
        self.addresses.iter().map(plain).collect()
    }

    /// Everything that asks the keyring, at each of the addresses.
    fn attempts(&self) -> String {
        let names = self.names().join(" ");
        let mut lines = vec![
            "ln -s $R/outside/bus src/way; ln src/bus src/hard; mkdir -p src/d; ln -s $R/outside src/d/o"
                .to_owned(),
            format!("python3 client.py {names} src/way src/hard src/d/o/bus src/../src/bus"),
            format!("python3 client.py /proc/self/root$R/outside/bus /proc/1/root$R/outside/bus"),
            "mv src/bus src/b; mv src/moved src/m; python3 client.py src/b src/m".to_owned(),
            "cd src && python3 ../client.py b m bus moved; cd ..".to_owned(),
        ];
        let lookup = "lookup service weir account a";
        let method = "org.freedesktop.DBus.Peer.Ping";
        for address in &self.addresses {
            lines.push(format!("export DBUS_SESSION_BUS_ADDRESS={address}"));
            lines.push(format!(
                "timeout 5 secret-tool {lookup}; timeout 5 /usr/bin/secret-tool {lookup}"
            ));
            lines.push(format!(
                "timeout 5 env -S 'DBUS_SESSION_BUS_ADDRESS={address} secret-tool {lookup}'"
            ));
            lines.push(format!(
                "timeout 5 dbus-send --session --print-reply --dest=org.freedesktop.secrets / {method} \
                 && echo CONNECTED"
            ));
        }
        lines.push("unset DBUS_SESSION_BUS_ADDRESS; export XDG_RUNTIME_DIR=$R/desk/run".to_owned());
        lines.push(format!("ln -s /usr/bin/secret-tool src/x; timeout 5 src/x {lookup}; true"));
        lines.join("\n")
    }

    fn spec(&self, call: u32, hides_around: bool) -> CommandSpec {
        let Cage { world, root, ws } = &self.cage;
        // As a home is hidden around the workspace that lies in it.
        let hidden = if hides_around { root.clone() } else { root.join("home/.ssh") };
        let confine = CommandConfinement {
            tier: world.tier,
            writable: vec![ws.clone()],
            masked: vec![hidden],
            ..CommandConfinement::default()
        };
        let command = format!("R={}\n{}", root.display(), self.attempts());
        CommandSpec { cwd: ws.clone(), confine, ..world.spec(call, &command) }
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn said(output: &Output) -> String {
    let text = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy);
    text.join("\n")
}

async fn r9_an_unlocked_keyring_is_not_reached(tier: Tier) {
    if or_skipped(find_programs()).is_none() {
        return;
    }
    let desktop = Desktop::start(tier);
    // What is tried does work where nothing confines it.
    let names = desktop.names();
    for (number, name) in names.iter().enumerate() {
        let mut lookup = desktop.command("secret-tool", number);
        let found = lookup.args(["lookup", "service", "weir", "account", "a"]).output();
        let found = said(&found.expect("secret-tool"));
        assert!(found.contains(SECRET), "{name}: {found}");
        let mut client = Command::new("python3");
        let asked = client.arg(desktop.cage.ws.join("client.py")).arg(name).output();
        let asked = said(&asked.expect("python3"));
        assert!(asked.contains("CONNECTED"), "{name}: {asked}");
    }
    for (call, hides_around) in [(1, false), (2, true)] {
        let outcome = desktop.cage.world.run(desktop.spec(call, hides_around)).await;
        assert!(!outcome.output.contains(SECRET), "{outcome:?}");
        assert!(!outcome.output.contains("CONNECTED"), "{outcome:?}");
        assert!(outcome.output.lines().count() > names.len(), "it tried: {outcome:?}");
    }
}

async fn r9_an_agent_is_not_reached_by_the_name_to_which_its_socket_was_moved(tier: Tier) {
    if or_skipped(find_programs()).is_none() {
        return;
    }
    let cage = Cage::new(tier);
    let (bound, moved) = (cage.ws.join("src/agent.tmp"), cage.ws.join("src/agent"));
    let mut agent = Command::new("ssh-agent");
    agent.arg("-D").arg("-a").arg(&bound).stdout(Stdio::null()).stderr(Stdio::null());
    let _agent = Daemon(agent.spawn().expect("an agent"));
    let ask = |path: &PathBuf| {
        let mut list = Command::new("ssh-add");
        list.arg("-l").env("SSH_AUTH_SOCK", path).output().expect("ssh-add").status.code()
    };
    // It has no keys, and says so. Its socket is there before it listens.
    wait_until("the agent answers", || ask(&bound) == Some(1));
    std::fs::rename(&bound, &moved).expect("moved");
    assert_eq!(ask(&moved), Some(1), "it answers: it has no keys");
    let outcome = cage.run("SSH_AUTH_SOCK=src/agent ssh-add -l; echo said $?").await;
    assert!(outcome.output.ends_with("said 2\n"), "{outcome:?}");
}
