//! Web push: a notice encrypted for one browser (RFC 8291, `aes128gcm` of RFC 8188), and the word by
//! which the push service knows this server (VAPID, RFC 8292). Pure but for random bytes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

/// Bytes of a record: one holds the whole notice.
const RECORD_BYTES: u32 = 4096;
/// Bytes of a notice that fit.
pub(crate) const TEXT_BYTES_MAX: usize = 3_800;

/// The browser's public key and secret.
///
/// # Errors
/// They have not the form of RFC 8291.
pub(crate) fn decode_browser_keys(p256dh: &str, auth: &str) -> Result<(Vec<u8>, Vec<u8>), String> {
    let read = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
    let wrong = || "the browser's keys cannot be used".to_owned();
    let (public, secret) = (read(p256dh).map_err(|_| wrong())?, read(auth).map_err(|_| wrong())?);
    match public.len() == 65 && public[0] == 4 && secret.len() == 16 {
        true => Ok((public, secret)),
        false => Err(wrong()),
    }
}

struct HkdfLength(usize);

impl KeyType for HkdfLength {
    fn len(&self) -> usize {
        self.0
    }
}

fn expand_key<const N: usize>(
    prk: &Prk,
    info: &[&[u8]],
) -> Result<[u8; N], ring::error::Unspecified> {
    let mut out = [0_u8; N];
    prk.expand(info, HkdfLength(N))?.fill(&mut out)?;
    Ok(out)
}

/// Encrypts `text` for a browser.
///
/// # Errors
/// The browser's key is no point of its curve, the text is too long, or there are no random bytes.
pub(crate) fn encrypt_notice(public: &[u8], secret: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("a notice has {TEXT_BYTES_MAX} bytes at most"));
    }
    let random = SystemRandom::new();
    let failed = |_| "the notice could not be encrypted".to_owned();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(failed)?;
    let own_public = own.compute_public_key().map_err(failed)?;
    let mut salt = [0_u8; 16];
    random.fill(&mut salt).map_err(failed)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, public);
    let shared = agree_ephemeral(own, &theirs, <[u8]>::to_vec).map_err(failed)?;
    seal_record(&shared, &salt, BrowserKeys { public, secret }, own_public.as_ref(), text)
        .map_err(failed)
}

/// What a browser gave for notices to it.
#[derive(Clone, Copy)]
struct BrowserKeys<'a> {
    public: &'a [u8],
    secret: &'a [u8],
}

fn seal_record(
    shared: &[u8],
    salt: &[u8; 16],
    browser: BrowserKeys<'_>,
    own_public: &[u8],
    text: &[u8],
) -> Result<Vec<u8>, ring::error::Unspecified> {
    let BrowserKeys { public, secret } = browser;
    let prk = Salt::new(HKDF_SHA256, secret).extract(shared);
    let ikm: [u8; 32] = expand_key(&prk, &[b"WebPush: info\0", public, own_public])?;
    let prk = Salt::new(HKDF_SHA256, salt).extract(&ikm);
    let key: [u8; 16] = expand_key(&prk, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; NONCE_LEN] = expand_key(&prk, &[b"Content-Encoding: nonce\0"])?;
    // The last record ends with 2.
    let mut record = text.to_vec();
    record.push(2);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::empty(), &mut record)?;
    let mut whole = salt.to_vec();
    whole.extend(RECORD_BYTES.to_be_bytes());
    whole.push(u8::try_from(own_public.len()).unwrap_or(u8::MAX));
    whole.extend(own_public);
    whole.extend(record);
    Ok(whole)
}

/// The key by which push services know this server.
pub(crate) struct VapidKey {
    pair: EcdsaKeyPair,
}

impl VapidKey {
    /// A new key, to be kept (PKCS #8).
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn generate_pkcs8() -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map(|document| document.as_ref().to_vec())
            .map_err(|_| "a key could not be made".into())
    }

    /// The key as it was kept.
    ///
    /// # Errors
    /// It is no key.
    pub(crate) fn parse_pkcs8(pkcs8: &[u8]) -> Result<VapidKey, String> {
        let random = SystemRandom::new();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random)
            .map(|pair| VapidKey { pair })
            .map_err(|_| "the key for web push is damaged".into())
    }

    /// The public half, for browsers.
    pub(crate) fn public_key_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    /// The header `Authorization` for a push service; it holds for twelve hours from `now` (seconds).
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn authorization_header(
        &self,
        origin: &str,
        contact: &str,
        now: i64,
    ) -> Result<String, String> {
        let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let head = part(serde_json::json!({ "typ": "JWT", "alg": "ES256" }));
        let claims = serde_json::json!({ "aud": origin, "exp": now + 12 * 3600, "sub": contact });
        let text = format!("{head}.{}", part(claims));
        let signature = self
            .pair
            .sign(&SystemRandom::new(), text.as_bytes())
            .map_err(|_| "the word for the push service could not be signed".to_owned())?;
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        Ok(format!("vapid t={text}.{signature}, k={}", self.public_key_text()))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as Verifying};

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).expect("base64url")
    }

    #[test]
    fn s16_the_example_of_rfc_8291_is_met() {
        // Appendix A: the shared secret of the keys there, its salt, and the whole message.
        let public = hex(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        );
        let secret = hex("BTBZMqHH6r4Tts7J_aSIgg");
        let own = hex(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
        );
        let shared = hex("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt: [u8; 16] = hex("DGv6ra1nlYgDCS1FRnbzlw").try_into().expect("16 bytes");
        let text = b"When I grow up, I want to be a watermelon";
        let whole = seal_record(
            &shared,
            &salt,
            BrowserKeys { public: &public, secret: &secret },
            &own,
            text,
        )
        .expect("sealed");
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(URL_SAFE_NO_PAD.encode(whole), expected);
    }

    #[test]
    fn s16_the_word_for_the_push_service_verifies() {
        let vapid =
            VapidKey::parse_pkcs8(&VapidKey::generate_pkcs8().expect("a key")).expect("read");
        let word = vapid
            .authorization_header("https://push.example", "mailto:a@b.example", 1)
            .expect("signed");
        let token = word.strip_prefix("vapid t=").expect("t").split(", k=").next().expect("token");
        let (text, signature) = token.rsplit_once('.').expect("three parts");
        let key = Verifying::new(&ECDSA_P256_SHA256_FIXED, hex(&vapid.public_key_text()));
        key.verify(text.as_bytes(), &hex(signature)).expect("verifies");
        let claims = hex(text.split('.').nth(1).expect("claims"));
        let claims: serde_json::Value = serde_json::from_slice(&claims).expect("JSON");
        assert_eq!(claims["aud"], "https://push.example");
        assert_eq!(claims["exp"], 43_201);
    }

    #[test]
    fn z10_keys_of_another_form_are_refused() {
        let public = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        assert!(decode_browser_keys(public, "BTBZMqHH6r4Tts7J_aSIgg").is_ok());
        assert!(decode_browser_keys(public, "BTBZ").is_err());
        assert!(decode_browser_keys("", "BTBZMqHH6r4Tts7J_aSIgg").is_err());
        assert!(decode_browser_keys("!!", "!!").is_err());
        let mut point = vec![4_u8; 65];
        point[64] = 9;
        assert!(encrypt_notice(&point, &[0; 16], b"x").is_err(), "no point of the curve");
    }
}
