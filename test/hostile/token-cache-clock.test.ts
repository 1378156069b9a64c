// A wall clock that was set back let a token that was taken away count for as long as the clock lagged behind.
import { expect, test } from "vitest";
import { fileDefaultConfig } from "../../src/config/legacy-defaults.ts";
import { serveKubelet } from "../fakes/served-kubelet-api.ts";
import { createTestAuthority } from "../kit/test-authority.ts";

test("a token that was taken away counts no longer than its time, also when the clock is set back", async () => {
  const authority = createTestAuthority();
  const { authentication, authorization } = fileDefaultConfig();
  let aheadMs = 3_600_000;
  const clock = {
    nowMs: () => Date.now() + aheadMs,
    monotonicMs: () => performance.now(),
    startTimer: () => ({ stop: () => undefined }),
    sleep: () => new Promise<void>(() => undefined),
  };
  const webhook = { ...authentication.webhook, cacheTTL: "300ms" };
  const config = {
    authentication: { ...authentication, webhook },
    authorization: { ...authorization, mode: "AlwaysAllow" },
  };
  const api = await serveKubelet(authority.issue("/CN=node-1"), { clock, config });
  try {
    api.reviews.users.set("robot", { username: "robot" });
    expect((await api.ask("/pods", { token: "robot" })).status).toBe(200);
    api.reviews.users.delete("robot");
    aheadMs = 0;
    const ask = async (): Promise<number> => (await api.ask("/pods", { token: "robot" })).status;
    await expect.poll(ask, { timeout: 20_000 }).toBe(401);
  } finally {
    await api.stop();
    authority.remove();
  }
});
