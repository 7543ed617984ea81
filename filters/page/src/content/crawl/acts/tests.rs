//! Addresses both ways, as frameworks and people spell them.

use super::{Verdict, is_beside, is_called_so, is_doubtful, is_of_documents, pattern, things, verdict};

fn all(expected: Verdict, targets: &[&str]) {
    let wrong: Vec<_> =
        targets.iter().map(|target| (target, verdict(target, false))).filter(|(_, got)| *got != expected).collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

#[test]
fn what_acts_by_its_path() {
    all(
        Verdict::Acts,
        &[
            // Sessions and subscriptions.
            "/logout",
            "/logout/",
            "/LOGOUT",
            "/logout.php",
            "/Logout.aspx",
            "/log-out",
            "/log_out",
            "/logOut",
            "/sign_out",
            "/signout",
            "/users/sign_out",
            "/account/logoff",
            "/accounts/logout/",
            "/user-logout",
            "/doLogout",
            "/j_spring_security_logout",
            "/auth/logout.do",
            "/logout.action",
            "/wiki/Special:UserLogout",
            "/%6Cogout",
            "/%256cogout",
            "/log%6Fut",
            "/unsubscribe",
            "/newsletter/unsubscribe/abc",
            "/opt-out",
            // Something is removed.
            "/posts/2/delete",
            "/posts/2/delete/",
            "/posts/hello-world/delete/",
            "/posts/delete/2",
            "/delete/2",
            "/delete/user/bob",
            "/users/5d41402abc4b2a76b9719d911017c592/remove",
            "/posts/123e4567-e89b-12d3-a456-426614174000/destroy",
            "/admin/delete/photos/3",
            "/posts/_delete",
            "/posts/2/DELETE",
            "/deletePost/3",
            "/deletePost/my-slug",
            "/api/pets/deletePet",
            "/delete_post/my-slug",
            "/users/bob/remove_user",
            "/posts/my-slug/deletePost",
            "/folder/object_delete",
            "/members/bob/unfriend",
            "/vm/web1/poweron",
            "/panier/vider",
            "/delete-post/3",
            "/remove_item/42",
            "/post_delete/3",
            "/posts/3/delete-post",
            "/posts/3/delete_comment",
            "/ajax_delete/5",
            "/bulk-delete",
            "/delete_post.php",
            "/item.delete",
            "/cart.clear",
            "/docs/5/delete",
            "/posts/2%2Fdelete",
            "/posts\\2\\delete",
            "/files/trash/17",
            "/clear",
            "/logs/clear",
            "/clear-cache",
            "/clearCache",
            "/clearlog",
            "/purge",
            "/cache/purge",
            "/cache/flush",
            "/empty-trash",
            "/removeall",
            // Processes, machines and devices.
            "/stop",
            "/stopall",
            "/stop-all",
            "/start-all",
            "/startall",
            "/restart-all",
            "/restart",
            "/reboot.cgi",
            "/stop_server.cgi",
            "/server/shutdown",
            "/processes/mailer/stop",
            "/stop/mailer",
            "/restart/payments",
            "/jobs/42/kill",
            "/jobs/42/run",
            "/jobs/42/retry",
            "/queues/default/pause",
            "/services/7/start",
            "/start/7",
            "/run_task/3",
            "/dag/trigger",
            "/toggle",
            "/cron.php",
            "/wp-cron.php",
            "/safeRestart",
            "/led/on",
            "/relay/1/off",
            "/do/start",
            "/plugins/enable/3",
            "/plugins/akismet/disable",
            "/factory-reset",
            "/queue/default/queued/empty",
            "/queue/default/requeue",
            // Votes, lists and messages.
            "/vote/up/7",
            "/posts/7/upvote",
            "/vote/7",
            "/posts/7/like",
            "/users/alice/follow",
            "/follow/alice",
            "/mark-read",
            "/messages/mark_all_read",
            "/notifications/markAsRead",
            "/messages/4/mark-as-unread",
            "/comments/4/approve",
            "/comments/4/reject",
            "/approve/4/confirm",
            "/subscription/cancel",
            // Shops.
            "/add-to-cart",
            "/cart/add_to_cart/5",
            "/addToCart/5",
            "/cart/remove/sku-5",
            "/wishlist/add-to-wishlist/5",
            "/buy-now",
            "/cart/add/sku-5",
            "/basket/increase/5",
            "/cart/checkout",
            "/products/5/buy",
            "/orders/5/checkout",
            // Doubtful verbs beside an identifier.
            "/posts/2/edit",
            "/edit/2",
            "/articles/17/update",
            "/posts/2/publish",
            "/plugins/17/install",
            "/updateUser/3",
            "/complete/3",
            "/add/3",
            "/update.php",
            "/wp-admin/upgrade.php",
            "/apply.cgi",
            // The same in other languages.
            "/abmelden",
            "/beitrag/7/l%C3%B6schen",
            "/articles/7/supprimer",
            "/%E5%88%A0%E9%99%A4/7",
            "/d%C3%A9connexion",
            "/cerrar-sesion",
            "/loeschen",
            "/konto/5/l%F6schen",
            "/beitrag/7/lo%CC%88schen",
            "/sess%C3%A3o/terminar-sess%C3%A3o",
            "/eliminar",
            "/articulos/7/quitar",
            "/itens/7/deletar",
            "/ordini/7/annulla",
            "/esci",
            "/artikel/7/verwijder",
            "/wyloguj",
            "/posty/7/usu%C5%84",
            "/%E3%83%AD%E3%82%B0%E3%82%A2%E3%82%A6%E3%83%88",
            "/items/7/%E5%8F%96%E6%B6%88",
            "/%EB%A1%9C%EA%B7%B8%EC%95%84%EC%9B%83",
            "/hesap/\u{e7}\u{131}k\u{131}\u{15f}",
            "/\u{ff44}\u{ff45}\u{ff4c}\u{ff45}\u{ff54}\u{ff45}/7",
        ],
    );
}

#[test]
fn what_may_act_by_where_its_words_stand() {
    all(
        Verdict::Unsure,
        &[
            "/garage/open",
            "/garage/close/",
            "/doors/front/lock",
            "/refund/5",
            "/refund/order/5",
            "/ship/ORD20240017",
            "/comment/5/spam",
            "/order/5/ship",
            "/user/5/frobnicate",
            "/user/123e4567-e89b-12d3-a456-426614174000/banish",
            "/user/5/frobnicate/confirm",
            "/user/5/frobnicate?now=1",
            "/user/5/make_admin",
            "/user/5/makeAdmin",
            "/order/5/send-invoice",
            "/nutzer/5/sperren",
            "/nutzer/5/freischalten",
            "/bestellung/5/k%C3%BCndigen",
            "/commande/5/rembourser",
            "/porte/ouvrir",
            "/usuario/5/a%C3%B1adir",
            "/pedido/5/enviar",
            "/utente/5/rifiuta",
            "/gebruiker/5/goedkeuren",
            "/post/5/zatwierd%C5%BA",
            "/items/5/%E5%85%AC%E9%96%8B",
            "/zakaz/5/%D0%BE%D1%82%D0%BF%D1%80%D0%B0%D0%B2%D0%B8%D1%82%D1%8C",
        ],
    );
}

#[test]
fn what_stands_behind_an_identifier_and_is_a_page() {
    all(
        Verdict::Reads,
        &[
            "/users/5/posts",
            "/users/5/profile",
            "/orders/5/items",
            "/items/5/en",
            "/products/5/reviews",
            "/chapter/5/summary",
            "/chapter/5/frobnicate",
            "/category/5/shoes",
            "/category/5/tee",
            "/questions/12/how-to-boil-water",
            "/questions/12/green-tea",
            "/news/12345/the-mayor-opens-a-bridge",
            "/2024/05/12/opening",
            "/2024/05/open",
            "/c/5/shoes.html",
            "/post/5/frobnicate.html",
            "/docs/5/frobnicate",
            "/v2/5/frobnicate",
            "/docs/garage/open",
            "/reference/open",
            "/open",
            "/opening-hours",
            "/ship",
            "/shipping/5",
            "/article/5/\u{5982}\u{4f55}\u{5b66}\u{4e60}\u{6cf3}\u{8338}\u{8336}",
            // Of documentation whose addresses have no ending.
            "/concepts/projects/sync/",
            "/concepts/projects/run/",
            "/guides/core/publish/",
            "/getting-started/installation/",
            "/setup/changing-the-fonts/",
            "/config/build-options",
            "/automation/trigger-conditions/",
            "/blog/2022/chinese-search-support/",
        ],
    );
}

#[test]
fn on_a_page_of_an_application_more_verbs_act() {
    for target in ["/jobs/start", "/contact/send", "/courses/tea/join", "/jobs/run"] {
        assert!(is_doubtful(target, false), "{target}");
        assert_eq!(verdict(target, false), Verdict::Reads, "{target}");
    }
    for target in ["/start", "/docs/jobs/start", "/jobs/start.html", "/jobs/starting", "/jobs/7", "/"] {
        assert!(!is_doubtful(target, false), "{target}");
    }
    assert!(!is_doubtful("/jobs/start", true));
}

#[test]
fn the_words_are_without_accents() {
    use super::{deeds, words};
    use frontdesk_base::text::without_accents;
    for list in [words::VERBS, words::VERBS_ELSEWHERE, deeds::DEEDS, deeds::DEEDS_ELSEWHERE, deeds::THINGS] {
        for word in list.iter() {
            assert_eq!(without_accents(word), word);
        }
    }
    assert_eq!(without_accents("Stra\u{df}e"), "Strasse");
}

#[test]
fn what_acts_by_its_query() {
    all(
        Verdict::Acts,
        &[
            "/index.html?action=stopall",
            "/index.html?processname=x&action=stop",
            "/index.html?processname=x&action=clearlog",
            "/?Action=Restart",
            "/?%61ction=%73top",
            "/?x=1;action=stop",
            "/?x=1&amp;action=stop",
            "/index.html%3Faction=stop",
            "/index.html;action=stop",
            "/action=delete/id=3",
            "/?do=logout",
            "/?do=anything",
            "/?cmd=reboot",
            "/?op=7",
            "/?task=user.logout",
            "/?r=site/logout",
            "/index.php?q=user/logout",
            "/index.php?page=logout",
            "/?post[action]=delete",
            "/?action[delete]=1",
            "/?_method=DELETE",
            "/index.php?controller=posts&action=destroy",
            "/?delete=1",
            "/?logout",
            "/?logout=true",
            "/?site/logout",
            "/?add-to-cart=5",
            "/?remove_item=5",
            "/?delete_id=5",
            "/?undo_item=5&_wpnonce=abc",
            "/?x=1&csrf_token=abc",
            "/?token=abc",
            "/?vote=up",
            "/?markread=1",
            "/?run=5",
            "/?install=1",
            "/?relay=on",
            "/posts/delete?id=1",
            "/delete_post.php?id=1",
            "/post-delete?id=1",
            "/edit?id=3",
            "/start?name=mailer",
            "/vote?id=7",
            "/unsubscribe?t=1",
            "/x?next=/posts/2/delete",
            "/x?a=%2561ction%253Dstop",
        ],
    );
}

#[test]
fn what_only_reads() {
    all(
        Verdict::Reads,
        &[
            "/",
            "/index.html",
            "/about",
            "/docs/delete-a-branch",
            "/docs/how-to-delete-a-branch/",
            "/blog/how-to-stop-smoking",
            "/blog/stop-smoking",
            "/2024/05/12/clear-skies-ahead",
            "/2024/05/stop-smoking",
            "/2024/05/12/stop-smoking/",
            "/questions/5767325/remove-specific-item-from-an-array",
            "/t/how-do-i-delete-my-account/12345",
            "/install",
            "/install/",
            "/docs/install",
            "/getting-started/install/",
            "/docs/getting-started/run",
            "/start",
            "/docs/start/",
            "/get-started",
            "/upgrade",
            "/docs/upgrade",
            "/docs/8/install",
            "/docs/v2/install",
            "/3.2/upgrade",
            "/v1.x/start",
            "/docs/install/2",
            "/update",
            "/updates",
            "/edit",
            "/download",
            "/checkout",
            "/docs/checkout",
            "/buy",
            "/buy/phones",
            "/order-process",
            "/apply-now",
            "/vote",
            "/cancel",
            "/activate",
            "/follow",
            "/login",
            "/register",
            "/contact/send",
            "/docs/cli/stop.html",
            "/en/latest/cli/delete.html",
            "/reference/deleteBranch",
            "/functions/removeItem.html",
            "/changelog",
            "/catalog",
            "/blog",
            "/dialog",
            "/backlog/42",
            "/start.php",
            "/contact/send.php",
            "/order.html",
            "/install.html",
            "/archive/2024",
            "/archive/3",
            "/release/3",
            "/reports/2024/annual",
            "/events/2024/start",
            "/clearance",
            "/stopwatch",
            "/bus-stops/42",
            "/non-stop",
            "/killing-eve",
            "/deleted-scenes",
            "/removal",
            "/unstoppable",
            "/likes",
            "/voting",
            "/online",
            "/offers",
            "/on-demand",
            "/blog/tag/delete-files",
            "/products/clear-glass",
            "/posts/2",
            "/users/bob",
            "/wiki/Main_Page",
            "/wiki/Talk:Stops",
            "/news/page/2",
            "/c++",
            "/%ff",
        ],
    );
}

#[test]
fn what_has_a_query_that_only_reads() {
    all(
        Verdict::HasQuery,
        &[
            "/?page=2",
            "/?p=12",
            "/list?start=20",
            "/list?from=0&to=10",
            "/?q=delete",
            "/search?query=stop",
            "/?tag=remove",
            "/?action=view&id=3",
            "/?do=showtopic",
            "/?act=article&id=3",
            "/?task=12",
            "/w/index.php?title=X&action=history",
            "/?lang=de",
            "/docs?v=2",
            "/x;v=2",
            "/?option=com_content&view=article&id=3",
        ],
    );
}

#[test]
fn what_is_called_like_an_act_among_documents() {
    all(
        Verdict::Document,
        &[
            "/docs/cli/delete/",
            "/reference/cli/docker/container/stop/",
            "/docs/logout",
            "/en/stable/commands/restart/",
            "/v2/commands/kill",
            "/methods/chat.delete",
            "/guide/logout/overview",
        ],
    );
    assert_eq!(verdict("/container/stop/", true), Verdict::Document);
    assert_eq!(verdict("/containers/7/stop/", true), Verdict::Acts);
    assert_eq!(verdict("/container/stop?x", true), Verdict::Acts);
    assert!(is_of_documents("Docs.example.com") && !is_of_documents("docs") && !is_of_documents("www.example.com"));
}

#[test]
fn a_doubtful_verb_acts_beside_one_that_is_not() {
    for (acts, doubtful) in [
        ("/jobs/mailer/stop", "/jobs/mailer/start"),
        ("/stop/mailer", "/start/mailer"),
        ("/stop", "/start"),
        ("/plugins/akismet/disable", "/plugins/akismet/update"),
    ] {
        assert_eq!(verdict(doubtful, false), Verdict::Reads);
        assert!(is_beside(&things(&["/about", acts]), doubtful), "{acts} {doubtful}");
        assert!(!is_beside(&things(&["/about", doubtful]), doubtful), "{acts} {doubtful}");
    }
    for (acts, page) in [
        ("/logout", "/start"),
        ("/jobs/mailer/stop", "/jobs/other/start"),
        ("/jobs/mailer/stop", "/jobs/mailer"),
        ("/docs/cli/stop", "/docs/cli/start"),
        ("/?action=stop", "/start"),
    ] {
        assert!(!is_beside(&things(&[acts]), page), "{acts} {page}");
    }
}

#[test]
fn rows_of_a_table_have_one_pattern() {
    for (target, expected) in [
        ("/shop/orders/17", Some("/shop/orders/#")),
        ("/shop/orders/17.html?x=1", Some("/shop/orders/#")),
        ("/users/17/posts/123e4567-e89b-12d3-a456-426614174000", Some("/users/#/posts/#")),
        ("/2024/05/12/clear-skies", Some("/#/#/#/clear-skies")),
        ("/shop/orders", None),
        ("/articles/17-tea", None),
        ("/v2/orders", None),
        ("/", None),
    ] {
        assert_eq!(pattern(target).as_deref(), expected, "{target}");
    }
}

#[test]
fn a_link_is_called_an_act() {
    for label in
        ["Delete", "delete", "Log out", "Sign Out", "Stop all", "Clear log", "Unsubscribe", "Like (3)", "L\u{f6}schen"]
    {
        assert!(is_called_so(label, "/x/17"), "{label}");
        assert!(!is_called_so(label, "/docs/x"), "{label}");
    }
    for label in ["", "Home", "How to delete a branch", "Stops", "On", "Sign in", "Delete a branch", "Start", "Order"] {
        assert!(!is_called_so(label, "/x/17"), "{label}");
    }
}

#[test]
fn no_address_is_too_odd_to_be_judged() {
    for target in
        ["", "/", "//", "?", "/?", "/?&&;;", "/;;", "/%", "/%zz", "/:", "/.", "/=", "/?=", "/?=x", "/\u{130}I"]
    {
        let _ = (verdict(target, false), verdict(target, true), things(&[target]));
    }
    let long = format!("/{}?{}", "Aa-".repeat(400), "a=b&".repeat(400));
    let _ = verdict(&long, false);
}
