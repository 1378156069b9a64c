// npm run sim:mutants: breaks the agent's promises on purpose, and shows that the simulator notices each
import { setFlagsFromString } from "node:v8";
import { runSeed } from "../simulator/run-seed.ts";
import { mutants } from "./mutants.ts";

const mostSeeds = 200;

// Nobody reads the stacks of the many aborts.
Error.stackTraceLimit = 0;
// No two seeds run the same code often enough: optimizing costs more than it saves.
setFlagsFromString("--no-opt");
let missed = 0;
for (const { name, promise, sabotage } of mutants) {
  let caught: string | undefined;
  for (let seed = 1; seed <= mostSeeds && caught === undefined; seed += 1) {
    const { violation } = await runSeed(seed, { sabotage });
    if (violation !== undefined) caught = `seed ${seed}: ${violation.slice(0, 120)}`;
  }
  if (caught === undefined) missed += 1;
  console.log(`an agent that ${name} (${promise}): ${caught ?? "NOT NOTICED"}`);
}
process.exitCode = missed === 0 ? 0 : 1;
