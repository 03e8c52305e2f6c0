//! The two things that are read of the server's own certificate: when it ends, and whose key it is for; rustls
//! tells neither. Not here: whether a certificate is to be trusted (`rustls`), and making one
//! (`phone::certificate`).

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use weir_core::ids::Timestamp;

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The version, which certificates of the first one do not have.
const VERSION: u8 = 0xa0;
/// Most bytes in which a length is written: four are 4 GB.
const LENGTH_BYTES_MAX: usize = 4;

/// What is read of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CertificateFields<'a> {
    pub(crate) ends: Timestamp,
    /// The key, as it stands in the certificate.
    pub(crate) public_key: &'a [u8],
}

/// Reads a certificate; `None`: it is none.
pub(crate) fn read_certificate(der: &[u8]) -> Option<CertificateFields<'_>> {
    let mut fields = signed_fields(der)?;
    fields.read_tagged(INTEGER)?;
    let (_signature, _issuer) = (fields.read_tagged(SEQUENCE)?, fields.read_tagged(SEQUENCE)?);
    let mut validity = DerReader(fields.read_tagged(SEQUENCE)?);
    let _begins = validity.read_element()?;
    let (kind, text) = validity.read_element()?;
    let ends = read_time(kind, text)?;
    let _subject = fields.read_tagged(SEQUENCE)?;
    let mut key = DerReader(fields.read_tagged(SEQUENCE)?);
    let _algorithm = key.read_tagged(SEQUENCE)?;
    // The first byte counts bits at the end that mean nothing: a key is whole bytes.
    let (unused, public_key) = key.read_tagged(BIT_STRING)?.split_first()?;
    (*unused == 0).then_some(CertificateFields { ends, public_key })
}

/// What the issuer signed, from the serial number on.
fn signed_fields(der: &[u8]) -> Option<DerReader<'_>> {
    let mut certificate = DerReader(DerReader(der).read_tagged(SEQUENCE)?);
    let mut fields = DerReader(certificate.read_tagged(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.read_element()?;
    }
    Some(fields)
}

/// A moment as certificates write it: always in UTC, to the second (RFC 5280, 4.1.2.5).
fn read_time(kind: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let century = match (kind, text.len()) {
        (UTC_TIME, 12) if text < "5" => "20",
        (UTC_TIME, 12) => "19",
        (GENERALIZED_TIME, 14) => "",
        _ => return None,
    };
    let moment = DateTime::strptime("%Y%m%d%H%M%S", format!("{century}{text}")).ok()?;
    // The last day of the year 9999, which says "never", is one more than there are.
    let moment = moment.to_zoned(TimeZone::UTC);
    let moment = moment.map_or(jiff::Timestamp::MAX, |zoned| zoned.timestamp());
    Some(Timestamp(moment.as_microsecond()))
}

/// What is left of some DER: elements of a tag, a length and a content.
struct DerReader<'a>(&'a [u8]);

impl<'a> DerReader<'a> {
    /// The next element: its tag and its content.
    fn read_element(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match *first {
            short @ 0..0x80 => (usize::from(short), rest),
            long => {
                let count = usize::from(long & 0x7f);
                if !(1..=LENGTH_BYTES_MAX).contains(&count) {
                    return None;
                }
                let (bytes, rest) = rest.split_at_checked(count)?;
                let length = bytes.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
                (length, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The content of the next element, if that is its tag.
    fn read_tagged(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.read_element().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The number that its issuer gave to a certificate.
    pub(crate) fn serial_number(der: &[u8]) -> Option<Vec<u8>> {
        Some(signed_fields(der)?.read_tagged(INTEGER)?.to_vec())
    }

    fn certificate(year: i32) -> (Vec<u8>, Vec<u8>) {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".into()]).expect("a name");
        params.not_after = rcgen::date_time_ymd(year, 2, 28);
        params.serial_number = Some(0x1234_u64.into());
        let key = rcgen::KeyPair::generate().expect("a key");
        let made = params.self_signed(&key).expect("a certificate");
        (made.der().to_vec(), key.public_key_raw().to_vec())
    }

    #[test]
    fn s15_the_end_and_the_key_of_a_certificate_are_read() {
        // From 2050 on years have four digits.
        for (year, end) in [
            (1999, "1999-02-28T00:00:00Z"),
            (2049, "2049-02-28T00:00:00Z"),
            (2050, "2050-02-28T00:00:00Z"),
        ] {
            let (der, key) = certificate(year);
            let end: jiff::Timestamp = end.parse().expect("a time");
            let ends = Timestamp(end.as_microsecond());
            assert_eq!(
                read_certificate(&der),
                Some(CertificateFields { ends, public_key: &key }),
                "{year}"
            );
            let number = serial_number(&der).expect("a number");
            assert!(number.ends_with(&[0x12, 0x34]), "{number:?}");
        }
    }

    #[test]
    fn s15_what_is_no_certificate_is_none_and_never_panics() {
        let (der, _) = certificate(2030);
        for length in 0..der.len() {
            assert_eq!(read_certificate(&der[..length]), None, "{length}");
        }
        for at in 0..der.len() {
            for byte in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = der.clone();
                changed[at] = byte;
                let _ = read_certificate(&changed);
            }
        }
    }

    #[test]
    fn s15_a_time_is_read_as_certificates_write_it() {
        let read = |kind: u8, text: &str| read_time(kind, text.as_bytes());
        let second = |text: &str| text.parse::<jiff::Timestamp>().expect("a time").as_second();
        let at = |text: &str| Some(Timestamp(second(text) * 1_000_000));
        assert_eq!(read(UTC_TIME, "491231235959Z"), at("2049-12-31T23:59:59Z"));
        assert_eq!(read(UTC_TIME, "500101000000Z"), at("1950-01-01T00:00:00Z"));
        assert_eq!(read(GENERALIZED_TIME, "20500101000000Z"), at("2050-01-01T00:00:00Z"));
        let never = read(GENERALIZED_TIME, "99991231235959Z").expect("a time");
        assert!(Some(never) > at("9999-12-01T00:00:00Z"), "{never:?}");
        for wrong in ["", "Z", "4912312359Z", "491231235959", "491331235959Z", "+91231235959Z"] {
            assert_eq!(read(UTC_TIME, wrong), None, "{wrong}");
        }
        assert_eq!(read(INTEGER, "491231235959Z"), None);
    }
}
