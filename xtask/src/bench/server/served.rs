//! `weir serve` in the folders of a bench.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;

use super::super::house::House;
use super::super::used;
use crate::served::ServedProcess;
use crate::served::person::PASSWORD;

/// One that does not listen in this time never does.
const PATIENCE: Duration = Duration::from_secs(60);
/// What all servers of a house said.
const LOG: &str = "serve.log";
/// Lines of it that stand in an error.
const LINES_TOLD: usize = 20;

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
    process: ServedProcess,
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
        let mut process = ServedProcess::start(command, &house.at(LOG))?;
        let address = process.wait_for_address(PATIENCE).with_context(|| last_said(house))?;
        let address = address.with_context(|| {
            let seconds = PATIENCE.as_secs();
            format!("the server does not listen after {seconds} s; {}", last_said(house))
        })?;
        Ok(Served { process, address })
    }

    /// Bytes of memory that it has now.
    pub(super) fn memory(&self) -> anyhow::Result<f64> {
        used::memory(self.process.id()).map(|(resident, _)| resident)
    }

    /// Processor time that it has used.
    pub(super) fn processor_time(&self) -> anyhow::Result<Duration> {
        used::ticks_time(self.process.id())
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
        self.process.kill().map(drop)
    }
}

/// The last that servers of this house said, for whoever waits for one of them in vain.
pub(super) fn last_said(house: &House) -> String {
    let said = fs::read_to_string(house.at(LOG)).unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    let first = lines.len().saturating_sub(LINES_TOLD);
    format!("the last that servers said:\n{}", lines[first..].join("\n"))
}
