// Applications in which people log in, write and compute.
import { ask, text } from "./steps.mjs";

const xsrf = `decodeURIComponent((document.cookie.match(/_xsrf=([^;]*)/) ?? [])[1])`;
const jupyterCall = async (page, where, method, body) => ask(page, where, {
  method, body, headers: { "X-XSRFToken": await page.evaluate(xsrf) },
});
const jupyterMask = [".jp-DirListing-itemModified"];
export const jupyterlab = [
  {
    name: "launcher", fullPage: false, mask: jupyterMask,
    async run(tab) {
      await tab.go("/lab?reset");
      await tab.page.waitForSelector(".jp-LauncherCard");
    },
  },
  {
    name: "kernel", fullPage: false, mask: jupyterMask,
    async run(tab) {
      const { page } = tab;
      await tab.go("/lab/tree/sum.ipynb?reset");
      await page.waitForSelector(".jp-Notebook .jp-CodeCell");
      // The indicator in the notebook also says "idle" before there is a kernel; the status bar names the kernel then.
      await page.waitForFunction(() => /\| Idle/.test(document.querySelector("#jp-main-statusbar")?.innerText ?? ""));
      await page.click(".jp-CodeCell .cm-content");
      await page.waitForSelector(".jp-Notebook.jp-mod-editMode .jp-CodeCell.jp-mod-active");
      await page.keyboard.press("Shift+Enter");
      await page.waitForSelector(".jp-OutputArea-output");
      await page.mouse.move(640, 890);
      return text(page, ".jp-OutputArea-output");
    },
  },
  {
    name: "terminal", picture: false,
    async run(tab) {
      const { page } = tab;
      const made = await jupyterCall(page, "/api/terminals", "POST", "{}");
      const { name } = JSON.parse(made.slice(4));
      const said = await page.evaluate((name) => new Promise((done, fail) => {
        const socket = new WebSocket(`ws://${location.host}/terminals/websocket/${name}`);
        let heard = "";
        socket.onopen = () => socket.send(JSON.stringify(["stdin", "echo sum-$((20+22))-end\r"]));
        socket.onmessage = ({ data }) => {
          heard += JSON.parse(data)[1];
          if (heard.includes("sum-42-end")) { socket.close(); done("sum-42-end"); }
        };
        socket.onclose = () => fail(new Error(`closed after ${heard}`));
      }), name);
      await jupyterCall(page, `/api/terminals/${name}`, "DELETE");
      return said;
    },
  },
  {
    name: "upload", picture: false,
    async run({ page }) {
      const body = JSON.stringify({ type: "file", format: "text", content: "0123456789abcdef".repeat(1 << 18) });
      const put = await jupyterCall(page, "/api/contents/big.txt", "PUT", body);
      const got = await ask(page, "/files/big.txt");
      const gone = await jupyterCall(page, "/api/contents/big.txt", "DELETE");
      return [put.slice(0, 3).replace("201", "200"), got.length, gone.slice(0, 3)];
    },
  },
  {
    // So that the next leg finds no kernel.
    name: "shutdown", picture: false,
    async run({ page }) {
      const sessions = JSON.parse((await ask(page, "/api/sessions")).slice(4));
      for (const { id } of sessions) await jupyterCall(page, `/api/sessions/${id}`, "DELETE");
      return sessions.length;
    },
  },
];

export const dokuwiki = [
  { name: "welcome", mask: [".docInfo"], run: (tab) => tab.go("/doku.php?id=wiki:welcome") },
  { name: "syntax", mask: [".docInfo"], run: (tab) => tab.go("/doku.php?id=wiki:syntax") },
  {
    name: "search",
    async run({ page }) {
      await page.fill("#qsearch__in", "syntax");
      await page.keyboard.press("Enter");
      await page.waitForSelector(".search_results, .search_quickresult");
      return page.title();
    },
  },
  {
    name: "login", mask: [".docInfo"],
    async run(tab) {
      await tab.go("/doku.php?id=wiki:welcome&do=login");
      await tab.page.fill("input[name=u]", "admin");
      await tab.page.fill("input[name=p]", "leaves");
      await tab.page.click("#dw__login button[type=submit]");
      await tab.page.waitForSelector(".user");
      return text(tab.page, ".user");
    },
  },
  {
    name: "edit", mask: [".docInfo"],
    async run(tab) {
      const { page } = tab;
      await tab.go("/doku.php?id=notes:tea&do=edit");
      await page.fill("#wiki__text", "====== Tea ======\n\n  * Assam\n  * Sencha\n");
      await page.click("#edbtn__preview");
      await page.waitForSelector(".preview li");
      await page.click("#edbtn__save");
      await page.waitForSelector("#dokuwiki__content h1#tea");
      return text(page, "#dokuwiki__content ul");
    },
  },
  { name: "media", run: (tab) => tab.go("/doku.php?id=wiki:welcome&do=media&ns=wiki") },
  {
    name: "remove", mask: [".docInfo"],
    async run(tab) {
      const { page } = tab;
      await tab.go("/doku.php?id=notes:tea&do=edit");
      await page.fill("#wiki__text", "");
      await page.click("#edbtn__save");
      await page.waitForURL((url) => !url.search.includes("do=edit"));
    },
  },
];

export const wordpress = [
  { name: "home", run: (tab) => tab.go("/") },
  { name: "post", run: (tab) => tab.go("/?p=1") },
  { name: "feed", picture: false, run: async ({ page }) => (await ask(page, "/?feed=rss2")).slice(0, 40) },
  {
    name: "login",
    async run(tab) {
      await tab.go("/wp-login.php");
      await tab.page.waitForTimeout(300);
      await tab.page.fill("#user_login", "admin");
      await tab.page.fill("#user_pass", "leaves-of-tea");
      await tab.page.click("#wp-submit");
      await tab.page.waitForSelector("#wpadminbar");
      return text(tab.page, "h1");
    },
  },
  { name: "posts", mask: ["td.date"], run: (tab) => tab.go("/wp-admin/edit.php") },
  {
    // The sidebar shows the address, and with it the port.
    name: "editor", fullPage: false, mask: [".interface-complementary-area"],
    async run(tab) {
      await tab.go("/wp-admin/post.php?post=1&action=edit");
      await tab.page.waitForSelector(".edit-post-header, .editor-header");
      await tab.page.waitForSelector(".interface-complementary-area");
    },
  },
];

export const wagtail = [
  { name: "home", run: (tab) => tab.go("/") },
  {
    name: "login",
    async run(tab) {
      await tab.go("/admin/login/");
      await tab.page.fill("#id_username", "admin");
      await tab.page.fill("#id_password", "leaves");
      await tab.page.click("button[type=submit]");
      await tab.page.waitForURL(/\/admin\/$/);
      return text(tab.page, "h1");
    },
  },
  { name: "explorer", mask: ["td.updated"], run: (tab) => tab.go("/admin/pages/") },
  {
    name: "editor", fullPage: false, mask: ["[class*=status]", "time", "[data-side-panel]"],
    async run(tab) {
      await tab.go("/admin/pages/3/edit/");
      await tab.page.waitForSelector("#id_title");
      await tab.page.fill("#id_title", "Home of tea");
      return tab.page.inputValue("#id_title");
    },
  },
  {
    name: "django", mask: [".timesince"],
    async run(tab) {
      await tab.go("/django-admin/");
      return text(tab.page, "h1");
    },
  },
];
