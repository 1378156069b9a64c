// The kubelet's API of the agent of a golden world, served as the recorded kubelet's configuration has it.

import { request as sendPlain } from "node:http";
import { request as sendSecure } from "node:https";
import { createMetricsPages, reportBuild } from "../../src/app/kubelet-api.ts";
import { serveKubeletApi } from "../../src/app/serve-kubelet-api.ts";
import { defaultFeatureGates } from "../../src/config/feature-gates.ts";
import type { KubeletConfiguration } from "../../src/config/generated/kubelet-configuration.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import { listDuplicateKeys } from "../../src/lib/yaml/duplicate-keys.ts";
import { parseYaml } from "../../src/lib/yaml/parse-yaml.ts";
import type { Log } from "../../src/ports/log.ts";
import type { ListeningPorts } from "../../src/server/kubelet/api-settings.ts";
import { freePort } from "../fakes/served-kubelet-api.ts";
import { apiThreadEntry } from "../kit/api-thread-entry.ts";
import { createTestAuthority } from "../kit/test-authority.ts";
import type { GoldenWorld } from "./golden-world.ts";
import { recordedNodeName } from "./recorded-node.ts";
import type { Json } from "./recording.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface KubeletApi {
  ask(path: string, token: string | undefined): Promise<HttpAnswer>;
  /** On the port for health checks of the machine itself. */
  askHealth(path: string): Promise<HttpAnswer>;
  stop(): Promise<void>;
}

/** Serves the agent of `world` on loopback, configured as /configz of the recorded kubelet says. */
export async function serveGoldenApi(
  world: GoldenWorld,
  recordedConfig: Json,
  log: Log,
): Promise<KubeletApi> {
  const authority = createTestAuthority();
  const pair = authority.issue(`/CN=${recordedNodeName}`);
  const config = await loopbackConfig(recordedConfig);
  const stop = new AbortController();
  const { agent, metrics, api } = world;
  const { stats } = agent;
  reportBuild(metrics, defaultFeatureGates);
  let served: Promise<void> = Promise.resolve();
  const ports = await new Promise<ListeningPorts>((resolve, reject) => {
    served = serveKubeletApi(
      {
        threadEntry: apiThreadEntry(),
        setup: {
          config,
          switches: { upstreamExecAuthorization: false, systemLogs: false },
          nodeName: recordedNodeName,
          flags: new Map(),
          gates: defaultFeatureGates,
        },
        agent: {
          view: agent.view,
          host: agent.host,
          stats,
          pages: createMetricsPages({ registry: metrics, agent, stats, log }, stop.signal),
        },
        verbosity: { showDetails: () => undefined },
        certificate: { current: () => pair, onChange: () => undefined },
        api,
        clock: systemClock,
        log,
        metrics,
      },
      resolve,
      stop.signal,
    );
    served.catch(reject);
  });
  return {
    ask: (path, token) => {
      const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const to = { host: "127.0.0.1", port: ports.secure, path, headers, agent: false };
      return exchange(sendSecure({ ...to, rejectUnauthorized: false }));
    },
    askHealth: (path) => exchange(sendPlain({ host: "127.0.0.1", port: ports.health, path })),
    stop: async () => {
      stop.abort();
      await served;
      authority.remove();
    },
  };
}

async function loopbackConfig(recorded: Json): Promise<KubeletConfiguration> {
  const file = { path: "/CONF/config.json", text: JSON.stringify(recorded) };
  const loaded = loadConfig(file, { parseYaml, listDuplicateKeys }, defaultFeatureGates);
  if (!loaded.ok) throw new Error(loaded.error.message);
  const { config } = loaded.value;
  return {
    ...config,
    address: "127.0.0.1",
    port: 0,
    readOnlyPort: 0,
    healthzPort: await freePort(),
    authentication: { ...config.authentication, x509: { clientCAFile: "" } },
  };
}

function exchange(outgoing: ReturnType<typeof sendPlain>): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("error", reject);
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const { statusCode: status = 0, headers } = incoming;
        resolve({ status, headers, body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    outgoing.end();
  });
}
