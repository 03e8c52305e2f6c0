//! What every handler has: the installation, what runs, the settings of the server.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use http::{HeaderMap, header};
use tokio_util::sync::CancellationToken;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Clock, Records};
use weir_install::failure::InstallationError;
use weir_install::installation::Installation;
use weir_install::people::Person;
use weir_install::seal::SecretSeal;
use weir_install::user_space::UserSpace;

use crate::auth::AuthService;
use crate::chat::ChatCache;
use crate::limits::{OpenConnections, RateLimits};
use crate::mcp_clients::McpClients;
use crate::metrics::ServerMetrics;
use crate::notify::NoticeInbox;
use crate::notify::sender::{ChannelSender, ChannelSenderParts};
use crate::recent_workspaces::RecentWorkspaces;
use crate::session_registry::ServerSessions;
use crate::tls::ServerCertificate;

pub(crate) mod follow_status;
pub(crate) mod health_monitor;
mod listen;
pub(crate) mod notice_waker;
mod schedule_waker;

use follow_status::FollowStatuses;
use health_monitor::HealthMonitor;
use notice_waker::NoticeWaker;
use schedule_waker::ScheduleWaker;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where it listens.
    pub bind: SocketAddr,
    /// Under which address people reach it, without a trailing slash: `https://weir.example.org`;
    /// `None`: the one that it listens on.
    pub public_url: Option<String>,
    /// Certificate chain and key, PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A proxy in front speaks TLS and says who asks (`X-Forwarded-For`): only from these addresses
    /// is that believed.
    pub proxies: Vec<std::net::IpAddr>,
    /// Say nothing on standard error.
    pub quiet: bool,
    /// How much at once.
    pub limits: ServerLimits,
    /// What `GET /metrics` asks of whoever is not on this machine, as a bearer token; `None`: only
    /// this machine may.
    pub metrics_token: Option<String>,
}

/// How much a server takes at once.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Open connections in all.
    pub connections_max: usize,
    /// Open connections from one address; this machine and declared proxies are not counted.
    pub connections_per_address_max: usize,
    /// Requests a minute of one person; ten times as many from one address.
    pub requests_per_minute: u32,
    /// How long requests that are under way may go on when the server ends, in milliseconds.
    pub drain_ms_max: u64,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections_max: 20_000,
            connections_per_address_max: 1_000,
            requests_per_minute: 1_200,
            drain_ms_max: 10_000,
        }
    }
}

/// What every handler has. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppState>);

/// The parts of [`App`].
pub struct AppState {
    /// The program around.
    pub installation: Arc<Installation>,
    /// What is kept beside sessions.
    pub records: Arc<dyn Records>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The service that signs people in.
    pub(crate) auth: AuthService,
    /// Sessions that run here, and whoever listens.
    pub(crate) sessions: ServerSessions,
    /// Chats that pages showed a moment ago.
    pub(crate) chats: ChatCache,
    /// Workspaces whose files pages showed a moment ago.
    pub(crate) recent_workspaces: RecentWorkspaces,
    /// Schedulers of everybody's agents.
    pub(crate) schedules: ScheduleWaker,
    /// What people are told outside chats.
    pub(crate) notices: NoticeInbox,
    /// By which sessions say that there may be something to tell.
    pub(crate) notice_waker: NoticeWaker,
    /// The sender of notices to channels.
    pub(crate) channel_sender: Arc<ChannelSender>,
    /// Programs that call tools over MCP.
    pub(crate) mcp: McpClients,
    /// How mail accounts that are followed here stand.
    pub(crate) mail: FollowStatuses,
    /// What everybody may ask for in a minute.
    pub(crate) rates: RateLimits,
    /// Connections that are open.
    pub(crate) connections: Arc<OpenConnections>,
    /// Figures.
    pub(crate) metrics: Arc<ServerMetrics>,
    /// What works.
    pub(crate) health: HealthMonitor,
    /// The server's own certificate, where it speaks TLS itself.
    pub(crate) certificate: OnceLock<Arc<ServerCertificate>>,
    /// Settings.
    pub options: ServerOptions,
    /// Cancelled when the server ends.
    pub stop: CancellationToken,
}

impl Deref for App {
    type Target = AppState;
    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl App {
    /// The address of this server as whoever asks knows it: the public one, or the name that it was asked by.
    /// `None`: the request names no host.
    pub(crate) fn asked_origin(&self, headers: &HeaderMap) -> Option<String> {
        if let Some(url) = &self.options.public_url {
            return Some(url.clone());
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok())?;
        let scheme = if self.options.tls.is_some() { "https" } else { "http" };
        Some(format!("{scheme}://{host}"))
    }

    /// A server that does not listen yet.
    ///
    /// # Errors
    /// The key by which secrets are sealed cannot be had: nobody could sign in with a second factor.
    pub fn new(
        installation: Arc<Installation>,
        options: ServerOptions,
    ) -> Result<App, InstallationError> {
        let (records, clock) = (installation.records(), installation.clock());
        let key = installation.seal_key()?;
        let seal = SecretSeal::new(&key)?;
        let stop = CancellationToken::new();
        let metrics = Arc::new(ServerMetrics::new());
        installation.observe(metrics.clone());
        let notices = NoticeInbox::new(records.clone(), clock.clone());
        let channel_sender = ChannelSender::new(ChannelSenderParts {
            installation: installation.clone(),
            records: records.clone(),
            clock: clock.clone(),
            public_url: options.public_url.clone(),
            stop: stop.clone(),
        });
        notices.set_sink(channel_sender.clone());
        Ok(App(Arc::new(AppState {
            auth: AuthService::new(records.clone(), clock.clone(), seal),
            notices,
            sessions: ServerSessions::new(&key, stop.child_token()),
            chats: ChatCache::default(),
            recent_workspaces: RecentWorkspaces::default(),
            schedules: ScheduleWaker::default(),
            notice_waker: NoticeWaker::default(),
            channel_sender,
            mcp: McpClients::default(),
            mail: FollowStatuses::default(),
            rates: RateLimits::new(options.limits.requests_per_minute),
            connections: Arc::default(),
            metrics,
            health: HealthMonitor::new(clock.now()),
            certificate: OnceLock::new(),
            installation,
            records,
            clock,
            options,
            stop,
        })))
    }

    /// Now.
    pub(crate) fn current_time(&self) -> Timestamp {
        self.clock.now()
    }

    /// Everything of a person.
    pub(crate) async fn user_space(
        &self,
        person: &Person,
    ) -> Result<Arc<UserSpace>, InstallationError> {
        self.installation.user_space(person).await
    }
}
