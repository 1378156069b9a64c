import { beforeAll, describe, expect, test } from "vitest";
import { silentLog } from "../kit/silent-log.ts";
import { type GoldenReport, runGolden } from "./run-golden.ts";
import { scenariosAlone, scenariosTogether } from "./scenarios.ts";

const scenarios = [...scenariosTogether, ...scenariosAlone];
const RUN_TIMEOUT_MS = 900_000;
const PARALLEL = 9;

describe("Berth calls the runtime, asks the API server and answers as the recorded kubelet did", () => {
  let report: GoldenReport;

  beforeAll(async () => {
    report = await runGolden(scenarios, { parallel: PARALLEL, log: silentLog });
  }, RUN_TIMEOUT_MS);

  test.each(scenarios)("in %s", (scenario) => {
    const found = report.scenarios.find((result) => result.scenario === scenario);
    expect(found?.problem).toBeUndefined();
    expect(found?.unexplained).toEqual([]);
  });

  test("every explained difference is still there", () => {
    expect(report.stale).toEqual([]);
  });
});
