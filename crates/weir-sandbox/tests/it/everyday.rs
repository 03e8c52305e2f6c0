//! What people run every day, under each tier that confines: each line at the top of a workspace that
//! holds a repository, a hidden file and protected names. Not here: harm (`attack`, `mediator`).

use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandEnd, CommandSpec};

use crate::git::Repository;

under_confining_tiers!(d1_everyday_commands_work);

/// Name, line.
const LINES: &[(&str, &str)] = &[
    ("touch and mkdir", "touch n1 && mkdir n2 && touch n2/x && rm -r n1 n2"),
    ("redirection", "printf 'x\\n' > p && cat p && printf 'y\\n' >> p && test $(wc -l < p) = 2"),
    ("sed -i", "sed -i s/one/two/ a && grep two a"),
    ("move and remove", "echo x > m1 && mv m1 m2 && cp m2 m3 && mv m2 src/m && rm m3 src/m"),
    ("links", "echo x > t && ln -s t l && cat l && ln t h && cat h && rm l h t"),
    ("git add and commit", "echo x > g && git add g && git commit -qm two && git status --short"),
    (
        "git branch and checkout",
        "git checkout -q -b topic && git checkout -q main && git branch -d topic",
    ),
    ("git tag", "git tag v1 && git tag -a v2 -m 'a tag' && git tag -d v1"),
    ("git stash", "echo x >> a && git stash -q && git stash pop -q && git checkout -q a"),
    (
        "git merge",
        "git checkout -q -b side && echo s > s && git add s && git commit -qm side && \
         git checkout -q main && git merge -q --no-ff -m merged side && git log --oneline | head -1",
    ),
    (
        "cargo build and test",
        "mkdir -p crate/src && cd crate && printf '[package]\\nname=\"c\"\\nversion=\"0.1.0\"\\n\
         edition=\"2021\"\\n[workspace]\\n' > Cargo.toml && echo 'fn main(){} #[test] fn t(){}' > \
         src/main.rs && cargo test -q --offline && cargo run -q --offline && ls Cargo.lock",
    ),
    (
        "make",
        "printf 'all: out.txt\\nout.txt:\\n\\techo made > out.txt\\n' > Makefile && make -s && cat out.txt",
    ),
    (
        "gcc and a.out",
        "echo 'int main(void){return 0;}' > m.c && gcc m.c && ./a.out && gcc -o bin1 m.c && ./bin1",
    ),
    ("a script of its own", "printf '#!/bin/sh\\necho ran\\n' > s.sh && chmod +x s.sh && ./s.sh"),
    (
        "venv",
        "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
    ),
    ("node", "echo 'console.log(require(\"fs\").readdirSync(\".\").length)' > n.js && node n.js"),
    ("npm init", "npm init -y > /dev/null && cat package.json"),
    ("unix socket", "echo \"$UNIX\" > u.py && /usr/bin/python3 u.py ./sock"),
    ("unix socket in TMPDIR", "echo \"$UNIX\" > u.py && /usr/bin/python3 u.py $TMPDIR/sock"),
    (
        "server at the loopback",
        "/usr/bin/python3 -m http.server --bind 127.0.0.1 8471 > /dev/null 2>&1 & S=$!; \
         for i in $(seq 50); do /usr/bin/python3 -c 'import urllib.request as r; \
         r.build_opener(r.ProxyHandler({})).open(\"http://127.0.0.1:8471/a\").read()' 2>/dev/null \
         && OK=1 && break; sleep 0.1; done; kill $S; test \"$OK\" = 1",
    ),
    (
        "pseudo-terminal",
        "/usr/bin/python3 -c 'import pty,sys; sys.exit(pty.spawn([\"/bin/sh\",\"-c\",\"test -t 0 && tty\"]))'",
    ),
    (
        "sqlite with a log",
        "/usr/bin/python3 -c 'import sqlite3; c=sqlite3.connect(\"d.db\"); \
         c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(x)\"); c.commit(); \
         print(c.execute(\"select count(*) from t\").fetchall())'",
    ),
    (
        "tar",
        "mkdir d1 && echo x > d1/f && tar czf d.tgz d1 && rm -r d1 && tar xzf d.tgz && cat d1/f",
    ),
    (
        "here-document",
        "cat > hd <<'END'\ntext\nEND\ncat hd && read -r L <<< word && test $L = word",
    ),
    (
        "mktemp",
        "T=$(mktemp) && echo x > $T && D=$(mktemp -d) && echo y > $D/f && mktemp -p . here.XXXX",
    ),
    ("flock", "flock lock.file sh -c 'echo held' && flock -n lock.file true"),
];

/// A server and a client, with asyncio.
const UNIX: &str = "import asyncio, sys
async def main():
    async def serve(r, w):
        w.write((await r.readline()).upper()); await w.drain(); w.close()
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    r, w = await asyncio.open_unix_connection(sys.argv[1])
    w.write(b'hello\\n'); print(await r.readline()); w.close(); server.close()
asyncio.run(main())";

async fn d1_everyday_commands_work(tier: Tier) {
    let repository = Repository::new(tier);
    std::fs::write(repository.ws.join(".env"), "planted-secret-value").expect("a file");
    std::fs::write(repository.ws.join(".gitignore"), ".env\n").expect("a file");
    repository.outside("git add .gitignore && git commit -qm ignore");
    let mut failed = Vec::new();
    for (call, (name, line)) in (1..).zip(LINES) {
        let ws = &repository.ws;
        let confine = CommandConfinement {
            tier,
            writable: vec![ws.clone()],
            protected: vec![ws.join(".weir"), ws.join(".weirignore")],
            histories: vec![ws.join(".git")],
            masked: vec![ws.join(".env")],
            ..CommandConfinement::default()
        };
        let command = format!(
            "export GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=m \
             GIT_COMMITTER_EMAIL=m@x UNIX=\"{UNIX}\"; {line}"
        );
        let spec = repository.world.spec(call, &command);
        let outcome = repository.world.run(CommandSpec { cwd: ws.clone(), confine, ..spec }).await;
        if outcome.end != (CommandEnd::Exited { code: 0 }) {
            failed.push(format!("{name}: {:?} {}", outcome.end, outcome.output));
        }
        assert!(!outcome.output.contains("planted-secret"), "{name}");
    }
    let passed = LINES.len() - failed.len();
    assert!(passed >= 26, "{passed} of {}: {failed:#?}", LINES.len());
}
