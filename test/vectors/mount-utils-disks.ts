import { formatAndMount, readDiskFormat } from "../../src/engine/volumes/format-and-mount.ts";
import { needsResize, resizeFileSystem } from "../../src/engine/volumes/resize-file-system.ts";
import { CommandError } from "../../src/lib/command-error.ts";
import { err, ok } from "../../src/lib/result.ts";
import type { Commands } from "../../src/ports/commands.ts";
import type { VolumeMount } from "../../src/ports/mounts.ts";

export interface DiskInput {
  readonly kind: "diskFormat" | "formatAndMount" | "resize" | "needResize";
  readonly source: string;
  readonly target?: string;
  readonly fsType?: string;
  readonly options?: readonly string[];
  readonly sensitiveOptions?: readonly string[];
  readonly formatOptions?: readonly string[];
  readonly mountError?: string;
  readonly deviceMountPath?: string;
  /** By the beginning of the command line. */
  readonly exec: Readonly<
    Record<
      string,
      { readonly exit?: number; readonly output?: string; readonly notFound?: boolean }
    >
  >;
}

const never = new AbortController().signal;

export async function runDisk(input: DiskInput): Promise<object> {
  const ran: (readonly string[])[] = [];
  const commands: Commands = {
    run: async (argv) => {
      ran.push(argv);
      const text = argv.join(" ");
      const known = Object.keys(input.exec).filter((start) => `${text} `.startsWith(`${start} `));
      const { exit = 0, output = "", notFound } = input.exec[known[0] ?? ""] ?? {};
      if (notFound === true) throw new CommandError("not-found", "absent");
      return { exitCode: exit, output };
    },
  };
  return { ...(await runWith(commands, input)), commands: ran };
}

async function runWith(commands: Commands, input: DiskInput): Promise<object> {
  const { kind, source: devicePath, deviceMountPath = "" } = input;
  const device = { devicePath, deviceMountPath };
  switch (kind) {
    case "diskFormat": {
      const format = await readDiskFormat(commands, devicePath, never);
      return format.ok ? { format: format.value } : { format: "", error: format.error };
    }
    case "resize": {
      const resized = await resizeFileSystem(commands, device, never);
      return resized.ok ? { resized: resized.value } : { resized: false, error: resized.error };
    }
    case "needResize": {
      const needed = await needsResize(commands, device, never);
      return needed.ok ? { needed: needed.value } : { needed: false, error: needed.error };
    }
    case "formatAndMount":
      return await runFormat(commands, input);
  }
}

async function runFormat(commands: Commands, input: DiskInput): Promise<object> {
  let mounted: VolumeMount | undefined;
  const mount = async (request: VolumeMount) => {
    mounted = request;
    return input.mountError === undefined ? ok(undefined) : err(input.mountError);
  };
  const result = await formatAndMount(
    { commands, mounts: { mount } },
    {
      device: input.source,
      target: input.target ?? "",
      fileSystem: input.fsType ?? "",
      options: input.options ?? [],
      secretOptions: input.sensitiveOptions,
      formatOptions: input.formatOptions,
    },
    never,
  );
  return {
    ...(mounted === undefined ? {} : { mount: encodeMount(mounted) }),
    ...(result.ok ? {} : { error: result.error.message, errorType: result.error.type }),
  };
}

function encodeMount({ source, target, fileSystem, options, secretOptions }: VolumeMount): object {
  return { source, target, fsType: fileSystem, options, sensitiveOptions: secretOptions };
}
