import type { Simulation } from "../simulation.ts";
import { simClaims } from "./storage-objects.ts";

/** What people and accidents do to the storage of a node. */
export const storageDisturbances: readonly ((sim: Simulation) => void)[] = [
  killDriver,
  killDriver,
  startDrivers,
  hangDrivers,
  bindClaims,
  delayClaim,
  growClaims,
  growClaims,
];

function killDriver(sim: Simulation): void {
  const { dice, storage } = sim;
  if (storage === undefined) return;
  const driver = dice.pick(storage.drivers);
  const isSocketLeft = dice.chance(0.5);
  sim.did(`${driver.name} dies${isSocketLeft ? "" : ", and its socket is gone"}`);
  storage.killDriver(driver, isSocketLeft);
}

function startDrivers(sim: Simulation): void {
  const down = sim.storage?.drivers.filter(({ isUp }) => !isUp) ?? [];
  if (down.length === 0) return;
  sim.did(`${down.map(({ name }) => name).join(", ")} is back`);
  for (const driver of down) sim.storage?.startDriver(driver);
}

function hangDrivers(sim: Simulation): void {
  const faults = sim.storage?.faults;
  if (faults === undefined) return;
  sim.did(faults.areAllHung ? "drivers answer again" : "drivers hang");
  if (faults.areAllHung) faults.release();
  else faults.areAllHung = true;
}

function bindClaims(sim: Simulation): void {
  sim.did("claims are bound");
  sim.storage?.bindClaims();
}

function growClaims(sim: Simulation): void {
  const { dice, storage } = sim;
  if (storage?.resizer === undefined) return;
  const grown = simClaims.filter(() => dice.chance(0.4));
  sim.did(`more is asked for by ${grown.map(({ claim }) => claim).join(", ")}`);
  for (const claim of grown) storage.resizer.grow(claim);
}

/** Another claim of that name, which waits for its volume. */
function delayClaim(sim: Simulation): void {
  const claim = sim.dice.pick(simClaims);
  sim.did(`the claim ${claim.claim} is pending`);
  sim.storage?.setClaim(claim, "Pending");
}
