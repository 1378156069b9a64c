import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Pod } from "../pod.ts";
import { validateEphemeralUpdate } from "../validate/ephemeral-update.ts";
import { formatFieldError } from "../validate/field-error.ts";
import { parseEphemeralChange } from "./ephemeral-change.ts";

const defaults = {
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  imagePullPolicy: "IfNotPresent",
};
const old = { name: "old", image: "a:1", ...defaults };
const pod: Pod = buildPod({
  metadata: { name: "web", namespace: "default", uid: "u" },
  spec: {
    containers: [{ name: "main", image: "a:1", ...defaults }],
    ephemeralContainers: [old],
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    terminationGracePeriodSeconds: 30,
  },
});

const body = (...ephemeralContainers: readonly object[]): string =>
  JSON.stringify({ spec: { ephemeralContainers } });

function change(kind: "replace" | "merge-by-name", text: string) {
  const parsed = parseEphemeralChange(pod, kind, text);
  if (!parsed.ok) return parsed.error;
  const errors = validateEphemeralUpdate(pod, parsed.value);
  return errors.length > 0 ? errors.map(formatFieldError).join() : parsed.value;
}

test("a patch adds to the list by name, with all defaults", () => {
  const added = { name: "new", image: "b:2" };
  expect(change("merge-by-name", body(added))).toEqual([old, { ...added, ...defaults }]);
  const ordered = { "$setElementOrder/ephemeralContainers": [{ name: "new" }] };
  const text = JSON.stringify({ spec: { ...ordered, ephemeralContainers: [added] } });
  expect(change("merge-by-name", text)).toHaveLength(2);
});

test("what is there may neither be changed nor be left out", () => {
  expect(change("merge-by-name", body({ name: "old", image: "b:2" }))).toContain(
    'existing ephemeral containers "old" may not be changed',
  );
  expect(change("replace", body({ name: "new", image: "b:2" }))).toContain(
    'existing ephemeral containers "old" may not be removed',
  );
  expect(change("merge-by-name", body({ name: "old", image: "a:1" }))).toEqual([old]);
});

test("what cannot be read is refused by its field", () => {
  expect(change("replace", "{")).toContain("not JSON");
  expect(change("replace", "{}")).toBe("spec.ephemeralContainers is missing");
  expect(change("merge-by-name", body({ name: "new", image: "a", targt: "main" }))).toBe(
    "unknown field spec.ephemeralContainers[0].targt",
  );
  expect(change("merge-by-name", body({ name: "new", image: 7 }))).toContain("image");
  expect(change("merge-by-name", body({ name: "new", image: "a", lifecycle: {} }))).toContain(
    "spec.ephemeralContainers[1].lifecycle",
  );
});
