//! Measures how many tokens an agent has to read to learn one fact from the demo site, by each way.
//!
//! `cargo bench -p frontdesk --bench tokens`. The last column is the matching capability call, if there is one. It
//! prints figures and asserts nothing.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use frontdesk_filters::limits::tokens::count;

/// A fact to learn: the question, the page with the answer, and the call with the answer.
type Task = (&'static str, &'static str, Option<(&'static str, &'static str)>);

const TASKS: [Task; 10] = [
    ("How heavy may a checked bag be?", "/help/baggage", None),
    ("How do I cancel a booking?", "/help/changes", None),
    ("How long does a refund take?", "/help/changes", None),
    ("Can I bring a bicycle?", "/help/baggage", None),
    ("Who operates this site?", "/about", None),
    ("When should I visit Lisbon?", "/destinations/lisbon", None),
    ("How do I get from the airport to Tokyo?", "/destinations/tokyo", None),
    ("What happens to my personal data?", "/terms", None),
    (
        "What is the cheapest flight from Madrid to Tokyo?",
        "/flights?from=MAD&to=NRT",
        Some(("/agent/flights/search", r#"{"origin":"MAD","destination":"NRT"}"#)),
    ),
    (
        "Which flights go from Berlin to Madrid?",
        "/flights?from=BER&to=MAD",
        Some(("/agent/flights/search", r#"{"origin":"BER","destination":"MAD"}"#)),
    ),
];

struct Demo {
    child: Child,
    address: SocketAddr,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address")
}

impl Demo {
    fn start() -> Self {
        let (address, admin) = (free(), free());
        let child = Command::new(env!("CARGO_BIN_EXE_frontdesk"))
            .args(["demo", "--listen", &address.to_string(), "--admin", &admin.to_string()])
            .env("TRAVEL_AUDIT", std::env::temp_dir().join(format!("tokens-{}.jsonl", address.port())))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the demo");
        let demo = Self { child, address };
        let began = Instant::now();
        // The crawl has ended when the list of pages is complete.
        while began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(500));
            if TcpStream::connect(address).is_ok() && demo.get("/llms.txt", "").contains("/terms") {
                break;
            }
        }
        demo
    }

    fn get(&self, target: &str, accept: &str) -> String {
        self.ask(&format!("GET {target} HTTP/1.1\r\nHost: demo\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"))
    }

    fn post(&self, target: &str, body: &str) -> String {
        let length = body.len();
        self.ask(&format!(
            "POST {target} HTTP/1.1\r\nHost: demo\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        ))
    }

    /// The body of a response that ends with its connection or has a length.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut reader = BufReader::new(stream);
        let (mut chunked, mut line) = (false, String::new());
        loop {
            line.clear();
            reader.read_line(&mut line).expect("a head");
            if line.trim().is_empty() {
                break;
            }
            chunked |= line.to_ascii_lowercase().starts_with("transfer-encoding: chunked");
        }
        let mut body = Vec::new();
        if !chunked {
            reader.read_to_end(&mut body).expect("a body");
        }
        while chunked {
            line.clear();
            reader.read_line(&mut line).expect("a chunk");
            let length = usize::from_str_radix(line.trim(), 16).expect("its length");
            let mut chunk = vec![0; length + 2];
            reader.read_exact(&mut chunk).expect("its bytes");
            body.extend_from_slice(&chunk[..length]);
            chunked = length > 0;
        }
        String::from_utf8_lossy(&body).into_owned()
    }
}

fn main() {
    // When cargo runs this as a test, it must do nothing.
    if std::env::args().any(|argument| argument == "--test" || argument == "--list") {
        return;
    }
    let demo = Demo::start();
    println!(
        "{:52} {:>6} {:>9} {:>9} {:>9} {:>6}",
        "tokens to read", "page", "Markdown", "llms.txt", "converse", "AOM"
    );
    let contents = count(&demo.get("/llms.txt", "*/*"));
    let mut sums = [0u32; 4];
    for (question, page, call) in TASKS {
        let html = count(&demo.get(page, "text/html"));
        let markdown = count(&demo.get(page, "text/markdown"));
        let asked = serde_json::json!({ "capability": "content_search", "query": question });
        let converse = count(&demo.post("/agent/converse", &asked.to_string()));
        let aom = call.map(|(target, body)| count(&demo.post(target, body)).to_string());
        // A client that starts at llms.txt reads the page after it.
        let listed = contents + markdown;
        println!(
            "{question:52} {html:>6} {markdown:>9} {listed:>9} {converse:>9} {:>6}",
            aom.as_deref().unwrap_or("-")
        );
        for (sum, tokens) in sums.iter_mut().zip([html, markdown, listed, converse]) {
            *sum += tokens;
        }
    }
    let [html, markdown, listed, converse] = sums;
    println!("{:52} {html:>6} {markdown:>9} {listed:>9} {converse:>9}", "all ten");
}
