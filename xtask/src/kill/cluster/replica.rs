//! The replicas: real processes of `weir serve` on one database, each behind a proxy of its own, and where
//! whoever asks one of them finds it. Not here: what happens to them.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::super::house::House;
use super::super::random::Random;
use super::super::syncs::Syncs;
use super::clock::WallClock;
use super::proxy::Proxy;
use crate::database;
use crate::served::ServedProcess;

/// A replica that does not listen in this time never does.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries to start one whose database was away.
const TRY_AGAIN: Duration = Duration::from_millis(300);

/// Where replicas listen now; `None`: that one does not.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses(Arc<Mutex<Vec<Option<String>>>>);

impl Addresses {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, replica: usize, address: Option<String>) {
        let mut all = self.lock();
        if all.len() <= replica {
            all.resize(replica + 1, None);
        }
        all[replica] = address;
    }

    /// One of those that listen. One that is stopped or cut off is among them: nobody knows that from outside.
    pub(super) fn any(&self, random: &mut Random) -> Option<String> {
        let all: Vec<String> = self.lock().iter().flatten().cloned().collect();
        let at = usize::try_from(random.below(all.len() as u64)).unwrap_or(0);
        all.get(at).cloned()
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.lock().iter().flatten().cloned().collect()
    }
}

/// One replica, over all its processes.
pub(super) struct Replica {
    pub(super) proxy: Proxy,
    /// Where no clock can be set it lives by that of the machine.
    clock: Option<WallClock>,
    process: Option<ServedProcess>,
    starts: u32,
}

/// All of them.
pub(super) struct Replicas<'a> {
    house: &'a House,
    database: String,
    all: Vec<Replica>,
    pub(super) addresses: Addresses,
}

impl Replicas<'_> {
    /// So many on the database of this URL, with clocks by this library; none is started.
    ///
    /// # Errors
    /// The URL does not name host and port, there is no port for a proxy, or a clock cannot be made.
    pub(super) async fn prepare<'a>(
        house: &'a House,
        database: String,
        count: usize,
        library: Option<&Path>,
    ) -> anyhow::Result<Replicas<'a>> {
        let mut all = Vec::new();
        for at in 0..count {
            let proxy = Proxy::listen(database::upstream(&database)?).await?;
            let file = house.folder.join(format!("clock-{}", at + 1));
            let clock = library.map(|library| WallClock::new(library, file)).transpose()?;
            all.push(Replica { proxy, clock, process: None, starts: 0 });
        }
        Ok(Replicas { house, database, all, addresses: Addresses::default() })
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn proxy(&self, at: usize) -> &Proxy {
        &self.all[at].proxy
    }

    /// Sets its wall clock wrong by so many seconds, where it has one of its own.
    ///
    /// # Errors
    /// That cannot be written.
    pub(super) fn set_clock(&self, at: usize, seconds: i64) -> anyhow::Result<()> {
        self.all[at].clock.as_ref().map_or(Ok(()), |clock| clock.set(seconds))
    }

    /// What the connections of its present process call themselves.
    pub(super) fn writer(&self, at: usize) -> String {
        format!("r{}.{}", at + 1, self.all[at].starts)
    }

    /// Its present process.
    ///
    /// # Errors
    /// It has none.
    pub(super) fn process(&mut self, at: usize) -> anyhow::Result<&mut ServedProcess> {
        self.all[at].process.as_mut().with_context(|| format!("replica {} does not run", at + 1))
    }

    /// Its process is no more.
    pub(super) fn forget(&mut self, at: usize) {
        self.addresses.set(at, None);
        let replica = &mut self.all[at];
        if let (Some(process), Some(clock)) = (replica.process.take(), &replica.clock) {
            clock.tidy(process.id());
        }
    }

    /// Starts a process of it and waits until it listens. One that ends before, since its database was away
    /// just then, is started again.
    ///
    /// # Errors
    /// It does not listen in time.
    pub(super) async fn start(&mut self, at: usize) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            self.all[at].starts += 1;
            let proxy = self.all[at].proxy.address.to_string();
            let url = database::through(&self.database, &proxy, &self.writer(at))?;
            let log = self.house.folder.join(format!("replica-{}.log", at + 1));
            let mut command = self.house.serve_people(Syncs::Sound, Some(&url))?;
            if let Some(clock) = &self.all[at].clock {
                clock.wind(&mut command);
            }
            let mut process = ServedProcess::start(command, &log)?;
            match listening(&mut process, until).await {
                Ok(Some(address)) => {
                    self.addresses.set(at, Some(address));
                    self.all[at].process = Some(process);
                    return Ok(());
                }
                Ok(None) => bail!("replica {} does not listen: {}", at + 1, log.display()),
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => tokio::time::sleep(TRY_AGAIN).await,
            }
        }
    }

    /// The replicas whose process ended by itself, in words.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn ended(&mut self) -> anyhow::Result<Vec<String>> {
        let mut ended = Vec::new();
        for (at, replica) in self.all.iter_mut().enumerate() {
            if let Some(process) = &mut replica.process
                && let Some(status) = process.ended()?
            {
                replica.process = None;
                self.addresses.set(at, None);
                ended.push(format!("replica {} ended by itself with {status}", at + 1));
            }
        }
        Ok(ended)
    }
}

async fn listening(process: &mut ServedProcess, until: Instant) -> anyhow::Result<Option<String>> {
    while Instant::now() < until {
        if let Some(address) = process.wait_for_address(Duration::ZERO)? {
            return Ok(Some(address));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(None)
}
