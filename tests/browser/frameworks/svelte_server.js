import { render } from "svelte/server";
import Tea from "./Tea.svelte";

export function serve(_, script, response) {
  const { head, body } = render(Tea);
  response.end(`<!DOCTYPE html><html lang="en"><head><title>Tea</title>${head}<script src="${script}" defer></script></head>
<body>${body}</body></html>`);
}
