import { expect, test } from "vitest";
import type { SecretLogin, ShownCredentials } from "../../core/image/pull-record.ts";
import { defaultVerification } from "../../core/image/verification-policy.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { PullRecords } from "./pull-records.ts";

const image = "a.io/b:1";
const secret = { uid: "", namespace: "ns", name: "one", credentialHash: "h" };

/** A pod that has these secrets. */
function show(...secrets: readonly SecretLogin[]): () => Promise<ShownCredentials> {
  return async () => ({ secrets });
}

function world(files = new MemoryFiles(), policy = defaultVerification) {
  const log = (): void => undefined;
  const metrics = new MetricsRegistry(metricDefinitions);
  const records = new PullRecords({
    policy,
    files,
    folder: "/root/image_manager",
    sha256: (text) => Buffer.from(text).toString("hex"),
    clock: { nowMs: () => 0 },
    log: { debug: log, info: log, warn: log, error: log },
    metrics,
  });
  const count = (name: string): string | undefined =>
    metrics
      .text((each) => each === `kubelet_imagemanager_${name}`)
      .split("\n")
      .findLast((line) => line !== "")
      ?.split(" ")
      .at(-1);
  return { files, records, count };
}

test("an image that came here otherwise is everybody's", async () => {
  expect(await world().records.mustProve(image, "ref", show())).toBe(false);
});

test("what came here otherwise must be proven where the policy says so, and what was pulled with a secret need not", async () => {
  const always = { name: "AlwaysVerify", allowlist: [] } as const;
  expect(await world(undefined, always).records.mustProve(image, "ref", show())).toBe(true);
  const { records } = world(undefined, { name: "NeverVerify", allowlist: [] });
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret });
  expect(await records.mustProve(image, "ref", show())).toBe(false);
  const listed = { name: "NeverVerifyAllowlistedImages", allowlist: ["a.io/*"] } as const;
  expect(await world(undefined, listed).records.mustProve(image, "ref", show())).toBe(false);
  expect(await world(undefined, listed).records.mustProve("b.io/x", "ref", show())).toBe(true);
});

test("an image that is being pulled must be proven, until all pulls have ended", async () => {
  const { records } = world();
  await records.begin(image);
  await records.begin(image);
  await records.end(image, undefined);
  expect(await records.mustProve(image, "ref", show())).toBe(true);
  await records.end(image, undefined);
  expect(await records.mustProve(image, "ref", show())).toBe(false);
});

test("an image that was pulled with a secret must be proven without it, after a restart as well", async () => {
  const { files, records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret });
  expect(await records.mustProve(image, "ref", show())).toBe(true);
  expect(await records.mustProve(image, "ref", show(secret))).toBe(false);
  const restarted = world(files).records;
  expect(await restarted.mustProve(image, "ref", show())).toBe(true);
  await restarted.recover(() => Promise.resolve([]));
  expect(await restarted.mustProve(image, "ref", show())).toBe(true);
  expect(await restarted.mustProve(image, "ref", show(secret))).toBe(false);
  expect(await restarted.mustProve(image, "another", show())).toBe(false);
});

test("an image that was pulled for a service account is for pods of that account, after a restart as well", async () => {
  const account = { uid: "1", namespace: "ns", name: "builder" };
  const { files, records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", account });
  for (const each of [records, world(files).records]) {
    expect(await each.mustProve(image, "ref", async () => ({ secrets: [], account }))).toBe(false);
    const again = { ...account, uid: "2" };
    const remade = async () => ({ secrets: [], account: again });
    expect(await each.mustProve(image, "ref", remade)).toBe(true);
    expect(await each.mustProve(image, "ref", show(secret))).toBe(true);
  }
});

test("what a pod can show is asked for only where it matters, and holds up no other image", async () => {
  const { records } = world();
  const asked = (): Promise<ShownCredentials> => Promise.reject(new Error("asked in vain"));
  await records.begin(image);
  await records.end(image, { imageRef: "ref" });
  expect(await records.mustProve(image, "ref", asked)).toBe(false);
  await records.begin(image);
  await records.end(image, { imageRef: "other", secret });
  let answer: (shown: ShownCredentials) => void = () => undefined;
  const slow = records.mustProve(image, "other", () => new Promise((done) => (answer = done)));
  expect(await records.mustProve(image, "ref", asked)).toBe(false);
  answer({ secrets: [secret] });
  expect(await slow).toBe(false);
  expect(await records.mustProve(image, "other", asked)).toBe(true);
});

test("what is learnt once is known from then on", async () => {
  const { records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret });
  const renewed = { ...secret, credentialHash: "renewed" };
  expect(await records.mustProve(image, "ref", show(renewed))).toBe(false);
  const copy = { ...renewed, name: "two" };
  expect(await records.mustProve(image, "ref", show(copy))).toBe(false);
});

test("a pull that an earlier agent began leaves an image that must be proven", async () => {
  const { files, records } = world();
  await records.begin(image);
  const restarted = world(files).records;
  await restarted.recover(async () => [{ id: "ref", repoTags: [image] }]);
  expect(await restarted.mustProve(image, "ref", show(secret))).toBe(true);
  await restarted.recover(() => Promise.reject(new Error("no intent is left to look for")));
});

test("a damaged record proves nothing", async () => {
  const { files, records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret: undefined });
  expect(await records.mustProve(image, "ref", show())).toBe(false);
  const name = Buffer.from("ref").toString("hex");
  await files.writeFile(`/root/image_manager/pulled/sha256-${name}`, "{");
  expect(await records.mustProve(image, "ref", show())).toBe(true);
});

test("what is kept on disk is counted, after a restart as well", async () => {
  const { files, records, count } = world();
  await records.begin(image);
  expect(count("ondisk_pullintents")).toBe("1");
  await records.end(image, { imageRef: "ref", secret });
  expect(count("ondisk_pullintents")).toBe("0");
  expect(count("ondisk_pulledrecords")).toBe("1");
  await records.begin("a.io/c:1");
  const restarted = world(files);
  await restarted.records.recover(async () => []);
  expect(restarted.count("ondisk_pullintents")).toBe("1");
  expect(restarted.count("ondisk_pulledrecords")).toBe("1");
  await restarted.records.mustProve(image, "ref", show());
  expect(restarted.count("image_mustpull_checks_total")).toBe("1");
});
