//! Sends notices to the channels of a person: tried a few times, never waited for. Where an address
//! leads is looked at when it is called: a person cannot have this server call private addresses.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use ring::hmac;
use serde_json::json;
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;
use weir_core::address::is_public;
use weir_engine::ports::{Clock, RecordEntry, Records};
use weir_install::failure::InstallationError;
use weir_install::installation::Installation;
use weir_install::people::PersonId;
use weir_install::seal::SecretSeal;

use super::channels::{self, ChannelAddress, ChannelFilter, UnsealedChannel};
use super::push::{self, VapidKey};
use super::{Notice, NoticeSink};
use crate::auth::secret;

/// The kind of the server's key for web push in the records.
const VAPID: &str = "vapid";
/// Longest wait for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Waits before it is tried again.
const RETRIES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60)];
/// Calls at once.
const AT_ONCE: usize = 16;

/// What sending needs of the server.
pub(crate) struct ChannelSenderParts {
    /// The program around: it has the key by which channels are sealed.
    pub(crate) installation: Arc<Installation>,
    /// Where channels are kept.
    pub(crate) records: Arc<dyn Records>,
    /// The time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Under which address people reach the server.
    pub(crate) public_url: Option<String>,
    /// Cancelled when the server ends.
    pub(crate) stop: CancellationToken,
}

/// Sends notices to the channels of a person.
pub(crate) struct ChannelSender {
    me: Weak<ChannelSender>,
    parts: ChannelSenderParts,
    client: OnceCell<reqwest::Client>,
    public_client: OnceCell<reqwest::Client>,
    places: Arc<Semaphore>,
}

/// Why a call failed.
enum DeliveryFailure {
    /// It may work later.
    Later(String),
    /// It will not.
    Never(String),
    /// The browser does not want it any more.
    Gone,
}

impl ChannelSender {
    /// Over the channels of everybody.
    pub(crate) fn new(parts: ChannelSenderParts) -> Arc<ChannelSender> {
        Arc::new_cyclic(|me| ChannelSender {
            me: me.clone(),
            parts,
            client: OnceCell::new(),
            public_client: OnceCell::new(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    fn channel_seal(&self) -> Result<SecretSeal, InstallationError> {
        SecretSeal::new(&self.parts.installation.seal_key()?)
    }

    /// The server's key for web push; the first time it is made.
    pub(crate) async fn vapid_key(&self) -> Result<VapidKey, InstallationError> {
        let (records, seal) = (self.parts.records.as_ref(), self.channel_seal()?);
        for _ in 0..2 {
            if let Some(entry) = records.get(VAPID, VAPID, self.parts.clock.now()).await? {
                let key = STANDARD.decode(seal.open(VAPID, &entry.text)?);
                let key = key.map_err(|error| InstallationError::Failed(error.to_string()))?;
                return VapidKey::parse_pkcs8(&key).map_err(InstallationError::Failed);
            }
            let key = VapidKey::generate_pkcs8().map_err(InstallationError::Failed)?;
            let entry = RecordEntry {
                kind: VAPID.into(),
                name: VAPID.into(),
                owner: String::new(),
                text: seal.seal(VAPID, &STANDARD.encode(key))?,
                version: 0,
                expires: None,
                ts: self.parts.clock.now(),
            };
            // Another replica may be quicker: then its key is read.
            records.put(&entry, Some(0)).await?;
        }
        Err(InstallationError::Failed("the key for web push could not be kept".into()))
    }

    /// Tells one channel now, once; for the button that tries it.
    ///
    /// # Errors
    /// It did not arrive: why.
    pub(crate) async fn try_out(
        &self,
        person: &PersonId,
        id: &str,
    ) -> Result<(), InstallationError> {
        let records = self.parts.records.as_ref();
        let seal = self.channel_seal()?;
        let found = channels::open_channels(
            records,
            &seal,
            person,
            ChannelFilter::One(id),
            self.parts.clock.now(),
        );
        let Some(channel) = found.await?.into_iter().next() else {
            return Err(InstallationError::Missing("this channel".into()));
        };
        let notice = Notice {
            kind: super::NoticeKind::System,
            title: "Weir can reach you here".into(),
            text: "You asked for this notice to try the channel.".into(),
            link: "/notifications/where".into(),
        };
        let done = self.call_channel(&channel, &notice).await;
        let why = match &done {
            Ok(()) => String::new(),
            Err(DeliveryFailure::Later(why) | DeliveryFailure::Never(why)) => why.clone(),
            Err(DeliveryFailure::Gone) => "the browser does not want to be told any more".into(),
        };
        channels::note_delivery(records, &channel, &why).await;
        if why.is_empty() { Ok(()) } else { Err(InstallationError::Refused(why)) }
    }

    async fn deliver_notice(&self, person: &PersonId, channel: &UnsealedChannel, notice: &Notice) {
        let records = self.parts.records.as_ref();
        let mut waits = RETRIES.iter();
        loop {
            let why = match self.call_channel(channel, notice).await {
                Ok(()) => return channels::note_delivery(records, channel, "").await,
                Err(DeliveryFailure::Gone) => {
                    if let Err(error) = channels::remove(records, person, &channel.id).await {
                        tracing::warn!(%error, "a browser that is gone stays in the list");
                    }
                    return;
                }
                Err(DeliveryFailure::Never(why)) => {
                    return channels::note_delivery(records, channel, &why).await;
                }
                Err(DeliveryFailure::Later(why)) => why,
            };
            let Some(wait) = waits.next() else {
                return channels::note_delivery(records, channel, &why).await;
            };
            tokio::select! {
                () = self.parts.stop.cancelled() => return,
                () = tokio::time::sleep(*wait) => (),
            }
        }
    }

    async fn http_client(&self, everywhere: bool) -> Result<&reqwest::Client, DeliveryFailure> {
        let cell = if everywhere { &self.client } else { &self.public_client };
        cell.get_or_try_init(|| async move {
            let tls = tokio::task::spawn_blocking(tls_client_config)
                .await
                .map_err(|e| e.to_string())??;
            let mut builder = reqwest::Client::builder()
                .tls_backend_preconfigured(tls)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .timeout(ANSWER_MAX);
            if !everywhere {
                builder = builder.dns_resolver(Arc::new(PublicOnly));
            }
            builder.build().map_err(|error| error.to_string())
        })
        .await
        .map_err(DeliveryFailure::Never)
    }

    async fn call_channel(
        &self,
        channel: &UnsealedChannel,
        notice: &Notice,
    ) -> Result<(), DeliveryFailure> {
        let client = self.http_client(channel.everywhere).await?;
        let never = |error: InstallationError| DeliveryFailure::Never(error.to_string());
        let base = self.parts.public_url.clone().unwrap_or_default();
        let link = if notice.link.is_empty() { base } else { format!("{base}{}", notice.link) };
        let request = match &channel.way {
            ChannelAddress::Push { endpoint, p256dh, auth } => {
                let address = self.check_address(endpoint, channel.everywhere)?;
                let (public, secret) =
                    push::decode_browser_keys(p256dh, auth).map_err(DeliveryFailure::Never)?;
                let text =
                    json!({ "title": notice.title, "text": notice.text, "link": notice.link });
                let body = push::encrypt_notice(&public, &secret, text.to_string().as_bytes());
                let origin = address.origin().ascii_serialization();
                let vapid = self.vapid_key().await.map_err(never)?;
                let contact = self.vapid_contact();
                let now = self.parts.clock.now().0 / 1_000_000;
                let word = vapid
                    .authorization_header(&origin, &contact, now)
                    .map_err(DeliveryFailure::Never)?;
                client
                    .post(address)
                    .header("authorization", word)
                    .header("content-encoding", "aes128gcm")
                    .header("ttl", "86400")
                    .body(body.map_err(DeliveryFailure::Never)?)
            }
            ChannelAddress::Webhook { url, secret } => {
                let body = json!({
                    "kind": notice.kind, "title": notice.title, "text": notice.text, "link": link,
                });
                let body = body.to_string();
                let mut request = client
                    .post(self.check_address(url, channel.everywhere)?)
                    .header("content-type", "application/json");
                if !secret.is_empty() {
                    let time = (self.parts.clock.now().0 / 1_000_000).to_string();
                    let signed = webhook_signature(secret, &time, &body);
                    request = request
                        .header("x-weir-time", time)
                        .header("x-weir-signature", format!("sha256={signed}"));
                }
                request.body(body)
            }
            ChannelAddress::Ntfy { server, topic, token } => {
                let body = json!({
                    "topic": topic, "title": notice.title, "message": notice.text,
                    "click": Some(&link).filter(|link| link.starts_with("http")),
                });
                let request = client.post(self.check_address(server, channel.everywhere)?);
                let request = if token.is_empty() { request } else { request.bearer_auth(token) };
                request.header("content-type", "application/json").body(body.to_string())
            }
        };
        let answer = request.send().await.map_err(|error| {
            DeliveryFailure::Later(format!("it could not be reached: {}", error.without_url()))
        })?;
        let status = answer.status();
        match status.as_u16() {
            200..=299 => Ok(()),
            404 | 410 if matches!(channel.way, ChannelAddress::Push { .. }) => {
                Err(DeliveryFailure::Gone)
            }
            408 | 425 | 429 | 500..=599 => {
                Err(DeliveryFailure::Later(format!("it answered {status}")))
            }
            _ => Err(DeliveryFailure::Never(format!("it answered {status}"))),
        }
    }

    /// The address, unless it is a private one that the person may not have called.
    fn check_address(&self, text: &str, everywhere: bool) -> Result<url::Url, DeliveryFailure> {
        let url =
            url::Url::parse(text).map_err(|error| DeliveryFailure::Never(error.to_string()))?;
        let ip = match url.host() {
            Some(url::Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(url::Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(url::Host::Domain(_)) | None => None,
        };
        match ip {
            Some(ip) if !everywhere && !is_public(ip) => {
                Err(DeliveryFailure::Never("private addresses are not called".into()))
            }
            _ => Ok(url),
        }
    }

    /// Whom a push service may write to: RFC 8292 asks for an address of a person or a page.
    fn vapid_contact(&self) -> String {
        let public = self.parts.public_url.clone();
        public.filter(|url| url.starts_with("https://")).unwrap_or("mailto:weir@localhost".into())
    }
}

#[async_trait]
impl NoticeSink for ChannelSender {
    async fn notify_person(&self, person: &PersonId, notice: Notice) {
        let found = async {
            let wanted = ChannelFilter::Kind(notice.kind);
            channels::open_channels(
                self.parts.records.as_ref(),
                &self.channel_seal()?,
                person,
                wanted,
                self.parts.clock.now(),
            )
            .await
        };
        let found = match found.await {
            Ok(found) => found,
            Err(error) => return tracing::error!(%error, "a notice could not be sent further"),
        };
        for channel in found {
            let Some(channel_sender) = self.me.upgrade() else { return };
            let (person, notice) = (person.clone(), notice.clone());
            tokio::spawn(async move {
                let place = channel_sender.places.clone().acquire_owned().await;
                channel_sender.deliver_notice(&person, &channel, &notice).await;
                drop(place);
            });
        }
    }
}

/// The signature of a call: HMAC-SHA-256 over `TIME.BODY`, in hex.
fn webhook_signature(secret: &str, time: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    secret::encode_hex(hmac::sign(&key, format!("{time}.{body}").as_bytes()).as_ref())
}

/// How everything that leaves the server speaks TLS: by the machine's own list of authorities.
pub(crate) fn tls_client_config() -> Result<rustls::ClientConfig, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = builder.with_platform_verifier().map_err(|error| error.to_string())?;
    Ok(builder.with_no_client_auth())
}

/// Looks names up, and leaves out what is private.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|at| is_public(at.ip())).collect();
            if public.is_empty() {
                return Err("the name leads to no public address".into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{is_public, webhook_signature};

    #[test]
    fn s16_calls_are_signed_over_time_and_body() {
        let signed = webhook_signature("key", "1", "{}");
        assert_eq!(signed.len(), 64);
        assert_ne!(signed, webhook_signature("key", "2", "{}"));
        assert_ne!(signed, webhook_signature("other", "1", "{}"));
    }

    #[test]
    fn z5_private_addresses_are_not_called() {
        for private in
            ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1"]
        {
            assert!(!is_public(private.parse().expect("an address")), "{private}");
        }
        assert!(is_public("93.184.216.34".parse().expect("an address")));
    }
}
