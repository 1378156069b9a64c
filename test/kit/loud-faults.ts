import type { Faults } from "../../src/engine/agent/faults.ts";

/** Keeps nothing from being thrown. */
export const loudFaults: Pick<Faults, "note" | "attempt"> = {
  note: (error) => {
    throw error;
  },
  attempt: (_during, _podUid, work) => work(),
};
