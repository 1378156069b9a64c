import type { Simulation } from "../simulation.ts";

/** What people and accidents do to the devices of a node. */
export const deviceDisturbances: readonly ((sim: Simulation) => void)[] = [
  killPlugin,
  killDriver,
  startPlugins,
  hangPlugins,
  loseDevice,
  findDevices,
];

function killPlugin(sim: Simulation): void {
  const { dice, devices } = sim;
  if (devices === undefined) return;
  const plugin = dice.pick(devices.plugins);
  const isSocketLeft = dice.chance(0.5);
  sim.did(`the plugin of ${plugin.resource.name} dies${socketText(isSocketLeft)}`);
  devices.killPlugin(plugin, isSocketLeft);
}

function killDriver(sim: Simulation): void {
  const { dice, devices } = sim;
  if (devices === undefined) return;
  const driver = dice.pick(devices.drivers);
  const isSocketLeft = dice.chance(0.5);
  sim.did(`${driver.name} dies${socketText(isSocketLeft)}`);
  devices.killDriver(driver, isSocketLeft);
}

function socketText(isLeft: boolean): string {
  return isLeft ? "" : ", and its socket is gone";
}

function startPlugins(sim: Simulation): void {
  const { devices } = sim;
  if (devices === undefined) return;
  sim.did("all plugins and drivers of devices run");
  devices.startAll();
}

function hangPlugins(sim: Simulation): void {
  const faults = sim.devices?.faults;
  if (faults === undefined) return;
  sim.did(faults.areAllHung ? "plugins answer again" : "plugins hang");
  if (faults.areAllHung) faults.release();
  else faults.areAllHung = true;
}

function loseDevice(sim: Simulation): void {
  const { dice, devices } = sim;
  if (devices === undefined) return;
  sim.did(`${dice.pick(devices.plugins).loseDevice()} is lost`);
}

function findDevices(sim: Simulation): void {
  const { devices } = sim;
  if (devices === undefined) return;
  sim.did("all devices are well");
  for (const plugin of devices.plugins) plugin.findDevices();
}
