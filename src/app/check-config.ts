// `berth check --config`: would `berth kubelet` start with this file, and do all that it says?
import { parseCommandLine } from "../config/flags/command-line.ts";
import { type CheckResult, failed, passed, warning } from "../lib/check-result.ts";
import { SetupError } from "../lib/setup-error.ts";
import { type JudgedSetup, judgeKubeletSetup } from "./kubelet-setup.ts";

export interface ConfigCheck {
  readonly results: readonly CheckResult[];
  /** The runtime that the file names; undefined when the file cannot be read. */
  readonly runtimeEndpoint?: string | undefined;
}

const name = "config";

export function checkKubeletConfig(file: string): ConfigCheck {
  const commandLine = parseCommandLine(["--config", file]);
  if (!commandLine.ok) return { results: [failed(name, commandLine.error, "name a file")] };
  try {
    const setup = judgeKubeletSetup(commandLine.value);
    const found = findings(setup);
    const results =
      found.length > 0 ? found : [passed(name, `${file}: Berth does all that it says`)];
    return { results, runtimeEndpoint: setup.config.containerRuntimeEndpoint };
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return { results: [failed(name, error.message, "correct the file")] };
  }
}

function findings({ problems, refusals, warnings }: JudgedSetup): readonly CheckResult[] {
  return [
    ...problems.map((problem) => failed(name, problem, "correct the file")),
    ...refusals.map((refusal) =>
      failed(name, refusal, "leave it out, or use the kubelet for this node"),
    ),
    ...warnings.map((each) => warning(name, each, "make sure that nothing relies on it")),
  ];
}
