//! Words that frame a question without saying what it is about, words that say nothing, and words that often stand for
//! one another.
//!
//! Only common words of service and of manuals stand here. What a site calls a thing in a way of its own it has to say
//! itself, in a heading or a description.

/// Words that say nothing, by language, on top of those that the library drops (for English it drops but 33).
pub(super) const STOP: &[(&str, &str)] = &[(
    "en",
    "i me my mine myself you your yours we us our ours he him his she her hers its them those who whom whose what which \
     am were been being has had having do does did doing done don doesn didn isn aren wasn weren won wouldn couldn \
     shouldn can cannot could would should may might must shall from about than too very just also any some there here \
     ll ve re",
)];

/// Words that frame a question: they count a little where they stand in a page, and are not missed where they do not.
pub(super) const LIGHT: &[(&str, &str)] = &[
    (
        "en",
        "how when where why much many long often far have get got getting take takes taking bring bringing go going come \
         use used using need needed want wanted like make makes know see look looking tell show find give given let put \
         try work works working happen happens mean means explain describe please thanks thank hello hi help allow \
         allowed able possible supposed way ways best good better great time times thing things one ones two three four \
         five ten all every each other another more most less own same only again ever still already now today \
         tomorrow currently really exactly actually usually generally set option options question answer information \
         info details site website page offer provide kind type sort lot bit around per onto without within between until behind under over above below against during \
         before after next run running runs",
    ),
    (
        "de",
        "wozu wofür womit woher wohin dient dienen heißt heissen bedeutet bedeuten stellt stelle einstellen legt fest funktioniert sehe sehen zeige tun läuft verwendet verwenden benutzen benutze nutzen wie wann wo warum wieso welche welcher welches was wer wem wen viel viele lange oft weit gibt geben kann können \
         muss müssen darf dürfen soll sollen will wollen möchte brauche brauchen machen macht gehen geht bekommen \
         finden sagen zeigen bitte danke hallo hilfe erlaubt möglich beste besten gut zeit ding eins zwei drei alle \
         jede anderer mehr noch schon jetzt heute genau seite frage antwort information",
    ),
    (
        "fr",
        "sert servir signifie veut mettre mets utiliser utilise utilisé marche fonctionne change changer comment quand où pourquoi quel quelle quels quelles combien faire fait aller avoir être pouvoir peut puis dois \
         doit faut veux voudrais besoin trouver dire montrer donner merci bonjour aide possible meilleur bon temps \
         chose un deux trois tout tous autre plus site page question réponse information",
    ),
    (
        "es",
        "sirve servir significa usar uso usa utilizar utiliza poner pongo funciona ver veo cómo cuándo dónde qué cuál cuáles cuánto cuántos hacer hace ir tener puedo puede debo debe quiero necesito \
         encontrar decir mostrar dar gracias hola ayuda posible mejor bueno tiempo cosa uno dos tres todo otro más \
         sitio página pregunta respuesta información",
    ),
    (
        "it",
        "come quando dove perché quale quali quanto quanti fare fa andare avere posso può devo deve voglio serve trovare \
         dire mostrare dare grazie ciao aiuto possibile migliore buono tempo cosa uno due tre tutto altro più sito \
         pagina domanda risposta informazione",
    ),
    (
        "pt",
        "como quando onde porque qual quais quanto quantos fazer faz ir ter posso pode devo deve quero preciso encontrar \
         dizer mostrar dar obrigado olá ajuda possível melhor bom tempo coisa um dois três todo outro mais site página \
         pergunta resposta informação",
    ),
    (
        "nl",
        "hoe wanneer waar waarom welke wat wie veel lang vaak ver kan kunnen moet moeten mag wil willen nodig maken gaan \
         krijgen vinden zeggen tonen geven dank hallo hulp mogelijk beste goed tijd ding een twee drie alle ander meer \
         site pagina vraag antwoord informatie",
    ),
];

/// Words that may stand for one another, by language.
pub(super) const ALIKE: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "undo revert",
            "computer machine",
            "compile build",
            "wifi wireless wlan",
            "telephone phone voip",
            "check verify test",
            "show display print list",
            "save store keep",
            "update upgrade",
            "combine merge join squash",
            "number count",
            "search find grep",
            "cd cdrom dvd",
            "named name called",
            "made make create creation",
            "first initial",
            "user account",
            "parse read",
            "execute run launch",
            "text string",
            "kill terminate cancel",
            "rename move",
            "whole entire complete",
            "enable activate",
            "disable deactivate",
            "log record",
            "argument parameter",
            "command line program tool",
            "send transmit",
            "sort order",
            "restore recover",
            "hide mask",
            "lock block",
            "copy duplicate clone",
            "pronounce say",
            "cost costs price fee charge fare rate eur usd gbp",
            "luggage baggage bag bags suitcase",
            "cancel cancellation annul revoke",
            "refund reimburse reimbursement repay money",
            "buy purchase order",
            "book booking reserve reservation",
            "phone telephone call",
            "email mail",
            "contact reach",
            "deliver delivery shipping ship dispatch",
            "size dimensions measure big large",
            "heavy weight weigh",
            "limit maximum restrict",
            "quick fast speed",
            "delete remove erase",
            "install installation setup",
            "configure configuration settings",
            "error problem issue failure trouble bug",
            "company firm business",
            "staff employees team people",
            "founded established",
            "child children kid kids",
            "free gratis",
            "change modify edit alter",
            "begin start",
            "stop end finish quit",
            "city town",
            "centre center downtown",
            "picture image photo",
            "job career vacancy",
            "repair fix",
            "folder directory",
            "share pass forward",
            "several multiple various",
            "automatic automatically",
            "password passphrase",
            "earn income revenue",
            "damage damaged broken",
            "lost missing",
            "visit travel trip",
            "message mail",
        ],
    ),
    (
        "de",
        &[
            "benannt name namen genannt",
            "rechner computer maschine",
            "wlan drahtlos funknetz",
            "aktualisieren aktualisierung upgrade update",
            "anzeigen auflisten liste",
            "grafisch graphisch",
            "ersetzen überschreiben umleiten",
            "melden berichten bericht",
            "verzeichnis ordner",
            "kompilieren übersetzen bauen",
            "kosten kostet preis gebühr tarif",
            "gepäck koffer tasche",
            "stornieren stornierung kündigen kündigung",
            "kaufen bestellen bestellung",
            "buchen buchung reservieren reservierung",
            "telefon anrufen",
            "liefern lieferung versand",
            "ändern änderung",
            "löschen entfernen",
            "fehler problem störung",
            "firma unternehmen",
            "mitarbeiter team",
            "kind kinder",
            "kostenlos gratis",
        ],
    ),
    (
        "fr",
        &[
            "nom nommé appelé",
            "supprimer effacer enlever désinstaller",
            "ordinateur machine",
            "wifi sans-fil wlan",
            "bogue bug erreur problème",
            "répertoire dossier",
            "afficher lister liste montrer",
            "mettre-à-jour actualiser mise-à-niveau",
            "compiler construire",
            "prix coût tarif",
            "acheter commander",
            "réserver réservation",
            "modifier changer",
        ],
    ),
    (
        "es",
        &[
            "borrar eliminar quitar suprimir",
            "ordenador equipo máquina",
            "error fallo problema",
            "carpeta directorio",
            "fichero archivo",
            "comando orden",
            "mostrar listar ver",
            "actualizar actualización",
            "compilar construir",
            "precio coste tarifa",
            "comprar pedir",
            "reservar reserva",
            "cambiar modificar",
            "cifrar encriptar",
        ],
    ),
];
