//! The help of each command: its examples, its exit codes and the next step.

use frontdesk_filters::dialect;

#[cfg(feature = "tools")]
use super::super::import;
use super::{super::left_out::is_left_out, CODES, CommandHelp};

/// The meaning of exit code 2 where only the command line can be wrong.
const MISUSE: &str = "the command line is not valid";

/// The help of all commands, `frontdesk` itself first.
pub(in crate::cli) fn all() -> Vec<CommandHelp> {
    let mut lessons = every();
    lessons.retain(|lesson| !is_left_out(lesson.command));
    for lesson in &mut lessons {
        lesson.examples.retain(|(_, line)| !is_left_out(line.trim_start_matches("frontdesk ")));
    }
    lessons
}

/// The same for a build that leaves no command out.
fn every() -> Vec<CommandHelp> {
    let exported = dialect::exports().next().unwrap_or_default();
    #[cfg(not(feature = "tools"))]
    let imported = "";
    #[cfg(feature = "tools")]
    let imported = import::formats().first().copied().unwrap_or_default();
    let e = |why: &'static str, line: &str| (why, format!("frontdesk {line}"));
    vec![
        CommandHelp {
            command: "",
            examples: vec![
                e("try it on an example site", "demo"),
                e("put it in front of your own", "run --upstream http://127.0.0.1:3000 --listen 127.0.0.1:8080"),
                e("see what any site offers agents", "inspect https://example.com"),
                e("read about a command", "help run"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "success"),
                    ("1", "the input has mistakes, or the command failed; each command's --help has details"),
                    ("2", "the input cannot be read, or the command line is not valid"),
                ],
            )],
            next: "With a file: frontdesk check FILE reports all mistakes at once, frontdesk run --config FILE \
                   uses the file and reloads it when it changes.",
        },
        CommandHelp {
            command: "run",
            examples: vec![
                e("without a configuration", "run --upstream http://127.0.0.1:3000 --listen 127.0.0.1:8080"),
                e("with one; it is reloaded when it changes and has no mistakes", "run --config frontdesk.toml"),
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
                        (
                            "TERM",
                            "answer /readyz with 503, finish requests in flight, exit (protection.shutdown_timeout)",
                        ),
                        ("INT", "exit at once"),
                        ("HUP", "reload the configuration; if it has mistakes, the running one stays in use"),
                        ("QUIT", "hand the listeners to the process started with run --upgrade, finish requests, exit"),
                    ],
                ),
                (
                    "Environment",
                    &[
                        (
                            "OTEL_EXPORTER_OTLP_ENDPOINT",
                            "the collector to send traces to (http/protobuf); without it tracing is off",
                        ),
                        ("OTEL_*", "the other standard tracing variables: sampler, headers, names, batches"),
                        ("SSL_CERT_FILE, SSL_CERT_DIR", "trusted certificates, instead of the system's"),
                    ],
                ),
                (
                    CODES,
                    &[
                        ("0", "a signal or POST /shutdown ended it"),
                        ("1", "the configuration has mistakes, or it could not start (for example, a port is in use)"),
                        ("2", "the configuration cannot be read, or the command line is not valid"),
                    ],
                ),
            ],
            next: "Standard output has one JSON line for each request, standard error has the log. \
                   curl http://127.0.0.1:9901/metrics shows the metrics, /config the configuration in use, and \
                   /readyz?verbose why the process is not ready.",
        },
        CommandHelp {
            command: "check",
            examples: vec![
                e("show all mistakes, each with its line and its fix", "check frontdesk.toml"),
                e(
                    "also connect to its Redis: run this on the host where Frontdesk will run",
                    "check frontdesk.toml --connect",
                ),
                e("try every selector and form against the running site", "check frontdesk.toml --live"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "no mistakes; warnings are on standard error"),
                    (
                        "1",
                        "it has mistakes, or with --connect its store cannot be used, or with --live the site does not fit",
                    ),
                    ("2", "it cannot be read, or the command line is not valid"),
                ],
            )],
            next: "frontdesk run --config FILE starts with it; frontdesk export prints what agents will get.",
        },
        CommandHelp {
            command: "inspect",
            examples: vec![
                e("read any site; this calls none of its actions", "inspect https://example.com"),
                e("read your own site behind Frontdesk", "inspect http://127.0.0.1:8080"),
                e("print JSON for a program", "inspect https://example.com --json"),
                e("fail a pipeline whose site is below a level", "inspect http://127.0.0.1:8080 --fail-below 4"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "the site has a valid contract"),
                    ("1", "the site has a contract with mistakes"),
                    ("2", "the site has no contract or does not answer, or the command line is not valid"),
                    ("0, 1", "with --fail-below: the readiness level is reached, or is not"),
                ],
            )],
            next: "The report names the remedy for each missing part. frontdesk run --upstream URL puts Frontdesk in \
                   front of a site; then inspect Frontdesk's address.",
        },
        CommandHelp {
            command: "export",
            examples: vec![
                e("print it as Frontdesk would publish it", &format!("export {exported} frontdesk.toml")),
                e("write it to a file", &format!("export {exported} frontdesk.toml --json --out published.json")),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "the document was printed or written"),
                    ("1", "the configuration has mistakes, or publishes nothing of that kind"),
                    ("2", "it cannot be read or written, or the command line is not valid"),
                ],
            )],
            next: "frontdesk check FILE explains what such a document means to an agent.",
        },
        CommandHelp {
            command: "import",
            examples: vec![
                e("from an OpenAPI document", &format!("import {imported} api.yaml --out frontdesk.toml")),
                e(
                    "from one that the site has",
                    &format!("import {imported} https://example.com/api.json --out frontdesk.toml"),
                ),
                e("a part of a large document", &format!("import {imported} api.json --tag pets --tag orders")),
                e(
                    "from the pages and forms of a site without an API",
                    "import site https://example.com --out frontdesk.toml",
                ),
                e("from a GraphQL server", "import graphql https://example.com/graphql --out frontdesk.toml"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "the file was written"),
                    ("1", "the document has mistakes, or the output file exists already"),
                    ("2", "the document cannot be read, or the command line is not valid"),
                ],
            )],
            next: "Search the output for \"review:\": those values are guesses. Then run frontdesk check FILE. \
                   A site's own pages: frontdesk help import-site.",
        },
        CommandHelp { command: "catalog", examples: vec![], parts: &[(CODES, &[("2", MISUSE)])], next: "" },
        CommandHelp {
            command: "catalog diff",
            examples: vec![e(
                "compare before you switch to a newer catalog",
                "catalog diff old.json new.json --against sites",
            )],
            parts: &[(
                CODES,
                &[
                    ("0", "nothing breaks"),
                    ("1", "the change would break something"),
                    ("2", "a catalog cannot be read, or the command line is not valid"),
                ],
            )],
            next: "For each removed verb the output names its replacement.",
        },
        CommandHelp {
            command: "firewall",
            examples: vec![e(
                "filter standard input as a response to an agent would be filtered",
                "firewall frontdesk.toml",
            )],
            parts: &[(
                CODES,
                &[
                    ("0", "the printed text may go to an agent"),
                    ("1", "the configuration has mistakes, or a rule blocks the text"),
                    ("2", "a file cannot be read or written, or the command line is not valid"),
                ],
            )],
            next: "[firewall] in the configuration sets the action for each kind of finding: off, report, redact, \
                   block; patterns = \".aiignore\" adds your own patterns.",
        },
        CommandHelp { command: "handoff", examples: vec![], parts: &[(CODES, &[("2", MISUSE)])], next: "" },
        CommandHelp {
            command: "handoff lint",
            examples: vec![e("show all mistakes with their places", "handoff lint .ai/handoff")],
            parts: &[(
                CODES,
                &[
                    ("0", "no mistakes"),
                    ("1", "the handoff has mistakes"),
                    ("2", "it cannot be read, or the command line is not valid"),
                ],
            )],
            next: "If only the manifest is wrong, frontdesk handoff manifest DIR writes it again.",
        },
        CommandHelp {
            command: "handoff manifest",
            examples: vec![e(
                "at the end of a session",
                "handoff manifest .ai/handoff --agent builder --phase fix --duration 40",
            )],
            parts: &[(
                CODES,
                &[
                    ("0", "the file was written"),
                    ("1", "it may not be written now (another agent holds the lock, for example)"),
                    ("2", "it cannot be written, or the command line is not valid"),
                ],
            )],
            next: "frontdesk handoff lint DIR then checks the result.",
        },
        CommandHelp {
            command: "demo",
            examples: vec![
                e("at http://127.0.0.1:8080", "demo"),
                e("in a minute, and then end", "demo --tour"),
                e("at another address", "demo --listen 127.0.0.1:8090 --admin 127.0.0.1:9911"),
            ],
            parts: &[(
                CODES,
                &[
                    ("0", "a signal ended it, or the tour is over"),
                    ("1", "it could not start, or the tour broke off"),
                    ("2", MISUSE),
                ],
            )],
            next: "The demo prints commands to try in another terminal. frontdesk run --upstream URL does the same for \
                   your own site.",
        },
        CommandHelp {
            command: "health",
            examples: vec![
                e("ask whether it is ready for requests", "health"),
                e("as HEALTHCHECK of a container image", "health --admin 127.0.0.1:9901"),
                e("ask only whether it is alive; this is true while it shuts down", "health --live"),
            ],
            parts: &[(CODES, &[("0", "yes"), ("1", "no, or there is no answer"), ("2", MISUSE)])],
            next: "curl http://127.0.0.1:9901/readyz?verbose says why it is not ready.",
        },
        CommandHelp {
            command: "completions",
            examples: vec![
                e("for bash", "completions bash > ~/.local/share/bash-completion/completions/frontdesk"),
                e("for zsh, into a directory of $fpath", "completions zsh > ~/.zfunc/_frontdesk"),
                e("for fish", "completions fish > ~/.config/fish/completions/frontdesk.fish"),
            ],
            parts: &[(CODES, &[("0", "the script was printed"), ("2", MISUSE)])],
            next: "Open a new shell: it reads the script when it starts.",
        },
        CommandHelp {
            command: "explain",
            examples: vec![
                e("a reason of a refusal", "explain rate_limited"),
                e("all reasons of a status", "explain 429"),
                e("an alert", "explain FrontdeskStoreAway"),
                e("a metric", "explain frontdesk_rejections_total"),
                e("some words of a log message", "explain could not be accepted"),
            ],
            parts: &[(CODES, &[("0", "success"), ("1", "the manual does not name it"), ("2", MISUSE)])],
            next: "frontdesk help errors shows the whole table.",
        },
        CommandHelp {
            command: "help",
            examples: vec![e("about a command", "help run"), e("a page of the manual", "help operate | less")],
            parts: &[(CODES, &[("0", "success"), ("2", "there is no such command or page")])],
            next: "frontdesk explain WORD finds one word in all pages.",
        },
        CommandHelp {
            command: "man",
            examples: vec![e("read one", "man run | man -l -"), e("install all", "man --dir ~/.local/share/man/man1")],
            parts: &[(CODES, &[("0", "success"), ("2", "there is no such command, or the pages cannot be written")])],
            next: "man frontdesk-run shows an installed page.",
        },
    ]
}
