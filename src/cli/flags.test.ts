import { expect, test } from "vitest";
import { parseFlags, text, toggle, toggleOff } from "./flags.ts";

const flags = {
  follow: toggle("", "f"),
  stdin: toggle("", "i"),
  tty: toggle("", "t"),
  namespace: text("NAME", "", { short: "n" }),
  tail: text("LINES", ""),
  output: text("FORMAT", "", { short: "o", choices: ["json", "yaml"] }),
};

test("reads long, short, joined and attached forms around positionals", () => {
  const { flags: values, positionals } = parseFlags(
    ["web", "-it", "-nteam", "--tail=5", "--follow", "other"],
    flags,
  );
  expect(values).toEqual({
    follow: true,
    stdin: true,
    tty: true,
    namespace: "team",
    tail: "5",
    output: undefined,
  });
  expect(positionals).toEqual(["web", "other"]);
});

test("a value may begin with a dash, and a toggle may be switched off", () => {
  const { flags: values } = parseFlags(["--tail", "-1", "--follow=false"], flags);
  expect(values).toMatchObject({ tail: "-1", follow: false });
});

test("what follows -- is left alone", () => {
  expect(parseFlags(["web", "--", "ls", "--help", "-x"], flags)).toMatchObject({
    positionals: ["web"],
    rest: ["ls", "--help", "-x"],
    wantsHelp: false,
  });
});

test.each([
  [["--folow"], "unknown flag --folow (did you mean --follow?)"],
  [["--xyzzy"], "unknown flag --xyzzy"],
  [["-q"], "unknown flag -q"],
  [["--constructor"], "unknown flag --constructor"],
  [["--namespace"], "flag --namespace needs a value: --namespace NAME"],
  [["-o", "yml"], 'flag -o: "yml" is not one of json, yaml (did you mean yaml?)'],
  [["--follow=maybe"], 'flag --follow: "maybe" is neither true nor false'],
])("%j is refused: %s", (args, message) => {
  expect(() => parseFlags(args, flags)).toThrow(expect.objectContaining({ message, exitCode: 2 }));
});

test("a toggle that is on can be switched off", () => {
  const on = { confine: toggleOff("") };
  const confine = (...args: readonly string[]): boolean => parseFlags(args, on).flags.confine;
  expect([confine(), confine("--confine"), confine("--confine=false")]).toEqual([
    true,
    true,
    false,
  ]);
});
