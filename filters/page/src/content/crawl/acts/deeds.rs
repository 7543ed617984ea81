//! Words of addresses that may act, although nobody can tell by the address alone: see `unsure`. Without separators and
//! without accents, as in `words`.

use super::words::List;

/// Verbs that applications do things with and that are the name of few pages: `/garage/open`, `/refund/5`.
pub(super) const DEEDS: List = List(
    "ship unship dispatch fulfill fulfil refund chargeback void spam ham unspam notspam unpublish republish \
     unfeature hide unhide delist relist open close lock unlock arm disarm buzz dim brighten eject detach unmount \
     disconnect unpair unbind expel evict quarantine whitelist blacklist allowlist blocklist admit enrol enroll \
     withdraw deposit redeem escalate reassign resolve unresolve reactivate reinstate sticky unsticky bump bury \
     reblog warn freeze unfreeze thaw unsuspend cordon uncordon failover switchover failback reprocess replay \
     recalc recalculate recompute regenerate regen shuffle skip rewind deafen summon hangup poke nudge remind \
     respawn spawn defrag optimise moderate shadowban unshadowban deauthorize deauthorise authorize authorise \
     invalidate recheck forget unclaim disown relinquish abandon retire enqueue dequeue beep blink raise lower \
     turnon turnoff switchon switchoff wakeup hibernate",
);

/// The same in other languages.
pub(super) const DEEDS_ELSEWHERE: List = List(
    "sperren entsperren freigeben freischalten bestaetigen bestatigen ablehnen annehmen genehmigen stornieren \
     kuendigen kundigen oeffnen offnen schliessen anhalten pausieren fortsetzen aktivieren deaktivieren einschalten \
     ausschalten anschalten abschalten zuruecksetzen zurucksetzen verschieben veroeffentlichen veroffentlichen \
     verstecken ausblenden markieren abschliessen versenden verschicken absenden bezahlen hinzufuegen hinzufugen \
     speichern umbenennen wiederherstellen widerrufen bannen fermer ouvrir bloquer debloquer bannir approuver \
     rejeter refuser accepter valider invalider activer desactiver publier depublier envoyer rembourser expedier \
     reinitialiser lancer demarrer relancer verrouiller deverrouiller signaler masquer archiver restaurer dupliquer \
     deplacer modifier editer ajouter acheter payer enregistrer abrir cerrar bloquear desbloquear aprobar rechazar \
     aceptar activar desactivar publicar enviar reembolsar vaciar lanzar iniciar parar pausar reanudar ocultar \
     archivar restaurar duplicar mover editar modificar agregar anadir comprar pagar guardar expulsar silenciar \
     aprovar rejeitar ativar desativar fechar arquivar adicionar salvar banir denunciar apri chiudi blocca sblocca \
     approva rifiuta accetta attiva disattiva pubblica invia rimborsa svuota avvia ferma sospendi riprendi nascondi \
     archivia ripristina duplica sposta modifica aggiungi acquista paga banna segnala openen sluiten blokkeren \
     deblokkeren goedkeuren afkeuren weigeren accepteren activeren deactiveren publiceren versturen verzenden \
     terugbetalen leegmaken pauzeren hervatten verbergen archiveren herstellen verplaatsen bewerken wijzigen \
     toevoegen kopen betalen opslaan verbannen otworz zamknij zablokuj odblokuj zatwierdz odrzuc akceptuj aktywuj \
     dezaktywuj opublikuj wyslij zwroc uruchom wstrzymaj wznow ukryj archiwizuj przywroc przenies edytuj zmien \
     dodaj zamow zaplac zapisz zbanuj zglos otevrit zavrit schvalit zamitnout odeslat blockera godkann avvisa oppna \
     stang skicka закрыть открыть отменить заблокировать разблокировать опубликовать отправить одобрить отклонить \
     перезапустить включить выключить キャンセル 解除 送信 公開 非公開 承認 却下 開く 閉じる 注文 購入 返金 発送 有効化 無効化 开启 打开 关闭 打開 關閉 发布 發布 批准 \
     拒绝 退款 发货 恢复 启用 승인 거부 환불 발송 열기 닫기",
);

/// What stands before something that is done, in one name: `mark-spam`, `make_admin`.
pub(super) const BEGINNINGS: List = List("set unset make mark unmark change switch turn do send give take put");

/// What a thing with an identifier has, and nothing that is done to it: `/users/5/profile`. So is every plural.
pub(super) const THINGS: List = List(
    "summary profile avatar cover picture map schedule calendar timeline agenda program programme menu bio abstract \
     introduction intro preface foreword conclusion appendix glossary bibliography discussion talk media audio \
     music transcript info price pricing availability location address description specification spec size guide \
     manual documentation readme changelog license content text body json xml atom amp printable pdf mobile full \
     all new old top best popular recent hot trending related similar first last next previous prev front back \
     activity status state result score ranking leaderboard gallery cast crew trailer recipe weather forecast chart \
     graph table data metadata schema example demo sample part chapter section version revision blame tree \
     blob branch milestone board roadmap author editor publisher owner parent child children family people \
     staff career work job role project event review rating feedback question faq help support legal imprint \
     impressum datenschutz agb kontakt",
);

/// Things of which a number, or a name behind a number, is a document: `/chapter/5/summary`, `/category/5/shoes`.
pub(super) const NUMBERED: List = List(
    "chapter part lesson section unit volume vol step page ch episode season level week day module figure rfc pep \
     exercise c cat category categories tag tags catalog catalogue collection collections department brand brands \
     genre genres artist artists album albums song songs movie movies film films series region regions country \
     countries city cities shop store",
);
