// The helper process that reads foreign files: it reads a request per line, carries it out with calls that block, and
// writes the answer as a line. It may hang in any of them; then it is killed and left behind by the agent.
import { readSync, writeSync } from "node:fs";
import { errorText } from "../../../lib/error-text.ts";
import { parseJsonText } from "../../../lib/json-text.ts";
import { errorCode } from "../volume-error.ts";
import { newOperations, type Operations } from "./operations.ts";

const standardInput = 0;
const standardOutput = 1;
const progressMs = 1000;
/** The clock is read once in so many steps. */
const stepsPerLook = 256;

/** As the agent sends it. */
interface Request {
  readonly operation: keyof Operations;
  readonly arguments: readonly unknown[];
}

// Node would open its inspector.
process.on("SIGUSR1", () => undefined);

let steps = 0;
let writtenMs = 0;
const operations = newOperations(() => {
  steps += 1;
  if (steps % stepsPerLook !== 0 || Date.now() - writtenMs < progressMs) return;
  writtenMs = Date.now();
  write({ isWorking: true, steps });
});

// The agent's end closes the input.
for (let line = readLine(); line !== undefined; line = readLine()) {
  writtenMs = Date.now();
  steps = 0;
  write(answerTo(parseJsonText(line) as Request));
}

function answerTo(request: Request): object {
  try {
    const operation = operations[request.operation] as (...args: readonly unknown[]) => unknown;
    return { value: operation(...request.arguments) };
  } catch (error) {
    return { error: errorText(error), code: errorCode(error) };
  }
}

/** One request is sent at a time: what is read up to a newline is all of it. */
function readLine(): string | undefined {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.alloc(64 * 1024);
    const size = readSync(standardInput, chunk);
    if (size === 0) return undefined;
    chunks.push(chunk.subarray(0, size));
    if (chunk[size - 1] === 0x0a) return Buffer.concat(chunks).toString();
  }
}

function write(message: object): void {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(standardOutput, bytes, sent);
}
