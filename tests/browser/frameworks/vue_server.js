import { renderToString } from "vue/server-renderer";
import { app } from "./vue.js";

export async function serve(_, script, response) {
  response.end(`<!DOCTYPE html><html lang="en"><head><title>Tea</title><script src="${script}" defer></script></head>
<body><div id="root">${await renderToString(app())}</div></body></html>`);
}
