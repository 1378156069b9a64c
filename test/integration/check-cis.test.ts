import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkCis } from "../../src/app/check-cis.ts";
import type { CisResult } from "../../src/config/cis/cis-facts.ts";
import { SetupError } from "../../src/lib/setup-error.ts";
import { BerthProcess, buildProgram } from "./support/agent-process.ts";

const head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-cis-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

/** The configuration that docs/security.md recommends. */
function hardened(): readonly string[] {
  const lines = [
    head,
    `authentication: {x509: {clientCAFile: ${put("ca.crt", "", 0o644)}}}`,
    "serverTLSBootstrap: true",
    "rotateCertificates: true",
    "podPidsLimit: 16384",
    "seccompDefault: true",
  ];
  const config = put("config.yaml", lines.join("\n"));
  return ["--config", config, "--kubeconfig", put("kubelet.conf", "")];
}

function failures(results: readonly CisResult[]): readonly string[] {
  return results.filter(({ status }) => status === "fail").map(({ id }) => id);
}

test("a hardened node passes, with a service file and a kube-proxy", () => {
  put("etc/systemd/system/kubelet.service", "");
  put("etc/systemd/system/kubelet.service.d/20-berth.conf", "");
  put("etc/kubernetes/proxy.conf", "");
  const results = checkCis(hardened(), folder);
  expect(failures(results)).toEqual([]);
  const skipped = results.filter(({ status }) => status === "not applicable");
  expect(skipped.map(({ id }) => id)).toEqual(["4.3.1"]);
});

test("a file with Berth's defaults fails only what a kubelet leaves open by default", () => {
  const config = put("c", head);
  const results = checkCis(["--config", config, "--kubeconfig", put("k", "")], folder);
  expect(failures(results)).toEqual(["4.2.3", "4.2.9", "4.2.10", "4.2.13", "4.2.14"]);
});

test("without a file Berth stays closed where a kubelet is open", () => {
  expect(failures(checkCis([], folder))).toEqual(["4.2.13", "4.2.14"]);
  const open = checkCis(["--anonymous-auth", "--read-only-port=10255"], folder);
  expect(failures(open)).toContain("4.2.1");
  expect(failures(open)).toContain("4.2.2");
  expect(failures(open)).toContain("4.2.4");
});

test("flags count as they do for berth kubelet", () => {
  const more = ["--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA", "--hostname-override=n"];
  const results = checkCis([...hardened(), ...more, "--make-iptables-util-chains=false"], folder);
  expect(failures(results)).toEqual(["4.2.6", "4.2.7", "4.2.12"]);
});

test("files that others may use are found, drop-ins too", () => {
  put("usr/lib/systemd/system/berth-kubelet.service", "", 0o644);
  const args = hardened();
  const dropIn = put("drop-ins/deep/10.conf", head, 0o640);
  put("drop-ins/notes.txt", "", 0o777);
  chownSync(join(folder, "kubelet.conf"), 1234, 0);
  const results = checkCis([...args, "--config-dir", join(folder, "drop-ins")], folder);
  expect(failures(results)).toEqual(["4.1.1", "4.1.6", "4.1.9"]);
  expect(results.find(({ id }) => id === "4.1.9")).toMatchObject({
    found: `${dropIn} has 640`,
    fix: `chmod 600 ${dropIn}`,
  });
});

test("berth up passes with its defaults", () => {
  expect(failures(checkCis(undefined, folder))).toEqual([]);
});

test.each([
  [["--config", "/no/such/file"], /cannot read \/no\/such\/file/],
  [["--bogus"], /unknown flag: --bogus/],
])("%j is refused", (args, message) => {
  expect(() => checkCis(args, folder)).toThrow(SetupError);
  expect(() => checkCis(args, folder)).toThrow(message);
});

test("the command prints every line with what to do, as text and as JSON, and fails where one does", async () => {
  buildProgram();
  const args = [...hardened(), "--read-only-port=10255"];
  const asText = await new BerthProcess(["check", "--cis", "--", ...args]).ended;
  expect(asText.code).toBe(1);
  expect(asText.stdout).toMatch(
    /^fail +4\.2\.4 +read-only port +readOnlyPort is 10255\n +fix: set readOnlyPort \(--read-only-port\) to 0$/m,
  );
  expect(asText.stdout).toMatch(/section 4: \d+ passed, \d+ failed, \d+ not applicable\.\n$/);
  const [, config = ""] = args;
  const asJson = await new BerthProcess(["check", "--cis", "--config", config, "-o", "json"]).ended;
  const results = JSON.parse(asJson.stdout) as readonly CisResult[];
  expect(results).toHaveLength(25);
  expect(results).toContainEqual({
    id: "4.2.4",
    title: "read-only port",
    status: "pass",
    found: "readOnlyPort is 0",
  });
  const stray = await new BerthProcess(["check", "--", "--config", config]).ended;
  expect(stray).toMatchObject({ code: 2, stderr: expect.stringContaining("for --cis") });
});
