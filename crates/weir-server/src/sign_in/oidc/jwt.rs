//! The token of an identity provider (JWT, RFC 7519): its signature by one of the provider's keys,
//! and that it is for us, now, and for this way. Nothing is believed before the signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

/// How far clocks may differ, seconds.
const ASIDE_S: i64 = 60;
/// Most bytes of a token.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// What is expected of a token.
pub(super) struct ExpectedClaims<'a> {
    /// The provider that the token must come from.
    pub(super) issuer: &'a str,
    /// For whom.
    pub(super) client_id: &'a str,
    /// For which way.
    pub(super) nonce: &'a str,
    /// Now, seconds.
    pub(super) now_s: i64,
}

/// The provider's keys (JWK set).
#[derive(Debug, Deserialize)]
pub(super) struct JwkSet {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct JwtHeader {
    alg: String,
    kid: Option<String>,
}

/// What a token says.
#[derive(Debug, Deserialize)]
pub(super) struct IdTokenClaims {
    iss: String,
    aud: Value,
    azp: Option<String>,
    exp: i64,
    #[serde(default)]
    nbf: i64,
    nonce: Option<String>,
    /// The provider's name for them: never changes.
    pub(super) sub: String,
    /// Their mail address.
    pub(super) email: Option<String>,
    email_verified: Option<Value>,
    /// The name that the person has at the provider.
    pub(super) preferred_username: Option<String>,
}

impl IdTokenClaims {
    /// Whether the provider saw that the address is theirs. Some say it as text.
    pub(super) fn is_email_verified(&self) -> bool {
        match &self.email_verified {
            Some(Value::Bool(verified)) => *verified,
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }

    fn is_for(&self, client_id: &str) -> bool {
        let (is_in, others) = match &self.aud {
            Value::String(one) => (one == client_id, false),
            Value::Array(all) => {
                (all.iter().any(|one| one.as_str() == Some(client_id)), all.len() > 1)
            }
            _ => (false, false),
        };
        let azp_fits = match &self.azp {
            Some(azp) => azp == client_id,
            None => !others,
        };
        is_in && azp_fits
    }
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Reads a token and checks it.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_id_token(
    token: &str,
    keys: &JwkSet,
    expected: &ExpectedClaims<'_>,
) -> Result<IdTokenClaims, &'static str> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err("the token is too long");
    }
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts[..] else {
        return Err("the token has not three parts");
    };
    let unreadable = "the token cannot be read";
    let header: JwtHeader = decode_base64(head)
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or(unreadable)?;
    let signature = decode_base64(signature).ok_or(unreadable)?;
    let signed = &token[..head.len() + 1 + body.len()];
    let fits = |key: &&Value| match &header.kid {
        Some(kid) => key["kid"].as_str().is_none_or(|known| known == kid),
        None => true,
    };
    let mut candidates = keys.keys.iter().filter(fits);
    if !candidates.any(|key| is_signed(key, &header.alg, signed.as_bytes(), &signature)) {
        return Err("no key of the provider signed the token");
    }
    let claims: IdTokenClaims = decode_base64(body)
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or(unreadable)?;
    if claims.iss != expected.issuer {
        return Err("the token is another provider's");
    }
    if !claims.is_for(expected.client_id) {
        return Err("the token is for somebody else");
    }
    if claims.exp + ASIDE_S <= expected.now_s || claims.nbf - ASIDE_S > expected.now_s {
        return Err("the token does not hold now");
    }
    if claims.nonce.as_deref() != Some(expected.nonce) {
        return Err("the token was made for another sign-in");
    }
    Ok(claims)
}

/// Whether this key, by this algorithm, signed these bytes. The key decides which algorithms it can
/// be used with; `none` and shared secrets are no choice.
fn is_signed(key: &Value, alg: &str, bytes: &[u8], signature: &[u8]) -> bool {
    let part = |name: &str| key[name].as_str().and_then(decode_base64);
    let is_for_signing = key["use"].as_str().is_none_or(|word| word == "sig");
    let alg_fits = key["alg"].as_str().is_none_or(|word| word == alg);
    if !is_for_signing || !alg_fits {
        return false;
    }
    let plain = |algorithm: &'static dyn VerificationAlgorithm, key: Vec<u8>| {
        UnparsedPublicKey::new(algorithm, key).verify(bytes, signature).is_ok()
    };
    match (key["kty"].as_str(), key["crv"].as_str()) {
        (Some("RSA"), _) => {
            let (Some(n), Some(e), Some(rsa)) = (part("n"), part("e"), rsa_parameters(alg)) else {
                return false;
            };
            RsaPublicKeyComponents { n, e }.verify(rsa, bytes, signature).is_ok()
        }
        (Some("EC"), Some("P-256")) if alg == "ES256" => {
            uncompressed_point(part("x"), part("y"), 32)
                .is_some_and(|key| plain(&ECDSA_P256_SHA256_FIXED, key))
        }
        (Some("EC"), Some("P-384")) if alg == "ES384" => {
            uncompressed_point(part("x"), part("y"), 48)
                .is_some_and(|key| plain(&ECDSA_P384_SHA384_FIXED, key))
        }
        (Some("OKP"), Some("Ed25519")) if alg == "EdDSA" => {
            part("x").is_some_and(|key| plain(&ED25519, key))
        }
        _ => false,
    }
}

fn rsa_parameters(alg: &str) -> Option<&'static RsaParameters> {
    match alg {
        "RS256" => Some(&RSA_PKCS1_2048_8192_SHA256),
        "RS384" => Some(&RSA_PKCS1_2048_8192_SHA384),
        "RS512" => Some(&RSA_PKCS1_2048_8192_SHA512),
        "PS256" => Some(&RSA_PSS_2048_8192_SHA256),
        "PS384" => Some(&RSA_PSS_2048_8192_SHA384),
        "PS512" => Some(&RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

fn uncompressed_point(x: Option<Vec<u8>>, y: Option<Vec<u8>>, size: usize) -> Option<Vec<u8>> {
    let (x, y) = (x?, y?);
    (x.len() == size && y.len() == size).then(|| [vec![4], x, y].concat())
}
