//! `weir serve` in the folders of a bench.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use super::super::house::House;
use super::super::used;
use crate::served::person::PASSWORD;

/// What the server is set to: no quota may end the measurement.
const CONFIG: &str = "\
model = \"anthropic/bench\"
[server]
connections_max = 60000
requests_per_minute = 10000000
[models.\"anthropic/bench\"]
window = 100000000
max_output = 8192
abilities = [\"tools\"]
[limits]
max_iterations = 100000
";

/// A server that runs. Dropping it kills it.
pub(super) struct Served {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(super) address: String,
}

impl Served {
    /// Starts one, with an admin, and waits until it listens.
    pub(super) fn start(
        house: &House,
        model: &str,
        database: Option<&str>,
    ) -> anyhow::Result<Served> {
        fs::write(house.at("config/weir/config.toml"), CONFIG)?;
        let password = house.at("password");
        fs::write(&password, PASSWORD)?;
        let mut command = house.weir(&["serve", "--bind", "127.0.0.1:0", "--first-admin", "admin"]);
        command.arg("--password-file").arg(&password);
        if let Some(database) = database {
            command.args(["--database", database]);
        }
        command.env("ANTHROPIC_BASE_URL", format!("http://{model}"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("it was piped")?;
        let mut served = Served { child, address: String::new() };
        let mut lines = BufReader::new(stderr).lines();
        let mut said = String::new();
        for line in lines.by_ref() {
            let line = line?;
            if let Some(address) = line.split("listening on http://").nth(1) {
                served.address = address.trim().to_owned();
                break;
            }
            said.push_str(&line);
            said.push('\n');
        }
        anyhow::ensure!(!served.address.is_empty(), "the server does not listen:\n{said}");
        // The pipe is read to its end, so that it never fills.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(served)
    }

    /// Bytes of memory that it has now.
    pub(super) fn memory(&self) -> anyhow::Result<f64> {
        used::memory(self.child.id()).map(|(resident, _)| resident)
    }

    /// Processor time that it has used.
    pub(super) fn processor_time(&self) -> anyhow::Result<Duration> {
        used::ticks_time(self.child.id())
    }

    /// Ends at once (SIGKILL), and is there anew.
    pub(super) fn start_again(
        &mut self,
        house: &House,
        model: &str,
        database: Option<&str>,
    ) -> anyhow::Result<()> {
        self.kill()?;
        *self = Served::start(house, model, database)?;
        Ok(())
    }

    /// SIGKILL.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
