//! The page's own words in five languages. What is asked stands in the operator's language.

use http::{HeaderMap, header};

/// The words of one language.
#[derive(Debug)]
pub(crate) struct Words {
    /// Its tag (BCP 47).
    pub(crate) language: &'static str,
    pub(crate) title: &'static str,
    pub(crate) asks: &'static str,
    pub(crate) verified: &'static str,
    pub(crate) claimed: &'static str,
    pub(crate) unknown: &'static str,
    pub(crate) until: &'static str,
    pub(crate) signed_in: &'static str,
    pub(crate) confirm: &'static str,
    pub(crate) decline: &'static str,
    pub(crate) confirmed: &'static str,
    pub(crate) confirmed_more: &'static str,
    pub(crate) declined: &'static str,
    pub(crate) declined_more: &'static str,
    pub(crate) expired: &'static str,
    pub(crate) expired_more: &'static str,
    pub(crate) somebody_else: &'static str,
    pub(crate) somebody_else_more: &'static str,
    pub(crate) nothing: &'static str,
    pub(crate) nothing_more: &'static str,
}

impl Words {
    /// The language that the browser prefers among those that are here; English where it prefers none of them.
    pub(crate) fn preferred(headers: &HeaderMap) -> &'static Self {
        let lines = headers.get_all(header::ACCEPT_LANGUAGE).iter().filter_map(|line| line.to_str().ok());
        let mut ranges: Vec<(u16, &str)> = lines.flat_map(|line| line.split(',')).filter_map(range).collect();
        // A stable sort: of two that weigh the same, the first.
        ranges.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let known = |tag: &str| {
            let language = tag.split('-').next().unwrap_or_default();
            ALL.iter().find(|words| words.language.eq_ignore_ascii_case(language))
        };
        ranges.into_iter().find_map(|(_, tag)| known(tag)).unwrap_or(&ALL[0])
    }
}

/// A language range and its weight in thousandths; `None` where it is refused.
fn range(text: &str) -> Option<(u16, &str)> {
    let (tag, parameters) = text.split_once(';').unwrap_or((text, ""));
    let weight = match parameters.trim().strip_prefix("q=") {
        Some(weight) => weight.trim().parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight))?,
        None => 1.0,
    };
    let thousandths = (weight * 1000.0) as u16;
    (thousandths > 0 && !tag.trim().is_empty()).then(|| (thousandths, tag.trim()))
}

static ALL: [Words; 5] = [
    Words {
        language: "en",
        title: "Do you want this?",
        asks: "Asked by",
        verified: "verified",
        claimed: "not verified",
        unknown: "an agent that did not say who it is",
        until: "Valid until",
        signed_in: "You are signed in as",
        confirm: "Confirm",
        decline: "Decline",
        confirmed: "You confirmed this",
        confirmed_more: "It is carried out when the agent comes back. You can close this page.",
        declined: "You declined this",
        declined_more: "Nothing was done. You can close this page.",
        expired: "This request has expired",
        expired_more: "Nothing was done. Ask the agent to try again if you still want it.",
        somebody_else: "This request is for somebody else",
        somebody_else_more: "Sign in with the account that the request was made for.",
        nothing: "There is no such request",
        nothing_more: "The address is wrong, or the request was removed. Nothing was done.",
    },
    Words {
        language: "de",
        title: "Möchten Sie das?",
        asks: "Angefragt von",
        verified: "geprüft",
        claimed: "nicht geprüft",
        unknown: "einem Agenten, der seinen Namen nicht nennt",
        until: "Gültig bis",
        signed_in: "Sie sind angemeldet als",
        confirm: "Bestätigen",
        decline: "Ablehnen",
        confirmed: "Sie haben bestätigt",
        confirmed_more: "Es wird ausgeführt, sobald der Agent wiederkommt. Sie können diese Seite schließen.",
        declined: "Sie haben abgelehnt",
        declined_more: "Es wurde nichts getan. Sie können diese Seite schließen.",
        expired: "Diese Anfrage ist abgelaufen",
        expired_more: "Es wurde nichts getan. Bitten Sie den Agenten, es noch einmal zu versuchen.",
        somebody_else: "Diese Anfrage ist für jemand anderen",
        somebody_else_more: "Melden Sie sich mit dem Konto an, für das die Anfrage gestellt wurde.",
        nothing: "Diese Anfrage gibt es nicht",
        nothing_more: "Die Adresse ist falsch, oder die Anfrage wurde entfernt. Es wurde nichts getan.",
    },
    Words {
        language: "fr",
        title: "Voulez-vous cela ?",
        asks: "Demandé par",
        verified: "vérifié",
        claimed: "non vérifié",
        unknown: "un agent qui n’a pas dit qui il est",
        until: "Valable jusqu’au",
        signed_in: "Vous êtes connecté en tant que",
        confirm: "Confirmer",
        decline: "Refuser",
        confirmed: "Vous avez confirmé",
        confirmed_more: "L’action sera exécutée au retour de l’agent. Vous pouvez fermer cette page.",
        declined: "Vous avez refusé",
        declined_more: "Rien n’a été fait. Vous pouvez fermer cette page.",
        expired: "Cette demande a expiré",
        expired_more: "Rien n’a été fait. Demandez à l’agent de réessayer si vous le souhaitez encore.",
        somebody_else: "Cette demande concerne quelqu’un d’autre",
        somebody_else_more: "Connectez-vous avec le compte pour lequel la demande a été faite.",
        nothing: "Cette demande n’existe pas",
        nothing_more: "L’adresse est fausse, ou la demande a été supprimée. Rien n’a été fait.",
    },
    Words {
        language: "es",
        title: "¿Quiere hacer esto?",
        asks: "Lo pide",
        verified: "verificado",
        claimed: "sin verificar",
        unknown: "un agente que no dijo quién es",
        until: "Válido hasta",
        signed_in: "Ha iniciado sesión como",
        confirm: "Confirmar",
        decline: "Rechazar",
        confirmed: "Ha confirmado",
        confirmed_more: "Se realizará cuando vuelva el agente. Puede cerrar esta página.",
        declined: "Ha rechazado",
        declined_more: "No se ha hecho nada. Puede cerrar esta página.",
        expired: "Esta solicitud ha caducado",
        expired_more: "No se ha hecho nada. Pida al agente que lo intente de nuevo si aún lo desea.",
        somebody_else: "Esta solicitud es para otra persona",
        somebody_else_more: "Inicie sesión con la cuenta para la que se hizo la solicitud.",
        nothing: "No existe esta solicitud",
        nothing_more: "La dirección es incorrecta o la solicitud fue eliminada. No se ha hecho nada.",
    },
    Words {
        language: "ja",
        title: "実行してよろしいですか",
        asks: "依頼元",
        verified: "確認済み",
        claimed: "未確認",
        unknown: "名乗っていないエージェント",
        until: "有効期限",
        signed_in: "サインイン中のアカウント:",
        confirm: "確認する",
        decline: "拒否する",
        confirmed: "確認しました",
        confirmed_more: "エージェントが戻ったときに実行されます。このページは閉じてかまいません。",
        declined: "拒否しました",
        declined_more: "何も実行されていません。このページは閉じてかまいません。",
        expired: "この依頼は期限が切れています",
        expired_more: "何も実行されていません。必要であれば、エージェントにもう一度依頼してください。",
        somebody_else: "この依頼は別の人に宛てたものです",
        somebody_else_more: "依頼の対象となったアカウントでサインインしてください。",
        nothing: "この依頼はありません",
        nothing_more: "アドレスが正しくないか、依頼が削除されています。何も実行されていません。",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_chooses_the_language() {
        let preferred = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, text.parse().unwrap());
            Words::preferred(&headers).language
        };
        assert_eq!(preferred("de-CH, en;q=0.8"), "de");
        assert_eq!(preferred("en;q=0.2, ja;q=0.9"), "ja");
        assert_eq!(preferred("nl, fr;q=0.5"), "fr");
        assert_eq!(preferred("es;q=0"), "en");
        assert_eq!(preferred("tlh"), "en");
        assert_eq!(Words::preferred(&HeaderMap::new()).language, "en");
    }
}
