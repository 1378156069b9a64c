import { connect } from "node:net";
import { startTimer } from "../../lib/timers.ts";
import { noLongerNeeded } from "../../lib/with-either.ts";
import type { ProbeOutcome } from "../../ports/probe-runner.ts";
import type { LookupOf } from "./http-probe.ts";
import { networkErrorText } from "./network-error-text.ts";

export interface TcpProbeTarget {
  readonly host: string;
  readonly port: number;
  readonly lookup: LookupOf;
}

/** Connects and hangs up. Rejects only when `signal` aborts. */
export function runTcpProbe(
  { host, port, lookup }: TcpProbeTarget,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    const end = new AbortController();
    let isResolved = false;
    const socket = connect({ host, port, autoSelectFamily: true, lookup: lookup(end.signal) });
    const finish = (settle: () => void): void => {
      timer.stop();
      signal.removeEventListener("abort", abort);
      settle();
      end.abort(noLongerNeeded);
      socket.destroy();
    };
    const fail = (output: string) => finish(() => resolve({ result: "failure", output }));
    const abort = (): void => finish(() => reject(signal.reason));
    const expire = (): void =>
      fail(`dial tcp${isResolved ? ` ${address}` : `: lookup ${host}`}: i/o timeout`);
    const timer = startTimer(timeoutMs, expire);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    socket.on("connectionAttempt", () => {
      isResolved = true;
    });
    socket.on("connect", () => finish(() => resolve({ result: "success", output: "" })));
    socket.on("error", (error) => fail(networkErrorText(error, address)));
  });
}
