import { render } from "preact";
import { App } from "./app.tsx";
import { PageContext } from "./hooks.ts";
import { PageState } from "./state.ts";

const root = document.getElementById("page");
if (root === null) throw new Error("the document has no element for the page");
const page = new PageState();
render(
  <PageContext.Provider value={page}>
    <App />
  </PageContext.Provider>,
  root,
);
// It ends with the document.
await page.run(new AbortController().signal);
