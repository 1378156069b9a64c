import { expect, test } from "vitest";
import { parseUp, type UpOptions } from "./up-options.ts";

const plain: UpOptions = { dataDir: "/data", downOnExit: false };

test("without flags everything is as documented", () => {
  expect(parseUp(plain)).toMatchObject({
    ok: true,
    value: {
      cgroupRoot: undefined,
      network: { bridge: "berth0", subnet: "10.88.0.0/16" },
      sources: { rescanMs: 20_000, url: undefined },
      rules: {
        images: { pulls: { maxParallel: 4 } },
        security: { seccompDefault: true },
        podPidsLimit: 16_384,
      },
    },
  });
});

test("a manifest URL is read with its headers, as often as is said", () => {
  const sources = {
    manifestUrl: "http://host/pods.yaml",
    manifestUrlHeader: "a:b, c: d",
    httpCheckFrequency: "5s",
  };
  const url = {
    url: "http://host/pods.yaml",
    headers: { a: ["b"], c: ["d"] },
    frequencyMs: 5000,
  };
  expect(parseUp({ ...plain, ...sources })).toMatchObject({ value: { sources: { url } } });
});

test.each<[Partial<UpOptions>, string]>([
  [{ cgroupRoot: "../x" }, "--cgroup-root: cgroup root ../x must be an absolute path"],
  [{ cgroupRoot: "/" }, "--cgroup-root: cgroup root / must be"],
  [{ cgroupRoot: "/berth/" }, "--cgroup-root: cgroup root /berth/ must be"],
  [{ nodeName: "My_Node" }, '--node-name: "My_Node" is not a node name'],
  [{ runtimeEndpoint: "tcp://host" }, "--runtime-endpoint: "],
  [{ subnet: "10.88.0.1/16" }, "--subnet: subnet 10.88.0.1/16 has bits outside of its mask"],
  [{ subnet: "here" }, '--subnet: subnet "here" is not an IPv4 network'],
  [{ bridge: "0/0" }, '--bridge: bridge name "0/0" is not valid'],
  [{ manifestUrl: "pods.yaml" }, '--manifest-url "pods.yaml" is not a URL'],
  [{ manifestUrlHeader: "none" }, '--manifest-url-header "none" is not a header'],
  [{ fileCheckFrequency: "often" }, '--file-check-frequency "often" is not a duration above zero'],
  [{ httpCheckFrequency: "0" }, '--http-check-frequency "0" is not a duration above zero'],
  [{ evictionHard: "disk<1" }, "--eviction-hard: unsupported eviction signal disk"],
  [{ maxParallelImagePulls: "0" }, '--max-parallel-image-pulls "0" is not such a number'],
  [{ containerLogMaxFiles: "1" }, '--container-log-max-files "1" must be'],
])("%j is refused by the name of its flag", (given, message) => {
  expect(parseUp({ ...plain, ...given })).toEqual({
    ok: false,
    error: expect.stringContaining(message),
  });
});

test("what pods are allowed can be widened", () => {
  const wide = parseUp({ ...plain, seccompDefault: false, podMaxPids: "-1" });
  expect(wide).toMatchObject({
    value: { rules: { security: { seccompDefault: false }, podPidsLimit: undefined } },
  });
  expect(parseUp({ ...plain, podMaxPids: "100" })).toMatchObject({
    value: { rules: { podPidsLimit: 100 } },
  });
});

test.each(["0", "-2", "many", "1e3"])("--pod-max-pids %s is refused", (podMaxPids) => {
  expect(parseUp({ ...plain, podMaxPids })).toEqual({
    ok: false,
    error: expect.stringContaining(`--pod-max-pids: "${podMaxPids}" is not a number of processes`),
  });
});
