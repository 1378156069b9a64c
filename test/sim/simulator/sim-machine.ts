import type { SimMachine } from "../../../src/app/sim-agent.ts";
import { MemoryFiles } from "../../../src/drivers/sim/memory-files.ts";
import { SimCgroups } from "../../../src/drivers/sim/sim-cgroups.ts";
import { SimEvents } from "../../../src/drivers/sim/sim-events.ts";
import { SimForeignFiles } from "../../../src/drivers/sim/sim-foreign-files.ts";
import { SimHistory } from "../../../src/drivers/sim/sim-history.ts";
import { simDisk } from "../../../src/drivers/sim/sim-host.ts";
import { SimMounts } from "../../../src/drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../../src/drivers/sim/sim-payload-files.ts";
import { SimRuntime } from "../../../src/drivers/sim/sim-runtime.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { FileKind } from "../../../src/ports/foreign-files.ts";
import type { RuntimeEvent } from "../../../src/ports/runtime-events.ts";

/** What lies below the agent's folder is what the agent, and drivers of volumes, made there. */
class MachineFiles extends SimForeignFiles {
  readonly #files: MemoryFiles;

  constructor(files: MemoryFiles, deps: ConstructorParameters<typeof SimForeignFiles>[0]) {
    super(deps);
    this.#files = files;
  }

  override async kindOf(path = ""): Promise<FileKind | undefined> {
    if (!path.startsWith("/sim/") || this.#files.has(path)) return "directory";
    return (await this.#files.list(path)).length > 0 ? "directory" : undefined;
  }

  override async realPath(path: string): Promise<string | undefined> {
    return path.startsWith("/sim/") ? this.#files.realPath(path) : path;
  }
}

/** A machine on any clock. `onEvent` receives what happens in the runtime and passes it to the subscribers of `events`. */
export function createSimMachine(
  clock: Clock,
  onEvent: (event: RuntimeEvent, events: SimEvents) => void,
): SimMachine {
  const files = new MemoryFiles();
  const payloadFiles = new SimPayloadFiles();
  const mounts = new SimMounts();
  const events = new SimEvents();
  const runtime = new SimRuntime({ clock, files, onEvent: (event) => onEvent(event, events) });
  return {
    clock,
    files,
    payloadFiles,
    foreignFiles: new MachineFiles(files, {
      payloads: payloadFiles,
      mounts,
      readEnd: (path, maxBytes) => files.readTail(path, maxBytes),
      removeTree: async (path) => {
        const [mount] = await mounts.listBelow(path);
        if (mount !== undefined) throw new Error(`${mount.mountPoint} is a mount point`);
        await files.removeTree(path);
      },
      disk: () => simDisk(clock.nowMs()),
    }),
    mounts,
    cgroups: new SimCgroups(),
    historyStore: new SimHistory(),
    events,
    runtime,
  };
}
