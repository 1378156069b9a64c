import { expect, test } from "vitest";
import type { RecordedNotes } from "../../ports/recorded-notes.ts";
import { NoteKeeper } from "./note-keeper.ts";

test("counts are summed, levels are the newest, and lines come in order", async () => {
  const batches: RecordedNotes[] = [];
  const keeper = new NoteKeeper(
    async (notes) => void batches.push(notes),
    "some lines were left out",
  );
  const labels = { method: "GET" };
  keeper.increment("kubelet_http_requests_total", labels);
  keeper.increment("kubelet_http_requests_total", labels);
  keeper.set("kubelet_http_inflight_requests", 2, labels);
  keeper.set("kubelet_http_inflight_requests", 1, labels);
  keeper.log.warn("first", { error: new Error("why") });
  keeper.log.info("second");
  await keeper.flush();
  expect(batches).toEqual([
    {
      metrics: [
        { kind: "increment", name: "kubelet_http_requests_total", labels, value: 2 },
        { kind: "set", name: "kubelet_http_inflight_requests", labels, value: 1 },
      ],
      lines: [
        { level: "warn", message: "first", fields: { error: "why" } },
        { level: "info", message: "second", fields: {} },
      ],
    },
  ]);
});

test("while the agent takes nothing over, what is kept is bounded", async () => {
  const batches: RecordedNotes[] = [];
  let release: () => void = () => undefined;
  const keeper = new NoteKeeper(async (notes) => {
    batches.push(notes);
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  }, "some lines were left out");
  keeper.increment("kubelet_http_requests_total");
  const first = keeper.flush();
  await expect.poll(() => batches.length).toBe(1);
  for (let count = 0; count < 10_000; count++) {
    keeper.increment("kubelet_http_requests_total");
    keeper.observe("kubelet_http_requests_duration_seconds", 1);
    keeper.log.warn("cannot authenticate or authorize a request");
  }
  expect(batches).toHaveLength(1);
  release();
  await first;
  const second = keeper.flush();
  await expect.poll(() => batches.length).toBe(2);
  release();
  await second;
  const { metrics, lines } = batches[1] ?? { metrics: [], lines: [] };
  expect(metrics[0]).toMatchObject({ kind: "increment", value: 10_000 });
  expect(metrics.length).toBeLessThan(5000);
  expect(lines.length).toBeLessThan(200);
  expect(lines.at(-1)).toMatchObject({ message: expect.stringContaining("left out") });
});
