// Makes the screenshots of docs/images: a real agent with a few pods, after a few minutes, light and dark.
// usage: npm run screenshots
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";
import { AgentWorld } from "../../integration/support/agent-world.ts";
import { TestBrowser } from "../support/browser.ts";

declare const BERTH_REPOSITORY: string;

/** The network of this program's pods. */
const network = 221;
const maxBytes = 150_000;
const folder = join(BERTH_REPOSITORY, "docs/images");
/** So many of the page's own samples are to be seen in the charts. */
const wantedSamples = 40;
const patienceMs = 600_000;

const load = "while :; do i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; sleep 2; done";
const scripts: Readonly<Record<string, { readonly namespace: string; readonly script: string }>> = {
  web: { namespace: "shop", script: untilStopped },
  checkout: { namespace: "shop", script: load },
  "nightly-report": { namespace: "shop", script: "sleep 20" },
  cache: { namespace: "shop", script: untilStopped },
  "mail-relay": { namespace: "default", script: "sleep 4; echo no route to smarthost; exit 1" },
  metrics: { namespace: "monitoring", script: load },
  "log-shipper": { namespace: "monitoring", script: untilStopped },
};

function manifest(name: string): string {
  const { namespace = "default", script = "" } = scripts[name] ?? {};
  const resources = { requests: { cpu: "50m", memory: "16Mi" } };
  const restartPolicy = name === "nightly-report" ? "Never" : "Always";
  const spec = { restartPolicy, containers: [shell("main", script, { resources })] };
  const metadata = { name, namespace, labels: { app: name } };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, spec });
}

async function login(world: AgentWorld): Promise<string> {
  return (await world.berth("ui", "--print")).stdout.trim();
}

async function shoot(page: Page, name: string): Promise<void> {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: "disabled" });
  const { size } = statSync(path);
  if (size > maxBytes) throw new Error(`${path} has ${size} bytes, more than ${maxBytes}`);
  console.log(`${path}: ${size} bytes`);
}

async function shootAll(page: Page, scheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.getByRole("link", { name: "Node", exact: true }).click();
  await page.getByRole("button", { name: "5 min" }).click();
  await page
    .getByRole("row", { name: /busybox/ })
    .first()
    .waitFor();
  await shoot(page, `node-${scheme}`);
  await page.getByRole("link", { name: "Pods", exact: true }).click();
  await page.getByRole("row", { name: /mail-relay/ }).waitFor();
  await shoot(page, `pods-${scheme}`);
}

mkdirSync(folder, { recursive: true });
const world = await AgentWorld.create(network);
try {
  const agent = await world.up("--ui=127.0.0.1:0");
  await agent.untilPrinted(({ stderr }) => stderr.includes("the page is served"));
  await world.importImages();
  for (const name of Object.keys(scripts)) world.write(`${name}.json`, manifest(name));
  const browser = await TestBrowser.start(world.folder, { width: 1200, height: 760 });
  try {
    const page = await browser.open(await login(world));
    await page.getByRole("link", { name: "Node", exact: true }).click();
    const answers = { seen: 0 };
    await page.waitForResponse(
      (response) => {
        if (response.url().endsWith("/berth/v1/stats")) answers.seen++;
        return answers.seen >= wantedSamples;
      },
      { timeout: patienceMs },
    );
    await shootAll(page, "light");
    await shootAll(page, "dark");
  } finally {
    await browser.close();
  }
} finally {
  await world.close();
}
