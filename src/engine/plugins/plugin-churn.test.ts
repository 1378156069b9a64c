import { expect, test } from "vitest";
import { MemoryPluginSockets } from "../../../test/kit/memory-plugin-sockets.ts";
import { noMetrics } from "../../../test/kit/no-metrics.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { ok } from "../../lib/result.ts";
import { PluginRegistry } from "./plugin-registry.ts";

const folder = "/plugins";
const plugin = { type: "CSIPlugin", name: "flapping", supportedVersions: ["1.0.0"] };

function world() {
  const clock = new VirtualClock();
  const sockets = new MemoryPluginSockets();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const registry = new PluginRegistry({ sockets, folder, clock, log });
  const calls: string[] = [];
  registry.addHandler("CSIPlugin", {
    validate: () => ok(undefined),
    register: async ({ name }) => {
      calls.push(`register ${name}`);
      return ok(undefined);
    },
    deregister: async ({ name }) => void calls.push(`deregister ${name}`),
  });
  const stop = new AbortController();
  const running = registry.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, sockets, registry, calls, warnings, end };
}

test("a socket that is created again all the time is not registered at that rate", async () => {
  const { clock, sockets, calls, registry, end } = world();
  await clock.advance(1000);
  for (let times = 0; times < 1000; times++) {
    sockets.addSocket(`${folder}/a.sock`, plugin);
    await clock.advance(1);
  }
  expect(calls.length).toBeLessThan(10);
  await clock.advance(1000);
  expect(registry.plugins).toMatchObject([{ name: "flapping" }]);
  await end();
});

test("a folder that is flooded with sockets and folders is followed up to a limit, and whole when the flood is gone", async () => {
  const { clock, sockets, registry, warnings, end } = world();
  for (let index = 0; index < 2000; index++) {
    sockets.addSocket(`${folder}/${index}.sock`, { ...plugin, name: String(index) });
    sockets.addFolder(`${folder}/folder-${index}`);
  }
  await clock.advance(1000);
  expect(registry.plugins).toHaveLength(256);
  expect(warnings).toEqual(["the folder of plugin sockets has too many entries, ignoring more"]);
  for (let index = 0; index < 1990; index++) sockets.remove(`${folder}/${index}.sock`);
  await clock.advance(10_000);
  expect(registry.plugins).toHaveLength(10);
  await end();
});

test("sockets and registered plugins are counted", async () => {
  const { clock, sockets, registry, end } = world();
  sockets.addSocket(`${folder}/a.sock`, plugin);
  sockets.addSocket(`${folder}/b.sock`, { ...plugin, getInfoError: "not yet" });
  await clock.advance(1000);
  const counted: unknown[] = [];
  registry.collect({ ...noMetrics, set: (_, value, labels) => void counted.push([value, labels]) });
  expect(counted).toEqual([
    [1, { socket_path: "/plugins/a.sock", state: "desired_state_of_world" }],
    [1, { socket_path: "/plugins/b.sock", state: "desired_state_of_world" }],
    [1, { socket_path: "/plugins/a.sock", state: "actual_state_of_world" }],
  ]);
  await end();
});

test("the end of the agent leaves plugins registered and logs no failure", async () => {
  const { clock, sockets, calls, warnings, end } = world();
  sockets.addSocket(`${folder}/a.sock`, plugin);
  await clock.advance(1000);
  await end();
  expect(calls).toEqual(["register flapping"]);
  expect(warnings).toEqual([]);
});
