//! By which address a telephone reaches the server, and what must be said of it. Fails closed: nothing is
//! paired over an address on which others could listen. Not here: the pairing (`pair`).

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;

use weir_core::ids::Timestamp;
use weir_server::ServerOptions;
use weir_server::phone::lan_certificate;

use crate::command::serve::presence::ServerPresence;
use crate::command::serve::public_url;
use crate::failure::usage;
use crate::options::PhonePairArgs;

/// An address of documentation, to which nothing is sent: the system says by which way it would go.
const ELSEWHERE: &str = "192.0.2.1:9";

/// What the telephone opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhoneAddress {
    /// Without a path: `https://192.168.7.20:7717`.
    pub(super) base: String,
    /// No telephone reaches it: it leads to this machine and nowhere else.
    pub(super) is_local: bool,
    /// What must be said of it, a line each.
    pub(super) remarks: Vec<String>,
}

/// The address of a server that runs.
///
/// # Errors
/// It cannot be reached in the way that was asked for: what to do.
pub(super) fn address_of_running(
    there: &ServerPresence,
    args: &PhonePairArgs,
) -> anyhow::Result<PhoneAddress> {
    let here = own_address(there.address, there.tls);
    let reached = there.public_url.clone().unwrap_or_else(|| here.clone());
    if let Some(wanted) = &args.address {
        let wanted = given_address(wanted)?;
        if wanted != reached {
            return Err(usage(format!(
                "the server runs as {reached} and is not known as {wanted}: set server.public_url to \
                 it and start the server again"
            )));
        }
    }
    let is_local = there.address.ip().is_loopback();
    if args.lan.is_some() && (is_local || !there.tls) {
        return Err(usage(format!(
            "a server of this installation runs already, at {here}, where other machines do not reach \
             it: end it and run `weir phone --lan` again, which is the server then"
        )));
    }
    check_safe("the server runs as", &reached)?;
    let mut address = with_remarks(reached);
    address.remarks.extend(certificate_remarks(there.fingerprint.as_deref()));
    Ok(address)
}

/// Prepares the options of a server that is to be started for a telephone; gives the fingerprint of the
/// certificate that was made for it.
///
/// # Errors
/// No address of this machine is found, no certificate can be made, or the address given is not safe.
pub(super) fn prepare_server(
    options: &mut ServerOptions,
    args: &PhonePairArgs,
    state: &Path,
    now: Timestamp,
) -> anyhow::Result<Option<String>> {
    if let Some(wanted) = &args.address {
        options.public_url = Some(given_address(wanted)?);
    }
    let Some(lan) = args.lan else {
        if let Some(set) = &options.public_url {
            check_safe("server.public_url", set)?;
        }
        return Ok(None);
    };
    serve_on_lan(options, lan, state, now).map(Some)
}

/// Lets a server listen in the local network, with a certificate of its own; gives the fingerprint of that.
/// `lan`: the address of this machine there; none: it is found.
///
/// # Errors
/// No address of this machine is found, or no certificate can be made.
pub(in crate::command) fn serve_on_lan(
    options: &mut ServerOptions,
    lan: Option<IpAddr>,
    state: &Path,
    now: Timestamp,
) -> anyhow::Result<String> {
    let ip = match lan {
        Some(ip) if ip.is_unspecified() || ip.is_multicast() => {
            return Err(usage(format!(
                "--lan={ip} is no address of one machine: give that of this one in its network, as \
                 --lan=192.168.7.20, or --lan alone, which finds it"
            )));
        }
        Some(ip) => ip,
        None => find_lan_address()?,
    };
    let certificate = lan_certificate(state, ip, now).map_err(usage)?;
    options.bind = SocketAddr::new(ip, free_port(ip, options.bind.port())?);
    options.tls = Some((certificate.chain, certificate.key));
    options.public_url = Some(own_address(options.bind, true));
    options.proxies.clear();
    Ok(certificate.fingerprint)
}

/// What must be said of a certificate for which no authority vouches, wherever a code for it is shown.
fn certificate_remarks(fingerprint: Option<&str>) -> Vec<String> {
    let Some(fingerprint) = fingerprint else { return Vec::new() };
    vec![
        "The telephone's browser warns that it does not know the certificate. Go on only if it shows \
         this SHA-256 fingerprint:"
            .to_owned(),
        format!("  {fingerprint}"),
        "Behind such a certificate browsers show no notifications: keep the page open, or be told by \
         ntfy, Telegram, Matrix or a webhook (Notifications, Delivery settings)."
            .to_owned(),
    ]
}

/// The address of the server that was started so.
///
/// # Errors
/// Others could listen in between.
pub(super) fn address_of_started(
    options: &ServerOptions,
    there: &ServerPresence,
) -> anyhow::Result<PhoneAddress> {
    let here = own_address(there.address, there.tls);
    let reached = there.public_url.clone().unwrap_or(here);
    check_safe("the server runs as", &reached)?;
    let mut address = with_remarks(reached);
    if !there.tls && options.proxies.is_empty() && !is_this_machine(&address.base) {
        address.remarks.push(
            "Whoever comes by the proxy has the proxy's address here, strangers who guess codes too: set \
             server.proxies to it, so that they are told apart."
                .to_owned(),
        );
    }
    address.remarks.extend(certificate_remarks(there.fingerprint.as_deref()));
    Ok(address)
}

/// Whether an address leads to this machine and nowhere else.
fn is_this_machine(address: &str) -> bool {
    let url = url::Url::parse(address).ok();
    match url.as_ref().and_then(url::Url::host) {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn with_remarks(base: String) -> PhoneAddress {
    let is_local = is_this_machine(&base);
    let remarks = match is_local {
        true => vec![
            "Only this machine reaches this address, and no telephone does. For a telephone: end the \
             server and run `weir phone --lan` on your network, or let a proxy or tunnel that speaks TLS \
             lead to it and say its address: `weir config set server.public_url https://NAME`, then start \
             the server again (or `weir phone --address https://NAME`)."
                .to_owned(),
        ],
        false => Vec::new(),
    };
    PhoneAddress { base, is_local, remarks }
}

/// An address that somebody gave: one on which nobody listens in between.
fn given_address(text: &str) -> anyhow::Result<String> {
    let unusable =
        || usage(format!("--address {text:?} is not an address like https://weir.example.org"));
    let url = public_url(text).map_err(|_| unusable())?.ok_or_else(unusable)?;
    check_safe("--address", &url)?;
    Ok(url)
}

/// That nobody listens in between. `said`: where the address stands.
fn check_safe(said: &str, url: &str) -> anyhow::Result<()> {
    if url.starts_with("https://") || is_this_machine(url) {
        return Ok(());
    }
    Err(usage(format!(
        "{said} {url}: without TLS, whoever is on the way could read the code and answer for you; give an \
         address with https:// (server.public_url or --address), or use --lan"
    )))
}

fn own_address(address: SocketAddr, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    let ip = match address.ip() {
        ip if ip.is_unspecified() => find_lan_address().unwrap_or(ip),
        ip => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

/// The address of this machine in its network. Nothing is sent.
fn find_lan_address() -> anyhow::Result<IpAddr> {
    let unknown = || {
        usage(
            "the address of this machine in the local network is not known: is it connected? Give it \
             as --lan=192.168.7.20",
        )
    };
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|_| unknown())?;
    socket.connect(ELSEWHERE).map_err(|_| unknown())?;
    let ip = socket.local_addr().map_err(|_| unknown())?.ip();
    match ip.is_loopback() || ip.is_unspecified() {
        true => Err(unknown()),
        false => Ok(ip),
    }
}

/// The port that the settings have; where they leave it open, one that is free now: it stands in addresses
/// before the server listens.
fn free_port(ip: IpAddr, port: u16) -> anyhow::Result<u16> {
    if port != 0 {
        return Ok(port);
    }
    let taken = TcpListener::bind((ip, 0)).and_then(|listener| listener.local_addr());
    let taken = taken.map_err(|error| {
        usage(format!(
            "this machine cannot listen on {ip}: {error}; give its address as --lan=ADDRESS"
        ))
    })?;
    Ok(taken.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(address: &str, public_url: Option<&str>, tls: bool) -> ServerPresence {
        let address = address.parse().expect("an address");
        let public_url = public_url.map(str::to_owned);
        ServerPresence { address, public_url, tls, database: None, fingerprint: None }
    }

    #[test]
    fn r5_nothing_is_paired_where_others_listen() {
        for text in ["http://192.168.7.20:7717", "http://127.0.0.1.example.org", "ftp://x", "x", ""]
        {
            assert!(given_address(text).is_err(), "{text}");
        }
        assert_eq!(
            given_address("https://weir.example.org/").expect("fits"),
            "https://weir.example.org"
        );
        let local = running("127.0.0.1:7717", None, false);
        let lan = PhonePairArgs { lan: Some(None), ..PhonePairArgs::default() };
        let refused = address_of_running(&local, &lan).expect_err("it is not reached").to_string();
        assert!(refused.contains("runs already, at http://127.0.0.1:7717"), "{refused}");
        let other = Some("https://elsewhere.example".to_owned());
        let other = PhonePairArgs { address: other, ..PhonePairArgs::default() };
        let public = running("127.0.0.1:7717", Some("https://weir.example.org"), false);
        assert!(address_of_running(&public, &other).is_err(), "it is not known by that name");
        let found = address_of_running(&public, &PhonePairArgs::default()).expect("it is reached");
        assert_eq!(found.base, "https://weir.example.org");
        assert!(found.remarks.is_empty());
        let found = address_of_running(&local, &PhonePairArgs::default()).expect("from here");
        assert!(found.remarks[0].contains("Only this machine"), "{found:?}");
        let plain = running("127.0.0.1:7717", Some("http://weir.example.org"), false);
        let refused = address_of_running(&plain, &PhonePairArgs::default());
        let refused = refused.expect_err("others listen").to_string();
        assert!(refused.contains("http://weir.example.org: without TLS"), "{refused}");
    }

    fn options(public_url: &str) -> ServerOptions {
        ServerOptions {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            public_url: Some(public_url.to_owned()),
            tls: None,
            proxies: Vec::new(),
            quiet: true,
            limits: weir_server::ServerLimits::default(),
            metrics_token: None,
        }
    }

    #[test]
    fn r5_the_settings_pair_nothing_over_a_plain_address_either() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Timestamp(1_800_000_000_000_000);
        let prepared = |url: &str, args: &PhonePairArgs| {
            prepare_server(&mut options(url), args, folder.path(), now)
        };
        let args = PhonePairArgs::default();
        let refused = prepared("http://weir.lan", &args).expect_err("others listen").to_string();
        assert!(refused.contains("server.public_url http://weir.lan: without TLS"), "{refused}");
        assert_eq!(prepared("https://weir.lan", &args).expect("by TLS"), None);
        for nowhere in ["0.0.0.0", "::", "224.0.0.1"] {
            let lan = Some(Some(nowhere.parse().expect("an address")));
            let args = PhonePairArgs { lan, ..PhonePairArgs::default() };
            let refused = prepared("https://weir.lan", &args).expect_err(nowhere).to_string();
            assert!(refused.contains("is no address of one machine"), "{refused}");
        }
        // With a certificate of its own it does not matter what the settings call it.
        let lan = Some(Some(IpAddr::from([127, 0, 0, 1])));
        let args = PhonePairArgs { lan, ..PhonePairArgs::default() };
        let made = prepared("http://weir.lan", &args).expect("a certificate");
        assert!(made.is_some_and(|fingerprint| fingerprint.len() == 95));
    }

    #[test]
    fn r5_what_must_be_compared_is_said_with_every_code() {
        let served = ServerPresence {
            fingerprint: Some("AA:BB".to_owned()),
            ..running("192.168.7.20:7717", Some("https://192.168.7.20:7717"), true)
        };
        let found = address_of_running(&served, &PhonePairArgs::default()).expect("by TLS");
        assert!(found.remarks.iter().any(|remark| remark.contains("AA:BB")), "{found:?}");
        let proxied = running("127.0.0.1:7717", Some("https://weir.example.org"), false);
        let mut set = options("https://weir.example.org");
        let found = address_of_started(&set, &proxied).expect("by TLS");
        assert!(found.remarks[0].contains("server.proxies"), "{found:?}");
        set.proxies.push(IpAddr::from([127, 0, 0, 1]));
        assert!(address_of_started(&set, &proxied).expect("by TLS").remarks.is_empty());
    }
}
