// The shape of the engine, in numbers that may fall and not rise. Layers and import cycles are in layers.test.ts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const maxFilesAtRoot = 3;
const maxInterfaceFields = 10;
const maxFunctionFields = 30;

/** What constructs the agent. A change that makes these longer raises the bound below. */
const constructionFiles = [
  "src/engine/agent/agent-base.ts",
  "src/engine/agent/agent-parts.ts",
  "src/engine/agent/agent-ports.ts",
  "src/engine/agent/agent-settings.ts",
  "src/engine/agent/device-parts.ts",
  "src/engine/agent/node-parts.ts",
  "src/engine/agent/pod-parts.ts",
  "src/engine/agent/storage-parts.ts",
];
const maxConstructionLines = 788;

/**
 * Every map and set that an object of the engine keeps, with what it is keyed by. None is keyed by the UID of a pod: what
 * is known of one pod is a slice of its entry in `PodTable`, and is deleted with it. Only `PodConfig` has pods by UID inside
 * a value: the last set of a source, which may have pods that the table does not have yet.
 */
const keptMaps: Readonly<Record<string, string>> = {
  "agent/faults.ts Faults.#loggedAtMs":
    "place, pod or task, and text of a fault; the newest thousand",
  "cluster/certificate-manager.ts CertificateManager.#listeners": "listener",
  "cluster/api-objects.ts FetchedObjects.#fetched": "namespace and name of an object",
  "cluster/mirror-pods.ts MirrorPods.#again": "full name of a static pod",
  "cluster/mirror-pods.ts MirrorPods.#busy": "full name of a static pod",
  "cluster/reflector.ts Reflector.#set": "namespace and name of an object",
  "cluster/reflector.ts Reflector.#waiting": "waiter",
  "cluster/api-objects.ts WatchedObjects.#watched": "namespace and name of an object",
  "devices/device-endpoints.ts DeviceEndpoints.#connections": "resource of a device plugin",
  "devices/dra-endpoints.ts DraEndpoints.#connections": "DRA driver and its socket",
  "devices/dra-endpoints.ts DraEndpoints.#wipes": "DRA driver",
  "execute/execute-plan.ts PlanRun.#inTheWay": "container name or sandbox id, for one sync",
  "execute/leftover-ends.ts LeftoverEnds.#running": "sandbox or container id of a call",
  "images/credential-providers.ts CredentialProviders.#cache": "provider and image",
  "images/credential-providers.ts CredentialProviders.#flights": "provider and image",
  "images/image-collector.ts ImageCollector.#records": "image id",
  "images/image-puller.ts ImagePuller.#flights": "image and credentials",
  "images/pull-records.ts PullRecords.#files": "file name",
  "images/pull-records.ts PullRecords.#intents": "image",
  "intake/local-objects.ts LocalObjects.#bySource": "source",
  "intake/source-intake.ts PodConfig.#known":
    "source; its last set, which the next one is compared with",
  "intake/source-intake.ts SourceIntake.#problems": "source",
  "intake/source-intake.ts SourceIntake.#snapshots": "source",
  "intake/source-readiness.ts SourceReadiness.#delivered": "source",
  "node/csi-node.ts CsiNode.#installed": "CSI driver",
  "node/packet-rules.ts PacketRules.#failures": "IP family",
  "observe/observed-pods.ts ObservedPods.#podOfId": "sandbox or container id",
  "observe/pod-reader.ts PodReader.#settling": "sandbox or container id",
  "plugins/csi-allocatable.ts CsiAllocatable.#periods": "CSI driver",
  "plugins/csi-allocatable.ts CsiAllocatable.#running": "CSI driver",
  "plugins/csi-driver-registry.ts CsiDriverRegistry.#drivers": "CSI driver",
  "plugins/plugin-registry.ts PluginRegistry.#attempts": "socket of a plugin; the newest thousand",
  "plugins/plugin-registry.ts PluginRegistry.#handlers": "type of plugin",
  "plugins/plugin-registry.ts PluginRegistry.#registered": "socket of a plugin",
  "plugins/plugin-registry.ts PluginRegistry.#running": "running operation",
  "plugins/socket-watch.ts SocketWatch.#changes": "path in the plugin folder, at most a thousand",
  "plugins/socket-watch.ts SocketWatch.#folders": "folder in the plugin folder, at most 256",
  "plugins/socket-watch.ts SocketWatch.#sockets": "socket of a plugin, at most 256",
  "pods/active-pods.ts ActivePods.#countable": "pod spec, weakly",
  "pods/pod-registry.ts PodRegistry.#mirrors": "full name of a static pod",
  "pods/pod-table.ts PodTable.#pods": "the table itself",
  "pods/pod-table.ts PodTable.#written": "slice name",
  "pods/pod-workers.ts PodWorkers.#killWaiters": "number of a request",
  "pods/pod-workers.ts PodWorkers.#running": "running call",
  "probes/prober.ts Prober.#running": "running probe",
  "resources/stats/cgroup-samples.ts CgroupSamples.#kept": "cgroup path",
  "resources/stats/cgroup-samples.ts CgroupSamples.#reading": "cgroup path",
  "resources/stats/stats-provider.ts NodeStatsProvider.#sandboxPids": "sandbox id",
  "view/flight-recorder.ts FlightRecorder.#watchers": "watcher",
  "view/pod-changes.ts PodChanges.#watchers": "watcher",
  "volumes/found-volumes.ts FoundVolumes.#cleaning": "volume that was found and is not understood",
  "volumes/storage-manager.ts StorageManager.#waiting": "waiter",
  "volumes/volume-reconciler.ts VolumeReconciler.#pausedUntilMs": "unique name of a volume",
  "volumes/volume-states.ts VolumeStates.#reportedInUse": "unique name of a volume",
  "volumes/volume-states.ts VolumeStates.#volumes": "unique name of a volume",
};

const engine = listSources("src/engine");
const interfaces = [...engine, ...listSources("src/app")].flatMap(interfacesOf);

describe("the engine", () => {
  test("keeps no maps and sets but the listed ones, none of them by pod", () => {
    expect(engine.flatMap(mapsOf).toSorted()).toEqual(Object.keys(keptMaps).toSorted());
  });

  test(`has at most ${maxFilesAtRoot} files at its root`, () => {
    const atRoot = engine.filter(({ path }) => path.split("/").length === 3);
    expect(atRoot.length).toBeGreaterThan(0);
    expect(atRoot.length).toBeLessThanOrEqual(maxFilesAtRoot);
  });

  test(`is constructed in at most ${maxConstructionLines} lines`, () => {
    const lines = constructionFiles.map(
      (path) => readFileSync(path, "utf8").split("\n").length - 1,
    );
    const total = lines.reduce((sum, each) => sum + each, 0);
    expect(total).toBeLessThanOrEqual(maxConstructionLines);
  });

  test("has one name for each port and part", () => {
    const owners =
      /^(?:export )?(?:interface (?:Agent|Runtime|File|Storage|Machine|Telemetry)Ports|class \w+)\b[^]*?^\}/gm;
    const bodies = engine
      .filter(({ path }) => /\/agent\/agent-(?:base|parts|ports)|\/agent\/\w+-parts/.test(path))
      .flatMap(({ text }) => text.match(owners) ?? []);
    const names = bodies.flatMap((body) => body.match(/(?<=^ {2}readonly )\w+/gm) ?? []);
    expect(bodies.length).toBe(12);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test("hands all parts at once only to what constructs and starts them", () => {
    const users = engine
      .filter(({ text }) =>
        /agent-(?:base|parts)\.ts"|(?:device|pod|node|storage)-parts\.ts"/.test(text),
      )
      .map(({ path }) => path.replace("src/engine/", ""));
    expect(users.toSorted()).toEqual([
      "agent.ts",
      "agent/agent-parts.ts",
      "agent/device-parts.ts",
      "agent/node-parts.ts",
      "agent/pod-parts.ts",
      "agent/storage-parts.ts",
    ]);
  });
});

describe("the interfaces of the engine and the app", () => {
  test("are found", () => {
    expect(interfaces.length).toBeGreaterThan(200);
  });

  test(`have at most ${maxInterfaceFields} fields each`, () => {
    const wide = interfaces.filter(({ fields }) => fields > maxInterfaceFields);
    expect(wide).toEqual([]);
  });

  test(`have at most ${maxFunctionFields} fields that are functions in all`, () => {
    const functions = interfaces.reduce((sum, each) => sum + each.functions, 0);
    expect(functions).toBeLessThanOrEqual(maxFunctionFields);
  });
});

/** The fields of its classes that are maps or sets, or objects made of them. */
function mapsOf({ path, text }: SourceFile): string[] {
  const classes = text.matchAll(/^(?:export )?class (\w+)[^]*?^\}/gm);
  return [...classes].flatMap(([body, name = ""]) => {
    const fields = body.matchAll(/^ {2}(?:readonly )?(#?\w+)\??(?::[^=;()]*)?(?: =[^;]*)?;$/gm);
    return [...fields]
      .filter(([field]) => /(?<!Config)(?:Map|Set)\b/.test(field))
      .map(([, field]) => `${path.replace("src/engine/", "")} ${name}.${field}`);
  });
}

interface InterfaceShape {
  readonly name: string;
  readonly path: string;
  readonly fields: number;
  readonly functions: number;
}

function interfacesOf({ path, text }: SourceFile): InterfaceShape[] {
  const found = text.matchAll(/^(?:export )?interface (\w+)[^{]*\{\n([^]*?)^\}/gm);
  return [...found].map(([, name = "", body = ""]) => ({
    name,
    path,
    fields: [...body.matchAll(/^ {2}(?:readonly )?\w+\??[(:<]/gm)].length,
    functions: [...body.matchAll(/^ {2}(?:readonly )?\w+\??: *\(?.*=>/gm)].length,
  }));
}

function listSources(root: string): SourceFile[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));
}
