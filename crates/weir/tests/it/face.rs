//! `weir` with a face, in tests: in line mode over pipes, or with the terminal that `script` of
//! util-linux makes. What it shows is what its other end told it.

use std::io::{Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::house::House;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A face. Dropping it ends it.
pub(crate) struct Face {
    child: Child,
    input: Option<ChildStdin>,
    said: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Drop for Face {
    fn drop(&mut self) {
        self.input = None;
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Face {
    /// In line mode over pipes: each line is taken when the one before it is done.
    pub(crate) fn start(house: &House, env: &[(&str, &str)], args: &[&str]) -> Face {
        let mut command = house.command(&[&["--plain"], args].concat());
        command.envs(env.iter().copied());
        Face::of(command)
    }

    /// In line mode at a terminal: a line can be said into a run, and passwords are asked for.
    pub(crate) fn at_terminal(house: &House, env: &[(&str, &str)], args: &[&str]) -> Face {
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
        let words: Vec<String> = args.iter().map(quoted).collect();
        // The shell gives way to the program, so that it is the child of `script`.
        let line = format!("exec '{}' --plain {}", env!("CARGO_BIN_EXE_weir"), words.join(" "));
        let template = house.command(&[]);
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).env_clear();
        for (name, value) in template.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.envs(env.iter().copied()).env("SHELL", "/bin/sh").env("TERM", "dumb");
        command.current_dir(template.get_current_dir().expect("it has one"));
        Face::of(command)
    }

    fn of(mut command: Command) -> Face {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts (`script` is of util-linux)");
        let said = Arc::new(Mutex::new(String::new()));
        let out = child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>);
        let err = child.stderr.take().map(|err| Box::new(err) as Box<dyn Read + Send>);
        let pipes = [out, err].into_iter().flatten();
        let readers = pipes.map(|pipe| read(pipe, said.clone())).collect();
        let input = child.stdin.take();
        Face { child, input, said, readers }
    }

    /// What it showed until now.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it reads");
        writeln!(input, "{line}").expect("it reads");
        input.flush().expect("it reads");
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until these words were shown `times` times.
    pub(crate) async fn until(&mut self, words: &str, times: usize) {
        let until = Instant::now() + PATIENCE;
        while self.said().matches(words).count() < times {
            let ended = self.child.try_wait().expect("it can be waited for");
            assert!(ended.is_none(), "{ended:?} before {words:?}: {}", self.said());
            assert!(Instant::now() < until, "no {words:?} in: {}", self.said());
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Ends it without a chance to tidy up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Nothing more is typed: waits until it ends; its exit status and what it showed.
    pub(crate) async fn ended(mut self) -> (i32, String) {
        drop(self.input.take());
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                for reader in self.readers.drain(..) {
                    reader.join().expect("it reads to the end");
                }
                return (status.code().unwrap_or(-1), self.said());
            }
            assert!(Instant::now() < until, "it does not end: {}", self.said());
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

fn read(mut pipe: Box<dyn Read + Send>, said: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(bytes @ 1..) = pipe.read(&mut part) {
            let text = String::from_utf8_lossy(&part[..bytes]).into_owned();
            said.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
        }
    })
}
