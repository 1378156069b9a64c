import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** A claim as a driver reads it, with one device for each of its requests. */
export interface TestClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly driver: string;
  readonly requests: readonly string[];
  readonly shareId?: string;
}

const poolName = "node-1";

const initialEventsEnd = {
  type: "BOOKMARK",
  object: {
    kind: "ResourceSlice",
    apiVersion: "resource.k8s.io/v1",
    metadata: { resourceVersion: "1", annotations: { "k8s.io/initial-events-end": "true" } },
  },
};

/** The few answers of an API server that a DRA driver needs; it takes no slices. */
export class ClaimServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #claims = new Map<string, TestClaim>();

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(): Promise<ClaimServer> {
    const claims = new ClaimServer();
    claims.#server.listen(0, "127.0.0.1");
    await once(claims.#server, "listening");
    return claims;
  }

  addClaim(claim: TestClaim): void {
    this.#claims.set(`${claim.namespace}/${claim.name}`, claim);
  }

  writeKubeconfig(folder: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${port}`)));
    return kubeconfig;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const url = new URL(request.url ?? "", "http://localhost");
    const send = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    // A watch that has nothing to report but that it knows all there is.
    if (url.searchParams.get("watch") !== null) {
      response.writeHead(200, { "content-type": "application/json" });
      response.write(`${JSON.stringify(initialEventsEnd)}\n`);
      return;
    }
    const claim = /\/namespaces\/([^/]+)\/resourceclaims\/([^/]+)$/.exec(url.pathname);
    const found = claim && this.#claims.get(`${claim[1]}/${claim[2]}`);
    const node = /^\/api\/v1\/nodes\/([^/]+)$/.exec(url.pathname)?.[1];
    if (found) send(200, claimObject(found));
    else if (request.method === "GET" && url.pathname.endsWith("/resourceslices")) {
      send(200, { kind: "ResourceSliceList", apiVersion: "resource.k8s.io/v1", items: [] });
    } else if (node !== undefined) {
      send(200, { kind: "Node", apiVersion: "v1", metadata: { name: node, uid: "node-uid" } });
    } else send(404, { kind: "Status", apiVersion: "v1", code: 404, reason: "NotFound" });
  }
}

function claimObject({ driver, namespace, name, uid, requests, shareId }: TestClaim): object {
  const results = requests.map((request, index) => ({
    request,
    driver,
    pool: poolName,
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
