import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { captureTerminal } from "../../test/fakes/captured-terminal.ts";
import { runningPod } from "../../test/kit/pods.ts";
import { runCli } from "./main.ts";

let dataDir: string;
let server: Server;

/** An agent that is killed in the middle of its answer to a watch or of a log. */
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "berth-client-"));
  const pod = runningPod("web");
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    if (searchParams.has("watch") || pathname.endsWith("/log")) {
      response.write("\n", () => response.destroy());
    } else if (pathname.endsWith("/pods")) {
      response.end(JSON.stringify({ items: [pod], metadata: { resourceVersion: "1" } }));
    } else {
      response.end(JSON.stringify(pod));
    }
  });
  await new Promise<void>((resolve) => server.listen(join(dataDir, "berth.sock"), resolve));
});

afterEach(async () => {
  server.close();
  await rm(dataDir, { recursive: true, force: true });
});

test.each([
  ["get", "pods", "-w"],
  ["logs", "web", "-f"],
])("when the agent dies meanwhile, %s %s %s says so and exits with 3", async (...args) => {
  const terminal = captureTerminal({ environment: { BERTH_DATA_DIR: dataDir } });
  expect(await runCli(args, terminal, AbortSignal.timeout(10_000))).toBe(3);
  expect(terminal.stderrText()).toBe("berth: the agent ended in the middle of an answer\n");
});
