import { mkdtemp, rm } from "node:fs/promises";
import { request as sendPlainRequest } from "node:http";
import { request as sendSecureRequest } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { type KubeletApiDeps, serveKubeletApi } from "../../src/app/serve-kubelet-api.ts";
import { defaultFeatureGates } from "../../src/config/feature-gates.ts";
import type { KubeletConfiguration } from "../../src/config/generated/kubelet-configuration.ts";
import { fileDefaultConfig } from "../../src/config/legacy-defaults.ts";
import { systemClock } from "../../src/drivers/linux/system-clock.ts";
import type {
  SubjectAccessReviewSpec,
  TokenReviewSpec,
  UserInfo,
} from "../../src/model/generated/kubernetes.ts";
import type { KeyPair } from "../../src/model/key-pair.ts";
import type { ApiClient, ApiRequest } from "../../src/ports/api-client.ts";
import type { KubeletHost } from "../../src/ports/kubelet-host.ts";
import type { Log } from "../../src/ports/log.ts";
import type { ListeningPorts } from "../../src/server/kubelet/api-settings.ts";
import { apiThreadEntry } from "../kit/api-thread-entry.ts";
import { InMemoryAgentView } from "./in-memory-agent-view.ts";

/** An API server that only reviews tokens and access. */
class ScriptedReviews implements ApiClient {
  readonly asked: ApiRequest[] = [];
  readonly users: Map<string, UserInfo> = new Map();
  /** "user verb subresource", with * for any verb or subresource. */
  readonly allowed: Set<string> = new Set();
  isAway = false;

  async send<T>(request: ApiRequest): Promise<T> {
    this.asked.push(request);
    if (this.isAway) throw new Error("connect ECONNREFUSED");
    const { spec } = request.body as { spec: TokenReviewSpec & SubjectAccessReviewSpec };
    if (request.path.endsWith("tokenreviews")) {
      const user = this.users.get(spec.token ?? "");
      return { status: { authenticated: user !== undefined, user } } as T;
    }
    const { verb = "", subresource = "" } = spec.resourceAttributes ?? {};
    const { user = "" } = spec;
    const rules = [`${user} ${verb} ${subresource}`, `${user} * *`, `${user} ${verb} *`];
    return { status: { allowed: rules.some((rule) => this.allowed.has(rule)) } } as T;
  }

  watch(): Promise<void> {
    return Promise.reject(new Error("nothing is watched"));
  }
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface KubeletRequest extends ConnectionOptions {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly localAddress?: string;
}

export interface ServedKubeletApi {
  readonly view: InMemoryAgentView;
  readonly reviews: ScriptedReviews;
  readonly ports: ListeningPorts;
  readonly logged: readonly string[];
  readonly ask: (path: string, request?: KubeletRequest) => Promise<HttpAnswer>;
  askPlain(port: number | undefined, path: string): Promise<HttpAnswer>;
  stop(): Promise<void>;
}

type Changes = Partial<Omit<KubeletApiDeps, "setup" | "agent">> & {
  readonly config?: Partial<KubeletConfiguration>;
  readonly nodeName?: string;
  readonly host?: KubeletHost;
  readonly switches?: KubeletApiDeps["setup"]["switches"];
};

const noSwitches = { upstreamExecAuthorization: false, systemLogs: false };

/** A host on which nothing runs. */
const idleHost: KubeletHost = {
  listRunningPods: () => Promise.resolve([]),
  portForwardUrl: () => Promise.reject(new Error("nothing runs")),
  runInContainer: () => Promise.reject(new Error("nothing runs")),
  checkpoint: () => Promise.reject(new Error("nothing runs")),
  syncLoopProblem: () => undefined,
};

/** The real API on loopback, before a view, a host and reviews that a test holds. */
export async function serveKubelet(
  pair: KeyPair,
  { config, nodeName = "node-1", host = idleHost, switches = noSwitches, ...changes }: Changes = {},
): Promise<ServedKubeletApi> {
  const view = new InMemoryAgentView();
  const reviews = new ScriptedReviews();
  const logged: string[] = [];
  const note = (message: string, fields?: unknown): void => {
    logged.push(`${message} ${JSON.stringify(fields, errorsAsText)}`);
  };
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const page = (name: string) => ({ text: () => Promise.resolve(`# ${name}\n`) });
  const stopping = new AbortController();
  let served: Promise<void> = Promise.resolve();
  const ports = await new Promise<ListeningPorts>((resolve, reject) => {
    served = serveKubeletApi(
      {
        threadEntry: apiThreadEntry(),
        setup: {
          config: {
            ...fileDefaultConfig(),
            address: "127.0.0.1",
            port: 0,
            healthzPort: 0,
            ...config,
          },
          switches,
          nodeName,
          flags: new Map([["v", "2"]]),
          gates: defaultFeatureGates,
        },
        agent: {
          view,
          host,
          stats: {
            summary: () => Promise.resolve({ node: { nodeName, startTimeMs: 0 }, pods: [] }),
          },
          pages: {
            own: page("own"),
            cadvisor: page("cadvisor"),
            resource: page("resource"),
            probes: page("probes"),
            slis: page("slis"),
          },
        },
        api: reviews,
        clock: systemClock,
        log,
        verbosity: { showDetails: () => undefined },
        certificate: { current: () => pair, onChange: () => undefined },
        ...changes,
      },
      resolve,
      stopping.signal,
    );
    served.catch(reject);
  });
  return {
    view,
    reviews,
    ports,
    logged,
    ask: (path, request = {}) => ask(ports.secure, path, request),
    askPlain: (port, path) => exchange(sendPlainRequest({ host: "127.0.0.1", port, path }), ""),
    stop: async () => {
      stopping.abort();
      await served;
    },
  };
}

function ask(
  port: number | undefined,
  path: string,
  { method = "GET", token, headers, body = "", ...tls }: KubeletRequest,
): Promise<HttpAnswer> {
  const bearer = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const options = { host: "127.0.0.1", port, path, method, agent: false, ...tls };
  const outgoing = sendSecureRequest({
    ...options,
    rejectUnauthorized: false,
    headers: { ...bearer, ...headers },
  });
  return exchange(outgoing, body);
}

function exchange(
  outgoing: ReturnType<typeof sendPlainRequest>,
  body: string,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const { statusCode: status = 0, headers } = incoming;
        resolve({ status, headers, body: Buffer.concat(chunks).toString() });
      });
    });
    outgoing.on("upgrade", (incoming, socket) => {
      socket.destroy();
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: "" });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function errorsAsText(_: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A folder for the length of a test. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "berth-kubelet-api-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
