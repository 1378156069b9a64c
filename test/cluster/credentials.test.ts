import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { connect, type PeerCertificate } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CertificateSigningRequest } from "../../src/model/generated/kubernetes.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, podsPath, untilNoPods, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import { eventually } from "./support/eventually.ts";
import { kubeletPort } from "./support/node-config.ts";

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const servingSigner = "kubernetes.io/kubelet-serving";

describe("a node that asks for its certificates", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.create({
      // The API server dates it back by five minutes, and an agent renews it when 70 to 90 % are over.
      certificateLife: "150s",
      config: { rotateCertificates: true, serverTLSBootstrap: true },
      flags: (plane) => [
        `--bootstrap-kubeconfig=${plane.bootstrapKubeconfig()}`,
        `--kubeconfig=${join(plane.folder, "node-a.kubeconfig")}`,
      ],
    });
  });

  afterAll(() => world.close());

  const clientCertificate = (): string =>
    realpathSync(join(world.node.rootDir, "pki/kubelet-client-current.pem"));

  /** What the node's API shows, checked against the cluster's authority. */
  function servedCertificate(): Promise<PeerCertificate | string> {
    return new Promise((resolve) => {
      const socket = connect({
        host: world.plane.address,
        port: kubeletPort,
        ca: readFileSync(world.plane.authorityFile),
        timeout: 5_000,
      });
      socket.once("secureConnect", () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      });
      socket.once("error", (error) => resolve(error.message));
    });
  }

  test("joins with a bootstrap token alone and gets a certificate of its own", async () => {
    await world.startNode(testedAgent);
    const kubeconfig = join(world.plane.folder, "node-a.kubeconfig");
    expect(readFileSync(kubeconfig, "utf8")).toContain("kubelet-client-current.pem");
    const self = await world.kubectlAs(kubeconfig).run("auth", "whoami", "-o", "json");
    expect(JSON.parse(self)).toMatchObject({
      status: { userInfo: { username: "system:node:node-a" } },
    });
  });

  test("serves its API with an approved certificate", async () => {
    const [request] = await world.api.until<CertificateSigningRequest>(
      `${requestsPath}?fieldSelector=spec.signerName=${servingSigner}`,
      (items) => items.length > 0,
    );
    expect(request?.spec?.usages).toEqual(["digital signature", "server auth"]);
    await world.kubectl.run("certificate", "approve", request?.metadata?.name ?? "");
    const served = await eventually(servedCertificate, (found) => typeof found === "object");
    expect(served).toMatchObject({
      subject: { O: "system:nodes", CN: "system:node:node-a" },
      subjectaltname: expect.stringContaining(world.plane.address) as string,
    });
  });

  test("renews its certificate while it works, and no pod notices", async () => {
    const first = clientCertificate();
    await createPod(world.api, "steady");
    const steady = await untilPod(world.api, "steady", isReady);
    let rounds = 0;
    await eventually(
      async () => {
        const name = `load-${rounds}`;
        rounds += 1;
        await createPod(world.api, name);
        await untilPod(world.api, name, isReady);
        await world.api.delete(`${podsPath}/${name}`);
        return clientCertificate();
      },
      (file) => file !== first,
      180_000,
    );
    await createPod(world.api, "after");
    await untilPod(world.api, "after", isReady);
    const later = await untilPod(world.api, "steady", isReady);
    expect(later.status?.containerStatuses).toEqual(steady.status?.containerStatuses);
    expect(world.node.isRunning).toBe(true);
    await world.kubectl.run("delete", "pods", "--all", "--wait=false");
    await untilNoPods(world.api);
  });
});
