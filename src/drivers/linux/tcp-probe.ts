import { connect } from "node:net";
import type { ProbeOutcome } from "../../ports/probe-runner.ts";
import { networkErrorText } from "./network-error-text.ts";

/** Connects and hangs up. Rejects only when `signal` aborts. */
export function runTcpProbe(
  { host, port }: { readonly host: string; readonly port: number },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, autoSelectFamily: true });
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      socket.destroy();
      settle();
    };
    const fail = (output: string) => finish(() => resolve({ result: "failure", output }));
    const abort = (): void => finish(() => reject(signal.reason));
    const timer = setTimeout(() => fail(`dial tcp ${address}: i/o timeout`), timeoutMs);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    socket.on("connect", () => finish(() => resolve({ result: "success", output: "" })));
    socket.on("error", (error) => fail(networkErrorText(error, address)));
  });
}
