//! Commands that mean harm to files, under each tier that confines (Z4, G12): what they try is tried
//! for real, and what counts is what the machine looks like afterwards. Not here: network, processes
//! and kernel (`reach`).

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandEnd, CommandOutcome, CommandSpec};

use crate::world::World;

under_confining_tiers!(
    z4_honest_work_in_the_workspace_is_possible,
    z4_nothing_outside_the_workspace_is_written,
    z4_what_runs_later_cannot_be_planted,
    z4_a_protected_link_stays_what_it_is,
    z4_hidden_files_are_not_read_by_any_name,
    z4_no_set_user_id_files_and_no_devices,
    z4_a_planted_link_does_not_widen_the_next_command,
    g12_in_plan_mode_only_the_temporary_folder_is_written,
    g12_the_temporary_folder_is_gone_afterwards,
);

pub(crate) const SECRET: &str = "planted-secret-value";

/// Where cages are made, when not below the folder of the build.
pub(crate) const ROOM: &str = "WEIR_TEST_ROOM";

pub(crate) struct Cage {
    pub(crate) world: World,
    pub(crate) root: PathBuf,
    pub(crate) ws: PathBuf,
}

/// A folder for worlds. Another user, as whom a test starts itself again, brings one.
pub(crate) fn room() -> String {
    std::env::var(ROOM).unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").into())
}

impl Cage {
    /// Not below `/tmp`, which a sandbox replaces as a whole.
    pub(crate) fn new(tier: Tier) -> Cage {
        let root = tempfile::tempdir_in(room()).expect("a folder");
        let at = root.path().canonicalize().expect("it exists");
        for folder in ["ws/.git", "ws/src", "home/.ssh", "state", "outside"] {
            std::fs::create_dir_all(at.join(folder)).expect("a folder");
        }
        for (file, text) in [
            ("ws/.git/config", "[core]\n"),
            ("ws/.env", SECRET),
            ("ws/locked", "locked\n"),
            ("ws/src/open", "open\n"),
            ("home/.ssh/id", SECRET),
            ("home/key", SECRET),
            ("state/journal", SECRET),
            ("outside/file", "as it was\n"),
        ] {
            std::fs::write(at.join(file), text).expect("a file");
        }
        symlink(at.join("home/key"), at.join("ws/src/key")).expect("a link");
        let world = World::at(root, tier, |options| options.state_dir = at.join("state"));
        Cage { world, ws: at.join("ws"), root: at }
    }

    fn spec(&self, call: u32, command: &str) -> CommandSpec {
        let ws = &self.ws;
        let protected = [".git/hooks", ".git/config", ".weir", ".weirignore", "locked"];
        let confine = CommandConfinement {
            tier: self.world.tier,
            writable: vec![ws.clone()],
            protected: protected.map(|name| ws.join(name)).into(),
            masked: ["ws/.env", "ws/src/key", "home/.ssh", "state"]
                .map(|name| self.root.join(name))
                .into(),
            ..CommandConfinement::default()
        };
        let command = format!("R={}; {command}", self.root.display());
        CommandSpec { cwd: ws.clone(), confine, ..self.world.spec(call, &command) }
    }

    pub(crate) async fn run(&self, command: &str) -> CommandOutcome {
        self.world.run(self.spec(1, command)).await
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| error.to_string())
    }

    fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(path)).expect("a folder");
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.flatten().map(name).collect();
        names.sort();
        names
    }
}

async fn z4_honest_work_in_the_workspace_is_possible(tier: Tier) {
    let cage = Cage::new(tier);
    let outcome = cage
        .run(
            "set -e; echo new > src/new; mv src/new src/moved; mkdir -p src/a/b; rm src/open; \
             chmod +x src/moved; cat locked .git/config; ls $R/outside; echo t > $TMPDIR/t; \
             cat $TMPDIR/t; echo fine > /dev/null; echo to-error > /dev/stderr; (exit 7) || true; \
             seq 100000 | sort -rn | head -1; python3 -c 'import subprocess as s; \
             print(s.run([\"echo\", \"child\"], capture_output=True).stdout)'; exit 3",
        )
        .await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 3 }, "{outcome:?}");
    assert_eq!(
        outcome.output, "locked\n[core]\nfile\nt\nto-error\n100000\nb'child\\n'\n",
        "{outcome:?}"
    );
    assert_eq!(outcome.refused, Vec::<String>::new());
    assert_eq!(cage.text("ws/src/moved"), "new\n");
    assert_eq!(cage.names("ws"), [".env", ".git", "locked", "src"], "nothing is left there");
    let spec = cage.spec(2, "echo top > top; echo l > .git/index.lock; mv .git/index.lock .git/i");
    assert_eq!(cage.world.run(spec).await.end, CommandEnd::Exited { code: 0 });
    assert_eq!((cage.text("ws/top"), cage.text("ws/.git/i")), ("top\n".into(), "l\n".into()));
}

async fn z4_nothing_outside_the_workspace_is_written(tier: Tier) {
    let cage = Cage::new(tier);
    let outcome = cage
        .run(
            "cd src; echo x > $R/outside/file; echo x >> $R/outside/new; mkdir $R/outside/d; \
             rm -f $R/outside/file; mv $R/outside/file here; mv $R/outside $R/ws/src/o; \
             ln $R/outside/file hard && echo x > hard; ln -s $R/outside way; echo x > way/new; \
             echo x > way/file; truncate -s 0 $R/outside/file; echo x > ../../outside/file; \
             echo x > /proc/self/root$R/outside/file; echo x > /proc/self/cwd/../../outside/file; \
             echo x > /etc/weir-test-was-here; echo x > /dev/shm/weir-test-was-here; \
             echo x > /var/tmp/weir-test-was-here; echo x > /tmp/weir-test-was-here; \
             echo 1 > /proc/sys/kernel/panic_on_oops; \
             python3 -c 'import os; d=os.open(\"..\", os.O_PATH); \
             os.open(\"../outside/new\", os.O_CREAT|os.O_WRONLY, dir_fd=d)'",
        )
        .await;
    assert_eq!(cage.names("outside"), ["file"], "{outcome:?}");
    assert_eq!(cage.text("outside/file"), "as it was\n", "{outcome:?}");
    for folder in ["/etc", "/dev/shm", "/var/tmp", "/tmp"] {
        assert!(!Path::new(folder).join("weir-test-was-here").exists(), "{folder}");
    }
    let refused = format!("path {}", cage.root.join("outside/file").display());
    assert!(outcome.refused.contains(&refused), "{outcome:?}");
}

async fn z4_what_runs_later_cannot_be_planted(tier: Tier) {
    let cage = Cage::new(tier);
    let outcome = cage
        .run(
            "E='echo evil'; mkdir -p .git/hooks; echo $E > .git/hooks/pre-commit; \
             rmdir .git/hooks; ln -s src .git/hooks; echo x >> .git/config; rm -f .git/config; \
             echo x > .git/config; mv .git .g; mkdir -p .git/hooks; echo $E > .git/hooks/pre-commit; \
             mkdir h; echo $E > h/pre-commit; mv -T h .git/hooks; mkdir .weir; rmdir .weir; \
             echo x > .weir/config.toml; echo x > .weirignore; rm -f .weirignore; ln -s src .weir; \
             echo x >> locked; rm -f locked; mv locked l; mv src/open locked; ln locked src/hard; \
             echo x > src/hard; truncate -s 0 locked; chmod 777 .git/hooks; \
             mv $R/ws $R/ws2; rm -rf .git; \
             python3 -c 'import os; os.rename(\".git\", \"src/g\")'; \
             python3 -c 'import ctypes; l=ctypes.CDLL(None); print(l.umount2(b\".git/hooks\", 2)); \
             print(l.renameat2(-100, b\".git\", -100, b\"src\", 2))'",
        )
        .await;
    assert_eq!(cage.text("ws/.git/config"), "[core]\n", "{outcome:?}");
    assert_eq!(cage.text("ws/locked"), "locked\n", "{outcome:?}");
    for absent in ["ws/.git/hooks", "ws/.weir", "ws/.weirignore", "ws2"] {
        let path = cage.root.join(absent);
        assert!(path.symlink_metadata().is_err(), "{absent} came to exist: {outcome:?}");
    }
}

async fn z4_a_protected_link_stays_what_it_is(tier: Tier) {
    let cage = Cage::new(tier);
    std::fs::create_dir(cage.ws.join("src/real")).expect("a folder");
    symlink("../src/real", cage.ws.join(".git/hooks")).expect("a link");
    let outcome = cage
        .run(
            "echo evil > .git/hooks/x; rm -f .git/hooks; mkdir .git/hooks; echo e > .git/hooks/x; \
             mv .git/hooks .git/h; echo evil > src/real/x; mv src/real src/r; mv .git g; ls .git",
        )
        .await;
    let link = std::fs::read_link(cage.ws.join(".git/hooks"));
    assert_eq!(link.ok().as_deref(), Some(Path::new("../src/real")), "{outcome:?}");
    assert_eq!(cage.names("ws/src/real"), Vec::<String>::new(), "{outcome:?}");
}

async fn z4_hidden_files_are_not_read_by_any_name(tier: Tier) {
    let cage = Cage::new(tier);
    let outcome = cage
        .run(
            "for f in $R/ws/.env $R/home/.ssh/id $R/home/key $R/ws/src/key $R/state/journal; do \
             cat $f; cat /proc/self/root$f; cat /proc/1/root$f; cat /proc/$PPID/root$f; \
             cat /proc/self/cwd/../../${f#$R}; base64 < $f; cp $f src/copy; cat src/copy; \
             ln $f src/hard; cat src/hard; ln -s $f src/soft; cat src/soft; rm -f src/soft; \
             mv $f src/moved; cat src/moved; tar cf - $f; dd if=$f; bash $f; . $f; \
             LD_PRELOAD=$f /bin/true; chmod 777 $f; cat $f; setsid cat $f; \
             python3 -c 'import os,sys; d=os.open(\"/\", os.O_PATH); \
             p=os.open(sys.argv[1][1:], os.O_PATH, dir_fd=d); \
             print(os.read(os.open(\"/proc/self/fd/%d\" % p, os.O_RDONLY), 99))' $f; \
             done; mv src s; cat s/key; mv $R/home $R/h; grep -r planted $R /proc/1/environ; \
             cat /proc/*/environ | grep -a planted; true",
        )
        .await;
    assert!(matches!(outcome.end, CommandEnd::Exited { .. }), "{outcome:?}");
    assert!(!outcome.output.contains(SECRET), "{outcome:?}");
    assert!(!outcome.output.contains("cGxhbnRlZC"), "{outcome:?}");
    assert_eq!(cage.text("ws/.env"), SECRET);
    assert_eq!(cage.text("home/key"), SECRET);
    assert_eq!(cage.text("home/.ssh/id"), SECRET);
    // And what the record of the command itself holds.
    let own = cage.world.run(cage.spec(2, "find $R/state -type f | xargs cat; ls $R/state; true"));
    let output = own.await.output;
    assert!(!output.contains("\"pid\"") && !output.contains(SECRET), "{output}");
}

async fn z4_no_set_user_id_files_and_no_devices(tier: Tier) {
    let cage = Cage::new(tier);
    let outcome = cage
        .run(
            "cd src; cp /bin/true t; chmod u+s t; chmod g+s t; chmod 6755 t; install -m 4755 t u; \
             python3 -c 'import os; os.open(\"v\", os.O_CREAT|os.O_WRONLY, 0o4755)'; \
             python3 -c 'import os; os.open(\".\", os.O_TMPFILE|os.O_WRONLY, 0o4755); print(\"MADE\")'; \
             python3 -c 'import os; os.mkdir(\"w\", 0o2755)'; chmod 755 t && echo plain; \
             python3 -c 'import ctypes, platform; n = 257 if platform.machine() == \"x86_64\" else 56; \
             print(\"read\", ctypes.CDLL(None).syscall(n, -100, b\"open\", 0, 0o6755) > 2)'",
        )
        .await;
    // Where nothing is made there is no mode, whatever stands in its place.
    assert!(outcome.output.ends_with("plain\nread True\n"), "{outcome:?}");
    assert!(!outcome.output.contains("MADE"), "{outcome:?}");
    for name in cage.names("ws/src") {
        let meta = cage.ws.join("src").join(&name).symlink_metadata().expect("listed");
        assert_eq!(meta.permissions().mode() & 0o6000, 0, "{name}: {outcome:?}");
    }
}

async fn z4_a_planted_link_does_not_widen_the_next_command(tier: Tier) {
    let cage = Cage::new(tier);
    cage.run("ln -s $R/outside src/build").await;
    let mut spec = cage.spec(2, "echo x > $R/outside/new; echo x > src/build/new");
    spec.confine.writable.push(cage.ws.join("src/build"));
    let outcome = cage.world.run(spec).await;
    let CommandEnd::NotStarted { why } = &outcome.end else { panic!("{outcome:?}") };
    assert!(why.contains("leads out of the writable folder"), "{why}");
    assert_eq!(cage.names("outside"), ["file"]);
}

async fn g12_in_plan_mode_only_the_temporary_folder_is_written(tier: Tier) {
    let cage = Cage::new(tier);
    let mut spec = cage.spec(
        1,
        "echo x > src/new; echo x > new; rm -f src/open; echo x > $TMPDIR/t && cat $TMPDIR/t; \
         cat src/open; pwd",
    );
    spec.confine.writable.clear();
    let outcome = cage.world.run(spec).await;
    let ws = cage.ws.display();
    assert!(outcome.output.ends_with(&format!("x\nopen\n{ws}\n")), "{outcome:?}");
    assert_eq!(cage.names("ws/src"), ["key", "open"]);
    assert_eq!(cage.names("ws"), [".env", ".git", "locked", "src"]);
    // `new` is one bare word, and no such file is there: that may be anything.
    assert_eq!(outcome.refused.len(), 2, "{outcome:?}");
    // A workspace below /tmp is seen too.
    let world = World::new(tier);
    std::fs::write(world.state.path().join("seen"), "seen\n").expect("a file");
    let mut spec = world.spec(1, "cat seen; echo x > seen");
    spec.confine.writable.clear();
    let outcome = world.run(spec).await;
    assert!(outcome.output.starts_with("seen\n"), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(world.state.path().join("seen")).expect("text"), "seen\n");
}

async fn g12_the_temporary_folder_is_gone_afterwards(tier: Tier) {
    let cage = Cage::new(tier);
    // A name that nobody else has there.
    let own = format!("weir-gone-{}", std::process::id());
    let outcome = cage
        .run(&format!(
            "cd $TMPDIR; mkdir -p {own}/b/c; echo x > {own}/b/c/f; \
             for i in $(seq 300); do mkdir deep; cd deep; done; echo $TMPDIR"
        ))
        .await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
    let tmp = outcome.output.trim();
    if tier == Tier::Landlock {
        assert!(tmp.starts_with(&*cage.root.to_string_lossy()), "{outcome:?}");
        assert!(!Path::new(tmp).exists());
    } else {
        assert_eq!(tmp, "/tmp");
        assert!(!Path::new("/tmp").join(own).exists());
    }
}
