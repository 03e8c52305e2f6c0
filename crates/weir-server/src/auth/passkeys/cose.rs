//! Public keys as authenticators write them (COSE, RFC 9053), of the three kinds that are asked for:
//! ES256, EdDSA (Ed25519), RS256.

use minicbor::data::Type;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

use super::cbor::read_map;

/// A key.
pub(super) enum CoseKey<'a> {
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

impl<'a> CoseKey<'a> {
    /// Reads one; `None`: it is of another kind.
    pub(super) fn read(bytes: &'a [u8]) -> Option<CoseKey<'a>> {
        let (mut family, mut algorithm, mut curve) = (None, None, None);
        let (mut first, mut second, mut third) = (None, None, None);
        read_map(bytes, |label: &i64, decoder| {
            match (label, decoder.datatype()?) {
                (1, _) => family = Some(decoder.i64()?),
                (3, _) => algorithm = Some(decoder.i64()?),
                // What the curve is for others, the modulus is for RSA.
                (-1, Type::Bytes) => first = Some(decoder.bytes()?),
                (-1, _) => curve = Some(decoder.i64()?),
                (-2, Type::Bytes) => second = Some(decoder.bytes()?),
                (-3, Type::Bytes) => third = Some(decoder.bytes()?),
                _ => decoder.skip()?,
            }
            Ok(())
        })?;
        match (family?, algorithm?) {
            (2, -7) if curve == Some(1) => {
                let (x, y) = (second?, third?);
                let mut point = [4; 65];
                point[1..33].copy_from_slice(x.get(..32).filter(|_| x.len() == 32)?);
                point[33..].copy_from_slice(y.get(..32).filter(|_| y.len() == 32)?);
                Some(CoseKey::P256(point))
            }
            (1, -8) if curve == Some(6) => {
                Some(CoseKey::Ed25519(second.filter(|x| x.len() == 32)?))
            }
            (3, -257) => Some(CoseKey::Rsa { n: first?, e: second? }),
            _ => None,
        }
    }

    /// Whether `signature` is one of these bytes by this key.
    pub(super) fn is_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            CoseKey::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point)
                .verify(bytes, signature)
                .is_ok(),
            CoseKey::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
            }
            CoseKey::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, bytes, signature)
                .is_ok(),
        }
    }
}
