import { type Debugger, Session } from "node:inspector";
import { startTimer } from "../../lib/timers.ts";

const timeoutMs = 3_000;
const maxFrames = 40;
const maxFrameLength = 300;

/**
 * Where the main thread's JavaScript is, innermost first. Empty where it runs none: it is in a call of the system, or waits. Only
 * for a process that is ended next: the thread stays paused.
 */
export async function readMainStack(): Promise<readonly string[]> {
  try {
    const session = new Session();
    session.connectToMainThread();
    return await new Promise<readonly string[]>((resolve) => {
      startTimer(timeoutMs, () => resolve([]));
      const urls = new Map<string, string>();
      session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
      session.once("Debugger.paused", ({ params }) => resolve(frames(params, urls)));
      session.post("Debugger.enable");
      session.post("Debugger.pause");
    });
  } catch {
    // A Node without inspector.
    return [];
  }
}

function frames(
  { callFrames }: Debugger.PausedEventDataType,
  urls: ReadonlyMap<string, string>,
): readonly string[] {
  return callFrames.slice(0, maxFrames).map(({ functionName, location }) => {
    const { scriptId, lineNumber, columnNumber = 0 } = location;
    const place = `${urls.get(scriptId) ?? ""}:${lineNumber + 1}:${columnNumber + 1}`;
    return `${functionName === "" ? "(anonymous)" : functionName} ${place}`.slice(
      0,
      maxFrameLength,
    );
  });
}
