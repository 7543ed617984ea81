"""DokuWiki, WordPress and MediaWiki from Debian's packages, on PHP's own server; WordPress keeps its data in SQLite, with
the plugin that comes with WordPress Playground, so that no database server is needed."""

import contextlib
import subprocess
import urllib.parse
import urllib.request
import zipfile

import packages
from world import Broken, Process, Running, port

DOKUWIKI = ["dokuwiki", "libjs-jquery", "libjs-jquery-cookie", "libjs-jquery-ui", "libphp-simplepie", "php-geshi",
            "php-phpseclib"]
WORDPRESS = ["wordpress", "wordpress-theme-twentytwentythree", "php-getid3", "libjs-underscore", "libjs-cropper"]
MEDIAWIKI = ["mediawiki", "mediawiki-classes"]
PLAYGROUND = "@wp-playground/cli@3.1.56"


@contextlib.contextmanager
def php(directory, work, *options):
    number = port()
    command = ["php", "-d", "zlib.output_compression=1", "-d", "display_errors=0", "-d", "log_errors=1", *options,
               "-S", f"127.0.0.1:{number}", "-t", directory]
    with Process(command, directory, work / "application.log", {"PHP_CLI_SERVER_WORKERS": "4"}) as process:
        yield process, f"http://127.0.0.1:{number}"


def hashed(password):
    code = "echo password_hash($argv[1], PASSWORD_BCRYPT);"
    return subprocess.run(["php", "-r", code, password], check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def dokuwiki(at, work):
    root = packages.relocated(packages.debian(at, "dokuwiki", *DOKUWIKI), work / "root")
    conf = root / "etc/dokuwiki"
    (conf / "local.php").write_text("""<?php
$conf['title'] = 'Tea garden'; $conf['useacl'] = 1; $conf['superuser'] = '@admin'; $conf['updatecheck'] = 0;
$conf['savedir'] = '%s';
""" % (root / "var/lib/dokuwiki/data"))
    acl = root / "var/lib/dokuwiki/acl"
    (acl / "acl.auth.php").write_text("# <?php exit()?>\n*\t@ALL\t1\n*\t@user\t16\n")
    (acl / "users.auth.php").write_text(f"# <?php exit()?>\nadmin:{hashed('leaves')}:Ada:a@tea.example:admin,user\n")
    with php(root / "usr/share/dokuwiki", work) as (process, url):
        process.ready(f"{url}/doku.php?id=wiki:welcome")
        yield Running(url)


def wordpress_config(root):
    """One address is as good as another: pages name the one by which they were asked for."""
    return """<?php
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', 'http://' . $_SERVER['HTTP_HOST']);
define('DB_NAME', 'wordpress'); define('DB_USER', ''); define('DB_PASSWORD', ''); define('DB_HOST', '');
define('DB_DIR', '%s'); define('DB_FILE', 'wordpress.sqlite');
define('AUTH_KEY', 'a'); define('SECURE_AUTH_KEY', 'b'); define('LOGGED_IN_KEY', 'c'); define('NONCE_KEY', 'd');
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true); define('AUTOMATIC_UPDATER_DISABLED', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
""" % (root / "data")


# Pictures from the internet: of persons, and of emoji where no font has them.
WITHOUT_INTERNET = """<?php
add_filter('pre_option_show_avatars', '__return_zero');
remove_action('wp_head', 'print_emoji_detection_script', 7);
remove_action('admin_print_scripts', 'print_emoji_detection_script');
add_action('wp_dashboard_setup', function () { remove_meta_box('dashboard_primary', 'dashboard', 'side'); }, 20);
"""


@contextlib.contextmanager
def wordpress(at, work):
    root = packages.relocated(packages.debian(at, "wordpress", *WORDPRESS), work / "root")
    playground = packages.npm_archive(at, PLAYGROUND)
    site = root / "usr/share/wordpress"
    content = site / "wp-content"
    (root / "data").mkdir()
    with zipfile.ZipFile(playground / "package/sqlite-database-integration.zip") as file:
        file.extractall(content / "plugins")
    plugin = content / "plugins/sqlite-database-integration"
    (content / "plugins/plugin-sqlite-database-integration").rename(plugin)
    # Written for a WordPress newer than Debian's, where a property of the same name is private too.
    wpdb = plugin / "wp-includes/sqlite/class-wp-sqlite-db.php"
    wpdb.write_text(wpdb.read_text().replace("private $allow_unsafe", "public $allow_unsafe"))
    (content / "db.php").write_text((plugin / "db.copy").read_text())
    (content / "mu-plugins").mkdir()
    (content / "mu-plugins/without-internet.php").write_text(WITHOUT_INTERNET)
    (site / "wp-config.php").write_text(wordpress_config(root))
    with php(site, work) as (process, url):
        process.ready(f"{url}/wp-admin/install.php")
        form = {"weblog_title": "Tea garden", "user_name": "admin", "admin_password": "leaves-of-tea",
                "admin_password2": "leaves-of-tea", "admin_email": "a@tea.example", "pw_weak": "1", "blog_public": "1"}
        with urllib.request.urlopen(f"{url}/wp-admin/install.php?step=2",
                                    urllib.parse.urlencode(form).encode(), timeout=120) as answer:
            text = answer.read().decode()
        if "Success" not in text:
            raise Broken(f"WordPress was not installed: {text[-1500:]}")
        yield Running(url)


@contextlib.contextmanager
def mediawiki(at, work):
    root = packages.relocated(packages.debian(at, "mediawiki", *MEDIAWIKI), work / "root")
    site = root / "usr/share/mediawiki"
    data = work / "data"
    data.mkdir()
    with php(site, work) as (process, url):
        done = subprocess.run(
            ["php", site / "maintenance/install.php", "--dbtype", "sqlite", "--dbpath", data, "--dbname", "wiki",
             "--scriptpath", "", "--server", url, "--confpath", site, "--pass", "leaves-of-tea-1", "Tea garden", "Ada"],
            capture_output=True, text=True, check=False)
        if done.returncode:
            raise Broken(f"MediaWiki was not installed: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        process.ready(f"{url}/index.php")
        yield Running(url)
