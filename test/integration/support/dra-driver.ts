import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { clusterProgram } from "../../cluster/support/cluster-programs.ts";
import { eventually } from "../../cluster/support/eventually.ts";
import { ServerProcess } from "../../cluster/support/server-process.ts";
import { removeFolder } from "./remove-folder.ts";
import { makeTestFolder } from "./test-folder.ts";

const nodeName = "node-1";

/** A claim as the driver reads it, with one device for each of its requests. */
export interface TestClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly requests: readonly string[];
  readonly shareId?: string;
}

let drivers = 0;

/** The DRA driver of Kubernetes' own tests, with the few answers of an API server that it needs. */
export class DraDriver implements AsyncDisposable {
  readonly name: string;
  readonly folder: string;
  readonly #api: Server;
  readonly #claims = new Map<string, TestClaim>();
  #process: ServerProcess | undefined;

  private constructor() {
    drivers += 1;
    this.name = `dra-${process.pid}-${drivers}.berth.test`;
    this.folder = makeTestFolder("dra");
    this.#api = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<DraDriver> {
    const driver = new DraDriver();
    driver.#api.listen(0, "127.0.0.1");
    await once(driver.#api, "listening");
    await driver.start();
    return driver;
  }

  get endpoint(): string {
    return join(this.folder, "plugins", this.name, "dra.sock");
  }

  /** In which a kubelet looks for plugins. */
  get registrationFolder(): string {
    return join(this.folder, "plugins_registry");
  }

  get cdiFolder(): string {
    return join(this.folder, "cdi");
  }

  addClaim(claim: TestClaim): void {
    this.#claims.set(`${claim.namespace}/${claim.name}`, claim);
  }

  /** Again, after it was stopped or killed. Resolves when it serves. */
  async start(): Promise<void> {
    const { port } = this.#api.address() as AddressInfo;
    const kubeconfig = join(this.folder, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${port}`)));
    mkdirSync(this.registrationFolder, { recursive: true });
    mkdirSync(dirname(this.endpoint), { recursive: true });
    const values = {
      kubeconfig,
      drivername: this.name,
      "node-name": nodeName,
      "plugin-registration-path": this.registrationFolder,
      datadir: join(this.folder, "plugins"),
      "cdi-dir": this.cdiFolder,
    };
    const flags = Object.entries(values).map(([key, value]) => `--${key}=${value}`);
    const command = [clusterProgram("dra-test-driver"), "kubelet-plugin", ...flags] as const;
    const started = new ServerProcess([...command], join(this.folder, "log"));
    this.#process = started;
    await eventually(
      async () => {
        if (!started.isRunning) throw new Error(`the driver has ended: ${started.lastWords()}`);
        return existsSync(this.endpoint);
      },
      (isServed) => isServed,
    );
  }

  /** As a driver that is removed: its sockets go with it. */
  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  /** As one that dies: its sockets stay. */
  async kill(): Promise<void> {
    await this.#process?.stop("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#api.closeAllConnections();
    this.#api.close();
    await removeFolder(this.folder);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", "http://localhost");
    const send = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    // A watch that never has anything to report.
    if (url.searchParams.get("watch") !== null) {
      response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
      return;
    }
    const claim = /\/namespaces\/([^/]+)\/resourceclaims\/([^/]+)$/.exec(url.pathname);
    const found = claim && this.#claims.get(`${claim[1]}/${claim[2]}`);
    const body = await text(request);
    if (found) send(200, claimObject(this.name, found));
    else if (request.method === "POST") send(201, JSON.parse(body) as object);
    else if (url.pathname.endsWith("/resourceslices")) {
      send(200, { kind: "ResourceSliceList", apiVersion: "resource.k8s.io/v1", items: [] });
    } else if (url.pathname === `/api/v1/nodes/${nodeName}`) {
      send(200, { kind: "Node", apiVersion: "v1", metadata: { name: nodeName, uid: "node-uid" } });
    } else send(404, { kind: "Status", apiVersion: "v1", code: 404, reason: "NotFound" });
  }
}

function claimObject(
  driver: string,
  { namespace, name, uid, requests, shareId }: TestClaim,
): object {
  const results = requests.map((request, index) => ({
    request,
    driver,
    pool: nodeName,
    device: `device-0${index}`,
    ...(shareId !== undefined && { shareID: shareId }),
  }));
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { namespace, name, uid },
    spec: { devices: { requests: requests.map((request) => ({ name: request })) } },
    status: { allocation: { devices: { results } } },
  };
}

function kubeconfigOf(server: string): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [{ name: "test", cluster: { server } }],
    users: [{ name: "test", user: {} }],
  };
}
