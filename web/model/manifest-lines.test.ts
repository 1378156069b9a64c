import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseJsonText } from "../../src/lib/json-text.ts";
import { defaultPod } from "../../src/model/defaults/default-pod.ts";
import { findDefaults, manifestLines as linesOf } from "./manifest-lines.ts";
import { splitCommand } from "./split-command.ts";

function manifestLines(shown: { readonly spec?: object; readonly metadata?: object | undefined }) {
  return linesOf(shown, findDefaults(JSON.stringify(shown.spec ?? {}), 20_000));
}

const written = {
  metadata: { name: "web", annotations: { on: "yes", note: "two\nlines\n", odd: " - \u0007#: " } },
  spec: {
    terminationGracePeriodSeconds: 5,
    containers: [
      { name: "main", image: "app:1", args: ["--port", "80"], ports: [{ containerPort: 80 }] },
    ],
    tolerations: [],
  },
} as const;
const pod = defaultPod(written);

test("the lines are YAML of the pod, whatever its texts are", () => {
  const text = (object: Parameters<typeof manifestLines>[0]): string =>
    manifestLines(object)
      .map((line) => line.text)
      .join("\n");
  expect(parse(text(pod))).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    ...(parseJsonText(JSON.stringify(pod)) as object),
  });
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string(),
        fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.boolean()),
      ),
      (labels) => {
        const { metadata } = parse(text({ metadata: { labels } })) ?? {};
        expect(metadata.labels).toEqual({ ...labels });
      },
    ),
  );
});

test("what the API filled in is marked, and nothing that somebody wrote", () => {
  const defaults = manifestLines(pod)
    .filter(({ isDefault }) => isDefault)
    .map(({ text }) => text.trim());
  expect(defaults).toContain("restartPolicy: Always");
  expect(defaults).toContain("imagePullPolicy: IfNotPresent");
  const own = manifestLines(pod)
    .filter(({ isDefault }) => !isDefault)
    .map(({ text }) => text.trim());
  expect(own).toEqual(
    expect.arrayContaining([
      "name: web",
      "terminationGracePeriodSeconds: 5",
      "image: app:1",
      '- "--port"',
    ]),
  );
});

test("a spec that takes too long is not looked at to its end", () => {
  const container = (_: unknown, index: number): object => ({ name: `c${index}`, image: "a:1" });
  const large = { containers: Array.from({ length: 2000 }, container), dnsPolicy: "ClusterFirst" };
  const found = findDefaults(JSON.stringify(large), 10);
  expect(found.isWhole).toBe(false);
  expect(found.paths).not.toContain('["spec","dnsPolicy"]');
  expect(findDefaults(JSON.stringify({ ...large, containers: [] }), 10_000)).toEqual({
    paths: new Set(['["spec","dnsPolicy"]']),
    isWhole: true,
  });
});

test.each([
  ["sh", ["sh"]],
  ["  ls  -l ", ["ls", "-l"]],
  [`sh -c "echo 'a b' c"`, ["sh", "-c", "echo 'a b' c"]],
  ["echo ''", ["echo", ""]],
  ["echo a'b c'd", ["echo", "ab cd"]],
])("the words of %s are an array", (text, words) => {
  expect(splitCommand(text)).toEqual({ ok: true, value: words });
});

test.each([
  ["", "give a command"],
  [`sh -c "x`, "no closing"],
])("a command such as '%s' is refused", (text, why) => {
  expect(splitCommand(text)).toMatchObject({ ok: false, error: expect.stringContaining(why) });
});
