// On the server: `what` is "document", "div" or "stream".
import React from "react";
import { renderToPipeableStream, renderToString } from "react-dom/server";
import { App, Page } from "./react.jsx";

function late(time) {
  let there = false;
  const promise = new Promise((done) => setTimeout(done, time)).then(() => { there = true; });
  return () => { if (!there) throw promise; return "Late words."; };
}

export function serve({ what, first }, script, response) {
  if (what === "stream") {
    const page = <Page first={first} read={late(300)} />;
    const { pipe } = renderToPipeableStream(page, { bootstrapScripts: [script], onShellReady: () => pipe(response) });
    return;
  }
  if (what === "document") {
    response.end(`<!DOCTYPE html>${renderToString(<Page first={first} script={script} />)}`);
    return;
  }
  response.end(`<!DOCTYPE html><html lang="en"><head><title>Tea</title><script src="${script.replace("&", "&amp;")}" defer></script>
</head><body><div id="root">${renderToString(<App />)}</div></body></html>`);
}
