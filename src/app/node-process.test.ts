import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NodeOrder } from "./node-order.ts";
import { NodeProcess } from "./node-process.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "node-process-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

type Kind = NodeOrder["node"]["kind"];

/** A process that answers the order, and what it is asked for later, by `script`; it writes down what it was sent. */
async function start(kind: Kind, isTemporary: boolean, script: string): Promise<NodeProcess> {
  const program = join(folder, "program.mjs");
  const sent = JSON.stringify(join(folder, "sent"));
  await writeFile(
    program,
    `import { appendFileSync } from "node:fs";
     const end = (problem, hasRemoved) =>
       process.send({ kind: "ended", problem, hasRemoved }, () => process.exit());
     process.on("message", (message) => {
       const isRemovalOnly = message.order?.isRemovalOnly === true;
       appendFileSync(${sent}, (isRemovalOnly ? "remove" : message.kind) + "\\n");
       ${script}
     });`,
  );
  const place = { dataDir: join(folder, "data"), manifests: join(folder, "data/manifests") };
  await writeFile(join(folder, "data"), "");
  const node =
    kind === "real"
      ? ({ kind, ...place } as const)
      : ({ kind, ...place, nodeName: "sim", speed: 1 } as const);
  return new NodeProcess({ program, order: { node, isTemporary, logLevel: "warn" } });
}

const sent = async (): Promise<string> => readFile(join(folder, "sent"), "utf8");
const onStop = (answer: string): string => `if (message.kind === "stop") ${answer};`;

test("the data folder of a temporary node goes with it", async () => {
  const node = await start("real", true, onStop("end(undefined, true)"));
  await node.stop(false);
  expect(existsSync(join(folder, "data"))).toBe(false);
});

test("the data folder of a node whose removal failed stays, for volumes may be mounted in it", async () => {
  const node = await start("real", true, onStop('end("volumes are still mounted", true)'));
  await expect(node.stop(true)).rejects.toThrow(
    `volumes are still mounted; then not removed: ${folder}/data (berth down --data-dir ${folder}/data does it)`,
  );
  expect(existsSync(join(folder, "data"))).toBe(true);
});

test("it stays too when the process was killed and who removes the rest fails", async () => {
  const script = 'isRemovalOnly ? end("the runtime does not answer", true) : process.exit(9);';
  const node = await start("real", true, script);
  await expect(node.stop(false)).rejects.toThrow("the runtime does not answer");
  expect(existsSync(join(folder, "data"))).toBe(true);
});

test("that of a simulated node goes in any case: nothing is mounted in it", async () => {
  const node = await start("simulated", true, onStop('end("it failed", true)'));
  await expect(node.stop(false)).rejects.toThrow("it failed");
  expect(existsSync(join(folder, "data"))).toBe(false);
});

test("a node that ended by itself is removed when that is asked for", async () => {
  const node = await start("real", false, "end(undefined, isRemovalOnly);");
  await node.ended;
  await node.stop(true);
  expect(await sent()).toBe("start\nremove\n");
});

test("a node that is stopped first and to be removed then is removed, once", async () => {
  const script = `if (isRemovalOnly) end(undefined, true); else ${onStop("end(undefined, message.remove)")}`;
  const node = await start("real", false, script);
  const stops = [node.stop(false), node.stop(true), node.stop(true), node.stop(false)];
  await Promise.all(stops);
  expect(await sent()).toBe("start\nstop\nremove\n");
});
