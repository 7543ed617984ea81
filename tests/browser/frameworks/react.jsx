// One application for React 18 and 19: a whole document, or what goes into a <div>; or streamed, with a part that is late.
import React from "react";

function Counter() {
  const [count, setCount] = React.useState(0);
  React.useEffect(() => { window.hydrated = true; }, []);
  return <button id="count" onClick={() => setCount(count + 1)}>{count}</button>;
}

/** What arrives late: `read` throws a promise until it is there. */
function Late({ read }) {
  return <p id="late">{read()}</p>;
}

export function App({ read }) {
  return (
    <main id="app">
      <h1>Tea</h1>
      <p>Green &amp; black.</p>
      <Counter />
      {read && <React.Suspense fallback={<p>Loading</p>}><Late read={read} /></React.Suspense>}
    </main>
  );
}

/** `first`: the element that stands first in the body. `script`: what takes the page over, unless React says so itself. */
export function Page({ first: First, script, read }) {
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <title>Tea</title>
        {script && <script src={script} defer />}
      </head>
      <body>
        <First id="first"><App read={read} /></First>
      </body>
    </html>
  );
}
