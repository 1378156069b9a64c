import { execFileSync } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PodCertificateRequest } from "../../src/model/pod-certificate.ts";
import { shell, untilStopped } from "../integration/support/agent-manifests.ts";
import { CertificateAuthority } from "./support/certificates.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import { eventually } from "./support/eventually.ts";

const group = "certificates.k8s.io/v1beta1";
const signerName = "example.com/mesh";
const gates = {
  ClusterTrustBundle: true,
  ClusterTrustBundleProjection: true,
  PodCertificateRequest: true,
};
const gateFlag = Object.keys(gates)
  .map((name) => `${name}=true`)
  .join(",");

function bundle(name: string, trustBundle: string, signer?: string): object {
  return {
    apiVersion: group,
    kind: "ClusterTrustBundle",
    metadata: { name, labels: { use: "live" } },
    spec: { trustBundle, ...(signer !== undefined && { signerName: signer }) },
  };
}

describe("volumes with certificates of the cluster", () => {
  let world: ClusterWorld;

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent, {
      apiServerFlags: [`--feature-gates=${gateFlag}`, `--runtime-config=${group}=true`],
      config: { syncFrequency: "5s", featureGates: gates },
    });
  });

  afterAll(() => world.close());

  const inside = (script: string): Promise<string> =>
    world.kubectl.run("exec", "reader", "--", "sh", "-c", script);

  test("a pod gets trust bundles by name and by signer, and a certificate once it is signed", async () => {
    const authority = readFileSync(world.plane.authorityFile, "utf8");
    await world.kubectl.apply(
      bundle("plain", authority),
      bundle("example.com:mesh:live", authority, signerName),
    );
    await createPod(world.api, "reader", {
      spec: {
        containers: [
          shell("main", untilStopped, { volumeMounts: [{ name: "tls", mountPath: "/tls" }] }),
        ],
        volumes: [
          {
            name: "tls",
            projected: {
              sources: [
                { clusterTrustBundle: { name: "plain", path: "plain.pem" } },
                {
                  clusterTrustBundle: {
                    signerName,
                    labelSelector: { matchLabels: { use: "live" } },
                    path: "mesh.pem",
                  },
                },
                { clusterTrustBundle: { name: "gone", optional: true, path: "gone.pem" } },
                {
                  podCertificate: {
                    signerName,
                    keyType: "ECDSAP384",
                    credentialBundlePath: "all.pem",
                    keyPath: "key.pem",
                    certificateChainPath: "chain.pem",
                  },
                },
              ],
            },
          },
        ],
      },
    });
    const collection = `/apis/${group}/podcertificaterequests`;
    const [request] = await world.api.until<PodCertificateRequest>(
      collection,
      (items) => items.length > 0,
    );
    const chain = sign(world, request);
    const { validFrom, validTo } = new X509Certificate(chain);
    const notAfter = new Date(validTo);
    const lastTransitionTime = new Date().toISOString();
    const issued = {
      type: "Issued",
      status: "True",
      reason: "Signed",
      message: "",
      lastTransitionTime,
    };
    await world.api.patch(
      `/apis/${group}/namespaces/default/podcertificaterequests/${request?.metadata?.name}/status`,
      {
        status: {
          conditions: [issued],
          certificateChain: chain,
          notBefore: new Date(validFrom).toISOString(),
          notAfter: notAfter.toISOString(),
          beginRefreshAt: new Date(notAfter.getTime() - 3_600_000).toISOString(),
        },
      },
    );
    await untilPod(world.api, "reader", isReady);
    expect(await inside("cat /tls/plain.pem")).toBe(authority);
    expect(await inside("cat /tls/mesh.pem")).toBe(authority);
    expect(await inside("cat /tls/gone.pem")).toBe("");
    expect(await inside("cat /tls/chain.pem")).toBe(chain);
    const key = await inside("cat /tls/key.pem");
    expect(await inside("cat /tls/all.pem")).toBe(key + chain);
    expect(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key))).toBe(true);
  });

  test("a bundle that changes is changed in the pod while it runs", async () => {
    const { files } = new CertificateAuthority(world.plane.folder, "other");
    const other = readFileSync(files.certificate, "utf8");
    await world.kubectl.apply(bundle("plain", other));
    await eventually(
      () => inside("cat /tls/plain.pem"),
      (text) => text === other,
    );
    const pod = await untilPod(world.api, "reader", isReady);
    expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });
});

/** As a signer does it. */
function sign(world: ClusterWorld, request: PodCertificateRequest | undefined): string {
  const { certificate, key } = world.plane.authority;
  const input = Buffer.from(request?.spec.stubPKCS10Request ?? "", "base64");
  const signer = ["-CA", certificate, "-CAkey", key, "-set_serial", "7", "-days", "1"];
  return execFileSync("openssl", ["x509", "-req", "-inform", "DER", ...signer], {
    input,
    encoding: "utf8",
    stdio: "pipe",
  });
}
