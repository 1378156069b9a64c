// npm run sim:mutants [-- WORDS OF A NAME]: breaks the agent's promises on purpose, and shows that the simulator notices each
import { setFlagsFromString } from "node:v8";
import { hasDevicesIn, runSeed } from "../simulator/run-seed.ts";
import { importEdited } from "./edited-agent.ts";
import { mutants } from "./mutants.ts";

const mostSeeds = 120;
/** Among so many there are as many of each kind. */
const mostNumber = 3 * mostSeeds + 9;

// The stacks of the many aborts are never read.
Error.stackTraceLimit = 0;
// No two seeds run the same code often enough: optimizing costs more than it saves.
setFlagsFromString("--no-opt");
let missed = 0;
const wanted = process.argv.slice(2).join(" ");
for (const mutant of mutants.filter(({ name }) => name.includes(wanted))) {
  const { name, promise } = mutant;
  const run = mutant.edit === undefined ? runSeed : await importEdited(mutant.edit);
  let caught: string | undefined;
  const seeds = Array.from({ length: mostNumber }, (_, index) => index + 1)
    .filter((seed) => mutant.withDevices !== true || hasDevicesIn(seed))
    .slice(0, mostSeeds);
  for (const seed of seeds) {
    const { violation } = await run(seed, { sabotage: mutant.sabotage });
    if (violation === undefined) continue;
    caught = `seed ${seed}: ${violation.slice(0, 120)}`;
    break;
  }
  if (caught === undefined) missed += 1;
  console.log(`an agent that ${name} (${promise}): ${caught ?? "NOT NOTICED"}`);
}
process.exitCode = missed === 0 ? 0 : 1;
