//! Reads the name out of the first message of a TLS client, and nothing else. Pure; for bytes from
//! anybody.

/// Longest first message that is looked at, with the headers of its records.
pub(super) const HELLO_BYTES_MAX: usize = 20 * 1024;
const RECORD_BYTES_MAX: usize = 16 * 1024;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_HELLO: u16 = 0xfe0d;
/// Longest name that DNS has.
const NAME_BYTES_MAX: usize = 253;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HelloPeek {
    /// Not whole yet.
    More,
    Other,
    /// A client's first message.
    Hello(ClientHello),
    /// TLS in form, and broken.
    Broken(&'static str),
}

/// What a client's first message says of where it wants to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClientHello {
    /// The name it asks for, as it is written.
    pub(super) name: Option<String>,
    /// It carries another message inside that nobody on the way can read (ECH).
    pub(super) is_encrypted: bool,
}

/// Looks at all bytes that have come so far.
pub(super) fn peek_client_hello(bytes: &[u8]) -> HelloPeek {
    let mut rest = bytes;
    let mut message = Vec::new();
    loop {
        match rest {
            [] => return check_hello_length(bytes),
            [first, ..] if *first != HANDSHAKE && message.is_empty() => return HelloPeek::Other,
            [first, ..] if *first != HANDSHAKE => {
                return HelloPeek::Broken("another record inside");
            }
            [_, 3, _, high, low, fragment @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                if length == 0 || length > RECORD_BYTES_MAX {
                    return HelloPeek::Broken("a record of an impossible length");
                }
                let (fragment, after) = fragment.split_at(length.min(fragment.len()));
                message.extend_from_slice(fragment);
                match complete_handshake_body(&message) {
                    Ok(None) => rest = after,
                    Ok(Some(body)) => {
                        return read_client_hello(body)
                            .map_or_else(HelloPeek::Broken, HelloPeek::Hello);
                    }
                    Err(why) => return HelloPeek::Broken(why),
                }
            }
            [_, version, ..] if *version != 3 => return HelloPeek::Broken("an unknown version"),
            _ => return check_hello_length(bytes),
        }
    }
}

fn check_hello_length(bytes: &[u8]) -> HelloPeek {
    if bytes.len() > HELLO_BYTES_MAX {
        HelloPeek::Broken("a first message too long")
    } else {
        HelloPeek::More
    }
}

/// The body of the handshake message, once it is all there.
fn complete_handshake_body(message: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    match message {
        [kind, ..] if *kind != CLIENT_HELLO => Err("another message first"),
        [_, a, b, c, body @ ..] => {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > HELLO_BYTES_MAX {
                return Err("a first message too long");
            }
            Ok(body.get(..length))
        }
        _ => Ok(None),
    }
}

fn read_client_hello(body: &[u8]) -> Result<ClientHello, &'static str> {
    parse_client_hello(body).unwrap_or(Err("a first message cut short"))
}

/// `None`: some length points past the end.
fn parse_client_hello(body: &[u8]) -> Option<Result<ClientHello, &'static str>> {
    let mut reader = ByteReader(body);
    reader.take_bytes(2 + 32)?;
    reader.short_vector()?;
    reader.read_vector()?;
    reader.short_vector()?;
    let mut found = ClientHello { name: None, is_encrypted: false };
    if reader.0.is_empty() {
        return Some(Ok(found));
    }
    let mut extensions = ByteReader(reader.read_vector()?);
    if !reader.0.is_empty() {
        return Some(Err("bytes after the first message"));
    }
    let mut is_named = false;
    while !extensions.0.is_empty() {
        let kind = extensions.read_u16()?;
        let content = extensions.read_vector()?;
        match kind {
            SERVER_NAME if is_named => return Some(Err("two names")),
            SERVER_NAME => {
                is_named = true;
                match server_name(content)? {
                    Ok(name) => found.name = Some(name),
                    Err(why) => return Some(Err(why)),
                }
            }
            ENCRYPTED_HELLO => found.is_encrypted = true,
            _ => {}
        }
    }
    Some(Ok(found))
}

fn server_name(content: &[u8]) -> Option<Result<String, &'static str>> {
    let mut outer = ByteReader(content);
    let mut list = ByteReader(outer.read_vector()?);
    let kind = *list.take_bytes(1)?.first()?;
    let name = list.read_vector()?;
    let is_name = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.iter().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(b));
    if !outer.0.is_empty() || !list.0.is_empty() || kind != 0 || !is_name {
        return Some(Err("a name that is none"));
    }
    Some(Ok(name.iter().map(|byte| char::from(*byte)).collect()))
}

/// Bytes that are taken from the front; `None` where there are too few.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    fn read_u16(&mut self) -> Option<u16> {
        match self.take_bytes(2)? {
            [high, low] => Some(u16::from_be_bytes([*high, *low])),
            _ => None,
        }
    }
    fn read_vector(&mut self) -> Option<&'a [u8]> {
        let count = self.read_u16()?;
        self.take_bytes(usize::from(count))
    }
    fn short_vector(&mut self) -> Option<&'a [u8]> {
        let count = *self.take_bytes(1)?.first()?;
        self.take_bytes(usize::from(count))
    }
}

#[cfg(test)]
mod tests;
