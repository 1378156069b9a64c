// Runs in a network and mount namespace of its own, where 127.0.0.1 is the only name server: one that never answers. Probes
// and hooks of many pods look names up, and beside them the agent itself. Prints what became of it as JSON.

import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { readdirSync } from "node:fs";
import { newHookHttp } from "../../../src/drivers/linux/hook-http.ts";
import { PodNames } from "../../../src/drivers/linux/pod-names.ts";
import { newProbeRunner } from "../../../src/drivers/linux/probe-runner.ts";
import type { Probe } from "../../../src/model/generated/kubernetes.ts";
import { containerId, podUid } from "../../../src/model/ids.ts";

export interface SilentNamesReport {
  /** Of 120. */
  readonly endedBeforeOwnLookup: number;
  readonly ownAddress: string;
  readonly outputs: readonly string[];
  readonly descriptorsLeft: number;
}

const pods = 20;
const timeoutSeconds = 8;

const server = createSocket("udp4");
await new Promise<void>((resolve) => {
  server.bind(53, "127.0.0.1", () => resolve());
});
const descriptorsBefore = readdirSync("/proc/self/fd").length;
const names = new PodNames();
const execSync = () => Promise.reject(new Error("not used"));
const runner = newProbeRunner({ execSync, names });
const hooks = newHookHttp(names);
let ended = 0;

async function probe(podIndex: number, probed: Probe): Promise<string> {
  const container = { name: "c", image: "i" };
  const metadata = { name: `p${podIndex}`, namespace: "ns", uid: podUid(`uid-${podIndex}`) };
  const pod = { metadata, spec: { containers: [container] } };
  const about = {
    kind: "liveness",
    status: { podIP: "127.0.0.1" },
    containerId: containerId("x://1"),
  } as const;
  const request = { ...about, probe: { ...probed, timeoutSeconds }, pod, container };
  const { output } = await runner.run(request, AbortSignal.timeout(60_000));
  ended++;
  return output;
}

async function hook(podIndex: number, host: string): Promise<string> {
  const target = {
    podUid: podUid(`uid-${podIndex}`),
    container: { name: "c", image: "i" },
    podIp: "",
  };
  const signal = AbortSignal.timeout(timeoutSeconds * 1000);
  const output = await hooks.get({ host, port: 80 }, target, signal).then(String, String);
  ended++;
  return output;
}

const running = Array.from({ length: pods }, (_, index) => [
  ...[1, 2].map((each) =>
    probe(index, { tcpSocket: { host: `tcp${each}-${index}.test`, port: 80 } }),
  ),
  ...[1, 2].map((each) =>
    probe(index, { httpGet: { host: `http${each}-${index}.test`, port: 80 } }),
  ),
  ...[1, 2].map((each) => hook(index, `hook${each}-${index}.test`)),
]).flat();
const { address } = await lookup("api.test");
const endedBeforeOwnLookup = ended;
const outputs = await Promise.all(running);
server.close();
await new Promise((resolve) => {
  server.once("close", resolve);
});
const report: SilentNamesReport = {
  endedBeforeOwnLookup,
  ownAddress: address,
  outputs: outputs.slice(0, 6),
  descriptorsLeft: readdirSync("/proc/self/fd").length - (descriptorsBefore - 1),
};
console.info(JSON.stringify(report));
process.exit(0);
