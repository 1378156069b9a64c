// On a machine in emulation everything takes many times as long: what tests wait for at most is multiplied by
// BERTH_TEST_PATIENCE. The agent under test keeps its own times.
export const patience: number = Number(process.env["BERTH_TEST_PATIENCE"] ?? "1");
