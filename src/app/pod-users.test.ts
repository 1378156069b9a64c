import { expect, test } from "vitest";
import { CommandError } from "../lib/command-error.ts";
import type { Commands } from "../ports/commands.ts";
import { kubeletPodUsers } from "./pod-users.ts";

interface Answer {
  readonly exitCode: number;
  readonly output: string;
}

const known: Answer = { exitCode: 0, output: "kubelet:x:998:998::/:/usr/sbin/nologin\n" };
const unknown: Answer = { exitCode: 2, output: "" };
const shown = (range: string): Answer => ({ exitCode: 0, output: `0: kubelet ${range}\n` });

/** Programs that are not named are not installed. */
function machine(answers: Readonly<Record<string, Answer>>): Commands {
  return {
    run: (argv) => {
      const answer = answers[argv.join(" ")];
      const missing = new CommandError("not-found", `exec: "${argv[0]}": not found`);
      return answer === undefined ? Promise.reject(missing) : Promise.resolve(answer);
    },
  };
}

function users(answers: Readonly<Record<string, Answer>>, idsPerPod?: number, maxPods = 110) {
  const userNamespaces = idsPerPod === undefined ? undefined : { idsPerPod };
  const { signal } = new AbortController();
  return kubeletPodUsers({ userNamespaces, maxPods }, machine(answers), signal);
}

function ranges(uids: Answer, gids = uids): Readonly<Record<string, Answer>> {
  return {
    "getent passwd kubelet": known,
    "getsubids kubelet": uids,
    "getsubids -g kubelet": gids,
  };
}

test.each([
  [
    "without the user kubelet",
    { ...ranges(shown("65536 65536")), "getent passwd kubelet": unknown },
  ],
  ["without getsubids", { "getent passwd kubelet": known }],
  ["without getent", {}],
])("%s pods get all users but the node's own", async (_, answers) => {
  expect(await users(answers)).toEqual({
    firstId: 65_536,
    length: 2 ** 32 - 65_536,
    perPod: 65_536,
  });
  expect(await users(answers, 131_072)).toEqual({
    firstId: 131_072,
    length: 2 ** 32 - 131_072,
    perPod: 131_072,
  });
});

test("pods get the subordinate IDs of the user kubelet", async () => {
  expect(await users(ranges(shown("131072 14417920")), 131_072)).toEqual({
    firstId: 131_072,
    length: 14_417_920,
    perPod: 131_072,
  });
});

test.each([
  [ranges({ exitCode: 1, output: "Error fetching ranges\n" }), "Error fetching ranges"],
  [ranges(shown("65536 7208960"), { exitCode: 1, output: "no\n" }), "getsubids -g kubelet failed"],
  [ranges(shown("65536 7208960"), shown("65536 65536")), "users and groups of kubelet differ"],
  [ranges({ exitCode: 0, output: "0: kubelet 65536 1\n1: kubelet 9 1\n" }), "it shows 2"],
  [ranges({ exitCode: 0, output: "" }), "it shows 0"],
  [ranges(shown("65536")), "is not a range of IDs"],
  [ranges(shown("65536 4294967296")), "is not a range of IDs"],
  [ranges(shown("0 14417920")), "ID 0 must be greater or equal to 65536"],
  [ranges(shown("65537 14417920")), "ID 65537 is not a multiple of 65536"],
  [ranges(shown("65536 14417921")), "length 14417921 is not a multiple of 65536"],
  [ranges(shown("65536 65536")), "not enough to support 110 pods"],
])(
  "a range that does not do for the node's pods keeps the agent from starting: %#",
  async (answers, problem) => {
    await expect(users(answers)).rejects.toThrow(problem);
  },
);

test("more users per pod than the node has for all of its pods keep the agent from starting", async () => {
  await expect(users({}, 2 ** 26)).rejects.toThrow("not enough to support 110 pods");
  expect(await users({}, 2 ** 26, 63)).toMatchObject({ firstId: 2 ** 26 });
});
