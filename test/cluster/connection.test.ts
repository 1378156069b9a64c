import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClusterConnection, openClusterConnection } from "../../src/app/cluster-connection.ts";
import { parseCommandLine } from "../../src/config/flags/command-line.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestList,
  NodeAddress,
} from "../../src/model/generated/kubernetes.ts";
import { noMetrics } from "../kit/no-metrics.ts";
import { silentLog } from "../kit/silent-log.ts";
import { ControlPlane } from "./support/control-plane.ts";

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

interface SelfReview {
  readonly status: { readonly userInfo: { readonly username: string } };
}

/** Berth's own client and certificates, without the rest of the agent. */
describe("the connection of a node to its cluster", () => {
  let plane: ControlPlane;

  beforeAll(async () => {
    // The API server dates it back by five minutes, and it is renewed when 70 to 90 % are over.
    plane = await ControlPlane.start({ certificateLife: "100s" });
  });

  afterAll(() => plane.stop());

  function open(
    nodeName: string,
    flags: readonly string[],
    signal: AbortSignal,
  ): Promise<ClusterConnection> {
    const certDir = join(plane.folder, nodeName);
    const parsed = parseCommandLine([
      `--kubeconfig=${join(plane.folder, `${nodeName}.conf`)}`,
      `--bootstrap-kubeconfig=${plane.bootstrapKubeconfig()}`,
      `--cert-dir=${certDir}`,
      ...flags,
    ]);
    if (!parsed.ok) throw new Error(parsed.error);
    const addresses: readonly NodeAddress[] = [{ type: "InternalIP", address: "10.1.2.3" }];
    const deps = { nodeName, addresses: () => addresses, log: silentLog, metrics: noMetrics };
    return openClusterConnection(parsed.value, deps, signal);
  }

  async function whoAmI({ clients }: ClusterConnection, signal: AbortSignal): Promise<string> {
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const review = await clients?.api.send<SelfReview>({ method: "POST", path, body }, signal);
    return review?.status.userInfo.username ?? "";
  }

  async function listRequests(): Promise<readonly CertificateSigningRequest[]> {
    return (await plane.api.get<CertificateSigningRequestList>(requestsPath)).items;
  }

  const filesOf = (node: string, prefix: string): readonly string[] =>
    readdirSync(join(plane.folder, node)).filter((name) => name.startsWith(prefix));

  test("a first certificate is waited for without rotation, and asked for once", async () => {
    const { signal } = new AbortController();
    const first = await open("plain", [], signal);
    expect(await whoAmI(first, signal)).toBe("system:node:plain");
    const requests = await listRequests();
    const mine = requests.filter(({ metadata }) => metadata?.name?.startsWith("node-csr-"));
    expect(mine.map(({ spec }) => [spec.signerName, spec.usages])).toEqual([
      ["kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"]],
    ]);
    expect(filesOf("plain", "kubelet-client.key.tmp")).toEqual([]);
    expect(filesOf("plain", "kubelet").length).toBe(4);
    const again = await open("plain", [], signal);
    expect(await whoAmI(again, signal)).toBe("system:node:plain");
    expect(await listRequests()).toHaveLength(requests.length);
  });

  test("certificates are renewed under load without a failed request, and watches go on", async () => {
    const stop = new AbortController();
    const { signal } = stop;
    const connection = await open(
      "rotating",
      ["--rotate-certificates", "--rotate-server-certificates"],
      signal,
    );
    const running = connection.run(signal);
    const current = join(plane.folder, "rotating", "kubelet-client-current.pem");
    expect(await whoAmI(connection, signal)).toBe("system:node:rotating");
    const firstFile = realpathSync(current);
    let watches = 0;
    const watching = (async () => {
      while (!signal.aborted) {
        const query = { fieldSelector: "spec.nodeName=rotating" };
        await connection.clients?.api.watch({ path: "/api/v1/pods", query }, () => {}, signal);
        watches++;
      }
    })().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    let requests = 0;
    while (realpathSync(current) === firstFile) {
      expect(await whoAmI(connection, signal)).toBe("system:node:rotating");
      requests++;
    }
    expect(requests).toBeGreaterThan(0);
    expect(await whoAmI(connection, signal)).toBe("system:node:rotating");
    // Those with the old certificate end a little later than it does.
    await expect.poll(() => watches).toBeGreaterThan(0);
    stop.abort();
    await running;
    await watching;
  });

  test("a serving certificate is asked for with the node's addresses, and shown once it is approved", async () => {
    const stop = new AbortController();
    const { signal } = stop;
    const connection = await open(
      "serving",
      ["--rotate-certificates", "--rotate-server-certificates"],
      signal,
    );
    const changed = new Promise<string>((resolve) => {
      connection.servingCertificate.onChange(({ certPem }) => resolve(certPem), signal);
    });
    const before = connection.servingCertificate.current();
    const running = connection.run(signal);
    const isMine = ({ spec }: CertificateSigningRequest): boolean =>
      spec.username === "system:node:serving";
    const requests = await plane.api.until<CertificateSigningRequest>(
      `${requestsPath}?fieldSelector=spec.signerName=kubernetes.io/kubelet-serving`,
      (items) => items.some(isMine),
    );
    const request = requests.find(isMine);
    await plane.kubectl.run("certificate", "approve", request?.metadata?.name ?? "");
    const certPem = await changed;
    expect(certPem).not.toBe(before.certPem);
    expect(connection.servingCertificate.current().certPem).toBe(certPem);
    const file = join(plane.folder, "serving", "kubelet-server-current.pem");
    expect(readFileSync(file, "utf8")).toContain(certPem);
    stop.abort();
    await running;
  });
});
