import type { SimMachine } from "../../../src/app/sim-agent.ts";
import { MemoryFiles } from "../../../src/drivers/sim/memory-files.ts";
import { SimCgroups } from "../../../src/drivers/sim/sim-cgroups.ts";
import { SimEvents } from "../../../src/drivers/sim/sim-events.ts";
import { SimForeignFiles } from "../../../src/drivers/sim/sim-foreign-files.ts";
import { simDisk } from "../../../src/drivers/sim/sim-host.ts";
import { SimJournal } from "../../../src/drivers/sim/sim-journal.ts";
import { SimMounts } from "../../../src/drivers/sim/sim-mounts.ts";
import { SimPayloadFiles } from "../../../src/drivers/sim/sim-payload-files.ts";
import { SimRuntime } from "../../../src/drivers/sim/sim-runtime.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { RuntimeEvent } from "../../../src/ports/runtime-events.ts";

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
    foreignFiles: new SimForeignFiles({
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
    journal: new SimJournal(),
    events,
    runtime,
  };
}
