import { basename } from "node:path";
import { volumeMounts } from "../../src/drivers/linux/volume-mounts.ts";
import { CommandError } from "../../src/lib/command-error.ts";
import type { MountEntry } from "../../src/lib/mount-info.ts";
import type { Commands } from "../../src/ports/commands.ts";

/** How a program behaves. */
interface Behaviour {
  readonly exit?: number;
  readonly output?: string;
}

export interface MountInput {
  readonly kind: "mount";
  readonly source?: string;
  readonly target: string;
  readonly fsType?: string;
  readonly options?: readonly string[];
  readonly sensitiveOptions?: readonly string[];
  readonly mountFlags?: readonly string[];
  readonly method?: string;
  readonly mounterPath?: string;
  readonly mountCommand?: Behaviour;
  readonly statfsFlags?: number;
  readonly systemd: "works" | "fails" | "absent";
  readonly withoutSystemd?: boolean;
}

export interface UnmountInput {
  readonly kind: "unmount";
  readonly target: string;
  readonly force?: boolean;
  readonly safeNotMounted?: boolean;
  readonly umountCommand?: Behaviour;
  readonly umountHangs?: boolean;
}

const never = new AbortController().signal;

/** The flags of statfs(2) that the kernel shows as options of a mount. */
const flagOptions: readonly (readonly [number, string])[] = [
  [1, "ro"],
  [2, "nosuid"],
  [4, "nodev"],
  [8, "noexec"],
  [1024, "noatime"],
  [2048, "nodiratime"],
  [4096, "relatime"],
];

function mountOptionsOfFlags(flags: number): readonly string[] {
  return flagOptions.filter(([flag]) => (flags & flag) !== 0).map(([, option]) => option);
}

export async function runMount(input: MountInput): Promise<object> {
  const commands: (readonly string[])[] = [];
  const run: Commands["run"] = async (argv) => {
    if (argv.includes("true") && argv[0] === "systemd-run") {
      if (input.systemd === "absent") throw new CommandError("not-found", "systemd-run");
      commands.push(argv);
      return { exitCode: input.systemd === "works" ? 0 : 1, output: "" };
    }
    const [program = "", ...args] = argv;
    // The vectors know programs by their names.
    commands.push([basename(program), ...args]);
    const { exit = 0, output = "" } = input.mountCommand ?? {};
    return { exitCode: exit, output };
  };
  const options = mountOptionsOfFlags(input.statfsFlags ?? 0).join(",");
  const mounts = volumeMounts({
    commands: { run },
    mountAt: async () => ({ ...anyMount, options }),
    mounterPath: input.mounterPath ?? "",
  });
  const mounted = await mounts.mount(
    {
      source: input.source ?? "",
      target: input.target,
      fileSystem: input.fsType ?? "",
      options: input.options ?? [],
      secretOptions: input.sensitiveOptions,
      flags: input.mountFlags,
      withoutSystemd:
        input.withoutSystemd === true || input.method?.includes("WithoutSystemd") === true,
    },
    never,
  );
  return { commands, error: mounted.ok ? undefined : mounted.error };
}

const anyMount: MountEntry = {
  id: "1",
  parentId: "0",
  device: "8:1",
  root: "/",
  mountPoint: "/",
  options: "rw",
  optionalFields: [],
  fileSystem: "ext4",
  source: "/dev/sda",
  superOptions: "rw",
};

export async function runUnmount(input: UnmountInput): Promise<object> {
  const { target, force = false, safeNotMounted = false, umountHangs = false } = input;
  const commands: (readonly string[])[] = [];
  const run: Commands["run"] = async (argv) => {
    // A folder of the driver's own, by which it learns what umount(8) answers.
    if (!argv.includes(target)) {
      return { exitCode: 32, output: safeNotMounted ? "umount: not mounted." : "umount: no" };
    }
    commands.push(argv);
    if (umountHangs && argv.length === 2) throw new CommandError("timed-out", "umount hangs");
    const { exit = 0, output = "" } = input.umountCommand ?? {};
    return { exitCode: exit, output };
  };
  const mounts = volumeMounts({
    commands: { run },
    mountAt: async () => undefined,
    mounterPath: "",
  });
  const options = force ? { forceAfterMs: 1000 } : {};
  const unmounted = await mounts.unmountVolume(target, options, never);
  return { commands, error: unmounted.ok ? undefined : unmounted.error };
}
