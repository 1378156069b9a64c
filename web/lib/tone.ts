/** How a status is to be taken: the class of its colour. */
export type Tone = "good" | "busy" | "warn" | "bad" | "idle";

const good = /^(Running|Ready|True)$/;
const idle = /^(Completed|Succeeded)$/;
const busy =
  /^(Pending|ContainerCreating|PodInitializing|Terminating|SchedulingGated|Init:\d+\/\d+|Waiting)/;
const warn = /^(NotReady|Unknown|Blocked)$/;

/** Of a status in kubectl's words; what is not known to be harmless is not. */
export function toneOf(status: string): Tone {
  if (good.test(status)) return "good";
  if (idle.test(status)) return "idle";
  if (busy.test(status)) return "busy";
  return warn.test(status) ? "warn" : "bad";
}
