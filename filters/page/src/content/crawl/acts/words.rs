//! The words by which an address is recognised as one that acts. Each is written without separators: "logout" stands for
//! `log-out`, `log_out` and `logOut` too.

/// Words, with blanks between them.
#[derive(Clone, Copy)]
pub(super) struct List(pub(super) &'static str);

impl List {
    pub(super) fn contains(self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }
}

/// Verbs that change or end something.
pub(super) const VERBS: List = List(
    "delete del remove rm destroy purge erase wipe discard drop truncate clear flush empty vacuum trash untrash \
     undelete unlink prune revoke expunge stop restart reboot shutdown poweroff powerdown powercycle halt kill \
     terminate abort suspend unpause pause reset rollback requeue rerun redeploy runnow buildnow trigger toggle \
     factoryreset impersonate switchuser logout logoff signout signoff endsession unsubscribe optout unfollow \
     unlike upvote downvote votedown voteup thumbsup thumbsdown dislike unfavorite unfavourite unstar unpin \
     unbookmark unarchive unpublish unlock unban unblock unmute markread markunread markasread markasunread \
     markallread markallasread markdone markasdone moveup movedown dismiss disapprove reject decline deactivate \
     addtocart addtobasket addtobag addtowishlist addtocompare addtofavorites addtofavourites removefromcart \
     removefrombasket removefromwishlist emptycart emptybasket emptytrash emptybin buynow cron exit quit unfriend \
     unenroll poweron flushdb unwatch markall markseen safeexit quietdown",
);

/// Switches: they act as a whole segment, and are no part of a longer name.
pub(super) const SWITCHES: List = List("on off");

/// The same, but a page at the root of a site is often called so: `/vote`, `/activate`.
pub(super) const VERBS_BELOW_ROOT: List = List(
    "cancel like follow vote ban block mute approve enable disable activate execute exec kick snooze acknowledge \
     ack retry favorite favourite retweet repost unshare",
);

/// These act wherever they stand in what a parameter says: `?do=deleteAll`.
pub(super) const DESTROYERS: List = List(
    "delete remove destroy erase purge kill logout logoff signout unsubscribe upvote downvote vote unfollow \
     markread markasread addtocart addtowishlist",
);

/// Verbs that are names of ordinary pages as well (`/docs/install`, `/start`): they act beside an identifier
/// (`/posts/2/edit`), with a query, or as the name of a program (`update.php`).
pub(super) const DOUBTFUL: List = List(
    "start run install uninstall upgrade update edit modify launch deploy publish restore resume open close reopen \
     move copy clone duplicate merge lock accept deny confirm submit send resend save create add insert join leave \
     star pin bookmark subscribe share report flag archive claim release revert undo redo sync refresh reload \
     rebuild reindex build rotate renew extend buy purchase order checkout pay apply assign unassign promote demote \
     invite wake ping test import load download rename transfer verify complete finish done process watch rate \
     compact cleanup drain optimize scan rescan increase decrease check uncheck undone",
);

/// As the name of a parameter these act too; others of the doubtful ones turn pages (`?start=20`).
pub(super) const DOUBTFUL_KEYS: List = List(
    "run install upgrade update edit modify publish restore submit send save create add insert buy purchase \
     checkout pay subscribe confirm accept launch deploy rebuild reindex rename invite",
);

/// What stands before a verb and changes nothing about it: `doDelete`, `bulk-delete`.
pub(super) const BEFORE_VERBS: List =
    List("do ajax action handle process confirm bulk mass batch force quick admin cmd safe wp");

/// What stands behind a verb as a thing of its own kind: `stopall`, `clear-cache`, `delete-confirm`.
pub(super) const AFTER_VERBS: List = List(
    "all now log logs cache caches history session sessions trash queue queues database db data cart basket \
     everything selected confirm confirmed action ajax handler submit cookies notifications server service services \
     process processes device system",
);

/// Those that are written in one word with their verb.
pub(super) const GLUED_TO_VERBS: List = List("all log logs cache now data queue");

/// What stands behind a verb in segments of their own and changes nothing about it: `/vote/up/7`.
pub(super) const MODIFIERS: List =
    List("up down yes no true false confirm confirmed now all ok force on off read unread ajax json");

/// Parameters that say what is to be done.
pub(super) const ACTION_KEYS: List = List(
    "action act do cmd command op oper operation task method func function fn fuseaction event todo job exec \
     execute dispatch actionname perform",
);

/// Those of which a number is the name of something, and nothing to do.
pub(super) const NUMBERED_KEYS: List = List("task job event function method");

/// What such a parameter may say where only something is shown.
pub(super) const READING: List = List(
    "view show list index read display browse search find print detail info help home page get diff raw source rss \
     feed about preview overview default main history compare article post product item news topic thread forum \
     profile contact faq category gallery image photo video story blog shop catalog section archive sitemap terms \
     privacy team portfolio services entry document wiki member user",
);

/// Parameters in which somebody searches: what they say is a word, and nothing to do.
pub(super) const SEARCHES: List = List("q s query search keyword keywords term terms tag tags text find");

/// Parameters that make a link one person's, or one that a form would send.
pub(super) const TOKENS: List =
    List("token crumb ticket sig signature hash secret password passwd apikey accesstoken otp key");
pub(super) const PARTS_OF_TOKENS: List =
    List("nonce csrf xsrf authenticitytoken sesskey formkey requesttoken antiforgery formtoken");

/// Endings of programs, by which a path is not the name of a document.
pub(super) const PROGRAMS: List = List(
    "php php3 php4 php5 phtml asp aspx ashx asmx axd jsp jspx jspa do action cgi fcgi pl py rb cfm cfml dll exe \
     faces jsf seam ajax api pcgi lua",
);

/// Endings of documents.
pub(super) const WRITTEN: List = List("html htm md xhtml shtml txt");
