// Builds each application for production: one file for the server, one for the browser.
"use strict";
const path = require("node:path");
const esbuild = require("esbuild");

/** What a Svelte component becomes. */
const svelte = (generate, modules) => ({
  name: "svelte",
  setup(build) {
    const { compile } = require(path.join(modules, "svelte/compiler"));
    const fs = require("node:fs");
    build.onLoad({ filter: /\.svelte$/ }, ({ path: file }) => {
      const { js, warnings } = compile(fs.readFileSync(file, "utf8"), { filename: file, generate, dev: false });
      if (warnings.length > 0) throw new Error(warnings[0].message);
      return { contents: js.code, loader: "js", resolveDir: path.dirname(file) };
    });
  },
});

/** `name`: react18, react19, vue or svelte. `at`: where its packages are, and what is built goes. */
async function build(name, at) {
  const modules = path.join(at, name, "node_modules");
  const kind = name.replace(/\d+$/, "");
  const extension = kind === "react" ? "jsx" : "js";
  const out = (side) => path.join(at, "built", `${name}_${side}.js`);
  for (const [side, generate] of [["client", "client"], ["server", "server"]]) {
    const server = side === "server";
    await esbuild.build({
      entryPoints: [path.join(__dirname, `${kind}_${side}.${extension}`)],
      outfile: out(side),
      bundle: true,
      minify: !server,
      platform: server ? "node" : "browser",
      format: server ? "cjs" : "iife",
      nodePaths: [modules],
      conditions: server ? [] : ["browser", "production"],
      define: {
        "process.env.NODE_ENV": "\"production\"",
        __VUE_OPTIONS_API__: "false",
        __VUE_PROD_DEVTOOLS__: "false",
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "true",
      },
      plugins: kind === "svelte" ? [svelte(generate, modules)] : [],
      logLevel: "warning",
    });
  }
  return { client: out("client"), serve: require(out("server")).serve };
}

module.exports = { build };
