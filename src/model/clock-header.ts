/** Tells a client of the local API what time it is for an agent on a clock of its own, and how fast that goes. */
export const clockHeader = "berth-clock";
