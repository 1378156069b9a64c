import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { MachineTopology } from "../../model/machine-topology.ts";
import { createMachineTopologyReader } from "./machine-topology.ts";

/** A folder with these files, by path. */
function read(files: Readonly<Record<string, string>>): Promise<MachineTopology> {
  const folder = mkdtempSync(join(tmpdir(), "berth-topology-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  }
  return createMachineTopologyReader(folder).read();
}

interface CpuFiles {
  readonly id: number;
  readonly socket: number;
  readonly core: number;
  readonly node?: number;
  /** The CPUs that share the cache of level 3. */
  readonly cache?: { readonly id: number; readonly cpus: string };
}

function cpuFiles({ id, socket, core, node, cache }: CpuFiles): Record<string, string> {
  const own = `cpu/cpu${id}`;
  return {
    [`${own}/topology/physical_package_id`]: String(socket),
    [`${own}/topology/core_id`]: String(core),
    [`${own}/cache/index0/level`]: "1",
    [`${own}/cache/index0/id`]: String(id),
    [`${own}/cache/index0/shared_cpu_list`]: String(id),
    ...(cache && {
      [`${own}/cache/index3/level`]: "3",
      [`${own}/cache/index3/id`]: String(cache.id),
      [`${own}/cache/index3/shared_cpu_list`]: cache.cpus,
    }),
    ...(node !== undefined && { [`node/node${node}/cpu${id}/uevent`]: "" }),
  };
}

test("this machine", async () => {
  const machine = await createMachineTopologyReader().read();
  const found = machine.numaNodes.flatMap(({ cores }) => cores.flatMap((core) => core.cpus));
  expect(found.toSorted((a, b) => a - b)).toEqual([...cpus().keys()]);
  expect(machine.cpuCount).toBe(cpus().length);
  expect(machine.socketCount).toBeGreaterThan(0);
  expect(machine.numaNodes[0]?.memoryBytes).toBeGreaterThan(2n ** 28n);
});

test("sockets, nodes, threads, caches, memory, huge pages and distances", async () => {
  const half = (id: number): { id: number; cpus: string } => ({
    id: id % 4 < 2 ? 0 : 1,
    cpus: id % 4 < 2 ? "0-1,4-5" : "2-3,6-7",
  });
  // Two threads per core: CPU 4 is on the core of CPU 0. Cores of each socket begin at 0.
  const node0 = [0, 1, 2, 3, 4, 5, 6, 7].map((id) =>
    cpuFiles({ id, socket: 0, core: id % 4, node: 0, cache: half(id) }),
  );
  const node1 = [8, 9, 10, 11].map((id) =>
    cpuFiles({ id, socket: 1, core: id % 2, node: 1, cache: { id: 2, cpus: "8-11" } }),
  );
  const machine = await read({
    "cpu/online": "0-11",
    "cpu/cpufreq/x": "",
    "node/online": "0-1",
    "node/node0/meminfo": "Node 0 MemTotal:       1024 kB\nNode 0 MemFree:        7 kB",
    "node/node1/meminfo": "Node 1 MemTotal:       2048 kB",
    "node/node0/distance": "10 21",
    "node/node1/distance": "21 10",
    "node/node1/hugepages/hugepages-2048kB/nr_hugepages": "3",
    ...Object.assign({}, ...node0, ...node1),
  });
  const core = (socket: number, cpuIds: number[], uncoreCaches: number[]): object => ({
    socket,
    cpus: cpuIds,
    uncoreCaches,
  });
  expect(machine).toEqual({
    cpuCount: 12,
    socketCount: 2,
    numaNodes: [
      {
        id: 0,
        memoryBytes: 1024n * 1024n,
        hugePages: [],
        cores: [
          core(0, [0, 4], [0]),
          core(0, [1, 5], [0]),
          core(0, [2, 6], [1]),
          core(0, [3, 7], [1]),
        ],
        distances: [10, 21],
      },
      {
        id: 1,
        memoryBytes: 2048n * 1024n,
        hugePages: [{ pageSizeKb: 2048, count: 3 }],
        // All of the node share the cache: no core is nearer to it than another.
        cores: [core(1, [8, 10], []), core(1, [9, 11], [])],
        distances: [21, 10],
      },
    ],
  });
});

test("CPUs that are offline or of unknown place are left out, and so are files that are missing", async () => {
  const machine = await read({
    "cpu/online": "0,2-3",
    ...cpuFiles({ id: 0, socket: 0, core: 0, node: 0 }),
    ...cpuFiles({ id: 1, socket: 0, core: 1, node: 0 }),
    ...cpuFiles({ id: 10, socket: 0, core: 1, node: 0 }),
    "cpu/cpu2/uevent": "",
    "node/node0/cpu2/uevent": "",
    ...cpuFiles({ id: 3, socket: 0, core: 3, node: 2 }),
    // A node of memory alone.
    "node/node4/meminfo": "Node 4 MemTotal: 4 kB",
  });
  expect(machine).toEqual({
    cpuCount: 2,
    socketCount: 1,
    numaNodes: [
      {
        id: 0,
        memoryBytes: 0n,
        hugePages: [],
        cores: [{ socket: 0, cpus: [0], uncoreCaches: [] }],
      },
      {
        id: 2,
        memoryBytes: 0n,
        hugePages: [],
        cores: [{ socket: 0, cpus: [3], uncoreCaches: [] }],
      },
      { id: 4, memoryBytes: 4096n, hugePages: [], cores: [] },
    ],
  });
});

test("on a kernel without NUMA each socket is a node", async () => {
  const machine = await read({
    ...cpuFiles({ id: 0, socket: 0, core: 0 }),
    ...cpuFiles({ id: 1, socket: 7, core: 0 }),
  });
  expect(machine).toMatchObject({
    cpuCount: 2,
    socketCount: 2,
    numaNodes: [
      { id: 0, memoryBytes: 0n, cores: [{ socket: 0, cpus: [0] }] },
      { id: 7, memoryBytes: 0n, cores: [{ socket: 7, cpus: [1] }] },
    ],
  });
});

test("a machine that reports nothing has nothing", async () => {
  expect(await read({})).toEqual({ cpuCount: 0, socketCount: 0, numaNodes: [] });
});
