import { join } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import type {
  ForeignFiles,
  SubPathBind,
  SubPathFailure,
  VolumeUse,
} from "../../ports/foreign-files.ts";
import type { Operations } from "./foreign/operations.ts";
import { subPathCreateCode } from "./foreign/subpath-create-code.ts";
import type { ForeignHelpers } from "./foreign-helpers.ts";
import type { HelperProcess } from "./helper-process.ts";
import { mountPointAt } from "./mount-table.ts";
import { unmount } from "./unmount.ts";
import { runVolumeCommand } from "./volume-command.ts";
import { errorCode } from "./volume-error.ts";
import { newKindOf } from "./volume-node-path.ts";

const silenceMs = 10_000;
const mountTimeoutMs = 30_000;

/** The deletion of one very large file is a single call to the kernel. */
const removalSilenceMs = 60_000;

/** However many files there are: beyond this a measurement is of no use. */
const measureMs = 15 * 60_000;

/** Foreign files of this machine: no call of the agent's own process touches them. */
export function linuxForeignFiles(helpers: ForeignHelpers, nowMs: () => number): ForeignFiles {
  const look = <Name extends keyof Operations>(
    path: string,
    [operation, ...args]: readonly [Name, ...Parameters<Operations[Name]>],
    signal: AbortSignal,
  ): Promise<ReturnType<Operations[Name]>> =>
    helpers.use(
      "look",
      path,
      (helper) => helper.call(operation, args, { path, silenceMs }, signal),
      signal,
    );
  return {
    kindOf: newKindOf(helpers.hungPaths),
    groupOf: async (path, signal) => (await look(path, ["groupOf", path], signal)) ?? undefined,
    isDeviceHeld: (path, signal) => look(path, ["isDeviceHeld", path], signal),
    realPath: async (path, signal) => (await look(path, ["realPath", path], signal)) ?? undefined,
    makeFolder: (path, signal) => look(path, ["makeFolder", path], signal),
    makeFile: (path, signal) => look(path, ["makeFile", path], signal),
    bindSubPath: (bind, signal) => bindSubPath(helpers, bind, signal),
    readFile: async ({ folder, path, maxBytes }, signal) =>
      decode(await look(join(folder, path), ["readFile", folder, path, maxBytes], signal)),
    readEnd: async (path, maxBytes, signal) =>
      decode(await look(path, ["readEnd", path, maxBytes], signal)),
    changeOwnership: (folder, { onProcessed, ...ownership }, signal) =>
      helpers.use(
        "look",
        folder,
        (helper) => {
          const limits = { path: folder, silenceMs, onProgress: onProcessed };
          return helper.call("changeOwnership", [folder, ownership], limits, signal);
        },
        signal,
      ),
    measure: (path, by, signal) => measure(helpers, { path, by, timeMs: nowMs() }, signal),
    removeTree: (path, signal) =>
      helpers.use(
        "removal",
        path,
        (helper) =>
          helper.call("removeTree", [path], { path, silenceMs: removalSilenceMs }, signal),
        signal,
      ),
  };
}

function decode(base64: string | null): Uint8Array | undefined {
  return base64 === null ? undefined : Buffer.from(base64, "base64");
}

async function measure(
  helpers: ForeignHelpers,
  { path, by, timeMs }: { path: string; by: "files" | "file-system"; timeMs: number },
  signal: AbortSignal,
): Promise<VolumeUse | undefined> {
  const measured = await helpers.use(
    "measure",
    path,
    (helper) => helper.call("measure", [path, by], { path, silenceMs, totalMs: measureMs }, signal),
    signal,
  );
  if (measured === null) return undefined;
  const { use, ...room } = measured;
  return { room: { timeMs, ...room }, use };
}

async function bindSubPath(
  helpers: ForeignHelpers,
  bind: SubPathBind,
  signal: AbortSignal,
): Promise<SubPathFailure | undefined> {
  const path = join(bind.volumePath, bind.subPath);
  try {
    await helpers.use("look", path, (helper) => bindWith(helper, helpers, bind, signal), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const code = errorCode(error) === subPathCreateCode ? "create" : "prepare";
    return { code, message: errorText(error) };
  }
}

async function bindWith(
  helper: HelperProcess,
  { hungPaths }: ForeignHelpers,
  { volumePath, subPath, target }: SubPathBind,
  signal: AbortSignal,
): Promise<void> {
  const path = join(volumePath, subPath);
  const limits = { path, silenceMs };
  const opened = await helper.call("openSubPath", [volumePath, subPath], limits, signal);
  try {
    // Another one that is bound there is let go.
    for (
      let bound = await mountPointAt(target);
      bound !== undefined;
      bound = await mountPointAt(target)
    ) {
      if (await helper.call("isOpenSubPath", [bound], limits, signal)) return;
      await unmount(bound, hungPaths, signal);
    }
    await helper.call("makeMountPoint", [target], limits, signal);
    // The program gets the open file itself: no path leads to it that a container could change.
    const args = ["--no-canonicalize", "--bind", opened, target];
    const command = { program: "mount", args, path, timeoutMs: mountTimeoutMs };
    await runVolumeCommand(command, hungPaths, signal);
  } finally {
    // An open file would keep its file system busy.
    if (helper.isUsable) await helper.call("closeSubPath", [], limits, signal);
  }
}
