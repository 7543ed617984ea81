//! What an import makes of pages.

use super::*;

fn imported(pages: &[(&str, &str)]) -> Result<Imported, String> {
    let mut import = SiteImport::new("http://site.test/").unwrap();
    while let Some(at) = import.next_page() {
        let target = at[Position::BeforePath..].to_owned();
        if let Some((_, html)) = pages.iter().find(|(path, _)| *path == target) {
            if let Some(to) = html.strip_prefix("Location: ") {
                import.take(&at, "", &Bytes::new(), Some(to));
                continue;
            }
            let kind = match () {
                () if target.ends_with(".xml") => "application/opensearchdescription+xml",
                () if html.starts_with("<rss") => "application/rss+xml",
                () => "text/html",
            };
            import.take(&at, kind, &Bytes::copy_from_slice(html.as_bytes()), None);
        }
    }
    import.finish()
}

const HOME: &str = "<title>Shop</title><link rel=alternate type=application/rss+xml title=News href=/feed>\
    <form role=search action='/search?id=start'><input type=hidden name=lang value=en><input name=q aria-label='Search the shop'>\
    </form><a href=/contact>Contact</a><a href=/cart/delete/1>Remove</a><a href=/login>Sign in</a>";
const CONTACT: &str = "<form id=contact action=/contact/send method=post><input type=hidden name=csrf value=x>\
    <label for=e>E-mail *</label><input id=e name=email type=email required maxlength=80>\
    <label>Topic <select name=topic><option value=''>Choose<option value=1>Prices<option value=2>Other</select></label>\
    <textarea name='msg[text]' required></textarea><input type=checkbox name=copy><button>Send</button></form>";

#[test]
fn searches_forms_and_feeds_become_capabilities() {
    let login = "<form action=/login method=post><input name=u><input type=password name=p></form>";
    let home = format!("{HOME}{login}");
    let imported = imported(&[("/", &home), ("/contact", CONTACT), ("/feed", "<rss></rss>")]).unwrap();
    let text = &imported.text;
    for line in [
        "id = \"site.search\"",
        "path = \"/search?lang=en\"",
        "response = \"page\"",
        "id = \"send.send\"",
        "auth = \"required\"",
        "page = \"/contact\"",
        "select = \"form#contact\"",
        "rename_input = { \"msg_text\" = \"msg[text]\" }",
        "\"enum\" = [\"Prices\", \"Other\"], \"title\" = \"Topic\"",
        "\"required\" = [\"email\", \"msg_text\"]",
        "name = \"Shop\" # review: the title of the start page",
        "summary = \"Send the form at /contact/send (email: {{ input.email }}, msg_text: {{ input.msg_text }})\
         {% if input.topic is defined %}, topic: {{ input.topic }}{% endif %}\
         {% if input.copy is defined %}, copy: {{ input.copy }}{% endif %}\"",
        "id = \"news.feed\"",
        "# left out: a form on /: it asks for a password",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("csrf") && !text.contains("delete"), "{text}");
    assert_eq!(imported.capabilities, 3);
}

#[test]
fn a_form_is_sent_where_its_buttons_lead() {
    // One button decides for its form.
    let one =
        "<form action=/wrong><input name=text><button formaction=/notes/save formmethod=post>Save</button></form>";
    let text = imported(&[("/", one)]).unwrap().text;
    assert!(text.contains("path = \"/notes/save\"") && text.contains("method = \"POST\"\npath"), "{text}");
    assert!(!text.contains("/wrong") && !text.contains("submit ="), "{text}");
    // Several are a capability each; two to one address are one.
    let three = "<form id=edit action=/notes/save method=post><h2>Note</h2><input name=text><button name=do value=save>Save</button>\
                 <button name=do value=again>Save again</button><button disabled formaction=/notes/gone>Gone</button></form>\
                 <input type=submit form=edit name=publish value=Publish formaction=/notes/publish>\
                 <button form=edit name=find formaction=/notes/find formmethod=get>Find</button>\
                 <button form=edit formaction=https://else.test/x>Share</button>";
    let imported = imported(&[("/", three)]).unwrap();
    let text = &imported.text;
    for lines in [
        "description = \"Note: Save\"",
        "description = \"Note: Publish\"",
        "path = \"/notes/save\"\nundeclared = \"drop\"\n[capabilities.upstream.form]\npage = \"/\"\nselect = \"form#edit\"\nsubmit = \"do\"\n",
        "path = \"/notes/publish\"\nundeclared = \"drop\"\n[capabilities.upstream.form]\npage = \"/\"\nselect = \"form#edit\"\nsubmit = \"publish\"\n",
        "method = \"GET\"\npath = \"/notes/find\"",
        "# left out: a form on /: it is sent to another site, else.test",
    ] {
        assert!(text.contains(lines), "{lines}\n{text}");
    }
    assert!(!text.contains("/notes/gone"), "{text}");
    assert_eq!(imported.capabilities, 3, "{text}");
}

#[test]
fn what_people_cannot_change_is_no_input() {
    let form = "<form action=/order method=post><input name=price value=100 readonly><input name=day readonly>\
                <input name=text><input name=gone disabled></form>";
    let text = imported(&[("/", form)]).unwrap().text;
    assert!(text.contains("\"day\" = {") && text.contains("\"text\" = {"), "{text}");
    assert!(!text.contains("price") && !text.contains("gone"), "{text}");
}

#[test]
fn searches_that_are_described_are_found() {
    let ld = "<script type='application/ld+json'>{\"@type\":\"WebSite\",\"potentialAction\":{\"@type\":\"SearchAction\",\
              \"target\":{\"urlTemplate\":\"http://site.test/?s={search_term_string}\"}}}</script>";
    let text = imported(&[("/", ld)]).unwrap().text;
    assert!(text.contains("path = \"/\"") && text.contains("\"s\" = {"), "{text}");
    let link = "<link rel=search type=application/opensearchdescription+xml href=/opensearch.xml>";
    let described =
        "<OpenSearchDescription><Url type=\"text/html\" template=\"http://site.test/find?q={searchTerms}&amp;p=1\"/>";
    let text = imported(&[("/", link), ("/opensearch.xml", described)]).unwrap().text;
    assert!(text.contains("path = \"/find?p=1\"") && text.contains("\"q\" = {"), "{text}");
}

#[test]
fn what_agents_have_no_business_with_is_left_out() {
    for (form, why) in [
        ("<form action=https://else.test/x method=post><input name=a></form>", "another site"),
        ("<form action=/register method=post><input name=a></form>", "register"),
        (
            "<form action=/go method=post><input name=a><input name=b><input name=c><button>Sign up</button></form>",
            "register",
        ),
        ("<form action=/go method=post><p>Passwort vergessen?<input name=mail><button>Los</button></form>", "password"),
        ("<form action='/?login=yes' method=post><input name=who></form>", "sign in"),
        ("<form action=/go><input name=openid_url><button>Go</button></form>", "sign in"),
        ("<form action=/go method=post><input name=mail placeholder='Votre mot de passe'></form>", "password"),
        ("<form action='/go?cmd=pwdrem' method=post><input name=who></form>", "password"),
        ("<form action=/my-account/ method=post><input name=cemail><button>Register</button></form>", "account"),
        ("<form action=/x id=fbconnect-form method=post><input name=a></form>", "sign in"),
        ("<form action=/x method=post><input name=a><input autocomplete=cc-number name=n></form>", "card"),
        ("<form action=/x method=post><input name=a><div class=g-recaptcha></div></form>", "CAPTCHA"),
        ("<form action=/cart/clear method=post><button>Clear</button></form>", "button that acts"),
    ] {
        let said = imported(&[("/", form)]).unwrap_err();
        assert!(said.contains(why), "{form}: {said}");
    }
}

#[test]
fn software_with_a_public_api_is_called_by_it_once_the_api_has_answered() {
    let wordpress = "<title>Tea</title><link rel='https://api.w.org/' href='/wp-json/'>\
        <form role=search action=/><input name=s></form>";
    let api = r#"{"post":{"slug":"post"}}"#;
    let known = imported(&[("/", wordpress), ("/wp-json/wp/v2/types", api)]).unwrap();
    assert_eq!(known.capabilities, 3, "{}", known.text);
    assert!(known.text.contains("# the public API of WordPress\n[[capabilities]]"), "{}", known.text);
    assert_eq!(known.text.matches("id = \"site.search\"").count(), 1, "instead of the form: {}", known.text);
    let refused = imported(&[("/", wordpress), ("/wp-json/wp/v2/types", r#"{"code":"rest_disabled"}"#)]).unwrap();
    assert!(!refused.text.contains("wp-json") && refused.text.contains("response = \"page\""), "{}", refused.text);
}

#[test]
fn a_feed_is_taken_where_it_answers_as_one() {
    let home = "<link rel=alternate type=application/rss+xml href=/old><link rel=alternate type=application/atom+xml href=/gone>\
        <link rel=alternate type=application/rss+xml href=/page>";
    let pages =
        [("/", home), ("/old", "Location: /new?feed=rss"), ("/new?feed=rss", "<rss></rss>"), ("/page", "<p>No feed")];
    let known = imported(&pages).unwrap();
    assert_eq!(known.capabilities, 1, "{}", known.text);
    assert!(known.text.contains("path = \"/new?feed=rss\""), "{}", known.text);
}

/// What was asked for, of a site whose answer to each address this is.
fn asked(answer: impl Fn(&str) -> String) -> Vec<String> {
    let mut import = SiteImport::new("http://site.test/").unwrap();
    let mut asked = Vec::new();
    while let Some(at) = import.next_page() {
        asked.push(at.to_string());
        match answer(&at[Position::BeforePath..Position::AfterQuery]) {
            to if to.starts_with("Location: ") => import.take(&at, "", &Bytes::new(), to.strip_prefix("Location: ")),
            html => import.take(&at, "text/html", &html.into(), None),
        }
    }
    asked
}

#[test]
fn no_other_host_is_asked_however_its_address_is_written() {
    let ways = [
        "<link rel=search href='/.//127.0.0.1:9/x'>",
        "<link rel=alternate type=application/rss+xml href='/.//127.0.0.1:9/x'>",
        "<link rel='https://api.w.org/' href='/.//127.0.0.1:9/'>",
        "<link rel=EditURI href='/.//127.0.0.1:9/api.php'>",
        "<a href='/.//127.0.0.1:9/contact'>Contact</a>",
        "Location: /.//127.0.0.1:9/x",
        "Location: http://site.test//127.0.0.1:9/x",
    ];
    for way in ways {
        let asked = asked(|_| way.to_owned());
        assert!(asked.iter().all(|at| at.starts_with("http://site.test/") && !at.contains("127")), "{way}: {asked:?}");
    }
}

#[test]
fn what_acts_is_not_asked_for_as_a_feed_or_an_api_and_the_import_ends() {
    let feed = |href: &str| format!("<link rel=alternate type=application/rss+xml href='{href}'>");
    let acts =
        [feed("/logout"), feed("/cart/delete?id=1"), "<link rel='https://api.w.org/' href='/logout/'>".to_owned()];
    for way in acts {
        assert_eq!(asked(|_| way.clone()), ["http://site.test/"], "{way}");
    }
    let number = std::cell::Cell::new(0);
    let endless = asked(|target| {
        number.set(number.get() + 1);
        if target == "/" { feed("/feed0") } else { format!("Location: /feed{}", number.get()) }
    });
    assert!(endless.len() <= MOST_REQUESTS, "{}", endless.len());
    let forms = "<form action=/a><input name=q></form>".repeat(5_000);
    let began = std::time::Instant::now();
    asked(|_| forms.clone() + "<a href=/contact>Contact</a>");
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn a_pattern_that_no_schema_can_have_is_left_to_the_site() {
    let form = "<form action=/a><input name=a pattern='[0-9]{3}'><input name=b pattern='(?=x)y'><input name=c pattern='['></form>";
    let text = imported(&[("/", form)]).unwrap().text;
    assert!(text.contains("^(?:[0-9]{3})$") && text.matches("\"pattern\"").count() == 1, "{text}");
}

#[test]
fn a_number_is_whole_where_a_browser_takes_whole_ones_alone() {
    let form = "<form action=/a><input type=number name=a min=1 max=10><input type=number name=b step=any>\
        <input type=number name=c step=0.1><input type=range name=d step=5><input type=number name=e min=0.5></form>";
    let text = imported(&[("/", form)]).unwrap().text;
    for member in [
        "\"a\" = { \"maximum\" = 10, \"minimum\" = 1, \"type\" = \"integer\" }",
        "\"b\" = { \"type\" = \"number\" }",
        "\"c\" = { \"type\" = \"number\" }",
        "\"d\" = { \"type\" = \"integer\" }",
        "\"e\" = { \"minimum\" = 0.5, \"type\" = \"number\" }",
    ] {
        assert!(text.contains(member), "{member}\n{text}");
    }
}

#[test]
fn pages_to_read_are_named_for_questions_and_those_with_a_form_are_not() {
    let home = format!("{HOME}<a href=/delivery>Delivery</a>");
    let delivery = "<title>Delivery</title><p>4 euros</p>";
    let text = imported(&[("/", &home), ("/contact", CONTACT), ("/delivery", delivery)]).unwrap().text;
    assert!(text.contains("# [content]\n# follow = [\"/delivery\"]\n"), "{text}");
}
