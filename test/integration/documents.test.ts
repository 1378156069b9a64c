// The commands of README.md and docs, run as a reader runs them: those of a guide in its order and with its files, the others beside pods that they name.
import { afterEach, expect, test } from "vitest";
import {
  commandsOf,
  type DocumentBlock,
  documentBlocks,
  documentFiles,
} from "../kit/document-commands.ts";
import { isRun } from "../kit/document-runs.ts";
import { podManifest, shell, untilStopped } from "./support/agent-manifests.ts";
import { DocumentWorld } from "./support/document-world.ts";

const network = 76;
let world: DocumentWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const isGuide = (file: string): boolean => file.startsWith("docs/guides/");
const runnable = documentFiles().filter((file) =>
  documentBlocks(file).flatMap(commandsOf).some(isRun),
);

/** The path in the first line of a manifest that a reader is to write. */
function pathOf({ language, text }: DocumentBlock): string | undefined {
  return language === "yaml" ? /^# (\S+\.yaml)\n/.exec(text)?.[1] : undefined;
}

test.each(runnable.filter(isGuide))("%s can be followed", async (file) => {
  world = await DocumentWorld.create(network);
  const blocks = documentBlocks(file);
  const startsAgent = blocks.some(({ text }) => text.includes("berth up -f ./pods"));
  if (!startsAgent) {
    // It speaks of a service: its manifests are those of the agent.
    for (const block of blocks) {
      const path = pathOf(block);
      if (path !== undefined) world.write(`pods/${path}`, block.text);
    }
    await world.up();
  }
  let runs = 0;
  for (const block of blocks) {
    const path = pathOf(block);
    if (path !== undefined && startsAgent) world.write(path, block.text);
    for (const command of commandsOf(block).filter(isRun)) {
      await world.run(command.text);
      runs += 1;
    }
  }
  expect(runs).toBeGreaterThan(0);
});

test("the commands of README.md and the reference work", async () => {
  world = await DocumentWorld.create(network);
  const crashes = { containers: [shell("main", "exit 1")] };
  const pods = {
    web: {
      containers: [shell("main", `mkdir /data; ${untilStopped}`), shell("sidecar", "sleep 9")],
    },
    crash: crashes,
    crashloop: crashes,
    job: { ...crashes, restartPolicy: "Never" },
  };
  for (const [name, spec] of Object.entries(pods)) {
    world.write(`pods/${name}.yaml`, podManifest(name, spec));
  }
  world.write("web.yaml", podManifest("another"));
  // For `berth ui`.
  await world.up(["--ui=127.0.0.1:0"]);
  const files = runnable.filter((file) => !isGuide(file));
  expect(files).not.toEqual([]);
  for (const command of files.flatMap(documentBlocks).flatMap(commandsOf).filter(isRun)) {
    await world.run(command.text);
  }
});
