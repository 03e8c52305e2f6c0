//! Forms of addresses and hosts, as tables.

use super::*;

const CLOSED: &[(&str, AddressRefusal)] = &[
    ("127.0.0.1", AddressRefusal::Loopback),
    ("127.255.255.254", AddressRefusal::Loopback),
    ("0.0.0.0", AddressRefusal::Reserved),
    ("0.1.2.3", AddressRefusal::Reserved),
    ("10.0.0.1", AddressRefusal::Private),
    ("172.16.0.1", AddressRefusal::Private),
    ("172.31.255.255", AddressRefusal::Private),
    ("192.168.1.1", AddressRefusal::Private),
    ("100.64.0.1", AddressRefusal::Private),
    ("100.127.255.255", AddressRefusal::Private),
    ("100.100.100.200", AddressRefusal::Metadata),
    ("169.254.169.254", AddressRefusal::Metadata),
    ("168.63.129.16", AddressRefusal::Metadata),
    ("169.254.0.1", AddressRefusal::LinkLocal),
    ("192.0.0.192", AddressRefusal::Reserved),
    ("192.0.2.1", AddressRefusal::Reserved),
    ("198.18.0.1", AddressRefusal::Reserved),
    ("198.19.255.255", AddressRefusal::Reserved),
    ("198.51.100.7", AddressRefusal::Reserved),
    ("203.0.113.9", AddressRefusal::Reserved),
    ("192.88.99.1", AddressRefusal::Reserved),
    ("224.0.0.1", AddressRefusal::Multicast),
    ("239.255.255.255", AddressRefusal::Multicast),
    ("240.0.0.1", AddressRefusal::Reserved),
    ("255.255.255.255", AddressRefusal::Reserved),
    ("::", AddressRefusal::Reserved),
    ("::1", AddressRefusal::Loopback),
    ("::127.0.0.1", AddressRefusal::Embedded),
    ("::ffff:127.0.0.1", AddressRefusal::Embedded),
    ("::ffff:93.184.216.34", AddressRefusal::Embedded),
    ("::ffff:0:127.0.0.1", AddressRefusal::Embedded),
    ("64:ff9b::7f00:1", AddressRefusal::Embedded),
    ("64:ff9b:1::1", AddressRefusal::Embedded),
    ("2002:7f00:1::", AddressRefusal::Embedded),
    ("2001:0:4136:e378::1", AddressRefusal::Embedded),
    ("64:ff9b::a9fe:a9fe", AddressRefusal::Embedded),
    ("::ffff:169.254.169.254", AddressRefusal::Embedded),
    ("2606:4700::5efe:127.0.0.1", AddressRefusal::Embedded),
    ("2606:4700::200:5efe:10.0.0.1", AddressRefusal::Embedded),
    ("fc00::1", AddressRefusal::Private),
    ("fd12:3456::1", AddressRefusal::Private),
    ("fd00:ec2::254", AddressRefusal::Metadata),
    ("fd20:ce::254", AddressRefusal::Metadata),
    ("fec0::1", AddressRefusal::Private),
    ("fe80::1", AddressRefusal::LinkLocal),
    ("ff02::1", AddressRefusal::Multicast),
    ("2001:db8::1", AddressRefusal::Reserved),
    ("2001:2::1", AddressRefusal::Reserved),
    ("2001:20::1", AddressRefusal::Reserved),
    ("3fff::1", AddressRefusal::Reserved),
    ("100::1", AddressRefusal::Reserved),
    ("4000::1", AddressRefusal::Reserved),
    ("1::1", AddressRefusal::Reserved),
];

#[test]
fn z10_an_address_that_grows_beyond_the_bound_is_refused() {
    let long = format!("https://example.org/{}", "{".repeat(4_000));
    assert!(check_address(&long, &[]).is_err_and(|why| why.contains("once it is encoded")));
    let short = format!("https://example.org/{}", "{".repeat(2_000));
    let form = check_address(&short, &[]).expect("an address").0;
    assert_eq!(check_address(&form.url, &[]).map(|(address, _)| address), Ok(form));
}

#[test]
fn z5_closed_addresses() {
    for (ip, closed) in CLOSED {
        assert_eq!(judge_ip(ip.parse().unwrap()), Err(*closed), "{ip}");
    }
    for ip in [
        "93.184.216.34",
        "1.1.1.1",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "169.253.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001::1",
        "2001:200::1",
        "2001:4860:4860::8888",
    ] {
        assert_eq!(judge_ip(ip.parse().unwrap()), Ok(()), "{ip}");
    }
}

#[test]
fn z5_every_way_to_write_this_machine_is_seen() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "127.0.1",
        "0",
        "0x0",
        "localhost",
        "LOCALHOST.",
        "localhost..",
        "x.localhost.",
        "x.localhost",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::]",
        "１２７.０.０.１",
        "127。0。0。1",
        "%31%32%37.0.0.1",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
    ] {
        let error = check_address(&format!("http://{host}/x"), &[]).unwrap_err();
        assert!(error.contains("which tools do not reach"), "{host}: {error}");
    }
    let listed = [canonical_host("127.0.0.1").unwrap()];
    assert!(check_address("http://0x7f.1:8080/x", &listed).is_ok());
    assert!(check_address("http://127.0.0.2/x", &listed).is_err());
    assert!(check_address("http://localhost/x", &listed).is_err());
}

#[test]
fn z5_one_address_has_one_form() {
    let cases = [
        ("HTTPS://Example.ORG:443/a/../b?q#p", "https://example.org/b?q", "example.org"),
        ("http://example.org.", "http://example.org/", "example.org"),
        ("http://example.org:80", "http://example.org/", "example.org"),
        ("http://example.org:8080/x", "http://example.org:8080/x", "example.org"),
        ("https://bücher.test/", "https://xn--bcher-kva.test/", "xn--bcher-kva.test"),
        ("https://[2606:4700:0::1]/", "https://[2606:4700::1]/", "2606:4700::1"),
        ("  https://example.org/ ", "https://example.org/", "example.org"),
    ];
    for (written, url, host) in cases {
        let (address, _) = check_address(written, &[]).unwrap();
        assert_eq!((address.url.as_str(), address.host.as_str()), (url, host), "{written}");
    }
}

#[test]
fn z5_addresses_that_are_never_fetched() {
    let long = format!("https://example.org/{}", "x".repeat(10_000));
    let cases = [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://example.org/", "only http and https"),
        ("data:text/plain,x", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("https://user@example.org/", "user name or password"),
        ("https://user:pw@example.org/", "user name or password"),
        ("https://:pw@example.org/", "user name or password"),
        ("example.org/page", "not a whole address"),
        ("", "not a whole address"),
        ("https://", "not a whole address"),
        ("https://exa mple.org/", "spaces or control"),
        ("https://example.org/\r\nHost: x", "spaces or control"),
        ("http://256.256.256.256/", "not a whole address"),
        ("http://example.org:99999/", "not a whole address"),
        (&long, "longer than"),
    ];
    for (written, why) in cases {
        let error = check_address(written, &[]).unwrap_err();
        assert!(error.contains(why), "{written}: {error}");
    }
}

#[test]
fn z5_listed_hosts_have_one_form_too() {
    for (written, form) in [
        ("Intranet.Example.", "intranet.example"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("0x7f.1", "127.0.0.1"),
        (" nas ", "nas"),
    ] {
        assert_eq!(canonical_host(written).as_deref(), Ok(form));
    }
    for wrong in ["http://x", "a/b", "", "host:80", "a b"] {
        assert!(canonical_host(wrong).unwrap_err().contains("web.allow_hosts"), "{wrong}");
    }
}

#[test]
fn z5_names_of_this_network_are_refused_without_a_name_server() {
    for (name, what) in [
        ("metadata.google.internal", "a cloud's metadata service"),
        ("METADATA.google.internal.", "a cloud's metadata service"),
        ("metadata", "a cloud's metadata service"),
        ("instance-data.ec2.internal", "a cloud's metadata service"),
        ("host.docker.internal", "a private network"),
        ("printer.local", "a private network"),
        ("nas.home.arpa", "a private network"),
        ("abc.onion", "a private network"),
        ("intranet", "a private network"),
        ("kubernetes", "a private network"),
    ] {
        let url = format!("https://{name}/x");
        let error = check_address(&url, &[]).unwrap_err();
        assert!(error.contains(what), "{name}: {error}");
        assert!(check_address(&url, &[canonical_host(name).unwrap()]).is_ok(), "{name} is listed");
    }
    for name in ["example.org", "internal.example.org", "localhost.example.org", "mylocal.org"] {
        assert!(check_address(&format!("https://{name}/"), &[]).is_ok(), "{name}");
    }
}

#[test]
fn z5_ports_of_other_services_are_refused() {
    let judge = |port: u16| {
        let (_, url) = check_address(&format!("http://example.org:{port}/"), &[]).unwrap();
        judge_port(&url)
    };
    for port in [0, 21, 22, 25, 53, 110, 143, 465, 587, 993, 2049, 6000, 6667, 10080] {
        let error = judge(port).unwrap_err();
        assert!(error.contains(&format!("port {port} belongs to another service")), "{error}");
    }
    for port in [80, 443, 3000, 8080, 8443, 65535] {
        assert_eq!(judge(port), Ok(()), "{port}");
    }
}

#[test]
fn z5_zones_and_odd_literals_are_no_hosts() {
    for host in
        ["[fe80::1%25eth0]", "[::1", "::1", "[1.2.3.4]", "1.2.3.4.5", "0x100000000", "a%00b"]
    {
        assert!(check_address(&format!("http://{host}/"), &[]).is_err(), "{host}");
    }
}
