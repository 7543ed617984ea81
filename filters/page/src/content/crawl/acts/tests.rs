//! Addresses both ways, as frameworks and people spell them.

use super::{acts, is_called_like_act, is_doubtful, pattern};

/// Whether an address is followed.
#[derive(Debug, PartialEq)]
enum Word {
    /// Even where only its shape speaks for it.
    Reads,
    /// Where something more speaks for it.
    LikeAct,
    Acts,
}

fn all(expected: Word, targets: &[&str]) {
    let word = |target: &str| match (acts(target), is_called_like_act(target)) {
        (true, _) => Word::Acts,
        (_, true) => Word::LikeAct,
        _ => Word::Reads,
    };
    let wrong: Vec<_> =
        targets.iter().map(|target| (target, word(target))).filter(|(_, got)| *got != expected).collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

#[test]
fn what_acts_by_its_path() {
    all(
        Word::Acts,
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
            "/user-logout",
            "/doLogout",
            "/j_spring_security_logout",
            "/auth/logout.do",
            "/logout.action",
            "/%6Cogout",
            "/%256cogout",
            "/log%6Fut",
            "/unsubscribe",
            "/opt-out",
            // Something is removed.
            "/posts/2/delete",
            "/posts/2/delete/",
            "/posts/delete/2",
            "/delete/2",
            "/users/5d41402abc4b2a76b9719d911017c592/remove",
            "/posts/123e4567-e89b-12d3-a456-426614174000/destroy",
            "/posts/2/DELETE",
            "/deletePost/3",
            "/remove_item/42",
            "/post_delete/3",
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
            "/clear-cache",
            "/clearCache",
            "/clearlog",
            "/purge",
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
            "/jobs/42/kill",
            "/jobs/42/retry",
            "/toggle",
            "/cron.php",
            "/wp-cron.php",
            "/safeRestart",
            "/relay/1/off",
            "/plugins/enable/3",
            "/factory-reset",
            // Votes, lists and messages.
            "/vote/up/7",
            "/posts/7/upvote",
            "/vote/7",
            "/posts/7/like",
            "/mark-read",
            "/messages/4/mark-as-unread",
            "/comments/4/approve",
            "/comments/4/reject",
            "/approve/4/confirm",
            // Shops.
            "/add-to-cart",
            "/cart/add_to_cart/5",
            "/addToCart/5",
            "/wishlist/add-to-wishlist/5",
            "/buy-now",
            // Doubtful verbs beside an identifier.
            "/\u{ff44}\u{ff45}\u{ff4c}\u{ff45}\u{ff54}\u{ff45}/7",
        ],
    );
}

#[test]
fn what_acts_by_its_query() {
    all(
        Word::Acts,
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
        Word::Reads,
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
            "/docs/v2/install",
            "/3.2/upgrade",
            "/v1.x/start",
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
            "/functions/removeItem.html",
            "/changelog",
            "/catalog",
            "/blog",
            "/dialog",
            "/backlog/42",
            "/order.html",
            "/install.html",
            "/archive/2024",
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
        Word::Reads,
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
fn what_is_called_like_an_act() {
    all(
        Word::LikeAct,
        &[
            "/users/sign_out",
            "/account/logoff",
            "/accounts/logout/",
            "/wiki/Special:UserLogout",
            "/newsletter/unsubscribe/abc",
            "/posts/hello-world/delete/",
            "/delete/user/bob",
            "/posts/_delete",
            "/deletePost/my-slug",
            "/api/pets/deletePet",
            "/delete_post/my-slug",
            "/users/bob/remove_user",
            "/posts/my-slug/deletePost",
            "/folder/object_delete",
            "/members/bob/unfriend",
            "/vm/web1/poweron",
            "/delete-post/3",
            "/posts/3/delete-post",
            "/logs/clear",
            "/cache/purge",
            "/cache/flush",
            "/server/shutdown",
            "/processes/mailer/stop",
            "/stop/mailer",
            "/restart/payments",
            "/jobs/42/run",
            "/queues/default/pause",
            "/services/7/start",
            "/start/7",
            "/dag/trigger",
            "/led/on",
            "/plugins/akismet/disable",
            "/queue/default/queued/empty",
            "/queue/default/requeue",
            "/users/alice/follow",
            "/follow/alice",
            "/messages/mark_all_read",
            "/notifications/markAsRead",
            "/subscription/cancel",
            "/cart/remove/sku-5",
            "/basket/increase/5",
            "/products/5/buy",
            "/orders/5/checkout",
            "/posts/2/edit",
            "/edit/2",
            "/articles/17/update",
            "/posts/2/publish",
            "/plugins/17/install",
            "/complete/3",
            "/add/3",
            "/update.php",
            "/wp-admin/upgrade.php",
            "/apply.cgi",
            "/post-delete?id=1",
            "/edit?id=3",
            "/start?name=mailer",
            "/docs/8/install",
            "/docs/install/2",
            "/reference/deleteBranch",
            "/start.php",
            "/contact/send.php",
            "/archive/3",
            "/release/3",
        ],
    );
    for target in ["/jobs/start", "/contact/send", "/courses/join/tea"] {
        assert!(is_doubtful(target) && !is_called_like_act(target), "{target}");
    }
    assert!(!is_doubtful("/jobs/starting") && !is_doubtful("/") && !is_doubtful("/docs/stop"));
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
fn no_address_is_too_odd_to_be_judged() {
    for target in
        ["", "/", "//", "?", "/?", "/?&&;;", "/;;", "/%", "/%zz", "/:", "/.", "/=", "/?=", "/?=x", "/\u{130}I"]
    {
        let _ = (acts(target), is_called_like_act(target), is_doubtful(target));
    }
    let long = format!("/{}?{}", "Aa-".repeat(400), "a=b&".repeat(400));
    let _ = (acts(&long), is_called_like_act(&long));
}
