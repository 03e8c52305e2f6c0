//! Sends notices to the channels of a person: tried a few times, never waited for. Not here: where a call may
//! lead (`outgoing`), what messengers are sent and say (`telegram`, `matrix`).

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Clock, RecordEntry, Records};
use weir_install::failure::InstallationError;
use weir_install::installation::Installation;
use weir_install::people::PersonId;
use weir_install::seal::SecretSeal;

use super::address::{ChannelAddress, TELEGRAM_SERVER};
use super::channels::{self, ChannelFilter, UnsealedChannel};
use super::delivery::{ChannelReply, DeliveryFailure};
use super::message::NoticeMessage;
use super::outgoing::{OutgoingClients, check_address};
use super::push::{self, VapidKey};
use super::{Notice, NoticeSink, matrix, telegram};
use crate::auth::shelf::TypedRecords;
use crate::auth::{logins, secret};
use crate::notice_acts::{self, ActKey, ChannelOrigin};
use crate::problem::HandlerResult;

/// The kind of the server's key for web push in the records.
const VAPID: &str = "vapid";
/// Waits before it is tried again.
const RETRIES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60)];
/// Longest that a channel is left alone because it asks for that; who asks for more gets the next notice.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(5 * 60);
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
    clients: OutgoingClients,
    places: Semaphore,
    /// Notices on their way.
    under_way: TaskTracker,
}

/// A notice with the page on which it is answered, where it may be, and when its delivery began.
#[derive(Clone, Copy)]
struct ToldNotice<'a> {
    notice: &'a Notice,
    answer: Option<&'a str>,
    moment: Timestamp,
}

/// A browser that agreed to be told.
struct PushBrowser<'a> {
    address: url::Url,
    p256dh: &'a str,
    auth: &'a str,
}

impl ChannelSender {
    /// Over the channels of everybody.
    pub(crate) fn new(parts: ChannelSenderParts) -> Arc<ChannelSender> {
        Arc::new_cyclic(|me| ChannelSender {
            me: me.clone(),
            parts,
            clients: OutgoingClients::default(),
            places: Semaphore::new(AT_ONCE),
            under_way: TaskTracker::new(),
        })
    }

    /// Waits until every notice that is on its way has arrived or was given up, but no longer than `limit`:
    /// for a program that ends then.
    pub(crate) async fn wait_until_sent(&self, limit: Duration) {
        self.under_way.close();
        if tokio::time::timeout(limit, self.under_way.wait()).await.is_err() {
            tracing::warn!("a notice was not delivered in time; the list behind the bell has it");
        }
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
            offer: None,
        };
        let told = ToldNotice { notice: &notice, answer: None, moment: self.parts.clock.now() };
        let done = self.call_channel(&channel, told).await;
        let why = done.err().map(DeliveryFailure::into_reason).unwrap_or_default();
        channels::note_delivery(records, &channel, &why).await;
        if why.is_empty() { Ok(()) } else { Err(InstallationError::Refused(why)) }
    }

    /// The page on which what a notice asks is answered, made for this channel alone; `None`: nothing is
    /// asked that may be answered so, or no telephone is there that could.
    async fn answer_page(
        &self,
        person: &PersonId,
        channel: &UnsealedChannel,
        notice: &Notice,
    ) -> HandlerResult<Option<String>> {
        let Some(offer) = &notice.offer else { return Ok(None) };
        let shelf = TypedRecords::new(self.parts.records.clone(), self.parts.clock.clone());
        let origin = match &channel.way {
            ChannelAddress::Push { .. } => ChannelOrigin::Browser(channel.login.as_deref()),
            ChannelAddress::Webhook { .. }
            | ChannelAddress::Ntfy { .. }
            | ChannelAddress::Telegram { .. }
            | ChannelAddress::Matrix { .. } => ChannelOrigin::Elsewhere(&channel.id),
        };
        let Some(source) = notice_acts::source_for_channel(&shelf, person, origin).await? else {
            return Ok(None);
        };
        let key = ActKey::from_server_key(&self.parts.installation.seal_key()?);
        let token = notice_acts::create_act(&shelf, &key, person, offer, source).await?;
        Ok(Some(format!("{}{token}", notice_acts::PAGE)))
    }

    /// Whether the telephone is paired no more in which this channel was added: then the channel goes.
    async fn is_of_ended_phone(&self, person: &PersonId, channel: &UnsealedChannel) -> bool {
        let Some(login) = &channel.login else { return false };
        let records = self.parts.records.clone();
        let shelf = TypedRecords::new(records.clone(), self.parts.clock.clone());
        match logins::find_login(&shelf, login).await {
            Ok(Some(found)) if found.owner == person.as_str() => return false,
            Ok(_) => (),
            // It is not known whose telephone it is: nothing is told there.
            Err(problem) => {
                tracing::error!(why = %problem.detail, "a notice was not sent to a telephone");
                return true;
            }
        }
        if let Err(error) = channels::remove(records.as_ref(), person, &channel.id).await {
            tracing::warn!(%error, "a telephone that is paired no more stays in the list");
        }
        true
    }

    async fn deliver_notice(&self, person: &PersonId, channel: &UnsealedChannel, notice: &Notice) {
        let records = self.parts.records.as_ref();
        let mut place = self.places.acquire().await;
        if self.is_of_ended_phone(person, channel).await {
            return;
        }
        let answer = match self.answer_page(person, channel, notice).await {
            Ok(answer) => answer,
            Err(problem) => {
                tracing::error!(why = %problem.detail, "a notice carries no answer");
                None
            }
        };
        let told = ToldNotice { notice, answer: answer.as_deref(), moment: self.parts.clock.now() };
        let mut waits = RETRIES.iter();
        loop {
            let (why, after) = match self.call_channel(channel, told).await {
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
                Err(DeliveryFailure::Later { why, after }) => (why, after.unwrap_or_default()),
            };
            let wait = waits.next().filter(|_| after <= RETRY_AFTER_MAX);
            let Some(wait) = wait else {
                return channels::note_delivery(records, channel, &why).await;
            };
            // Others are told while this one waits.
            drop(place);
            tokio::select! {
                () = self.parts.stop.cancelled() => return,
                () = tokio::time::sleep(after.max(*wait)) => (),
            }
            place = self.places.acquire().await;
            // It may have been taken away or revoked while nothing was sent.
            let is_kept = channels::is_kept(records, channel, self.parts.clock.now()).await;
            if !is_kept || self.is_of_ended_phone(person, channel).await {
                return;
            }
        }
    }

    async fn call_channel(
        &self,
        channel: &UnsealedChannel,
        told: ToldNotice<'_>,
    ) -> Result<(), DeliveryFailure> {
        let request = self.request_for(channel, told).await?;
        let answer = request.send().await.map_err(|error| {
            // The token of a bot stands in the address.
            let why = format!("it could not be reached: {}", error.without_url());
            DeliveryFailure::Later { why, after: None }
        })?;
        match &channel.way {
            ChannelAddress::Push { .. } if matches!(answer.status().as_u16(), 404 | 410) => {
                Err(DeliveryFailure::Gone)
            }
            ChannelAddress::Push { .. }
            | ChannelAddress::Webhook { .. }
            | ChannelAddress::Ntfy { .. } => ChannelReply::of_head(&answer).judge_status(),
            ChannelAddress::Telegram { token, .. } => {
                telegram::judge_reply(&ChannelReply::read(answer).await, token)
            }
            ChannelAddress::Matrix { token, .. } => {
                matrix::judge_reply(&ChannelReply::read(answer).await, token)
            }
        }
    }

    async fn request_for(
        &self,
        channel: &UnsealedChannel,
        told: ToldNotice<'_>,
    ) -> Result<reqwest::RequestBuilder, DeliveryFailure> {
        let ToldNotice { notice, answer, moment } = told;
        let everywhere = self.may_call_everywhere(channel);
        let client = self.clients.client_for(everywhere).await?;
        let base = self.parts.public_url.as_deref().unwrap_or_default();
        let link = format!("{base}{}", notice.link);
        let answer_link = answer.map(|page| format!("{base}{page}"));
        let answer_link = answer_link.as_deref();
        let message = || NoticeMessage::new(notice, answer_link, &link);
        Ok(match &channel.way {
            ChannelAddress::Push { endpoint, p256dh, auth } => {
                let address = check_address(endpoint, everywhere)?;
                self.push_request(client, PushBrowser { address, p256dh, auth }, told).await?
            }
            ChannelAddress::Webhook { url, secret } => {
                let body = webhook_body(notice, &link, answer_link);
                let mut request = json_request(client.post(check_address(url, everywhere)?));
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
                let click = answer_link.unwrap_or(&link);
                let body = json!({
                    "topic": topic, "title": notice.title, "message": notice.text,
                    "click": Some(click).filter(|link| link.starts_with("http")),
                });
                let request = client.post(check_address(server, everywhere)?);
                let request = if token.is_empty() { request } else { request.bearer_auth(token) };
                json_request(request).body(body.to_string())
            }
            ChannelAddress::Telegram { token, chat, base_url } => {
                let server = if base_url.is_empty() { TELEGRAM_SERVER } else { base_url };
                let url = telegram::method_url(check_address(server, everywhere)?, token)?;
                json_request(client.post(url)).body(telegram::message_body(chat, &message()))
            }
            ChannelAddress::Matrix { homeserver, room, token } => {
                let transaction = matrix::transaction_name(&channel.id, notice, moment);
                let server = check_address(homeserver, everywhere)?;
                let url = matrix::message_url(server, room, &transaction)?;
                let request = json_request(client.put(url)).bearer_auth(token);
                request.body(matrix::message_body(&message()))
            }
        })
    }

    /// Whether it may lead to private addresses. A telephone administers nothing: what it names as the push
    /// service of its browser is a private address only where the settings list that host.
    fn may_call_everywhere(&self, channel: &UnsealedChannel) -> bool {
        let ChannelAddress::Push { endpoint, .. } = &channel.way else { return channel.everywhere };
        let is_listed = || {
            let url = url::Url::parse(endpoint).ok();
            let host = url.as_ref().and_then(url::Url::host_str);
            host.is_some_and(|host| self.parts.installation.lists_host(host))
        };
        channel.everywhere && (channel.login.is_none() || is_listed())
    }

    async fn push_request(
        &self,
        client: &reqwest::Client,
        browser: PushBrowser<'_>,
        told: ToldNotice<'_>,
    ) -> Result<reqwest::RequestBuilder, DeliveryFailure> {
        let ToldNotice { notice, answer, .. } = told;
        let PushBrowser { address, p256dh, auth } = browser;
        let (public, secret) =
            push::decode_browser_keys(p256dh, auth).map_err(DeliveryFailure::Never)?;
        let page = answer.unwrap_or(&notice.link);
        let text = json!({ "title": notice.title, "text": notice.text, "link": page });
        let body = push::encrypt_notice(&public, &secret, text.to_string().as_bytes());
        let origin = address.origin().ascii_serialization();
        let vapid = self.vapid_key().await;
        let vapid = vapid.map_err(|error| DeliveryFailure::Never(error.to_string()))?;
        let contact = self.vapid_contact();
        let now = self.parts.clock.now().0 / 1_000_000;
        let word =
            vapid.authorization_header(&origin, &contact, now).map_err(DeliveryFailure::Never)?;
        Ok(client
            .post(address)
            .header("authorization", word)
            .header("content-encoding", "aes128gcm")
            .header("ttl", "86400")
            .body(body.map_err(DeliveryFailure::Never)?))
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
            self.under_way.spawn(async move {
                channel_sender.deliver_notice(&person, &channel, &notice).await;
            });
        }
    }
}

fn json_request(request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
    request.header("content-type", "application/json")
}

/// What a webhook is sent: the notice, and the page on which it is answered, where there is one.
fn webhook_body(notice: &Notice, link: &str, answer: Option<&str>) -> String {
    let mut body = json!({
        "kind": notice.kind, "title": notice.title, "text": notice.text, "link": link,
    });
    if let Some(answer) = answer {
        body["answer"] = answer.into();
    }
    body.to_string()
}

/// The signature of a call: HMAC-SHA-256 over `TIME.BODY`, in hex.
fn webhook_signature(secret: &str, time: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    secret::encode_hex(hmac::sign(&key, format!("{time}.{body}").as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::webhook_signature;

    #[test]
    fn s16_calls_are_signed_over_time_and_body() {
        let signed = webhook_signature("key", "1", "{}");
        assert_eq!(signed.len(), 64);
        assert_ne!(signed, webhook_signature("key", "2", "{}"));
        assert_ne!(signed, webhook_signature("other", "1", "{}"));
    }
}
