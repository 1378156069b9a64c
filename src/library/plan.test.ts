import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { describeAdmission } from "../app/node-facts.ts";
import { plainNodeSettings } from "../app/node-options.ts";
import { planManifest } from "../app/plan-manifest.ts";
import { parseSecurity } from "../app/security-options.ts";
import type { Node } from "../model/generated/kubernetes.ts";
import { isAccepted, planOn, renderPlan } from "./plan.ts";

const maxBytesGzipped = 80_000;

const node: Node = {
  metadata: { name: "n1", labels: { "kubernetes.io/os": "linux" } },
  status: { allocatable: { cpu: "2", memory: "1Gi", "ephemeral-storage": "10Gi", pods: "2" } },
};

function pod(name: string, spec = "", annotations = "{}"): string {
  return `apiVersion: v1
kind: Pod
metadata: {name: ${name}, annotations: ${annotations}}
spec:
  containers:
  - {name: main, image: "example.test/app:1"}
${spec}`;
}

function planned(text: string, place = { node }) {
  const plan = planOn(place, [{ path: "web.yaml", text }]);
  return { plan, document: plan.files[0]?.documents[0] };
}

test("shows what is filled in and what starts the pod", () => {
  const { plan, document } = planned(pod("web"));
  expect(isAccepted(plan)).toBe(true);
  expect(document).toMatchObject({
    kind: "pod",
    pod: { metadata: { namespace: "default", name: "web-n1" } },
    qosClass: "BestEffort",
    steps: [{ kind: "create-sandbox" }, { kind: "start-container", name: "main" }],
  });
  expect(renderPlan(plan)).toContain("line 1: accepted Pod default/web-n1\n");
});

test("names line and field of what is wrong", () => {
  const { plan, document } = planned(pod("web").replace("image:", "imag:"));
  expect(isAccepted(plan)).toBe(false);
  expect(document).toMatchObject({
    kind: "refused",
    problems: [{ origin: "web.yaml", line: 6, field: "spec.containers[0].imag" }],
  });
});

test("a pod is refused by what the node has, has left and is allowed", () => {
  const reasonOf = (spec: string, place: Parameters<typeof planOn>[0]): unknown => {
    const { document } = planned(pod("web", spec), place);
    return document?.kind === "pod" ? document.rejection?.reason : document;
  };
  expect(reasonOf("  nodeSelector: {disk: fast}\n", { node })).toBe("NodeAffinity");
  const labelled = { ...node, metadata: { ...node.metadata, labels: { disk: "fast" } } };
  expect(reasonOf("  nodeSelector: {disk: fast}\n", { node: labelled })).toBe(undefined);
  const running = ["a", "b"].flatMap((name) => {
    const { document } = planned(pod(name, "", "{kubernetes.io/config.source: file}"));
    return document?.kind === "pod" ? [document.pod] : [];
  });
  expect(reasonOf("", { node, pods: running })).toBe("OutOfpods");
  const sysctls = "  securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}\n";
  expect(reasonOf(sysctls, { node })).toBe("SysctlForbidden");
  expect(reasonOf(sysctls, { node, allowedUnsafeSysctls: ["kernel.msg*"] })).toBe(undefined);
});

test("what cannot be planned for is refused with the name of the field", () => {
  expect(() => planOn({ node: {} }, [])).toThrow("node.metadata.name is needed");
  expect(() => planOn({ node, allowedUnsafeSysctls: ["vm.swappiness"] }, [])).toThrow(
    'allowedUnsafeSysctls: the sysctls "vm.swappiness" are not known to be namespaced',
  );
});

test("a manifest that an agent would not read is refused by its size", () => {
  const { document } = planned(" ".repeat(10 * 1024 * 1024 + 1));
  expect(document).toMatchObject({ problems: [{ message: "larger than 10485760 bytes" }] });
});

test("gives what berth plan gives for this machine", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-plan-"));
  try {
    const path = join(folder, "web.yaml");
    const text = pod("web", "  volumes: [{name: data, emptyDir: {sizeLimit: 1Gi}}]\n");
    await writeFile(path, text);
    const settings = plainNodeSettings("n1", { name: "containerd", features: undefined });
    const { sysctls } = parseSecurity({});
    const facts = describeAdmission(settings, folder, { sysctls, fieldRules: "strict" });
    const expected = await planManifest({ path, dataDir: folder, nodeName: "n1" });
    const target = { node: facts.node, hasAppArmor: facts.appArmorEnabled };
    expect(planOn(target, [{ path, text }])).toEqual(expected);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test(`runs where there is nothing of Node, in at most ${maxBytesGzipped} bytes gzipped`, async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "plan.ts")],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "planner",
    minify: true,
    write: false,
  });
  const script = outputFiles.map(({ text }) => text).join("");
  expect(gzipSync(script).length).toBeLessThan(maxBytesGzipped);
  // What browsers have, and Node's process, require and Buffer not.
  const page = { TextEncoder, TextDecoder, manifest: pod("web"), node };
  const shown: unknown = runInNewContext(
    `${script}; planner.renderPlan(planner.planOn({ node }, [{ path: "web.yaml", text: manifest }]))`,
    page,
  );
  expect(shown).toBe(renderPlan(planned(pod("web")).plan));
});
