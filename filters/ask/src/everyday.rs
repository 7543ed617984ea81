//! What people say every day, and what manuals and shops write for it: "carry on" and "resume", "wipe" and "clean up".
//!
//! A group holds words of which one may stand where another was asked for. They count less than the word itself, so that a
//! passage that has the very word comes first.

use super::synonyms::ALIKE;

/// Groups of words, by language; a semicolon stands between two groups.
pub(super) const EVERYDAY: &[(&str, &str)] = &[
    (
        "en",
        "wipe erase clear clean cleanup purge; trace leftover remnant residue; belong contain provide produce \
         owner; continue resume proceed; broke broken interrupted interruption aborted failed; gibberish garbage \
         garbled mess; beep beeping bell alarm; record logging log logged; strange weird unexpected; wrong \
         incorrect invalid mistake; drop dropped disconnect disconnection disconnected timeout; slow slowly \
         performance latency; fast faster performance speed; appearance theme style layout; letter character; sum \
         total; average mean; twice duplicate double; leave exit quit; fill populate; empty blank; join connect \
         attach; guard protect protection; colleague coworker collaborator contributor; visitor client user; \
         stick usb flash; screen display monitor; web internet online network; piece part component; rollback \
         revert undo; repeat again loop iterate; wait delay pause sleep; quota limit maximum; least minimum; \
         element item entry; appear occur occurrence; glue join concatenate merge; strip trim truncate; compare \
         comparison diff difference; differ difference versus; older previous earlier past; newest latest \
         current; rescue recover recovery restore; crash failure abort; hang freeze stuck; warn warning alert \
         notify notification; inform notify notification; schedule cron periodic periodically regularly; nightly \
         night daily; startup boot start; shutdown halt poweroff; restart reboot reload; refresh reload update; \
         background daemon service; encrypted https tls ssl; mailbox inbox mail; recipient address; dump backup \
         export; import load; export save; convert conversion transform; recognise recognize recognition; bright \
         brightness; dark darkness; blur blurry; sharp sharpen; transparent transparency alpha; bigger larger \
         enlarge increase; smaller reduce shrink decrease; everyone anybody everybody public; alone exclusive \
         single; several multiple many; quiet silent verbose; explain description documentation; manual guide \
         handbook documentation; example sample tutorial; hardware device; plug connect; ask prompt query; typed \
         entered input; type enter input; press hit key; click press; window dialog; menu toolbar; scroll \
         scrollback; zoom magnify; undo revert; hidden invisible hide; visible shown; guess predict estimate; \
         random arbitrary; round rounding; shorten abbreviate truncate; lengthen extend; whitespace space blank; \
         upper uppercase capital; lower lowercase; month date calendar; clock time; timezone zone; birthday date; \
         nickname alias; owner author maintainer; responsible maintainer owner; boss leader head manager; law \
         legal licence license; licence license; sell commercial resell redistribute; rent hire lease; cheap \
         cheaper discount reduced; pay payment; bill invoice; receipt invoice; parcel package shipment; return \
         refund; guarantee warranty; broken defective damaged; opening open hours; close closed closing; address \
         location; near nearby close; arrive arrival; leave depart departure; pupil student learner; teacher \
         instructor; school classroom education; doctor physician; sick ill illness; food meal eat; drink \
         beverage; room accommodation; pet dog animal; wheelchair accessible accessibility disabled; old legacy \
         obsolete; unknown unrecognized; trust trusted; fake forged spoof; hacker attacker attack; safe secure \
         security; safely secure; dangerous risk; break violate corrupt; corrupt corrupted corruption \
         damaged; full complete entire; everything all entire; memory ram; processor cpu; graphics gpu; printer \
         print printing; paper page; crooked skew deskew tilt; rubbish trash garbage junk; spam junk; group team; \
         rank order sort; unique distinct; twice duplicates duplicate; sequence order; matching match pattern; \
         wildcard pattern glob; replace substitute substitution swap; swap exchange; optional voluntary; \
         mandatory required compulsory; behaviour behavior; centre center; standard default; factory default \
         reset; custom customize own; tweak adjust customize configure; adjust change set",
    ),
    (
        "de",
        "los entfernen löschen; wegbekommen entfernen löschen; kaputt defekt beschädigt fehlerhaft; klappt \
         funktioniert; langsam leistung geschwindigkeit; schnell leistung geschwindigkeit; seltsam unerwartet; \
         falsch fehlerhaft ungültig; weitermachen fortsetzen; anfangen beginnen starten; aufhören beenden stoppen \
         anhalten; schließen beenden; verhindern vermeiden unterbinden; zurückbekommen wiederherstellen; \
         rückgängig zurücknehmen; vergleichen vergleich unterschied; unterschied unterscheiden; zusammenfügen \
         verbinden vereinen; trennen teilen aufteilen; größer vergrößern; kleiner verkleinern; neueste aktuelle; \
         älter vorherige frühere; zugreifen zugriff; erlauben zulassen gestatten; verbieten sperren verweigern; \
         kennwort passwort; benutzer nutzer anwender; anmelden einloggen login; abmelden ausloggen logout; konto \
         benutzerkonto; schüler lernende; lehrer lehrkraft; schule unterricht; klassenzimmer klassenraum; drucker \
         drucken; bildschirm monitor anzeige; tastatur tasten; netz netzwerk internet; server rechner; treiber \
         firmware; laufwerk festplatte datenträger; partition partitionieren aufteilen; stick usb; sicherung \
         sicherungskopie backup; quelle quellen spiegel; quelltext quellcode quellpaket; anleitung handbuch \
         dokumentation; beispiel muster; gruppe team; betreuer verantwortlicher; gehören enthalten; enthält \
         inhalt; kopieren duplizieren; verschieben umziehen; umbenennen umbenennung; automatisch selbsttätig; \
         regelmäßig periodisch täglich; nachts täglich; später nachträglich; vorher zuvor; sprache lokalisierung \
         übersetzung; zeichen buchstabe; schrift schriftart; farbe farben; rechnung beleg; bezahlen zahlen \
         zahlung; billig günstig ermäßigt; zurückgeben rückgabe umtausch; garantie gewährleistung; öffnungszeiten \
         geöffnet; adresse anschrift; arzt praxis; zimmer unterkunft; hund haustier tier; barrierefrei rollstuhl; \
         pflicht erforderlich notwendig; freiwillig optional; kommandozeile befehlszeile terminal konsole; befehl \
         kommando; selbst eigene eigenes; kompiliert übersetzt gebaut; programme software; stromausfall ausfall; \
         absturz abgestürzt; warnung hinweis",
    ),
    (
        "fr",
        "enlever retirer supprimer; cassé défectueux endommagé; lent performance vitesse; rapide performance \
         vitesse; faux incorrect invalide; continuer reprendre poursuivre; commencer démarrer lancer; arrêter \
         stopper terminer quitter; empêcher éviter interdire; récupérer restaurer retrouver; annuler revenir \
         défaire; comparer comparaison différence; réunir fusionner combiner; séparer diviser découper; agrandir \
         augmenter; réduire diminuer; récent dernier actuel; ancien précédent; autoriser permettre; bloquer \
         interdire refuser; essai essayer tester simuler; mot-de-passe identifiant; utilisateur usager; compte \
         utilisateur; élève étudiant; enseignant professeur; imprimer imprimante impression; écran affichage; \
         clavier touche; réseau internet; pilote microprogramme; disque partition; clé usb; sauvegarde copie; \
         miroir dépôt source; guide manuel documentation; exemple modèle; automatique automatiquement; réglage \
         configuration paramètre option; réglages configuration paramètres options préférences; personnel \
         utilisateur propre; ranger stocker conserver; place espace; libérer nettoyer; chercher rechercher \
         recherche trouver; sélectionner choisir marquer; télécharger récupérer; lettre caractère; couleur \
         couleurs; facture reçu; payer paiement; rembourser remboursement; garantie retour; horaires ouverture; \
         adresse lieu; chambre hébergement; chien animal; obligatoire requis nécessaire; facultatif optionnel; \
         terminal console; commande instruction; dépendance dépendances; gagner libérer; tromper erreur faute",
    ),
    (
        "es",
        "quitar eliminar borrar; roto dañado defectuoso; lento rendimiento velocidad; rápido rendimiento \
         velocidad; incorrecto inválido erróneo; continuar reanudar seguir; empezar iniciar arrancar; parar \
         detener terminar; evitar impedir prevenir; recuperar restaurar; deshacer revertir anular; comparar \
         comparación diferencia; unir combinar fusionar; separar dividir; ampliar aumentar; reducir disminuir; \
         reciente último actual; antiguo anterior; permitir autorizar; bloquear prohibir denegar; contraseña \
         clave; usuario cuenta; alumno estudiante; profesor docente; imprimir impresora impresión; pantalla \
         monitor; teclado tecla; red internet; controlador firmware; disco partición; memoria usb; respaldo \
         copia; réplica espejo repositorio; guía manual documentación; ejemplo muestra; automático \
         automáticamente; ajuste configuración opción parámetro; ajustes configuración opciones; guardar \
         almacenar; espacio sitio; liberar limpiar; elegir seleccionar; descargar obtener; carácter letra; \
         factura recibo; pagar pago; reembolso devolución; garantía devolución; horario apertura; dirección \
         ubicación; habitación alojamiento; perro mascota animal; obligatorio requerido necesario; opcional \
         voluntario; terminal consola; reloj hora; tarea trabajo; programar planificar",
    ),
];

/// All groups of a language: these, and those that there are besides.
pub(super) fn groups(tag: &str) -> impl Iterator<Item = &'static str> {
    let listed = ALIKE.iter().filter(move |(of, _)| *of == tag).flat_map(|(_, groups)| groups.iter().copied());
    listed.chain(everyday(tag))
}

fn everyday(tag: &str) -> impl Iterator<Item = &'static str> {
    EVERYDAY.iter().filter(move |(of, _)| *of == tag).flat_map(|(_, groups)| groups.split(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_several_words_and_no_group_is_there_twice() {
        for (tag, _) in EVERYDAY {
            let all: Vec<&str> = everyday(tag).map(str::trim).collect();
            assert!(all.iter().all(|group| group.split_whitespace().count() > 1), "{tag}");
            assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len(), "{tag}");
        }
    }
}
