import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PageState } from "./state.ts";

const info = { nodeName: "n1", nowMs: 0, speed: 1 };
const patience = { timeout: 20_000 };
let stored: Map<string, string>;
let answers: Map<string, () => Response>;
let end: AbortController;

/** What a browser has, as far as the state asks for it. */
beforeEach(() => {
  stored = new Map();
  answers = new Map();
  end = new AbortController();
  vi.stubGlobal("location", { hash: "", pathname: "/" });
  vi.stubGlobal("history", { replaceState: () => undefined });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("localStorage", {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  });
  vi.stubGlobal("fetch", async (path: string, { signal }: { readonly signal: AbortSignal }) => {
    const answer = answers.get(path.split("?")[0] ?? "");
    if (answer !== undefined && !path.includes("watch")) return answer();
    // A watch without changes.
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  });
});
afterEach(() => {
  end.abort();
  vi.unstubAllGlobals();
});

test("one question without an answer is forgotten with the next answer", async () => {
  stored.set("berth-key", "key");
  let isAnswering = false;
  answers.set("/api/v1/pods", () =>
    Response.json({ metadata: { resourceVersion: "1" }, items: [] }),
  );
  answers.set("/ui/info", () =>
    isAnswering ? Response.json(info) : new Response("", { status: 503 }),
  );
  const page = new PageState();
  void page.run(end.signal);
  await expect.poll(() => page.pods.value.isListed, patience).toBe(true);
  await expect.poll(() => page.trouble.value, patience).toMatchObject({ kind: "unreachable" });
  isAnswering = true;
  await expect.poll(() => page.trouble.value, patience).toBeUndefined();
  expect(page.info.value).toEqual(info);
});

test.each([
  ["whose answer is none", () => new Response("{")],
  [
    "that cannot be stored",
    () => {
      vi.stubGlobal("localStorage", {
        getItem: () => null,
        setItem: () => {
          throw new Error("no storage");
        },
      });
      return Response.json({ key: "key" });
    },
  ],
])("a login %s says so", async (_, answer) => {
  location.hash = "#login=code";
  answers.set("/ui/login", answer);
  const page = new PageState();
  void page.run(end.signal);
  await expect
    .poll(() => page.session.value, patience)
    .toEqual({ state: "none", message: expect.stringContaining("berth ui") });
});
