import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Ended } from "./agent-process.ts";
import { makeTestFolder } from "./test-folder.ts";

const cache = join(homedir(), ".cache", "berth");
const startTimeoutMs = 60_000;
const pollMs = 20;
/** What Berth's package depends on, so that installing it needs no registry. */
const packages = [
  "containerd",
  "runc",
  "containernetworking-plugins",
  "iptables",
  "iproute2",
  "catatonit",
  "libstdc++6",
  "procps",
  // It checks the units. It is not started.
  "systemd",
];

/**
 * A clean Debian, as a user has it who installs a package: with files, processes and a network of its own.
 * Whatever runs in it ends with it.
 */
export class DebianRoot {
  readonly #folder: string;
  readonly #init: ChildProcess;
  readonly #initPid: number;

  private constructor(folder: string, init: ChildProcess, initPid: number) {
    this.#folder = folder;
    this.#init = init;
    this.#initPid = initPid;
  }

  static async make(suite: string): Promise<DebianRoot> {
    const base = cleanRoot(suite);
    const folder = makeTestFolder("debian");
    for (const name of ["upper", "work", "root"]) mkdirSync(join(folder, name));
    const namespaces = ["--mount", "--propagation=private", "--net", "--pid", "--kill-child"];
    // catatonit is its init process: it takes the exit codes of orphans.
    const command = ["--pdeathsig=KILL", "--", "unshare", ...namespaces, "--", "catatonit", "-P"];
    const init = spawn("setpriv", command, { stdio: "ignore" });
    const root = new DebianRoot(folder, init, await childOf(init));
    const layers = `lowerdir=${base},upperdir=${folder}/upper,workdir=${folder}/work`;
    root.#enter("mount", "-t", "overlay", "overlay", "-o", layers, root.#path);
    root.#enter("mount", "-t", "proc", "proc", join(root.#path, "proc"));
    root.#enter("mount", "--rbind", "/sys", join(root.#path, "sys"));
    root.#enter("mount", "--rbind", "/dev", join(root.#path, "dev"));
    root.#enter("ip", "link", "set", "lo", "up");
    return root;
  }

  get #path(): string {
    return join(this.#folder, "root");
  }

  get #namespaces(): readonly string[] {
    return ["--mount", "--net", "--pid", `--target=${this.#initPid}`, "--"];
  }

  /** A file in it, as the test's own process reaches it. */
  pathOf(file: string): string {
    return join(`/proc/${this.#initPid}/root`, this.#path, file);
  }

  /** Paths that were made, changed or removed since it was made. */
  get changes(): string {
    return join(this.#folder, "upper");
  }

  makeFolder(path: string): void {
    mkdirSync(this.pathOf(path), { recursive: true });
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(this.pathOf(file)), { recursive: true });
    writeFileSync(this.pathOf(file), text);
  }

  /** A file, or a folder with all in it. */
  copy(from: string, to: string): void {
    cpSync(from, this.pathOf(to), { recursive: true, verbatimSymlinks: true });
  }

  /** Runs a command in it to its end. */
  run(...command: readonly string[]): Promise<Ended> {
    const args = [...this.#namespaces, "chroot", this.#path, ...command];
    return new Promise((resolve) => {
      execFile("nsenter", args, { env: environment }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
    });
  }

  /** Starts a command in it that goes on. */
  start(...command: readonly string[]): ChildProcess {
    const args = [...this.#namespaces, "chroot", this.#path, ...command];
    return spawn("nsenter", args, { env: environment, stdio: ["ignore", "ignore", "inherit"] });
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#init.once("close", resolve));
    process.kill(this.#initPid, "SIGKILL");
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #enter(...command: readonly string[]): void {
    execFileSync("nsenter", [...this.#namespaces, ...command]);
  }
}

/** The Debian that packages are tried on: `npm run package -- --try` names others. */
export function packageSuite(): string {
  return process.env["BERTH_DEBIAN_SUITE"] ?? "bookworm";
}

const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  DEBIAN_FRONTEND: "noninteractive",
  LC_ALL: "C.UTF-8",
  HOME: "/root",
};

/** The first process of the namespaces that a process makes. */
async function childOf({ pid }: ChildProcess): Promise<number> {
  const timeout = AbortSignal.timeout(startTimeoutMs);
  for (;;) {
    timeout.throwIfAborted();
    const [child = ""] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    if (child !== "") return Number(child);
    await delay(pollMs);
  }
}

/** The folder of an unused Debian; made by debootstrap unless it was before. */
function cleanRoot(suite: string): string {
  const recipe = createHash("sha256").update(JSON.stringify(packages)).digest("hex").slice(0, 12);
  const root = join(cache, `debian-${suite}-${recipe}`);
  if (existsSync(root)) return root;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "building-debian-"));
  try {
    const flags = ["--variant=minbase", `--include=${packages.join(",")}`];
    // What it mounts goes with its mount namespace.
    execFileSync(
      "unshare",
      ["--mount", "--", "debootstrap", ...flags, suite, join(draft, "root")],
      {
        env: environment,
        maxBuffer: 2 ** 26,
      },
    );
    renameSync(join(draft, "root"), root);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return root;
}
