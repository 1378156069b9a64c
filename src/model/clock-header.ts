/** The header with the time and speed of an agent's own clock, for clients of the local API. */
export const clockHeader = "berth-clock";
