import { type CheckResult, failed, passed, warning } from "../../lib/check-result.ts";
import { errorText } from "../../lib/error-text.ts";
import { timeoutSignal } from "../../lib/timers.ts";
import type { ContainerRuntime } from "../../ports/container-runtime.ts";
import type { RuntimeEvents } from "../../ports/runtime-events.ts";

const TIMEOUT_MS = 5_000;
const CONDITIONS = ["RuntimeReady", "NetworkReady"];

/** The runtime's version and conditions. */
export async function checkRuntime(
  runtime: Pick<ContainerRuntime, "version" | "status">,
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const limited = AbortSignal.any([signal, timeoutSignal(TIMEOUT_MS)]);
  try {
    const version = await runtime.version(limited);
    const found = `${version.runtimeName} ${version.runtimeVersion} with CRI ${version.runtimeApiVersion}`;
    const { status } = await runtime.status(false, limited);
    return [
      passed("runtime", found),
      ...CONDITIONS.map((type) => {
        const condition = status?.conditions?.find((one) => one.type === type);
        if (condition?.status === true) return passed(type, "yes");
        const reason = [condition?.reason, condition?.message].filter(Boolean).join(": ");
        return failed(type, reason === "" ? "no" : reason, "see the runtime's log and CNI config");
      }),
    ];
  } catch (error) {
    const fix = "check that the runtime runs and that its endpoint is right";
    return [failed("runtime", errorText(error), fix)];
  }
}

/** The first event source that works, found by trying. */
export async function checkEvents(
  sources: readonly RuntimeEvents[],
  signal: AbortSignal,
): Promise<CheckResult> {
  const refused: string[] = [];
  for (const source of sources) {
    const problem = await trySource(source, signal);
    const before = refused.map((text) => `; ${text}`).join("");
    if (problem === undefined) return passed("runtime events", `${source.name}${before}`);
    refused.push(`${source.name}: ${problem}`);
  }
  return warning(
    "runtime events",
    ["polling", ...refused].join("; "),
    "use a runtime with events, such as containerd, to notice changes at once",
  );
}

/** Undefined when the source works; otherwise why not. */
async function trySource(source: RuntimeEvents, signal: AbortSignal): Promise<string | undefined> {
  const stop = new AbortController();
  let works = false;
  const limited = AbortSignal.any([signal, stop.signal, timeoutSignal(TIMEOUT_MS)]);
  try {
    await source.subscribe(
      () => {
        works = true;
        stop.abort();
      },
      () => undefined,
      limited,
    );
  } catch (error) {
    return errorText(error);
  }
  return works ? undefined : "no answer";
}
