import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandError } from "../../lib/command-error.ts";
import {
  bindOptions,
  carriedBindOptions,
  inSystemdScope,
  type MountArguments,
  mountCommand,
  runBy,
  type ShownCommand,
  statfsFlagsOf,
} from "../../lib/mount-arguments.ts";
import { type MountEntry, splitMountOptions } from "../../lib/mount-info.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Commands } from "../../ports/commands.ts";
import type { Mounts } from "../../ports/mounts.ts";

export interface VolumeMountsDeps {
  readonly commands: Commands;
  /** What is mounted at a path of the agent's own, the one on top. */
  readonly mountAt: (path: string) => Promise<MountEntry | undefined>;
  /** Mounts network file systems in the place of mount(8); "" when mount(8) does. */
  readonly mounterPath: string;
}

/** mount.nfs tries for two minutes. */
const mountTimeoutMs = 180_000;
const unmountTimeoutMs = 120_000;
const probeTimeoutMs = 10_000;

const notMounted = "not mounted";
const mountedByProgram: ReadonlySet<string> = new Set(["nfs", "glusterfs", "ceph", "cifs"]);

/** Mounts of volumes, with the command lines and messages of a kubelet. */
export function volumeMounts(
  deps: VolumeMountsDeps,
): Pick<Mounts, "mount" | "unmountVolume" | "ignoresUnmounted"> {
  const { commands } = deps;
  const hasSystemd = once((signal) => findSystemd(commands, signal));
  const ignoresUnmounted = once((signal) => answersNotMounted(commands, signal));
  return {
    ignoresUnmounted,
    mount: async (request, signal) => {
      const inScope = !request.withoutSystemd && (await hasSystemd(signal));
      const run = (mount: MountArguments): Promise<Result<void, string>> =>
        runMount(deps, { ...mount, inScope }, signal);
      const { options, secretOptions = [] } = request;
      const { isBind, bind, remount, remountSecret } = bindOptions(options, secretOptions);
      if (!isBind) return await run(request);
      const bound = await run({ ...request, options: bind, secretOptions: remountSecret });
      if (!bound.ok) return bound;
      // A fresh bind has the options of its source: no need to look at that, which may not answer.
      const mounted = await deps.mountAt(request.target);
      const flags = mounted === undefined ? 0 : flagsOf(mounted);
      const allOptions = [...remount, ...carriedBindOptions(flags)];
      return await run({ ...request, options: allOptions, secretOptions: remountSecret });
    },
    unmountVolume: async (target, { forceAfterMs }, signal) => {
      const run = (argv: readonly string[], timeoutMs: number): Promise<Failure | undefined> =>
        failureOf(commands, argv, timeoutMs, signal);
      let failed = await run(["umount", target], forceAfterMs ?? unmountTimeoutMs);
      if (failed?.isTimeout === true && forceAfterMs !== undefined) {
        failed = await run(["umount", "-f", target], unmountTimeoutMs);
      }
      if (failed === undefined) return ok(undefined);
      const { reason, output } = failed;
      if (output.includes(notMounted) && (await ignoresUnmounted(signal))) return ok(undefined);
      return err(`unmount failed: ${reason}\nUnmounting arguments: ${target}\nOutput: ${output}`);
    },
  };
}

/** What the kernel reports of a path's mount by statfs(2). */
function flagsOf({ options, superOptions }: MountEntry): number {
  const isReadOnly = splitMountOptions(superOptions).includes("ro");
  return statfsFlagsOf([...splitMountOptions(options), ...(isReadOnly ? ["ro"] : [])]);
}

async function runMount(
  { commands, mounterPath }: VolumeMountsDeps,
  mount: MountArguments & { readonly inScope: boolean },
  signal: AbortSignal,
): Promise<Result<void, string>> {
  const plain = mountCommand(mount);
  const isBind = mount.options.includes("bind");
  const needsProgram = mounterPath !== "" && !isBind && mountedByProgram.has(mount.fileSystem);
  const direct = needsProgram ? runBy(mounterPath, plain) : plain;
  const command = mount.inScope ? inSystemdScope(mount.target, direct) : direct;
  const failed = await failureOf(commands, command.argv, mountTimeoutMs, signal);
  return failed === undefined ? ok(undefined) : err(mountFailure(command, failed));
}

function mountFailure({ argv, shownArguments }: ShownCommand, { reason, output }: Failure): string {
  return `mount failed: ${reason}\nMounting command: ${argv[0]}\nMounting arguments: ${shownArguments}\nOutput: ${output}`;
}

interface Failure {
  readonly reason: string;
  readonly output: string;
  /** It may hang. */
  readonly isTimeout: boolean;
}

/** How a program failed, in Go's words; undefined when it did not. */
async function failureOf(
  commands: Commands,
  argv: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  try {
    const { exitCode, output } = await commands.run(argv, { timeoutMs }, signal);
    if (exitCode === 0) return undefined;
    return { reason: `exit status ${exitCode}`, output, isTimeout: false };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { reason: error.message, output: "", isTimeout: error.reason === "timed-out" };
  }
}

/** systemd may be installed and not run. */
async function findSystemd(commands: Commands, signal: AbortSignal): Promise<boolean> {
  const probe = ["systemd-run", "--description=Kubernetes systemd probe", "--scope", "true"];
  return (await failureOf(commands, probe, probeTimeoutMs, signal)) === undefined;
}

/** Most implementations of umount(8) report what is not mounted in these words; a folder of our own shows it. */
async function answersNotMounted(commands: Commands, signal: AbortSignal): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "berth-unmounted-"));
  try {
    const failed = await failureOf(commands, ["umount", folder], probeTimeoutMs, signal);
    return failed?.output.includes(notMounted) === true;
  } finally {
    await rmdir(folder);
  }
}

/** Finds something out once; a caller that gives up leaves it to the next. */
function once(
  find: (signal: AbortSignal) => Promise<boolean>,
): (signal: AbortSignal) => Promise<boolean> {
  let found: boolean | undefined;
  return async (signal) => {
    found ??= await find(signal);
    return found;
  };
}
