//! Sends notices further than the bell: tried a few times, never waited for. Where an address leads
//! is looked at when it is called: a person cannot have this server call private addresses.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use ring::hmac;
use serde_json::json;
use tokio::sync::{OnceCell, Semaphore};
use weir_core::address::is_public;
use weir_engine::ports::Entry;
use weir_install::failure::HouseError;
use weir_install::people::PersonId;
use weir_install::seal::Seal;

use super::channels::{self, Channel, Wanted, Way};
use super::push::{self, Vapid};
use super::{Notice, Notify};
use crate::app::App;
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

/// Sends notices further.
pub(crate) struct Further {
    app: App,
    client: OnceCell<reqwest::Client>,
    public_client: OnceCell<reqwest::Client>,
    places: Arc<Semaphore>,
}

/// Why a call failed.
enum Missed {
    /// It may work later.
    Later(String),
    /// It will not.
    Never(String),
    /// The browser does not want it any more.
    Gone,
}

impl Further {
    /// Over the channels of everybody.
    pub(crate) fn new(app: App) -> Further {
        Further {
            app,
            client: OnceCell::new(),
            public_client: OnceCell::new(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    fn seal(&self) -> Result<Seal, HouseError> {
        Seal::new(&self.app.house.seal_key()?)
    }

    /// The server's key for web push; the first time it is made.
    pub(crate) async fn vapid(&self) -> Result<Vapid, HouseError> {
        let (records, seal) = (self.app.records.as_ref(), self.seal()?);
        for _ in 0..2 {
            if let Some(entry) = records.get(VAPID, VAPID, self.app.now()).await? {
                let key = STANDARD.decode(seal.open(VAPID, &entry.text)?);
                let key = key.map_err(|error| HouseError::Failed(error.to_string()))?;
                return Vapid::read(&key).map_err(HouseError::Failed);
            }
            let key = Vapid::generate().map_err(HouseError::Failed)?;
            let entry = Entry {
                kind: VAPID.into(),
                name: VAPID.into(),
                owner: String::new(),
                text: seal.seal(VAPID, &STANDARD.encode(key))?,
                version: 0,
                expires: None,
                ts: self.app.now(),
            };
            // Another replica may be quicker: then its key is read.
            records.put(&entry, Some(0)).await?;
        }
        Err(HouseError::Failed("the key for web push could not be kept".into()))
    }

    /// Tells one channel now, once; for the button that tries it.
    ///
    /// # Errors
    /// It did not arrive: why.
    pub(crate) async fn try_out(&self, person: &PersonId, id: &str) -> Result<(), HouseError> {
        let records = self.app.records.as_ref();
        let seal = self.seal()?;
        let found = channels::of(records, &seal, person, Wanted::One(id), self.app.now());
        let Some(channel) = found.await?.into_iter().next() else {
            return Err(HouseError::Missing("this channel".into()));
        };
        let notice = Notice {
            kind: super::NoticeKind::System,
            title: "Weir can reach you here".into(),
            text: "You asked for this notice to try the channel.".into(),
            link: "/notifications/where".into(),
        };
        let done = self.call(&channel, &notice).await;
        let why = match &done {
            Ok(()) => String::new(),
            Err(Missed::Later(why) | Missed::Never(why)) => why.clone(),
            Err(Missed::Gone) => "the browser does not want to be told any more".into(),
        };
        channels::note(records, &channel, &why).await;
        if why.is_empty() { Ok(()) } else { Err(HouseError::Refused(why)) }
    }

    async fn deliver(&self, person: &PersonId, channel: &Channel, notice: &Notice) {
        let records = self.app.records.as_ref();
        let mut waits = RETRIES.iter();
        loop {
            let why = match self.call(channel, notice).await {
                Ok(()) => return channels::note(records, channel, "").await,
                Err(Missed::Gone) => {
                    if let Err(error) = channels::remove(records, person, &channel.id).await {
                        tracing::warn!(%error, "a browser that is gone stays in the list");
                    }
                    return;
                }
                Err(Missed::Never(why)) => return channels::note(records, channel, &why).await,
                Err(Missed::Later(why)) => why,
            };
            let Some(wait) = waits.next() else {
                return channels::note(records, channel, &why).await;
            };
            tokio::select! {
                () = self.app.stop.cancelled() => return,
                () = tokio::time::sleep(*wait) => (),
            }
        }
    }

    async fn client(&self, everywhere: bool) -> Result<&reqwest::Client, Missed> {
        let cell = if everywhere { &self.client } else { &self.public_client };
        cell.get_or_try_init(|| async move {
            let tls = tokio::task::spawn_blocking(tls).await.map_err(|e| e.to_string())??;
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
        .map_err(Missed::Never)
    }

    async fn call(&self, channel: &Channel, notice: &Notice) -> Result<(), Missed> {
        let client = self.client(channel.everywhere).await?;
        let never = |error: HouseError| Missed::Never(error.to_string());
        let base = self.app.options.public_url.clone().unwrap_or_default();
        let link = if notice.link.is_empty() { base } else { format!("{base}{}", notice.link) };
        let request = match &channel.way {
            Way::Push { endpoint, p256dh, auth } => {
                let address = self.address(endpoint, channel.everywhere)?;
                let (public, secret) = push::keys(p256dh, auth).map_err(Missed::Never)?;
                let text =
                    json!({ "title": notice.title, "text": notice.text, "link": notice.link });
                let body = push::encrypt(&public, &secret, text.to_string().as_bytes());
                let origin = address.origin().ascii_serialization();
                let vapid = self.vapid().await.map_err(never)?;
                let contact = self.contact();
                let now = self.app.now().0 / 1_000_000;
                let word = vapid.authorization(&origin, &contact, now).map_err(Missed::Never)?;
                client
                    .post(address)
                    .header("authorization", word)
                    .header("content-encoding", "aes128gcm")
                    .header("ttl", "86400")
                    .body(body.map_err(Missed::Never)?)
            }
            Way::Webhook { url, secret } => {
                let body = json!({
                    "kind": notice.kind, "title": notice.title, "text": notice.text, "link": link,
                });
                let body = body.to_string();
                let mut request = client
                    .post(self.address(url, channel.everywhere)?)
                    .header("content-type", "application/json");
                if !secret.is_empty() {
                    let time = (self.app.now().0 / 1_000_000).to_string();
                    let signed = signature(secret, &time, &body);
                    request = request
                        .header("x-weir-time", time)
                        .header("x-weir-signature", format!("sha256={signed}"));
                }
                request.body(body)
            }
            Way::Ntfy { server, topic, token } => {
                let body = json!({
                    "topic": topic, "title": notice.title, "message": notice.text,
                    "click": Some(&link).filter(|link| link.starts_with("http")),
                });
                let request = client.post(self.address(server, channel.everywhere)?);
                let request = if token.is_empty() { request } else { request.bearer_auth(token) };
                request.header("content-type", "application/json").body(body.to_string())
            }
        };
        let answer = request.send().await.map_err(|error| {
            Missed::Later(format!("it could not be reached: {}", error.without_url()))
        })?;
        let status = answer.status();
        match status.as_u16() {
            200..=299 => Ok(()),
            404 | 410 if matches!(channel.way, Way::Push { .. }) => Err(Missed::Gone),
            408 | 425 | 429 | 500..=599 => Err(Missed::Later(format!("it answered {status}"))),
            _ => Err(Missed::Never(format!("it answered {status}"))),
        }
    }

    /// The address, unless it is a private one that the person may not have called.
    fn address(&self, text: &str, everywhere: bool) -> Result<url::Url, Missed> {
        let url = url::Url::parse(text).map_err(|error| Missed::Never(error.to_string()))?;
        let ip = match url.host() {
            Some(url::Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(url::Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(url::Host::Domain(_)) | None => None,
        };
        match ip {
            Some(ip) if !everywhere && !is_public(ip) => {
                Err(Missed::Never("private addresses are not called".into()))
            }
            _ => Ok(url),
        }
    }

    /// Whom a push service may write to: RFC 8292 asks for an address of a person or a page.
    fn contact(&self) -> String {
        let public = self.app.options.public_url.clone();
        public.filter(|url| url.starts_with("https://")).unwrap_or("mailto:weir@localhost".into())
    }
}

#[async_trait]
impl Notify for Further {
    async fn notify(&self, person: &PersonId, notice: Notice) {
        let found = async {
            let wanted = Wanted::Kind(notice.kind);
            channels::of(self.app.records.as_ref(), &self.seal()?, person, wanted, self.app.now())
                .await
        };
        let found = match found.await {
            Ok(found) => found,
            Err(error) => return tracing::error!(%error, "a notice could not be sent further"),
        };
        for channel in found {
            let Some(further) = self.app.further.get().cloned() else { return };
            let (person, notice) = (person.clone(), notice.clone());
            tokio::spawn(async move {
                let place = further.places.clone().acquire_owned().await;
                further.deliver(&person, &channel, &notice).await;
                drop(place);
            });
        }
    }
}

/// The signature of a call: HMAC-SHA-256 over `TIME.BODY`, in hex.
fn signature(secret: &str, time: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    secret::hex(hmac::sign(&key, format!("{time}.{body}").as_bytes()).as_ref())
}

/// How everything that leaves the server speaks TLS: by the machine's own list of authorities.
pub(crate) fn tls() -> Result<rustls::ClientConfig, String> {
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
    use super::{is_public, signature};

    #[test]
    fn s16_calls_are_signed_over_time_and_body() {
        let signed = signature("key", "1", "{}");
        assert_eq!(signed.len(), 64);
        assert_ne!(signed, signature("key", "2", "{}"));
        assert_ne!(signed, signature("other", "1", "{}"));
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
