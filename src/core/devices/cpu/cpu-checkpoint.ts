import { fnv1a } from "../../../lib/fnv.ts";
import { jsonText, quoteText } from "../../../lib/go-text.ts";
import type { JsonNode } from "../../../lib/json-node.ts";
import { err, ok, type Result } from "../../../lib/result.ts";
import { type CpuSet, cpuSetText, parseCpuSet } from "../../../model/cpu-set.ts";
import {
  corruptStateFile,
  dumpMap,
  isChecksumOf,
  jsonMap,
  jsonStruct,
  readField,
  readMap,
  readStateFile,
  readText,
  readWhole,
} from "../state-file.ts";
import type { ContainerRef } from "../topology/container-ref.ts";
import type { CpuState } from "./cpu-state.ts";

/** The content of cpu_manager_state. Entries are by pod and container; by container ID in files of old kubelets. */
interface Checkpoint<Entry> {
  readonly policy: string;
  readonly shared: string;
  readonly entries: ReadonlyMap<string, Entry>;
}

type PodEntry = ReadonlyMap<string, string>;

/** What the kubelet writes to cpu_manager_state. */
export function cpuCheckpointText(policy: string, state: CpuState): string {
  const { shared, entries } = checkpointOf(policy, state);
  return jsonStruct([
    ["policyName", jsonText(policy)],
    ["defaultCpuSet", jsonText(shared)],
    ...(entries.size === 0
      ? []
      : [["entries", jsonMap(entries, (entry) => jsonMap(entry, jsonText))] as const]),
    ["checksum", `${fnv1a(cpuCheckpointDump(policy, state))}`],
  ]);
}

/** The text whose hash is the checksum in the file. */
export function cpuCheckpointDump(policy: string, state: CpuState): string {
  return dumpByPod(checkpointOf(policy, state), "CPUManagerCheckpoint");
}

function checkpointOf(policy: string, { shared, assignments }: CpuState): Checkpoint<PodEntry> {
  const entries = Array.from(assignments, ([podUid, containers]) => {
    const texts = Array.from(containers, ([name, cpus]) => [name, cpuSetText(cpus)] as const);
    return [podUid, new Map(texts)] as const;
  });
  return { policy, shared: cpuSetText(shared), entries: new Map(entries) };
}

function dumpByPod({ entries, ...rest }: Checkpoint<PodEntry>, name: string): string {
  const text = dumpMap(entries, (entry) => dumpMap(entry, String));
  return dump(name, rest, `(map[string]map[string]string)${text}`);
}

function dumpById({ entries, ...rest }: Checkpoint<string>): string {
  return dump("CPUManagerCheckpoint", rest, `(map[string]string)${dumpMap(entries, String)}`);
}

function dump(
  name: string,
  { policy, shared }: { readonly policy: string; readonly shared: string },
  entries: string,
): string {
  return `(*state.${name}){PolicyName:(string)${policy} DefaultCPUSet:(string)${shared} Entries:${entries} Checksum:(checksum.Checksum)0}`;
}

/** Reads the file of a kubelet of any version. Old files name containers by ID: these are looked up among those that run. */
export function parseCpuCheckpoint(
  text: string,
  policy: string,
  containers: ReadonlyMap<string, ContainerRef>,
): Result<CpuState, string> {
  const checkpoint = readCheckpoint(text, containers);
  if (!checkpoint.ok) return checkpoint;
  const { policy: found, shared, entries } = checkpoint.value;
  if (found !== policy) {
    return err(
      `configured policy ${quoteText(policy)} differs from state checkpoint policy ${quoteText(found)}`,
    );
  }
  const sharedCpus = parseCpuSet(shared);
  if (!sharedCpus.ok) {
    return err(`could not parse default cpu set ${quoteText(shared)}: ${sharedCpus.error}`);
  }
  const assignments = new Map<string, Map<string, CpuSet>>();
  for (const [podUid, entry] of entries) {
    const ofPod = new Map<string, CpuSet>();
    assignments.set(podUid, ofPod);
    for (const [container, cpusText] of entry) {
      const cpus = parseCpuSet(cpusText);
      if (!cpus.ok) {
        return err(
          `could not parse cpuset ${quoteText(cpusText)} for container ${quoteText(container)} in pod ${quoteText(podUid)}: ${cpus.error}`,
        );
      }
      ofPod.set(container, cpus.value);
    }
  }
  return ok({ shared: sharedCpus.value, assignments });
}

function readCheckpoint(
  text: string,
  containers: ReadonlyMap<string, ContainerRef>,
): Result<Checkpoint<PodEntry>, string> {
  const byPod = read(text, readPodEntry, (checkpoint) => [
    // Kubelets before the format had a version, and this one.
    dumpByPod(checkpoint, "CPUManagerCheckpoint"),
    dumpByPod(checkpoint, "CPUManagerCheckpointV2"),
  ]);
  if (byPod.ok) return byPod;
  const byId = read(text, readText, (checkpoint) => [dumpById(checkpoint)]);
  return byId.ok ? migrate(byId.value, containers) : byId;
}

function readPodEntry(node: JsonNode, field: string): PodEntry {
  return node.kind === "null" ? new Map() : readMap(node, field, readText);
}

function read<Entry>(
  text: string,
  readEntry: (node: JsonNode, field: string) => Entry,
  dumps: (checkpoint: Checkpoint<Entry>) => readonly string[],
): Result<Checkpoint<Entry>, string> {
  const parsed = readStateFile(text, (root) => ({
    policy: readField(root, "policyName", readText) ?? "",
    shared: readField(root, "defaultCpuSet", readText) ?? "",
    entries:
      readField(root, "entries", (node, field) => readMap(node, field, readEntry)) ??
      new Map<string, Entry>(),
    checksum: readField(root, "checksum", readWhole) ?? 0n,
  }));
  if (!parsed.ok) return parsed;
  const { checksum, ...checkpoint } = parsed.value;
  return isChecksumOf(checksum, dumps(checkpoint)) ? ok(checkpoint) : err(corruptStateFile);
}

function migrate(
  { entries, ...rest }: Checkpoint<string>,
  containers: ReadonlyMap<string, ContainerRef>,
): Result<Checkpoint<PodEntry>, string> {
  const byPod = new Map<string, Map<string, string>>();
  for (const [containerId, cpus] of entries) {
    const ref = containers.get(containerId);
    if (ref === undefined) {
      return err(
        `failed to migrate checkpoint from v1 to v2: containerID '${containerId}' not found in initial containers list`,
      );
    }
    const ofPod = byPod.get(ref.podUid) ?? new Map<string, string>();
    byPod.set(ref.podUid, ofPod.set(ref.container, cpus));
  }
  return ok({ ...rest, entries: byPod });
}
