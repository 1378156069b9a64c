import { expect, test } from "vitest";
import type { Log } from "../ports/log.ts";
import { removeCgroupRoot } from "./down.ts";

test("a cgroup root that no agent can have used is reported, and stops nothing", async () => {
  const notes: string[] = [];
  const note = (message: string): void => void notes.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  await removeCgroupRoot("../x", log, AbortSignal.timeout(1000));
  expect(notes).toEqual(["no cgroup is removed: none can have been made"]);
});
