//! Attacks on what the Landlock tier adds by mediating calls (Z4, A1). What they try is tried for
//! real. Not here: the same harm without its tricks (`attack`, `git`, `reach`).

use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Instant;

use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandEnd, CommandOutcome, CommandSpec};

use crate::attack::{Cage, SECRET};
use crate::git::Repository;
use crate::world::{PATIENCE, is_there};

/// Runs a Python program in a cage's workspace; each of its tries is one function.
async fn tried(cage: &Cage, script: &str) -> CommandOutcome {
    const HEAD: &str = "import ctypes, os, socket, sys, threading, time
l = ctypes.CDLL(None, use_errno=True)
R = sys.argv[1]
def tries(name, f):
    try: f(); print(name, 'DONE')
    except OSError as e: print(name, e.errno)
";
    std::fs::write(cage.ws.join("src/try.py"), format!("{HEAD}{script}")).expect("a script");
    cage.run("/usr/bin/python3 src/try.py $R").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z4_guarded_entries_hold_against_every_call() {
    if !is_there(Tier::Landlock) {
        return;
    }
    let cage = Cage::new(Tier::Landlock);
    let outcome = tried(
        &cage,
        "top, d = os.open('.', os.O_PATH), os.open('src', os.O_PATH)
for name in ('.git/config', '.git/hooks', '.git/hooks/x', '.weir', '.weir/x', '.weirignore', 'locked', '.env'):
    for way in (name, './src/../' + name, R + '/ws/' + name, '/proc/self/cwd/' + name,
                '/proc/self/fd/%d/%s' % (top, name), '/proc/self/root' + R + '/ws/' + name,
                '/proc/self/fd/%d/../%s' % (d, name), 'src/../src/../' + name):
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC):
            tries('open', lambda: os.open(way, flags))
        if os.path.basename(name) != 'x': tries('truncate', lambda: os.truncate(way, 0))
        tries('mkdir', lambda: os.mkdir(way))
        tries('fifo', lambda: os.mkfifo(way))
        tries('unlink', lambda: os.unlink(way))
        tries('rmdir', lambda: os.rmdir(way))
        tries('symlink', lambda: os.symlink('src/open', way))
        open('src/v', 'w').close()
        tries('rename to', lambda: os.rename('src/v', way))
        tries('rename from', lambda: os.rename(way, 'src/w'))
        tries('link to', lambda: os.link('src/v', way))
        tries('link from', lambda: os.link(way, 'new'))
        tries('bind', lambda: socket.socket(socket.AF_UNIX).bind(way))
    for other in (top, d):
        tries('at', lambda: os.open('../ws/' + name, os.O_WRONLY | os.O_CREAT, dir_fd=other))
        tries('at', lambda: os.mkdir('../ws/' + name, dir_fd=other))
    for flags in (0, 1, 2): l.renameat2(-100, name.encode(), -100, b'src/open', flags) == 0 and print('DONE exchange')
tries('git', lambda: os.rename('.git', 'g'))
tries('git', lambda: os.rename('.git', 'src/g'))
os.mkdir('other'); tries('git', lambda: os.rename('other', '.git'))
for name in ('.git/hooks', '.weir', '.weirignore'):
    os.path.lexists(name) and print('DONE', name)
print('end')",
    )
    .await;
    assert!(outcome.output.contains("end\n"), "{outcome:?}");
    assert!(!outcome.output.contains("DONE"), "{outcome:?}");
    let text = |name: &str| std::fs::read_to_string(cage.ws.join(name)).expect("a file");
    assert_eq!((text(".git/config"), text("locked")), ("[core]\n".into(), "locked\n".into()));
    assert_eq!(text(".env"), SECRET);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z4_races_gain_nothing() {
    if !is_there(Tier::Landlock) {
        return;
    }
    let cage = Cage::new(Tier::Landlock);
    let outcome = tried(
        &cage,
        "os.mkdir('real'); over = time.time() + 2; going = [True]
def flip():
    while going:
        for to in ('real', '.git', R + '/outside'):
            try: os.symlink(to, 'src/t'); os.rename('src/t', 'src/way')
            except OSError: pass
def rewrite(buffer, names):
    while going:
        for name in names: ctypes.memmove(buffer, name, len(name) + 1)
b = ctypes.create_string_buffer(64)
c = ctypes.create_string_buffer(64)
threads = [threading.Thread(target=flip, daemon=True),
           threading.Thread(target=rewrite, args=(b, (b'new1', b'locked', b'.weir')), daemon=True),
           threading.Thread(target=rewrite, args=(c, (b'new2', b'.env')), daemon=True)]
for t in threads: t.start()
count = 0
while time.time() < over or count <= 20:
    count += 1
    for path in ('src/way/file', 'src/way/config', 'src/way/commondir'):
        try:
            f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.write(f, b'evil'); os.close(f)
        except OSError: pass
    f = l.open(b, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    if f >= 0: os.write(f, b'evil'); os.close(f)
    l.rename(b, b'new3'); l.mkdir(b, 0o755); l.rmdir(b)
    l.link(c, b'new4')
    f = l.open(c, 0)
    if f >= 0: sys.stdout.write(os.read(f, 99).decode()); os.close(f)
    for name in ('new3', 'new4'):
        try: print(open(name).read()); os.unlink(name)
        except OSError: pass
going.clear()
for t in threads: t.join()
print('end', count > 20)",
    )
    .await;
    assert!(outcome.output.ends_with("end True\n"), "{outcome:?}");
    assert!(!outcome.output.contains(SECRET), "{outcome:?}");
    let text = |name: &str| std::fs::read_to_string(cage.root.join(name)).ok();
    assert_eq!(text("ws/.git/config").as_deref(), Some("[core]\n"));
    assert_eq!(text("ws/locked").as_deref(), Some("locked\n"));
    assert_eq!(text("outside/file").as_deref(), Some("as it was\n"));
    for absent in ["ws/.weir", "outside/config", "outside/commondir"] {
        assert!(!cage.root.join(absent).exists(), "{absent}: {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z4_sockets_reach_the_command_only() {
    if !is_there(Tier::Landlock) {
        return;
    }
    let cage = Cage::new(Tier::Landlock);
    let tcp = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = tcp.local_addr().expect("bound").port();
    let unix = UnixListener::bind(cage.ws.join("src/theirs")).expect("a socket");
    let packets = UnixDatagram::bind(cage.ws.join("src/packets")).expect("a socket");
    let outcome = tried(
        &cage,
        &format!(
            "U, I = socket.AF_UNIX, socket.AF_INET
tries('theirs', lambda: socket.socket(U).connect('src/theirs'))
os.symlink('theirs', 'src/link'); tries('link', lambda: socket.socket(U).connect('src/link'))
os.rename('src/theirs', 'src/moved'); tries('moved', lambda: socket.socket(U).connect('src/moved'))
tries('tcp', lambda: socket.socket(I).connect(('127.0.0.1', {port})))
tries('any', lambda: socket.socket(I).connect(('0.0.0.0', {port})))
tries('six', lambda: socket.socket(socket.AF_INET6).connect(('::ffff:127.0.0.1', {port})))
tries('far', lambda: socket.socket(I).connect(('192.0.2.1', 80)))
tries('abstract', lambda: socket.socket(U).bind(chr(0) + 'x'))
tries('autobind', lambda: socket.socket(U).bind(''))
tries('outside', lambda: socket.socket(U).bind(R + '/outside/s'))
tries('machine', lambda: socket.socket(I).bind(('192.0.2.1', 0)))
tries('low', lambda: socket.socket(I).bind(('127.0.0.1', 81)))
tries('unbound', lambda: socket.socket(I).listen())
tries('packets', lambda: socket.socket(U, socket.SOCK_DGRAM))
tries('udp', lambda: socket.socket(I, socket.SOCK_DGRAM))
for kind in (2, 3, 4, 6, 10):
    tries('pair', lambda: socket.socketpair(U, kind)[0].sendto(b'x', R + '/ws/src/packets'))
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    x, y = socket.socketpair(U, kind); x.send(b'y'); print('pair', kind, y.recv(1))
s = socket.socket(I); s.bind(('0.0.0.0', 0)); s.listen(); print('own', s.getsockname()[0])
c = socket.socket(I); c.connect(('127.0.0.1', s.getsockname()[1])); a, _ = s.accept()
c.sendall(b'x'); print('heard', a.recv(1))
u = socket.socket(U); u.bind('top'); u.listen(); v = socket.socket(U); v.connect(R + '/ws/top')
w, _ = u.accept(); f = os.open('passed', os.O_RDWR | os.O_CREAT)
socket.send_fds(v, [b'x'], [f]); print('passed', len(socket.recv_fds(w, 1, 1)[1]))
print('end')"
        ),
    )
    .await;
    for told in ["own 127.0.0.1\n", "heard b'x'\n", "passed 1\n", "end\n", "far 13\n"] {
        assert!(outcome.output.contains(told), "{told}: {outcome:?}");
    }
    assert!(!outcome.output.contains("DONE"), "{outcome:?}");
    assert_eq!(outcome.output.matches("b'y'\n").count(), 2, "{outcome:?}");
    packets.set_nonblocking(true).expect("a socket");
    assert!(packets.recv(&mut [0; 9]).is_err(), "{outcome:?}");
    tcp.set_nonblocking(true).expect("a listener");
    unix.set_nonblocking(true).expect("a listener");
    assert!(tcp.accept().is_err() && unix.accept().is_err(), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z4_nothing_is_made_by_a_request_to_a_file_system() {
    if !is_there(Tier::Landlock) {
        return;
    }
    let cage = Cage::new(Tier::Landlock);
    // Whatever the file system: elsewhere it would be "no such request".
    let outcome = tried(
        &cage,
        "folder, file = os.open(R + '/outside', os.O_RDONLY), os.open('src/open', os.O_RDONLY)
def asks(name, at, request):
    b = ctypes.create_string_buffer(4096); ctypes.set_errno(0)
    l.ioctl(at, ctypes.c_ulong(request), b); print(name, ctypes.get_errno())
asks('snapshot', folder, 0x50009401)
asks('snapshot2', folder, 0x50009417)
asks('subvolume', folder, 0x5000940e)
asks('subvolume2', folder, 0x50009418)
asks('remove', folder, 0x5000940f)
asks('remove2', folder, 0x5000943f)
asks('flags', folder, 0x4008941a)
asks('verity', file, 0x40806685)
l.ioctl(file, ctypes.c_ulong(0x40049409), -1); print('clone', ctypes.get_errno() != 1)",
    )
    .await;
    for name in ["snapshot", "snapshot2", "subvolume", "subvolume2", "remove", "remove2"] {
        assert!(outcome.output.contains(&format!("{name} 1\n")), "{name}: {outcome:?}");
    }
    for told in ["flags 1\n", "verity 1\n", "clone True\n"] {
        assert!(outcome.output.contains(told), "{told}: {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z4_modes_and_errors_are_those_of_the_kernel() {
    if !is_there(Tier::Landlock) {
        return;
    }
    let cage = Cage::new(Tier::Landlock);
    let outcome = cage
        .run(
            "umask 027; touch a; mkdir b; mkfifo c; stat -c %a a b c; mkdir b; rmdir a; \
             (set -C; echo x > a); ln -s a a; rm none; echo 1 > a; echo 2 >> a; cat a; \
             umask 000; touch d; stat -c %a d; exec 9>d; readlink /proc/self/fd/9; \
             echo x > b/; echo y > none/x; rm -d a b c d; \
             tty=$(/usr/bin/python3 -c 'import os; m, s = os.openpty(); print(os.ttyname(s))'); \
             echo $tty; echo x > /dev/pts/0 || true",
        )
        .await;
    let output = &outcome.output;
    for told in ["640\n750\n640\n", "File exists", "Not a directory", "1\n2\n666\n", "/ws/d\n"] {
        assert!(output.contains(told), "{told}: {outcome:?}");
    }
    assert!(output.contains("/dev/pts/"), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn z4_ten_thousand_files_are_made_in_bearable_time() {
    if !is_there(Tier::Landlock) {
        return;
    }
    let repository = Repository::new(Tier::Landlock);
    let line = "import time,os
for top in ('', os.environ['TMPDIR'] + '/'):
    began = time.time()
    for n in range(10000): os.close(os.open(top + 'f%d' % n, os.O_CREAT | os.O_WRONLY))
    print(int((time.time() - began) * 1000), 'ms')";
    let confine = CommandConfinement {
        tier: Tier::Landlock,
        writable: vec![repository.ws.clone()],
        protected: vec![repository.ws.join(".git")],
        ..CommandConfinement::default()
    };
    let spec = repository.world.spec(1, &format!("/usr/bin/python3 -c \"{line}\""));
    let began = Instant::now();
    let spec = CommandSpec { cwd: repository.ws.clone(), confine, ..spec };
    let outcome = repository.world.run(spec).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
    let text = format!("10,000 files at the top, then where Landlock allows: {}", outcome.output);
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    assert!(began.elapsed() < PATIENCE, "{text}");
}
