//! Public keys as authenticators write them (COSE, RFC 9053), of the three kinds that are asked for:
//! ES256, EdDSA (Ed25519), RS256.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

use super::cbor::{self, Value};

/// A key.
pub(super) enum Key<'a> {
    /// ES256: a point of P-256, uncompressed.
    P256([u8; 65]),
    /// EdDSA.
    Ed25519(&'a [u8]),
    /// RS256.
    Rsa {
        /// Modulus.
        n: &'a [u8],
        /// Exponent.
        e: &'a [u8],
    },
}

impl<'a> Key<'a> {
    /// Reads one; `None`: it is of another kind.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Key<'a>> {
        let (map, _) = cbor::read(bytes)?;
        let int = |key: i64| map.at(key).and_then(Value::int);
        let part = |key: i64| map.at(key).and_then(Value::bytes);
        match (int(1)?, int(3)?) {
            (2, -7) if int(-1) == Some(1) => {
                let (x, y) = (part(-2)?, part(-3)?);
                let mut point = [4; 65];
                point[1..33].copy_from_slice(x.get(..32).filter(|_| x.len() == 32)?);
                point[33..].copy_from_slice(y.get(..32).filter(|_| y.len() == 32)?);
                Some(Key::P256(point))
            }
            (1, -8) if int(-1) == Some(6) => {
                Some(Key::Ed25519(part(-2).filter(|x| x.len() == 32)?))
            }
            (3, -257) => Some(Key::Rsa { n: part(-1)?, e: part(-2)? }),
            _ => None,
        }
    }

    /// Whether `signature` is one of these bytes by this key.
    pub(super) fn is_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            Key::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point)
                .verify(bytes, signature)
                .is_ok(),
            Key::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
            }
            Key::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, bytes, signature)
                .is_ok(),
        }
    }
}
