// Secrets and credentials in files with mistakes: what is wrong is reported, and not what they say.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseFile } from "../../src/drivers/manifest/parse-file.ts";
import { withFolder } from "../fakes/served-kubelet-api.ts";
import { BerthProcess, buildProgram } from "../integration/support/agent-process.ts";

const canary = "canary-1f2e";
const encoded = Buffer.from(canary).toString("base64");

describe.each(["up", "kubelet"] as const)("a manifest of %s", (mode) => {
  test.each([
    ["without a kind", `apiVersion: v1\nstringData: {a: ${canary}}`],
    ["without a version", `kind: Secret\nstringData: {a: ${canary}}`],
    ["with its content as base64", `kind: Secret\ndata: {a: ${encoded}}`],
    ["in a list, without a kind", `apiVersion: v1\nkind: List\nitems: [{data: {a: ${encoded}}}]`],
    ["that looks like an alias", `apiVersion: v1\nkind: Secret\nstringData:\n  a: *${canary}`],
    ["with an open quote", `apiVersion: v1\nkind: Secret\nstringData:\n  a: "${canary}`],
    ["with a bad indent", `kind: Secret\nstringData:\n  a: ${canary}\n b: ${canary}`],
    ["with a tab", `stringData:\n\ta: ${canary}`],
    ["that is not an object", canary],
    ["with a value of another type", `apiVersion: v1\nkind: Secret\nstringData: [${canary}]`],
    ["that is not base64", `apiVersion: v1\nkind: Secret\ndata: {a: "${canary}!"}`],
    ["with a key twice", `apiVersion: v1\nkind: Secret\nstringData: {a: ${canary}, a: ${canary}}`],
    ["as JSON that ends early", `{"kind": "Secret", "stringData": {"a": "${canary}`],
    [
      "in a variable with a bad name",
      `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x, env: [{name: "A=B", value: ${canary}}]}]}`,
    ],
  ])("with a secret %s", (_, text) => {
    const parsed = parseFile({ path: "/manifests/a.yaml", text }, "node", mode);
    expect(parsed.ok).toBe(false);
    const reported = JSON.stringify(parsed);
    expect(reported).toContain("message");
    expect(reported).not.toContain(canary);
    expect(reported).not.toContain(encoded);
  });
});

test("a configuration without a kind does not show its headers", async () => {
  buildProgram();
  await withFolder(async (folder) => {
    const path = join(folder, "kubelet.yaml");
    writeFileSync(path, `staticPodURLHeader: {Authorization: ["Bearer ${canary}"]}\n`);
    const ended = await new BerthProcess(["kubelet", `--config=${path}`]).ended;
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toContain("is missing");
    expect(ended.stdout + ended.stderr).not.toContain(canary);
  });
});
