//! Which forms are for people alone: those that sign in, register, pay, or ask for what an agent should not have. Sites say
//! so in a field's type, an address, a name, or the words that people read.

use frontdesk_filters::firewall;
use frontdesk_page::content::css::{self, Element, all};
use url::{Position, Url};

/// Words in the address or name of such forms.
const CALLED: [(&str, &[&str]); 4] = [
    (
        "it is there to sign in or out",
        &[
            "login",
            "signin",
            "sign-in",
            "sign_in",
            "logon",
            "logout",
            "signout",
            "/session",
            "fbconnect",
            "anmelden",
            "connexion",
        ],
    ),
    (
        "it is there to register",
        &[
            "register",
            "signup",
            "sign-up",
            "sign_up",
            "registration",
            "registrieren",
            "registracija",
            "inscription",
            "createaccount",
            "create-account",
            "create_account",
            "newaccount",
            "new-account",
            "account/create",
        ],
    ),
    ("it is there to pay", &["payment", "checkout/pay", "pay/", "paypal", "stripe"]),
    ("it is for those who run the site", &["admin", "wp-admin", "backend", "manage/"]),
];
/// The word for a password, as forms to recover one have it in their address, their fields or their text.
const PASSWORD: [&str; 26] = [
    "password",
    "passwd",
    "pwd",
    "passwort",
    "kennwort",
    "mot de passe",
    "motdepasse",
    "contraseña",
    "contrasena",
    "contrasinal",
    "senha",
    "wachtwoord",
    "lösenord",
    "adgangskode",
    "passord",
    "salasana",
    "hasło",
    "heslo",
    "jelsz",
    "slaptaž",
    "slaptaz",
    "şifre",
    "парол",
    "密码",
    "パスワード",
    "비밀번호",
];
/// Folders of a site in which people have their accounts. A form there that asks for an address registers or recovers.
const ACCOUNTS: [&str; 6] = ["account", "my-account", "myaccount", "user", "users", "members"];
/// The name of a protocol by which people sign in with another site's account.
const OPEN_ID: [&str; 2] = ["openid", "open_id"];
/// What a button says that registers.
const REGISTER: [&str; 12] = [
    "register",
    "sign up",
    "signup",
    "create account",
    "create an account",
    "create my account",
    "registrieren",
    "s'inscrire",
    "registrarse",
    "registrati",
    "зарегистрироваться",
    "注册",
];
const CARD: &str = "input[autocomplete^=cc-], input[name*=cardnumber], input[name*=card_number], input[name*=cvc], input[name*=cvv], input[name*=iban]";
const CAPTCHA: &str =
    ".g-recaptcha, .h-captcha, .cf-turnstile, .frc-captcha, [data-sitekey], input[name*=captcha], iframe[src*=captcha]";
const BUTTONS: &str = "button, input[type=submit], input[type=image], input[type=button]";

/// Why an agent has no business with a form that is sent to `target`; `None`: it may be called.
pub(super) fn reason(form: &Element<'_>, target: &Url) -> Option<&'static str> {
    if !all("input[type=password]", form).is_empty() {
        return Some("it asks for a password");
    }
    if !all(CARD, form).is_empty() {
        return Some("it asks for a card or an account");
    }
    if !all(CAPTCHA, form).is_empty() {
        return Some("it has a CAPTCHA, which only a person can solve");
    }
    if firewall::is_hidden(target.path()) {
        return Some("firewall.hide keeps its address in");
    }
    let attribute = |element: &Element<'_>, name: &str| css::attribute(element, name).unwrap_or_default();
    let id = Some(attribute(form, "id")).filter(|id| !id.is_empty()).unwrap_or_else(|| attribute(form, "name"));
    let called = format!("{} {id}", &target[Position::BeforePath..Position::AfterQuery]).to_lowercase();
    if let Some((why, _)) = CALLED.iter().find(|(_, words)| words.iter().any(|word| called.contains(word))) {
        return Some(why);
    }
    let fields = all("input, select, textarea", form);
    let mut words = called + &css::text(form).to_lowercase();
    for field in fields.iter().chain(&all(BUTTONS, form)) {
        for name in ["name", "placeholder", "value"] {
            words.push(' ');
            words += &attribute(field, name).to_lowercase();
        }
    }
    if OPEN_ID.iter().any(|word| words.contains(word)) {
        return Some("it is there to sign in or out");
    }
    if PASSWORD.iter().any(|word| words.contains(word)) {
        return Some("it is about a password");
    }
    let is_sent = attribute(form, "method").eq_ignore_ascii_case("post");
    let mut folders = target.path_segments().into_iter().flatten();
    let asks_for_mail = fields.iter().any(|field| attribute(field, "name").to_lowercase().contains("mail"));
    if is_sent && asks_for_mail && folders.any(|folder| ACCOUNTS.contains(&&*folder.to_lowercase())) {
        return Some("it is about an account");
    }
    // With one or two fields, "Sign up" subscribes to a newsletter.
    let asked = fields.iter().filter(|field| {
        !matches!(attribute(field, "type").to_ascii_lowercase().as_str(), "hidden" | "submit" | "image" | "button")
    });
    let registers = |button: &Element<'_>| {
        let says = format!("{} {}", css::text(button), attribute(button, "value")).to_lowercase();
        REGISTER.iter().any(|word| says.contains(word))
    };
    (asked.count() > 2 && all(BUTTONS, form).iter().any(registers)).then_some("it is there to register")
}
