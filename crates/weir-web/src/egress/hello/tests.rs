//! First messages: real ones of a TLS library, and broken ones.

use std::sync::Arc;

use super::*;

/// What rustls sends first to `name`.
fn real(name: &'static str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = name.try_into().unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

fn vector(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes(), bytes].concat()
}

fn name_extension(kind: u8, name: &[u8]) -> Vec<u8> {
    let entry = [&[kind][..], &vector(name)].concat();
    [&[0, 0][..], &vector(&vector(&entry))].concat()
}

/// A first message with these extensions, in one record.
fn made(extensions: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.push(0);
    body.extend([0, 2, 0x13, 1, 1, 0]);
    body.extend(vector(extensions));
    record(&[&[1, 0][..], &vector(&body)].concat())
}

fn record(fragment: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &vector(fragment)].concat()
}

fn named(name: &str) -> HelloPeek {
    HelloPeek::Hello(ClientHello { name: Some(name.to_owned()), is_encrypted: false })
}

#[test]
fn z4_the_name_of_a_real_client_is_read() {
    let bytes = real("docs.example.org");
    assert_eq!(peek_client_hello(&bytes), named("docs.example.org"));
    // Whatever comes after it does not matter.
    assert_eq!(
        peek_client_hello(&[bytes.clone(), vec![23, 3, 3, 0, 1, 0]].concat()),
        named("docs.example.org")
    );
    let without = peek_client_hello(&real("127.0.0.1"));
    assert_eq!(without, HelloPeek::Hello(ClientHello { name: None, is_encrypted: false }));
    for end in 0..bytes.len() {
        assert_eq!(peek_client_hello(&bytes[..end]), HelloPeek::More, "the first {end} bytes");
    }
}

#[test]
fn z4_a_message_in_many_records_is_one_message() {
    let whole = real("docs.example.org");
    let mut pieces = Vec::new();
    for piece in whole[5..].chunks(7) {
        pieces.extend(record(piece));
    }
    assert_eq!(peek_client_hello(&pieces), named("docs.example.org"));
    let mut mixed = record(&whole[5..9]);
    mixed.extend([23, 3, 3, 0, 1, 0]);
    assert_eq!(peek_client_hello(&mixed), HelloPeek::Broken("another record inside"));
}

#[test]
fn z4_what_hides_or_doubles_a_name_is_seen() {
    assert_eq!(peek_client_hello(&made(&name_extension(0, b"a.example"))), named("a.example"));
    let twice = [name_extension(0, b"a.example"), name_extension(0, b"b.example")].concat();
    assert_eq!(peek_client_hello(&made(&twice)), HelloPeek::Broken("two names"));
    for wrong in
        [name_extension(1, b"a.example"), name_extension(0, b""), name_extension(0, b"a\0b")]
    {
        assert_eq!(peek_client_hello(&made(&wrong)), HelloPeek::Broken("a name that is none"));
    }
    let entry = |name: &[u8]| [&[0][..], &vector(name)].concat();
    let list = vector(&[entry(b"a.example"), entry(b"b.example")].concat());
    let several = [&[0, 0][..], &vector(&list)].concat();
    assert_eq!(peek_client_hello(&made(&several)), HelloPeek::Broken("a name that is none"));
    let hidden = [name_extension(0, b"a.example"), vec![0xfe, 0x0d, 0, 1, 0]].concat();
    let expected = ClientHello { name: Some("a.example".into()), is_encrypted: true };
    assert_eq!(peek_client_hello(&made(&hidden)), HelloPeek::Hello(expected));
    assert_eq!(
        peek_client_hello(&made(&[])),
        HelloPeek::Hello(ClientHello { name: None, is_encrypted: false })
    );
}

#[test]
fn z4_other_protocols_and_broken_lengths_end() {
    for (bytes, expected) in [
        (&b"GET / HTTP/1.1\r\n"[..], HelloPeek::Other),
        (b"SSH-2.0-x", HelloPeek::Other),
        (&[0x80, 0x2e, 1, 3, 1], HelloPeek::Other),
        (&[22, 2, 0, 0, 1], HelloPeek::Broken("an unknown version")),
        (&[22, 3, 1, 0, 0], HelloPeek::Broken("a record of an impossible length")),
        (&[22, 3, 1, 0xff, 0xff, 1], HelloPeek::Broken("a record of an impossible length")),
        (&[22, 3, 1, 0, 4, 2, 0, 0, 0], HelloPeek::Broken("another message first")),
        (&[22, 3, 1, 0, 4, 1, 0xff, 0, 0], HelloPeek::Broken("a first message too long")),
        (&[22, 3, 1, 0, 4, 1, 0, 0, 0], HelloPeek::Broken("a first message cut short")),
        (&[], HelloPeek::More),
        (&[22], HelloPeek::More),
    ] {
        assert_eq!(peek_client_hello(bytes), expected, "{bytes:?}");
    }
    // Promised for ever, never given.
    let mut endless = Vec::new();
    while endless.len() <= HELLO_BYTES_MAX {
        endless.extend(record(&[1, 0, 0x4f, 0xff, 0][..]));
    }
    assert!(matches!(peek_client_hello(&endless), HelloPeek::Broken(_)));
}

#[test]
fn z10_no_byte_of_a_first_message_makes_it_panic() {
    let bytes = real("docs.example.org");
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at].wrapping_add(1)] {
            let mut changed = bytes.clone();
            changed[at] = value;
            let _ = peek_client_hello(&changed);
            changed.truncate(at + 1);
            let _ = peek_client_hello(&changed);
        }
    }
}
