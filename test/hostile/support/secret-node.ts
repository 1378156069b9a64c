// A node of a cluster that has a secret of every kind, each with a text of its own that can be searched for.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { AgentClient } from "../../../src/cli/agent-client.ts";
import { type DecodedPod, defaultPod } from "../../../src/model/defaults/default-pod.ts";
import type { Pod } from "../../../src/model/pod.ts";
import { freePort } from "../../fakes/served-kubelet-api.ts";
import { podManifest, shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import { BerthProcess, buildProgram, type Ended } from "../../integration/support/agent-process.ts";
import { removeCgroups } from "../../integration/support/leftovers.ts";
import { Registry, registryUser } from "../../integration/support/registry.ts";
import { removeFolder } from "../../integration/support/remove-folder.ts";
import { type RuntimeWorld, startRuntimeWorld } from "../../integration/support/runtime-world.ts";
import { makeTestFolder } from "../../integration/support/test-folder.ts";
import { startApiServer, type TestApiServer } from "../../kit/api-server.ts";
import { type SigningApi, startSigningApi } from "../../kit/signing-api.ts";
import { createTestAuthority, type TestAuthority } from "../../kit/test-authority.ts";
import { TraceCollector } from "../../kit/trace-collector.ts";

type SecretName =
  | "kubeconfigToken"
  | "accountToken"
  | "secretFile"
  | "secretVariable"
  | "badVariable"
  | "registryPassword"
  | "wrongPassword"
  | "brokenPullSecret"
  | "manifestHeader"
  | "callerToken"
  | "unknownCaller";

/** What nothing but its user may show. */
export const secrets: Readonly<Record<SecretName, string>> = {
  kubeconfigToken: "berth-canary-kubeconfig-51c2",
  accountToken: "berth-canary-account-8a07",
  secretFile: "berth-canary-file-77d0",
  secretVariable: "berth-canary-variable-3e11",
  badVariable: "berth-canary-badname-19fb",
  registryPassword: registryUser.password,
  wrongPassword: "berth-canary-wrong-c0de",
  brokenPullSecret: "berth-canary-broken-4b4b",
  manifestHeader: "berth-canary-header-e6a9",
  callerToken: "berth-canary-caller-2d2d",
  unknownCaller: "berth-canary-stranger-9f30",
};

/** What stands in a pod's spec: users who may read the pod may read it, and no others. */
export const specTexts = {
  variable: "berth-canary-spec-variable-6c6c",
  probeHeader: "berth-canary-spec-header-0b0b",
  hookHeader: "berth-canary-spec-hook-7e7e",
  argument: "berth-canary-spec-argument-d1d1",
};

const nodeName = "node-s";
const pods = "/api/v1/namespaces/default/pods";

export class SecretNode {
  readonly folder: string = makeTestFolder("secrets");
  readonly collector: TraceCollector = new TraceCollector();
  /** The headers that the manifest URL was asked with. */
  readonly manifestHeaders: string[] = [];
  readonly #authority: TestAuthority = createTestAuthority();
  #world: RuntimeWorld | undefined;
  #registry: Registry | undefined;
  #manifests: TestApiServer | undefined;
  #api: SigningApi | undefined;
  #agent: BerthProcess | undefined;
  #port = 0;
  #readOnlyPort = 0;

  static async start(network: number): Promise<SecretNode> {
    const node = new SecretNode();
    try {
      await node.#start(network);
    } catch (error) {
      await node.close();
      throw error;
    }
    return node;
  }

  get api(): SigningApi {
    return need(this.#api);
  }

  get agent(): BerthProcess {
    return need(this.#agent);
  }

  get rootDir(): string {
    return join(this.folder, "root");
  }

  get client(): AgentClient {
    return new AgentClient(join(this.rootDir, "berth.sock"));
  }

  async #start(network: number): Promise<void> {
    buildProgram();
    this.#world = await startRuntimeWorld({ network });
    this.#registry = await Registry.start({ wantsLogin: true });
    for (const name of ["private", "provided", "refused"])
      await this.#registry.push(name, "1", name);
    this.#manifests = await startApiServer(({ headers }, response) => {
      this.manifestHeaders.push(String(headers["x-token"]));
      response.end(podManifest("url"));
    });
    this.#api = await startSigningApi(this.#authority);
    this.#fillApi();
    [this.#port, this.#readOnlyPort] = [await freePort(), await freePort()];
    this.#writeFiles(await this.collector.listen());
    this.#agent = new BerthProcess([
      "kubelet",
      `--config=${join(this.folder, "kubelet.yaml")}`,
      `--kubeconfig=${join(this.folder, "kubeconfig")}`,
      `--root-dir=${this.rootDir}`,
      `--cert-dir=${join(this.folder, "pki")}`,
      `--image-credential-provider-config=${join(this.folder, "providers.yaml")}`,
      `--image-credential-provider-bin-dir=${join(this.folder, "providers")}`,
      `--hostname-override=${nodeName}`,
      "--v=10",
    ]);
    await this.#agent.untilPrinted(({ stderr }) => stderr.includes("the kubelet's API is served"));
  }

  #writeFiles(collector: string): void {
    const write = (name: string, value: unknown): void =>
      writeFileSync(join(this.folder, name), JSON.stringify(value), { mode: 0o600 });
    writeFileSync(join(this.folder, "clients.crt"), this.#authority.caPem);
    const server = this.api.server.url.href;
    const authority = Buffer.from(this.#authority.caPem).toString("base64");
    write("kubeconfig", {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "a", cluster: { server, "certificate-authority-data": authority } }],
      users: [{ name: "a", user: { token: secrets.kubeconfigToken } }],
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      "current-context": "a",
    });
    write("kubelet.yaml", {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      staticPodURL: need(this.#manifests).url.href,
      staticPodURLHeader: { "X-Token": [secrets.manifestHeader] },
      podLogsDir: join(this.folder, "logs"),
      containerRuntimeEndpoint: need(this.#world).containerd.endpoint,
      cgroupRoot: need(this.#world).cgroupRoot,
      failCgroupV1: false,
      failSwapOn: false,
      makeIPTablesUtilChains: false,
      evictionHard: {},
      address: "127.0.0.1",
      port: this.#port,
      readOnlyPort: this.#readOnlyPort,
      healthzPort: 0,
      authentication: { webhook: { enabled: true } },
      authorization: { mode: "AlwaysAllow" },
      registryPullQPS: 0,
      tracing: { endpoint: collector, samplingRatePerMillion: 1_000_000 },
    });
    this.#writeProvider(write);
  }

  #writeProvider(write: (name: string, value: unknown) => void): void {
    const apiVersion = "credentialprovider.kubelet.k8s.io/v1";
    const { address } = need(this.#registry);
    const { username, password } = registryUser;
    const text = JSON.stringify({
      apiVersion,
      kind: "CredentialProviderResponse",
      cacheKeyType: "Image",
      auth: { [address]: { username, password } },
    });
    mkdirSync(join(this.folder, "providers"));
    const program = join(this.folder, "providers/provider");
    writeFileSync(program, `#!/bin/sh\ncat >/dev/null\necho '${text}'\n`);
    chmodSync(program, 0o755);
    write("providers.yaml", {
      apiVersion: "kubelet.config.k8s.io/v1",
      kind: "CredentialProviderConfig",
      providers: [
        {
          name: "provider",
          matchImages: [`${address}/provided`],
          defaultCacheDuration: "10m",
          apiVersion,
        },
      ],
    });
  }

  #fillApi(): void {
    const { memory } = this.api;
    memory.intercept(({ path, body }) => answerReview(path, body));
    const { address } = need(this.#registry);
    const put = (kind: string, name: string, object: object): void => {
      memory.put(`/api/v1/namespaces/default/${kind}/${name}`, object);
    };
    put("serviceaccounts", "default", {});
    put("configmaps", "kube-root-ca.crt", { data: { "ca.crt": this.#authority.caPem } });
    put("secrets", "file", { data: encoded({ password: secrets.secretFile }) });
    put("secrets", "variables", {
      data: encoded({ PASSWORD: secrets.secretVariable, "bad=name": secrets.badVariable }),
    });
    put("secrets", "right", pullSecret(address, secrets.registryPassword));
    put("secrets", "wrong", pullSecret(address, secrets.wrongPassword));
    put("secrets", "broken", {
      type: "kubernetes.io/dockerconfigjson",
      data: encoded({ ".dockerconfigjson": `{"auths": ${secrets.brokenPullSecret}` }),
    });
    for (const [name, spec] of Object.entries(podSpecs(address))) {
      const { spec: whole } = defaultPod(JSON.parse(podManifest(name, spec)) as DecodedPod);
      memory.put(`${pods}/${name}`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {},
        spec: { ...whole, nodeName },
        status: { phase: "Pending" },
      });
    }
  }

  /** A pod as the API server has it. */
  pod(name: string): Pod | undefined {
    return this.api.memory.get(`${pods}/${name}`) as unknown as Pod | undefined;
  }

  berth(...args: readonly string[]): Promise<Ended> {
    const end = args.indexOf("--");
    const at = end < 0 ? args.length : end;
    const flag = ["--data-dir", this.rootDir];
    return new BerthProcess([...args.slice(0, at), ...flag, ...args.slice(at)]).ended;
  }

  /** What the kubelet's API answers: headers and body. */
  ask(path: string, token: string = secrets.callerToken, method = "GET"): Promise<string> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        host: "127.0.0.1",
        port: this.#port,
        path,
        method,
        agent: false,
        rejectUnauthorized: false,
        headers: { Authorization: `Bearer ${token}` },
      });
      outgoing.on("error", reject).on("response", (response) => {
        const head = `${response.statusCode} ${JSON.stringify(response.headers)}`;
        response
          .toArray()
          .then(
            (chunks) => resolve(`${head}\n${Buffer.concat(chunks as Buffer[]).toString()}`),
            reject,
          );
      });
      outgoing.end();
    });
  }

  async askReadOnly(path: string): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.#readOnlyPort}${path}`)).text();
  }

  async close(): Promise<void> {
    if (this.#agent?.isRunning === true) await this.#agent.stop("SIGTERM");
    const world = this.#world;
    if (world !== undefined) {
      await removePods(world);
      await world.close();
    }
    await this.#registry?.close();
    await this.#manifests?.close();
    await this.#api?.server.close();
    this.collector.close();
    this.#authority.remove();
    await removeFolder(this.folder);
  }
}

/** Also those whose last calls the runtime carries out only after the agent has ended. */
async function removePods(world: RuntimeWorld): Promise<void> {
  const timeout = AbortSignal.timeout(60_000);
  for (;;) {
    const sandboxes = await world.runtime.listPodSandboxes({}, timeout);
    for (const { id = "" } of sandboxes) await world.removePod(id);
    try {
      removeCgroups(world.cgroupRoot);
      return;
    } catch (error) {
      if (timeout.aborted) throw error;
      await delay(200);
    }
  }
}

/** One pod for each way in which a secret is used, well or in vain. */
function podSpecs(registry: string) {
  const fromSecret = { envFrom: [{ secretRef: { name: "variables" } }] };
  const header = (value: string) => [{ name: "Authorization", value }];
  const image = (name: string, pullSecret?: string) => ({
    containers: [shell("main", untilStopped, { image: `${registry}/${name}:1` })],
    imagePullSecrets: pullSecret === undefined ? [] : [{ name: pullSecret }],
  });
  return {
    uses: {
      serviceAccountName: "default",
      containers: [
        shell("main", untilStopped, {
          ...fromSecret,
          args: [specTexts.argument],
          env: [{ name: "SHOWN", value: specTexts.variable }],
          volumeMounts: [
            { name: "file", mountPath: "/file" },
            { name: "token", mountPath: "/token" },
          ],
          livenessProbe: {
            httpGet: { port: 81, path: "/x", httpHeaders: header(specTexts.probeHeader) },
            periodSeconds: 1,
            failureThreshold: 1000,
          },
        }),
      ],
      volumes: [
        { name: "file", secret: { secretName: "file" } },
        { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
      ],
    },
    missing: {
      containers: [shell("main", "", { ...fromSecret, command: ["/no/such/program"] })],
    },
    hooked: {
      containers: [
        shell("main", untilStopped, {
          ...fromSecret,
          lifecycle: {
            postStart: {
              httpGet: { port: 81, path: "/x", httpHeaders: header(specTexts.hookHeader) },
            },
          },
        }),
      ],
    },
    private: image("private", "right"),
    refused: image("refused", "wrong"),
    broken: image("refused", "broken"),
    provided: image("provided"),
  };
}

/** Who calls is known by one token; service accounts get theirs. */
function answerReview(path: string, body: unknown): unknown {
  if (path.endsWith("/tokenreviews")) {
    const { spec } = body as { readonly spec: { readonly token: string } };
    const authenticated = spec.token === secrets.callerToken;
    return { status: { authenticated, user: { username: "caller" } } };
  }
  if (!path.endsWith("/serviceaccounts/default/token")) return undefined;
  const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
  return { ...(body as object), status: { token: secrets.accountToken, expirationTimestamp } };
}

function pullSecret(address: string, password: string): object {
  const { username } = registryUser;
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  const config = JSON.stringify({ auths: { [address]: { auth } } });
  return {
    type: "kubernetes.io/dockerconfigjson",
    data: encoded({ ".dockerconfigjson": config }),
  };
}

function encoded(data: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the node was not started");
  return value;
}
