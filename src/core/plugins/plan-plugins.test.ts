import { expect, test } from "vitest";
import { failedAttempt, type PluginFacts, planPlugins } from "./plan-plugins.ts";

const plugin = {
  socketPath: "/a",
  socketIdentity: "1",
  type: "CSIPlugin",
  name: "n",
  endpoint: "/e",
};

function plan(facts: Partial<PluginFacts>) {
  const none = { sockets: new Map(), registered: new Map(), attempts: new Map(), nowMs: 1000 };
  return planPlugins({ ...none, ...facts });
}

test("a plugin whose socket was created again is unregistered before it is registered", () => {
  const sockets = new Map([["/a", "2"]]);
  const { operations } = plan({ sockets, registered: new Map([["/a", plugin]]) });
  expect(operations).toEqual([
    { kind: "unregister", plugin, because: "its socket was created again" },
  ]);
  expect(plan({ sockets }).operations).toMatchObject([{ kind: "register", socketIdentity: "2" }]);
});

test("nothing is started at a socket where something runs", () => {
  const attempts = new Map([["/a", { isRunning: true }]]);
  expect(plan({ registered: new Map([["/a", plugin]]), attempts })).toEqual({ operations: [] });
});

test("the pause after a failure doubles up to two minutes and two seconds, and its end counts to it", () => {
  const sockets = new Map([["/a", "1"]]);
  let attempt = failedAttempt(undefined, 0);
  const pausesMs: (number | undefined)[] = [];
  for (let failures = 0; failures < 10; failures++) {
    pausesMs.push(attempt.failure?.delayMs);
    attempt = failedAttempt(attempt, 0);
  }
  expect(pausesMs).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000]);
  const attempts = new Map([["/a", failedAttempt(undefined, 1000)]]);
  expect(plan({ sockets, attempts, nowMs: 1500 })).toEqual({ operations: [], recheckAtMs: 1501 });
  expect(plan({ sockets, attempts, nowMs: 1501 }).operations).toHaveLength(1);
});
