//! The lessons themselves, a command each.

use frontdesk_filters::dialect;

use super::{super::import, CODES, Lesson};

/// What all of them exit with when the command line makes no sense, and nothing else can go wrong.
const MISUSE: &str = "the command line makes no sense";

/// All of them, `frontdesk` itself first.
pub(in crate::cli) fn all() -> Vec<Lesson> {
    let exported = dialect::exports().next().unwrap_or_default();
    let imported = import::formats().first().copied().unwrap_or_default();
    let e = |why: &'static str, line: &str| (why, format!("frontdesk {line}"));
    vec![
        Lesson {
            command: "",
            examples: vec![
                e("see it on an example site", "demo"),
                e("put it in front of your own", "run --upstream http://127.0.0.1:3000 --listen 127.0.0.1:8080"),
                e("see what any site has for agents", "inspect https://example.com"),
                e("read about a command", "help run"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "it is done"),
                    ("1", "something has mistakes, or cannot be done; each command's --help says what"),
                    ("2", "something cannot be read, or the command line makes no sense"),
                ],
            )],
            next: "With a file: frontdesk check FILE says everything that is wrong with it at once, frontdesk run \
                   --config FILE uses it and follows its changes.",
        },
        Lesson {
            command: "run",
            examples: vec![
                e("without a configuration", "run --upstream http://127.0.0.1:3000 --listen 127.0.0.1:8080"),
                e("with one; it is watched, and taken over when it is in order", "run --config frontdesk.toml"),
                (
                    "with traces to a collector",
                    "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 frontdesk run --config frontdesk.toml"
                        .to_owned(),
                ),
            ],
            parts: &[
                (
                    "Signals",
                    &[
                        ("TERM", "answer /readyz with 503, finish what runs, end (protection.shutdown_timeout)"),
                        ("INT", "end at once"),
                        ("HUP", "read the configuration again; one with mistakes keeps the running one"),
                        ("QUIT", "hand the listeners to a process that waits (run --upgrade), finish what runs, end"),
                    ],
                ),
                (
                    "Environment",
                    &[
                        ("OTEL_EXPORTER_OTLP_ENDPOINT", "where traces go, by http/protobuf; none are made without it"),
                        ("OTEL_*", "the other standard variables of traces: sampler, headers, names, batches"),
                        ("SSL_CERT_FILE, SSL_CERT_DIR", "certificates to trust, in place of the system's"),
                    ],
                ),
                (
                    CODES,
                    &[
                        ("0", "it was told to end, and did"),
                        ("1", "the configuration has mistakes, or it could not start: a port that is taken, say"),
                        ("2", "the configuration cannot be read, or the command line makes no sense"),
                    ],
                ),
            ],
            next: "Standard output has one JSON line for each request, standard error what you should know. \
                   curl http://127.0.0.1:9901/metrics shows what is counted, /config what runs, and /readyz?verbose \
                   why it is not ready.",
        },
        Lesson {
            command: "check",
            examples: vec![
                e("all mistakes, each with its line and what to do", "check frontdesk.toml"),
                e("and whether its Redis can be used: from where Frontdesk will run", "check frontdesk.toml --connect"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "it is fine; warnings are on standard error"),
                    ("1", "it has mistakes; with --connect, or its store cannot be used"),
                    ("2", "it cannot be read, or the command line makes no sense"),
                ],
            )],
            next: "frontdesk run --config FILE runs with it; frontdesk export prints what agents will be shown.",
        },
        Lesson {
            command: "inspect",
            examples: vec![
                e("any site; it is read, nothing of it is called", "inspect https://example.com"),
                e("your own, with Frontdesk in front of it", "inspect http://127.0.0.1:8080"),
                e("for a program", "inspect https://example.com --json"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "it has a contract, and that is valid"),
                    ("1", "it has one with mistakes"),
                    ("2", "it has none, nobody answers, or the command line makes no sense"),
                ],
            )],
            next: "What is missing stands beside what would change it. frontdesk run --upstream URL puts Frontdesk in \
                   front of a site; inspect that address then.",
        },
        Lesson {
            command: "export",
            examples: vec![
                e("as it would be published", &format!("export {exported} frontdesk.toml")),
                e("into a file", &format!("export {exported} frontdesk.toml --json --out published.json")),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "here it is"),
                    ("1", "the configuration has mistakes, or publishes nothing of that kind"),
                    ("2", "it cannot be read or written, or the command line makes no sense"),
                ],
            )],
            next: "frontdesk check FILE says what such a document means to an agent.",
        },
        Lesson {
            command: "import",
            examples: vec![
                e("of a file", &format!("import {imported} api.yaml --out frontdesk.toml")),
                e("of a site", &format!("import {imported} https://example.com/api.json --out frontdesk.toml")),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "it is written"),
                    ("1", "the document has mistakes, or the file is there already"),
                    ("2", "the document cannot be read, or the command line makes no sense"),
                ],
            )],
            next: "Look for \"review:\" in what is written: those are guesses. Then frontdesk check FILE.",
        },
        Lesson { command: "catalog", examples: vec![], parts: &[(CODES, &[("2", MISUSE)])], next: "" },
        Lesson {
            command: "catalog diff",
            examples: vec![e("before a newer one is used", "catalog diff old.json new.json --against sites")],
            parts: &[(
                CODES,
                &[
                    ("0", "nothing breaks"),
                    ("1", "something would"),
                    ("2", "one of them cannot be read, or the command line makes no sense"),
                ],
            )],
            next: "A verb that leaves is shown with the one to write in its place.",
        },
        Lesson {
            command: "firewall",
            examples: vec![e("what an agent would get of what is piped in", "firewall frontdesk.toml")],
            parts: &[(
                CODES,
                &[
                    ("0", "it may leave as it was printed"),
                    ("1", "the configuration has mistakes, or something in the text is told to be blocked"),
                    ("2", "something cannot be read or written, or the command line makes no sense"),
                ],
            )],
            next: "[firewall] in the configuration says what is looked for and what becomes of it: off, report, redact, \
                   block; patterns = \".aiignore\" adds your own.",
        },
        Lesson { command: "handoff", examples: vec![], parts: &[(CODES, &[("2", MISUSE)])], next: "" },
        Lesson {
            command: "handoff lint",
            examples: vec![e("all that is wrong, and where", "handoff lint .ai/handoff")],
            parts: &[(
                CODES,
                &[
                    ("0", "nothing is wrong"),
                    ("1", "something is"),
                    ("2", "it cannot be looked at, or the command line makes no sense"),
                ],
            )],
            next: "frontdesk handoff manifest DIR writes the manifest anew where only that is wrong.",
        },
        Lesson {
            command: "handoff manifest",
            examples: vec![e(
                "at the end of a session",
                "handoff manifest .ai/handoff --agent builder --phase fix --duration 40",
            )],
            parts: &[(
                CODES,
                &[
                    ("0", "it is written"),
                    ("1", "it must not be: somebody else writes, say"),
                    ("2", "it cannot be, or the command line makes no sense"),
                ],
            )],
            next: "frontdesk handoff lint DIR says whether it is in order then.",
        },
        Lesson {
            command: "demo",
            examples: vec![
                e("at http://127.0.0.1:8080", "demo"),
                e("elsewhere", "demo --listen 127.0.0.1:8090 --admin 127.0.0.1:9911"),
            ],
            parts: &[(CODES, &[("0", "it was told to end"), ("1", "it could not start"), ("2", MISUSE)])],
            next: "It says what to try, in another terminal. frontdesk run --upstream URL does it for your own site.",
        },
        Lesson {
            command: "health",
            examples: vec![
                e("whether it takes requests", "health"),
                e("in a container file: HEALTHCHECK", "health --admin 127.0.0.1:9901"),
                e("whether it is alive, if only to end", "health --live"),
            ],
            parts: &[(CODES, &[("0", "it is"), ("1", "it is not, or nobody answers"), ("2", MISUSE)])],
            next: "curl http://127.0.0.1:9901/readyz?verbose says why it is not ready.",
        },
        Lesson {
            command: "completions",
            examples: vec![
                e("for bash", "completions bash > ~/.local/share/bash-completion/completions/frontdesk"),
                e("for zsh, into a directory of $fpath", "completions zsh > ~/.zfunc/_frontdesk"),
                e("for fish", "completions fish > ~/.config/fish/completions/frontdesk.fish"),
            ],
            parts: &[(CODES, &[("0", "here they are"), ("2", MISUSE)])],
            next: "Shells read it when they start: open a new one.",
        },
        Lesson {
            command: "man",
            examples: vec![e("read one", "man run | man -l -"), e("install all", "man --dir ~/.local/share/man/man1")],
            parts: &[(CODES, &[("0", "done"), ("2", "there is no such command, or the pages cannot be written")])],
            next: "man frontdesk-run shows one that is installed.",
        },
    ]
}
