import { parseJsonText } from "../../lib/json-text.ts";
import type { WatchEvent } from "../../model/watch-event.ts";
import { statusError } from "./api-status.ts";
import { JsonLines } from "./json-lines.ts";
import type { WireResponse } from "./wire.ts";

// An object in the API server's store is at most a tenth of that.
const maxEventBytes = 16 * 1024 * 1024;

interface WatchEnd {
  /** Ends the watch as if the server had. */
  readonly ended: AbortSignal;
  /** Gives it up. */
  readonly signal: AbortSignal;
}

/** Hands on the events of a watch; resolves when it ends, rejects with an ERROR event's ApiError or when it breaks. */
export function readWatch<T>(
  { body, isWhole }: WireResponse,
  onEvent: (event: WatchEvent<T>) => void,
  { ended, signal }: WatchEnd,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const lines = new JsonLines(maxEventBytes, (line) => onEvent(decodeEvent(line)));
    const settle = (finish: () => void): void => {
      ended.removeEventListener("abort", end);
      finish();
      body.destroy();
    };
    const end = (): void => settle(resolve);
    ended.addEventListener("abort", end, { once: true });
    if (ended.aborted) end();
    // Events are handled as they come, so that the connection's own window holds back a server that is too fast.
    body.on("data", (chunk: Buffer) => {
      if (body.destroyed) return;
      try {
        lines.push(chunk);
      } catch (error) {
        settle(() => reject(error));
      }
    });
    const breakOff = (error: unknown): void =>
      settle(() => reject(signal.aborted ? signal.reason : error));
    body.on("end", () => {
      if (!isWhole()) breakOff(new Error("the connection broke"));
      else if (lines.isMidLine) breakOff(new Error("the watch ended inside an event"));
      else end();
    });
    body.on("error", breakOff);
    body.on("close", () => breakOff(new Error("the connection broke")));
  });
}

function decodeEvent<T>(line: string): WatchEvent<T> {
  const { type, object }: { readonly type?: unknown; readonly object?: unknown } = parseLine(line);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK":
      return { type, object: object as T };
    case "ERROR":
      throw statusError(object, 500, undefined);
    default:
      throw new Error("the API server sent a watch event of an unknown type");
  }
}

function parseLine(line: string): object {
  let value: unknown;
  try {
    value = parseJsonText(line);
  } catch {
    // Node's own words quote the text, which may be a secret.
    throw new Error("the API server sent a watch event that is not JSON");
  }
  if (typeof value === "object" && value !== null) return value;
  throw new Error("the API server sent a watch event that is not an object");
}
