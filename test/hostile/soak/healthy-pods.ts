import type { Pod } from "../../../src/model/pod.ts";
import type { ClusterApi } from "../../cluster/support/cluster-api.ts";
import {
  createPod,
  isReady,
  podsPath,
  restartsOf,
  untilPod,
} from "../../cluster/support/cluster-pods.ts";
import { shell } from "../../integration/support/agent-manifests.ts";

const serve =
  "mkdir /www; echo well > /www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait";
const readyTimeoutMs = 120_000;
const probe = { periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 3 };

/** Pods that do nothing wrong, with probes of three kinds; every change for the worse is kept. */
export class HealthyPods {
  readonly #disturbances = new Set<string>();

  static async start(api: ClusterApi, count: number): Promise<HealthyPods> {
    const names = Array.from({ length: count }, (_, index) => `healthy-${index}`);
    const main = shell("main", serve, {
      readinessProbe: { httpGet: { path: "/", port: 8080 }, ...probe },
      livenessProbe: { exec: { command: ["true"] }, ...probe },
      startupProbe: { tcpSocket: { port: 8080 }, ...probe, failureThreshold: 30 },
    });
    const labels = { soak: "healthy" };
    for (const name of names) await createPod(api, name, { spec: { containers: [main] }, labels });
    for (const name of names) await untilPod(api, name, isReady, readyTimeoutMs);
    const pods = new HealthyPods();
    void pods.#watch(api, count);
    return pods;
  }

  disturbances(): readonly string[] {
    return [...this.#disturbances];
  }

  /** The connection to the API server may be cut; the pods' own state says what was missed. */
  async #watch(api: ClusterApi, count: number): Promise<void> {
    for (;;) {
      try {
        const signal = AbortSignal.timeout(24 * 3_600_000);
        for await (const pods of api.states<Pod>(
          `${podsPath}?labelSelector=soak=healthy`,
          signal,
        )) {
          if (pods.length !== count) this.#disturbances.add(`${count - pods.length} pods are gone`);
          for (const pod of pods) this.#judge(pod);
        }
      } catch (error) {
        if (String(error).includes("ECONNREFUSED")) return;
      }
    }
  }

  #judge(pod: Pod): void {
    const { name } = pod.metadata;
    if (!isReady(pod)) this.#disturbances.add(`${name} is not ready`);
    if (restartsOf(pod) !== 0) this.#disturbances.add(`${name} has restarted`);
  }
}
