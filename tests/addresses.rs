//! Promise: anonymous clients are counted by address, and no header, claim or spare address gets a client around that.

use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, api_key, assert_limited, converse, converse_for, count, rate};
use crate::support::signer::Bot;
use crate::support::{Ask, Conn, Desk, Origin, Reply, Request, Setup, Tls, Via};

const TRUSTED: &str = "trusted_proxies = [\"127.0.0.1/32\", \"10.0.0.0/8\"]";

async fn desk(listen: &str, rates: &[(&str, &str)]) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("listen", listen).limits(rates).tls(&Tls::new()).start().await;
    (origin, desk)
}

fn claiming(ask: Ask, agent: &str) -> Ask {
    ask.header("AICP-Agent", agent)
}

#[tokio::test]
async fn addresses_written_by_a_stranger_change_nothing() {
    for trusted in ["trusted_proxies = []", "trusted_proxies = [\"192.0.2.0/24\"]"] {
        let (_origin, desk) = desk(trusted, &[("anonymous", "5/minute")]).await;
        let mut statuses = Vec::new();
        for n in 0..12 {
            for name in
                ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X_Forwarded_For", "CF-Connecting-IP", "True-Client-IP"]
            {
                let value = if name == "Forwarded" { format!("for=203.0.113.{n}") } else { format!("203.0.113.{n}") };
                let via = if n % 2 == 0 || name.contains('_') { Via::H1 } else { Via::H2Tls };
                statuses.push(desk.ask(via, converse().header(name, &value)).await.status);
            }
        }
        assert_eq!(count(&statuses), 5, "{trusted}");
    }
}

#[tokio::test]
async fn addresses_are_counted_one_by_one() {
    let (_origin, desk) = desk("trusted_proxies = []", &[("anonymous", "2/minute")]).await;
    for host in [1, 2, 3] {
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let mut conn = Conn::open_from(host, desk.ports.http).await;
            statuses.push(conn.ask(&converse()).await.status);
        }
        assert_eq!(statuses, [LET_THROUGH, LET_THROUGH, 429, 429], "127.0.0.{host}");
    }
}

#[tokio::test]
async fn addresses_come_from_trusted_proxies_as_the_nearest_of_them_saw_it() {
    let (_origin, desk) = desk(TRUSTED, &[("anonymous", "3/minute")]).await;
    assert_eq!(desk.let_through(4, &converse_for("203.0.113.1")).await, 3);
    assert_eq!(desk.let_through(1, &converse_for("203.0.113.2")).await, 1, "somebody else");
    // What the client wrote itself stands to the left; a trusted proxy of ours may stand to the right.
    for n in 0..5 {
        let spoofed = converse_for(&format!("198.51.100.{n}, 203.0.113.1"));
        assert_limited(&desk.ask(Via::H1, spoofed).await, "ip", "a forged first hop");
        let chained = converse_for(&format!("198.51.100.{n}, 203.0.113.1, 10.1.2.{n}"));
        assert_limited(&desk.ask(Via::H1, chained).await, "ip", "through two proxies");
    }
    let two_lines = converse_for("198.51.100.9").header("X-Forwarded-For", "203.0.113.1");
    assert_limited(&desk.ask(Via::H1, two_lines).await, "ip", "in two lines");
}

#[tokio::test]
async fn addresses_of_one_ipv6_network_are_one_client() {
    let (_origin, desk) = desk(TRUSTED, &[("anonymous", "4/minute")]).await;
    let network = ["2001:db8:1:2::1", "2001:db8:1:2::2", "2001:DB8:1:2:ffff:0:0:1", "2001:0db8:0001:0002:1:2:3:4"];
    for (used, address) in (1..).zip(network) {
        let response = desk.ask(Via::H1, converse_for(address)).await;
        assert_eq!(response.status, LET_THROUGH, "{address}");
        assert_eq!(rate(&response, address).remaining, 4 - used, "{address}");
    }
    for n in 0..5 {
        let address = format!("2001:db8:1:2:abcd::{n}");
        assert_limited(&desk.ask(Via::H1, converse_for(&address)).await, "ip", &address);
    }
    for address in ["2001:db8:1:3::1", "2001:db8:2:2::1", "203.0.113.1"] {
        let response = desk.ask(Via::H1, converse_for(address)).await;
        assert_eq!(rate(&response, address).remaining, 3, "{address} is somebody else");
    }
}

#[tokio::test]
async fn addresses_of_ipv4_in_ipv6_are_those_of_ipv4() {
    let (_origin, desk) = desk(TRUSTED, &[("anonymous", "4/minute")]).await;
    for (address, left) in [
        ("203.0.113.1", 3),
        ("::ffff:203.0.113.1", 2),
        ("::ffff:203.0.113.2", 3),
        ("203.0.113.2", 2),
        ("::FFFF:cb00:7101", 1),
    ] {
        let response = desk.ask(Via::H1, converse_for(address)).await;
        assert_eq!(rate(&response, address).remaining, left, "{address}");
    }
}

#[tokio::test]
async fn addresses_are_read_as_proxies_write_them() {
    let (_origin, desk) = desk(TRUSTED, &[("anonymous", "20/minute")]).await;
    for (name, value, left) in [
        ("X-Forwarded-For", "203.0.113.1", 19),
        ("X-Forwarded-For", "203.0.113.1:5555", 18),
        ("X-Forwarded-For", " 203.0.113.1 ", 17),
        ("Forwarded", "for=203.0.113.1", 16),
        ("Forwarded", "For=\"203.0.113.1:5555\";proto=https", 15),
        ("Forwarded", "for=198.51.100.7, for=203.0.113.1;by=10.0.0.1", 14),
        ("X-Forwarded-For", "2001:db8::1", 19),
        ("X-Forwarded-For", "[2001:db8::2]:5555", 18),
        ("Forwarded", "for=\"[2001:db8::3]:5555\"", 17),
    ] {
        let response = desk.ask(Via::H1, converse().header(name, value)).await;
        assert_eq!(rate(&response, value).remaining, left, "{name}: {value}");
    }
}

#[tokio::test]
async fn addresses_that_are_none_are_the_proxys_own() {
    let (_origin, desk) = desk(TRUSTED, &[("anonymous", "5/minute")]).await;
    let values = ["unknown", "_hidden", "", "garbage", "999.1.1.1", "203.0.113.1.evil", "203.0.113.", "::::", "-", ","];
    let statuses = desk.statuses(values.map(converse_for)).await;
    assert_eq!(count(&statuses), 5, "nobody becomes somebody by writing nonsense");
}

#[tokio::test]
async fn addresses_come_from_the_proxy_protocol_too() {
    let listen = "proxy_protocol = true\ntrusted_proxies = [\"127.0.0.1/32\"]";
    let (_origin, desk) = desk(listen, &[("anonymous", "2/minute")]).await;
    let call = async |address: &str| {
        let mut conn = desk.conn().await;
        let head = format!("PROXY TCP4 {address} 192.0.2.1 1234 80\r\n");
        conn.send([head.as_bytes(), &converse().bytes()].concat()).await;
        conn.response("POST").await.status
    };
    for address in ["203.0.113.1", "203.0.113.2"] {
        for expected in [LET_THROUGH, LET_THROUGH, 429] {
            assert_eq!(call(address).await, expected, "{address}");
        }
    }
}

#[tokio::test]
async fn addresses_are_not_escaped_by_thirty_claims() {
    let (_origin, desk) = desk("", &[("anonymous", "10/minute"), ("per_agent", "4/minute")]).await;
    let calls = (0..30).map(|n| claiming(converse(), &format!("Agent-{n}/1.0")));
    assert_eq!(count(&desk.statuses(calls).await), 10);
    assert_limited(&desk.ask(Via::H1, converse()).await, "ip", "without a claim");
}

#[tokio::test]
async fn addresses_share_no_claims() {
    let (_origin, desk) = desk("", &[("anonymous", "100/minute"), ("per_agent", "3/minute")]).await;
    let call = async |host: u8, agent: &str| {
        let mut conn = Conn::open_from(host, desk.ports.http).await;
        conn.ask(&claiming(converse(), agent)).await
    };
    for (host, agent) in [(1, "A/1.0"), (1, "B/1.0"), (2, "A/1.0")] {
        for used in 1..=3 {
            let response = call(host, agent).await;
            assert_eq!(response.status, LET_THROUGH, "127.0.0.{host} as {agent}");
            let rate = rate(&response, agent);
            assert_eq!((rate.limit, rate.remaining), (3, 3 - used), "127.0.0.{host} as {agent}: the tightest speaks");
        }
        assert_limited(&call(host, agent).await, "agent", &format!("127.0.0.{host} as {agent}"));
    }
    let unclaimed = desk.ask(Via::H1, converse()).await;
    assert_eq!(unclaimed.status, LET_THROUGH);
    assert_eq!(rate(&unclaimed, "without a claim").limit, 100);
}

#[tokio::test]
async fn addresses_claiming_a_name_cannot_use_up_who_has_proven_it() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    const CLAIMS: [&str; 2] = ["https://bot.example", "\"https://bot.example\""];
    let bot = Bot::new(CLAIMS[0]);
    let rates = [("anonymous", "100/minute"), ("authenticated", "100/minute"), ("per_agent", "3/minute")];
    let desk = Setup::before(&origin).limits(&rates).tail(&bot.known()).start().await;
    let statuses = desk.statuses((0..8).map(|n| claiming(converse(), CLAIMS[n % 2]))).await;
    assert!(count(&statuses) <= 6, "a name, plain or quoted, is one or two claims: {statuses:?}");
    for used in 1..=3 {
        let response = desk.ask(Via::H1, bot.sign(converse())).await;
        assert_eq!(response.status, LET_THROUGH, "{}", response.text());
        assert_eq!(rate(&response, "signed").remaining, 3 - used);
    }
    let mut conn = Conn::open_from(9, desk.ports.http).await;
    assert_limited(&conn.ask(&bot.sign(converse())).await, "agent", "a verified agent is one, wherever it calls from");
    let still = desk.ask(Via::H1, claiming(converse(), "Other/1.0")).await;
    assert_eq!(still.status, LET_THROUGH, "nor does it use up the others");
}

#[tokio::test]
async fn addresses_pay_for_failed_credentials() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup =
        Setup::before(&origin).limits(&[("anonymous", "4/minute")]).tail(&api_key("partner-a", "hush-hush", ""));
    let desk = setup.start().await;
    for used in 1..=4 {
        let response = desk.ask(Via::H1, converse().header("X-AHP-Key", &format!("guess-{used}"))).await;
        assert_eq!(response.status, 401);
        let rate = rate(&response, "a guess");
        assert_eq!((rate.limit, rate.remaining), (4, 4 - used), "a guess");
    }
    assert_limited(&desk.ask(Via::H1, converse().header("X-AHP-Key", "guess-5")).await, "ip", "one guess too many");
    let known = desk.ask(Via::H1, converse().header("X-AHP-Key", "hush-hush")).await;
    assert_limited(&known, "ip", "a right one is told no sooner");
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH, "without a credential");
    let mut conn = Conn::open_from(2, desk.ports.http).await;
    assert_eq!(conn.ask(&converse().header("X-AHP-Key", "guess-1")).await.status, 401, "nor is another address");
}
