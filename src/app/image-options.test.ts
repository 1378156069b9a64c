import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseImageOptions } from "./image-options.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-images-"));
  writeFileSync(join(folder, "helper"), "#!/bin/sh\n", { mode: 0o755 });
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const config = `
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
  - name: helper
    matchImages: ["*.registry.io"]
    defaultCacheDuration: 12h
    apiVersion: credentialprovider.kubelet.k8s.io/v1
`;

function parseConfig(text: string, noTokens?: string) {
  const file = join(folder, "config.yaml");
  writeFileSync(file, text);
  return parseImageOptions(
    { credentialProviderConfig: file, credentialProviderBinDir: folder },
    noTokens,
  );
}

test("without flags pulls have the default limits, and there are no providers", () => {
  const { pulls, providers } = parseImageOptions({}, undefined);
  expect(pulls).toEqual({ maxParallel: 4, perSecond: 5, burst: 10 });
  expect(providers).toEqual([]);
});

test("flags set the limits of pulls", () => {
  const given = { maxParallelImagePulls: "9", registryQps: "0", registryBurst: "3" };
  expect(parseImageOptions(given, undefined).pulls).toEqual({
    maxParallel: 9,
    perSecond: 0,
    burst: 3,
  });
  expect(parseImageOptions({ serializeImagePulls: true }, undefined).pulls.maxParallel).toBe(1);
});

test.each([
  [{ maxParallelImagePulls: "0" }, "--max-parallel-image-pulls"],
  [{ maxParallelImagePulls: "many" }, "--max-parallel-image-pulls"],
  [{ registryQps: "-1" }, "--registry-qps"],
  [{ registryBurst: "1.5" }, "--registry-burst"],
  [{ maxParallelImagePulls: "2", serializeImagePulls: true }, "--serialize-image-pulls"],
  [{ credentialProviderConfig: "x" }, "--image-credential-provider-bin-dir"],
  [{ credentialProviderBinDir: "x" }, "--image-credential-provider-config"],
])("%j is refused with %s", (given, named) => {
  expect(() => parseImageOptions(given, undefined)).toThrow(named);
});

test("a config file names providers whose programs are there", () => {
  expect(parseConfig(config).providers).toMatchObject([
    { name: "helper", defaultCacheMs: 43_200_000 },
  ]);
  expect(() => parseConfig(config.replace("name: helper", "name: gone"))).toThrow(
    join(folder, "gone"),
  );
});

test("a config file that is wrong is refused with its name and field", () => {
  const file = join(folder, "config.yaml");
  expect(() => parseConfig(config.replace("12h", "soon"))).toThrow(
    `${file}: providers[0].defaultCacheDuration`,
  );
  expect(() => parseConfig("a: [")).toThrow(`${file}: yaml`);
});

test("a provider gets service account tokens only where there are some", () => {
  const attributes = `
    tokenAttributes:
      serviceAccountTokenAudience: registry.io
      cacheType: Token
      requireServiceAccount: true
`;
  const withTokens = config.trimEnd() + attributes;
  expect(parseConfig(withTokens).providers[0]?.tokenAttributes).toMatchObject({
    audience: "registry.io",
  });
  expect(() => parseConfig(withTokens, "needs a cluster")).toThrow(
    "providers[0].tokenAttributes: needs a cluster",
  );
  expect(() => parseConfig(config, "needs a cluster")).not.toThrow();
});

test("a folder of config files is read in the order of their names", () => {
  const files = join(folder, "configs");
  mkdirSync(files);
  writeFileSync(join(folder, "second"), "", { mode: 0o755 });
  writeFileSync(join(files, "b.yaml"), config);
  writeFileSync(join(files, "a.yml"), config.replace("name: helper", "name: second"));
  writeFileSync(join(files, "notes.txt"), "no config");
  const given = { credentialProviderConfig: files, credentialProviderBinDir: folder };
  expect(parseImageOptions(given, undefined).providers.map(({ name }) => name)).toEqual([
    "second",
    "helper",
  ]);
  writeFileSync(join(files, "c.json"), config);
  expect(() => parseImageOptions(given, undefined)).toThrow('the provider "helper" twice');
});
