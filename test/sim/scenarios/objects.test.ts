// Pods that need more than their manifest.
import { expect, test } from "vitest";
import type { AgentPorts } from "../../../src/engine/agent/agent-ports.ts";
import { parseJson } from "../../../src/lib/json-parser.ts";
import type { ConfigMap } from "../../../src/model/generated/kubernetes.ts";
import { parseStaticPod } from "../../../src/model/manifest/static-pod.ts";
import type { Pod } from "../../../src/model/pod.ts";
import type { SourceSink } from "../../../src/ports/pod-source.ts";
import type { PodManifest } from "../simulator/random-pod.ts";
import { pass, plainPod, quietNode } from "./scenario.ts";

test("a static pod that refers to a missing ConfigMap waits for it and stops nothing else (kubernetes #113492)", async () => {
  const folder = new Folder();
  const sim = quietNode({ sabotage: (ports) => folder.replace(ports) });
  const configMap = { name: "settings" };
  const volumes = [{ name: "settings", configMap }];
  const volumeMounts = [{ name: "settings", mountPath: "/settings" }];
  const envFrom = [{ configMapRef: configMap }];
  const web = plainPod("web", { volumeMounts, envFrom }, { volumes });
  const pods = [web, plainPod("other")].map(readBesideObjects);
  for (const pod of pods) sim.invariants.notePod(pod);
  folder.deliver(pods, []);
  await pass(sim, 60_000);
  expect(sim.invariants.running).toHaveLength(1);
  expect(sim.shownPods().map(({ status }) => status?.phase)).toEqual(["Pending", "Running"]);
  folder.deliver(pods, [{ metadata: configMap, data: { level: "debug" } }]);
  await pass(sim, 120_000);
  expect(sim.shownPods().map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
});

/** As from a folder in which ConfigMaps may lie beside pods. */
function readBesideObjects(manifest: PodManifest): Pod {
  const node = parseJson(JSON.stringify(manifest));
  if (!node.ok) throw new Error(node.error.message);
  const pod = parseStaticPod(node.value, {
    nodeName: "sim-node",
    origin: { kind: "file", path: "/manifests/pod" },
    allowedReferences: "configMapsAndSecrets",
  });
  if (!pod.ok) throw new Error(pod.error.message);
  return pod.value;
}

/** A manifest folder of a node without a cluster. */
class Folder {
  #snapshot: { readonly pods: readonly Pod[]; readonly configMaps: readonly ConfigMap[] } = {
    pods: [],
    configMaps: [],
  };
  #sink: SourceSink | undefined;

  replace(ports: AgentPorts): AgentPorts {
    const run = (sink: SourceSink): Promise<never> => {
      this.#sink = sink;
      this.#notify();
      return new Promise<never>(() => undefined);
    };
    return { ...ports, podSources: [{ name: "file", run }] };
  }

  deliver(pods: readonly Pod[], configMaps: readonly ConfigMap[]): void {
    this.#snapshot = { pods, configMaps };
    this.#notify();
  }

  #notify(): void {
    this.#sink?.deliver({ ...this.#snapshot, secrets: [], problems: [], ignored: [] });
  }
}
