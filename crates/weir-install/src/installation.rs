//! The program on this machine as a server sees it: its people, each with a space of their own,
//! over the same wiring that `weir run` has.
//!
//! Whoever set the server up has the folders of the command line; everybody else has folders of
//! their own below `people/` in the state folder, and works in `users/NAME`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use tokio::sync::Mutex;
use weir_engine::ports::{Clock, Observer, Records, Store};
use weir_store::{PostgresStores, SqliteStore};
use weir_web::canonical_host;

use crate::audit::AuditChainSource;
use crate::context::{InstallationContext, PersonAccess};
use crate::environment::WeirFolders;
use crate::failure::{InstallationError, refused, usage};
use crate::maintenance::Maintenance;
use crate::people::Person;
use crate::seal;
use crate::user_space::UserSpace;
use crate::wiring::WallClock;

mod people_book;

use people_book::PeopleBook;

/// The program on this machine.
pub struct Installation {
    cx: InstallationContext,
    records: Arc<dyn Records>,
    clock: Arc<WallClock>,
    care: Maintenance,
    homes: Mutex<HashMap<String, Weak<UserSpace>>>,
    database: Arc<SessionDatabase>,
    /// What everybody spends.
    book: Arc<PeopleBook>,
}

/// Where sessions are kept.
enum SessionDatabase {
    /// In files below this folder.
    Files(PathBuf),
    /// In one database for everybody, where each sees their own.
    Postgres(PostgresStores),
}

impl SessionDatabase {
    /// Opens it, with what the server keeps beside sessions.
    async fn open(
        name: &str,
        dirs: &WeirFolders,
    ) -> anyhow::Result<(SessionDatabase, Arc<dyn Records>)> {
        if name.starts_with("postgres") {
            let stores = PostgresStores::connect(name).await?;
            let records = stores.server_records();
            return Ok((SessionDatabase::Postgres(stores), records));
        }
        let records = weir_store::open_records(name, &dirs.state).await?;
        let folder = name.strip_prefix("sqlite:").map_or(dirs.state.clone(), PathBuf::from);
        Ok((SessionDatabase::Files(folder), records))
    }

    /// The store of one person.
    async fn store_of(&self, person: &Person) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self {
            SessionDatabase::Postgres(stores) => {
                Arc::new(stores.store_of_owner(person.id.as_str()).await?)
            }
            SessionDatabase::Files(folder) if person.first => Arc::new(SqliteStore::open(folder)?),
            SessionDatabase::Files(folder) => {
                let own = folder.join("people").join(person.id.as_str());
                Arc::new(SqliteStore::open(&own)?)
            }
        })
    }

    /// Where the audit lines of one person are checked.
    async fn audit_chain_source(&self, person: &Person) -> anyhow::Result<AuditChainSource> {
        Ok(match self {
            SessionDatabase::Postgres(stores) => {
                AuditChainSource::Postgres(stores.store_of_owner(person.id.as_str()).await?)
            }
            SessionDatabase::Files(folder) if person.first => {
                AuditChainSource::Files(folder.clone())
            }
            SessionDatabase::Files(folder) => {
                AuditChainSource::Files(folder.join("people").join(person.id.as_str()))
            }
        })
    }

    /// Removes what the files of a person do not hold.
    async fn remove(&self, person: &Person) -> anyhow::Result<()> {
        match self {
            SessionDatabase::Postgres(stores) => {
                stores.remove(person.id.as_str()).await.map(drop)?
            }
            SessionDatabase::Files(folder) => {
                let own = folder.join("people").join(person.id.as_str());
                if own.exists() {
                    std::fs::remove_dir_all(own)?;
                }
            }
        }
        Ok(())
    }
}

impl Installation {
    /// Opens what is kept. `database`: `sqlite:PATH`, `postgres://…`, or empty for the state folder.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn open(cx: InstallationContext, database: &str) -> anyhow::Result<Installation> {
        let (kept, records) = SessionDatabase::open(database, &cx.dirs).await?;
        let kept = Arc::new(kept);
        let book = Arc::new(PeopleBook::new(kept.clone(), records.clone()));
        Ok(Installation {
            care: Maintenance::new(&cx.dirs, database),
            clock: Arc::new(WallClock::default()),
            homes: Mutex::default(),
            database: kept,
            book,
            cx,
            records,
        })
    }

    /// Where somebody who is not the first keeps what Weir keeps of them.
    fn dirs_of(&self, person: &Person) -> WeirFolders {
        let own = self.cx.dirs.state.join("people").join(person.id.as_str());
        WeirFolders {
            config: own.join("config"),
            state: own,
            home: None,
            hidden: vec![self.cx.dirs.state.clone(), self.cx.dirs.config.clone()],
        }
    }

    /// The folder in which they work.
    ///
    /// # Errors
    /// The settings cannot be read, or `server.users_dir` is no absolute path.
    fn folder_of(&self, person: &Person) -> anyhow::Result<PathBuf> {
        if person.first {
            return Ok(self.cx.folder.clone());
        }
        let config = self.cx.config()?;
        let set = config.settings.server.users_dir.as_str();
        let users = match (set, &self.cx.dirs.home) {
            ("", Some(home)) => home.join(".local/share/weir/users"),
            ("", None) => PathBuf::from("/var/lib/weir/users"),
            (set, home) => match (set.strip_prefix("~/"), home) {
                (Some(below), Some(home)) => home.join(below),
                _ => PathBuf::from(set),
            },
        };
        match users.is_absolute() {
            true => Ok(users.join(&person.name)),
            false => Err(usage(format!(
                "{}: server.users_dir {set:?} is no absolute path",
                config.origin_of_key("server.users_dir")
            ))),
        }
    }

    async fn make_user_space(&self, person: &Person) -> anyhow::Result<UserSpace> {
        let folder = self.folder_of(person)?;
        let in_state = matches!(self.database.as_ref(), SessionDatabase::Files(at) if *at == self.cx.dirs.state);
        let cx = match person.first {
            // One store for the browser and the command line.
            true if in_state => self.cx.reloaded_in_folder(&folder)?,
            true => {
                let store = self.database.store_of(person).await?;
                let access = PersonAccess { store, is_guest: false };
                self.cx.of_person(self.cx.dirs.clone(), &folder, access)?
            }
            false => {
                std::fs::create_dir_all(&folder)?;
                let store = self.database.store_of(person).await?;
                let access = PersonAccess { store, is_guest: !person.is_admin() };
                self.cx.of_person(self.dirs_of(person), &folder, access)?
            }
        };
        let cx = cx.with_server_book(self.book.clone());
        let chained = self.database.audit_chain_source(person).await?;
        let seal_key = seal::read_key(&self.cx.dirs.state)?;
        UserSpace::new(cx, person.clone(), self.records.clone(), chained, seal_key)
    }
}

impl Installation {
    /// Everything of one person. The same one each time, as long as it is in use; made when it is
    /// first asked for.
    ///
    /// # Errors
    /// Their store or folder cannot be opened.
    pub async fn user_space(&self, person: &Person) -> Result<Arc<UserSpace>, InstallationError> {
        let mut homes = self.homes.lock().await;
        let there = homes.get(person.id.as_str()).and_then(Weak::upgrade);
        // What they may do changes what they have: another role is another home.
        if let Some(home) = there.filter(|home| home.person.role == person.role) {
            return Ok(home);
        }
        let home = Arc::new(self.make_user_space(person).await.map_err(|error| refused(&error))?);
        homes.retain(|_, home| home.strong_count() > 0);
        homes.insert(person.id.0.clone(), Arc::downgrade(&home));
        Ok(home)
    }

    /// What is kept of a person is removed: sessions, files of Weir's own, folder (D9). Their
    /// entries in [`Records`] are the caller's.
    ///
    /// # Errors
    /// Something could not be removed; the rest is gone.
    pub async fn remove_user_space(&self, person: &Person) -> Result<(), InstallationError> {
        if person.first {
            return Err(InstallationError::Refused(
                "this account has the files of this machine".into(),
            ));
        }
        let failed = |error: std::io::Error| InstallationError::Failed(error.to_string());
        self.homes.lock().await.remove(person.id.as_str());
        self.database
            .remove(person)
            .await
            .map_err(|e| InstallationError::Failed(format!("{e:#}")))?;
        let dirs = self.dirs_of(person);
        if !dirs.state.exists() {
            return Ok(());
        }
        tokio::fs::remove_dir_all(&dirs.state).await.map_err(failed)
    }

    /// What the server keeps beside sessions.
    pub fn records(&self) -> Arc<dyn Records> {
        self.records.clone()
    }

    /// The clock that tells the time.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// Version of the program.
    pub fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    /// `observer` is told of every fact that becomes durable here from now on.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.cx.observers.add(observer);
    }

    /// Whether this host, as it stands in an address, is one of `web.allow_hosts`: those may be private. Where
    /// the settings cannot be read, none is.
    pub fn lists_host(&self, host: &str) -> bool {
        let Ok(host) = canonical_host(host) else { return false };
        let config = self.cx.config().ok();
        let listed = config.map(|config| config.settings.web.allow_hosts.as_slice());
        let mut listed = listed.unwrap_or_default().iter();
        listed.any(|entry| canonical_host(entry).is_ok_and(|entry| entry == host))
    }

    /// Health of the installation, backups.
    pub fn maintenance(&self) -> &Maintenance {
        &self.care
    }

    /// The key by which secrets in the database are sealed. It lies outside the database (Z7).
    ///
    /// # Errors
    /// Its file cannot be read or made.
    pub fn seal_key(&self) -> Result<[u8; 32], InstallationError> {
        seal::read_key(&self.cx.dirs.state)
            .map_err(|error| InstallationError::Failed(format!("{error:#}")))
    }
}
