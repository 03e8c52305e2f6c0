//! What browser and authenticator say (WebAuthn §5.8.1 and §6.1), and whether it fits this site.

use serde::Deserialize;

use super::cbor;
use crate::auth::secret;

/// The user was there.
const PRESENT: u8 = 0x01;
/// The user was verified.
const VERIFIED: u8 = 0x04;
/// A key stands behind it.
const HAS_KEY: u8 = 0x40;

/// What the browser says.
#[derive(Debug, Deserialize)]
pub(super) struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    /// The challenge that the authenticator was asked to have signed.
    pub(super) challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

impl ClientData {
    /// Reads it.
    ///
    /// # Errors
    /// It was said at another site, or for something else: why.
    pub(super) fn read(bytes: &[u8], kind: &str, origin: &str) -> Result<ClientData, &'static str> {
        let data: ClientData =
            serde_json::from_slice(bytes).map_err(|_| "what the browser says cannot be read")?;
        if data.kind != kind {
            return Err("it was made for something else");
        }
        if data.origin != origin || data.cross_origin {
            return Err("it was made at another site");
        }
        Ok(data)
    }
}

/// What the authenticator says.
#[derive(Debug)]
pub(super) struct AuthenticatorData<'a> {
    /// How often it signed.
    pub(super) count: u32,
    /// A new key: its name and itself.
    pub(super) credential: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> AuthenticatorData<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is for another site, or nobody was verified: why.
    pub(super) fn read(bytes: &'a [u8], host: &str) -> Result<AuthenticatorData<'a>, &'static str> {
        let short = "what the authenticator says is too short";
        let (site, rest) = bytes.split_at_checked(32).ok_or(short)?;
        let (head, rest) = rest.split_at_checked(5).ok_or(short)?;
        if *site != secret::sha256_digest(host.as_bytes()) {
            return Err("it is for another site");
        }
        let flags = head[0];
        if flags & PRESENT == 0 || flags & VERIFIED == 0 {
            return Err("the user was not verified");
        }
        let count = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        if flags & HAS_KEY == 0 {
            return Ok(AuthenticatorData { count, credential: None });
        }
        let (_maker, rest) = rest.split_at_checked(16).ok_or(short)?;
        let (size, rest) = rest.split_at_checked(2).ok_or(short)?;
        let size = usize::from(u16::from_be_bytes([size[0], size[1]]));
        let (id, rest) = rest.split_at_checked(size).ok_or(short)?;
        let key_length = cbor::key_length(rest).ok_or("its key cannot be read")?;
        if id.is_empty() || id.len() > 1023 {
            return Err("its name is too short or too long");
        }
        Ok(AuthenticatorData { count, credential: Some((id, &rest[..key_length])) })
    }
}
