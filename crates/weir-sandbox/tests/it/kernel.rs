//! The kernel's settings and the powers of root, tried one by one, as root and as an ordinary user
//! (A2). Not here: system calls (`reach`) and files of people (`attack`).

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_core::tool::Tier;

use crate::attack::{Cage, ROOM};
use crate::world::program;

under_confining_tiers!(
    a2_no_setting_of_the_kernel_is_written,
    a2_each_capability_is_gone,
    a2_the_same_holds_for_an_ordinary_user,
);

async fn a2_no_setting_of_the_kernel_is_written(tier: Tier) {
    let cage = Cage::new(tier);
    // Opening is enough: nothing is changed where this test fails.
    let script = "import os
tried = 0
for top in ('/proc/sys', '/proc/irq', '/proc/bus', '/proc/acpi', '/proc/fs', '/proc/driver',
            '/proc/tty', '/proc/sysvipc', '/proc/scsi', '/sys'):
    for folder, folders, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path): continue
            tried += 1
            try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)); print('OPENED', path)
            except OSError: pass
            # To what it is: nothing is changed where this is let through.
            try: os.chmod(path, os.stat(path).st_mode & 0o7777); print('CHANGED', path)
            except OSError: pass
        try: os.mkdir(folder + '/weir'); print('MADE', folder)
        except OSError: pass
for path in os.listdir('/proc'):
    if path.isdigit() or os.path.islink('/proc/' + path) or os.path.isdir('/proc/' + path): continue
    try: os.close(os.open('/proc/' + path, os.O_WRONLY | os.O_NONBLOCK)); print('OPENED', path)
    except OSError: pass
print('tried', tried > 500, tried)";
    std::fs::write(cage.ws.join("src/try.py"), script).expect("a script");
    let outcome = cage
        .run(
            "/usr/bin/python3 src/try.py; \
             (echo '|/bin/true' > /proc/sys/kernel/core_pattern) 2>/dev/null && echo OPENED pattern; \
             (echo x > /proc/sysrq-trigger) 2>/dev/null && echo OPENED sysrq",
        )
        .await;
    let broken = |word: &str| {
        let lines = outcome.output.lines().filter(|line| line.starts_with(word));
        lines.take(5).collect::<Vec<_>>()
    };
    for told in ["OPENED", "MADE"] {
        assert_eq!(broken(told), Vec::<&str>::new());
    }
    if tier.has_own_view() {
        // Landlock does not see modes: what root owns it can open to others there.
        assert_eq!(broken("CHANGED"), Vec::<&str>::new());
    }
    assert!(outcome.output.contains("tried True"), "{:?}", outcome.end);
}

async fn a2_each_capability_is_gone(tier: Tier) {
    let cage = Cage::new(tier);
    let script = "import ctypes, os, resource, socket, time
l = ctypes.CDLL(None, use_errno=True)
last = int(open('/proc/sys/kernel/cap_last_cap').read())
for n in range(last + 1):
    if l.prctl(47, 1, n, 0, 0) == 1: print('AMBIENT', n)
    if l.prctl(47, 2, n, 0, 0) == 0: print('RAISED', n)
class H(ctypes.Structure): _fields_ = [('v', ctypes.c_uint32), ('p', ctypes.c_int)]
class D(ctypes.Structure): _fields_ = [(x, ctypes.c_uint32) for x in 'epi']
for n in range(last + 1):
    d = (D * 2)()
    d[n // 32].e = d[n // 32].p = 1 << (n % 32)
    h = H(0x20080522, 0)
    if l.capset(ctypes.byref(h), d) == 0: print('SET', n)
def tries(name, f):
    try: f(); print('DONE', name)
    except (OSError, ValueError, PermissionError): pass
tries('chown', lambda: os.chown('src/open', 1, 1))
tries('setuid', lambda: os.setuid(12345))
tries('setgroups', lambda: os.setgroups([7]))
tries('nice', lambda: os.nice(-5))
tries('hostname', lambda: socket.sethostname('weir'))
tries('clock', lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()))
tries('node', lambda: os.mknod('src/node', 0o060600, 0x800))
tries('chroot', lambda: os.chroot('/'))
tries('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
tries('low port', lambda: socket.socket().bind(('127.0.0.1', 81)))
tries('limit', lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)))
tries('acct', lambda: l.acct(None) == 0 or (_ for _ in ()).throw(OSError()))
tries('swap', lambda: l.swapoff(b'/none') == 0 or (_ for _ in ()).throw(OSError()))
tries('syslog', lambda: l.klogctl(5, None, 0) >= 0 or (_ for _ in ()).throw(OSError()))
tries('immutable', lambda: l.ioctl(os.open('src/open', 0), 0x40086602,
      ctypes.byref(ctypes.c_int(16))) == 0 or (_ for _ in ()).throw(OSError()))
print('all tried', last > 30)";
    std::fs::write(cage.ws.join("src/try.py"), script).expect("a script");
    let outcome = cage.run("/usr/bin/python3 src/try.py").await;
    for told in ["AMBIENT", "RAISED", "SET", "DONE"] {
        assert!(!outcome.output.contains(told), "{outcome:?}");
    }
    assert!(outcome.output.contains("all tried True"), "{outcome:?}");
}

async fn a2_the_same_holds_for_an_ordinary_user(tier: Tier) {
    for name in ["a2_no_setting_of_the_kernel_is_written", "a2_each_capability_is_gone"] {
        by_an_ordinary_user(&format!("kernel::{}::{name}", tier.as_str()));
    }
}

/// Runs one of these tests once more, by a user without any power.
pub(crate) fn by_an_ordinary_user(test: &str) {
    if !rustix::process::geteuid().is_root() {
        // It runs as one already.
        return;
    }
    let room = tempfile::tempdir().expect("a folder that anybody can reach");
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o755)).expect("mode");
    chown(room.path(), Some(65_534), Some(65_534)).expect("root gives it away");
    let ran = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(moved(room.path()))
        .args([test, "--exact", "--nocapture"])
        .env("HOME", room.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env(ROOM, room.path())
        .output()
        .expect("setpriv is there");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// This test and its supervisor, where an ordinary user reaches them: the folder of the build may lie
/// in somebody's home.
fn moved(room: &Path) -> PathBuf {
    let copy = |from: &Path, to: &str| {
        let to = room.join(to);
        std::fs::create_dir_all(to.parent().expect("it has a folder")).expect("a folder");
        std::fs::copy(from, &to).expect("a copy");
        to
    };
    copy(&program(), "examples/supervise");
    copy(&std::env::current_exe().expect("a test has a path"), "deps/it")
}
