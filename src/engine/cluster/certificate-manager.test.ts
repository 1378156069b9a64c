import { expect, test } from "vitest";
import { silentLog } from "../../../test/kit/silent-log.ts";
import type { StoredObject } from "../../../test/sim/api-watchers.ts";
import { MemoryApi } from "../../../test/sim/memory-api.ts";
import { VirtualClock } from "../../../test/sim/virtual-clock.ts";
import { nodeSubject } from "../../core/certificate/rotation.ts";
import { encodeBase64 } from "../../lib/base64.ts";
import { ApiError } from "../../model/api-error.ts";
import type { CertificateTemplate, StoredCertificate } from "../../model/certificate.ts";
import type { MetricName } from "../../model/generated/metrics.ts";
import type { KeyPair } from "../../model/key-pair.ts";
import {
  CertificateManager,
  type CertificateManagerDeps,
  type CertificateProfile,
} from "./certificate-manager.ts";

const dayMs = 86_400_000;
const collection = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const profile: CertificateProfile = {
  signerName: "kubernetes.io/kubelet-serving",
  usages: ["digital signature", "server auth"],
  metricNames: {
    ttl: "kubelet_certificate_manager_server_ttl_seconds",
    rotationAge: "kubelet_certificate_manager_server_rotation_seconds",
    renewErrors: "kubelet_certificate_manager_client_expiration_renew_errors",
  },
};

function pathOf(order: StoredObject | undefined): string {
  return `${collection}/${String(order?.metadata["name"])}`;
}

/** A world in which certificates are plain JSON. */
class CertificateWorld {
  readonly clock = new VirtualClock();
  readonly api = new MemoryApi();
  readonly bootstrapApi = new MemoryApi();
  readonly clients = { first: this.bootstrapApi, renewing: this.api };
  readonly counts = new Map<MetricName, number>();
  readonly values = new Map<MetricName, number>();
  stored: StoredCertificate | undefined;
  template: CertificateTemplate | undefined = nodeSubject("a");
  #keys = 0;

  certificate(subject: CertificateTemplate, lifeMs = dayMs): KeyPair {
    const notBeforeMs = this.clock.nowMs();
    const facts = { subject, notBeforeMs, notAfterMs: notBeforeMs + lifeMs };
    return { certPem: JSON.stringify(facts), keyPem: `key-${this.#keys++}` };
  }

  open(deps: Partial<CertificateManagerDeps> = {}): Promise<CertificateManager> {
    return CertificateManager.open({
      store: {
        read: async () => this.stored,
        write: async (pair) => {
          const facts = JSON.parse(pair.certPem) as StoredCertificate;
          this.stored = { ...facts, ...pair };
          return this.stored;
        },
      },
      requests: {
        create: async (template) => ({
          csrPem: JSON.stringify(template),
          keyPem: `key-${this.#keys++}`,
        }),
      },
      profile,
      subject: this,
      clock: this.clock,
      log: silentLog,
      metrics: {
        increment: (name) => this.counts.set(name, (this.counts.get(name) ?? 0) + 1),
        set: (name, value) => this.values.set(name, value),
        observe: (name, value) => this.values.set(name, value),
        reset: () => undefined,
        drop: () => undefined,
      },
      random: () => 0.5,
      ...deps,
    });
  }

  orders(api = this.api): readonly StoredObject[] {
    return api.list(collection);
  }

  decide(order: StoredObject | undefined, type: string, certPem = "", api = this.api): void {
    const status = {
      conditions: [{ type, status: "True", reason: "Test", message: "by test" }],
      certificate: encodeBase64(certPem),
    };
    api.put(pathOf(order), { ...order, status });
  }

  approve(index: number, lifeMs = dayMs, api = this.api): void {
    const pair = this.certificate(this.template ?? nodeSubject("a"), lifeMs);
    this.decide(this.orders(api)[index], "Approved", pair.certPem, api);
  }
}

test("without a certificate one is asked for with the first credentials, and then renewed at 80 % of its life", async () => {
  const world = new CertificateWorld();
  const manager = await world.open();
  expect(manager.current()).toBeUndefined();
  expect(world.values.get("kubelet_certificate_manager_server_ttl_seconds")).toBe(Infinity);
  const stop = new AbortController();
  const seen: KeyPair[] = [];
  manager.onChange((pair) => seen.push(pair), stop.signal);
  const running = manager.run(world.clients, stop.signal);
  await world.clock.advance(100);
  const [order] = world.orders(world.bootstrapApi);
  expect(order).toMatchObject({
    kind: "CertificateSigningRequest",
    metadata: { generateName: "csr-" },
    spec: {
      request: encodeBase64(JSON.stringify(nodeSubject("a"))),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    },
  });
  world.approve(0, dayMs, world.bootstrapApi);
  await world.clock.advance(10_000);
  expect(manager.current()?.keyPem).toBe("key-0");
  await world.clock.advance(0.79 * dayMs);
  expect(world.orders()).toHaveLength(0);
  await world.clock.advance(0.02 * dayMs);
  expect(world.orders()).toHaveLength(1);
  expect(world.values.get("kubelet_certificate_manager_server_ttl_seconds")).toBeLessThan(
    0.2 * 86_400,
  );
  world.approve(0);
  await world.clock.advance(1000);
  expect(seen.map(({ keyPem }) => keyPem)).toEqual(["key-0", "key-2"]);
  const age = world.values.get("kubelet_certificate_manager_server_rotation_seconds") ?? 0;
  expect(age / 86_400).toBeCloseTo(0.81, 1);
  stop.abort();
  await running;
});

test("a certificate of the store is used as it is", async () => {
  const world = new CertificateWorld();
  const manager = await world.open({ initial: world.certificate(nodeSubject("a")) });
  const again = await world.open();
  expect(again.current()).toEqual(manager.current());
  const stop = new AbortController();
  const running = again.run(world.clients, stop.signal);
  await world.clock.advance(0.6 * dayMs);
  expect(world.orders()).toEqual([]);
  stop.abort();
  await running;
});

test("a certificate to begin with is kept, and replaced at once", async () => {
  const world = new CertificateWorld();
  const manager = await world.open({ initial: world.certificate(nodeSubject("admin")) });
  expect(manager.current()?.subject.commonName).toBe("system:node:admin");
  const stop = new AbortController();
  const running = manager.run(world.clients, stop.signal);
  await world.clock.advance(100);
  expect(world.orders()).toHaveLength(1);
  stop.abort();
  await running;
});

test("a request that is denied, fails or vanishes is made again, later and later", async () => {
  const world = new CertificateWorld();
  const manager = await world.open();
  const stop = new AbortController();
  const running = manager.run(world.clients, stop.signal);
  await world.clock.advance(100);
  const api = world.bootstrapApi;
  world.decide(world.orders(api)[0], "Denied", "", api);
  await world.clock.advance(1900);
  expect(world.orders(api)).toHaveLength(1);
  await world.clock.advance(300);
  expect(world.orders(api)).toHaveLength(2);
  world.decide(world.orders(api)[1], "Failed", "", api);
  await world.clock.advance(4500);
  expect(world.orders(api)).toHaveLength(3);
  api.remove(pathOf(world.orders(api)[2]));
  await world.clock.advance(9000);
  expect(world.orders(api)).toHaveLength(3);
  expect(world.counts.get("kubelet_certificate_manager_client_expiration_renew_errors")).toBe(3);
  world.approve(2, dayMs, api);
  await world.clock.advance(100);
  expect(manager.current()).toBeDefined();
  stop.abort();
  await running;
});

test("a request outlives watches that break and a server that is away", async () => {
  const world = new CertificateWorld();
  const manager = await world.open();
  const stop = new AbortController();
  const running = manager.run(world.clients, stop.signal);
  const api = world.bootstrapApi;
  await world.clock.advance(100);
  api.goDown();
  await world.clock.advance(30_000);
  api.comeBack();
  world.approve(0, dayMs, api);
  await world.clock.advance(2000);
  expect(world.orders(api)).toHaveLength(1);
  expect(manager.current()).toBeDefined();
  stop.abort();
  await running;
});

test("a request that is neither approved nor denied times out after a quarter of an hour", async () => {
  const world = new CertificateWorld();
  const manager = await world.open();
  const stop = new AbortController();
  const running = manager.run(world.clients, stop.signal);
  await world.clock.advance(15 * 60_000 - 1000);
  expect(world.orders(world.bootstrapApi)).toHaveLength(1);
  await world.clock.advance(10_000);
  expect(world.orders(world.bootstrapApi)).toHaveLength(2);
  stop.abort();
  await running;
});

test("other addresses make another certificate, also while a request is open; none are waited for", async () => {
  const world = new CertificateWorld();
  const withIp = (ip: string): CertificateTemplate => ({ ...nodeSubject("a"), ipAddresses: [ip] });
  world.template = undefined;
  const manager = await world.open();
  const stop = new AbortController();
  const running = manager.run(world.clients, stop.signal);
  await world.clock.advance(60_000);
  expect(world.orders(world.bootstrapApi)).toHaveLength(0);
  world.template = withIp("10.0.0.1");
  await world.clock.advance(2000);
  world.template = withIp("10.0.0.2");
  await world.clock.advance(5000);
  expect(world.orders(world.bootstrapApi)).toHaveLength(2);
  world.approve(1, dayMs, world.bootstrapApi);
  await world.clock.advance(2000);
  expect(manager.current()?.subject.ipAddresses).toEqual(["10.0.0.2"]);
  world.template = withIp("10.0.0.3");
  await world.clock.advance(11_000);
  expect(world.orders()).toHaveLength(1);
  stop.abort();
  await running;
});

test("a certificate that someone else put in place is taken over", async () => {
  const world = new CertificateWorld();
  const manager = await world.open({ initial: world.certificate(nodeSubject("a")) });
  const stop = new AbortController();
  const running = manager.run(world.clients, stop.signal);
  const other = world.certificate(nodeSubject("a"), 2 * dayMs);
  world.stored = { ...(JSON.parse(other.certPem) as StoredCertificate), ...other };
  await world.clock.advance(10_500);
  expect(manager.current()?.keyPem).toBe(other.keyPem);
  stop.abort();
  await running;
});

test("it gives up when there is no certificate and the server refuses, but not while the server is away", async () => {
  const world = new CertificateWorld();
  const manager = await world.open({ profile: { ...profile, giveUpMs: 300_000 } });
  const api = world.bootstrapApi;
  api.goDown();
  const running = manager.run(world.clients, new AbortController().signal).catch(String);
  await world.clock.advance(600_000);
  api.comeBack();
  api.intercept(() => {
    throw new ApiError(401, "Unauthorized", "Unauthorized");
  });
  await world.clock.advance(60_000);
  expect(await running).toContain("there is no valid client certificate");
});
