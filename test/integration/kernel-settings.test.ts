import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyKernelSettings } from "../../src/app/kernel-settings.ts";
import { kubeletKernelSettings } from "../../src/core/node/kernel-settings.ts";
import { kernelSettingFiles } from "../../src/drivers/linux/kernel-setting-files.ts";
import { silentLog } from "../kit/silent-log.ts";
import { buildProgram, type Ended, ownDevicePlugins } from "./support/agent-process.ts";
import { removeFolder } from "./support/remove-folder.ts";
import { makeTestFolder } from "./support/test-folder.ts";

const program = join(import.meta.dirname, "../../dist/berth.js");

describe("the kernel's settings of this machine", () => {
  const files = kernelSettingFiles();
  const panic = files.pathOf("kernel.panic");
  let before: readonly (readonly [string, string])[];
  beforeAll(() => {
    before = kubeletKernelSettings.map(({ name }) => {
      return [files.pathOf(name), readFileSync(files.pathOf(name), "utf8")] as const;
    });
  });
  afterAll(() => {
    for (const [path, text] of before) writeFileSync(path, text);
  });
  const apply = (protects: boolean): Promise<void> =>
    applyKernelSettings({ protects, inUserNamespace: false }, files, silentLog);

  // Other tests' agents set the same files: a try that met one of them is made again.
  test("are compared", async () => {
    const refusal = (): Promise<string> => {
      writeFileSync(panic, "7");
      return apply(true).then(
        () => "none",
        (error: Error) => error.message,
      );
    };
    await expect.poll(refusal).toContain(`${panic} is 7, wanted 10`);
  });

  test("are set", async () => {
    const set = async (): Promise<string> => {
      writeFileSync(panic, "7");
      await apply(false);
      return readFileSync(panic, "utf8").trim();
    };
    await expect.poll(set).toBe("10");
    await expect.poll(() => apply(true).then(() => "as wanted")).toBe("as wanted");
  });
});

describe("berth kubelet", () => {
  let folder: string;
  beforeAll(() => {
    buildProgram();
    folder = makeTestFolder("kernel");
    mkdirSync(join(folder, "manifests"));
    const fields = [
      "apiVersion: kubelet.config.k8s.io/v1beta1",
      "kind: KubeletConfiguration",
      "staticPodPath: manifests",
      "podLogsDir: logs",
      "containerRuntimeEndpoint: unix:///nowhere/berth-test.sock",
      "enableServer: false",
      "healthzPort: 0",
      "failSwapOn: false",
      "failCgroupV1: false",
      "makeIPTablesUtilChains: false",
    ];
    writeFileSync(join(folder, "kubelet.yaml"), fields.join("\n"));
  });
  afterAll(() => removeFolder(folder));

  /** Runs it with a file of the test's own in the place of kernel.panic, until it ends or logs `text`. */
  async function runWith(panic: string, flag: string, text: string): Promise<Ended> {
    const file = join(folder, "panic");
    writeFileSync(file, panic);
    const script = 'mount --bind "$1" /proc/sys/kernel/panic && shift && exec "$@"';
    const berth = [process.execPath, program, "kubelet", `--config=${folder}/kubelet.yaml`];
    const flags = [`--root-dir=${folder}/root`, `--cert-dir=${folder}/pki`, flag];
    const child = spawn(
      "unshare",
      [
        "--mount",
        "setpriv",
        "--pdeathsig",
        "KILL",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        file,
        ...berth,
        ...flags,
      ],
      {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, ...ownDevicePlugins(flags) },
      },
    );
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
      if (stderr.includes(text)) child.kill("SIGTERM");
    });
    await once(child, "close");
    return { code: child.exitCode, stdout: "", stderr };
  }

  test("does not start with --protect-kernel-defaults where a setting differs, and names it", async () => {
    const { code, stderr } = await runWith("7\n", "--protect-kernel-defaults", "never printed");
    expect(code).toBe(1);
    expect(stderr).toContain("protectKernelDefaults (--protect-kernel-defaults) forbids");
    expect(stderr).toContain("/proc/sys/kernel/panic is 7, wanted 10: sysctl -w kernel.panic=10");
    expect(readFileSync(join(folder, "panic"), "utf8")).toBe("7\n");
  });

  test("sets what differs without it, and logs it", async () => {
    const said = "changed a kernel setting";
    const { stderr } = await runWith("7\n", "--protect-kernel-defaults=false", said);
    expect(stderr).toContain(said);
    expect(readFileSync(join(folder, "panic"), "utf8")).toBe("10\n");
  });
});
