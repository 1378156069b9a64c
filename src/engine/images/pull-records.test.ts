import { expect, test } from "vitest";
import { defaultVerification } from "../../core/image/verification-policy.ts";
import { MemoryFiles } from "../../drivers/sim/memory-files.ts";
import { MetricsRegistry } from "../../lib/metrics-registry.ts";
import { metricDefinitions } from "../../model/generated/metrics.ts";
import { PullRecords } from "./pull-records.ts";

const image = "a.io/b:1";
const secret = { uid: "", namespace: "ns", name: "one", credentialHash: "h" };

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
  expect(await world().records.mustProve(image, "ref", [])).toBe(false);
});

test("what came here otherwise must be proven where the policy says so, and what was pulled with a secret need not", async () => {
  const always = { name: "AlwaysVerify", allowlist: [] } as const;
  expect(await world(undefined, always).records.mustProve(image, "ref", [])).toBe(true);
  const { records } = world(undefined, { name: "NeverVerify", allowlist: [] });
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret });
  expect(await records.mustProve(image, "ref", [])).toBe(false);
  const listed = { name: "NeverVerifyAllowlistedImages", allowlist: ["a.io/*"] } as const;
  expect(await world(undefined, listed).records.mustProve(image, "ref", [])).toBe(false);
  expect(await world(undefined, listed).records.mustProve("b.io/x", "ref", [])).toBe(true);
});

test("an image that is being pulled must be proven, until all pulls have ended", async () => {
  const { records } = world();
  await records.begin(image);
  await records.begin(image);
  await records.end(image, undefined);
  expect(await records.mustProve(image, "ref", [])).toBe(true);
  await records.end(image, undefined);
  expect(await records.mustProve(image, "ref", [])).toBe(false);
});

test("an image that was pulled with a secret must be proven without it, after a restart as well", async () => {
  const { files, records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret });
  expect(await records.mustProve(image, "ref", [])).toBe(true);
  expect(await records.mustProve(image, "ref", [secret])).toBe(false);
  const restarted = world(files).records;
  expect(await restarted.mustProve(image, "ref", [])).toBe(true);
  await restarted.recover(() => Promise.resolve([]));
  expect(await restarted.mustProve(image, "ref", [])).toBe(true);
  expect(await restarted.mustProve(image, "ref", [secret])).toBe(false);
  expect(await restarted.mustProve(image, "another", [])).toBe(false);
});

test("what is learnt once is known from then on", async () => {
  const { records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret });
  const renewed = { ...secret, credentialHash: "renewed" };
  expect(await records.mustProve(image, "ref", [renewed])).toBe(false);
  const copy = { ...renewed, name: "two" };
  expect(await records.mustProve(image, "ref", [copy])).toBe(false);
});

test("a pull that an earlier agent began leaves an image that must be proven", async () => {
  const { files, records } = world();
  await records.begin(image);
  const restarted = world(files).records;
  await restarted.recover(async () => [{ id: "ref", repoTags: [image] }]);
  expect(await restarted.mustProve(image, "ref", [secret])).toBe(true);
  await restarted.recover(() => Promise.reject(new Error("no intent is left to look for")));
});

test("a damaged record proves nothing", async () => {
  const { files, records } = world();
  await records.begin(image);
  await records.end(image, { imageRef: "ref", secret: undefined });
  expect(await records.mustProve(image, "ref", [])).toBe(false);
  const name = Buffer.from("ref").toString("hex");
  await files.writeFile(`/root/image_manager/pulled/sha256-${name}`, "{");
  expect(await records.mustProve(image, "ref", [])).toBe(true);
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
  await restarted.records.mustProve(image, "ref", []);
  expect(restarted.count("image_mustpull_checks_total")).toBe("1");
});
